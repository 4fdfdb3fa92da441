//! The host: radix sort from the lowest digit up, stable because every pass is.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

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

/// Keys and values that all threads write to, no two to the same place.
struct Pairs {
    keys: Vec<AtomicU32>,
    values: Vec<AtomicU32>,
}

impl Pairs {
    fn zeros(n: usize) -> Self {
        // Collecting reuses the zeroed memory as it is: its pages are first touched by the threads that scatter.
        let zeros = || vec![0u32; n].into_iter().map(AtomicU32::new).collect();
        Pairs { keys: zeros(), values: zeros() }
    }

    fn get(&self, i: usize) -> (u32, u32) {
        (self.keys[i].load(Relaxed), self.values[i].load(Relaxed))
    }

    fn into_inner(self) -> (Vec<u32>, Vec<u32>) {
        let plain = |v: Vec<AtomicU32>| v.into_iter().map(AtomicU32::into_inner).collect();
        (plain(self.keys), plain(self.values))
    }
}

/// The pairs in stable order of their keys.
pub(crate) fn sort(keys: &[u32], values: &[u32], arm: Arm) -> (Vec<u32>, Vec<u32>) {
    match arm {
        // Reversing the input and then sorting stably leaves equal keys in descending order of position.
        Arm::UnstableSort => sort_pairs(keys.len(), |i| (keys[keys.len() - 1 - i], values[keys.len() - 1 - i])),
        _ => sort_pairs(keys.len(), |i| (keys[i], values[i])),
    }
}

fn sort_pairs(n: usize, pair: impl Fn(usize) -> (u32, u32) + Sync) -> (Vec<u32>, Vec<u32>) {
    if n < SMALL {
        let mut pairs: Vec<(u32, u32)> = (0..n).map(pair).collect();
        pairs.sort_by_key(|p| p.0);
        return pairs.into_iter().unzip();
    }
    let mut sorted: Option<Pairs> = None;
    let mut spare: Option<Pairs> = None;
    for shift in (0..u32::BITS).step_by(DIGIT as usize) {
        let to = spare.take().unwrap_or_else(|| Pairs::zeros(n));
        let moved = match &sorted {
            None => pass(n, &pair, &to, shift),
            Some(from) => pass(n, |i| from.get(i), &to, shift),
        };
        spare = if moved { sorted.replace(to) } else { Some(to) };
    }
    match sorted {
        Some(sorted) => sorted.into_inner(),
        None => (0..n).map(pair).unzip(),
    }
}

/// Moves `n` pairs to `to` in stable order of their digit at `shift`; does nothing and says so if all have the same.
// pathway: P56
fn pass(n: usize, pair: impl Fn(usize) -> (u32, u32) + Sync, to: &Pairs, shift: u32) -> bool {
    let blocks = rayon::current_num_threads().min(n.div_ceil(MIN_BLOCK));
    let block_len = n.div_ceil(blocks);
    let block = |b: usize| (b * block_len).min(n)..((b + 1) * block_len).min(n);
    let digit = |key: u32| (key >> shift) as usize & (BINS - 1);
    let mut counts: Vec<[u32; BINS]> = (0..blocks)
        .into_par_iter()
        .map(|b| {
            let mut count = [0; BINS];
            block(b).for_each(|i| count[digit(pair(i).0)] += 1);
            count
        })
        .collect();
    let first_digit = digit(pair(0).0);
    if counts.iter().map(|count| count[first_digit] as usize).sum::<usize>() == n {
        return false;
    }
    // Counts become the first place of each (digit, block), in this order.
    let mut at = 0;
    for d in 0..BINS {
        for count in &mut counts {
            at += std::mem::replace(&mut count[d], at);
        }
    }
    counts.par_iter_mut().enumerate().for_each(|(b, places)| {
        for i in block(b) {
            let (key, value) = pair(i);
            let place = &mut places[digit(key)];
            to.keys[*place as usize].store(key, Relaxed);
            to.values[*place as usize].store(value, Relaxed);
            *place += 1;
        }
    });
    true
}
