//! CatBoost models: the JSON that `save_model(format="json")` writes.
//!
//! # Arithmetic
//! Borders and rows are binary32; `x > border` is the side of the one bit. The score of a dimension is a binary64 sum,
//! +0 first, then trees in order, `* scale + bias` at the end. A NaN goes the way of `x > border` where the column's
//! `nan_value_treatment` is `AsTrue`, and the other way for `AsFalse` and `AsIs`.
//!
//! # What is read
//! Oblivious trees and others (`Depthwise`, `Lossguide`) over float features. Splits by categories (`OneHotFeature`,
//! `OnlineCtr`) hash texts, and those of texts or embeddings need their calculators: refused by name.

use ml_core::Result;

use super::plant::{Asked, Inputs, MOST_COLUMNS, MOST_OUTPUTS, What, plant};
use super::value::Value;
use super::{Imported, Link, json, malformed, not_offered};
use crate::ensemble::{Aggregate, Arithmetic, Ensemble, Tree, View};

/// The float features of a file.
struct Column {
    /// The column of the rows.
    flat: i64,
    nan_is_true: bool,
}

/// Reads a model from the bytes of a JSON file.
///
/// # Errors
/// [`ml_core::ModelError::Malformed`] for a file that is no such model, [`ml_core::ParamError::NotOffered`] for splits
/// by anything but numbers, and those of [`Tree::new`] and [`Ensemble::new`].
///
/// # Bit identity
/// [`Ensemble::raw_f64`] gives CatBoost's own `RawFormulaVal`, and leaves have CatBoost's numbers in oblivious trees.
pub fn from_bytes(bytes: &[u8]) -> Result<Imported> {
    let file = json::parse(bytes)?;
    let features = file.need("features_info")?;
    let mut columns = 0i64;
    for key in ["float_features", "categorical_features", "text_features", "embedding_features"] {
        for feature in features.list(key).unwrap_or_default() {
            let flat = feature.get("flat_feature_index").and_then(Value::int).unwrap_or(0);
            columns = columns.max(flat.saturating_add(1));
        }
    }
    let columns = usize::try_from(columns).ok().filter(|c| *c <= MOST_COLUMNS);
    let columns = columns.ok_or_else(|| malformed("`flat_feature_index` is out of range"))?;
    let floats = columns_of(features)?;
    let names = features.list("float_features").unwrap_or_default();
    let named: Vec<String> =
        names.iter().map(|f| f.get("feature_id").and_then(Value::text).unwrap_or_default().to_owned()).collect();
    let all_named = named.len() == columns && named.iter().all(|name| !name.is_empty());

    let mut inputs = Inputs::new(columns, true);
    let mut trees = Vec::new();
    let oblivious = file.get("oblivious_trees").is_some();
    for (t, tree) in file.list(if oblivious { "oblivious_trees" } else { "trees" })?.iter().enumerate() {
        let grown = if oblivious { symmetric(tree, &floats, &mut inputs) } else { free(tree, &floats, &mut inputs) };
        trees.push(grown.map_err(|e| super::within(e, &format!("tree {t}")))?);
    }

    let Some([scale, bias]) = file
        .get("scale_and_bias")
        .map(|v| match v {
            Value::List(items) => items.as_slice(),
            _ => &[],
        })
        .and_then(|items| items.first_chunk::<2>())
    else {
        return Err(malformed("no `scale_and_bias`"));
    };
    let scale = scale.double().ok_or_else(|| malformed("the scale is no number"))?;
    let bias: Option<Vec<f64>> = match bias {
        Value::List(items) => items.iter().map(Value::double).collect(),
        other => other.double().map(|b| vec![b]),
    };
    let mut bias = bias.ok_or_else(|| malformed("the bias is no number"))?;
    let outputs = trees.iter().map(Tree::outputs).max().unwrap_or(bias.len()).max(1);
    if bias.is_empty() || (bias.len() == 1 && outputs > 1 && bias[0] == 0.0) {
        bias = vec![0.0; outputs];
    }
    if bias.len() != outputs || trees.iter().any(|tree| tree.outputs() != outputs) {
        return Err(malformed("trees and bias differ in dimensions"));
    }
    let first_output = vec![0; trees.len()];
    let ensemble = Ensemble::new(trees, first_output, bias, columns, Arithmetic::Double)?
        .with_aggregate(Aggregate::Scaled { scale })?;
    let loss = file
        .get("model_info")
        .and_then(|info| info.get("params"))
        .and_then(|params| params.get("loss_function"))
        .and_then(|loss| loss.get("type"))
        .and_then(Value::text)
        .unwrap_or_default();
    let link = match loss {
        "Logloss" | "CrossEntropy" | "MultiClassOneVsAll" | "MultiLogloss" | "MultiCrossEntropy" => {
            Link::Sigmoid { scale: 1.0 }
        }
        "MultiClass" => Link::Softmax,
        "Poisson" | "Tweedie" => Link::Exp,
        _ => Link::Identity,
    };
    let feature_names = if all_named { named } else { Vec::new() };
    Ok(Imported { ensemble, link, objective: loss.to_owned(), feature_names })
}

fn columns_of(features: &Value<'_>) -> Result<Vec<Column>> {
    let mut floats = Vec::new();
    for (at, feature) in features.list("float_features").unwrap_or_default().iter().enumerate() {
        if feature.int_at("feature_index")? != at as i64 {
            return Err(malformed("float features are not in order"));
        }
        let nan = feature.get("nan_value_treatment").and_then(Value::text).unwrap_or("AsIs");
        if !["AsIs", "AsFalse", "AsTrue"].contains(&nan) {
            return Err(not_offered("nan_value_treatment", nan, "AsIs, AsFalse or AsTrue"));
        }
        floats.push(Column { flat: feature.int_at("flat_feature_index")?, nan_is_true: nan == "AsTrue" });
    }
    Ok(floats)
}

/// The border of a split, its feature, and whether a NaN goes left.
fn split(split: &Value<'_>, floats: &[Column], inputs: &mut Inputs) -> Result<(f32, u32, bool)> {
    let kind = split.get("split_type").and_then(Value::text).unwrap_or("FloatFeature");
    if kind != "FloatFeature" {
        return Err(not_offered(
            "split_type",
            kind,
            "FloatFeature: a model without categorical, text or embedding columns",
        ));
    }
    let border = split.need("border")?.single().filter(|b| !b.is_nan()).ok_or_else(|| malformed("no border"))?;
    let at = split.int_at("float_feature_index")?;
    let column = usize::try_from(at).ok().and_then(|at| floats.get(at));
    let column = column.ok_or_else(|| malformed(format!("no float feature {at}")))?;
    Ok((border, inputs.feature(column.flat, &View::Same)?, !column.nan_is_true))
}

/// A tree that asks the same at every node of a level; the answer at level i is bit i of the leaf's number.
fn symmetric(tree: &Value<'_>, floats: &[Column], inputs: &mut Inputs) -> Result<Tree> {
    let splits: Vec<(f32, u32, bool)> = match tree.get("splits") {
        None | Some(Value::Null) => Vec::new(),
        Some(_) => tree.list("splits")?.iter().map(|s| split(s, floats, inputs)).collect::<Result<_>>()?,
    };
    let values = tree.doubles("leaf_values")?;
    let weights = tree.singles("leaf_weights").unwrap_or_default();
    let leaves = 1usize.checked_shl(splits.len() as u32).filter(|_| splits.len() < 32).unwrap_or(usize::MAX);
    if values.is_empty() || !values.len().is_multiple_of(leaves) || values.len() / leaves > MOST_OUTPUTS {
        return Err(malformed(format!("{} splits and {} values", splits.len(), values.len())));
    }
    let outputs = values.len() / leaves;
    // Nodes are numbered as a heap, level after level; the leaf's number has the root's answer in bit 0.
    let (depth, inner) = (splits.len(), leaves - 1);
    let leaf_of =
        |at: usize| (0..depth).fold(0, |leaf, level| leaf | ((at - inner) >> (depth - 1 - level) & 1) << level);
    // Covers from the leaves up: node i is over 2i + 1 and 2i + 2.
    let mut cover = vec![0.0f64; inner + leaves];
    for at in (0..inner + leaves).rev() {
        cover[at] = match at.checked_sub(inner) {
            Some(_) => weights.get(leaf_of(at)).map_or(0.0, |w| f64::from(*w)),
            None => cover[2 * at + 1] + cover[2 * at + 2],
        };
    }
    let finite = |x: f64| if (x as f32).is_finite() { x as f32 } else { 0.0 };
    plant(0, inner + leaves, values, outputs, |at| {
        if at >= inner {
            return Ok(Asked::Leaf(leaf_of(at) as u32, finite(cover[at])));
        }
        let (border, feature, missing_left) = splits[(at + 1).ilog2() as usize];
        let (left, right) = (2 * at as i64 + 1, 2 * at as i64 + 2);
        let what = What::AtMost(border);
        Ok(Asked::Split { what, feature, left, right, missing_left, gain: 0.0, cover: finite(cover[at]) })
    })
}

/// A tree of any shape, nested as it is in the file.
fn free(root: &Value<'_>, floats: &[Column], inputs: &mut Inputs) -> Result<Tree> {
    let mut nodes = vec![root];
    let mut children = Vec::new();
    let mut at = 0;
    // Parents come before children, so one pass lists all.
    while let Some(node) = nodes.get(at).copied() {
        at += 1;
        children.push(if node.get("split").is_some() {
            nodes.push(node.need("left")?);
            nodes.push(node.need("right")?);
            Some(nodes.len() as i64 - 2)
        } else {
            None
        });
    }
    let mut values = Vec::new();
    let mut outputs = 0;
    let mut leaf = vec![0u32; nodes.len()];
    for (at, node) in nodes.iter().enumerate().filter(|(at, _)| children[*at].is_none()) {
        let own: Option<Vec<f64>> = match node.need("value")? {
            Value::List(items) => items.iter().map(Value::double).collect(),
            other => other.double().map(|v| vec![v]),
        };
        let own = own.ok_or_else(|| malformed("a leaf's value is no number"))?;
        if own.is_empty() || own.len() > MOST_OUTPUTS || (outputs != 0 && own.len() != outputs) {
            return Err(malformed("leaves differ in dimensions"));
        }
        outputs = own.len();
        leaf[at] = (values.len() / outputs) as u32;
        values.extend(own);
    }
    let mut cover = vec![0.0f64; nodes.len()];
    for at in (0..nodes.len()).rev() {
        cover[at] = match children[at] {
            Some(left) => cover[left as usize] + cover[left as usize + 1],
            None => nodes[at].get("weight").and_then(Value::double).unwrap_or(0.0),
        };
    }
    let finite = |x: f64| if (x as f32).is_finite() { x as f32 } else { 0.0 };
    plant(0, nodes.len(), values, outputs, |at| {
        let cover = finite(cover[at]);
        let Some(left) = children[at] else { return Ok(Asked::Leaf(leaf[at], cover)) };
        let (border, feature, missing_left) = split(nodes[at].need("split")?, floats, inputs)?;
        let what = What::AtMost(border);
        Ok(Asked::Split { what, feature, left, right: left + 1, missing_left, gain: 0.0, cover })
    })
}
