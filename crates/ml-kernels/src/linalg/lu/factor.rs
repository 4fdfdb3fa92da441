//! LU with partial pivoting: panels of columns, the rest of the matrix updated by one leaf of products a panel.

use rayon::prelude::*;

use crate::linalg::dense::gemm::{Left, Part, Right, Sign, accumulate};
use crate::linalg::dense::{PANEL, View, subtract_multiple};
use crate::linalg::triangular::{Kind, solve_block};

/// Columns of a panel that are finished before its later columns see them.
const GROUP: usize = 8;

/// Factors of an (m, n) matrix, in place.
pub(super) struct Factors {
    pub(super) m: usize,
    pub(super) n: usize,
    /// U on and above the diagonal, L without its unit diagonal below.
    pub(super) packed: Vec<f64>,
    /// Row i of the permuted matrix is row `order[i]` of the given one.
    pub(super) order: Vec<u32>,
    /// Whether the number of exchanges is odd.
    pub(super) odd: bool,
}

impl Factors {
    /// The first zero on the diagonal of U.
    pub(super) fn zero_pivot(&self) -> Option<usize> {
        (0..self.m.min(self.n)).find(|&i| self.packed[i * self.n + i] == 0.0)
    }
}

/// Factors the row-major (m, n) matrix `a`. A column without a pivot leaves a zero on the diagonal of U and zeros in L.
pub(super) fn factor(a: Vec<f64>, m: usize, n: usize) -> Factors {
    let mut f = Factors { m, n, packed: a, order: (0..m as u32).collect(), odd: false };
    let depth = m.min(n);
    for first in (0..depth).step_by(PANEL) {
        let end = depth.min(first + PANEL);
        let a = &mut f.packed;
        let mut panel = Panel::gather(a, m, n, first, end);
        for (step, pivot) in panel.factor().into_iter().enumerate() {
            let (upper, lower) = (first + step, first + pivot);
            if upper != lower {
                let (above, below) = a.split_at_mut(lower * n);
                above[upper * n..(upper + 1) * n].swap_with_slice(&mut below[..n]);
                f.order.swap(upper, lower);
                f.odd = !f.odd;
            }
        }
        panel.scatter(a, n, first);
        if end == n {
            continue;
        }
        let (above, below) = a.split_at_mut(end * n);
        let top = &mut above[first * n..];
        let unit = Kind { upper: false, unit: true };
        solve_block(panel.view().transposed().rows(0..end - first), unit, top, n, end..n);
        if end < m {
            let left = Left::new(panel.view().transposed().rows(end - first..m - first));
            let right = Right::new(View::new(top, end - first, n, n).cols(end..n));
            accumulate(below, n, end, (&left, &right), Sign::Minus, Part::Whole);
        }
    }
    f
}

/// Columns `first..` of the rows from `first` on, each column contiguous.
struct Panel {
    width: usize,
    length: usize,
    data: Vec<f64>,
}

impl Panel {
    fn gather(a: &[f64], m: usize, n: usize, first: usize, end: usize) -> Panel {
        let (width, length) = (end - first, m - first);
        let mut data = vec![0.0f64; width * length];
        for i in 0..length {
            let row = &a[(first + i) * n + first..(first + i) * n + end];
            row.iter().enumerate().for_each(|(c, x)| data[c * length + i] = *x);
        }
        Panel { width, length, data }
    }

    fn scatter(&self, a: &mut [f64], n: usize, first: usize) {
        for i in 0..self.length {
            let row = &mut a[(first + i) * n + first..(first + i) * n + first + self.width];
            row.iter_mut().enumerate().for_each(|(c, x)| *x = self.at(i, c));
        }
    }

    fn at(&self, i: usize, c: usize) -> f64 {
        self.data[c * self.length + i]
    }

    /// (width, length): row c is column c of the panel.
    fn view(&self) -> View<'_> {
        View::new(&self.data, self.width, self.length, self.length)
    }

    /// Factors the panel and gives the row that each step exchanged with its own.
    fn factor(&mut self) -> Vec<usize> {
        let length = self.length;
        let mut pivots = Vec::with_capacity(self.width);
        for group in (0..self.width).step_by(GROUP) {
            let end = self.width.min(group + GROUP);
            for j in group..end {
                let column = &self.data[j * length..(j + 1) * length];
                // The first of the largest.
                // pathway: P135
                let mut pivot = j;
                for (i, x) in column.iter().enumerate().skip(j + 1) {
                    if x.abs() > column[pivot].abs() {
                        pivot = i;
                    }
                }
                if pivot != j {
                    self.data.chunks_exact_mut(length).for_each(|column| column.swap(j, pivot));
                }
                pivots.push(pivot);
                let (done, rest) = self.data.split_at_mut((j + 1) * length);
                let column = &mut done[j * length..];
                let value = column[j];
                if value != 0.0 {
                    column[j + 1..].iter_mut().for_each(|x| *x /= value);
                }
                for later in rest.chunks_exact_mut(length).take(end - j - 1) {
                    eliminate(later, column, j);
                }
            }
            let (done, rest) = self.data.split_at_mut(end * length);
            rest.par_chunks_exact_mut(length).for_each(|later| {
                for j in group..end {
                    eliminate(later, &done[j * length..(j + 1) * length], j);
                }
            });
        }
        pivots
    }
}

/// Takes multiplier column `done` of step `j` out of a later column.
fn eliminate(later: &mut [f64], done: &[f64], j: usize) {
    let amount = later[j];
    subtract_multiple(&mut later[j + 1..], amount, &done[j + 1..]);
}
