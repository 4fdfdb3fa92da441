//! Machine learning whose training and prediction give the same bytes on every device.
//!
//! ```
//! use isobit::prelude::*;
//!
//! let device = Device::host(); // or "cuda:0".parse()?, "vulkan:0".parse()?: the bytes below stay the same
//! let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.0], [9.0, 9.1], [9.2, 9.0]])?;
//! let model = KMeans::new(2).seed(42).fit(&x, &device)?;
//! assert_eq!(model.labels()[0], model.labels()[1]);
//! assert_ne!(model.labels()[0], model.labels()[2]);
//! # Ok::<(), isobit::Error>(())
//! ```
//!
//! # Bit identity
//! Every result follows from the data, the parameters and the numeric contract (`docs/contract.md`); the device, the
//! number of threads and the Cargo features change none of its bits.

#[doc(no_inline)]
pub use ml_classical as classical;
#[doc(no_inline)]
pub use ml_core as core;
#[doc(no_inline)]
pub use ml_kernels as kernels;
#[doc(no_inline)]
pub use ml_trees as trees;

pub use ml_core::{Error, PROFILE, Result};

/// The traits and types that every program uses.
pub mod prelude {
    #[doc(no_inline)]
    pub use ml_classical::prelude::*;
    #[doc(no_inline)]
    pub use ml_core::{CancelToken, Error, Matrix, Progress, Recorder, Result, Step};
    #[doc(no_inline)]
    pub use ml_kernels::{Context, Device};
    #[doc(no_inline)]
    pub use ml_trees::{
        Dataset, Ensemble, GradientBoostingClassifier, GradientBoostingClassifierModel, GradientBoostingModel,
        GradientBoostingRegressor, GrowPolicy, Loss,
    };
}

/// The README's example, compiled and run with the documentation's own.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
