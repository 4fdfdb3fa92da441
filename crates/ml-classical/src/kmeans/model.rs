//! The fitted model of k-means.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, ParamError, Result, check};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::{Buffer, Context, distances};
use serde_json::{Value, json};

use super::lloyd::Outcome;
use super::params::{KMeans, Plan};
use crate::finite::all_finite;
use crate::traits::{Persist, Predict, Stop, Transform};

/// Clusters found by [`KMeans`].
///
/// [`Predict`] gives the nearest centre of each row, [`Transform`] its distance to every centre.
///
/// # Bit identity
/// Predictions are squared distances joined as the contract's contractions, ties to the lowest cluster; predicting the
/// rows of the fit gives [`KMeansModel::labels`].
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansModel {
    cluster_centers: Matrix,
    labels: Vec<u32>,
    inertia: f32,
    n_iter: u32,
    stop: Stop,
    best_run: u32,
    params: Value,
}

impl KMeansModel {
    pub(super) fn new(
        estimator: &KMeans,
        plan: &Plan<'_>,
        cluster_centers: Matrix,
        labels: Vec<u32>,
        outcome: &Outcome,
    ) -> Self {
        let Outcome { inertia, n_iter, stop, best_run } = *outcome;
        let mut params = estimator.to_json(plan);
        params["n_iter"] = json!(n_iter);
        params["converged"] = json!(stop != Stop::MaxIter);
        params["best_run"] = json!(best_run);
        KMeansModel { cluster_centers, labels, inertia, n_iter, stop, best_run, params }
    }

    /// Centres of the clusters: shape (n_clusters, features).
    pub fn cluster_centers(&self) -> &Matrix {
        &self.cluster_centers
    }

    /// Cluster of each row of the fit.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Sum of the squared distances of the fit's rows to their centres.
    pub fn inertia(&self) -> f32 {
        self.inertia
    }

    /// Iterations of the winning start.
    pub fn n_iter(&self) -> u32 {
        self.n_iter
    }

    /// Why the winning start ended.
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// Number of the winning start, counted from 0.
    pub fn best_run(&self) -> u32 {
        self.best_run
    }

    /// The parameters of the fit and what came of them, as the model file shows them.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// Number of columns that predictions need.
    pub fn n_features_in(&self) -> usize {
        self.cluster_centers.cols()
    }

    fn expect(&self, x: &Matrix) -> Result<()> {
        check::not_empty("x", x.view())?;
        check::width("x", x.view(), self.n_features_in())
    }
}

impl Predict for KMeansModel {
    type Output = u32;

    /// The nearest cluster of each row. Stages: `kmeans.predict.labels`, `kmeans.predict.squared`.
    fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<u32>> {
        self.expect(x)?;
        let device = cx.device().clone();
        let rows = Buffer::from_matrix(&device, x)?;
        let centers = Buffer::from_matrix(&device, &self.cluster_centers)?;
        let (n, k, d) = (x.rows(), self.cluster_centers.rows(), x.cols());
        let (labels, squared) = distances::nearest(&device, &rows, &centers, n, k, d)?;
        all_finite("kmeans.predict.squared", &squared.read()?)?;
        cx.record_u32("kmeans.predict.labels", &[n], &labels)?;
        cx.record_f32("kmeans.predict.squared", &[n], &squared)?;
        labels.read()
    }
}

impl Transform for KMeansModel {
    /// The distance of each row to each centre: shape (rows, n_clusters). Stage: `kmeans.transform`.
    fn transform_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Matrix> {
        self.expect(x)?;
        let device = cx.device().clone();
        let rows = Buffer::from_matrix(&device, x)?;
        let centers = Buffer::from_matrix(&device, &self.cluster_centers)?;
        let (n, k, d) = (x.rows(), self.cluster_centers.rows(), x.cols());
        let squared = distances::squared_distances(&device, &rows, &centers, n, k, d)?;
        let distance = map(&device, &Expr::input(0).sqrt(), &[Operand::Full(&squared)], &[], n, k)?;
        cx.record_f32("kmeans.transform", &[n, k], &distance)?;
        let distance = distance.read()?;
        all_finite("kmeans.transform", &distance)?;
        Matrix::from_vec(n, k, distance)
    }
}

impl Persist for KMeansModel {
    const KIND: &'static str = "KMeans";

    fn to_writer(&self) -> Result<ModelWriter> {
        Ok(ModelWriter::new(Self::KIND, self.params.clone())
            .matrix("cluster_centers", &self.cluster_centers)
            .u32("labels", &[self.labels.len()], &self.labels)
            .f32("inertia", &[], &[self.inertia]))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let cluster_centers = file.matrix("cluster_centers", ANY, ANY)?;
        check::not_empty("cluster_centers", cluster_centers.view())?;
        let labels = file.u32("labels", &[ANY])?.data;
        let k = cluster_centers.rows();
        if let Some(position) = labels.iter().position(|&l| l as usize >= k) {
            let index = u64::from(labels[position]);
            return Err(DataError::Index { what: "labels", position, index, bound: k as u64 }.into());
        }
        let inertia = file.f32("inertia", &[])?.data.first().copied().unwrap_or(0.0);
        let n_iter = whole(file, "n_iter")?;
        let stop = if file.param_bool("converged")? { Stop::Converged { iter: n_iter } } else { Stop::MaxIter };
        let best_run = whole(file, "best_run")?;
        let params = file.params().clone();
        Ok(KMeansModel { cluster_centers, labels, inertia, n_iter, stop, best_run, params })
    }
}

/// A parameter that is a `u32`.
fn whole(file: &ModelReader, name: &'static str) -> Result<u32> {
    let value = file.param_u64(name)?;
    u32::try_from(value).map_err(|_| ParamError::out_of_bound(name, "below 2^32", value).into())
}
