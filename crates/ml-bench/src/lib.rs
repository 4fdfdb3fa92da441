//! What isobit measures: workloads that check their bits before they are timed, the floor each is held against, and what
//! other libraries need for the same work.

mod contractions;
mod decompositions;
mod estimators;
#[cfg(feature = "peers")]
mod matrixmultiply_peer;
mod peers;
mod quiet;
mod record;
mod reductions;
mod workloads;

pub use estimators::estimators;
#[cfg(feature = "peers")]
pub use matrixmultiply_peer::Matrixmultiply;
pub use peers::{Peer, Peers};
pub use record::{Record, measure, median_seconds};
pub use workloads::{Size, Unit, Workload, workloads};
