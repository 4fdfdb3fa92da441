//! A grown tree, before its leaves have values.

use ml_core::Result;
use ml_kernels::Device;
use ml_kernels::trees::{BinRule, Bins, RowSets, SplitAt, partition};

use crate::ensemble::{Node, Tree};

/// Any value.
const NO_BOUNDS: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// A node of a grown tree.
#[derive(Debug, Clone, PartialEq)]
pub struct GrownNode {
    /// Splits above it.
    pub depth: u32,
    /// Rows in it.
    pub rows: usize,
    /// Sums of its rows, one a channel.
    pub sums: Vec<i64>,
    /// What it asks, if it is no leaf.
    pub split: Option<SplitAt>,
    /// What the split gained.
    pub gain: f32,
    /// Its children; 0 for a leaf.
    pub children: [u32; 2],
    /// Least and greatest value that monotone columns above it allow.
    pub bounds: [f64; 2],
}

impl GrownNode {
    pub(super) fn leaf(depth: u32, rows: usize, sums: Vec<i64>) -> Self {
        GrownNode { depth, rows, sums, split: None, gain: 0.0, children: [0; 2], bounds: NO_BOUNDS }
    }
}

/// A tree and where the rows that it was grown on ended.
#[derive(Debug)]
pub struct Grown {
    /// Nodes; 0 is the root, children come after their parent.
    pub nodes: Vec<GrownNode>,
    /// Rows of each leaf.
    pub rows: RowSets,
    /// The leaf's node for each set of rows.
    pub leaves: Vec<u32>,
}

impl Grown {
    /// The sets of `rows`, one set at first, after every split of the tree, and the leaf's node of each.
    ///
    /// # Errors
    /// Those of [`partition`].
    pub fn follow(&self, device: &Device, bins: &Bins, mut rows: RowSets) -> Result<(RowSets, Vec<u32>)> {
        let mut at = vec![0u32];
        loop {
            let split = |n: &u32| self.nodes.get(*n as usize).and_then(|node| node.split.clone());
            let splits: Vec<Option<SplitAt>> = at.iter().map(split).collect();
            if splits.iter().all(Option::is_none) {
                return Ok((rows, at));
            }
            rows = partition(device, bins, rows, &splits)?;
            let next = |(n, split): (&u32, &Option<SplitAt>)| match split {
                Some(_) => self.nodes[*n as usize].children.to_vec(),
                None => vec![*n],
            };
            at = at.iter().zip(&splits).flat_map(next).collect();
        }
    }

    /// The tree as others walk it. `values` are those of the leaves in the order of [`Grown::leaves`]; `cover` is the one of
    /// each node.
    ///
    /// # Errors
    /// Those of [`Tree::new`].
    pub fn to_tree(&self, rules: &[BinRule], values: &[f32], cover: impl Fn(&GrownNode) -> f32) -> Result<Tree> {
        let mut leaf = vec![0u32; self.nodes.len()];
        (0u32..).zip(&self.leaves).for_each(|(at, node)| leaf[*node as usize] = at);
        let nodes = self.nodes.iter().enumerate().map(|(at, node)| {
            let (cover, gain, [left, right]) = (cover(node), node.gain, node.children);
            match &node.split {
                None => Node::Leaf { leaf: leaf[at], cover },
                Some(SplitAt::Number { feature, bin, missing_left }) => {
                    let threshold = threshold(rules.get(*feature as usize), *bin);
                    let (feature, missing_left) = (*feature, *missing_left);
                    Node::Number { feature, threshold, left, right, missing_left, gain, cover }
                }
                Some(SplitAt::Category { feature, set, missing_left }) => {
                    let set = categories(rules.get(*feature as usize), set).into();
                    let (feature, missing_left) = (*feature, *missing_left);
                    Node::Category { feature, set, left, right, missing_left, gain, cover }
                }
            }
        });
        Tree::new(nodes.collect(), values.iter().map(|v| f64::from(*v)).collect(), 1)
    }
}

/// The bound of bins `1..=bin`: infinity where every number is in them.
fn threshold(rule: Option<&BinRule>, bin: u32) -> f32 {
    match rule {
        Some(BinRule::Number { edges }) => edges.get((bin as usize).wrapping_sub(1)).copied().unwrap_or(f32::INFINITY),
        _ => f32::INFINITY,
    }
}

/// The categories whose bin is in `set`.
fn categories(rule: Option<&BinRule>, set: &[u32]) -> Vec<u32> {
    let Some(BinRule::Category { codes }) = rule else { return Vec::new() };
    let mut out = vec![0u32; codes.len().div_ceil(32)];
    for (number, code) in codes.iter().enumerate() {
        let bin = *code as usize + 1;
        if set.get(bin / 32).is_some_and(|word| word >> (bin % 32) & 1 == 1) {
            out[number / 32] |= 1 << (number % 32);
        }
    }
    out
}
