//! Classical estimators over the primitives of `ml-kernels`.
//!
//! Each algorithm is written once, as host code that calls primitives on a [`Device`](ml_kernels::Device).
//!
//! **Invariant:** no estimator here knows which device it runs on; none mentions `cubecl`.

pub mod traits;

pub use traits::{Fit, FitTarget, Persist, Predict, Stop, Transform};
