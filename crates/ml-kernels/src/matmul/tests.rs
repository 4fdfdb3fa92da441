//! Tests of `matmul` beyond its conformance cases.

#[cfg(feature = "sabotage")]
use super::conformance::Fixture;
use super::conformance::cases;
use super::*;
use crate::conformance::{Outcome, test_devices};
use crate::contraction::testing::Data;
use crate::map::{Expr, Operand, map};

/// The cases that do not give the reference's bytes on `device`.
fn failures(device: &Device) -> Vec<String> {
    let check = |case: &crate::conformance::Case| match case.check(device) {
        Outcome::Equal => None,
        other => Some(format!("{device:?} {}: {other:?}", case.name)),
    };
    cases().iter().filter_map(check).collect()
}

#[test]
// pathway test: P34, P114
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

/// The same for every class of shape: vectors, few columns, squares, a K of many leaves, and items of a batch; a row alone,
/// a few rows, and rows that lie in a larger buffer.
#[test]
// pathway test: P113
fn rows_of_every_shape_class_are_their_own() {
    let shapes = [[300, 1, 700], [200, 5, 1100], [9, 300, 40], [130, 140, 64], [66, 70, 5000], [40, 1, 9000]];
    for device in test_devices() {
        for (i, [m, n, k]) in shapes.into_iter().enumerate() {
            let data = if i % 2 == 0 { Data::Ordinary } else { Data::Subnormal };
            let (a, b) = (data.values(m * k, 15), data.values(n * k, 16));
            let (a_there, b_there) = (up(&device, &a), up(&device, &b));
            let all = matmul(&device, Layout::NT, &a_there, &b_there, m, n, k).expect("runs").read().expect("reads");
            for rows in [0..1, m - 1..m, m / 2 - 2..m / 2 + 2] {
                let wanted = bits(&all[rows.start * n..rows.end * n]);
                let few = up(&device, &a[rows.start * k..rows.end * k]);
                let alone = matmul(&device, Layout::NT, &few, &b_there, rows.len(), n, k).expect("runs");
                assert_eq!(bits(&alone.read().expect("reads")), wanted, "{device:?} {m}x{n}x{k} rows {rows:?}");
                let inside = Strided::new(&a_there, rows.start * k, k);
                let whole = Strided::new(&b_there, 0, k);
                let there = matmul_strided(&device, Layout::NT, inside, whole, 1, rows.len(), n, k).expect("runs");
                assert_eq!(bits(&there.read().expect("reads")), wanted, "{device:?} {m}x{n}x{k} rows {rows:?} inside");
                let items = Strided { item_stride: k, ..Strided::new(&a_there, rows.start * k, k) };
                let items = matmul_strided(&device, Layout::NT, items, whole, rows.len(), 1, n, k).expect("runs");
                assert_eq!(bits(&items.read().expect("reads")), wanted, "{device:?} {m}x{n}x{k} items {rows:?}");
            }
        }
    }
}

/// A Gram matrix is the product of a copy with the matrix, and equals its transpose.
#[test]
// pathway test: P112
fn gram_matrices_are_full_products() {
    let (rows, cols) = (300, 170);
    for device in test_devices() {
        for data in [Data::Ordinary, Data::Subnormal] {
            let x = data.values(rows * cols, 17);
            let (x, copy) = (up(&device, &x), up(&device, &x));
            let half = gram(&device, Gram::Rows, &x, rows, cols).expect("runs").read().expect("reads");
            let full = matmul(&device, Layout::NT, &x, &copy, rows, rows, cols).expect("runs").read().expect("reads");
            assert_eq!(bits(&half), bits(&full), "{device:?} {data:?}");
            assert!((0..rows * rows).all(|i| half[i].to_bits() == half[i % rows * rows + i / rows].to_bits()));
        }
    }
}

/// Formulas that are the product itself, use it twice or not at all, and operands by column: what `map` makes of the
/// product.
#[test]
fn formulas_over_products_are_two_steps() {
    let (m, n, k) = (70, 33, 40);
    let (x, y) = (Expr::input(0), Expr::input(1));
    let formulas = [
        (x.clone(), 0),
        (x.clone() + y.clone(), 1),
        (y.clone() * (x.clone() - x.clone().abs()) / x.clone(), 1),
        (y.clone() + y.clone(), 1),
        (x.clone().square().sqrt().select_less(y, x.clone(), -x), 1),
    ];
    for device in test_devices() {
        let [a, b] = [Data::Ordinary.values(m * k, 18), Data::Subnormal.values(n * k, 19)].map(|v| up(&device, &v));
        let columns = up(&device, &Data::Ordinary.values(m, 20));
        let product = matmul(&device, Layout::NT, &a, &b, m, n, k).expect("runs");
        for (formula, inputs) in &formulas {
            let inputs = &[Operand::Col(&columns)][..*inputs];
            let one = matmul_map(&device, Layout::NT, &a, &b, [m, n, k], formula, inputs, &[]).expect("runs");
            let all = [&[Operand::Full(&product)], inputs].concat();
            let two = map(&device, formula, &all, &[], m, n).expect("runs");
            assert_eq!(bits(&one.read().expect("reads")), bits(&two.read().expect("reads")), "{device:?} {formula:?}");
        }
        let err = matmul_map(&device, Layout::NT, &a, &b, [m, n, k], &formulas[1].0, &[], &[]).expect_err("refused");
        assert_eq!(err.to_string(), "`inputs` must be 2 operands, at most 4, got 1");
    }
}

#[test]
fn operands_stay_inside_their_buffers() {
    let host = Device::host();
    let x = Buffer::upload(&host, &[1.0; 12]).expect("fits");
    let run = |a: Strided<'_>, batch, m, k| {
        let one = Strided { item_stride: 0, ..Strided::new(&x, 0, 1) };
        matmul_strided(&host, Layout::NN, a, one, batch, m, 1, k).map(|c| c.len()).map_err(|e| e.to_string())
    };
    let at = |start, row_stride, item_stride| Strided { buffer: &x, start, row_stride, item_stride };
    assert_eq!(run(at(2, 4, 0), 1, 3, 2), Ok(3));
    assert_eq!(run(at(3, 4, 0), 1, 3, 2), Err("`a` must be at least 13 elements, got 12".to_owned()));
    assert_eq!(run(at(0, 2, 6), 2, 3, 2), Ok(6));
    assert_eq!(run(at(0, 2, 7), 2, 3, 2), Err("`a` must be at least 13 elements, got 12".to_owned()));
    assert!(run(at(usize::MAX, usize::MAX, usize::MAX), 9, 9, 1).is_err());
    assert_eq!(run(at(usize::MAX, 4, 0), 1, 0, 2), Ok(0));
    let err = gram(&host, Gram::Rows, &x, 5, 2).expect_err("refused").to_string();
    assert_eq!(err, "`a` must be 10 elements, got 12");
}

fn up(device: &Device, x: &[f32]) -> Buffer<f32> {
    Buffer::upload(device, x).expect("fits")
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

    /// Every shape of kernel: a square, cells, a split over leaves, a tall operand with few vectors.
    const DIMS: [[usize; 4]; 4] = [[1, 70, 66, 40], [1, 3, 5, 300], [1, 66, 65, 2100], [1, 90, 3, 1100]];

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
            assert_eq!(moved(&device, Arm::GuardOff, Data::Ordinary), [false; 4], "{device:?}");
            // A device whose hardware flushes subnormals hides most of a missing canon.
            if keeps_subnormals(&device) {
                assert_eq!(moved(&device, Arm::GuardOff, Data::Subnormal), [true; 4], "{device:?}");
                assert_eq!(moved(&device, Arm::KeepSubnormals, Data::Subnormal), [true; 4], "{device:?}");
            }
        }
        assert!(keeps_subnormals(&Device::host()));
    }

    #[test]
    // pathway test: P33
    fn a_descending_leaf_shows() {
        for device in test_devices() {
            assert_eq!(moved(&device, Arm::DescendingLeaf, Data::Ordinary), [true; 4], "{device:?}");
            assert_eq!(moved(&device, Arm::DescendingLeaf, Data::Ties), [false; 4], "{device:?}: integers are exact");
        }
    }

    #[test]
    // pathway test: P12
    fn fused_products_show_on_the_host() {
        assert_eq!(moved(&Device::host(), Arm::FuseProducts, Data::Ordinary), [true; 4]);
        assert_eq!(moved(&Device::host(), Arm::FuseProducts, Data::Ties), [false; 4]);
    }

    /// Whether a product that is subnormal comes out of the device as it is.
    fn keeps_subnormals(device: &Device) -> bool {
        let x = Buffer::upload(&device.sabotaged(Arm::KeepSubnormals), &[1.5e-20f32]).expect("fits");
        let sabotaged = device.sabotaged(Arm::KeepSubnormals);
        matmul(&sabotaged, Layout::NN, &x, &x, 1, 1, 1).expect("runs").read().expect("reads")[0] != 0.0
    }
}
