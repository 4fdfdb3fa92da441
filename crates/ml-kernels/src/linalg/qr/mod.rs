//! QR factorisation (clause `factorisations`).

pub(super) mod conformance;
mod reference;

use ml_core::Result;

use super::dense::{on_host, read, single};
use super::householder;
use crate::buffer::Buffer;
use crate::device::Device;

/// Q, shape (m, k), with orthonormal columns and R, shape (k, n), upper triangular, with Q R = `a`, shape (m, n), where
/// k = min(m, n).
///
/// The diagonal of R is not negative. An empty matrix has empty factors.
///
/// # Errors
/// [`DataError::NonFinite`] for a NaN or an infinity in `a`; [`Error::NonFinite`] if an element of R exceeds single
/// precision; [`DataError::Shape`]; [`DataError::TooLarge`] for more than 2^32 - 1 elements; a device failure.
///
/// # Bit identity
/// Computed on the host in double precision for every device, so it is the same code everywhere, and rounded once to
/// single precision. Threads share rows and columns, between which nothing is added (clause `factorisations`).
///
/// # Example
/// ```
/// use ml_kernels::linalg::qr;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let a = Buffer::upload(&device, &[3.0f32, 1.0, 4.0, 2.0])?;
/// let (q, r) = qr(&device, &a, 2, 2)?;
/// assert_eq!(q.read()?, [0.6, -0.8, 0.8, 0.6]);
/// assert_eq!(r.read()?, [5.0, 2.2, 0.0, 0.4]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`Error::NonFinite`]: ml_core::Error::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
pub fn qr(device: &Device, a: &Buffer<f32>, m: usize, n: usize) -> Result<(Buffer<f32>, Buffer<f32>)> {
    let a = read(device, "a", a, (m, n), |_, _| true)?;
    let (q, r) = on_host(device, || factors(a, m, n));
    Ok((Buffer::upload(device, &single("qr.q", &q)?)?, Buffer::upload(device, &single("qr.r", &r)?)?))
}

/// Q and R in double precision.
pub(super) fn factors(mut a: Vec<f64>, m: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    let k = m.min(n);
    let blocks = householder::factor(&mut a, m, n);
    a.truncate(k * n);
    let mut q = vec![0.0f64; m * k];
    for i in 0..k {
        // The sign goes into the unit vector that the reflections turn.
        let negative = a[i * n + i] < 0.0;
        q[i * k + i] = if negative { -1.0 } else { 1.0 };
        if negative {
            a[i * n + i..(i + 1) * n].iter_mut().for_each(|x| *x = -*x);
        }
    }
    blocks.apply(&mut q, k, false);
    (q, a)
}
