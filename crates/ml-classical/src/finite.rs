//! A computed value that left the finite range is an error that names its stage (`docs/contract.md`, clause `values`).

use ml_core::canon::is_finite;
use ml_core::{Error, Result};

/// `values` are all finite.
// pathway: P5
pub(crate) fn all_finite(stage: &str, values: &[f32]) -> Result<()> {
    match values.iter().position(|x| !is_finite(*x)) {
        Some(index) => Err(Error::NonFinite { stage: stage.to_owned(), index }),
        None => Ok(()),
    }
}
