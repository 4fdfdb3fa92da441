//! Least squares (clause `factorisations`).

use ml_core::{ParamError, Result};

use super::dense::gemm::{Left, Part, Right, Sign, accumulate};
use super::dense::{View, elements, on_host, read, single, transpose};
use super::householder::{Blocks, factor};
use super::svd::{Reduced, Wide};
use super::triangular::{Kind, solve_in_place};
use crate::buffer::Buffer;
use crate::device::Device;

/// What [`lstsq`] finds.
#[derive(Debug, Clone)]
pub struct Lstsq {
    /// The solutions, shape (n, nrhs): of all that make the residual least, the shortest.
    pub solution: Buffer<f32>,
    /// The squared length of b - A x for each right side, shape (nrhs).
    pub residuals: Buffer<f32>,
    /// Singular values above the cut.
    pub rank: usize,
    /// All singular values of the matrix, shape (min(m, n)), descending.
    pub singular_values: Buffer<f32>,
}

/// The x, shape (n, nrhs), that make |`b` - `a` x| least, for `a` of shape (m, n) and `b` of shape (m, nrhs), and of these
/// the shortest.
///
/// Singular values not above `rcond` times the largest count as zero; `None` means max(m, n) times 2^-23, which is what
/// NumPy takes for single precision. A matrix of full rank is solved by [`qr`](super::qr()), one of lower rank by
/// [`svd`](super::svd()). Residuals are given for every rank and shape, and belong to the solution before it was rounded.
/// An empty matrix has rank 0 and the solution 0.
///
/// # Errors
/// [`ParamError::OutOfBound`] unless `rcond` is finite and not negative; [`DataError::NonFinite`] for a NaN or an infinity
/// in `a` or `b`; [`Error::NonFinite`] if a result exceeds single precision; [`Error::NoConvergence`] as for
/// [`svd`](super::svd()); [`DataError::Shape`]; [`DataError::TooLarge`] for more than 2^32 - 1 elements; a device failure.
///
/// # Bit identity
/// Computed on the host in double precision for every device, so it is the same code everywhere, and rounded once to
/// single precision. Threads share rows and columns, between which nothing is added (clause `factorisations`).
///
/// # Example
/// ```
/// use ml_kernels::linalg::lstsq;
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// // The line through (0, 1), (1, 3), (2, 5): slope 2, intercept 1.
/// let a = Buffer::upload(&device, &[0.0f32, 1.0, 1.0, 1.0, 2.0, 1.0])?;
/// let b = Buffer::upload(&device, &[1.0f32, 3.0, 5.0])?;
/// let found = lstsq(&device, &a, &b, 3, 2, 1, None)?;
/// assert_eq!((found.solution.read()?, found.rank), (vec![2.0, 1.0], 2));
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// [`DataError::NonFinite`]: ml_core::DataError::NonFinite
/// [`DataError::Shape`]: ml_core::DataError::Shape
/// [`DataError::TooLarge`]: ml_core::DataError::TooLarge
/// [`Error::NonFinite`]: ml_core::Error::NonFinite
/// [`Error::NoConvergence`]: ml_core::Error::NoConvergence
pub fn lstsq(
    device: &Device,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    m: usize,
    n: usize,
    nrhs: usize,
    rcond: Option<f32>,
) -> Result<Lstsq> {
    if let Some(rcond) = rcond.filter(|x| !(x.is_finite() && *x >= 0.0)) {
        return Err(ParamError::out_of_bound("rcond", "finite and not negative", rcond).into());
    }
    elements("solution", n, nrhs)?;
    let a = read(device, "a", a, (m, n), |_, _| true)?;
    let b = read(device, "b", b, (m, nrhs), |_, _| true)?;
    let rcond = rcond.map_or(m.max(n) as f64 * f64::from(f32::EPSILON), f64::from);
    let found = on_host(device, || least_squares(a, b, (m, n, nrhs), rcond))?;
    Ok(Lstsq {
        solution: Buffer::upload(device, &single("lstsq.solution", &found.x)?)?,
        residuals: Buffer::upload(device, &single("lstsq.residuals", &found.residuals)?)?,
        rank: found.rank,
        singular_values: Buffer::upload(device, &single("lstsq.singular_values", &found.values)?)?,
    })
}

struct Found {
    x: Vec<f64>,
    residuals: Vec<f64>,
    rank: usize,
    values: Vec<f64>,
}

fn least_squares(a: Vec<f64>, b: Vec<f64>, (m, n, nrhs): (usize, usize, usize), rcond: f64) -> Result<Found> {
    let k = m.min(n);
    // Q R is the matrix, or its transpose if it is wide; all that follows happens in k coordinates.
    let (long, mut tall) = if m < n { (n, transpose(&a, m, n)) } else { (m, a.clone()) };
    let q = factor(&mut tall, long, k);
    tall.truncate(k * k);
    let reduced = Reduced::new(tall.clone(), k);
    let values = reduced.values()?;
    let cut = rcond * values.first().copied().unwrap_or(0.0);
    let rank = values.iter().take_while(|&&x| x > cut).count();
    // With a cut of zero, values that are nothing but rounding can hide a zero on the diagonal.
    let by_substitution = rank == k && (0..k).all(|i| tall[i * k + i] != 0.0);
    let x = if m < n {
        let mut z = if by_substitution {
            // R' z = b.
            let mut z = b.clone();
            solve_in_place(View::new(&tall, k, k, k).transposed(), Kind { upper: false, unit: false }, &mut z, nrhs);
            z
        } else {
            let Wide { values, left, right } = reduced.vectors()?;
            pseudo_solve(&values[..rank], &right, &left, &b, k, nrhs)
        };
        z.resize(n * nrhs, 0.0);
        turn(&q, &mut z, nrhs, false);
        z
    } else {
        let mut c = b.clone();
        turn(&q, &mut c, nrhs, true);
        c.truncate(k * nrhs);
        if by_substitution {
            solve_in_place(View::new(&tall, k, k, k), Kind { upper: true, unit: false }, &mut c, nrhs);
            c
        } else {
            let Wide { values, left, right } = reduced.vectors()?;
            pseudo_solve(&values[..rank], &left, &right, &c, k, nrhs)
        }
    };
    let mut rest = b;
    let operands = (&Left::new(View::new(&a, m, n, n)), &Right::new(View::new(&x, n, nrhs, nrhs)));
    accumulate(&mut rest, nrhs, 0, operands, Sign::Minus, Part::Whole);
    let mut residuals = vec![0.0f64; nrhs];
    for row in rest.chunks(nrhs.max(1)) {
        residuals.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
    }
    Ok(Found { x, residuals, rank, values })
}

fn turn(q: &Blocks, c: &mut [f64], nrhs: usize, transposed: bool) {
    if nrhs > 0 {
        q.apply(c, nrhs, transposed);
    }
}

/// The sum over the given values of `to` (i) (`from` (i)' c) / value (i), where vectors are rows of (k, k) matrices.
fn pseudo_solve(values: &[f64], from: &[f64], to: &[f64], c: &[f64], k: usize, nrhs: usize) -> Vec<f64> {
    let rank = values.len();
    let mut y = vec![0.0f64; rank * nrhs];
    let operands = (&Left::new(View::new(from, rank, k, k)), &Right::new(View::new(c, k, nrhs, nrhs)));
    accumulate(&mut y, nrhs, 0, operands, Sign::Plus, Part::Whole);
    for (row, value) in y.chunks_mut(nrhs.max(1)).zip(values) {
        row.iter_mut().for_each(|x| *x /= value);
    }
    let mut x = vec![0.0f64; k * nrhs];
    let operands = (&Left::new(View::new(to, rank, k, k).transposed()), &Right::new(View::new(&y, rank, nrhs, nrhs)));
    accumulate(&mut x, nrhs, 0, operands, Sign::Plus, Part::Whole);
    x
}
