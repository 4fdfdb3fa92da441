//! A part of the rows or columns, as scikit-learn lets it be said: a whole number or a fraction.

use ml_core::{ParamError, Result};

/// How many of the rows or columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// This many, at least 1.
    Number(usize),
    /// This part of all, above 0 and at most 1.
    Fraction(f64),
}

impl From<usize> for Amount {
    fn from(number: usize) -> Self {
        Amount::Number(number)
    }
}

impl From<f64> for Amount {
    fn from(fraction: f64) -> Self {
        Amount::Fraction(fraction)
    }
}

impl Amount {
    /// The whole number that this is of `all`, rounded down and at least 1.
    pub(crate) fn of(self, name: &'static str, all: usize) -> Result<usize> {
        match self {
            Amount::Number(number) if number >= 1 => Ok(number),
            Amount::Number(number) => Err(ParamError::out_of_bound(name, "at least 1", number).into()),
            Amount::Fraction(part) => Ok(((fraction(name, part)? * all as f64) as usize).max(1)),
        }
    }
}

/// `part`, if it is above 0 and at most 1.
pub(crate) fn fraction(name: &'static str, part: f64) -> Result<f64> {
    if part > 0.0 && part <= 1.0 {
        Ok(part)
    } else {
        Err(ParamError::out_of_bound(name, "a fraction above 0 and at most 1", part).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_down_and_bounded() {
        assert_eq!(Amount::from(0.7).of("max_features", 10).expect("fraction"), 7);
        assert_eq!(Amount::from(0.01).of("max_features", 10).expect("fraction"), 1);
        assert_eq!(Amount::from(12).of("max_features", 10).expect("number"), 12);
        for bad in [Amount::Number(0), 0.0.into(), 1.5.into(), f64::NAN.into(), (-0.5).into()] {
            assert!(bad.of("max_features", 10).unwrap_err().to_string().contains("`max_features`"), "{bad:?}");
        }
    }
}
