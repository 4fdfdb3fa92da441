//! What estimators share: fitting, predicting, transforming, and saving.
//!
//! A builder such as `KMeans` holds parameters that nobody has looked at yet; they are checked when a fit starts. A fit
//! gives a separate type, such as `KMeansModel`, which predicts and can be saved.

use std::path::Path;

use crate::{Context, Device};
use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{Matrix, Result};

/// Learns from rows alone.
pub trait Fit {
    /// What a fit gives.
    type Model;

    /// Fits to the rows of `x`, shape (samples, features), recording, reporting and stopping as `cx` says.
    ///
    /// # Errors
    /// [`ml_core::ParamError`] for a parameter out of its bound, [`ml_core::DataError`] for data that the estimator
    /// cannot take, [`ml_core::Error::NonFinite`] where a computed value left the finite range,
    /// [`ml_core::Error::Cancelled`], and [`ml_core::DeviceError`].
    ///
    /// # Bit identity
    /// The model's bytes depend on `x` and the parameters, never on the device.
    fn fit_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Self::Model>;

    /// [`Fit::fit_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`Fit::fit_in`].
    fn fit(&self, x: &Matrix, device: &Device) -> Result<Self::Model> {
        self.fit_in(x, &mut Context::new(device))
    }
}

/// Learns from rows and one target a row.
pub trait FitTarget {
    /// The targets: `[u32]` for classes, `[f32]` for numbers.
    type Target: ?Sized;
    /// What a fit gives.
    type Model;

    /// Fits to the rows of `x`, shape (samples, features), and their targets `y`, one a row, recording, reporting and
    /// stopping as `cx` says.
    ///
    /// # Errors
    /// Those of [`Fit::fit_in`], and [`ml_core::DataError::Shape`] unless there is one target a row.
    ///
    /// # Bit identity
    /// The model's bytes depend on `x`, `y` and the parameters, never on the device.
    fn fit_in(&self, x: &Matrix, y: &Self::Target, cx: &mut Context<'_>) -> Result<Self::Model>;

    /// [`FitTarget::fit_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    fn fit(&self, x: &Matrix, y: &Self::Target, device: &Device) -> Result<Self::Model> {
        self.fit_in(x, y, &mut Context::new(device))
    }
}

/// Predicts one value a row.
pub trait Predict {
    /// `u32` for classes and clusters, `f32` for numbers.
    type Output;

    /// The prediction for each row of `x`, shape (rows, features of the fit).
    ///
    /// # Errors
    /// [`ml_core::DataError::Shape`] for another number of columns, [`ml_core::Error::NonFinite`] where a computed value
    /// left the finite range, [`ml_core::Error::Cancelled`], and [`ml_core::DeviceError`].
    ///
    /// # Bit identity
    /// The prediction for a row depends on the model and on that row alone: not on the other rows, not on the device.
    fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<Self::Output>>;

    /// [`Predict::predict_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    fn predict(&self, x: &Matrix, device: &Device) -> Result<Vec<Self::Output>> {
        self.predict_in(x, &mut Context::new(device))
    }
}

/// Maps each row to a row of another space.
pub trait Transform {
    /// The image of each row of `x`, shape (rows, features of the fit).
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    ///
    /// # Bit identity
    /// The image of a row depends on the model and on that row alone: not on the other rows, not on the device.
    fn transform_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Matrix>;

    /// [`Transform::transform_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`Transform::transform_in`].
    fn transform(&self, x: &Matrix, device: &Device) -> Result<Matrix> {
        self.transform_in(x, &mut Context::new(device))
    }
}

/// Goes to one self-describing file and comes back the same.
///
/// # Bit identity
/// Equal models give equal files, and a loaded model predicts the same bytes as the saved one.
pub trait Persist: Sized {
    /// The estimator's name in the file.
    const KIND: &'static str;

    /// The parts of the file.
    ///
    /// # Errors
    /// [`ml_core::DeviceError`] for parts that have to be copied back from a device.
    fn to_writer(&self) -> Result<ModelWriter>;

    /// The model from a verified file. The file is still foreign: what the digests cannot promise, such as an index
    /// within its table, is checked here.
    ///
    /// # Errors
    /// [`ml_core::ModelError`] or [`ml_core::DataError`] for parts that are no such model.
    fn from_reader(file: &ModelReader) -> Result<Self>;

    /// Saves the model, replacing an older file in one step.
    ///
    /// # Errors
    /// [`ml_core::ModelError::Io`].
    fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.to_writer()?.save(path)
    }

    /// Loads a model that [`Persist::save`] wrote.
    ///
    /// # Errors
    /// [`ml_core::ModelError`]: unreadable, damaged, of another estimator, format or numeric profile.
    fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_reader(&ModelReader::open(path, Self::KIND)?)
    }

    /// The bytes that [`Persist::save`] writes.
    ///
    /// # Errors
    /// Those of [`Persist::to_writer`].
    fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_writer()?.to_bytes()
    }

    /// The model from bytes of [`Persist::to_bytes`].
    ///
    /// # Errors
    /// Those of [`Persist::load`], but for the file system's.
    fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_reader(&ModelReader::from_bytes(bytes, Self::KIND)?)
    }
}

/// Why an iteration ended. Neither way is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The goal was reached in this many iterations.
    Converged {
        /// Iterations made.
        iter: u32,
    },
    /// `max_iter` iterations were made.
    MaxIter,
}
