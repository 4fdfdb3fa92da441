//! Boosting for numbers and rankings.

use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, ParamError, Result};
use ml_kernels::traits::{FitTarget, Persist, Predict};
use ml_kernels::{Context, Device};

use super::model::{Boosted, boosted_model};
use super::params::{BoostingType, Bootstrap, LeafEstimation, Params, builders};
use super::train::{Objective, Table, Task, train};
use crate::dataset::{Dataset, finite};
use crate::ensemble::Ensemble;
use crate::explain::Importance;
use crate::grow::GrowPolicy;
use crate::loss::Loss;

const TAG: &str = "gradient_boosting";

/// Boosted trees for numbers: regression, rates, rankings. Parameters are checked when a fit starts.
///
/// The default is squared error, 100 depthwise trees of depth 6 at a learning rate of 0.1, l2 = 1. A value that the field
/// knows and that is not offered is refused by name.
///
/// # Bit identity
/// The model and every stage are the same bytes on every device; the module header of `boosting` states each rule.
///
/// # Example
/// ```
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// use ml_kernels::traits::{FitTarget, Predict};
/// use ml_trees::GradientBoostingRegressor;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [3.0]])?;
/// let boosting = GradientBoostingRegressor::new().n_estimators(1).learning_rate(1.0).l2(0.0).max_depth(1);
/// let model = boosting.fit(&x, &[1.0, 1.0, 5.0, 5.0], &device)?;
/// assert_eq!(model.predict(&Matrix::from_rows(&[[0.5], [2.5]])?, &device)?, [1.0, 5.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Example: what is not offered
/// ```
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// use ml_kernels::traits::FitTarget;
/// use ml_trees::{GradientBoostingRegressor, Loss};
/// let x = Matrix::from_rows(&[[0.0], [1.0]])?;
/// let refused = GradientBoostingRegressor::new().loss(Loss::YetiRank).fit(&x, &[0.0, 1.0], &Device::host()).unwrap_err();
/// assert!(refused.to_string().contains("choose LambdaRank, PairLogit or QueryRMSE"));
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GradientBoostingRegressor {
    pub(super) params: Params,
}

builders!(GradientBoostingRegressor);

impl Default for GradientBoostingRegressor {
    fn default() -> Self {
        Self::new()
    }
}

impl GradientBoostingRegressor {
    /// Squared error and default parameters.
    pub fn new() -> Self {
        GradientBoostingRegressor { params: Params::new(Loss::Rmse) }
    }

    /// What the fit brings down: a loss of numbers or of a ranking. Default RMSE.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.params.loss = loss;
        self
    }

    /// Fits to rows that may lack values, hold categories, have weights or groups.
    ///
    /// Stages: `gradient_boosting.base`; for each iteration I and output K `gradient_boosting.treeI.K.splits` (column, bin,
    /// whether missing values go left, bits of the gain; all ones for a leaf) and `.leaves`; the decision
    /// `gradient_boosting.iterations`. Progress comes as `boosting.tree`, its metric that of the evaluation rows.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_rows_in(&self, x: &Dataset, y: &[f32], cx: &mut Context<'_>) -> Result<GradientBoostingModel> {
        self.run(x, &[y], None, None, None, cx)
    }

    /// [`GradientBoostingRegressor::fit_rows_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    pub fn fit_rows(&self, x: &Dataset, y: &[f32], device: &Device) -> Result<GradientBoostingModel> {
        self.fit_rows_in(x, y, &mut Context::new(device))
    }

    /// Fits while evaluating each iteration on other rows; see [`GradientBoostingRegressor::early_stopping_rounds`].
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`]; the metric is a sum in binary64 on the host, rows ascending.
    pub fn fit_eval_in(
        &self,
        x: &Dataset,
        y: &[f32],
        eval: (&Dataset, &[f32]),
        cx: &mut Context<'_>,
    ) -> Result<GradientBoostingModel> {
        self.run(x, &[y], Some((eval.0, &[eval.1])), None, None, cx)
    }

    /// Goes on from `model`: `n_estimators` iterations more. With the rows and parameters of its fit, the result is what one
    /// longer fit would have given.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`], and [`DataError::Shape`] for a model of other columns or outputs.
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_more_in(
        &self,
        model: &GradientBoostingModel,
        x: &Dataset,
        y: &[f32],
        eval: Option<(&Dataset, &[f32])>,
        cx: &mut Context<'_>,
    ) -> Result<GradientBoostingModel> {
        let pair = eval.map(|(rows, truth)| (rows, [truth]));
        let eval = pair.as_ref().map(|(rows, truth)| (*rows, &truth[..]));
        self.run(x, &[y], eval, Some(model), None, cx)
    }

    /// Fits several targets a row, `y` of shape (rows, targets), by [`Loss::MultiRmse`].
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_multi_in(&self, x: &Dataset, y: &Matrix, cx: &mut Context<'_>) -> Result<GradientBoostingModel> {
        if self.params.loss != Loss::MultiRmse {
            return Err(ParamError::NotOffered {
                name: "loss",
                value: self.params.loss.name().to_owned(),
                instead: "MultiRMSE for several targets".to_owned(),
            }
            .into());
        }
        let columns: Vec<Vec<f32>> =
            (0..y.cols()).map(|k| y.as_slice().iter().skip(k).step_by(y.cols()).copied().collect()).collect();
        let columns: Vec<&[f32]> = columns.iter().map(Vec::as_slice).collect();
        if columns.is_empty() {
            return Err(DataError::Empty { what: "y", rows: y.rows(), cols: 0 }.into());
        }
        self.run(x, &columns, None, None, None, cx)
    }

    /// Fits by the caller's own derivatives instead of a loss's; scores start from 0.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`], and [`DataError`] for derivatives that are not one finite pair a row.
    ///
    /// # Bit identity
    /// The model depends on the derivatives; these are only as reproducible as the caller makes them.
    ///
    /// # Example
    /// ```
    /// use ml_kernels::{Context, Device};
    /// use ml_trees::{Dataset, GradientBoostingRegressor};
    /// let rows = Dataset::new(4, 1, vec![0.0, 1.0, 2.0, 3.0])?;
    /// let squares = |score: &[f32], y: &[f32]| {
    ///     (score.iter().zip(y).map(|(s, y)| s - y).collect(), vec![1.0; y.len()])
    /// };
    /// let boosting = GradientBoostingRegressor::new().n_estimators(1).learning_rate(1.0).l2(0.0);
    /// let mut cx = Context::new(&Device::host());
    /// let model = boosting.fit_objective_in(&rows, &[1.0, 1.0, 5.0, 5.0], &squares, &mut cx)?;
    /// assert_eq!(model.raw_scores(&rows, &Device::host())?.as_slice(), [1.0, 1.0, 5.0, 5.0]);
    /// # Ok::<(), ml_core::Error>(())
    /// ```
    pub fn fit_objective_in(
        &self,
        x: &Dataset,
        y: &[f32],
        objective: &Objective<'_>,
        cx: &mut Context<'_>,
    ) -> Result<GradientBoostingModel> {
        self.run(x, &[y], None, None, Some(objective), cx)
    }

    fn run(
        &self,
        x: &Dataset,
        y: &[&[f32]],
        eval: Option<(&Dataset, &[&[f32]])>,
        start: Option<&GradientBoostingModel>,
        objective: Option<&Objective<'_>>,
        cx: &mut Context<'_>,
    ) -> Result<GradientBoostingModel> {
        let loss = self.params.loss;
        loss.check()?;
        if loss.is_classes() {
            return Err(ParamError::NotOffered {
                name: "loss",
                value: loss.name().to_owned(),
                instead: "a loss of numbers, CrossEntropy, or GradientBoostingClassifier".to_owned(),
            }
            .into());
        }
        let table = |data, y: &[&[f32]]| {
            let targets = y.iter().map(|y| targets(loss, data, y)).collect::<Result<Vec<_>>>()?;
            Ok::<_, ml_core::Error>(Table { data, targets, weights: data.weights().map(<[f32]>::to_vec) })
        };
        let train_table = table(x, y)?;
        let eval = match eval {
            Some((data, y)) => Some(same_width(table(data, y)?, x)?),
            None => None,
        };
        if let Some(start) = start
            && (start.boosted.ensemble.features() != x.cols() || start.boosted.outputs() != y.len())
        {
            let expected = format!("of {} columns and {} outputs", x.cols(), y.len());
            return Err(DataError::shape("model", expected, "another").into());
        }
        let task = Task {
            params: &self.params,
            outputs: y.len(),
            train: train_table,
            eval,
            start: start.map(|s| &s.boosted.ensemble),
            objective,
            tag: TAG,
        };
        let trained = train(&task, cx)?;
        let (ensemble, history, params) = (trained.ensemble, trained.history, self.params.to_json());
        let link = if objective.is_some() { crate::loss::Link::Identity } else { loss.link() };
        Ok(GradientBoostingModel { boosted: Boosted { ensemble, link, history, params } })
    }
}

/// Canonical targets of the loss's domain, one a row.
fn targets(loss: Loss, data: &Dataset, y: &[f32]) -> Result<Vec<f32>> {
    if y.len() != data.rows() {
        return Err(DataError::shape("y", data.rows(), y.len()).into());
    }
    finite("y", y)?;
    loss.check_targets(y)?;
    Ok(y.iter().map(|v| ml_core::canon::canon(*v)).collect())
}

pub(super) fn same_width<'a>(table: Table<'a>, x: &Dataset) -> Result<Table<'a>> {
    if table.data.cols() != x.cols() {
        return Err(DataError::shape("evaluation rows", format!("{} columns wide", x.cols()), table.data.cols()).into());
    }
    Ok(table)
}

impl FitTarget for GradientBoostingRegressor {
    type Target = [f32];
    type Model = GradientBoostingModel;

    /// Fits to one target a row; the stages are those of [`GradientBoostingRegressor::fit_rows_in`].
    fn fit_in(&self, x: &Matrix, y: &[f32], cx: &mut Context<'_>) -> Result<GradientBoostingModel> {
        self.fit_rows_in(&Dataset::from_matrix(x)?, y, cx)
    }
}

/// Boosted trees for numbers, fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct GradientBoostingModel {
    boosted: Boosted,
}

boosted_model!(GradientBoostingModel);

impl GradientBoostingModel {
    /// Predictions, shape (rows, outputs): the raw scores through the loss's link.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    ///
    /// # Bit identity
    /// A prediction depends on its row and the trees alone.
    pub fn predict_rows(&self, x: &Dataset, device: &Device) -> Result<Matrix> {
        let mut cx = Context::new(device);
        let raw = self.boosted.raw(x.as_slice(), x.rows(), x.cols(), &mut cx)?;
        let out = self.boosted.linked(raw, x.rows(), "gradient_boosting.predict", &mut cx)?;
        Matrix::from_vec(x.rows(), self.boosted.outputs(), out)
    }
}

impl Predict for GradientBoostingModel {
    type Output = f32;

    /// The prediction for each row, output after output for a model of several targets. Stage:
    /// `gradient_boosting.predict`.
    fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<f32>> {
        let raw = self.boosted.raw(x.as_slice(), x.rows(), x.cols(), cx)?;
        self.boosted.linked(raw, x.rows(), "gradient_boosting.predict", cx)
    }
}

impl Persist for GradientBoostingModel {
    const KIND: &'static str = "GradientBoostingRegressor";

    fn to_writer(&self) -> Result<ModelWriter> {
        self.boosted.write(Self::KIND)
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        Ok(GradientBoostingModel { boosted: Boosted::read(file)? })
    }
}
