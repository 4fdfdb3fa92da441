//! Every primitive gives its reference's bytes: on the devices of `ISOBIT_DEVICES`, and on the host with 1, 2, 7 and 64
//! threads. Clause `plans`: the cases hold limits and shapes that split work in every way the waist knows.

use ml_kernels::Device;
use ml_kernels::conformance::{Outcome, cases, compare, test_devices};

/// `cargo xtask validate` runs the same comparison as a step of its own and leaves this test out by name.
#[test]
// pathway test: P56, P59, P65, P69, P86, P88, P100
fn every_device_gives_the_bytes_of_the_reference() {
    let mut devices = test_devices();
    for threads in [1, 2, 7, 64] {
        devices.push(Device::host_with_threads(threads).expect("the system gives the threads"));
    }
    let cases = cases();
    assert!(!cases.is_empty());
    let mut unequal = Vec::new();
    for case in &cases {
        let want = (case.reference)();
        for device in &devices {
            let outcome = match (case.run)(device) {
                Ok(got) => compare(&got, &want),
                Err(e) => Outcome::Failed(e),
            };
            if !matches!(outcome, Outcome::Equal) {
                unequal.push(format!("{} {} on {}: {outcome:?}", case.op, case.name, device.name()));
            }
        }
    }
    let comparisons = cases.len() * devices.len();
    assert!(unequal.is_empty(), "{} of {comparisons} comparisons:\n{}", unequal.len(), unequal.join("\n"));
}

/// The suite can see each clause: a device that breaks one differs from the reference somewhere.
#[cfg(feature = "sabotage")]
#[test]
fn every_sabotaged_device_is_noticed() {
    let cases = cases();
    let mut unseen: Vec<_> = ml_kernels::sabotage::Arm::ALL.to_vec();
    for case in &cases {
        let want = (case.reference)();
        unseen.retain(|arm| match (case.run)(&Device::host().sabotaged(*arm)) {
            Ok(got) => matches!(compare(&got, &want), Outcome::Equal),
            Err(_) => true,
        });
    }
    assert!(unseen.is_empty(), "no case of the suite sees {unseen:?}");
}
