//! Contract clause `elementary`: `exp`, correctly rounded.
//!
//! Devices compute in fixed point of 32 bits, and of 64 for the one result in about 400 that 32 bits cannot tell. With
//! y = x log2(e) = n + i/8 + f, n an integer, i in 0..8 and f in [0, 1/8), exp(x) = 2^n * 2^(i/8) * 2^f: an exponent, a
//! table of eight, a polynomial of degree 8. The relative error of the 64 bits is below 2^-60. The value is never half
//! way between two floats (it is transcendental but for x = 0), and the exhaustive run over all 2^32 inputs shows that
//! none is so close to half way that this error could matter; that run is the proof of the `_cr` in the name.
//!
//! The host reaches the same mathematical value through f64 and falls back to the 64 bits where f64 cannot decide.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::constants::*;
use super::limbs::*;
use super::raw::*;

lookup! {
    /// High word of 2^(index/8), Q.63.
    fn exp2_hi(index) = EXP2_HI
}

lookup! {
    /// Low word of 2^(index/8), Q.63.
    fn exp2_lo(index) = EXP2_LO
}

/// `hi:lo + (acc * g >> shift)`: one step of Horner's scheme on positive fractions.
#[cfg_attr(feature = "gpu", cube)]
fn step(hi: u32, lo: u32, acc: Limbs, g: Limbs, shift: u32) -> Limbs {
    add64(Limbs { hi, lo }, shr64(mul_top(acc, g), shift))
}

/// The same with two words of each number, for 2^-25 <= |x| < 128.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn exp_in_two_words(x: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let negative = b >= 0x8000_0000u32;
    let field = size >> 23u32;
    // |x| < 2^-25 gives 1 and |x| >= 128 gives 0 or infinity, selected below; in between 102 <= field <= 133.
    let tiny = field < 102u32;
    let large = field > 133u32;
    let e = select_u32(tiny, 102u32, select_u32(large, 133u32, field));

    // |x| log2(e) = p * 2^(e - 127 - 126), p = (mantissa as Q.31) * (log2(e) as Q.95); its lowest limb is not needed.
    let m = (b << 8u32) | 0x8000_0000u32;
    let low = mul_wide(m, LOG2E_1);
    let p1 = add_wrap(low.lo, mul_hi(m, LOG2E_0));
    let up = add64(mul_wide(m, LOG2E_2), Limbs { hi: 0u32, lo: add_wrap(low.hi, carry(p1, low.lo)) });
    // Shift right by 189 - e, in 56..=87, of which 32 went with the lowest limb, to get an integer and 64 fraction bits.
    let shift = 157u32 - e;
    let word = shift >= 32u32;
    let s = shift & 31u32;
    let a2 = select_u32(word, 0u32, up.hi);
    let a1 = select_u32(word, up.hi, up.lo);
    let a0 = select_u32(word, up.lo, p1);
    let fraction = Limbs { hi: shr_pair(a2, a1, s), lo: shr_pair(a1, a0, s) };
    let integer = a2 >> s;

    // y = n + t for either sign of x: for negative x, -(integer + fraction) in two's complement.
    let t = neg64_if(negative, fraction);
    let borrow = select_u32(fraction.hi == 0u32 && fraction.lo == 0u32, 0u32, 1u32);
    let n = select_u32(negative, sub_wrap(sub_wrap(0u32, integer), borrow), integer);
    let i = t.hi >> 29u32;
    // g = 8 f in Q.64.
    let g = Limbs { hi: shl_pair(t.hi, t.lo, 3u32), lo: t.lo << 3u32 };

    // Coefficient k is held as 2^s(k) times itself, so step k shifts by 3 + s(k+1) - s(k). The error of each step, a few
    // units of 2^-64, loses 5 bits or more at the next.
    let c7 = add_wrap(EXP_C7, mul_hi(g.hi, EXP_C8) >> 7u32);
    let c6 = add64(Limbs { hi: EXP_C6_HI, lo: EXP_C6_LO }, shr64(mul_wide(c7, g.hi), 6u32));
    let c5 = step(EXP_C5_HI, EXP_C5_LO, c6, g, 6u32);
    let c4 = step(EXP_C4_HI, EXP_C4_LO, c5, g, 6u32);
    let c3 = step(EXP_C3_HI, EXP_C3_LO, c4, g, 5u32);
    let c2 = step(EXP_C2_HI, EXP_C2_LO, c3, g, 5u32);
    let c1 = step(EXP_C1_HI, EXP_C1_LO, c2, g, 5u32);
    // 2^f - 1 = g c1 / 8, and 2^(i/8) 2^f = root + root (2^f - 1), below 2 in Q.63.
    let root = Limbs { hi: exp2_hi(i), lo: exp2_lo(i) };
    let value = step(root.hi, root.lo, mul_top(c1, g), root, 3u32);

    // 24 bits to nearest: the top word decides.
    let mantissa = add_wrap(value.hi >> 8u32, (value.hi >> 7u32) & 1u32);
    // The mantissa's leading bit adds one to the exponent field n + 126; a carry to 2 adds one more, up to infinity.
    let scale = add_wrap(n, 126u32);
    let inside = add_wrap(scale << 23u32, mantissa);
    // As an unsigned number, a negative scale is huge.
    let under = scale >= 0x8000_0000u32 || (large && negative);
    let over = (scale >= 254u32 && scale < 0x8000_0000u32) || (large && !negative);
    let rounded = select_u32(under, 0u32, select_u32(over, 0x7f80_0000u32, inside));
    let canonical = select_u32(rounded <= 0x0080_0000u32, 0u32, rounded);
    let result = select_u32(tiny, 0x3f80_0000u32, canonical);
    from_bits(select_u32(size > 0x7f80_0000u32, 0x7fc0_0000u32, result))
}

/// [`exp_cr`](fn@exp_cr) in integers: what devices run.
///
/// One word of each number tells nearly all results; the others take two (`exp_in_two_words`).
/// Every error of the one word is downwards, and their sum is below 0.55 of the last place of the value's top word:
/// truncating f takes 2^-35, the coefficient that multiplies f takes 2.1 * 2^-35, their product 2^-35 and the seventh term,
/// left out, a quarter of that, all of the value. Half a unit of the result is 128 last places.
#[cfg_attr(feature = "gpu", cube)]
pub fn exp_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let negative = b >= 0x8000_0000u32;
    let field = size >> 23u32;
    // |x| < 2^-25 gives 1 and |x| >= 128 gives 0 or infinity: what is computed for them is not used.
    let tiny = field < 102u32;
    let large = field > 133u32;

    // |x| log2(e) in units of 2^-35; of a negative x all bits are flipped, which rounds down as well.
    let m = (b << 8u32) | 0x8000_0000u32;
    let below = mul_hi(m, LOG2E_1);
    let p0 = add_wrap(mul_lo(m, LOG2E_2), below);
    let p1 = add_wrap(mul_hi(m, LOG2E_2), carry(p0, below));
    let shift = sub_wrap(154u32, field);
    let word = shift >= 32u32;
    let s = shift & 31u32;
    let high = select_u32(word, 0u32, p1);
    let flip = select_u32(negative, 0xffff_ffffu32, 0u32);
    // 8 n + i, beyond all results for large x, and 8 f in Q.32.
    let eighths = select_u32(large, 0x3fff_ffffu32, high >> s) ^ flip;
    let g = shr_pair(high, select_u32(word, p1, p0), s) ^ flip;

    let c5 = add_wrap(EXP_C5_HI, mul_hi(EXP_C6_HI, g) >> 6u32);
    let c4 = add_wrap(EXP_C4_HI, mul_hi(c5, g) >> 6u32);
    let c3 = add_wrap(EXP_C3_HI, mul_hi(c4, g) >> 5u32);
    let c2 = add_wrap(EXP_C2_HI, mul_hi(c3, g) >> 5u32);
    let c1 = add_wrap(EXP_C1_HI, mul_hi(c2, g) >> 5u32);
    let i = eighths & 7u32;
    let root = Limbs { hi: exp2_hi(i), lo: exp2_lo(i) };
    let value = add64(root, shr64(mul_wide(root.hi, mul_hi(c1, g)), 3u32));

    // Whether the half between two results lies less than 0.6 last places above the value, or 0.1 below it.
    let near = sub_wrap(shl_pair(value.hi, value.lo, 24u32), 0x7f66_6666u32) <= 0x00b3_3333u32;
    let mantissa = add_wrap(value.hi >> 8u32, (value.hi >> 7u32) & 1u32);
    // 8 (n + 126) + i.
    let scale = add_wrap(eighths, 1008u32);
    let inside = add_wrap((scale & 0xffff_fff8u32) << 20u32, mantissa);
    // As an unsigned number, a negative scale is huge.
    let finite = select_u32(scale >= 2032u32, 0x7f80_0000u32, inside);
    let rounded = select_u32(scale >= 0x8000_0000u32, 0u32, finite);
    let canonical = select_u32(rounded <= 0x0080_0000u32, 0u32, rounded);
    let known = select_u32(tiny, 0x3f80_0000u32, canonical);
    let mut result = from_bits(select_u32(size > 0x7f80_0000u32, 0x7fc0_0000u32, known));
    if near && !tiny && !large {
        result = exp_in_two_words(x);
    }
    result
}

twin! {
    /// e^x, correctly rounded for every input, then canon: results up to 2^-126 are 0; infinity from 88.72284 on; a NaN
    /// gives the NaN 0x7fc00000.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`). Hosts use f64 where that decides, devices
    /// [`exp_integer`](fn@exp_integer).
    // pathway: P29
    pub fn exp_cr(x: f32) -> f32,
    host: super::host::exp(x),
    gpu(scope): exp_integer::expand(scope, x)
}
