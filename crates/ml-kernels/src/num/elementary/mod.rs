//! Contract clause `elementary`: correctly rounded elementary functions.
//!
//! Devices compute in integers (`real.rs`: floating point of 128 bits on `u32` words; `wide.rs`: polynomials in fixed point),
//! the same few building blocks for all: powers of two (`exp2.rs`), logarithms (`log2.rs`), a circle (`trig.rs`), an angle
//! (`arc.rs`). Errors are about 2^-100 of a result, 2^-85 next to the zeros of lgamma and digamma. The hardest results known,
//! those of sigmoid next to 0, lie 2^-77 from the middle between two floats. The exhaustive run over all inputs
//! (`docs/exhaustive.md`) is the proof of the `_cr` in a name. The host reaches the same mathematical values through f64
//! and falls back to the integers where f64 cannot decide (`host/`).
//!
//! Arguments count by their value: zeros have no sign, subnormals are what they are. Results are canonical, and any
//! function of a NaN is the NaN 0x7fc00000.

mod arc;
mod catalogue;
mod erf;
mod exp2;
mod gamma;
mod host;
mod log2;
mod pow;
mod real;
mod roots;
mod tables;
#[cfg(test)]
mod tests;
mod trig;
mod wide;

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;

pub use arc::{acos_integer, asin_integer, atan_integer, atan2_integer};
pub use catalogue::{Binary, Unary};
#[cfg(feature = "gpu")]
pub(crate) use catalogue::{apply_binary, apply_unary};
pub use erf::{erf_integer, erfc_integer};
pub use exp2::{cosh_integer, exp2_integer, expm1_integer, sigmoid_integer, sinh_integer, tanh_integer};
pub use gamma::{digamma_integer, lgamma_integer};
pub use host::{
    acos_cr_slice, asin_cr_slice, atan_cr_slice, cbrt_cr_slice, cos_cr_slice, cosh_cr_slice, digamma_cr_slice,
    erf_cr_slice, erfc_cr_slice, exp2_cr_slice, expm1_cr_slice, lgamma_cr_slice, log1p_cr_slice, log2_cr_slice,
    log10_cr_slice, rsqrt_cr_slice, sigmoid_cr_slice, sin_cr_slice, sinh_cr_slice, softplus_cr_slice, tan_cr_slice,
    tanh_cr_slice,
};
pub use log2::{log1p_integer, log2_integer, log10_integer, softplus_integer};
pub use pow::pow_integer;
pub use roots::{cbrt_integer, hypot_integer, rsqrt_integer};
pub use trig::{cos_integer, sin_integer, tan_integer};

use super::raw::*;

twin! {
    /// 2^x, correctly rounded, then canon. Infinity from 128 on.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn exp2_cr(x: f32) -> f32,
    host: host::exp2(x),
    gpu(scope): exp2_integer::expand(scope, x)
}

twin! {
    /// e^x - 1, correctly rounded, then canon. Infinity from 88.72284 on, -1 from -17.33 down.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn expm1_cr(x: f32) -> f32,
    host: host::expm1(x),
    gpu(scope): expm1_integer::expand(scope, x)
}

twin! {
    /// The hyperbolic sine, correctly rounded, then canon. Infinite from 89.41599 on.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn sinh_cr(x: f32) -> f32,
    host: host::sinh(x),
    gpu(scope): sinh_integer::expand(scope, x)
}

twin! {
    /// The hyperbolic cosine, correctly rounded, then canon. Infinity from 89.41599 on.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn cosh_cr(x: f32) -> f32,
    host: host::cosh(x),
    gpu(scope): cosh_integer::expand(scope, x)
}

twin! {
    /// The hyperbolic tangent, correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn tanh_cr(x: f32) -> f32,
    host: host::tanh(x),
    gpu(scope): tanh_integer::expand(scope, x)
}

twin! {
    /// 1/(1 + e^-x), correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn sigmoid_cr(x: f32) -> f32,
    host: host::sigmoid(x),
    gpu(scope): sigmoid_integer::expand(scope, x)
}

twin! {
    /// The logarithm to base 2, correctly rounded, then canon. -infinity for 0, the NaN for negative values.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn log2_cr(x: f32) -> f32,
    host: host::log2(x),
    gpu(scope): log2_integer::expand(scope, x)
}

twin! {
    /// The logarithm to base 10, correctly rounded, then canon. -infinity for 0, the NaN for negative values.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn log10_cr(x: f32) -> f32,
    host: host::log10(x),
    gpu(scope): log10_integer::expand(scope, x)
}

twin! {
    /// ln(1 + x), correctly rounded, then canon. -infinity for -1, the NaN below.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn log1p_cr(x: f32) -> f32,
    host: host::log1p(x),
    gpu(scope): log1p_integer::expand(scope, x)
}

twin! {
    /// ln(1 + e^x), correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn softplus_cr(x: f32) -> f32,
    host: host::softplus(x),
    gpu(scope): softplus_integer::expand(scope, x)
}

twin! {
    /// The sine of x, in radians of any size, correctly rounded, then canon. The NaN for infinities.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn sin_cr(x: f32) -> f32,
    host: host::sin(x),
    gpu(scope): sin_integer::expand(scope, x)
}

twin! {
    /// The cosine of x, in radians of any size, correctly rounded, then canon. The NaN for infinities.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn cos_cr(x: f32) -> f32,
    host: host::cos(x),
    gpu(scope): cos_integer::expand(scope, x)
}

twin! {
    /// The tangent of x, in radians of any size, correctly rounded, then canon. The NaN for infinities.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn tan_cr(x: f32) -> f32,
    host: host::tan(x),
    gpu(scope): tan_integer::expand(scope, x)
}

twin! {
    /// The arc tangent, correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn atan_cr(x: f32) -> f32,
    host: host::atan(x),
    gpu(scope): atan_integer::expand(scope, x)
}

twin! {
    /// The arc sine, correctly rounded, then canon. The NaN for |x| > 1.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn asin_cr(x: f32) -> f32,
    host: host::asin(x),
    gpu(scope): asin_integer::expand(scope, x)
}

twin! {
    /// The arc cosine, correctly rounded, then canon. The NaN for |x| > 1.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn acos_cr(x: f32) -> f32,
    host: host::acos(x),
    gpu(scope): acos_integer::expand(scope, x)
}

twin! {
    /// The cube root, correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn cbrt_cr(x: f32) -> f32,
    host: host::cbrt(x),
    gpu(scope): cbrt_integer::expand(scope, x)
}

twin! {
    /// 1/sqrt(x), correctly rounded, then canon. Infinity for 0, 0 for infinity, the NaN for negative values.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn rsqrt_cr(x: f32) -> f32,
    host: host::rsqrt(x),
    gpu(scope): rsqrt_integer::expand(scope, x)
}

twin! {
    /// The error function, correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn erf_cr(x: f32) -> f32,
    host: host::erf(x),
    gpu(scope): erf_integer::expand(scope, x)
}

twin! {
    /// 1 - erf(x), correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn erfc_cr(x: f32) -> f32,
    host: host::erfc(x),
    gpu(scope): erfc_integer::expand(scope, x)
}

twin! {
    /// ln |gamma(x)|, correctly rounded, then canon. Infinity for 0, negative integers and both infinities.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn lgamma_cr(x: f32) -> f32,
    host: host::lgamma(x),
    gpu(scope): lgamma_integer::expand(scope, x)
}

twin! {
    /// The derivative of ln gamma(x), correctly rounded, then canon. -infinity for 0, the NaN for negative integers and -infinity.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn digamma_cr(x: f32) -> f32,
    host: host::digamma(x),
    gpu(scope): digamma_integer::expand(scope, x)
}

twin! {
    /// The angle of the point (x, y) in -pi..=pi, correctly rounded, then canon. 0 at the origin, pi for y = 0 and x < 0.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn atan2_cr(y: f32, x: f32) -> f32,
    host: host::atan2(y, x),
    gpu(scope): atan2_integer::expand(scope, y, x)
}

twin! {
    /// sqrt(x^2 + y^2), correctly rounded, then canon.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn hypot_cr(x: f32, y: f32) -> f32,
    host: host::hypot(x, y),
    gpu(scope): hypot_integer::expand(scope, x, y)
}

twin! {
    /// x^y, correctly rounded, then canon.
    ///
    /// x^0 and 1^y are 1; 0^y is 0 or, for y < 0, infinity. Negative x: the sign of an odd integer y, the NaN for other
    /// finite y that are no integers. Infinities as limits.
    ///
    /// # Bit identity
    /// The mathematical value (clause `elementary`).
    pub fn pow_cr(x: f32, y: f32) -> f32,
    host: host::pow(x, y),
    gpu(scope): pow_integer::expand(scope, x, y)
}
