//! Squared Euclidean distances and nearest rows.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod lloyd;
mod reference;
#[cfg(test)]
mod tests;

use ml_core::{DataError, Result, check};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::matmul::elements;

pub use lloyd::{Lloyd, Step};

/// The squared Euclidean distances between the rows of `x`, n x d, and the rows of `y`, m x d: n x m, row-major.
///
/// They are summed directly, not expanded into products, so that near rows lose no digits and a row's distance to itself
/// is 0. `d` = 0 gives zeros; no rows on a side give an empty buffer.
///
/// # Errors
/// [`DataError::Shape`] if a buffer's length is not what the dimensions ask for, [`DataError::TooLarge`] if a product of
/// dimensions does not fit; [`ml_core::DeviceError`] if a buffer lives elsewhere or the device fails.
///
/// # Bit identity
/// Contract clause `contractions`: the terms are `t * t` with `t = x - y`, canon after the difference, the square and
/// every sum; leaves of 1,024 features ascending from +0, joined by a balanced tree of adjacent pairs.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, distances::squared_distances};
/// let host = Device::host();
/// let x = Buffer::upload(&host, &[0.0, 0.0, 3.0, 4.0])?;
/// assert_eq!(squared_distances(&host, &x, &x, 2, 2, 2)?.read()?, [0.0, 25.0, 25.0, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn squared_distances(
    device: &Device,
    x: &Buffer<f32>,
    y: &Buffer<f32>,
    n: usize,
    m: usize,
    d: usize,
) -> Result<Buffer<f32>> {
    expect_rows(device, x, y, [n, m, d])?;
    elements("squared_distances", [n, m, 1])?;
    on_device!(device,
        host(h) => {
            let (x, y, arm) = (x.host("x")?, y.host("y")?, device.arm());
            Ok(Buffer::from_host(device, h.install(|| host::squared_distances(arm, x, y, [n, m, d]))))
        },
        gpu(g) => kernel::squared_distances(g, device, x, y, [n, m, d]))
}

/// For each row of `x`, n x d, the index of the nearest row of `y`, m x d, and its squared distance; equally near rows
/// give the lowest index.
///
/// # Errors
/// As [`squared_distances`]; [`DataError::Empty`] if `y` has no rows and `x` has some; [`DataError::TooLarge`] if `y` has
/// more rows than `u32` can count.
///
/// # Bit identity
/// Distances as [`squared_distances`]; clause `order`: compared by key, ties to the lowest index.
pub fn nearest(
    device: &Device,
    x: &Buffer<f32>,
    y: &Buffer<f32>,
    n: usize,
    m: usize,
    d: usize,
) -> Result<(Buffer<u32>, Buffer<f32>)> {
    if m == 0 && n > 0 {
        return Err(DataError::Empty { what: "y", rows: 0, cols: d }.into());
    }
    if n == 0 {
        expect_rows(device, x, y, [n, m, d])?;
        return Ok((Buffer::upload(device, &[])?, Buffer::upload(device, &[])?));
    }
    k_nearest(device, x, y, n, m, d, 1)
}

/// For each row of `x`, n x d, the indices of its `k` nearest rows of `y`, m x d, and their squared distances, each
/// n x k, row-major, ascending by distance and among equals by index. The distances of all pairs are never held at once.
///
/// # Errors
/// As [`squared_distances`]; [`ml_core::ParamError::OutOfBound`] unless `1 <= k <= m`; [`DataError::TooLarge`] if `y` has
/// more rows than `u32` can count.
///
/// # Bit identity
/// Distances as [`squared_distances`]; clause `order`: sorted by key, ties to the lowest index.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, distances::k_nearest};
/// let host = Device::host();
/// let x = Buffer::upload(&host, &[1.0])?;
/// let y = Buffer::upload(&host, &[4.0, 2.0, 0.0])?;
/// let (index, distance) = k_nearest(&host, &x, &y, 1, 3, 1, 2)?;
/// assert_eq!((index.read()?, distance.read()?), (vec![1, 2], vec![1.0, 1.0]));
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn k_nearest(
    device: &Device,
    x: &Buffer<f32>,
    y: &Buffer<f32>,
    n: usize,
    m: usize,
    d: usize,
    k: usize,
) -> Result<(Buffer<u32>, Buffer<f32>)> {
    check::usize_within("k", k, 1, m)?;
    expect_rows(device, x, y, [n, m, d])?;
    elements("k_nearest", [n, k, 1])?;
    if m as u128 > u32::MAX as u128 {
        return Err(DataError::TooLarge { what: "y", elements: m as u128, limit: u32::MAX as u128 }.into());
    }
    let (index, distance) = on_device!(device,
        host(h) => {
            let (x, y, arm) = (x.host("x")?, y.host("y")?, device.arm());
            let (index, distance) = h.install(|| host::k_nearest(arm, x, y, [n, m, d], k));
            (Buffer::from_host(device, index), Buffer::from_host(device, distance))
        },
        gpu(g) => kernel::k_nearest(g, device, x, y, [n, m, d], k)?);
    index.facts().note_below(m);
    Ok((index, distance))
}

fn expect_rows(device: &Device, x: &Buffer<f32>, y: &Buffer<f32>, [n, m, d]: [usize; 3]) -> Result<()> {
    x.expect("x", elements("x", [n, d, 1])?, device)?;
    y.expect("y", elements("y", [m, d, 1])?, device)
}
