//! The specification of the logarithm of a sum of exponentials: plain loops.

use super::super::sums::reference_sum;
use crate::num::{Pins, add, exp_cr, key, ln_cr, sub, unkey};

/// ln Σ e^x over a list that is not empty.
pub(super) fn log_sum_exp(x: &[f32]) -> f32 {
    let mut greatest = 0;
    for &value in x {
        greatest = greatest.max(key(value));
    }
    let greatest = unkey(greatest);
    let terms: Vec<f32> = x.iter().map(|&value| exp_cr(sub(value, greatest, Pins::HOST))).collect();
    add(greatest, ln_cr(reference_sum(&terms)), Pins::HOST)
}
