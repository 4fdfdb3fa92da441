//! Contract clause `sums`: means and variances, in two passes.

pub(super) mod conformance;
mod reference;

use ml_core::{DataError, ParamError, Result};

use super::sums::{col_deviations, col_sums, row_deviations, row_sums};
use super::{Along, elements};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::map::{Expr, Operand, map};

/// The mean of all elements: shape (1).
///
/// # Errors
/// [`DataError::Empty`] if there are no elements; a device failure.
///
/// # Bit identity
/// Clause `sums`: [`sum`](super::sum()) divided once by the number of elements, an integer converted to binary32 (clause
/// `operations`), which is exact up to 2^24.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, reduce};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 6.0])?;
/// assert_eq!(reduce::mean(&device, &x)?.read()?, [3.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn mean(device: &Device, x: &Buffer<f32>) -> Result<Buffer<f32>> {
    row_means(device, x, 1, x.len())
}

/// The mean of each row of `x`, shape (rows, cols): shape (rows).
///
/// # Errors
/// [`DataError::Empty`] if there are rows but no columns; [`DataError::Shape`] if `x` does not have `rows * cols`
/// elements; a device failure.
///
/// # Bit identity
/// As [`mean`]: a row's mean does not depend on the rows beside it.
pub fn row_means(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    means(device, x, rows, cols, Along::Rows)
}

/// The mean of each column of `x`, shape (rows, cols): shape (cols).
///
/// # Errors
/// [`DataError::Empty`] if there are columns but no rows; [`DataError::Shape`] if `x` does not have `rows * cols`
/// elements; a device failure.
///
/// # Bit identity
/// As [`mean`]: a column's mean does not depend on the columns beside it.
pub fn col_means(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    means(device, x, rows, cols, Along::Columns)
}

/// The mean and the variance of all elements, each of shape (1). The variance is the sum of squared distances from the
/// mean over the number of elements less `ddof`: 0 for a whole population, 1 for a sample.
///
/// It is off by a few units in the last place, and by the square of the mean's own rounding: next to nothing unless the
/// mean exceeds the deviation some thousand times.
///
/// # Errors
/// [`DataError::Empty`] if there are no elements; [`ParamError::OutOfBound`] unless `ddof` is below their number; a device
/// failure.
///
/// # Bit identity
/// Clause `sums`, in two passes (Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American
/// Statistician 37, 1983): m as [`mean`] gives it, then the [`sum`](super::sum()) of t ⊗ t with t = x ⊖ m, divided once.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, reduce};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 6.0])?;
/// let (mean, variance) = reduce::variance(&device, &x, 1)?;
/// assert_eq!((mean.read()?, variance.read()?), (vec![3.0], vec![7.0]));
/// assert!(reduce::variance(&device, &x, 3).is_err());
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn variance(device: &Device, x: &Buffer<f32>, ddof: usize) -> Result<(Buffer<f32>, Buffer<f32>)> {
    row_variances(device, x, 1, x.len(), ddof)
}

/// The mean and the variance of each row of `x`, shape (rows, cols): two buffers of shape (rows).
///
/// # Errors
/// [`DataError::Empty`] if there are rows but no columns; [`ParamError::OutOfBound`] unless `ddof` is below `cols`;
/// [`DataError::Shape`] if `x` does not have `rows * cols` elements; a device failure.
///
/// # Bit identity
/// As [`variance`]: a row's results do not depend on the rows beside it.
pub fn row_variances(
    device: &Device,
    x: &Buffer<f32>,
    rows: usize,
    cols: usize,
    ddof: usize,
) -> Result<(Buffer<f32>, Buffer<f32>)> {
    variances(device, x, rows, cols, ddof, Along::Rows)
}

/// The mean and the variance of each column of `x`, shape (rows, cols): two buffers of shape (cols).
///
/// # Errors
/// [`DataError::Empty`] if there are columns but no rows; [`ParamError::OutOfBound`] unless `ddof` is below `rows`;
/// [`DataError::Shape`] if `x` does not have `rows * cols` elements; a device failure.
///
/// # Bit identity
/// As [`variance`]: a column's results do not depend on the columns beside it.
pub fn col_variances(
    device: &Device,
    x: &Buffer<f32>,
    rows: usize,
    cols: usize,
    ddof: usize,
) -> Result<(Buffer<f32>, Buffer<f32>)> {
    variances(device, x, rows, cols, ddof, Along::Columns)
}

fn means(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize, along: Along) -> Result<Buffer<f32>> {
    x.expect("x", elements("x", rows, cols)?, device)?;
    let (results, terms) = along.extents(rows, cols);
    if results == 0 {
        return Buffer::upload(device, &[]);
    }
    if terms == 0 {
        return Err(DataError::Empty { what: "x", rows, cols }.into());
    }
    let sums = match along {
        Along::Rows => row_sums(device, x, rows, cols)?,
        Along::Columns => col_sums(device, x, rows, cols)?,
    };
    divided(device, &sums, terms)
}

// pathway: P97
fn variances(
    device: &Device,
    x: &Buffer<f32>,
    rows: usize,
    cols: usize,
    ddof: usize,
    along: Along,
) -> Result<(Buffer<f32>, Buffer<f32>)> {
    let means = means(device, x, rows, cols, along)?;
    let terms = along.extents(rows, cols).1;
    if ddof >= terms && !means.is_empty() {
        return Err(ParamError::out_of_bound("ddof", format!("below {terms}, the number of values"), ddof).into());
    }
    if means.is_empty() {
        return Ok((means.clone(), means));
    }
    let sums = match along {
        Along::Rows => row_deviations(device, x, &means, rows, cols)?,
        Along::Columns if cols == 1 => row_deviations(device, x, &means, 1, rows)?,
        Along::Columns => col_deviations(device, x, &means, rows, cols)?,
    };
    let variances = divided(device, &sums, terms - ddof)?;
    Ok((means, variances))
}

/// Each sum divided by an integer.
fn divided(device: &Device, sums: &Buffer<f32>, by: usize) -> Result<Buffer<f32>> {
    let quotient = Expr::input(0) / Expr::scalar(0);
    // `as` rounds integers to nearest even.
    map(device, &quotient, &[Operand::Full(sums)], &[by as f32], 1, sums.len())
}
