//! Gradient boosting of trees.
//!
//! What a fit does, in the terms of `docs/contract.md`: bins from exact quantiles (`binning`), then for each iteration the
//! first and second derivatives of the loss at the raw scores (`loss`), for each output made integers and grown a tree on
//! (`grow`); a leaf's value is -S(G, l1) / (H + l2) times the learning rate, in binary64 from the exact sums, rounded once to
//! binary32, and `score ⊕ value` is the row's new score. All outputs of an iteration see the scores before it.
//!
//! J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001; T. Chen and
//! C. Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016; G. Ke et al., "LightGBM: a highly efficient gradient
//! boosting decision tree", NIPS 2017.

mod classifier;
mod files;
mod model;
mod params;
mod regressor;
mod train;

pub use classifier::{GradientBoostingClassifier, GradientBoostingClassifierModel};
pub use params::{BoostingType, Bootstrap, ClassWeights, LeafEstimation};
pub use regressor::{GradientBoostingModel, GradientBoostingRegressor};
pub use train::Objective;
