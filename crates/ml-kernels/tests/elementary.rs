//! The elementary functions against MPFR, both spellings: a sample of a few seconds. `cargo xtask exhaustive` runs all
//! 2^32 inputs, `src/num/elementary/tests.rs` looks at what lies below the rounding.
#![allow(clippy::disallowed_methods, reason = "test data, no results")]
#![allow(clippy::approx_constant, reason = "arguments next to which something changes")]

use ml_kernels::num::elementary::*;
use rug::ops::Pow;
use rug::{Assign, Float};

/// Contract clause `values`, spelled apart from the library: one NaN, and nothing up to 2^-126 but +0.
fn canonical(x: f32) -> u32 {
    if x.is_nan() {
        0x7fc0_0000
    } else if x.abs() <= f32::MIN_POSITIVE {
        0
    } else {
        x.to_bits()
    }
}

/// A float whose zero has no sign, as the contract has it.
fn unsigned_zero(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { x }
}

/// SplitMix64: test data only.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Every 65,537th pattern, the edges of every binade, and 1,000 on either side of each of `near`.
fn sample(near: &[f32]) -> Vec<u32> {
    let mut inputs: Vec<u32> = (0..=u32::MAX).step_by(65_537).collect();
    for field in 0..=255u32 {
        for fraction in [0, 1, 2, 3, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x55_5555, 0x7f_fffe, 0x7f_ffff] {
            inputs.extend([field << 23 | fraction, 1 << 31 | field << 23 | fraction]);
        }
    }
    let around = |x: f32| (0..2_000u32).map(move |d| x.to_bits().wrapping_add(d).wrapping_sub(1_000));
    inputs.extend(near.iter().flat_map(|&x| around(x)));
    inputs
}

/// Compares both spellings of a function, and that of slices, with MPFR, which rounds correctly to 24 bits whatever the
/// exponent.
fn check(
    name: &str,
    near: &[f32],
    [host, device]: [fn(f32) -> f32; 2],
    slice: fn(&[f32], &mut [f32]),
    oracle: fn(&mut Float),
) {
    let inputs = sample(near);
    let x: Vec<f32> = inputs.iter().map(|&b| f32::from_bits(b)).collect();
    let mut slices = vec![0.0f32; x.len()];
    slice(&x, &mut slices);
    let mut y = Float::new(24);
    for ((&x, &bits), &s) in x.iter().zip(&inputs).zip(&slices) {
        y.assign(unsigned_zero(x));
        oracle(&mut y);
        let expected = canonical(y.to_f32());
        let (h, d, s) = (host(x).to_bits(), device(x).to_bits(), s.to_bits());
        assert!(
            h == expected && d == expected && s == expected,
            "{name} of {bits:08x}, {x:e}: host {h:08x}, slice {s:08x}, device {d:08x}, MPFR {expected:08x}"
        );
    }
}

/// A composite at 200 bits, rounded to the precision of `y` in the end: a double rounding that 2^-170 excludes.
fn composite(y: &mut Float, f: impl Fn(Float) -> Float) {
    if !y.is_nan() {
        let wide = f(Float::with_val(200, &*y));
        y.assign(wide);
    }
}

macro_rules! univariate {
    ($($test:ident: $host:ident, $device:ident, $slice:ident, [$($near:expr),*], $oracle:expr;)*) => {
        $(
            #[test]
            fn $test() {
                check(stringify!($test), &[$($near),*], [$host, $device], $slice, $oracle);
            }
        )*
    };
}

univariate! {
    exp2: exp2_cr, exp2_integer, exp2_cr_slice, [0.0, -0.0, 1.0, -1.0, 128.0, -126.0, 1e-8], Float::exp2_mut;
    expm1: expm1_cr, expm1_integer, expm1_cr_slice, [1.0, 88.722_84, -17.328_68, 0.346_57, -0.021_66], Float::exp_m1_mut;
    sinh: sinh_cr, sinh_integer, sinh_cr_slice, [1.0, 89.416, -89.416, 9.0, 2.4e-4], Float::sinh_mut;
    cosh: cosh_cr, cosh_integer, cosh_cr_slice, [1.0, 89.416, -89.416, 9.0, 2.4e-4], Float::cosh_mut;
    tanh: tanh_cr, tanh_integer, tanh_cr_slice, [1.0, 9.01, -9.01, 2.4e-4], Float::tanh_mut;
    sigmoid: sigmoid_cr, sigmoid_integer, sigmoid_cr_slice, [1.19e-7, -5.9e-8, 17.3, -87.4, -103.0], |y| {
        composite(y, |x| ((-x).exp() + 1u32).recip())
    };
    log2: log2_cr, log2_integer, log2_cr_slice, [1.0, 2.0, 0.5, 1024.0, 0.71, 1.41], Float::log2_mut;
    log10: log10_cr, log10_integer, log10_cr_slice, [1.0, 10.0, 100.0, 1e10, 0.1, 1.41], Float::log10_mut;
    log1p: log1p_cr, log1p_integer, log1p_cr_slice, [-1.0, 1.0, 0.015_625, -0.015_625, 5.96e-8, 1.19e-7], Float::ln_1p_mut;
    softplus: softplus_cr, softplus_integer, softplus_cr_slice, [1.0, -1.0, 16.6, -87.3, 88.0, -0.5], |y| {
        composite(y, |x| {
            let small = (-x.clone().abs()).exp().ln_1p();
            if x > 0 { small + x } else { small }
        })
    };
    sin: sin_cr, sin_integer, sin_cr_slice, [1.0, 3.141_592_7, 0.785_398_2, 131_072.0, 1e22, -6.283_185], Float::sin_mut;
    cos: cos_cr, cos_integer, cos_cr_slice, [1.0, 1.570_796_4, 2.4e-4, 131_072.0, 1e22, 4.712_389], Float::cos_mut;
    tan: tan_cr, tan_integer, tan_cr_slice, [1.0, 1.570_796_4, 0.785_398_2, 131_072.0, 1e22, -3.141_592_7], Float::tan_mut;
    atan: atan_cr, atan_integer, atan_cr_slice, [1.0, -1.0, 0.062_5, 0.187_5, 16.0, 3e7], Float::atan_mut;
    asin: asin_cr, asin_integer, asin_cr_slice, [1.0, -1.0, 0.5, 0.707_106_77, 3e-4], Float::asin_mut;
    acos: acos_cr, acos_integer, acos_cr_slice, [1.0, -1.0, 0.5, 0.707_106_77, 3e-8], Float::acos_mut;
    cbrt: cbrt_cr, cbrt_integer, cbrt_cr_slice, [1.0, 8.0, -27.0, 1e-45, 15_625.0], Float::cbrt_mut;
    rsqrt: rsqrt_cr, rsqrt_integer, rsqrt_cr_slice, [1.0, 4.0, 0.25, 1e-45], Float::recip_sqrt_mut;
    erf: erf_cr, erf_integer, erf_cr_slice, [1.0, -1.0, 3.83, 2.5], Float::erf_mut;
    erfc: erfc_cr, erfc_integer, erfc_cr_slice, [1.0, -1.0, 9.19, -3.83, 2e-8], Float::erfc_mut;
    lgamma: lgamma_cr, lgamma_integer, lgamma_cr_slice, [1.0, 2.0, 16.0, -2.457_024_7, -2.747_682_6, -3.0, 4e36], |y| {
        y.ln_abs_gamma_mut();
    };
    digamma: digamma_cr, digamma_integer, digamma_cr_slice, [1.461_632_1, -0.504_083, -1.573_5, -2.0, 1.0], Float::digamma_mut;
}

/// Roots, powers and logarithms that are floats themselves.
#[test]
fn exact_cases() {
    for k in -126..=127i32 {
        let power = f32::from_bits(((k + 127) as u32) << 23);
        let flushed = if k == -126 { 0.0 } else { power };
        assert_eq!((exp2_cr(k as f32), exp2_integer(k as f32)), (flushed, flushed), "2^{k}");
        assert_eq!((log2_cr(power), log2_integer(power)), (k as f32, k as f32), "log2 of 2^{k}");
        if k % 2 == 0 {
            let root = f32::from_bits((127 - k / 2) as u32 * (1 << 23));
            assert_eq!((rsqrt_cr(power), rsqrt_integer(power)), (root, root), "rsqrt of 2^{k}");
        }
    }
    let mut ten = 1.0f32;
    for k in 0..=10u32 {
        assert_eq!((log10_cr(ten), log10_integer(ten)), (k as f32, k as f32), "log10 of 10^{k}");
        ten *= 10.0;
    }
    for k in 1..=256u32 {
        let cube = (k * k * k) as f32;
        assert_eq!((cbrt_cr(cube), cbrt_integer(-cube)), (k as f32, -(k as f32)), "cbrt of {k}^3");
        let square = (k * k) as f32;
        assert_eq!((pow_cr(k as f32, 2.0), pow_integer(square, 0.5)), (square, k as f32), "{k}^2");
    }
    for (a, b, c) in [(3.0, 4.0, 5.0), (5.0, 12.0, 13.0), (8.0, 15.0, 17.0), (20.0, 21.0, 29.0)] {
        for scale in [1.0f32, 1.2e-38, 2.6e36] {
            let (a, b, c) = (a * scale, b * scale, c * scale);
            assert!((hypot_cr(a, b) / c - 1.0).abs() < 2e-7 && hypot_cr(a, b) == hypot_integer(a, b));
        }
        assert_eq!((hypot_cr(a, b), hypot_integer(-b, a)), (c, c));
    }
}

/// Bit patterns where something changes in functions of two values.
const CORNERS: [u32; 26] = [
    0x0000_0000,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0x3f7f_ffff,
    0x3f80_0001,
    0x4000_0000,
    0x3f00_0000,
    0x4040_0000,
    0x40a0_0000,
    0x4b7f_ffff,
    0x4b80_0000,
    0x4b00_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7fc0_0000,
    0x4110_0000,
    0x3fc0_0000,
    0x3e80_0000,
    0x3e00_0000,
    0x4080_0000,
    0x4100_0000,
    0x40e0_0000,
    0x4f00_0000,
    0x5f80_0000,
];

fn check_pairs(
    name: &str,
    [host, device]: [fn(f32, f32) -> f32; 2],
    pairs: impl Iterator<Item = (f32, f32)>,
    oracle: fn(&Float, &Float) -> Float,
) {
    let float = |x: f32| Float::with_val(24, unsigned_zero(x));
    for (x, y) in pairs {
        // The contract's own: whatever has a NaN gives one.
        let expected =
            if x.is_nan() || y.is_nan() { 0x7fc0_0000 } else { canonical(oracle(&float(x), &float(y)).to_f32()) };
        let (h, d) = (host(x, y).to_bits(), device(x, y).to_bits());
        assert!(
            h == expected && d == expected,
            "{name} of {x:e}, {y:e}: host {h:08x}, device {d:08x}, MPFR {expected:08x}"
        );
    }
}

/// All pairs of corners with all signs, and random ones: of any bits, of like exponents, and around 1.
fn pairs(seed: u64) -> impl Iterator<Item = (f32, f32)> {
    let all = |a: u32| CORNERS.into_iter().flat_map(move |b| (0..4u32).map(move |s| (a | s << 31, b | s >> 1 << 31)));
    let corners: Vec<(u32, u32)> = CORNERS.into_iter().flat_map(all).collect();
    let mut source = Random(seed);
    let random = (0..60_000u32).map(move |i| {
        let r = source.next();
        let (a, b) = ((r >> 32) as u32, r as u32);
        match i % 3 {
            0 => (a, b),
            1 => (a, a ^ (b & 0x83ff_ffff)),
            _ => ((a & 0x03ff_ffff) + 0x3e00_0000, (b & 0x87ff_ffff) ^ 0x4000_0000),
        }
    });
    corners.into_iter().chain(random).map(|(a, b)| (f32::from_bits(a), f32::from_bits(b)))
}

#[test]
fn atan2() {
    // Small angles, where the quotient decides, next to the middle between two floats.
    let fractions = (0..30_000u32).map(|i| {
        let short = 3 + 2 * (i % 61);
        let middle = u64::from(1u32 << 24 | i << 8 | 1) * u64::from(short);
        ((middle >> 7) as f32 * 1e-20, short as f32)
    });
    check_pairs("atan2", [atan2_cr, atan2_integer], pairs(1).chain(fractions), |y, x| y.clone().atan2(x));
}

#[test]
fn hypot() {
    // Legs whose hypotenuse has 25 bits: (m^2 - n^2, 2 m n, m^2 + n^2), and neighbours.
    let triples = (1..4_000u32).filter_map(|i| {
        let (m, n) = (4_100 + i % 1_600, 1 + i / 2);
        let (a, b) = ((m * m).checked_sub(n * n)?, 2 * m * n);
        (a < 1 << 24 && b < 1 << 24).then_some((a as f32, b as f32))
    });
    check_pairs("hypot", [hypot_cr, hypot_integer], pairs(2).chain(triples), |x, y| x.clone().hypot(y));
}

#[test]
fn pow() {
    // s^N of about 25 bits, also as powers of squares: half-way cases and their neighbours.
    let powers = (1..4_800u32).step_by(2).flat_map(|s| {
        (2..16u32).filter(move |&n| (23.0..26.0).contains(&(f64::from(s).ln() * f64::from(n) / 2f64.ln()))).flat_map(
            move |n| {
                [0.5f32, 1.0, 4.0].into_iter().flat_map(move |scale| {
                    [(1, 1.0f32), (2, 0.5), (4, 0.25), (8, 0.125)].into_iter().filter_map(move |(j, part)| {
                        let x = u64::from(s).checked_pow(j).filter(|x| *x < 1 << 24)?;
                        Some((x as f32 * scale.powi(j as i32), n as f32 * part))
                    })
                })
            },
        )
    });
    let integers = (0..40_000u32).map(|i| ((i % 200 + 1) as f32 / 16.0, (i / 200) as f32 / 8.0 - 12.0));
    check_pairs("pow", [pow_cr, pow_integer], pairs(3).chain(powers).chain(integers), |x, y| {
        Float::with_val(24, x.pow(y))
    });
}
