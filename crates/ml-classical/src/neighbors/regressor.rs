//! Regression by the mean of the nearest neighbours.

use ml_core::canon::{canon, is_finite};
use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, Result};
use ml_kernels::num::divide::div;
use ml_kernels::{Context, Device};

use super::params::{Metric, Params, SearchAlgorithm, Weights, setters};
use super::search::Search;
use super::{add, mul, weigh};
use crate::finite::all_finite;
use crate::record::record_f32;
use crate::traits::{FitTarget, Persist, Predict};

/// Regressor by the mean of the nearest rows' targets. Parameters are checked when a fit starts.
///
/// Names and defaults are scikit-learn's. Of its parameters, `algorithm` `"kd_tree"` and `"ball_tree"`, metrics other than
/// the Euclidean and `p` other than 2 are refused by name; `leaf_size`, `metric_params`, `n_jobs` and several targets a
/// row do not exist here.
///
/// # Bit identity
/// Neighbours, distances and means are the same bytes on every device; the module header of `neighbors` states each rule.
///
/// # Example
/// ```
/// use ml_classical::{FitTarget, KNeighborsRegressor, Predict};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[0.0], [1.0], [10.0]])?;
/// let knn = KNeighborsRegressor::new().n_neighbors(2).fit(&x, &[2.0, 4.0, 100.0], &device)?;
/// assert_eq!(knn.predict(&Matrix::from_rows(&[[0.4]])?, &device)?, [3.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KNeighborsRegressor(Params);

impl KNeighborsRegressor {
    /// Five neighbours that count the same.
    pub fn new() -> Self {
        Self::default()
    }

    setters!();
}

impl FitTarget for KNeighborsRegressor {
    type Target = [f32];
    type Model = KNeighborsRegressorModel;

    /// Remembers the rows of `x` and their targets `y`, finite and stored canonically.
    fn fit_in(&self, x: &Matrix, y: &[f32], cx: &mut Context<'_>) -> Result<KNeighborsRegressorModel> {
        let search = Search::fit(&self.0, x, cx.device())?;
        if y.len() != x.rows() {
            return Err(DataError::shape("y", format!("{} (one a row)", x.rows()), y.len()).into());
        }
        if let Some(row) = y.iter().position(|t| !is_finite(*t)) {
            return Err(DataError::NonFinite { what: "y", row, col: 0, value: y[row] }.into());
        }
        Ok(KNeighborsRegressorModel { search, y: y.iter().map(|t| canon(*t)).collect() })
    }
}

/// The remembered rows and targets of a [`KNeighborsRegressor`].
///
/// The rows live on the device of the fit, or on the host after loading. Predicting on another device copies them there
/// for that call; [`KNeighborsRegressorModel::to`] moves them for good.
#[derive(Debug, Clone)]
pub struct KNeighborsRegressorModel {
    search: Search,
    /// One a remembered row.
    y: Vec<f32>,
}

impl KNeighborsRegressorModel {
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
        Ok(KNeighborsRegressorModel { search: self.search.to(device)?, ..self.clone() })
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

    /// The coefficient of determination of the predictions for `x`: 1 minus the squared error over the squared deviation
    /// of `y` from its mean, in double precision. Where `y` is constant it is 1 for a perfect prediction and 0 otherwise.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`], and [`DataError::Shape`] unless there are two rows or more, each with one target.
    pub fn score(&self, x: &Matrix, y: &[f32], device: &Device) -> Result<f64> {
        if y.len() != x.rows() || y.len() < 2 {
            return Err(DataError::shape("y", format!("{} (one a row), at least 2", x.rows()), y.len()).into());
        }
        let predicted = self.predict(x, device)?;
        let mean = y.iter().map(|t| f64::from(*t)).sum::<f64>() / y.len() as f64;
        let (mut error, mut spread) = (0.0f64, 0.0f64);
        for (p, t) in predicted.iter().zip(y) {
            let (e, s) = (f64::from(*t) - f64::from(*p), f64::from(*t) - mean);
            error += e * e;
            spread += s * s;
        }
        Ok(match (error == 0.0, spread == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => 1.0 - error / spread,
        })
    }
}

impl Predict for KNeighborsRegressorModel {
    type Output = f32;

    /// The mean target of each row's neighbours. Stages: `knn.indices`, `knn.distances`, `knn.means`.
    fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<f32>> {
        let found = self.search.find(x, cx)?;
        let k = self.search.params.n_neighbors;
        let mut weights = Vec::with_capacity(k);
        let mut means = Vec::with_capacity(x.rows());
        for (indices, distances) in found.indices.chunks_exact(k).zip(found.distances.chunks_exact(k)) {
            weigh(self.search.params.weights, distances, &mut weights);
            let (mut sum, mut total) = (0.0f32, 0.0f32);
            for (i, w) in indices.iter().zip(&weights) {
                sum = add(sum, mul(*w, self.y[*i as usize]));
                total = add(total, *w);
            }
            means.push(div(sum, total));
        }
        record_f32(cx, "knn.means", &[x.rows()], &means)?;
        all_finite("knn.means", &means)?;
        Ok(means)
    }
}

impl Persist for KNeighborsRegressorModel {
    const KIND: &'static str = "KNeighborsRegressor";

    fn to_writer(&self) -> Result<ModelWriter> {
        Ok(self.search.to_writer(Self::KIND)?.f32("y", &[self.y.len()], &self.y))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let search = Search::from_reader(file)?;
        let y = file.f32("y", &[search.n_samples()])?.data;
        Ok(KNeighborsRegressorModel { search, y })
    }
}
