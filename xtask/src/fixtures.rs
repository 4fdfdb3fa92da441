//! `fixtures`: the committed data is the data that its manifests name.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::process;

/// Verify every file below `fixtures/` against the length and sha256 of its manifest.
#[derive(clap::Args, Default)]
pub struct Args {
    /// Also write the hostile fixtures, which are made by code, to this folder: CSV, floats in digits that read back exactly
    #[arg(long, value_name = "DIR")]
    write_hostile: Option<PathBuf>,
}

/// Runs the task.
///
/// # Errors
/// [`Error::Found`] naming every file that is not what its manifest says, or that no manifest names.
pub fn run(args: &Args) -> Result<()> {
    let dir = process::root().join("fixtures");
    let found = check(&dir)?;
    for line in &found.problems {
        eprintln!("fixtures: {line}");
    }
    if !found.problems.is_empty() {
        return Err(Error::Found(format!("fixtures: {} problems", found.problems.len())));
    }
    println!("fixtures: {} files in {} sets are as their manifests say", found.files, found.sets);
    args.write_hostile.as_deref().map_or(Ok(()), write_hostile)
}

/// One CSV a hostile fixture: its columns, then `y` and `label` if it has them.
fn write_hostile(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(Error::file(dir))?;
    for fixture in ml_identity::fixtures::hostile()? {
        let cols = fixture.x().cols();
        let mut head: Vec<String> = (0..cols).map(|c| format!("x{c}")).collect();
        head.extend(fixture.y().map(|_| "y".to_owned()));
        head.extend(fixture.labels().map(|_| "label".to_owned()));
        let mut text = head.join(",") + "\n";
        for row in 0..fixture.x().rows() {
            let values = &fixture.x().as_slice()[row * cols..(row + 1) * cols];
            let mut cells: Vec<String> = values.iter().map(|v| format!("{v:e}")).collect();
            cells.extend(fixture.y().map(|y| format!("{:e}", y[row])));
            cells.extend(fixture.labels().map(|l| l[row].to_string()));
            text += &(cells.join(",") + "\n");
        }
        let path = dir.join(format!("{}.csv", fixture.name().replace(['/', ':'], "-")));
        std::fs::write(&path, text).map_err(Error::file(&path))?;
        println!("fixtures: {}", path.display());
    }
    Ok(())
}

/// What a check of a folder of fixture sets found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    sets: usize,
    files: usize,
    problems: Vec<String>,
}

/// Checks every set (folder with a `manifest.json`) below `dir`.
fn check(dir: &Path) -> Result<Found> {
    let mut found = Found::default();
    for set in entries(dir)?.into_iter().filter(|p| p.join("manifest.json").is_file()) {
        found.sets += 1;
        let path = set.join("manifest.json");
        let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
        let manifest: Value = serde_json::from_str(&text).map_err(Error::json(path.display()))?;
        let mut named = Vec::new();
        for file in manifest["files"].as_array().into_iter().flatten() {
            let name = file["path"].as_str().unwrap_or_default().to_owned();
            found.files += 1;
            if let Some(problem) = wrong(&set.join(&name), file) {
                found.problems.push(problem);
            }
            named.push(name);
        }
        if named.is_empty() {
            found.problems.push(format!("{}: names no file", path.display()));
        }
        for stray in entries(&set)? {
            let name = stray.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !named.contains(&name) && !["manifest.json", "LICENSE", "README.md"].contains(&name.as_str()) {
                found.problems.push(format!("{}: is in no manifest", stray.display()));
            }
        }
    }
    if found.sets == 0 {
        found.problems.push(format!("{}: holds no set with a manifest", dir.display()));
    }
    Ok(found)
}

/// What is wrong with one file of a manifest.
fn wrong(path: &Path, entry: &Value) -> Option<String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) => return Some(format!("{}: {e}", path.display())),
    };
    let digest: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    if entry["bytes"].as_u64() != Some(bytes.len() as u64) {
        return Some(format!("{}: has {} bytes, the manifest says {}", path.display(), bytes.len(), entry["bytes"]));
    }
    if entry["sha256"].as_str() != Some(&digest) {
        return Some(format!("{}: has sha256 {digest}, the manifest says {}", path.display(), entry["sha256"]));
    }
    None
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let read = std::fs::read_dir(dir).map_err(Error::file(dir))?;
    let mut paths = read.map(|e| e.map(|e| e.path())).collect::<std::io::Result<Vec<_>>>().map_err(Error::file(dir))?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sha256 of `abc`, as FIPS 180-2 publishes it.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn set(manifest: &str, files: &[(&str, &str)]) -> Found {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let set = dir.path().join("made-up");
        std::fs::create_dir(&set).expect("a folder");
        std::fs::write(set.join("manifest.json"), manifest).expect("a file");
        for (name, text) in files {
            std::fs::write(set.join(name), text).expect("a file");
        }
        check(dir.path()).expect("readable")
    }

    fn manifest(bytes: u32, sha256: &str) -> String {
        format!(r#"{{"files": [{{"path": "a", "bytes": {bytes}, "sha256": "{sha256}"}}]}}"#)
    }

    #[test]
    fn a_true_manifest_passes() {
        assert_eq!(set(&manifest(3, ABC), &[("a", "abc")]), Found { sets: 1, files: 1, problems: Vec::new() });
    }

    #[test]
    fn every_kind_of_falsehood_is_found() {
        for (manifest, files, text) in [
            (manifest(3, ABC), vec![("a", "abd")], "has sha256"),
            (manifest(4, ABC), vec![("a", "abc")], "has 3 bytes"),
            (manifest(3, ABC), vec![], "os error"),
            (manifest(3, ABC), vec![("a", "abc"), ("b", "")], "is in no manifest"),
            (r#"{"files": []}"#.to_owned(), vec![], "names no file"),
        ] {
            let found = set(&manifest, &files);
            assert!(found.problems.iter().any(|p| p.contains(text)), "{text}: {:?}", found.problems);
        }
    }

    #[test]
    fn a_folder_without_sets_is_no_success() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(check(dir.path()).expect("readable").problems.len(), 1);
    }
}
