//! The fitted isolation forest.

use ml_core::canon::canon;
use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{Matrix, ModelError, Result, check};
use ml_kernels::traits::{Persist, Predict};
use ml_kernels::{Context, Device};
use serde_json::{Value, json};

use super::average_path;
use super::params::IsolationForest;
use crate::double::{exp2, single};
use crate::ensemble::Ensemble;
use crate::{flat, walk};

/// Trees grown by [`IsolationForest`].
///
/// [`Predict`] gives 1 for ordinary rows and -1 for odd ones.
///
/// # Bit identity
/// Rows walk on the host, one thread a row; lengths of paths are added in double precision in the order of the trees.
#[derive(Debug, Clone, PartialEq)]
pub struct IsolationForestModel {
    ensemble: Ensemble,
    max_samples: usize,
    offset: f32,
    params: Value,
}

impl IsolationForestModel {
    pub(super) fn new(estimator: &IsolationForest, ensemble: Ensemble, max_samples: usize) -> Self {
        let mut model = IsolationForestModel { ensemble, max_samples, offset: -0.5, params: estimator.to_json() };
        model.params["samples_a_tree"] = json!(max_samples);
        model
    }

    pub(super) fn set_offset(&mut self, offset: f32) {
        self.offset = offset;
    }

    /// The trees. The value of a leaf is the length of the path to it, with what its rows would have needed on average to
    /// be parted from each other.
    pub fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    /// Rows that each tree was grown on.
    pub fn max_samples(&self) -> usize {
        self.max_samples
    }

    /// The score below which a row is odd: -0.5, or the quantile that `contamination` asks for.
    pub fn offset(&self) -> f32 {
        self.offset
    }

    /// The parameters of the fit, as the model file shows them.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// Number of columns that predictions need.
    pub fn n_features_in(&self) -> usize {
        self.ensemble.features()
    }

    /// The score of each row of `x`, from -1 (odd) to 0: -2^(-mean length of its paths / average length for
    /// [`IsolationForestModel::max_samples`] rows).
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    pub fn score_samples(&self, x: &Matrix, device: &Device) -> Result<Vec<f32>> {
        check::not_empty("x", x.view())?;
        check::width("x", x.view(), self.n_features_in())?;
        let expected = self.ensemble.trees().len() as f64 * average_path(self.max_samples);
        let score = |length: f64| {
            // Trees of one row have no length, and say nothing: scikit-learn's score is then that of the average row.
            let ratio = if expected == 0.0 { 1.0 } else { length / expected };
            -single(exp2(-ratio))
        };
        Ok(walk::scores(&self.ensemble, x.as_slice(), device).into_iter().map(score).collect())
    }

    /// [`IsolationForestModel::score_samples`] less [`IsolationForestModel::offset`]: negative for odd rows.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    pub fn decision_function(&self, x: &Matrix, device: &Device) -> Result<Vec<f32>> {
        Ok(self.score_samples(x, device)?.into_iter().map(|s| canon(s - self.offset)).collect())
    }
}

impl Predict for IsolationForestModel {
    type Output = i32;

    /// -1 for rows whose decision is negative, else 1. Stage: `isolation.decision`.
    fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<i32>> {
        let decision = self.decision_function(x, &cx.device().clone())?;
        if cx.records() {
            let bytes: Vec<u8> = decision.iter().flat_map(|d| d.to_le_bytes()).collect();
            cx.record("isolation.decision", ml_core::Dtype::F32, &[decision.len()], &bytes);
        }
        cx.step("isolation.predict", 1, Some(1), None)?;
        Ok(decision.iter().map(|d| if *d < 0.0 { -1 } else { 1 }).collect())
    }
}

impl Persist for IsolationForestModel {
    const KIND: &'static str = "IsolationForest";

    fn to_writer(&self) -> Result<ModelWriter> {
        let writer = ModelWriter::new(Self::KIND, self.params.clone()).f32("offset", &[1], &[self.offset]);
        Ok(flat::write(writer, &self.ensemble))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let ensemble = flat::read(file)?;
        let offset = file.f32("offset", &[1])?.data[0];
        let max_samples = file.param_u64("samples_a_tree")?;
        if ensemble.base().len() != 1 || max_samples == 0 || max_samples > u64::from(u32::MAX) {
            let reason = "trees of an isolation forest give one length and are grown on rows".to_owned();
            return Err(ModelError::Malformed { path: file.path().to_owned(), reason }.into());
        }
        let mut params = file.params().clone();
        if let Value::Object(map) = &mut params {
            // What the file says of the trees, the trees say themselves.
            map.remove("n_features_in");
            map.remove("n_outputs");
        }
        Ok(IsolationForestModel { ensemble, max_samples: max_samples as usize, offset, params })
    }
}
