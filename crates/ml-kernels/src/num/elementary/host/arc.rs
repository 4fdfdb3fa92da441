//! Angles and roots in f64.

use super::tables::*;
use super::{INTEGER, known, sign};

/// The angle of the point (x, y), both 0 or more and not both 0; the intervals of `angle_of`.
#[inline(always)]
fn angle_of(y: f64, x: f64) -> f64 {
    let steep = y > x;
    let lesser = if steep { x } else { y };
    let greater = if steep { y } else { x };
    let shifted = lesser / greater * 8.0 + INTEGER;
    let c = (shifted - INTEGER) * 0.125;
    let z = (lesser - c * greater) / (greater + c * lesser);
    let t = z * z;
    // Taylor, |z| <= 1/16: the first term left out is below 2^-60 of the sum.
    let mut a = 1.0 / 13.0;
    a = a * t - 1.0 / 11.0;
    a = a * t + 1.0 / 9.0;
    a = a * t - 1.0 / 7.0;
    a = a * t + 1.0 / 5.0;
    a = a * t - 1.0 / 3.0;
    let sum = ATAN_ANGLE[(shifted.to_bits() & 15) as usize] + (z + z * t * a);
    if steep { HALF_PI - sum } else { sum }
}

/// |x|.
#[inline(always)]
fn size(x: f32) -> f64 {
    f64::from(f32::from_bits(x.to_bits() & 0x7fff_ffff))
}

/// sqrt(1 - x^2).
#[inline(always)]
fn leg(x: f64) -> f64 {
    ((1.0 - x) * (1.0 + x)).sqrt()
}

#[inline(always)]
pub(super) fn atan(x: f32) -> f64 {
    // Infinity is left to the integers.
    known(size(x) < f64::from(f32::INFINITY), angle_of(size(x), 1.0) * sign(x))
}

#[inline(always)]
pub(super) fn asin(x: f32) -> f64 {
    let x1 = size(x);
    angle_of(x1, leg(x1)) * sign(x)
}

#[inline(always)]
pub(super) fn acos(x: f32) -> f64 {
    let x1 = size(x);
    let a = angle_of(leg(x1), x1);
    if x.to_bits() >= 0x8000_0000 { 2.0 * HALF_PI - a } else { a }
}

#[inline(always)]
pub(super) fn atan2(y: f32, x: f32) -> f64 {
    let (y1, x1) = (size(y), size(x));
    let limit = f64::from(f32::MAX);
    let usual = y1 <= limit && x1 <= limit;
    let a = angle_of(y1, x1);
    let turned = if x < 0.0 { 2.0 * HALF_PI - a } else { a };
    known(usual, if y < 0.0 { -turned } else { turned })
}

#[inline(always)]
pub(super) fn hypot(x: f32, y: f32) -> f64 {
    let (x1, y1) = (size(x), size(y));
    let limit = f64::from(f32::MAX);
    known(x1 <= limit && y1 <= limit, (x1 * x1 + y1 * y1).sqrt())
}

#[inline(always)]
pub(super) fn rsqrt(x: f32) -> f64 {
    known(x > 0.0, 1.0 / f64::from(x).sqrt())
}

/// The cube root of x, x + x z with z = (y^3 - x)/(2 y^3 + x): Halley's step for a guess y.
#[inline(always)]
fn cube_step(x: f64, y: f64) -> f64 {
    let cube = y * y * y;
    y - y * ((cube - x) / (2.0 * cube + x))
}

#[inline(always)]
pub(super) fn cbrt(x: f32) -> f64 {
    let size = size(x);
    // A third of the high word, exponent and fraction together, is a root 6% off at most.
    let high = (size.to_bits() >> 32) as u32;
    let guess = f64::from_bits(u64::from(high / 3 + 0x2a9f_7893) << 32);
    let root = cube_step(size, cube_step(size, cube_step(size, guess)));
    known(x > f32::NEG_INFINITY && x < f32::INFINITY, if size == 0.0 { 0.0 } else { root * sign(x) })
}
