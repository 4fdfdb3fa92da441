//! Parameters of the isolation forest, and their check when a fit starts.

use ml_core::check::{not_empty, usize_within};
use ml_core::{Matrix, ParamError, Result};
use serde_json::{Value, json};

use crate::amount::{Amount, fraction};

/// Most trees: the tree is a random stream's number.
pub(crate) const MAX_TREES: usize = 1 << 20;

/// Isolation forest. Parameters are checked when a fit starts.
///
/// Names and defaults are scikit-learn's; `seed` stands for `random_state` and is 0 unless set. Of its parameters, `n_jobs`,
/// `verbose`, `warm_start` and sample weights do not exist here. With `bootstrap`, a row drawn twice counts twice.
///
/// # Bit identity
/// Trees, scores and predictions are the same bytes on every device; `docs/contract.md`, clause `isolation`, states each
/// rule.
///
/// # Example
/// ```
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// use ml_kernels::traits::{Fit, Predict};
/// use ml_trees::IsolationForest;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[1.0], [1.1], [0.9], [1.2], [0.8], [9.0]])?;
/// let forest = IsolationForest::new().seed(1).fit(&x, &device)?;
/// let scores = forest.score_samples(&x, &device)?;
/// assert!(scores[..5].iter().all(|s| *s > scores[5]));
/// assert_eq!(forest.predict(&x, &device)?[5], -1);
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct IsolationForest {
    n_estimators: usize,
    max_samples: MaxSamples,
    contamination: Contamination,
    max_features: Amount,
    bootstrap: bool,
    seed: u64,
}

/// Rows that a tree is grown on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum MaxSamples {
    /// 256, or all if there are fewer.
    #[default]
    Auto,
    /// This many; a number above the number of rows stands for all of them.
    Of(Amount),
}

impl<T: Into<Amount>> From<T> for MaxSamples {
    fn from(amount: T) -> Self {
        MaxSamples::Of(amount.into())
    }
}

/// The part of the rows that is taken for odd.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Contamination {
    /// Rows whose score is below -0.5.
    #[default]
    Auto,
    /// This part of the fit's rows, above 0 and at most 0.5.
    Part(f64),
}

impl From<f64> for Contamination {
    fn from(part: f64) -> Self {
        Contamination::Part(part)
    }
}

impl Default for IsolationForest {
    fn default() -> Self {
        IsolationForest {
            n_estimators: 100,
            max_samples: MaxSamples::Auto,
            contamination: Contamination::Auto,
            max_features: Amount::Fraction(1.0),
            bootstrap: false,
            seed: 0,
        }
    }
}

/// Parameters that were checked against the data.
pub(super) struct Plan {
    pub n_estimators: usize,
    pub max_samples: usize,
    pub max_features: usize,
    pub contamination: Option<f64>,
    pub bootstrap: bool,
    pub seed: u64,
}

impl IsolationForest {
    /// One hundred trees of 256 rows each.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of trees, 1 to 2^20. Default 100.
    #[must_use]
    pub fn n_estimators(mut self, n_estimators: usize) -> Self {
        self.n_estimators = n_estimators;
        self
    }

    /// Rows that each tree is grown on: a number, or a part of all rows. Default [`MaxSamples::Auto`].
    #[must_use]
    pub fn max_samples(mut self, max_samples: impl Into<MaxSamples>) -> Self {
        self.max_samples = max_samples.into();
        self
    }

    /// The part of the rows that is taken for odd; a number makes [`IsolationForestModel::offset`](super::IsolationForestModel::offset)
    /// that quantile of the fit's scores. Default [`Contamination::Auto`].
    #[must_use]
    pub fn contamination(mut self, contamination: impl Into<Contamination>) -> Self {
        self.contamination = contamination.into();
        self
    }

    /// Columns that each tree may cut: a number up to all, or a part of them. Default all.
    #[must_use]
    pub fn max_features(mut self, max_features: impl Into<Amount>) -> Self {
        self.max_features = max_features.into();
        self
    }

    /// Whether the rows of a tree are drawn with replacement. Default false.
    #[must_use]
    pub fn bootstrap(mut self, bootstrap: bool) -> Self {
        self.bootstrap = bootstrap;
        self
    }

    /// Every random choice is a function of this and of the tree. Default 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The parameters as far as they can be used with `x`.
    pub(super) fn check(&self, x: &Matrix) -> Result<Plan> {
        usize_within("n_estimators", self.n_estimators, 1, MAX_TREES)?;
        not_empty("x", x.view())?;
        usize_within("rows of x", x.rows(), 1, u32::MAX as usize)?;
        usize_within("columns of x", x.cols(), 1, u32::MAX as usize - 1)?;
        let max_samples = match self.max_samples {
            MaxSamples::Auto => 256,
            MaxSamples::Of(Amount::Fraction(part)) => {
                // scikit-learn refuses a part that is no row.
                let rows = (fraction("max_samples", part)? * x.rows() as f64) as usize;
                usize_within("max_samples", rows, 1, x.rows())?
            }
            MaxSamples::Of(amount) => amount.of("max_samples", x.rows())?,
        };
        let max_features = self.max_features.of("max_features", x.cols())?;
        if max_features > x.cols() {
            let bound = format!("at most the number of columns, {}", x.cols());
            return Err(ParamError::out_of_bound("max_features", bound, max_features).into());
        }
        let contamination = match self.contamination {
            Contamination::Auto => None,
            Contamination::Part(part) if part > 0.0 && part <= 0.5 => Some(part),
            Contamination::Part(part) => {
                return Err(ParamError::out_of_bound("contamination", "above 0 and at most 0.5", part).into());
            }
        };
        Ok(Plan {
            n_estimators: self.n_estimators,
            max_samples: max_samples.min(x.rows()),
            max_features,
            contamination,
            bootstrap: self.bootstrap,
            seed: self.seed,
        })
    }

    /// The parameters as a model file shows them.
    pub(super) fn to_json(&self) -> Value {
        let amount = |a: Amount| match a {
            Amount::Number(n) => json!(n),
            Amount::Fraction(f) => json!(f),
        };
        json!({
            "n_estimators": self.n_estimators,
            "max_samples": match self.max_samples {
                MaxSamples::Auto => json!("auto"),
                MaxSamples::Of(a) => amount(a),
            },
            "contamination": match self.contamination {
                Contamination::Auto => json!("auto"),
                Contamination::Part(part) => json!(part),
            },
            "max_features": amount(self.max_features),
            "bootstrap": self.bootstrap,
            "seed": self.seed,
        })
    }
}
