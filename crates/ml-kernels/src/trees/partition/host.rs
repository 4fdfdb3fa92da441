//! The host: the rows of all nodes that split are cut into blocks, each block is parted into memory of its own, and what
//! went left and right is put together in order.

use std::ops::Range;

use rayon::prelude::*;

use super::SplitAt;
use super::reference::goes_left;
use crate::num::{Pins, add, add_exact_range};

/// Rows of a block.
const BLOCK: usize = 1 << 13;

/// Fewer rows than this are not worth waking a thread for.
const FEW: usize = 1 << 13;

/// Rows of a thread's part of the scores.
const SCORES: usize = 1 << 13;

/// A part of the rows of a node that splits.
struct Block<'a> {
    rows: Range<usize>,
    /// The column asked, and for each of its bins whether it goes left.
    feature: usize,
    left: &'a [u8],
}

/// Parts `rows`, which hold the nodes between `starts`, in place; the new starts. `n_bins` tells the bins of a column.
pub(super) fn partition<T: Copy + Into<u32> + Send + Sync>(
    rows: &mut [u32],
    spare: &mut Vec<u32>,
    starts: &[usize],
    splits: &[Option<SplitAt>],
    (bins, cols): (&[T], usize),
    n_bins: impl Fn(usize) -> u32,
    install: impl FnOnce(&mut (dyn FnMut() + Send)),
) -> Vec<usize> {
    let sides: Vec<Vec<u8>> = splits
        .iter()
        .flatten()
        .map(|split| (0..n_bins(split.feature() as usize)).map(|bin| u8::from(goes_left(split, bin))).collect())
        .collect();
    // The blocks of each node that splits, node by node; where each node's begin.
    let (mut blocks, mut firsts, mut total) = (Vec::new(), vec![0], 0);
    for ((split, node), left) in splits.iter().zip(starts.windows(2)).filter(|(s, _)| s.is_some()).zip(&sides) {
        let feature = split.as_ref().map_or(0, SplitAt::feature) as usize;
        for start in (node[0]..node[1]).step_by(BLOCK) {
            blocks.push(Block { rows: start..(start + BLOCK).min(node[1]), feature, left });
        }
        firsts.push(blocks.len());
        total += node[1] - node[0];
    }
    if spare.len() < total {
        *spare = crate::memory::zeros(total);
    }
    let mut lefts = Vec::new();
    let mut work = || {
        let parallel = total >= FEW;
        lefts = part_blocks(rows, spare, &blocks, bins, cols, parallel);
        put_together(rows, spare, &blocks, &firsts, &lefts, parallel);
    };
    if total >= FEW {
        install(&mut work)
    } else {
        work()
    }
    let mut out = vec![0];
    let mut parted = firsts.windows(2);
    for (split, node) in splits.iter().zip(starts.windows(2)) {
        if split.is_some()
            && let Some(of) = parted.next()
        {
            out.push(node[0] + lefts[of[0]..of[1]].iter().sum::<usize>());
        }
        out.push(node[1]);
    }
    out
}

/// Parts each block into `spare`: what goes left from the front on, what goes right from the back on, backwards. How many
/// of each block go left.
fn part_blocks<T: Copy + Into<u32> + Send + Sync>(
    rows: &[u32],
    spare: &mut [u32],
    blocks: &[Block<'_>],
    bins: &[T],
    cols: usize,
    parallel: bool,
) -> Vec<usize> {
    let mut rest = spare;
    let mut jobs = Vec::with_capacity(blocks.len());
    for block in blocks {
        let (to, behind) = rest.split_at_mut(block.rows.len());
        rest = behind;
        jobs.push((block, to));
    }
    let part = |(block, to): (&Block<'_>, &mut [u32])| {
        let (mut front, mut back) = (0, to.len());
        for row in &rows[block.rows.clone()] {
            let bin: u32 = bins[*row as usize * cols + block.feature].into();
            let left = usize::from(block.left[bin as usize]);
            // Both places are free; the one that is not meant is written again later, or is the same.
            to[front] = *row;
            to[back - 1] = *row;
            front += left;
            back -= 1 - left;
        }
        front
    };
    if parallel { jobs.into_par_iter().map(part).collect() } else { jobs.into_iter().map(part).collect() }
}

/// Puts the parts of each node's blocks back, what went left first.
fn put_together(
    rows: &mut [u32],
    spare: &[u32],
    blocks: &[Block<'_>],
    firsts: &[usize],
    lefts: &[usize],
    parallel: bool,
) {
    let mut jobs: Vec<(&mut [u32], &[u32], bool)> = Vec::with_capacity(2 * blocks.len());
    let (mut rest, mut at, mut from) = (rows, 0, 0);
    for of in firsts.windows(2).map(|pair| pair[0]..pair[1]) {
        let Some(start) = blocks[of.clone()].first().map(|block| block.rows.start) else { continue };
        rest = rest.split_at_mut(start - at).1;
        at = start;
        let begin = from;
        for right in [false, true] {
            from = begin;
            for (block, left) in blocks[of.clone()].iter().zip(&lefts[of.clone()]) {
                let whole = &spare[from..from + block.rows.len()];
                from += whole.len();
                let part = if right { &whole[*left..] } else { &whole[..*left] };
                let (to, behind) = rest.split_at_mut(part.len());
                rest = behind;
                at += part.len();
                jobs.push((to, part, right));
            }
        }
    }
    let put = |(to, part, backwards): (&mut [u32], &[u32], bool)| {
        if backwards {
            to.iter_mut().zip(part.iter().rev()).for_each(|(to, row)| *to = *row);
        } else {
            to.copy_from_slice(part);
        }
    };
    if parallel { jobs.into_par_iter().for_each(put) } else { jobs.into_iter().for_each(put) }
}

/// Adds each node's value to output `output` of its rows; subnormal sums stay if `keep`.
pub(super) fn add_leaf_values(
    scores: &mut [f32],
    (outputs, output): (usize, usize),
    rows: &[u32],
    starts: &[usize],
    values: &[f32],
    keep: bool,
) {
    let sum = if keep { add_exact_range } else { add };
    // A node's rows ascend: those of one part of the scores stand together.
    scores.par_chunks_mut(SCORES * outputs).enumerate().for_each(|(part, scores)| {
        let first = part * SCORES;
        let end = first + scores.len() / outputs;
        for (node, value) in starts.windows(2).zip(values) {
            let rows = &rows[node[0]..node[1]];
            let rows = &rows[rows.partition_point(|row| (*row as usize) < first)..];
            let rows = &rows[..rows.partition_point(|row| (*row as usize) < end)];
            for row in rows {
                let score = &mut scores[(*row as usize - first) * outputs + output];
                *score = sum(*score, *value, Pins::HOST);
            }
        }
    });
}
