//! Typed errors: each names the parameter or the place, the bound and the value that broke it.

use thiserror::Error as ThisError;

/// What every fallible call of isobit returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of a public call.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A parameter of an estimator or primitive is out of its bound.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// Input data is not what the call needs.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A device, its driver or a kernel failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A model file could not be written or read back.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A computed value left the finite range; the stage that made it is named.
    #[error("stage `{stage}` computed a non-finite value at element {index}")]
    NonFinite {
        /// Stage or primitive that computed it.
        stage: String,
        /// Index of the first such element, row-major.
        index: usize,
    },
    /// An iteration did not reach its goal, and no result is given.
    #[error("{what} did not converge within {limit} steps")]
    NoConvergence {
        /// What was iterated.
        what: &'static str,
        /// The limit that was hit.
        limit: usize,
    },
    /// A matrix that must be positive definite is not.
    #[error("matrix is not positive definite: pivot {pivot} is {value:e}")]
    NotPositiveDefinite {
        /// Index of the first pivot that is not positive.
        pivot: usize,
        /// Its value.
        value: f32,
    },
    /// A system of equations has no unique solution.
    #[error("matrix is singular: pivot {pivot} is zero")]
    Singular {
        /// Index of the first pivot that is zero.
        pivot: usize,
    },
    /// The caller cancelled the work.
    #[error("cancelled during {during}")]
    Cancelled {
        /// The step that was under way.
        during: &'static str,
    },
}

/// A parameter out of its bound.
#[derive(Debug, ThisError, Clone, PartialEq)]
#[non_exhaustive]
pub enum ParamError {
    /// A value outside the bound.
    #[error("parameter `{name}` must be {bound}, got {value}")]
    OutOfBound {
        /// Parameter name, as in the public API.
        name: &'static str,
        /// The bound, in words.
        bound: String,
        /// The value given.
        value: String,
    },
    /// A value that the field knows but that isobit does not offer.
    #[error("parameter `{name}` = {value} is not offered; choose {instead}")]
    NotOffered {
        /// Parameter name, as in the public API.
        name: &'static str,
        /// The value given.
        value: String,
        /// What is offered.
        instead: String,
    },
}

impl ParamError {
    /// A value outside its bound.
    pub fn out_of_bound(name: &'static str, bound: impl ToString, value: impl ToString) -> Self {
        ParamError::OutOfBound { name, bound: bound.to_string(), value: value.to_string() }
    }
}

/// Input data that a call cannot take.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum DataError {
    /// A NaN or an infinity in the input.
    #[error("`{what}` holds {value} at row {row}, column {col}; only finite values are accepted")]
    NonFinite {
        /// The argument.
        what: &'static str,
        /// Row of the first such value.
        row: usize,
        /// Column of the first such value.
        col: usize,
        /// The value.
        value: f32,
    },
    /// No rows or no columns.
    #[error("`{what}` is empty ({rows} rows, {cols} columns)")]
    Empty {
        /// The argument.
        what: &'static str,
        /// Rows given.
        rows: usize,
        /// Columns given.
        cols: usize,
    },
    /// A dimension that does not match.
    #[error("`{what}` must be {expected}, got {got}")]
    Shape {
        /// The argument or dimension.
        what: &'static str,
        /// What was expected.
        expected: String,
        /// What was given.
        got: String,
    },
    /// An index beyond its table.
    #[error("`{what}` holds index {index} at position {position}, the bound is {bound}")]
    Index {
        /// The argument.
        what: &'static str,
        /// Position of the first bad index.
        position: usize,
        /// The index.
        index: u64,
        /// It must be below this.
        bound: u64,
    },
    /// A file of data that could not be read.
    #[error("{path}: {reason}")]
    Read {
        /// The file, as the caller named it.
        path: String,
        /// What is wrong with it, with line or offset where known.
        reason: String,
    },
    /// A column that a table lacks, or that was asked for twice.
    #[error("{path}: column `{name}` {reason}")]
    Column {
        /// The file, as the caller named it.
        path: String,
        /// The column.
        name: String,
        /// What is wrong, with the columns that are there.
        reason: String,
    },
    /// More elements than an index type of the contract can count.
    #[error("`{what}` needs {elements} elements, the limit is {limit}")]
    TooLarge {
        /// The argument or result.
        what: &'static str,
        /// Elements needed.
        elements: u128,
        /// The limit.
        limit: u128,
    },
}

impl DataError {
    /// A dimension that does not match.
    pub fn shape(what: &'static str, expected: impl ToString, got: impl ToString) -> Self {
        DataError::Shape { what, expected: expected.to_string(), got: got.to_string() }
    }
}

/// A device that is missing or failed.
#[derive(Debug, ThisError, Clone, PartialEq)]
#[non_exhaustive]
pub enum DeviceError {
    /// A name that is no device name.
    #[error("unknown device `{name}`; use host, cuda:I, vulkan:I, vulkan:NAME, hip:I or metal:I")]
    UnknownName {
        /// The name given.
        name: String,
    },
    /// This build lacks the runtime.
    #[error("device `{name}` needs the Cargo feature `{feature}`, which this build lacks")]
    RuntimeNotBuilt {
        /// The device asked for.
        name: String,
        /// The Cargo feature that adds its runtime.
        feature: &'static str,
    },
    /// The runtime is built in, but its driver or library is not on this machine.
    #[error("device `{name}`: {reason}; install {install}")]
    RuntimeMissing {
        /// The device asked for.
        name: String,
        /// What failed.
        reason: String,
        /// What to install.
        install: &'static str,
    },
    /// The runtime works but has no such device.
    #[error("device `{name}` not found; present: {present}")]
    NotFound {
        /// The device asked for.
        name: String,
        /// Devices of this runtime that are present.
        present: String,
    },
    /// The device has not enough memory.
    #[error("device `{device}` is out of memory: {bytes} bytes were asked for ({reason})")]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes asked for.
        bytes: u64,
        /// The driver's words.
        reason: String,
    },
    /// A kernel could not be compiled.
    #[error("device `{device}` could not compile kernel `{kernel}`: {reason}")]
    Compile {
        /// The device.
        device: String,
        /// The kernel or primitive.
        kernel: String,
        /// The compiler's words.
        reason: String,
    },
    /// A launch or a transfer failed, or the device was lost.
    #[error("device `{device}` failed during `{during}`: {reason}")]
    Failed {
        /// The device.
        device: String,
        /// The primitive or transfer under way.
        during: String,
        /// The driver's words.
        reason: String,
    },
    /// Buffers of two devices met in one call.
    #[error("`{what}` lives on `{found}`, the call runs on `{expected}`")]
    WrongDevice {
        /// The argument.
        what: &'static str,
        /// Where it lives.
        found: String,
        /// Where it is needed.
        expected: String,
    },
}

/// A model file that cannot be trusted or written.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum ModelError {
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Not a model file, or one cut short.
    #[error("{path}: not a readable model file: {reason}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Bytes that do not match their recorded digest.
    #[error("{path}: array `{array}` does not match its digest (file damaged or changed)")]
    Digest {
        /// The file.
        path: String,
        /// The array.
        array: String,
    },
    /// A part that a model file cannot hold; nothing was written.
    #[error("{path}: cannot be written: {reason}")]
    Refused {
        /// The file.
        path: String,
        /// What is wrong with the part.
        reason: String,
    },
    /// A float that no model holds: not finite, or not canonical (`docs/contract.md`, clause `values`).
    #[error("{path}: array `{array}` holds {value:e} at element {index}; only finite, canonical numbers are accepted")]
    Value {
        /// The file.
        path: String,
        /// The array.
        array: String,
        /// Index of the first such element, row-major.
        index: usize,
        /// Its value.
        value: f32,
    },
    /// An array that is absent, or of another dtype or shape.
    #[error("{path}: array `{array}` is {found}, expected {expected}")]
    Array {
        /// The file.
        path: String,
        /// The array.
        array: String,
        /// Dtype and shape asked for.
        expected: String,
        /// Dtype and shape in the file.
        found: String,
    },
    /// A parameter that is absent or of another type.
    #[error("{path}: parameter `{name}` is {found}, expected {expected}")]
    Param {
        /// The file.
        path: String,
        /// The parameter.
        name: String,
        /// The type asked for.
        expected: &'static str,
        /// What the file holds.
        found: String,
    },
    /// A file of another estimator.
    #[error("{path}: holds a {found}, expected a {expected}")]
    Kind {
        /// The file.
        path: String,
        /// Estimator in the file.
        found: String,
        /// Estimator asked for.
        expected: String,
    },
    /// A file of another numeric profile or format version.
    #[error("{path}: {what} is {found}, this build reads {expected}")]
    Version {
        /// The file.
        path: String,
        /// Which version.
        what: &'static str,
        /// In the file.
        found: String,
        /// Of this build.
        expected: String,
    },
}
