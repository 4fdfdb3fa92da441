//! The host: radix sort from the lowest digit up, stable because every pass is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::num::key;
use crate::sabotage::Arm;

/// Bits of a digit.
const DIGIT: u32 = 8;
const BINS: usize = 1 << DIGIT;

/// Elements a thread should have at least.
const MIN_BLOCK: usize = 1 << 14;

/// Below this length a comparison sort is faster than the passes.
const SMALL: usize = 512;

/// Sort keys of floats, and their positions.
pub(super) fn keys(x: &[f32]) -> (Vec<u32>, Vec<u32>) {
    (x.par_iter().with_min_len(4096).map(|v| key(*v)).collect(), (0..x.len() as u32).into_par_iter().collect())
}

pub(super) fn sort(keys: &[u32], values: &[u32], arm: Arm) -> (Vec<u32>, Vec<u32>) {
    let n = keys.len();
    // Reversing the input and then sorting stably leaves equal keys in descending order of position.
    let from = |i: usize| if arm == Arm::UnstableSort { n - 1 - i } else { i };
    let pair = |i: usize| u64::from(keys[from(i)]) << 32 | u64::from(values[from(i)]);
    let sorted: Vec<u64> = if n < SMALL {
        let mut pairs: Vec<u64> = (0..n).map(pair).collect();
        pairs.sort_by_key(|p| p >> 32);
        pairs
    } else {
        radix((0..n).into_par_iter().with_min_len(4096).map(|i| AtomicU64::new(pair(i))).collect())
    };
    let mut out = (Vec::new(), Vec::new());
    sorted.par_iter().with_min_len(4096).map(|p| ((p >> 32) as u32, *p as u32)).unzip_into_vecs(&mut out.0, &mut out.1);
    out
}

/// The pairs in stable order of their upper halves.
///
/// Atomics only let threads write to different places of one array: no two write to the same, and every pass ends
/// before the next reads.
fn radix(mut pairs: Vec<AtomicU64>) -> Vec<u64> {
    let n = pairs.len();
    let blocks = rayon::current_num_threads().min(n.div_ceil(MIN_BLOCK));
    let block_len = n.div_ceil(blocks);
    let mut spare: Vec<AtomicU64> = Vec::new();
    for shift in (32..64).step_by(DIGIT as usize) {
        let digit = |pair: u64| (pair >> shift) as usize & (BINS - 1);
        let mut counts: Vec<[u32; BINS]> = pairs
            .par_chunks(block_len)
            .map(|block| {
                let mut count = [0u32; BINS];
                block.iter().for_each(|p| count[digit(p.load(Relaxed))] += 1);
                count
            })
            .collect();
        if (0..BINS).any(|d| counts.iter().map(|c| c[d] as usize).sum::<usize>() == n) {
            continue;
        }
        // Counts become the first place of each (digit, block), in this order.
        let mut at = 0;
        for d in 0..BINS {
            for count in &mut counts {
                at += std::mem::replace(&mut count[d], at);
            }
        }
        if spare.is_empty() {
            spare = (0..n).into_par_iter().with_min_len(4096).map(|_| AtomicU64::new(0)).collect();
        }
        pairs.par_chunks(block_len).zip(&mut counts).for_each(|(block, place)| {
            for p in block {
                let p = p.load(Relaxed);
                let at = &mut place[digit(p)];
                spare[*at as usize].store(p, Relaxed);
                *at += 1;
            }
        });
        std::mem::swap(&mut pairs, &mut spare);
    }
    pairs.into_par_iter().with_min_len(4096).map(AtomicU64::into_inner).collect()
}
