//! Powers of two, and what is made of them: exp2, expm1, sinh, cosh, tanh, sigmoid.
//!
//! y = k/16 + f with k an integer and |f| <= 1/32: 2^y = 2^(k/16) (1 + f Q(f)), a table of sixteen roots and a polynomial of
//! degree 12. The two summands are kept apart, so that 2^y - 1 loses nothing near y = 0.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::real::*;
use super::tables::*;
use super::wide::*;
use crate::num::raw::*;

wide_table! {
    /// 2^(index/16), Q.127.
    fn root(index) = EXP2_ROOT
}

polynomial! {
    /// (2^f - 1)/f at g = 16 |f|, g up to 1/2, Q.128.
    fn rise(g, flip) = EXP2_POLY
}

/// 2^y as `head + tail`: `head` is a power of 2^(1/16), and 1 exactly for |y| < 1/32.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub(super) struct Power {
    pub head: Real,
    pub tail: Real,
}

/// log2(e).
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn log2_e() -> Real {
    Real { sign: 0u32, e: ONE, m: Wide { w3: LOG2_E_3, w2: LOG2_E_2, w1: LOG2_E_1, w0: LOG2_E_0 } }
}

/// 2^y, to 2^-108; |y| above 128 counts as something above 128.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn power(y: Real) -> Power {
    // |y| in Q.120, and k to nearest.
    let e = select_u32(y.e > ONE + 7u32, ONE + 7u32, y.e);
    let whole = shr128(y.m, ONE + 7u32 - e);
    let high = select_u32(whole.w3 > 0xf000_0000u32, 0xf000_0000u32, whole.w3);
    let fixed = Wide { w3: high, w2: whole.w2, w1: whole.w1, w0: whole.w0 };
    let steps = add_wrap(fixed.w3, 0x0008_0000u32) >> 20u32;
    let rest = Wide { w3: sub_wrap(fixed.w3, steps << 20u32), w2: fixed.w2, w1: fixed.w1, w0: fixed.w0 };
    let below = rest.w3 >= 0x8000_0000u32;
    let size = neg128_if(below, rest);
    let sign = y.sign ^ select_u32(below, 0x8000_0000u32, 0u32);
    let f = select_real(steps == 0u32, y, normal(sign, ONE + 7u32, size));
    let down = y.sign != 0u32;
    let k = select_u32(down, sub_wrap(0u32, steps), steps);

    let q = rise(shl128_bits(size, 12u32), mask(sign != 0u32));
    let fq = times(f, Real { sign: 0u32, e: ONE - 1u32, m: q });
    // k div 16 with k made positive by 2^16.
    let n = sub_wrap(add_wrap(k, 0x0001_0000u32) >> 4u32, 0x1000u32);
    let head = Real { sign: 0u32, e: add_wrap(ONE, n), m: root(k & 15u32) };
    Power { head, tail: times(head, fq) }
}

/// 2^y.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn whole(p: Power) -> Real {
    plus(p.head, p.tail)
}

/// 2^y - 1, as good near 0 as anywhere.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn less_one(p: Power) -> Real {
    plus(minus(p.head, one()), p.tail)
}

/// `x` with its magnitude cut down to `limit`, given as bits; NaN counts as infinity.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn limited(x: f32, limit: u32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    from_bits(select_u32(size > limit, limit, size) | (b & 0x8000_0000u32))
}

/// `result`, but the one NaN where `x` is a NaN.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn unless_nan(x: f32, result: u32) -> f32 {
    from_bits(select_u32((bits(x) & 0x7fff_ffffu32) > 0x7f80_0000u32, 0x7fc0_0000u32, result))
}

/// [`exp2_cr`](fn@super::exp2_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn exp2_integer(x: f32) -> f32 {
    // Beyond 160 the result is 0 or infinity as it is at 160.
    let y = real(limited(x, 0x4320_0000u32));
    unless_nan(x, rounded(whole(power(y))))
}

/// e^x - 1 for |x| up to 104.
#[cfg_attr(feature = "gpu", cube)]
fn expm1_real(x: f32) -> Real {
    less_one(power(times(real(x), log2_e())))
}

/// [`expm1_cr`](fn@super::expm1_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn expm1_integer(x: f32) -> f32 {
    // -1 to 2^-100 from -104 down, infinite from 104 on.
    unless_nan(x, rounded(expm1_real(limited(x, 0x42d0_0000u32))))
}

/// [`sinh_cr`](fn@super::sinh_cr) in integers: what devices run. With u = e^|x| - 1: (u + u/(u + 1))/2.
#[cfg_attr(feature = "gpu", cube)]
pub fn sinh_integer(x: f32) -> f32 {
    let b = bits(x);
    let u = expm1_real(limited(from_bits(b & 0x7fff_ffffu32), 0x42d0_0000u32));
    let sum = plus(u, times(u, reciprocal(plus(u, one()))));
    unless_nan(x, rounded(with_sign(scaled(sum, 0xffff_ffffu32), b & 0x8000_0000u32)))
}

/// [`cosh_cr`](fn@super::cosh_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn cosh_integer(x: f32) -> f32 {
    let e = whole(power(times(real(limited(x, 0x42d0_0000u32)), log2_e())));
    unless_nan(x, rounded(scaled(plus(e, reciprocal(e)), 0xffff_ffffu32)))
}

/// [`tanh_cr`](fn@super::tanh_cr) in integers: what devices run. With u = e^(2x) - 1: u/(u + 2).
#[cfg_attr(feature = "gpu", cube)]
pub fn tanh_integer(x: f32) -> f32 {
    // From 32 on, 1 to 2^-90.
    let y = scaled(times(real(limited(x, 0x4200_0000u32)), log2_e()), 1u32);
    let u = less_one(power(y));
    unless_nan(x, rounded(times(u, reciprocal(plus(u, scaled(one(), 1u32))))))
}

/// [`sigmoid_cr`](fn@super::sigmoid_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn sigmoid_integer(x: f32) -> f32 {
    // At -104 the result is below 2^-126.
    let e = whole(power(negated(times(real(limited(x, 0x42d0_0000u32)), log2_e()))));
    unless_nan(x, rounded(reciprocal(plus(e, one()))))
}
