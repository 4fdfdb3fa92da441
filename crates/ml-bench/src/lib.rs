//! What isobit measures: workloads that check their bits before they are timed, the floor each is held against, and what
//! other libraries need for the same work.

mod contractions;
mod decompositions;
mod estimators;
mod peers;
#[cfg(feature = "peers")]
mod product_peers;
mod quiet;
mod record;
mod reductions;
mod workloads;

pub use estimators::estimators;
pub use peers::{Peer, Peers};
#[cfg(feature = "peers")]
pub use product_peers::{Library, ProductPeer};
pub use record::{Record, measure, median_seconds};
pub use workloads::{Size, Unit, Workload, workloads};
