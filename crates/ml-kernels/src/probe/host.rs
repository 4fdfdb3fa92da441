//! The same questions, put to Rust on the host.
//!
//! Mathematical functions here are the platform's own: how far they are from correct rounding is the question.

use super::{Answers, RATE_ROWS, Samples, VALUES, ValueInputs};
use crate::num::{self, Pins};

#[expect(clippy::disallowed_methods, reason = "what the platform's fused product, exp and ln give is what is asked")]
pub(super) fn run(samples: &Samples, inputs: &ValueInputs) -> Answers {
    let n = samples.x.len();
    let p = Pins::HOST;
    let big = 12_582_912.0f32;
    let mut rates = vec![0u32; n * RATE_ROWS];
    for i in 0..n {
        let (x, y, w, u) = (samples.x[i], samples.y[i], samples.w[i], samples.u[i]);
        let size = x.abs();
        let (t, s) = subnormal_factors(x, y);
        let two_sum = two_sum_error(x, w);
        let magic = (x + big) - big;
        let (x_high, y_high) = (upper_half(x), upper_half(y));
        let (x_low, y_low) = (x - x_high, y - y_high);
        let row = [
            (x * y + w).to_bits(),
            x.mul_add(y, w).to_bits(),
            num::add(num::mul(x, y, p), w, p).to_bits(),
            (t * s).to_bits(),
            (x / y).to_bits(),
            size.sqrt().to_bits(),
            x.exp().to_bits(),
            size.ln().to_bits(),
            num::div(x, y).to_bits(),
            num::sqrt(size).to_bits(),
            num::exp_cr(x).to_bits(),
            num::ln_cr(size).to_bits(),
            two_sum.to_bits(),
            magic.to_bits(),
            (x_low * y_low + (x_low * y_high + (x_high * y_low + (x_high * y_high - x * y)))).to_bits(),
            two_sum.to_bits(),
            magic.to_bits(),
            (u as f32).to_bits(),
            num::u32_to_f32(u).to_bits(),
            num::mul_hi(u, x.to_bits()),
        ];
        for (k, word) in row.into_iter().enumerate() {
            rates[k * n + i] = word;
        }
    }
    Answers { rates, values: values(inputs) }
}

/// Rust's answers; none where it has no operation of that kind, only checked and masked ones.
fn values(inputs: &ValueInputs) -> Vec<Option<u32>> {
    let f = &inputs.floats;
    let w = &inputs.words;
    let (negative_zero, zero, nan, tiny) = (f[0], f[1], f[7], f[8]);
    let mut out = vec![
        Some(negative_zero.min(zero).to_bits()),
        Some(zero.min(negative_zero).to_bits()),
        Some(negative_zero.max(zero).to_bits()),
        Some(zero.max(negative_zero).to_bits()),
    ];
    out.extend([None; 6]);
    out.push(Some(w[5].leading_zeros()));
    out.extend(f[2..8].iter().map(|x| Some(*x as u32)));
    out.extend(f[2..8].iter().map(|x| Some(*x as i32 as u32)));
    #[expect(clippy::eq_op, reason = "whether a NaN equals itself is what is asked")]
    out.extend([nan == nan, nan > zero, tiny > zero, tiny == zero].map(|yes| Some(u32::from(yes))));
    debug_assert_eq!(out.len(), VALUES.len());
    out
}

/// Factors of exponents 2^-96 and 2^-32 with the mantissas of `x` and `y`: their product is below 2^-126.
pub(super) fn subnormal_factors(x: f32, y: f32) -> (f32, f32) {
    let part = |v: f32, exponent: u32| f32::from_bits((v.to_bits() & 0x807f_ffff) | exponent);
    (part(x, 0x0f80_0000), part(y, 0x2f80_0000))
}

/// What rounding took from `x + w`, exactly.
pub(super) fn two_sum_error(x: f32, w: f32) -> f32 {
    let sum = x + w;
    let part = sum - x;
    (x - (sum - part)) + (w - part)
}

/// `x` to its upper 12 bits.
fn upper_half(x: f32) -> f32 {
    let c = 4097.0 * x;
    c - (c - x)
}
