//! The value of a node from its sums, in binary64 on the host.

use ml_kernels::trees::Criterion;

/// How sums become a value.
#[derive(Debug, Clone)]
pub(crate) struct NodeValue {
    criterion: Criterion,
    /// What a unit of each channel is.
    units: Vec<f64>,
}

impl NodeValue {
    /// Values by `criterion` of sums whose channels were multiplied by two to the `shifts`.
    pub fn new(criterion: Criterion, shifts: &[i32]) -> Self {
        NodeValue { criterion, units: shifts.iter().map(|s| power_of_two(-s)).collect() }
    }

    /// The sum of a channel, rounded once.
    pub fn sum(&self, sums: &[i64], channel: usize) -> f64 {
        match (sums.get(channel), self.units.get(channel)) {
            (Some(sum), Some(unit)) => *sum as f64 * unit,
            _ => 0.0,
        }
    }

    /// The value of a node with these sums: -S(g, l1) / (h + l2) of a Newton step (0 where h + l2 is 0), where S takes l1 off
    /// the magnitude; else the mean, or the share of class 1.
    pub fn of(&self, sums: &[i64]) -> f64 {
        let [first, second] = [0, 1].map(|c| self.sum(sums, c));
        let part = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        match self.criterion {
            Criterion::Newton { l1, l2 } => {
                let (l1, l2) = (f64::from(l1), f64::from(l2));
                let shrunk = if first > l1 {
                    first - l1
                } else if first < -l1 {
                    first + l1
                } else {
                    0.0
                };
                -part(shrunk, second + l2)
            }
            Criterion::SquaredError | Criterion::Poisson => part(second, first),
            Criterion::Gini | Criterion::Entropy => part(second, first + second),
        }
    }

    /// [`NodeValue::of`], brought within bounds.
    pub fn within(&self, sums: &[i64], bounds: [f64; 2]) -> f64 {
        within(self.of(sums), bounds)
    }
}

/// `x`, brought within bounds.
pub(crate) fn within(x: f64, [low, high]: [f64; 2]) -> f64 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// 2^e, for the exponents that shifts have.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(e.clamp(-1022, 1023))) as u64) << 52)
}
