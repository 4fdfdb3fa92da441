//! The specification of cumulative sums: plain loops.

use super::RUN;
use crate::num::{Pins, add};

// pathway: P99
pub(super) fn cumulative_sum(x: &[f32]) -> Vec<f32> {
    let (mut sums, mut totals) = (Vec::new(), Vec::new());
    for run in x.chunks(RUN) {
        let mut sum = 0.0f32;
        for &value in run {
            sum = add(sum, value, Pins::HOST);
            sums.push(sum);
        }
        totals.push(sum);
    }
    for (run, before) in sums.chunks_mut(RUN).zip(sums_before(&totals)) {
        for sum in run {
            *sum = add(before, *sum, Pins::HOST);
        }
    }
    sums
}

/// The sum of all values before each.
pub(super) fn sums_before(list: &[f32]) -> Vec<f32> {
    let (mut sums, mut totals) = (Vec::new(), Vec::new());
    for run in list.chunks(RUN) {
        let mut sum = 0.0f32;
        for &value in run {
            sums.push(sum);
            sum = add(sum, value, Pins::HOST);
        }
        totals.push(sum);
    }
    if totals.len() > 1 {
        for (run, before) in sums.chunks_mut(RUN).zip(sums_before(&totals)) {
            for sum in run {
                *sum = add(before, *sum, Pins::HOST);
            }
        }
    }
    sums
}
