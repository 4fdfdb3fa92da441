//! The host's way to the same correctly rounded values: f64, and integers where f64 cannot decide.
//!
//! The f64 value is within a relative error of [`MARGIN`] (true errors stay below a hundredth of it). If both ends of
//! that interval round to the same float, every point inside does, the true one too (Ziv's test); about one input in
//! 200,000 fails and takes the integer path. Nothing here is fused or reassociated: Rust does neither.

use multiversion::multiversion;

use super::constants::*;
use super::exp::exp_in_two_words;
use super::ln::ln_integer;
use super::ops::canon;

/// Relative half-width of the interval that holds the true value: 2^-43.
const MARGIN: f64 = 1.0 / (1u64 << 43) as f64;

/// 1.5 * 2^52: adding it leaves an integer in the low bits, rounded to nearest.
const INTEGER: f64 = 6_755_399_441_055_744.0;

/// Both ends of the interval around `y` as floats.
#[inline(always)]
fn ends(y: f64) -> (f32, f32) {
    (canon((y * (1.0 - MARGIN)) as f32), canon((y * (1.0 + MARGIN)) as f32))
}

/// e^x for x in -110..=100, in f64.
#[inline(always)]
fn exp_f64(x: f64) -> f64 {
    let shifted = x * F64_LOG2E + INTEGER;
    let n = shifted - INTEGER;
    // |r| <= ln(2)/2; the head has 32 bits, so its product with n is exact.
    let r = (x - n * F64_LN2_HEAD) - n * F64_LN2_TAIL;
    // Taylor, degree 12: the first term left out is below 2^-52.
    let mut p = 1.0 / 479_001_600.0;
    p = p * r + 1.0 / 39_916_800.0;
    p = p * r + 1.0 / 3_628_800.0;
    p = p * r + 1.0 / 362_880.0;
    p = p * r + 1.0 / 40_320.0;
    p = p * r + 1.0 / 5_040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    // The low 12 bits of `shifted` are n modulo 2^12: enough for the exponent field n + 1023.
    p * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// Both ends of the interval around e^x; different, or NaNs, if they do not decide.
#[inline(always)]
fn exp_ends(x: f32) -> (f32, f32) {
    // Beyond these bounds the result is 0 or infinity anyway. A NaN passes both comparisons and comes out as one.
    #[allow(clippy::manual_clamp, reason = "`clamp` says nothing of a NaN's bits")]
    let bounded = if x < -110.0 {
        -110.0
    } else if x > 100.0 {
        100.0
    } else {
        x
    };
    ends(exp_f64(f64::from(bounded)))
}

/// The host side of [`exp_cr`](fn@super::exp_cr).
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let (low, high) = exp_ends(x);
    if low == high { low } else { exp_undecided(x) }
}

#[cold]
#[inline(never)]
fn exp_undecided(x: f32) -> f32 {
    exp_in_two_words(x)
}

/// ln(x) for positive normal x, in f64; the argument is the bits. Of no meaning for others.
#[inline(always)]
fn ln_f64(bits: u32) -> f64 {
    let fraction = bits & 0x007f_ffff;
    // The intervals and multipliers of `ln_integer`.
    let i = (fraction + 0x0004_0000) >> 19;
    let high = i >= 7;
    let e = (bits >> 23 & 0xff) as i32 - 127 + i32::from(high);
    let m = f32::from_bits(fraction | if high { 0x3f00_0000 } else { 0x3f80_0000 });
    let index = (i & 15) as usize;
    // Exact: 24 bits times 9.
    let r = f64::from(m) * (f64::from(LN_C[index]) / 256.0) - 1.0;
    // Taylor with |r| < 2^-5: the first term left out is below 2^-58 of the sum.
    let mut a = 1.0 / 11.0;
    a = 1.0 / 10.0 - a * r;
    a = 1.0 / 9.0 - a * r;
    a = 1.0 / 8.0 - a * r;
    a = 1.0 / 7.0 - a * r;
    a = 1.0 / 6.0 - a * r;
    a = 1.0 / 5.0 - a * r;
    a = 1.0 / 4.0 - a * r;
    a = 1.0 / 3.0 - a * r;
    a = 1.0 / 2.0 - a * r;
    (f64::from(e) * F64_LN2 + F64_LN_OFFSET[index]) + (r - r * r * a)
}

/// Whether `bits` are those of a positive normal number below infinity.
#[inline(always)]
fn is_positive_normal(bits: u32) -> bool {
    bits.wrapping_sub(0x0080_0000) < 0x7f00_0000
}

/// The host side of [`ln_cr`](fn@super::ln_cr).
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let (low, high) = ends(ln_f64(bits));
    if low == high && is_positive_normal(bits) { low } else { ln_undecided(x) }
}

#[cold]
#[inline(never)]
fn ln_undecided(x: f32) -> f32 {
    ln_integer(x)
}

/// Elements that are computed together: undecided ones cost their block a second pass.
const LANES: usize = 64;

/// [`exp_cr`](fn@super::exp_cr) of every element of `x` into `out`, as far as the shorter of both goes; on the host, in
/// vectors.
///
/// # Bit identity
/// What [`exp_cr`](fn@super::exp_cr) gives for each element, whatever the width of the vectors.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
// pathway: P32
pub fn exp_cr_slice(x: &[f32], out: &mut [f32]) {
    for (x, out) in x.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let mut undecided = 0u32;
        for (x, out) in x.iter().zip(out.iter_mut()) {
            let (low, high) = exp_ends(*x);
            *out = low;
            // True for NaNs.
            undecided |= u32::from(low != high);
        }
        if undecided != 0 {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = exp(*x));
        }
    }
}

/// [`ln_cr`](fn@super::ln_cr) of every element of `x` into `out`, as far as the shorter of both goes; on the host, in
/// vectors.
///
/// # Bit identity
/// What [`ln_cr`](fn@super::ln_cr) gives for each element, whatever the width of the vectors.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub fn ln_cr_slice(x: &[f32], out: &mut [f32]) {
    for (x, out) in x.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let mut undecided = 0u32;
        for (x, out) in x.iter().zip(out.iter_mut()) {
            let (low, high) = ends(ln_f64(x.to_bits()));
            *out = low;
            undecided |= u32::from(low != high) | u32::from(!is_positive_normal(x.to_bits()));
        }
        if undecided != 0 {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = ln(*x));
        }
    }
}
