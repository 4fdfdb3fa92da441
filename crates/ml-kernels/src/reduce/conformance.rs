//! Conformance cases of the reductions, and the inputs that they share.

use crate::conformance::{Case, scramble};

/// What the inputs are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// Magnitudes within a few powers of two around 1, both signs.
    Plain,
    /// Magnitudes of a few times 2^-126, both signs: many sums are subnormal.
    Tiny,
    /// Magnitudes from 1e-18 to 1e18, both signs.
    Wide,
    /// Few different values.
    Ties,
    /// Any bits at all: NaNs, infinities, both zeros, subnormals.
    Raw,
    /// The least elements all lie in some of the stripes of elements that units of a kernel take.
    Striped,
}

/// `n` fixed floats.
pub(super) fn floats(n: usize, seed: u32, data: Data) -> Vec<f32> {
    let exponents = match data {
        Data::Plain => (122, 10),
        Data::Tiny => (1, 4),
        Data::Wide => (67, 120),
        Data::Ties | Data::Raw | Data::Striped => (127, 1),
    };
    (0..n as u32)
        .map(|i| {
            let r = scramble(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i));
            let s = scramble(r ^ 0x5bd1_e995);
            match data {
                Data::Ties => [0.0, 1.0, -1.0, 2.5][(r >> 7) as usize % 4],
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

/// The name of a case.
pub(super) fn name(what: &str, shape: &[usize], data: Data, limited: bool) -> String {
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let limits = if limited { " limited" } else { "" };
    format!("{what} {} {}{limits}", shape.join("x"), format!("{data:?}").to_lowercase())
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = super::sums::conformance::cases();
    cases.extend(super::select::conformance::cases());
    cases
}
