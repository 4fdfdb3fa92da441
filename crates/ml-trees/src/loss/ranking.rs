//! Gradients of losses that look at groups of rows, on the host.

use std::ops::Range;

use ml_core::canon::canon;
use ml_core::{ParamError, Result};
use ml_kernels::num::{Pins, sigmoid_cr, sub};
use rayon::prelude::*;

use super::Loss;
use super::metric::{discount, gain, gain_sum};
use super::renew::ranks_before;

/// The least second derivative, so that a row without pairs weighs nothing but divides nothing by 0 either.
const LEAST: f64 = 1.0 / (1u64 << 53) as f64;

/// First and second derivative of each row of a group.
type Pairs = Vec<(f64, f64)>;

impl Loss {
    /// First and second derivatives of a ranking's loss for each row; weights come in later.
    ///
    /// # Errors
    /// [`ParamError::NotOffered`] for a loss that is no ranking.
    pub(crate) fn group_gradients(
        &self,
        groups: &[Range<usize>],
        score: &[f32],
        y: &[f32],
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let of: fn(Range<usize>, &[f32], &[f32]) -> Pairs = match self {
            Loss::QueryRmse => query,
            Loss::PairLogit => |group, score, y| pairs(group, score, y, false),
            Loss::LambdaRank => |group, score, y| pairs(group, score, y, true),
            other => {
                return Err(ParamError::NotOffered {
                    name: "loss",
                    value: other.name().to_owned(),
                    instead: "QueryRMSE, PairLogit or LambdaRank".to_owned(),
                }
                .into());
            }
        };
        // Each group is one item, serial inside, so threads change nothing.
        let all: Vec<Vec<(f64, f64)>> = groups.par_iter().map(|g| of(g.clone(), score, y)).collect();
        let single = |x: f64| canon(x as f32);
        Ok(all.iter().flatten().map(|&(g, h)| (single(g), single(h))).unzip())
    }
}

fn query(group: Range<usize>, score: &[f32], y: &[f32]) -> Vec<(f64, f64)> {
    let residual = |i: usize| f64::from(score[i]) - f64::from(y[i]);
    let mean = group.clone().map(residual).sum::<f64>() / group.len() as f64;
    group.map(|i| (residual(i) - mean, 1.0)).collect()
}

/// Pairs (i, j) with y_i > y_j in ascending order of (i, j).
fn pairs(group: Range<usize>, score: &[f32], y: &[f32], ndcg: bool) -> Vec<(f64, f64)> {
    let start = group.start;
    let mut out = vec![(0.0f64, 0.0f64); group.len()];
    let (mut place, mut best) = (vec![0usize; group.len()], 1.0f64);
    if ndcg {
        let mut order: Vec<usize> = group.clone().collect();
        order.sort_by(|&a, &b| ranks_before(score, a, b));
        order.iter().enumerate().for_each(|(at, &i)| place[i - start] = at);
        order.sort_by(|&a, &b| ranks_before(y, a, b));
        best = gain_sum(y, &order);
    }
    for i in group.clone() {
        for j in group.clone().filter(|&j| y[i] > y[j]) {
            let p = f64::from(sigmoid_cr(sub(score[j], score[i], Pins::HOST)));
            let weight = if ndcg {
                let places = 1.0 / discount(place[i - start]) - 1.0 / discount(place[j - start]);
                ((gain(y[i]) - gain(y[j])) * places / best).abs()
            } else {
                1.0
            };
            let (g, h) = (weight * p, weight * p * (1.0 - p));
            out[i - start].0 -= g;
            out[j - start].0 += g;
            out[i - start].1 += h;
            out[j - start].1 += h;
        }
    }
    out.iter_mut().for_each(|o| o.1 = o.1.max(LEAST));
    out
}
