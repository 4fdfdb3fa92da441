//! What the decompositions share: matrices in double precision on the host, their products, and the way in and out.
//!
//! Contract clause `factorisations`: sums run in [`LANES`] interleaved lanes or in leaves of [`gemm::LEAF`] terms, whatever
//! the threads and the SIMD width.

pub(super) mod gemm;
pub(super) mod vector;

use std::ops::Range;

use ml_core::canon::canon;
use ml_core::{DataError, Error, Result};
use multiversion::multiversion;

use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// Interleaved partial sums of one dot product.
pub(super) const LANES: usize = 8;

/// Below this many elements a step is too short to be shared between threads.
pub(super) const SHARED_FROM: usize = 1 << 14;

/// Columns that a panel holds before the rest of the matrix sees them.
pub(super) const PANEL: usize = 64;

/// A matrix in somebody's memory; element (i, j) lies at `i * row_step + j * col_step`.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) data: &'a [f64],
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) row_step: usize,
    pub(super) col_step: usize,
}

impl<'a> View<'a> {
    /// A row-major matrix whose rows are `stride` apart.
    pub(super) fn new(data: &'a [f64], rows: usize, cols: usize, stride: usize) -> Self {
        View { data, rows, cols, row_step: stride, col_step: 1 }
    }

    pub(super) fn transposed(self) -> Self {
        View { data: self.data, rows: self.cols, cols: self.rows, row_step: self.col_step, col_step: self.row_step }
    }

    pub(super) fn rows(self, range: Range<usize>) -> Self {
        let data = self.data.get(range.start * self.row_step..).unwrap_or_default();
        View { data, rows: range.len(), ..self }
    }

    pub(super) fn cols(self, range: Range<usize>) -> Self {
        self.transposed().rows(range).transposed()
    }

    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.row_step + j * self.col_step]
    }
}

/// The (n, m) transpose of a row-major (m, n) matrix.
pub(super) fn transpose(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    /// Square blocks keep both sides in the cache.
    const BLOCK: usize = 16;
    let mut out = vec![0.0f64; m * n];
    for i0 in (0..m).step_by(BLOCK) {
        for j0 in (0..n).step_by(BLOCK) {
            for i in i0..m.min(i0 + BLOCK) {
                for j in j0..n.min(j0 + BLOCK) {
                    out[j * m + i] = a[i * n + j];
                }
            }
        }
    }
    out
}

/// Products of elements in [`LANES`] interleaved sums, joined by adjacent pairs.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lane = [0.0f64; LANES];
    let (a_blocks, a_tail) = a.as_chunks::<LANES>();
    let (b_blocks, b_tail) = b.as_chunks::<LANES>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for i in 0..LANES {
            lane[i] += x[i] * y[i];
        }
    }
    for (i, (x, y)) in a_tail.iter().zip(b_tail).enumerate() {
        lane[i] += x * y;
    }
    ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]))
}

/// y - amount x.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn subtract_multiple(y: &mut [f64], amount: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y -= amount * x);
}

/// Elements of an (m, n) matrix, if an index can count them.
pub(super) fn elements(what: &'static str, m: usize, n: usize) -> Result<usize> {
    let too_large = || DataError::TooLarge { what, elements: m as u128 * n as u128, limit: u32::MAX as u128 };
    m.checked_mul(n).filter(|&elements| u32::try_from(elements).is_ok()).ok_or_else(|| too_large().into())
}

/// The (m, n) matrix in `x` in double precision. `wanted` says whether an element counts; others become zero.
pub(super) fn read(
    device: &Device,
    what: &'static str,
    x: &Buffer<f32>,
    (m, n): (usize, usize),
    wanted: impl Fn(usize, usize) -> bool,
) -> Result<Vec<f64>> {
    x.expect(what, elements(what, m, n)?, device)?;
    let mut wide: Vec<f64> = x.read()?.into_iter().map(f64::from).collect();
    for (row, cells) in wide.chunks_mut(n.max(1)).enumerate() {
        for (col, cell) in cells.iter_mut().enumerate() {
            if !wanted(row, col) {
                *cell = 0.0;
            } else if !cell.is_finite() {
                return Err(DataError::NonFinite { what, row, col, value: *cell as f32 }.into());
            }
        }
    }
    Ok(wide)
}

/// Rounds once to single precision; `stage` names the result in the error for what does not fit.
pub(super) fn single(stage: &'static str, wide: &[f64]) -> Result<Vec<f32>> {
    let narrow: Vec<f32> = wide.iter().map(|&x| canon(x as f32)).collect();
    match narrow.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(Error::NonFinite { stage: stage.to_owned(), index }),
        None => Ok(narrow),
    }
}

/// Runs `work` on the host's threads: those of `device` if it is the host, else the global ones.
pub(super) fn on_host<T: Send>(device: &Device, work: impl FnOnce() -> T + Send) -> T {
    on_device!(device, host(h) => h.install(work), gpu(_g) => work())
}
