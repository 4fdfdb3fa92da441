//! Contract clause `sums`: the logarithm of a sum of exponentials, which neither overflows nor drowns.

pub(super) mod conformance;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;

use ml_core::Result;

use super::extremes::{col_max, row_max};
#[cfg(feature = "gpu")]
use super::sums::{LANES, row_sums};
use super::{Along, elements};
use crate::buffer::Buffer;
use crate::device::{Device, on_device};
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
    let sums = match along {
        Along::Rows => row_exponentials(device, x, &greatest, rows, cols)?,
        Along::Columns => {
            one(map::col_sums(device, &[term()], &[Operand::Full(x), Operand::Row(&greatest)], &[], rows, cols)?)
        }
    };
    let result = Expr::input(0) + Expr::input(1).ln();
    map::map(device, &result, &[Operand::Full(&greatest), Operand::Full(&sums)], &[], 1, sums.len())
}

/// What an element adds to the sum.
fn term() -> Expr {
    (Expr::input(0) - Expr::input(1)).exp()
}

/// For each row of `x`, shape (rows, cols) with a row and a column at least, the sum of [`term`], the second input being the
/// row's element of `greatest`: shape (rows).
fn row_exponentials(
    device: &Device,
    x: &Buffer<f32>,
    greatest: &Buffer<f32>,
    rows: usize,
    cols: usize,
) -> Result<Buffer<f32>> {
    let in_two_steps =
        || Ok(one(map::row_sums(device, &[term()], &[Operand::Full(x), Operand::Col(greatest)], &[], rows, cols)?));
    on_device!(device,
    host(_h) => in_two_steps(),
    gpu(g) => {
        // Lanes without elements would idle.
        if cols < LANES {
            return in_two_steps();
        }
        let (x, greatest) = (x.chunks("x", device)?, greatest.chunks("greatest", device)?);
        let sums = Buffer::from_chunks(device, kernel::chunk_sums(g, x, greatest, rows, cols, device.arm())?);
        let per_row = sums.len() / rows;
        if per_row > 1 { row_sums(device, &sums, rows, per_row) } else { Ok(sums) }
    })
}

/// The one buffer that a call with one expression gives.
fn one(mut sums: Vec<Buffer<f32>>) -> Buffer<f32> {
    sums.pop().expect("one expression has one result")
}
