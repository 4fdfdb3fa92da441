//! Singular value decomposition (clause `factorisations`).

mod bidiagonal;
pub(super) mod conformance;
mod iterate;
pub(super) mod reference;

use ml_core::Result;
use ml_core::canon::canon;

use super::dense::{on_host, read, single, transpose};
use super::householder::factor;
use super::rotations::Panels;
use crate::buffer::Buffer;
use crate::device::Device;

/// A = U diag(values) V', as [`svd`] gives it.
#[derive(Debug, Clone)]
pub struct Svd {
    /// U, shape (m, k), with orthonormal columns.
    pub u: Buffer<f32>,
    /// Singular values, shape (k), descending and not negative.
    pub values: Buffer<f32>,
    /// V', shape (k, n), with orthonormal rows.
    pub vt: Buffer<f32>,
}

/// U diag(values) V' = `a`, shape (m, n), with k = min(m, n) singular values.
///
/// Values are descending; equal values keep the order in which the iteration found them. The entry of largest magnitude in
/// each row of V' (the first of equals) is positive, which settles the sign of the column of U. Vectors of zero values are
/// orthonormal as well. An empty matrix has no values.
///
/// Before the rounding to single precision, values are right to a few 1e-16 of the largest.
///
/// # Errors
/// [`DataError::NonFinite`] for a NaN or an infinity in `a`; [`Error::NonFinite`] if a value exceeds single precision;
/// [`Error::NoConvergence`] after 40 k sweeps; [`DataError::Shape`]; [`DataError::TooLarge`] for more than 2^32 - 1
/// elements; a device failure.
///
/// # Bit identity
/// Computed on the host in double precision for every device, so it is the same code everywhere, and rounded once to
/// single precision. Threads share rows and columns, between which nothing is added (clause `factorisations`).
///
/// # Example
/// ```
/// use ml_kernels::linalg::svd;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[0.0f32, 2.0, -3.0, 0.0])?;
/// let found = svd(&device, &a, 2, 2)?;
/// assert_eq!(found.values.read()?, [3.0, 2.0]);
/// assert_eq!(found.vt.read()?, [1.0, 0.0, 0.0, 1.0]);
/// assert_eq!(found.u.read()?, [0.0, 1.0, -1.0, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
/// [`Error::NonFinite`]: ml_core::Error::NonFinite
/// [`Error::NoConvergence`]: ml_core::Error::NoConvergence
pub fn svd(device: &Device, a: &Buffer<f32>, m: usize, n: usize) -> Result<Svd> {
    let a = read(device, "a", a, (m, n), |_, _| true)?;
    let found = on_host(device, || decompose(a, m, n))?;
    let k = m.min(n);
    let values = single("svd.values", &found.values)?;
    let mut left = single("svd.u", &found.left)?;
    let mut right = single("svd.vt", &found.right)?;
    // pathway: P136
    for (left, right) in left.chunks_mut(m.max(1)).zip(right.chunks_mut(n.max(1))) {
        let peak = right.iter().fold(0.0f32, |best, &x| if x.abs() > f32::abs(best) { x } else { best });
        if peak < 0.0 {
            left.iter_mut().chain(right).for_each(|x| *x = canon(-*x));
        }
    }
    let mut u = vec![0.0f32; m * k];
    for (i, row) in left.chunks(m.max(1)).enumerate() {
        row.iter().enumerate().for_each(|(r, x)| u[r * k + i] = *x);
    }
    Ok(Svd {
        u: Buffer::upload(device, &u)?,
        values: Buffer::upload(device, &values)?,
        vt: Buffer::upload(device, &right)?,
    })
}

/// The singular values of [`svd`], shape (min(m, n)), with the same bits and without the vectors.
///
/// # Errors
/// Those of [`svd`].
///
/// # Bit identity
/// As for [`svd`].
///
/// # Example
/// ```
/// use ml_kernels::linalg::singular_values;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[3.0f32, 4.0])?;
/// assert_eq!(singular_values(&device, &a, 1, 2)?.read()?, [5.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn singular_values(device: &Device, a: &Buffer<f32>, m: usize, n: usize) -> Result<Buffer<f32>> {
    let a = read(device, "a", a, (m, n), |_, _| true)?;
    let values = on_host(device, || {
        let mut tall = if m < n { transpose(&a, m, n) } else { a };
        if m != n {
            factor(&mut tall, m.max(n), m.min(n));
            tall.truncate(m.min(n) * m.min(n));
        }
        values_of(tall, m.min(n))
    })?;
    Buffer::upload(device, &single("svd.values", &values)?)
}

/// A decomposition in double precision; the signs are what the iteration gave.
pub(super) struct Wide {
    pub(super) values: Vec<f64>,
    /// Left vectors in rows, (k, m).
    pub(super) left: Vec<f64>,
    /// Right vectors in rows, (k, n).
    pub(super) right: Vec<f64>,
}

/// The decomposition of a row-major (m, n) matrix: of R for a tall one, of the transpose for a wide one.
fn decompose(mut a: Vec<f64>, m: usize, n: usize) -> Result<Wide> {
    if m < n {
        let Wide { values, left, right } = decompose(transpose(&a, m, n), n, m)?;
        return Ok(Wide { values, left: right, right: left });
    }
    if m == n {
        return decompose_square(a, n);
    }
    let q = factor(&mut a, m, n);
    a.truncate(n * n);
    let mut found = decompose_square(a, n)?;
    let mut left = vec![0.0f64; n * m];
    for (wide, row) in left.chunks_mut(m).zip(found.left.chunks(n.max(1))) {
        wide[..n].copy_from_slice(row);
    }
    q.apply_to_rows(&mut left, m);
    found.left = left;
    Ok(found)
}

/// An exact power of two that brings the largest magnitude of `a` to [1, 2), and its inverse.
fn scales(a: &[f64]) -> (f64, f64) {
    let largest = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let exponent = ((largest.to_bits() >> 52) as i64 - 1023).clamp(-1000, 1000);
    let power = |e: i64| f64::from_bits(((e + 1023) as u64) << 52);
    (power(-exponent), power(exponent))
}

/// Descending order of the magnitudes of `d`; equal ones keep theirs.
fn descending(d: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..d.len()).collect();
    order.sort_by(|&i, &j| d[j].abs().total_cmp(&d[i].abs()));
    order
}

fn decompose_square(a: Vec<f64>, n: usize) -> Result<Wide> {
    Reduced::new(a, n).vectors()
}

/// The singular values of a row-major (n, n) matrix.
fn values_of(a: Vec<f64>, n: usize) -> Result<Vec<f64>> {
    Reduced::new(a, n).values()
}

/// A square matrix in bidiagonal form, from which values are cheap and vectors are not.
pub(super) struct Reduced {
    form: bidiagonal::Bidiagonal,
    n: usize,
    grow: f64,
}

impl Reduced {
    /// Of the row-major (n, n) matrix `a`.
    pub(super) fn new(mut a: Vec<f64>, n: usize) -> Reduced {
        let (shrink, grow) = scales(&a);
        a.iter_mut().for_each(|x| *x *= shrink);
        Reduced { form: bidiagonal::bidiagonalise(a, n), n, grow }
    }

    /// Singular values, descending.
    pub(super) fn values(&self) -> Result<Vec<f64>> {
        let (mut d, mut e) = (self.form.diagonal.clone(), self.form.upper.clone());
        iterate::iterate(&mut d, &mut e, &mut iterate::Nothing, &mut iterate::Nothing)?;
        Ok(descending(&d).into_iter().map(|i| d[i].abs() * self.grow).collect())
    }

    /// The same values with their vectors.
    pub(super) fn vectors(&self) -> Result<Wide> {
        let n = self.n;
        let (mut d, mut e) = (self.form.diagonal.clone(), self.form.upper.clone());
        let (mut left, mut right) = (Panels::identity(n), Panels::identity(n));
        iterate::iterate(&mut d, &mut e, &mut left, &mut right)?;
        let order = descending(&d);
        let (mut left, mut right) = (left.rows(&order), right.rows(&order));
        for (row, &i) in right.chunks_mut(n.max(1)).zip(&order) {
            if d[i] < 0.0 {
                row.iter_mut().for_each(|x| *x = -*x);
            }
        }
        self.form.left_to_full(&mut left);
        self.form.right_to_full(&mut right);
        Ok(Wide { values: order.iter().map(|&i| d[i].abs() * self.grow).collect(), left, right })
    }
}
