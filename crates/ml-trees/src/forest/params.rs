//! Parameters of trees and forests, and their check when a fit starts.

use std::str::FromStr;

use ml_core::check::{not_empty, usize_within};
use ml_core::{DataError, Error, Matrix, ParamError, Result};
use serde_json::{Value, json};

use crate::amount::{Amount, fraction};

/// Most trees: the tree is a random stream's number.
const MAX_TREES: usize = 1 << 20;

/// Bins of a column may not outnumber what two bytes count.
const MAX_BINS: usize = 65_535;

/// What a split of classes should gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClassCriterion {
    /// `"gini"`: the chance that two rows drawn from a node differ in class.
    #[default]
    Gini,
    /// `"entropy"`, also called `"log_loss"`: the bits that a row's class needs.
    Entropy,
}

impl ClassCriterion {
    /// The name that [`ClassCriterion::from_str`] takes.
    pub fn name(self) -> &'static str {
        match self {
            ClassCriterion::Gini => "gini",
            ClassCriterion::Entropy => "entropy",
        }
    }
}

impl FromStr for ClassCriterion {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "gini" => Ok(ClassCriterion::Gini),
            "entropy" | "log_loss" => Ok(ClassCriterion::Entropy),
            _ => Err(ParamError::out_of_bound("criterion", "gini, entropy or log_loss", s).into()),
        }
    }
}

/// What a split of numbers should gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberCriterion {
    /// `"squared_error"`: the variance.
    #[default]
    SquaredError,
    /// `"poisson"`: half the Poisson deviance; targets are at least 0 and not all 0.
    Poisson,
}

impl NumberCriterion {
    /// The name that [`NumberCriterion::from_str`] takes.
    pub fn name(self) -> &'static str {
        match self {
            NumberCriterion::SquaredError => "squared_error",
            NumberCriterion::Poisson => "poisson",
        }
    }
}

impl FromStr for NumberCriterion {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "squared_error" => Ok(NumberCriterion::SquaredError),
            "poisson" => Ok(NumberCriterion::Poisson),
            "absolute_error" | "friedman_mse" => {
                let instead = "squared_error or poisson".to_owned();
                Err(ParamError::NotOffered { name: "criterion", value: s.to_owned(), instead }.into())
            }
            _ => Err(ParamError::out_of_bound("criterion", "squared_error or poisson", s).into()),
        }
    }
}

/// How many columns a node looks at. More are looked at where none of them splits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxFeatures {
    /// All.
    All,
    /// `"sqrt"`: the root of their number, rounded down.
    Sqrt,
    /// `"log2"`: the binary logarithm of their number, rounded down.
    Log2,
    /// A number, or a part of all rounded down.
    Of(Amount),
}

impl<T: Into<Amount>> From<T> for MaxFeatures {
    fn from(amount: T) -> Self {
        MaxFeatures::Of(amount.into())
    }
}

impl FromStr for MaxFeatures {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "sqrt" => Ok(MaxFeatures::Sqrt),
            "log2" => Ok(MaxFeatures::Log2),
            _ => Err(ParamError::out_of_bound("max_features", "sqrt, log2, a number or a fraction", s).into()),
        }
    }
}

/// How much the rows of a class count.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeight {
    /// All the same.
    #[default]
    Even,
    /// `"balanced"`: rows / (classes * rows of the class).
    Balanced,
    /// `"balanced_subsample"`: the same, counted among the rows drawn for each tree.
    BalancedSubsample,
    /// These weights; classes not named have 1.
    Of(Vec<(u32, f64)>),
}

/// What a split should gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Criterion {
    Gini,
    Entropy,
    SquaredError,
    Poisson,
}

impl Criterion {
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Gini => "gini",
            Criterion::Entropy => "entropy",
            Criterion::SquaredError => "squared_error",
            Criterion::Poisson => "poisson",
        }
    }
}

impl From<ClassCriterion> for Criterion {
    fn from(criterion: ClassCriterion) -> Self {
        match criterion {
            ClassCriterion::Gini => Criterion::Gini,
            ClassCriterion::Entropy => Criterion::Entropy,
        }
    }
}

impl From<NumberCriterion> for Criterion {
    fn from(criterion: NumberCriterion) -> Self {
        match criterion {
            NumberCriterion::SquaredError => Criterion::SquaredError,
            NumberCriterion::Poisson => Criterion::Poisson,
        }
    }
}

/// The parameters, unchecked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Params {
    pub n_estimators: usize,
    pub criterion: Criterion,
    pub max_depth: Option<usize>,
    pub min_samples_split: Amount,
    pub min_samples_leaf: Amount,
    pub min_weight_fraction_leaf: f64,
    pub max_features: MaxFeatures,
    pub max_leaf_nodes: Option<usize>,
    pub min_impurity_decrease: f64,
    pub bootstrap: bool,
    pub oob_score: bool,
    pub max_samples: Option<Amount>,
    pub class_weight: ClassWeight,
    pub ccp_alpha: f64,
    pub monotonic_cst: Option<Vec<i8>>,
    pub max_bins: usize,
    pub seed: u64,
    /// Cuts at random places: extremely randomised trees.
    pub random_cuts: bool,
}

/// Parameters that were checked against the data.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub n_estimators: usize,
    pub criterion: Criterion,
    pub max_depth: usize,
    pub min_samples_split: usize,
    pub min_samples_leaf: usize,
    pub min_weight_fraction_leaf: f64,
    pub max_features: usize,
    pub max_leaf_nodes: Option<usize>,
    pub min_impurity_decrease: f64,
    /// Rows drawn for a tree; none for all rows once each.
    pub draws: Option<u32>,
    pub oob_score: bool,
    pub ccp_alpha: f64,
    pub monotonic_cst: Option<Vec<i8>>,
    pub max_bins: usize,
    pub seed: u64,
    pub random_cuts: bool,
}

impl Params {
    /// The parameters as far as they can be used with `x`.
    pub fn check(&self, x: &Matrix) -> Result<Plan> {
        usize_within("n_estimators", self.n_estimators, 1, MAX_TREES)?;
        not_empty("x", x.view())?;
        let (n, d) = (x.rows(), x.cols());
        if n > i32::MAX as usize || d >= u32::MAX as usize {
            let (elements, limit) = (n.max(d) as u128, i32::MAX as u128);
            return Err(DataError::TooLarge { what: "x", elements, limit }.into());
        }
        usize_within("max_bins", self.max_bins, 2, MAX_BINS)?;
        let max_depth = match self.max_depth {
            Some(depth) => usize_within("max_depth", depth, 1, usize::MAX)?,
            None => usize::MAX,
        };
        let least = |name, amount, least: usize| -> Result<usize> {
            match amount {
                Amount::Number(number) => usize_within(name, number, least, usize::MAX),
                Amount::Fraction(part) => {
                    let rows = fraction(name, part)? * n as f64;
                    Ok((rows.ceil() as usize).max(least))
                }
            }
        };
        let within = |name, value: f64, most: f64| -> Result<f64> {
            if value >= 0.0 && value <= most {
                return Ok(value);
            }
            let bound = if most.is_finite() { format!("at least 0 and at most {most}") } else { "at least 0".into() };
            Err(ParamError::out_of_bound(name, bound, value).into())
        };
        let log2 = usize::BITS - d.leading_zeros() - 1;
        let max_features = match self.max_features {
            MaxFeatures::All => d,
            MaxFeatures::Sqrt => d.isqrt(),
            MaxFeatures::Log2 => (log2 as usize).max(1),
            MaxFeatures::Of(amount) => {
                let number = amount.of("max_features", d)?;
                if number > d {
                    let bound = format!("at most the number of columns, {d}");
                    return Err(ParamError::out_of_bound("max_features", bound, number).into());
                }
                number
            }
        };
        if let Some(leaves) = self.max_leaf_nodes {
            usize_within("max_leaf_nodes", leaves, 2, usize::MAX)?;
        }
        if let Some(signs) = &self.monotonic_cst {
            if signs.len() != d {
                return Err(DataError::shape("monotonic_cst", format!("{d} (one a column)"), signs.len()).into());
            }
            if let Some(sign) = signs.iter().find(|s| !(-1..=1).contains(*s)) {
                return Err(ParamError::out_of_bound("monotonic_cst", "-1, 0 or 1", sign).into());
            }
        }
        let draws = match (self.bootstrap, self.max_samples) {
            (false, None) => None,
            (false, Some(_)) => {
                return Err(ParamError::out_of_bound("max_samples", "unset without bootstrap", "a value").into());
            }
            (true, None) => Some(n as u32),
            (true, Some(Amount::Number(rows))) => Some(usize_within("max_samples", rows, 1, n)? as u32),
            (true, Some(Amount::Fraction(part))) => {
                Some((fraction("max_samples", part)? * n as f64).round_ties_even().max(1.0) as u32)
            }
        };
        if self.oob_score && !self.bootstrap {
            return Err(ParamError::out_of_bound("oob_score", "false without bootstrap", true).into());
        }
        if self.class_weight == ClassWeight::BalancedSubsample && !self.bootstrap {
            let bound = "balanced without bootstrap";
            return Err(ParamError::out_of_bound("class_weight", bound, "balanced_subsample").into());
        }
        Ok(Plan {
            n_estimators: self.n_estimators,
            criterion: self.criterion,
            max_depth,
            min_samples_split: least("min_samples_split", self.min_samples_split, 2)?,
            min_samples_leaf: least("min_samples_leaf", self.min_samples_leaf, 1)?,
            min_weight_fraction_leaf: within("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0.5)?,
            max_features,
            max_leaf_nodes: self.max_leaf_nodes,
            min_impurity_decrease: within("min_impurity_decrease", self.min_impurity_decrease, f64::INFINITY)?,
            draws,
            oob_score: self.oob_score,
            ccp_alpha: within("ccp_alpha", self.ccp_alpha, f64::INFINITY)?,
            monotonic_cst: self.monotonic_cst.clone().filter(|signs| signs.iter().any(|s| *s != 0)),
            max_bins: self.max_bins,
            seed: self.seed,
            random_cuts: self.random_cuts,
        })
    }

    /// The parameters as a model file shows them.
    pub fn to_json(&self) -> Value {
        let amount = |a: Amount| match a {
            Amount::Number(n) => json!(n),
            Amount::Fraction(f) => json!(f),
        };
        json!({
            "n_estimators": self.n_estimators,
            "criterion": self.criterion.name(),
            "max_depth": self.max_depth,
            "min_samples_split": amount(self.min_samples_split),
            "min_samples_leaf": amount(self.min_samples_leaf),
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
            "max_features": match self.max_features {
                MaxFeatures::All => json!("all"),
                MaxFeatures::Sqrt => json!("sqrt"),
                MaxFeatures::Log2 => json!("log2"),
                MaxFeatures::Of(a) => amount(a),
            },
            "max_leaf_nodes": self.max_leaf_nodes,
            "min_impurity_decrease": self.min_impurity_decrease,
            "bootstrap": self.bootstrap,
            "max_samples": self.max_samples.map(amount),
            "class_weight": match &self.class_weight {
                ClassWeight::Even => json!(null),
                ClassWeight::Balanced => json!("balanced"),
                ClassWeight::BalancedSubsample => json!("balanced_subsample"),
                ClassWeight::Of(pairs) => json!(pairs),
            },
            "ccp_alpha": self.ccp_alpha,
            "monotonic_cst": self.monotonic_cst,
            "max_bins": self.max_bins,
            "seed": self.seed,
        })
    }
}
