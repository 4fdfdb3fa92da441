//! Sine, cosine and tangent: x in quarter turns, exactly reduced by 2/pi to as many bits as the exponent asks for.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::real::*;
use super::tables::*;
use super::wide::*;
use crate::num::divide::split;
use crate::num::limbs::{carry, shl_pair};
use crate::num::raw::*;

lookup! {
    /// Words of 2/pi.
    fn two_pi_word(index) = TWO_PI_WORDS
}

polynomial! {
    /// sin(pi f/2)/(2 f) at g = f^2 up to 1/4, Q.128, `flip` all ones.
    fn sine(g, flip) = SIN_POLY
}

polynomial! {
    /// cos(pi f/2)/2 at g = f^2 up to 1/4, Q.128, `flip` all ones.
    fn cosine(g, flip) = COS_POLY
}

/// |x| = (quadrant + f) pi/2 modulo a full turn, |f| <= 1/2.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
struct Turns {
    quadrant: u32,
    f: Real,
}

/// The sine and the cosine of one angle.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub(super) struct Circle {
    pub sin: Real,
    pub cos: Real,
}

/// pi/2.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn half_pi() -> Real {
    Real { sign: 0u32, e: ONE, m: Wide { w3: PI_2_3, w2: PI_2_2, w1: PI_2_1, w0: PI_2_0 } }
}

/// |a| in Q.128 for |a| below 1.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn fraction(a: Real) -> Wide {
    shr128(a.m, sub_wrap(ONE - 1u32, a.e))
}

/// |x| in quarter turns, x finite.
///
/// With |x| = m 2^q and o = q - 2: |x| 2/pi = 4 m 2^o 2/pi, and modulo 4 only the fraction of 2^o 2/pi matters. 160 bits of
/// it leave an error of 2^-134 in f, which is 2^-33 or more for every float.
#[cfg_attr(feature = "gpu", cube)]
fn turns(x: f32) -> Turns {
    let b = bits(x) & 0x7fff_ffffu32;
    let m = split(b).m;
    let field = b >> 23u32;
    let small = field < 126u32;
    // The place of the first bit, counted from the table's first word: o + 32 = field - 120.
    let at = select_u32(small, 126u32, select_u32(field > 254u32, 254u32, field)) - 120u32;
    let word = at >> 5u32;
    let s = at & 31u32;
    let t0 = two_pi_word(word);
    let t1 = two_pi_word(word + 1u32);
    let t2 = two_pi_word(word + 2u32);
    let t3 = two_pi_word(word + 3u32);
    let t4 = two_pi_word(word + 4u32);
    let t5 = two_pi_word(word + 5u32);
    // The product with m modulo 1, Q.160.
    let v4 = shl_pair(t4, t5, s);
    let v3 = shl_pair(t3, t4, s);
    let v2 = shl_pair(t2, t3, s);
    let v1 = shl_pair(t1, t2, s);
    let p4 = mul_lo(v4, m);
    let h4 = mul_hi(v4, m);
    let p3 = add_wrap(mul_lo(v3, m), h4);
    let h3 = add_wrap(mul_hi(v3, m), carry(p3, h4));
    let p2 = add_wrap(mul_lo(v2, m), h3);
    let h2 = add_wrap(mul_hi(v2, m), carry(p2, h3));
    let p1 = add_wrap(mul_lo(v1, m), h2);
    let h1 = add_wrap(mul_hi(v1, m), carry(p1, h2));
    let p0 = add_wrap(mul_lo(shl_pair(t0, t1, s), m), h1);
    // Two bits of quadrant, then the fraction; a half or more belongs to the next quadrant.
    let f = Wide {
        w3: shl_pair(p0, p1, 2u32),
        w2: shl_pair(p1, p2, 2u32),
        w1: shl_pair(p2, p3, 2u32),
        w0: shl_pair(p3, p4, 2u32),
    };
    let up = f.w3 >= 0x8000_0000u32;
    let large = normal(select_u32(up, 0x8000_0000u32, 0u32), ONE - 1u32, neg128_if(up, f));
    let quadrant = ((p0 >> 30u32) + select_u32(up, 1u32, 0u32)) & 3u32;
    let two_pi = Real { sign: 0u32, e: ONE - 1u32, m: Wide { w3: TWO_PI_3, w2: TWO_PI_2, w1: TWO_PI_1, w0: TWO_PI_0 } };
    let direct = times(real(from_bits(b)), two_pi);
    Turns { quadrant: select_u32(small, 0u32, quadrant), f: select_real(small, direct, large) }
}

/// Sine and cosine of pi f/2, |f| <= 1/2.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn circle(f: Real) -> Circle {
    let size = fraction(f);
    let t = mul_top4(size, size);
    let s = times(f, Real { sign: 0u32, e: ONE, m: sine(t, 0xffff_ffffu32) });
    Circle { sin: s, cos: normal(0u32, ONE, cosine(t, 0xffff_ffffu32)) }
}

/// `result`, but the one NaN where `x` is infinite or a NaN.
#[cfg_attr(feature = "gpu", cube)]
fn if_finite(x: f32, result: u32) -> f32 {
    from_bits(select_u32((bits(x) & 0x7fff_ffffu32) >= 0x7f80_0000u32, 0x7fc0_0000u32, result))
}

/// Sine of |x| plus `more` quarter turns.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn turned(x: f32, more: u32) -> Real {
    let t = turns(x);
    let c = circle(t.f);
    let quadrant = t.quadrant + more;
    let size = select_real((quadrant & 1u32) == 0u32, c.sin, c.cos);
    with_sign(size, (quadrant & 2u32) << 30u32)
}

/// [`sin_cr`](fn@super::sin_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn sin_integer(x: f32) -> f32 {
    if_finite(x, rounded(with_sign(turned(x, 0u32), bits(x) & 0x8000_0000u32)))
}

/// [`cos_cr`](fn@super::cos_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn cos_integer(x: f32) -> f32 {
    if_finite(x, rounded(turned(x, 1u32)))
}

/// [`tan_cr`](fn@super::tan_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn tan_integer(x: f32) -> f32 {
    let t = turns(x);
    let c = circle(t.f);
    let odd = (t.quadrant & 1u32) != 0u32;
    let quotient = times(select_real(odd, c.cos, c.sin), reciprocal(select_real(odd, negated(c.sin), c.cos)));
    if_finite(x, rounded(with_sign(quotient, bits(x) & 0x8000_0000u32)))
}
