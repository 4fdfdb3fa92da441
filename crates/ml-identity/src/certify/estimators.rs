//! The estimators that are certified, with the parameters that their runs use.

use ml_classical::kmeans::Init;
use ml_classical::prelude::*;
use ml_core::{Dtype, Matrix, Result};
use ml_kernels::Context;

use super::primitives;
use crate::fixtures::Fixture;

/// What is certified: the estimators, and the primitives on their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Estimator {
    /// Every primitive, each on the fixture itself.
    Primitives,
    /// k-means, with k-means++ and with k-means||.
    KMeans,
    /// k-nearest-neighbours classification.
    KNeighborsClassifier,
    /// k-nearest-neighbours regression.
    KNeighborsRegressor,
    /// Principal component analysis.
    Pca,
    /// Ordinary least squares.
    LinearRegression,
    /// Least squares with an L2 penalty.
    Ridge,
}

impl Estimator {
    /// All of them.
    pub const ALL: [Estimator; 7] = [
        Estimator::Primitives,
        Estimator::KMeans,
        Estimator::KNeighborsClassifier,
        Estimator::KNeighborsRegressor,
        Estimator::Pca,
        Estimator::LinearRegression,
        Estimator::Ridge,
    ];

    /// The name, as cards and the command line spell it.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Primitives => "primitives",
            Estimator::KMeans => "KMeans",
            Estimator::KNeighborsClassifier => "KNeighborsClassifier",
            Estimator::KNeighborsRegressor => "KNeighborsRegressor",
            Estimator::Pca => "PCA",
            Estimator::LinearRegression => "LinearRegression",
            Estimator::Ridge => "Ridge",
        }
    }

    /// The part of a real fixture that this estimator runs on; `None` if the fixture has not what it needs.
    pub(super) fn cut(self, fixture: &Fixture) -> crate::error::Result<Option<Fixture>> {
        let (has_labels, has_targets) = (fixture.labels().is_some(), fixture.y().is_some());
        let rows = match (self, fixture.name()) {
            (_, "fashion-mnist/test") => return Ok(None),
            (Estimator::Primitives, _) => 200,
            (Estimator::KMeans, _) => 1000,
            (Estimator::KNeighborsClassifier, _) if has_labels => 1000,
            (Estimator::KNeighborsRegressor, _) if has_targets => 2000,
            (Estimator::LinearRegression | Estimator::Ridge, _) if has_targets => 6000,
            // 784 columns would make the eigenproblem, which is host code everywhere, most of the run.
            (Estimator::Pca, "fashion-mnist/train") => 500,
            (Estimator::Pca, _) => 6000,
            _ => return Ok(None),
        };
        fixture.head(rows).map(Some)
    }

    /// Fits on `fixture` and predicts, recording as it goes.
    pub(super) fn run(self, fixture: &Fixture, cx: &mut Context<'_>) -> Result<()> {
        let device = cx.device().clone();
        let x = fixture.x();
        match self {
            Estimator::Primitives => primitives::run(fixture, cx),
            Estimator::KMeans => {
                let k = (x.rows() / 8).clamp(1, 10);
                for (init, tag) in [(Init::KMeansPlusPlus, "plusplus"), (Init::KMeansParallel, "parallel")] {
                    let model = KMeans::new(k).init(init).max_iter(12).seed(7).fit_in(x, cx)?;
                    let labels = model.predict(x, &device)?;
                    record_u32(cx, &format!("certify.{tag}.predict"), &labels);
                    record_f32(cx, &format!("certify.{tag}.inertia"), &[1], &[model.inertia()]);
                }
                Ok(())
            }
            Estimator::KNeighborsClassifier => {
                let k = x.rows().min(5);
                let labels = match fixture.labels() {
                    Some(labels) => labels.to_vec(),
                    None => (0..x.rows() as u32).map(|i| i % 3).collect(),
                };
                for (weights, tag) in [(Weights::Uniform, "uniform"), (Weights::Distance, "distance")] {
                    let model = KNeighborsClassifier::new().n_neighbors(k).weights(weights).fit_in(x, &labels, cx)?;
                    let queries = queries(x)?;
                    let (distances, indices) = model.kneighbors(&queries, &device)?;
                    record_f32(cx, &format!("certify.{tag}.distances"), &[queries.rows(), k], distances.as_slice());
                    record_u32(cx, &format!("certify.{tag}.neighbours"), &indices);
                    let predicted = model.predict(&queries, &device)?;
                    record_u32(cx, &format!("certify.{tag}.predict"), &predicted);
                    let proba = model.predict_proba(&queries, &device)?;
                    record_f32(cx, &format!("certify.{tag}.proba"), &[proba.rows(), proba.cols()], proba.as_slice());
                }
                Ok(())
            }
            Estimator::KNeighborsRegressor => {
                let k = x.rows().min(5);
                let y = targets(fixture);
                for (weights, tag) in [(Weights::Uniform, "uniform"), (Weights::Distance, "distance")] {
                    let model = KNeighborsRegressor::new().n_neighbors(k).weights(weights).fit_in(x, &y, cx)?;
                    let predicted = model.predict(&queries(x)?, &device)?;
                    record_f32(cx, &format!("certify.{tag}.predict"), &[predicted.len()], &predicted);
                }
                Ok(())
            }
            Estimator::Pca => {
                let model = Pca::new().fit_in(x, cx)?;
                let scores = model.transform(x, &device)?;
                record_f32(cx, "certify.transform", &[scores.rows(), scores.cols()], scores.as_slice());
                Ok(())
            }
            Estimator::LinearRegression => {
                let model = LinearRegression::new().fit_in(x, &targets(fixture), cx)?;
                let predicted = model.predict(x, &device)?;
                record_f32(cx, "certify.predict", &[predicted.len()], &predicted);
                Ok(())
            }
            Estimator::Ridge => {
                let model = Ridge::new().alpha(1.0).fit_in(x, &targets(fixture), cx)?;
                let predicted = model.predict(x, &device)?;
                record_f32(cx, "certify.predict", &[predicted.len()], &predicted);
                Ok(())
            }
        }
    }
}

impl std::str::FromStr for Estimator {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|e| e.name().eq_ignore_ascii_case(s)).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|e| e.name()).collect();
            format!("unknown estimator `{s}`; known: {}", names.join(", "))
        })
    }
}

/// The first rows, as queries: each then has itself at distance zero, and ties are frequent.
fn queries(x: &Matrix) -> Result<Matrix> {
    x.slice_rows(0..x.rows().min(200))
}

/// The fixture's targets, or the first column where it has none.
fn targets(fixture: &Fixture) -> Vec<f32> {
    match fixture.y() {
        Some(y) => y.to_vec(),
        None => (0..fixture.x().rows()).map(|i| fixture.x().row(i)[0]).collect(),
    }
}

pub(crate) fn record_f32(cx: &mut Context<'_>, tag: &str, shape: &[usize], data: &[f32]) {
    let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
    cx.record(tag, Dtype::F32, shape, &bytes);
}

pub(crate) fn record_u32(cx: &mut Context<'_>, tag: &str, data: &[u32]) {
    let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
    cx.record(tag, Dtype::U32, &[data.len()], &bytes);
}
