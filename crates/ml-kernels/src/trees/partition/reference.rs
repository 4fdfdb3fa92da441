//! The specification of `partition` and `add_leaf_values`, clause `tree-walk`: plain loops.

use super::SplitAt;
use crate::num::{Pins, add};

/// Whether a row with bin `bin` of the split's column goes left.
pub(super) fn goes_left(split: &SplitAt, bin: u32) -> bool {
    match split {
        SplitAt::Number { missing_left, .. } | SplitAt::Category { missing_left, .. } if bin == 0 => *missing_left,
        SplitAt::Number { bin: last, .. } => bin <= *last,
        SplitAt::Category { set, .. } => set.get(bin as usize / 32).is_some_and(|word| word >> (bin % 32) & 1 == 1),
    }
}

/// The rows of each node after the splits; `bin` gives the bin of a row in a column.
pub(super) fn partition(
    bin: impl Fn(u32, u32) -> u32,
    nodes: &[Vec<u32>],
    splits: &[Option<SplitAt>],
) -> Vec<Vec<u32>> {
    let mut out = Vec::new();
    for (rows, split) in nodes.iter().zip(splits) {
        match split {
            None => out.push(rows.clone()),
            Some(split) => {
                let left = |row: &&u32| goes_left(split, bin(**row, split.feature()));
                out.push(rows.iter().filter(left).copied().collect());
                out.push(rows.iter().filter(|row| !left(row)).copied().collect());
            }
        }
    }
    out
}

/// `scores`, rows of `outputs` numbers, after each row of each node has had the node's value added to one output.
pub(super) fn add_leaf_values(
    scores: &[f32],
    outputs: usize,
    output: usize,
    nodes: &[Vec<u32>],
    values: &[f32],
) -> Vec<f32> {
    let mut out = scores.to_vec();
    for (rows, value) in nodes.iter().zip(values) {
        for row in rows {
            let score = &mut out[*row as usize * outputs + output];
            *score = add(*score, *value, Pins::HOST);
        }
    }
    out
}
