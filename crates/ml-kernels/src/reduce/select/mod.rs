//! Contract clause `order`: minimum, maximum and top k of rows by one total order, ties to the lowest index.

pub(super) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;
#[cfg(feature = "gpu")]
mod top_kernel;

use ml_core::{DataError, ParamError, Result};

use super::elements;
use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// Which end of the total order is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The least values, ascending.
    Smallest,
    /// The greatest values, descending.
    Largest,
}

impl Order {
    /// What a key is combined with (exclusive or) so that the chosen end becomes the least.
    pub(super) fn flip(self) -> u32 {
        match self {
            Order::Smallest => 0,
            Order::Largest => u32::MAX,
        }
    }
}

/// The index and the value of the least element of each row of `x`, shape (rows, cols): two buffers of shape (rows).
///
/// # Errors
/// [`DataError::Empty`] if there are rows but no columns; [`DataError::Shape`] if `x` does not have `rows * cols`
/// elements; [`DataError::TooLarge`] if `cols` exceeds 2^32 - 1; a device failure.
///
/// # Bit identity
/// Clause `order`: [`key`](fn@crate::num::key) orders the values (both zeros are one value and come back as +0; NaN is greater
/// than everything, all NaNs are one value and come back as 0x7fc00000); of equal values the one with the lowest index
/// is chosen.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, reduce};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[3.0f32, 1.0, 1.0, -2.0, 5.0, 0.0])?;
/// let (index, value) = reduce::argmin_rows(&device, &x, 2, 3)?;
/// assert_eq!((index.read()?, value.read()?), (vec![1, 0], vec![1.0, -2.0]));
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn argmin_rows(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<(Buffer<u32>, Buffer<f32>)> {
    arg_rows(device, x, rows, cols, Order::Smallest)
}

/// The index and the value of the greatest element of each row of `x`, shape (rows, cols): two buffers of shape (rows).
///
/// # Errors
/// As [`argmin_rows`].
///
/// # Bit identity
/// As [`argmin_rows`]: NaN is greater than everything, and of equal values the one with the lowest index is chosen.
pub fn argmax_rows(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<(Buffer<u32>, Buffer<f32>)> {
    arg_rows(device, x, rows, cols, Order::Largest)
}

fn arg_rows(
    device: &Device,
    x: &Buffer<f32>,
    rows: usize,
    cols: usize,
    order: Order,
) -> Result<(Buffer<u32>, Buffer<f32>)> {
    check(device, x, rows, cols)?;
    if rows == 0 {
        return Ok((Buffer::upload(device, &[])?, Buffer::upload(device, &[])?));
    }
    if cols == 0 {
        return Err(DataError::Empty { what: "x", rows, cols }.into());
    }
    let arm = device.arm();
    let (index, value) = on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        let (index, value) = h.install(|| host::arg_rows(x, rows, cols, order, arm));
        (Buffer::from_host(device, index), Buffer::from_host(device, value))
    },
    gpu(g) => {
        let (index, value) = kernel::arg_rows(g, x.chunks("x", device)?, rows, cols, order, arm)?;
        (Buffer::from_chunks(device, index), Buffer::from_chunks(device, value))
    });
    index.facts().note_below(cols);
    Ok((index, value))
}

/// Indices and values of the `k` first elements of each row of `x`, shape (rows, cols), in the chosen order: two buffers
/// of shape (rows, k), smallest ascending or largest descending, equal values by ascending index.
///
/// # Errors
/// [`ParamError::OutOfBound`] unless `1 <= k <= cols`; [`DataError::Shape`] if `x` does not have `rows * cols` elements;
/// [`DataError::TooLarge`] if `cols` exceeds 2^32 - 1; a device failure.
///
/// # Bit identity
/// As [`argmin_rows`] and [`argmax_rows`], of which this is the general case.
pub fn top_k_rows(
    device: &Device,
    x: &Buffer<f32>,
    rows: usize,
    cols: usize,
    k: usize,
    order: Order,
) -> Result<(Buffer<u32>, Buffer<f32>)> {
    check(device, x, rows, cols)?;
    if k == 0 || k > cols {
        return Err(ParamError::out_of_bound("k", format!("within 1..={cols}, the columns"), k).into());
    }
    if rows == 0 {
        return Ok((Buffer::upload(device, &[])?, Buffer::upload(device, &[])?));
    }
    let arm = device.arm();
    let (index, value) = on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        let (index, value) = h.install(|| host::top_k_rows(x, rows, cols, k, order, arm));
        (Buffer::from_host(device, index), Buffer::from_host(device, value))
    },
    gpu(g) => {
        let (index, value) = top_kernel::top_k_rows(g, x.chunks("x", device)?, rows, cols, k, order, arm)?;
        (Buffer::from_chunks(device, index), Buffer::from_chunks(device, value))
    });
    index.facts().note_below(cols);
    Ok((index, value))
}

fn check(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<()> {
    x.expect("x", elements("x", rows, cols)?, device)?;
    let limit = u32::MAX as u128;
    if cols as u128 > limit {
        return Err(DataError::TooLarge { what: "columns", elements: cols as u128, limit }.into());
    }
    Ok(())
}
