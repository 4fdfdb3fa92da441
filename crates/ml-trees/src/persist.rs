//! The model file of an ensemble.
//!
//! Nodes of all trees lie one after the other, a number a node in each array. Floats that need not be canonical are
//! kept as their bits: thresholds, gains and covers of other libraries, and binary64 values.

use std::sync::Arc;

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{ModelError, Result};
use ml_kernels::traits::Persist;
use serde_json::json;

use crate::ensemble::{Aggregate, Arithmetic, Ensemble, Input, Node, Tree, View};

/// Kinds of nodes, in the `kind` array; [`MISSING_LEFT`] is added to it.
const LEAF: u32 = 0;
const NUMBER: u32 = 1;
const CATEGORY: u32 = 2;
const MISSING_LEFT: u32 = 4;

/// Kinds of views, in the `input_view` array.
const SAME: u32 = 0;
const ZERO_MISSING: u32 = 1;
const CATEGORY_POSITIVE: u32 = 2;
const CATEGORY_WHOLE: u32 = 3;
const POSITION: u32 = 4;

/// The arrays of nodes.
#[derive(Default)]
struct Nodes {
    kind: Vec<u32>,
    feature: Vec<u32>,
    left: Vec<u32>,
    right: Vec<u32>,
    /// Bits of a threshold, or the words of a set.
    ask: Vec<u32>,
    gain: Vec<u32>,
    cover: Vec<u32>,
    sets: Vec<u32>,
}

impl Nodes {
    fn push(&mut self, kind: u32, numbers: [u32; 4], gain: f32, cover: f32) {
        let [feature, left, right, ask] = numbers;
        self.kind.push(kind);
        self.feature.push(feature);
        self.left.push(left);
        self.right.push(right);
        self.ask.push(ask);
        self.gain.push(gain.to_bits());
        self.cover.push(cover.to_bits());
    }
}

impl Persist for Ensemble {
    const KIND: &'static str = "TreeEnsemble";

    fn to_writer(&self) -> Result<ModelWriter> {
        let mut nodes = Nodes::default();
        let (mut counts, mut leaves, mut outputs, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for tree in self.trees() {
            counts.push(tree.nodes().len() as u32);
            outputs.push(tree.outputs() as u32);
            leaves.push((tree.values().len() / tree.outputs()) as u32);
            values.extend(tree.values().iter().map(|v| v.to_bits()));
            for node in tree.nodes() {
                let side = |missing_left: &bool| if *missing_left { MISSING_LEFT } else { 0 };
                match node {
                    Node::Leaf { leaf, cover } => nodes.push(LEAF, [0, *leaf, 0, 0], 0.0, *cover),
                    Node::Number { feature, threshold, left, right, missing_left, gain, cover } => {
                        let numbers = [*feature, *left, *right, threshold.to_bits()];
                        nodes.push(NUMBER + side(missing_left), numbers, *gain, *cover);
                    }
                    Node::Category { feature, set, left, right, missing_left, gain, cover } => {
                        let numbers = [*feature, *left, *right, set.len() as u32];
                        nodes.push(CATEGORY + side(missing_left), numbers, *gain, *cover);
                        nodes.sets.extend_from_slice(set);
                    }
                }
            }
        }
        let (mut columns, mut views, mut lengths, mut tables) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for input in self.inputs() {
            columns.push(input.column);
            let mut length = 0;
            views.push(match &input.view {
                View::Same => SAME,
                View::ZeroMissing => ZERO_MISSING,
                View::Category { whole: false } => CATEGORY_POSITIVE,
                View::Category { whole: true } => CATEGORY_WHOLE,
                View::Position(table) => {
                    length = table.len() as u32;
                    tables.extend(table.iter().map(|t| t.to_bits()));
                    POSITION
                }
            });
            lengths.push(length);
        }
        let (aggregate, factor) = match self.aggregate() {
            Aggregate::Sum => ("sum", 1.0f64),
            Aggregate::Scaled { scale } => ("scaled", scale),
            Aggregate::Mean { divisor } => ("mean", divisor),
            Aggregate::Min => ("min", 1.0),
            Aggregate::Max => ("max", 1.0),
        };
        let arithmetic = match self.arithmetic() {
            Arithmetic::Single => "single",
            Arithmetic::Double => "double",
        };
        let base: Vec<u64> = self.base().iter().map(|b| b.to_bits()).collect();
        let params = json!({"features": self.features(), "arithmetic": arithmetic, "aggregate": aggregate});
        let mut writer = ModelWriter::new(Self::KIND, params);
        for (name, array) in [
            ("tree.nodes", &counts),
            ("tree.leaves", &leaves),
            ("tree.outputs", &outputs),
            ("tree.first_output", &self.first_output().to_vec()),
            ("node.kind", &nodes.kind),
            ("node.feature", &nodes.feature),
            ("node.left", &nodes.left),
            ("node.right", &nodes.right),
            ("node.ask", &nodes.ask),
            ("node.gain", &nodes.gain),
            ("node.cover", &nodes.cover),
            ("node.sets", &nodes.sets),
            ("input.column", &columns),
            ("input.view", &views),
            ("input.length", &lengths),
            ("input.tables", &tables),
        ] {
            writer = writer.u32(name, &[array.len()], array);
        }
        Ok(writer.u64("values", &[values.len()], &values).u64("base", &[base.len()], &base).u64(
            "factor",
            &[1],
            &[factor.to_bits()],
        ))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let malformed = |reason: &str| -> ml_core::Error {
            ModelError::Malformed { path: file.path().to_owned(), reason: reason.to_owned() }.into()
        };
        let words = |name: &str| Ok::<_, ml_core::Error>(file.u32(name, &[ANY])?.data);
        let doubles = |name: &str| -> Result<Vec<f64>> {
            Ok(file.u64(name, &[ANY])?.data.into_iter().map(f64::from_bits).collect())
        };
        let (counts, leaves) = (words("tree.nodes")?, words("tree.leaves")?);
        let (outputs, first_output) = (words("tree.outputs")?, words("tree.first_output")?);
        let kind = words("node.kind")?;
        let same = |name: &str| Ok::<_, ml_core::Error>(file.u32(name, &[kind.len()])?.data);
        let (feature, left, right) = (same("node.feature")?, same("node.left")?, same("node.right")?);
        let (ask, gain, cover) = (same("node.ask")?, same("node.gain")?, same("node.cover")?);
        let (sets, values) = (words("node.sets")?, doubles("values")?);
        if [leaves.len(), outputs.len(), first_output.len()].iter().any(|n| *n != counts.len()) {
            return Err(malformed("arrays of trees differ in length"));
        }

        let (mut node, mut set, mut value) = (0usize, 0usize, 0usize);
        let mut trees = Vec::with_capacity(counts.len());
        for (t, count) in counts.iter().enumerate() {
            // A count beyond the arrays ends the tree early; the lengths are compared below.
            let end = node.saturating_add(*count as usize);
            if end > kind.len() {
                return Err(malformed("trees have more nodes than there are"));
            }
            let mut nodes = Vec::with_capacity(*count as usize);
            for at in node..end {
                let (gain, cover) = (f32::from_bits(gain[at]), f32::from_bits(cover[at]));
                let (feature, left, right) = (feature[at], left[at], right[at]);
                let missing_left = kind[at] & MISSING_LEFT != 0;
                nodes.push(match kind[at] {
                    LEAF => Node::Leaf { leaf: left, cover },
                    k if k == NUMBER || k == NUMBER + MISSING_LEFT => {
                        let threshold = f32::from_bits(ask[at]);
                        Node::Number { feature, threshold, left, right, missing_left, gain, cover }
                    }
                    k if k == CATEGORY || k == CATEGORY + MISSING_LEFT => {
                        let next = set.saturating_add(ask[at] as usize);
                        let held = sets.get(set..next).ok_or_else(|| malformed("a set ends beyond all sets"))?;
                        set = next;
                        Node::Category { feature, set: Arc::from(held), left, right, missing_left, gain, cover }
                    }
                    _ => return Err(malformed("a node is of no known kind")),
                });
            }
            node = end;
            let next = (leaves[t] as usize).checked_mul(outputs[t] as usize).and_then(|n| value.checked_add(n));
            let own = next.and_then(|next| values.get(value..next)).ok_or_else(|| malformed("values are too few"))?;
            value += own.len();
            trees.push(Tree::new(nodes, own.to_vec(), outputs[t] as usize)?);
        }

        let views = words("input.view")?;
        let each = |name: &str| Ok::<_, ml_core::Error>(file.u32(name, &[views.len()])?.data);
        let (columns, lengths, tables) = (each("input.column")?, each("input.length")?, words("input.tables")?);
        let mut table = 0usize;
        let mut inputs = Vec::with_capacity(views.len());
        for (at, view) in views.iter().enumerate() {
            let next = table.saturating_add(lengths[at] as usize);
            let held = tables.get(table..next).ok_or_else(|| malformed("a table ends beyond all tables"))?;
            table = next;
            let view = match *view {
                SAME => View::Same,
                ZERO_MISSING => View::ZeroMissing,
                CATEGORY_POSITIVE => View::Category { whole: false },
                CATEGORY_WHOLE => View::Category { whole: true },
                POSITION => View::Position(held.iter().map(|t| f32::from_bits(*t)).collect()),
                _ => return Err(malformed("a view is of no known kind")),
            };
            inputs.push(Input { column: columns[at], view });
        }

        let features = usize::try_from(file.param_u64("features")?).map_err(|_| malformed("features overflow"))?;
        let arithmetic = match file.param_str("arithmetic")? {
            "single" => Arithmetic::Single,
            "double" => Arithmetic::Double,
            _ => return Err(malformed("no known arithmetic")),
        };
        let factor = file.u64("factor", &[1])?.data.first().copied().map_or(1.0, f64::from_bits);
        let aggregate = match file.param_str("aggregate")? {
            "sum" => Aggregate::Sum,
            "scaled" => Aggregate::Scaled { scale: factor },
            "mean" => Aggregate::Mean { divisor: factor },
            "min" => Aggregate::Min,
            "max" => Aggregate::Max,
            _ => return Err(malformed("no known aggregate")),
        };
        let asked = if inputs.is_empty() { features } else { inputs.len() };
        let mut ensemble = Ensemble::new(trees, first_output, doubles("base")?, asked, arithmetic)?;
        if !inputs.is_empty() {
            ensemble = ensemble.with_inputs(features, inputs)?;
        }
        ensemble = ensemble.with_aggregate(aggregate)?;
        // One model, one file: this also finds what was left over above.
        if ensemble.to_bytes()? != file.as_bytes() {
            return Err(malformed("the model is not written as this format writes it"));
        }
        Ok(ensemble)
    }
}
