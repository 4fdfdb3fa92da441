//! Decision trees, random forests and extremely randomised trees.
//!
//! In the terms of `docs/contract.md`, clause `forests`: weights and targets become integers once a fit, every sum is an
//! exact integer, and floats, in double precision on the host, appear only where a split is weighed and a leaf valued.
//! Trees grow on the host, one a thread, whatever the device; each is a function of the data, the parameters, the seed and
//! its own number.
//!
//! L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and regression trees", Wadsworth (1984); L. Breiman, "Random
//! forests", Machine Learning 45 (2001); P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63
//! (2006).

mod estimators;
mod fit;
mod grow;
mod model;
mod params;
mod prune;
mod split;
mod table;
mod target;

pub use estimators::{
    DecisionTreeClassifier, DecisionTreeClassifierModel, DecisionTreeRegressor, DecisionTreeRegressorModel,
    ExtraTreesClassifier, ExtraTreesClassifierModel, ExtraTreesRegressor, ExtraTreesRegressorModel,
    RandomForestClassifier, RandomForestClassifierModel, RandomForestRegressor, RandomForestRegressorModel,
};
pub use model::{OutOfBagClasses, OutOfBagNumbers};
pub use params::{ClassCriterion, ClassWeight, MaxFeatures, NumberCriterion};

#[cfg(test)]
mod tests;
