//! The mean loss of scores, in binary64: what an evaluation shows and early stopping looks at.

use std::ops::Range;

use ml_kernels::num::{Pins, exp_cr, log2_cr, mul, pow_cr, softplus_cr, sub};

use super::Loss;
use super::renew::ranks_before;

/// Scores with their truth. `score` and `target` have one column a output and a target.
pub(crate) struct Scored<'a> {
    pub score: &'a [Vec<f32>],
    pub target: &'a [Vec<f32>],
    pub weight: Option<&'a [f32]>,
    pub groups: Option<&'a [Range<usize>]>,
}

/// The mean of the loss over rows by weight, less is better: its root for squared errors, 1 - NDCG for LambdaRank.
///
/// Logarithms and powers are those of the contract, correctly rounded to binary32; sums are serial, rows ascending.
pub(crate) fn metric(loss: Loss, of: &Scored<'_>) -> f64 {
    let rows = of.target.first().map_or(0, Vec::len);
    let weight = |i: usize| of.weight.map_or(1.0, |w| f64::from(w[i]));
    if let (true, Some(groups)) = (loss.is_ranking(), of.groups) {
        return ranking(loss, of, groups);
    }
    let (mut sum, mut total) = (0.0f64, 0.0f64);
    for i in 0..rows {
        sum += weight(i) * row(loss, of, i);
        total += weight(i);
    }
    let mean = sum / total;
    match loss {
        Loss::Rmse | Loss::MultiRmse | Loss::QueryRmse => mean.sqrt(),
        _ => mean,
    }
}

/// The loss of one row.
fn row(loss: Loss, of: &Scored<'_>, i: usize) -> f64 {
    let (s, y) = (of.score[0][i], of.target[0][i]);
    let (wide_s, wide_y) = (f64::from(s), f64::from(y));
    let r = wide_s - wide_y;
    let exp = |x: f32| f64::from(exp_cr(x));
    let pinball = |alpha: f32, r: f64| if r < 0.0 { -f64::from(alpha) * r } else { (1.0 - f64::from(alpha)) * r };
    match loss {
        Loss::Rmse | Loss::QueryRmse | Loss::YetiRank => r * r,
        Loss::Mae => r.abs(),
        Loss::Quantile { alpha } => pinball(alpha, r),
        Loss::LogLinQuantile { alpha } => pinball(alpha, exp(s) - wide_y),
        Loss::Huber { delta } => {
            let delta = f64::from(delta);
            if r.abs() <= delta { 0.5 * r * r } else { delta * (r.abs() - 0.5 * delta) }
        }
        Loss::Mape => r.abs() / wide_y.abs().max(1.0),
        Loss::Poisson => exp(s) - wide_y * wide_s,
        Loss::Gamma => wide_y * exp(-s) + wide_s,
        Loss::Tweedie { power } => {
            let (a, b) = (1.0 - f64::from(power), 2.0 - f64::from(power));
            let power = |e: f64| exp(mul(e as f32, s, Pins::HOST));
            power(b) / b - wide_y * power(a) / a
        }
        Loss::Expectile { alpha } => {
            let alpha = f64::from(alpha);
            (if r < 0.0 { alpha } else { 1.0 - alpha }) * r * r
        }
        Loss::Lq { q } => f64::from(pow_cr(sub(s, y, Pins::HOST).abs(), q)),
        Loss::MultiRmse => {
            let residual = |(s, y): (&Vec<f32>, &Vec<f32>)| f64::from(s[i]) - f64::from(y[i]);
            of.score.iter().zip(of.target).map(residual).map(|r| r * r).sum()
        }
        Loss::Logloss | Loss::CrossEntropy | Loss::PairLogit | Loss::LambdaRank => {
            f64::from(softplus_cr(s)) - wide_y * wide_s
        }
        Loss::MultiClassOneVsAll => {
            let class = |(k, s): (usize, &Vec<f32>)| {
                let is = if y == k as f32 { f64::from(s[i]) } else { 0.0 };
                f64::from(softplus_cr(s[i])) - is
            };
            of.score.iter().enumerate().map(class).sum::<f64>() / of.score.len() as f64
        }
        Loss::MultiClass => {
            let top = of.score.iter().map(|s| s[i]).fold(f32::MIN, f32::max);
            let sum: f64 = of.score.iter().map(|s| exp(sub(s[i], top, Pins::HOST))).sum();
            let own = of.score.get(y as usize).map_or(top, |s| s[i]);
            f64::from(ml_kernels::num::ln_cr(sum as f32)) - (f64::from(own) - f64::from(top))
        }
    }
}

/// The mean over groups; a group whose loss is not defined, such as one of equal targets, does not count.
fn ranking(loss: Loss, of: &Scored<'_>, groups: &[Range<usize>]) -> f64 {
    let (score, y) = (&of.score[0], &of.target[0]);
    let (mut sum, mut total) = (0.0f64, 0.0f64);
    for group in groups {
        match loss {
            Loss::QueryRmse => {
                let residual = |i: usize| f64::from(score[i]) - f64::from(y[i]);
                let mean = group.clone().map(residual).sum::<f64>() / group.len() as f64;
                sum += group.clone().map(|i| (residual(i) - mean) * (residual(i) - mean)).sum::<f64>();
                total += group.len() as f64;
            }
            Loss::PairLogit => {
                for i in group.clone() {
                    for j in group.clone().filter(|&j| y[i] > y[j]) {
                        sum += f64::from(softplus_cr(sub(score[j], score[i], Pins::HOST)));
                        total += 1.0;
                    }
                }
            }
            _ => {
                let mut order: Vec<usize> = group.clone().collect();
                order.sort_by(|&a, &b| ranks_before(score, a, b));
                let mut ideal: Vec<usize> = group.clone().collect();
                ideal.sort_by(|&a, &b| ranks_before(y, a, b));
                let best = gain_sum(y, &ideal);
                if best > 0.0 {
                    sum += 1.0 - gain_sum(y, &order) / best;
                    total += 1.0;
                }
            }
        }
    }
    let mean = if total > 0.0 { sum / total } else { 0.0 };
    if loss == Loss::QueryRmse { mean.sqrt() } else { mean }
}

/// The discounted gain of rows in this order.
pub(super) fn gain_sum(y: &[f32], order: &[usize]) -> f64 {
    order.iter().enumerate().map(|(at, &i)| gain(y[i]) / discount(at)).sum()
}

/// 2^y - 1.
pub(super) fn gain(y: f32) -> f64 {
    f64::from(ml_kernels::num::exp2_cr(y)) - 1.0
}

/// log2 of the place, counted from 2.
pub(super) fn discount(at: usize) -> f64 {
    f64::from(log2_cr((at + 2) as f32))
}
