//! Functions of two values: pairs built to be hard, and random ones.

use std::time::Instant;

use ml_kernels::num::elementary::*;
use rayon::prelude::*;
use rug::Float;
use rug::ops::Pow;

use super::oracle::{NAN, canonical, unsigned_zero};
use super::summary::Summary;

/// A function of two values, with MPFR's value of it correctly rounded to 24 bits.
pub(super) struct Subject {
    name: &'static str,
    host: fn(f32, f32) -> f32,
    device: fn(f32, f32) -> f32,
    oracle: fn(&Float, &Float) -> Float,
}

/// The subject with that name.
pub(super) fn bivariate(name: &str) -> Option<Subject> {
    Some(match name {
        "atan2" => Subject {
            name: "atan2",
            host: atan2_cr,
            device: atan2_integer,
            oracle: |y, x| Float::with_val(24, y.atan2_ref(x)),
        },
        "hypot" => Subject {
            name: "hypot",
            host: hypot_cr,
            device: hypot_integer,
            oracle: |x, y| Float::with_val(24, x.hypot_ref(y)),
        },
        "pow" => {
            Subject { name: "pow", host: pow_cr, device: pow_integer, oracle: |x, y| Float::with_val(24, x.pow(y)) }
        }
        _ => return None,
    })
}

/// SplitMix64 of a counter.
fn random(i: u64) -> u64 {
    let z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Random pair `i`: any bits, like exponents, around 1, short numbers, and x next to 1 with large y.
fn pair(i: u64) -> (f32, f32) {
    let r = random(i);
    let (a, b) = ((r >> 32) as u32, r as u32);
    let (x, y) = match i % 5 {
        0 => (a, b),
        1 => (a, a ^ (b & 0x83ff_ffff)),
        2 => ((a & 0x03ff_ffff) + 0x3e00_0000, (b & 0x87ff_ffff) ^ 0x4000_0000),
        // 12 and 6 bits: squares and quotients of these are exact or half way between floats.
        3 => ((a & 0x01ff_f000) + 0x3f00_0000, (b & 0x80fc_0000) ^ 0x3f80_0000),
        _ => (0x3f80_0000u32.wrapping_add_signed((a as i32) >> 12), (b & 0x83ff_ffff) ^ 0x4800_0000),
    };
    (f32::from_bits(x), f32::from_bits(y))
}

/// Powers that are half way between floats or next to that: s^N of 24 to 26 bits with roots and neighbours; and legs whose
/// hypotenuse has 25 bits.
fn built() -> Vec<(f32, f32)> {
    let mut pairs = Vec::new();
    for s in (1..8_192u64).step_by(2) {
        for n in 2..16u32 {
            let Some(p) = s.checked_pow(n).filter(|p| (1 << 22..1 << 27).contains(p)) else { continue };
            let _ = p;
            for j in 0..4u32 {
                let Some(x) = s.checked_pow(1 << j).filter(|x| *x < 1 << 24) else { continue };
                let y = n as f32 / (1 << j) as f32;
                for scale in [1.0f32, 256.0, 1.0 / 256.0] {
                    let x = x as f32 * scale;
                    pairs.extend([(x, y), (-x, y), (x, -y)]);
                    pairs.extend([(f32::from_bits(x.to_bits() + 1), y), (x, f32::from_bits(y.to_bits() - 1))]);
                }
            }
        }
    }
    for m in (2..5_800u64).step_by(3) {
        for n in (1..m).step_by(97) {
            let (a, b) = (m * m - n * n, 2 * m * n);
            if a < 1 << 24 && b < 1 << 24 {
                pairs.extend([(a as f32, b as f32), (b as f32, -(a as f32)), (a as f32, (b + 1) as f32)]);
            }
        }
    }
    pairs
}

/// What a share of the pairs showed.
#[derive(Clone, Copy, Default)]
struct Found {
    mismatches: u64,
    first: Option<[u32; 4]>,
}

fn check(subject: &Subject, (x, y): (f32, f32)) -> Found {
    let float = |x: f32| Float::with_val(24, unsigned_zero(x));
    // The contract's own: whatever has a NaN gives one.
    let expected =
        if x.is_nan() || y.is_nan() { NAN } else { canonical((subject.oracle)(&float(x), &float(y)).to_f32()) };
    let (host, device) = ((subject.host)(x, y).to_bits(), (subject.device)(x, y).to_bits());
    if host == expected && device == expected {
        return Found::default();
    }
    eprintln!("{} of {x:e}, {y:e}: host {host:08x}, device {device:08x}, oracle {expected:08x}", subject.name);
    Found { mismatches: 1, first: Some([x.to_bits(), host, device, expected]) }
}

/// The hard pairs and `count` random ones.
pub(super) fn run(subject: &Subject, count: u64, pool: &rayon::ThreadPool) -> Summary {
    let start = Instant::now();
    let built = built();
    let join = |a: Found, b: Found| Found { mismatches: a.mismatches + b.mismatches, first: a.first.or(b.first) };
    let found = pool.install(|| {
        let hard = built.par_iter().map(|&p| check(subject, p)).reduce(Found::default, join);
        let random = (0..count).into_par_iter().map(|i| check(subject, pair(i))).reduce(Found::default, join);
        join(hard, random)
    });
    Summary {
        function: subject.name.into(),
        inputs: count + built.len() as u64,
        mismatches: found.mismatches,
        first_mismatch: found.first,
        worst_case_bits: 0,
        worst_case: 0,
        digest: String::new(),
        seconds: start.elapsed().as_secs_f64(),
        threads: pool.current_num_threads(),
        host_ns: Some(nanoseconds(subject)),
        spellings: 2,
        oracle: "MPFR",
        platform_ns: None,
    }
}

/// Nanoseconds a pair on one thread, around 1: the best of five.
fn nanoseconds(subject: &Subject) -> f64 {
    const N: u64 = 1 << 16;
    let pairs: Vec<(f32, f32)> = (0..N).map(|i| pair(5 * i + 2)).collect();
    let once = || {
        let start = Instant::now();
        let sum = pairs.iter().fold(0u32, |sum, &(x, y)| sum ^ (subject.host)(x, y).to_bits());
        std::hint::black_box(sum);
        start.elapsed().as_secs_f64()
    };
    std::iter::repeat_with(once).take(5).fold(f64::INFINITY, f64::min) * 1e9 / N as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_pairs_and_some_random_ones_agree() {
        let pool = rayon::ThreadPoolBuilder::new().build().expect("threads");
        for name in ["atan2", "hypot", "pow"] {
            let done = run(&bivariate(name).expect("known"), 20_000, &pool);
            assert!(done.mismatches == 0 && done.inputs > 100_000, "{name}: {:?}", done.first_mismatch);
        }
    }
}
