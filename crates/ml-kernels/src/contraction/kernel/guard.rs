//! Contract clause `flush` on GPUs: least exponents, found before the contraction and read by it, never by the host.

use cubecl::prelude::*;

use super::{Contiguous, REGION, Rule, Shape, at_most};
use crate::contraction::guard::{DIFFERENCE_BOUND, PRODUCT_BOUND};
use crate::contraction::{LEAF, Term};
use crate::num::bits;

/// Units of the workgroup that scans one region.
pub(super) const UNITS: u32 = 256;

/// Whether the plain loop is proved for least biased exponents `e` and `f`.
#[cube]
pub(super) fn proved(e: u32, f: u32, #[comptime] rule: Rule) -> bool {
    if comptime!(rule.term == Term::Product) {
        e + f >= comptime!(PRODUCT_BOUND)
    } else {
        e >= comptime!(DIFFERENCE_BOUND) && f >= comptime!(DIFFERENCE_BOUND)
    }
}

/// The lesser of two words.
#[cube]
pub(super) fn lesser(a: u32, b: u32) -> u32 {
    select(a < b, a, b)
}

/// Stands for "no element but zeros" where magnitudes are kept as [`least_of`] does.
pub(super) const NOTHING: u32 = 0xffff_ffff;

/// The lesser of `least` and the magnitudes of four elements, each kept as one less than its word without the sign: so a zero
/// wraps round and becomes the greatest.
#[cube]
pub(super) fn least_of(v: Vector<f32, Const<4>>, least: u32) -> u32 {
    let mut found = least;
    #[unroll]
    for i in 0..4usize {
        found = lesser((bits(v[i]) << 1u32) - 1u32, found);
    }
    found
}

/// The least biased exponent of what all `units` units found with [`least_of`], [`NOTHING`] included. Barriers stand before
/// and behind it.
#[cube]
pub(super) fn least_exponent(own: u32, #[comptime] units: usize) -> u32 {
    let mut shared = SharedMemory::<u32>::new(units);
    let unit = UNIT_POS as usize;
    shared[unit] = own;
    sync_cube();
    let mut half = comptime!(units.next_power_of_two() / 2).runtime();
    while half > 0usize {
        if unit < half && unit + half < units {
            shared[unit] = lesser(shared[unit], shared[unit + half]);
        }
        sync_cube();
        half /= 2usize;
    }
    let least = shared[0];
    select(least == NOTHING, 255u32, (least + 1u32) >> 24u32)
}

/// The least biased exponent among the elements of one region that are not zero: up to `REGION` vectors, one leaf.
#[cube]
fn scan(
    x: &Array<f32>,
    base: usize,
    stride: usize,
    vectors: usize,
    k_start: usize,
    k_end: usize,
    #[comptime] contiguous: Contiguous,
) -> u32 {
    let unit = UNIT_POS as usize;
    let mut least = 0xffff_ffffu32;
    if comptime!(contiguous == Contiguous::K) {
        for v in 0..vectors {
            let mut k = k_start + unit;
            while k < k_end {
                let magnitude = bits(x[base + v * stride + k]) << 1u32;
                least = lesser(select(magnitude == 0u32, 0xffff_ffffu32, magnitude), least);
                k += comptime!(UNITS as usize);
            }
        }
    } else {
        let v = unit % REGION;
        if v < vectors {
            let mut k = k_start + unit / REGION;
            while k < k_end {
                let magnitude = bits(x[base + k * stride + v]) << 1u32;
                least = lesser(select(magnitude == 0u32, 0xffff_ffffu32, magnitude), least);
                k += comptime!(UNITS as usize / REGION);
            }
        }
    }
    least >> 24u32
}

/// One workgroup a region: all regions of `a`, then all of `b`, each by (item, region, leaf). Strides count elements.
#[cube(launch_unchecked)]
// pathway: P28
pub(super) fn least_exponents(
    a: &Array<f32>,
    b: &Array<f32>,
    least: &mut Array<u32>,
    shape: Shape,
    #[comptime] a_contiguous: Contiguous,
    #[comptime] b_contiguous: Contiguous,
) {
    let k = shape.k as usize;
    let leaves = k.div_ceil(LEAF);
    let a_regions = (shape.m as usize).div_ceil(REGION);
    let b_regions = (shape.n as usize).div_ceil(REGION);
    let for_a = shape.batch as usize * a_regions * leaves;
    let total = for_a + shape.batch as usize * b_regions * leaves;
    let cube = CUBE_POS;
    if cube < total {
        let leaf = cube % leaves;
        let k_start = leaf * LEAF;
        let k_end = at_most(k_start + LEAF, k);
        let e = if cube < for_a {
            let region = cube / leaves % a_regions * REGION;
            let item = cube / leaves / a_regions * shape.a_item as usize;
            let stride = shape.a_stride as usize;
            let base = if comptime!(a_contiguous == Contiguous::K) { item + region * stride } else { item + region };
            scan(a, base, stride, at_most(REGION, shape.m as usize - region), k_start, k_end, a_contiguous)
        } else {
            let at = cube - for_a;
            let region = at / leaves % b_regions * REGION;
            let item = at / leaves / b_regions * shape.b_item as usize;
            let stride = shape.b_stride as usize;
            let base = if comptime!(b_contiguous == Contiguous::K) { item + region * stride } else { item + region };
            scan(b, base, stride, at_most(REGION, shape.n as usize - region), k_start, k_end, b_contiguous)
        };
        let mut shared = SharedMemory::<u32>::new(UNITS as usize);
        let unit = UNIT_POS as usize;
        shared[unit] = e;
        sync_cube();
        let mut half = comptime!(UNITS as usize / 2).runtime();
        while half > 0usize {
            if unit < half {
                shared[unit] = lesser(shared[unit], shared[unit + half]);
            }
            sync_cube();
            half /= 2usize;
        }
        if unit == 0usize {
            least[cube] = shared[0];
        }
    }
}
