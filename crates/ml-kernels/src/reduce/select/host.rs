//! The host: SIMD over keys, threads over rows and over segments of long rows.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Order;
use crate::num::{key, unkey};
use crate::sabotage::Arm;

/// Elements that one task looks at.
const TASK: usize = 1 << 16;

/// Keys that are compared side by side.
const WIDTH: usize = 32;

/// Pairs that are kept side by side, of as many short rows as that makes.
const BLOCK: usize = 1024;

/// Largest k for which the best so far are kept in order.
const FEW: usize = 64;

/// A key and an index as one number that sorts by key, then by index. `ties` is what the index is combined with: 0, or
/// all ones where a sabotage arm wants the highest index first.
#[inline(always)]
// pathway: P53
fn pair(key: u32, index: usize, ties: u32) -> u64 {
    (key as u64) << 32 | (index as u32 ^ ties) as u64
}

fn ties(arm: Arm) -> u32 {
    if arm == Arm::TiesLast { u32::MAX } else { 0 }
}

/// Index and value of a pair.
#[inline(always)]
fn unpair(pair: u64, flip: u32, ties: u32) -> (u32, f32) {
    (pair as u32 ^ ties, unkey((pair >> 32) as u32 ^ flip))
}

pub(super) fn arg_rows(x: &[f32], rows: usize, cols: usize, order: Order, arm: Arm) -> (Vec<u32>, Vec<f32>) {
    let (flip, ties) = (order.flip(), ties(arm));
    let (mut index, mut value) = (vec![0u32; rows], vec![0.0f32; rows]);
    if cols > TASK {
        for (row, (index, value)) in x.chunks(cols).zip(index.iter_mut().zip(&mut value)) {
            let best = |(i, part): (usize, &[f32])| best_of(part, i * TASK, flip, ties);
            let best = row.par_chunks(TASK).enumerate().map(best).min().unwrap_or(u64::MAX);
            (*index, *value) = unpair(best, flip, ties);
        }
        return (index, value);
    }
    let per_task = TASK / cols;
    let tasks = index.par_chunks_mut(per_task).zip(value.par_chunks_mut(per_task)).zip(x.par_chunks(per_task * cols));
    tasks.for_each(|((index, value), x)| best_of_rows(x, cols, flip, ties, index, value));
    (index, value)
}

/// The best of each row.
#[multiversion(targets = "simd")]
fn best_of_rows(x: &[f32], cols: usize, flip: u32, ties: u32, index: &mut [u32], value: &mut [f32]) {
    let mut best = [0u64; BLOCK / 2];
    for ((x, index), value) in
        x.chunks(best.len() * cols).zip(index.chunks_mut(best.len())).zip(value.chunks_mut(best.len()))
    {
        let best = &mut best[..index.len()];
        match cols.next_power_of_two() {
            1 => short_rows::<1>(x, cols, flip, ties, best),
            2 => short_rows::<2>(x, cols, flip, ties, best),
            4 => short_rows::<4>(x, cols, flip, ties, best),
            8 => short_rows::<8>(x, cols, flip, ties, best),
            16 => short_rows::<16>(x, cols, flip, ties, best),
            _ if cols < WIDTH => short_rows::<WIDTH>(x, cols, flip, ties, best),
            _ if ties == 0 => long_rows::<false>(x, cols, flip, best),
            _ => long_rows::<true>(x, cols, flip, best),
        }
        for ((index, value), pair) in index.iter_mut().zip(value).zip(best) {
            (*index, *value) = unpair(*pair, flip, ties);
        }
    }
}

/// Rows of at most W elements: their pairs side by side, then minima of neighbours until one a row is left.
#[inline(always)]
fn short_rows<const W: usize>(x: &[f32], cols: usize, flip: u32, ties: u32, best: &mut [u64]) {
    let (mut pairs, mut half) = ([0u64; BLOCK], [0u64; BLOCK / 2]);
    for (block, best) in best.chunks_mut(BLOCK / W).enumerate() {
        let x = &x[block * (BLOCK / W) * cols..];
        for (r, pairs) in pairs[..best.len() * W].as_chunks_mut::<W>().0.iter_mut().enumerate() {
            let row = &x[r * cols..];
            if let Some(values) = row.first_chunk::<W>() {
                // Whole vectors, of which the elements of the next row are struck out.
                for i in 0..W {
                    pairs[i] = if i < cols { pair(key(values[i]) ^ flip, i, ties) } else { u64::MAX };
                }
            } else {
                *pairs = [u64::MAX; W];
                for (i, &value) in row[..cols].iter().enumerate() {
                    pairs[i] = pair(key(value) ^ flip, i, ties);
                }
            }
        }
        let mut left = best.len() * W;
        while left > best.len() {
            left /= 2;
            for (least, two) in half[..left].iter_mut().zip(pairs.as_chunks::<2>().0) {
                *least = two[0].min(two[1]);
            }
            pairs[..left].copy_from_slice(&half[..left]);
        }
        best.copy_from_slice(&pairs[..left]);
    }
}

/// Rows of at least WIDTH elements.
#[inline(always)]
fn long_rows<const LAST: bool>(x: &[f32], cols: usize, flip: u32, best: &mut [u64]) {
    for (row, best) in x.chunks(cols).zip(best) {
        *best = long_row::<LAST>(row, 0, flip);
    }
}

/// The least pair of `x`, at least WIDTH elements, of which the first has index `start`: each lane keeps the best of its
/// own, the first or the last of equal keys.
#[inline(always)]
fn long_row<const LAST: bool>(x: &[f32], start: usize, flip: u32) -> u64 {
    let (mut least, mut places) = ([u32::MAX; WIDTH], [0u32; WIDTH]);
    let mut see = |block: &[f32; WIDTH], at: usize| {
        for lane in 0..WIDTH {
            let key = key(block[lane]) ^ flip;
            let better = if LAST { key <= least[lane] } else { key < least[lane] };
            least[lane] = if better { key } else { least[lane] };
            places[lane] = if better { (at + lane) as u32 } else { places[lane] };
        }
    };
    for (b, block) in x.as_chunks::<WIDTH>().0.iter().enumerate() {
        see(block, start + b * WIDTH);
    }
    // The last block may overlap the one before: an element may be seen twice.
    if let Some(block) = x.last_chunk::<WIDTH>() {
        see(block, start + x.len() - WIDTH);
    }
    let ties = if LAST { u32::MAX } else { 0 };
    (0..WIDTH).map(|lane| pair(least[lane], places[lane] as usize, ties)).fold(u64::MAX, u64::min)
}

/// The least pair of a part of a row, whose first element has index `start`.
#[multiversion(targets = "simd")]
fn best_of(x: &[f32], start: usize, flip: u32, ties: u32) -> u64 {
    if x.len() < WIDTH {
        return x.iter().enumerate().map(|(i, &v)| pair(key(v) ^ flip, start + i, ties)).fold(u64::MAX, u64::min);
    }
    if ties == 0 { long_row::<false>(x, start, flip) } else { long_row::<true>(x, start, flip) }
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
    let candidates = |i: usize, pairs: &mut Vec<u64>| {
        let (row, start) = (i / segments, i % segments * segment);
        let part = &x[row * cols + start..row * cols + cols.min(start + segment)];
        if k <= FEW {
            least_in_order(part, start, k, flip, ties, pairs)
        } else {
            least_of_many(part, start, k, flip, ties, pairs)
        }
    };
    let mut index = vec![0u32; rows * k];
    let mut value = vec![0.0f32; rows * k];
    let per_task = (TASK / cols).max(1);
    let tasks = index.par_chunks_mut(per_task * k).zip(value.par_chunks_mut(per_task * k)).enumerate();
    tasks.for_each(|(t, (index, value))| {
        let mut pairs = Vec::new();
        for (i, (index, value)) in index.chunks_mut(k).zip(value.chunks_mut(k)).enumerate() {
            let row = t * per_task + i;
            pairs.clear();
            if segments == 1 {
                candidates(row, &mut pairs);
            } else {
                let parts: Vec<Vec<u64>> = (row * segments..(row + 1) * segments)
                    .into_par_iter()
                    .map(|i| {
                        let mut pairs = Vec::new();
                        candidates(i, &mut pairs);
                        pairs
                    })
                    .collect();
                pairs.extend(parts.into_iter().flatten());
            }
            if segments > 1 || k > FEW {
                keep_least(&mut pairs, k);
                pairs.sort_unstable();
            }
            for ((index, value), p) in index.iter_mut().zip(value).zip(&pairs) {
                (*index, *value) = unpair(*p, flip, ties);
            }
        }
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

/// The `k` least pairs of `x` (all, if there are fewer) in order; `start` is the index of its first element.
#[multiversion(targets = "simd")]
fn least_in_order(x: &[f32], start: usize, k: usize, flip: u32, ties: u32, best: &mut Vec<u64>) {
    let mut bound = u32::MAX;
    for (b, block) in x.chunks(WIDTH).enumerate() {
        if !block.iter().fold(false, |hit, &v| hit | (key(v) ^ flip <= bound)) {
            continue;
        }
        for (i, &v) in block.iter().enumerate() {
            let key = key(v) ^ flip;
            if key > bound {
                continue;
            }
            let p = pair(key, start + b * WIDTH + i, ties);
            if best.len() == k {
                if best.last().is_some_and(|last| p > *last) {
                    continue;
                }
                best.pop();
            }
            let at = best.iter().rposition(|q| *q < p).map_or(0, |i| i + 1);
            best.insert(at, p);
            if best.len() == k {
                bound = best.last().map_or(bound, |p| (p >> 32) as u32);
            }
        }
    }
}

/// The `k` least pairs of `x`, in any order, and perhaps some more; `start` is the index of its first element.
#[multiversion(targets = "simd")]
fn least_of_many(x: &[f32], start: usize, k: usize, flip: u32, ties: u32, pairs: &mut Vec<u64>) {
    let room = 2 * k;
    pairs.reserve(room + WIDTH);
    // No pair above the bound can be among the k least: k pairs at or below it were seen.
    let mut bound = u32::MAX;
    for (b, block) in x.chunks(WIDTH).enumerate() {
        if !block.iter().fold(false, |hit, &v| hit | (key(v) ^ flip <= bound)) {
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
