//! XGBoost JSON of an ensemble, where XGBoost's arithmetic is the ensemble's.

use std::fmt::Write;

use ml_core::Result;

use super::lossy;
use crate::ensemble::{Aggregate, Arithmetic, Ensemble, Node, Tree, View};

/// The format's version: the first that has one base an output.
const VERSION: [u32; 3] = [3, 1, 0];

/// The ensemble as XGBoost JSON, for XGBoost 3.1 and later; with one output and trees of numbers for 1.0 and later.
///
/// The objective is `reg:squarederror` for one output and `multi:softprob` for several, whose bases and margins are raw
/// scores. A tree with several outputs becomes one tree an output, so that no sum changes its order. Features are named
/// `f0`, `f1` and so on by XGBoost. Numbers of leaves and values that no leaf uses are not kept.
///
/// # Errors
/// [`ml_core::ModelError::Refused`] for what XGBoost cannot compute with the same bits: another arithmetic than
/// [`Arithmetic::Single`] with [`Aggregate::Sum`], leaf values or bases that are no binary32 numbers, a threshold of
/// infinity (XGBoost takes no infinite numbers), a column that is asked both as number and as category, and columns
/// seen through other views than XGBoost's own.
///
/// # Bit identity
/// Equal ensembles give equal texts. XGBoost's margins for the text are the ensemble's raw scores for rows of finite,
/// canonical numbers and NaN whose categories are whole numbers from 0 to 2^24 - 1.
pub fn to_json(ensemble: &Ensemble) -> Result<String> {
    if ensemble.arithmetic() != Arithmetic::Single || ensemble.aggregate() != Aggregate::Sum {
        return Err(lossy("XGBoost sums in binary32, the base first"));
    }
    if ensemble.outputs() == 0 {
        return Err(lossy("scores without values"));
    }
    let columns = columns(ensemble)?;
    let mut types = vec!["float"; ensemble.features()];
    let mut known: Vec<Option<bool>> = vec![None; ensemble.features()];
    let (mut trees, mut groups) = (Vec::new(), Vec::new());
    for (tree, first) in ensemble.trees().iter().zip(ensemble.first_output()) {
        for node in tree.nodes() {
            let (feature, category) = match node {
                Node::Leaf { .. } => continue,
                Node::Number { feature, .. } => (feature, false),
                Node::Category { feature, .. } => (feature, true),
            };
            let column = columns[*feature as usize] as usize;
            if *known[column].get_or_insert(category) != category {
                return Err(lossy(format!("column {column} is asked both as number and as category")));
            }
            if category {
                types[column] = "c";
            }
        }
        for output in 0..tree.outputs() {
            trees.push(written(tree, output, &columns, ensemble.features(), trees.len())?);
            groups.push(*first as usize + output);
        }
    }
    let base = ensemble.base().iter().map(|b| single(*b)).collect::<Result<Vec<f32>>>()?;
    let outputs = base.len();
    let base = match base.as_slice() {
        [one] => format!("{one:E}"),
        _ => format!("[{}]", base.iter().map(|b| format!("{b:E}")).collect::<Vec<_>>().join(",")),
    };
    let plain = known.iter().all(|k| *k != Some(true));
    let objective = if outputs == 1 {
        r#"{"name":"reg:squarederror","reg_loss_param":{"scale_pos_weight":"1"}}"#.to_owned()
    } else {
        format!(r#"{{"name":"multi:softprob","softmax_multiclass_param":{{"num_class":"{outputs}"}}}}"#)
    };
    let types = if plain { String::new() } else { join(types.iter().map(|t| format!("\"{t}\""))) };
    let classes = if outputs == 1 { 0 } else { outputs };
    let (count, features) = (trees.len(), ensemble.features());
    let model = format!(
        r#"{{"gbtree_model_param":{{"num_parallel_tree":"1","num_trees":"{count}"}},"iteration_indptr":[{}],"tree_info":[{}],"trees":[{}]}}"#,
        join(iterations(&groups, outputs)),
        join(&groups),
        join(&trees),
    );
    let params = format!(
        r#"{{"base_score":"{base}","boost_from_average":"0","num_class":"{classes}","num_feature":"{features}","num_target":"1"}}"#
    );
    Ok(format!(
        r#"{{"learner":{{"attributes":{{}},"feature_names":[],"feature_types":[{types}],"gradient_booster":{{"model":{model},"name":"gbtree"}},"learner_model_param":{params},"objective":{objective}}},"version":[{}]}}"#,
        join(VERSION)
    ))
}

/// Items with commas between them.
fn join<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for item in items {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a text does not fail.
        let _ = write!(text, "{comma}{item}");
    }
    text
}

/// The shortest text that is this binary32 number again.
fn exact(list: &[f32]) -> String {
    join(list.iter().map(|x| format!("{x:E}")))
}

/// Where iterations begin: one tree an output each where trees come so, all trees in one iteration elsewhere.
fn iterations(groups: &[usize], outputs: usize) -> Vec<usize> {
    let regular = groups.iter().enumerate().all(|(t, g)| *g == t % outputs) && groups.len().is_multiple_of(outputs);
    if regular { (0..=groups.len()).step_by(outputs).collect() } else { vec![0, groups.len()] }
}

/// The column of each feature.
fn columns(ensemble: &Ensemble) -> Result<Vec<u32>> {
    if ensemble.inputs().is_empty() {
        return Ok((0..ensemble.features() as u32).collect());
    }
    let column = |input: &crate::Input| match input.view {
        View::Same | View::Category { whole: false } => Ok(input.column),
        _ => Err(lossy(format!("column {} is seen through a view that XGBoost lacks", input.column))),
    };
    ensemble.inputs().iter().map(column).collect()
}

fn single(x: f64) -> Result<f32> {
    let narrow = x as f32;
    if f64::from(narrow) != x {
        return Err(lossy(format!("{x} is no binary32 number")));
    }
    Ok(narrow)
}

fn written(tree: &Tree, output: usize, columns: &[u32], features: usize, id: usize) -> Result<String> {
    let count = tree.nodes().len();
    let mut parents = vec![i32::MAX; count];
    let (mut left, mut right, mut indices) = (vec![-1i64; count], vec![-1i64; count], vec![0u32; count]);
    let (mut conditions, mut default_left) = (vec![0.0f32; count], vec![0u8; count]);
    let (mut kinds, mut gains, mut covers) = (vec![0u8; count], vec![0.0f32; count], vec![0.0f32; count]);
    let (mut categories, mut nodes) = (Vec::new(), Vec::new());
    let (mut segments, mut sizes) = (Vec::new(), Vec::new());
    for (at, node) in tree.nodes().iter().enumerate() {
        let mut join = |less: u32, more: u32| {
            (left[at], right[at]) = (i64::from(less), i64::from(more));
            for child in [less, more] {
                parents[child as usize] = at as i32;
            }
        };
        match node {
            Node::Leaf { leaf, cover } => {
                conditions[at] = single(tree.values()[*leaf as usize * tree.outputs() + output])?;
                covers[at] = *cover;
            }
            Node::Number { feature, threshold, left, right, missing_left, gain, cover } => {
                // `x <= t` says `x < the next number`.
                conditions[at] = threshold.next_up();
                if !conditions[at].is_finite() || !threshold.is_finite() {
                    return Err(lossy(format!("a threshold of {threshold}")));
                }
                join(*left, *right);
                indices[at] = columns[*feature as usize];
                default_left[at] = u8::from(*missing_left);
                (gains[at], covers[at]) = (*gain, *cover);
            }
            Node::Category { feature, set, left, right, missing_left, gain, cover } => {
                // There, what is in the set goes right.
                join(*right, *left);
                indices[at] = columns[*feature as usize];
                default_left[at] = u8::from(!*missing_left);
                (gains[at], covers[at]) = (*gain, *cover);
                kinds[at] = 1;
                let held: Vec<u32> = members(set).collect();
                if held.last().is_none_or(|most| *most >= 1 << 24) {
                    return Err(lossy("a set without categories, or with categories of 2^24 or more"));
                }
                nodes.push(at);
                segments.push(categories.len());
                sizes.push(held.len());
                categories.extend(held);
            }
        }
    }
    if gains.iter().chain(&covers).any(|x| !x.is_finite()) {
        return Err(lossy("a gain or a cover that is not finite"));
    }
    let mut text = format!(r#"{{"base_weights":[{}],"id":{id}"#, exact(&vec![0.0; count]));
    for (key, list) in [
        ("categories", join(categories)),
        ("categories_nodes", join(nodes)),
        ("categories_segments", join(segments)),
        ("categories_sizes", join(sizes)),
        ("default_left", join(default_left)),
        ("left_children", join(left)),
        ("loss_changes", exact(&gains)),
        ("parents", join(parents)),
        ("right_children", join(right)),
        ("split_conditions", exact(&conditions)),
        ("split_indices", join(indices)),
        ("split_type", join(kinds)),
        ("sum_hessian", exact(&covers)),
    ] {
        let _ = write!(text, r#","{key}":[{list}]"#);
    }
    let params =
        format!(r#"{{"num_deleted":"0","num_feature":"{features}","num_nodes":"{count}","size_leaf_vector":"1"}}"#);
    let _ = write!(text, r#","tree_param":{params}}}"#);
    Ok(text)
}

/// The categories of a set, ascending.
pub(super) fn members(set: &[u32]) -> impl Iterator<Item = u32> + '_ {
    let bits = |word: u32| (0..32u32).filter(move |bit| word >> bit & 1 == 1);
    set.iter().enumerate().flat_map(move |(at, word)| bits(*word).map(move |bit| at as u32 * 32 + bit))
}
