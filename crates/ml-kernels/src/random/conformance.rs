//! Conformance cases of `random_u32`, `random_uniform` and `permutation`.

use super::*;
use crate::conformance::{Case, bytes, limited};

const SEED: u64 = 0x0123_4567_89ab_cdef;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for small in [false, true] {
        for n in [0, 1, 3, 4, 5, 1023, 4096, 5003] {
            for op in ["random_u32", "random_uniform"] {
                cases.push(case(op, n, SEED.wrapping_add(n as u64), 3, small));
            }
        }
        for n in [0, 1, 2, 2049] {
            cases.push(case("permutation", n, SEED.wrapping_add(n as u64), 3, small));
        }
    }
    cases.push(case("random_u32", 9, u64::MAX, u32::MAX, false));
    cases.push(case("random_u32", 9, 0, 0, false));
    cases.push(case("random_u32", 100_003, SEED, 1, false));
    cases.push(case("permutation", 20_011, SEED, 1, false));
    cases
}

fn case(op: &'static str, n: usize, seed: u64, stream: u32, small: bool) -> Case {
    Case {
        op,
        name: format!("{n} seed {seed:x} stream {stream}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            Ok(match op {
                "random_u32" => bytes(&random_u32(&device, n, seed, stream)?.read()?),
                "random_uniform" => bytes(&random_uniform(&device, n, seed, stream)?.read()?),
                _ => bytes(&permutation(&device, n, seed, stream)?.read()?),
            })
        }),
        reference: Box::new(move || {
            let stream = Stream::new(seed, stream, Arm::None);
            match op {
                "random_u32" => bytes(&reference::words(n, stream)),
                "random_uniform" => bytes(&reference::uniform(n, stream)),
                _ => bytes(&reference::permutation(n, stream)),
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kat_vectors` of Random123, row `philox4x32 10` of zeros: counter and key of element 0 of stream 0, seed 0.
    #[test]
    fn published_vector() {
        let words = random_u32(&Device::host(), 4, 0, 0).expect("the host fills").read().expect("the host reads");
        assert_eq!(words, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }

    #[test]
    fn a_permutation_holds_every_index_once() {
        let mut order = permutation(&Device::host(), 10_000, 7, 2).expect("sorts").read().expect("reads");
        assert!(order.windows(2).any(|w| w[0] > w[1]));
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(i, &v)| v as usize == i));
    }

    #[cfg(feature = "sabotage")]
    #[test]
    // pathway test: P64
    fn the_arm_moves_every_fill() {
        use crate::conformance::{Outcome, test_devices};
        for device in test_devices() {
            for op in ["random_u32", "random_uniform", "permutation"] {
                let case = case(op, 1000, SEED, 3, false);
                let outcome = case.check(&device.sabotaged(Arm::SevenRounds));
                assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {op}: inert");
                let outcome = case.check(&device.sabotaged(Arm::FloatScatter));
                assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
            }
        }
    }

    #[test]
    fn uniform_stays_below_one() {
        let u = random_uniform(&Device::host(), 100_000, 1, 1).expect("fills").read().expect("reads");
        assert!(u.iter().all(|v| (0.0..1.0).contains(v)));
        let mean = u.iter().map(|v| f64::from(*v)).sum::<f64>() / u.len() as f64;
        // Standard error 0.0009.
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
