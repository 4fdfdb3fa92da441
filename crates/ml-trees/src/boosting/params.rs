//! Parameters of gradient boosting, and their check when a fit starts.

use ml_core::canon::canon;
use ml_core::check::{non_negative, usize_within};
use ml_core::{ParamError, Result};
use ml_kernels::trees::{Criterion, SplitRule};
use serde_json::{Value, json};

use crate::dataset::Dataset;
use crate::grow::{FeatureSampling, GrowPolicy, GrowRule};
use crate::loss::Loss;

/// Which rows a tree is grown on, and how much each counts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Bootstrap {
    /// All rows, as they are.
    #[default]
    No,
    /// Each row by itself with probability `subsample`.
    Bernoulli,
    /// Each row with a weight of (-ln u)^temperature, u uniform in (0, 1].
    Bayesian {
        /// 0 for equal weights, 1 for exponential ones; at least 0.
        temperature: f32,
    },
    /// Known to the field, not offered here.
    Poisson,
    /// Known to the field, not offered here.
    Mvs,
    /// Known to the field, not offered here.
    Goss,
}

impl Bootstrap {
    fn name(self) -> &'static str {
        match self {
            Bootstrap::No => "no",
            Bootstrap::Bernoulli => "bernoulli",
            Bootstrap::Bayesian { .. } => "bayesian",
            Bootstrap::Poisson => "poisson",
            Bootstrap::Mvs => "mvs",
            Bootstrap::Goss => "goss",
        }
    }
}

/// How gradients of a row are had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BoostingType {
    /// From the scores of all trees so far.
    #[default]
    Plain,
    /// From trees that did not see the row: known to the field, not offered here.
    Ordered,
    /// Trees left out at random: known to the field, not offered here.
    Dart,
}

/// How leaves are valued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeafEstimation {
    /// [`LeafEstimation::Exact`] for losses that have it, else [`LeafEstimation::Newton`].
    #[default]
    Auto,
    /// One Newton step.
    Newton,
    /// The best quantile of the residuals: MAE, Quantile, MAPE and LogLinQuantile.
    Exact,
    /// Known to the field, not offered here.
    Gradient,
}

/// What classes weigh.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeights {
    /// All the same.
    #[default]
    Equal,
    /// The sum of weights over the number of classes and the class's own sum of weights.
    Balanced,
    /// One weight a class, in ascending order of class.
    Given(Vec<f32>),
}

/// Parameters that every boosting estimator has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Params {
    pub loss: Loss,
    pub n_estimators: usize,
    pub learning_rate: f32,
    pub grow_policy: GrowPolicy,
    pub max_depth: usize,
    pub max_leaves: usize,
    pub max_bins: usize,
    pub min_child_weight: f32,
    pub min_child_samples: u32,
    pub min_split_gain: f32,
    pub l1: f32,
    pub l2: f32,
    pub bootstrap: Bootstrap,
    pub subsample: f32,
    pub features: FeatureSampling,
    pub monotone: Vec<i8>,
    pub interactions: Vec<Vec<u32>>,
    pub boosting_type: BoostingType,
    pub leaf_estimation: LeafEstimation,
    pub boost_from_average: bool,
    pub early_stopping_rounds: Option<usize>,
    pub seed: u64,
    pub class_weights: ClassWeights,
    pub max_one_hot: u32,
}

/// Parameters that were checked.
pub(crate) struct Plan {
    pub rule: GrowRule,
    /// Whether rows are counted in a channel of their own.
    pub count: bool,
    /// Whether leaves are quantiles.
    pub exact: bool,
}

impl Params {
    pub fn new(loss: Loss) -> Self {
        Params {
            loss,
            n_estimators: 100,
            learning_rate: 0.1,
            grow_policy: GrowPolicy::Depthwise,
            max_depth: 6,
            max_leaves: 0,
            max_bins: 256,
            min_child_weight: 1.0,
            min_child_samples: 1,
            min_split_gain: 0.0,
            l1: 0.0,
            l2: 1.0,
            bootstrap: Bootstrap::No,
            subsample: 1.0,
            features: FeatureSampling::default(),
            monotone: Vec::new(),
            interactions: Vec::new(),
            boosting_type: BoostingType::Plain,
            leaf_estimation: LeafEstimation::Auto,
            boost_from_average: true,
            early_stopping_rounds: None,
            seed: 0,
            class_weights: ClassWeights::Equal,
            max_one_hot: 4,
        }
    }

    /// The plan for `data`, whose rows have weights or not.
    pub fn check(&self, data: &Dataset, weighted: bool) -> Result<Plan> {
        let cols = data.cols();
        let refused = |name, value: &str, instead: &str| {
            let (value, instead) = (value.to_owned(), instead.to_owned());
            Err(ParamError::NotOffered { name, value, instead }.into())
        };
        self.loss.check()?;
        usize_within("n_estimators", self.n_estimators, 1, 1 << 20)?;
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0 && canon(self.learning_rate) != 0.0) {
            return Err(ParamError::out_of_bound("learning_rate", "within (0, 1]", self.learning_rate).into());
        }
        match self.boosting_type {
            BoostingType::Plain => {}
            BoostingType::Ordered => return refused("boosting_type", "ordered", "plain"),
            BoostingType::Dart => return refused("boosting_type", "dart", "plain"),
        }
        let offered = "no, bernoulli or bayesian";
        match self.bootstrap {
            Bootstrap::No if self.subsample != 1.0 => {
                let bound = "1 unless bootstrap = bernoulli";
                return Err(ParamError::out_of_bound("subsample", bound, self.subsample).into());
            }
            Bootstrap::Bayesian { .. } if self.subsample != 1.0 => {
                let bound = "1 unless bootstrap = bernoulli";
                return Err(ParamError::out_of_bound("subsample", bound, self.subsample).into());
            }
            Bootstrap::Bayesian { temperature } => {
                non_negative("temperature", temperature)?;
            }
            Bootstrap::No => {}
            Bootstrap::Bernoulli if self.subsample > 0.0 && self.subsample <= 1.0 => {}
            Bootstrap::Bernoulli => {
                return Err(ParamError::out_of_bound("subsample", "within (0, 1]", self.subsample).into());
            }
            Bootstrap::Poisson | Bootstrap::Mvs | Bootstrap::Goss => {
                return refused("bootstrap", self.bootstrap.name(), offered);
            }
        }
        let renews = crate::loss::Renewal::of(self.loss).is_some();
        let exact = match self.leaf_estimation {
            LeafEstimation::Auto => renews,
            LeafEstimation::Newton => false,
            LeafEstimation::Exact if renews => true,
            LeafEstimation::Exact => return refused("leaf_estimation", "exact", "newton for this loss"),
            LeafEstimation::Gradient => return refused("leaf_estimation", "gradient", "auto, newton or exact"),
        };
        if self.early_stopping_rounds == Some(0) {
            return Err(ParamError::out_of_bound("early_stopping_rounds", "at least 1", 0).into());
        }
        if !self.monotone.is_empty() && self.monotone.len() != cols {
            let bound = format!("one of -1, 0 and 1 for each of {cols} columns");
            return Err(ParamError::out_of_bound("monotone_constraints", bound, self.monotone.len()).into());
        }
        if let Some(m) = self.monotone.iter().find(|m| !(-1..=1).contains(*m)) {
            return Err(ParamError::out_of_bound("monotone_constraints", "-1, 0 or 1", m).into());
        }
        let monotone = self.monotone.iter().any(|m| *m != 0).then(|| self.monotone.clone().into());
        let categorical: Vec<bool> = (0..cols).map(|c| data.is_categorical(c)).collect();
        let (l1, l2) = (non_negative("l1", self.l1)?, non_negative("l2", self.l2)?);
        let mut least_weight = non_negative("min_child_weight", self.min_child_weight)?;
        let min_gain = non_negative("min_split_gain", self.min_split_gain)?;
        // Where every row counts 1, its number is its weight.
        let unit = self.loss.unit_curvature() && !weighted && !matches!(self.bootstrap, Bootstrap::Bayesian { .. });
        let mut count = false;
        if self.min_child_samples > 1 {
            if unit && self.min_child_samples < 1 << 24 {
                least_weight = least_weight.max(self.min_child_samples as f32);
            } else {
                count = true;
            }
        }
        let split = SplitRule {
            min_gain,
            min_child_weight: least_weight,
            min_samples_leaf: if count { self.min_child_samples } else { 1 },
            counted: count,
            monotone,
            categorical: categorical.contains(&true).then(|| categorical.into()),
            max_one_hot: self.max_one_hot,
            ..SplitRule::new(Criterion::Newton { l1, l2 })
        };
        let rule = GrowRule {
            policy: self.grow_policy,
            max_depth: self.max_depth,
            max_leaves: self.max_leaves,
            split,
            features: self.features,
            interactions: self.interactions.clone(),
        };
        rule.check(cols)?;
        Ok(Plan { rule, count, exact })
    }

    /// The parameters as a model file shows them.
    pub fn to_json(&self) -> Value {
        let temperature = match self.bootstrap {
            Bootstrap::Bayesian { temperature } => Some(temperature),
            _ => None,
        };
        let class_weights = match &self.class_weights {
            ClassWeights::Equal => json!("equal"),
            ClassWeights::Balanced => json!("balanced"),
            ClassWeights::Given(w) => json!(w),
        };
        json!({
            "loss": self.loss.to_json(),
            "n_estimators": self.n_estimators,
            "learning_rate": self.learning_rate,
            "grow_policy": self.grow_policy.name(),
            "max_depth": self.max_depth,
            "max_leaves": self.max_leaves,
            "max_bins": self.max_bins,
            "min_child_weight": self.min_child_weight,
            "min_child_samples": self.min_child_samples,
            "min_split_gain": self.min_split_gain,
            "l1": self.l1,
            "l2": self.l2,
            "bootstrap": self.bootstrap.name(),
            "temperature": temperature,
            "subsample": self.subsample,
            "colsample_bytree": self.features.by_tree,
            "colsample_bylevel": self.features.by_level,
            "colsample_bynode": self.features.by_node,
            "monotone_constraints": self.monotone,
            "interaction_constraints": self.interactions,
            "boost_from_average": self.boost_from_average,
            "early_stopping_rounds": self.early_stopping_rounds,
            "seed": self.seed,
            "class_weights": class_weights,
            "max_one_hot": self.max_one_hot,
        })
    }
}

/// Builder methods that both estimators have.
macro_rules! builders {
    ($estimator:ident) => {
        impl $estimator {
            /// Trees an output, at least 1. Default 100.
            #[must_use]
            pub fn n_estimators(mut self, n_estimators: usize) -> Self {
                self.params.n_estimators = n_estimators;
                self
            }

            /// What each leaf value is multiplied by, in (0, 1]. Default 0.1.
            #[must_use]
            pub fn learning_rate(mut self, learning_rate: f32) -> Self {
                self.params.learning_rate = learning_rate;
                self
            }

            /// Which node is parted next. Default depthwise.
            #[must_use]
            pub fn grow_policy(mut self, grow_policy: GrowPolicy) -> Self {
                self.params.grow_policy = grow_policy;
                self
            }

            /// Most splits between the root and a leaf; 0 for no bound, which symmetric trees refuse. Default 6.
            #[must_use]
            pub fn max_depth(mut self, max_depth: usize) -> Self {
                self.params.max_depth = max_depth;
                self
            }

            /// Most leaves of a tree; 0 for no bound, the default.
            #[must_use]
            pub fn max_leaves(mut self, max_leaves: usize) -> Self {
                self.params.max_leaves = max_leaves;
                self
            }

            /// Most bins of a column, the one of missing values among them, from 4 to 65,536. Default 256.
            #[must_use]
            pub fn max_bins(mut self, max_bins: usize) -> Self {
                self.params.max_bins = max_bins;
                self
            }

            /// Least sum of second derivatives in a child. Default 1.
            #[must_use]
            pub fn min_child_weight(mut self, min_child_weight: f32) -> Self {
                self.params.min_child_weight = min_child_weight;
                self
            }

            /// Least number of rows in a child. Default 1.
            #[must_use]
            pub fn min_child_samples(mut self, min_child_samples: u32) -> Self {
                self.params.min_child_samples = min_child_samples;
                self
            }

            /// What a split must gain more than. Default 0.
            #[must_use]
            pub fn min_split_gain(mut self, min_split_gain: f32) -> Self {
                self.params.min_split_gain = min_split_gain;
                self
            }

            /// Penalty on the size of leaf values. Default 0.
            #[must_use]
            pub fn l1(mut self, l1: f32) -> Self {
                self.params.l1 = l1;
                self
            }

            /// Penalty on the squared size of leaf values. Default 1.
            #[must_use]
            pub fn l2(mut self, l2: f32) -> Self {
                self.params.l2 = l2;
                self
            }

            /// Which rows a tree is grown on, and how much each counts. Default all, as they are.
            #[must_use]
            pub fn bootstrap(mut self, bootstrap: Bootstrap) -> Self {
                self.params.bootstrap = bootstrap;
                self
            }

            /// The part of the rows that [`Bootstrap::Bernoulli`] keeps, in (0, 1]. Default 1.
            #[must_use]
            pub fn subsample(mut self, subsample: f32) -> Self {
                self.params.subsample = subsample;
                self
            }

            /// The part of the columns drawn for each tree, in (0, 1]. Default 1.
            #[must_use]
            pub fn colsample_bytree(mut self, part: f32) -> Self {
                self.params.features.by_tree = part;
                self
            }

            /// The part of the tree's columns drawn for each level, in (0, 1]. Default 1.
            #[must_use]
            pub fn colsample_bylevel(mut self, part: f32) -> Self {
                self.params.features.by_level = part;
                self
            }

            /// The part of the level's columns drawn for each node, in (0, 1]. Default 1.
            #[must_use]
            pub fn colsample_bynode(mut self, part: f32) -> Self {
                self.params.features.by_node = part;
                self
            }

            /// For each column 1 where scores must not fall with it, -1 where they must not rise, 0 where nothing is asked.
            /// Default nothing.
            #[must_use]
            pub fn monotone_constraints(mut self, monotone: Vec<i8>) -> Self {
                self.params.monotone = monotone;
                self
            }

            /// Sets of columns that may meet on a path from root to leaf; columns of no set form one more. Default all.
            #[must_use]
            pub fn interaction_constraints(mut self, sets: Vec<Vec<u32>>) -> Self {
                self.params.interactions = sets;
                self
            }

            /// How gradients of a row are had; only [`BoostingType::Plain`] is offered.
            #[must_use]
            pub fn boosting_type(mut self, boosting_type: BoostingType) -> Self {
                self.params.boosting_type = boosting_type;
                self
            }

            /// How leaves are valued. Default as the loss has it.
            #[must_use]
            pub fn leaf_estimation(mut self, leaf_estimation: LeafEstimation) -> Self {
                self.params.leaf_estimation = leaf_estimation;
                self
            }

            /// Whether scores start from the loss's best constant instead of 0. Default true.
            #[must_use]
            pub fn boost_from_average(mut self, boost_from_average: bool) -> Self {
                self.params.boost_from_average = boost_from_average;
                self
            }

            /// Stops when the evaluation rows have not been better for this many iterations, and keeps the trees up to the
            /// best one. Needs evaluation rows. Default never.
            #[must_use]
            pub fn early_stopping_rounds(mut self, rounds: Option<usize>) -> Self {
                self.params.early_stopping_rounds = rounds;
                self
            }

            /// Most categories of a column whose splits name one category each; splits of a column with more name sets. Default
            /// 4.
            #[must_use]
            pub fn max_one_hot(mut self, max_one_hot: u32) -> Self {
                self.params.max_one_hot = max_one_hot;
                self
            }

            /// Seed of everything that is drawn. Default 0.
            #[must_use]
            pub fn seed(mut self, seed: u64) -> Self {
                self.params.seed = seed;
                self
            }
        }
    };
}
pub(crate) use builders;
