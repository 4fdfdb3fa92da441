//! Matrix products.

pub(crate) mod conformance;
mod family;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;
mod strided;
#[cfg(test)]
mod tests;

use ml_core::{DataError, Result};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};

pub use family::{Gram, gram, matmul_map, matvec};
pub(crate) use strided::Place;
pub use strided::{Strided, matmul_strided};

/// How the operands of a product lie in memory; all matrices are row-major.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `a` is m x k, `b` is k x n: `a * b`.
    NN,
    /// `a` is m x k, `b` is n x k: `a * b^T`.
    NT,
    /// `a` is k x m, `b` is k x n: `a^T * b`.
    TN,
}

/// The matrix product of `a` and `b`, m x n, row-major.
///
/// Operands are canonical (no subnormal, no -0), as buffers made by primitives are. An empty result is an empty buffer;
/// `k` = 0 gives zeros.
///
/// # Errors
/// [`DataError::Shape`] if a buffer's length is not what `layout` and the dimensions ask for, [`DataError::TooLarge`] if
/// a product of dimensions does not fit; [`ml_core::DeviceError`] if a buffer lives elsewhere or the device fails.
///
/// # Bit identity
/// Contract clause `contractions`: each cell sums its products over leaves of 1,024 elements of k, ascending from +0,
/// with canon after every product and every sum; leaf sums are joined by a balanced tree of adjacent pairs. The order
/// depends on `k` alone: a row alone equals the row in a batch.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, matmul::{Layout, matmul}};
/// let host = Device::host();
/// let a = Buffer::upload(&host, &[1.0, 2.0, 3.0, 4.0])?;
/// let b = Buffer::upload(&host, &[1.0, 0.0, 1.0, 1.0])?;
/// assert_eq!(matmul(&host, Layout::NN, &a, &b, 2, 2, 2)?.read()?, [3.0, 2.0, 7.0, 4.0]);
/// let err = matmul(&host, Layout::NN, &a, &b, 2, 2, 3).unwrap_err();
/// assert_eq!(err.to_string(), "`a` must be 6 elements, got 4");
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn matmul(
    device: &Device,
    layout: Layout,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    m: usize,
    n: usize,
    k: usize,
) -> Result<Buffer<f32>> {
    matmul_batched(device, layout, a, b, 1, m, n, k)
}

/// `batch` matrix products: item i of the result, m x n, is the product of item i of `a` and item i of `b`. Items lie one
/// after the other.
///
/// # Errors
/// As [`matmul`].
///
/// # Bit identity
/// As [`matmul`]; an item does not depend on the others.
#[allow(clippy::too_many_arguments, reason = "a product has two operands and four dimensions")]
pub fn matmul_batched(
    device: &Device,
    layout: Layout,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
) -> Result<Buffer<f32>> {
    a.expect("a", elements("a", [batch, m, k])?, device)?;
    b.expect("b", elements("b", [batch, k, n])?, device)?;
    let dims = [batch, m, n, k];
    product(device, layout, [a, b], strided::shapes(layout, dims).map(Place::dense), dims)
}

/// Products of operands that lie inside their buffers at these places.
fn product(
    device: &Device,
    layout: Layout,
    [a, b]: [&Buffer<f32>; 2],
    places: [Place; 2],
    dims: [usize; 4],
) -> Result<Buffer<f32>> {
    let [batch, m, n, _] = dims;
    elements("matmul", [batch, m, n])?;
    on_device!(device,
        host(h) => {
            let (a, b, arm) = (a.host("a")?, b.host("b")?, device.arm());
            Ok(Buffer::from_host(device, h.install(|| host::matmul(layout, arm, [a, b], places, dims))))
        },
        gpu(g) => kernel::matmul(g, device, layout, [a, b], places, dims))
}

/// The product of `dims`, which must be addressable in bytes.
pub(crate) fn elements(what: &'static str, dims: [usize; 3]) -> Result<usize> {
    let wanted = dims.iter().map(|d| *d as u128).fold(1, u128::saturating_mul);
    let limit = (isize::MAX as usize / size_of::<f32>()) as u128;
    if wanted > limit {
        return Err(DataError::TooLarge { what, elements: wanted, limit }.into());
    }
    Ok(wanted as usize)
}
