//! Reductions and cumulative sums against MPFR with 300 bits, which knows nothing of lanes, trees and runs: their errors
//! stay within what their shapes allow.

use ml_kernels::{Buffer, Device, reduce, scan};
use rug::{Assign, Float};

const BITS: u32 = 300;

/// Half a unit in the last place, relative to the value.
const U: f64 = 1.0 / 16_777_216.0;

/// Lists of all kinds: a length, a magnitude of the spread, and a level that it lies around.
const LISTS: [(usize, f32, f32); 9] = [
    (1, 1.0, 0.0),
    (7, 1.0, 0.0),
    (33, 1e18, 0.0),
    (1000, 1e-15, 0.0),
    (1025, 1.0, 3.0),
    (5000, 1.0, 1000.0),
    (70_001, 0.001, 1.0),
    (70_001, 1e4, -1e6),
    (1_100_003, 1.0, 0.5),
];

fn list(n: usize, spread: f32, level: f32) -> Vec<f32> {
    let mut state = n as u32 ^ spread.to_bits();
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..n).map(|_| level + spread * next()).collect()
}

fn exact_sum(terms: impl Iterator<Item = Float>) -> Float {
    terms.fold(Float::new(BITS), |sum, term| sum + term)
}

fn exact(x: f32) -> Float {
    Float::with_val(BITS, x)
}

/// |got - want| over `scale`.
fn error(got: f32, want: &Float, scale: &Float) -> f64 {
    let difference = Float::with_val(BITS, exact(got) - want).abs();
    if difference.is_zero() { 0.0 } else { (difference / scale).to_f64() }
}

/// Additions that an element of a list of `n` goes through: 32 and five levels for each factor of 1,024.
fn depth(n: usize) -> f64 {
    let mut levels = 1;
    let mut left = n.div_ceil(1024);
    while left > 1 {
        levels += 1;
        left = left.div_ceil(1024);
    }
    37.0 * f64::from(levels)
}

fn upload(x: &[f32]) -> Buffer<f32> {
    Buffer::upload(&Device::host(), x).expect("uploads")
}

fn read(x: ml_core::Result<Buffer<f32>>) -> Vec<f32> {
    x.expect("runs").read().expect("reads")
}

#[test]
fn means_and_variances() {
    let device = Device::host();
    for (n, spread, level) in LISTS {
        let x = list(n, spread, level);
        let count = Float::with_val(BITS, n);
        let mean = exact_sum(x.iter().map(|v| exact(*v))) / &count;
        let magnitude = exact_sum(x.iter().map(|v| exact(v.abs()))) / &count;
        let (got_mean, got) = reduce::variance(&device, &upload(&x), 0).expect("runs");
        let (got_mean, got) = (got_mean.read().expect("reads")[0], got.read().expect("reads")[0]);
        assert_eq!(got_mean.to_bits(), read(reduce::mean(&device, &upload(&x)))[0].to_bits());
        let allowed = (depth(n) + 2.0) * U;
        let off = error(got_mean, &mean, &magnitude);
        assert!(off <= allowed, "mean of {n} around {level}: {off:e}, allowed {allowed:e}");

        let square = |v: &f32| Float::with_val(BITS, exact(*v) - &mean).square();
        let variance = exact_sum(x.iter().map(square)) / &count;
        // The mean's own error enters by its square; a difference, its square and their sum by their roundings.
        let shift = Float::with_val(BITS, exact(got_mean) - &mean).square();
        let root = Float::with_val(BITS, Float::with_val(BITS, &variance + &shift).sqrt() * &magnitude);
        let scale = Float::with_val(BITS, &variance + &shift);
        let within = Float::with_val(BITS, &scale * ((depth(n) + 6.0) * U)) + &shift + root * (4.0 * U * U);
        let difference = Float::with_val(BITS, exact(got) - &variance).abs();
        assert!(
            difference <= within,
            "variance of {n} around {level}: got {got:e}, {difference:e} off, {within:e} allowed"
        );
        if n > 3 {
            let sample = reduce::variance(&device, &upload(&x), 3).expect("runs").1.read().expect("reads")[0];
            let want = f64::from(got) * n as f64 / (n - 3) as f64;
            assert!((f64::from(sample) / want - 1.0).abs() <= 3.0 * U, "ddof 3 of {n}");
        }
    }
}

/// On lists around their level, the error is a few units, not what the shape might allow.
#[test]
fn variances_are_good_in_practice() {
    let device = Device::host();
    for (n, spread, level) in [(1_100_003, 1.0, 0.5), (70_001, 1.0, 100.0), (5000, 1.0, 1000.0)] {
        let x = list(n, spread, level);
        let mean = exact_sum(x.iter().map(|v| exact(*v))) / Float::with_val(BITS, n);
        let square = |v: &f32| Float::with_val(BITS, exact(*v) - &mean).square();
        let variance = exact_sum(x.iter().map(square)) / Float::with_val(BITS, n);
        let got = reduce::variance(&device, &upload(&x), 0).expect("runs").1.read().expect("reads")[0];
        let off = error(got, &variance, &variance);
        assert!(off <= 6.0 * U, "{n} around {level}: {} half units", off / U);
    }
}

#[test]
fn logarithms_of_sums_of_exponentials() {
    let device = Device::host();
    for (n, spread, level) in
        [(1, 1.0, 0.0), (7, 1.0, 0.0), (33, 80.0, 0.0), (1025, 5.0, 300.0), (70_001, 3.0, -2000.0)]
    {
        let x = list(n, spread, level);
        let sum = exact_sum(x.iter().map(|v| exact(*v).exp()));
        let want = sum.ln();
        let got = read(reduce::log_sum_exp(&device, &upload(&x)))[0];
        // The result's own rounding, and that of the sum, whose logarithm is off by its relative error; exponents are
        // rounded relative to themselves, and those that count are small.
        let scale = Float::with_val(BITS, want.clone().abs() + 1.0);
        let allowed = (depth(n) + 40.0) * U;
        let off = error(got, &want, &scale);
        assert!(off <= allowed, "{n} around {level}: {off:e}, allowed {allowed:e}");
        let (least, greatest) =
            (read(reduce::min(&device, &upload(&x)))[0], read(reduce::max(&device, &upload(&x)))[0]);
        assert_eq!(least, x.iter().copied().fold(f32::INFINITY, f32::min));
        assert_eq!(greatest, x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    }
}

#[test]
fn cumulative_sums_and_segments() {
    let device = Device::host();
    for (n, spread, level) in LISTS {
        let x = list(n, spread, level);
        let sums = read(scan::cumulative_sum(&device, &upload(&x)));
        let (mut sum, mut magnitude) = (Float::new(BITS), Float::new(BITS));
        // At most 32 additions for each factor of 32, and one to join.
        let mut levels = 1;
        while 32usize.pow(levels) < n {
            levels += 1;
        }
        let allowed = 33.0 * f64::from(levels) * U;
        let mut term = Float::new(BITS);
        for (i, (&value, &got)) in x.iter().zip(&sums).enumerate() {
            term.assign(value);
            sum += &term;
            magnitude += &*term.as_abs();
            let off = error(got, &sum, &magnitude);
            assert!(off <= allowed, "sum {i} of {n}: {off:e}, allowed {allowed:e}");
        }
        let offsets: Vec<u32> = [0, n / 3, n / 3, n / 2, n].map(|offset| offset as u32).to_vec();
        let segments = Buffer::upload(&device, &offsets).expect("uploads");
        let got = read(reduce::segment_sums(&device, &upload(&x), &segments));
        for (s, got) in got.into_iter().enumerate() {
            let part = &x[offsets[s] as usize..offsets[s + 1] as usize];
            let want = exact_sum(part.iter().map(|v| exact(*v)));
            let magnitude = exact_sum(part.iter().map(|v| exact(v.abs())));
            let off = error(got, &want, &magnitude);
            assert!(off <= depth(part.len()) * U, "segment {s} of {n}: {off:e}");
        }
    }
}
