//! ONNX models with one `TreeEnsembleRegressor` or `TreeEnsembleClassifier` of `ai.onnx.ml`.
//!
//! # Arithmetic
//! Everything is binary32. The score of a target is a sum, +0 first, then trees in order, then the base (`SUM`); the
//! sum over the number of trees, then the base (`AVERAGE`); the least or the greatest value, then the base (`MIN`,
//! `MAX`). That is ONNX Runtime's order; on several threads it splits long ensembles over few rows, and its own sums
//! then depend on the number of threads.
//!
//! # What is read
//! All node modes (`BRANCH_LEQ`, `BRANCH_LT`, `BRANCH_GTE`, `BRANCH_GT`, `BRANCH_EQ`, `BRANCH_NEQ`, `LEAF`), missing
//! values that track true, `post_transform` `NONE`, `LOGISTIC` and `SOFTMAX`. The ensemble must be asked of the graph's
//! input itself; what the graph makes of its output (labels, maps) is not read. A classifier gives its scores.
//! Attributes of binary64 (`…_as_tensor`), `SOFTMAX_ZERO`, `PROBIT` and the newer operator `TreeEnsemble` are refused
//! by name.

use std::collections::{BTreeMap, BTreeSet};

use ml_core::canon::canon;
use ml_core::{DataError, Result};

use super::plant::{Asked, Inputs, MOST_COLUMNS, MOST_OUTPUTS, Sets, What, below, plant};
use super::protobuf::{Wire, fields};
use super::{Imported, Link, malformed, not_offered};
use crate::ensemble::{Aggregate, Arithmetic, Ensemble, Tree, View};

/// What is read of a node of the graph.
#[derive(Default)]
struct Operator<'a> {
    kind: &'a str,
    inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
    attributes: Vec<&'a [u8]>,
}

/// The attributes of a tree ensemble.
#[derive(Default)]
struct Attributes<'a> {
    ints: BTreeMap<&'a str, Vec<i64>>,
    floats: BTreeMap<&'a str, Vec<f32>>,
    texts: BTreeMap<&'a str, Vec<&'a [u8]>>,
}

/// Reads a model from the bytes of an `.onnx` file.
///
/// # Errors
/// [`ml_core::ModelError::Malformed`] for a file that is no such model, [`ml_core::ParamError::NotOffered`] for what
/// the module says is refused, [`DataError::TooLarge`] for leaves with very many values, and those of [`Tree::new`] and
/// [`Ensemble::new`].
///
/// # Bit identity
/// Raw scores are those of ONNX Runtime on one thread.
pub fn from_bytes(bytes: &[u8]) -> Result<Imported> {
    let mut graph = None;
    for field in fields(bytes) {
        if let (7, wire) = field? {
            graph = Some(wire.bytes()?);
        }
    }
    let graph = graph.ok_or_else(|| malformed("no graph"))?;
    let (mut operators, mut widths) = (Vec::new(), BTreeMap::new());
    for field in fields(graph) {
        match field? {
            (1, wire) => operators.push(operator(wire.bytes()?)?),
            (11, wire) => {
                let (name, kind, width) = graph_input(wire.bytes()?)?;
                widths.insert(name, (kind, width));
            }
            _ => {}
        }
    }
    let trees = |o: &&Operator<'_>| o.kind.starts_with("TreeEnsemble");
    let mut found = operators.iter().filter(trees);
    let (Some(ensemble), None) = (found.next(), found.next()) else {
        return Err(malformed("the graph has no tree ensemble, or several"));
    };
    let input = ensemble.inputs.first().copied().unwrap_or_default();
    if let Some(before) = operators.iter().find(|o| o.outputs.contains(&input)) {
        return Err(not_offered("operator", before.kind, "a tree ensemble that is asked of the graph's input"));
    }
    let (kind, width) = widths.get(input).copied().unwrap_or((1, 0));
    if kind != 1 {
        return Err(not_offered("input type", kind.to_string(), "tensor(float), type 1"));
    }
    let attributes = Attributes::read(&ensemble.attributes)?;
    match ensemble.kind {
        "TreeEnsembleRegressor" => regressor(&attributes, width),
        "TreeEnsembleClassifier" => classifier(&attributes, width),
        other => Err(not_offered("operator", other, "TreeEnsembleRegressor or TreeEnsembleClassifier")),
    }
}

fn operator(bytes: &[u8]) -> Result<Operator<'_>> {
    let mut operator = Operator::default();
    for field in fields(bytes) {
        match field? {
            (1, wire) => operator.inputs.push(wire.text()?),
            (2, wire) => operator.outputs.push(wire.text()?),
            (4, wire) => operator.kind = wire.text()?,
            (5, wire) => operator.attributes.push(wire.bytes()?),
            _ => {}
        }
    }
    Ok(operator)
}

/// The last field `number` of a message that is itself a message.
fn message(bytes: &[u8], number: u64) -> Result<&[u8]> {
    let mut found: &[u8] = &[];
    for field in fields(bytes) {
        match field? {
            (n, wire @ Wire::Bytes(_)) if n == number => found = wire.bytes()?,
            _ => {}
        }
    }
    Ok(found)
}

/// Name, type of the elements and columns of an input; no columns where the file does not say.
fn graph_input(bytes: &[u8]) -> Result<(&str, i64, usize)> {
    let name = std::str::from_utf8(message(bytes, 1)?).map_err(|_| malformed("a name that is no UTF-8"))?;
    let tensor = message(message(bytes, 2)?, 1)?;
    let (mut kind, mut columns) = (1, 0);
    for field in fields(tensor) {
        match field? {
            (1, wire) => kind = wire.int()?,
            (2, shape) => {
                for field in fields(message(shape.bytes()?, 1)?) {
                    if let (1, wire) = field? {
                        columns = usize::try_from(wire.int()?).unwrap_or(0);
                    }
                }
            }
            _ => {}
        }
    }
    Ok((name, kind, columns))
}

impl<'a> Attributes<'a> {
    fn read(listed: &[&'a [u8]]) -> Result<Self> {
        let mut attributes = Attributes::default();
        for bytes in listed {
            let name = std::str::from_utf8(message(bytes, 1)?).map_err(|_| malformed("a name that is no UTF-8"))?;
            let (mut ints, mut floats, mut texts) = (Vec::new(), Vec::new(), Vec::new());
            for field in fields(bytes) {
                match field? {
                    (2 | 7, wire) => wire.singles(&mut floats)?,
                    (3 | 8, wire) => wire.ints(&mut ints)?,
                    (4 | 9, wire) => texts.push(wire.bytes()?),
                    (5, _) => return Err(not_offered("attribute", name, "attributes of binary32")),
                    _ => {}
                }
            }
            attributes.ints.insert(name, ints);
            attributes.floats.insert(name, floats);
            attributes.texts.insert(name, texts);
        }
        Ok(attributes)
    }

    fn ints(&self, name: &str) -> &[i64] {
        self.ints.get(name).map_or(&[], Vec::as_slice)
    }

    fn floats(&self, name: &str) -> &[f32] {
        self.floats.get(name).map_or(&[], Vec::as_slice)
    }

    fn text(&self, name: &str) -> Option<&'a [u8]> {
        self.texts.get(name).and_then(|texts| texts.first().copied())
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn regressor(attributes: &Attributes<'_>, width: usize) -> Result<Imported> {
    let targets = attributes.ints("n_targets").first().map_or(Ok(1), |n| usize::try_from(*n));
    let targets = targets.ok().filter(|n| (1..=MOST_OUTPUTS).contains(n));
    let targets = targets.ok_or_else(|| malformed("`n_targets` is out of range"))?;
    let table = Table::read(attributes, "target", targets)?;
    let aggregate = match attributes.text("aggregate_function").unwrap_or(b"SUM") {
        b"SUM" => Aggregate::Scaled { scale: 1.0 },
        b"AVERAGE" => Aggregate::Mean { divisor: table.roots.len().max(1) as f64 },
        b"MIN" => Aggregate::Min,
        b"MAX" => Aggregate::Max,
        other => return Err(not_offered("aggregate_function", shown(other), "SUM, AVERAGE, MIN or MAX")),
    };
    let base = base(attributes, targets)?;
    let ensemble = table.ensemble(aggregate, base, width)?;
    Ok(Imported { ensemble, link: link(attributes)?, objective: String::new(), feature_names: Vec::new() })
}

fn classifier(attributes: &Attributes<'_>, width: usize) -> Result<Imported> {
    let numbers = attributes.ints("classlabels_int64s").len();
    let texts = attributes.texts.get("classlabels_strings").map_or(0, Vec::len);
    let classes = numbers.max(texts);
    if !(1..=MOST_OUTPUTS).contains(&classes) {
        return Err(malformed(format!("{classes} class labels")));
    }
    let ids: BTreeSet<i64> = attributes.ints("class_ids").iter().copied().collect();
    let base_values = attributes.floats("base_values").len();
    // ONNX does not say what two bases of two classes are, and ONNX Runtime takes the one for the other.
    if classes == 2 && base_values > usize::from(ids.first() == Some(&0) && ids.len() == 1) {
        return Err(not_offered("base_values", format!("{base_values} of two classes"), "none"));
    }
    // Weights of the second class alone are its score, and the first has 0.
    if classes != 2 || ids.len() > 1 || ids.first() == Some(&1) {
        let table = Table::read(attributes, "class", classes)?;
        let ensemble = table.ensemble(Aggregate::Scaled { scale: 1.0 }, base(attributes, classes)?, width)?;
        return Ok(Imported { ensemble, link: link(attributes)?, objective: String::new(), feature_names: Vec::new() });
    }
    // Two classes, and weights of one: that score stands for both.
    if ids.first().is_some_and(|id| !(0..2).contains(id)) {
        return Err(malformed("`class_ids` are out of range"));
    }
    let mut table = Table::read(attributes, "class", 2)?;
    for leaf in &mut table.leaves {
        for (id, _) in leaf {
            *id = 0;
        }
    }
    table.outputs = 1;
    let base = attributes.floats("base_values").first().copied().unwrap_or(0.0);
    let positive = attributes.floats("class_weights").iter().all(|w| *w >= 0.0);
    let link = match (link(attributes)?, positive) {
        (Link::Identity, true) => Link::Complement,
        (Link::Identity, false) => Link::Opposite,
        (Link::Sigmoid { .. }, false) => Link::OppositeSigmoid,
        _ => {
            return Err(not_offered("post_transform", "SOFTMAX, or LOGISTIC of positive weights of one class", "NONE"));
        }
    };
    let ensemble = table.ensemble(Aggregate::Scaled { scale: 1.0 }, vec![f64::from(base)], width)?;
    Ok(Imported { ensemble, link, objective: String::new(), feature_names: Vec::new() })
}

fn base(attributes: &Attributes<'_>, outputs: usize) -> Result<Vec<f64>> {
    match attributes.floats("base_values") {
        [] => Ok(vec![0.0; outputs]),
        listed if listed.len() == outputs => Ok(listed.iter().map(|b| f64::from(*b)).collect()),
        listed => Err(malformed(format!("{} base values for {outputs} outputs", listed.len()))),
    }
}

fn link(attributes: &Attributes<'_>) -> Result<Link> {
    match attributes.text("post_transform").unwrap_or(b"NONE") {
        b"NONE" => Ok(Link::Identity),
        b"LOGISTIC" => Ok(Link::Sigmoid { scale: 1.0 }),
        b"SOFTMAX" => Ok(Link::Softmax),
        other => Err(not_offered("post_transform", shown(other), "NONE, LOGISTIC or SOFTMAX")),
    }
}

/// How a node decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Leaf,
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
    Other,
}

/// All nodes of all trees, as the attributes list them.
struct Table<'t> {
    modes: Vec<Mode>,
    columns: &'t [i64],
    values: &'t [f32],
    yes: &'t [i64],
    no: &'t [i64],
    yes_missing: &'t [i64],
    tree: &'t [i64],
    /// Where a node is listed, by tree and number.
    place: BTreeMap<(i64, i64), usize>,
    /// The first node of each tree.
    roots: Vec<usize>,
    /// What a leaf gives: outputs and values.
    leaves: Vec<Vec<(usize, f32)>>,
    weights: usize,
    outputs: usize,
}

impl<'t> Table<'t> {
    fn read(attributes: &'t Attributes<'_>, target: &str, outputs: usize) -> Result<Self> {
        let modes = attributes.texts.get("nodes_modes").map_or(&[][..], Vec::as_slice);
        let modes: Vec<Mode> = modes
            .iter()
            .map(|mode| match *mode {
                b"LEAF" => Ok(Mode::Leaf),
                b"BRANCH_LEQ" => Ok(Mode::AtMost),
                b"BRANCH_LT" => Ok(Mode::Below),
                b"BRANCH_GTE" => Ok(Mode::AtLeast),
                b"BRANCH_GT" => Ok(Mode::Above),
                b"BRANCH_EQ" => Ok(Mode::Equal),
                b"BRANCH_NEQ" => Ok(Mode::Other),
                other => Err(not_offered("nodes_modes", shown(other), "a mode of ai.onnx.ml 3")),
            })
            .collect::<Result<_>>()?;
        let (tree, number) = (attributes.ints("nodes_treeids"), attributes.ints("nodes_nodeids"));
        let count = modes.len();
        let (columns, values) = (attributes.ints("nodes_featureids"), attributes.floats("nodes_values"));
        let (yes, no) = (attributes.ints("nodes_truenodeids"), attributes.ints("nodes_falsenodeids"));
        if [tree.len(), number.len(), columns.len(), values.len(), yes.len(), no.len()].iter().any(|n| *n != count) {
            return Err(malformed("lists of nodes differ in length"));
        }
        let (mut place, mut roots) = (BTreeMap::new(), Vec::new());
        let mut named = BTreeSet::new();
        for at in 0..count {
            if place.insert((tree[at], number[at]), at).is_some() {
                return Err(malformed(format!("tree {} has two nodes {}", tree[at], number[at])));
            }
            if at == 0 || tree[at] != tree[at - 1] {
                roots.push(at);
                if !named.insert(tree[at]) {
                    return Err(malformed(format!("nodes of tree {} are not listed together", tree[at])));
                }
            }
        }
        let listed = |part: &str| attributes.ints(&format!("{target}_{part}"));
        let (ids, trees, nodes) = (listed("ids"), listed("treeids"), listed("nodeids"));
        let weights = attributes.floats(if target == "class" { "class_weights" } else { "target_weights" });
        if [trees.len(), nodes.len(), weights.len()].iter().any(|n| *n != ids.len()) {
            return Err(malformed("lists of leaf values differ in length"));
        }
        let mut leaves = vec![Vec::new(); count];
        for (at, weight) in weights.iter().enumerate() {
            let leaf = place.get(&(trees[at], nodes[at])).and_then(|place| leaves.get_mut(*place));
            let id = usize::try_from(ids[at]).ok().filter(|id| *id < outputs);
            match (leaf, id) {
                (Some(leaf), Some(id)) => leaf.push((id, *weight)),
                _ => return Err(malformed(format!("leaf value {at} is of no node or no output"))),
            }
        }
        let yes_missing = attributes.ints("nodes_missing_value_tracks_true");
        let weights = weights.len();
        Ok(Table { modes, columns, values, yes, no, yes_missing, tree, place, roots, leaves, weights, outputs })
    }

    fn ensemble(self, aggregate: Aggregate, base: Vec<f64>, width: usize) -> Result<Ensemble> {
        let asked = |at: &usize| self.modes[*at] != Mode::Leaf;
        let most = (0..self.modes.len()).filter(asked).map(|at| self.columns[at]).max().unwrap_or(0);
        let columns = usize::try_from(most).ok().map(|most| width.max(most.saturating_add(1)));
        let columns = columns.filter(|c| *c <= MOST_COLUMNS);
        let columns = columns.ok_or_else(|| malformed("a column is out of range"))?;
        // The numbers that a column is compared with for equality.
        let mut equal: BTreeMap<i64, Vec<f32>> = BTreeMap::new();
        for at in (0..self.modes.len()).filter(|at| matches!(self.modes[*at], Mode::Equal | Mode::Other)) {
            if self.values[at].is_nan() {
                return Err(malformed(format!("node {at} asks for a NaN")));
            }
            equal.entry(self.columns[at]).or_default().push(canon(self.values[at]));
        }
        let views: BTreeMap<i64, View> = equal
            .into_iter()
            .map(|(column, mut table)| {
                table.sort_by(f32::total_cmp);
                table.dedup();
                (column, View::Position(table.into()))
            })
            .collect();
        let mut inputs = Inputs::new(columns, views.is_empty());
        let mut sets = Sets::new();
        // ONNX Runtime leaves out the base of an output that none of a row's leaves gives.
        let always = self.always();
        if let Some(output) = (0..base.len()).find(|output| base[*output] != 0.0 && !always.contains(output)) {
            let value = format!("a base of output {output}, which some rows get no value for");
            return Err(not_offered("base_values", value, "one of outputs that every leaf of some tree gives"));
        }
        let (mut trees, mut first_output, mut budget) = (Vec::new(), Vec::new(), 16 * self.weights as u64 + (1 << 20));
        for (t, root) in self.roots.iter().enumerate() {
            let end = self.roots.get(t + 1).copied().unwrap_or(self.modes.len());
            let grown = self.tree(*root, end, aggregate, &views, &mut inputs, &mut sets, &mut budget);
            let (tree, first) = grown.map_err(|e| super::within(e, &format!("tree {}", self.tree[*root])))?;
            trees.push(tree);
            first_output.push(first);
        }
        let ensemble = Ensemble::new(trees, first_output, base, inputs.asked(), Arithmetic::Single)?;
        let ensemble = ensemble.with_aggregate(aggregate)?;
        match inputs.into_inputs() {
            Some((columns, inputs)) => ensemble.with_inputs(columns, inputs),
            None => Ok(ensemble),
        }
    }

    /// Outputs that every leaf of some tree gives.
    fn always(&self) -> BTreeSet<usize> {
        let mut always = BTreeSet::new();
        for (t, root) in self.roots.iter().enumerate() {
            let end = self.roots.get(t + 1).copied().unwrap_or(self.modes.len());
            let (mut leaves, mut given) = (0usize, BTreeMap::new());
            for at in (*root..end).filter(|at| self.modes[*at] == Mode::Leaf) {
                leaves += 1;
                for (id, _) in &self.leaves[at] {
                    *given.entry(*id).or_insert(0usize) += 1;
                }
            }
            always.extend(given.into_iter().filter(|(_, count)| *count == leaves).map(|(id, _)| id));
        }
        always
    }

    /// The tree of the nodes `root..end`, and its first output.
    #[allow(clippy::too_many_arguments)]
    fn tree(
        &self,
        root: usize,
        end: usize,
        aggregate: Aggregate,
        views: &BTreeMap<i64, View>,
        inputs: &mut Inputs,
        sets: &mut Sets,
        budget: &mut u64,
    ) -> Result<(Tree, u32)> {
        let ends: Vec<usize> = (root..end).filter(|at| self.modes[*at] == Mode::Leaf).collect();
        let given = || ends.iter().flat_map(|at| &self.leaves[*at]).map(|(id, _)| *id);
        let (least, most) = (given().min().unwrap_or(0), given().max().unwrap_or(0));
        let wide = most - least + 1;
        *budget = budget.checked_sub((wide * ends.len()) as u64).ok_or(DataError::TooLarge {
            what: "leaf values",
            elements: (wide * ends.len()) as u128,
            limit: u128::from(*budget),
        })?;
        let mut values = vec![0.0; wide * ends.len()];
        let mut number = vec![0u32; end - root];
        for (leaf, at) in ends.iter().enumerate() {
            number[at - root] = leaf as u32;
            let own = &self.leaves[*at];
            let ids: BTreeSet<usize> = own.iter().map(|(id, _)| *id).collect();
            if own.is_empty() || ids.len() != own.len() {
                return Err(malformed(format!("leaf {at} has no value, or two of one output")));
            }
            // An absent value adds nothing to a sum, and is no least or greatest value.
            if own.len() != wide && matches!(aggregate, Aggregate::Min | Aggregate::Max) {
                return Err(malformed(format!("leaf {at} lacks outputs that its tree gives")));
            }
            for (id, weight) in own {
                values[leaf * wide + id - least] = f64::from(*weight);
            }
        }
        let child = |id: i64, at: usize| match self.place.get(&(self.tree[at], id)) {
            Some(place) => Ok((*place - root) as i64),
            None => Err(malformed(format!("node {id} is named and absent"))),
        };
        let tree = plant(0, end - root, values, wide, |at| {
            let (leaf, at) = (number[at], root + at);
            let value = self.values[at];
            let (yes, no) = match self.modes[at] {
                Mode::Leaf => return Ok(Asked::Leaf(leaf, 0.0)),
                _ => (child(self.yes[at], at)?, child(self.no[at], at)?),
            };
            let yes_missing = self.yes_missing.get(at).is_some_and(|tracks| *tracks == 1);
            if value.is_nan() {
                return Err(malformed(format!("node {at} asks for a NaN")));
            }
            let less = || below(value).ok_or_else(|| malformed(format!("node {at} asks for less than all numbers")));
            let (what, left, right, missing_left) = match self.modes[at] {
                Mode::Below => (What::AtMost(less()?), yes, no, yes_missing),
                Mode::AtLeast => (What::AtMost(less()?), no, yes, !yes_missing),
                Mode::Above => (What::AtMost(value), no, yes, !yes_missing),
                Mode::Equal | Mode::Other => {
                    let Some(View::Position(table)) = views.get(&self.columns[at]) else {
                        return Err(malformed("a column of no table"));
                    };
                    let place = table.binary_search_by(|t| t.total_cmp(&canon(value))).unwrap_or(table.len());
                    let set = What::In(sets.of(&[place as u32])?);
                    // A NaN is equal to nothing.
                    if self.modes[at] == Mode::Equal { (set, yes, no, yes_missing) } else { (set, no, yes, false) }
                }
                _ => (What::AtMost(value), yes, no, yes_missing),
            };
            let view = match self.modes[at] {
                Mode::Equal | Mode::Other => views.get(&self.columns[at]).unwrap_or(&View::Same),
                _ => &View::Same,
            };
            let feature = inputs.feature(self.columns[at], view)?;
            Ok(Asked::Split { what, feature, left, right, missing_left, gain: 0.0, cover: 0.0 })
        })?;
        Ok((tree, least as u32))
    }
}
