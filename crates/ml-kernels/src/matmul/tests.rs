//! Tests of `matmul` beyond its conformance cases.

#[cfg(feature = "sabotage")]
use super::conformance::Fixture;
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
// pathway test: P34
fn conformance_on_every_device() {
    for device in test_devices() {
        assert_eq!(failures(&device), Vec::<String>::new());
    }
}

#[test]
fn threads_change_nothing() {
    for threads in [1, 2, 7, 64] {
        let device = Device::host_with_threads(threads).expect("threads start");
        assert_eq!(failures(&device), Vec::<String>::new());
    }
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|v| v.to_bits()).collect()
}

/// A row alone, a row in a batch and a transposed product have the same bits, whatever kernel their shapes choose.
#[test]
// pathway test: P35
fn a_row_alone_is_the_row_in_a_batch() {
    for data in [Data::Ordinary, Data::Subnormal] {
        let (m, n, k) = (150, 130, 1100);
        let (a, b) = (data.values(m * k, 5), data.values(n * k, 6));
        for device in test_devices() {
            let up = |x: &[f32]| Buffer::upload(&device, x).expect("fits");
            let all = matmul(&device, Layout::NT, &up(&a), &up(&b), m, n, k).expect("runs").read().expect("reads");
            let swapped = matmul(&device, Layout::NT, &up(&b), &up(&a), n, m, k).expect("runs").read().expect("reads");
            for row in [0, 7, m - 1] {
                let one = up(&a[row * k..(row + 1) * k]);
                let alone = matmul(&device, Layout::NT, &one, &up(&b), 1, n, k).expect("runs").read().expect("reads");
                assert_eq!(bits(&alone), bits(&all[row * n..(row + 1) * n]), "{device:?} {data:?} row {row}");
                let column: Vec<f32> = (0..n).map(|col| swapped[col * m + row]).collect();
                assert_eq!(bits(&column), bits(&alone), "{device:?} {data:?} column {row}");
            }
        }
    }
}

#[test]
fn wrong_shapes_are_refused() {
    let host = Device::host();
    let x = Buffer::upload(&host, &[1.0; 6]).expect("fits");
    let err = |m, n, k| matmul(&host, Layout::NN, &x, &x, m, n, k).expect_err("refused").to_string();
    assert_eq!(err(2, 3, 2), "`a` must be 4 elements, got 6");
    assert_eq!(err(2, 3, 3), "`b` must be 9 elements, got 6");
    assert!(err(usize::MAX, 3, 2).starts_with("`a` needs 36893488147419103230 elements"));
    assert!(matmul(&host, Layout::NN, &x, &x, 2, 2, 3).is_ok());
}

/// Clause `flush`: on these fixtures the loops differ, so a guard that never fires could not pass.
#[cfg(feature = "sabotage")]
mod arms {
    use super::*;
    use crate::sabotage::Arm;

    /// Every shape of kernel: a square, cells, a split over leaves.
    const DIMS: [[usize; 4]; 3] = [[1, 70, 66, 40], [1, 3, 5, 300], [1, 66, 65, 2100]];

    fn moved(device: &Device, arm: Arm, data: Data) -> Vec<bool> {
        let run = |dims| {
            let fixture = Fixture { layout: Layout::NT, data, dims };
            let got = fixture.run(&device.sabotaged(arm)).expect("runs");
            bits(&got) != bits(&fixture.reference())
        };
        DIMS.into_iter().map(run).collect()
    }

    #[test]
    fn the_guard_fires_where_it_must_and_only_there() {
        for device in test_devices() {
            assert_eq!(moved(&device, Arm::GuardOff, Data::Ordinary), [false; 3], "{device:?}");
            // A device whose hardware flushes subnormals hides most of a missing canon.
            if keeps_subnormals(&device) {
                assert_eq!(moved(&device, Arm::GuardOff, Data::Subnormal), [true; 3], "{device:?}");
                assert_eq!(moved(&device, Arm::KeepSubnormals, Data::Subnormal), [true; 3], "{device:?}");
            }
        }
        assert!(keeps_subnormals(&Device::host()));
    }

    #[test]
    // pathway test: P33
    fn a_descending_leaf_shows() {
        for device in test_devices() {
            assert_eq!(moved(&device, Arm::DescendingLeaf, Data::Ordinary), [true; 3], "{device:?}");
            assert_eq!(moved(&device, Arm::DescendingLeaf, Data::Ties), [false; 3], "{device:?}: integers are exact");
        }
    }

    #[test]
    // pathway test: P12
    fn fused_products_show_on_the_host() {
        assert_eq!(moved(&Device::host(), Arm::FuseProducts, Data::Ordinary), [true; 3]);
        assert_eq!(moved(&Device::host(), Arm::FuseProducts, Data::Ties), [false; 3]);
    }

    /// Whether a product that is subnormal comes out of the device as it is.
    fn keeps_subnormals(device: &Device) -> bool {
        let x = Buffer::upload(&device.sabotaged(Arm::KeepSubnormals), &[1.5e-20f32]).expect("fits");
        let sabotaged = device.sabotaged(Arm::KeepSubnormals);
        matmul(&sabotaged, Layout::NN, &x, &x, 1, 1, 1).expect("runs").read().expect("reads")[0] != 0.0
    }
}
