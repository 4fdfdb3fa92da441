//! The host: SIMD over keys, threads over rows and over segments of long rows.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Order;
use crate::num::{key, unkey};
use crate::sabotage::Arm;

/// Elements that one task looks at.
const TASK: usize = 1 << 16;

/// Keys that are compared side by side.
const WIDTH: usize = 64;

/// A key and an index as one number that sorts by key, then by index. `ties` is what the index is combined with: 0, or
/// all ones where a sabotage arm wants the highest index first.
#[inline(always)]
fn pair(key: u32, index: usize, ties: u32) -> u64 {
    (key as u64) << 32 | (index as u32 ^ ties) as u64
}

fn ties(arm: Arm) -> u32 {
    if arm == Arm::TiesLast { u32::MAX } else { 0 }
}

/// Index and value of sorted pairs.
fn unpair(pairs: impl Iterator<Item = u64>, order: Order, ties: u32) -> (Vec<u32>, Vec<f32>) {
    pairs.map(|p| (p as u32 ^ ties, unkey((p >> 32) as u32 ^ order.flip()))).unzip()
}

pub(super) fn arg_rows(x: &[f32], rows: usize, cols: usize, order: Order, arm: Arm) -> (Vec<u32>, Vec<f32>) {
    let (flip, ties) = (order.flip(), ties(arm));
    let segments = cols.div_ceil(TASK);
    let per_task = (TASK / cols).max(1);
    let best = |i: usize| {
        let (row, start) = (i / segments, i % segments * TASK);
        let part = &x[row * cols + start..row * cols + cols.min(start + TASK)];
        let (key, at) = best_of(part, flip, ties != 0);
        pair(key, start + at, ties)
    };
    let mut pairs = vec![0u64; rows * segments];
    pairs.par_chunks_mut(per_task).enumerate().for_each(|(t, part)| {
        for (i, p) in part.iter_mut().enumerate() {
            *p = best(t * per_task + i);
        }
    });
    let least = pairs.chunks(segments).map(|row| row.iter().copied().fold(u64::MAX, u64::min));
    unpair(least, order, ties)
}

/// The least flipped key of `x`, which is not empty, and its first (or last) position.
#[multiversion(targets = "simd")]
fn best_of(x: &[f32], flip: u32, last: bool) -> (u32, usize) {
    let mut least = [u32::MAX; WIDTH];
    let (blocks, rest) = x.as_chunks::<WIDTH>();
    for block in blocks {
        for lane in 0..WIDTH {
            least[lane] = least[lane].min(key(block[lane]) ^ flip);
        }
    }
    for (lane, &value) in rest.iter().enumerate() {
        least[lane] = least[lane].min(key(value) ^ flip);
    }
    let best = least.iter().copied().fold(u32::MAX, u32::min);
    let holds = |v: &f32| key(*v) ^ flip == best;
    let at = if last { x.iter().rposition(holds) } else { first_position(x, flip, best) };
    (best, at.unwrap_or(0))
}

/// The first position whose flipped key is `wanted`.
#[inline(always)]
fn first_position(x: &[f32], flip: u32, wanted: u32) -> Option<usize> {
    let (blocks, _) = x.as_chunks::<WIDTH>();
    let hit = |block: &[f32; WIDTH]| block.iter().fold(false, |hit, &v| hit | (key(v) ^ flip == wanted));
    let skip = blocks.iter().position(hit).unwrap_or(blocks.len()) * WIDTH;
    x[skip..].iter().position(|&v| key(v) ^ flip == wanted).map(|i| skip + i)
}

pub(super) fn top_k_rows(
    x: &[f32],
    rows: usize,
    cols: usize,
    k: usize,
    order: Order,
    arm: Arm,
) -> (Vec<u32>, Vec<f32>) {
    let (flip, ties) = (order.flip(), ties(arm));
    // A long row is cut into segments of at least 16 k, whose candidates are few beside them.
    let segment = TASK.max(16 * k).min(cols);
    let segments = cols.div_ceil(segment);
    let candidates = |i: usize| {
        let (row, start) = (i / segments, i % segments * segment);
        let part = &x[row * cols + start..row * cols + cols.min(start + segment)];
        let mut pairs = Vec::new();
        least_pairs(part, start, k, flip, ties, &mut pairs);
        pairs
    };
    let row_pairs = |row: usize| {
        let mut pairs: Vec<u64> = if segments == 1 {
            candidates(row)
        } else {
            (row * segments..(row + 1) * segments).into_par_iter().flat_map_iter(candidates).collect()
        };
        keep_least(&mut pairs, k);
        pairs.sort_unstable();
        pairs
    };
    let mut index = vec![0u32; rows * k];
    let mut value = vec![0.0f32; rows * k];
    index.par_chunks_mut(k).zip(value.par_chunks_mut(k)).enumerate().for_each(|(row, (index, value))| {
        let (i, v) = unpair(row_pairs(row).into_iter(), order, ties);
        index.copy_from_slice(&i);
        value.copy_from_slice(&v);
    });
    (index, value)
}

/// Leaves the `k` least pairs, in any order.
fn keep_least(pairs: &mut Vec<u64>, k: usize) {
    if pairs.len() > k {
        pairs.select_nth_unstable(k - 1);
        pairs.truncate(k);
    }
}

/// The `k` least pairs of `x`, in any order, and perhaps some more; `start` is the index of its first element.
#[multiversion(targets = "simd")]
fn least_pairs(x: &[f32], start: usize, k: usize, flip: u32, ties: u32, pairs: &mut Vec<u64>) {
    let room = (2 * k).max(256);
    pairs.reserve(room + WIDTH);
    // No pair above the bound can be among the k least: k pairs at or below it were seen.
    let mut bound = u32::MAX;
    for (b, block) in x.chunks(WIDTH).enumerate() {
        let hit = block.iter().fold(false, |hit, &v| hit | (key(v) ^ flip <= bound));
        if !hit {
            continue;
        }
        for (i, &v) in block.iter().enumerate() {
            let key = key(v) ^ flip;
            if key <= bound {
                pairs.push(pair(key, start + b * WIDTH + i, ties));
            }
        }
        if pairs.len() >= room {
            keep_least(pairs, k);
            bound = pairs.last().map_or(bound, |p| (p >> 32) as u32);
        }
    }
}
