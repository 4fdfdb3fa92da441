//! The ensembles of forests as arrays: in model files and for recorders.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{Dtype, ModelError, Result};
use ml_kernels::Context;
use serde_json::json;

use crate::ensemble::{Arithmetic, Ensemble, Node, Tree};

/// The feature of a leaf.
const LEAF: u32 = u32::MAX;

/// Nodes of all trees after one another; splits ask for numbers, and send what is missing right.
#[derive(Default)]
struct Flat {
    /// Where each tree begins, and where the last one ends.
    starts: Vec<u32>,
    /// Where the leaves of each tree begin, and where the last one's end.
    leaf_starts: Vec<u32>,
    feature: Vec<u32>,
    threshold: Vec<f32>,
    /// Left and right child; a leaf has its number twice.
    children: Vec<u32>,
    gain: Vec<f32>,
    cover: Vec<f32>,
    values: Vec<u64>,
}

impl Flat {
    fn of(ensemble: &Ensemble) -> Self {
        let mut flat = Flat { starts: vec![0], leaf_starts: vec![0], ..Flat::default() };
        for tree in ensemble.trees() {
            for node in tree.nodes() {
                let (feature, threshold, children, gain, cover) = match *node {
                    Node::Leaf { leaf, cover } => (LEAF, 0.0, [leaf; 2], 0.0, cover),
                    Node::Number { feature, threshold, left, right, gain, cover, .. } => {
                        (feature, threshold, [left, right], gain, cover)
                    }
                    Node::Category { .. } => unreachable!("forests split numbers alone"),
                };
                flat.feature.push(feature);
                flat.threshold.push(threshold);
                flat.children.extend(children);
                flat.gain.push(gain);
                flat.cover.push(cover);
            }
            flat.values.extend(tree.values().iter().map(|v| v.to_bits()));
            flat.starts.push(flat.feature.len() as u32);
            flat.leaf_starts.push((flat.values.len() / tree.outputs()) as u32);
        }
        flat
    }
}

/// Adds an ensemble of a forest to a model file. All trees give all outputs, and every score starts at 0.
pub(crate) fn write(writer: ModelWriter, ensemble: &Ensemble) -> ModelWriter {
    let flat = Flat::of(ensemble);
    let nodes = flat.feature.len();
    writer
        .param("n_features_in", json!(ensemble.features()))
        .param("n_outputs", json!(ensemble.base().len()))
        .u32("starts", &[flat.starts.len()], &flat.starts)
        .u32("leaf_starts", &[flat.leaf_starts.len()], &flat.leaf_starts)
        .u32("feature", &[nodes], &flat.feature)
        .f32("threshold", &[nodes], &flat.threshold)
        .u32("children", &[nodes, 2], &flat.children)
        .f32("gain", &[nodes], &flat.gain)
        .f32("cover", &[nodes], &flat.cover)
        .u64("values", &[flat.values.len()], &flat.values)
}

/// The ensemble that [`write`] wrote.
pub(crate) fn read(file: &ModelReader) -> Result<Ensemble> {
    let features = file.param_u64("n_features_in")? as usize;
    let outputs = file.param_u64("n_outputs")? as usize;
    let refuse = |reason: &str| -> ml_core::Error {
        ModelError::Malformed { path: file.path().to_owned(), reason: reason.to_owned() }.into()
    };
    let starts = file.u32("starts", &[ANY])?.data;
    let leaf_starts = file.u32("leaf_starts", &[starts.len()])?.data;
    let feature = file.u32("feature", &[ANY])?.data;
    let nodes = feature.len();
    let threshold = file.f32("threshold", &[nodes])?.data;
    let children = file.u32("children", &[nodes, 2])?.data;
    let gain = file.f32("gain", &[nodes])?.data;
    let cover = file.f32("cover", &[nodes])?.data;
    let values = file.u64("values", &[ANY])?.data;
    let ordered = |list: &[u32]| list.first() == Some(&0) && list.windows(2).all(|w| w[0] < w[1]);
    // Every array is bounded by the file, and so are outputs by the number of values.
    let whole = outputs >= 1 && outputs <= values.len() && values.len() % outputs == 0;
    if !whole || starts.len() < 2 || !ordered(&starts) || !ordered(&leaf_starts) {
        return Err(refuse("trees are not in order"));
    }
    if starts.last() != Some(&(nodes as u32)) || leaf_starts.last().map(|l| *l as usize) != Some(values.len() / outputs)
    {
        return Err(refuse("trees do not end where the arrays do"));
    }
    let mut trees = Vec::with_capacity(starts.len() - 1);
    for (at, leaves) in starts.windows(2).zip(leaf_starts.windows(2)) {
        let of = |i: usize| {
            let cover = cover[i];
            let [left, right] = [children[2 * i], children[2 * i + 1]];
            if feature[i] == LEAF {
                Node::Leaf { leaf: left, cover }
            } else {
                let (feature, threshold, gain) = (feature[i], threshold[i], gain[i]);
                Node::Number { feature, threshold, left, right, missing_left: false, gain, cover }
            }
        };
        let nodes = (at[0] as usize..at[1] as usize).map(of).collect();
        let span = leaves[0] as usize * outputs..leaves[1] as usize * outputs;
        trees.push(Tree::new(nodes, values[span].iter().map(|v| f64::from_bits(*v)).collect(), outputs)?);
    }
    forest(trees, outputs, features)
}

/// Trees that all give all outputs.
pub(crate) fn forest(trees: Vec<Tree>, outputs: usize, features: usize) -> Result<Ensemble> {
    let first = vec![0; trees.len()];
    Ensemble::new(trees, first, vec![0.0; outputs], features, Arithmetic::Double)
}

/// Records the trees under `tag`; copies nothing when nobody records.
pub(crate) fn record(cx: &mut Context<'_>, tag: &str, ensemble: &Ensemble) {
    if !cx.records() {
        return;
    }
    fn bytes<const N: usize, T: Copy>(data: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        data.iter().flat_map(|v| of(*v)).collect()
    }
    let flat = Flat::of(ensemble);
    let nodes = flat.feature.len();
    for (name, shape, data) in [
        ("starts", vec![flat.starts.len()], &flat.starts),
        ("features", vec![nodes], &flat.feature),
        ("children", vec![nodes, 2], &flat.children),
    ] {
        cx.record(&format!("{tag}.{name}"), Dtype::U32, &shape, &bytes(data, u32::to_le_bytes));
    }
    for (name, data) in [("thresholds", &flat.threshold), ("gains", &flat.gain), ("covers", &flat.cover)] {
        cx.record(&format!("{tag}.{name}"), Dtype::F32, &[nodes], &bytes(data, f32::to_le_bytes));
    }
    let values = bytes(&flat.values, u64::to_le_bytes);
    cx.record(&format!("{tag}.values"), Dtype::F64, &[flat.values.len()], &values);
}
