//! Weights and targets as integers, once a fit.

use ml_core::{DataError, ParamError, Result};

use super::params::{ClassWeight, Criterion};
use crate::double::{exponent, power_of_two};

/// Bits of a target's integer where rows are few: more than that no difference of two `f32` needs.
const MOST_BITS: i32 = 46;

/// Weights of the rows as integers: `w * 2^shift`, to the nearest, halves to even.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    pub of: Vec<i64>,
    pub shift: i32,
}

impl Weights {
    /// Whole numbers below 2^24 stay what they are; else the greatest one gets 30 bits.
    pub fn new(weights: &[f64]) -> Self {
        let most = weights.iter().fold(0.0f64, |m, w| m.max(*w));
        let whole = weights.iter().all(|w| w.floor() == *w) && most < 16_777_216.0;
        let shift = if whole || most < f64::MIN_POSITIVE { 0 } else { 29 - exponent(most) };
        let of = weights.iter().map(|w| (w * power_of_two(shift)).round_ties_even() as i64).collect();
        Weights { of, shift }
    }
}

/// What a row is grown towards.
pub(super) enum Target {
    /// A class each; `k` of them.
    Classes { of: Vec<u32>, k: usize },
    /// `of[i] = round(w_i (y_i - centre) 2^shift)`, w_i being the weight's integer times 2^-its shift.
    Numbers { of: Vec<i64>, y: Vec<f32>, centre: f64, shift: i32 },
}

impl Target {
    /// Targets of numbers. `count` bounds how often rows are counted in one tree.
    pub fn numbers(y: &[f32], weights: &Weights, criterion: Criterion, count: usize) -> Result<Self> {
        if let Some(row) = y.iter().position(|v| !v.is_finite()) {
            return Err(DataError::NonFinite { what: "y", row, col: 0, value: y[row] }.into());
        }
        let y: Vec<f32> = y.iter().map(|v| ml_core::canon::canon(*v)).collect();
        let (low, high) = y.iter().fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        let centre = if criterion == Criterion::Poisson {
            if low < 0.0 || high == 0.0 {
                let got = if low < 0.0 { low } else { high };
                return Err(ParamError::out_of_bound("y", "at least 0 and not all 0 with poisson", got).into());
            }
            0.0
        } else {
            (f64::from(low) + f64::from(high)) / 2.0
        };
        let unit = power_of_two(-weights.shift);
        let parts: Vec<f64> =
            y.iter().zip(&weights.of).map(|(y, w)| *w as f64 * unit * (f64::from(*y) - centre)).collect();
        let most = parts.iter().fold(0.0f64, |m, p| m.max(p.abs()));
        // Sums of all rows stay below 2^61.
        let bits = MOST_BITS.min(61 - (usize::BITS - count.leading_zeros()) as i32);
        let shift = if most < f64::MIN_POSITIVE { 0 } else { bits - 1 - exponent(most) };
        let of = parts.iter().map(|p| (p * power_of_two(shift)).round_ties_even() as i64).collect();
        Ok(Target::Numbers { of, y, centre, shift })
    }
}

/// The weight of each class: `rows[c]` rows of class `classes[c]` were counted.
pub(super) fn class_weights(rule: &ClassWeight, classes: &[u32], rows: &[u64]) -> Result<Option<Vec<f64>>> {
    match rule {
        ClassWeight::Even => Ok(None),
        ClassWeight::Balanced | ClassWeight::BalancedSubsample => {
            let total: u64 = rows.iter().sum();
            let k = classes.len() as f64;
            // A class of which no row was drawn has no row to weigh.
            let weight = |n: &u64| if *n == 0 { 0.0 } else { total as f64 / (k * *n as f64) };
            Ok(Some(rows.iter().map(weight).collect()))
        }
        ClassWeight::Of(pairs) => {
            let mut weights = vec![1.0; classes.len()];
            for (class, weight) in pairs {
                if !(weight.is_finite() && *weight >= 0.0) {
                    let bound = "finite and at least 0 for each class";
                    return Err(ParamError::out_of_bound("class_weight", bound, weight).into());
                }
                let Ok(at) = classes.binary_search(class) else {
                    let bound = "weights of classes that are among the labels";
                    return Err(ParamError::out_of_bound("class_weight", bound, format!("class {class}")).into());
                };
                weights[at] = *weight;
            }
            Ok(Some(weights))
        }
    }
}

/// Sample weights: one a row, finite, at least 0, not all 0.
pub(super) fn sample_weights(weights: Option<&[f32]>, rows: usize) -> Result<Vec<f64>> {
    let Some(weights) = weights else { return Ok(vec![1.0; rows]) };
    if weights.len() != rows {
        return Err(DataError::shape("sample_weight", format!("{rows} (one a row)"), weights.len()).into());
    }
    if let Some(row) = weights.iter().position(|w| !w.is_finite()) {
        return Err(DataError::NonFinite { what: "sample_weight", row, col: 0, value: weights[row] }.into());
    }
    if let Some(w) = weights.iter().find(|w| **w < 0.0) {
        return Err(ParamError::out_of_bound("sample_weight", "at least 0", w).into());
    }
    Ok(weights.iter().map(|w| f64::from(ml_core::canon::canon(*w))).collect())
}
