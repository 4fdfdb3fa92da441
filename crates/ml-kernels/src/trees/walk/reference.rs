//! The specification of the walks, clause `tree-walk`: plain loops over the trees as they were given.

use super::{FlatNode, FlatTree};
use crate::num::{Pins, add, canon, key};
use crate::trees::value::{MISSING, category_value};

/// A type of bounds, and what a row holds where bounds have it.
pub(super) trait Bound: Copy {
    /// Whether `x` is missing, asked as a number.
    fn missing(x: Self) -> bool;
    /// Whether `x`, which is not missing, is at most `bound`.
    fn at_most(x: Self, bound: Self) -> bool;
    /// The category that `x` is; `None` if it is none.
    fn category(x: Self) -> Option<u32>;
}

impl Bound for f32 {
    fn missing(x: f32) -> bool {
        x.is_nan()
    }

    fn at_most(x: f32, bound: f32) -> bool {
        key(canon(x)) <= key(bound)
    }

    fn category(x: f32) -> Option<u32> {
        Some(category_value(canon(x).to_bits(), 0)).filter(|category| *category != MISSING)
    }
}

impl Bound for u32 {
    fn missing(bin: u32) -> bool {
        bin == 0
    }

    fn at_most(bin: u32, bound: u32) -> bool {
        bin <= bound
    }

    fn category(bin: u32) -> Option<u32> {
        Some(bin).filter(|bin| *bin != 0)
    }
}

/// The leaf that a row comes to.
fn leaf<T: Bound>(tree: &FlatTree<T>, row: &[T]) -> u32 {
    let mut at = 0;
    loop {
        at = match &tree.nodes[at as usize] {
            FlatNode::Leaf { leaf } => return *leaf,
            FlatNode::Number { feature, bound, left, right, missing_left } => {
                let x = row[*feature as usize];
                let goes_left = if T::missing(x) { *missing_left } else { T::at_most(x, *bound) };
                if goes_left { *left } else { *right }
            }
            FlatNode::Category { feature, set, left, right, missing_left } => {
                let goes_left = match T::category(row[*feature as usize]) {
                    None => *missing_left,
                    Some(c) => set.get(c as usize / 32).is_some_and(|word| word >> (c % 32) & 1 == 1),
                };
                if goes_left { *left } else { *right }
            }
        };
    }
}

/// The leaf of each row in each tree, shape (rows, trees).
pub(super) fn walk<T: Bound>(x: &[T], rows: usize, features: usize, trees: &[FlatTree<T>]) -> Vec<u32> {
    let mut out = Vec::new();
    for row in 0..rows {
        for tree in trees {
            out.push(leaf(tree, &x[row * features..][..features]));
        }
    }
    out
}

/// The score of each row, shape (rows, base).
pub(super) fn walk_sum(x: &[f32], rows: usize, features: usize, trees: &[FlatTree], base: &[f32]) -> Vec<f32> {
    let mut out = Vec::new();
    for row in 0..rows {
        let mut score: Vec<f32> = base.iter().map(|value| canon(*value)).collect();
        for tree in trees {
            let leaf = leaf(tree, &x[row * features..][..features]) as usize;
            for o in 0..tree.outputs {
                let to = &mut score[tree.first_output + o];
                *to = add(*to, canon(tree.values[leaf * tree.outputs + o]), Pins::HOST);
            }
        }
        out.extend(score);
    }
    out
}
