//! Conformance cases of minimum, maximum and top k, and the tests of their arm.

use super::super::conformance::{Data, floats, name};
use super::{Order, argmax_rows, argmin_rows, reference, top_k_rows};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited};

fn join((index, value): (Vec<u32>, Vec<f32>)) -> Vec<u8> {
    [bytes(&index), bytes(&value)].concat()
}

fn arg_case(rows: usize, cols: usize, order: Order, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 4, data);
    let y = x.clone();
    Case {
        op: if order == Order::Smallest { "argmin_rows" } else { "argmax_rows" },
        name: name("", &[rows, cols], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let x = Buffer::upload(&device, &x)?;
            let (index, value) = match order {
                Order::Smallest => argmin_rows(&device, &x, rows, cols)?,
                Order::Largest => argmax_rows(&device, &x, rows, cols)?,
            };
            Ok(join((index.read()?, value.read()?)))
        }),
        reference: Box::new(move || join(reference::arg_rows(&y, rows, cols, order))),
    }
}

fn top_case(rows: usize, cols: usize, k: usize, order: Order, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 5, data);
    let y = x.clone();
    Case {
        op: "top_k_rows",
        name: name(&format!("{order:?} {k} of").to_lowercase(), &[rows, cols], data, small),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (index, value) = top_k_rows(&device, &Buffer::upload(&device, &x)?, rows, cols, k, order)?;
            Ok(join((index.read()?, value.read()?)))
        }),
        reference: Box::new(move || join(reference::top_k_rows(&y, rows, cols, k, order))),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let arg = [
        (0, 4),
        (1, 1),
        (5, 1),
        (600, 2),
        (100, 7),
        (77, 32),
        (33, 100),
        (9, 1024),
        (5, 1025),
        (3, 5000),
        (2, 140_001),
    ];
    let top = [
        (0, 4, 1),
        (1, 1, 1),
        (4, 9, 9),
        (300, 5, 2),
        (50, 20, 5),
        (7, 600, 3),
        (3, 5000, 50),
        (2, 3000, 1),
        (2, 1300, 1300),
        (2, 70_000, 300),
    ];
    for order in [Order::Smallest, Order::Largest] {
        for (rows, cols) in arg {
            for data in [Data::Plain, Data::Ties] {
                cases.push(arg_case(rows, cols, order, data, false));
            }
        }
        cases.push(arg_case(40, 90, order, Data::Raw, false));
        cases.push(arg_case(9, 3000, order, Data::Raw, false));
        for (rows, cols) in [(3000, 1), (500, 7), (3, 1024), (5, 1030), (2, 5001)] {
            cases.push(arg_case(rows, cols, order, Data::Ties, true));
        }
        for (rows, cols, k) in top {
            for data in [Data::Plain, Data::Ties] {
                cases.push(top_case(rows, cols, k, order, data, false));
            }
        }
        for (rows, cols, k) in [(9, 33, 24), (5, 256, 30), (5, 257, 24), (5, 257, 30), (2, 9000, 192), (2, 9000, 193)] {
            cases.push(top_case(rows, cols, k, order, Data::Plain, false));
        }
        cases.push(top_case(9, 4096, 24, order, Data::Striped, false));
        cases.push(top_case(2, 20_000, 190, order, Data::Striped, false));
        cases.push(top_case(5, 100, 40, order, Data::Raw, false));
        cases.push(top_case(3, 4000, 100, order, Data::Raw, false));
        for (rows, cols, k) in [(300, 9, 4), (3, 600, 7), (3, 5000, 50), (2, 3000, 400), (2, 1500, 900)] {
            cases.push(top_case(rows, cols, k, order, Data::Ties, true));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::assert_reference;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    #[test]
    // pathway test: P53
    fn ties_zeros_and_nans() {
        let x = [0.0f32, -0.0, f32::NAN, -1.0, -1.0, f32::INFINITY, f32::from_bits(0xffc0_0001)];
        let (index, value) = reference::top_k_rows(&x, 1, 7, 7, Order::Smallest);
        assert_eq!(index, [3, 4, 0, 1, 5, 2, 6]);
        assert_eq!(value.iter().map(|v| v.to_bits()).collect::<Vec<_>>()[2..4], [0, 0]);
        assert_eq!(reference::top_k_rows(&x, 1, 7, 4, Order::Largest).0, [2, 6, 5, 0]);
        assert_eq!(reference::arg_rows(&x, 1, 7, Order::Largest).0, [2]);
        assert_eq!(reference::arg_rows(&x, 1, 7, Order::Smallest).0, [3]);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let device = crate::Device::host();
        let x = Buffer::upload(&device, &[1.0f32; 6]).expect("uploads");
        let text = |k| top_k_rows(&device, &x, 2, 3, k, Order::Smallest).unwrap_err().to_string();
        assert_eq!(text(0), "parameter `k` must be within 1..=3, the columns, got 0");
        assert_eq!(text(4), "parameter `k` must be within 1..=3, the columns, got 4");
        assert!(argmin_rows(&device, &x, 2, 4).is_err());
        let none = Buffer::upload(&device, &[]).expect("uploads");
        assert!(argmax_rows(&device, &none, 2, 0).unwrap_err().to_string().contains("empty"));
        assert!(argmax_rows(&device, &none, 0, 0).is_ok());
    }

    #[cfg(feature = "sabotage")]
    #[test]
    // pathway test: P52
    fn the_arm_moves_every_choice() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for order in [Order::Smallest, Order::Largest] {
                for case in [
                    arg_case(40, 90, order, Data::Ties, false),
                    arg_case(2, 5000, order, Data::Ties, false),
                    top_case(9, 90, 10, order, Data::Ties, false),
                    top_case(2, 5000, 10, order, Data::Ties, false),
                ] {
                    let outcome = case.check(&device.sabotaged(Arm::TiesLast));
                    assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} {} {}: inert", case.op, case.name);
                    let outcome = case.check(&device.sabotaged(Arm::SerialLanes));
                    assert!(matches!(outcome, Outcome::Equal), "{device:?} {} {outcome:?}", case.op);
                }
            }
        }
    }
}
