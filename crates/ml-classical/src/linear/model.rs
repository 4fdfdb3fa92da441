//! The fitted linear models.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, ParamError, Result, check};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::matmul::{Layout, matmul};
use ml_kernels::{Buffer, Context, Device};
use serde_json::{Value, json};

use crate::finite::all_finite;
use crate::traits::{Persist, Predict};

/// Coefficients and intercepts of one or more targets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weights {
    /// Shape (targets, columns).
    pub coef: Vec<f32>,
    /// One a target.
    pub intercept: Vec<f32>,
    /// Number of columns.
    pub d: usize,
}

impl Weights {
    fn targets(&self) -> usize {
        self.intercept.len()
    }

    /// Predictions of shape (rows, targets).
    fn predict(&self, tag: &str, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<f32>> {
        check::not_empty("x", x.view())?;
        check::width("x", x.view(), self.d)?;
        let device = cx.device().clone();
        let (n, t) = (x.rows(), self.targets());
        let rows = Buffer::from_matrix(&device, x)?;
        let coef = Buffer::upload(&device, &self.coef)?;
        let intercept = Buffer::upload(&device, &self.intercept)?;
        let products = matmul(&device, Layout::NT, &rows, &coef, n, t, self.d)?;
        let sum = Expr::input(0) + Expr::input(1);
        let out = map(&device, &sum, &[Operand::Full(&products), Operand::Row(&intercept)], &[], n, t)?;
        cx.record_f32(tag, &[n, t], &out)?;
        let out = out.read()?;
        all_finite(tag, &out)?;
        Ok(out)
    }

    /// Mean over targets of 1 minus the squared error over the squared deviation from the mean.
    fn score(&self, tag: &str, x: &Matrix, y: &Matrix, device: &Device) -> Result<f64> {
        if y.rows() != x.rows() || y.rows() < 2 || y.cols() != self.targets() {
            let expected = format!("{} x {}, at least 2 rows", x.rows(), self.targets());
            return Err(DataError::shape("y", expected, format!("{} x {}", y.rows(), y.cols())).into());
        }
        let predicted = self.predict(tag, x, &mut Context::new(device))?;
        let t = self.targets();
        let mut total = 0.0f64;
        for target in 0..t {
            let truth = || y.as_slice().iter().skip(target).step_by(t).map(|&v| f64::from(v));
            let mean = truth().sum::<f64>() / y.rows() as f64;
            let (mut error, mut spread) = (0.0f64, 0.0f64);
            for (v, p) in truth().zip(predicted.iter().skip(target).step_by(t)) {
                let (e, s) = (v - f64::from(*p), v - mean);
                error += e * e;
                spread += s * s;
            }
            total += match (error == 0.0, spread == 0.0) {
                (true, _) => 1.0,
                (false, true) => 0.0,
                (false, false) => 1.0 - error / spread,
            };
        }
        Ok(total / t as f64)
    }

    fn write(&self, file: ModelWriter) -> ModelWriter {
        file.f32("coef", &[self.targets(), self.d], &self.coef).f32("intercept", &[self.targets()], &self.intercept)
    }

    fn read(file: &ModelReader) -> Result<Self> {
        let coef = file.matrix("coef", ANY, ANY)?;
        check::not_empty("coef", coef.view())?;
        let intercept = file.f32("intercept", &[coef.rows()])?.data;
        Ok(Weights { d: coef.cols(), coef: coef.into_vec(), intercept })
    }
}

macro_rules! linear_model {
    ($model:ident, $tag:literal) => {
        impl $model {
            /// Coefficients: shape (targets, columns), row-major; one row after [`crate::FitTarget::fit`].
            pub fn coef(&self) -> &[f32] {
                &self.weights.coef
            }

            /// The constant added to the predictions of the first target, the only one after [`crate::FitTarget::fit`]. 0
            /// without `fit_intercept`.
            pub fn intercept(&self) -> f32 {
                self.weights.intercept.first().copied().unwrap_or(0.0)
            }

            /// The constants added to the predictions, one a target.
            pub fn intercepts(&self) -> &[f32] {
                &self.weights.intercept
            }

            /// Number of columns that predictions need.
            pub fn n_features_in(&self) -> usize {
                self.weights.d
            }

            /// Number of targets.
            pub fn n_targets(&self) -> usize {
                self.weights.targets()
            }

            /// The parameters of the fit and what came of them, as the model file shows them.
            pub fn params(&self) -> &Value {
                &self.params
            }

            /// The predictions for every target: shape (rows, targets). Stage: the one of [`Predict::predict_in`].
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`].
            ///
            /// # Bit identity
            /// A prediction depends on its row and its target's coefficients alone.
            pub fn predict_multi_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Matrix> {
                Matrix::from_vec(x.rows(), self.n_targets(), self.weights.predict($tag, x, cx)?)
            }

            /// `predict_multi_in` on `device`, unrecorded.
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`].
            pub fn predict_multi(&self, x: &Matrix, device: &Device) -> Result<Matrix> {
                self.predict_multi_in(x, &mut Context::new(device))
            }

            /// The coefficient of determination of the predictions for `x`: 1 minus the squared error over the squared
            /// deviation of `y` from its mean, in double precision. Where `y` is constant it is 1 for a perfect prediction
            /// and 0 otherwise.
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`], and [`DataError::Shape`] unless there are two rows or more, each with one
            /// target, and the model has one.
            pub fn score(&self, x: &Matrix, y: &[f32], device: &Device) -> Result<f64> {
                self.weights.score($tag, x, &super::fit::column(y)?, device)
            }

            /// The mean over targets of what `score` gives for each: `y` has shape (rows, targets).
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`], and [`DataError::Shape`] for another shape or less than two rows.
            pub fn score_multi(&self, x: &Matrix, y: &Matrix, device: &Device) -> Result<f64> {
                self.weights.score($tag, x, y, device)
            }
        }

        impl Predict for $model {
            type Output = f32;

            /// The prediction for each row, for a model of one target; several targets are refused, see `predict_multi`.
            #[doc = concat!("Stage: `", $tag, "`.")]
            fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<f32>> {
                if self.n_targets() != 1 {
                    return Err(
                        DataError::shape("targets of the model", "1 (or use predict_multi)", self.n_targets()).into()
                    );
                }
                self.weights.predict($tag, x, cx)
            }
        }
    };
}

/// Coefficients found by [`super::Ridge`].
///
/// # Bit identity
/// Predictions are contractions of a row with the coefficients, plus the intercept.
#[derive(Debug, Clone, PartialEq)]
pub struct RidgeModel {
    weights: Weights,
    params: Value,
    cholesky: bool,
}

linear_model!(RidgeModel, "ridge.predict");

impl RidgeModel {
    pub(super) fn new(weights: Weights, cholesky: bool, mut params: Value) -> Self {
        params["used_solver"] = json!(solver_name(cholesky));
        RidgeModel { weights, params, cholesky }
    }

    /// What solved the equations: `"cholesky"`, or `"eigen"` where the Cholesky factor was not accurate.
    pub fn solver(&self) -> &'static str {
        solver_name(self.cholesky)
    }
}

fn solver_name(cholesky: bool) -> &'static str {
    if cholesky { "cholesky" } else { "eigen" }
}

impl Persist for RidgeModel {
    const KIND: &'static str = "Ridge";

    fn to_writer(&self) -> Result<ModelWriter> {
        Ok(self.weights.write(ModelWriter::new(Self::KIND, self.params.clone())))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let cholesky = match file.param_str("used_solver")? {
            "cholesky" => true,
            "eigen" => false,
            other => return Err(ParamError::out_of_bound("used_solver", "cholesky or eigen", other).into()),
        };
        Ok(RidgeModel { weights: Weights::read(file)?, params: file.params().clone(), cholesky })
    }
}

/// Coefficients found by [`super::LinearRegression`].
///
/// # Bit identity
/// Predictions are contractions of a row with the coefficients, plus the intercept.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearRegressionModel {
    weights: Weights,
    params: Value,
    rank: usize,
    singular: Vec<f32>,
}

linear_model!(LinearRegressionModel, "linear_regression.predict");

impl LinearRegressionModel {
    pub(super) fn new(weights: Weights, rank: usize, singular: Vec<f32>, mut params: Value) -> Self {
        params["rank"] = json!(rank);
        LinearRegressionModel { weights, params, rank, singular }
    }

    /// Number of independent columns, after centring.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Singular values of the centred columns, descending, as many as rows or columns, whichever are fewer; 0 beyond the
    /// rank.
    pub fn singular(&self) -> &[f32] {
        &self.singular
    }
}

impl Persist for LinearRegressionModel {
    const KIND: &'static str = "LinearRegression";

    fn to_writer(&self) -> Result<ModelWriter> {
        let file = ModelWriter::new(Self::KIND, self.params.clone());
        Ok(self.weights.write(file).f32("singular", &[self.singular.len()], &self.singular))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let weights = Weights::read(file)?;
        let singular = file.f32("singular", &[ANY])?.data;
        let rank = file.param_u64("rank")?;
        let rank = usize::try_from(rank).ok().filter(|r| *r <= singular.len() && singular.len() <= weights.d);
        let Some(rank) = rank else {
            let bound = "at most the number of singular values, they at most the columns";
            return Err(ParamError::out_of_bound("rank", bound, file.params()["rank"].clone()).into());
        };
        Ok(LinearRegressionModel { weights, params: file.params().clone(), rank, singular })
    }
}
