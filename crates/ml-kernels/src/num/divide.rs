//! Contract clause `operations`: correctly rounded quotient and square root.
//!
//! Vulkan allows a quotient 2.5 units off and a root further off, and drivers use that freedom. So the native operation,
//! applied to mantissas scaled near 1, gives a first guess, and integers make it exact: the remainder of the guess is
//! small, so its low 32 bits are all of it. Most quotients are then told at once (`div_from_reciprocal`). For the others,
//! and for roots, five halving steps bring the guess to the floor of the true value with one bit to spare for rounding.
//! Guesses up to 7 units in the last place off are repaired (Vulkan's bounds come to 2.5
//! and 5). Neither result can lie half way between two floats: a 25-bit odd q with q * b = a * 2^24 would need a divisor
//! b of 25 bits, and q * q is odd while a mantissa times 2^25 is even. So rounding to nearest needs that one spare bit
//! alone.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::ops::{canon, neg};
use super::raw::*;

/// A positive finite value as `m * 2^(e - 214)`, `m` in 2^23..2^24: the sign bit of the exponent is never needed.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub(super) struct Parts {
    /// Exponent field + 64, or less for subnormals: 42..=319.
    pub e: u32,
    /// 24-bit mantissa; 0 for zero.
    pub m: u32,
}

/// Splits the magnitude bits of a finite value; subnormals are normalised.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn split(magnitude: u32) -> Parts {
    let field = magnitude >> 23u32;
    // 1..=23 for subnormals; not used for others.
    let shift = sub_wrap(clz(magnitude | 1u32), 8u32) & 31u32;
    let m = select_u32(field == 0u32, magnitude << shift, (magnitude & 0x007f_ffffu32) | 0x0080_0000u32);
    let e = select_u32(field == 0u32, 65u32 - shift, field + 64u32);
    Parts { e, m }
}

/// An integer quotient or root and what is left of the numerator.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
struct Guess {
    q: u32,
    rest: u32,
}

/// `step` more of the divisor where the rest allows; `cost` is `step` times the divisor.
#[cfg_attr(feature = "gpu", cube)]
fn quotient_step(g: Guess, cost: u32, step: u32) -> Guess {
    let take = g.rest >= cost;
    Guess { q: add_wrap(g.q, select_u32(take, step, 0u32)), rest: sub_wrap(g.rest, select_u32(take, cost, 0u32)) }
}

/// `step` more of the root where the rest allows: (q + step)^2 - q^2 = (2 q + step) step.
#[cfg_attr(feature = "gpu", cube)]
fn root_step(g: Guess, step: u32) -> Guess {
    quotient_step(g, mul_lo(add_wrap(g.q, add_wrap(g.q, step)), step), step)
}

/// A positive mantissa in 2^23..2^24 as a float in [1, 2).
#[cfg_attr(feature = "gpu", cube)]
fn unit_float(m: u32) -> f32 {
    from_bits(0x3f80_0000u32 | (m & 0x007f_ffffu32))
}

/// [`div`](fn@div) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P13
pub fn div_integer(a: f32, b: f32) -> f32 {
    let y = from_bits(0x3f80_0000u32 | (bits(b) & 0x007f_ffffu32));
    let r = div_rough(1.0f32, y);
    // Where the device fuses, this takes off most of what its reciprocal is off; elsewhere it does no harm.
    div_from_reciprocal(a, b, fma_rough(r, fma_rough(neg(y), r, 1.0f32), r))
}

/// What a float in [1, 2) has in its bits beyond its mantissa in units of 2^-23.
const UNIT: u32 = 0x3f00_0000;

/// The exact part of [`div_integer`](fn@div_integer): `reciprocal` is that of the divisor's mantissa, taken in [1, 2), up
/// to 8 units in its last place off.
///
/// A guess that is the nearest quotient or next to it is told by its remainder and mended; other guesses, and operands or
/// results that are not normal numbers, go the long way. So the less often the better the reciprocal, which a compiler
/// can find once for many numerators.
#[cfg_attr(feature = "gpu", cube)]
pub fn div_from_reciprocal(a: f32, b: f32, reciprocal: f32) -> f32 {
    let bits_a = bits(a);
    let bits_b = bits(b);
    let fraction_a = bits_a & 0x007f_ffffu32;
    let field_a = bits_a & 0x7f80_0000u32;

    // What is of the divisor alone: twice its mantissa, the fields of numerators that are normal and, whatever the
    // mantissas, have a quotient whose field is within 2..=254, and what a quotient's bits gain.
    let fraction_b = bits_b & 0x007f_ffffu32;
    let field_b = bits_b & 0x7f80_0000u32;
    let divisor = fraction_b | 0x0080_0000u32;
    let twice = divisor << 1u32;
    let normal_b = sub_wrap(field_b, 0x0080_0000u32) < 0x7f00_0000u32;
    let least = select_u32(field_b > 0x3e80_0000u32, sub_wrap(field_b, 0x3e00_0000u32), 0x0080_0000u32);
    let most = select_u32(field_b < 0x4000_0000u32, add_wrap(field_b, 0x3f00_0000u32), 0x7f00_0000u32);
    let low = select_u32(normal_b, least, 0x8000_0000u32);
    let span = select_u32(normal_b, sub_wrap(most, least), 0u32);
    let scale = sub_wrap(add_wrap(0x3f80_0000u32, bits_b & 0x8000_0000u32), field_b);

    // The quotient of the mantissas, the lesser numerator doubled, is in [1, 2): 2^23..=2^24 units. Its float's bits count
    // them from `UNIT` on.
    let less = fraction_a < fraction_b;
    let one = select_u32(less, 0x4000_0000u32, 0x3f80_0000u32);
    let guess = bits(mul_rough(from_bits(one | fraction_a), reciprocal));
    // Twice the remainder plus the divisor, modulo 2^32, where the numerator's leading bit does not show: in 0..twice for
    // the nearest quotient. For a guess up to 60 units off it is within 2^31 and so is all of it.
    let numerator = bits_a << select_u32(less, 25u32, 24u32);
    let offset = add_wrap(divisor, mul_lo(UNIT, twice));
    let place = sub_wrap(add_wrap(numerator, offset), mul_lo(guess, twice));
    let step = select_u32(place >= twice, select_u32(place >= 0x8000_0000u32, 0xffff_ffffu32, 1u32), 0u32);
    let mended = sub_wrap(place, mul_lo(step, twice));

    let zero = (bits_a << 1u32) == 0u32;
    let sure = (sub_wrap(field_a, low) <= span && mended < twice) || (zero && normal_b);

    // Signs add as bits do, the carry falls off; the quotient's leading bit adds one to the exponent field.
    let sum = add_wrap(add_wrap(sub_wrap(add_wrap(bits_a & 0xff80_0000u32, scale), one), guess), step);
    let mut result = from_bits(select_u32(zero, 0u32, sum));
    if !sure {
        // The guess is positive, which compilers do not know: they would set up the long way for a divisor that stays the
        // same before it is known to be taken, and keep what it needs in registers.
        let same_b = bits_b ^ (guess >> 31u32);
        let x = split(bits_a & 0x7fff_ffffu32);
        let y = split(same_b & 0x7fff_ffffu32);
        result = div_from_guess(a, from_bits(same_b), div_rough(unit_float(x.m), unit_float(y.m)));
    }
    result
}

/// The quotient of any operands: `guess` is the quotient of their mantissas, each taken in [1, 2), up to 7 units in its
/// last place off.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P14
pub fn div_from_guess(a: f32, b: f32, guess: f32) -> f32 {
    let bits_a = bits(a);
    let bits_b = bits(b);
    let size_a = bits_a & 0x7fff_ffffu32;
    let size_b = bits_b & 0x7fff_ffffu32;
    let x = split(size_a);
    let y = split(size_b);

    // floor(x.m * 2^s / y.m) has 25 bits for s = 24 or 25.
    let less = select_u32(x.m < y.m, 1u32, 0u32);
    let rough = bits(guess);
    // The guess as an integer: its exponent field is 125..=128 here.
    let shift = sub_wrap(add_wrap(rough >> 23u32, less), 126u32) & 31u32;
    let start = sub_wrap(((rough & 0x007f_ffffu32) | 0x0080_0000u32) << shift, 16u32);
    let numerator = x.m << (24u32 + less);
    // Starting 16 lower the rest is in 0..32 * y.m, below 2^29: the wrapped difference is exact.
    let g0 = Guess { q: start, rest: sub_wrap(numerator, mul_lo(start, y.m)) };
    let g1 = quotient_step(g0, y.m << 4u32, 16u32);
    let g2 = quotient_step(g1, y.m << 3u32, 8u32);
    let g3 = quotient_step(g2, y.m << 2u32, 4u32);
    let g4 = quotient_step(g3, y.m << 1u32, 2u32);
    let g5 = quotient_step(g4, y.m, 1u32);
    let mantissa = add_wrap(g5.q >> 1u32, g5.q & 1u32);

    // Exponent field + 512, before a carry of the mantissa; adding the two, not joining them, lets the carry through.
    let e = (x.e + 639u32) - (y.e + less);
    let finite = add_wrap(sub_wrap(e, 513u32) << 23u32, mantissa);
    let normal = select_u32(e >= 767u32, 0x7f80_0000u32, select_u32(e <= 512u32, 0u32, finite));
    let small = select_u32(normal <= 0x0080_0000u32, 0u32, normal);

    let zero = size_a == 0u32 || size_b == 0x7f80_0000u32;
    let infinite = size_b == 0u32 || size_a == 0x7f80_0000u32;
    let size = select_u32(infinite, 0x7f80_0000u32, select_u32(zero, 0u32, small));
    // Zeros are unsigned, so a zero divisor brings no sign.
    let sign = (bits_a ^ select_u32(size_b == 0u32, 0u32, bits_b)) & 0x8000_0000u32;
    let signed = size | select_u32(size == 0u32, 0u32, sign);
    let invalid = size_a > 0x7f80_0000u32 || size_b > 0x7f80_0000u32 || (zero && infinite);
    from_bits(select_u32(invalid, 0x7fc0_0000u32, signed))
}

/// [`sqrt`](fn@sqrt) in integers: what devices run.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P15
pub fn sqrt_integer(x: f32) -> f32 {
    let p = split(bits(x) & 0x7fff_ffffu32);
    sqrt_from_guess(x, sqrt_rough(from_bits(((127u32 + odd_exponent(p)) << 23u32) | (p.m & 0x007f_ffffu32))))
}

/// 1 if the exponent is odd, 0 if even: `p.e` = 64 + 127 = 191 stands for [1, 2).
#[cfg_attr(feature = "gpu", cube)]
fn odd_exponent(p: Parts) -> u32 {
    (p.e & 1u32) ^ 1u32
}

/// The exact part of [`sqrt_integer`](fn@sqrt_integer): `guess` is the root of the operand scaled by a power of 4 into
/// [1, 4), up to 7 units in its last place off.
#[cfg_attr(feature = "gpu", cube)]
pub fn sqrt_from_guess(x: f32, guess: f32) -> f32 {
    let b = bits(x);
    let size = b & 0x7fff_ffffu32;
    let p = split(size);

    // An odd exponent doubles the mantissa: the root of n * 2^25, n in 2^23..2^25, has 25 bits.
    let odd = odd_exponent(p);
    let n = p.m << odd;
    let rough = bits(guess);
    let shift = sub_wrap(rough >> 23u32, 126u32) & 31u32;
    let start = sub_wrap(((rough & 0x007f_ffffu32) | 0x0080_0000u32) << shift, 16u32);
    // Starting 16 lower the rest is in 0..2^31: the wrapped difference is exact.
    let g0 = Guess { q: start, rest: sub_wrap(n << 25u32, mul_lo(start, start)) };
    let g1 = root_step(g0, 16u32);
    let g2 = root_step(g1, 8u32);
    let g3 = root_step(g2, 4u32);
    let g4 = root_step(g3, 2u32);
    let g5 = root_step(g4, 1u32);
    let mantissa = add_wrap(g5.q >> 1u32, g5.q & 1u32);

    // (p.e - 191 - odd) / 2 + 127, less 1 because the mantissa's leading bit adds one.
    let field = (p.e + 61u32 - odd) >> 1u32;
    let root = add_wrap(field << 23u32, mantissa);
    let special = select_u32(size == 0u32, 0u32, select_u32(size == 0x7f80_0000u32, 0x7f80_0000u32, root));
    let invalid = size > 0x7f80_0000u32 || (b >= 0x8000_0000u32 && size != 0u32);
    from_bits(select_u32(invalid, 0x7fc0_0000u32, special))
}

/// A NaN becomes the one NaN, 0x7fc00000.
// pathway: P16
fn one_nan(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fc0_0000) } else { x }
}

twin! {
    /// `canon(a / b)`, correctly rounded for all operands, subnormal ones too.
    ///
    /// `x / 0` is an infinity with the sign of `x` (zeros are unsigned); `0 / 0`, `inf / inf` and any NaN operand give
    /// the NaN 0x7fc00000.
    ///
    /// # Bit identity
    /// The mathematical quotient, so the host divides and devices run [`div_integer`](fn@div_integer).
    pub fn div(a: f32, b: f32) -> f32,
    host: one_nan(canon(a / f32::from_bits(if b == 0.0 { 0 } else { b.to_bits() }))),
    gpu(scope): div_integer::expand(scope, a, b)
}

twin! {
    /// The square root, correctly rounded; 0 for 0, the NaN 0x7fc00000 for negative values and NaN.
    ///
    /// # Bit identity
    /// The mathematical root, so the host's own is used there and devices run [`sqrt_integer`](fn@sqrt_integer).
    pub fn sqrt(x: f32) -> f32,
    host: one_nan(canon(x.sqrt())),
    gpu(scope): sqrt_integer::expand(scope, x)
}
