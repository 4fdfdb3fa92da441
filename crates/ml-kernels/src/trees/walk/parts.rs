//! A forest on a device, in parts that bindings hold: some whole trees, or a part of one tree that no binding holds.

use std::ops::Range;

use cubecl::prelude::*;
use ml_core::Result;

use super::forest::{CATEGORY, LEAF, Plan, SLOT, TreePlan};
use crate::buffer::In;
use crate::device::gpu::Gpu;

/// Words that describe a tree: its root, first leaf and first value, counted from the part's; its first output, its outputs.
pub(super) const TREE: usize = 5;

/// Words of a node.
const NODE: usize = 4;

/// Nodes that bindings hold together, and what belongs to them. Numbers in them are counted from the part's first.
pub(super) struct Part {
    pub(super) nodes: In,
    pub(super) sets: In,
    pub(super) trees: In,
    pub(super) leaves: In,
    pub(super) values: In,
    /// Its nodes, numbered over all trees.
    pub(super) range: Range<usize>,
    /// Its trees: one if it is a part of a tree.
    pub(super) numbers: Range<usize>,
    /// Whether it is a part of a tree, and then whether its first.
    pub(super) of_one: Option<bool>,
}

/// What a part has room for so far.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    sets: usize,
    values: usize,
}

impl Size {
    fn plus(self, other: Size) -> Size {
        Size { nodes: self.nodes + other.nodes, sets: self.sets + other.sets, values: self.values + other.values }
    }

    /// There are fewer leaves than nodes.
    fn fits(self, trees: usize, limit: usize) -> bool {
        self.nodes * NODE <= limit && self.sets <= limit && self.values <= limit && trees * TREE <= limit
    }
}

impl Part {
    /// All parts of a forest, trees ascending and in a tree nodes ascending.
    pub(super) fn all<R: Runtime>(g: &Gpu<R>, plan: &Plan) -> Result<Vec<Part>> {
        let limit = g.max_elements::<u32>();
        let sizes: Vec<Size> = (0..plan.trees.len())
            .map(|t| nodes_of(plan, t).fold(Size::default(), |size, node| size.plus(size_of_node(plan, t, node))))
            .collect();
        let (mut parts, mut first) = (Vec::new(), 0);
        while first < plan.trees.len() {
            let (mut end, mut size) = (first, Size::default());
            while end < plan.trees.len() && size.plus(sizes[end]).fits(end + 1 - first, limit) {
                size = size.plus(sizes[end]);
                end += 1;
            }
            if end > first {
                let range = nodes_of(plan, first).start..nodes_of(plan, end - 1).end;
                parts.push(Part::new(g, plan, first..end, range, None)?);
                first = end;
                continue;
            }
            // A tree that no binding holds.
            let whole = nodes_of(plan, first);
            let mut start = whole.start;
            while start < whole.end {
                let (mut end, mut size) = (start, Size::default());
                // One node at least.
                while end < whole.end && (end == start || size.plus(size_of_node(plan, first, end)).fits(1, limit)) {
                    size = size.plus(size_of_node(plan, first, end));
                    end += 1;
                }
                parts.push(Part::new(g, plan, first..first + 1, start..end, Some(start == whole.start))?);
                start = end;
            }
            first += 1;
        }
        Ok(parts)
    }

    fn new<R: Runtime>(
        g: &Gpu<R>,
        plan: &Plan,
        numbers: Range<usize>,
        range: Range<usize>,
        of_one: Option<bool>,
    ) -> Result<Part> {
        let tree = |number: usize| &plan.trees[number];
        let first_node = range.start as u32;
        let is_leaf = |node: &&[u32; 4]| node[1] & LEAF != 0;
        let first_leaf = first_of(plan, range.clone(), |node| is_leaf(&node)).unwrap_or(0);
        let leaves = plan.nodes[range.clone()].iter().filter(is_leaf).count() as u32;
        let first_set = first_of(plan, range.clone(), |node| node[1] & CATEGORY != 0).unwrap_or(0);
        let sets: usize =
            plan.nodes[range.clone()].iter().filter(|node| node[1] & CATEGORY != 0).map(|n| n[0] as usize).sum();
        let value_of = |number: usize, leaf: u32| {
            let TreePlan { first_value, first_leaf, outputs, .. } = *tree(number);
            first_value + (leaf - first_leaf) as usize * outputs as usize
        };
        let values = if leaves == 0 {
            0..0
        } else {
            let last = numbers.end - 1;
            value_of(numbers.start, first_leaf)..value_of(last, first_leaf + leaves)
        };
        let mut nodes = Vec::with_capacity(range.len() * NODE);
        for [bound, ask, left, more] in &plan.nodes[range.clone()] {
            if ask & LEAF != 0 {
                nodes.extend([*bound, *ask, left - first_node, more - first_leaf]);
            } else {
                let slot = plan.slots[(ask & SLOT) as usize];
                let more = if ask & CATEGORY != 0 { more - first_set } else { 0 };
                nodes.extend([*bound, ask & !SLOT | slot.feature, left - first_node, more]);
            }
        }
        let mut trees = Vec::with_capacity(numbers.len() * TREE);
        for number in numbers.clone() {
            let TreePlan { root, first_leaf: own, first_value, first_output, outputs, .. } = *tree(number);
            trees.extend(match of_one {
                // Of a part of a tree the first leaf and value are the part's.
                Some(_) => [0, 0, 0, first_output, outputs],
                None => {
                    let value = (first_value - values.start) as u32;
                    [root - first_node, own - first_leaf, value, first_output, outputs]
                }
            });
        }
        let upload = |words: &[u32]| -> Result<In> { Ok(In { handle: g.upload_one(words)?, len: words.len() }) };
        let last_leaf = (first_leaf + leaves) as usize;
        Ok(Part {
            nodes: upload(&nodes)?,
            sets: upload(&plan.sets[first_set as usize..first_set as usize + sets])?,
            trees: upload(&trees)?,
            leaves: upload(&plan.leaves[first_leaf as usize..last_leaf])?,
            values: upload(bytemuck::cast_slice(&plan.values[values]))?,
            range,
            numbers,
            of_one,
        })
    }
}

/// The nodes of tree `number`.
fn nodes_of(plan: &Plan, number: usize) -> Range<usize> {
    let end = plan.trees.get(number + 1).map_or(plan.nodes.len(), |next| next.root as usize);
    plan.trees[number].root as usize..end
}

fn size_of_node(plan: &Plan, number: usize, node: usize) -> Size {
    let [bound, ask, ..] = plan.nodes[node];
    Size {
        nodes: 1,
        sets: if ask & CATEGORY != 0 { bound as usize } else { 0 },
        values: if ask & LEAF != 0 { plan.trees[number].outputs as usize } else { 0 },
    }
}

/// The last word of the first of some nodes of a kind.
fn first_of(plan: &Plan, range: Range<usize>, is: impl Fn(&[u32; 4]) -> bool) -> Option<u32> {
    plan.nodes[range].iter().find(|node| is(node)).map(|node| node[3])
}
