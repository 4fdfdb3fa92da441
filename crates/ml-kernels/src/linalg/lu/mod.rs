//! LU with partial pivoting, and what follows from it: square systems, inverses, determinants.

pub(super) mod conformance;
mod factor;
mod logarithm;
pub(super) mod reference;

use ml_core::{Error, Result};

use super::dense::{View, elements, on_host, read, single};
use super::triangular::{Kind, solve_in_place};
use crate::buffer::Buffer;
use crate::device::Device;
use factor::Factors;

/// The factors of a row-exchanged matrix, as [`lu`] gives them.
#[derive(Debug, Clone)]
pub struct Lu {
    /// Shape (m, n): U on and above the diagonal, the multipliers of the unit lower triangular L below it.
    pub factors: Buffer<f32>,
    /// Shape (m): row i of the product L U is row `order[i]` of the matrix.
    pub order: Buffer<u32>,
}

/// P A = L U for `a`, shape (m, n): L, shape (m, min(m, n)), has a unit diagonal and no element above 1 in magnitude; U,
/// shape (min(m, n), n), is upper triangular.
///
/// The pivot of a column is the element of largest magnitude, the lowest row of equals. A column without one leaves a zero
/// on the diagonal of U and is no error. An empty matrix has empty factors.
///
/// # Errors
/// [`DataError::NonFinite`] for a NaN or an infinity in `a`; [`Error::NonFinite`] if a factor exceeds single precision;
/// [`DataError::Shape`]; [`DataError::TooLarge`] for more than 2^32 - 1 elements; a device failure.
///
/// # Bit identity
/// Computed on the host in double precision for every device, so it is the same code everywhere, and rounded once to
/// single precision. Threads share rows and columns, between which nothing is added (clause `factorisations`).
///
/// # Example
/// ```
/// use ml_kernels::linalg::lu;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[1.0f32, 2.0, 4.0, 4.0])?;
/// let found = lu(&device, &a, 2, 2)?;
/// assert_eq!(found.factors.read()?, [4.0, 4.0, 0.25, 1.0]);
/// assert_eq!(found.order.read()?, [1, 0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
pub fn lu(device: &Device, a: &Buffer<f32>, m: usize, n: usize) -> Result<Lu> {
    let found = factors(device, a, m, n)?;
    Ok(Lu {
        factors: Buffer::upload(device, &single("lu.factors", &found.packed)?)?,
        order: Buffer::upload(device, &found.order)?,
    })
}

fn factors(device: &Device, a: &Buffer<f32>, m: usize, n: usize) -> Result<Factors> {
    let a = read(device, "a", a, (m, n), |_, _| true)?;
    Ok(on_host(device, || factor::factor(a, m, n)))
}

/// The x, shape (n, nrhs), with A x = `b`, for `a` of shape (n, n) and `b` of shape (n, nrhs), by [`lu`].
///
/// The factors stay in double precision: this is more accurate than a solve with rounded ones. Nothing to solve (n = 0 or
/// nrhs = 0) gives an empty result.
///
/// # Errors
/// [`Error::Singular`] with the index of the first pivot that is exactly zero; [`DataError::NonFinite`] for a NaN or an
/// infinity in `a` or `b`; [`Error::NonFinite`] if a solution exceeds single precision; [`DataError::Shape`];
/// [`DataError::TooLarge`]; a device failure.
///
/// # Bit identity
/// As for [`lu`].
///
/// # Example
/// ```
/// use ml_kernels::linalg::solve;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[0.0f32, 2.0, 3.0, 4.0])?;
/// let b = Buffer::upload(&device, &[4.0f32, 11.0])?;
/// assert_eq!(solve(&device, &a, &b, 2, 1)?.read()?, [1.0, 2.0]);
///
/// let flat = Buffer::upload(&device, &[1.0f32, 2.0, 2.0, 4.0])?;
/// assert_eq!(solve(&device, &flat, &b, 2, 1).unwrap_err().to_string(), "matrix is singular: pivot 1 is zero");
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
pub fn solve(device: &Device, a: &Buffer<f32>, b: &Buffer<f32>, n: usize, nrhs: usize) -> Result<Buffer<f32>> {
    b.expect("b", elements("b", n, nrhs)?, device)?;
    let a = read(device, "a", a, (n, n), |_, _| true)?;
    let b = read(device, "b", b, (n, nrhs), |_, _| true)?;
    let x = on_host(device, || solve_wide(a, &b, n, nrhs))?;
    Buffer::upload(device, &single("solve.solution", &x)?)
}

/// The inverse, shape (n, n), of `a`: [`solve`] for the identity.
///
/// # Errors
/// Those of [`solve`].
///
/// # Bit identity
/// As for [`lu`].
///
/// # Example
/// ```
/// use ml_kernels::linalg::inverse;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[0.0f32, 2.0, 4.0, 0.0])?;
/// assert_eq!(inverse(&device, &a, 2)?.read()?, [0.0, 0.25, 0.5, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn inverse(device: &Device, a: &Buffer<f32>, n: usize) -> Result<Buffer<f32>> {
    let a = read(device, "a", a, (n, n), |_, _| true)?;
    let mut identity = vec![0.0f64; n * n];
    (0..n).for_each(|i| identity[i * n + i] = 1.0);
    let x = on_host(device, || solve_wide(a, &identity, n, n))?;
    Buffer::upload(device, &single("inverse", &x)?)
}

fn solve_wide(a: Vec<f64>, b: &[f64], n: usize, nrhs: usize) -> Result<Vec<f64>> {
    let found = factor::factor(a, n, n);
    if let Some(pivot) = found.zero_pivot() {
        return Err(Error::Singular { pivot });
    }
    let mut x = Vec::with_capacity(n * nrhs);
    for &row in &found.order {
        x.extend_from_slice(&b[row as usize * nrhs..(row as usize + 1) * nrhs]);
    }
    let view = View::new(&found.packed, n, n, n);
    solve_in_place(view, Kind { upper: false, unit: true }, &mut x, nrhs);
    solve_in_place(view, Kind { upper: true, unit: false }, &mut x, nrhs);
    Ok(x)
}

/// The determinant of `a`, shape (n, n), by [`lu`]; 1 for an empty matrix.
///
/// # Errors
/// [`Error::NonFinite`] if it exceeds single precision (see [`slogdet`]); [`DataError::NonFinite`] for a NaN or an infinity
/// in `a`; [`DataError::Shape`]; [`DataError::TooLarge`]; a device failure.
///
/// # Bit identity
/// As for [`lu`]. Pivots are multiplied in ascending order, after each of them the exponent is taken aside, so that nothing
/// overflows on the way; the product is rounded once.
///
/// # Example
/// ```
/// use ml_kernels::linalg::determinant;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[0.0f32, 2.0, 4.0, 0.0])?;
/// assert_eq!(determinant(&device, &a, 2)?, -8.0);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
pub fn determinant(device: &Device, a: &Buffer<f32>, n: usize) -> Result<f32> {
    let product = logarithm::Product::of_pivots(&factors(device, a, n, n)?);
    Ok(single("determinant", &[product.value()])?[0])
}

/// Sign and natural logarithm of the magnitude of a determinant, as [`slogdet`] gives them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignLogDet {
    /// 1, -1, or 0 for a singular matrix.
    pub sign: f32,
    /// The logarithm; -infinity for a singular matrix.
    pub log: f32,
}

/// Sign and logarithm of the determinant of `a`, shape (n, n), which itself may exceed every range.
///
/// # Errors
/// [`DataError::NonFinite`] for a NaN or an infinity in `a`; [`DataError::Shape`]; [`DataError::TooLarge`]; a device
/// failure.
///
/// # Bit identity
/// As for [`determinant`]; the logarithm is computed in double precision from `+ - * /` alone.
///
/// # Example
/// ```
/// use ml_kernels::linalg::slogdet;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[1e30f32, 0.0, 0.0, -1e30])?;
/// let found = slogdet(&device, &a, 2)?;
/// assert_eq!((found.sign, found.log), (-1.0, 138.15511));
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
pub fn slogdet(device: &Device, a: &Buffer<f32>, n: usize) -> Result<SignLogDet> {
    let product = logarithm::Product::of_pivots(&factors(device, a, n, n)?);
    Ok(product.sign_and_logarithm())
}
