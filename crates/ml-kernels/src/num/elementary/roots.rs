//! Roots: rsqrt, cbrt, hypot.
//!
//! All three are algebraic, so their distance from the middle between two floats has a bound: for a middle M of 25 bits,
//! M^2 x or M^3 is an integer of at most 75 bits when scaled, and differs from the power of two or the x it is compared with
//! by 1 at least, or is equal to it. Errors of 2^-96 therefore decide every case but equality, which a root of `hypot` alone
//! can have.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::exp2::{power, unless_nan, whole};
use super::log2::log2_real;
use super::real::*;
use super::wide::*;
use crate::num::raw::*;

/// [`rsqrt_cr`](fn@super::rsqrt_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn rsqrt_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let root = rounded(reciprocal_root(real(from_bits(size))));
    let zero = select_u32(size == 0u32, 0x7f80_0000u32, root);
    let finite = select_u32(b == 0x7f80_0000u32, 0u32, zero);
    let invalid = size > 0x7f80_0000u32 || (b >= 0x8000_0000u32 && size != 0u32);
    from_bits(select_u32(invalid, 0x7fc0_0000u32, finite))
}

/// [`cbrt_cr`](fn@super::cbrt_cr) in integers: what devices run. 2^(log2 |x| / 3).
#[cfg_attr(feature = "gpu", cube)]
pub fn cbrt_integer(x: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let third = Real {
        sign: 0u32,
        e: ONE - 2u32,
        m: Wide { w3: 0xaaaa_aaaau32, w2: 0xaaaa_aaaau32, w1: 0xaaaa_aaaau32, w0: 0xaaaa_aaabu32 },
    };
    let root = whole(power(times(log2_real(real(from_bits(size))), third)));
    let value = rounded(with_sign(root, b & 0x8000_0000u32));
    let zero = select_u32(size == 0u32, 0u32, value);
    unless_nan(x, select_u32(size == 0x7f80_0000u32, b, zero))
}

/// [`hypot_cr`](fn@super::hypot_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn hypot_integer(x: f32, y: f32) -> f32 {
    let size_x = bits(x) & 0x7fff_ffffu32;
    let size_y = bits(y) & 0x7fff_ffffu32;
    let a = real(from_bits(size_x));
    let b = real(from_bits(size_y));
    // Exact while the exponents are at most 39 apart; beyond 12 the lesser square cannot bring the root near a middle.
    let sum = plus(times(a, a), times(b, b));
    let root = times(sum, reciprocal_root(sum));
    // The nearest number of 25 bits; if it is odd and its square is the sum, the root is half way between two floats.
    let middle = add_wrap(root.m.w3, 0x40u32) >> 7u32;
    let m = normal(0u32, root.e, Wide { w3: middle << 7u32, w2: 0u32, w1: 0u32, w0: 0u32 });
    let square = times(m, m);
    let equal = square.e == sum.e
        && square.m.w3 == sum.m.w3
        && square.m.w2 == sum.m.w2
        && square.m.w1 == sum.m.w1
        && square.m.w0 == sum.m.w0;
    let half = middle >> 1u32;
    let even = add_wrap(half, half & 1u32);
    let nearest = add_wrap(root.m.w3 >> 8u32, (root.m.w3 >> 7u32) & 1u32);
    let tie = equal && (middle & 1u32) == 1u32;
    let finite = packed(root, select_u32(tie, even, nearest));
    let endless = size_x == 0x7f80_0000u32 || size_y == 0x7f80_0000u32;
    unless_nan(x, bits(unless_nan(y, select_u32(endless, 0x7f80_0000u32, finite))))
}
