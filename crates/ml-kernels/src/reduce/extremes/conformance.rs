//! Conformance cases of the least and the greatest value.

use super::super::conformance::{Data, floats, lists, name};
use super::*;
use crate::conformance::{Case, bytes, limited};

fn case(rows: usize, cols: usize, along: Along, order: Order, data: Data, small: bool) -> Case {
    let x = floats(rows * cols, 9, data);
    let y = x.clone();
    Case {
        op: match (along, order) {
            (Along::Rows, Order::Smallest) => "row_min",
            (Along::Rows, Order::Largest) => "row_max",
            (Along::Columns, Order::Smallest) => "col_min",
            (Along::Columns, Order::Largest) => "col_max",
        },
        name: name("", &[rows, cols], data, small).trim().to_owned(),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let x = Buffer::upload(&device, &x)?;
            let out = match (along, order) {
                (Along::Rows, Order::Smallest) if rows == 1 => min(&device, &x)?,
                (Along::Rows, Order::Largest) if rows == 1 => max(&device, &x)?,
                (Along::Rows, Order::Smallest) => row_min(&device, &x, rows, cols)?,
                (Along::Rows, Order::Largest) => row_max(&device, &x, rows, cols)?,
                (Along::Columns, Order::Smallest) => col_min(&device, &x, rows, cols)?,
                (Along::Columns, Order::Largest) => col_max(&device, &x, rows, cols)?,
            };
            Ok(bytes(&out.read()?))
        }),
        reference: Box::new(move || {
            let out: Vec<f32> =
                lists(&y, rows, cols, along).iter().map(|list| reference::extreme(list, order)).collect();
            bytes(&out)
        }),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for order in [Order::Smallest, Order::Largest] {
        for n in [1, 2, 8, 9, 31, 33, 1023, 1024, 1025, 5000, 33 * 1024 + 4, 1025 * 1024 + 3] {
            cases.push(case(1, n, Along::Rows, order, Data::Plain, false));
        }
        for (rows, cols) in [(0, 4), (5, 1), (600, 2), (100, 7), (77, 8), (65, 36), (33, 101), (9, 1024), (5, 1025)] {
            cases.push(case(rows, cols, Along::Rows, order, Data::Plain, false));
        }
        for (rows, cols) in [(4, 0), (1, 7), (5, 1), (31, 5), (65, 33), (513, 4), (1025, 9), (2100, 130), (3, 2000)] {
            cases.push(case(rows, cols, Along::Columns, order, Data::Plain, false));
        }
        for along in [Along::Rows, Along::Columns] {
            // NaNs and zeros of both signs among them, and nothing else.
            for data in [Data::Raw, Data::Ties, Data::Zeros, Data::Nans] {
                for (rows, cols) in [(1, 1), (40, 6), (90, 40), (3, 1100), (1100, 3)] {
                    cases.push(case(rows, cols, along, order, data, false));
                }
            }
            for (rows, cols) in [(3000, 1), (500, 7), (3, 1030), (5, 3000), (300, 100), (600, 512)] {
                cases.push(case(rows, cols, along, order, Data::Raw, true));
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{assert_reference, test_devices};

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    #[test]
    // pathway test: P101
    fn zeros_and_nans() {
        let nan = f32::from_bits(0xffc0_0001);
        assert_eq!(reference::extreme(&[-0.0, 0.0, -0.0], Order::Largest).to_bits(), 0);
        assert_eq!(reference::extreme(&[-0.0], Order::Smallest).to_bits(), 0);
        assert_eq!(reference::extreme(&[1.0, nan, f32::INFINITY], Order::Largest).to_bits(), 0x7fc0_0000);
        assert_eq!(reference::extreme(&[nan, f32::INFINITY], Order::Smallest), f32::INFINITY);
        assert_eq!(reference::extreme(&[nan, nan], Order::Smallest).to_bits(), 0x7fc0_0000);
        assert_eq!(reference::extreme(&[-1.0, -3.0, 1e-45], Order::Largest).to_bits(), 1);
    }

    /// What [`argmin_rows`](super::super::super::argmin_rows) and its twin choose.
    #[test]
    fn values_are_those_of_argmin_and_argmax() {
        for device in test_devices() {
            let x = Buffer::upload(&device, &floats(90 * 40, 3, Data::Raw)).unwrap();
            let bits = |x: Buffer<f32>| bytes(&x.read().unwrap());
            let (_, least) = super::super::super::argmin_rows(&device, &x, 90, 40).unwrap();
            let (_, greatest) = super::super::super::argmax_rows(&device, &x, 90, 40).unwrap();
            assert_eq!(bits(row_min(&device, &x, 90, 40).unwrap()), bits(least));
            assert_eq!(bits(row_max(&device, &x, 90, 40).unwrap()), bits(greatest));
        }
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let device = Device::host();
        let (x, none) = (Buffer::upload(&device, &[1.0f32; 6]).unwrap(), Buffer::upload(&device, &[]).unwrap());
        assert!(row_max(&device, &x, 2, 4).is_err());
        assert!(col_min(&device, &x, usize::MAX, 2).is_err());
        assert!(max(&device, &none).unwrap_err().to_string().contains("empty"));
        assert!(col_max(&device, &none, 0, 4).unwrap_err().to_string().contains("empty"));
        assert!(row_min(&device, &none, 0, 4).unwrap().is_empty());
        assert!(col_min(&device, &none, 4, 0).unwrap().is_empty());
    }
}
