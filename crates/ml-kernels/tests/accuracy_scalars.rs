//! Scalar numerics against independent oracles: MPFR for `exp` and `ln`, the processor's own correctly rounded
//! operations and wide integers for the rest. A sample of a few seconds; `cargo xtask` runs all 2^32 inputs.

use ml_kernels::num::sweep::{Function, sweep};
use ml_kernels::num::*;
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

/// Bit patterns where something changes: zeros, subnormals, the flush bound, 1, powers of two, infinities, NaNs.
fn edges() -> Vec<u32> {
    let mut edges = vec![];
    for field in (0..=255u32).filter(|f| *f < 4 || *f > 250 || (100..160).contains(f)) {
        for fraction in [0, 1, 2, 3, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x55_5555, 0x7f_fffe, 0x7f_ffff] {
            for sign in [0, 1] {
                edges.push(sign << 31 | field << 23 | fraction);
            }
        }
    }
    edges
}

/// The inputs of the sample: every 4,099th pattern, and 2,000 on either side of each of `near`.
fn sample(near: &[u32]) -> Vec<u32> {
    let mut inputs: Vec<u32> = (0..=u32::MAX).step_by(4_099).collect();
    inputs.extend(near.iter().flat_map(|&x| (0..4_000u32).map(move |d| x.wrapping_add(d).wrapping_sub(2_000))));
    inputs.extend(edges());
    inputs
}

/// Compares both spellings of a function with MPFR, which rounds correctly to 24 bits whatever the exponent.
fn check_against_mpfr(
    inputs: &[u32],
    host: fn(f32) -> f32,
    device: fn(f32) -> f32,
    oracle: impl Fn(f32, &mut Float) -> Option<f32>,
) {
    let mut y = Float::new(24);
    for &bits in inputs {
        let x = f32::from_bits(bits);
        let expected = match oracle(x, &mut y) {
            Some(special) => canonical(special),
            None => canonical(y.to_f32()),
        };
        let (h, d) = (host(x).to_bits(), device(x).to_bits());
        assert!(h == expected && d == expected, "{bits:08x}: host {h:08x}, device {d:08x}, MPFR {expected:08x}");
    }
}

#[test]
// pathway test: P29
fn exp_is_correctly_rounded() {
    // The ends of the range (overflow, flush, tiny), 1 from both sides, and the hardest input (`docs/exhaustive.md`).
    let near = [
        0x0000_0000,
        0x8000_0000,
        0x3280_0000,
        0xb300_0000,
        0x3300_0000,
        0x42b1_7218,
        0xc2ae_ac50,
        0xc2cf_f1b5,
        0x4300_0000,
        0xc300_0000,
        0x7f80_0000,
        0xff80_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x3f31_7218,
        0xbf31_7218,
        0xc169_12cd,
    ];
    check_against_mpfr(&sample(&near), exp_cr, exp_integer, |x, y| {
        y.assign(x);
        y.exp_mut();
        None
    });
}

#[test]
// pathway test: P30
fn ln_is_correctly_rounded() {
    // Likewise.
    let near = [
        0x0000_0000,
        0x0080_0000,
        0x3f80_0000,
        0x3f00_0000,
        0x4000_0000,
        0x3fb5_04f3,
        0x3f35_04f3,
        0x7f80_0000,
        0x402d_f854,
        0x8000_0000,
        0x65d8_90d3,
    ];
    check_against_mpfr(&sample(&near), ln_cr, ln_integer, |x, y| {
        if x == 0.0 {
            return Some(f32::NEG_INFINITY);
        }
        y.assign(x);
        y.ln_mut();
        None
    });
}

#[test]
// pathway test: P32
fn slices_equal_single_calls() {
    let x: Vec<f32> = sample(&[0, 0x3f80_0000, 0x42b1_7218, 0xc2ae_ac50]).into_iter().map(f32::from_bits).collect();
    let mut out = vec![0.0f32; x.len()];
    let check = |out: &[f32], single: fn(f32) -> f32| {
        for (x, y) in x.iter().zip(out) {
            assert_eq!(y.to_bits(), single(*x).to_bits(), "{:08x}", x.to_bits());
        }
    };
    exp_cr_slice(&x, &mut out);
    check(&out, exp_integer);
    ln_cr_slice(&x, &mut out);
    check(&out, ln_integer);
    // Unequal lengths, odd ones, none.
    for (given, taken) in [(0, 5), (1, 1), (63, 65), (129, 100)] {
        out.fill(-7.0);
        exp_cr_slice(&x[..given], &mut out[..taken]);
        let n = given.min(taken);
        check(&out[..n], exp_integer);
        assert!(out[n..].iter().all(|y| *y == -7.0));
    }
}

/// Calls `check` with all pairs of edges and with random pairs: any bits, and near exponents.
fn pairs(random: usize, mut check: impl FnMut(u32, u32)) {
    let edges = edges();
    for &a in &edges {
        for &b in &edges {
            check(a, b);
        }
    }
    let mut source = Random(1);
    for i in 0..random {
        let r = source.next();
        let (a, b) = ((r >> 32) as u32, r as u32);
        check(a, if i % 2 == 0 { b } else { a ^ (b & 0x807f_ffff) });
    }
}

#[test]
// pathway test: P13
fn division_is_correctly_rounded() {
    pairs(4_000_000, |a, b| {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        let unsigned_zero = if y == 0.0 { 0.0 } else { y };
        let expected = canonical(x / unsigned_zero);
        let (h, d) = (div(x, y).to_bits(), div_integer(x, y).to_bits());
        assert!(h == expected && d == expected, "{a:08x} / {b:08x}: host {h:08x}, device {d:08x}, not {expected:08x}");
    });
}

/// `x`, `units` units of its last place off.
fn off(x: f32, units: i32) -> f32 {
    let unit = f32::from_bits((x.to_bits() & 0x7f80_0000) - (23 << 23));
    (f64::from(x) + f64::from(units) * f64::from(unit)) as f32
}

#[test]
// pathway test: P14
fn guesses_seven_units_off_are_repaired() {
    let mut source = Random(2);
    for i in 0..200_000u32 {
        let r = source.next();
        // Every tenth quotient is next to 1/2, 1 or 2.
        let a = (r >> 41) as u32;
        let b = if i % 10 == 0 { a.wrapping_add(r as u32 % 3).wrapping_sub(1) } else { r as u32 };
        let (x, y) = (f32::from_bits(a & 0x007f_ffff | 0x3f80_0000), f32::from_bits(b & 0x007f_ffff | 0x3f80_0000));
        for units in -7..=7 {
            let exact = div_from_guess(x, y, off(x / y, units));
            assert_eq!(exact.to_bits(), (x / y).to_bits(), "{x:e} / {y:e} from {units} units off");
            for square in [x, 2.0 * x] {
                let exact = sqrt_from_guess(square, off(square.sqrt(), units));
                assert_eq!(exact.to_bits(), square.sqrt().to_bits(), "root of {square:e} from {units} units off");
            }
        }
    }
    // The ends of the interval of quotients.
    let (low, high) = (1.0, f32::from_bits(0x3fff_ffff));
    for (x, y) in [(low, low), (low, high), (high, low), (high, high)] {
        for units in -7..=7 {
            assert_eq!(div_from_guess(x, y, off(x / y, units)), x / y, "{x:e} / {y:e} from {units} units off");
        }
    }
}

#[test]
fn reciprocals_eight_units_off_are_good_enough() {
    let mut source = Random(3);
    for i in 0..200_000u32 {
        let r = source.next();
        let (a, b) = (f32::from_bits((r >> 32) as u32), r as u32 & 0x807f_ffff | (100 + i % 56) << 23);
        let (b, mantissa) = (f32::from_bits(b), f32::from_bits(b & 0x007f_ffff | 0x3f80_0000));
        for units in -8..=8 {
            let exact = div_from_reciprocal(a, b, off(1.0 / mantissa, units));
            assert_eq!(exact.to_bits(), canonical(a / b), "{a:e} / {b:e} with a reciprocal {units} units off");
        }
    }
}

#[test]
// pathway test: P15
fn square_root_is_correctly_rounded() {
    for bits in sample(&[0x3f80_0000, 0x4000_0000, 0x4080_0000, 0x0080_0000]) {
        let x = f32::from_bits(bits);
        let expected = canonical(x.sqrt());
        let (h, d) = (sqrt(x).to_bits(), sqrt_integer(x).to_bits());
        assert!(h == expected && d == expected, "root of {bits:08x}: host {h:08x}, device {d:08x}, not {expected:08x}");
    }
}

#[test]
// pathway test: P1
fn sums_and_products_are_canonical() {
    pairs(4_000_000, |a, b| {
        let (x, y) = (f32::from_bits(canonical(f32::from_bits(a))), f32::from_bits(canonical(f32::from_bits(b))));
        // canon leaves NaNs as they are, and which one an operation yields is not fixed.
        let check = |got: f32, plain: f32| {
            assert!(
                if plain.is_nan() { got.is_nan() } else { got.to_bits() == canonical(plain) },
                "{x:e}, {y:e}: {got:e}, not {plain:e}"
            );
        };
        check(add(x, y, Pins::HOST), x + y);
        check(sub(x, y, Pins::HOST), x - y);
        check(mul(x, y, Pins::HOST), x * y);
    });
}

#[test]
// pathway test: P17
fn integers_to_floats() {
    let mut source = Random(3);
    let powers = (0..64).flat_map(|k| (-3..=3i64).map(move |d| (1i64 << k).wrapping_add(d)));
    let halves = (24..63).flat_map(|k| (-2..=2i64).map(move |d| (0x01ff_ffffi64 << (k - 24)).wrapping_add(d)));
    let random = (0..2_000_000).map(|i| (source.next() as i64) >> (i % 64));
    for x in powers.chain(halves).chain(random).flat_map(|x| [x, x.wrapping_neg()]) {
        let limbs = Limbs::from_i64(x);
        assert_eq!(i64_to_f32(limbs).to_bits(), (x as f32).to_bits(), "{x}");
        assert_eq!(i64_to_f32_integer(limbs).to_bits(), (x as f32).to_bits(), "{x}");
        assert_eq!(u32_to_f32(x as u32).to_bits(), (x as u32 as f32).to_bits(), "{x}");
        assert_eq!(u32_to_f32_integer(x as u32).to_bits(), (x as u32 as f32).to_bits(), "{x}");
        assert_eq!(i32_to_f32(x as i32).to_bits(), (x as i32 as f32).to_bits(), "{x}");
    }
}

#[test]
// pathway test: P18
fn floats_to_integers() {
    for bits in sample(&[0x3f80_0000, 0x4f00_0000, 0xcf00_0000, 0x4f80_0000, 0xbf80_0000]) {
        let x = f32::from_bits(bits);
        assert_eq!(f32_to_u32_sat(x), x as u32, "{x:e}");
        assert_eq!(f32_to_i32_sat(x), x as i32, "{x:e}");
    }
}

/// x * 2^e of any finite x, exactly or rounded to even at the edge of f64, which no test case here reaches.
fn scaled(x: f32, e: i32) -> f64 {
    let half = e / 2;
    #[allow(clippy::disallowed_methods, reason = "exact powers of two, in an oracle")]
    let exact = || f64::from(x) * 2f64.powi(half) * 2f64.powi(e - half);
    exact()
}

#[test]
fn fixed_point_rounds_half_to_even_and_saturates() {
    let mut source = Random(4);
    let check = |bits: u32, shift: i32| {
        let x = f32::from_bits(bits);
        let exact = scaled(x, shift);
        let expected = if x.is_nan() { 0 } else { (exact.round_ties_even() as i64).max(-i64::MAX) };
        assert_eq!(f32_to_fixed(x, shift).to_i64(), expected, "{x:e} * 2^{shift}");
    };
    for &bits in &edges() {
        for shift in (-170..=210).chain([i32::MIN, -400, 400, i32::MAX].into_iter().filter(|s| s.abs_diff(0) < 500)) {
            check(bits, shift);
        }
    }
    for _ in 0..2_000_000 {
        let r = source.next();
        check(r as u32, 62 + 127 - ((r >> 23) & 255) as i32 - ((r >> 40) % 70) as i32);
    }
    assert_eq!(f32_to_fixed(1.0, i32::MAX).to_i64(), i64::MAX);
    assert_eq!(f32_to_fixed(-1.0, i32::MAX).to_i64(), -i64::MAX);
    assert_eq!(f32_to_fixed(f32::MAX, i32::MIN).to_i64(), 0);
}

#[test]
// pathway test: P20
fn scaling_by_powers_of_two_is_exact() {
    for &bits in &edges() {
        for e in -300..=300 {
            let x = f32::from_bits(bits);
            let got = scale_pow2(x, e).to_bits();
            if x.is_nan() {
                assert_eq!(got, bits);
                continue;
            }
            // Rounding a subnormal result, or one beyond the largest float, changes nothing that canon keeps.
            let expected = canonical(scaled(x, e) as f32);
            assert_eq!(got, expected, "{x:e} * 2^{e}");
        }
    }
    assert_eq!(scale_pow2(1.5, i32::MAX), f32::INFINITY);
    assert_eq!(scale_pow2(-1.5, i32::MIN).to_bits(), 0);
}

#[test]
// pathway test: P21, P22
fn limbs_are_64_bit_integers() {
    let mut source = Random(5);
    for i in 0..200_000u32 {
        let (a, b) = (source.next() >> (i % 61), source.next() >> (i % 53));
        let (x, y) = (Limbs::from_u64(a), Limbs::from_u64(b));
        assert_eq!(add64(x, y).to_u64(), a.wrapping_add(b));
        assert_eq!(sub64(x, y).to_u64(), a.wrapping_sub(b));
        assert_eq!(neg64(x).to_u64(), a.wrapping_neg());
        assert_eq!(neg64_if(false, x), x);
        assert_eq!(less64(x, y), a < b);
        assert_eq!(shr64(x, i % 32).to_u64(), a >> (i % 32));
        assert_eq!(mul_wide(x.lo, y.lo).to_u64(), u64::from(x.lo) * u64::from(y.lo));
        assert_eq!(mul_top_word(x, y.lo).to_u64(), ((u128::from(a) * u128::from(y.lo)) >> 32) as u64);
        let short = ((u128::from(a) * u128::from(b)) >> 64) as u64 - mul_top(x, y).to_u64();
        assert!(short <= 3, "{a:x} * {b:x} is {short} short");
    }
}

/// Thread counts and block borders do not show.
#[test]
fn sweeps_agree_with_single_calls() {
    for &function in Function::ALL {
        let first = 0x3f7f_0000u64;
        let blocks = sweep(function, 99, first..first + 200_000, |start, results| (start, results.to_vec()));
        for (start, results) in blocks {
            for (i, result) in results.iter().enumerate().step_by(997) {
                assert_eq!(*result, function.apply(start + i as u32, 99), "{}", function.name());
            }
        }
    }
}
