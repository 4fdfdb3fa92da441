//! Contractions on GPUs: the pieces that all kernels share.
//!
//! [`launch`] cuts the work so that every binding fits, asks [`guard`] for the least exponents, and runs the tiled kernel
//! ([`tile`]), for a tall operand with few vectors the one that reads it once ([`tall`]), for the columns of a tall table with
//! each other another such one ([`gram`]) or, for few cells, one unit a cell ([`cells`]). None of the cuts changes the order in which a cell is summed.

mod blocks;
mod cells;
mod gram;
mod guard;
pub(crate) mod launch;
mod mirror;
mod tall;
mod tile;

use cubecl::prelude::*;

use super::{Rule, Term};
use crate::num::canon;
use crate::sabotage::Arm;

type V4 = Vector<f32, Const<4>>;

/// Elements of K in a tile of shared memory.
const TILE_K: usize = 16;

/// Vectors whose least exponent the guard takes together, a leaf at a time.
const REGION: usize = 32;

/// Which way an operand's elements are neighbours in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Contiguous {
    /// Along K: rows are vectors.
    K,
    /// Across vectors: columns are vectors.
    Vectors,
}

/// What the tiled kernel is built for. Nothing here moves a rounding but the rule's arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct TilePlan {
    a: Contiguous,
    b: Contiguous,
    /// Quads of cells a unit computes along each side: 2 (squares of 128) or 1 (squares of 64).
    quads: usize,
    /// Whether the last tile of K may be short.
    ragged: bool,
    /// Whether the next tile is fetched before this one is used: faster where registers are the compiler's to give.
    prefetch: bool,
    /// Whether the guard looks at what is fetched, instead of at exponents that were found before: a leaf that is not proved
    /// is added again.
    fused: bool,
    /// Whether squares right of the diagonal are left out.
    lower: bool,
    rule: Rule,
}

/// Dimensions and distances in memory, as kernels get them.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Shape {
    batch: u32,
    m: u32,
    n: u32,
    k: u32,
    /// From one row of `a` in memory to the next, and from one batch item to the next.
    a_stride: u32,
    a_item: u32,
    b_stride: u32,
    b_item: u32,
    /// Leaves that are joined in one place: all, or one when leaves are split over the grid.
    leaves_each: u32,
}

/// The run-time constants of the contract's operations, in vectors.
#[derive(CubeType, Clone, Copy)]
struct Pins4 {
    nz: V4,
    one: V4,
    minus_one: V4,
}

#[cube]
fn canon4(x: V4) -> V4 {
    let mut out = V4::new(0.0f32);
    #[unroll]
    for i in 0..4usize {
        out[i] = canon(x[i]);
    }
    out
}

/// `acc` plus one term, in vectors; `flushed` says whether canon follows every operation.
#[cube]
fn term4(acc: V4, a: V4, b: V4, pins: &Pins4, #[comptime] flushed: bool, #[comptime] rule: Rule) -> V4 {
    let mut x = a;
    let mut y = b;
    if comptime!(rule.term == Term::SquaredDifference) {
        x = fma(b, pins.minus_one, a);
        if comptime!(flushed) {
            x = canon4(x);
        }
        y = x;
    }
    if comptime!(rule.arm == Arm::FuseProducts) {
        let sum = fma(x, y, acc);
        if comptime!(flushed) { canon4(sum) } else { sum }
    } else {
        let product = fma(x, y, pins.nz);
        if comptime!(flushed) { canon4(fma(acc, pins.one, canon4(product))) } else { fma(acc, pins.one, product) }
    }
}

/// The sum of two joined leaves, in vectors.
#[cube]
fn add4(a: V4, b: V4, pins: &Pins4, #[comptime] rule: Rule) -> V4 {
    let sum = fma(a, pins.one, b);
    if comptime!(rule.joins_canonical()) { canon4(sum) } else { sum }
}

/// The lesser of `x` and `most`.
#[cube]
fn at_most(x: usize, most: usize) -> usize {
    select(x < most, x, most)
}
