//! Trees over the primitives of `ml-kernels`: models, growing, boosting, forests, explanations, other people's files.
//!
//! **Invariant:** no estimator here knows which device it runs on; none mentions `cubecl`.

pub mod ensemble;

pub use ensemble::{Arithmetic, Ensemble, Node, Tree};
