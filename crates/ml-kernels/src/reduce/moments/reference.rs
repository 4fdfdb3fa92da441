//! The specification of means and variances: plain loops.

use super::super::sums::reference_sum;
use crate::num::{Pins, div, mul, sub};

/// Mean and variance of a list.
pub(super) fn moments(x: &[f32], ddof: usize) -> (f32, f32) {
    let mean = div(reference_sum(x), x.len() as f32);
    let squares: Vec<f32> = x
        .iter()
        .map(|&value| {
            let t = sub(value, mean, Pins::HOST);
            mul(t, t, Pins::HOST)
        })
        .collect();
    (mean, div(reference_sum(&squares), (x.len() - ddof) as f32))
}
