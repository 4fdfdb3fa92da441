//! Logarithms in f64 and what is made of them.

use super::exponential::exp_f64;
use super::tables::*;
use super::{bounded, known, polynomial};
use crate::num::constants::*;

/// ln(1 + r) for |r| < 2^-5: Taylor, the first term left out being below 2^-58 of the sum.
#[inline(always)]
fn near_one(r: f64) -> f64 {
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
    r - r * r * a
}

/// ln(x) for positive normal x; of no meaning for others. The intervals and multipliers of `ln_integer`.
#[inline(always)]
fn ln_f64(x: f64) -> f64 {
    let bits = x.to_bits();
    let fraction = bits & 0x000f_ffff_ffff_ffff;
    let i = (fraction + 0x0000_8000_0000_0000) >> 48;
    let high = i >= 7;
    let e = (bits >> 52 & 0x7ff) as i32 - 1023 + i32::from(high);
    let m = f64::from_bits(fraction | if high { 0x3fe0_0000_0000_0000 } else { 0x3ff0_0000_0000_0000 });
    let index = (i & 15) as usize;
    // Exact for mantissas of 44 bits or less; next to 1, where the result is small, c is 1.
    let r = m * (f64::from(LN_C[index]) / 256.0) - 1.0;
    (f64::from(e) * F64_LN2 + F64_LN_OFFSET[index]) + near_one(r)
}

/// ln(1 + t) for t > -1.
#[inline(always)]
fn ln_1p(t: f64) -> f64 {
    let near = t > -1.0 / 64.0 && t < 1.0 / 64.0;
    let r = near_one(if near { t } else { 0.0 });
    let far = ln_f64(1.0 + t);
    if near { r } else { far }
}

/// Whether `x` is above 0 and below infinity.
#[inline(always)]
fn is_positive(x: f32) -> bool {
    x > 0.0 && x < f32::INFINITY
}

#[inline(always)]
pub(super) fn log2(x: f32) -> f64 {
    known(is_positive(x), ln_f64(f64::from(x)) * F64_LOG2E)
}

#[inline(always)]
pub(super) fn log10(x: f32) -> f64 {
    known(is_positive(x), ln_f64(f64::from(x)) * LOG10_E)
}

#[inline(always)]
pub(super) fn log1p(x: f32) -> f64 {
    known(x > -1.0 && x < f32::INFINITY, ln_1p(f64::from(x)))
}

#[inline(always)]
pub(super) fn softplus(x: f32) -> f64 {
    let t = ln_1p(exp_f64(-bounded(x, 128.0)));
    known(x < f32::INFINITY, t + if x > 0.0 { f64::from(x) } else { 0.0 })
}

#[inline(always)]
pub(super) fn pow(x: f32, y: f32) -> f64 {
    let p = ln_f64(f64::from(x)) * f64::from(y);
    let size = if p > 110.0 { 110.0 } else { p };
    let value = exp_f64(if size < -110.0 { -110.0 } else { size });
    known(is_positive(x), value)
}

/// Stirling's series for ln gamma, coefficients of 1/x, 1/x^3, ...
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1_260.0,
    -1.0 / 1_680.0,
    1.0 / 1_188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3_617.0 / 122_400.0,
];

/// The series for digamma, coefficients of 1/x^2, 1/x^4, ...
const SLOPE: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32_760.0,
    1.0 / 12.0,
    -3_617.0 / 8_160.0,
];

/// ln gamma of positive x; others are left to the integers.
#[inline(always)]
pub(super) fn lgamma(x: f32) -> f64 {
    let mut z = f64::from(x);
    let mut over = 1.0;
    for _ in 0..16 {
        let low = z < 16.0;
        over *= if low { z } else { 1.0 };
        z += if low { 1.0 } else { 0.0 };
    }
    let inverse = 1.0 / z;
    let series = inverse * polynomial(inverse * inverse, &STIRLING);
    let y = ((z - 0.5) * ln_f64(z) - z) + (HALF_LN_TWO_PI + series) - ln_f64(over);
    known(is_positive(x), y)
}

/// digamma of positive x; others are left to the integers.
#[inline(always)]
pub(super) fn digamma(x: f32) -> f64 {
    let mut z = f64::from(x);
    let (mut over, mut sum) = (1.0, 0.0);
    for _ in 0..16 {
        let low = z < 16.0;
        sum = if low { sum * z + over } else { sum };
        over *= if low { z } else { 1.0 };
        z += if low { 1.0 } else { 0.0 };
    }
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    let y = (ln_f64(z) - 0.5 * inverse) - square * polynomial(square, &SLOPE) - sum / over;
    known(is_positive(x), y)
}
