//! The fit of principal component analysis.

use ml_core::{Matrix, Result};
use ml_kernels::Context;
use ml_kernels::linalg::symmetric_eigen_top;
use ml_kernels::matmul::{Layout, matmul};

use super::model::PcaModel;
use super::params::Pca;
use crate::finite::all_finite;
use crate::linear::scale::{Scaling, centred, single};
use crate::record::record_f32;
use crate::traits::Fit;

impl Fit for Pca {
    type Model = PcaModel;

    /// Finds the components of the rows of `x`, of which there are two or more.
    ///
    /// Stages: `pca.mean`, `pca.scatter` (of the scaled columns), `pca.eigenvalues`, `pca.components`,
    /// `pca.explained_variance`, and the decision `pca.n_components`. Progress comes as `pca.fit`, in three steps.
    fn fit_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<PcaModel> {
        let plan = self.check(x)?;
        let (n, d) = (x.rows(), x.cols());
        let device = cx.device().clone();
        cx.step("pca.fit", 0, Some(3), None)?;
        // pathway: P84
        let columns = centred(&device, x.view(), true, Scaling::Whole)?;
        let mean: Vec<f32> = columns.mean.iter().map(|&m| single(m)).collect();
        record_f32(cx, "pca.mean", &[d], &mean)?;
        cx.step("pca.fit", 1, Some(3), None)?;

        let scatter = matmul(&device, Layout::TN, &columns.data, &columns.data, d, d, n)?;
        cx.record_f32("pca.scatter", &[d, d], &scatter)?;
        cx.step("pca.fit", 2, Some(3), None)?;

        let positive = |values: &[f32]| -> Vec<f64> { values.iter().map(|v| f64::from(*v).max(0.0)).collect() };
        let count = |values: &[f32]| {
            let values = positive(values);
            plan.count(&values, values.iter().sum())
        };
        let (values, vectors) = symmetric_eigen_top(&device, &scatter, d, count)?;
        cx.record_f32("pca.eigenvalues", &[d], &values)?;
        let values = positive(&values.read()?);
        let total: f64 = values.iter().sum();
        let k = plan.count(&values, total);
        cx.decision("pca.n_components", k as u64);
        let components = vectors.read()?;
        record_f32(cx, "pca.components", &[k, d], &components)?;

        // Eigenvalues are those of the scaled columns.
        let scale = columns.scale.first().copied().unwrap_or(1.0);
        let variance = |v: f64| v / (n as f64 - 1.0) / (scale * scale);
        let rest = values.get(k..plan.most).unwrap_or_default();
        let noise = if rest.is_empty() { 0.0 } else { rest.iter().sum::<f64>() / rest.len() as f64 };
        let kept = &values[..k];
        let model = PcaModel {
            components: Matrix::from_vec(k, d, components)?,
            explained_variance: kept.iter().map(|&v| single(variance(v))).collect(),
            explained_variance_ratio: kept.iter().map(|&v| single(if total > 0.0 { v / total } else { 0.0 })).collect(),
            singular_values: kept.iter().map(|&v| single(v.sqrt() / scale)).collect(),
            mean,
            noise_variance: single(variance(noise)),
            n_samples: n,
            whiten: plan.whiten,
            params: self.to_json(),
        };
        record_f32(cx, "pca.explained_variance", &[k], &model.explained_variance)?;
        all_finite("pca.explained_variance", &model.explained_variance)?;
        all_finite("pca.singular_values", &model.singular_values)?;
        cx.step("pca.fit", 3, Some(3), None)?;
        Ok(model.with_outcome())
    }
}
