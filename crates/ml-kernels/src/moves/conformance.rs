//! Conformance cases of gather and scatter.

use super::{gather_rows, reference, scatter_rows};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited, scramble};

fn words(n: usize, seed: u32) -> Vec<f32> {
    (0..n as u32).map(|i| f32::from_bits(scramble(i.wrapping_add(seed)) & 0xbfff_ffff)).collect()
}

fn indices(n: usize, bound: usize, seed: u32) -> Vec<u32> {
    (0..n as u32).map(|i| ((scramble(i ^ seed.wrapping_mul(0x9e37_79b9)) as u64 * bound as u64) >> 32) as u32).collect()
}

fn gather_case(n: usize, table_rows: usize, cols: usize, small: bool) -> Case {
    let (table, at) = (words(table_rows * cols, 1), indices(n, table_rows, 2));
    let (t, i) = (table.clone(), at.clone());
    Case {
        op: "gather_rows",
        name: format!("{n} of {table_rows}x{cols}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (table, at) = (Buffer::upload(&device, &table)?, Buffer::upload(&device, &at)?);
            Ok(bytes(&gather_rows(&device, &table, &at, table_rows, cols)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::gather_rows(&t, &i, cols))),
    }
}

fn scatter_case(n: usize, out_rows: usize, cols: usize, small: bool) -> Case {
    let (source, at) = (words(n * cols, 3), indices(n, out_rows, 4));
    let (s, i) = (source.clone(), at.clone());
    Case {
        op: "scatter_rows",
        name: format!("{n} to {out_rows}x{cols}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (source, at) = (Buffer::upload(&device, &source)?, Buffer::upload(&device, &at)?);
            Ok(bytes(&scatter_rows(&device, &source, &at, out_rows, cols)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::scatter_rows(&s, &i, out_rows, cols))),
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, rows, cols) in [
        (0, 5, 3),
        (0, 5, 4),
        (4, 5, 0),
        (0, 0, 3),
        (1, 1, 1),
        (7, 3, 1),
        (1000, 37, 4),
        (500, 200, 13),
        (33, 900, 130),
    ] {
        cases.push(gather_case(n, rows, cols, false));
        cases.push(scatter_case(n, rows, cols, false));
    }
    cases.push(scatter_case(5000, 40_000, 2, false));
    for (n, rows, cols) in [(3000, 700, 1), (300, 2500, 4), (50, 90, 61), (5, 7, 1024), (4, 3, 2500)] {
        cases.push(gather_case(n, rows, cols, true));
        cases.push(scatter_case(n, rows, cols, true));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{assert_reference, test_devices};

    #[test]
    // pathway test: P58
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    #[test]
    // pathway test: P89
    fn the_first_bad_index_is_named() {
        for device in test_devices() {
            for device in [device.clone(), device.with_limits(4096, 3)] {
                let mut at = indices(5000, 10, 1);
                (at[2999], at[4001]) = (10, u32::MAX);
                let at = Buffer::upload(&device, &at).expect("uploads");
                let (table, source) = (words(20, 1), words(10_000, 2));
                let table = Buffer::upload(&device, &table).expect("uploads");
                let source = Buffer::upload(&device, &source).expect("uploads");
                let want = "`indices` holds index 10 at position 2999, the bound is 10";
                assert_eq!(gather_rows(&device, &table, &at, 10, 2).unwrap_err().to_string(), want);
                assert_eq!(scatter_rows(&device, &source, &at, 10, 2).unwrap_err().to_string(), want);
                assert!(scatter_rows(&device, &source, &at, 10, 3).is_err(), "a source of another shape");
            }
        }
    }

    #[test]
    fn integers_move_as_well() {
        for device in test_devices() {
            let table = Buffer::upload(&device, &[5u32, 6, 7]).expect("uploads");
            let at = Buffer::upload(&device, &[2u32, 0, 2, 1]).expect("uploads");
            assert_eq!(gather_rows(&device, &table, &at, 3, 1).expect("gathers").read().expect("reads"), [7, 5, 7, 6]);
        }
    }
}
