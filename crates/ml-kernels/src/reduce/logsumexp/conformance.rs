//! Conformance cases of the logarithm of a sum of exponentials.

use super::super::conformance::{Data, floats, lists, name};
use super::*;
use crate::conformance::{Case, bytes, limited};

fn case(rows: usize, cols: usize, along: Along, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 8, data);
    let y = x.clone();
    Case {
        op: if along == Along::Rows { "row_log_sum_exp" } else { "col_log_sum_exp" },
        name: name("", &[rows, cols], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let x = Buffer::upload(&device, &x)?;
            let out = match along {
                Along::Rows if rows == 1 => log_sum_exp(&device, &x)?,
                Along::Rows => row_log_sum_exp(&device, &x, rows, cols)?,
                Along::Columns => col_log_sum_exp(&device, &x, rows, cols)?,
            };
            Ok(bytes(&out.read()?))
        }),
        reference: Box::new(move || {
            let out: Vec<f32> = lists(&y, rows, cols, along).iter().map(|list| reference::log_sum_exp(list)).collect();
            bytes(&out)
        }),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [1, 2, 31, 33, 1023, 1024, 1025, 5000, 70_001] {
        cases.push(case(1, n, Along::Rows, Data::Plain, false));
    }
    for (rows, cols) in [(0, 4), (5, 1), (300, 3), (40, 10), (65, 33), (9, 1024), (5, 1025), (3, 4100)] {
        cases.push(case(rows, cols, Along::Rows, Data::Plain, false));
        cases.push(case(cols, rows.max(1), Along::Columns, Data::Plain, false));
    }
    for data in [Data::Near, Data::Tiny, Data::Wide, Data::Ties, Data::Middle] {
        for along in [Along::Rows, Along::Columns] {
            for (rows, cols) in [(40, 7), (3, 1100), (1100, 3)] {
                cases.push(case(rows, cols, along, data, false));
            }
        }
    }
    for along in [Along::Rows, Along::Columns] {
        for (rows, cols) in [(3, 1500), (300, 40)] {
            cases.push(case(rows, cols, along, Data::Plain, true));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::assert_reference;

    #[test]
    // pathway test: P140
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    #[test]
    fn neither_overflow_nor_loss() {
        assert_eq!(reference::log_sum_exp(&[f32::MAX, f32::MIN]), f32::MAX);
        assert_eq!(reference::log_sum_exp(&[-0.0]).to_bits(), 0);
        assert_eq!(reference::log_sum_exp(&[-200.0, -200.0]), -199.306_85);
        assert_eq!(reference::log_sum_exp(&[0.0; 4]), 1.386_294_4);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let device = Device::host();
        let (x, none) = (Buffer::upload(&device, &[1.0f32; 6]).unwrap(), Buffer::upload(&device, &[]).unwrap());
        assert!(row_log_sum_exp(&device, &x, 2, 4).is_err());
        assert!(log_sum_exp(&device, &none).unwrap_err().to_string().contains("empty"));
        assert!(col_log_sum_exp(&device, &none, 0, 4).unwrap_err().to_string().contains("empty"));
        assert!(row_log_sum_exp(&device, &none, 0, 4).unwrap().is_empty());
    }

    #[cfg(feature = "sabotage")]
    #[test]
    fn arms_move_it() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for arm in [Arm::SerialLanes, Arm::RoughElementary] {
                for (rows, cols, along) in [(33, 1001, Along::Rows), (1001, 33, Along::Columns)] {
                    let outcome = case(rows, cols, along, Data::Near, false).check(&device.sabotaged(arm));
                    assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {arm:?}: inert");
                }
            }
        }
    }
}
