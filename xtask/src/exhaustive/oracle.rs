//! MPFR as an oracle for results of 24 bits.

use rug::{Assign, Float};

/// Precision at which MPFR is asked first; a result nearer to the middle between two floats than 2^-20 of their distance
/// is computed again in [`FINE`].
pub(super) const COARSE: u32 = 64;

/// Precision of the second question.
pub(super) const FINE: u32 = 192;

/// A function that replaces its argument by the function value, to the argument's precision.
pub(super) type Value = fn(&mut Float);

/// The one NaN.
pub(super) const NAN: u32 = 0x7fc0_0000;

/// Contract clause `values`, spelled apart from the library that is under test.
pub(super) fn canonical(x: f32) -> u32 {
    if x.is_nan() {
        NAN
    } else if x.abs() <= f32::MIN_POSITIVE {
        0
    } else {
        x.to_bits()
    }
}

/// A float whose zero has no sign, as the contract has it.
pub(super) fn unsigned_zero(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { x }
}

/// The canonical float nearest to `f(x)`, as bits, and the significant bits that it took to tell; 0 if that was easy.
///
/// `y` is scratch space of [`COARSE`] bits. `f` may be off by a few units of its precision: the second question is asked
/// 2^20 units before that matters.
pub(super) fn nearest(y: &mut Float, x: f32, f: Value) -> (u32, u32) {
    if x.is_nan() {
        return (NAN, 0);
    }
    y.assign(unsigned_zero(x));
    f(y);
    let rounded = y.to_f32();
    let bits = canonical(rounded);
    // The bits of an f64 below those of an f32; 2^28 is the middle.
    let tail = y.to_f64().to_bits() & 0x1fff_ffff;
    if tail.abs_diff(1 << 28) > 1 << 8 || bits == 0 || (!rounded.is_finite() && !y.is_finite()) {
        return (bits, 0);
    }
    let middle = f64::from_bits(y.to_f64().to_bits() & !0x1fff_ffff | 1 << 28);
    let mut fine = Float::with_val(FINE, x);
    f(&mut fine);
    let distance = Float::with_val(FINE, &fine - middle);
    let (Some(e), Some(d)) = (fine.get_exp(), distance.get_exp()) else {
        // Exactly in the middle: rounding to even stands, and no precision less than all would do.
        return (canonical(fine.to_f32()), FINE);
    };
    let needed = e.abs_diff(d);
    assert!(needed < FINE - 8, "{x:e}: too near the middle between two floats for {FINE} bits");
    (canonical(fine.to_f32()), needed)
}

/// The result by a value `y` that is off by less than 2^-43 of itself, if it is so far from the middle between two floats that
/// this does not matter; 2^9 units of f64 lie between.
pub(super) fn decided(y: f64) -> Option<u32> {
    let tail = y.to_bits() & 0x1fff_ffff;
    (tail.abs_diff(1 << 28) > 1 << 10 || y.is_nan()).then(|| canonical(y as f32))
}

/// 1/(1 + e^-x).
pub(super) fn sigmoid(y: &mut Float) {
    *y = Float::with_val(y.prec(), -&*y);
    y.exp_mut();
    *y += 1;
    y.recip_mut();
}

/// ln(1 + e^x), the larger of x and 0 apart.
pub(super) fn softplus(y: &mut Float) {
    let x = y.clone();
    y.abs_mut();
    *y = Float::with_val(y.prec(), -&*y);
    y.exp_mut();
    y.ln_1p_mut();
    if x > 0 {
        *y += x;
    }
}

/// ln |gamma(x)|.
pub(super) fn lgamma(y: &mut Float) {
    y.ln_abs_gamma_mut();
}
