//! Minimal cost-complexity pruning, and the pruned tree as a [`Tree`].
//!
//! What a subtree is worth is the sum of the gains of its splits: the impurities of nodes, between which peers take
//! differences, cancel.

use ml_core::Result;

use super::grow::Grown;
use crate::double::single;
use crate::ensemble::{Node, Tree};

/// Turns splits into leaves, the weakest link first, while the gains below a split, times `unit`, are at most `alpha` for
/// each leaf that they add. Equal links: the older node.
pub(super) fn prune(nodes: &mut [Grown], alpha: f64, unit: f64) {
    if alpha == 0.0 {
        return;
    }
    let n = nodes.len();
    let mut parent = vec![None; n];
    let mut gain = vec![0.0; n];
    let mut leaves = vec![1usize; n];
    for at in (0..n).rev() {
        if let (Some((left, right)), Some(cut)) = (nodes[at].children, &nodes[at].cut) {
            parent[left] = Some(at);
            parent[right] = Some(at);
            gain[at] = cut.gain + gain[left] + gain[right];
            leaves[at] = leaves[left] + leaves[right];
        }
    }
    loop {
        let mut weakest: Option<(f64, usize)> = None;
        // Nodes below a pruned one are no longer reached, and have no say.
        let mut reached = vec![false; n];
        reached[0] = true;
        for at in 0..n {
            let Some((left, right)) = nodes[at].children.filter(|_| reached[at]) else { continue };
            (reached[left], reached[right]) = (true, true);
            let link = gain[at] * unit / (leaves[at] - 1) as f64;
            if weakest.is_none_or(|(least, _)| link < least) {
                weakest = Some((link, at));
            }
        }
        match weakest {
            Some((link, at)) if link <= alpha => {
                nodes[at].children = None;
                (gain[at], leaves[at]) = (0.0, 1);
                let mut above = parent[at];
                while let Some(at) = above {
                    if let (Some((left, right)), Some(cut)) = (nodes[at].children, &nodes[at].cut) {
                        gain[at] = cut.gain + gain[left] + gain[right];
                        leaves[at] = leaves[left] + leaves[right];
                    }
                    above = parent[at];
                }
            }
            _ => return,
        }
    }
}

/// The tree of what is reached from the root, in preorder, left before right. `value` gives a leaf's values, `gain` and
/// `cover` a node's in the units of the data.
pub(super) fn tree(
    nodes: &[Grown],
    outputs: usize,
    value: impl Fn(&Grown, &mut Vec<f64>),
    gain: impl Fn(f64) -> f64,
    cover: impl Fn(&[i64]) -> f64,
) -> Result<Tree> {
    let mut out: Vec<Node> = Vec::with_capacity(nodes.len());
    let mut values = Vec::new();
    let mut open: Vec<(usize, Option<(usize, bool)>)> = vec![(0, None)];
    while let Some((from, above)) = open.pop() {
        let at = out.len();
        if let Some((parent, is_left)) = above
            && let Node::Number { left, right, .. } = &mut out[parent]
        {
            *(if is_left { left } else { right }) = at as u32;
        }
        let node = &nodes[from];
        let cover = bounded(cover(&node.sums));
        match (node.children, &node.cut) {
            (Some((left, right)), Some(cut)) => {
                let (feature, threshold, gain) = (cut.feature, cut.threshold, bounded(gain(cut.gain)));
                out.push(Node::Number { feature, threshold, left: 0, right: 0, missing_left: false, gain, cover });
                open.push((right, Some((at, false))));
                open.push((left, Some((at, true))));
            }
            _ => {
                out.push(Node::Leaf { leaf: (values.len() / outputs) as u32, cover });
                value(node, &mut values);
            }
        }
    }
    Tree::new(out, values, outputs)
}

/// Rounded once to a canonical binary32, the greatest one for what is beyond it.
fn bounded(x: f64) -> f32 {
    single(x).min(f32::MAX)
}
