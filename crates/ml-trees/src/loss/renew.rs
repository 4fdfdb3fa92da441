//! Leaves that are quantiles of residuals.

use ml_kernels::num::{exp_cr, key, ln_cr};

use super::Loss;

/// How the leaves of a loss are valued once the tree stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Renewal {
    loss: Loss,
    alpha: f64,
}

impl Renewal {
    /// The renewal of `loss`, for a loss whose curvature says nothing about the best leaf.
    pub fn of(loss: Loss) -> Option<Self> {
        let alpha = match loss {
            Loss::Mae | Loss::Mape => 0.5,
            Loss::Quantile { alpha } | Loss::LogLinQuantile { alpha } => f64::from(alpha),
            _ => return None,
        };
        Some(Renewal { loss, alpha })
    }

    /// The leaf value that is best for `rows`: a quantile of what their scores lack.
    pub fn value(&self, rows: &[u32], score: &[f32], y: &[f32], weight: Option<&[f32]>) -> f64 {
        let mut items: Vec<(f64, f64)> = rows
            .iter()
            .map(|&row| {
                let i = row as usize;
                let w = weight.map_or(1.0, |w| f64::from(w[i]));
                match self.loss {
                    // The derivative in the leaf's value is a sum of sides times e^score, so e^score is a weight.
                    Loss::LogLinQuantile { .. } => {
                        (f64::from(ln_cr(y[i])) - f64::from(score[i]), w * f64::from(exp_cr(score[i])))
                    }
                    Loss::Mape => (f64::from(y[i]) - f64::from(score[i]), w / f64::from(y[i].abs().max(1.0))),
                    _ => (f64::from(y[i]) - f64::from(score[i]), w),
                }
            })
            .collect();
        weighted_quantile(&mut items, self.alpha)
    }
}

/// The least value up to which at least the part `alpha` of the weight lies; the middle between it and the next where it is
/// exactly that part. 0 without weight. Values are finite.
///
/// # Bit identity
/// Values are sorted by (value, position); weights are summed in that order in binary64.
pub(crate) fn weighted_quantile(items: &mut Vec<(f64, f64)>, alpha: f64) -> f64 {
    items.retain(|item| item.1 > 0.0);
    // Stable, so equal values keep their order and with it their weights' order.
    items.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = items.iter().map(|item| item.1).sum();
    let goal = alpha * total;
    let mut sum = 0.0f64;
    for (at, (value, weight)) in items.iter().enumerate() {
        sum += weight;
        if sum >= goal {
            return match items.get(at + 1) {
                Some((next, _)) if sum == goal => 0.5 * (value + next),
                _ => *value,
            };
        }
    }
    // The sum can stay below the goal by rounding only.
    items.last().map_or(0.0, |item| item.0)
}

/// Whether `a` comes before `b` in descending order of score, ties to the lower row.
pub(super) fn ranks_before(score: &[f32], a: usize, b: usize) -> std::cmp::Ordering {
    key(score[b]).cmp(&key(score[a])).then(a.cmp(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_follow_weights() {
        let of = |items: &[(f64, f64)], alpha| weighted_quantile(&mut items.to_vec(), alpha);
        let even = [(3.0, 1.0), (1.0, 1.0), (2.0, 1.0), (4.0, 1.0)];
        assert_eq!(of(&even, 0.5), 2.5);
        assert_eq!(of(&even, 0.6), 3.0);
        assert_eq!(of(&even, 0.01), 1.0);
        assert_eq!(of(&even, 0.99), 4.0);
        assert_eq!(of(&[(1.0, 1.0), (2.0, 5.0), (9.0, 0.0)], 0.5), 2.0);
        assert_eq!(of(&[(9.0, 0.0)], 0.5), 0.0);
        assert_eq!(of(&[], 0.5), 0.0);
    }
}
