//! Conformance cases of the reductions, and the inputs that they share.

use super::Along;
use crate::conformance::{Case, scramble};

/// What the inputs are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Magnitudes within a few powers of two around 1, both signs.
    Plain,
    /// Magnitudes from 1/16 to 1, both signs.
    Near,
    /// Magnitudes of a few times 2^-126, both signs: many sums are subnormal.
    Tiny,
    /// Magnitudes from 1e-18 to 1e18, both signs.
    Wide,
    /// Magnitudes from 2^-68 to 2^-58, both signs: squares lie around 2^-126.
    Squares,
    /// Magnitudes from 2^-40 to 2^40, both signs: squares are neither lost nor infinite.
    Middle,
    /// Few different values.
    Ties,
    /// Any bits at all: NaNs, infinities, both zeros, subnormals.
    Raw,
    /// Zeros of both signs.
    Zeros,
    /// NaNs of all kinds.
    Nans,
    /// The least elements all lie in some of the stripes of elements that units of a kernel take.
    Striped,
}

/// `n` fixed floats.
pub(crate) fn floats(n: usize, seed: u32, data: Data) -> Vec<f32> {
    let exponents = match data {
        Data::Plain => (122, 10),
        Data::Near => (123, 4),
        Data::Tiny => (1, 4),
        Data::Wide => (67, 120),
        Data::Squares => (59, 11),
        Data::Middle => (87, 81),
        _ => (127, 1),
    };
    (0..n as u32)
        .map(|i| {
            let r = scramble(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i));
            let s = scramble(r ^ 0x5bd1_e995);
            match data {
                Data::Ties => [0.0, 1.0, -1.0, 2.5][(r >> 7) as usize % 4],
                Data::Zeros => f32::from_bits(r & 0x8000_0000),
                Data::Nans => f32::from_bits(r | 0x7fc0_0000),
                Data::Raw => f32::from_bits(match s % 8 {
                    0 => r | 0x7f80_0000,
                    1 => (r & 0x8000_0000) | 0x7f80_0000,
                    2 => r & 0x8000_0000,
                    3 => r & 0x807f_ffff,
                    _ => r,
                }),
                Data::Striped if i % 32 < 23 => -(2.0 + (r >> 16) as f32),
                Data::Striped => 2.0 + (r >> 16) as f32,
                _ => ml_core::canon::canon(f32::from_bits((r & 0x807f_ffff) | ((exponents.0 + s % exponents.1) << 23))),
            }
        })
        .collect()
}

/// The rows of a matrix, or its columns.
pub(super) fn lists(x: &[f32], rows: usize, cols: usize, along: Along) -> Vec<Vec<f32>> {
    match along {
        Along::Rows => (0..rows).map(|r| x[r * cols..(r + 1) * cols].to_vec()).collect(),
        Along::Columns => (0..cols).map(|c| (0..rows).map(|r| x[r * cols + c]).collect()).collect(),
    }
}

/// The name of a case.
pub(crate) fn name(what: &str, shape: &[usize], data: Data, limited: bool) -> String {
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let limits = if limited { " limited" } else { "" };
    format!("{what} {} {}{limits}", shape.join("x"), format!("{data:?}").to_lowercase())
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = super::sums::conformance::cases();
    cases.extend(super::moments::conformance::cases());
    cases.extend(super::extremes::conformance::cases());
    cases.extend(super::logsumexp::conformance::cases());
    cases.extend(super::segments::conformance::cases());
    cases.extend(super::select::conformance::cases());
    cases
}
