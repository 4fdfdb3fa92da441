//! Scalar numerics, single-source: each function here runs on the host as plain Rust and expands in kernels.

pub mod conformance;
mod constants;
pub mod convert;
pub mod divide;
pub mod elementary;
pub mod exp;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
pub mod limbs;
pub mod ln;
pub mod ops;
pub mod order;
pub mod philox;
pub mod raw;
pub mod sweep;
pub mod wide;

pub use convert::*;
pub use divide::{div, div_from_guess, div_from_reciprocal, div_integer, sqrt, sqrt_from_guess, sqrt_integer};
pub use elementary::*;
pub use exp::{exp_cr, exp_integer};
pub use host::{exp_cr_slice, ln_cr_slice};
pub use limbs::*;
pub use ln::{ln_cr, ln_integer};
pub use ops::*;
pub use order::*;
pub use philox::*;
pub use raw::*;
pub use wide::{cross, cross_integer};
