//! Conformance cases of `quantise`.

use ml_core::canon::canon;

use super::*;
use crate::conformance::{Case, bytes, limited, scramble};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for small in [false, true] {
        for (rows, channels, shared) in
            [(0, 3, 1), (1, 1, 1), (1, 64, 64), (7, 2, 1), (257, 3, 2), (1300, 2, 1), (4097, 1, 1), (700, 17, 17)]
        {
            cases.push(case("ordinary", [rows, channels, shared], small, ordinary));
        }
        cases.push(case("wide", [600, 3, 1], small, wide));
        cases.push(case("wide, shared", [600, 3, 3], small, wide));
        cases.push(case("ties", [900, 2, 2], small, ties));
        cases.push(case("zeros", [50, 3, 1], small, |_| 0.0));
        cases.push(case("a channel of zeros", [50, 3, 1], small, |i| if i % 3 == 1 { 0.0 } else { ordinary(i) }));
        cases.push(case("uncanonical", [300, 2, 1], small, |i| f32::from_bits(scramble(i) & 0x80ff_ffff)));
        cases.push(case("greatest", [64, 1, 1], small, |_| f32::MAX));
        cases.push(case("least", [64, 2, 1], small, |i| f32::from_bits(0x0080_0001 + i % 3)));
        cases.push(case("not finite", [70, 3, 1], small, |i| if i == 100 { f32::NEG_INFINITY } else { 1.0 }));
    }
    cases.push(case("ordinary", [60_001, 3, 1], false, ordinary));
    cases
}

/// Either sign, about one, every channel of another size.
fn ordinary(i: u32) -> f32 {
    let r = scramble(i);
    f32::from_bits((r & 0x807f_ffff) | ((122 + r % 7 + i % 3) << 23))
}

/// 1e-38 to 1e38.
fn wide(i: u32) -> f32 {
    let r = scramble(i);
    canon(f32::from_bits((r & 0x807f_ffff) | ((1 + scramble(r) % 254) << 23)))
}

/// Odd multiples of half a step where the greatest value is 1: s = 29.
fn ties(i: u32) -> f32 {
    if i == 0 { 1.0 } else { ((scramble(i) % 64) as f32 * 2.0 + 1.0) * f32::from_bits((127 - 30) << 23) }
}

fn case(what: &str, [rows, channels, shared]: [usize; 3], small: bool, value: impl Fn(u32) -> f32) -> Case {
    let values: Vec<f32> = (0..(rows * channels) as u32).map(value).collect();
    let v = values.clone();
    Case {
        op: "quantise",
        name: format!("{what} {rows}x{channels}, {shared} alike{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            match quantise_sharing(&device, &Buffer::upload(&device, &v)?, rows, channels, shared) {
                Ok(q) => Ok([bytes(q.shifts()), bytes(&q.read()?)].concat()),
                Err(ml_core::Error::Data(DataError::NonFinite { row, col, .. })) => Ok(bytes(&[row, col])),
                Err(e) => Err(e),
            }
        }),
        reference: Box::new(move || {
            if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                return bytes(&[at / channels, at % channels]);
            }
            let (shifts, q) = reference::quantise(&values, channels, shared);
            [bytes(&shifts), bytes(&q)].concat()
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rug::Float;

    use super::*;
    use crate::conformance::assert_reference;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    proptest! {
        /// The clause in MPFR, nothing shared with the code under test.
        #[test]
        // pathway test: P115
        fn equals_the_oracle(seed in any::<u32>(), rows in 1usize..60, channels in 1usize..5) {
            let values: Vec<f32> = (0..(rows * channels) as u32).map(|i| wide(i ^ seed)).collect();
            let device = Device::host();
            let x = Buffer::upload(&device, &values).expect("fits");
            let q = quantise(&device, &x, rows, channels).expect("finite");
            let integers = q.read().expect("reads");
            for c in 0..channels {
                let column = || values.iter().skip(c).step_by(channels);
                let exponent = column().filter(|v| **v != 0.0).map(|v| Float::with_val(24, *v).get_exp()).max();
                let shift = exponent.flatten().map_or(0, |e| 30 - e);
                prop_assert_eq!(q.shifts()[c], shift);
                for (v, got) in column().zip(integers.iter().skip(c).step_by(channels)) {
                    // Rounds half to even.
                    let want = (Float::with_val(24, *v) << shift).round_even();
                    prop_assert_eq!(i64::from(*got), want.to_f64() as i64);
                    prop_assert!(got.abs() < 1 << 30);
                }
            }
        }
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let device = Device::host();
        let x = Buffer::upload(&device, &[1.0f32; 6]).expect("fits");
        assert!(quantise(&device, &x, 3, 3).is_err());
        assert!(quantise(&device, &x, 6, 0).is_err());
        assert!(quantise(&device, &x, usize::MAX, 2).is_err());
        assert!(quantise_sharing(&device, &x, 3, 2, 3).is_err());
        assert!(quantise_sharing(&device, &x, 3, 2, 0).is_err());
        let many = Buffer::upload(&device, &[1.0f32; 65]).expect("fits");
        assert!(quantise(&device, &many, 1, 65).is_err());
        assert!(quantise(&device, &x, 3, 2).is_ok());
    }
}
