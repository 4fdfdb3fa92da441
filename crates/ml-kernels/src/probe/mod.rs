//! What a device's native operations really do: the measurements that the contract's spellings rest on.
//!
//! No primitive depends on the answers. They show on each new device which pins are needed there, and that the pinned
//! spellings hold where the plain ones do not. `cargo xtask doctor` prints them.

mod host;
#[cfg(feature = "gpu")]
mod kernel;

use ml_core::Result;

use crate::device::{Device, on_device};
use crate::num;

/// Most samples of one question.
const SAMPLES: usize = 65_536;

/// Words that a device gives for each sample.
const RATE_ROWS: usize = 20;

/// How often a device's answers agreed with one reading of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// A short name, for records.
    pub key: &'static str,
    /// The reading, in words.
    pub what: &'static str,
    /// Samples that agree with it, bit for bit; zeros of either sign agree.
    pub hits: usize,
    /// Samples.
    pub of: usize,
}

/// A device's answer to a question that has one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// A short name, for records.
    pub key: &'static str,
    /// The question, in words.
    pub what: &'static str,
    /// The answer's bits; none where the host language has no such operation.
    pub bits: Option<u32>,
}

/// Everything that a device answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Answers over many samples.
    pub rates: Vec<Rate>,
    /// Single answers.
    pub values: Vec<Value>,
}

impl ProbeReport {
    /// The rate called `key`.
    pub fn rate(&self, key: &str) -> Option<Rate> {
        self.rates.iter().copied().find(|r| r.key == key)
    }
}

/// Inputs of the rates, the same on every device.
struct Samples {
    x: Vec<f32>,
    y: Vec<f32>,
    /// Near `-x * y`, so that a fused product and sum differs from two roundings.
    w: Vec<f32>,
    u: Vec<u32>,
}

/// Inputs of the values: they come at run time, so that no compiler can answer in the device's place.
struct ValueInputs {
    floats: [f32; 9],
    words: [u32; 6],
}

/// Bits as a device gave them: rates row by row, values in the order of [`VALUES`].
struct Answers {
    rates: Vec<u32>,
    values: Vec<Option<u32>>,
}

const VALUES: [(&str, &str); 27] = [
    ("min_nz_pz", "min(-0, +0)"),
    ("min_pz_nz", "min(+0, -0)"),
    ("max_nz_pz", "max(-0, +0)"),
    ("max_pz_nz", "max(+0, -0)"),
    ("shl_32", "1u32 << 32"),
    ("shr_32", "0x80000000u32 >> 32"),
    ("sar_32", "-1i32 >> 32"),
    ("i32_add_overflow", "i32::MAX + 1"),
    ("i32_mul_overflow", "i32::MAX * i32::MAX"),
    ("i32_sub_overflow", "0 - i32::MIN"),
    ("clz_0", "leading zeros of 0"),
    ("u32_of_minus_1", "u32 of -1.0"),
    ("u32_of_2_32", "u32 of 2^32"),
    ("u32_of_3e9", "u32 of 3e9"),
    ("u32_of_inf", "u32 of inf"),
    ("u32_of_minus_inf", "u32 of -inf"),
    ("u32_of_nan", "u32 of NaN"),
    ("i32_of_minus_1", "i32 of -1.0"),
    ("i32_of_2_32", "i32 of 2^32"),
    ("i32_of_3e9", "i32 of 3e9"),
    ("i32_of_inf", "i32 of inf"),
    ("i32_of_minus_inf", "i32 of -inf"),
    ("i32_of_nan", "i32 of NaN"),
    ("nan_equal", "NaN == NaN"),
    ("nan_greater", "NaN > 0"),
    ("subnormal_positive", "1e-40 > 0"),
    ("subnormal_zero", "1e-40 == 0"),
];

/// Asks `device` what its native operations do, on 65,536 samples (fewer on a device of tiny bindings).
///
/// # Errors
/// A device failure.
///
/// # Bit identity
/// None: the answers are what differs between devices.
pub fn probe(device: &Device) -> Result<ProbeReport> {
    let inputs = ValueInputs {
        floats: [-0.0, 0.0, -1.0, 4_294_967_296.0, 3e9, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40],
        words: [32, 1, 1 << 31, u32::MAX, i32::MAX as u32, 0],
    };
    let (samples, answers) = on_device!(device,
    host(h) => {
        let samples = samples(SAMPLES);
        let answers = h.install(|| host::run(&samples, &inputs));
        (samples, answers)
    },
    gpu(g) => {
        let samples = samples(SAMPLES.min(g.max_elements::<u32>() / RATE_ROWS).max(1));
        let answers = kernel::run(g, &samples, &inputs)?;
        (samples, answers)
    });
    let values = VALUES.iter().zip(answers.values).map(|((key, what), bits)| Value { key, what, bits }).collect();
    Ok(ProbeReport { rates: judge(&samples, &answers.rates), values })
}

/// Mantissas by integer hashing, exponents around one.
fn samples(n: usize) -> Samples {
    let word = |i: usize, salt: u32| crate::conformance::scramble((i as u32).wrapping_mul(4).wrapping_add(salt));
    let float = |r: u32| f32::from_bits((r & 0x807f_ffff) | ((124 + ((r >> 23) & 3)) << 23));
    let x: Vec<f32> = (0..n).map(|i| float(word(i, 0))).collect();
    let y: Vec<f32> = (0..n).map(|i| float(word(i, 1))).collect();
    // 2^-14 of a number around one: the sum's own rounding is far below what the product's rounding took.
    let w = (0..n).map(|i| -(x[i] * y[i]) + float(word(i, 2)) * f32::from_bits(0x3880_0000)).collect();
    let u = (0..n).map(|i| word(i, 3)).collect();
    Samples { x, y, w, u }
}

/// Counts the samples that agree with each reading.
#[expect(clippy::disallowed_methods, reason = "a fused product and sum is one of the readings")]
fn judge(s: &Samples, rows: &[u32]) -> Vec<Rate> {
    let n = s.x.len();
    let rate = |key, what, row: usize, reading: &dyn Fn(usize) -> u32| {
        let same = |a: u32, b: u32| a == b || ((a | b) & 0x7fff_ffff) == 0;
        Rate { key, what, hits: (0..n).filter(|i| same(rows[row * n + i], reading(*i))).count(), of: n }
    };
    let two_roundings = |i: usize| (s.x[i] * s.y[i] + s.w[i]).to_bits();
    let fused = |i: usize| s.x[i].mul_add(s.y[i], s.w[i]).to_bits();
    let pinned = |i: usize| {
        let p = num::Pins::HOST;
        num::add(num::mul(s.x[i], s.y[i], p), s.w[i], p).to_bits()
    };
    let subnormal = |i: usize| {
        let (a, b) = host::subnormal_factors(s.x[i], s.y[i]);
        (a * b).to_bits()
    };
    let zero = |_: usize| 0;
    let quotient = |i: usize| num::div(s.x[i], s.y[i]).to_bits();
    let root = |i: usize| num::sqrt(s.x[i].abs()).to_bits();
    let exp = |i: usize| num::exp_cr(s.x[i]).to_bits();
    let ln = |i: usize| num::ln_cr(s.x[i].abs()).to_bits();
    let two_sum = |i: usize| host::two_sum_error(s.x[i], s.w[i]).to_bits();
    let magic = |i: usize| ((s.x[i] + 12_582_912.0) - 12_582_912.0).to_bits();
    // The product of two floats is exact in binary64, and so is what its rounding took.
    let product_error = |i: usize| {
        let exact = f64::from(s.x[i]) * f64::from(s.y[i]);
        ((exact - f64::from(s.x[i] * s.y[i])) as f32).to_bits()
    };
    let integer = |i: usize| (s.u[i] as f32).to_bits();
    let high = |i: usize| ((u64::from(s.u[i]) * u64::from(s.x[i].to_bits())) >> 32) as u32;
    vec![
        rate("plain_unfused", "plain a * b + c: two roundings", 0, &two_roundings),
        rate("plain_fused", "plain a * b + c: fused", 0, &fused),
        rate("fma_unfused", "fma(a, b, c): two roundings", 1, &two_roundings),
        rate("fma_fused", "fma(a, b, c): fused", 1, &fused),
        rate("pinned_unfused", "pinned a * b + c: two roundings", 2, &pinned),
        rate("subnormal_kept", "subnormal product kept", 3, &subnormal),
        rate("subnormal_flushed", "subnormal product flushed", 3, &zero),
        rate("div_native", "native a / b correctly rounded", 4, &quotient),
        rate("div_ours", "our a / b correctly rounded", 8, &quotient),
        rate("sqrt_native", "native square root correctly rounded", 5, &root),
        rate("sqrt_ours", "our square root correctly rounded", 9, &root),
        rate("exp_native", "native exp correctly rounded", 6, &exp),
        rate("exp_ours", "our exp correctly rounded", 10, &exp),
        rate("ln_native", "native ln correctly rounded", 7, &ln),
        rate("ln_ours", "our ln correctly rounded", 11, &ln),
        rate("two_sum_plain", "error of a sum, plain: right", 12, &two_sum),
        rate("two_sum_pinned", "error of a sum, fma(a, one, b): right", 15, &two_sum),
        rate("magic_plain", "(x + 1.5 * 2^23) - 1.5 * 2^23, plain: right", 13, &magic),
        rate("magic_pinned", "(x + 1.5 * 2^23) - 1.5 * 2^23, fma(a, one, b): right", 16, &magic),
        rate("two_product", "error of a product, plain split: right", 14, &product_error),
        rate("u32_to_f32_native", "native u32 to f32 correctly rounded", 17, &integer),
        rate("u32_to_f32_ours", "our u32 to f32 correctly rounded", 18, &integer),
        rate("mul_hi", "high word of a u32 product: right", 19, &high),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the contract needs of every device, whatever the native operations do.
    const HELD: [&str; 8] = [
        "pinned_unfused",
        "div_ours",
        "sqrt_ours",
        "exp_ours",
        "ln_ours",
        "two_sum_pinned",
        "magic_pinned",
        "u32_to_f32_ours",
    ];

    #[test]
    // pathway test: P8
    fn pinned_spellings_hold_on_every_device() {
        for device in crate::conformance::test_devices() {
            let report = probe(&device).expect("a device that is listed can be asked");
            for key in HELD {
                let rate = report.rate(key).expect("every key of the list is measured");
                assert_eq!(rate.hits, rate.of, "{} on {}", rate.what, device.name());
            }
            assert_eq!(report.values.len(), VALUES.len());
        }
    }

    #[test]
    // pathway test: P9
    fn samples_separate_the_readings() {
        let report = probe(&Device::host()).expect("the host can be asked");
        let hits = |key: &str| report.rate(key).expect("measured").hits;
        assert_eq!(hits("plain_unfused"), SAMPLES, "Rust never contracts");
        assert!(hits("plain_fused") < SAMPLES / 2, "the samples hardly tell a fused product from two roundings");
        assert_eq!(hits("fma_fused"), SAMPLES);
        assert_eq!(hits("subnormal_kept"), SAMPLES);
        assert_eq!(hits("subnormal_flushed"), 0);
        assert_eq!(hits("two_product"), SAMPLES);
        assert_eq!(hits("mul_hi"), SAMPLES);
    }

    #[test]
    fn a_wrong_answer_is_not_a_hit() {
        let s = samples(4);
        let mut rows = vec![0u32; 4 * RATE_ROWS];
        for (i, u) in s.u.iter().enumerate() {
            rows[17 * 4 + i] = (*u as f32).to_bits();
        }
        let hits =
            |rows: &[u32]| judge(&s, rows).into_iter().find(|r| r.key == "u32_to_f32_native").expect("is there").hits;
        assert_eq!(hits(&rows), 4);
        rows[17 * 4 + 2] ^= 1;
        assert_eq!(hits(&rows), 3);
    }
}
