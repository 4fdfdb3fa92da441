//! The host: a search without branches in each column's keys, sixteen rows at once.

use multiversion::multiversion;
use rayon::prelude::*;

use super::{BYTE_BINS, BinRule};
use crate::memory;
use crate::num::key;
use crate::sabotage::Arm;
use crate::trees::value::{MISSING, category_value, number_value, zero_bound};

/// Rows that are searched for at once.
const LANES: usize = 16;

/// Numbers of a block of rows: it stays in the cache of a core while its columns are visited.
const BLOCK: usize = 1 << 13;

/// A type that holds bins.
pub(super) trait Bin: Copy + Send + Sync + bytemuck::Zeroable {
    /// `bin`, which is within the type.
    fn of(bin: u32) -> Self;
}

impl Bin for u8 {
    fn of(bin: u32) -> u8 {
        bin as u8
    }
}

impl Bin for u16 {
    fn of(bin: u32) -> u16 {
        bin as u16
    }
}

/// A rule, made ready for searches.
enum Table<'a> {
    /// Keys of up to 255 edges, the rest above every key; `steps` halvings find the place.
    Few {
        keys: Box<[u32; BYTE_BINS]>,
        steps: u32,
    },
    /// The same for more edges; 2^steps keys.
    Many {
        keys: Vec<u32>,
        steps: u32,
    },
    Category {
        codes: &'a [u32],
        others: u32,
    },
}

impl Table<'_> {
    fn new(rule: &BinRule) -> Table<'_> {
        match rule {
            BinRule::Number { edges } => {
                // The least count of halvings with edges < 2^steps.
                let steps = usize::BITS - edges.len().leading_zeros();
                if edges.len() < BYTE_BINS {
                    let mut keys = Box::new([u32::MAX; BYTE_BINS]);
                    keys.iter_mut().zip(edges.iter()).for_each(|(to, edge)| *to = key(*edge));
                    Table::Few { keys, steps }
                } else {
                    let mut keys = vec![u32::MAX; 1 << steps];
                    keys.iter_mut().zip(edges.iter()).for_each(|(to, edge)| *to = key(*edge));
                    Table::Many { keys, steps }
                }
            }
            BinRule::Category { codes } => Table::Category { codes, others: rule.n_bins() - 1 },
        }
    }

    fn bins(&self, bits: &[u32; LANES], zero: u32) -> [u32; LANES] {
        match self {
            Table::Few { keys, steps } => few(keys, *steps, bits, zero),
            Table::Many { keys, steps } => many(keys, *steps, bits, zero),
            Table::Category { codes, others } => bits.map(|bits| match category_value(bits, zero) {
                MISSING => 0,
                category => codes.get(category as usize).map_or(*others, |code| code + 1),
            }),
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn few(keys: &[u32; BYTE_BINS], steps: u32, bits: &[u32; LANES], zero: u32) -> [u32; LANES] {
    let values = bits.map(|bits| number_value(bits, zero));
    let mut below = [0u32; LANES];
    for step in (0..steps).rev() {
        for (below, value) in below.iter_mut().zip(values) {
            let last = *below + (1 << step) - 1;
            *below += u32::from(keys[last as u8 as usize] < value) << step;
        }
    }
    std::array::from_fn(|lane| if values[lane] == MISSING { 0 } else { below[lane] + 1 })
}

fn many(keys: &[u32], steps: u32, bits: &[u32; LANES], zero: u32) -> [u32; LANES] {
    let values = bits.map(|bits| number_value(bits, zero));
    let mut below = [0u32; LANES];
    for step in (0..steps).rev() {
        for (below, value) in below.iter_mut().zip(values) {
            let last = *below + (1 << step) - 1;
            *below += u32::from(keys[last as usize] < value) << step;
        }
    }
    std::array::from_fn(|lane| if values[lane] == MISSING { 0 } else { below[lane] + 1 })
}

/// The bins of `x`, shape (rows, rules).
// pathway: P232
pub(super) fn bin_rows<T: Bin>(x: &[f32], rules: &[BinRule], arm: Arm) -> Vec<T> {
    let mut out = memory::zeros(x.len());
    let cols = rules.len();
    if cols == 0 {
        return out;
    }
    let zero = zero_bound(arm);
    let tables: Vec<Table<'_>> = rules.iter().map(Table::new).collect();
    let block = (BLOCK / cols).max(1).next_multiple_of(LANES) * cols;
    out.par_chunks_mut(block).zip(x.par_chunks(block)).for_each(|(out, x)| {
        let rows = x.len() / cols;
        for (col, table) in tables.iter().enumerate() {
            for first in (0..rows).step_by(LANES) {
                let n = LANES.min(rows - first);
                let mut bits = [0; LANES];
                for (lane, bits) in bits[..n].iter_mut().enumerate() {
                    *bits = x[(first + lane) * cols + col].to_bits();
                }
                for (lane, bin) in table.bins(&bits, zero)[..n].iter().enumerate() {
                    out[(first + lane) * cols + col] = T::of(*bin);
                }
            }
        }
    });
    out
}
