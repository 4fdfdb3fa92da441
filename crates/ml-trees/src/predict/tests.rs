//! The device walks and the sums against the plain walk of a tree.

use std::sync::Arc;

use super::*;
use crate::ensemble::{Input, View};

/// A number that depends on `i` alone.
fn mixed(i: u64) -> u64 {
    let mut x = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const BOUNDS: [f32; 9] = [0.0, -0.0, 1.0, -1.5, 1e-40, -1e-40, f32::INFINITY, f32::NEG_INFINITY, 3.5];
const NUMBERS: [f32; 14] = [
    0.0,
    -0.0,
    1.0,
    1.000_000_1,
    -1.5,
    1e-40,
    -1e-40,
    f32::MIN_POSITIVE,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    3.5,
    40.0,
    4e9,
];

/// A full tree of this depth over `features` columns; every third split asks for a category.
fn tree(seed: u64, depth: u32, features: u32, outputs: usize) -> Tree {
    let inner = (1usize << depth) - 1;
    let nodes = (0..2 * inner + 1).map(|at| {
        let r = mixed(seed * 1000 + at as u64);
        let (left, right) = (2 * at as u32 + 1, 2 * at as u32 + 2);
        let (feature, missing_left, gain, cover) = ((r >> 8) as u32 % features, r & 1 == 1, 1.0, 1.0);
        if at >= inner {
            Node::Leaf { leaf: (at - inner) as u32, cover }
        } else if r >> 32 & 3 == 3 {
            let set: Arc<[u32]> = Arc::from(&[(r >> 20) as u32, 0x155][..1 + (r >> 5 & 1) as usize]);
            Node::Category { feature, set, left, right, missing_left, gain, cover }
        } else {
            let threshold = BOUNDS[(r >> 16) as usize % BOUNDS.len()];
            Node::Number { feature, threshold, left, right, missing_left, gain, cover }
        }
    });
    let values = (0..(inner + 1) * outputs).map(|i| (mixed(seed * 77 + i as u64) as u32 as f64 / 3e8 - 7.0) / 3.0);
    Tree::new(nodes.collect(), values.collect(), outputs).unwrap()
}

fn rows(count: usize, features: usize) -> Vec<f32> {
    (0..count * features).map(|i| NUMBERS[mixed(i as u64 + 5) as usize % NUMBERS.len()]).collect()
}

fn ensemble(arithmetic: Arithmetic) -> Ensemble {
    let trees: Vec<Tree> = (0..7).map(|t| tree(t, 1 + t as u32 % 5, 4, 1 + t as usize % 2)).collect();
    let first = trees.iter().map(|t| 2 - t.outputs() as u32).collect();
    Ensemble::new(trees, first, vec![0.1, -0.3], 4, arithmetic).unwrap()
}

#[test]
fn walks_are_the_plain_walks() {
    let model = ensemble(Arithmetic::Single);
    let x = rows(500, 4);
    let leaves = model.leaves(&Device::host(), &x, 500).unwrap();
    let seen = model.seen(&x, 500).unwrap();
    let mut reached = std::collections::BTreeSet::new();
    for row in 0..500 {
        for (t, tree) in model.trees().iter().enumerate() {
            let want = walk(tree, &seen[row * 4..][..4]);
            assert_eq!(leaves[row * 7 + t], want, "row {row}, tree {t}: {:?}", &x[row * 4..][..4]);
            reached.insert((t, want));
        }
    }
    assert!(reached.len() > 40, "{}", reached.len());
}

#[test]
fn sums_are_made_in_the_stated_order() {
    let x = rows(300, 4);
    let device = Device::host();
    let (single, double) = (ensemble(Arithmetic::Single), ensemble(Arithmetic::Double));
    let leaves = single.leaves(&device, &x, 300).unwrap();
    let value = |t: usize, row: usize, output: usize| -> Option<f64> {
        let tree = &single.trees()[t];
        let at = output.checked_sub(single.first_output()[t] as usize)?;
        Some(tree.values()[leaves[row * 7 + t] as usize * tree.outputs() + at])
    };
    let base = single.base().to_vec();
    for (aggregate, rule) in [
        (Aggregate::Sum, "sum"),
        (Aggregate::Scaled { scale: 1.0 }, "last"),
        (Aggregate::Scaled { scale: 0.3 }, "scaled"),
        (Aggregate::Mean { divisor: 7.0 }, "mean"),
        (Aggregate::Min, "min"),
        (Aggregate::Max, "max"),
    ] {
        let narrow = single.clone().with_aggregate(aggregate).unwrap().raw(&device, &x, 300).unwrap();
        let wide = double.clone().with_aggregate(aggregate).unwrap();
        let rounded = wide.raw(&device, &x, 300).unwrap();
        let wide = wide.raw_f64(&device, &x, 300).unwrap();
        for at in 0..600 {
            let (row, output) = (at / 2, at % 2);
            let values: Vec<f64> = (0..7).filter_map(|t| value(t, row, output)).collect();
            let singles: Vec<f32> = values.iter().map(|v| *v as f32).collect();
            let (b, s) = (base[output], base[output] as f32);
            let sum = values.iter().fold(0.0, |a, v| a + v);
            let sum_single = singles.iter().fold(0.0, |a, v| a + v);
            let (want, want_single) = match rule {
                "sum" => (values.iter().fold(b, |a, v| a + v), singles.iter().fold(s, |a, v| a + v)),
                "last" => (sum + b, sum_single + s),
                "scaled" => (sum * 0.3 + b, sum_single * 0.3 + s),
                "mean" => (sum / 7.0 + b, sum_single / 7.0 + s),
                "min" => (
                    values.iter().copied().reduce(f64::min).unwrap() + b,
                    singles.iter().copied().reduce(f32::min).unwrap() + s,
                ),
                _ => (
                    values.iter().copied().reduce(f64::max).unwrap() + b,
                    singles.iter().copied().reduce(f32::max).unwrap() + s,
                ),
            };
            assert_eq!(narrow[at].to_bits(), want_single.to_bits(), "{rule} {at}");
            assert_eq!(wide[at].to_bits(), want.to_bits(), "{rule} {at}");
            assert_eq!(rounded[at].to_bits(), (want as f32).to_bits(), "{rule} {at}");
        }
    }
}

#[test]
fn a_row_alone_is_the_row_in_a_batch_on_any_number_of_threads() {
    let model = ensemble(Arithmetic::Single);
    let x = rows(200, 4);
    let whole = model.raw(&Device::host(), &x, 200).unwrap();
    for threads in [1, 2, 7, 64] {
        let device = Device::host_with_threads(threads).unwrap();
        assert_eq!(model.raw(&device, &x, 200).unwrap(), whole);
    }
    for row in 0..200 {
        let alone = model.raw(&Device::host(), &x[row * 4..][..4], 1).unwrap();
        assert_eq!(alone, whole[row * 2..][..2]);
    }
}

#[test]
fn views_show_what_they_say() {
    let table = View::Position(Arc::from([-2.5f32, 0.0, 7.0]));
    let tiny = View::ZeroMissing;
    let (cut, whole) = (View::Category { whole: false }, View::Category { whole: true });
    for (view, x, want) in [
        (&table, -2.5f32, 0.0f32),
        (&table, 0.0, 1.0),
        (&table, 7.0, 2.0),
        (&table, 7.5, 3.0),
        (&table, f32::INFINITY, 3.0),
        (&cut, 3.9, 3.0),
        (&cut, -0.5, 16_777_216.0),
        (&cut, -3.0, 16_777_216.0),
        (&cut, 16_777_215.0, 16_777_215.0),
        (&cut, 16_777_216.0, 16_777_216.0),
        (&cut, f32::INFINITY, 16_777_216.0),
        (&whole, -0.5, 0.0),
        (&whole, -1.0, 16_777_216.0),
        (&tiny, 1.1e-35, 1.1e-35),
    ] {
        assert_eq!(view.of(x).to_bits(), want.to_bits(), "{view:?} of {x}");
        assert!(view.of(f32::NAN).is_nan());
    }
    for x in [0.0, 1e-35, -1e-35, 1e-36] {
        assert!(tiny.of(x).is_nan(), "{x}");
    }
    let bad = |table: &[f32]| {
        let input = Input { column: 0, view: View::Position(Arc::from(table)) };
        let leaf = Tree::new(vec![Node::Leaf { leaf: 0, cover: 0.0 }], vec![1.0], 1).unwrap();
        let model = Ensemble::new(vec![leaf], vec![0], vec![0.0], 1, Arithmetic::Single).unwrap();
        model.with_inputs(2, vec![input]).is_err()
    };
    assert!(!bad(&[-1.0, 0.0, 1.0]));
    for table in [&[1.0, 1.0][..], &[2.0, 1.0], &[f32::NAN], &[-0.0], &[1e-40]] {
        assert!(bad(table), "{table:?}");
    }
}

#[test]
fn scores_that_leave_the_range_are_errors() {
    let leaf = || Tree::new(vec![Node::Leaf { leaf: 0, cover: 0.0 }], vec![3e38], 1).unwrap();
    let model = Ensemble::new(vec![leaf(), leaf()], vec![0, 0], vec![0.0], 1, Arithmetic::Single).unwrap();
    let error = model.raw(&Device::host(), &[0.0, 1.0], 2).unwrap_err();
    assert!(matches!(error, Error::NonFinite { index: 0, .. }), "{error}");
    let wide = Ensemble::new(vec![leaf(), leaf()], vec![0, 0], vec![0.0], 1, Arithmetic::Double).unwrap();
    assert_eq!(wide.raw_f64(&Device::host(), &[0.0], 1).unwrap(), [3e38 + 3e38]);
    assert!(matches!(wide.raw(&Device::host(), &[0.0], 1), Err(Error::NonFinite { .. })));
    assert!(matches!(wide.raw(&Device::host(), &[0.0, 1.0, 2.0], 2), Err(Error::Data(DataError::Shape { .. }))));
}
