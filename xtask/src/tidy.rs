//! `tidy`: the rules of this repository that no compiler or linter knows.
//!
//! Every rule is a function from texts to findings, with a test that shows it biting on a bad snippet.

mod contract;
mod edges;
mod kernels;
mod names;
mod pathways;
mod source;
mod types;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::{audit, process};

/// Check the rules that no compiler or linter knows: layers, kernels, contract marks, file headers and lengths.
#[derive(clap::Args)]
pub struct Args {}

/// The rules, by the names under which documents refer to them (`tidy::name`).
const RULES: [&str; 11] = [
    "header",
    "length",
    "machine_paths",
    "unfinished",
    "safety_comments",
    "bare_float_arithmetic",
    "crate_edges",
    "clauses",
    "invariants",
    "pathways",
    "audited",
];

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    text: String,
}

impl Finding {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Finding { path: path.to_owned(), line, text: text.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// One text file of the repository.
pub(crate) struct Source {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    #[cfg(test)]
    fn new(path: &str, text: &str) -> Self {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is tests.
    fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.split('/').any(|part| part == "tests" || part == "test")
            || matches!(name, "tests.rs" | "test.rs")
            || name.ends_with("_tests.rs")
            || name.ends_with("_test.rs")
    }

    /// Whether it is part of a library crate's own source.
    pub(crate) fn in_library(&self) -> bool {
        self.is_rust() && !self.is_test() && (self.path.starts_with("crates/") || self.path.starts_with("src/"))
    }
}

/// Runs the task.
///
/// # Errors
/// [`Error::Found`] with the number of findings, each of which is printed.
pub fn run(_args: &Args) -> Result<()> {
    let root = process::root();
    let sources = sources(&root)?;
    let findings = check(&root, &sources)?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        return Err(Error::Found(format!("tidy: {} findings", findings.len())));
    }
    println!("tidy: {} files keep every rule", sources.len());
    Ok(())
}

/// Every finding in the workspace at `root`, each marked with its rule.
fn check(root: &Path, sources: &[Source]) -> Result<Vec<Finding>> {
    let rust = || sources.iter().filter(|s| s.is_rust());
    let edges = edges::read(root)?;
    let mut findings = Vec::new();
    for rule in RULES {
        let broken: Vec<Finding> = match rule {
            "header" => rust().filter_map(source::header).collect(),
            "length" => rust().filter_map(source::length).collect(),
            "machine_paths" => sources.iter().flat_map(source::machine_paths).collect(),
            "unfinished" => rust().flat_map(source::unfinished).collect(),
            "safety_comments" => rust().flat_map(source::safety_comments).collect(),
            "bare_float_arithmetic" => kernels::check(sources),
            "crate_edges" => edges::check(&edges),
            "clauses" => contract::clauses(sources, &contract::arms()),
            "invariants" => contract::invariants(sources, &RULES),
            "pathways" => pathways::check(sources, &contract::arms()),
            "audited" => audited(sources),
            other => {
                vec![Finding::new("xtask/src/tidy.rs", 1, format!("the rule `{other}` is listed and not checked"))]
            }
        };
        findings.extend(broken.into_iter().map(|f| Finding { text: format!("{} [{rule}]", f.text), ..f }));
    }
    findings.sort();
    Ok(findings)
}

/// Kernels that the report of the audit does not name: it is older than they are.
fn audited(sources: &[Source]) -> Vec<Finding> {
    let report = sources.iter().find(|s| s.path == audit::REPORT).map(|s| s.text.as_str()).unwrap_or_default();
    let missing = |kernel: &String| !report.contains(&format!("`{}`", kernel.trim_start_matches("ml_kernels::")));
    let kernels = audit::kernels(sources);
    let names = kernels.keys().filter(|kernel| missing(kernel));
    names.map(|k| Finding::new(audit::REPORT, 1, format!("lacks {k}: run `cargo xtask audit --report`"))).collect()
}

/// The text files of the repository, in order of path. What git would ignore is not looked at.
pub(crate) fn sources(root: &Path) -> Result<Vec<Source>> {
    const TEXT: [&str; 9] = ["rs", "md", "toml", "py", "sh", "json", "yml", "yaml", "txt"];
    let mut paths = Vec::new();
    walk(root, &mut paths)?;
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if !(TEXT.contains(&extension.as_ref()) || name == "run") {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
        let parts = path.strip_prefix(root).unwrap_or(&path).components();
        let path = parts.map(|c| c.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/");
        sources.push(Source { path, text });
    }
    Ok(sources)
}

fn walk(dir: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).map_err(Error::file(dir))? {
        let path = entry.map_err(Error::file(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_symlink() || ["target", ".git", ".cards"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            walk(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let root = process::root();
        let sources = sources(&root).expect("the workspace can be read");
        let findings = check(&root, &sources).expect("the workspace can be read");
        let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(lines.is_empty(), "{} findings:\n{}", lines.len(), lines.join("\n"));
    }

    #[test]
    fn test_files_are_known_by_their_names() {
        for path in ["crates/a/tests/b.rs", "crates/a/src/b/tests.rs", "crates/a/src/card_tests.rs"] {
            assert!(Source::new(path, "").is_test(), "{path}");
        }
        for path in ["crates/a/src/testing.rs", "crates/a/src/contest.rs", "xtask/src/tidy.rs"] {
            assert!(!Source::new(path, "").is_test(), "{path}");
        }
    }

    #[test]
    fn a_kernel_that_was_not_audited_is_found() {
        let kernel = Source::new("crates/ml-kernels/src/op/kernel.rs", "#[cube(launch_unchecked)]\nfn new(n: u32) {}");
        let report = |text: &str| Source::new(audit::REPORT, text);
        assert_eq!(audited(&[kernel, report("| `op::kernel::newer` | 1 |")]).len(), 1);
        let kernel = Source::new("crates/ml-kernels/src/op/kernel.rs", "#[cube(launch_unchecked)]\nfn new(n: u32) {}");
        assert!(audited(&[kernel, report("| `op::kernel::new` | 1 |")]).is_empty());
    }
}
