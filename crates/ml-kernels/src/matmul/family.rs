//! The relatives of `matmul`: products with a vector, products of a matrix with itself, and formulas over a product.

use ml_core::Result;

use super::{Layout, matmul};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::map::{Expr, Operand, map_over};

/// The product of a matrix and a vector, (m). `layout` says how `a` lies: m x k (`NN`, `NT`), or k x m (`TN`).
///
/// # Errors
/// As [`matmul`].
///
/// # Bit identity
/// That of [`matmul`] with n = 1.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, matmul::{Layout, matvec}};
/// let host = Device::host();
/// let a = Buffer::upload(&host, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let x = Buffer::upload(&host, &[1.0, 0.0, -1.0])?;
/// assert_eq!(matvec(&host, Layout::NN, &a, &x, 2, 3)?.read()?, [-2.0, -2.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn matvec(
    device: &Device,
    layout: Layout,
    a: &Buffer<f32>,
    x: &Buffer<f32>,
    m: usize,
    k: usize,
) -> Result<Buffer<f32>> {
    matmul(device, layout, a, x, m, 1, k)
}

/// Which vectors of a matrix a [`gram`] matrix holds the products of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gram {
    /// Rows: x xᵀ.
    Rows,
    /// Columns: xᵀ x.
    Columns,
}

/// The products of all pairs of rows, or of columns, of `x` (rows x cols), row-major: a symmetric matrix, both triangles
/// stored. About half of it is computed; the rest is its mirror image.
///
/// # Errors
/// As [`matmul`].
///
/// # Bit identity
/// That of [`matmul`] of `x` with itself, `NT` for rows and `TN` for columns.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, matmul::{Gram, gram}};
/// let host = Device::host();
/// let x = Buffer::upload(&host, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(gram(&host, Gram::Rows, &x, 2, 3)?.read()?, [14.0, 32.0, 32.0, 77.0]);
/// assert_eq!(gram(&host, Gram::Columns, &x, 3, 2)?.read()?, [35.0, 44.0, 44.0, 56.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn gram(device: &Device, of: Gram, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    match of {
        Gram::Rows => matmul(device, Layout::NT, x, x, rows, rows, cols),
        Gram::Columns => matmul(device, Layout::TN, x, x, cols, cols, rows),
    }
}

/// A formula over a product, m x n: a bias, an activation, a sum with another matrix, or all of them. Input 0 of `epilogue`
/// is the product, input i + 1 is `inputs[i]`.
///
/// The product is stored and the formula makes one more pass over it.
///
/// # Errors
/// Those of [`matmul`] and of [`crate::map::map()`].
///
/// # Bit identity
/// That of [`matmul`] followed by [`crate::map::map()`]: contract clause `contractions`, then one rounding an operation of the formula.
///
/// # Example
/// A layer with bias and rectifier:
/// ```
/// use ml_kernels::map::{Expr, Operand};
/// use ml_kernels::{Buffer, Device, matmul::{Layout, matmul_map}};
/// let host = Device::host();
/// let x = Buffer::upload(&host, &[1.0, 2.0])?;
/// let weights = Buffer::upload(&host, &[1.0, 0.0, 0.5, 1.0, -2.0, 1.0])?;
/// let bias = Buffer::upload(&host, &[0.5, 0.0, -1.0])?;
/// let layer = (Expr::input(0) + Expr::input(1)).relu();
/// let y = matmul_map(&host, Layout::NT, &x, &weights, [1, 3, 2], &layer, &[Operand::Row(&bias)], &[])?;
/// assert_eq!(y.read()?, [1.5, 2.5, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
#[allow(clippy::too_many_arguments, reason = "those of a product and those of a formula")]
pub fn matmul_map(
    device: &Device,
    layout: Layout,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    [m, n, k]: [usize; 3],
    epilogue: &Expr,
    inputs: &[Operand<'_>],
    scalars: &[f32],
) -> Result<Buffer<f32>> {
    let product = matmul(device, layout, a, b, m, n, k)?;
    map_over(device, epilogue, product, inputs, scalars, m, n)
}
