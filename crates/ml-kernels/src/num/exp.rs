//! Contract clause `elementary`: `exp`, correctly rounded.
//!
//! Devices compute in fixed point of 64 bits. With y = x log2(e) = n + i/8 + f, n an integer, i in 0..8 and f in
//! [0, 1/8), exp(x) = 2^n * 2^(i/8) * 2^f: an exponent, a table of eight, a polynomial of degree 8. The relative error
//! is below 2^-60 (see [`exp_integer`](fn@exp_integer)). The value is never half way between two floats (it is
//! transcendental but for x = 0), and the exhaustive run over all 2^32 inputs shows that none is so close to half way
//! that this error could matter; that run is the proof of the `_cr` in the name.
//!
//! The host reaches the same mathematical value through f64 and falls back to the integers where f64 cannot decide.

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

/// [`exp_cr`](fn@exp_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn exp_integer(x: f32) -> f32 {
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

twin! {
    /// e^x, correctly rounded for every input, then canon: results up to 2^-126 are 0; infinity from 88.72284 on; a NaN
    /// gives the NaN 0x7fc00000.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`). Hosts use f64 where that decides, devices
    /// [`exp_integer`](fn@exp_integer).
    pub fn exp_cr(x: f32) -> f32,
    host: super::host::exp(x),
    gpu(scope): exp_integer::expand(scope, x)
}
