//! How much the columns matter: by what the trees say of themselves, and by what a score loses without them.

use ml_core::{Matrix, Result, check};
use ml_kernels::{Device, random};

use crate::ensemble::{Ensemble, Node};

/// What is added up over the splits of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    /// The number of splits.
    Splits,
    /// The gains.
    Gain,
    /// The mean gain of a split.
    MeanGain,
    /// The covers.
    Cover,
    /// The mean cover of a split.
    MeanCover,
}

/// The importance of each column of an ensemble, as its splits have it. Columns without a split have 0.
///
/// # Bit identity
/// Sums in double precision in the order of the trees and of their nodes.
pub fn importances(ensemble: &Ensemble, kind: Importance) -> Vec<f64> {
    let mut sums = vec![0.0; ensemble.features()];
    let mut splits = vec![0u64; ensemble.features()];
    for node in ensemble.trees().iter().flat_map(|t| t.nodes()) {
        if let Node::Number { feature, gain, cover, .. } | Node::Category { feature, gain, cover, .. } = node {
            let column = *feature as usize;
            splits[column] += 1;
            sums[column] += match kind {
                Importance::Splits => 1.0,
                Importance::Gain | Importance::MeanGain => f64::from(*gain),
                Importance::Cover | Importance::MeanCover => f64::from(*cover),
            };
        }
    }
    if matches!(kind, Importance::MeanGain | Importance::MeanCover) {
        for (sum, n) in sums.iter_mut().zip(splits) {
            *sum /= n.max(1) as f64;
        }
    }
    sums
}

/// What [`permutation_importance`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct PermutationImportance {
    /// The score on the rows as they are.
    pub baseline: f64,
    /// What the score lost in each repetition, column by column.
    pub losses: Vec<Vec<f64>>,
    /// The mean loss of each column.
    pub means: Vec<f64>,
    /// The standard deviation of the losses of each column, over all repetitions (not one less).
    pub deviations: Vec<f64>,
}

/// How much `score` loses when the values of one column are shuffled among the rows of `x`, `repeats` times each.
///
/// L. Breiman, "Random forests", Machine Learning 45 (2001); names are those of scikit-learn's function. Repetition r of
/// column j shuffles with the permutation of stream `j * repeats + r` of `seed` (clause `random`), for all calls alike.
///
/// # Errors
/// [`ml_core::ParamError`] unless `repeats` is at least 1 and streams suffice, [`ml_core::DataError::Empty`] for no rows,
/// and those of `score`.
///
/// # Bit identity
/// The same on every device, if `score` is.
pub fn permutation_importance(
    x: &Matrix,
    repeats: usize,
    seed: u64,
    mut score: impl FnMut(&Matrix) -> Result<f64>,
) -> Result<PermutationImportance> {
    check::not_empty("x", x.view())?;
    check::usize_within("repeats", repeats, 1, u32::MAX as usize / x.cols())?;
    let baseline = score(x)?;
    let host = Device::host();
    let mut losses = Vec::with_capacity(x.cols());
    for column in 0..x.cols() {
        let mut lost = Vec::with_capacity(repeats);
        for repeat in 0..repeats {
            let stream = (column * repeats + repeat) as u32;
            let order = random::permutation(&host, x.rows(), seed, stream)?.read()?;
            let mut data = x.as_slice().to_vec();
            for (row, from) in order.iter().enumerate() {
                data[row * x.cols() + column] = x.row(*from as usize)[column];
            }
            lost.push(baseline - score(&Matrix::from_vec(x.rows(), x.cols(), data)?)?);
        }
        losses.push(lost);
    }
    let n = repeats as f64;
    let means: Vec<f64> = losses.iter().map(|lost| lost.iter().fold(0.0, |s, l| s + l) / n).collect();
    let deviation =
        |(lost, mean): (&Vec<f64>, &f64)| (lost.iter().fold(0.0, |s, l| s + (l - mean) * (l - mean)) / n).sqrt();
    let deviations = losses.iter().zip(&means).map(deviation).collect();
    Ok(PermutationImportance { baseline, losses, means, deviations })
}
