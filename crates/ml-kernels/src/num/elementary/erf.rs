//! The error function and its complement.
//!
//! Below 1, a polynomial in x^2. From 1 on, erfc(x) = e^(-x^2) v F(v) with v = 1/(x + 4) and a polynomial F: one interval up
//! to where the result is below the least float.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::exp2::{limited, log2_e, power, unless_nan, whole};
use super::real::*;
use super::tables::*;
use super::trig::fraction;
use super::wide::*;
use crate::num::raw::*;

polynomial! {
    /// erf(x)/(2 x) at g = x^2 up to 1, Q.128, `flip` all ones.
    fn inner(g, flip) = ERF_POLY
}

polynomial! {
    /// e^(x^2) erfc(x) (x + 4)/8 at g = |s|, Q.128; s = (v - middle)/half.
    fn outer(g, flip) = ERFC_POLY, signed: true
}

/// erf(x) for |x| < 1.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn erf_inner(x: Real) -> Real {
    let size = fraction(x);
    times(x, normal(0u32, ONE, inner(mul_top4(size, size), 0xffff_ffffu32)))
}

/// erfc(x) for x in 1..=9.5.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn erfc_outer(x: Real) -> Real {
    let four = scaled(one(), 2u32);
    let v = reciprocal(plus(x, four));
    let steep = Real {
        sign: 0u32,
        e: ONE + 3u32,
        m: Wide { w3: ERFC_STEEP_3, w2: ERFC_STEEP_2, w1: ERFC_STEEP_1, w0: ERFC_STEEP_0 },
    };
    let shift = Real {
        sign: 0u32,
        e: ONE + 1u32,
        m: Wide { w3: ERFC_SHIFT_3, w2: ERFC_SHIFT_2, w1: ERFC_SHIFT_1, w0: ERFC_SHIFT_0 },
    };
    let s = minus(times(v, steep), shift);
    let f = normal(0u32, ONE + 2u32, outer(fraction(s), mask(s.sign != 0u32)));
    let falling = whole(power(negated(times(times(x, x), log2_e()))));
    times(times(falling, f), v)
}

/// [`erf_cr`](fn@super::erf_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn erf_integer(x: f32) -> f32 {
    let sign = bits(x) & 0x8000_0000u32;
    let size = real(limited(from_bits(bits(x) & 0x7fff_ffffu32), 0x4118_0000u32));
    let outside = minus(one(), erfc_outer(size));
    unless_nan(x, rounded(with_sign(select_real(size.e < ONE, erf_inner(size), outside), sign)))
}

/// [`erfc_cr`](fn@super::erfc_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn erfc_integer(x: f32) -> f32 {
    let b = bits(x);
    // Beyond 9.5 results are below 2^-126, or 2.
    let size = real(limited(from_bits(b & 0x7fff_ffffu32), 0x4118_0000u32));
    let inside = minus(one(), with_sign(erf_inner(size), b & 0x8000_0000u32));
    let right = erfc_outer(size);
    let outside = select_real(b >= 0x8000_0000u32, minus(scaled(one(), 1u32), right), right);
    unless_nan(x, rounded(select_real(size.e < ONE, inside, outside)))
}
