//! Nearest neighbours: classification and regression by the rows most like the one asked about.
//!
//! In the terms of `docs/contract.md`:
//!
//! - **Search**: every row against every row of the fit; squared distances as contractions, neighbours ascending by
//!   (squared distance, row of the fit), so ties go to the earlier row. A distance is the correctly rounded square root.
//! - **Weights**: 1, or 1 / distance. If a neighbour lies at distance 0, all such neighbours weigh 1 and the others 0, as
//!   scikit-learn does.
//! - **Votes**: the weights of each class, added in the order of the neighbours. The largest vote wins, ties go to the
//!   lowest class. A probability is a vote divided by the sum of all votes, added in ascending order of class.
//! - **Mean**: the weighted targets added in the order of the neighbours, divided by the weights added in that order.
//!
//! Every such sum, product and quotient rounds once to `f32` (clauses `values` and `operations`).
//!
//! T. Cover, P. Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13 (1967).

mod classifier;
mod params;
mod regressor;
mod search;

use ml_core::canon::canon;
use ml_kernels::num::divide::div;

pub use classifier::{KNeighborsClassifier, KNeighborsClassifierModel};
pub use params::{Metric, SearchAlgorithm, Weights};
pub use regressor::{KNeighborsRegressor, KNeighborsRegressorModel};

/// `a + b` as the contract rounds it.
fn add(a: f32, b: f32) -> f32 {
    canon(a + b)
}

/// `a * b` as the contract rounds it.
fn mul(a: f32, b: f32) -> f32 {
    canon(a * b)
}

/// The weight of each neighbour from its distance, ascending.
// pathway: P76
fn weigh(weights: Weights, distances: &[f32], out: &mut Vec<f32>) {
    out.clear();
    match weights {
        Weights::Uniform => out.resize(distances.len(), 1.0),
        Weights::Distance if distances.first() == Some(&0.0) => {
            out.extend(distances.iter().map(|d| if *d == 0.0 { 1.0 } else { 0.0 }));
        }
        Weights::Distance => out.extend(distances.iter().map(|d| div(1.0, *d))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // pathway test: P76
    fn a_neighbour_at_distance_zero_outweighs_all_others() {
        let mut out = Vec::new();
        weigh(Weights::Distance, &[0.0, 0.0, 1e-30], &mut out);
        assert_eq!(out, [1.0, 1.0, 0.0]);
        weigh(Weights::Distance, &[0.5, 4.0], &mut out);
        assert_eq!(out, [2.0, 0.25]);
        weigh(Weights::Uniform, &[0.0, 4.0], &mut out);
        assert_eq!(out, [1.0, 1.0]);
    }
}
