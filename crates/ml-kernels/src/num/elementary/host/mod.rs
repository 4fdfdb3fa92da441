//! The host's way to the same correctly rounded values: f64, and the integers where f64 cannot decide.
//!
//! An f64 value comes with an interval that holds the true one. If both ends of it round to the same f32, every point
//! inside does (Ziv's test); if not, or if they are NaNs, which is also what arguments outside a range come to, the integer
//! spelling decides. Nothing here is fused or reassociated, and no function of the mathematical library is called.

mod arc;
mod error;
mod exponential;
mod logarithm;
mod tables;
mod trig;

use multiversion::multiversion;

use crate::num::ops::canon;

/// Relative half-width of the interval that holds the true value: 2^-43. True errors stay below 2^-46 (`tests.rs`).
const MARGIN: f64 = 1.0 / (1u64 << 43) as f64;

/// The same for powers: 2^-40. The error of the logarithm, 2^-51 of it, counts up to 2^7 times.
const POWER_MARGIN: f64 = 1.0 / (1u64 << 40) as f64;

/// 1.5 * 2^52: adding it leaves an integer in the low bits, rounded to nearest.
const INTEGER: f64 = 6_755_399_441_055_744.0;

/// Both ends of the interval around `y` as floats.
#[inline(always)]
fn ends(y: f64) -> (f32, f32) {
    (canon((y * (1.0 - MARGIN)) as f32), canon((y * (1.0 + MARGIN)) as f32))
}

/// The same for a sum whose terms may cancel: below 16 they are 2^5 at most, with an error of 2^-47.
#[inline(always)]
fn ends_of_sum(y: f64) -> (f32, f32) {
    let width = (if y < 0.0 { -y } else { y }) * MARGIN + MARGIN;
    (canon((y - width) as f32), canon((y + width) as f32))
}

/// The same for a power.
#[inline(always)]
fn ends_of_power(y: f64) -> (f32, f32) {
    (canon((y * (1.0 - POWER_MARGIN)) as f32), canon((y * (1.0 + POWER_MARGIN)) as f32))
}

/// `y`, or a NaN where `condition` does not hold.
#[inline(always)]
fn known(condition: bool, y: f64) -> f64 {
    if condition { y } else { f64::NAN }
}

/// |x| bounded by `limit`; a NaN stays one.
#[inline(always)]
fn bounded(x: f32, limit: f64) -> f64 {
    let size = f64::from(f32::from_bits(x.to_bits() & 0x7fff_ffff));
    if size > limit { limit } else { size }
}

/// 1 or -1 with the sign of `x`.
#[inline(always)]
fn sign(x: f32) -> f64 {
    if x.to_bits() >= 0x8000_0000 { -1.0 } else { 1.0 }
}

/// Horner's scheme, the lowest coefficient first.
#[inline(always)]
fn polynomial(x: f64, c: &[f64]) -> f64 {
    let mut p = 0.0;
    for k in (0..c.len()).rev() {
        p = p * x + c[k];
    }
    p
}

/// Elements that are computed together: undecided ones cost their block a second pass.
const LANES: usize = 64;

/// A function's host side: for one value, and for slices.
macro_rules! host_side {
    ($($value:path, $ends:ident, $integer:ident => $one:ident, $slice:ident, $name:literal;)*) => {
        $(
            #[doc = concat!("The host side of `", $name, "_cr`.")]
            #[inline(always)]
            pub(super) fn $one(x: f32) -> f32 {
                let (low, high) = $ends($value(x));
                if low == high { low } else { undecided(super::$integer, x) }
            }

            #[doc = concat!("`", $name, "_cr` of every element of `x` into `out`, as far as the shorter of both goes; on the host, in vectors.")]
            ///
            /// # Bit identity
            /// What the function for one value gives for each element, whatever the width of the vectors.
            #[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
            pub fn $slice(x: &[f32], out: &mut [f32]) {
                for (x, out) in x.chunks(LANES).zip(out.chunks_mut(LANES)) {
                    let mut open = 0u32;
                    for (x, out) in x.iter().zip(out.iter_mut()) {
                        let (low, high) = $ends($value(*x));
                        *out = low;
                        // True for NaNs.
                        open |= u32::from(low != high);
                    }
                    if open != 0 {
                        out.iter_mut().zip(x).for_each(|(out, x)| *out = $one(*x));
                    }
                }
            }
        )*

        /// The f64 value behind each function, by name.
        #[cfg(test)]
        pub(super) const DOUBLES: &[(&str, fn(f32) -> f64)] = &[$(($name, $value),)*];
    };
}

#[cold]
#[inline(never)]
fn undecided(integer: fn(f32) -> f32, x: f32) -> f32 {
    integer(x)
}

host_side! {
    exponential::exp2, ends, exp2_integer => exp2, exp2_cr_slice, "exp2";
    exponential::expm1, ends, expm1_integer => expm1, expm1_cr_slice, "expm1";
    exponential::sinh, ends, sinh_integer => sinh, sinh_cr_slice, "sinh";
    exponential::cosh, ends, cosh_integer => cosh, cosh_cr_slice, "cosh";
    exponential::tanh, ends, tanh_integer => tanh, tanh_cr_slice, "tanh";
    exponential::sigmoid, ends, sigmoid_integer => sigmoid, sigmoid_cr_slice, "sigmoid";
    logarithm::log2, ends, log2_integer => log2, log2_cr_slice, "log2";
    logarithm::log10, ends, log10_integer => log10, log10_cr_slice, "log10";
    logarithm::log1p, ends, log1p_integer => log1p, log1p_cr_slice, "log1p";
    logarithm::softplus, ends, softplus_integer => softplus, softplus_cr_slice, "softplus";
    trig::sin, ends, sin_integer => sin, sin_cr_slice, "sin";
    trig::cos, ends, cos_integer => cos, cos_cr_slice, "cos";
    trig::tan, ends, tan_integer => tan, tan_cr_slice, "tan";
    arc::atan, ends, atan_integer => atan, atan_cr_slice, "atan";
    arc::asin, ends, asin_integer => asin, asin_cr_slice, "asin";
    arc::acos, ends, acos_integer => acos, acos_cr_slice, "acos";
    arc::cbrt, ends, cbrt_integer => cbrt, cbrt_cr_slice, "cbrt";
    arc::rsqrt, ends, rsqrt_integer => rsqrt, rsqrt_cr_slice, "rsqrt";
    error::erf, ends, erf_integer => erf, erf_cr_slice, "erf";
    error::erfc, ends, erfc_integer => erfc, erfc_cr_slice, "erfc";
    logarithm::lgamma, ends_of_sum, lgamma_integer => lgamma, lgamma_cr_slice, "lgamma";
    logarithm::digamma, ends_of_sum, digamma_integer => digamma, digamma_cr_slice, "digamma";
}

/// The host side of a function of two values.
#[inline(always)]
fn decided(ends: (f32, f32), integer: fn(f32, f32) -> f32, x: f32, y: f32) -> f32 {
    if ends.0 == ends.1 { ends.0 } else { undecided_pair(integer, x, y) }
}

#[cold]
#[inline(never)]
fn undecided_pair(integer: fn(f32, f32) -> f32, x: f32, y: f32) -> f32 {
    integer(x, y)
}

/// The host side of `atan2_cr`.
#[inline(always)]
pub(super) fn atan2(y: f32, x: f32) -> f32 {
    decided(ends(arc::atan2(y, x)), super::atan2_integer, y, x)
}

/// The host side of `hypot_cr`.
#[inline(always)]
pub(super) fn hypot(x: f32, y: f32) -> f32 {
    decided(ends(arc::hypot(x, y)), super::hypot_integer, x, y)
}

/// The host side of `pow_cr`.
#[inline(always)]
pub(super) fn pow(x: f32, y: f32) -> f32 {
    decided(ends_of_power(logarithm::pow(x, y)), super::pow_integer, x, y)
}

/// The f64 value behind `pow_cr`.
#[cfg(test)]
pub(super) fn pow_f64(x: f32, y: f32) -> f64 {
    logarithm::pow(x, y)
}
