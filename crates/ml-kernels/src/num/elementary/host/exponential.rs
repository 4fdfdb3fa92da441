//! e^x in f64 and what is made of it.

use super::{INTEGER, bounded, sign};
use crate::num::constants::{F64_LN2, F64_LN2_HEAD, F64_LN2_TAIL, F64_LOG2E};

/// (e^r - 1)/r for |r| <= ln(2)/2: Taylor, the first term left out being below 2^-52.
#[inline(always)]
fn rise(r: f64) -> f64 {
    let mut p = 1.0 / 6_227_020_800.0;
    p = p * r + 1.0 / 479_001_600.0;
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
    p * r + 1.0
}

/// 2^n and r 2^n (e^r - 1)/r for n as [`INTEGER`] shifted it.
#[inline(always)]
fn parts(shifted: f64, r: f64) -> (f64, f64) {
    // The low 12 bits of `shifted` are n modulo 2^12: enough for the exponent field n + 1023.
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    (scale, scale * (r * rise(r)))
}

/// e^x as a power of two, which is 1 for |x| < 0.34, and the rest; |x| up to 700.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, f64) {
    let shifted = x * F64_LOG2E + INTEGER;
    let n = shifted - INTEGER;
    parts(shifted, (x - n * F64_LN2_HEAD) - n * F64_LN2_TAIL)
}

/// e^x; |x| up to 700.
#[inline(always)]
pub(super) fn exp_f64(x: f64) -> f64 {
    let (scale, rest) = exp_parts(x);
    scale + rest
}

/// e^x - 1, as good near 0 as anywhere.
#[inline(always)]
fn expm1_f64(x: f64) -> f64 {
    let (scale, rest) = exp_parts(x);
    (scale - 1.0) + rest
}

#[inline(always)]
pub(super) fn exp2(x: f32) -> f64 {
    let x = bounded(x, 160.0) * sign(x);
    let shifted = x + INTEGER;
    let (scale, rest) = parts(shifted, (x - (shifted - INTEGER)) * F64_LN2);
    scale + rest
}

#[inline(always)]
pub(super) fn expm1(x: f32) -> f64 {
    expm1_f64(bounded(x, 104.0) * sign(x))
}

#[inline(always)]
pub(super) fn sinh(x: f32) -> f64 {
    let u = expm1_f64(bounded(x, 104.0));
    (u + u / (u + 1.0)) * (0.5 * sign(x))
}

#[inline(always)]
pub(super) fn cosh(x: f32) -> f64 {
    let e = exp_f64(bounded(x, 104.0));
    (e + 1.0 / e) * 0.5
}

#[inline(always)]
pub(super) fn tanh(x: f32) -> f64 {
    let u = expm1_f64(-2.0 * bounded(x, 32.0));
    u / (u + 2.0) * -sign(x)
}

#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f64 {
    1.0 / (1.0 + exp_f64(bounded(x, 104.0) * -sign(x)))
}
