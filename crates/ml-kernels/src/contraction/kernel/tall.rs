//! A tall operand with a few vectors, matrix times vector among them: one unit a vector and leaf, and memory is read in the
//! order in which it lies.
//!
//! What is read is used a few times only, so that canon after every operation costs nothing beside the reading, and no guard
//! has to read everything before.

use cubecl::prelude::*;

use super::cells::term;
use super::{Contiguous, Rule, Shape, at_most};
use crate::contraction::LEAF;
use crate::num::Pins;
use crate::sabotage::Arm;

/// Units of the workgroup: vectors of the tall operand.
pub(super) const UNITS: u32 = 128;

/// Most vectors of the operand that has few.
pub(super) const FEW: usize = 7;

/// Elements of K that are fetched together, and quads of them.
const STEPS: usize = 16;
const QUADS: usize = STEPS / 4;

/// What the kernel is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TallPlan {
    /// How the tall operand lies.
    pub(super) tall: Contiguous,
    /// How the other lies, and how many vectors it has.
    pub(super) other: Contiguous,
    pub(super) few: usize,
    /// Whether the tall operand is the first one, so that its vectors are rows of the result.
    pub(super) first: bool,
    pub(super) rule: Rule,
}

/// Where the `quad`-th quad of a unit's vector is kept, so that units that store or load together meet different banks.
#[cube]
fn place(vector: usize, quad: usize) -> usize {
    vector * QUADS + (quad ^ ((vector / 2usize) % QUADS))
}

/// The leaf sums of every cell: `c` is (item, leaf, cell). In `shape`, `a` is the tall operand, whose strides count vectors
/// of `N`, and `b` the other.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
// pathway: P113
pub(super) fn tall_leaves<N: Size>(
    tall: &Array<Vector<f32, N>>,
    other: &Array<f32>,
    c: &mut Array<f32>,
    shape: Shape,
    nz: f32,
    one: f32,
    #[comptime] plan: TallPlan,
) {
    let p = Pins { nz, one };
    let units = comptime!(UNITS as usize);
    let few = comptime!(plan.few);
    let (vectors, k) = (shape.m as usize, shape.k as usize);
    let leaves = k.div_ceil(LEAF);
    let blocks = vectors.div_ceil(units);
    let cube = CUBE_POS;
    if cube < shape.batch as usize * leaves * blocks {
        let first = cube % blocks * units;
        let leaf = cube / blocks % leaves;
        let item = cube / blocks / leaves;
        let unit = UNIT_POS as usize;
        let own = at_most(first + unit, vectors - 1usize);
        let start = leaf * LEAF;
        let end = at_most(start + LEAF, k);
        let tall_base = item * shape.a_item as usize;
        let tall_stride = shape.a_stride as usize;
        let other_base = item * shape.b_item as usize;
        let other_stride = shape.b_stride as usize;
        let mut quads = SharedMemory::<Vector<f32, N>>::new(comptime!(UNITS as usize * QUADS));
        let mut others = SharedMemory::<f32>::new(comptime!(STEPS * plan.few));
        let mut hold = Array::<Vector<f32, N>>::new(STEPS);
        let mut acc = Array::<f32>::new(few);
        #[unroll]
        for f in 0..few {
            acc[f] = 0.0f32;
        }
        let tiles = (end - start).div_ceil(STEPS);
        for turn in 0..tiles {
            let mut tile = turn;
            if comptime!(plan.rule.arm == Arm::DescendingLeaf) {
                tile = tiles - 1usize - turn;
            }
            let from = start + tile * STEPS;
            if unit < comptime!(STEPS * plan.few) {
                let f = unit / STEPS;
                let at = from + unit % STEPS;
                let mut y = 0.0f32;
                if at < end {
                    y = if comptime!(plan.other == Contiguous::K) {
                        other[other_base + f * other_stride + at]
                    } else {
                        other[other_base + at * other_stride + f]
                    };
                }
                others[unit] = y;
            }
            if comptime!(plan.tall == Contiguous::K) {
                #[unroll]
                for i in 0..QUADS {
                    let at = unit + i * units;
                    let vector = at / QUADS;
                    let quad = at % QUADS;
                    let row = at_most(first + vector, vectors - 1usize);
                    let mut v = Vector::<f32, N>::new(0.0f32);
                    if from + quad * 4usize < end {
                        v = tall[tall_base + row * tall_stride + (from / 4usize + quad)];
                    }
                    quads[place(vector, quad)] = v;
                }
            } else {
                #[unroll]
                for s in 0..STEPS {
                    let mut v = Vector::<f32, N>::new(0.0f32);
                    if from + s < end {
                        v = tall[tall_base + (from + s) * tall_stride + own];
                    }
                    hold[s] = v;
                }
            }
            sync_cube();
            #[unroll]
            for s in 0..STEPS {
                let step = comptime!(if plan.rule.arm == Arm::DescendingLeaf { STEPS - 1 - s } else { s });
                let x = if comptime!(plan.tall == Contiguous::K) {
                    let v = quads[place(unit, comptime!(step / 4))];
                    v[comptime!(step % 4)]
                } else {
                    let v = hold[step];
                    v[0]
                };
                #[unroll]
                for f in 0..few {
                    let y = others[comptime!(f * STEPS + step)];
                    acc[f] = term(acc[f], x, y, p, comptime!(!plan.rule.unguarded()), comptime!(plan.rule));
                }
            }
            sync_cube();
        }
        if first + unit < vectors {
            let base = (item * leaves + leaf) * vectors * few;
            #[unroll]
            for f in 0..few {
                let at = if comptime!(plan.first) { own * few + f } else { f * vectors + own };
                c[base + at] = acc[f];
            }
        }
    }
}
