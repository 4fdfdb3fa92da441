//! Reductions: sums in the contract's lane-and-tree shape and what is made of them, and choices (minimum, maximum, top k)
//! by the total order.

pub(crate) mod conformance;
mod extremes;
mod logsumexp;
mod moments;
mod ranges;
#[cfg(feature = "gpu")]
pub(crate) mod runs;
mod segments;
mod select;
mod sums;

use ml_core::{DataError, Result};

pub use extremes::{col_max, col_min, max, min, row_max, row_min};
pub use logsumexp::{col_log_sum_exp, log_sum_exp, row_log_sum_exp};
pub use moments::{col_means, col_variances, mean, row_means, row_variances, variance};
pub use ranges::col_ranges;
pub use segments::segment_sums;
pub use select::{Order, argmax_rows, argmin_rows, top_k_rows};
#[cfg(feature = "gpu")]
pub(crate) use sums::plus;
pub use sums::{col_sums, row_sums, sum};
pub(crate) use sums::{mapped_col_sums, mapped_row_sums, reference_col_sums, reference_row_sums};

/// Which way a matrix is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Along {
    /// A result for each row.
    Rows,
    /// A result for each column.
    Columns,
}

impl Along {
    /// How many results there are, and how many elements each is made of.
    fn extents(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Along::Rows => (rows, cols),
            Along::Columns => (cols, rows),
        }
    }
}

/// `rows * cols`, or the error that says they are too many.
pub(crate) fn elements(what: &'static str, rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols).ok_or_else(|| {
        DataError::TooLarge { what, elements: rows as u128 * cols as u128, limit: usize::MAX as u128 }.into()
    })
}
