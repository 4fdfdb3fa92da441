//! Explanations of an ensemble: what each column of a row adds to its score, how much the columns matter, and what the
//! trees look like.
//!
//! In the terms of `docs/contract.md`, clause `explain`: all is double precision on the host, in a fixed order, one thread
//! a row.
//!
//! S. Lundberg, G. Erion, S.-I. Lee, "Consistent individualized feature attribution for tree ensembles", arXiv:1802.03888
//! (2018); S. Lundberg et al., "From local explanations to global understanding with explainable AI for trees", Nature
//! Machine Intelligence 2 (2020).

mod background;
mod dump;
mod importance;
mod path;
mod quadrature;

use std::collections::BTreeMap;
use std::sync::Arc;

use ml_core::{DataError, Matrix, ParamError, Result, check};
use ml_kernels::Device;
use rayon::prelude::*;

use crate::ensemble::{Ensemble, Node, Tree};
use crate::walk;
use background::Shares;
use path::Prepared;

pub use dump::{dot, text};
pub use importance::{Importance, PermutationImportance, importances, permutation_importance};

/// Deepest tree that is explained: the walk calls itself.
pub const MAX_DEPTH: usize = 1_000;

/// Shapley values of an ensemble's scores.
///
/// Two questions can be asked. *Path-dependent* ([`TreeExplainer::new`]): columns that are not known are averaged over by
/// the share of the fit's rows (covers) on either side of a split. *Interventional* ([`TreeExplainer::with_background`]):
/// they are taken from the rows of a background set, and the results averaged.
///
/// What is explained is the score in double precision: the base and the leaf values (rounded to binary32 first where the
/// ensemble's arithmetic is [`Arithmetic::Single`](crate::Arithmetic::Single)) added in the order of the trees.
///
/// # Bit identity
/// The same bytes on every device and for any number of threads, and the values of a row depend on no other row.
///
/// # Example
/// ```
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// use ml_trees::explain::TreeExplainer;
/// use ml_trees::{Arithmetic, Ensemble, Node, Tree};
/// let split = Node::Number {
///     feature: 0, threshold: 0.5, left: 1, right: 2, missing_left: false, gain: 1.0, cover: 4.0,
/// };
/// let leaves = [Node::Leaf { leaf: 0, cover: 1.0 }, Node::Leaf { leaf: 1, cover: 3.0 }];
/// let tree = Tree::new([vec![split], leaves.to_vec()].concat(), vec![8.0, 0.0], 1)?;
/// let ensemble = Ensemble::new(vec![tree], vec![0], vec![1.0], 2, Arithmetic::Double)?;
/// let explainer = TreeExplainer::new(&ensemble)?;
/// assert_eq!(explainer.expected_value(), [3.0]);
/// let shap = explainer.shap_values(&Matrix::from_rows(&[[0.0, 7.0]])?, &Device::host())?;
/// assert_eq!(shap.of(0, 0), [6.0, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TreeExplainer {
    ensemble: Ensemble,
    way: Way,
    expected: Vec<f64>,
}

/// Points of a quadrature and their weights; trees share them.
type Points = Arc<[(f64, f64)]>;

#[derive(Debug, Clone)]
enum Way {
    /// Tree by tree, the share of each node among the rows of its parent, and the points of the quadrature.
    Path(Vec<(Vec<f64>, Points)>),
    Background {
        rows: Vec<f32>,
        shares: Shares,
    },
}

/// What each column adds to each output of each row, shape (rows, outputs, features).
#[derive(Debug, Clone, PartialEq)]
pub struct ShapValues {
    rows: usize,
    outputs: usize,
    features: usize,
    values: Vec<f64>,
}

impl ShapValues {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of outputs of the ensemble.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Number of columns of a row.
    pub fn features(&self) -> usize {
        self.features
    }

    /// All values, row by row, output by output.
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// What each column adds to output `output` of row `row`.
    ///
    /// # Panics
    /// If there is no such row or output.
    pub fn of(&self, row: usize, output: usize) -> &[f64] {
        assert!(output < self.outputs, "output {output} of {}", self.outputs);
        let start = (row * self.outputs + output) * self.features;
        &self.values[start..start + self.features]
    }
}

impl TreeExplainer {
    /// Path-dependent explanations of `ensemble`.
    ///
    /// # Errors
    /// [`ParamError::OutOfBound`] for a cover that is negative or not finite, or where both sides of a split have none
    /// (an ensemble that does not know its covers can be explained with a background), and for a tree deeper than
    /// [`MAX_DEPTH`].
    pub fn new(ensemble: &Ensemble) -> Result<Self> {
        let mut prepared = Vec::with_capacity(ensemble.trees().len());
        let mut expected = base(ensemble);
        let mut quadratures: BTreeMap<usize, Points> = BTreeMap::new();
        for (tree, first) in ensemble.trees().iter().zip(ensemble.first_output()) {
            let points = depth(tree)?.min(ensemble.features()).div_ceil(2);
            let points = quadratures.entry(points).or_insert_with(|| quadrature::points(points).into());
            let share = path::shares(tree)?;
            let mean = path::mean(tree, &share, ensemble.arithmetic());
            for (e, m) in expected[*first as usize..].iter_mut().zip(mean) {
                *e += m;
            }
            prepared.push((share, Arc::clone(points)));
        }
        Ok(TreeExplainer { ensemble: ensemble.clone(), way: Way::Path(prepared), expected })
    }

    /// Explanations of `ensemble` against the rows of `background`.
    ///
    /// The time for a row grows with the rows of the background.
    ///
    /// # Errors
    /// [`DataError::Empty`] without rows, [`DataError::Shape`] for another number of columns than the ensemble has,
    /// [`ParamError::OutOfBound`] for a tree deeper than [`MAX_DEPTH`].
    pub fn with_background(ensemble: &Ensemble, background: &Matrix) -> Result<Self> {
        check::not_empty("background", background.view())?;
        Self::with_background_of(ensemble, background.as_slice())
    }

    /// [`TreeExplainer::with_background`] on row-major `background`, in which a NaN is a missing value.
    ///
    /// # Errors
    /// Those of [`TreeExplainer::with_background`].
    pub fn with_background_of(ensemble: &Ensemble, background: &[f32]) -> Result<Self> {
        let rows = whole_rows("background", background, ensemble.features())?;
        if rows == 0 {
            return Err(DataError::Empty { what: "background", rows, cols: ensemble.features() }.into());
        }
        let mut deepest = 0;
        for tree in ensemble.trees() {
            deepest = deepest.max(depth(tree)?);
        }
        let mut expected = vec![0.0; ensemble.base().len()];
        let mut score = expected.clone();
        for row in background.chunks_exact(ensemble.features()) {
            walk::score(ensemble, row, &mut score);
            expected.iter_mut().zip(&score).for_each(|(e, s)| *e += s);
        }
        expected.iter_mut().for_each(|e| *e /= rows as f64);
        let shares = Shares::new(deepest.min(ensemble.features()));
        let way = Way::Background { rows: background.to_vec(), shares };
        Ok(TreeExplainer { ensemble: ensemble.clone(), way, expected })
    }

    /// The score of a row of which nothing is known, one value an output.
    pub fn expected_value(&self) -> &[f64] {
        &self.expected
    }

    /// What each column adds to the scores of each row of `x`.
    ///
    /// For every row and output, [`TreeExplainer::expected_value`] and the values of all columns sum to the score; what is
    /// lost to rounding is at most 2^-40 of |base| and the sum over all trees of the greatest |leaf value|.
    ///
    /// # Errors
    /// [`DataError::Shape`] for another number of columns than the ensemble has.
    pub fn shap_values(&self, x: &Matrix, device: &Device) -> Result<ShapValues> {
        check::width("x", x.view(), self.ensemble.features())?;
        self.shap_values_of(x.as_slice(), device)
    }

    /// [`TreeExplainer::shap_values`] of row-major `x`, in which a NaN is a missing value.
    ///
    /// # Errors
    /// [`DataError::Shape`] for values that are no whole number of rows.
    pub fn shap_values_of(&self, x: &[f32], device: &Device) -> Result<ShapValues> {
        let features = self.ensemble.features();
        let rows = whole_rows("x", x, features)?;
        let outputs = self.expected.len();
        let mut values = vec![0.0; rows * outputs * features];
        if !values.is_empty() {
            device.on_host(|| {
                values
                    .par_chunks_mut(outputs * features)
                    .zip(x.par_chunks(features))
                    .for_each(|(phi, row)| self.explain(row, phi));
            });
        }
        Ok(ShapValues { rows, outputs, features, values })
    }

    /// The values of one row, shape (outputs, features), all 0 before.
    fn explain(&self, row: &[f32], phi: &mut [f64]) {
        let features = self.ensemble.features();
        match &self.way {
            Way::Path(prepared) => {
                let trees = self.ensemble.trees().iter().zip(self.ensemble.first_output()).zip(prepared);
                for ((tree, first), (shares, points)) in trees {
                    let prepared = Prepared { tree, shares, points, arithmetic: self.ensemble.arithmetic() };
                    path::explain(prepared, row, features, &mut phi[*first as usize * features..]);
                }
            }
            Way::Background { rows, shares } => {
                for (tree, first) in self.ensemble.trees().iter().zip(self.ensemble.first_output()) {
                    let phi = &mut phi[*first as usize * features..];
                    background::explain(tree, shares, self.ensemble.arithmetic(), row, rows, features, phi);
                }
                let n = (rows.len() / features) as f64;
                phi.iter_mut().for_each(|v| *v /= n);
            }
        }
    }
}

/// The base as the ensemble's arithmetic takes it.
fn base(ensemble: &Ensemble) -> Vec<f64> {
    ensemble.base().iter().map(|b| walk::value(ensemble.arithmetic(), *b)).collect()
}

fn whole_rows(what: &'static str, x: &[f32], features: usize) -> Result<usize> {
    if features == 0 || !x.len().is_multiple_of(features) {
        return Err(DataError::shape(what, format!("whole rows of {features} columns"), x.len()).into());
    }
    Ok(x.len() / features)
}

/// Splits on the longest path of a tree.
fn depth(tree: &Tree) -> Result<usize> {
    let mut depths = vec![0usize; tree.nodes().len()];
    let mut deepest = 0;
    for (at, node) in tree.nodes().iter().enumerate() {
        deepest = deepest.max(depths[at]);
        if let Node::Number { left, right, .. } | Node::Category { left, right, .. } = node {
            depths[*left as usize] = depths[at] + 1;
            depths[*right as usize] = depths[at] + 1;
        }
    }
    if deepest > MAX_DEPTH {
        let bound = format!("at most {MAX_DEPTH} for an explanation");
        return Err(ParamError::out_of_bound("depth", bound, deepest).into());
    }
    Ok(deepest)
}

#[cfg(test)]
mod tests;
