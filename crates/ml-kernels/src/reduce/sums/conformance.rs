//! Conformance cases of the sums, and the tests of their arms.

use super::super::conformance::{Data, floats, name};
use super::{col_sums, reference, row_sums, sum};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited};

fn sum_case(n: usize, data: Data, small: bool) -> Case {
    let x = floats(n, 1, data);
    let y = x.clone();
    Case {
        op: "sum",
        name: name("", &[n], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            Ok(bytes(&sum(&device, &Buffer::upload(&device, &x)?)?.read()?))
        }),
        reference: Box::new(move || bytes(&[reference::sum(&y)])),
    }
}

fn rows_case(rows: usize, cols: usize, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 2, data);
    let y = x.clone();
    Case {
        op: "row_sums",
        name: name("", &[rows, cols], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            Ok(bytes(&row_sums(&device, &Buffer::upload(&device, &x)?, rows, cols)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::row_sums(&y, rows, cols))),
    }
}

fn cols_case(rows: usize, cols: usize, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 3, data);
    let y = x.clone();
    Case {
        op: "col_sums",
        name: name("", &[rows, cols], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            Ok(bytes(&col_sums(&device, &Buffer::upload(&device, &x)?, rows, cols)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::col_sums(&y, rows, cols))),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [0, 1, 2, 3, 31, 32, 33, 64, 1000, 1023, 1024, 1025, 5000, 33 * 1024 + 4, 1025 * 1024 + 3] {
        cases.push(sum_case(n, Data::Plain, false));
    }
    for data in [Data::Tiny, Data::Wide] {
        cases.push(sum_case(40, data, false));
        cases.push(sum_case(4096, data, false));
        cases.push(sum_case(70_003, data, false));
    }
    for n in [1, 1023, 1025, 5000, 8192] {
        cases.push(sum_case(n, Data::Tiny, true));
    }
    let rows =
        [(0, 5), (5, 0), (1, 1), (7, 1), (1000, 3), (301, 4), (300, 8), (129, 17), (129, 31), (64, 32), (65, 33)];
    let long = [(50, 64), (21, 100), (9, 1023), (9, 1024), (5, 1025), (3, 4100), (33, 2048), (2, 70_000)];
    for (rows, cols) in rows.into_iter().chain(long) {
        cases.push(rows_case(rows, cols, Data::Plain, false));
    }
    for (rows, cols) in [(40, 6), (65, 32), (12, 100), (7, 3000)] {
        cases.push(rows_case(rows, cols, Data::Tiny, false));
        cases.push(rows_case(rows, cols, Data::Wide, false));
        cases.push(rows_case(rows, cols, Data::Tiny, true));
    }
    for (rows, cols) in [(3000, 1), (700, 3), (3, 1024), (4, 1025), (2, 5001)] {
        cases.push(rows_case(rows, cols, Data::Plain, true));
    }
    let few = [(0, 5), (5, 0), (1, 7), (1, 3000), (3, 2), (31, 5), (32, 16), (33, 33), (100, 64), (513, 4)];
    let many = [(1023, 8), (1024, 40), (1025, 9), (2100, 130), (40_000, 3), (5000, 257), (1_050_000, 2)];
    for (rows, cols) in few.into_iter().chain(many) {
        cases.push(cols_case(rows, cols, Data::Plain, false));
    }
    for (rows, cols) in [(40, 6), (1000, 33), (3000, 5)] {
        cases.push(cols_case(rows, cols, Data::Tiny, false));
        cases.push(cols_case(rows, cols, Data::Wide, false));
    }
    for (rows, cols) in [(1, 1500), (3, 1100), (40, 70), (1030, 6), (2050, 2), (300, 300)] {
        cases.push(cols_case(rows, cols, Data::Tiny, true));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::assert_reference;

    #[test]
    // pathway test: P43
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    /// The reference itself, on a sum whose shape can be followed by hand.
    #[test]
    // pathway test: P42
    fn lanes_and_tree_are_what_the_contract_says() {
        // Lane 0 holds 2^24 and 1 (the 1 is lost), lane 1 holds 1 and 1: their 2 counts.
        let mut x = vec![0.0f32; 64];
        (x[0], x[32], x[1], x[33]) = (16_777_216.0, 1.0, 1.0, 1.0);
        assert_eq!(reference::sum(&x), 16_777_218.0);
        // Lanes 2 and 3 are joined before they meet lanes 0 and 1.
        let mut x = vec![0.0f32; 32];
        (x[0], x[2], x[3]) = (16_777_216.0, 1.0, 1.0);
        assert_eq!(reference::sum(&x), 16_777_218.0);
        // Element 1,024 opens a chunk of its own, which meets the first chunk's sum alone.
        let mut x = vec![0.0f32; 1026];
        (x[0], x[1024], x[1025]) = (16_777_216.0, 1.0, 1.0);
        assert_eq!(reference::sum(&x), 16_777_218.0);
        // Subnormal differences are zero.
        assert_eq!(reference::sum(&[f32::MIN_POSITIVE * 1.5, -f32::MIN_POSITIVE * 1.25]).to_bits(), 0);
        assert_eq!(reference::sum(&[]).to_bits(), 0);
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let device = crate::Device::host();
        let x = Buffer::upload(&device, &[1.0f32; 6]).expect("uploads");
        assert!(row_sums(&device, &x, 2, 4).is_err());
        assert!(col_sums(&device, &x, 7, 1).is_err());
        assert!(row_sums(&device, &x, usize::MAX, 3).is_err());
        assert!(col_sums(&device, &x, 3, 2).is_ok());
    }

    #[cfg(feature = "sabotage")]
    #[test]
    // pathway test: P6, P44
    fn arms_move_every_sum() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for (arm, data) in [(Arm::KeepSubnormals, Data::Tiny), (Arm::SerialLanes, Data::Plain)] {
                // A device that flushes by itself cannot keep subnormals; the arm is tested where it can act.
                if arm == Arm::KeepSubnormals && !keeps_subnormals(&device) {
                    continue;
                }
                for case in
                    [sum_case(4096, data, false), rows_case(33, 100, data, false), cols_case(100, 33, data, false)]
                {
                    let outcome = case.check(&device.sabotaged(arm));
                    assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {} {arm:?}: inert", case.op);
                }
                // Other arms leave sums alone.
                let outcome = sum_case(4096, data, false).check(&device.sabotaged(Arm::TiesLast));
                assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
            }
        }
    }

    #[cfg(feature = "sabotage")]
    fn keeps_subnormals(device: &crate::Device) -> bool {
        !device.info().adapter.to_lowercase().contains("swiftshader")
    }
}
