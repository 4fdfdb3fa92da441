//! Stable sorting of `u32` keys with values, and the sorting permutation of floats.

pub(crate) mod conformance;
pub(crate) mod host;
#[cfg(feature = "gpu")]
pub(crate) mod kernel;
mod reference;

use ml_core::{DataError, Result};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// `n` as a count that positions of 32 bits can number.
pub(crate) fn count_u32(what: &'static str, n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| DataError::TooLarge { what, elements: n as u128, limit: u128::from(u32::MAX) }.into())
}

/// `keys` in ascending order, and `values` in the same new order; equal keys stay in the order they came in.
///
/// The host sorts by radix on all its threads, devices by a radix sort of their own, of any length.
///
/// # Errors
/// [`DataError::Shape`] if the lengths differ; [`DataError::TooLarge`] unless there are fewer than 2^32 keys; a device
/// failure. Empty input gives empty output.
///
/// # Bit identity
/// Clause `order`: integers alone, and the result is unique.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, sort::sort_by_key};
/// let device = Device::host();
/// let keys = Buffer::upload(&device, &[7u32, 3, 7, 0])?;
/// let values = Buffer::upload(&device, &[10u32, 11, 12, 13])?;
/// let (keys, values) = sort_by_key(&device, &keys, &values)?;
/// assert_eq!(keys.read()?, [0, 3, 7, 7]);
/// assert_eq!(values.read()?, [13, 11, 10, 12]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn sort_by_key(device: &Device, keys: &Buffer<u32>, values: &Buffer<u32>) -> Result<(Buffer<u32>, Buffer<u32>)> {
    let n = keys.len();
    count_u32("keys", n)?;
    keys.expect("keys", n, device)?;
    values.expect("values", n, device)?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let (keys, values) = (keys.host("keys")?, values.host("values")?);
        let (keys, values) = h.install(|| host::sort(keys, values, arm));
        Ok((Buffer::from_host(device, keys), Buffer::from_host(device, values)))
    },
    gpu(g) => {
        let (keys, values) =
            kernel::sort(g, keys.chunks("keys", device)?, values.chunks("values", device)?, arm)?;
        Ok((Buffer::from_chunks(device, keys), Buffer::from_chunks(device, values)))
    })
}

/// The positions of `x` in ascending order of value: -inf < ... < 0 < ... < +inf < NaN; equal values in order of
/// position. Both zeros are equal, and so are all NaNs ([`crate::num::key`](fn@crate::num::key)).
///
/// # Errors
/// [`DataError::TooLarge`] unless there are fewer than 2^32 values; a device failure. Empty input gives empty output.
///
/// # Bit identity
/// Clause `order`: integers alone, and the result is unique.
pub fn argsort(device: &Device, x: &Buffer<f32>) -> Result<Buffer<u32>> {
    let n = x.len();
    count_u32("x", n)?;
    x.expect("x", n, device)?;
    let (keys, index) = on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        let (keys, index) = h.install(|| host::keys(x));
        (Buffer::from_host(device, keys), Buffer::from_host(device, index))
    },
    gpu(g) => {
        let (keys, index) = kernel::keys(g, x.chunks("x", device)?)?;
        (Buffer::from_chunks(device, keys), Buffer::from_chunks(device, index))
    });
    let order = sort_by_key(device, &keys, &index)?.1;
    order.facts().note_below(n);
    Ok(order)
}
