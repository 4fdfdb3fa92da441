//! Bidiagonal form of a square matrix by reflections from both sides, a panel of rows and columns at a time (Dongarra,
//! Sorensen and Hammarling, *J. Comput. Appl. Math.* 27, 1989): the matrix itself is read twice a step and written once a
//! panel.

use crate::linalg::dense::gemm::{Left, Part, Right, Sign, accumulate};
use crate::linalg::dense::{View, dot, subtract_multiple};
use crate::linalg::householder::{Reflections, reflector};
use crate::linalg::vectors::{ROWS, product, transposed_product};

/// Steps before the rest of the matrix is written.
const STEPS: usize = 32;

/// B = Q' A P with Q = H(0) H(1) ... from the left and P likewise from the right.
pub(super) struct Bidiagonal {
    n: usize,
    pub(super) diagonal: Vec<f64>,
    /// Element k stands right of diagonal element k; the last is zero.
    pub(super) upper: Vec<f64>,
    left: Reflections,
    right: Reflections,
}

impl Bidiagonal {
    /// Rows of `x`, in coordinates of B's rows, in coordinates of A's rows.
    pub(super) fn left_to_full(&self, x: &mut [f64]) {
        self.left.apply(x, self.n);
    }

    /// The same for columns.
    pub(super) fn right_to_full(&self, x: &mut [f64]) {
        self.right.apply(x, self.n);
    }
}

/// Reduces the row-major (n, n) matrix `a`.
pub(super) fn bidiagonalise(mut a: Vec<f64>, n: usize) -> Bidiagonal {
    let mut b = Bidiagonal {
        n,
        diagonal: vec![0.0; n],
        upper: vec![0.0; n],
        left: Reflections::new(n, 0),
        right: Reflections::new(n, 1),
    };
    let mut partial = vec![0.0f64; n.div_ceil(ROWS) * n];
    for first in (0..n).step_by(STEPS) {
        let end = n.min(first + STEPS);
        let mut owed = Owed::new(n, end - first);
        for k in first..end {
            step(&a, k, &mut owed, &mut b, &mut partial);
        }
        if end < n {
            let depth = 2 * owed.count;
            let left = Left::new(View::new(&owed.columns, depth, n, n).cols(end..n).transposed());
            let right = Right::new(View::new(&owed.rows, depth, n, n).cols(end..n));
            accumulate(&mut a[end * n..], n, end, (&left, &right), Sign::Minus, Part::Whole);
        }
    }
    b
}

/// What the steps of a panel have not yet taken out of the matrix: the products of column i with row i.
struct Owed {
    n: usize,
    count: usize,
    /// v(0), x(0), v(1), x(1), ...
    columns: Vec<f64>,
    /// y(0), u(0), y(1), u(1), ...
    rows: Vec<f64>,
}

impl Owed {
    fn new(n: usize, steps: usize) -> Self {
        Owed { n, count: 0, columns: vec![0.0; 2 * steps * n], rows: vec![0.0; 2 * steps * n] }
    }

    fn column(&self, p: usize) -> &[f64] {
        &self.columns[p * self.n..(p + 1) * self.n]
    }

    fn row(&self, p: usize) -> &[f64] {
        &self.rows[p * self.n..(p + 1) * self.n]
    }
}

fn step(a: &[f64], k: usize, owed: &mut Owed, b: &mut Bidiagonal, partial: &mut [f64]) {
    let n = owed.n;
    let pairs = 2 * owed.count;
    // Column k as it stands after the steps before, from the diagonal down.
    let mut v: Vec<f64> = (k..n).map(|i| a[i * n + k]).collect();
    for p in 0..pairs {
        subtract_multiple(&mut v, owed.row(p)[k], &owed.column(p)[k..]);
    }
    let (beta, tau) = reflector(&mut v);
    (b.diagonal[k], b.left.tau[k]) = (beta, tau);
    b.left.vectors[k * n + k..(k + 1) * n].copy_from_slice(&v);
    if k + 1 == n {
        return;
    }
    // y = tau A' v over the columns behind.
    let mut y = vec![0.0f64; n - k - 1];
    if tau != 0.0 {
        transposed_product(&a[k * n..], n, k + 1, &v, partial, &mut y);
        for p in 0..pairs {
            let amount = dot(&owed.column(p)[k..], &v);
            subtract_multiple(&mut y, amount, &owed.row(p)[k + 1..]);
        }
        y.iter_mut().for_each(|y| *y *= tau);
    }
    let mut u = a[k * n + k + 1..(k + 1) * n].to_vec();
    for p in 0..pairs {
        subtract_multiple(&mut u, owed.column(p)[k], &owed.row(p)[k + 1..]);
    }
    u.iter_mut().zip(&y).for_each(|(u, y)| *u -= y);
    let (beta, tau) = reflector(&mut u);
    (b.upper[k], b.right.tau[k]) = (beta, tau);
    b.right.vectors[k * n + k + 1..(k + 1) * n].copy_from_slice(&u);
    owed.columns[pairs * n + k..(pairs + 1) * n].copy_from_slice(&v);
    owed.rows[pairs * n + k + 1..(pairs + 1) * n].copy_from_slice(&y);
    // x = tau A u over the rows below.
    let mut x = vec![0.0f64; n - k - 1];
    if tau != 0.0 {
        product(&a[(k + 1) * n..], n, k + 1, &u, &mut x);
        for p in 0..=pairs {
            let amount = dot(&owed.row(p)[k + 1..], &u);
            subtract_multiple(&mut x, amount, &owed.column(p)[k + 1..]);
        }
        x.iter_mut().for_each(|x| *x *= tau);
    }
    owed.columns[(pairs + 1) * n + k + 1..(pairs + 2) * n].copy_from_slice(&x);
    owed.rows[(pairs + 1) * n + k + 1..(pairs + 2) * n].copy_from_slice(&u);
    owed.count += 1;
}
