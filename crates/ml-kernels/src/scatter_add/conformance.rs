//! Conformance cases of `scatter_add`.

use ml_core::Error;
use ml_core::canon::canon;

use super::*;
use crate::conformance::{Case, bytes, limited, scramble};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let any = |n_groups: usize| move |r: u32| scramble(r ^ 0xabcd) % n_groups as u32;
    for small in [false, true] {
        for (rows, cols, groups) in
            [(1, 1, 1), (7, 3, 2), (513, 1, 10), (700, 17, 5), (1500, 5, 1300), (33, 301, 9), (40, 1100, 3)]
        {
            cases.push(case("ordinary", [rows, cols, groups], small, ordinary, any(groups)));
            cases.push(case("wide", [rows, cols, groups], small, wide, any(groups)));
        }
        cases.push(case("tiny", [600, 4, 3], small, |i| ordinary(i) * 1e-36, any(3)));
        cases.push(case("huge", [600, 4, 3], small, |i| ordinary(i) * 1e37, any(3)));
        cases.push(case("greatest", [64, 1, 1], small, |_| f32::MAX, any(1)));
        cases.push(case("ties", [900, 2, 2], small, |i| if i == 0 { 1.0 } else { ties(i) }, any(2)));
        cases.push(case("zeros", [100, 3, 4], small, |_| 0.0, any(4)));
        cases.push(case("uncanonical", [300, 3, 4], small, |i| f32::from_bits(scramble(i) & 0x80ff_ffff), any(4)));
        cases.push(case("empty groups", [50, 2, 40], small, ordinary, |r| 39 * (r % 2)));
        cases.push(case("cancelling", [1000, 1, 2], small, |i| if i % 2 == 0 { 3.5 } else { -3.5 }, |r| (r / 2) % 2));
        cases.push(case("no rows", [0, 3, 4], small, ordinary, any(4)));
        cases.push(case("no columns", [5, 0, 4], small, ordinary, any(4)));
        cases.push(case("no groups", [0, 3, 0], small, ordinary, |_| 0));
        cases.push(case("bad group", [3000, 1, 8], small, ordinary, |r| if r >= 1999 { 8 + r } else { r % 8 }));
        cases.push(case("not finite", [70, 30, 8], small, |i| if i > 1500 { f32::NAN } else { 1.0 }, any(8)));
    }
    cases.push(case("ordinary", [30_000, 3, 64], false, ordinary, any(64)));
    cases.push(case("ordinary", [30_000, 3, 20_000], false, ordinary, any(20_000)));
    cases
}

/// Either sign, about one.
fn ordinary(i: u32) -> f32 {
    let r = scramble(i);
    f32::from_bits((r & 0x807f_ffff) | ((122 + r % 7) << 23))
}

/// 1e-18 to 1e18.
fn wide(i: u32) -> f32 {
    let r = scramble(i);
    canon(f32::from_bits((r & 0x807f_ffff) | ((67 + scramble(r) % 120) << 23)))
}

/// Odd multiples of half the resolution for 513 to 1,024 rows and a maximum of 1: s = 51.
fn ties(i: u32) -> f32 {
    let odd = (scramble(i) % 64) as f32 * 2.0 + 1.0;
    odd * f32::from_bits((127 - 52) << 23)
}

fn case(
    what: &str,
    [rows, cols, n_groups]: [usize; 3],
    small: bool,
    value: impl Fn(u32) -> f32,
    group: impl Fn(u32) -> u32,
) -> Case {
    let values: Vec<f32> = (0..(rows * cols) as u32).map(value).collect();
    let indices: Vec<u32> = (0..rows as u32).map(group).collect();
    let (v, i) = (values.clone(), indices.clone());
    Case {
        op: "scatter_add",
        name: format!("{what} {rows}x{cols} into {n_groups}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (v, i) = (Buffer::upload(&device, &v)?, Buffer::upload(&device, &i)?);
            match scatter_add(&device, &v, &i, rows, cols, n_groups) {
                Ok(sums) => Ok(bytes(&sums.read()?)),
                Err(Error::Data(DataError::Index { position, index, .. })) => Ok(bytes(&[position as u64, index])),
                Err(Error::Data(DataError::NonFinite { row, col, .. })) => Ok(bytes(&[row as u64, col as u64])),
                Err(e) => Err(e),
            }
        }),
        reference: Box::new(move || {
            if let Some(row) = indices.iter().position(|g| *g as usize >= n_groups) {
                return bytes(&[row as u64, u64::from(indices[row])]);
            }
            if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                return bytes(&[(at / cols) as u64, (at % cols) as u64]);
            }
            bytes(&reference::sum(&values, &indices, Shape { rows, cols, n_groups, cells: n_groups * cols }))
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rug::Float;

    use super::*;

    /// `x * 2^shift` rounded half to even.
    fn round_shifted(x: f32, shift: i32) -> i128 {
        let (field, fraction) = ((x.to_bits() >> 23 & 255) as i32, i128::from(x.to_bits() & 0x007f_ffff));
        let m = if field == 0 { 0 } else { fraction + 0x0080_0000 };
        let e = field - 150 + shift;
        let q = if e >= 0 {
            m << e
        } else {
            let (unit, e) = (1i128 << (-e).min(60), (-e).min(60));
            let (whole, rest) = (m >> e, m % unit);
            let up = 2 * rest > unit || (2 * rest == unit && whole % 2 == 1);
            whole + i128::from(up)
        };
        if x < 0.0 { -q } else { q }
    }

    /// The clause in integers of 128 bits and MPFR, nothing shared with the code under test.
    fn oracle(values: &[f32], indices: &[u32], cols: usize, n_groups: usize) -> Vec<u32> {
        let rows = indices.len();
        let exponent = values.iter().filter(|v| canon(**v) != 0.0).map(|v| Float::with_val(24, *v).get_exp()).max();
        let row_bits = (0..).find(|b| 1usize << b >= rows).unwrap_or(0);
        let shift = 62 - exponent.flatten().unwrap_or(0) - row_bits;
        let mut sums = vec![0i128; n_groups * cols];
        for (i, v) in values.iter().enumerate() {
            let q = round_shifted(canon(*v), shift);
            assert!(q.abs() * rows as i128 <= 1 << 62);
            sums[indices[i / cols] as usize * cols + i % cols] += q;
        }
        let float = |s: i128| canon((Float::with_val(24, s) >> shift).to_f32()).to_bits();
        sums.into_iter().map(float).collect()
    }

    fn run(values: &[f32], indices: &[u32], cols: usize, n_groups: usize) -> Vec<u32> {
        let device = Device::host();
        let v = Buffer::upload(&device, values).expect("the host uploads");
        let i = Buffer::upload(&device, indices).expect("the host uploads");
        let sums = scatter_add(&device, &v, &i, indices.len(), cols, n_groups).expect("valid input");
        sums.read().expect("the host reads").iter().map(|s| s.to_bits()).collect()
    }

    proptest! {
        #[test]
        // pathway test: P19, P50
        fn equals_the_oracle(seed in any::<u32>(), rows in 1usize..80, cols in 1usize..9, n_groups in 1usize..6,
            low in 1u32..254, span in 1u32..254)
        {
            let value = |i: usize| {
                let r = scramble(seed ^ i as u32);
                let field = (low + scramble(r) % span).min(254);
                f32::from_bits((r & 0x807f_ffff) | (field << 23))
            };
            let values: Vec<f32> = (0..rows * cols).map(value).collect();
            let group = |r: usize| scramble(seed.wrapping_add(r as u32)) % n_groups as u32;
            let indices: Vec<u32> = (0..rows).map(group).collect();
            prop_assert_eq!(run(&values, &indices, cols, n_groups), oracle(&values, &indices, cols, n_groups));
        }
    }

    #[test]
    // pathway test: P48
    fn ties_go_to_even() {
        // Four rows: b = 2, greatest 1 = 2^0 < 2^1: s = 59. Half steps of 2^-60 round to even multiples of 2^-59.
        let half = f32::from_bits((127 - 60) << 23);
        let values = [1.0, half, 3.0 * half, 5.0 * half];
        let step = f32::from_bits((127 - 59) << 23);
        let got = run(&values, &[0, 1, 2, 3], 1, 4);
        assert_eq!(got, [1.0, 0.0, 2.0 * step, 2.0 * step].map(f32::to_bits));
    }

    #[test]
    // pathway test: P46
    fn order_of_rows_changes_nothing() {
        let values: Vec<f32> = (0..4000).map(wide).collect();
        let indices: Vec<u32> = (0..4000).map(|r| scramble(r) % 7).collect();
        let forward = run(&values, &indices, 1, 7);
        let back = |i: usize| 3999 - i;
        let v: Vec<f32> = (0..4000).map(|i| values[back(i)]).collect();
        let g: Vec<u32> = (0..4000).map(|i| indices[back(i)]).collect();
        assert_eq!(forward, run(&v, &g, 1, 7));
    }

    #[cfg(feature = "sabotage")]
    #[test]
    // pathway test: P47
    fn the_arm_moves_every_device() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for small in [false, true] {
                let case = case("arm", [700, 17, 5], small, ordinary, |r| scramble(r) % 5);
                let outcome = case.check(&device.sabotaged(Arm::FloatScatter));
                assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} inert");
                // The same numbers up to roundings.
                let broken = (case.run)(&device.sabotaged(Arm::FloatScatter)).expect("runs");
                let right = (case.reference)();
                let floats = |b: &[u8]| -> Vec<f32> { b.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect() };
                let far = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-3;
                assert!(!floats(&broken).iter().zip(&floats(&right)).any(far), "{device:?}");
                let outcome = case.check(&device.sabotaged(Arm::SerialLanes));
                assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
            }
        }
    }

    #[test]
    // pathway test: P87
    fn wrong_shapes_are_refused() {
        let device = Device::host();
        let v = Buffer::upload(&device, &[1.0f32; 6]).expect("the host uploads");
        let i = Buffer::upload(&device, &[0u32; 3]).expect("the host uploads");
        assert!(scatter_add(&device, &v, &i, 3, 3, 1).is_err());
        assert!(scatter_add(&device, &v, &i, 2, 3, 1).is_err());
        assert!(scatter_add(&device, &v, &i, 3, usize::MAX, 1).is_err());
        assert!(scatter_add(&device, &v, &i, 3, 2, usize::MAX).is_err());
        assert!(scatter_add(&device, &v, &i, 3, 2, 1).is_ok());
    }
}
