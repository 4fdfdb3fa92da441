//! The fitted model of principal component analysis.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, Result, check};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::matmul::{Layout, matmul};
use ml_kernels::{Buffer, Context, Device};
use serde_json::{Value, json};

use crate::finite::all_finite;
use crate::traits::{Persist, Transform};

/// A deviation counts as at least this when it divides.
const LEAST_DEVIATION: f32 = f32::EPSILON;

/// Components found by [`super::Pca`].
///
/// # Bit identity
/// A transformed row depends on the model and on that row alone: its difference from the mean, contracted with each
/// component, and divided by a deviation if whitened.
#[derive(Debug, Clone, PartialEq)]
pub struct PcaModel {
    pub(super) components: Matrix,
    pub(super) explained_variance: Vec<f32>,
    pub(super) explained_variance_ratio: Vec<f32>,
    pub(super) singular_values: Vec<f32>,
    pub(super) mean: Vec<f32>,
    pub(super) noise_variance: f32,
    pub(super) n_samples: usize,
    pub(super) whiten: bool,
    pub(super) params: Value,
}

impl PcaModel {
    /// Notes among the parameters what came of them.
    pub(super) fn with_outcome(mut self) -> Self {
        self.params["n_samples"] = json!(self.n_samples);
        self
    }

    /// The components: shape (n_components, columns), of length 1, by descending variance. The entry of largest magnitude
    /// in each is positive.
    pub fn components(&self) -> &Matrix {
        &self.components
    }

    /// Variance of the rows along each component, with one degree of freedom less than rows.
    pub fn explained_variance(&self) -> &[f32] {
        &self.explained_variance
    }

    /// Each component's part of the whole variance; 0 where all rows are equal.
    pub fn explained_variance_ratio(&self) -> &[f32] {
        &self.explained_variance_ratio
    }

    /// Length of the centred rows' projection onto each component, over all rows.
    pub fn singular_values(&self) -> &[f32] {
        &self.singular_values
    }

    /// Mean of each column.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// Mean variance along the components that were left out, of as many as there could be; 0 if none was.
    pub fn noise_variance(&self) -> f32 {
        self.noise_variance
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.components.rows()
    }

    /// Number of columns that a transform needs.
    pub fn n_features_in(&self) -> usize {
        self.components.cols()
    }

    /// Number of rows of the fit.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// The parameters of the fit and what came of them, as the model file shows them.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// What whitened columns were divided by: the roots of the variances, but at least 2^-23.
    fn deviations(&self) -> Vec<f32> {
        self.explained_variance.iter().map(|v| v.sqrt().max(LEAST_DEVIATION)).collect()
    }

    /// Rows of the data's space for transformed rows `x`, shape (rows, n_components): what the components that were kept
    /// can tell. Stage: `pca.inverse_transform`.
    ///
    /// # Errors
    /// [`DataError::Shape`] for another number of columns, [`ml_core::Error::NonFinite`] where a computed value left the
    /// finite range, and [`ml_core::DeviceError`].
    ///
    /// # Bit identity
    /// As for [`Transform::transform_in`]: a row times its deviations if whitened, contracted with the components, plus
    /// the mean.
    pub fn inverse_transform_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Matrix> {
        check::not_empty("x", x.view())?;
        check::width("x", x.view(), self.n_components())?;
        let device = cx.device().clone();
        let (n, k, d) = (x.rows(), self.n_components(), self.n_features_in());
        let mut rows = Buffer::from_matrix(&device, x)?;
        if self.whiten {
            let deviations = Buffer::upload(&device, &self.deviations())?;
            let product = Expr::input(0) * Expr::input(1);
            rows = map(&device, &product, &[Operand::Full(&rows), Operand::Row(&deviations)], &[], n, k)?;
        }
        let components = Buffer::from_matrix(&device, &self.components)?;
        let mean = Buffer::upload(&device, &self.mean)?;
        let products = matmul(&device, Layout::NN, &rows, &components, n, d, k)?;
        let sum = Expr::input(0) + Expr::input(1);
        let out = map(&device, &sum, &[Operand::Full(&products), Operand::Row(&mean)], &[], n, d)?;
        finish("pca.inverse_transform", &out, n, d, cx)
    }

    /// [`PcaModel::inverse_transform_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`PcaModel::inverse_transform_in`].
    pub fn inverse_transform(&self, x: &Matrix, device: &Device) -> Result<Matrix> {
        self.inverse_transform_in(x, &mut Context::new(device))
    }
}

/// Records a result and brings it to the host, where it must be finite.
fn finish(stage: &str, out: &Buffer<f32>, rows: usize, cols: usize, cx: &mut Context<'_>) -> Result<Matrix> {
    cx.record_f32(stage, &[rows, cols], out)?;
    let out = out.read()?;
    all_finite(stage, &out)?;
    Matrix::from_vec(rows, cols, out)
}

impl Transform for PcaModel {
    /// The coordinates of each row along the components: shape (rows, n_components). Stage: `pca.transform`.
    fn transform_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Matrix> {
        check::not_empty("x", x.view())?;
        check::width("x", x.view(), self.n_features_in())?;
        let device = cx.device().clone();
        let (n, k, d) = (x.rows(), self.n_components(), self.n_features_in());
        let rows = Buffer::from_matrix(&device, x)?;
        let mean = Buffer::upload(&device, &self.mean)?;
        let difference = Expr::input(0) - Expr::input(1);
        let centred = map(&device, &difference, &[Operand::Full(&rows), Operand::Row(&mean)], &[], n, d)?;
        let components = Buffer::from_matrix(&device, &self.components)?;
        let mut out = matmul(&device, Layout::NT, &centred, &components, n, k, d)?;
        if self.whiten {
            let deviations = Buffer::upload(&device, &self.deviations())?;
            let quotient = Expr::input(0) / Expr::input(1);
            out = map(&device, &quotient, &[Operand::Full(&out), Operand::Row(&deviations)], &[], n, k)?;
        }
        finish("pca.transform", &out, n, k, cx)
    }
}

impl Persist for PcaModel {
    const KIND: &'static str = "PCA";

    fn to_writer(&self) -> Result<ModelWriter> {
        let k = self.n_components();
        Ok(ModelWriter::new(Self::KIND, self.params.clone())
            .matrix("components", &self.components)
            .f32("explained_variance", &[k], &self.explained_variance)
            .f32("explained_variance_ratio", &[k], &self.explained_variance_ratio)
            .f32("singular_values", &[k], &self.singular_values)
            .f32("mean", &[self.mean.len()], &self.mean)
            .f32("noise_variance", &[], &[self.noise_variance]))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let components = file.matrix("components", ANY, ANY)?;
        check::not_empty("components", components.view())?;
        let (k, d) = (components.rows(), components.cols());
        let n_samples = file.param_u64("n_samples")?;
        let n_samples = usize::try_from(n_samples).map_err(|_| DataError::TooLarge {
            what: "n_samples",
            elements: u128::from(n_samples),
            limit: usize::MAX as u128,
        })?;
        let explained_variance = file.f32("explained_variance", &[k])?.data;
        if let Some(position) = explained_variance.iter().position(|v| *v < 0.0) {
            let value = explained_variance[position];
            return Err(DataError::shape("explained_variance", "not negative", value).into());
        }
        Ok(PcaModel {
            explained_variance,
            explained_variance_ratio: file.f32("explained_variance_ratio", &[k])?.data,
            singular_values: file.f32("singular_values", &[k])?.data,
            mean: file.f32("mean", &[d])?.data,
            noise_variance: file.f32("noise_variance", &[])?.data.first().copied().unwrap_or(0.0),
            n_samples,
            whiten: file.param_bool("whiten")?,
            params: file.params().clone(),
            components,
        })
    }
}
