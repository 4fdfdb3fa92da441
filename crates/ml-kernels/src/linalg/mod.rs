//! Dense linear algebra: Cholesky, LU, QR, SVD, triangular systems, least squares, eigenvectors of symmetric matrices.

pub(crate) mod conformance;
mod dense;
mod eigen;
mod eigen_reference;
mod host;
mod householder;
#[cfg(feature = "gpu")]
mod kernel;
mod lstsq;
mod lstsq_reference;
mod lu;
mod plain;
mod qr;
mod reference;
mod rotations;
mod svd;
mod triangular;
mod tridiagonal;
mod vectors;

use ml_core::{DataError, Error, Result};

use crate::buffer::Buffer;
#[cfg(feature = "gpu")]
use crate::buffer::Chunks;
use crate::device::{Device, on_device};

pub use lstsq::{Lstsq, lstsq};
pub use lu::{Lu, SignLogDet, determinant, inverse, lu, slogdet, solve};
pub use qr::qr;
pub use svd::{Svd, singular_values, svd};
pub use triangular::{Triangle, triangular_solve};

/// The first pivot that is not positive and finite.
#[derive(Debug, Clone, Copy)]
struct Unfactorable {
    pivot: usize,
    value: f32,
}

impl From<Unfactorable> for Error {
    fn from(found: Unfactorable) -> Self {
        // Devices differ in the payload of a NaN.
        let value = if found.value.is_nan() { f32::NAN } else { found.value };
        Error::NotPositiveDefinite { pivot: found.pivot, value }
    }
}

/// Whether a diagonal remainder can be a pivot: positive and finite, decided on bits.
fn is_pivot(x: f32) -> bool {
    (1..0x7f80_0000).contains(&x.to_bits())
}

fn square(what: &'static str, n: usize) -> Result<usize> {
    let too_large = || DataError::TooLarge { what, elements: n as u128 * n as u128, limit: u32::MAX as u128 };
    n.checked_mul(n).filter(|&elements| u32::try_from(elements).is_ok()).ok_or_else(|| too_large().into())
}

/// The lower triangular L, shape (n, n), with L L' = `a`; zeros above the diagonal.
///
/// `a` has shape (n, n) and is taken to be symmetric: only its lower triangle is read. An empty matrix has an empty
/// factor.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] naming the first pivot that is not positive and finite (non-finite input ends here
/// too); [`DataError::Shape`]; [`DataError::TooLarge`] for more than 2^32 - 1 elements; a device failure.
///
/// # Bit identity
/// Entry (i, j) below the diagonal is (a(i, j) - s) / L(j, j), where s contracts rows i and j of L over the columns
/// below j; the diagonal is the root of a(j, j) - s. s follows clause `contractions`, each other operation rounds once
/// (clause `operations`).
///
/// # Example
/// ```
/// use ml_kernels::linalg::{cholesky, cholesky_solve};
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[4.0f32, 2.0, 2.0, 10.0])?;
/// let l = cholesky(&device, &a, 2)?;
/// assert_eq!(l.read()?, [2.0, 0.0, 1.0, 3.0]);
/// let b = Buffer::upload(&device, &[8.0f32, 22.0])?;
/// assert_eq!(cholesky_solve(&device, &l, &b, 2, 1)?.read()?, [1.0, 2.0]);
///
/// let flat = Buffer::upload(&device, &[1.0f32, 1.0, 1.0, 1.0])?;
/// let err = cholesky(&device, &flat, 2).unwrap_err();
/// assert_eq!(err.to_string(), "matrix is not positive definite: pivot 1 is 0e0");
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn cholesky(device: &Device, a: &Buffer<f32>, n: usize) -> Result<Buffer<f32>> {
    a.expect("a", square("a", n)?, device)?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let a = a.host("a")?;
        Ok(Buffer::from_host(device, h.install(|| host::cholesky(a, n, arm))?))
    },
    gpu(g) => {
        let out = Chunks::alloc(g, n * n)?;
        kernel::cholesky(g, a.chunks("a", device)?, n, arm, &out)?;
        Ok(Buffer::from_chunks(device, out))
    })
}

/// The x, shape (n, nrhs), with L L' x = `b`, for a factor `l` of [`cholesky`], shape (n, n), and `b`, shape (n, nrhs).
///
/// Only the lower triangle of `l` is read. A zero on its diagonal gives infinities or NaN, as the division says. Nothing
/// to solve (n = 0 or nrhs = 0) gives an empty result.
///
/// # Errors
/// [`DataError::Shape`]; [`DataError::TooLarge`] for more than 2^32 - 1 elements; a device failure.
///
/// # Bit identity
/// For each column of `b` apart: y(i) = (b(i) - s) / L(i, i) for ascending i, s contracting L(i, k) y(k) over k < i; then
/// x(i) = (y(i) - s) / L(i, i) for descending i, s contracting L(k, i) x(k) over ascending k > i. s follows clause
/// `contractions` with its first term as term 0.
pub fn cholesky_solve(device: &Device, l: &Buffer<f32>, b: &Buffer<f32>, n: usize, nrhs: usize) -> Result<Buffer<f32>> {
    l.expect("l", square("l", n)?, device)?;
    let total = n.checked_mul(nrhs).filter(|&elements| u32::try_from(elements).is_ok()).ok_or_else(|| {
        DataError::TooLarge { what: "b", elements: n as u128 * nrhs as u128, limit: u32::MAX as u128 }
    })?;
    b.expect("b", total, device)?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let (l, b) = (l.host("l")?, b.host("b")?);
        Ok(Buffer::from_host(device, h.install(|| host::solve(l, b, n, nrhs, arm))))
    },
    gpu(g) => {
        let out = Chunks::alloc(g, total)?;
        kernel::solve(g, l.chunks("l", device)?, b.chunks("b", device)?, n, nrhs, arm, &out)?;
        Ok(Buffer::from_chunks(device, out))
    })
}

/// Eigenvalues, shape (n), descending, and eigenvectors, shape (n, n), row i belonging to value i.
///
/// `a` has shape (n, n) and is taken to be symmetric: only its lower triangle is read. Vectors have length 1, and their
/// entry of largest magnitude (the first of equals) is positive. Equal values keep the order in which the iteration
/// found them. An empty matrix has no eigenvalues.
///
/// Householder reduction to tridiagonal form, then the implicit QL iteration (Golub and Van Loan, *Matrix
/// Computations*, section 8.3), all in double precision.
///
/// # Errors
/// [`Error::NonFinite`] if the triangle holds a value that is not finite or an eigenvalue exceeds single precision;
/// [`Error::NoConvergence`] after 50 n iterations; [`DataError::Shape`]; [`DataError::TooLarge`]; a
/// device failure.
///
/// # Bit identity
/// Computed on the host for every device, so it is the same code everywhere: double precision `+ - * /` and square
/// root in one fixed order, threads sharing only what has no order between them, results rounded once to single
/// precision.
///
/// # Example
/// ```
/// use ml_kernels::linalg::symmetric_eigen;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[1.0f32, 0.0, 0.0, 3.0])?;
/// let (values, vectors) = symmetric_eigen(&device, &a, 2)?;
/// assert_eq!(values.read()?, [3.0, 1.0]);
/// assert_eq!(vectors.read()?, [0.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn symmetric_eigen(device: &Device, a: &Buffer<f32>, n: usize) -> Result<(Buffer<f32>, Buffer<f32>)> {
    symmetric_eigen_top(device, a, n, |_| n)
}

/// All eigenvalues as [`symmetric_eigen`] finds them, and of its eigenvectors the first, as many as `keep` says when it is
/// shown the values: shape (kept, n). Those that are not kept cost less.
///
/// # Errors
/// Those of [`symmetric_eigen`].
///
/// # Bit identity
/// As for [`symmetric_eigen`].
pub fn symmetric_eigen_top(
    device: &Device,
    a: &Buffer<f32>,
    n: usize,
    keep: impl FnOnce(&[f32]) -> usize + Send,
) -> Result<(Buffer<f32>, Buffer<f32>)> {
    a.expect("a", square("a", n)?, device)?;
    let wide: Vec<f64> = a.read()?.into_iter().map(f64::from).collect();
    let keep = |values: &[f64]| keep(&values.iter().map(|&v| eigen::single(v)).collect::<Vec<f32>>());
    let found = decompose(device, &wide, n, keep)?;
    let (values, vectors) = eigen::to_single(&found)?;
    Ok((Buffer::upload(device, &values)?, Buffer::upload(device, &vectors)?))
}

/// Eigenvalues and eigenvectors of a matrix in double precision on the host, as [`symmetric_eigen_f64`] finds them.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// Descending, shape (n).
    pub values: Vec<f64>,
    /// Shape (n, n); row i belongs to value i.
    pub vectors: Vec<f64>,
}

/// What [`symmetric_eigen`] runs, on a host matrix and without the final rounding: for steps between device work that
/// single precision cannot carry. Of `device` only the threads are used, and those only if it is the host.
///
/// Vectors have length 1; their signs are what the iteration gave.
///
/// # Errors
/// Those of [`symmetric_eigen`].
///
/// # Bit identity
/// As for [`symmetric_eigen`].
pub fn symmetric_eigen_f64(device: &Device, a: &[f64], n: usize) -> Result<Eigen> {
    if square("a", n)? != a.len() {
        return Err(DataError::shape("a", format!("{n} x {n} elements"), a.len()).into());
    }
    decompose(device, a, n, |_| n)
}

fn decompose(device: &Device, a: &[f64], n: usize, keep: impl FnOnce(&[f64]) -> usize + Send) -> Result<Eigen> {
    on_device!(device, host(h) => h.install(|| eigen::decompose(a, n, keep)), gpu(_g) => eigen::decompose(a, n, keep))
}

#[cfg(test)]
mod decomposition_tests;
#[cfg(test)]
mod tests;
