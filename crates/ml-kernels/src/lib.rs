//! The narrow waist of isobit: devices, buffers, and primitives that give the same bytes on every device.
//!
//! A primitive is three things: a reference (plain loops, the specification), a host version (threads and SIMD), and a
//! kernel (CubeCL, launched on every GPU runtime). One conformance suite, [`conformance`], holds them to the same bytes.
//!
//! **Invariant:** the cargo features of this crate pick runtimes; none changes a bit. Guard: the certificates.

// The `#[cube]` macro writes modules and structs that cannot carry documentation; builds without a GPU runtime, which
// have none of them, deny its absence.
#![cfg_attr(feature = "gpu", allow(missing_docs))]
// Functions that kernels share are written in what the `#[cube]` macro knows: no ranges, no `is_multiple_of`, no
// conditions that mix what is known at build time with what is not.
#![allow(clippy::manual_range_contains)]
#![cfg_attr(
    feature = "gpu",
    allow(clippy::assign_op_pattern, clippy::collapsible_if, clippy::manual_is_multiple_of, clippy::precedence)
)]

pub mod buffer;
pub mod conformance;
pub mod context;
mod contraction;
pub mod device;
pub mod distances;
pub mod histogram;
pub mod linalg;
pub mod map;
pub mod matmul;
mod memory;
pub mod moves;
pub mod num;
pub mod peak;
pub mod probe;
pub mod random;
pub mod reduce;
pub mod sabotage;
pub mod scan;
pub mod scatter_add;
pub mod sort;
pub mod traits;
pub mod trees;

pub use buffer::{Buffer, Element};
pub use context::Context;
pub use device::{Device, DeviceEntry, DeviceInfo, DeviceName};
