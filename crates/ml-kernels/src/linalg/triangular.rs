//! Contract clause `factorisations`: triangular systems, a block of unknowns after the other.

use std::ops::Range;

use ml_core::{Error, Result};
use rayon::prelude::*;

use super::dense::gemm::{Left, Part, Right, Sign, accumulate};
use super::dense::{PANEL, SHARED_FROM, View, elements, on_host, read, single, subtract_multiple};
use crate::buffer::Buffer;
use crate::device::Device;

/// Columns that one thread takes at a time.
const COLUMNS: usize = 128;

/// Which triangle of a matrix is meant, and how it is used. The default is the lower one, as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Triangle {
    /// The upper triangle of the stored matrix instead of the lower.
    pub upper: bool,
    /// The triangle's transpose instead of itself.
    pub transposed: bool,
    /// Ones on the diagonal, whatever is stored there.
    pub unit_diagonal: bool,
}

/// The x, shape (n, nrhs), with T x = `b`, where T is the triangle of `t`, shape (n, n), that `which` names, and `b` has
/// shape (n, nrhs).
///
/// Elements of `t` outside the triangle are not looked at. Nothing to solve (n = 0 or nrhs = 0) gives an empty result.
///
/// # Errors
/// [`Error::Singular`] with the index of the first zero on the diagonal; [`DataError::NonFinite`] for a NaN or an infinity
/// in the triangle or in `b`; [`Error::NonFinite`] if a solution exceeds single precision; [`DataError::Shape`];
/// [`DataError::TooLarge`] for more than 2^32 - 1 elements; a device failure.
///
/// # Bit identity
/// Computed on the host in double precision for every device, so it is the same code everywhere, and rounded once to
/// single precision. Threads share columns and rows, between which nothing is added (clause `factorisations`).
///
/// # Example
/// ```
/// use ml_kernels::linalg::{Triangle, triangular_solve};
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let t = Buffer::upload(&device, &[2.0f32, 9.0, 4.0, 5.0])?;
/// let b = Buffer::upload(&device, &[2.0f32, 14.0])?;
/// let lower = triangular_solve(&device, &t, &b, 2, 1, Triangle::default())?;
/// assert_eq!(lower.read()?, [1.0, 2.0]);
/// let transposed = Triangle { transposed: true, ..Triangle::default() };
/// assert_eq!(triangular_solve(&device, &t, &b, 2, 1, transposed)?.read()?, [-4.6, 2.8]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
pub fn triangular_solve(
    device: &Device,
    t: &Buffer<f32>,
    b: &Buffer<f32>,
    n: usize,
    nrhs: usize,
    which: Triangle,
) -> Result<Buffer<f32>> {
    elements("b", n, nrhs)?;
    let counts = |i: usize, j: usize| {
        if i == j { !which.unit_diagonal } else { (i < j) == which.upper }
    };
    let t = read(device, "t", t, (n, n), counts)?;
    let mut x = read(device, "b", b, (n, nrhs), |_, _| true)?;
    if !which.unit_diagonal
        && let Some(pivot) = (0..n).find(|&i| t[i * n + i] == 0.0)
    {
        return Err(Error::Singular { pivot });
    }
    let view = View::new(&t, n, n, n);
    let view = if which.transposed { view.transposed() } else { view };
    let kind = Kind { upper: which.upper != which.transposed, unit: which.unit_diagonal };
    on_host(device, || solve_in_place(view, kind, &mut x, nrhs));
    Buffer::upload(device, &single("triangular_solve.solution", &x)?)
}

/// The triangle of a view that a solve uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) upper: bool,
    pub(super) unit: bool,
}

/// Replaces the (n, nrhs) right sides in `x` by the solutions; the diagonal holds no zero.
///
/// A block of [`PANEL`] unknowns is solved, then taken out of the remaining rows by one leaf of products.
pub(super) fn solve_in_place(t: View<'_>, kind: Kind, x: &mut [f64], nrhs: usize) {
    let n = t.rows;
    if nrhs == 0 {
        return;
    }
    let mut starts: Vec<usize> = (0..n).step_by(PANEL).collect();
    if kind.upper {
        starts.reverse();
    }
    for start in starts {
        let end = n.min(start + PANEL);
        let block = t.rows(start..end).cols(start..end);
        solve_block(block, kind, &mut x[start * nrhs..end * nrhs], nrhs, 0..nrhs);
        let rest = if kind.upper { 0..start } else { end..n };
        let left = Left::new(t.rows(rest.clone()).cols(start..end));
        let right = Right::new(View::new(&x[start * nrhs..end * nrhs], end - start, nrhs, nrhs));
        accumulate(&mut x[rest.start * nrhs..rest.end * nrhs], nrhs, 0, (&left, &right), Sign::Minus, Part::Whole);
    }
}

/// Solves one block for `columns` of the right sides, an unknown after the other: each is taken out of the block's later
/// rows as soon as it is known. Rows of `x` are `stride` apart.
pub(super) fn solve_block(t: View<'_>, kind: Kind, x: &mut [f64], stride: usize, columns: Range<usize>) {
    let w = t.rows;
    let wide = columns.len();
    let mut shares: Vec<Vec<&mut [f64]>> = (0..wide.div_ceil(COLUMNS)).map(|_| Vec::with_capacity(w)).collect();
    for row in x.chunks_mut(stride).take(w) {
        let cells = row[columns.clone()].chunks_mut(COLUMNS);
        shares.iter_mut().zip(cells).for_each(|(share, cells)| share.push(cells));
    }
    let work = |mut rows: Vec<&mut [f64]>| {
        let order = |step: usize| if kind.upper { w - 1 - step } else { step };
        for step in 0..w {
            let k = order(step);
            let known = std::mem::take(&mut rows[k]);
            if !kind.unit {
                let pivot = t.at(k, k);
                known.iter_mut().for_each(|x| *x /= pivot);
            }
            for later in step + 1..w {
                let i = order(later);
                subtract_multiple(rows[i], t.at(i, k), known);
            }
        }
    };
    if w * wide * w < 4 * SHARED_FROM {
        shares.into_iter().for_each(work);
    } else {
        shares.into_par_iter().for_each(work);
    }
}
