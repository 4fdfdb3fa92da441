//! The functions of one value: spellings, oracle, and what of the oracle's answers follows from others.

use ml_kernels::num::elementary::*;
use ml_kernels::num::sweep::Function;
use ml_kernels::num::{exp_cr_slice, exp_integer, ln_cr_slice, ln_integer, sqrt, sqrt_integer, u32_to_f32_integer};
use rug::Float;

use super::oracle::{self, NAN, Value, canonical};
use super::pairs;

/// A function of slices: results into the second.
pub(super) type Slice = fn(&[f32], &mut [f32]);

/// Where the expected results come from.
#[derive(Clone, Copy)]
pub(super) enum Oracle {
    /// MPFR: the value of the function.
    Mpfr(Value),
    /// Another exact way, from bits to bits.
    Exact(fn(u32) -> u32),
}

/// What f(-x) is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Symmetry {
    /// Nothing simple.
    None,
    /// f(x).
    Even,
    /// -f(x).
    Odd,
}

/// A function of one value.
pub(super) struct Subject {
    pub(super) function: Function,
    /// The spelling that devices run, from bits to bits.
    pub(super) device: fn(u32) -> u32,
    pub(super) oracle: Oracle,
    pub(super) symmetry: Symmetry,
    /// On either side of 0 the function rises or falls throughout, or is no number from some point on. Rounding and canon
    /// keep order, so two inputs of one sign with one result have no other result between them.
    pub(super) monotone: bool,
    /// The result where it is known without MPFR, from bits to bits.
    pub(super) known: fn(u32) -> Option<u32>,
    /// It is a logarithm to some base: f(2^e m) = e f(2) + f(m) (`logs.rs`).
    pub(super) logarithm: bool,
    /// The host's spelling for slices.
    pub(super) slice: Option<Slice>,
    /// The platform's function in f64, which is a few units of 2^-52 off at most: a quick oracle where its value is far from
    /// the middle between two floats.
    pub(super) quick: Option<fn(f64) -> f64>,
    /// The platform's own function, for the clock only.
    pub(super) platform: Option<fn(f32) -> f32>,
}

const SIGN: u32 = 0x8000_0000;

fn unknown(_: u32) -> Option<u32> {
    None
}

/// |f(x) - x| <= |x|^3/2 for |x| <= 1/2 (sin, tan, asin, atan, sinh, tanh: the third-order terms are x^3/6 or x^3/3, the sum
/// of the others is less). Below 2^-12 that is less than 2^-25 |x|, and half a unit of a float is 2^-25 of it or more.
fn itself_below_2_12(x: u32) -> Option<u32> {
    (x & !SIGN < 0x3980_0000).then(|| canonical(f32::from_bits(x)))
}

/// |f(x) - x| <= x^2 for |x| <= 1/2 (expm1, log1p). Below 2^-25 that is less than 2^-25 |x|; see above.
fn itself_below_2_25(x: u32) -> Option<u32> {
    (x & !SIGN < 0x3300_0000).then(|| canonical(f32::from_bits(x)))
}

/// 0 <= 1 - cos(x) <= x^2/2. Below 2^-12 that is less than 2^-25, half a unit of the floats below 1.
fn one_below_2_12(x: u32) -> Option<u32> {
    (x & !SIGN < 0x3980_0000).then_some(0x3f80_0000)
}

/// From 2^23 on every float is an integer, and negative integers are poles.
fn lgamma_poles(x: u32) -> Option<u32> {
    (x >= SIGN && (0x4b00_0000..=0x7f80_0000).contains(&(x & !SIGN))).then_some(0x7f80_0000)
}

/// Likewise.
fn digamma_poles(x: u32) -> Option<u32> {
    (x >= SIGN && (0x4b00_0000..=0x7f80_0000).contains(&(x & !SIGN))).then_some(NAN)
}

macro_rules! on_bits {
    ($f:expr) => {
        |x| $f(f32::from_bits(x)).to_bits()
    };
}

/// The subject with that name.
pub(super) fn univariate(name: &str) -> Option<Subject> {
    use Symmetry::{Even, Odd};
    let function = Function::from_name(name)?;
    let mpfr = |value: Value, device: fn(u32) -> u32, slice: Slice| Subject {
        function,
        device,
        oracle: Oracle::Mpfr(value),
        symmetry: Symmetry::None,
        monotone: true,
        known: unknown,
        logarithm: matches!(function, Function::Ln | Function::Log2 | Function::Log10),
        slice: Some(slice),
        quick: quick(name),
        platform: platform(name),
    };
    let exact = |value: fn(u32) -> u32, device: fn(u32) -> u32| Subject {
        oracle: Oracle::Exact(value),
        monotone: false,
        slice: None,
        quick: None,
        ..mpfr(|_| {}, device, exp_cr_slice)
    };
    let odd = |s: Subject| Subject { symmetry: Odd, ..s };
    let small = |s: Subject| Subject { symmetry: Odd, known: itself_below_2_12, ..s };
    Some(match function {
        Function::Exp => mpfr(Float::exp_mut, on_bits!(exp_integer), exp_cr_slice),
        Function::Ln => mpfr(Float::ln_mut, on_bits!(ln_integer), ln_cr_slice),
        Function::Exp2 => mpfr(Float::exp2_mut, on_bits!(exp2_integer), exp2_cr_slice),
        Function::Expm1 => {
            Subject { known: itself_below_2_25, ..mpfr(Float::exp_m1_mut, on_bits!(expm1_integer), expm1_cr_slice) }
        }
        Function::Sinh => small(mpfr(Float::sinh_mut, on_bits!(sinh_integer), sinh_cr_slice)),
        Function::Cosh => Subject { symmetry: Even, ..mpfr(Float::cosh_mut, on_bits!(cosh_integer), cosh_cr_slice) },
        Function::Tanh => small(mpfr(Float::tanh_mut, on_bits!(tanh_integer), tanh_cr_slice)),
        Function::Sigmoid => mpfr(oracle::sigmoid, on_bits!(sigmoid_integer), sigmoid_cr_slice),
        Function::Log2 => mpfr(Float::log2_mut, on_bits!(log2_integer), log2_cr_slice),
        Function::Log10 => mpfr(Float::log10_mut, on_bits!(log10_integer), log10_cr_slice),
        Function::Log1p => {
            Subject { known: itself_below_2_25, ..mpfr(Float::ln_1p_mut, on_bits!(log1p_integer), log1p_cr_slice) }
        }
        Function::Softplus => mpfr(oracle::softplus, on_bits!(softplus_integer), softplus_cr_slice),
        Function::Sin => {
            Subject { monotone: false, ..small(mpfr(Float::sin_mut, on_bits!(sin_integer), sin_cr_slice)) }
        }
        Function::Cos => Subject {
            monotone: false,
            symmetry: Even,
            known: one_below_2_12,
            ..mpfr(Float::cos_mut, on_bits!(cos_integer), cos_cr_slice)
        },
        Function::Tan => {
            Subject { monotone: false, ..small(mpfr(Float::tan_mut, on_bits!(tan_integer), tan_cr_slice)) }
        }
        Function::Atan => small(mpfr(Float::atan_mut, on_bits!(atan_integer), atan_cr_slice)),
        Function::Asin => small(mpfr(Float::asin_mut, on_bits!(asin_integer), asin_cr_slice)),
        Function::Acos => mpfr(Float::acos_mut, on_bits!(acos_integer), acos_cr_slice),
        Function::Cbrt => odd(mpfr(Float::cbrt_mut, on_bits!(cbrt_integer), cbrt_cr_slice)),
        Function::Rsqrt => mpfr(Float::recip_sqrt_mut, on_bits!(rsqrt_integer), rsqrt_cr_slice),
        Function::Erf => odd(mpfr(Float::erf_mut, on_bits!(erf_integer), erf_cr_slice)),
        Function::Erfc => mpfr(Float::erfc_mut, on_bits!(erfc_integer), erfc_cr_slice),
        Function::Lgamma => Subject {
            monotone: false,
            known: lgamma_poles,
            ..mpfr(oracle::lgamma, on_bits!(lgamma_integer), lgamma_cr_slice)
        },
        Function::Digamma => Subject {
            monotone: false,
            known: digamma_poles,
            ..mpfr(Float::digamma_mut, on_bits!(digamma_integer), digamma_cr_slice)
        },
        Function::Sqrt => exact(|x| canonical(f32::from_bits(x).sqrt()), on_bits!(sqrt_integer)),
        Function::U32ToF32 => exact(|x| (x as f32).to_bits(), |x| u32_to_f32_integer(x).to_bits()),
        Function::I32ToF32 => exact(|x| (x as i32 as f32).to_bits(), i32_to_f32_device),
        Function::F32ToU32 => exact(|x| f32::from_bits(x) as u32, |x| Function::F32ToU32.apply(x, 0)),
        Function::F32ToI32 => exact(|x| f32::from_bits(x) as i32 as u32, |x| Function::F32ToI32.apply(x, 0)),
        _ => return None,
    })
}

/// `i32_to_f32` by way of the device spelling of `u32_to_f32`.
fn i32_to_f32_device(x: u32) -> u32 {
    let x = x as i32;
    let size = u32_to_f32_integer(x.unsigned_abs()).to_bits();
    size | u32::from(x < 0) << 31
}

/// The platform's function, as a peer for the clock.
#[allow(clippy::disallowed_methods, reason = "a peer for the clock, no result")]
fn platform(name: &str) -> Option<fn(f32) -> f32> {
    Some(match name {
        "exp" => f32::exp,
        "ln" => f32::ln,
        "exp2" => f32::exp2,
        "expm1" => f32::exp_m1,
        "sinh" => f32::sinh,
        "cosh" => f32::cosh,
        "tanh" => f32::tanh,
        "log2" => f32::log2,
        "log10" => f32::log10,
        "log1p" => f32::ln_1p,
        "sin" => f32::sin,
        "cos" => f32::cos,
        "tan" => f32::tan,
        "atan" => f32::atan,
        "asin" => f32::asin,
        "acos" => f32::acos,
        "cbrt" => f32::cbrt,
        "sqrt" => sqrt,
        _ => return None,
    })
}

/// The C library's functions that Rust's do not reach.
mod c {
    unsafe extern "C" {
        pub(super) safe fn erf(x: f64) -> f64;
        pub(super) safe fn erfc(x: f64) -> f64;
    }
}

/// The platform's function in f64.
#[allow(clippy::disallowed_methods, reason = "an oracle, no result")]
fn quick(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "exp" => f64::exp,
        "ln" => f64::ln,
        "exp2" => f64::exp2,
        "expm1" => f64::exp_m1,
        "sinh" => f64::sinh,
        "cosh" => f64::cosh,
        "tanh" => f64::tanh,
        "sigmoid" => |x| 1.0 / (1.0 + (-x).exp()),
        "log2" => f64::log2,
        "log10" => f64::log10,
        "log1p" => f64::ln_1p,
        "softplus" => |x| x.max(0.0) + (-x.abs()).exp().ln_1p(),
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "atan" => f64::atan,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "cbrt" => f64::cbrt,
        "rsqrt" => |x| 1.0 / x.sqrt(),
        "erf" => |x| c::erf(x),
        "erfc" => |x| c::erfc(x),
        _ => return None,
    })
}

/// The names asked for, groups taken apart.
///
/// # Errors
/// A name that no function has.
pub(super) fn names(asked: &[String]) -> Result<Vec<&'static str>, String> {
    let all = || Function::ALL.iter().map(|f| f.name());
    let mpfr = |name: &str| univariate(name).is_some_and(|s| matches!(s.oracle, Oracle::Mpfr(_)));
    let mut names = Vec::new();
    for name in asked {
        match name.as_str() {
            "univariate" => names.extend(all().filter(|n| mpfr(n))),
            "bivariate" => names.extend(all().filter(|n| pairs::bivariate(n).is_some())),
            other => names.push(all().find(|n| *n == other).ok_or_else(|| format!("no function {other}"))?),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_elementary_function() {
        let names = names(&["univariate".into(), "bivariate".into()]).expect("groups are known");
        assert_eq!(names.len(), 27);
        assert!(["exp", "ln", "digamma", "atan2", "pow"].iter().all(|n| names.contains(n)));
        assert!(super::names(&["exp".into(), "nothing".into()]).is_err());
    }

    /// What is claimed without MPFR is what MPFR says, at the ends of each claim.
    #[test]
    fn claims_hold_at_their_ends() {
        for name in names(&["univariate".into()]).expect("known") {
            let s = univariate(name).expect("known");
            let Oracle::Mpfr(value) = s.oracle else { continue };
            let mut y = Float::new(oracle::COARSE);
            let mut ask = |x: u32| oracle::nearest(&mut y, f32::from_bits(x), value).0;
            let edges = [0u32, 1, 0x0080_0000, 0x32ff_ffff, 0x397f_ffff, 0x3900_0000, 0x4b00_0000, 0x7f80_0000];
            for x in edges.into_iter().flat_map(|x| [x, x | SIGN]) {
                if let Some(known) = (s.known)(x) {
                    assert_eq!(known, ask(x), "{name} of {x:08x}");
                }
            }
            for x in [0x3380_0000u32, 0x3e12_3456, 0x3f80_0000, 0x4070_0001, 0x4b00_0001, 0x7f7f_ffff, 0x7f80_0000] {
                let (a, b) = (ask(x), ask(x | SIGN));
                match s.symmetry {
                    Symmetry::None => {}
                    Symmetry::Even => assert_eq!(a, b, "{name} of {x:08x}"),
                    Symmetry::Odd if a == NAN => assert_eq!(b, NAN, "{name} of {x:08x}"),
                    Symmetry::Odd => assert_eq!(a ^ SIGN, b, "{name} of {x:08x}"),
                }
            }
        }
    }
}
