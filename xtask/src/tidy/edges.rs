//! The layers: which crate may depend on which.

use std::path::Path;

use serde_json::Value;

use super::Finding;
use crate::error::{Error, Result};
use crate::process;

/// A dependency of a crate of the workspace, tests left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edge {
    from: String,
    to: String,
}

/// Crates of the workspace that each crate may depend on. Crates that are not listed are free: nothing depends on them.
const LAYERS: [(&str, &[&str]); 5] = [
    ("ml-core", &[]),
    ("ml-kernels", &["ml-core"]),
    ("ml-classical", &["ml-core", "ml-kernels"]),
    ("ml-trees", &["ml-core", "ml-kernels"]),
    ("ml-identity", &["ml-core", "ml-kernels", "ml-classical"]),
];

/// Every crate that belongs to the workspace; a new one must be given its layer above.
const OURS: [&str; 8] =
    ["isobit", "ml-bench", "ml-classical", "ml-core", "ml-identity", "ml-kernels", "ml-trees", "xtask"];

/// What only ml-kernels may see: the narrow waist.
const GPU: [&str; 2] = ["cubecl", "wgpu"];

/// The edges of the workspace at `root`, as cargo reads them.
pub(super) fn read(root: &Path) -> Result<Vec<Edge>> {
    let mut command = process::cargo();
    command.current_dir(root).args(["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let text = process::output(&mut command)?;
    let metadata: Value = serde_json::from_str(&text).map_err(Error::json("cargo metadata"))?;
    Ok(edges(&metadata))
}

fn edges(metadata: &Value) -> Vec<Edge> {
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let name = |v: &Value| v["name"].as_str().unwrap_or_default().to_owned();
    let mut edges = Vec::new();
    for package in list(&metadata["packages"]) {
        // A crate without dependencies is an edge to nothing, so that every crate is seen.
        edges.push(Edge { from: name(&package), to: String::new() });
        for dependency in list(&package["dependencies"]) {
            if dependency["kind"] != "dev" {
                edges.push(Edge { from: name(&package), to: name(&dependency) });
            }
        }
    }
    edges
}

/// Edges that no layer allows.
pub(super) fn check(edges: &[Edge]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut note = |e: &Edge, text: String| findings.push(Finding::new(&format!("{} (Cargo.toml)", e.from), 1, text));
    for edge in edges {
        let Edge { from, to } = edge;
        if to.is_empty() && !OURS.contains(&from.as_str()) {
            note(edge, "a new crate: give it a layer in xtask/src/tidy/edges.rs".to_owned());
        }
        let layer = LAYERS.iter().find(|(name, _)| name == from);
        if let Some((_, allowed)) = layer
            && OURS.contains(&to.as_str())
            && !allowed.contains(&to.as_str())
        {
            note(edge, format!("{from} must not depend on {to}: its layer allows {allowed:?}"));
        }
        if from != "ml-kernels" && GPU.iter().any(|gpu| to == gpu || to.starts_with(&format!("{gpu}-"))) {
            note(edge, format!("{from} must not depend on {to}: only ml-kernels sees GPU runtimes"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(from: &str, to: &str) -> usize {
        check(&[Edge { from: from.to_owned(), to: to.to_owned() }]).len()
    }

    #[test]
    fn edges_against_the_layers_are_found() {
        for (from, to) in [
            ("ml-core", "ml-kernels"),
            ("ml-kernels", "ml-classical"),
            ("ml-classical", "ml-identity"),
            ("ml-identity", "isobit"),
            ("ml-core", "cubecl"),
            ("ml-classical", "cubecl-core"),
            ("isobit", "wgpu"),
            ("ml-new", ""),
        ] {
            assert_eq!(found(from, to), 1, "{from} -> {to}");
        }
        for (from, to) in [
            ("ml-core", "serde"),
            ("ml-kernels", "ml-core"),
            ("ml-kernels", "cubecl"),
            ("ml-identity", "ml-classical"),
            ("xtask", "ml-identity"),
            ("ml-core", ""),
        ] {
            assert_eq!(found(from, to), 0, "{from} -> {to}");
        }
    }

    #[test]
    fn edges_of_tests_do_not_count() {
        let metadata = serde_json::json!({ "packages": [{ "name": "a", "dependencies": [
            { "name": "b", "kind": null }, { "name": "c", "kind": "dev" }, { "name": "d", "kind": "build" },
        ] }] });
        let to: Vec<String> = edges(&metadata).into_iter().map(|e| e.to).collect();
        assert_eq!(to, ["", "b", "d"]);
    }
}
