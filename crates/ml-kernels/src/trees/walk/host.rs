//! The host: sixteen rows go down a tree together, so that the wait for one row's node is spent on the others'. A row on its
//! own goes down sixteen trees together instead.

use rayon::prelude::*;

use super::forest::{CATEGORY, LEAF, MISSING_LEFT, Plan, SLOT, Slot, TreePlan};
use crate::memory;
use crate::num::{Pins, add, add_exact_range};
use crate::sabotage::Arm;
use crate::trees::value::{MISSING, category_value, number_value, zero_bound};

/// Paths that are followed at once.
const LANES: usize = 16;

/// Values of a block of rows: they stay in the cache of a core while all trees are visited.
const BLOCK: usize = 1 << 15;

/// Most rows of a block.
const MOST_ROWS: usize = 1 << 10;

/// Columns of a row on its own that need no allocation.
const FEW: usize = 512;

/// Walks of so few steps in all are not worth waking a thread for.
const FEW_STEPS: usize = 1 << 15;

/// Steps that all paths take before it is asked whether any has not ended.
const STEPS: u32 = 8;

/// Rows that a walk is given: raw numbers or bins.
pub(super) trait Source: Sync {
    /// What slots `slots` see of row `row`.
    fn values(&self, row: usize, slots: &[Slot], out: &mut [u32]);
}

/// Raw numbers, `cols` a row; magnitudes up to `zero` count as zero.
pub(super) struct Numbers<'a> {
    pub(super) x: &'a [f32],
    pub(super) cols: usize,
    pub(super) arm: Arm,
}

impl Source for Numbers<'_> {
    fn values(&self, row: usize, slots: &[Slot], out: &mut [u32]) {
        let row = &self.x[row * self.cols..][..self.cols];
        let zero = zero_bound(self.arm);
        for (to, slot) in out.iter_mut().zip(slots) {
            let bits = row[slot.feature as usize].to_bits();
            *to = if slot.category { category_value(bits, zero) } else { number_value(bits, zero) };
        }
    }
}

/// Bins, `cols` a row.
pub(super) struct Binned<'a, T> {
    pub(super) bins: &'a [T],
    pub(super) cols: usize,
}

impl<T: Copy + Into<u32> + Sync> Source for Binned<'_, T> {
    fn values(&self, row: usize, slots: &[Slot], out: &mut [u32]) {
        let row = &self.bins[row * self.cols..][..self.cols];
        for (to, slot) in out.iter_mut().zip(slots) {
            let bin: u32 = row[slot.feature as usize].into();
            *to = if bin == 0 { MISSING } else { bin };
        }
    }
}

/// The node after `at`, of which slot s sees `values[first + s]`; a leaf stays where it is.
#[inline(always)]
fn step<const CATEGORIES: bool>(plan: &Plan, at: u32, values: &[u32], first: usize) -> u32 {
    let [bound, ask, left, more] = plan.nodes[at as usize];
    let value = values[first + (ask & SLOT) as usize];
    if CATEGORIES && ask & CATEGORY != 0 {
        let goes_left = if value == MISSING {
            ask & MISSING_LEFT != 0
        } else {
            value / 32 < bound && plan.sets[(more + value / 32) as usize] >> (value % 32) & 1 == 1
        };
        return left + u32::from(!goes_left);
    }
    left + u32::from(value.wrapping_add(ask >> 31) > bound)
}

/// Takes each path to its end, where `values[lane * stride ..]` are what it sees; `depth` is that of the deepest end.
#[inline(always)]
fn descend<const CATEGORIES: bool>(plan: &Plan, at: &mut [u32; LANES], values: &[u32], stride: usize, depth: u32) {
    let mut left = depth;
    while left > 0 {
        let steps = left.min(STEPS);
        for _ in 0..steps {
            for (lane, at) in at.iter_mut().enumerate() {
                *at = step::<CATEGORIES>(plan, *at, values, lane * stride);
            }
        }
        left -= steps;
        if left > 0 && at.iter().all(|at| plan.nodes[*at as usize][1] & LEAF != 0) {
            break;
        }
    }
}

/// The leaves, counted over all trees, at which the paths from `at` end.
#[inline(always)]
fn leaves(
    plan: &Plan,
    mut at: [u32; LANES],
    values: &[u32],
    stride: usize,
    depth: u32,
    categories: bool,
) -> [u32; LANES] {
    if categories {
        descend::<true>(plan, &mut at, values, stride, depth);
    } else {
        descend::<false>(plan, &mut at, values, stride, depth);
    }
    at.map(|at| plan.nodes[at as usize][3])
}

/// What becomes of the leaves that rows come to.
pub(super) trait Sink<T>: Sync {
    /// Numbers of the result a row.
    fn width(&self, plan: &Plan) -> usize;
    /// What a row's result is at first.
    fn begin(&self, plan: &Plan, out: &mut [T]);
    /// The row has come to `leaf` of tree `number`.
    fn end(&self, plan: &Plan, number: usize, tree: &TreePlan, leaf: u32, out: &mut [T]);
}

/// The leaves' numbers.
pub(super) struct LeafNumbers;

impl Sink<u32> for LeafNumbers {
    fn width(&self, plan: &Plan) -> usize {
        plan.trees.len()
    }

    fn begin(&self, _: &Plan, _: &mut [u32]) {}

    #[inline(always)]
    fn end(&self, plan: &Plan, number: usize, _: &TreePlan, leaf: u32, out: &mut [u32]) {
        out[number] = plan.leaves[leaf as usize];
    }
}

/// The sum of the leaves' values; subnormal sums stay if `KEEP`.
pub(super) struct Sum<const KEEP: bool>;

impl<const KEEP: bool> Sink<f32> for Sum<KEEP> {
    fn width(&self, plan: &Plan) -> usize {
        plan.base.len()
    }

    fn begin(&self, plan: &Plan, out: &mut [f32]) {
        out.copy_from_slice(&plan.base);
    }

    #[inline(always)]
    fn end(&self, plan: &Plan, _: usize, tree: &TreePlan, leaf: u32, out: &mut [f32]) {
        let outputs = tree.outputs as usize;
        let values = &plan.values[tree.first_value + (leaf - tree.first_leaf) as usize * outputs..][..outputs];
        for (to, value) in out[tree.first_output as usize..].iter_mut().zip(values) {
            let sum = if KEEP { add_exact_range } else { add };
            *to = sum(*to, *value, Pins::HOST);
        }
    }
}

/// The results of `rows` rows, of `sink`'s width each. `install` runs work on all threads.
pub(super) fn walk<T: bytemuck::Zeroable + Send>(
    plan: &Plan,
    rows: usize,
    source: &impl Source,
    sink: &impl Sink<T>,
    install: impl FnOnce(&mut (dyn FnMut() + Send)),
) -> Vec<T> {
    let width = sink.width(plan);
    let mut out = memory::zeros(rows * width);
    if out.is_empty() {
        return out;
    }
    let deepest = plan.trees.iter().map(|tree| tree.depth).max().unwrap_or(0) as usize;
    if rows < LANES && rows * plan.trees.len() * deepest < FEW_STEPS {
        for (row, out) in out.chunks_exact_mut(width).enumerate() {
            one(plan, row, source, sink, out);
        }
        return out;
    }
    install(&mut || {
        // No more rows than give each thread a block.
        let fair = rows.div_ceil(rayon::current_num_threads());
        let block = (BLOCK / plan.slots.len().max(1)).min(MOST_ROWS).min(fair).max(1).next_multiple_of(LANES);
        out.par_chunks_mut(block * width).enumerate().for_each_init(Vec::new, |values, (b, out)| {
            many(plan, b * block, source, sink, width, values, out);
        });
    });
    out
}

/// One row: as many trees at once as there are lanes.
fn one<T>(plan: &Plan, row: usize, source: &impl Source, sink: &impl Sink<T>, out: &mut [T]) {
    let (mut few, mut more) = ([0; FEW], Vec::new());
    let values = match few.get_mut(..plan.slots.len()) {
        Some(values) => values,
        None => {
            more.resize(plan.slots.len(), 0);
            &mut more[..]
        }
    };
    source.values(row, &plan.slots, values);
    sink.begin(plan, out);
    for (c, trees) in plan.trees.chunks(LANES).enumerate() {
        // Lanes without a tree follow the last one's path.
        let at = std::array::from_fn(|lane| trees[lane.min(trees.len() - 1)].root);
        let depth = trees.iter().map(|tree| tree.depth).max().unwrap_or(0);
        let categories = trees.iter().any(|tree| tree.categories);
        let ends = leaves(plan, at, values, 0, depth, categories);
        for (lane, (tree, leaf)) in trees.iter().zip(ends).enumerate() {
            sink.end(plan, c * LANES + lane, tree, leaf, out);
        }
    }
}

// pathway: P233
/// A block of rows from row `first` on: tree after tree, as many rows at once as there are lanes.
fn many<T>(
    plan: &Plan,
    first: usize,
    source: &impl Source,
    sink: &impl Sink<T>,
    width: usize,
    values: &mut Vec<u32>,
    out: &mut [T],
) {
    let (rows, slots) = (out.len() / width, plan.slots.len());
    // Lanes without a row see zeros.
    values.clear();
    values.resize(rows.next_multiple_of(LANES) * slots, 0);
    for (row, out) in out.chunks_exact_mut(width).enumerate() {
        source.values(first + row, &plan.slots, &mut values[row * slots..][..slots]);
        sink.begin(plan, out);
    }
    for (number, tree) in plan.trees.iter().enumerate() {
        for (group, out) in out.chunks_mut(LANES * width).enumerate() {
            let values = &values[group * LANES * slots..];
            let ends = leaves(plan, [tree.root; LANES], values, slots, tree.depth, tree.categories);
            for (out, leaf) in out.chunks_exact_mut(width).zip(ends) {
                sink.end(plan, number, tree, leaf, out);
            }
        }
    }
}
