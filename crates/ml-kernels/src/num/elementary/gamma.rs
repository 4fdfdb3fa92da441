//! ln |gamma| and its derivative digamma.
//!
//! From 16 on, Stirling's series as a polynomial in 1/x^2; below, x is moved up by the recurrence: its factors as one
//! product, its reciprocals as one quotient. Negative x by reflection. All terms are good to 2^-105 of the largest, so that
//! even next to a zero of the function enough digits are left.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::exp2::unless_nan;
use super::log2::{ln_2, log2_real};
use super::real::*;
use super::tables::*;
use super::trig::{circle, fraction, half_pi};
use super::wide::*;
use crate::num::convert::f32_to_u32_sat;
use crate::num::raw::*;

polynomial! {
    /// (ln gamma(x) - (x - 1/2) ln x + x - ln(2 pi)/2) x at g = 128/x^2, Q.128, `flip` all ones.
    fn stirling(g, flip) = LGAMMA_POLY
}

polynomial! {
    /// (ln x - 1/(2 x) - digamma(x)) x^2 at g = 128/x^2, Q.128, `flip` all ones.
    fn stirling_slope(g, flip) = DIGAMMA_POLY
}

/// x moved up to `z` >= 16: `over` is the product of the x + i passed by, and `sum` the sum of their reciprocals times that.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType, CubeTypeMut))]
struct Raised {
    z: Real,
    over: Real,
    sum: Real,
}

/// One more.
#[cfg_attr(feature = "gpu", cube)]
fn raise(r: Raised) -> Raised {
    Raised { z: plus(r.z, one()), over: times(r.over, r.z), sum: plus(times(r.sum, r.z), r.over) }
}

/// x > 0 moved up to 16 or more.
#[cfg_attr(feature = "gpu", cube)]
fn raised(x: Real) -> Raised {
    let zero = Real { sign: 0u32, e: 0u32, m: Wide { w3: 0u32, w2: 0u32, w1: 0u32, w0: 0u32 } };
    let mut r = Raised { z: x, over: one(), sum: zero };
    for _ in 0..16u32 {
        if r.z.e < ONE + 4u32 {
            r = raise(r);
        }
    }
    r
}

/// Sine and cosine of pi |x| up to their sign, and whether their quotient is negative; |x| < 2^23.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
struct Reflection {
    sin: Real,
    cos: Real,
    behind: bool,
}

/// The circle at pi |x|.
#[cfg_attr(feature = "gpu", cube)]
fn reflection(size: u32) -> Reflection {
    let x = from_bits(size);
    let whole = f32_to_u32_sat(x);
    let below = minus(real(x), normal(0u32, ONE + 31u32, Wide { w3: whole, w2: 0u32, w1: 0u32, w0: 0u32 }));
    // Behind 1/2 the distance to the next integer, on the other side.
    let half = scaled(one(), 0xffff_ffffu32);
    let behind = smaller(half, below);
    let near = select_real(behind, minus(one(), below), below);
    let f = scaled(near, 1u32);
    let steep = smaller(half, f);
    let c = circle(select_real(steep, minus(one(), f), f));
    Reflection { sin: select_real(steep, c.cos, c.sin), cos: select_real(steep, c.sin, c.cos), behind }
}

/// Whether the magnitude `size` is that of an integer, or infinite.
#[cfg_attr(feature = "gpu", cube)]
fn is_whole(size: u32) -> bool {
    let field = size >> 23u32;
    let below = sub_wrap(150u32, field);
    let fraction_bits = ((size & 0x007f_ffffu32) | 0x0080_0000u32) << (sub_wrap(32u32, below) & 31u32);
    field >= 150u32 || (field >= 127u32 && fraction_bits == 0u32) || size == 0u32
}

/// ln |gamma(x)| for finite x that is no pole.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn lgamma_real(x: f32) -> Real {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let negative = b >= 0x8000_0000u32;
    let a = real(from_bits(size));
    let r = raised(a);
    let inverse = reciprocal(r.z);
    let u = fraction(inverse);
    let series = times(inverse, normal(0u32, ONE - 1u32, stirling(shl128_bits(mul_top4(u, u), 7u32), 0xffff_ffffu32)));
    let ln_z = times(log2_real(r.z), ln_2());
    let half = scaled(one(), 0xffff_ffffu32);
    let half_ln_two_pi = Real {
        sign: 0u32,
        e: ONE - 1u32,
        m: Wide { w3: HALF_LN_TWO_PI_3, w2: HALF_LN_TWO_PI_2, w1: HALF_LN_TWO_PI_1, w0: HALF_LN_TWO_PI_0 },
    };
    let main = plus(minus(times(minus(r.z, half), ln_z), r.z), plus(half_ln_two_pi, series));

    // ln gamma(-a) = ln pi - ln(a sin(pi a)) - ln gamma(a), and ln gamma(a) = main - ln(over).
    let s = reflection(size);
    let divisor = times(a, s.sin);
    let quotient = times(times(r.over, scaled(half_pi(), 1u32)), reciprocal(divisor));
    let other = times(log2_real(select_real(negative, quotient, r.over)), ln_2());
    with_sign(minus(main, other), b & 0x8000_0000u32)
}

/// [`lgamma_cr`](fn@super::lgamma_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn lgamma_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let negative = b >= 0x8000_0000u32;
    // The only exact values: 0 at 1 and 2.
    let none = b == 0x3f80_0000u32 || b == 0x4000_0000u32;
    let value = select_u32(none, 0u32, rounded(lgamma_real(x)));
    let pole = size == 0u32 || size == 0x7f80_0000u32 || (negative && is_whole(size));
    unless_nan(x, select_u32(pole, 0x7f80_0000u32, value))
}

/// digamma(x) for finite x that is no pole.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn digamma_real(x: f32) -> Real {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let negative = b >= 0x8000_0000u32;
    let a = real(from_bits(size));
    let r = raised(a);
    let inverse = reciprocal(r.z);
    let u = fraction(inverse);
    let slope = normal(0u32, ONE - 1u32, stirling_slope(shl128_bits(mul_top4(u, u), 7u32), 0xffff_ffffu32));
    let ln_z = times(log2_real(r.z), ln_2());
    let small = times(inverse, plus(scaled(one(), 0xffff_ffffu32), times(inverse, slope)));
    let main = minus(minus(ln_z, small), times(r.sum, reciprocal(r.over)));

    // digamma(-a) = digamma(a) + 1/a + pi cot(pi a).
    let s = reflection(size);
    let cot = times(times(scaled(half_pi(), 1u32), s.cos), reciprocal(s.sin));
    let more = plus(reciprocal(a), with_sign(cot, select_u32(s.behind, 0x8000_0000u32, 0u32)));
    select_real(negative, plus(main, more), main)
}

/// [`digamma_cr`](fn@super::digamma_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn digamma_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let negative = b >= 0x8000_0000u32;
    let endless = select_u32(b == 0x7f80_0000u32, 0x7f80_0000u32, rounded(digamma_real(x)));
    let zero = select_u32(size == 0u32, 0xff80_0000u32, endless);
    let invalid = negative && size != 0u32 && is_whole(size);
    unless_nan(x, select_u32(invalid, 0x7fc0_0000u32, zero))
}
