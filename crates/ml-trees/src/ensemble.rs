//! A model of trees: what every estimator of this crate gives, and what other people's files become.

use std::sync::Arc;

use ml_core::canon::canon;
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
    ///
    /// Importers see to it that this is asked of whole numbers from 0 on only, through [`View::Category`].
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
    /// another parent, for a leaf beyond `values`, and for a threshold that is a NaN. [`DataError::NonFinite`] for a
    /// leaf value that is not finite; [`DataError::Shape`] for values that are no whole number of leaves.
    pub fn new(mut nodes: Vec<Node>, values: Vec<f64>, outputs: usize) -> Result<Self> {
        if outputs == 0 || !values.len().is_multiple_of(outputs) {
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
        for node in &mut nodes {
            if let Node::Number { threshold, .. } = node {
                // Orders of keys tell the two zeros apart, comparisons of numbers do not: here a zero is +0.
                *threshold += 0.0;
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

/// What is made of the leaf values of a row. Values of an output are taken in tree order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregate {
    /// `base + value 0 + value 1 …`.
    Sum,
    /// `(+0 + value 0 + value 1 …) * scale + base`; without the product where `scale` is 1.
    Scaled {
        /// The factor, finite.
        scale: f64,
    },
    /// `(+0 + value 0 + value 1 …) / divisor + base`.
    Mean {
        /// The divisor, finite and not 0.
        divisor: f64,
    },
    /// The least value, `+ base`.
    Min,
    /// The greatest value, `+ base`.
    Max,
}

/// A column that nodes ask about, made of a column of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The column of the rows.
    pub column: u32,
    /// What nodes see of it.
    pub view: View,
}

/// What nodes see of a column. A NaN stays a NaN in every view.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// The number.
    Same,
    /// NaN where |x| <= 1e-35, the number elsewhere: LightGBM's zeros that count as missing.
    ZeroMissing,
    /// The number of a category. Whole numbers from 0 to 2^24 - 1 stay; the number is cut towards zero first (`whole`:
    /// also between -1 and 0); what is no category becomes 2^24.
    Category {
        /// Whether numbers between -1 and 0 are category 0 (LightGBM) or none (XGBoost).
        whole: bool,
    },
    /// The position of the number in the table, ascending and without repetition; the table's length for any other
    /// number.
    Position(Arc<[f32]>),
}

impl View {
    /// What nodes see of `x`, which is canonical but for NaN and infinities.
    pub fn of(&self, x: f32) -> f32 {
        if x.is_nan() {
            return x;
        }
        match self {
            View::Same => x,
            View::ZeroMissing => {
                if x.abs() <= 1e-35 {
                    f32::NAN
                } else {
                    x
                }
            }
            View::Category { whole } => {
                let first = if *whole { x > -1.0 } else { x >= 0.0 };
                // A cast cuts towards zero; a number between -1 and 0 is cut to the unsigned 0.
                if first && x < NO_CATEGORY { x as u32 as f32 } else { NO_CATEGORY }
            }
            View::Position(table) => match table.binary_search_by(|t| t.total_cmp(&x)) {
                Ok(at) => at as f32,
                Err(_) => table.len() as f32,
            },
        }
    }

    fn check(&self) -> Result<()> {
        let View::Position(table) = self else { return Ok(()) };
        // Canonical as rows are: a -0 or a subnormal would never be found.
        let plain = |t: &f32| !t.is_nan() && canon(*t).to_bits() == t.to_bits();
        let ascending = table.windows(2).all(|w| w[0] < w[1]);
        if !ascending || !table.iter().all(plain) || table.len() > NO_CATEGORY as usize {
            return Err(
                ParamError::out_of_bound("table", "ascending, canonical, at most 2^24 numbers", "another").into()
            );
        }
        Ok(())
    }
}

/// What [`View::Category`] makes of a number that is no category.
pub const NO_CATEGORY: f32 = 16_777_216.0;

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
    aggregate: Aggregate,
    /// What nodes number as features; empty where those are the columns of the rows.
    inputs: Vec<Input>,
}

impl Ensemble {
    /// An ensemble over rows of `features` columns that starts every score at `base`, one value an output.
    ///
    /// # Errors
    /// [`DataError::Shape`] unless there is one `first_output` a tree; [`ParamError::OutOfBound`] for a tree that asks
    /// a column beyond `features` or adds to an output beyond `base`; [`DataError::NonFinite`] for a base that is not
    /// finite.
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
        let (aggregate, inputs) = (Aggregate::Sum, Vec::new());
        Ok(Ensemble { trees, first_output, base, features, arithmetic, aggregate, inputs })
    }

    /// The same trees with another rule for their values; [`Aggregate::Sum`] until then.
    ///
    /// # Errors
    /// [`ParamError::OutOfBound`] for a scale or a divisor that is not finite, and for a divisor of 0.
    pub fn with_aggregate(mut self, aggregate: Aggregate) -> Result<Self> {
        let refused = |name, value: f64| Err(ParamError::out_of_bound(name, "finite, a divisor not 0", value).into());
        match aggregate {
            Aggregate::Scaled { scale } if !scale.is_finite() => return refused("scale", scale),
            Aggregate::Mean { divisor } if !divisor.is_finite() || divisor == 0.0 => {
                return refused("divisor", divisor);
            }
            _ => {}
        }
        self.aggregate = aggregate;
        Ok(self)
    }

    /// The same trees over rows of `columns` columns, of which feature `f` of a node is `inputs[f]`.
    ///
    /// # Errors
    /// [`DataError::Shape`] unless there is one input a feature; [`ParamError::OutOfBound`] for an input of a column
    /// beyond `columns` and for a table that is not ascending.
    pub fn with_inputs(mut self, columns: usize, inputs: Vec<Input>) -> Result<Self> {
        if inputs.len() != self.asked() {
            return Err(DataError::shape("inputs", self.asked(), inputs.len()).into());
        }
        for input in &inputs {
            if input.column as usize >= columns {
                return Err(ParamError::out_of_bound("column", format!("< {columns}"), input.column).into());
            }
            input.view.check()?;
        }
        let same = |(f, input): (usize, &Input)| input.column as usize == f && input.view == View::Same;
        self.inputs = if columns == inputs.len() && inputs.iter().enumerate().all(same) { Vec::new() } else { inputs };
        self.features = columns;
        Ok(self)
    }

    /// The same trees over another base.
    ///
    /// # Errors
    /// [`DataError::Shape`] for another number of outputs, [`DataError::NonFinite`] for a base that is not finite.
    pub fn with_base(self, base: Vec<f64>) -> Result<Self> {
        if base.len() != self.base.len() {
            return Err(DataError::shape("base", self.base.len(), base.len()).into());
        }
        if let Some(col) = base.iter().position(|v| !v.is_finite()) {
            return Err(DataError::NonFinite { what: "base", row: 0, col, value: base[col] as f32 }.into());
        }
        Ok(Ensemble { base, ..self })
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

    /// What is made of the leaf values.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// What nodes number as features; empty where those are the columns of the rows.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Features that nodes may name.
    pub fn asked(&self) -> usize {
        if self.inputs.is_empty() { self.features } else { self.inputs.len() }
    }

    /// Values of a score.
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// How leaf values are summed.
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }
}
