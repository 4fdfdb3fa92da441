//! Matrices, errors, parameter checking, model files, data readers, progress and the recorder trait.
//!
//! **Invariant:** this crate knows no device and no `cubecl`; everything above it depends on it, it depends on nobody.

pub mod canon;
pub mod check;
pub mod error;
pub mod files;
pub mod matrix;
pub mod model;
pub mod progress;
pub mod readers;
pub mod recorder;

pub use error::{DataError, DeviceError, Error, ModelError, ParamError, Result};
pub use matrix::{MatRef, Matrix};
pub use progress::{CancelToken, Progress, Step};
pub use recorder::{Dtype, NoRecorder, Recorder};

/// Name and version of the numeric contract that this build follows; the normative text is `docs/contract.md`.
pub const PROFILE: &str = "fp32/1";
