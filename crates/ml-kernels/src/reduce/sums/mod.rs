//! Contract clause `sums`: one lane-and-tree shape per length, the same for SIMD and for a workgroup.

pub(super) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
#[cfg(feature = "gpu")]
mod launch;
mod reference;

use ml_core::Result;

pub(super) use self::host::chunk_sums;
pub(crate) use self::host::{mapped_col_sums, mapped_row_sums};
#[cfg(feature = "gpu")]
pub(crate) use self::kernel::plus;
#[cfg(feature = "gpu")]
pub(super) use self::kernel::{join_tile, lane_sum};
#[cfg(feature = "gpu")]
pub(super) use self::launch::TILE;
pub(crate) use self::reference::{
    col_sums as reference_col_sums, row_sums as reference_row_sums, sum as reference_sum,
};
use super::elements;
use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::map::{self, Expr, Operand};
use crate::sabotage::Arm;

/// Elements of a chunk.
pub(super) const CHUNK: usize = 1024;

/// Lanes of a chunk: element `i` belongs to lane `i % LANES`.
pub(super) const LANES: usize = 32;

/// What an element adds to a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg(feature = "gpu")]
pub(super) enum Term {
    /// Itself.
    Element,
    /// The square of its distance from a centre.
    SquaredDeviation,
}

/// The sum of all elements: shape (1). No elements give +0.
///
/// # Errors
/// A device failure.
///
/// # Bit identity
/// Clause `sums`: chunks of 1,024 elements; in a chunk, 32 lanes of stride 32, each added ascending from +0, then joined
/// by a balanced tree of adjacent pairs; the list of chunk sums is summed by the same rule until one is left. Every
/// addition is followed by canon.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, reduce};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 3.5])?;
/// assert_eq!(reduce::sum(&device, &x)?.read()?, [6.5]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn sum(device: &Device, x: &Buffer<f32>) -> Result<Buffer<f32>> {
    row_sums(device, x, 1, x.len())
}

/// The sum of each row of `x`, shape (rows, cols): shape (rows). Rows without columns sum to +0.
///
/// # Errors
/// [`ml_core::DataError::Shape`] if `x` does not have `rows * cols` elements; a device failure.
///
/// # Bit identity
/// Clause `sums` along each row, as in [`sum()`]: a row's sum does not depend on the rows beside it.
pub fn row_sums(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    x.expect("x", elements("x", rows, cols)?, device)?;
    if rows == 0 || cols == 0 {
        return Buffer::upload(device, &vec![0.0; rows]);
    }
    let arm = device.arm();
    on_device!(device,
        host(h) => {
            let x = x.host("x")?;
            Ok(Buffer::from_host(device, h.install(|| host::row_sums(x, rows, cols, arm))))
        },
        gpu(g) => Ok(Buffer::from_chunks(device, launch::row_sums(g, x.chunks("x", device)?, launch::Terms::Elements, rows, cols, arm)?)))
}

/// The sum of each column of `x`, shape (rows, cols): shape (cols). Columns without rows sum to +0.
///
/// # Errors
/// [`ml_core::DataError::Shape`] if `x` does not have `rows * cols` elements; a device failure.
///
/// # Bit identity
/// Clause `sums` down each column, as in [`sum()`]: a column's sum does not depend on the columns beside it.
pub fn col_sums(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    x.expect("x", elements("x", rows, cols)?, device)?;
    if cols == 1 {
        return row_sums(device, x, 1, rows);
    }
    if rows == 0 || cols == 0 {
        return Buffer::upload(device, &vec![0.0; cols]);
    }
    let arm = device.arm();
    on_device!(device,
        host(h) => {
            let x = x.host("x")?;
            Ok(Buffer::from_host(device, h.install(|| host::col_sums(x, rows, cols, arm))))
        },
        gpu(g) => Ok(Buffer::from_chunks(device, launch::col_sums(g, x.chunks("x", device)?, launch::Terms::Elements, rows, cols, arm)?)))
}

/// Whether squares of distances, and sums of them, are what the contract says: two negative controls break that, and what
/// the host does for them is spelled as formulas.
fn plain_squares(device: &Device) -> bool {
    !matches!(device.arm(), Arm::KeepSubnormals | Arm::SerialLanes)
}

/// The square of an element's distance from its centre.
fn squared_deviation() -> Expr {
    (Expr::input(0) - Expr::input(1)).square()
}

/// For each row of `x`, shape (rows, cols) with a row and a column at least, the sum of the squares of its elements'
/// distances from the row's element of `centres`: shape (rows).
pub(super) fn row_deviations(
    device: &Device,
    x: &Buffer<f32>,
    centres: &Buffer<f32>,
    rows: usize,
    cols: usize,
) -> Result<Buffer<f32>> {
    on_device!(device,
    host(h) => {
        if plain_squares(device) {
            let (x, centres) = (x.host("x")?, centres.host("centres")?);
            let sums = h.install(|| host::row_deviations(x, centres, rows, cols));
            return Ok(Buffer::from_host(device, sums));
        }
        one(map::row_sums(device, &[squared_deviation()], &[Operand::Full(x), Operand::Col(centres)], &[], rows, cols)?)
    },
    gpu(g) => {
        let terms = launch::Terms::Deviations(centres.chunks("centres", device)?);
        let sums = launch::row_sums(g, x.chunks("x", device)?, terms, rows, cols, device.arm())?;
        Ok(Buffer::from_chunks(device, sums))
    })
}

/// [`row_deviations`] of columns: shape (cols).
pub(super) fn col_deviations(
    device: &Device,
    x: &Buffer<f32>,
    centres: &Buffer<f32>,
    rows: usize,
    cols: usize,
) -> Result<Buffer<f32>> {
    on_device!(device,
    host(h) => {
        if plain_squares(device) {
            let (x, centres) = (x.host("x")?, centres.host("centres")?);
            let sums = h.install(|| host::col_deviations(x, centres, rows, cols));
            return Ok(Buffer::from_host(device, sums));
        }
        one(map::col_sums(device, &[squared_deviation()], &[Operand::Full(x), Operand::Row(centres)], &[], rows, cols)?)
    },
    gpu(g) => {
        let terms = launch::Terms::Deviations(centres.chunks("centres", device)?);
        let sums = launch::col_sums(g, x.chunks("x", device)?, terms, rows, cols, device.arm())?;
        Ok(Buffer::from_chunks(device, sums))
    })
}

/// The one buffer that a call with one expression gives.
fn one(mut sums: Vec<Buffer<f32>>) -> Result<Buffer<f32>> {
    Ok(sums.pop().expect("one expression has one result"))
}
