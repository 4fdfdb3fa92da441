//! Reductions: sums in the contract's lane-and-tree shape, and choices (minimum, maximum, top k) by the total order.

pub(crate) mod conformance;
mod ranges;
#[cfg(feature = "gpu")]
pub(crate) mod runs;
mod select;
mod sums;

use ml_core::{DataError, Result};

pub use ranges::col_ranges;
pub use select::{Order, argmax_rows, argmin_rows, top_k_rows};
pub use sums::{col_sums, row_sums, sum};
pub(crate) use sums::{mapped_col_sums, reference_col_sums};

/// `rows * cols`, or the error that says they are too many.
pub(crate) fn elements(what: &'static str, rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols).ok_or_else(|| {
        DataError::TooLarge { what, elements: rows as u128 * cols as u128, limit: usize::MAX as u128 }.into()
    })
}
