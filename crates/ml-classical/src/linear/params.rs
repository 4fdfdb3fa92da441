//! Parameters of the linear models, and their check when a fit starts.

use std::str::FromStr;

use ml_core::check::non_negative;
use ml_core::{Error, ParamError, Result};
use serde_json::{Value, json};

/// Ordinary least squares. Parameters are checked when a fit starts.
///
/// Where columns depend on each other, the shortest of the best coefficients are given, as scikit-learn does.
///
/// Names and defaults are scikit-learn's. Of its parameters, `positive=True` is refused by name; `copy_X`, `n_jobs`,
/// `tol` (which only sparse data use) and sample weights do not exist here.
///
/// # Bit identity
/// Coefficients and every intermediate stage are the same bytes on every device; the module header of `linear` states
/// each rule.
///
/// # Example
/// ```
/// use ml_classical::{FitTarget, LinearRegression, Predict};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0]])?;
/// let model = LinearRegression::new().fit(&x, &[1.0, 3.0, 5.0], &device)?;
/// assert_eq!((model.coef(), model.intercept(), model.rank()), (&[2.0f32][..], 1.0, 1));
/// assert_eq!(model.predict(&Matrix::from_rows(&[[10.0]])?, &device)?, [21.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Example: a target that is not finite
/// ```
/// use ml_classical::{FitTarget, LinearRegression};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let x = Matrix::from_rows(&[[0.0], [1.0]])?;
/// let error = LinearRegression::new().fit(&x, &[1.0, f32::NAN], &Device::host()).unwrap_err();
/// assert_eq!(error.to_string(), "`y` holds NaN at row 1, column 0; only finite values are accepted");
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinearRegression {
    fit_intercept: bool,
    positive: bool,
}

impl Default for LinearRegression {
    fn default() -> Self {
        Self::new()
    }
}

impl LinearRegression {
    /// Least squares with an intercept.
    pub fn new() -> Self {
        LinearRegression { fit_intercept: true, positive: false }
    }

    /// Whether a constant is added to the predictions. Default true.
    #[must_use]
    pub fn fit_intercept(mut self, fit_intercept: bool) -> Self {
        self.fit_intercept = fit_intercept;
        self
    }

    /// Whether coefficients must not be negative: not offered, so `true` is refused when a fit starts. Default false.
    #[must_use]
    pub fn positive(mut self, positive: bool) -> Self {
        self.positive = positive;
        self
    }

    pub(super) fn check(&self) -> Result<Plan> {
        not_positive(self.positive)?;
        Ok(Plan { alpha: 0.0, fit_intercept: self.fit_intercept })
    }

    /// The parameters as a model file shows them.
    pub(super) fn to_json(&self) -> Value {
        json!({"fit_intercept": self.fit_intercept, "positive": self.positive})
    }
}

/// Least squares with a penalty on the squared length of the coefficients: minimises |y - X w|^2 + alpha |w|^2. The
/// intercept is not penalised. Parameters are checked when a fit starts.
///
/// Names and defaults are scikit-learn's. Of its parameters, other solvers and `positive=True` are refused by name;
/// `copy_X`, `max_iter`, `tol` and `random_state` (which only those solvers use), one alpha a target, and sample weights
/// do not exist here.
///
/// # Bit identity
/// Coefficients and every intermediate stage are the same bytes on every device; the module header of `linear` states
/// each rule.
///
/// # Example
/// ```
/// use ml_classical::{FitTarget, Predict, Ridge};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[-1.0], [0.0], [1.0]])?;
/// let model = Ridge::new().alpha(2.0).fit(&x, &[0.0, 3.0, 6.0], &device)?;
/// assert_eq!((model.coef(), model.intercept()), (&[1.5f32][..], 3.0));
/// assert_eq!(model.predict(&Matrix::from_rows(&[[2.0]])?, &device)?, [6.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Example: a solver that is not offered
/// ```
/// use ml_classical::linear::RidgeSolver;
/// let error = "sag".parse::<RidgeSolver>().unwrap_err();
/// assert_eq!(error.to_string(), "parameter `solver` = sag is not offered; choose auto or cholesky");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ridge {
    alpha: f32,
    fit_intercept: bool,
    solver: RidgeSolver,
    positive: bool,
}

/// How ridge equations are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RidgeSolver {
    /// `"auto"`: the same as [`RidgeSolver::Cholesky`].
    #[default]
    Auto,
    /// `"cholesky"`: the normal equations by their Cholesky factor or, where that is not accurate, by eigenvectors.
    Cholesky,
}

impl RidgeSolver {
    /// The name that [`RidgeSolver::from_str`] takes.
    pub fn name(self) -> &'static str {
        match self {
            RidgeSolver::Auto => "auto",
            RidgeSolver::Cholesky => "cholesky",
        }
    }
}

impl FromStr for RidgeSolver {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "auto" => Ok(RidgeSolver::Auto),
            "cholesky" => Ok(RidgeSolver::Cholesky),
            "svd" | "lsqr" | "sparse_cg" | "sag" | "saga" | "lbfgs" => {
                let instead = "auto or cholesky".to_owned();
                Err(ParamError::NotOffered { name: "solver", value: s.to_owned(), instead }.into())
            }
            _ => Err(ParamError::out_of_bound("solver", "auto or cholesky", s).into()),
        }
    }
}

impl Default for Ridge {
    fn default() -> Self {
        Self::new()
    }
}

impl Ridge {
    /// A penalty of 1, with an intercept.
    pub fn new() -> Self {
        Ridge { alpha: 1.0, fit_intercept: true, solver: RidgeSolver::default(), positive: false }
    }

    /// Weight of the penalty: finite, at least 0. With 0 the fit is that of [`LinearRegression`]. Default 1.
    #[must_use]
    pub fn alpha(mut self, alpha: f32) -> Self {
        self.alpha = alpha;
        self
    }

    /// Whether a constant is added to the predictions. Default true.
    #[must_use]
    pub fn fit_intercept(mut self, fit_intercept: bool) -> Self {
        self.fit_intercept = fit_intercept;
        self
    }

    /// How the equations are solved. Default [`RidgeSolver::Auto`].
    #[must_use]
    pub fn solver(mut self, solver: RidgeSolver) -> Self {
        self.solver = solver;
        self
    }

    /// Whether coefficients must not be negative: not offered, so `true` is refused when a fit starts. Default false.
    #[must_use]
    pub fn positive(mut self, positive: bool) -> Self {
        self.positive = positive;
        self
    }

    pub(super) fn check(&self) -> Result<Plan> {
        let alpha = non_negative("alpha", self.alpha)?;
        not_positive(self.positive)?;
        Ok(Plan { alpha, fit_intercept: self.fit_intercept })
    }

    /// The parameters as a model file shows them.
    pub(super) fn to_json(&self, plan: &Plan) -> Value {
        json!({
            "alpha": plan.alpha,
            "fit_intercept": self.fit_intercept,
            "solver": self.solver.name(),
            "positive": self.positive,
        })
    }
}

fn not_positive(positive: bool) -> Result<()> {
    if positive {
        let (value, instead) = ("true".to_owned(), "false".to_owned());
        return Err(ParamError::NotOffered { name: "positive", value, instead }.into());
    }
    Ok(())
}

/// Checked parameters.
pub(super) struct Plan {
    pub alpha: f32,
    pub fit_intercept: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for name in ["auto", "cholesky"] {
            assert_eq!(name.parse::<RidgeSolver>().expect("offered").name(), name);
        }
    }

    #[test]
    fn what_is_not_offered_is_refused_by_name() {
        for name in ["svd", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"] {
            let error = name.parse::<RidgeSolver>().unwrap_err();
            assert!(matches!(error, Error::Param(ParamError::NotOffered { name: "solver", .. })), "{error}");
        }
        let error = "qr".parse::<RidgeSolver>().unwrap_err();
        assert!(matches!(error, Error::Param(ParamError::OutOfBound { name: "solver", .. })), "{error}");
    }
}
