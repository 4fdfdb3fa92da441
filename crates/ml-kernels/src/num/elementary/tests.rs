//! How good the building blocks are before anything is rounded to a float, against MPFR: the rounded results of a sample
//! cannot tell 60 bits from 100.
#![allow(clippy::disallowed_methods, reason = "bounds and test data, no results")]

use rug::float::Constant;
use rug::ops::Pow;
use rug::{Assign, Float};

use super::real::*;
use super::*;

const BITS: u32 = 300;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A positive float with its exponent field in the range.
    fn float(&mut self, fields: std::ops::Range<u32>) -> f32 {
        let r = self.next();
        let field = fields.start + (r >> 32) as u32 % fields.len() as u32;
        f32::from_bits(field << 23 | r as u32 & 0x7f_ffff)
    }

    fn signed(&mut self, fields: std::ops::Range<u32>) -> f32 {
        let x = self.float(fields);
        if self.next() & 1 == 0 { x } else { -x }
    }

    /// A number of 128 bits with the exponent of a float.
    fn real(&mut self, fields: std::ops::Range<u32>) -> Real {
        let x = real(self.float(fields));
        let (a, b) = (self.next(), self.next());
        let m = wide::Wide { w3: x.m.w3 | (a >> 56) as u32, w2: a as u32, w1: (b >> 32) as u32, w0: b as u32 };
        Real { m, ..x }
    }
}

fn float(x: f32) -> Float {
    Float::with_val(BITS, x)
}

fn value(r: Real) -> Float {
    let mut m = Float::with_val(BITS, 0);
    for w in [r.m.w3, r.m.w2, r.m.w1, r.m.w0] {
        m = m * 2f64.pow(32) + w;
    }
    let scaled = m * Float::with_val(BITS, 2).pow(r.e as i32 - ONE as i32 - 127);
    if r.sign == 0 { scaled } else { -scaled }
}

/// Asserts a relative error below 2^-`bits`.
fn assert_good(what: &str, got: Real, want: &Float, bits: u32) {
    let got = value(got);
    if want.is_zero() {
        assert!(got.is_zero(), "{what}: {got}, not 0");
        return;
    }
    let error = (got - want) / want;
    let good = error.is_zero() || error.get_exp().expect("a finite error") <= -(bits as i32);
    assert!(good, "{what}: off by {error:.3e}");
}

const N: usize = 20_000;

#[test]
fn arithmetic_of_128_bits() {
    let mut r = Random(1);
    for i in 0..N {
        let (a, b) = (r.real(120..135), r.real(120..135));
        let b = if i % 2 == 0 { b } else { negated(b) };
        let (x, y) = (value(a), value(b));
        assert_good("a b", times(a, b), &Float::with_val(BITS, &x * &y), 123);
        assert_good("1/a", reciprocal(a), &x.clone().recip(), 110);
        assert_good("1/sqrt(a)", reciprocal_root(a), &x.clone().recip_sqrt(), 96);
        let sum = Float::with_val(BITS, &x + &y);
        let lost = x.get_exp().max(y.get_exp()).expect("finite") - sum.get_exp().unwrap_or(-120);
        assert_good("a + b", plus(a, b), &sum, 125u32.saturating_sub(lost as u32));
    }
    assert_good("1/1", reciprocal(one()), &float(1.0), 112);
    assert_good("1/sqrt(1)", reciprocal_root(one()), &float(1.0), 96);
    assert_good("1 - 1", minus(one(), one()), &float(0.0), 0);
}

#[test]
fn powers_of_two() {
    let mut r = Random(2);
    for _ in 0..N {
        let x = r.signed(80..134);
        let p = exp2::power(real(x));
        assert_good("2^x", exp2::whole(p), &float(x).exp2(), 108);
        let less = (float(x) * Float::with_val(BITS, Constant::Log2)).exp_m1();
        assert_good("2^x - 1", exp2::less_one(p), &less, 104);
    }
    for x in [1.0f32 / 32.0, -1.0 / 32.0, 3.0 / 32.0, -127.0, 1.0 / 16.0, 0.0] {
        assert_good("2^x", exp2::whole(exp2::power(real(x))), &float(x).exp2(), 108);
    }
}

#[test]
fn logarithms() {
    let mut r = Random(3);
    for i in 0..N {
        let x = if i % 2 == 0 { r.float(1..255) } else { r.float(125..129) };
        assert_good("log2", log2::log2_real(real(x)), &float(x).log2(), 110);
        let wide = r.real(120..134);
        assert_good("log2 of 128 bits", log2::log2_real(wide), &value(wide).log2(), 90);
        let t = if i % 2 == 0 { r.float(1..254) } else { -r.float(1..127) };
        let want = float(t).ln_1p() / Float::with_val(BITS, Constant::Log2);
        assert_good("log2(1 + t)", log2::log2_1p_real(real(t)), &want, 100);
    }
    for field in 1..255 {
        let x = f32::from_bits(field << 23);
        assert_good("log2 of a power", log2::log2_real(real(x)), &float(x).log2(), 110);
    }
}

#[test]
fn circles() {
    let mut r = Random(4);
    for i in 0..N {
        let x = if i % 2 == 0 { r.float(1..255) } else { r.float(120..135) };
        let want = Float::with_val(500, x);
        assert_good("sin", trig::turned(x, 0), &Float::with_val(BITS, want.sin_ref()), 90);
        assert_good("cos", trig::turned(x, 1), &Float::with_val(BITS, want.cos_ref()), 90);
    }
    // Next to multiples of pi/2: the first is the nearest of all floats.
    for bits in [0x6f5e_16a6u32, 0x3fc9_0fdb, 0x4049_0fdb, 0x4016_cbe4, 0x42b1_67c5, 0x5c6e_b6f1] {
        let x = f32::from_bits(bits);
        let want = Float::with_val(500, x);
        assert_good("sin", trig::turned(x, 0), &Float::with_val(BITS, want.sin_ref()), 90);
        assert_good("cos", trig::turned(x, 1), &Float::with_val(BITS, want.cos_ref()), 90);
    }
}

#[test]
fn angles() {
    let mut r = Random(5);
    for _ in 0..N {
        let (y, x) = (r.float(117..137), r.float(117..137));
        let want = float(y).atan2(&float(x));
        assert_good("angle", arc::angle_of(real(y), real(x)), &want, 104);
        let (y, x) = (r.float(1..255), r.float(1..255));
        let want = float(y).atan2(&float(x));
        assert_good("angle", arc::angle_of(real(y), real(x)), &want, 104);
    }
}

#[test]
fn error_functions() {
    let mut r = Random(6);
    for i in 0..N {
        let x = r.float(100..127);
        assert_good("erf", erf::erf_inner(real(x)), &float(x).erf(), 98);
        let x = 1.0 + 8.5 * (i as f32 / N as f32);
        assert_good("erfc", erf::erfc_outer(real(x)), &float(x).erfc(), 96);
    }
}

#[test]
fn gamma_functions() {
    let mut r = Random(7);
    for i in 0..N / 4 {
        // Near a zero the relative error grows as the value falls; the bound is on both.
        let x = match i % 4 {
            0 => r.float(1..254),
            1 => r.float(124..132),
            2 => -r.float(1..149),
            _ => -r.float(124..132),
        };
        if x < 0.0 && x == x.trunc() {
            continue;
        }
        let mut y = float(x);
        y.ln_abs_gamma_mut();
        let lost = (-y.get_exp().unwrap_or(0)).max(0) as u32;
        assert_good(&format!("lgamma({x:e})"), gamma::lgamma_real(x), &y, 100 - lost.min(100));
        let y = float(x).digamma();
        let lost = (-y.get_exp().unwrap_or(0)).max(0) as u32;
        assert_good(&format!("digamma({x:e})"), gamma::digamma_real(x), &y, 95 - lost.min(95));
    }
}

/// The error of a host function's f64, in bits, and how many of the sample it leaves to the integers.
fn f64_error(f: fn(f32) -> f64, absolute: bool, inputs: &[f32], oracle: fn(&mut Float)) -> f64 {
    let mut y = Float::new(120);
    let mut worst = 0f64;
    for &x in inputs {
        let got = f(x);
        y.assign(x);
        oracle(&mut y);
        // What overflows or is flushed is bounded on purpose.
        if got.is_nan()
            || !y.is_finite()
            || y.is_zero()
            || y.clone().abs() > f32::MAX
            || y.clone().abs() < f32::MIN_POSITIVE
        {
            continue;
        }
        let size = if absolute { y.clone().abs() + 1u32 } else { y.clone() };
        let error = ((Float::with_val(120, got) - &y) / size).abs().to_f64();
        worst = worst.max(error);
    }
    worst
}

#[test]
fn doubles_are_within_their_margin() {
    let mut r = Random(8);
    let mut inputs: Vec<f32> = (0..40_000).map(|_| r.signed(1..255)).collect();
    inputs.extend((0..60_000).map(|_| r.signed(110..134)));
    inputs.extend((0..20_000).map(|i| 1.0 + (i - 10_000) as f32 * 1e-5));
    for (name, f, oracle) in host::DOUBLES.iter().zip(ORACLES).map(|((name, f), oracle)| (*name, *f, *oracle)) {
        let absolute = name.ends_with("gamma");
        let worst = f64_error(f, absolute, &inputs, oracle);
        println!("{name}: 2^{:.1}", worst.log2());
        assert!(worst < 2f64.powi(-46), "{name}: {worst:e}");
    }
}

#[test]
fn double_powers_are_within_their_margin() {
    let mut r = Random(9);
    let mut worst = 0f64;
    for _ in 0..100_000 {
        let x = r.float(1..255);
        let e = x.to_bits() >> 23;
        // |y log2(x)| up to 2^7.
        let y = r.signed(100..133 - (32 - e.abs_diff(127).leading_zeros()).min(30));
        let want = Float::with_val(120, x).pow(Float::with_val(120, y));
        if want > f32::MIN_POSITIVE && want < f32::MAX {
            worst = worst.max(((Float::with_val(120, host::pow_f64(x, y)) - &want) / &want).abs().to_f64());
        }
    }
    println!("pow: 2^{:.1}", worst.log2());
    assert!(worst > 0.0 && worst < 2f64.powi(-43), "{worst:e}");
}

/// In the order of `host::DOUBLES`.
const ORACLES: &[fn(&mut Float)] = &[
    Float::exp2_mut,
    Float::exp_m1_mut,
    Float::sinh_mut,
    Float::cosh_mut,
    Float::tanh_mut,
    |y| *y = Float::with_val(120, (-y.clone()).exp() + 1u32).recip(),
    Float::log2_mut,
    Float::log10_mut,
    Float::ln_1p_mut,
    |y| {
        let small = (-y.clone().abs()).exp().ln_1p();
        *y = if y.is_sign_negative() { small } else { small + &*y };
    },
    Float::sin_mut,
    Float::cos_mut,
    Float::tan_mut,
    Float::atan_mut,
    Float::asin_mut,
    Float::acos_mut,
    Float::cbrt_mut,
    Float::recip_sqrt_mut,
    Float::erf_mut,
    Float::erfc_mut,
    |y| {
        y.ln_abs_gamma_mut();
    },
    Float::digamma_mut,
];
