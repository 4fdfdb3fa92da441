//! Logarithms to base two, and what is made of them: log2, log10, log1p, softplus.
//!
//! x = 2^E m; one of sixteen multipliers c of 9 bits, those of `ln`, brings m c (or m c/2) to 1 + r with |r| < 2^-5, and
//! r is exact. log2(x) = E - log2(c) + r L(r), the first two in fixed point, the last in floating point: where the result is
//! small the first two are exactly 0.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::exp2::{log2_e, power, unless_nan, whole};
use super::real::*;
use super::tables::*;
use super::wide::*;
use crate::num::constants::LN_C;
use crate::num::limbs::{carry, shr_pair};
use crate::num::raw::*;

lookup! {
    /// 256 c.
    fn multiplier(index) = LN_C
}

wide_table! {
    /// -log2(c), Q.119, two's complement.
    fn offset(index) = LOG2_OFFSET
}

polynomial! {
    /// log2(1 + r)/(2 r) at g = 32 |r|, Q.128.
    fn slope(g, flip) = LOG2_POLY
}

/// ln(2).
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn ln_2() -> Real {
    Real { sign: 0u32, e: ONE - 1u32, m: Wide { w3: LN_2_3, w2: LN_2_2, w1: LN_2_1, w0: LN_2_0 } }
}

/// log10(2).
#[cfg_attr(feature = "gpu", cube)]
fn log10_2() -> Real {
    Real { sign: 0u32, e: ONE - 2u32, m: Wide { w3: LOG10_2_3, w2: LOG10_2_2, w1: LOG10_2_1, w0: LOG10_2_0 } }
}

/// r L(r) for a remainder r and |r| in Q.128.
#[cfg_attr(feature = "gpu", cube)]
fn tail(r: Real, size: Wide) -> Real {
    let l = slope(shl128_bits(size, 5u32), mask(r.sign == 0u32));
    times(r, Real { sign: 0u32, e: ONE, m: l })
}

/// log2(x) for positive x, to 2^-114 of the result, if the mantissa of x has 119 bits or less; if not, 2^-118 is added.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn log2_real(x: Real) -> Real {
    let i = ((x.m.w3 & 0x7fff_ffffu32) + 0x0400_0000u32) >> 27u32;
    let high = i >= 7u32;
    let c = multiplier(i);
    // m c in Q.135, five words; the integer part of m c/256 or m c/512, which is 1 or (for r < 0) 0, falls away.
    let p0 = mul_lo(x.m.w0, c);
    let h0 = mul_hi(x.m.w0, c);
    let p1 = add_wrap(mul_lo(x.m.w1, c), h0);
    let h1 = add_wrap(mul_hi(x.m.w1, c), carry(p1, h0));
    let p2 = add_wrap(mul_lo(x.m.w2, c), h1);
    let h2 = add_wrap(mul_hi(x.m.w2, c), carry(p2, h1));
    let p3 = add_wrap(mul_lo(x.m.w3, c), h2);
    let p4 = add_wrap(mul_hi(x.m.w3, c), carry(p3, h2));
    let s = select_u32(high, 8u32, 7u32);
    let r = Wide { w3: shr_pair(p4, p3, s), w2: shr_pair(p3, p2, s), w1: shr_pair(p2, p1, s), w0: shr_pair(p1, p0, s) };
    let negative = r.w3 >= 0x8000_0000u32;
    let size = neg128_if(negative, r);
    let last = tail(normal(select_u32(negative, 0x8000_0000u32, 0u32), ONE - 1u32, size), size);

    let o = offset(i);
    let exponent = add_wrap(sub_wrap(x.e, ONE), select_u32(high, 1u32, 0u32));
    let sum = Wide { w3: add_wrap(o.w3, exponent << 23u32), w2: o.w2, w1: o.w1, w0: o.w0 };
    let below = sum.w3 >= 0x8000_0000u32;
    let first = normal(select_u32(below, 0x8000_0000u32, 0u32), ONE + 8u32, neg128_if(below, sum));
    plus(first, last)
}

/// log2(1 + t) for t > -1, as good near 0 as anywhere.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn log2_1p_real(t: Real) -> Real {
    let sum = log2_real(plus(one(), t));
    // For |t| < 2^-6, where r is t itself: |t| in Q.128.
    let near = t.e < ONE - 6u32 || t.m.w3 == 0u32;
    let e = select_u32(near, t.e, ONE - 7u32);
    let last = tail(t, shr128(t.m, ONE - 1u32 - e));
    select_real(near, last, sum)
}

/// A logarithm's result for the float `x`, whose value is `value` where x is positive and finite.
#[cfg_attr(feature = "gpu", cube)]
fn logarithm(x: f32, value: u32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let positive = select_u32(b == 0x7f80_0000u32, 0x7f80_0000u32, value);
    let zero = select_u32(size == 0u32, 0xff80_0000u32, positive);
    let invalid = size > 0x7f80_0000u32 || (b >= 0x8000_0000u32 && size != 0u32);
    from_bits(select_u32(invalid, 0x7fc0_0000u32, zero))
}

/// [`log2_cr`](fn@super::log2_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn log2_integer(x: f32) -> f32 {
    logarithm(x, rounded(log2_real(real(x))))
}

/// [`log10_cr`](fn@super::log10_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn log10_integer(x: f32) -> f32 {
    logarithm(x, rounded(times(log2_real(real(x)), log10_2())))
}

/// [`log1p_cr`](fn@super::log1p_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn log1p_integer(x: f32) -> f32 {
    let b = bits(x);
    let value = rounded(times(log2_1p_real(real(x)), ln_2()));
    let finite = select_u32(b == 0x7f80_0000u32, 0x7f80_0000u32, value);
    let bounded = select_u32(b == 0xbf80_0000u32, 0xff80_0000u32, finite);
    let invalid = (b & 0x7fff_ffffu32) > 0x7f80_0000u32 || b > 0xbf80_0000u32;
    from_bits(select_u32(invalid, 0x7fc0_0000u32, bounded))
}

/// ln(1 + e^x) for |x| up to 2^24. With the larger of x and 0 apart, no digits are lost.
#[cfg_attr(feature = "gpu", cube)]
fn softplus_real(x: f32) -> Real {
    let r = real(x);
    // From |x| = 128 on, e^-|x| is 2^-184 and does not matter.
    let b = bits(x) & 0x7fff_ffffu32;
    let y = real(from_bits(select_u32(b > 0x4300_0000u32, 0xc300_0000u32, b | 0x8000_0000u32)));
    let t = whole(power(times(y, log2_e())));
    let last = times(log2_1p_real(t), ln_2());
    let zero = Real { sign: 0u32, e: 0u32, m: Wide { w3: 0u32, w2: 0u32, w1: 0u32, w0: 0u32 } };
    plus(select_real(r.sign == 0u32, r, zero), last)
}

/// [`softplus_cr`](fn@super::softplus_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn softplus_integer(x: f32) -> f32 {
    let b = bits(x);
    // From 2^24 on the result is x; infinities and NaNs are selected.
    let value = rounded(softplus_real(x));
    let low = select_u32(b == 0xff80_0000u32, 0u32, value);
    unless_nan(x, select_u32(b == 0x7f80_0000u32, 0x7f80_0000u32, low))
}
