//! What isobit measures: workloads that check their bits before they are timed, and the floor each is held against.

mod record;
mod workloads;

pub use record::{Record, measure};
pub use workloads::{Size, Workload, workloads};
