//! Trees from the tables of a file: children are followed from the root, so that nothing goes round.

use std::collections::BTreeMap;
use std::sync::Arc;

use ml_core::{DataError, Result};

use super::malformed;
use crate::ensemble::{Input, Node, Tree, View};

/// Most words of category sets that a model may have: 64 MiB.
const MOST_SET_WORDS: u64 = 1 << 24;

/// Most outputs that a model may have.
pub(super) const MOST_OUTPUTS: usize = 1 << 16;

/// Most columns that a model may have.
pub(super) const MOST_COLUMNS: usize = 1 << 24;

/// A node of a file.
pub(super) enum Asked {
    /// A leaf: its row in the tree's values, and its cover.
    Leaf(u32, f32),
    /// A split.
    Split { what: What, feature: u32, left: i64, right: i64, missing_left: bool, gain: f32, cover: f32 },
}

/// What a split asks.
pub(super) enum What {
    /// `x <= threshold` goes left.
    AtMost(f32),
    /// The categories that go left.
    In(Arc<[u32]>),
}

/// The tree under `root` of `count` nodes, where `ask` says what a node is.
pub(super) fn plant(
    root: i64,
    count: usize,
    values: Vec<f64>,
    outputs: usize,
    mut ask: impl FnMut(usize) -> Result<Asked>,
) -> Result<Tree> {
    let mut seen = vec![false; count];
    let mut order = Vec::new();
    let mut visit = |order: &mut Vec<usize>, at: i64| {
        let known = usize::try_from(at).ok().filter(|at| *at < count);
        let at = known.ok_or_else(|| malformed(format!("node {at} is named, there are {count}")))?;
        if std::mem::replace(&mut seen[at], true) {
            return Err(malformed(format!("node {at} has two parents, or is under itself")));
        }
        order.push(at);
        Ok(())
    };
    visit(&mut order, root)?;
    let mut nodes = Vec::new();
    while let Some(&at) = order.get(nodes.len()) {
        nodes.push(match ask(at)? {
            Asked::Leaf(leaf, cover) => Node::Leaf { leaf, cover },
            Asked::Split { what, feature, left, right, missing_left, gain, cover } => {
                let at = u32::try_from(order.len()).map_err(|_| malformed("a tree of more than 2^32 nodes"))?;
                visit(&mut order, left)?;
                visit(&mut order, right)?;
                let (left, right) = (at, at.wrapping_add(1));
                match what {
                    What::AtMost(threshold) => {
                        Node::Number { feature, threshold, left, right, missing_left, gain, cover }
                    }
                    What::In(set) => Node::Category { feature, set, left, right, missing_left, gain, cover },
                }
            }
        });
    }
    Tree::new(nodes, values, outputs)
}

/// The columns that nodes ask about.
///
/// A model that sees every column as it is numbers features as columns; another numbers them as they come.
pub(super) struct Inputs {
    columns: usize,
    plain: bool,
    inputs: Vec<Input>,
    /// Which input a column is in a view; a column has one view of each sort.
    known: BTreeMap<(u32, u8), u32>,
}

impl Inputs {
    /// Columns of which some view is not [`View::Same`], unless `plain`.
    pub(super) fn new(columns: usize, plain: bool) -> Self {
        Inputs { columns, plain, inputs: Vec::new(), known: BTreeMap::new() }
    }

    /// The feature that is `column` in this view.
    pub(super) fn feature(&mut self, column: i64, view: &View) -> Result<u32> {
        let known = u32::try_from(column).ok().filter(|c| (*c as usize) < self.columns);
        let column = known.ok_or_else(|| malformed(format!("column {column} is asked, there are {}", self.columns)))?;
        if self.plain {
            return Ok(column);
        }
        let sort = match view {
            View::Same => 0,
            View::ZeroMissing => 1,
            View::Category { .. } => 2,
            View::Position(_) => 3,
        };
        let next = self.inputs.len() as u32;
        let feature = *self.known.entry((column, sort)).or_insert(next);
        if feature == next {
            self.inputs.push(Input { column, view: view.clone() });
        }
        Ok(feature)
    }

    /// Features that nodes may name.
    pub(super) fn asked(&self) -> usize {
        if self.plain { self.columns } else { self.inputs.len() }
    }

    /// What the ensemble must be told, unless features are columns.
    pub(super) fn into_inputs(self) -> Option<(usize, Vec<Input>)> {
        (!self.plain).then_some((self.columns, self.inputs))
    }
}

/// What is left of [`MOST_SET_WORDS`].
pub(super) struct Sets(u64);

impl Sets {
    pub(super) fn new() -> Self {
        Sets(MOST_SET_WORDS)
    }

    /// The set of these categories, each below 2^24.
    pub(super) fn of(&mut self, categories: &[u32]) -> Result<Arc<[u32]>> {
        let words = categories.iter().max().map_or(0, |most| *most as usize / 32 + 1);
        // Lists of several nodes may be one part of the file: they are paid for each time.
        self.spend(words + categories.len() / 32)?;
        let mut set = vec![0u32; words];
        for c in categories {
            set[*c as usize / 32] |= 1 << (c % 32);
        }
        Ok(set.into())
    }

    /// The set that these words are.
    pub(super) fn held(&mut self, words: &[u32]) -> Result<Arc<[u32]>> {
        self.spend(words.len())?;
        Ok(words.into())
    }

    fn spend(&mut self, words: usize) -> Result<()> {
        self.0 = self.0.checked_sub(words as u64).ok_or(DataError::TooLarge {
            what: "category sets",
            elements: u128::from(MOST_SET_WORDS - self.0) + words as u128,
            limit: u128::from(MOST_SET_WORDS),
        })?;
        Ok(())
    }
}

/// The greatest binary32 that is not above `t`, for which `x <= it` says `x <= t` of every binary32 x.
pub(super) fn not_above(t: f64) -> Option<f32> {
    if t.is_nan() {
        return None;
    }
    let near = t as f32;
    Some(if f64::from(near) > t { near.next_down() } else { near })
}

/// The greatest binary32 below `t`, for which `x <= it` says `x < t` of every binary32 x. None below the least.
pub(super) fn below(t: f32) -> Option<f32> {
    (!t.is_nan() && t != f32::NEG_INFINITY).then(|| t.next_down())
}
