//! What a task can fail with.

use std::path::{Path, PathBuf};

/// What every task returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program could not be started.
    #[error("`{program}` could not be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program ended without success.
    #[error("`{command}` ended with {status}{}{output}", if output.is_empty() { "" } else { ":\n" })]
    Program {
        /// The whole command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it printed, where that was caught.
        output: String,
    },
    /// A JSON text that is not what was expected.
    #[error("{what}: {source}")]
    Json {
        /// The text's name.
        what: String,
        /// Where it breaks.
        source: serde_json::Error,
    },
    /// isobit itself failed.
    #[error(transparent)]
    Isobit(#[from] ml_core::Error),
    /// Cards, certificates or fixtures failed.
    #[error(transparent)]
    Identity(#[from] ml_identity::IdentityError),
    /// What the task looked for was found: the text says how much of it.
    #[error("{0}")]
    Found(String),
    /// What the task needs is not on this machine; the text says what to install or to run.
    #[error("{0}")]
    Missing(String),
}

impl Error {
    /// For `map_err` on file operations.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        |source| Error::File { path: path.to_owned(), source }
    }

    /// For `map_err` on JSON.
    pub fn json(what: impl ToString) -> impl FnOnce(serde_json::Error) -> Error {
        move |source| Error::Json { what: what.to_string(), source }
    }
}
