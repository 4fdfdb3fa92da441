//! Conformance cases of `histogram`.

use ml_core::Error;

use super::*;
use crate::conformance::{Case, bytes, limited, scramble};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for small in [false, true] {
        for n_bins in [1, 2, 255, 256, 1025, 4097, 9001] {
            cases.push(case("scattered", 7001, n_bins, small, move |i| scramble(i) % n_bins as u32));
        }
        cases.push(case("one bin", 5000, 300, small, |_| 299));
        cases.push(case("no entries", 0, 7, small, |i| i));
        cases.push(case("nothing", 0, 0, small, |i| i));
        cases.push(case("one", 1, 1, small, |_| 0));
        cases.push(case("first out of bounds", 3000, 50, small, |i| if i >= 2077 { 50 + i } else { i % 50 }));
        cases.push(case("last out of bounds", 3001, 5000, small, |i| if i == 3000 { u32::MAX } else { i }));
        cases.push(case("no bins", 10, 0, small, |i| i));
    }
    cases.push(case("scattered", 200_003, 64, false, |i| scramble(i) % 64));
    cases.push(case("scattered", 200_003, 100_000, false, |i| scramble(i) % 100_000));
    cases.push(case("late out of bounds", 200_003, 64, false, |i| if i % 70_000 == 69_999 { 64 } else { i % 64 }));
    cases
}

fn case(what: &str, n: usize, n_bins: usize, small: bool, bin: impl Fn(u32) -> u32) -> Case {
    let bins: Vec<u32> = (0..n as u32).map(bin).collect();
    let b = bins.clone();
    Case {
        op: "histogram",
        name: format!("{what} {n} in {n_bins}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            match histogram(&device, &Buffer::upload(&device, &b)?, n_bins) {
                Ok(counts) => Ok(bytes(&counts.read()?)),
                Err(Error::Data(DataError::Index { position, index, .. })) => Ok(bytes(&[position as u64, index])),
                Err(e) => Err(e),
            }
        }),
        reference: Box::new(move || match reference::count(&bins, n_bins) {
            Ok(counts) => bytes(&counts),
            Err(position) => bytes(&[position as u64, u64::from(bins[position])]),
        }),
    }
}
