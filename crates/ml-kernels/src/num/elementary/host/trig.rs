//! Sine, cosine and tangent in f64 for |x| < 2^17; beyond, the integers' exact reduction is needed.

use super::tables::*;
use super::{INTEGER, known, sign};

/// |x| = n pi/2 + r: n modulo 4, sine and cosine of r.
#[inline(always)]
fn reduced(x: f32) -> (u64, f64, f64) {
    let size = f64::from(f32::from_bits(x.to_bits() & 0x7fff_ffff));
    let shifted = size * TWO_PI + INTEGER;
    let n = shifted - INTEGER;
    // The products with head and middle are exact, and so is the first difference; the second loses 2^-53 of itself.
    let r = ((size - n * HALF_PI_HEAD) - n * HALF_PI_MIDDLE) - n * HALF_PI_TAIL;
    let t = r * r;
    // Taylor, |r| <= pi/4: the first terms left out are below 2^-57.
    let mut s = 1.0 / 355_687_428_096_000.0;
    s = s * t - 1.0 / 1_307_674_368_000.0;
    s = s * t + 1.0 / 6_227_020_800.0;
    s = s * t - 1.0 / 39_916_800.0;
    s = s * t + 1.0 / 362_880.0;
    s = s * t - 1.0 / 5_040.0;
    s = s * t + 1.0 / 120.0;
    s = s * t - 1.0 / 6.0;
    let mut c = 1.0 / 20_922_789_888_000.0;
    c = c * t - 1.0 / 87_178_291_200.0;
    c = c * t + 1.0 / 479_001_600.0;
    c = c * t - 1.0 / 3_628_800.0;
    c = c * t + 1.0 / 40_320.0;
    c = c * t - 1.0 / 720.0;
    c = c * t + 1.0 / 24.0;
    c = c * t - 0.5;
    (shifted.to_bits(), r + r * t * s, 1.0 + t * c)
}

/// Whether the reduction above is good enough.
#[inline(always)]
fn is_moderate(x: f32) -> bool {
    x > -131_072.0 && x < 131_072.0
}

/// The sine or cosine that a quadrant asks for.
#[inline(always)]
fn turned(n: u64, s: f64, c: f64) -> f64 {
    let size = if n & 1 == 0 { s } else { c };
    if n & 2 == 0 { size } else { -size }
}

#[inline(always)]
pub(super) fn sin(x: f32) -> f64 {
    let (n, s, c) = reduced(x);
    known(is_moderate(x), turned(n, s, c) * sign(x))
}

#[inline(always)]
pub(super) fn cos(x: f32) -> f64 {
    let (n, s, c) = reduced(x);
    known(is_moderate(x), turned(n.wrapping_add(1), s, c))
}

#[inline(always)]
pub(super) fn tan(x: f32) -> f64 {
    let (n, s, c) = reduced(x);
    let odd = n & 1 != 0;
    let (over, under) = if odd { (-c, s) } else { (s, c) };
    known(is_moderate(x), over / under * sign(x))
}
