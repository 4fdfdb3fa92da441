//! Derives the constants of the elementary functions with MPFR and compares them with `src/num/elementary/tables.rs`
//! (fixed point) and `src/num/elementary/host/tables.rs` (f64).
//!
//! `ISOBIT_BLESS=1 cargo test -p ml-kernels --test elementary_constants` writes both anew (then run `cargo fmt`).

mod derivation;

use derivation::*;
use rug::Float;
use rug::float::Constant;
use rug::ops::Pow;

/// Coefficients of the polynomial in g where `f` takes x = `unit` g; its error on `[low, high]` (of x) is asserted.
fn fit(
    name: &str,
    f: impl Fn(&Float) -> Float,
    (low, high): (Float, Float),
    unit: &Float,
    degree: usize,
    bits: i32,
) -> Vec<Float> {
    let c = chebyshev(&f, &low, &high, degree);
    // Off the ends and off 0, where some of these functions have no value of their own.
    let inset = Float::with_val(BITS, &high - &low) * two_to(-60);
    assert_close(name, &f, &c, &Float::with_val(BITS, &low + &inset), &Float::with_val(BITS, &high - &inset), bits);
    let mut power = real(1.0);
    let mut out = Vec::new();
    for k in c {
        out.push(k * &power);
        power *= unit;
    }
    out
}

/// 256 c for interval i, as `tests/constants.rs` derives it for `ln`.
fn multiplier(i: u32) -> u32 {
    let numerator = if i < 7 { 4096 } else { 8192 };
    (2 * numerator + 16 + i) / (2 * (16 + i))
}

fn powers_and_logarithms(out: &mut File) {
    let ln2 = constant(Constant::Log2);
    out.wide("log2(e)", "LOG2_E", &real(1.0).exp().log2(), 127);
    out.wide("ln(2)", "LN_2", &ln2, 128);
    out.wide("log10(2)", "LOG10_2", &real(2.0).log10(), 129);

    let roots: Vec<Float> = (0..16).map(|i| (real(i) / 16u32).exp2()).collect();
    out.wide_array("2^(i/16)", "EXP2_ROOT", &roots, 127);
    let rise = |f: &Float| Float::with_val(BITS, f * &ln2).exp_m1() / f;
    let c = fit("exp2", rise, (-two_to(-5), two_to(-5)), &two_to(-4), 12, 116);
    out.polynomial("(2^f - 1)/f in g = 16 f, for |f| up to 1/32.", "EXP2_POLY", &c, 0.5, 114, Signs::Regular);

    let offsets: Vec<Float> = (0..16).map(|i| -(real(multiplier(i)) / 256u32).log2()).collect();
    out.wide_array("-log2(c) of interval i, two's complement", "LOG2_OFFSET", &offsets, 119);
    let slope = |r: &Float| Float::with_val(BITS, r).ln_1p() / r / &ln2 / 2u32;
    let c = fit("log2", slope, (-two_to(-5), two_to(-5)), &two_to(-5), 18, 115);
    out.polynomial("log2(1 + r)/(2 r) in g = 32 r, alternating.", "LOG2_POLY", &c, 1.0, 114, Signs::Regular);
}

/// atan(i/8), up to i = 8, then zeros.
fn angles() -> Vec<Float> {
    (0..16).map(|i| if i <= 8 { (real(i) / 8u32).atan() } else { real(0.0) }).collect()
}

fn circle(out: &mut File) {
    let pi = constant(Constant::Pi);
    let two_over_pi = real(2.0) / &pi;
    out.wide("pi/2", "PI_2", &Float::with_val(BITS, &pi / 2u32), 127);
    out.wide("2/pi", "TWO_PI", &two_over_pi, 128);
    let bits = (Float::with_val(BITS, &two_over_pi * two_to(480))).floor();
    let words: Vec<u32> = (0..16).rev().map(|i| word(&bits, i)).collect();
    out.array("2/pi: its integer part, 0, and fifteen words of its fraction.", "TWO_PI_WORDS", &words);

    let quarter = (real(0.0), real(0.25));
    let sine = |t: &Float| {
        let f = Float::with_val(BITS, t).sqrt();
        (Float::with_val(BITS, &f * &pi) / 2u32).sin() / &f / 2u32
    };
    let c = fit("sin", sine, quarter.clone(), &real(1.0), 12, 112);
    out.polynomial("sin(pi f/2)/(2 f) in f^2 up to 1/4, alternating.", "SIN_POLY", &c, 0.25, 112, Signs::Regular);
    let cosine = |t: &Float| (Float::with_val(BITS, t).sqrt() * &pi / 2u32).cos() / 2u32;
    let c = fit("cos", cosine, quarter, &real(1.0), 12, 112);
    out.polynomial("cos(pi f/2)/2 in f^2 up to 1/4, alternating.", "COS_POLY", &c, 0.25, 112, Signs::Regular);

    out.wide_array("atan(i/8), up to i = 8", "ATAN_ANGLE", &angles(), 128);
    let arc = |t: &Float| {
        let z = Float::with_val(BITS, t).sqrt();
        z.clone().atan() / z / 2u32
    };
    // 1/256 and what the rough choice of the interval may add.
    let reach = two_to(-8) * 1.01;
    let c = fit("atan", arc, (real(0.0), reach), &two_to(-7), 11, 112);
    out.polynomial("atan(z)/(2 z) in g = 128 z^2, alternating.", "ATAN_POLY", &c, 0.51, 112, Signs::Regular);
}

/// erf(x)/(2 x) as a function of x^2.
fn erf_inner(t: &Float) -> Float {
    let x = Float::with_val(BITS, t).sqrt();
    x.clone().erf() / x / 2u32
}

/// v = 1/(x + 4) = middle + half s for x from 0.98 to 9.6: middle and half.
fn erfc_interval() -> (Float, Float) {
    let (low, high) = (real(1.0) / (real(9.6) + 4u32), real(1.0) / (real(0.98) + 4u32));
    (Float::with_val(BITS, &low + &high) / 2u32, Float::with_val(BITS, &high - &low) / 2u32)
}

/// e^(x^2) erfc(x) (x + 4)/8 as a function of s.
fn erfc_outer(s: &Float) -> Float {
    let (middle, half) = erfc_interval();
    let v = Float::with_val(BITS, s * &half) + &middle;
    let x = v.clone().recip() - 4u32;
    let scaled = Float::with_val(BITS, x.clone().pow(2u32)).exp() * x.erfc();
    scaled / v / 8u32
}

fn errors(out: &mut File) {
    let c = fit("erf", erf_inner, (real(0.0), real(1.0)), &real(1.0), 21, 104);
    out.polynomial("erf(x)/(2 x) in x^2 up to 1, alternating.", "ERF_POLY", &c, 1.0, 106, Signs::Regular);
    let (middle, half) = erfc_interval();
    out.wide("1/half of erfc", "ERFC_STEEP", &half.clone().recip(), 124);
    out.wide("middle/half of erfc", "ERFC_SHIFT", &(middle / half), 126);
    let c = fit("erfc", erfc_outer, (real(-1.0), real(1.0)), &real(1.0), 34, 104);
    let doc = "e^(x^2) erfc(x) (x + 4)/8 in s, two's complement.";
    out.polynomial(doc, "ERFC_POLY", &c, 1.0, 106, Signs::Mixed);
}

fn host(out: &mut File) {
    let pi = constant(Constant::Pi);
    out.doubles("atan(i/8), up to i = 8.", "ATAN_ANGLE", &angles());
    // 33 bits each: their products with integers below 2^20 are exact.
    let half = Float::with_val(BITS, &pi / 2u32);
    let head = Float::with_val(33, &half);
    let rest = Float::with_val(BITS, &half - &head);
    let middle = Float::with_val(33, &rest);
    out.number("pi/2.", "HALF_PI", &half);
    out.number("pi/2 to 33 bits.", "HALF_PI_HEAD", &head);
    out.number("The next 33 bits.", "HALF_PI_MIDDLE", &middle);
    out.number("pi/2 less both.", "HALF_PI_TAIL", &Float::with_val(BITS, &rest - &middle));
    out.number("2/pi.", "TWO_PI", &(real(2.0) / &pi));
    out.number("log10(e).", "LOG10_E", &real(1.0).exp().log10());
    out.number("ln(2 pi)/2.", "HALF_LN_TWO_PI", &(Float::with_val(BITS, &pi * 2u32).ln() / 2u32));
    let c = fit("erf", erf_inner, (real(0.0), real(1.0)), &real(1.0), 13, 58);
    out.doubles("erf(x)/(2 x) in x^2 up to 1.", "ERF_POLY", &c);
    let (middle, half) = erfc_interval();
    out.number("1/half of erfc.", "ERFC_STEEP", &half.clone().recip());
    out.number("middle/half of erfc.", "ERFC_SHIFT", &(middle / half));
    let c = fit("erfc", erfc_outer, (real(-1.0), real(1.0)), &real(1.0), 20, 58);
    out.doubles("e^(x^2) erfc(x) (x + 4)/8 in s.", "ERFC_POLY", &c);
}

fn gamma(out: &mut File) {
    let pi = constant(Constant::Pi);
    out.wide("ln(2 pi)/2", "HALF_LN_TWO_PI", &(Float::with_val(BITS, &pi * 2u32).ln() / 2u32), 128);
    let reach = two_to(-8);
    let at = |u: &Float| Float::with_val(BITS, u).sqrt().recip();
    let stirling = |u: &Float| {
        let x = at(u);
        let main =
            Float::with_val(BITS, &x - 0.5f64) * x.clone().ln() - &x + Float::with_val(BITS, &pi * 2u32).ln() / 2u32;
        (x.clone().ln_gamma() - main) * x
    };
    // Not down to 0, where the difference would lose all its digits.
    let c = fit("lgamma", stirling, (two_to(-120), reach.clone()), &two_to(-7), 12, 108);
    let doc = "(ln gamma(x) - (x - 1/2) ln x + x - ln(2 pi)/2) x in g = 128/x^2, alternating.";
    out.polynomial(doc, "LGAMMA_POLY", &c, 0.5, 112, Signs::Regular);
    let psi = |u: &Float| {
        let x = at(u);
        (x.clone().ln() - x.clone().recip() / 2u32 - x.clone().digamma()) / u
    };
    let c = fit("digamma", psi, (two_to(-120), reach), &two_to(-7), 12, 108);
    let doc = "(ln x - 1/(2 x) - digamma(x)) x^2 in g = 128/x^2, alternating.";
    out.polynomial(doc, "DIGAMMA_POLY", &c, 0.5, 112, Signs::Regular);
}

#[test]
fn fixed_point_constants_are_derived() {
    let mut out = File::new(concat!(
        "//! Constants of the elementary functions in fixed point, derived and checked by\n",
        "//! `tests/elementary_constants.rs`: generated, do not edit.\n\nuse super::wide::Step;\n",
    ));
    powers_and_logarithms(&mut out);
    circle(&mut out);
    errors(&mut out);
    gamma(&mut out);
    compare_or_bless("src/num/elementary/tables.rs", &out.text);
}

#[test]
fn host_constants_are_derived() {
    let mut out = File::new(concat!(
        "//! Constants of the elementary functions in f64, derived and checked by `tests/elementary_constants.rs`:\n",
        "//! generated, do not edit.\n",
    ));
    host(&mut out);
    compare_or_bless("src/num/elementary/host/tables.rs", &out.text);
}
