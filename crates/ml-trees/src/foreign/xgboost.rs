//! XGBoost models, JSON and UBJSON, of XGBoost 1.0 and later.
//!
//! # Arithmetic
//! Rows are binary32. A split asks `x < condition`. The score of a class is a binary32 sum: its base first, then the
//! leaf values of its trees in order. A DART tree's leaf value is `value * weight`, rounded to binary32. A category
//! that is in the set of a split goes right, any other number left; a number is cut towards zero first, and a negative
//! one, or one of 2^24 or more, is in no set.
//!
//! # The base
//! The file holds `base_score` in the space of predictions, whatever the version: as one number, as a list of one (3.1
//! and later), or as one number a class or target. Raw scores start from its margin: `-ln(1 / p - 1)` for
//! `binary:logistic` and `reg:logistic`, `ln` for `count:poisson`, `reg:gamma`, `reg:tweedie`, `survival:cox` and
//! `survival:aft`, itself for others (`binary:logitraw` too, as in 1.7 and later). `boost_from_average` needs no care:
//! whatever was estimated is in `base_score`. **This logarithm is correctly rounded here; XGBoost takes its platform's
//! `logf`, which is not always.** A base so derived may be off by its last bit; [`crate::Ensemble::with_base`] sets
//! another.
//!
//! # What is read
//! Boosters `gbtree` and `dart`; every objective that XGBoost 3 has, and trees with a value for each target. All trees
//! are used, also those after the best iteration. The names that XGBoost 3 keeps for categories of data frames are not:
//! rows hold the codes. Other boosters (`gblinear`) are refused by name.

use ml_core::Result;
use ml_kernels::num;

use super::plant::{Asked, Inputs, MOST_COLUMNS, MOST_OUTPUTS, Sets, What, below, plant};
use super::value::Value;
use super::{Imported, Link, json, malformed, not_offered, ubjson};
use crate::ensemble::{Arithmetic, Ensemble, Tree, View};

pub use super::xgboost_write::to_json;

/// How a base becomes a margin.
#[derive(Clone, Copy)]
enum Margin {
    Same,
    Logit,
    Log,
}

/// What an objective makes of bases and of raw scores.
fn objective(name: &str) -> Option<(Margin, Link)> {
    Some(match name {
        "reg:logistic" | "binary:logistic" => (Margin::Logit, Link::Sigmoid { scale: 1.0 }),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => (Margin::Log, Link::Exp),
        "binary:hinge" => (Margin::Same, Link::Hinge),
        "multi:softprob" => (Margin::Same, Link::Softmax),
        "multi:softmax" => (Margin::Same, Link::ArgMax),
        "binary:logitraw"
        | "reg:squarederror"
        | "reg:linear"
        | "reg:squaredlogerror"
        | "reg:pseudohubererror"
        | "reg:absoluteerror"
        | "reg:quantileerror"
        | "reg:expectileerror"
        | "rank:ndcg"
        | "rank:map"
        | "rank:pairwise" => (Margin::Same, Link::Identity),
        _ => return None,
    })
}

/// Reads a model from the bytes of a JSON or a UBJSON file.
///
/// # Errors
/// [`ml_core::ModelError::Malformed`] for a file that is no such model, [`ml_core::ParamError::NotOffered`] for a
/// booster or an objective that is not known, and those of [`Tree::new`] and [`Ensemble::new`].
///
/// # Bit identity
/// Raw scores are XGBoost's own, but for what the module says of the base. Leaves have the numbers that XGBoost's
/// `pred_leaf` gives.
pub fn from_bytes(bytes: &[u8]) -> Result<Imported> {
    // A JSON object goes on with a space or a quote, an UBJSON one with the type of a length.
    let text = matches!(bytes, [b'{', b'"' | b' ' | b'\n' | b'\r' | b'\t' | b'}', ..]);
    let file = if text { json::parse(bytes)? } else { ubjson::parse(bytes)? };
    let learner = file.need("learner")?;
    let name = learner.need("objective")?.need("name")?.text().unwrap_or_default();
    let (margin, link) = objective(name).ok_or_else(|| {
        not_offered("objective", name, "one of XGBoost 3, or a model saved with a built-in objective")
    })?;

    let booster = learner.need("gradient_booster")?;
    let (model, drop) = match booster.get("name").and_then(Value::text) {
        Some("gbtree") => (booster.need("model")?, None),
        Some("dart") => (booster.need("gbtree")?.need("model")?, Some(booster.singles("weight_drop")?)),
        other => return Err(not_offered("booster", other.unwrap_or("none"), "gbtree or dart")),
    };
    let params = learner.need("learner_model_param")?;
    let whole = |key: &str, most: usize| -> Result<usize> {
        let value = params.get(key).map_or(Some(0), Value::int);
        let value = value.and_then(|v| usize::try_from(v).ok()).filter(|v| *v <= most);
        value.ok_or_else(|| malformed(format!("`{key}` is no number up to {most}")))
    };
    let columns = whole("num_feature", MOST_COLUMNS)?;
    let outputs = whole("num_class", MOST_OUTPUTS)?.max(whole("num_target", MOST_OUTPUTS)?).max(1);
    let base = base(params.need("base_score")?, outputs, margin)?;

    let listed = model.list("trees")?;
    let groups = model.ints("tree_info")?;
    if groups.len() != listed.len() || drop.as_ref().is_some_and(|d| d.len() != listed.len()) {
        return Err(malformed(format!("{} trees, {} in `tree_info`, or other weights", listed.len(), groups.len())));
    }
    let plain = !listed.iter().any(|tree| tree.ints("categories_nodes").is_ok_and(|nodes| !nodes.is_empty()));
    let mut inputs = Inputs::new(columns, plain);
    let mut sets = Sets::new();
    let mut trees = Vec::with_capacity(listed.len());
    let mut first_output = Vec::with_capacity(listed.len());
    for (t, tree) in listed.iter().enumerate() {
        let weight = drop.as_ref().map(|d| d[t]);
        let tree = read(tree, weight, &mut inputs, &mut sets).map_err(|e| super::within(e, &format!("tree {t}")))?;
        let group = u32::try_from(groups[t]).ok().filter(|g| *g as usize + tree.outputs() <= outputs);
        first_output.push(group.ok_or_else(|| malformed(format!("tree {t} is of class {}", groups[t])))?);
        trees.push(tree);
    }
    let ensemble = Ensemble::new(trees, first_output, base, inputs.asked(), Arithmetic::Single)?;
    let ensemble = match inputs.into_inputs() {
        Some((columns, inputs)) => ensemble.with_inputs(columns, inputs)?,
        None => ensemble,
    };
    let names = learner.list("feature_names").unwrap_or_default();
    let feature_names = names.iter().filter_map(|n| n.text().map(str::to_owned)).collect();
    Ok(Imported { ensemble, link, objective: name.to_owned(), feature_names })
}

/// Margins of the bases of a file, one an output.
fn base(value: &Value<'_>, outputs: usize, margin: Margin) -> Result<Vec<f64>> {
    let listed: Option<Vec<f32>> = match value {
        Value::Text(text) => match text.trim().strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            Some(items) => items.split(',').map(|item| item.trim().parse().ok()).collect(),
            None => text.trim().parse().ok().map(|x| vec![x]),
        },
        Value::List(items) => items.iter().map(Value::single).collect(),
        other => other.single().map(|x| vec![x]),
    };
    let bad = || malformed("`base_score` is neither a number nor one number an output, in the range of the objective");
    let mut listed = listed.ok_or_else(bad)?;
    if listed.len() == 1 {
        listed = vec![listed[0]; outputs];
    }
    if listed.len() != outputs {
        return Err(bad());
    }
    let p = num::Pins::HOST;
    let margins: Vec<f32> = listed
        .into_iter()
        .map(|x| match margin {
            Margin::Same => x,
            Margin::Logit => num::neg(num::ln_cr(num::sub(num::div(1.0, x), 1.0, p))),
            Margin::Log => num::ln_cr(x),
        })
        .collect();
    if margins.iter().any(|x| !x.is_finite()) {
        return Err(bad());
    }
    Ok(margins.into_iter().map(|x| f64::from(x + 0.0)).collect())
}

/// One tree of a file. Leaves keep the numbers of their nodes.
fn read(tree: &Value<'_>, weight: Option<f32>, inputs: &mut Inputs, sets: &mut Sets) -> Result<Tree> {
    let left = tree.ints("left_children")?;
    let right = tree.ints("right_children")?;
    let column = tree.ints("split_indices")?;
    let condition = tree.singles("split_conditions")?;
    let default_left = tree.ints("default_left")?;
    let optional = |key: &str| tree.get(key).map_or(Ok(Vec::new()), |_| tree.ints(key));
    let split_type = optional("split_type")?;
    // Both are of interest to explanations alone.
    let gain = tree.singles("loss_changes").unwrap_or_default();
    let cover = tree.singles("sum_hessian").unwrap_or_default();
    let count = left.len();
    if [right.len(), column.len(), condition.len(), default_left.len()].iter().any(|n| *n != count) {
        return Err(malformed("lists of nodes differ in length"));
    }
    let number = |list: &[f32], at: usize| list.get(at).copied().filter(|x| x.is_finite()).unwrap_or(0.0);

    let wide = tree.get("tree_param").and_then(|p| p.get("size_leaf_vector")).and_then(Value::int).unwrap_or(1).max(1);
    let wide = usize::try_from(wide).ok().filter(|w| *w <= MOST_OUTPUTS);
    let wide = wide.ok_or_else(|| malformed("`size_leaf_vector` is out of range"))?;
    // Trees with a value for each target number their leaves in `right_children` since 3.1, and by nodes before.
    let numbered = wide > 1 && tree.get("leaf_weights").is_some();
    let values = match (wide, numbered) {
        (1, _) => condition.clone(),
        (_, true) => tree.singles("leaf_weights")?,
        (_, false) => tree.singles("base_weights")?,
    };
    // Values of nodes that are no leaves mean nothing; they must not be what refuses the tree.
    let mut kept = vec![0.0; values.len()];
    for at in (0..count).filter(|at| left[*at] == -1) {
        let row = if numbered { right[at] } else { at as i64 };
        let range = usize::try_from(row).ok().and_then(|row| {
            let start = row.checked_mul(wide)?;
            Some(start..start.checked_add(wide)?)
        });
        let missing = || malformed(format!("leaf {at} has no values"));
        let range = range.ok_or_else(missing)?;
        let from = values.get(range.clone()).ok_or_else(missing)?;
        let to = kept.get_mut(range).ok_or_else(missing)?;
        for (to, from) in to.iter_mut().zip(from) {
            *to = f64::from(match weight {
                Some(weight) => from * weight,
                None => *from,
            });
        }
    }

    let categories = Categories::read(tree, count)?;
    plant(0, count, kept, wide, |at| {
        let cover = number(&cover, at);
        if left[at] == -1 {
            let leaf = if numbered { right[at] } else { at as i64 };
            return Ok(Asked::Leaf(u32::try_from(leaf).map_err(|_| malformed("a leaf of no number"))?, cover));
        }
        let (less, more, less_missing) = (left[at], right[at], default_left[at] != 0);
        let gain = number(&gain, at);
        if split_type.get(at).is_some_and(|kind| *kind == 1) {
            // What is in the set goes left here and right there.
            let set = sets.of(&categories.of(at)?)?;
            let feature = inputs.feature(column[at], &View::Category { whole: false })?;
            let (left, right, missing_left) = (more, less, !less_missing);
            return Ok(Asked::Split { what: What::In(set), feature, left, right, missing_left, gain, cover });
        }
        let threshold =
            below(condition[at]).ok_or_else(|| malformed(format!("node {at} asks for less than {}", condition[at])))?;
        let feature = inputs.feature(column[at], &View::Same)?;
        let what = What::AtMost(threshold);
        Ok(Asked::Split { what, feature, left: less, right: more, missing_left: less_missing, gain, cover })
    })
}

/// The categories of the splits of a tree.
struct Categories {
    all: Vec<i64>,
    /// Of each node: where its categories begin, and how many they are.
    parts: Vec<Option<(usize, usize)>>,
}

impl Categories {
    fn read(tree: &Value<'_>, count: usize) -> Result<Self> {
        let optional = |key: &str| tree.get(key).map_or(Ok(Vec::new()), |_| tree.ints(key));
        let (nodes, starts) = (optional("categories_nodes")?, optional("categories_segments")?);
        let (sizes, all) = (optional("categories_sizes")?, optional("categories")?);
        if nodes.is_empty() {
            return Ok(Categories { all, parts: Vec::new() });
        }
        let mut parts = vec![None; count];
        if starts.len() != nodes.len() || sizes.len() != nodes.len() {
            return Err(malformed("lists of categories differ in length"));
        }
        for ((node, start), size) in nodes.iter().zip(&starts).zip(&sizes) {
            let part = usize::try_from(*node).ok().and_then(|node| parts.get_mut(node));
            let (start, size) = (usize::try_from(*start), usize::try_from(*size));
            match (part, start, size) {
                (Some(part), Ok(start), Ok(size)) => *part = Some((start, size)),
                _ => return Err(malformed(format!("categories of node {node} are out of range"))),
            }
        }
        Ok(Categories { all, parts })
    }

    fn of(&self, node: usize) -> Result<Vec<u32>> {
        let bad = || malformed(format!("categories of node {node} are out of range"));
        let (start, size) = self.parts.get(node).copied().flatten().ok_or_else(bad)?;
        let listed = start.checked_add(size).and_then(|end| self.all.get(start..end)).ok_or_else(bad)?;
        listed.iter().map(|c| u32::try_from(*c).ok().filter(|c| *c < 1 << 24).ok_or_else(bad)).collect()
    }
}
