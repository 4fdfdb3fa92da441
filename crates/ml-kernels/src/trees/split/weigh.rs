//! What a split gains: the formulas of clause `tree-splits`, once for the host and for kernels.
//!
//! Sums are integers of 64 bits and floats count in their units; what comes of it is scaled by a power of two at the end.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use crate::num::{
    Limbs, Pins, add, bits, cross, div, from_bits, i64_to_f32, key, less64, ln_cr, max, min, mul, neg, select_f32,
    select_u32, sub, sub64,
};

/// The bits of what stands for the gain of a split that is refused.
const REFUSED: u32 = 0x7fc0_0000;

/// True if `x` is above zero and finite.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn is_positive(x: f32) -> bool {
    bits(x) >= 1u32 && bits(x) < 0x7f80_0000u32
}

/// True if `x` is neither infinite nor a NaN.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn is_finite(x: f32) -> bool {
    (bits(x) & 0x7fff_ffffu32) < 0x7f80_0000u32
}

/// True if the signed `a` is below the signed `b`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn is_less(a: Limbs, b: Limbs) -> bool {
    less64(Limbs { hi: a.hi ^ 0x8000_0000u32, lo: a.lo }, Limbs { hi: b.hi ^ 0x8000_0000u32, lo: b.lo })
}

/// True if `a` is zero.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn is_zero(a: Limbs) -> bool {
    (a.hi | a.lo) == 0u32
}

/// `gain` if `good`, else what stands for a refused split.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn gain_if(good: bool, gain: f32) -> f32 {
    select_f32(good, gain, from_bits(REFUSED))
}

/// What a sum of squares over outputs gains: `q ⊘ wl ⊕ q ⊘ wr`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn squares_gain(q: f32, wl: Limbs, wr: Limbs, p: Pins) -> f32 {
    let l = i64_to_f32(wl);
    let r = i64_to_f32(wr);
    gain_if(is_positive(l) && is_positive(r), add(div(q, l), div(q, r), p))
}

/// The square of one output: with d = `sl w - s wl`, (d ⊘ w) ⊗ (d ⊘ w).
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn square(sl: Limbs, wl: Limbs, s: Limbs, w: Limbs, p: Pins) -> f32 {
    let a = div(cross(sl, w, s, wl), i64_to_f32(w));
    mul(a, a, p)
}

/// One output's part of what a deviance gains: `sl ⊗ ln((sl ⊘ wl) ⊘ (s ⊘ w)) ⊕ sr ⊗ ln((sr ⊘ wr) ⊘ (s ⊘ w))`, a term of a
/// sum that is not positive left out; zero where both sides have the same mean.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn deviance(sl: Limbs, wl: Limbs, s: Limbs, w: Limbs, p: Pins) -> f32 {
    let mean = div(i64_to_f32(s), i64_to_f32(w));
    let left = deviance_term(i64_to_f32(sl), i64_to_f32(wl), mean, p);
    let right = deviance_term(i64_to_f32(sub64(s, sl)), i64_to_f32(sub64(w, wl)), mean, p);
    select_f32(bits(cross(sl, w, s, wl)) == 0u32, 0.0f32, add(left, right, p))
}

#[cfg_attr(feature = "gpu", cube)]
fn deviance_term(s: f32, w: f32, mean: f32, p: Pins) -> f32 {
    select_f32(is_positive(s), mul(s, ln_cr(div(div(s, w), mean)), p), 0.0f32)
}

/// What a Newton step gains with an L2 penalty alone. With d = `gl h - g hl`, λ the penalty and gr, hr the right sums:
/// a = (d ⊖ λ ⊗ gr) ⊘ (h ⊕ λ), b = (d ⊕ λ ⊗ gl) ⊘ (h ⊕ λ), m = g ⊘ (h ⊕ λ),
/// (a ⊗ a) ⊘ (hl ⊕ λ) ⊕ (b ⊗ b) ⊘ (hr ⊕ λ) ⊖ λ ⊗ (m ⊗ m), which is G² / (H + λ) of the children less that of the parent.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn newton_gain(gl: Limbs, hl: Limbs, g: Limbs, h: Limbs, l2: f32, p: Pins) -> f32 {
    let gr = sub64(g, gl);
    let hr = sub64(h, hl);
    let left = add(i64_to_f32(hl), l2, p);
    let right = add(i64_to_f32(hr), l2, p);
    let both = add(i64_to_f32(h), l2, p);
    let d = cross(gl, h, g, hl);
    let a = div(sub(d, mul(l2, i64_to_f32(gr), p), p), both);
    let b = div(add(d, mul(l2, i64_to_f32(gl), p), p), both);
    let m = div(i64_to_f32(g), both);
    let children = add(div(mul(a, a, p), left), div(mul(b, b, p), right), p);
    let sides = (is_zero(gl) && is_zero(hl)) || (is_zero(gr) && is_zero(hr));
    let good = is_positive(left) && is_positive(right) && is_positive(both) && !sides;
    gain_if(good, sub(children, mul(l2, mul(m, m, p), p), p))
}

/// `x` less its sign times `l1`, zero where that would change the sign.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn soft(x: f32, l1: f32, p: Pins) -> f32 {
    let sign = bits(x) & 0x8000_0000u32;
    let rest = sub(from_bits(bits(x) ^ sign), l1, p);
    select_f32(is_positive(rest), from_bits(bits(rest) | sign), 0.0f32)
}

/// The value of a leaf: `-(soft(g) ⊘ (h ⊕ λ))` within the node's bounds.
#[cfg_attr(feature = "gpu", cube)]
fn leaf(t: f32, h: f32, low: f32, high: f32) -> f32 {
    min(max(neg(div(t, h)), low), high)
}

/// What a leaf's value is worth: `-(v ⊗ ((t ⊕ t) ⊕ (h ⊗ v)))` with t = soft(g).
#[cfg_attr(feature = "gpu", cube)]
fn worth(t: f32, h: f32, v: f32, p: Pins) -> f32 {
    neg(mul(v, add(add(t, t, p), mul(h, v, p), p), p))
}

/// The penalties of a Newton step, and the bounds of a node's leaves, in units of the integers.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub(super) struct Penalty {
    pub(super) l1: f32,
    pub(super) l2: f32,
    pub(super) low: f32,
    pub(super) high: f32,
}

/// What a Newton step gains with an L1 penalty or bounds: worth of the left leaf ⊕ of the right ⊖ of the parent. `sign` is
/// 1 where the left leaf must not be above the right one, 2 where it must not be below, 0 otherwise.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn bounded_gain(gl: Limbs, hl: Limbs, g: Limbs, h: Limbs, by: Penalty, sign: u32, p: Pins) -> f32 {
    let gr = sub64(g, gl);
    let hr = sub64(h, hl);
    let left = add(i64_to_f32(hl), by.l2, p);
    let right = add(i64_to_f32(hr), by.l2, p);
    let both = add(i64_to_f32(h), by.l2, p);
    let tl = soft(i64_to_f32(gl), by.l1, p);
    let tr = soft(i64_to_f32(gr), by.l1, p);
    let t = soft(i64_to_f32(g), by.l1, p);
    let vl = leaf(tl, left, by.low, by.high);
    let vr = leaf(tr, right, by.low, by.high);
    let v = leaf(t, both, by.low, by.high);
    let children = add(worth(tl, left, vl, p), worth(tr, right, vr, p), p);
    let sides = (is_zero(gl) && is_zero(hl)) || (is_zero(gr) && is_zero(hr));
    let good = is_positive(left) && is_positive(right) && is_positive(both) && !sides;
    gain_if(good && is_ordered(vl, vr, sign), sub(children, worth(t, both, v, p), p))
}

/// True if `l` and `r` are in the order that `sign` asks for.
#[cfg_attr(feature = "gpu", cube)]
fn is_ordered(l: f32, r: f32, sign: u32) -> bool {
    let a = key(l);
    let b = key(r);
    !((sign == 1u32 && a > b) || (sign == 2u32 && a < b))
}

/// True if the means of both sides lie within bounds and in the order that `sign` asks for.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn is_monotone(sl: Limbs, wl: Limbs, s: Limbs, w: Limbs, low: f32, high: f32, sign: u32) -> bool {
    let l = div(i64_to_f32(sl), i64_to_f32(wl));
    let r = div(i64_to_f32(sub64(s, sl)), i64_to_f32(sub64(w, wl)));
    let least = key(min(l, r));
    let most = key(max(l, r));
    is_ordered(l, r, sign) && least >= key(low) && most <= key(high)
}

/// True if neither side's sum is below `least`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn is_enough(left: Limbs, all: Limbs, least: Limbs) -> bool {
    !is_less(left, least) && !is_less(sub64(all, left), least)
}

/// The key that orders the bins of a category column: that of `s ⊘ (w ⊕ l2)`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn ratio_key(s: Limbs, w: Limbs, l2: f32, p: Pins) -> u32 {
    key(div(i64_to_f32(s), add(i64_to_f32(w), l2, p)))
}

/// The sum of gains over nodes, and in how many the split was not refused.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub(super) struct Gains {
    pub(super) sum: f32,
    pub(super) nodes: u32,
}

/// `gains` with those of one node more.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn add_gain(gains: Gains, gain: f32, p: Pins) -> Gains {
    let good = is_finite(gain);
    Gains {
        sum: select_f32(good, add(gains.sum, gain, p), gains.sum),
        nodes: gains.nodes + select_u32(good, 1u32, 0u32),
    }
}

/// The key of the sum; 0, below all keys, where every node refused or the sum is not finite.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn gains_key(gains: Gains) -> u32 {
    select_u32(gains.nodes != 0u32 && is_finite(gains.sum), key(gains.sum), 0u32)
}
