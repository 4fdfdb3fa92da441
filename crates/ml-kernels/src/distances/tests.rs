//! Tests of distances beyond their conformance cases.

use super::conformance::cases;
use super::*;
use crate::conformance::{Outcome, test_devices};
use crate::contraction::testing::Data;

/// The cases that do not give the reference's bytes on `device`.
fn failures(device: &Device) -> Vec<String> {
    let check = |case: &crate::conformance::Case| match case.check(device) {
        Outcome::Equal => None,
        other => Some(format!("{device:?} {}: {other:?}", case.name)),
    };
    cases().iter().filter_map(check).collect()
}

#[test]
fn conformance_on_every_device() {
    for device in test_devices() {
        assert_eq!(failures(&device), Vec::<String>::new());
    }
}

#[test]
// pathway test: P70
fn threads_change_nothing() {
    for threads in [1, 2, 7, 64] {
        let device = Device::host_with_threads(threads).expect("threads start");
        assert_eq!(failures(&device), Vec::<String>::new());
    }
}

#[test]
fn parameters_out_of_bound_are_refused() {
    let host = Device::host();
    let x = Buffer::upload(&host, &[1.0; 6]).expect("fits");
    let none = Buffer::upload(&host, &[]).expect("fits");
    let err = k_nearest(&host, &x, &x, 3, 3, 2, 4).expect_err("only three rows");
    assert_eq!(err.to_string(), "parameter `k` must be within 1..=3, got 4");
    assert!(k_nearest(&host, &x, &x, 3, 3, 2, 0).is_err());
    let err = nearest(&host, &x, &none, 3, 0, 2).expect_err("no rows to be near to");
    assert_eq!(err.to_string(), "`y` is empty (0 rows, 2 columns)");
    assert!(squared_distances(&host, &x, &x, 3, 2, 2).is_err());
}

/// A row's list does not depend on the rows beside it, nor on which of them are searched together.
#[test]
// pathway test: P36
fn a_row_alone_is_the_row_in_a_batch() {
    let (n, m, d, k) = (90, 300, 40, 4);
    let (x, y) = (Data::Ties.values(n * d, 5), Data::Ties.values(m * d, 6));
    for device in test_devices() {
        let up = |x: &[f32]| Buffer::upload(&device, x).expect("fits");
        let (index, distance) = k_nearest(&device, &up(&x), &up(&y), n, m, d, k).expect("runs");
        let (index, distance) = (index.read().expect("reads"), distance.read().expect("reads"));
        for row in [0, 41, n - 1] {
            let one = up(&x[row * d..(row + 1) * d]);
            let (i, v) = k_nearest(&device, &one, &up(&y), 1, m, d, k).expect("runs");
            assert_eq!(i.read().expect("reads"), index[row * k..(row + 1) * k], "{device:?} row {row}");
            assert_eq!(v.read().expect("reads"), distance[row * k..(row + 1) * k], "{device:?} row {row}");
        }
    }
}

#[cfg(feature = "sabotage")]
#[test]
// pathway test: P41, P54
fn arms_show() {
    use super::conformance::{Ask, Fixture};
    use crate::sabotage::Arm;
    let moved = |device: &Device, arm, ask, data| {
        let fixture = Fixture { ask, data, dims: [70, 130, 33] };
        fixture.run(&device.sabotaged(arm)).expect("runs") != fixture.reference()
    };
    for device in test_devices() {
        assert!(moved(&device, Arm::TiesLast, Ask::KNearest(3), Data::Ties), "{device:?}");
        assert!(moved(&device, Arm::TiesLast, Ask::Nearest, Data::Ties), "{device:?}");
        assert!(moved(&device, Arm::DescendingLeaf, Ask::All, Data::Ordinary), "{device:?}");
        assert!(!moved(&device, Arm::GuardOff, Ask::All, Data::Ordinary), "{device:?}");
    }
    for arm in [Arm::GuardOff, Arm::KeepSubnormals] {
        assert!(moved(&Device::host(), arm, Ask::All, Data::Subnormal), "{arm:?}");
    }
    assert!(moved(&Device::host(), Arm::FuseProducts, Ask::All, Data::Ordinary));
}
