//! LightGBM text of an ensemble, where LightGBM's arithmetic is the ensemble's.

use std::fmt::Write;

use ml_core::Result;

use super::lightgbm::{CATEGORY, DEFAULT_LEFT, MISSING_SHIFT};
use super::lossy;
use crate::ensemble::{Aggregate, Arithmetic, Ensemble, Node, Tree, View};

/// The ensemble as LightGBM text, for LightGBM 4.
///
/// The objective is `regression` for one output and `multiclass` for several; raw scores are LightGBM's. A base that is
/// not 0 becomes one more tree of one leaf, in front; where trees do not come one an output in turn, trees of one leaf
/// with the value 0 stand between them, which change no sum. A tree with several outputs becomes one tree an output.
///
/// # Errors
/// [`ml_core::ModelError::Refused`] for what LightGBM cannot compute with the same bits: another arithmetic than
/// [`Arithmetic::Double`] with [`Aggregate::Sum`], infinite thresholds (LightGBM reads none), a category whose missing
/// values go left, a column of zeros that count as missing seen also as it is, and other views than LightGBM's own.
///
/// # Bit identity
/// Equal ensembles give equal texts. LightGBM's raw scores for the text are [`Ensemble::raw_f64`] for binary32 rows
/// whose numbers are canonical and whose categories are whole numbers from 0 on.
pub fn to_text(ensemble: &Ensemble) -> Result<String> {
    if ensemble.arithmetic() != Arithmetic::Double || ensemble.aggregate() != Aggregate::Sum {
        return Err(lossy("LightGBM sums in binary64, without a scale"));
    }
    let outputs = ensemble.outputs();
    if outputs == 0 {
        return Err(lossy("scores without values"));
    }
    let mut blocks: Vec<String> = Vec::new();
    if ensemble.base().iter().any(|b| *b != 0.0) {
        blocks.extend(ensemble.base().iter().map(|b| constant(*b)));
    }
    for (tree, first) in ensemble.trees().iter().zip(ensemble.first_output()) {
        for output in 0..tree.outputs() {
            while blocks.len() % outputs != *first as usize + output {
                blocks.push(constant(0.0));
            }
            blocks.push(written(tree, output, ensemble)?);
        }
    }
    while !blocks.len().is_multiple_of(outputs) {
        blocks.push(constant(0.0));
    }
    for (t, block) in blocks.iter_mut().enumerate() {
        *block = format!("Tree={t}\n{block}\n\n");
    }

    let names: Vec<String> = (0..ensemble.features()).map(|f| format!("Column_{f}")).collect();
    let ranges = vec!["[-inf:inf]"; ensemble.features()].join(" ");
    let sizes: Vec<String> = blocks.iter().map(|block| block.len().to_string()).collect();
    let objective = if outputs == 1 { "regression".to_owned() } else { format!("multiclass num_class:{outputs}") };
    let last = ensemble.features().checked_sub(1).ok_or_else(|| lossy("rows without columns"))?;
    let mut text = String::new();
    for line in [
        "tree".to_owned(),
        "version=v4".to_owned(),
        format!("num_class={outputs}"),
        format!("num_tree_per_iteration={outputs}"),
        "label_index=0".to_owned(),
        format!("max_feature_idx={last}"),
        format!("objective={objective}"),
        format!("feature_names={}", names.join(" ")),
        format!("feature_infos={ranges}"),
        format!("tree_sizes={}", sizes.join(" ")),
        String::new(),
    ] {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(&blocks.concat());
    text.push_str(
        "end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n",
    );
    Ok(text)
}

/// A tree of one leaf.
fn constant(value: f64) -> String {
    format!(
        "num_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\ndecision_type=\nleft_child=\nright_child=\nleaf_value={value:e}\nleaf_weight=\nleaf_count=\ninternal_value=\ninternal_weight=\ninternal_count=\nis_linear=0\nshrinkage=1\n"
    )
}

/// Lists of a tree's nodes, written one after the other.
#[derive(Default)]
struct Lists {
    feature: String,
    gain: String,
    threshold: String,
    decision: String,
    left: String,
    right: String,
    value: String,
    leaf_count: String,
    count: String,
    bounds: String,
    bits: String,
}

fn put(list: &mut String, item: impl std::fmt::Display) {
    let space = if list.is_empty() { "" } else { " " };
    // Writing to a text does not fail.
    let _ = write!(list, "{space}{item}");
}

fn written(tree: &Tree, output: usize, ensemble: &Ensemble) -> Result<String> {
    if let [Node::Leaf { leaf, .. }] = tree.nodes() {
        return Ok(constant(tree.values()[*leaf as usize * tree.outputs() + output]));
    }
    // Splits and leaves are numbered apart, each in the order of the nodes.
    let (mut splits, mut leaves) = (0i64, 0i64);
    let mut numbers = Vec::with_capacity(tree.nodes().len());
    for node in tree.nodes() {
        if let Node::Leaf { .. } = node {
            leaves += 1;
            numbers.push(-leaves);
        } else {
            numbers.push(splits);
            splits += 1;
        }
    }
    let mut lists = Lists::default();
    let (mut categories, mut words) = (0usize, 0usize);
    put(&mut lists.bounds, 0);
    for node in tree.nodes() {
        let (feature, less, more, gain, cover) = match node {
            Node::Leaf { leaf, cover } => {
                let value = tree.values()[*leaf as usize * tree.outputs() + output];
                put(&mut lists.value, format_args!("{value:e}"));
                put(&mut lists.leaf_count, *cover as i64);
                continue;
            }
            Node::Number { feature, threshold, left, right, missing_left, gain, cover } => {
                if !threshold.is_finite() {
                    return Err(lossy(format!("a threshold of {threshold}")));
                }
                let (_, missing) = column(ensemble, *feature, false)?;
                put(&mut lists.threshold, format_args!("{:e}", f64::from(*threshold)));
                let default = if *missing_left { DEFAULT_LEFT } else { 0 };
                put(&mut lists.decision, missing << MISSING_SHIFT | default);
                (feature, left, right, gain, cover)
            }
            Node::Category { feature, set, left, right, missing_left, gain, cover } => {
                column(ensemble, *feature, true)?;
                if *missing_left {
                    return Err(lossy("a category whose missing values go left"));
                }
                if set.is_empty() {
                    return Err(lossy("a set without categories"));
                }
                put(&mut lists.threshold, categories);
                put(&mut lists.decision, CATEGORY);
                categories += 1;
                words += set.len();
                put(&mut lists.bounds, words);
                set.iter().for_each(|word| put(&mut lists.bits, word));
                (feature, left, right, gain, cover)
            }
        };
        put(&mut lists.feature, column(ensemble, *feature, false).or_else(|_| column(ensemble, *feature, true))?.0);
        put(&mut lists.gain, gain);
        put(&mut lists.count, *cover as i64);
        put(&mut lists.left, numbers[*less as usize]);
        put(&mut lists.right, numbers[*more as usize]);
    }
    let mut text = format!("num_leaves={leaves}\nnum_cat={categories}\n");
    let zeros = vec!["0"; splits as usize].join(" ");
    for (key, list) in [
        ("split_feature", &lists.feature),
        ("split_gain", &lists.gain),
        ("threshold", &lists.threshold),
        ("decision_type", &lists.decision),
        ("left_child", &lists.left),
        ("right_child", &lists.right),
        ("leaf_value", &lists.value),
        ("leaf_weight", &lists.leaf_count),
        ("leaf_count", &lists.leaf_count),
        ("internal_value", &zeros),
        ("internal_weight", &lists.count),
        ("internal_count", &lists.count),
        ("cat_boundaries", &lists.bounds),
        ("cat_threshold", &lists.bits),
    ] {
        if categories > 0 || !key.starts_with("cat_") {
            text.push_str(&format!("{key}={list}\n"));
        }
    }
    Ok(text + "is_linear=0\nshrinkage=1\n")
}

/// The column of a feature, and LightGBM's type of its missing values.
fn column(ensemble: &Ensemble, feature: u32, category: bool) -> Result<(u32, i64)> {
    const ZERO: i64 = 1;
    const NAN: i64 = 2;
    let Some(input) = ensemble.inputs().get(feature as usize) else { return Ok((feature, NAN)) };
    match (&input.view, category) {
        (View::Same, false) => Ok((input.column, NAN)),
        (View::ZeroMissing, false) => Ok((input.column, ZERO)),
        (View::Same | View::Category { whole: true }, true) => Ok((input.column, NAN)),
        _ => Err(lossy(format!("column {} is seen through a view that LightGBM lacks", input.column))),
    }
}
