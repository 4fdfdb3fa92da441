//! The six estimators: the same trees, other defaults.

use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, Result};
use ml_kernels::traits::{FitTarget, Persist, Predict};
use ml_kernels::{Context, Device};
use serde_json::Value;

use super::fit;
use super::model::{self, Classifier, OutOfBagClasses, OutOfBagNumbers, Regressor};
use super::params::{ClassCriterion, ClassWeight, Criterion, MaxFeatures, NumberCriterion, Params};
use crate::amount::Amount;
use crate::ensemble::Ensemble;

/// What all six have by default, but for what their own defaults change.
fn defaults(criterion: Criterion, max_features: MaxFeatures) -> Params {
    Params {
        n_estimators: 1,
        criterion,
        max_depth: None,
        min_samples_split: Amount::Number(2),
        min_samples_leaf: Amount::Number(1),
        min_weight_fraction_leaf: 0.0,
        max_features,
        max_leaf_nodes: None,
        min_impurity_decrease: 0.0,
        bootstrap: false,
        oob_score: false,
        max_samples: None,
        class_weight: ClassWeight::Even,
        ccp_alpha: 0.0,
        monotonic_cst: None,
        max_bins: 255,
        seed: 0,
        random_cuts: false,
    }
}

macro_rules! setters_of_trees {
    () => {
        /// Most splits on a path, at least 1. Default `None`: as many as there are.
        #[must_use]
        pub fn max_depth(mut self, max_depth: impl Into<Option<usize>>) -> Self {
            self.0.max_depth = max_depth.into();
            self
        }

        /// Fewest rows of a node that is split: a number from 2 on, or a part of all rows, rounded up. Default 2.
        #[must_use]
        pub fn min_samples_split(mut self, rows: impl Into<Amount>) -> Self {
            self.0.min_samples_split = rows.into();
            self
        }

        /// Fewest rows of a leaf: a number, or a part of all rows, rounded up. Default 1.
        #[must_use]
        pub fn min_samples_leaf(mut self, rows: impl Into<Amount>) -> Self {
            self.0.min_samples_leaf = rows.into();
            self
        }

        /// Least weight of a leaf, as a part of the weight of all rows: 0 to 0.5. Default 0.
        #[must_use]
        pub fn min_weight_fraction_leaf(mut self, part: f64) -> Self {
            self.0.min_weight_fraction_leaf = part;
            self
        }

        /// How many columns a node looks at. Default: all, the root of their number for forests of classes.
        #[must_use]
        pub fn max_features(mut self, max_features: impl Into<MaxFeatures>) -> Self {
            self.0.max_features = max_features.into();
            self
        }

        /// Most leaves, at least 2: the node that gains most is split next. Default `None`.
        #[must_use]
        pub fn max_leaf_nodes(mut self, leaves: impl Into<Option<usize>>) -> Self {
            self.0.max_leaf_nodes = leaves.into();
            self
        }

        /// Least decrease of impurity, as a mean over all rows of the tree, at which a node is split. Default 0.
        #[must_use]
        pub fn min_impurity_decrease(mut self, decrease: f64) -> Self {
            self.0.min_impurity_decrease = decrease;
            self
        }

        /// Splits are undone whose gain for each leaf that they add is at most this. Default 0: none are.
        #[must_use]
        pub fn ccp_alpha(mut self, alpha: f64) -> Self {
            self.0.ccp_alpha = alpha;
            self
        }

        /// For each column 1 if predictions must not fall as it grows, -1 if they must not rise, 0 for no constraint. Of
        /// classes, the probability of the second of two is meant. Default `None`.
        #[must_use]
        pub fn monotonic_cst(mut self, signs: impl Into<Option<Vec<i8>>>) -> Self {
            self.0.monotonic_cst = signs.into();
            self
        }

        /// Bins of a column that has more distinct values, 2 to 65,535; cuts lie between bins. scikit-learn has no such
        /// thing in these trees. Unused where cuts are random. Default 255.
        #[must_use]
        pub fn max_bins(mut self, bins: usize) -> Self {
            self.0.max_bins = bins;
            self
        }

        /// Every random choice is a function of this, the tree and the node. Default 0.
        #[must_use]
        pub fn seed(mut self, seed: u64) -> Self {
            self.0.seed = seed;
            self
        }
    };
}

macro_rules! setters_of_many {
    ($bootstrap:literal) => {
        /// Number of trees, 1 to 2^20. Default 100.
        #[must_use]
        pub fn n_estimators(mut self, trees: usize) -> Self {
            self.0.n_estimators = trees;
            self
        }

        #[doc = concat!("Whether each tree is grown on rows drawn with replacement. Default ", $bootstrap, ".")]
        #[must_use]
        pub fn bootstrap(mut self, bootstrap: bool) -> Self {
            self.0.bootstrap = bootstrap;
            self
        }

        /// Whether rows are predicted by the trees that did not draw them. Needs `bootstrap`. Default false.
        #[must_use]
        pub fn oob_score(mut self, oob_score: bool) -> Self {
            self.0.oob_score = oob_score;
            self
        }

        /// Rows drawn for each tree: a number, or a part of all rows, rounded. Needs `bootstrap`. Default `None`: all.
        #[must_use]
        pub fn max_samples(mut self, rows: impl Into<Amount>) -> Self {
            self.0.max_samples = Some(rows.into());
            self
        }
    };
}

/// What both kinds of models tell of themselves.
macro_rules! model_basics {
    () => {
        /// The trees. Their values are divided by the number of trees, so that scores are sums.
        pub fn ensemble(&self) -> &Ensemble {
            &self.0.ensemble
        }

        /// The parameters of the fit, as the model file shows them.
        pub fn params(&self) -> &Value {
            &self.0.params
        }

        /// Number of columns that predictions need.
        pub fn n_features_in(&self) -> usize {
            self.0.ensemble.features()
        }

        /// The part of all gains that each column's splits have: parts of each tree, averaged over the trees.
        pub fn feature_importances(&self) -> Vec<f64> {
            model::feature_importances(&self.0.ensemble)
        }
    };
}

macro_rules! classifier {
    ($name:ident, $model:ident, $kind:literal, $what:literal, $defaults:expr, { $($more:tt)* }, { $($out_of_bag:tt)* }) => {
        #[doc = concat!($what, " Parameters are checked when a fit starts.")]
        ///
        /// Names and defaults are scikit-learn's; `seed` stands for `random_state` and is 0 unless set, `max_bins` is added.
        /// Of its parameters, `n_jobs`, `verbose`, `warm_start` and `splitter` do not exist here.
        ///
        /// # Bit identity
        /// Trees, probabilities and predictions are the same bytes on every device and for any number of threads;
        /// `docs/contract.md`, clause `forests`, states each rule.
        ///
        /// # Example
        /// ```
        /// use ml_core::Matrix;
        /// use ml_kernels::Device;
        /// use ml_kernels::traits::{FitTarget, Predict};
        #[doc = concat!("use ml_trees::", stringify!($name), ";")]
        /// let device = Device::host();
        /// let x = Matrix::from_rows(&[[0.0], [1.0], [10.0], [11.0]])?;
        #[doc = concat!("let model = ", stringify!($name), "::new().fit(&x, &[7, 7, 3, 3], &device)?;")]
        /// assert_eq!(model.classes(), [3, 7]);
        /// assert_eq!(model.predict(&x, &device)?, [7, 7, 3, 3]);
        /// # Ok::<(), ml_core::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name(Params);

        impl Default for $name {
            fn default() -> Self {
                $name($defaults)
            }
        }

        impl $name {
            /// With default parameters.
            pub fn new() -> Self {
                Self::default()
            }

            /// What a split should gain. Default [`ClassCriterion::Gini`].
            #[must_use]
            pub fn criterion(mut self, criterion: ClassCriterion) -> Self {
                self.0.criterion = criterion.into();
                self
            }

            /// How much the rows of a class count. Default [`ClassWeight::Even`].
            #[must_use]
            pub fn class_weight(mut self, class_weight: ClassWeight) -> Self {
                self.0.class_weight = class_weight;
                self
            }

            setters_of_trees!();
            $($more)*

            /// Fits to rows that count as `sample_weight` says, one weight a row, at least 0 each; a row of weight 0 is
            /// left out.
            ///
            /// # Errors
            /// Those of [`FitTarget::fit_in`], and those of weights.
            pub fn fit_weighted_in(
                &self,
                x: &Matrix,
                labels: &[u32],
                sample_weight: &[f32],
                cx: &mut Context<'_>,
            ) -> Result<$model> {
                self.fit_any(x, labels, Some(sample_weight), cx)
            }

            fn fit_any(
                &self,
                x: &Matrix,
                labels: &[u32],
                sample_weight: Option<&[f32]>,
                cx: &mut Context<'_>,
            ) -> Result<$model> {
                let (names, of) = model::classes(labels, x.rows())?;
                let fitted = fit::classes(&self.0, x, of.clone(), &names, sample_weight, cx)?;
                Ok($model(Classifier::new(fitted, names, &of, self.0.to_json())?))
            }
        }

        impl FitTarget for $name {
            type Target = [u32];
            type Model = $model;

            /// Grows trees on the rows of `x` and their classes, which may be any numbers. Stages: `forest.trees.*`.
            /// Progress comes as `forest`, one step a batch of trees.
            fn fit_in(&self, x: &Matrix, labels: &[u32], cx: &mut Context<'_>) -> Result<$model> {
                self.fit_any(x, labels, None, cx)
            }
        }

        #[doc = concat!("Trees grown by [`", stringify!($name), "`].")]
        #[derive(Debug, Clone, PartialEq)]
        pub struct $model(Classifier);

        impl $model {
            model_basics!();

            /// The distinct labels, ascending: the columns of probabilities.
            pub fn classes(&self) -> &[u32] {
                &self.0.classes
            }

            $($out_of_bag)*

            /// The probability of each class for each row of `x`, the mean of the shares in its leaves: shape (rows,
            /// classes).
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`].
            pub fn predict_proba(&self, x: &Matrix, device: &Device) -> Result<Matrix> {
                self.0.predict_proba(x, &mut Context::new(device))
            }

            /// The share of the rows of `x` whose prediction is their label.
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`], and [`DataError::Shape`] unless there is one label a row.
            pub fn score(&self, x: &Matrix, labels: &[u32], device: &Device) -> Result<f64> {
                self.0.score(x, labels, device)
            }
        }

        impl Predict for $model {
            type Output = u32;

            /// The most probable class of each row, ties to the lowest. Stage: `forest.probabilities`.
            fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<u32>> {
                self.0.predict(x, cx)
            }
        }

        impl Persist for $model {
            const KIND: &'static str = $kind;

            /// Out-of-bag results are not saved.
            fn to_writer(&self) -> Result<ModelWriter> {
                Ok(self.0.to_writer(Self::KIND))
            }

            fn from_reader(file: &ModelReader) -> Result<Self> {
                Ok($model(Classifier::from_reader(file)?))
            }
        }
    };
}

macro_rules! regressor {
    ($name:ident, $model:ident, $kind:literal, $what:literal, $defaults:expr, { $($more:tt)* }, { $($out_of_bag:tt)* }) => {
        #[doc = concat!($what, " Parameters are checked when a fit starts.")]
        ///
        /// Names and defaults are scikit-learn's; `seed` stands for `random_state` and is 0 unless set, `max_bins` is added.
        /// Of its parameters, `n_jobs`, `verbose`, `warm_start` and `splitter` do not exist here, nor do several targets;
        /// the criteria `absolute_error` and `friedman_mse` are refused by name.
        ///
        /// # Bit identity
        /// Trees and predictions are the same bytes on every device and for any number of threads; `docs/contract.md`,
        /// clause `forests`, states each rule.
        ///
        /// # Example
        /// ```
        /// use ml_core::Matrix;
        /// use ml_kernels::Device;
        /// use ml_kernels::traits::{FitTarget, Predict};
        #[doc = concat!("use ml_trees::", stringify!($name), ";")]
        /// let device = Device::host();
        /// let x = Matrix::from_rows(&[[0.0], [1.0], [10.0], [11.0]])?;
        #[doc = concat!("let model = ", stringify!($name), "::new().fit(&x, &[1.0, 1.0, 5.0, 5.0], &device)?;")]
        /// let predicted = model.predict(&x, &device)?;
        /// assert!(predicted[0] < 3.0 && predicted[3] > 3.0);
        /// # Ok::<(), ml_core::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name(Params);

        impl Default for $name {
            fn default() -> Self {
                $name($defaults)
            }
        }

        impl $name {
            /// With default parameters.
            pub fn new() -> Self {
                Self::default()
            }

            /// What a split should gain. Default [`NumberCriterion::SquaredError`].
            #[must_use]
            pub fn criterion(mut self, criterion: NumberCriterion) -> Self {
                self.0.criterion = criterion.into();
                self
            }

            setters_of_trees!();
            $($more)*

            /// Fits to rows that count as `sample_weight` says, one weight a row, at least 0 each; a row of weight 0 is
            /// left out.
            ///
            /// # Errors
            /// Those of [`FitTarget::fit_in`], and those of weights.
            pub fn fit_weighted_in(
                &self,
                x: &Matrix,
                y: &[f32],
                sample_weight: &[f32],
                cx: &mut Context<'_>,
            ) -> Result<$model> {
                self.fit_any(x, y, Some(sample_weight), cx)
            }

            fn fit_any(
                &self,
                x: &Matrix,
                y: &[f32],
                sample_weight: Option<&[f32]>,
                cx: &mut Context<'_>,
            ) -> Result<$model> {
                if y.len() != x.rows() {
                    return Err(DataError::shape("y", format!("{} (one a row)", x.rows()), y.len()).into());
                }
                let fitted = fit::numbers(&self.0, x, y, sample_weight, cx)?;
                Ok($model(Regressor::new(fitted, y, self.0.to_json())))
            }
        }

        impl FitTarget for $name {
            type Target = [f32];
            type Model = $model;

            /// Grows trees on the rows of `x` and their targets. Stages: `forest.trees.*`. Progress comes as `forest`, one
            /// step a batch of trees.
            fn fit_in(&self, x: &Matrix, y: &[f32], cx: &mut Context<'_>) -> Result<$model> {
                self.fit_any(x, y, None, cx)
            }
        }

        #[doc = concat!("Trees grown by [`", stringify!($name), "`].")]
        #[derive(Debug, Clone, PartialEq)]
        pub struct $model(Regressor);

        impl $model {
            model_basics!();

            $($out_of_bag)*

            /// The coefficient of determination of the predictions for the rows of `x` and their targets `y`.
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`], and [`DataError::Shape`] unless there is one target a row.
            pub fn score(&self, x: &Matrix, y: &[f32], device: &Device) -> Result<f64> {
                self.0.score(x, y, device)
            }
        }

        impl Predict for $model {
            type Output = f32;

            /// The mean of what the trees predict for each row. Stage: `forest.predictions`.
            fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<f32>> {
                self.0.predict(x, cx)
            }
        }

        impl Persist for $model {
            const KIND: &'static str = $kind;

            /// Out-of-bag results are not saved.
            fn to_writer(&self) -> Result<ModelWriter> {
                Ok(self.0.to_writer(Self::KIND))
            }

            fn from_reader(file: &ModelReader) -> Result<Self> {
                Ok($model(Regressor::from_reader(file)?))
            }
        }
    };
}

macro_rules! out_of_bag {
    ($type:ty) => {
        /// What trees say of the rows that they did not draw, if the fit was asked.
        pub fn out_of_bag(&self) -> Option<&$type> {
            self.0.out_of_bag.as_ref()
        }
    };
}

classifier!(
    DecisionTreeClassifier,
    DecisionTreeClassifierModel,
    "DecisionTreeClassifier",
    "A decision tree for classes.",
    defaults(Criterion::Gini, MaxFeatures::All),
    {},
    {}
);

classifier!(
    RandomForestClassifier,
    RandomForestClassifierModel,
    "RandomForestClassifier",
    "Random forest for classes.",
    Params { n_estimators: 100, bootstrap: true, ..defaults(Criterion::Gini, MaxFeatures::Sqrt) },
    {
        setters_of_many!("true");
    },
    {
        out_of_bag!(OutOfBagClasses);
    }
);

classifier!(
    ExtraTreesClassifier,
    ExtraTreesClassifierModel,
    "ExtraTreesClassifier",
    "Extremely randomised trees for classes: cuts lie at random places.",
    Params { n_estimators: 100, random_cuts: true, ..defaults(Criterion::Gini, MaxFeatures::Sqrt) },
    {
        setters_of_many!("false");
    },
    {
        out_of_bag!(OutOfBagClasses);
    }
);

regressor!(
    DecisionTreeRegressor,
    DecisionTreeRegressorModel,
    "DecisionTreeRegressor",
    "A decision tree for numbers.",
    defaults(Criterion::SquaredError, MaxFeatures::All),
    {},
    {}
);

regressor!(
    RandomForestRegressor,
    RandomForestRegressorModel,
    "RandomForestRegressor",
    "Random forest for numbers.",
    Params { n_estimators: 100, bootstrap: true, ..defaults(Criterion::SquaredError, MaxFeatures::All) },
    {
        setters_of_many!("true");
    },
    {
        out_of_bag!(OutOfBagNumbers);
    }
);

regressor!(
    ExtraTreesRegressor,
    ExtraTreesRegressorModel,
    "ExtraTreesRegressor",
    "Extremely randomised trees for numbers: cuts lie at random places.",
    Params { n_estimators: 100, random_cuts: true, ..defaults(Criterion::SquaredError, MaxFeatures::All) },
    {
        setters_of_many!("false");
    },
    {
        out_of_bag!(OutOfBagNumbers);
    }
);
