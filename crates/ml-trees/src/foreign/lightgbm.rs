//! LightGBM models: the text that `save_model` writes, format v2 and later.
//!
//! # Arithmetic
//! A split asks `x <= threshold` with a binary64 threshold; for binary32 rows that is the greatest binary32 not above
//! it. The score of a class is a binary64 sum, +0 first, then its trees in order; a random forest (`average_output`)
//! divides it by the number of iterations (LightGBM calls the sum its raw score, and divides it in predictions). What
//! `boost_from_average` found is in the leaves of the first trees. Shrinkage is in the leaf values already.
//!
//! Numbers of the text are rounded correctly here. LightGBM's own reader may be an ulp off below about 1e-22, so that a
//! row that holds exactly -1e-35 (the bound of its zero bin) can go another way there than it went in training.
//!
//! # Missing values
//! By the split's type: `None`: a NaN counts as 0. `Zero`: a NaN and every |x| <= 1e-35 go the default way. `NaN`: a
//! NaN goes the default way. Categories are numbers cut towards zero; those in the bitset go left, every other one, a
//! negative one and a NaN go right, as LightGBM 4 has it also for older files.
//!
//! # What is read
//! Every objective; one that is not known is a raw score. Linear trees are refused by name.

use std::collections::BTreeMap;

use ml_core::Result;

use super::plant::{Asked, Inputs, MOST_COLUMNS, MOST_OUTPUTS, Sets, What, not_above, plant};
use super::{Imported, Link, malformed, not_offered};
use crate::ensemble::{Aggregate, Arithmetic, Ensemble, Tree, View};

pub use super::lightgbm_write::to_text;

/// Entries of the file's head or of a tree.
type Entries<'a> = BTreeMap<&'a str, &'a str>;

/// Bits of a split's `decision_type`.
pub(super) const CATEGORY: i64 = 1;
pub(super) const DEFAULT_LEFT: i64 = 2;
pub(super) const MISSING_SHIFT: u32 = 2;

/// Reads a model from the bytes of a text file.
///
/// # Errors
/// [`ml_core::ModelError::Malformed`] for a file that is no such model, [`ml_core::ParamError::NotOffered`] for linear
/// trees, and those of [`Tree::new`] and [`Ensemble::new`].
///
/// # Bit identity
/// [`Ensemble::raw_f64`] gives LightGBM's own raw scores for binary32 rows, and leaves have LightGBM's numbers.
pub fn from_bytes(bytes: &[u8]) -> Result<Imported> {
    let text = std::str::from_utf8(bytes).map_err(|e| malformed(format!("no UTF-8: {e}")))?;
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("tree") {
        return Err(malformed("the first line is not `tree`"));
    }
    let mut head = Entries::new();
    let mut trees: Vec<Entries<'_>> = Vec::new();
    for line in lines {
        if line == "end of trees" {
            break;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match (key, trees.last_mut()) {
            ("", _) => {}
            ("Tree", _) => trees.push(Entries::new()),
            (_, Some(tree)) => {
                tree.insert(key, value);
            }
            (_, None) => {
                head.insert(key, value);
            }
        }
    }

    let classes = match head.get("num_tree_per_iteration").or_else(|| head.get("num_class")) {
        Some(text) => text.parse().ok().filter(|n| (1..=MOST_OUTPUTS).contains(n)),
        None => Some(1),
    };
    let classes = classes.ok_or_else(|| malformed("`num_tree_per_iteration` is out of range"))?;
    let last: Option<usize> = head.get("max_feature_idx").and_then(|text| text.parse().ok());
    let columns = last.filter(|last| *last < MOST_COLUMNS).ok_or_else(|| malformed("no `max_feature_idx`"))? + 1;
    if !trees.len().is_multiple_of(classes) {
        return Err(malformed(format!("{} trees of {classes} classes", trees.len())));
    }

    let tables: Vec<Table> = (trees.iter().enumerate())
        .map(|(t, tree)| Table::read(tree).map_err(|e| super::within(e, &format!("tree {t}"))))
        .collect::<Result<_>>()?;
    let special = |kind: &i64| kind & CATEGORY != 0 || kind >> MISSING_SHIFT & 3 == 1;
    let plain = !tables.iter().any(|table| table.decision.iter().any(special));
    let mut inputs = Inputs::new(columns, plain);
    let mut sets = Sets::new();
    let mut grown = Vec::with_capacity(tables.len());
    for (t, table) in tables.into_iter().enumerate() {
        grown.push(table.grow(&mut inputs, &mut sets).map_err(|e| super::within(e, &format!("tree {t}")))?);
    }
    let first_output = (0..grown.len()).map(|t| (t % classes) as u32).collect();
    let iterations = grown.len() / classes;
    let mut ensemble = Ensemble::new(grown, first_output, vec![0.0; classes], inputs.asked(), Arithmetic::Double)?;
    if head.contains_key("average_output") && iterations > 0 {
        ensemble = ensemble.with_aggregate(Aggregate::Mean { divisor: iterations as f64 })?;
    }
    if let Some((columns, inputs)) = inputs.into_inputs() {
        ensemble = ensemble.with_inputs(columns, inputs)?;
    }
    let objective = head.get("objective").copied().unwrap_or_default();
    let feature_names = head
        .get("feature_names")
        .map_or(Vec::new(), |names| names.split_ascii_whitespace().map(str::to_owned).collect());
    Ok(Imported { ensemble, link: link(objective)?, objective: objective.to_owned(), feature_names })
}

/// What an objective makes of raw scores.
fn link(objective: &str) -> Result<Link> {
    let mut words = objective.split_ascii_whitespace();
    let name = words.next().unwrap_or_default();
    let mut scale = 1.0f32;
    let mut root = false;
    for word in words {
        if let Some(value) = word.strip_prefix("sigmoid:") {
            let value = value.parse().ok().filter(|x: &f32| x.is_finite());
            scale = value.ok_or_else(|| malformed("`sigmoid` of the objective is no number"))?;
        }
        root |= word == "sqrt";
    }
    Ok(match name {
        "binary" | "multiclassova" => Link::Sigmoid { scale },
        "cross_entropy" => Link::Sigmoid { scale: 1.0 },
        "cross_entropy_lambda" => Link::Softplus,
        "multiclass" => Link::Softmax,
        "poisson" | "gamma" | "tweedie" => Link::Exp,
        _ if root => Link::SignedSquare,
        _ => Link::Identity,
    })
}

/// The lists of one tree.
struct Table {
    left: Vec<i64>,
    right: Vec<i64>,
    column: Vec<i64>,
    threshold: Vec<f64>,
    decision: Vec<i64>,
    gain: Vec<f64>,
    values: Vec<f64>,
    leaf_count: Vec<f64>,
    node_count: Vec<f64>,
    bounds: Vec<i64>,
    bits: Vec<u32>,
}

fn list<T: std::str::FromStr>(tree: &Entries<'_>, key: &str) -> Result<Vec<T>> {
    let text = tree.get(key).copied().unwrap_or_default();
    let numbers: Option<Vec<T>> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
    numbers.ok_or_else(|| malformed(format!("`{key}` holds what is no number of its type")))
}

impl Table {
    fn read(tree: &Entries<'_>) -> Result<Self> {
        if tree.get("is_linear").is_some_and(|text| text.trim() != "0") {
            return Err(not_offered("linear_tree", "true", "a model of constant leaves"));
        }
        let table = Table {
            left: list(tree, "left_child")?,
            right: list(tree, "right_child")?,
            column: list(tree, "split_feature")?,
            threshold: list(tree, "threshold")?,
            decision: list(tree, "decision_type")?,
            gain: list(tree, "split_gain").unwrap_or_default(),
            values: list(tree, "leaf_value")?,
            leaf_count: list(tree, "leaf_count").unwrap_or_default(),
            node_count: list(tree, "internal_count").unwrap_or_default(),
            bounds: list(tree, "cat_boundaries")?,
            bits: list(tree, "cat_threshold")?,
        };
        let leaves: usize = tree.get("num_leaves").and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let splits = [&table.left, &table.right, &table.column, &table.decision].map(Vec::len);
        if leaves == 0 || table.values.len() != leaves {
            return Err(malformed(format!("{leaves} leaves and {} values", table.values.len())));
        }
        // Of a tree that is one leaf, some versions write lists of one meaningless split.
        if leaves > 1 && (splits.iter().any(|n| *n != leaves - 1) || table.threshold.len() != leaves - 1) {
            return Err(malformed("lists of splits do not fit the number of leaves"));
        }
        Ok(table)
    }

    fn grow(self, inputs: &mut Inputs, sets: &mut Sets) -> Result<Tree> {
        let leaves = self.values.len();
        let splits = leaves - 1;
        // Nodes: splits first, then leaves, which the file numbers -1, -2 and so on.
        let leaf_at = |child: i64| child.checked_neg()?.checked_add(splits as i64 - 1);
        let place = |child: i64| if child < 0 { leaf_at(child).unwrap_or(-1) } else { child };
        let number = |list: &[f64], at: usize| list.get(at).map_or(0.0, |x| *x as f32);
        let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
        plant(0, splits + leaves, self.values.clone(), 1, |at| {
            if at >= splits {
                let leaf = at - splits;
                return Ok(Asked::Leaf(leaf as u32, finite(number(&self.leaf_count, leaf))));
            }
            let (kind, threshold) = (self.decision[at], self.threshold[at]);
            // A child that is no leaf must be a split: the file's own numbers must not name our leaves.
            if self.left[at] >= splits as i64 || self.right[at] >= splits as i64 {
                return Err(malformed(format!("split {at} leads to a split beyond the last")));
            }
            let (left, right) = (place(self.left[at]), place(self.right[at]));
            let (gain, cover) = (finite(number(&self.gain, at)), finite(number(&self.node_count, at)));
            let default_left = kind & DEFAULT_LEFT != 0;
            let (what, view, missing_left) = if kind & CATEGORY != 0 {
                (What::In(sets.held(self.set(threshold)?)?), View::Category { whole: true }, false)
            } else {
                let at_most = not_above(threshold).ok_or_else(|| malformed(format!("split {at} asks for a NaN")))?;
                let (view, missing_left) = match kind >> MISSING_SHIFT & 3 {
                    0 => (View::Same, 0.0 <= threshold),
                    1 => (View::ZeroMissing, default_left),
                    2 => (View::Same, default_left),
                    _ => return Err(malformed(format!("split {at} has the decision type {kind}"))),
                };
                (What::AtMost(at_most), view, missing_left)
            };
            let feature = inputs.feature(self.column[at], &view)?;
            Ok(Asked::Split { what, feature, left, right, missing_left, gain, cover })
        })
    }

    /// The bitset that a threshold numbers.
    fn set(&self, threshold: f64) -> Result<&[u32]> {
        let at = if (0.0..1e9).contains(&threshold) { threshold as usize } else { usize::MAX };
        let bound = |at: usize| self.bounds.get(at).and_then(|b| usize::try_from(*b).ok());
        let range = bound(at).and_then(|start| Some(start..bound(at.checked_add(1)?)?));
        let words = range.and_then(|range| self.bits.get(range));
        words.ok_or_else(|| malformed(format!("no bitset {threshold}")))
    }
}
