//! Conformance cases of `bin_rows`.

use std::sync::Arc;

use super::{BinRule, bin_rows, reference};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited, scramble};
use crate::num::key;

/// Every exponent, subnormals, both zeros, infinities, NaNs, small whole numbers and fractions.
pub(crate) fn any_number(i: u32) -> f32 {
    let r = scramble(i ^ 0x3c3c_0000);
    match i % 16 {
        0 => f32::from_bits(r & 0x8000_0000),
        1 => f32::from_bits(r & 0x807f_ffff),
        2 => f32::from_bits(0x7f80_0000 | (r & 0x8000_0000)),
        3 => f32::from_bits(0x7fc0_0000 | (r & 0x8000_0001)),
        4 => f32::from_bits(0x0080_0000 + (r & 0x8000_0003)),
        5..=7 => (r % 40) as f32,
        8 => (r % 90) as f32 / 2.0 - 10.0,
        9..=11 => (r % 2000) as f32 / 1000.0 - 1.0,
        12 => ((r % 4) << 29) as f32 + 1e9,
        _ => f32::from_bits(r & 0xbfff_ffff),
    }
}

/// Up to `n` strictly ascending edges, evenly out of twice as many values of `value`.
pub(crate) fn edges(n: usize, value: impl Fn(u32) -> f32) -> Arc<[f32]> {
    let mut edges: Vec<f32> = (0..).map(value).filter(|edge| !edge.is_nan()).take(2 * n).collect();
    edges.sort_by_key(|edge| key(*edge));
    edges.dedup_by_key(|edge| key(*edge));
    let least = n.min(edges.len());
    (0..least).map(|i| edges[i * edges.len() / least]).collect()
}

/// A rule for column `col`: edges of every kind, few and many, and categories.
pub(crate) fn rule(col: usize, most: usize) -> BinRule {
    let numbers = |n: usize| BinRule::Number { edges: edges(n, |i| any_number(i.wrapping_mul(7) ^ col as u32)) };
    match col % 7 {
        0 => numbers(most),
        1 => numbers(most / 2),
        2 => numbers(col % 4),
        3 => BinRule::Category { codes: (0..30).map(|c| scramble(c) % 9).collect() },
        4 => BinRule::Number { edges: [f32::NEG_INFINITY, -1e-40, 0.0, 1e-45, 1e-40, 1.0, f32::INFINITY].into() },
        5 => BinRule::Category { codes: [].into() },
        _ => BinRule::Number { edges: edges(most.min(63), |i| (scramble(i) % 2000) as f32 / 1000.0 - 1.0) },
    }
}

pub(crate) fn rules(cols: usize, most: usize) -> Vec<BinRule> {
    (0..cols).map(|col| rule(col, most)).collect()
}

fn case(rows: usize, cols: usize, most: usize, small: bool) -> Case {
    let x = move || (0..(rows * cols) as u32).map(any_number).collect::<Vec<f32>>();
    Case {
        op: "bin_rows",
        name: format!("{rows}x{cols} up to {most} edges{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let bins = bin_rows(&device, &Buffer::upload(&device, &x())?, rows, &rules(cols, most))?;
            Ok(bytes(&bins.read()?))
        }),
        reference: Box::new(move || bytes(&reference::bin_rows(&x(), &rules(cols, most)))),
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, cols, most) in [
        (0, 3, 5),
        (1, 1, 254),
        (1, 7, 254),
        (17, 1, 0),
        (33, 5, 1),
        (300, 8, 254),
        (301, 9, 255),
        (50, 3, 4000),
        (1000, 30, 100),
        (2049, 2, 127),
        (5000, 1, 128),
    ] {
        cases.push(case(rows, cols, most, false));
    }
    for (rows, cols, most) in [(1, 1, 3), (40, 30, 254), (1500, 5, 200), (700, 3, 2000), (5, 1000, 4), (0, 2, 2)] {
        cases.push(case(rows, cols, most, true));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::conformance::assert_reference;
    use crate::trees::BinRule;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    /// A split at bin b is the split `x <= edges[b - 1]`.
    #[test]
    // pathway test: P232
    fn bins_split_as_edges_do() {
        let edges = [-1.0f32, 0.0, 1e-40, 2.0, f32::INFINITY];
        let x = [f32::NEG_INFINITY, -1.0, -0.5, -0.0, 0.0, 1e-41, 1.5, 2.0, f32::MAX, f32::INFINITY, f32::NAN];
        let device = Device::host();
        let rules = [BinRule::Number { edges: edges.into() }];
        let bins = bin_rows(&device, &Buffer::upload(&device, &x).expect("fits"), x.len(), &rules).expect("fits");
        let bins = bins.read().expect("reads");
        assert_eq!(bins, [1, 1, 2, 2, 2, 2, 4, 4, 5, 5, 0]);
        for (x, bin) in x.iter().zip(&bins).filter(|(x, _)| !x.is_nan()) {
            for (b, edge) in (1..).zip(edges) {
                assert_eq!(*bin <= b, ml_core::canon::canon(*x) <= edge, "{x:e} {edge:e}");
            }
        }
    }

    #[test]
    fn categories_beyond_the_codes_have_a_bin() {
        let device = Device::host();
        let x = [0.0f32, 1.0, 2.0, 3.0, 1e9, 3e9, -1.0, 0.5, f32::NAN];
        let rules = [BinRule::Category { codes: [1, 0, 1].into() }];
        let bins = bin_rows(&device, &Buffer::upload(&device, &x).expect("fits"), x.len(), &rules).expect("fits");
        assert_eq!(bins.read().expect("reads"), [2, 1, 2, 3, 3, 3, 0, 0, 0]);
        assert_eq!(bins.n_bins(0), 4);
    }

    #[test]
    fn rules_that_cannot_be_are_refused() {
        let device = Device::host();
        let x = Buffer::upload(&device, &[1.0f32]).expect("fits");
        let refused = |rule: BinRule| bin_rows(&device, &x, 1, &[rule]).expect_err("refused").to_string();
        let numbers = |edges: &[f32]| BinRule::Number { edges: edges.into() };
        assert_eq!(refused(numbers(&[1.0, f32::NAN])), "parameter `edges` must be numbers, got NaN");
        assert_eq!(refused(numbers(&[2.0, 1.0])), "parameter `edges` must be strictly ascending, got 2e0 before 1e0");
        assert_eq!(refused(numbers(&[-0.0, 0.0])), "parameter `edges` must be strictly ascending, got -0e0 before 0e0");
        let many: Vec<f32> = (0..65_535).map(|i| i as f32).collect();
        assert_eq!(refused(numbers(&many)), "parameter `edges` must be <= 65534 numbers, got 65535");
        let codes = BinRule::Category { codes: [65_534].into() };
        assert_eq!(refused(codes), "parameter `codes` must be <= 65533, got 65534");
        let err = bin_rows(&device, &x, 2, &[numbers(&[])]).expect_err("refused").to_string();
        assert_eq!(err, "`x` must be 2 elements, got 1");
    }

    #[cfg(feature = "sabotage")]
    #[test]
    fn kept_subnormals_show() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            let device = device.sabotaged(Arm::KeepSubnormals);
            assert!(matches!(case(300, 8, 254, false).check(&device), Outcome::Differs { .. }), "{device:?}");
        }
    }
}
