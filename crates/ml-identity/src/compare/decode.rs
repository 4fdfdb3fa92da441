//! Decoding of the elements in which two dumped stages differ.

use std::fmt;
use std::path::Path;

use ml_core::Dtype;

use super::Run;
use crate::digest::Digest;
use crate::stage::{Stage, dump_folder, dump_name};

/// How many differing elements are decoded.
const SHOWN: usize = 8;

/// One element that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Position, row-major.
    pub index: usize,
    /// Bits in the first column.
    pub a_bits: u64,
    /// Bits in the other.
    pub b_bits: u64,
    /// Value in the first column, in decimal.
    pub a: String,
    /// Value in the other.
    pub b: String,
}

/// The elements in which a stage differs, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elements {
    /// Both sides kept dumps.
    Known {
        /// The first few that differ.
        first: Vec<Element>,
        /// How many differ.
        differing: usize,
        /// How many there are.
        total: usize,
    },
    /// A side kept no dumps, or they are not those of its certificate.
    Unknown {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elements::Known { first, differing, total } => {
                write!(f, "{differing} of {total} elements differ")?;
                match first.first() {
                    Some(e) => write!(
                        f,
                        ", first element {}: {} ({:#010x}) against {} ({:#010x})",
                        e.index, e.a, e.a_bits, e.b, e.b_bits
                    ),
                    None => Ok(()),
                }
            }
            Elements::Unknown { reason } => write!(f, "elements unknown ({reason})"),
        }
    }
}

/// The elements in which two stages of the same type and shape differ, from the dumps of both.
pub(super) fn elements(a: (Option<&Path>, &Stage), b: (Option<&Path>, &Stage), run: &Run) -> Elements {
    let (Some(a_root), Some(b_root)) = (a.0, b.0) else {
        return Elements::Unknown { reason: "dumps were not kept on both sides".to_owned() };
    };
    match (dump(a_root, a.1, run), dump(b_root, b.1, run)) {
        (Ok(x), Ok(y)) => decode(a.1.dtype, &x, &y),
        (Err(reason), _) | (_, Err(reason)) => Elements::Unknown { reason },
    }
}

/// The dump of a stage, if it is the one that the certificate speaks of.
fn dump(root: &Path, stage: &Stage, run: &Run) -> Result<Vec<u8>, String> {
    let path = dump_folder(root, &run.estimator, &run.fixture).join(dump_name(stage));
    let bytes = ml_core::files::read_regular(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if Digest::of(&bytes) != stage.blake3 {
        return Err(format!("{} is not the dump of this certificate", path.display()));
    }
    Ok(bytes)
}

/// The elements in which two stages of this type and equal length differ.
pub(super) fn decode(dtype: Dtype, a: &[u8], b: &[u8]) -> Elements {
    let size = dtype.size();
    let mut first = Vec::new();
    let mut differing = 0;
    for (index, (x, y)) in a.chunks_exact(size).zip(b.chunks_exact(size)).enumerate() {
        if x == y {
            continue;
        }
        differing += 1;
        if first.len() < SHOWN {
            let (a_bits, b_bits) = (bits(x), bits(y));
            first.push(Element { index, a_bits, b_bits, a: value(dtype, a_bits), b: value(dtype, b_bits) });
        }
    }
    Elements::Known { first, differing, total: a.len() / size }
}

/// Little-endian bytes, eight at the most, as a number.
fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// The value of an element, in the fewest digits that give it back.
fn value(dtype: Dtype, bits: u64) -> String {
    match dtype {
        Dtype::F32 => format!("{:e}", f32::from_bits(bits as u32)),
        Dtype::F64 => format!("{:e}", f64::from_bits(bits)),
        Dtype::I32 => (bits as u32 as i32).to_string(),
        Dtype::U32 | Dtype::U64 => bits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_is_decoded() {
        let one = |dtype, a: &[u8], b: &[u8]| match decode(dtype, a, b) {
            Elements::Known { first, .. } => first.into_iter().map(|e| (e.index, e.a, e.b)).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let f32s = |x: [f32; 2]| x.map(f32::to_le_bytes).concat();
        assert_eq!(one(Dtype::F32, &f32s([1.0, 2.0]), &f32s([1.0, -2.5])), [(1, "2e0".into(), "-2.5e0".into())]);
        assert_eq!(one(Dtype::F32, &f32s([0.0, 1.0]), &f32s([-0.0, 1.0])), [(0, "0e0".into(), "-0e0".into())]);
        let i = (-7i32).to_le_bytes();
        assert_eq!(one(Dtype::I32, &i, &7i32.to_le_bytes()), [(0, "-7".into(), "7".into())]);
        assert_eq!(one(Dtype::U32, &i, &7u32.to_le_bytes()), [(0, "4294967289".into(), "7".into())]);
        let (x, y) = (u64::MAX.to_le_bytes(), 1u64.to_le_bytes());
        assert_eq!(one(Dtype::U64, &x, &y), [(0, u64::MAX.to_string(), "1".into())]);
        let (x, y) = (0.1f64.to_le_bytes(), 2f64.to_le_bytes());
        assert_eq!(one(Dtype::F64, &x, &y), [(0, "1e-1".into(), "2e0".into())]);
    }

    #[test]
    fn few_are_shown_and_all_are_counted() {
        let a: Vec<u8> = (0..40u32).flat_map(u32::to_le_bytes).collect();
        let b: Vec<u8> = (0..40u32).flat_map(|i| (i + u32::from(i % 2 == 1)).to_le_bytes()).collect();
        let found = decode(Dtype::U32, &a, &b);
        let Elements::Known { first, differing: 20, total: 40 } = &found else { panic!("{found:?}") };
        assert_eq!(first.len(), SHOWN);
        assert_eq!(
            found.to_string(),
            "20 of 40 elements differ, first element 1: 1 (0x00000001) against 2 (0x00000002)"
        );
    }
}
