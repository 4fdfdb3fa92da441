//! Tree models of other libraries: read, predicted with their own arithmetic, and written where nothing is lost. ! ! |
//format | functions | raw score | ! |---|---|---| ! | XGBoost JSON and UBJSON | [`xgboost::from_bytes`],
//[`xgboost::to_json`] | binary32, the base first, then trees in order | ! | LightGBM text | [`lightgbm::from_bytes`],
//[`lightgbm::to_text`] | binary64, trees in order | ! | CatBoost JSON | [`catboost::from_bytes`] | binary64, trees in
//order, `* scale + bias` | ! | ONNX-ML `TreeEnsembleRegressor`, `TreeEnsembleClassifier` | [`onnx::from_bytes`] |
//binary32, trees in order, base last | ! ! # Bit identity ! Raw scores equal those that the library itself gives for
//binary32 rows, bit for bit, but for two cases: subnormal ! numbers, which count as zero here, and a base that XGBoost
//derives from a probability or a mean by its platform's ! logarithm, which is correctly rounded here (see [`xgboost`]).
//Links ([`Link`]: sigmoid, softmax, exp) are computed ! from the correctly rounded functions of `ml_kernels::num` and
//may differ from the library's in the last bits. ! ! **Invariant:** files come from strangers. What a reader allocates
//is bounded by the length of the file, nesting by a ! constant; whatever is malformed is a typed error.

pub mod catboost;
mod json;
pub mod lightgbm;
mod lightgbm_write;
mod link;
pub mod onnx;
mod plant;
mod protobuf;
mod ubjson;
mod value;
pub mod xgboost;
mod xgboost_write;

use std::path::Path;

use ml_core::{Error, ModelError, ParamError, Result};

pub use link::Link;

use crate::ensemble::Ensemble;

/// A model of another library.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The trees; [`Ensemble::raw`] and [`Ensemble::raw_f64`] give the library's raw scores.
    pub ensemble: Ensemble,
    /// What the library makes of a raw score.
    pub link: Link,
    /// The objective or loss, as the file names it; empty where it names none.
    pub objective: String,
    /// Names of the columns, empty where the file has none.
    pub feature_names: Vec<String>,
}

/// A format of another library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// XGBoost JSON or UBJSON.
    XgBoost,
    /// LightGBM text.
    LightGbm,
    /// CatBoost JSON.
    CatBoost,
    /// ONNX with one tree ensemble.
    Onnx,
}

impl Imported {
    /// Reads a model file of `format`.
    ///
    /// # Errors
    /// [`ModelError::Io`], [`ModelError::Malformed`] for a file that is none of this format, and
    /// [`ParamError::NotOffered`] for what isobit does not offer, by its name.
    pub fn open(path: impl AsRef<Path>, format: Format) -> Result<Self> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let bytes = ml_core::files::read_regular(path)
            .map_err(|source| Error::from(ModelError::Io { path: shown.clone(), source }))?;
        Self::from_bytes(&bytes, format).map_err(|e| match e {
            Error::Model(ModelError::Malformed { reason, .. }) => ModelError::Malformed { path: shown, reason }.into(),
            other => other,
        })
    }

    /// Reads a model of `format` from bytes.
    ///
    /// # Errors
    /// Those of [`Imported::open`], but for the file system's.
    pub fn from_bytes(bytes: &[u8], format: Format) -> Result<Self> {
        match format {
            Format::XgBoost => xgboost::from_bytes(bytes),
            Format::LightGbm => lightgbm::from_bytes(bytes),
            Format::CatBoost => catboost::from_bytes(bytes),
            Format::Onnx => onnx::from_bytes(bytes),
        }
    }
}

/// A file that is not what it should be.
pub(crate) fn malformed(reason: impl Into<String>) -> Error {
    ModelError::Malformed { path: "<bytes>".to_owned(), reason: reason.into() }.into()
}

/// The same failure, with the part of the file that it is in.
fn within(error: Error, part: &str) -> Error {
    match error {
        Error::Model(ModelError::Malformed { reason, .. }) => malformed(format!("{part}: {reason}")),
        other => other,
    }
}

/// Something that the format knows and isobit does not offer.
fn not_offered(name: &'static str, value: impl Into<String>, instead: &str) -> Error {
    ParamError::NotOffered { name, value: value.into(), instead: instead.to_owned() }.into()
}

/// A model that a format cannot hold without loss.
fn lossy(reason: impl Into<String>) -> Error {
    ModelError::Refused { path: "<bytes>".to_owned(), reason: reason.into() }.into()
}
