//! Arc functions: the angle of a point, by one division, a table of nine angles and a polynomial.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::exp2::unless_nan;
use super::real::*;
use super::tables::*;
use super::trig::{fraction, half_pi};
use super::wide::*;
use crate::num::raw::*;

wide_table! {
    /// atan(index/8), Q.128.
    fn angle(index) = ATAN_ANGLE
}

polynomial! {
    /// atan(z)/(2 z) at g = 128 z^2, Q.128, `flip` all ones.
    fn arc(g, flip) = ATAN_POLY
}

/// The angle of the point (x, y), both 0 or more and not both 0: 0..=pi/2, to 2^-108 of itself.
///
/// With c = i/8 near the lesser over the greater: atan(c) + atan(z), z = (lesser - c greater)/(greater + c lesser).
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn angle_of(y: Real, x: Real) -> Real {
    let steep = smaller(x, y);
    let lesser = select_real(steep, x, y);
    let greater = select_real(steep, y, x);
    let i = (rough_quotient(lesser, greater) + 0x0800_0000u32) >> 28u32;
    let c = normal(0u32, ONE + 28u32, Wide { w3: i, w2: 0u32, w1: 0u32, w0: 0u32 });
    let over = minus(lesser, times(greater, c));
    let z = times(over, reciprocal(plus(greater, times(lesser, c))));
    let size = fraction(z);
    let g = shl128_bits(mul_top4(size, size), 7u32);
    let last = times(z, normal(0u32, ONE, arc(g, 0xffff_ffffu32)));
    let sum = plus(normal(0u32, ONE - 1u32, angle(i)), last);
    select_real(steep, minus(half_pi(), sum), sum)
}

/// [`atan_cr`](fn@super::atan_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn atan_integer(x: f32) -> f32 {
    let b = bits(x);
    // Infinity counts as 2^128, whose angle rounds alike.
    let a = angle_of(real(from_bits(b & 0x7fff_ffffu32)), one());
    unless_nan(x, rounded(with_sign(a, b & 0x8000_0000u32)))
}

/// sqrt(1 - x^2) for |x| <= 1.
#[cfg_attr(feature = "gpu", cube)]
fn leg(size: Real) -> Real {
    let square = times(minus(one(), size), plus(one(), size));
    times(square, reciprocal_root(square))
}

/// `result`, but the one NaN where |x| > 1 or `x` is a NaN.
#[cfg_attr(feature = "gpu", cube)]
fn if_ratio(x: f32, result: u32) -> f32 {
    from_bits(select_u32((bits(x) & 0x7fff_ffffu32) > 0x3f80_0000u32, 0x7fc0_0000u32, result))
}

/// [`asin_cr`](fn@super::asin_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn asin_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = real(from_bits(b & 0x7fff_ffffu32));
    if_ratio(x, rounded(with_sign(angle_of(size, leg(size)), b & 0x8000_0000u32)))
}

/// [`acos_cr`](fn@super::acos_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn acos_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = real(from_bits(b & 0x7fff_ffffu32));
    let a = angle_of(leg(size), size);
    let left = minus(scaled(half_pi(), 1u32), a);
    if_ratio(x, rounded(select_real(b >= 0x8000_0000u32, left, a)))
}

/// [`atan2_cr`](fn@super::atan2_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn atan2_integer(y: f32, x: f32) -> f32 {
    let bits_y = bits(y);
    let bits_x = bits(x);
    let size_y = bits_y & 0x7fff_ffffu32;
    let size_x = bits_x & 0x7fff_ffffu32;
    // Next to an infinity a finite value is 0 and the infinity 1; the origin lies on the positive axis.
    let endless = size_y == 0x7f80_0000u32 || size_x == 0x7f80_0000u32;
    let far_y = select_u32(size_y == 0x7f80_0000u32, 0x3f80_0000u32, 0u32);
    let far_x = select_u32(size_x == 0x7f80_0000u32, 0x3f80_0000u32, 0u32);
    let near_x = select_u32(size_x == 0u32 && size_y == 0u32, 0x3f80_0000u32, size_x);
    let used_y = real(from_bits(select_u32(endless, far_y, size_y)));
    let used_x = real(from_bits(select_u32(endless, far_x, near_x)));
    let a = angle_of(used_y, used_x);
    // A quotient of two floats is never half way between two others (`divide.rs`) but 2^-49 or more of itself away, so
    // small angles, which differ from it by a third of its cube, round as it does.
    let left = minus(scaled(half_pi(), 1u32), a);
    let negative = bits_x >= 0x8000_0000u32 && size_x != 0u32;
    let sign = select_u32(size_y == 0u32, 0u32, bits_y & 0x8000_0000u32);
    let result = rounded(with_sign(select_real(negative, left, a), sign));
    unless_nan(x, bits(unless_nan(y, result)))
}
