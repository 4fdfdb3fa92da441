//! Distances on the host: the engine's tiles, and lists of the nearest that grow tile by tile.

use std::ops::Range;

use multiversion::multiversion;
use rayon::prelude::*;

use crate::contraction::host::{Engine, PACK_LIMIT, lanes_over_first, matrix, ranges, with_workspace};
use crate::contraction::{Rule, Side, Term};
use crate::num::order;
use crate::sabotage::Arm;

/// All squared distances, n x m, row-major.
pub(crate) fn squared_distances(arm: Arm, x: &[f32], y: &[f32], [n, m, d]: [usize; 3]) -> Vec<f32> {
    let mut out = vec![0.0; n * m];
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
                list.give(&mut index, &mut distance);
            }
        }
    }
    (index, distance)
}

/// One candidate, in the order of clause `order`.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    key: u32,
    /// The index, or its complement where a sabotaged device lets ties go to the highest.
    tie: u32,
}

/// After every candidate.
const NOBODY: Candidate = Candidate { key: u32::MAX, tie: u32::MAX };

/// The `k` first candidates of each of some rows of x, sorted.
struct Nearest {
    k: usize,
    best: Vec<Candidate>,
    /// The key of each row's last candidate: whoever has a greater one need not be looked at.
    worst: Vec<u32>,
    flip: u32,
}

impl Nearest {
    fn new(rows: usize, k: usize, arm: Arm) -> Self {
        let flip = if arm == Arm::TiesLast { u32::MAX } else { 0 };
        Nearest { k, best: vec![NOBODY; rows * k], worst: vec![NOBODY.key; rows], flip }
    }

    fn offer(&mut self, row: usize, c: Candidate) {
        let best = &mut self.best[row * self.k..(row + 1) * self.k];
        let place = best.partition_point(|b| order::less(b.key, b.tie, c.key, c.tie));
        if place < self.k {
            best.copy_within(place..self.k - 1, place + 1);
            best[place] = c;
            self.worst[row] = best[self.k - 1].key;
        }
    }

    /// A tile whose rows are the rows `ys` of y and whose columns are this list's rows.
    fn offer_across(&mut self, ys: Range<usize>, tile: &[f32], ld: usize) {
        for (y, distances) in ys.zip(tile.chunks_exact(ld)) {
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
                if any_within(part, &[self.worst[row]; SCAN][..part.len()]) {
                    for (j, distance) in part.iter().enumerate() {
                        self.consider(row, ys.start + i * SCAN + j, *distance);
                    }
                }
            }
        }
    }

    fn consider(&mut self, row: usize, y: usize, value: f32) {
        let key = order::key(value);
        if key <= self.worst[row] {
            self.offer(row, Candidate { key, tie: y as u32 ^ self.flip });
        }
    }

    /// Takes over what `other` found for the same rows elsewhere in y.
    fn merge(&mut self, other: &Nearest) {
        for (i, c) in other.best.iter().enumerate() {
            self.offer(i / self.k, *c);
        }
    }

    fn give(&self, index: &mut Vec<u32>, distance: &mut Vec<f32>) {
        index.extend(self.best.iter().map(|c| c.tie ^ self.flip));
        distance.extend(self.best.iter().map(|c| order::unkey(c.key)));
    }
}

/// Distances that are looked at together before one is looked at alone.
const SCAN: usize = 32;

/// Whether any distance has a key not above its bound.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
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
