//! One unit a cell, for results too small or too narrow for squares, and the joining of leaves that were split.

use cubecl::prelude::*;

use super::{Contiguous, REGION, Rule, Shape, at_most, guard};
use crate::contraction::{LEAF, Term};
use crate::num::{Pins, add, add_exact_range, canon, mul_exact_range, neg};
use crate::sabotage::Arm;

/// What the kernel is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CellPlan {
    pub(super) a: Contiguous,
    pub(super) b: Contiguous,
    pub(super) rule: Rule,
}

/// `acc` plus one term; `flushed` says whether canon follows every operation.
#[cube]
pub(super) fn term(acc: f32, a: f32, b: f32, p: Pins, #[comptime] flushed: bool, #[comptime] rule: Rule) -> f32 {
    let mut x = a;
    let mut y = b;
    if comptime!(rule.term == Term::SquaredDifference) {
        x = add_exact_range(a, neg(b), p);
        if comptime!(flushed) {
            x = canon(x);
        }
        y = x;
    }
    if comptime!(rule.arm == Arm::FuseProducts) {
        let sum = fma(x, y, acc);
        if comptime!(flushed) { canon(sum) } else { sum }
    } else {
        let product = mul_exact_range(x, y, p);
        if comptime!(flushed) { add(acc, canon(product), p) } else { add_exact_range(acc, product, p) }
    }
}

/// The sum of two joined leaves.
#[cube]
fn join(a: f32, b: f32, p: Pins, #[comptime] rule: Rule) -> f32 {
    if comptime!(rule.joins_canonical()) { add(a, b, p) } else { add_exact_range(a, b, p) }
}

/// Every cell of `batch` products or distances by one unit. Strides count elements; `waiting` holds joined leaves, level
/// by level.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn cells(
    a: &Array<f32>,
    b: &Array<f32>,
    least: &Array<u32>,
    waiting: &mut Array<f32>,
    c: &mut Array<f32>,
    shape: Shape,
    nz: f32,
    one: f32,
    #[comptime] plan: CellPlan,
) {
    let p = Pins { nz, one };
    let (m, n, k) = (shape.m as usize, shape.n as usize, shape.k as usize);
    let total = shape.batch as usize * m * n;
    let i = ABSOLUTE_POS;
    if i < total {
        let col = i % n;
        let row = i / n % m;
        let item = i / n / m;
        let leaves = k.div_ceil(LEAF);
        let a_base = item * shape.a_item as usize;
        let b_base = item * shape.b_item as usize;
        let (a_stride, b_stride) = (shape.a_stride as usize, shape.b_stride as usize);
        let a_regions = m.div_ceil(REGION);
        let b_regions = n.div_ceil(REGION);
        let b_start = shape.batch as usize * a_regions * leaves;
        let mut sum = 0.0f32;
        for leaf in 0..leaves {
            let mut acc = 0.0f32;
            let start = leaf * LEAF;
            let end = at_most(start + LEAF, k);
            let mut plain = true.runtime();
            if comptime!(!plan.rule.unguarded()) {
                let e = least[(item * a_regions + row / REGION) * leaves + leaf];
                let f = least[b_start + (item * b_regions + col / REGION) * leaves + leaf];
                plain = guard::proved(e, f, comptime!(plan.rule));
            }
            for turn in start..end {
                let at =
                    if comptime!(plan.rule.arm == Arm::DescendingLeaf) { start + end - 1usize - turn } else { turn };
                let x = if comptime!(plan.a == Contiguous::K) {
                    a[a_base + row * a_stride + at]
                } else {
                    a[a_base + at * a_stride + row]
                };
                let y = if comptime!(plan.b == Contiguous::K) {
                    b[b_base + col * b_stride + at]
                } else {
                    b[b_base + at * b_stride + col]
                };
                if plain {
                    acc = term(acc, x, y, p, false, comptime!(plan.rule));
                } else {
                    acc = term(acc, x, y, p, true, comptime!(plan.rule));
                }
            }
            sum = carry(waiting, acc, leaf, leaf + 1usize == leaves, total, i, p, comptime!(plan.rule));
        }
        c[i] = sum;
    }
}

/// Joins leaf `leaf` with what waits for it, as a binary counter carries, and leaves the result waiting unless it is the
/// last. Level l of cell `i` waits at `l * total + i`.
#[cube]
#[allow(clippy::too_many_arguments)]
// pathway: P40
fn carry(
    waiting: &mut Array<f32>,
    leaf_sum: f32,
    leaf: usize,
    is_last: bool,
    total: usize,
    i: usize,
    p: Pins,
    #[comptime] rule: Rule,
) -> f32 {
    let mut sum = leaf_sum;
    let mut level = 0usize;
    let mut rest = leaf;
    while rest != 0usize && (is_last || rest % 2usize == 1usize) {
        if rest % 2usize == 1usize {
            sum = join(waiting[level * total + i], sum, p, rule);
        }
        level += 1usize;
        rest /= 2usize;
    }
    if !is_last {
        waiting[level * total + i] = sum;
    }
    sum
}

/// Joins neighbouring leaves of split contractions, `together` at a time, a power of two: `parts` is (item, leaf, cell) with
/// `cells` cells an item, `c` (item, group of leaves, cell). A group is a node of the tree, so that groups are joined by the
/// same rule again. A unit loads all of its leaves before it adds: it waits for memory once, not once a leaf.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
// pathway: P137
pub(super) fn join_parts(
    parts: &Array<f32>,
    c: &mut Array<f32>,
    batch: u32,
    leaves: u32,
    cells: u32,
    nz: f32,
    one: f32,
    #[comptime] together: usize,
    #[comptime] rule: Rule,
) {
    let p = Pins { nz, one };
    let (leaves, cells) = (leaves as usize, cells as usize);
    let groups = leaves.div_ceil(together);
    let i = ABSOLUTE_POS;
    if i < batch as usize * groups * cells {
        let first = i / cells % groups * together;
        let base = (i / cells / groups * leaves + first) * cells + i % cells;
        let here = at_most(together, leaves - first);
        let mut sums = Array::<f32>::new(together);
        #[unroll]
        for leaf in 0..together {
            sums[leaf] = parts[base + at_most(leaf, here - 1usize) * cells];
        }
        #[unroll]
        for level in 0..comptime!(together.trailing_zeros() as usize) {
            #[unroll]
            for node in 0..comptime!(together >> (level + 1)) {
                let left = comptime!(node << (level + 1));
                let right = comptime!((node << (level + 1)) + (1 << level));
                if right < here {
                    sums[left] = join(sums[left], sums[right], p, rule);
                }
            }
        }
        c[i] = sums[0];
    }
}

/// Joins `b` onto `a`, element by element: the neighbour before it in the tree.
#[cube(launch_unchecked)]
pub(super) fn join_pair(a: &Array<f32>, b: &mut Array<f32>, n: u32, nz: f32, one: f32, #[comptime] rule: Rule) {
    let i = ABSOLUTE_POS;
    if i < n as usize {
        b[i] = join(a[i], b[i], Pins { nz, one }, rule);
    }
}
