//! The specification of `histograms` and `node_sums`, clause `tree-sums`: one row after another.

use super::Shape;

/// The sums of nodes; `nodes` has the rows of each, `bin` gives the bin of a row in a column.
pub(crate) fn histograms(
    bin: impl Fn(usize, usize) -> usize,
    values: &[i32],
    nodes: &[Vec<u32>],
    shape: Shape,
) -> Vec<i64> {
    let mut sums = vec![0i64; nodes.len() * shape.cells()];
    for (node, rows) in nodes.iter().enumerate() {
        for row in rows {
            let row = *row as usize;
            for col in 0..shape.cols {
                let cell = node * shape.cells() + (shape.starts[col] + bin(row, col)) * shape.channels;
                for c in 0..shape.channels {
                    sums[cell + c] += i64::from(values[row * shape.channels + c]);
                }
            }
        }
    }
    sums
}

/// The sums of the rows of each node.
pub(crate) fn node_sums(values: &[i32], nodes: &[Vec<u32>], channels: usize) -> Vec<i64> {
    let mut sums = vec![0i64; nodes.len() * channels];
    for (node, rows) in nodes.iter().enumerate() {
        for row in rows {
            for c in 0..channels {
                sums[node * channels + c] += i64::from(values[*row as usize * channels + c]);
            }
        }
    }
    sums
}
