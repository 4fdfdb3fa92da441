//! Classification by the vote of the nearest neighbours.

use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, Result};
use ml_kernels::num::{divide::div, order};
use ml_kernels::{Context, Device};

use super::params::{Metric, Params, SearchAlgorithm, Weights, setters};
use super::search::{Found, Search};
use super::{add, weigh};
use crate::record::{record_f32, record_u32};
use crate::traits::{FitTarget, Persist, Predict};

/// Classifier by the vote of the nearest rows. Parameters are checked when a fit starts.
///
/// Names and defaults are scikit-learn's. Of its parameters, `algorithm` `"kd_tree"` and `"ball_tree"`, metrics other than
/// the Euclidean and `p` other than 2 are refused by name; `leaf_size`, `metric_params` and `n_jobs` do not exist here.
///
/// # Bit identity
/// Neighbours, distances, votes and probabilities are the same bytes on every device; the module header of `neighbors`
/// states each rule.
///
/// # Example
/// ```
/// use ml_classical::{FitTarget, KNeighborsClassifier, Predict, Weights};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[0.0], [1.0], [10.0], [11.0]])?;
/// let knn = KNeighborsClassifier::new().n_neighbors(3).weights(Weights::Distance).fit(&x, &[7, 7, 3, 3], &device)?;
/// let asked = Matrix::from_rows(&[[0.5], [9.0]])?;
/// assert_eq!(knn.predict(&asked, &device)?, [7, 3]);
/// assert_eq!(knn.classes(), [3, 7]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Example: more neighbours than rows
/// ```
/// use ml_classical::{FitTarget, KNeighborsClassifier};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let x = Matrix::from_rows(&[[0.0], [1.0]])?;
/// let error = KNeighborsClassifier::new().fit(&x, &[0, 1], &Device::host()).unwrap_err();
/// assert_eq!(error.to_string(), "parameter `n_neighbors` must be at most the number of rows, 2, got 5");
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KNeighborsClassifier(Params);

impl KNeighborsClassifier {
    /// Five neighbours that count the same.
    pub fn new() -> Self {
        Self::default()
    }

    setters!();
}

impl FitTarget for KNeighborsClassifier {
    type Target = [u32];
    type Model = KNeighborsClassifierModel;

    /// Remembers the rows of `x` and their classes `labels`, which may be any numbers. Stage: `knn.classes`.
    fn fit_in(&self, x: &Matrix, labels: &[u32], cx: &mut Context<'_>) -> Result<KNeighborsClassifierModel> {
        let search = Search::fit(&self.0, x, cx.device())?;
        if labels.len() != x.rows() {
            return Err(DataError::shape("labels", format!("{} (one a row)", x.rows()), labels.len()).into());
        }
        let mut classes = labels.to_vec();
        classes.sort_unstable();
        classes.dedup();
        record_u32(cx, "knn.classes", &classes)?;
        Ok(KNeighborsClassifierModel { search, classes, labels: labels.to_vec() })
    }
}

/// The remembered rows and classes of a [`KNeighborsClassifier`].
///
/// The rows live on the device of the fit, or on the host after loading. Predicting on another device copies them there
/// for that call; [`KNeighborsClassifierModel::to`] moves them for good.
#[derive(Debug, Clone)]
pub struct KNeighborsClassifierModel {
    search: Search,
    /// Distinct labels, ascending.
    classes: Vec<u32>,
    /// One a remembered row.
    labels: Vec<u32>,
}

impl KNeighborsClassifierModel {
    /// The distinct labels, ascending: the columns of [`KNeighborsClassifierModel::predict_proba`].
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// Number of remembered rows.
    pub fn n_samples_fit(&self) -> usize {
        self.search.n_samples()
    }

    /// Number of columns that predictions need.
    pub fn n_features_in(&self) -> usize {
        self.search.n_features_in()
    }

    /// The same model with its rows on `device`.
    ///
    /// # Errors
    /// [`ml_core::DeviceError`] of either device.
    pub fn to(&self, device: &Device) -> Result<Self> {
        Ok(KNeighborsClassifierModel { search: self.search.to(device)?, ..self.clone() })
    }

    /// The nearest remembered rows of each row of `x`, nearest first: their distances, shape (rows, n_neighbors), and
    /// their numbers in the fit, of the same shape.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    ///
    /// # Bit identity
    /// Distances are correctly rounded roots of squared distances; equal squared distances in order of the fit's rows.
    pub fn kneighbors(&self, x: &Matrix, device: &Device) -> Result<(Matrix, Vec<u32>)> {
        let found = self.search.find(x, &mut Context::new(device))?;
        Ok((Matrix::from_vec(x.rows(), self.search.params.n_neighbors, found.distances)?, found.indices))
    }

    /// The probability of each class for each row of `x`: shape (rows, classes), columns in the order of
    /// [`KNeighborsClassifierModel::classes`].
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    pub fn predict_proba(&self, x: &Matrix, device: &Device) -> Result<Matrix> {
        self.predict_proba_in(x, &mut Context::new(device))
    }

    /// [`KNeighborsClassifierModel::predict_proba`], recording, reporting and stopping as `cx` says. Stages:
    /// `knn.indices`, `knn.distances`, `knn.probabilities`.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    pub fn predict_proba_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Matrix> {
        let found = self.search.find(x, cx)?;
        let c = self.classes.len();
        let mut probabilities = self.votes(&found);
        for row in probabilities.chunks_exact_mut(c) {
            let total = row.iter().fold(0.0, |sum, vote| add(sum, *vote));
            for vote in row {
                *vote = div(*vote, total);
            }
        }
        record_f32(cx, "knn.probabilities", &[x.rows(), c], &probabilities)?;
        Matrix::from_vec(x.rows(), c, probabilities)
    }

    /// The share of the rows of `x` whose prediction is their label in `labels`.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`], and [`DataError::Shape`] unless there is one label a row.
    pub fn score(&self, x: &Matrix, labels: &[u32], device: &Device) -> Result<f64> {
        if labels.len() != x.rows() {
            return Err(DataError::shape("labels", format!("{} (one a row)", x.rows()), labels.len()).into());
        }
        let predicted = self.predict(x, device)?;
        let hits = predicted.iter().zip(labels).filter(|(p, l)| p == l).count();
        Ok(hits as f64 / labels.len() as f64)
    }

    /// The votes of each row for each class: shape (rows, classes).
    fn votes(&self, found: &Found) -> Vec<f32> {
        let k = self.search.params.n_neighbors;
        let c = self.classes.len();
        let column: Vec<usize> = self.labels.iter().map(|l| self.classes.partition_point(|class| class < l)).collect();
        let mut votes = vec![0.0f32; found.indices.len() / k * c];
        let mut weights = Vec::with_capacity(k);
        let neighbours = found.indices.chunks_exact(k).zip(found.distances.chunks_exact(k));
        for ((indices, distances), vote) in neighbours.zip(votes.chunks_exact_mut(c)) {
            weigh(self.search.params.weights, distances, &mut weights);
            for (i, w) in indices.iter().zip(&weights) {
                let cell = &mut vote[column[*i as usize]];
                *cell = add(*cell, *w);
            }
        }
        votes
    }
}

impl Predict for KNeighborsClassifierModel {
    type Output = u32;

    /// The class with the largest vote for each row, ties to the lowest class. Stages: `knn.indices`, `knn.distances`,
    /// `knn.labels`.
    fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<u32>> {
        let found = self.search.find(x, cx)?;
        let votes = self.votes(&found);
        // pathway: P60
        let winner = |vote: &[f32]| {
            let best = (0..vote.len()).rev().max_by_key(|&c| order::key(vote[c])).unwrap_or(0);
            self.classes[best]
        };
        let labels: Vec<u32> = votes.chunks_exact(self.classes.len()).map(winner).collect();
        record_u32(cx, "knn.labels", &labels)?;
        Ok(labels)
    }
}

impl Persist for KNeighborsClassifierModel {
    const KIND: &'static str = "KNeighborsClassifier";

    fn to_writer(&self) -> Result<ModelWriter> {
        Ok(self.search.to_writer(Self::KIND)?.u32("labels", &[self.labels.len()], &self.labels))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let search = Search::from_reader(file)?;
        let labels = file.u32("labels", &[search.n_samples()])?.data;
        let mut classes = labels.clone();
        classes.sort_unstable();
        classes.dedup();
        Ok(KNeighborsClassifierModel { search, classes, labels })
    }
}
