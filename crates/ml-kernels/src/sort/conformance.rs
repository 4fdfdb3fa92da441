//! Conformance cases of `sort_by_key` and `argsort`.

use ml_core::canon::canon;

use super::*;
use crate::conformance::{Case, bytes, limited, scramble};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (small, lengths) in [(false, &[0, 1, 2, 255, 2048, 5003][..]), (true, &[0, 1, 1025, 2600])] {
        for &n in lengths {
            cases.push(pairs("any keys", n, small, scramble));
            cases.push(pairs("seven keys", n, small, |i| scramble(i) % 7));
        }
        cases.push(floats("whole range", 2300, small, whole_range));
        cases.push(floats("ties", 2100, small, |i| (scramble(i) % 9) as f32 - 4.0));
    }
    cases.push(pairs("one key", 3000, false, |_| 5));
    cases.push(pairs("ascending", 3000, false, |i| i));
    cases.push(pairs("descending", 3000, false, |i| u32::MAX - i));
    cases.push(pairs("high bits alone", 3000, false, |i| scramble(i) & 0xf000_0000));
    cases.push(floats("ordinary", 4097, false, |i| scramble(i) as f32 - 2e9));
    for n in [0, 1] {
        cases.push(floats("short", n, false, |_| 1.0));
    }
    // More tiles than a device scans in one step.
    cases.push(floats("long", 2_100_001, false, |i| scramble(i) as f32 - 2e9));
    // Several blocks for threads of the host, several tiles for a device.
    cases.push(pairs("any keys", 70_001, false, scramble));
    cases.push(pairs("close keys", 70_001, false, |i| 0x3f80_0000 + scramble(i) % 1000));
    cases
}

/// Every exponent, subnormals, both zeros, infinities and NaNs of both signs.
fn whole_range(i: u32) -> f32 {
    let r = scramble(i);
    match i % 16 {
        0 => f32::from_bits(r & 0x8000_0000),
        1 => f32::from_bits(r & 0x807f_ffff),
        2 => f32::from_bits(0x7f80_0000 | (r & 0x8000_0000)),
        3 => f32::from_bits(0x7fc0_0000 | (r & 0x8000_0001)),
        _ => canon(f32::from_bits(r)),
    }
}

fn name(what: &str, n: usize, small: bool) -> String {
    format!("{what} {n}{}", if small { " limited" } else { "" })
}

fn pairs(what: &str, n: usize, small: bool, key: impl Fn(u32) -> u32) -> Case {
    let keys: Vec<u32> = (0..n as u32).map(key).collect();
    let values: Vec<u32> = (0..n as u32).map(|i| scramble(i ^ 0x5555)).collect();
    let (k, v) = (keys.clone(), values.clone());
    Case {
        op: "sort_by_key",
        name: name(what, n, small),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (k, v) = (Buffer::upload(&device, &k)?, Buffer::upload(&device, &v)?);
            let (k, v) = sort_by_key(&device, &k, &v)?;
            Ok([bytes(&k.read()?), bytes(&v.read()?)].concat())
        }),
        reference: Box::new(move || {
            let (k, v) = reference::sort(&keys, &values);
            [bytes(&k), bytes(&v)].concat()
        }),
    }
}

fn floats(what: &str, n: usize, small: bool, value: fn(u32) -> f32) -> Case {
    // Made anew for each run: one case is too long to be kept.
    let x = move || (0..n as u32).map(value).collect::<Vec<f32>>();
    Case {
        op: "argsort",
        name: name(what, n, small),
        run: Box::new(move |device| {
            let device = limited(device, small);
            Ok(bytes(&argsort(&device, &Buffer::upload(&device, &x())?)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::argsort(&x()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "sabotage")]
    #[test]
    // pathway test: P55
    fn the_arm_reverses_ties() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for small in [false, true] {
                for case in [pairs("one key", 3000, small, |_| 5), floats("ties", 2500, small, |i| (i % 9) as f32)] {
                    let outcome = case.check(&device.sabotaged(Arm::UnstableSort));
                    assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {} {}: inert", case.op, case.name);
                    let outcome = case.check(&device.sabotaged(Arm::TiesLast));
                    assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
                }
                // All values are equal to their positions, so that the whole order can be told.
                let device = limited(&device.sabotaged(Arm::UnstableSort), small);
                let zeros = Buffer::upload(&device, &vec![0.0f32; 2500]).expect("uploads");
                let order = argsort(&device, &zeros).expect("sorts").read().expect("reads");
                assert!(order.iter().rev().enumerate().all(|(i, &v)| v as usize == i), "{device:?}");
            }
        }
    }

    #[test]
    fn lengths_must_match() {
        let device = Device::host();
        let upload = |n: u32| Buffer::upload(&device, &(0..n).collect::<Vec<_>>()).expect("the host uploads");
        assert!(sort_by_key(&device, &upload(3), &upload(4)).is_err());
    }
}
