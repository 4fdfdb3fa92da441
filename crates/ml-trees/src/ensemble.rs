//! A model of trees: what every estimator of this crate gives, and what other people's files become.

use std::sync::Arc;

use ml_core::{DataError, Error, ParamError, Result};

/// What a node asks of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// The end of a path.
    Leaf {
        /// The leaf's row in the tree's [`values`](Tree::values).
        leaf: u32,
        /// Sum of the weights (boosting: of the second derivatives) of the rows that came here while it was grown.
        cover: f32,
    },
    /// `x[feature] <= threshold` goes left.
    Number {
        /// The column asked.
        feature: u32,
        /// The bound. It may be any float but a NaN, a subnormal one too: foreign files have such.
        threshold: f32,
        /// Node on the left.
        left: u32,
        /// Node on the right.
        right: u32,
        /// Where a missing value (NaN) goes.
        missing_left: bool,
        /// What the split gained while it was grown, 0 where nobody knows.
        gain: f32,
        /// As for leaves.
        cover: f32,
    },
    /// A row whose `x[feature]` is the number of a category of the set goes left, every other number right.
    Category {
        /// The column asked.
        feature: u32,
        /// The set: bit c of word c / 32. Categories beyond it are not in it.
        set: Arc<[u32]>,
        /// Node on the left.
        left: u32,
        /// Node on the right.
        right: u32,
        /// Where a missing value (NaN) goes, and what is no category: a negative or broken number.
        missing_left: bool,
        /// What the split gained while it was grown, 0 where nobody knows.
        gain: f32,
        /// As for leaves.
        cover: f32,
    },
}

/// A tree. Node 0 is its root, and every child stands after its parent, so that no walk goes round.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
    values: Vec<f64>,
    outputs: usize,
}

impl Tree {
    /// A tree of `nodes` whose leaf `l` gives `values[l * outputs..][..outputs]`.
    ///
    /// # Errors
    /// [`ParamError::OutOfBound`] without nodes or outputs, for a child that does not stand after its parent or has
    /// another parent, for a leaf beyond `values`, and for a threshold that is a NaN. [`DataError::NonFinite`] for a leaf value that is
    /// not finite; [`DataError::Shape`] for values that are no whole number of leaves.
    pub fn new(nodes: Vec<Node>, values: Vec<f64>, outputs: usize) -> Result<Self> {
        if outputs == 0 || values.len() % outputs != 0 {
            return Err(
                DataError::shape("leaf values", format!("a multiple of {outputs} outputs"), values.len()).into()
            );
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let (row, col) = (at / outputs, at % outputs);
            return Err(DataError::NonFinite { what: "leaf values", row, col, value: values[at] as f32 }.into());
        }
        let refused = |name, bound: &str, value: String| Error::from(ParamError::out_of_bound(name, bound, value));
        if nodes.is_empty() {
            return Err(refused("nodes", ">= 1", "0".to_owned()));
        }
        let mut seen = vec![false; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let mut child = |child: u32| {
                let child = child as usize;
                if child <= at || child >= nodes.len() || std::mem::replace(&mut seen[child], true) {
                    let bound = format!("> {at}, < {}, of one parent", nodes.len());
                    return Err(refused("child", &bound, child.to_string()));
                }
                Ok(())
            };
            match node {
                Node::Leaf { leaf, .. } => {
                    if *leaf as usize >= values.len() / outputs {
                        let bound = format!("< {}", values.len() / outputs);
                        return Err(refused("leaf", &bound, leaf.to_string()));
                    }
                }
                Node::Number { left, right, threshold, .. } => {
                    if threshold.is_nan() {
                        return Err(refused("threshold", "a number", "NaN".to_owned()));
                    }
                    child(*left)?;
                    child(*right)?;
                }
                Node::Category { left, right, .. } => {
                    child(*left)?;
                    child(*right)?;
                }
            }
        }
        Ok(Tree { nodes, values, outputs })
    }

    /// Its nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Values of its leaves, shape (leaves, outputs).
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Values a leaf has.
    pub fn outputs(&self) -> usize {
        self.outputs
    }
}

/// How the values of leaves become a raw score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// Binary32: `base ⊕ value of tree 0 ⊕ value of tree 1 …`, values rounded to binary32 first. On every device.
    Single,
    /// Binary64, in the same order, rounded once at the end. Rows walk on the device, the sums are made on the host.
    Double,
}

/// Trees whose leaf values are summed.
///
/// Tree `t` adds the values of its leaf to outputs `first_output[t]..` of the score.
#[derive(Debug, Clone, PartialEq)]
pub struct Ensemble {
    trees: Vec<Tree>,
    first_output: Vec<u32>,
    base: Vec<f64>,
    features: usize,
    arithmetic: Arithmetic,
}

impl Ensemble {
    /// An ensemble over rows of `features` columns that starts every score at `base`, one value an output.
    ///
    /// # Errors
    /// [`DataError::Shape`] unless there is one `first_output` a tree; [`ParamError::OutOfBound`] for a tree that asks a
    /// column beyond `features` or adds to an output beyond `base`; [`DataError::NonFinite`] for a base that is not finite.
    pub fn new(
        trees: Vec<Tree>,
        first_output: Vec<u32>,
        base: Vec<f64>,
        features: usize,
        arithmetic: Arithmetic,
    ) -> Result<Self> {
        if trees.len() != first_output.len() {
            return Err(DataError::shape("first_output", trees.len(), first_output.len()).into());
        }
        if let Some(col) = base.iter().position(|v| !v.is_finite()) {
            return Err(DataError::NonFinite { what: "base", row: 0, col, value: base[col] as f32 }.into());
        }
        for (tree, first) in trees.iter().zip(&first_output) {
            let last = *first as usize + tree.outputs;
            if last > base.len() {
                return Err(ParamError::out_of_bound("first_output", format!("<= {}", base.len()), last).into());
            }
            for node in &tree.nodes {
                if let Node::Number { feature, .. } | Node::Category { feature, .. } = node
                    && *feature as usize >= features
                {
                    return Err(ParamError::out_of_bound("feature", format!("< {features}"), feature).into());
                }
            }
        }
        Ok(Ensemble { trees, first_output, base, features, arithmetic })
    }

    /// Its trees, in the order in which they are summed.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The first output that each tree adds to.
    pub fn first_output(&self) -> &[u32] {
        &self.first_output
    }

    /// What every score starts from, one value an output.
    pub fn base(&self) -> &[f64] {
        &self.base
    }

    /// Columns of a row.
    pub fn features(&self) -> usize {
        self.features
    }

    /// How leaf values are summed.
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }
}
