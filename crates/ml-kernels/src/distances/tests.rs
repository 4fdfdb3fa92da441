//! Tests of distances beyond their conformance cases.

use super::conformance::cases;
use super::*;
use crate::conformance::{Outcome, test_devices};

#[test]
fn conformance_on_every_device() {
    for device in test_devices() {
        for case in cases() {
            let outcome = case.check(&device);
            assert!(matches!(outcome, Outcome::Equal), "{device:?} {}: {outcome:?}", case.name);
        }
    }
}

#[test]
fn threads_change_nothing() {
    for threads in [1, 2, 7, 64] {
        let device = Device::host_with_threads(threads).expect("threads start");
        for case in cases() {
            let outcome = case.check(&device);
            assert!(matches!(outcome, Outcome::Equal), "{threads} threads {}: {outcome:?}", case.name);
        }
    }
}
