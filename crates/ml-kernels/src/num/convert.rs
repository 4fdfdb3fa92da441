//! Contract clause `operations`: exact conversions between integers, fixed point and floats, and scaling by 2^e.
//!
//! Integers all through: one driver of the test fleet rounds 8% of `u32` to `f32` wrongly, and out-of-range conversions
//! are undefined in shaders.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::divide::split;
use super::limbs::*;
use super::raw::*;

/// The bits of the float nearest to `n * 2^(e - 158)`, ties to even. The top bit of `n` is set, `sticky` is not 0 if
/// anything non-zero lies below `n`, and `e`, in 1..=253, is the exponent field of the result before a carry.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn round_top(n: u32, sticky: u32, e: u32) -> u32 {
    let mantissa = n >> 8u32;
    let below = (n << 24u32) | select_u32(sticky == 0u32, 0u32, 1u32);
    // Above half, or half and odd.
    let up = below > 0x8000_0000u32 || (below == 0x8000_0000u32 && (mantissa & 1u32) == 1u32);
    add_wrap(add_wrap((e - 1u32) << 23u32, mantissa), select_u32(up, 1u32, 0u32))
}

/// [`u32_to_f32`](fn@u32_to_f32) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P17
pub fn u32_to_f32_integer(x: u32) -> f32 {
    let zeros = clz(x | 1u32);
    from_bits(select_u32(x == 0u32, 0u32, round_top(x << zeros, 0u32, 158u32 - zeros)))
}

/// [`i64_to_f32`](fn@i64_to_f32) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P19
pub fn i64_to_f32_integer(x: Limbs) -> f32 {
    let sign = x.hi & 0x8000_0000u32;
    let size = neg64_if(sign != 0u32, x);
    let wide = size.hi != 0u32;
    let top = select_u32(wide, size.hi, size.lo);
    let next = select_u32(wide, size.lo, 0u32);
    let zeros = clz(top | 1u32);
    let n = shl_pair(top, next, zeros);
    let e = select_u32(wide, 190u32, 158u32) - zeros;
    let rounded = round_top(n, next << zeros, e);
    from_bits(select_u32(top == 0u32, 0u32, rounded | sign))
}

twin! {
    /// `x` as the nearest float, ties to even.
    pub fn u32_to_f32(x: u32) -> f32,
    host: x as f32,
    gpu(scope): u32_to_f32_integer::expand(scope, x)
}

twin! {
    /// The signed 64-bit `x` as the nearest float, ties to even.
    pub fn i64_to_f32(x: Limbs) -> f32,
    host: x.to_i64() as f32,
    gpu(scope): i64_to_f32_integer::expand(scope, x)
}

/// `x` as the nearest float, ties to even.
#[cfg_attr(feature = "gpu", cube)]
pub fn i32_to_f32(x: i32) -> f32 {
    let b = i32_bits(x);
    let sign = b & 0x8000_0000u32;
    let size = select_u32(sign == 0u32, b, sub_wrap(0u32, b));
    // Zero has no sign: its size converts to bits 0 and its sign is 0.
    from_bits(bits(u32_to_f32(size)) | sign)
}

/// The integer part of |x| below 2^32, and all ones from there on; NaN gives 0.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P18
fn truncate(magnitude: u32) -> u32 {
    let field = magnitude >> 23u32;
    let m = (magnitude & 0x007f_ffffu32) | 0x0080_0000u32;
    // m * 2^(field - 150); below 1 for field < 127.
    let right = m >> (sub_wrap(150u32, field) & 31u32);
    let left = m << (sub_wrap(field, 150u32) & 31u32);
    let inside = select_u32(field < 127u32, 0u32, select_u32(field < 150u32, right, left));
    let bounded = select_u32(field >= 159u32, 0xffff_ffffu32, inside);
    select_u32(magnitude > 0x7f80_0000u32, 0u32, bounded)
}

/// `x` truncated to a `u32`, saturating; NaN gives 0.
#[cfg_attr(feature = "gpu", cube)]
pub fn f32_to_u32_sat(x: f32) -> u32 {
    let b = bits(x);
    select_u32(b >= 0x8000_0000u32, 0u32, truncate(b & 0x7fff_ffffu32))
}

/// `x` truncated to an `i32`, saturating; NaN gives 0.
#[cfg_attr(feature = "gpu", cube)]
pub fn f32_to_i32_sat(x: f32) -> i32 {
    let b = bits(x);
    let size = truncate(b & 0x7fff_ffffu32);
    let positive = select_u32(size > 0x7fff_ffffu32, 0x7fff_ffffu32, size);
    let negative = sub_wrap(0u32, select_u32(size > 0x8000_0000u32, 0x8000_0000u32, size));
    i32_from_bits(select_u32(b >= 0x8000_0000u32, negative, positive))
}

/// An exponent `e` kept within -600..=600, plus 1,024: beyond that no float tells the difference.
#[cfg_attr(feature = "gpu", cube)]
fn clamp_exponent(e: i32) -> u32 {
    // Flipping the sign bit maps the order of i32 to that of u32.
    let b = i32_bits(e) ^ 0x8000_0000u32;
    let low = select_u32(b < 0x7fff_fda8u32, 0x7fff_fda8u32, b);
    let high = select_u32(low > 0x8000_0258u32, 0x8000_0258u32, low);
    sub_wrap(high, 0x7fff_fc00u32)
}

/// `canon(x * 2^e)`, exact but for overflow to infinity; infinities and NaN stay.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P20
pub fn scale_pow2(x: f32, e: i32) -> f32 {
    let b = bits(x);
    let sign = b & 0x8000_0000u32;
    let size = b & 0x7fff_ffffu32;
    let p = split(size);
    // p.e is the exponent field + 64, so this is the field of the result + 1,088.
    let field = p.e + clamp_exponent(e);
    let scaled = (sub_wrap(field, 1088u32) << 23u32) | (p.m & 0x007f_ffffu32);
    let finite = select_u32(field >= 1343u32, 0x7f80_0000u32, select_u32(field <= 1088u32, 0u32, scaled));
    let canonical = select_u32(finite <= 0x0080_0000u32 || size == 0u32, 0u32, finite);
    let signed = canonical | select_u32(canonical == 0u32, 0u32, sign);
    from_bits(select_u32(size >= 0x7f80_0000u32, b, signed))
}

/// `x * 2^shift` as a signed 64-bit integer, rounded half to even, saturating at -(2^63 - 1) and 2^63 - 1; NaN gives 0.
///
/// The bounds are symmetric so that the negative of every result is one.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P48
pub fn f32_to_fixed(x: f32, shift: i32) -> Limbs {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let p = split(size);
    // |x| * 2^shift = m * 2^(u - 1238): u is 1,238 where m itself is the integer.
    let u = p.e + clamp_exponent(shift);

    // Up: m << left with left in 0..=39 is below 2^63.
    let left = sub_wrap(u, 1238u32);
    let s = left & 31u32;
    let up_hi = select_u32(left >= 32u32, p.m << s, shl_pair(0u32, p.m, s));
    let up_lo = select_u32(left >= 32u32, 0u32, p.m << s);

    // Down: m >> right with right in 1..=25; from 25 on all is below half (m < 2^24) and gives 0.
    let right = sub_wrap(1238u32, u);
    let t = select_u32(right > 25u32, 25u32, right);
    let whole = p.m >> t;
    // The part below the point, moved to the top of a word; t is at least 1 where this is used.
    let below = p.m << ((32u32 - t) & 31u32);
    let odd = whole & 1u32;
    let round = select_u32(below > 0x8000_0000u32 || (below == 0x8000_0000u32 && odd == 1u32), 1u32, 0u32);
    let down = whole + round;

    let small = u < 1238u32;
    let huge = u > 1277u32;
    let hi = select_u32(small, 0u32, select_u32(huge, 0x7fff_ffffu32, up_hi));
    let lo = select_u32(small, down, select_u32(huge, 0xffff_ffffu32, up_lo));
    let none = size == 0u32 || size > 0x7f80_0000u32;
    let endless = size == 0x7f80_0000u32;
    let magnitude = Limbs {
        hi: select_u32(none, 0u32, select_u32(endless, 0x7fff_ffffu32, hi)),
        lo: select_u32(none, 0u32, select_u32(endless, 0xffff_ffffu32, lo)),
    };
    neg64_if(b >= 0x8000_0000u32, magnitude)
}
