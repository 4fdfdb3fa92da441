//! Classical estimators over the primitives of `ml-kernels`.
//!
//! Each algorithm is written once, as host code that calls primitives on a [`Device`](ml_kernels::Device).
//!
//! **Invariant:** no estimator here knows which device it runs on; none mentions `cubecl`.

mod finite;
pub mod kmeans;
pub mod linear;
pub mod neighbors;
pub mod pca;
mod record;
pub use ml_kernels::traits;

pub use kmeans::{KMeans, KMeansModel};
pub use linear::{LinearRegression, LinearRegressionModel, Ridge, RidgeModel};
pub use neighbors::{
    KNeighborsClassifier, KNeighborsClassifierModel, KNeighborsRegressor, KNeighborsRegressorModel, Weights,
};
pub use pca::{Pca, PcaModel};
pub use traits::{Fit, FitTarget, Persist, Predict, Stop, Transform};

/// The traits, without which no estimator fits or predicts, and every estimator.
pub mod prelude {
    #[doc(no_inline)]
    pub use crate::kmeans::{KMeans, KMeansModel};
    #[doc(no_inline)]
    pub use crate::linear::{LinearRegression, LinearRegressionModel, Ridge, RidgeModel};
    #[doc(no_inline)]
    pub use crate::neighbors::{
        KNeighborsClassifier, KNeighborsClassifierModel, KNeighborsRegressor, KNeighborsRegressorModel, Weights,
    };
    #[doc(no_inline)]
    pub use crate::pca::{Pca, PcaModel};
    #[doc(no_inline)]
    pub use crate::traits::{Fit, FitTarget, Persist, Predict, Stop, Transform};
}
