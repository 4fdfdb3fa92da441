//! Contract clause `sums`: the logarithm of a sum of exponentials, which neither overflows nor drowns.

pub(super) mod conformance;
mod reference;

use ml_core::Result;

use super::extremes::{col_max, row_max};
use super::{Along, elements};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::map::{self, Expr, Operand};

/// ln Σ e^x over all elements: shape (1).
///
/// # Errors
/// [`ml_core::DataError::Empty`] if there are no elements; a device failure.
///
/// # Bit identity
/// Clause `sums`: with m the greatest element, m ⊕ ln(s), where s is the [`sum`](super::sum()) of e^(x ⊖ m); both functions
/// correctly rounded. Finite elements give a finite result.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, reduce};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1000.0f32, 1000.0])?;
/// assert_eq!(reduce::log_sum_exp(&device, &x)?.read()?, [1000.6932]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn log_sum_exp(device: &Device, x: &Buffer<f32>) -> Result<Buffer<f32>> {
    row_log_sum_exp(device, x, 1, x.len())
}

/// ln Σ e^x over each row of `x`, shape (rows, cols): shape (rows).
///
/// # Errors
/// [`ml_core::DataError::Empty`] if there are rows but no columns; [`ml_core::DataError::Shape`] if `x` does not have
/// `rows * cols` elements; a device failure.
///
/// # Bit identity
/// As [`log_sum_exp`]: a row's result does not depend on the rows beside it.
pub fn row_log_sum_exp(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    over(device, x, rows, cols, Along::Rows)
}

/// ln Σ e^x over each column of `x`, shape (rows, cols): shape (cols).
///
/// # Errors
/// [`ml_core::DataError::Empty`] if there are columns but no rows; [`ml_core::DataError::Shape`] if `x` does not have
/// `rows * cols` elements; a device failure.
///
/// # Bit identity
/// As [`log_sum_exp`]: a column's result does not depend on the columns beside it.
pub fn col_log_sum_exp(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize) -> Result<Buffer<f32>> {
    over(device, x, rows, cols, Along::Columns)
}

fn over(device: &Device, x: &Buffer<f32>, rows: usize, cols: usize, along: Along) -> Result<Buffer<f32>> {
    x.expect("x", elements("x", rows, cols)?, device)?;
    let greatest = match along {
        Along::Rows => row_max(device, x, rows, cols)?,
        Along::Columns => col_max(device, x, rows, cols)?,
    };
    if greatest.is_empty() {
        return Ok(greatest);
    }
    let terms = [(Expr::input(0) - Expr::input(1)).exp()];
    let mut sums = match along {
        Along::Rows => map::row_sums(device, &terms, &[Operand::Full(x), Operand::Col(&greatest)], &[], rows, cols)?,
        Along::Columns => map::col_sums(device, &terms, &[Operand::Full(x), Operand::Row(&greatest)], &[], rows, cols)?,
    };
    let sums = sums.pop().expect("one expression has one result");
    let result = Expr::input(0) + Expr::input(1).ln();
    map::map(device, &result, &[Operand::Full(&greatest), Operand::Full(&sums)], &[], 1, sums.len())
}
