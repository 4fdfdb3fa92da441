//! Scans: exclusive prefix sums of unsigned integers, cumulative sums of floats.

pub(crate) mod conformance;
mod cumulative;
mod host;
#[cfg(feature = "gpu")]
pub(crate) mod kernel;
mod reference;

use ml_core::Result;

pub use cumulative::{cumulative_sum, row_cumulative_sums};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// Sums of all elements before each element, modulo 2^32, and the sum of all. No elements give an empty buffer and 0.
///
/// # Errors
/// A device failure.
///
/// # Bit identity
/// Integers modulo 2^32: any order of addition gives the same.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, scan};
/// let device = Device::host();
/// let (before, total) = scan::exclusive_scan(&device, &Buffer::upload(&device, &[3u32, 0, 4])?)?;
/// assert_eq!((before.read()?, total), (vec![0, 3, 3], 7));
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn exclusive_scan(device: &Device, x: &Buffer<u32>) -> Result<(Buffer<u32>, u32)> {
    x.expect("x", x.len(), device)?;
    on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        let (before, total) = h.install(|| host::exclusive_scan(x));
        Ok((Buffer::from_host(device, before), total))
    },
    gpu(g) => {
        let (before, total) = kernel::exclusive_scan(g, x.chunks("x", device)?)?;
        Ok((Buffer::from_chunks(device, before), total))
    })
}
