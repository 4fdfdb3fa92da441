//! What the command can fail with, and its exit codes.

use std::path::{Path, PathBuf};

use isobit::core::{DeviceError, Error as Isobit, ModelError, ParamError};
use ml_identity::IdentityError;

/// What every subcommand returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a subcommand failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library refused something or failed.
    #[error(transparent)]
    Isobit(#[from] Isobit),
    /// A card could not be made or written.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// No such estimator.
    #[error("unknown estimator `{name}`; use {known}")]
    UnknownEstimator {
        /// The name given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// No such parameter.
    #[error("{estimator} has no parameter `{name}`; it has {known}")]
    UnknownParam {
        /// The estimator.
        estimator: &'static str,
        /// The name given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A parameter that is not NAME=VALUE, or is given twice.
    #[error("--param {text}: {reason}")]
    Param {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A choice that does not go with the estimator or the model.
    #[error("{0}")]
    Choice(String),
    /// A class that is no small whole number.
    #[error("{}: column `{column}` holds {value} in data row {row}; a class is a whole number from 0 to 16777215", path.display())]
    Class {
        /// The file.
        path: PathBuf,
        /// The column of classes.
        column: String,
        /// Data row, counted from 1.
        row: usize,
        /// The value.
        value: f32,
    },
    /// A file that could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    /// For `map_err` on writing.
    pub fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        |source| Error::Write { path: path.to_owned(), source }
    }

    /// 2 if something that was given cannot be used, 1 if the work failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Isobit(e) => match e {
                Isobit::Param(_) | Isobit::Data(_) | Isobit::Model(_) => 2,
                Isobit::Device(e) => match e {
                    DeviceError::OutOfMemory { .. } | DeviceError::Compile { .. } | DeviceError::Failed { .. } => 1,
                    // Names that are unknown, not built in or not on this machine.
                    _ => 2,
                },
                _ => 1,
            },
            Error::Identity(_) | Error::Write { .. } => 1,
            Error::UnknownEstimator { .. }
            | Error::UnknownParam { .. }
            | Error::Param { .. }
            | Error::Choice(_)
            | Error::Class { .. } => 2,
        }
    }
}

impl From<ParamError> for Error {
    fn from(e: ParamError) -> Self {
        Error::Isobit(e.into())
    }
}

impl From<ModelError> for Error {
    fn from(e: ModelError) -> Self {
        Error::Isobit(e.into())
    }
}
