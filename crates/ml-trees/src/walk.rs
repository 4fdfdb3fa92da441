//! Rows walked through an ensemble on the host, and their double-precision scores.

use ml_core::canon::canon;
use ml_kernels::Device;
use rayon::prelude::*;

use crate::ensemble::{Arithmetic, Ensemble, Node, Tree};

/// Rows that one task walks.
const ROWS: usize = 64;

/// Whether a row goes left at a split; `None` at a leaf.
pub(crate) fn goes_left(node: &Node, row: &[f32]) -> Option<bool> {
    match node {
        Node::Leaf { .. } => None,
        Node::Number { feature, threshold, missing_left, .. } => {
            let x = canon(row[*feature as usize]);
            Some(if x.is_nan() { *missing_left } else { x <= *threshold })
        }
        Node::Category { feature, set, missing_left, .. } => {
            let x = canon(row[*feature as usize]);
            // A broken number is no category, nor is a negative or an infinite one. From 2^24 on all floats are whole.
            if !(0.0..f32::INFINITY).contains(&x) || (x < 16_777_216.0 && x as u32 as f32 != x) {
                return Some(*missing_left);
            }
            let category = x as usize;
            Some(set.get(category as usize / 32).is_some_and(|word| word >> (category % 32) & 1 == 1))
        }
    }
}

/// The leaf that a row ends in. `row` has as many columns as the ensemble asks for.
pub(crate) fn leaf(tree: &Tree, row: &[f32]) -> usize {
    let mut at = 0;
    loop {
        match &tree.nodes()[at] {
            Node::Leaf { leaf, .. } => return *leaf as usize,
            node @ (Node::Number { left, right, .. } | Node::Category { left, right, .. }) => {
                at = if goes_left(node, row) == Some(true) { *left } else { *right } as usize;
            }
        }
    }
}

/// A leaf value as the ensemble's arithmetic takes it.
pub(crate) fn value(arithmetic: Arithmetic, v: f64) -> f64 {
    match arithmetic {
        Arithmetic::Single => f64::from(v as f32),
        Arithmetic::Double => v,
    }
}

/// The base and the values of a row's leaves, added in double precision in the order of the trees.
pub(crate) fn score(ensemble: &Ensemble, row: &[f32], out: &mut [f64]) {
    for (o, base) in out.iter_mut().zip(ensemble.base()) {
        *o = value(ensemble.arithmetic(), *base);
    }
    for (tree, first) in ensemble.trees().iter().zip(ensemble.first_output()) {
        let leaf = leaf(tree, row) * tree.outputs();
        for (o, v) in out[*first as usize..].iter_mut().zip(&tree.values()[leaf..leaf + tree.outputs()]) {
            *o += value(ensemble.arithmetic(), *v);
        }
    }
}

/// The scores of `rows` rows of `x`, shape (rows, outputs).
pub(crate) fn scores(ensemble: &Ensemble, x: &[f32], device: &Device) -> Vec<f64> {
    let outputs = ensemble.base().len();
    let cols = ensemble.features();
    let rows = x.len() / cols.max(1);
    let mut out = vec![0.0; rows * outputs];
    if out.is_empty() {
        return out;
    }
    device.on_host(|| {
        out.par_chunks_mut(ROWS * outputs).zip(x.par_chunks(ROWS * cols)).for_each(|(out, x)| {
            for (out, row) in out.chunks_exact_mut(outputs).zip(x.chunks_exact(cols)) {
                score(ensemble, row, out);
            }
        });
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_of_splits() {
        let number = |threshold, missing_left| Node::Number {
            feature: 1,
            threshold,
            left: 1,
            right: 2,
            missing_left,
            gain: 0.0,
            cover: 0.0,
        };
        for (x, threshold, left) in [
            (1.5, 1.5, true),
            (1.500_000_1, 1.5, false),
            (f32::INFINITY, f32::MAX, false),
            (f32::NEG_INFINITY, f32::MIN, true),
            // What is below 2^-126 is 0, in a row; a threshold is what it is.
            (1e-40, 0.0, true),
            (-1e-40, -1e-41, false),
            (0.0, -1e-41, false),
        ] {
            assert_eq!(goes_left(&number(threshold, true), &[9.0, x]), Some(left), "{x:e} <= {threshold:e}");
        }
        for side in [false, true] {
            assert_eq!(goes_left(&number(0.0, side), &[0.0, f32::NAN]), Some(side));
        }
        let category = |missing_left| {
            let set = std::sync::Arc::from([1u32 << 3 | 1, 1 << 31]);
            Node::Category { feature: 0, set, left: 1, right: 2, missing_left, gain: 0.0, cover: 0.0 }
        };
        for (x, left) in [(0.0, true), (-0.0, true), (1e-40, true), (3.0, true), (63.0, true), (1.0, false)] {
            assert_eq!(goes_left(&category(!left), &[x]), Some(left), "{x}");
        }
        for x in [64.0, 33_554_436.0, 4_294_967_296.0, 1e20, f32::MAX] {
            assert_eq!(goes_left(&category(true), &[x]), Some(false), "{x:e} is in no set");
        }
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.5, 1e-30, 8_388_606.5] {
            for side in [false, true] {
                assert_eq!(goes_left(&category(side), &[x]), Some(side), "{x:e} is no category");
            }
        }
    }
}
