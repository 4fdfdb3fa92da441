//! Contract clause `elementary`: the natural logarithm, correctly rounded.
//!
//! x = 2^E * m with m in [0.7, 1.4). One of 16 multipliers c of 9 bits, 1 next to m = 1, brings m c to 1 + r with
//! |r| < 2^-5, and r is exact. Then ln(x) = E ln(2) - ln(c) + ln(1 + r), the first two terms to 96 fraction bits and the
//! last as r (1 - r A(r)) with 64 significant bits, so that it is as good near x = 1, where it is all there is.
//! As with `exp`, the exhaustive run over all inputs shows that the error, below 2^-58 of the result, never matters.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::constants::*;
use super::divide::split;
use super::limbs::*;
use super::raw::*;

lookup! {
    /// 256 c.
    fn multiplier(index) = LN_C
}

lookup! {
    /// -ln(c) - LN_BIAS ln(2), Q.96, limb 2.
    fn offset_2(index) = LN_OFFSET_2
}

lookup! {
    /// The same, limb 1.
    fn offset_1(index) = LN_OFFSET_1
}

lookup! {
    /// The same, limb 0.
    fn offset_0(index) = LN_OFFSET_0
}

/// A signed number of 32 integer and 96 fraction bits, two's complement.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub(super) struct Wide {
    pub(super) hi: Limbs,
    pub(super) lo: Limbs,
}

/// `a + b` modulo 2^128.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn add128(a: Wide, b: Wide) -> Wide {
    let lo = add64(a.lo, b.lo);
    let one = select_u32(less64(lo, b.lo), 1u32, 0u32);
    Wide { hi: add64(add64(a.hi, b.hi), Limbs { hi: 0u32, lo: one }), lo }
}

/// `-a` where `negate`, else `a`: all bits flipped, plus one.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn neg128_if(negate: bool, a: Wide) -> Wide {
    let flip = select_u32(negate, 0xffff_ffffu32, 0u32);
    let flipped = Wide {
        hi: Limbs { hi: a.hi.hi ^ flip, lo: a.hi.lo ^ flip },
        lo: Limbs { hi: a.lo.hi ^ flip, lo: a.lo.lo ^ flip },
    };
    let one = Limbs { hi: 0u32, lo: flip & 1u32 };
    add128(flipped, Wide { hi: Limbs { hi: 0u32, lo: 0u32 }, lo: one })
}

/// `hi:lo - sign(r) (product >> shift)`: one step of Horner's scheme in |r| with alternating signs.
#[cfg_attr(feature = "gpu", cube)]
fn step(hi: u32, lo: u32, product: Limbs, shift: u32, negative: bool) -> Limbs {
    add64(Limbs { hi, lo }, neg64_if(!negative, shr64(product, shift)))
}

/// The same with 32 bits.
#[cfg_attr(feature = "gpu", cube)]
fn step_word(a: u32, product: u32, negative: bool) -> u32 {
    let p = product >> 5u32;
    select_u32(negative, add_wrap(a, p), sub_wrap(a, p))
}

/// [`ln_cr`](fn@ln_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn ln_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let p = split(size);

    // The interval of width 1/16 around 1 + i/16, and r = m c - 1 in Q.32, exact: wrapping takes off the 1.
    let i = ((p.m & 0x007f_ffffu32) + 0x0004_0000u32) >> 19u32;
    let high = i >= 7u32;
    let product = mul_lo(p.m, multiplier(i));
    let r = select_u32(high, product, product << 1u32);
    let negative = r >= 0x8000_0000u32;
    // |r| < 2^-5, times 2^5 in Q.32.
    let rho = select_u32(negative, sub_wrap(0u32, r), r) << 5u32;

    // A = a1 - r (a2 - r (a3 - ...)), every bracket positive; step errors lose 5 bits at each further step.
    let a9 = step_word(LN_A9, mul_hi(LN_A10, rho), negative);
    let a8 = step_word(LN_A8, mul_hi(a9, rho), negative);
    let a7 = step_word(LN_A7, mul_hi(a8, rho), negative);
    let a6 = step(LN_A6_HI, LN_A6_LO, mul_wide(a7, rho), 5u32, negative);
    let a5 = step(LN_A5_HI, LN_A5_LO, mul_top_word(a6, rho), 5u32, negative);
    let a4 = step(LN_A4_HI, LN_A4_LO, mul_top_word(a5, rho), 5u32, negative);
    let a3 = step(LN_A3_HI, LN_A3_LO, mul_top_word(a4, rho), 5u32, negative);
    let a2 = step(LN_A2_HI, LN_A2_LO, mul_top_word(a3, rho), 5u32, negative);
    let a1 = step(LN_A1_HI, LN_A1_LO, mul_top_word(a2, rho), 5u32, negative);
    // 1 - r A in Q.63.
    let q = step(0x8000_0000u32, 0u32, mul_top_word(a1, rho), 6u32, negative);
    // |ln(1 + r)| = rho q, all 96 bits, in Q.100; four go to make Q.96.
    let top = mul_top_word(q, rho);
    let last = mul_lo(q.lo, rho);
    let y = Wide {
        hi: Limbs { hi: 0u32, lo: top.hi >> 4u32 },
        lo: Limbs { hi: shr_pair(top.hi, top.lo, 4u32), lo: shr_pair(top.lo, last, 4u32) },
    };

    // (E + LN_BIAS) ln(2) with E + LN_BIAS >= 3. E is the exponent of m, one more in the upper intervals.
    let e = (p.e + LN_BIAS + select_u32(high, 1u32, 0u32)) - 191u32;
    let l0 = mul_wide(e, LN2_0);
    let l1 = mul_wide(e, LN2_1);
    let l2 = mul_wide(e, LN2_2);
    let even = Wide { hi: l2, lo: l0 };
    let odd = Wide { hi: Limbs { hi: 0u32, lo: l1.hi }, lo: Limbs { hi: l1.lo, lo: 0u32 } };
    let offset =
        Wide { hi: Limbs { hi: LN_OFFSET_3, lo: offset_2(i) }, lo: Limbs { hi: offset_1(i), lo: offset_0(i) } };
    let sum = add128(add128(add128(even, odd), offset), neg128_if(negative, y));

    // |sum| is 0 or in 2^-25..2^7: its top bit is in the integer limb or the first fraction limb.
    let below = sum.hi.hi >= 0x8000_0000u32;
    let s = neg128_if(below, sum);
    let whole = s.hi.hi != 0u32;
    let first = select_u32(whole, s.hi.hi, s.hi.lo);
    let second = select_u32(whole, s.hi.lo, s.lo.hi);
    let zeros = clz(first | 1u32);
    let n = shl_pair(first, second, zeros);
    // 24 bits to nearest: the normalised top word decides.
    let mantissa = add_wrap(n >> 8u32, (n >> 7u32) & 1u32);
    let field = select_u32(whole, 158u32, 126u32) - zeros;
    let value = add_wrap((field - 1u32) << 23u32, mantissa) | select_u32(below, 0x8000_0000u32, 0u32);

    let one = select_u32(first == 0u32, 0u32, value);
    let positive = select_u32(b == 0x7f80_0000u32, 0x7f80_0000u32, one);
    let zero = select_u32(size == 0u32, 0xff80_0000u32, positive);
    let invalid = size > 0x7f80_0000u32 || (b >= 0x8000_0000u32 && size != 0u32);
    from_bits(select_u32(invalid, 0x7fc0_0000u32, zero))
}

twin! {
    /// ln(x), correctly rounded for every input. -infinity for 0, infinity for infinity, the NaN 0x7fc00000 for negative
    /// values and NaN. No result but 0 for 1 is small enough for canon to change it.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`). Hosts use f64 where that decides, devices
    /// [`ln_integer`](fn@ln_integer).
    // pathway: P30
    pub fn ln_cr(x: f32) -> f32,
    host: super::host::ln(x),
    gpu(scope): ln_integer::expand(scope, x)
}
