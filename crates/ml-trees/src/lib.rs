//! Trees over the primitives of `ml-kernels`: models, growing, boosting, forests, explanations, other people's files.
//!
//! **Invariant:** no estimator here knows which device it runs on; none mentions `cubecl`.

mod amount;
pub mod binning;
pub mod boosting;
pub mod dataset;
mod double;
mod draw;
pub mod ensemble;
pub mod explain;
mod flat;
pub mod foreign;
pub mod forest;
pub mod grow;
pub mod isolation;
pub mod loss;
mod persist;
mod predict;
mod walk;

pub use amount::Amount;
pub use boosting::{
    BoostingType, Bootstrap, ClassWeights, GradientBoostingClassifier, GradientBoostingClassifierModel,
    GradientBoostingModel, GradientBoostingRegressor, LeafEstimation,
};
pub use dataset::Dataset;
pub use ensemble::{Aggregate, Arithmetic, Ensemble, Input, Node, Tree, View};
pub use explain::{Importance, TreeExplainer};
pub use forest::{
    DecisionTreeClassifier, DecisionTreeClassifierModel, DecisionTreeRegressor, DecisionTreeRegressorModel,
    ExtraTreesClassifier, ExtraTreesClassifierModel, ExtraTreesRegressor, ExtraTreesRegressorModel,
    RandomForestClassifier, RandomForestClassifierModel, RandomForestRegressor, RandomForestRegressorModel,
};
pub use grow::GrowPolicy;
pub use isolation::{IsolationForest, IsolationForestModel};
pub use loss::Loss;
pub use predict::Scorer;
