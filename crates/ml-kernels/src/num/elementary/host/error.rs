//! The error function in f64, by the two polynomials that `erf_integer` has, shorter.

use super::exponential::exp_f64;
use super::tables::*;
use super::{bounded, polynomial, sign};

/// erf(x) for |x| < 1.
#[inline(always)]
fn inner(x: f64) -> f64 {
    2.0 * x * polynomial(x * x, &ERF_POLY)
}

/// erfc(x) for x in 1..=9.5.
#[inline(always)]
fn outer(x: f64) -> f64 {
    let v = 1.0 / (x + 4.0);
    // x^2 is exact.
    exp_f64(-(x * x)) * (8.0 * polynomial(v * ERFC_STEEP - ERFC_SHIFT, &ERFC_POLY)) * v
}

#[inline(always)]
pub(super) fn erf(x: f32) -> f64 {
    let size = bounded(x, 9.5);
    let far = 1.0 - outer(size);
    (if size < 1.0 { inner(size) } else { far }) * sign(x)
}

#[inline(always)]
pub(super) fn erfc(x: f32) -> f64 {
    let size = bounded(x, 9.5);
    let tail = outer(size);
    let far = if x.to_bits() >= 0x8000_0000 { 2.0 - tail } else { tail };
    if size < 1.0 { 1.0 - inner(size) * sign(x) } else { far }
}
