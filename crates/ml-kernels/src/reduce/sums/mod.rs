//! Contract clause `sums`: one lane-and-tree shape per length, the same for SIMD and for a workgroup.

pub(super) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
#[cfg(feature = "gpu")]
mod launch;
mod reference;

use ml_core::Result;

pub(crate) use self::host::mapped_col_sums;
pub(crate) use self::reference::col_sums as reference_col_sums;
use super::elements;
use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// Elements of a chunk.
const CHUNK: usize = 1024;

/// Lanes of a chunk: element `i` belongs to lane `i % LANES`.
const LANES: usize = 32;

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
        gpu(g) => Ok(Buffer::from_chunks(device, launch::row_sums(g, x.chunks("x", device)?, rows, cols, arm)?)))
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
        gpu(g) => Ok(Buffer::from_chunks(device, launch::col_sums(g, x.chunks("x", device)?, rows, cols, arm)?)))
}
