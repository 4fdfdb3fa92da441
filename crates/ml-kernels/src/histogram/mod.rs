//! Counting: how often each bin occurs.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
pub(crate) mod kernel;
mod reference;

use ml_core::{DataError, Result};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::sort::count_u32;

/// How often each of `0..n_bins` occurs in `bins`.
///
/// # Errors
/// [`DataError::Index`] naming the first entry that is not below `n_bins`; [`DataError::TooLarge`] unless there are
/// fewer than 2^32 entries and bins; a device failure. Empty `bins` give zeros. On a device the call waits for the
/// check, unless an earlier call has made it or made the bins.
///
/// # Bit identity
/// Clause `scatter`: integers, so that any order counts the same.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, histogram::histogram};
/// let device = Device::host();
/// let bins = Buffer::upload(&device, &[2u32, 0, 2, 2])?;
/// assert_eq!(histogram(&device, &bins, 4)?.read()?, [1, 0, 3, 0]);
/// let err = histogram(&device, &bins, 2).unwrap_err();
/// assert_eq!(err.to_string(), "`bins` holds index 2 at position 0, the bound is 2");
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn histogram(device: &Device, bins: &Buffer<u32>, n_bins: usize) -> Result<Buffer<u32>> {
    let n = bins.len();
    count_u32("bins", n)?;
    count_u32("n_bins", n_bins)?;
    bins.expect("bins", n, device)?;
    on_device!(device,
    host(h) => {
        let bins = bins.host("bins")?;
        match h.install(|| host::count(bins, n_bins)) {
            Ok(counts) => Ok(Buffer::from_host(device, counts)),
            Err(position) => Err(bad_index("bins", position, bins[position], n_bins)),
        }
    },
    gpu(g) => {
        let known = bins.facts().are_below(n_bins);
        let counts = kernel::count(g, bins.chunks("bins", device)?, n_bins, known)?;
        bins.facts().note_below(n_bins);
        Ok(Buffer::from_chunks(device, counts))
    })
}

pub(crate) fn bad_index(what: &'static str, position: usize, index: u32, bound: usize) -> ml_core::Error {
    DataError::Index { what, position, index: u64::from(index), bound: bound as u64 }.into()
}
