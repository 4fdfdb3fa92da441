//! Conformance cases of cumulative sums, and the tests of their arms.

use super::{cumulative_sum, reference, row_cumulative_sums};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited};
use crate::reduce::conformance::{Data, floats, name};

fn case(rows: usize, cols: usize, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 12, data);
    let y = x.clone();
    Case {
        op: if rows == 1 { "cumulative_sum" } else { "row_cumulative_sums" },
        name: name("", &[rows, cols], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let x = Buffer::upload(&device, &x)?;
            let sums = match rows {
                1 => cumulative_sum(&device, &x)?,
                _ => row_cumulative_sums(&device, &x, rows, cols)?,
            };
            Ok(bytes(&sums.read()?))
        }),
        reference: Box::new(move || {
            let rows: Vec<Vec<f32>> = y.chunks(cols.max(1)).map(reference::cumulative_sum).collect();
            bytes(&rows.concat())
        }),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [0, 1, 2, 31, 32, 33, 64, 1000, 1023, 1024, 1025, 2048, 5000, 33 * 1024 + 4, 1025 * 1024 + 3] {
        cases.push(case(1, n, Data::Plain, false));
    }
    for (rows, cols) in [(0, 5), (5, 0), (7, 1), (301, 4), (65, 33), (9, 1024), (5, 1025), (33, 2048), (3, 70_000)] {
        cases.push(case(rows, cols, Data::Plain, false));
    }
    for data in [Data::Tiny, Data::Wide, Data::Ties, Data::Zeros] {
        for (rows, cols) in [(1, 70), (1, 5000), (40, 37), (7, 3000)] {
            cases.push(case(rows, cols, data, false));
            cases.push(case(rows, cols, data, true));
        }
    }
    for (rows, cols) in [(1, 8192), (3000, 1), (700, 3), (3, 1024), (2, 5001)] {
        cases.push(case(rows, cols, Data::Plain, true));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::conformance::assert_reference;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    /// The reference itself, on sums whose shape can be followed by hand.
    #[test]
    // pathway test: P99
    fn runs_and_their_sums_are_what_the_contract_says() {
        // Inside a run, each 1 is lost beside 2^24.
        let mut x = vec![1.0f32; 34];
        x[0] = 16_777_216.0;
        let sums = reference::cumulative_sum(&x);
        assert_eq!((sums[31], sums[32], sums[33]), (16_777_216.0, 16_777_216.0, 16_777_218.0));
        // The sums of runs 1 and 2 meet 2^24 one after the other, and what is before run 3 is their sum.
        let mut x = vec![0.0f32; 97];
        (x[0], x[32], x[64], x[96]) = (16_777_216.0, 1.0, 1.0, 2.0);
        assert_eq!(reference::cumulative_sum(&x)[96], 16_777_218.0);
        // Before chunk 1, run 0 of it has nothing: its two runs are added to each other, then to the chunk before.
        let mut x = vec![0.0f32; 1024 + 65];
        (x[0], x[1024], x[1056], x[1088]) = (16_777_216.0, 1.0, 1.0, 0.0);
        assert_eq!(reference::cumulative_sum(&x)[1088], 16_777_218.0);
        // Subnormal differences are zero.
        assert_eq!(reference::cumulative_sum(&[f32::MIN_POSITIVE * 1.5, -f32::MIN_POSITIVE * 1.25])[1].to_bits(), 0);
        assert!(reference::cumulative_sum(&[]).is_empty());
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let device = Device::host();
        let x = Buffer::upload(&device, &[1.0f32; 6]).expect("uploads");
        assert!(row_cumulative_sums(&device, &x, 2, 4).is_err());
        assert!(row_cumulative_sums(&device, &x, usize::MAX, 3).is_err());
        assert!(row_cumulative_sums(&device, &x, 3, 2).is_ok());
    }

    #[cfg(feature = "sabotage")]
    #[test]
    fn arms_move_cumulative_sums() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for (arm, data) in [(Arm::KeepSubnormals, Data::Tiny), (Arm::SerialLanes, Data::Plain)] {
                // A device that flushes by itself cannot keep subnormals; the arm is tested where it can act.
                if arm == Arm::KeepSubnormals && device.info().adapter.to_lowercase().contains("swiftshader") {
                    continue;
                }
                for (rows, cols) in [(1, 5000), (9, 100)] {
                    let outcome = case(rows, cols, data, false).check(&device.sabotaged(arm));
                    assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {arm:?}: inert");
                    let outcome = case(rows, cols, data, false).check(&device.sabotaged(Arm::TiesLast));
                    assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
                }
            }
        }
    }
}
