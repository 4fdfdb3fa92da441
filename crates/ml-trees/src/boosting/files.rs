//! An ensemble in single precision to a model file and back, and to the waist's forest.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{ModelError, Result};
use ml_kernels::Device;
use ml_kernels::trees::{FlatTree, Forest};

use crate::ensemble::{Arithmetic, Ensemble, Node, Tree};
use crate::predict::flat_node;

/// Words of a node: kind (0 leaf, 1 number, 2 category; 4 more where missing values go left), column or leaf, bits of the
/// threshold or start of the set, left, right, bits of the gain, bits of the cover, words of the set.
const WORDS: usize = 8;

/// The trees as the waist walks them.
pub(crate) fn forest(device: &Device, ensemble: &Ensemble) -> Result<Forest> {
    let flat = |(tree, first): (&Tree, &u32)| FlatTree {
        nodes: tree.nodes().iter().map(flat_node).collect(),
        values: tree.values().iter().map(|v| *v as f32).collect(),
        outputs: tree.outputs(),
        first_output: *first as usize,
    };
    let trees: Vec<FlatTree> = ensemble.trees().iter().zip(ensemble.first_output()).map(flat).collect();
    let base: Vec<f32> = ensemble.base().iter().map(|b| *b as f32).collect();
    Forest::new(device, &trees, ensemble.features(), &base)
}

/// Adds the ensemble's parts, named `trees.…`.
pub(crate) fn write(file: ModelWriter, ensemble: &Ensemble) -> ModelWriter {
    let (mut nodes, mut sets, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut sizes = Vec::with_capacity(2 * ensemble.trees().len());
    for tree in ensemble.trees() {
        sizes.extend([tree.nodes().len() as u32, tree.values().len() as u32]);
        values.extend(tree.values().iter().map(|v| *v as f32));
        for node in tree.nodes() {
            nodes.extend(match node {
                Node::Leaf { leaf, cover } => [0, *leaf, 0, 0, 0, 0, cover.to_bits(), 0],
                Node::Number { feature, threshold, left, right, missing_left, gain, cover } => {
                    let kind = 1 + 4 * u32::from(*missing_left);
                    [kind, *feature, threshold.to_bits(), *left, *right, gain.to_bits(), cover.to_bits(), 0]
                }
                Node::Category { feature, set, left, right, missing_left, gain, cover } => {
                    let (kind, start) = (2 + 4 * u32::from(*missing_left), sets.len() as u32);
                    sets.extend_from_slice(set);
                    let words = set.len() as u32;
                    [kind, *feature, start, *left, *right, gain.to_bits(), cover.to_bits(), words]
                }
            });
        }
    }
    let base: Vec<f32> = ensemble.base().iter().map(|b| *b as f32).collect();
    file.param("features", ensemble.features().into())
        .f32("trees.base", &[base.len()], &base)
        .u32("trees.sizes", &[sizes.len() / 2, 2], &sizes)
        .u32("trees.first_output", &[ensemble.first_output().len()], ensemble.first_output())
        .u32("trees.nodes", &[nodes.len() / WORDS, WORDS], &nodes)
        .u32("trees.sets", &[sets.len()], &sets)
        .f32("trees.values", &[values.len()], &values)
}

/// The ensemble of a file that [`write`] made; everything is checked.
pub(crate) fn read(file: &ModelReader) -> Result<Ensemble> {
    let malformed = |reason: &str| ModelError::Malformed { path: file.path().to_owned(), reason: reason.to_owned() };
    let features = usize::try_from(file.param_u64("features")?).map_err(|_| malformed("too many columns"))?;
    let base = file.f32("trees.base", &[ANY])?.data;
    let sizes = file.u32("trees.sizes", &[ANY, 2])?.data;
    let first = file.u32("trees.first_output", &[ANY])?.data;
    let words = file.u32("trees.nodes", &[ANY, WORDS])?.data;
    let sets = file.u32("trees.sets", &[ANY])?.data;
    let values = file.f32("trees.values", &[ANY])?.data;
    let (mut node_at, mut value_at) = (0usize, 0usize);
    let mut trees = Vec::with_capacity(first.len());
    for size in sizes.chunks_exact(2) {
        let (node_end, value_end) = (node_at + size[0] as usize, value_at + size[1] as usize);
        let own = words.get(node_at * WORDS..node_end * WORDS).ok_or_else(|| malformed("nodes are missing"))?;
        let leaves = values.get(value_at..value_end).ok_or_else(|| malformed("leaf values are missing"))?;
        let nodes = own
            .chunks_exact(WORDS)
            .map(|w| node(w, &sets).ok_or_else(|| malformed("a node that is none").into()))
            .collect::<Result<Vec<_>>>()?;
        trees.push(Tree::new(nodes, leaves.iter().map(|v| f64::from(*v)).collect(), 1)?);
        (node_at, value_at) = (node_end, value_end);
    }
    if node_at * WORDS != words.len() || value_at != values.len() {
        return Err(malformed("nodes or values of no tree").into());
    }
    Ensemble::new(trees, first, base.into_iter().map(f64::from).collect(), features, Arithmetic::Single)
}

fn node(w: &[u32], sets: &[u32]) -> Option<Node> {
    let &[kind, first, bits, left, right, gain, cover, words] = w else { return None };
    let (gain, cover, missing_left) = (f32::from_bits(gain), f32::from_bits(cover), kind & 4 != 0);
    if !gain.is_finite() || !cover.is_finite() {
        return None;
    }
    match kind {
        0 => Some(Node::Leaf { leaf: first, cover }),
        1 | 5 => {
            let threshold = f32::from_bits(bits);
            Some(Node::Number { feature: first, threshold, left, right, missing_left, gain, cover })
        }
        2 | 6 => {
            let set = sets.get(bits as usize..(bits as usize).checked_add(words as usize)?)?.into();
            Some(Node::Category { feature: first, set, left, right, missing_left, gain, cover })
        }
        _ => None,
    }
}
