//! Contract clause `order`: the least and the greatest value, without its place.

pub(super) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;

use ml_core::{DataError, Result};

use super::{Along, Order, elements};
use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// The greatest element: shape (1).
///
/// # Errors
/// [`DataError::Empty`] if there are no elements; a device failure.
///
/// # Bit identity
/// Clause `order`: [`key`](fn@crate::num::key) orders the values. Both zeros are one value and come back as +0; NaN is greater
/// than everything, and comes back as 0x7fc00000. Equal values have equal bits, so nothing depends on an order of
/// comparisons.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, reduce};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[3.0f32, -1.0, 7.0, 0.0])?;
/// assert_eq!(reduce::max(&device, &x)?.read()?, [7.0]);
/// assert_eq!(reduce::row_min(&device, &x, 2, 2)?.read()?, [-1.0, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn max(device: &Device, x: &Buffer<f32>) -> Result<Buffer<f32>> {
    row_max(device, x, 1, x.len())
}

/// The least element: shape (1).
///
/// # Errors
/// As [`max`].
///
/// # Bit identity
/// As [`max`]: a NaN only if there is nothing else.
pub fn min(device: &Device, x: &Buffer<f32>) -> Result<Buffer<f32>> {
    row_min(device, x, 1, x.len())
}

/// The greatest element of each row of `x`, shape (rows, cols): shape (rows).
///
/// # Errors
/// [`DataError::Empty`] if there are rows but no columns; [`DataError::Shape`] if `x` does not have `rows * cols`
/// elements; a device failure.
///
/// # Bit identity
/// As [`max`].
pub fn row_max(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    extremes(device, x, rows, cols, Along::Rows, Order::Largest)
}

/// The least element of each row of `x`, shape (rows, cols): shape (rows).
///
/// # Errors
/// As [`row_max`].
///
/// # Bit identity
/// As [`min`].
pub fn row_min(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    extremes(device, x, rows, cols, Along::Rows, Order::Smallest)
}

/// The greatest element of each column of `x`, shape (rows, cols): shape (cols).
///
/// # Errors
/// [`DataError::Empty`] if there are columns but no rows; [`DataError::Shape`] if `x` does not have `rows * cols`
/// elements; a device failure.
///
/// # Bit identity
/// As [`max`].
pub fn col_max(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    extremes(device, x, rows, cols, Along::Columns, Order::Largest)
}

/// The least element of each column of `x`, shape (rows, cols): shape (cols).
///
/// # Errors
/// As [`col_max`].
///
/// # Bit identity
/// As [`min`].
pub fn col_min(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    extremes(device, x, rows, cols, Along::Columns, Order::Smallest)
}

fn extremes(
    device: &Device,
    x: &Buffer<f32>,
    rows: usize,
    cols: usize,
    along: Along,
    order: Order,
) -> Result<Buffer<f32>> {
    x.expect("x", elements("x", rows, cols)?, device)?;
    let (results, candidates) = along.extents(rows, cols);
    if results == 0 {
        return Buffer::upload(device, &[]);
    }
    if candidates == 0 {
        return Err(DataError::Empty { what: "x", rows, cols }.into());
    }
    // A matrix of one column is looked through as a row is.
    let by_rows = along == Along::Rows || cols == 1;
    let (rows, cols) = if by_rows { (results, candidates) } else { (rows, cols) };
    let flip = order.flip();
    on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        let values = h.install(|| match by_rows {
            true => host::row_extremes(x, rows, cols, flip),
            false => host::col_extremes(x, rows, cols, flip),
        });
        Ok(Buffer::from_host(device, values))
    },
    gpu(g) => {
        let x = x.chunks("x", device)?;
        let values = match by_rows {
            true => kernel::row_extremes(g, x, rows, cols, flip)?,
            false => kernel::col_extremes(g, x, rows, cols, flip)?,
        };
        Ok(Buffer::from_chunks(device, values))
    })
}
