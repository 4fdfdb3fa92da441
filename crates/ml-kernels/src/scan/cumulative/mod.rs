//! Contract clause `sums`: cumulative sums of floats.

pub(super) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;

use ml_core::Result;

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::reduce::elements;

/// Elements of a run, which are added one after the other.
const RUN: usize = 32;

/// Elements of a chunk, a run of runs: what is summed at once.
const CHUNK: usize = RUN * RUN;

/// The sum of each element and all elements before it: as many as `x` has. No elements give an empty buffer.
///
/// The error grows with the logarithm of the number of elements, not with the number. The last element is not the
/// [`sum`](crate::reduce::sum()), which has another shape.
///
/// # Errors
/// A device failure.
///
/// # Bit identity
/// Clause `sums`: runs of 32 elements, each added in ascending order from +0; before each run, what the list of the runs'
/// sums gives by the same rule; one addition of both. Every addition is followed by canon.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, scan};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, -0.5])?;
/// assert_eq!(scan::cumulative_sum(&device, &x)?.read()?, [1.0, 3.0, 2.5]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn cumulative_sum(device: &Device, x: &Buffer<f32>) -> Result<Buffer<f32>> {
    row_cumulative_sums(device, x, 1, x.len())
}

/// In each row of `x`, shape (rows, cols), the sum of each element and all elements before it: shape (rows, cols).
///
/// # Errors
/// [`ml_core::DataError::Shape`] if `x` does not have `rows * cols` elements; a device failure.
///
/// # Bit identity
/// As [`cumulative_sum`]: a row's sums do not depend on the rows beside it.
pub fn row_cumulative_sums(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    x.expect("x", elements("x", rows, cols)?, device)?;
    if x.is_empty() {
        return Buffer::upload(device, &[]);
    }
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        Ok(Buffer::from_host(device, h.install(|| host::cumulative_sums(x, rows, cols, arm))))
    },
    gpu(g) => {
        let sums = kernel::cumulative_sums(g, x.chunks("x", device)?, rows, cols, arm)?;
        Ok(Buffer::from_chunks(device, sums))
    })
}
