//! Model files: one safetensors file that describes itself and carries a digest of everything in it.
//!
//! Layout of the string metadata: `format`, `profile`, `kind` (the estimator), `params` (a JSON object with sorted keys),
//! `blake3.NAME` for every array NAME (over dtype, shape and little-endian bytes), and `blake3` over all of the others.
//! A model has exactly one file: header entries and arrays have a fixed order, and a reader refuses any other spelling.
//! So two equal models are two equal files, and no changed byte goes unnoticed. The digests show damage and careless
//! edits; they are no signature, since whoever changes a file on purpose can compute them anew.

mod read;
mod write;

pub use read::{ArrayInfo, ModelReader};
pub use write::ModelWriter;

use std::collections::BTreeMap;

use safetensors::Dtype;

/// Format name and version, the `format` entry of a model file.
pub const FORMAT: &str = "isobit-model/1";

/// In an expected shape: any extent will do.
pub const ANY: usize = usize::MAX;

/// One array of a model file.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T> {
    /// Extents; empty for a scalar.
    pub shape: Vec<usize>,
    /// Elements, row-major.
    pub data: Vec<T>,
}

/// Metadata entries that are no array digest.
const ENTRIES: [&str; 5] = ["blake3", "format", "kind", "params", "profile"];

/// Name given to bytes that come from no file.
const IN_MEMORY: &str = "<bytes>";

/// Prefix of the metadata keys that hold array digests.
const DIGEST_OF: &str = "blake3.";

/// What the header says about one array.
#[derive(Debug, Clone, PartialEq)]
struct Info {
    dtype: Dtype,
    shape: Vec<usize>,
}

impl Info {
    /// Bytes of the array, unless that overflows.
    fn len(&self) -> Option<usize> {
        self.shape.iter().try_fold(self.dtype.bitsize() / 8, |n, &extent| n.checked_mul(extent))
    }
}

/// The dtypes that model files hold, by their safetensors names.
fn dtype_name(dtype: Dtype) -> Option<&'static str> {
    match dtype {
        Dtype::F32 => Some("F32"),
        Dtype::U32 => Some("U32"),
        Dtype::I32 => Some("I32"),
        Dtype::U64 => Some("U64"),
        _ => None,
    }
}

/// Order of the arrays in the file: widest elements first, as safetensors asks for alignment, then by name.
fn file_order(infos: &BTreeMap<String, Info>) -> Vec<(&str, &Info)> {
    let mut order: Vec<(&str, &Info)> = infos.iter().map(|(name, info)| (name.as_str(), info)).collect();
    order.sort_by(|(a_name, a), (b_name, b)| b.dtype.cmp(&a.dtype).then(a_name.cmp(b_name)));
    order
}

/// The only header of these entries and arrays, its length prefix included. `None` if sizes overflow or a dtype is none
/// of ours.
///
/// Written here because safetensors keeps its metadata in a hash table, whose order changes from one process to the next.
fn header(metadata: &BTreeMap<String, String>, infos: &BTreeMap<String, Info>) -> Option<Vec<u8>> {
    let mut text = format!("{{\"__metadata__\":{}", serde_json::to_string(metadata).ok()?);
    let mut start = 0usize;
    for (name, info) in file_order(infos) {
        let end = start.checked_add(info.len()?)?;
        let name = serde_json::to_string(name).ok()?;
        let shape = serde_json::to_string(&info.shape).ok()?;
        let dtype = dtype_name(info.dtype)?;
        text += &format!(",{name}:{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{start},{end}]}}");
        start = end;
    }
    text.push('}');
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(8) - text.len()));
    let mut bytes = u64::try_from(text.len()).ok()?.to_le_bytes().to_vec();
    bytes.extend(text.into_bytes());
    Some(bytes)
}

/// Digest of one array, as lower-case hexadecimal.
fn array_digest(info: &Info, bytes: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("isobit model/1 array");
    hasher.update(dtype_name(info.dtype).unwrap_or("").as_bytes());
    hasher.update(&(info.shape.len() as u64).to_le_bytes());
    for &extent in &info.shape {
        hasher.update(&(extent as u64).to_le_bytes());
    }
    hasher.update(bytes);
    hasher.finalize().to_hex().to_string()
}

/// Digest of all metadata entries but the digest itself, as lower-case hexadecimal.
fn metadata_digest(metadata: &BTreeMap<String, String>) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("isobit model/1 metadata");
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "blake3") {
        for text in [key, value] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// First element that no model may hold: not finite, or not the canonical form of its value.
fn first_foreign(data: impl Iterator<Item = f32>) -> Option<(usize, f32)> {
    let foreign = |x: f32| !crate::canon::is_finite(x) || crate::canon::canon(x).to_bits() != x.to_bits();
    data.enumerate().find(|&(_, x)| foreign(x))
}

#[cfg(test)]
mod tests;
