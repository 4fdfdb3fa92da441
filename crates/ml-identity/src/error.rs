//! Typed errors of cards, certificates, fixtures and the support matrix.

/// What every fallible call of this crate returns.
pub type Result<T, E = IdentityError> = std::result::Result<T, E>;

/// Why a piece of evidence cannot be made or trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file ends before its JSON does.
    #[error("{path}: cut short at line {line}")]
    Truncated {
        /// The file.
        path: String,
        /// Its last line.
        line: usize,
    },
    /// Not JSON, or a field that is missing, unknown or of another type.
    #[error("{path}: malformed: {reason}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong, with the line.
        reason: String,
    },
    /// A file of another format or format version.
    #[error("{path}: format is `{found}`, this build reads `{expected}`")]
    Version {
        /// The file.
        path: String,
        /// In the file.
        found: String,
        /// Of this build.
        expected: &'static str,
    },
    /// A root that does not follow from what it stands for.
    #[error("{path}: the root of {what} is stored as {stored}, its contents give {computed}")]
    Root {
        /// The file.
        path: String,
        /// Whose root.
        what: String,
        /// In the file.
        stored: String,
        /// Recomputed.
        computed: String,
    },
    /// Contents that were changed after they were sealed.
    #[error("{path}: {what} was changed after it was sealed")]
    Seal {
        /// The file.
        path: String,
        /// The card or the certificate.
        what: String,
    },
    /// The right contents in another spelling than the only one.
    #[error("{path}: was rewritten by another program (spaces, line ends or order differ); take the original")]
    Respelled {
        /// The file.
        path: String,
    },
    /// Fields that contradict one another.
    #[error("{path}: {reason}")]
    Inconsistent {
        /// The file, or what was to be made.
        path: String,
        /// The contradiction.
        reason: String,
    },
    /// A stage whose bytes do not fit its shape, seen while recording.
    #[error("stage {index} `{tag}`: {reason}")]
    Stage {
        /// Position of the stage.
        index: u64,
        /// Its tag.
        tag: String,
        /// What is wrong.
        reason: String,
    },
    /// A README without the two markers, or with a table that the certificates do not give.
    #[error("support matrix: {reason}")]
    Support {
        /// What is wrong.
        reason: String,
    },
    /// A fixture or another input could not be read.
    #[error(transparent)]
    Core(#[from] ml_core::Error),
}
