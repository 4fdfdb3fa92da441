//! What a split gains, from integer sums.
//!
//! Sums of a node or side: of classes, the weights of each class, then the number of rows; of numbers, the weights, the
//! targets, then the number of rows.

use super::params::Criterion;
use crate::double::ln;

/// Products x ln x kept for whole numbers below this: most nodes are small.
const TABLE: i64 = 4096;

pub(super) struct Gains {
    criterion: Criterion,
    /// Classes, or 1.
    k: usize,
    x_ln_x: Vec<f64>,
}

impl Gains {
    pub fn new(criterion: Criterion, k: usize) -> Self {
        let table = if criterion == Criterion::Entropy { TABLE } else { 0 };
        Gains { criterion, k, x_ln_x: (0..table).map(x_ln_x).collect() }
    }

    /// Sums of a side.
    pub fn channels(&self) -> usize {
        match self.criterion {
            Criterion::Gini | Criterion::Entropy => self.k + 1,
            Criterion::SquaredError | Criterion::Poisson => 3,
        }
    }

    /// Where the number of rows stands.
    pub fn count(&self) -> usize {
        self.channels() - 1
    }

    /// The weight of a side.
    pub fn weight(&self, sums: &[i64]) -> i64 {
        match self.criterion {
            Criterion::Gini | Criterion::Entropy => sums[..self.k].iter().sum(),
            Criterion::SquaredError | Criterion::Poisson => sums[0],
        }
    }

    /// What monotone columns hold in order: the share of the second class, or the mean, in units of the integers.
    pub fn ratio(&self, sums: &[i64]) -> f64 {
        let weight = self.weight(sums) as f64;
        sums[1] as f64 / weight
    }

    /// What a node of sums `total` gains by parting off `left`, in units of the integers; the rest is `right`. Both sides
    /// have weight. `None` for a split that the criterion rules out.
    pub fn gain(&self, total: &[i64], left: &[i64], right: &[i64]) -> Option<f64> {
        match self.criterion {
            Criterion::Gini => {
                let (l, r) = (self.weight(left), self.weight(right));
                Some(spread(&left[..self.k], &right[..self.k], l, r))
            }
            Criterion::SquaredError => Some(spread(&left[1..2], &right[1..2], left[0], right[0])),
            Criterion::Entropy => {
                let side = |sums: &[i64]| {
                    let classes = sums[..self.k].iter().fold(0.0, |s, w| s + self.x_ln_x(*w));
                    classes - self.x_ln_x(self.weight(sums))
                };
                let gain = side(left) + side(right) - side(total);
                Some(gain.max(0.0) / std::f64::consts::LN_2)
            }
            Criterion::Poisson => {
                let side = |sums: &[i64]| {
                    let (w, s) = (sums[0] as f64, sums[1] as f64);
                    s * ln(s / w)
                };
                if left[1] <= 0 || right[1] <= 0 {
                    return None;
                }
                Some((side(left) + side(right) - side(total)).max(0.0))
            }
        }
    }

    fn x_ln_x(&self, x: i64) -> f64 {
        self.x_ln_x.get(x as usize).copied().unwrap_or_else(|| x_ln_x(x))
    }
}

fn x_ln_x(x: i64) -> f64 {
    if x == 0 { 0.0 } else { x as f64 * ln(x as f64) }
}

/// l r / (l + r) times the squared distance of the two sides' means: what the sum of squares inside the sides is less than
/// that of the node. The differences of means, on the common denominator l r, are exact integers, so that nothing cancels.
fn spread(left: &[i64], right: &[i64], l: i64, r: i64) -> f64 {
    let mut sum = 0.0;
    // Below 2^31 both products fit into 63 bits.
    let small = |x: i64| x.unsigned_abs() < 1 << 31;
    for (a, b) in left.iter().zip(right) {
        let d = if small(l) && small(r) && small(*a) && small(*b) {
            (a * r - b * l) as f64
        } else {
            (i128::from(*a) * i128::from(r) - i128::from(*b) * i128::from(l)) as f64
        };
        sum += d * d;
    }
    let (l, r) = (l as f64, r as f64);
    sum / (l * r * (l + r))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Impurity of a side times its weight.
    fn impurity(criterion: Criterion, sums: &[i64], squares: f64) -> f64 {
        let k = sums.len() - 1;
        match criterion {
            Criterion::SquaredError => squares - (sums[1] * sums[1]) as f64 / sums[0] as f64,
            Criterion::Poisson => -(sums[1] as f64) * ln(sums[1] as f64 / sums[0] as f64),
            _ => {
                let w: i64 = sums[..k].iter().sum();
                let p = sums[..k].iter().map(|s| *s as f64 / w as f64).filter(|p| *p > 0.0);
                let of: f64 = match criterion {
                    Criterion::Gini => p.map(|p| p * (1.0 - p)).sum(),
                    _ => p.map(|p| -p * ln(p) / std::f64::consts::LN_2).sum(),
                };
                of * w as f64
            }
        }
    }

    #[test]
    fn gains_are_what_the_impurity_loses() {
        for criterion in [Criterion::Gini, Criterion::Entropy] {
            let gains = Gains::new(criterion, 3);
            let (left, right) = ([5, 0, 7, 9], [1, 6, 5000, 99]);
            let total: Vec<i64> = left.iter().zip(&right).map(|(a, b)| a + b).collect();
            let want =
                impurity(criterion, &total, 0.0) - impurity(criterion, &left, 0.0) - impurity(criterion, &right, 0.0);
            let got = gains.gain(&total, &left, &right).expect("a split");
            assert!((got - want).abs() < 1e-9, "{criterion:?}: {got} against {want}");
        }
        for criterion in [Criterion::SquaredError, Criterion::Poisson] {
            let gains = Gains::new(criterion, 1);
            let (left, right, total) = ([4, 30, 4], [6, 11, 6], [10, 41, 10]);
            let want = impurity(criterion, &total, 500.0)
                - impurity(criterion, &left, 300.0)
                - impurity(criterion, &right, 200.0);
            let got = gains.gain(&total, &left, &right).expect("a split");
            assert!((got - want).abs() < 1e-9, "{criterion:?}: {got} against {want}");
        }
    }

    #[test]
    fn large_sums_are_exact_too() {
        let gains = Gains::new(Criterion::SquaredError, 1);
        let scale = |s: [i64; 3], f: i64| [s[0] * f, s[1] * f, s[2]];
        let (left, right, total) = ([4, 30, 4], [6, 11, 6], [10, 41, 10]);
        let small = gains.gain(&total, &left, &right).expect("a split");
        let f = 1 << 45;
        let large = gains.gain(&scale(total, f), &scale(left, f), &scale(right, f)).expect("a split");
        assert_eq!(large, small * f as f64);
        // Equal means far from 0 gain exactly nothing.
        let even = gains.gain(&[3, 3 << 50, 3], &[1, 1 << 50, 1], &[2, 2 << 50, 2]);
        assert_eq!(even, Some(0.0));
    }

    #[test]
    fn a_side_without_counts_is_no_poisson_split() {
        assert_eq!(Gains::new(Criterion::Poisson, 1).gain(&[4, 3, 4], &[2, 0, 2], &[2, 3, 2]), None);
    }
}
