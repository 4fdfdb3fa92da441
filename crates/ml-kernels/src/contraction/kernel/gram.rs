//! The products of a tall table's columns with each other (its Gram matrix), for at most 64 columns: a workgroup takes a few
//! leaves at once and computes of each no cell right of the diagonal but those in blocks on it.
//!
//! The table is read once. The guard looks at what is in registers on its way to shared memory: leaves are added without
//! canon first, and if what went by does not prove that loop, they are added again with it.

use cubecl::prelude::*;

use super::{Pins4, Rule, Shape, V4, at_most, guard, term4};
use crate::contraction::LEAF;
use crate::sabotage::Arm;

/// Most columns.
pub(super) const WIDE: usize = 64;

/// Elements of K in a tile of shared memory.
const STEPS: usize = 16;

/// Tiles of K in a leaf.
const LEAF_TILES: usize = LEAF / STEPS;

/// Leaves of a workgroup, by the blocks of eight columns: as many as nearly fill its last 32 units, at most 14 KiB of tiles,
/// and few, so that 1,000 leaves spread evenly over a large device.
const STACKS: [usize; 8] = [16, 10, 8, 6, 4, 3, 4, 2];

/// What the kernel is built for. Nothing here moves a rounding but the rule's arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GramPlan {
    /// Blocks of eight columns.
    pub(super) blocks: usize,
    /// Leaves of a workgroup.
    pub(super) stack: usize,
    /// Whether the next tile is fetched before this one is used.
    pub(super) prefetch: bool,
    pub(super) rule: Rule,
}

impl GramPlan {
    pub(super) fn new(columns: usize, prefetch: bool, rule: Rule) -> Self {
        let blocks = columns.div_ceil(8);
        GramPlan { blocks, stack: STACKS[blocks - 1], prefetch, rule }
    }

    /// Units of the workgroup: one for each 8 x 4 cells of each leaf, and what fills the last 32.
    pub(super) fn units(self) -> usize {
        (self.stack * parts(self.blocks)).next_multiple_of(32)
    }

    /// Quads of elements in a tile of all leaves.
    fn tile(self) -> usize {
        self.stack * STEPS * self.blocks * 2
    }

    /// Quads that a unit fetches of a tile.
    fn fetches(self) -> usize {
        self.tile().div_ceil(self.units())
    }
}

/// Pieces of eight rows and four columns that reach up to the diagonal: two in the first block of rows, two more in each.
const fn parts(blocks: usize) -> usize {
    blocks * (blocks + 1)
}

/// Where a workgroup is.
#[derive(CubeType, Clone, Copy)]
struct Stack {
    /// The first element of the batch item, in quads.
    base: usize,
    /// From one element of K to the next, in quads.
    stride: usize,
    /// The first element of K.
    start: usize,
    k: usize,
    tiles: usize,
    /// Where the unit's leaf lies in a tile, and in a row of it its quads.
    own: usize,
    row: usize,
    col: usize,
}

/// Fetches a unit's part of a tile; elements beyond K are +0, columns beyond the last quad repeat it.
#[cube]
fn fetch(x: &Array<V4>, hold: &mut Array<V4>, s: &Stack, turn: usize, #[comptime] plan: GramPlan) {
    let quads = comptime!(2 * plan.blocks);
    let mut tile = turn;
    if comptime!(plan.rule.arm == Arm::DescendingLeaf) {
        tile = s.tiles - 1usize - turn;
    }
    #[unroll]
    for i in 0..comptime!(plan.fetches()) {
        let at = UNIT_POS as usize + comptime!(i * plan.units());
        let leaf = at / comptime!(STEPS * quads);
        let k = s.start + leaf * LEAF + tile * STEPS + at / quads % STEPS;
        let quad = at_most(at % quads, s.stride - 1usize);
        let mut v = V4::new(0.0f32);
        if k < s.k && at < comptime!(plan.tile()) {
            v = x[s.base + k * s.stride + quad];
        }
        hold[i] = v;
    }
}

/// Stores what `fetch` brought. Gives the lesser of `least` and the magnitudes that were stored, as [`guard::least_of`] has them.
#[cube]
fn stash(to: &mut SharedMemory<V4>, hold: &Array<V4>, least: u32, #[comptime] plan: GramPlan) -> u32 {
    let mut found = least;
    #[unroll]
    for i in 0..comptime!(plan.fetches()) {
        let at = UNIT_POS as usize + comptime!(i * plan.units());
        if at < comptime!(plan.tile()) {
            to[at] = hold[i];
        }
        found = guard::least_of(hold[i], found);
    }
    found
}

/// Adds the leaves of the workgroup to a unit's cells, and gives the least magnitude among what it fetched.
#[cube]
#[allow(clippy::too_many_arguments)]
fn add_stack(
    x: &Array<V4>,
    tile: &mut SharedMemory<V4>,
    hold: &mut Array<V4>,
    acc: &mut Array<V4>,
    s: &Stack,
    pins: &Pins4,
    #[comptime] flushed: bool,
    #[comptime] plan: GramPlan,
) -> u32 {
    let mut least = comptime!(guard::NOTHING).runtime();
    #[unroll]
    for i in 0..8usize {
        acc[i] = V4::new(0.0f32);
    }
    if comptime!(plan.prefetch) {
        fetch(x, hold, s, 0usize, plan);
    }
    for turn in 0..s.tiles {
        if comptime!(!plan.prefetch) {
            fetch(x, hold, s, turn, plan);
        }
        least = stash(tile, hold, least, plan);
        sync_cube();
        if comptime!(plan.prefetch) {
            if turn + 1usize < s.tiles {
                fetch(x, hold, s, turn + 1usize, plan);
            }
        }
        if comptime!(flushed) {
            for k in 0..STEPS {
                step(tile, acc, k, s, pins, true, plan);
            }
        } else {
            #[unroll]
            for k in 0..STEPS {
                step(tile, acc, k, s, pins, false, plan);
            }
        }
        sync_cube();
    }
    least
}

/// Adds one element of the tile to a unit's cells.
#[cube]
fn step(
    tile: &SharedMemory<V4>,
    acc: &mut Array<V4>,
    k: usize,
    s: &Stack,
    pins: &Pins4,
    #[comptime] flushed: bool,
    #[comptime] plan: GramPlan,
) {
    let mut at = k;
    if comptime!(plan.rule.arm == Arm::DescendingLeaf) {
        at = comptime!(STEPS - 1) - k;
    }
    let from = s.own + at * comptime!(2 * plan.blocks);
    let b = tile[from + s.col];
    #[unroll]
    for i in 0..2usize {
        let a = tile[from + s.row + i];
        #[unroll]
        for r in 0..4usize {
            let cell = comptime!(i * 4 + r);
            acc[cell] = term4(acc[cell], V4::new(a[r]), b, pins, flushed, comptime!(plan.rule));
        }
    }
}

/// The leaf sums of the cells up to the diagonal, and of some beyond it: `c` is (item, leaf, row, column). `shape` counts in
/// quads of elements, and `a` is the table.
#[cube(launch_unchecked)]
// pathway: P138
pub(super) fn gram_leaves(
    x: &Array<V4>,
    c: &mut Array<f32>,
    shape: Shape,
    nz: f32,
    one: f32,
    #[comptime] plan: GramPlan,
) {
    let (columns, k) = (shape.m as usize, shape.k as usize);
    let leaves = k.div_ceil(LEAF);
    let stacks = leaves.div_ceil(plan.stack);
    let cube = CUBE_POS;
    if cube < shape.batch as usize * stacks {
        let item = cube / stacks;
        let first_leaf = cube % stacks * plan.stack;
        // A piece of eight rows and four columns of one leaf; units without one repeat the last.
        let parts = comptime!(parts(plan.blocks));
        let piece = at_most(UNIT_POS as usize, comptime!(plan.stack * parts - 1));
        let leaf = piece / parts; // tidy: integer arithmetic
        let in_leaf = piece % parts; // tidy: integer arithmetic
        let mut block = 0usize;
        #[unroll]
        for b in 1..plan.blocks {
            block = select(in_leaf >= comptime!(b * (b + 1)), b, block);
        }
        let start = first_leaf * LEAF;
        let s = Stack {
            base: item * shape.a_item as usize,
            stride: shape.a_stride as usize,
            start,
            k,
            tiles: at_most((k - start).div_ceil(STEPS), LEAF_TILES),
            own: leaf * comptime!(STEPS * 2 * plan.blocks),
            row: block * 2usize,
            col: in_leaf - block * (block + 1usize),
        };
        let pins = Pins4 { nz: V4::new(nz), one: V4::new(one), minus_one: V4::new(crate::num::neg(one)) };
        let mut tile = SharedMemory::<V4>::new(comptime!(plan.tile()));
        let mut hold = Array::<V4>::new(comptime!(plan.fetches()));
        let mut acc = Array::<V4>::new(8usize);
        let own = add_stack(x, &mut tile, &mut hold, &mut acc, &s, &pins, false, plan);
        if comptime!(!plan.rule.unguarded()) {
            let least = guard::least_exponent(own, comptime!(plan.units()));
            if !guard::proved(least, least, comptime!(plan.rule)) {
                add_stack(x, &mut tile, &mut hold, &mut acc, &s, &pins, true, plan);
            }
        }
        if (UNIT_POS as usize) < comptime!(plan.stack * parts) && first_leaf + leaf < leaves {
            let base = (item * leaves + first_leaf + leaf) * columns * columns;
            #[unroll]
            for i in 0..8usize {
                let row = block * 8usize + i;
                let v = acc[i];
                #[unroll]
                for e in 0..4usize {
                    let col = s.col * 4usize + e;
                    if row < columns && col < columns {
                        c[base + row * columns + col] = v[e];
                    }
                }
            }
        }
    }
}
