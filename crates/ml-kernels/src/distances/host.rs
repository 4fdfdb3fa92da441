//! Distances on the host: the engine's tiles, and lists of the nearest that grow tile by tile.

use std::ops::Range;
use std::sync::Arc;

use multiversion::multiversion;
use rayon::prelude::*;

use crate::contraction::host::{Engine, PACK_LIMIT, Ready, lanes_over_first, matrix, ranges, with_workspace};
use crate::contraction::{Rule, Side, Term};
use crate::memory;
use crate::num::order;
use crate::sabotage::Arm;
use crate::scatter_add::host as scatter_add;

/// All squared distances, n x m, row-major.
// pathway: P70
pub(crate) fn squared_distances(arm: Arm, x: &[f32], y: &[f32], [n, m, d]: [usize; 3]) -> Vec<f32> {
    let mut out = memory::zeros(n * m);
    if !out.is_empty() && d > 0 {
        let rule = Rule::new(Term::SquaredDifference, arm);
        matrix(rule, Side::rows(x, n, d), Side::rows(y, m, d), &mut out);
    }
    out
}

/// The `k` nearest rows of `y` for each row of `x`: indices and squared distances, n x k.
pub(crate) fn k_nearest(arm: Arm, x: &[f32], y: &[f32], dims: [usize; 3], k: usize) -> (Vec<u32>, Vec<f32>) {
    k_nearest_within(PACK_LIMIT, arm, x, y, dims, k)
}

// pathway: P36
fn k_nearest_within(
    pack_limit: usize,
    arm: Arm,
    x: &[f32],
    y: &[f32],
    [n, m, d]: [usize; 3],
    k: usize,
) -> (Vec<u32>, Vec<f32>) {
    let (x, y) = (Side::rows(x, n, d), Side::rows(y, m, d));
    let rule = Rule::new(Term::SquaredDifference, arm);
    let x_lanes = lanes_over_first(rule.term, n, m);
    let (rows, lanes) = if x_lanes { (y, x) } else { (x, y) };
    let mut engine = Engine::new(rule, rows, lanes, pack_limit);
    let wanted = 4 * rayon::current_num_threads();
    let (row_block, lane_block) = engine.blocks(1);
    let (mut x_block, y_block) = if x_lanes { (lane_block, row_block) } else { (row_block, lane_block) };
    while n.div_ceil(x_block) < wanted && x_block >= 4 * engine.step(x_lanes) {
        x_block = (x_block / 2).next_multiple_of(engine.step(x_lanes));
    }
    // Where x alone keeps too few threads busy, several tasks share its rows, each with its own part of y.
    let parts = (wanted / n.div_ceil(x_block).max(1)).clamp(1, m.div_ceil(y_block).max(1));
    let (share_x, share_y) = (engine.shares(m, y_block, x_block), engine.shares(n, x_block, y_block));
    let ready = |engine: &mut Engine<'_>, is_x: bool, range: Range<usize>| {
        if is_x == x_lanes { engine.ready_lanes(range) } else { engine.ready_rows(range) }
    };
    let (mut index, mut distance) = (Vec::with_capacity(n * k), Vec::with_capacity(n * k));
    for x_chunk in ranges(0..n, if share_x { engine.chunk(x_block) } else { n }) {
        if share_x {
            ready(&mut engine, true, x_chunk.clone());
        }
        let x_blocks = ranges(x_chunk, x_block);
        let mut lists: Vec<Nearest> =
            (0..x_blocks.len() * parts).map(|task| Nearest::new(x_blocks[task / parts].len(), k, arm)).collect();
        for y_chunk in ranges(0..m, if share_y { engine.chunk(y_block) } else { m }) {
            if share_y {
                ready(&mut engine, false, y_chunk.clone());
            }
            let y_blocks = ranges(y_chunk, y_block);
            lists.par_iter_mut().enumerate().for_each(|(task, list)| {
                let xs = &x_blocks[task / parts];
                let part = task % parts;
                for ys in &y_blocks[part * y_blocks.len() / parts..(part + 1) * y_blocks.len() / parts] {
                    with_workspace(|ws| {
                        if x_lanes {
                            let (tile, ld) = engine.tile(ws, ys.clone(), xs.clone());
                            list.offer_across(ys.clone(), tile, ld);
                        } else {
                            let (tile, ld) = engine.tile(ws, xs.clone(), ys.clone());
                            list.offer_along(ys.clone(), tile, ld);
                        }
                    });
                }
            });
        }
        for parts in lists.chunks_mut(parts) {
            if let Some((list, others)) = parts.split_first_mut() {
                others.iter().for_each(|other| list.merge(other));
                let (i, d): (Vec<u32>, Vec<f32>) = list.found().unzip();
                index.extend(i);
                distance.extend(d);
            }
        }
    }
    (index, distance)
}

/// Most rows of `y` for which [`Steps`] is worth its while: a tile of them stays in the second-level cache.
const FUSED_ROWS: usize = 1024;

/// Most sums of a table that a task of [`Steps`] keeps for itself.
const FUSED_CELLS: usize = 1 << 20;

/// Sums up to which tables are cheap enough to have several for each thread.
const FEW_CELLS: usize = 1 << 15;

/// Elements of `x` up to which it is kept in packed form from step to step; beyond, a block of it is read from memory
/// either way.
const KEPT: usize = 1 << 22;

/// Searches of the same rows among others, with sums: a block of x goes through all of it while it is in the cache.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    arm: Arm,
    shift: i32,
    packed: Option<Arc<Ready>>,
}

impl Steps {
    /// For the rows of `x`, n x d, whose sums have this shift.
    pub(super) fn new(arm: Arm, x: &[f32], [n, d]: [usize; 2], shift: i32) -> Self {
        let packed = (x.len() <= KEPT).then(|| {
            let mut engine = Self::engine(arm, x, &[], [n, 0, d]);
            engine.ready_lanes(0..n);
            engine.share_lanes()
        });
        Steps { arm, shift, packed: packed.flatten() }
    }

    /// Whether [`Steps::run`] takes these dimensions and is faster than its two parts.
    pub(super) fn fit([n, m, d]: [usize; 3]) -> bool {
        let cells = m.saturating_mul(d);
        let shared = n.saturating_mul(d) / (2 * rayon::current_num_threads());
        cells > 0 && m <= FUSED_ROWS && cells <= FUSED_CELLS.min(shared)
    }

    fn engine<'a>(arm: Arm, x: &'a [f32], y: &'a [f32], [n, m, d]: [usize; 3]) -> Engine<'a> {
        let rule = Rule::new(Term::SquaredDifference, arm);
        Engine::new(rule, Side::rows(y, m, d), Side::rows(x, n, d), PACK_LIMIT)
    }

    /// The nearest row of `y` for each row of `x`, its squared distance, and the sums of the rows of `x` by nearest row.
    pub(super) fn run(&self, x: &[f32], y: &[f32], [n, m, d]: [usize; 3]) -> (Vec<u32>, Vec<f32>, Vec<f32>) {
        let mut engine = Self::engine(self.arm, x, y, [n, m, d]);
        engine.ready_rows(0..m);
        if let Some(packed) = &self.packed {
            engine.take_lanes(Arc::clone(packed));
        }
        let engine = &engine;
        let block = 2 * engine.step(true);
        let cells = m * d;
        let parts = rayon::current_num_threads() * if cells <= FEW_CELLS { 4 } else { 1 };
        let part_rows = n.div_ceil(block).div_ceil(parts) * block;
        let (mut index, mut distance) = (vec![0; n], vec![0.0; n]);
        let tables: Vec<Vec<i64>> = index
            .par_chunks_mut(part_rows)
            .zip(distance.par_chunks_mut(part_rows))
            .zip(x.par_chunks(part_rows * d))
            .enumerate()
            .map(|(part, ((index, distance), x))| {
                let mut table = vec![0; cells];
                let blocks = index.chunks_mut(block).zip(distance.chunks_mut(block)).zip(x.chunks(block * d));
                for (b, ((index, distance), x)) in blocks.enumerate() {
                    let first = part * part_rows + b * block;
                    let mut list = Nearest::new(index.len(), 1, self.arm);
                    with_workspace(|ws| {
                        let (tile, ld) = engine.tile(ws, 0..m, first..first + index.len());
                        list.offer_across(0..m, tile, ld);
                    });
                    for ((index, distance), found) in index.iter_mut().zip(distance).zip(list.found()) {
                        (*index, *distance) = found;
                    }
                    scatter_add::add_rows(&mut table, 0, x, index, d, scatter_add::scale(self.shift));
                }
                table
            })
            .collect();
        (index, distance, scatter_add::total(&tables, cells, self.shift))
    }
}

/// The `k` first candidates of each of some rows of x, sorted by clause `order`.
struct Nearest {
    k: usize,
    keys: Vec<u32>,
    /// The index, or its complement where a sabotaged device lets ties go to the highest.
    ties: Vec<u32>,
    /// The key of each row's last candidate: whoever has a greater one need not be looked at. Not kept for `k` = 1, where
    /// it is the only one.
    worst: Vec<u32>,
    flip: u32,
}

impl Nearest {
    fn new(rows: usize, k: usize, arm: Arm) -> Self {
        let flip = if arm == Arm::TiesLast { u32::MAX } else { 0 };
        // After every candidate.
        let nobody = || vec![u32::MAX; rows * k];
        Nearest { k, keys: nobody(), ties: nobody(), worst: vec![u32::MAX; if k == 1 { 0 } else { rows }], flip }
    }

    fn offer(&mut self, row: usize, key: u32, tie: u32) {
        let list = row * self.k..(row + 1) * self.k;
        let (keys, ties) = (&mut self.keys[list.clone()], &mut self.ties[list]);
        let before = |(k, t): (&u32, &u32)| order::less(*k, *t, key, tie);
        let place = keys.iter().zip(&*ties).take_while(|pair| before(*pair)).count();
        if place < self.k {
            keys.copy_within(place..self.k - 1, place + 1);
            ties.copy_within(place..self.k - 1, place + 1);
            (keys[place], ties[place]) = (key, tie);
            if let Some(worst) = self.worst.get_mut(row) {
                *worst = keys[self.k - 1];
            }
        }
    }

    /// A tile whose rows are the rows `ys` of y and whose columns are this list's rows.
    fn offer_across(&mut self, ys: Range<usize>, tile: &[f32], ld: usize) {
        for (y, distances) in ys.zip(tile.chunks_exact(ld)) {
            if self.k == 1 {
                first(distances, y as u32 ^ self.flip, &mut self.keys, &mut self.ties);
                continue;
            }
            for start in (0..self.worst.len()).step_by(SCAN) {
                let end = (start + SCAN).min(self.worst.len());
                if any_within(&distances[start..end], &self.worst[start..end]) {
                    for (row, distance) in (start..end).zip(&distances[start..end]) {
                        self.consider(row, y, *distance);
                    }
                }
            }
        }
    }

    /// A tile whose rows are this list's rows and whose columns are the rows `ys` of y.
    fn offer_along(&mut self, ys: Range<usize>, tile: &[f32], ld: usize) {
        for (row, distances) in tile.chunks_exact(ld).enumerate() {
            for (i, part) in distances[..ys.len()].chunks(SCAN).enumerate() {
                if any_within(part, &[self.bound(row); SCAN][..part.len()]) {
                    for (j, distance) in part.iter().enumerate() {
                        self.consider(row, ys.start + i * SCAN + j, *distance);
                    }
                }
            }
        }
    }

    /// The key of the row's last candidate.
    fn bound(&self, row: usize) -> u32 {
        self.keys[row * self.k + self.k - 1]
    }

    fn consider(&mut self, row: usize, y: usize, value: f32) {
        let key = order::key(value);
        if key <= self.bound(row) {
            self.offer(row, key, y as u32 ^ self.flip);
        }
    }

    /// Takes over what `other` found for the same rows elsewhere in y.
    fn merge(&mut self, other: &Nearest) {
        for (i, (key, tie)) in other.keys.iter().zip(&other.ties).enumerate() {
            self.offer(i / self.k, *key, *tie);
        }
    }

    /// Indices and distances of all candidates, row by row.
    fn found(&self) -> impl Iterator<Item = (u32, f32)> {
        self.keys.iter().zip(&self.ties).map(|(key, tie)| (tie ^ self.flip, order::unkey(*key)))
    }
}

/// Offers one candidate to each row, whose first is all that is kept.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn first(distances: &[f32], tie: u32, keys: &mut [u32], ties: &mut [u32]) {
    for ((distance, key), best) in distances.iter().zip(keys).zip(ties) {
        let new = order::key(*distance);
        let wins = (new < *key) | ((new == *key) & (tie < *best));
        *key = if wins { new } else { *key };
        *best = if wins { tie } else { *best };
    }
}

/// Distances that are looked at together before one is looked at alone.
const SCAN: usize = 32;

/// Whether any distance has a key not above its bound.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn any_within(distances: &[f32], bounds: &[u32]) -> bool {
    let mut any = false;
    for (d, bound) in distances.iter().zip(bounds) {
        // A distance is not negative, so its own bits sort as its key does; a NaN sorts last among them.
        any |= (d.to_bits() | 0x8000_0000) <= *bound;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contraction::testing::Data;
    use crate::distances::reference;

    /// Operands too large to be packed whole are packed in pieces, or a leaf at a time; neither shows.
    #[test]
    fn packing_in_pieces_changes_nothing() {
        for dims in [[1300, 700, 3], [3, 2000, 5], [70, 150, 1030]] {
            let [n, m, d] = dims;
            let (x, y) = (Data::Ties.values(n * d, 15), Data::Ties.values(m * d, 16));
            let wanted = reference::k_nearest(&x, &y, dims, 3);
            for pack_limit in [1, 2000, 100_000] {
                let got = k_nearest_within(pack_limit, Arm::None, &x, &y, dims, 3);
                assert!(got == wanted, "{dims:?} within {pack_limit}");
            }
        }
    }
}
