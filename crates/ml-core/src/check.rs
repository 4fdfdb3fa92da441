//! Checks of parameters and shapes that every estimator shares; each error names parameter, bound and value.

use crate::error::{DataError, ParamError, Result};
use crate::matrix::MatRef;

/// `value` within `min..=max`.
///
/// # Errors
/// [`ParamError::OutOfBound`].
pub fn usize_within(name: &'static str, value: usize, min: usize, max: usize) -> Result<usize> {
    if value < min || value > max {
        let bound = if max == usize::MAX { format!("at least {min}") } else { format!("within {min}..={max}") };
        return Err(ParamError::out_of_bound(name, bound, value).into());
    }
    Ok(value)
}

/// `value` finite and not negative.
///
/// # Errors
/// [`ParamError::OutOfBound`].
pub fn non_negative(name: &'static str, value: f32) -> Result<f32> {
    if !crate::canon::is_finite(value) || value < 0.0 {
        return Err(ParamError::out_of_bound(name, "finite and at least 0", value).into());
    }
    Ok(crate::canon::canon(value))
}

/// `x` has at least one row and one column.
///
/// # Errors
/// [`DataError::Empty`].
pub fn not_empty(what: &'static str, x: MatRef<'_>) -> Result<()> {
    if x.rows() == 0 || x.cols() == 0 {
        return Err(DataError::Empty { what, rows: x.rows(), cols: x.cols() }.into());
    }
    Ok(())
}

/// `x` has as many columns as the model was fitted on.
///
/// # Errors
/// [`DataError::Shape`].
pub fn width(what: &'static str, x: MatRef<'_>, expected: usize) -> Result<()> {
    if x.cols() != expected {
        return Err(DataError::shape(what, format!("{expected} columns wide"), format!("{} columns", x.cols())).into());
    }
    Ok(())
}
