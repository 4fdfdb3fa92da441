//! `vectors`: what the product gives on small inputs of every clause that certificates do not reach, as digests beside
//! `fixtures/independent/`, whose checker recomputes them from the contract's text.
//!
//! The annex "Vectors" of `docs/contract.md` says which operation on which input has which tag.

mod data;
mod factorisations;
mod functions;
mod products;
mod sums;

use std::path::{Path, PathBuf};

use ml_kernels::{Buffer, Device};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::process;

/// Compute the independent checker's vectors on the host and compare them with the committed digests.
#[derive(clap::Args, Default)]
pub struct Args {
    /// Write the digests anew instead: a change of bits, which is a new version of a clause
    #[arg(long)]
    write: bool,
    /// Also write the bytes of every vector to this folder, one file each
    #[arg(long, value_name = "DIR")]
    dumps: Option<PathBuf>,
}

/// The committed digests, below the workspace's root.
const FILE: &str = "fixtures/independent/vectors.json";

/// One result: a row-major array.
struct Vector {
    tag: String,
    dtype: &'static str,
    shape: Vec<usize>,
    /// Little-endian elements.
    bytes: Vec<u8>,
}

/// Results in the order in which they were computed.
struct Vectors {
    device: Device,
    all: Vec<Vector>,
}

impl Vectors {
    /// Every vector, computed on `device`.
    fn on(device: Device) -> Result<Vectors> {
        let mut vectors = Vectors { device, all: Vec::new() };
        functions::run(&mut vectors)?;
        sums::run(&mut vectors)?;
        products::run(&mut vectors)?;
        factorisations::run(&mut vectors)?;
        Ok(vectors)
    }

    fn floats(&mut self, tag: impl Into<String>, shape: &[usize], values: &[f32]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.all.push(Vector { tag: tag.into(), dtype: "f32", shape: shape.to_vec(), bytes });
    }

    fn indices(&mut self, tag: impl Into<String>, shape: &[usize], values: &[u32]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.all.push(Vector { tag: tag.into(), dtype: "u32", shape: shape.to_vec(), bytes });
    }

    /// What a primitive gave.
    fn buffer(&mut self, tag: impl Into<String>, shape: &[usize], values: &Buffer<f32>) -> Result<()> {
        self.floats(tag, shape, &values.read()?);
        Ok(())
    }

    fn upload(&self, values: &[f32]) -> Result<Buffer<f32>> {
        Ok(Buffer::upload(&self.device, values)?)
    }
}

/// Runs the task.
///
/// # Errors
/// [`Error::Found`] naming every vector that is not the committed one.
pub fn run(args: &Args) -> Result<()> {
    let vectors = Vectors::on(Device::host())?.all;
    if let Some(dir) = &args.dumps {
        std::fs::create_dir_all(dir).map_err(Error::file(dir))?;
        for vector in &vectors {
            let path = dir.join(format!("{}.bin", vector.tag));
            std::fs::write(&path, &vector.bytes).map_err(Error::file(&path))?;
        }
    }
    let path = process::root().join(FILE);
    if args.write {
        let lines: Vec<String> = vectors.iter().map(|v| record(v).to_string()).collect();
        let text = format!("[\n{}\n]\n", lines.join(",\n"));
        std::fs::write(&path, text).map_err(Error::file(&path))?;
        println!("vectors: {} written to {FILE}", vectors.len());
        return Ok(());
    }
    let wrong = differing(&vectors, &path)?;
    if wrong.is_empty() {
        println!("vectors: {} are those of {FILE}", vectors.len());
        Ok(())
    } else {
        Err(Error::Found(format!("vectors: not those of {FILE}: {}", wrong.join(", "))))
    }
}

/// A line of the file.
fn record(vector: &Vector) -> Value {
    json!({
        "tag": vector.tag,
        "dtype": vector.dtype,
        "shape": vector.shape,
        "blake3": blake3::hash(&vector.bytes).to_hex().as_str(),
    })
}

/// Tags that only one side has, or that have another digest, shape or place.
fn differing(vectors: &[Vector], path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
    let committed: Vec<Value> = serde_json::from_str(&text).map_err(Error::json(path.display()))?;
    let tag = |line: &Value| line["tag"].as_str().unwrap_or("a line without a tag").to_owned();
    let mut wrong = Vec::new();
    for (i, vector) in vectors.iter().enumerate() {
        if committed.get(i) != Some(&record(vector)) {
            wrong.push(vector.tag.clone());
        }
    }
    wrong.extend(committed.iter().skip(vectors.len()).map(tag));
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_gives_the_committed_vectors() {
        let path = process::root().join(FILE);
        let vectors = Vectors::on(Device::host()).expect("the host computes every vector").all;
        assert_eq!(differing(&vectors, &path).expect("the file is there"), Vec::<String>::new());
        assert!(vectors.len() > 100);
    }

    #[test]
    fn a_changed_bit_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("vectors.json");
        let mut vectors = Vectors { device: Device::host(), all: Vec::new() };
        vectors.floats("one", &[2], &[1.0, 2.0]);
        vectors.indices("two", &[1], &[7]);
        let lines: Vec<String> = vectors.all.iter().map(|v| record(v).to_string()).collect();
        std::fs::write(&path, format!("[{}]", lines.join(","))).expect("a file");
        assert_eq!(differing(&vectors.all, &path).expect("a file of vectors"), Vec::<String>::new());
        vectors.all[0].bytes[5] ^= 1;
        assert_eq!(differing(&vectors.all, &path).expect("a file of vectors"), ["one"]);
        vectors.all[0].bytes[5] ^= 1;
        vectors.all[1].shape = vec![1, 1];
        assert_eq!(differing(&vectors.all, &path).expect("a file of vectors"), ["two"]);
        vectors.all.pop();
        assert_eq!(differing(&vectors.all, &path).expect("a file of vectors"), ["two"]);
    }
}
