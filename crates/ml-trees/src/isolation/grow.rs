//! One isolation tree: random columns, cut at random between the least and the greatest value of a node's rows.

use ml_core::{Matrix, Result};

use super::average_path;
use super::params::Plan;
use crate::double::single;
use crate::draw::{Draws, Purpose, place};
use crate::ensemble::{Node, Tree};

/// What all trees share.
pub(super) struct Shape {
    max_samples: u32,
    max_features: u32,
    bootstrap: bool,
    /// Depth from which on nothing is cut: ⌈log2 max_samples⌉, at least 1.
    max_depth: u32,
}

impl Shape {
    pub fn of(plan: &Plan, x: &Matrix) -> Self {
        let samples = plan.max_samples.min(x.rows()) as u32;
        Shape {
            max_samples: samples,
            max_features: plan.max_features as u32,
            bootstrap: plan.bootstrap,
            max_depth: u32::BITS - (samples.max(2) - 1).leading_zeros(),
        }
    }
}

/// A node whose rows are not cut yet.
struct Open {
    rows: std::ops::Range<usize>,
    depth: u32,
    /// The split above, and whether this is its left child.
    above: Option<(usize, bool)>,
}

/// Tree number `tree`.
pub(super) fn grow(x: &Matrix, shape: &Shape, seed: u64, tree: u32) -> Result<Tree> {
    let draws = Draws::new(seed, tree);
    let n = x.rows() as u32;
    let mut rows = if shape.bootstrap {
        let mut rows: Vec<u32> = (0..shape.max_samples).map(|i| draws.below(Purpose::Rows, u64::from(i), n)).collect();
        rows.sort_unstable();
        rows
    } else {
        draws.sample(Purpose::Rows, n, shape.max_samples)
    };
    let mut columns = draws.sample(Purpose::TreeColumns, x.cols() as u32, shape.max_features);

    let mut nodes: Vec<Node> = Vec::new();
    let mut lengths = Vec::new();
    let mut open = vec![Open { rows: 0..rows.len(), depth: 0, above: None }];
    while let Some(Open { rows: span, depth, above }) = open.pop() {
        let at = nodes.len();
        if let Some((parent, is_left)) = above
            && let Node::Number { left, right, .. } = &mut nodes[parent]
        {
            *(if is_left { left } else { right }) = at as u32;
        }
        let count = span.len();
        let cover = count as f32;
        let here = &mut rows[span.clone()];
        let cut = if depth < shape.max_depth && count >= 2 { cut(x, here, &mut columns, &draws, at) } else { None };
        let Some((feature, threshold)) = cut else {
            nodes.push(Node::Leaf { leaf: lengths.len() as u32, cover });
            lengths.push(f64::from(depth) + average_path(count));
            continue;
        };
        let middle = span.start + part(here, |row| x.row(row as usize)[feature as usize] <= threshold);
        nodes.push(Node::Number { feature, threshold, left: 0, right: 0, missing_left: false, gain: 0.0, cover });
        open.push(Open { rows: middle..span.end, depth: depth + 1, above: Some((at, false)) });
        open.push(Open { rows: span.start..middle, depth: depth + 1, above: Some((at, true)) });
    }
    Tree::new(nodes, lengths, 1)
}

/// Where node `node` is cut: the first column in a random order whose values differ, at a random place between the least
/// and the greatest.
fn cut(x: &Matrix, rows: &[u32], columns: &mut [u32], draws: &Draws, node: usize) -> Option<(u32, f32)> {
    // The order starts from ascending columns in every node, whatever nodes before it did.
    columns.sort_unstable();
    for j in 0..columns.len() {
        let left = (columns.len() - j) as u32;
        columns.swap(j, j + draws.below(Purpose::NodeColumns, place(node, j), left) as usize);
        let feature = columns[j];
        let value = |row: &u32| x.row(*row as usize)[feature as usize];
        let first = value(rows.first()?);
        let (low, high) = rows.iter().map(value).fold((first, first), |(l, h), v| (l.min(v), h.max(v)));
        if low < high {
            return Some((feature, between(low, high, draws.unit(Purpose::Threshold, place(node, 0)))));
        }
    }
    None
}

/// The number at part `u` of the way from `low` to `high`, rounded once; `low` where that reaches `high`.
pub(crate) fn between(low: f32, high: f32, u: f64) -> f32 {
    let at = single(f64::from(low) + u * (f64::from(high) - f64::from(low)));
    if at >= high { low } else { at }
}

/// Moves the rows that `goes_left` to the front; how many they are. Their order does not matter here: nothing is summed.
fn part(rows: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let mut left = 0;
    for i in 0..rows.len() {
        if goes_left(rows[i]) {
            rows.swap(left, i);
            left += 1;
        }
    }
    left
}
