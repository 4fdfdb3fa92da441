//! What other libraries need for the same work.

use std::path::Path;

use ml_core::{DataError, Result};
use serde::Deserialize;

use crate::workloads::Workload;

/// One measurement of another library: a line of a peers file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Peer {
    /// Operation, as [`Workload::name`].
    pub name: String,
    /// Shape, as [`Workload::shape`].
    pub shape: String,
    /// The measured value.
    pub value: f64,
    /// Its unit, as [`crate::Unit::name`].
    pub unit: String,
    /// The library, its version and how it was run.
    pub peer: String,
}

/// Peers to look workloads up in.
#[derive(Debug, Clone, Default)]
pub struct Peers(Vec<Peer>);

impl Peers {
    /// The peers of a file of JSON lines, such as `benches/peers/sklearn_peers.jsonl`.
    ///
    /// # Errors
    /// [`DataError::Read`].
    pub fn read(path: &Path) -> Result<Self> {
        let bad = |reason: String| DataError::Read { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
        let parse = |(i, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|e| bad(format!("line {}: {e}", i + 1)).into())
        };
        text.lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(parse)
            .collect::<Result<_>>()
            .map(Peers)
    }

    /// Adds those of `other`; of two for the same workload the earlier counts.
    pub fn extend(&mut self, other: Peers) {
        self.0.extend(other.0);
    }

    /// The peer of `workload`.
    pub fn find(&self, workload: &Workload) -> Option<&Peer> {
        let fits = |p: &&Peer| p.name == workload.name && p.shape == workload.shape && p.unit == workload.unit.name();
        self.0.iter().find(fits)
    }
}
