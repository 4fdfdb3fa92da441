//! Conformance cases of means and variances, and the tests of their arms.

use super::super::Along;
use super::super::conformance::{Data, floats, lists, name};
use super::*;
use crate::conformance::{Case, bytes, limited};

/// What is computed, and of which lists of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    All,
    Rows,
    Columns,
}

impl Of {
    fn lists(self, x: &[f32], rows: usize, cols: usize) -> Vec<Vec<f32>> {
        match self {
            Of::All => vec![x.to_vec()],
            Of::Rows => lists(x, rows, cols, Along::Rows),
            Of::Columns => lists(x, rows, cols, Along::Columns),
        }
    }
}

fn mean_case(rows: usize, cols: usize, of: Of, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 6, data);
    let y = x.clone();
    Case {
        op: ["mean", "row_means", "col_means"][of as usize],
        name: name("", &[rows, cols], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let x = Buffer::upload(&device, &x)?;
            let means = match of {
                Of::All => mean(&device, &x)?,
                Of::Rows => row_means(&device, &x, rows, cols)?,
                Of::Columns => col_means(&device, &x, rows, cols)?,
            };
            Ok(bytes(&means.read()?))
        }),
        reference: Box::new(move || {
            let means: Vec<f32> = of.lists(&y, rows, cols).iter().map(|list| reference::moments(list, 0).0).collect();
            bytes(&means)
        }),
    }
}

fn variance_case(rows: usize, cols: usize, ddof: usize, of: Of, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 7, data);
    let y = x.clone();
    Case {
        op: ["variance", "row_variances", "col_variances"][of as usize],
        name: name(&format!("ddof {ddof} of"), &[rows, cols], data, small),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let x = Buffer::upload(&device, &x)?;
            let (means, variances) = match of {
                Of::All => variance(&device, &x, ddof)?,
                Of::Rows => row_variances(&device, &x, rows, cols, ddof)?,
                Of::Columns => col_variances(&device, &x, rows, cols, ddof)?,
            };
            Ok([bytes(&means.read()?), bytes(&variances.read()?)].concat())
        }),
        reference: Box::new(move || {
            let (means, variances): (Vec<f32>, Vec<f32>) =
                of.lists(&y, rows, cols).iter().map(|list| reference::moments(list, ddof)).unzip();
            [bytes(&means), bytes(&variances)].concat()
        }),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (rows, cols) in [(1, 1), (33, 5), (7, 1100)] {
        for of in [Of::All, Of::Rows, Of::Columns] {
            cases.push(mean_case(rows, cols, of, Data::Plain, false));
        }
    }
    for n in [1, 2, 31, 33, 1023, 1024, 1025, 5000, 33 * 1024 + 4, 1025 * 1024 + 3] {
        cases.push(variance_case(1, n, usize::from(n > 1), Of::All, Data::Plain, false));
    }
    let rows = [(0, 5), (5, 1), (301, 4), (300, 7), (129, 8), (129, 17), (65, 32), (65, 33), (21, 100)];
    let long = [(9, 1023), (9, 1024), (5, 1025), (3, 4100), (33, 2048), (2, 70_000)];
    for (rows, cols) in rows.into_iter().chain(long) {
        cases.push(variance_case(rows, cols, 0, Of::Rows, Data::Plain, false));
    }
    for (rows, cols) in [
        (1, 7),
        (5, 1),
        (3000, 1),
        (31, 5),
        (32, 16),
        (33, 33),
        (513, 4),
        (1025, 9),
        (2100, 130),
        (5000, 257),
        (140, 1100),
    ] {
        cases.push(variance_case(rows, cols, 0, Of::Columns, Data::Plain, false));
    }
    for data in [Data::Tiny, Data::Squares, Data::Middle, Data::Ties] {
        for of in [Of::All, Of::Rows, Of::Columns] {
            for (rows, cols) in [(40, 6), (65, 36), (1030, 3), (3, 1100)] {
                cases.push(variance_case(rows, cols, 1, of, data, false));
            }
        }
    }
    for of in [Of::All, Of::Rows, Of::Columns] {
        for (rows, cols) in [(1030, 6), (300, 300), (3, 1100), (7, 3000)] {
            cases.push(variance_case(rows, cols, 2, of, Data::Squares, true));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use ml_core::Result;

    use super::*;
    use crate::conformance::assert_reference;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    /// The reference itself, on values whose squares can be followed by hand.
    #[test]
    fn squares_are_canonical_and_differences_exact() {
        assert_eq!(reference::moments(&[1.0, 2.0, 6.0], 1), (3.0, 7.0));
        assert_eq!(reference::moments(&[5.5], 0), (5.5, 0.0));
        // Squares of 2^-63 are the bound of canon, those of 2^-62 are above it.
        let bit = |power: i32| f32::from_bits(((127 + power) as u32) << 23);
        assert_eq!(reference::moments(&[bit(-63), -bit(-63)], 0).1.to_bits(), 0);
        assert_eq!(reference::moments(&[bit(-62), -bit(-62)], 0).1, bit(-124));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let device = Device::host();
        let (x, none) = (Buffer::upload(&device, &[1.0f32; 6]).unwrap(), Buffer::upload(&device, &[]).unwrap());
        let text = |e: Result<(Buffer<f32>, Buffer<f32>)>| e.unwrap_err().to_string();
        assert_eq!(
            text(row_variances(&device, &x, 2, 3, 3)),
            "parameter `ddof` must be below 3, the number of values, got 3"
        );
        assert!(text(col_variances(&device, &x, 2, 3, 2)).contains("below 2"));
        assert!(text(variance(&device, &x, 6)).contains("below 6"));
        assert!(text(row_variances(&device, &x, 2, 4, 0)).contains("8 elements"));
        assert!(text(variance(&device, &none, 0)).contains("empty"));
        assert!(mean(&device, &none).unwrap_err().to_string().contains("empty"));
        assert!(col_means(&device, &none, 0, 4).unwrap_err().to_string().contains("empty"));
        assert!(row_means(&device, &none, usize::MAX, 2).is_err());
        assert!(row_means(&device, &none, 0, 4).unwrap().is_empty());
        assert!(row_variances(&device, &none, 0, 4, 9).unwrap().1.is_empty());
    }

    #[cfg(feature = "sabotage")]
    #[test]
    // pathway test: P97
    fn arms_move_every_variance() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for (arm, data) in [(Arm::KeepSubnormals, Data::Squares), (Arm::SerialLanes, Data::Plain)] {
                // A device that flushes by itself cannot keep subnormals; the arm is tested where it can act.
                if arm == Arm::KeepSubnormals && device.info().adapter.to_lowercase().contains("swiftshader") {
                    continue;
                }
                for case in [
                    variance_case(1, 4096, 0, Of::All, data, false),
                    variance_case(33, 101, 0, Of::Rows, data, false),
                    variance_case(101, 33, 0, Of::Columns, data, false),
                ] {
                    let outcome = case.check(&device.sabotaged(arm));
                    assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {} {arm:?}: inert", case.op);
                    let outcome = case.check(&device.sabotaged(Arm::TiesLast));
                    assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
                }
            }
        }
    }
}
