//! Powers x^y.
//!
//! 2^(y log2 |x|) to 2^-105. The value can be half way between two floats only for y > 1 with x = s^(2^j) 2^(2^j k), j <= 3,
//! s odd, and y = N/2^j, so that x^y = s^N 2^(k N): s^N would need exactly 25 bits. That is tested exactly. All other values
//! are transcendental, or rational with more bits.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::exp2::{power, unless_nan, whole};
use super::log2::log2_real;
use super::real::*;
use crate::num::divide::split;
use crate::num::raw::*;

/// A positive finite value as odd * 2^(e - 214).
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
struct Odd {
    odd: u32,
    e: u32,
}

/// Takes the factors of two out of the mantissa.
#[cfg_attr(feature = "gpu", cube)]
fn odd_part(size: u32) -> Odd {
    let p = split(size);
    let lowest = p.m & sub_wrap(0u32, p.m);
    let zeros = 31u32 - (clz(lowest) & 31u32);
    Odd { odd: p.m >> zeros, e: p.e + zeros }
}

/// `root` with `bit` set if its square stays within `m`.
#[cfg_attr(feature = "gpu", cube)]
fn root_bit(m: u32, root: u32, bit: u32) -> u32 {
    let r = root | bit;
    select_u32(mul_lo(r, r) <= m, r, root)
}

/// The integer square root of `m` < 2^24.
#[cfg_attr(feature = "gpu", cube)]
fn integer_root(m: u32) -> u32 {
    let r1 = root_bit(m, 0u32, 0x800u32);
    let r2 = root_bit(m, r1, 0x400u32);
    let r3 = root_bit(m, r2, 0x200u32);
    let r4 = root_bit(m, r3, 0x100u32);
    let r5 = root_bit(m, r4, 0x80u32);
    let r6 = root_bit(m, r5, 0x40u32);
    let r7 = root_bit(m, r6, 0x20u32);
    let r8 = root_bit(m, r7, 0x10u32);
    let r9 = root_bit(m, r8, 0x8u32);
    let r10 = root_bit(m, r9, 0x4u32);
    let r11 = root_bit(m, r10, 0x2u32);
    root_bit(m, r11, 0x1u32)
}

/// A number whose root is taken as often as asked for; `odd` is 0 if one was not exact.
#[cfg_attr(feature = "gpu", cube)]
fn exact_root(x: Odd, wanted: bool) -> Odd {
    let r = integer_root(x.odd);
    // The exponent is that of 2^(e - 214): even for even e. Half of it, under the same name.
    let exact = mul_lo(r, r) == x.odd && (x.e & 1u32) == 0u32;
    Odd {
        odd: select_u32(wanted, select_u32(exact, r, 0u32), x.odd),
        e: select_u32(wanted, (x.e >> 1u32) + 107u32, x.e),
    }
}

/// `p s` if `wanted`, else `p`; 2^26 stands for everything from there on.
#[cfg_attr(feature = "gpu", cube)]
fn next_power(p: u32, s: u32, wanted: bool) -> u32 {
    let low = mul_lo(p, s);
    let large = mul_hi(p, s) != 0u32 || low > 0x0400_0000u32;
    select_u32(wanted, select_u32(large, 0x0400_0000u32, low), p)
}

/// s^n for n below 16.
#[cfg_attr(feature = "gpu", cube)]
fn small_power(s: u32, n: u32) -> u32 {
    // By bits of n, from the highest: squares and products saturate alike.
    let p3 = next_power(1u32, s, (n & 8u32) != 0u32);
    let q3 = next_power(p3, p3, true);
    let p2 = next_power(q3, s, (n & 4u32) != 0u32);
    let q2 = next_power(p2, p2, true);
    let p1 = next_power(q2, s, (n & 2u32) != 0u32);
    let q1 = next_power(p1, p1, true);
    next_power(q1, s, (n & 1u32) != 0u32)
}

/// The mantissa of 25 bits where |x|^y is half way between two floats; 0 where it is not.
#[cfg_attr(feature = "gpu", cube)]
fn halfway(size_x: u32, y: f32) -> u32 {
    let b = bits(y);
    let n = odd_part(b & 0x7fff_ffffu32);
    // y = N / 2^j: j = 214 - n.e, N = n.odd; or j = 0, N = n.odd 2^(n.e - 214).
    let whole = n.e >= 214u32;
    let j = select_u32(whole, 0u32, 214u32 - n.e);
    let up = select_u32(whole, n.e - 214u32, 0u32);
    let exponent = n.odd << (up & 31u32);
    let small = n.odd < 16u32 && up < 4u32 && exponent < 16u32 && j <= 3u32 && b < 0x8000_0000u32;
    let x0 = odd_part(size_x);
    let x1 = exact_root(x0, j >= 1u32);
    let x2 = exact_root(x1, j >= 2u32);
    let x3 = exact_root(x2, j >= 3u32);
    let p = small_power(x3.odd, exponent & 15u32);
    let right = small && x3.odd != 0u32 && (p >> 24u32) == 1u32;
    select_u32(right, p, 0u32)
}

/// [`pow_cr`](fn@super::pow_cr) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn pow_integer(x: f32, y: f32) -> f32 {
    let bits_x = bits(x);
    let bits_y = bits(y);
    let size_x = bits_x & 0x7fff_ffffu32;
    let size_y = bits_y & 0x7fff_ffffu32;
    let negative = bits_x >= 0x8000_0000u32 && size_x != 0u32;
    let falling = bits_y >= 0x8000_0000u32;

    let n = odd_part(size_y);
    let integer = n.e >= 214u32 || size_y == 0u32;
    let odd = n.e == 214u32 && size_y != 0u32 && size_y < 0x7f80_0000u32;
    let sign = select_u32(negative && odd, 0x8000_0000u32, 0u32);

    let value = whole(power(times(real(y), log2_real(real(from_bits(size_x))))));
    let middle = halfway(size_x, y);
    let half = middle >> 1u32;
    let nearest = add_wrap(value.m.w3 >> 8u32, (value.m.w3 >> 7u32) & 1u32);
    let finite = packed(value, select_u32(middle != 0u32, half + (half & 1u32), nearest));

    // Zero and infinity to a power are one of the two, and so is anything but 1 to an infinite power.
    let above = size_x > 0x3f80_0000u32;
    let grows = above != falling;
    let extreme = size_x == 0u32 || size_x == 0x7f80_0000u32 || size_y == 0x7f80_0000u32;
    let size = select_u32(extreme, select_u32(grows, 0x7f80_0000u32, 0u32), finite);
    let trivial = size_y == 0u32 || size_x == 0x3f80_0000u32;
    let usual = select_u32(trivial, 0x3f80_0000u32, size);
    let signed = usual | select_u32(usual == 0u32, 0u32, sign);
    let invalid = negative && !integer && size_x != 0x7f80_0000u32;
    let result = select_u32(invalid, 0x7fc0_0000u32, signed);
    unless_nan(x, bits(unless_nan(y, result)))
}
