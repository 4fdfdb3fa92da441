//! Trees as the walks want them: checked once, then laid out so that no walk can leave them or go round.

use std::collections::BTreeMap;
use std::sync::Arc;

use ml_core::{DataError, Error, ParamError, Result};

#[cfg(feature = "gpu")]
use super::parts::Part;
use crate::device::Device;
#[cfg(feature = "gpu")]
use crate::device::on_device;
use crate::num::{canon, key};
use crate::sort::count_u32;

/// What a node asks of a row. `T` is the type of bounds: `f32` for raw numbers, `u32` for bins.
#[derive(Debug, Clone, PartialEq)]
pub enum FlatNode<T = f32> {
    /// The end of a path.
    Leaf {
        /// The leaf's number.
        leaf: u32,
    },
    /// What is at most `bound` goes left.
    Number {
        /// The column asked.
        feature: u32,
        /// The bound: any float but a NaN, a subnormal one too; or the last bin on the left.
        bound: T,
        /// Node on the left.
        left: u32,
        /// Node on the right.
        right: u32,
        /// Whether a missing value (NaN, or bin 0) goes left.
        missing_left: bool,
    },
    /// The categories, or bins, of a set go left.
    Category {
        /// The column asked.
        feature: u32,
        /// Bit c of word c / 32 for category, or bin, c. What is beyond the words goes right.
        set: Arc<[u32]>,
        /// Node on the left.
        left: u32,
        /// Node on the right.
        right: u32,
        /// Whether a missing value goes left: bin 0, or a NaN and what is no category (see
        /// [`BinRule::Category`](crate::trees::BinRule::Category)).
        missing_left: bool,
    },
}

/// A tree: node 0 is the root, children stand after their parents and have one parent each.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatTree<T = f32> {
    /// Its nodes.
    pub nodes: Vec<FlatNode<T>>,
    /// Values of its leaves, shape (leaves, outputs).
    pub values: Vec<f32>,
    /// Values of a leaf; 0 for a tree that is walked for its leaves' numbers alone, which may then be any.
    pub outputs: usize,
    /// The first output of the score that the values are added to.
    pub first_output: usize,
}

/// What the rows of a forest are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Raw numbers.
    Numbers,
    /// Bins.
    Bins,
}

/// Checked trees on a device, for [`walk`](fn@super::walk), [`walk_sum`](super::walk_sum) and
/// [`walk_bins`](super::walk_bins). Clones share the memory.
#[derive(Clone)]
pub struct Forest {
    device: Device,
    plan: Arc<Plan>,
    /// The plan in pieces that bindings hold, on the device.
    #[cfg(feature = "gpu")]
    parts: Arc<Vec<Part>>,
}

/// In the second word of a node: a missing value goes left.
pub(crate) const MISSING_LEFT: u32 = 1 << 31;
/// In the second word of a node: it asks for a category.
pub(crate) const CATEGORY: u32 = 1 << 30;
/// In the second word of a node: it is a leaf.
pub(crate) const LEAF: u32 = 1 << 29;
/// The part of a node's second word that says which slot it asks.
pub(crate) const SLOT: u32 = LEAF - 1;

/// Most words of a set: categories stay below [`BEYOND`](crate::trees::value::BEYOND).
const MAX_SET: usize = 1 << 26;

/// All trees in one list of nodes, tree after tree, and in a tree level after level with siblings side by side.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) rows: Rows,
    /// Columns of a row.
    pub(crate) features: usize,
    /// Of each node: its bound, what it asks, its child on the left (that on the right follows), and more.
    ///
    /// Number: value + (1 if missing goes left) <= bound goes left, modulo 2^32, missing being 2^32 - 1. Category: the bound
    /// is the length of the set in words, the last word its first word in `sets`. Leaf: it is its own child on the left for
    /// every value, and the last word counts the leaves before it.
    pub(crate) nodes: Vec<[u32; 4]>,
    pub(crate) sets: Vec<u32>,
    /// What nodes ask: a column, as number or as category.
    pub(crate) slots: Vec<Slot>,
    /// The number of each leaf.
    pub(crate) leaves: Vec<u32>,
    /// The values of each leaf, as many as its tree has outputs.
    pub(crate) values: Vec<f32>,
    pub(crate) trees: Vec<TreePlan>,
    /// What scores start from.
    pub(crate) base: Vec<f32>,
}

/// A column, and how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    pub(crate) feature: u32,
    pub(crate) category: bool,
}

/// Where a tree's parts begin. What they end at is where the next tree's begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreePlan {
    pub(crate) root: u32,
    pub(crate) first_leaf: u32,
    pub(crate) first_value: usize,
    pub(crate) first_output: u32,
    pub(crate) outputs: u32,
    /// Steps of the longest path.
    pub(crate) depth: u32,
    /// Whether a node asks for a category.
    pub(crate) categories: bool,
}

impl Forest {
    /// Trees over rows of `features` raw numbers; scores start from `base`, one number an output.
    ///
    /// # Errors
    /// [`ParamError::OutOfBound`] for a tree without nodes, a child that does not stand after its parent or has another
    /// parent, a column beyond `features`, a bound that is a NaN, a set of more than 2^26 words, a leaf without values and
    /// an output beyond `base`. [`DataError::NonFinite`] for values and bases that are not finite; [`DataError::Shape`] for
    /// values that are no whole number of leaves; [`DataError::TooLarge`] for more than 2^32 - 1 nodes or 2^29 columns; a
    /// device failure. A forest without trees is allowed.
    pub fn new(device: &Device, trees: &[FlatTree], features: usize, base: &[f32]) -> Result<Self> {
        let bound = |bound: &f32| {
            if bound.is_nan() {
                return Err(ParamError::out_of_bound("bound", "a number", "NaN").into());
            }
            Ok(key(*bound))
        };
        Self::planned(device, Plan::new(Rows::Numbers, trees, features, base, bound)?)
    }

    /// Trees over rows of `features` bins; scores start from `base`.
    ///
    /// # Errors
    /// As [`Forest::new`], and [`ParamError::OutOfBound`] for a bound of 65,536 or more.
    pub fn in_bins(device: &Device, trees: &[FlatTree<u32>], features: usize, base: &[f32]) -> Result<Self> {
        let bound = |bound: &u32| {
            if *bound >= 1 << 16 {
                return Err(ParamError::out_of_bound("bound", "< 65536", bound).into());
            }
            Ok(*bound)
        };
        Self::planned(device, Plan::new(Rows::Bins, trees, features, base, bound)?)
    }

    fn planned(device: &Device, plan: Plan) -> Result<Self> {
        #[cfg(feature = "gpu")]
        let parts = Arc::new(on_device!(device, host(_h) => Vec::new(), gpu(g) => Part::all(g, &plan)?));
        Ok(Forest {
            device: device.clone(),
            plan: Arc::new(plan),
            #[cfg(feature = "gpu")]
            parts,
        })
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.plan.trees.len()
    }

    /// Columns of a row.
    pub fn features(&self) -> usize {
        self.plan.features
    }

    /// Numbers of a score.
    pub fn outputs(&self) -> usize {
        self.plan.base.len()
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    #[cfg(feature = "gpu")]
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

impl std::fmt::Debug for Forest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (trees, device) = (self.trees(), self.device.name());
        write!(f, "Forest({trees} trees, {} nodes on {device})", self.plan.nodes.len())
    }
}

fn refused(name: &'static str, bound: impl ToString, value: impl ToString) -> Error {
    ParamError::out_of_bound(name, bound, value).into()
}

impl Plan {
    fn new<T>(
        rows: Rows,
        trees: &[FlatTree<T>],
        features: usize,
        base: &[f32],
        bound: impl Fn(&T) -> Result<u32>,
    ) -> Result<Self> {
        if features > SLOT as usize {
            let (elements, limit) = (features as u128, u128::from(SLOT));
            return Err(DataError::TooLarge { what: "features", elements, limit }.into());
        }
        if let Some(col) = base.iter().position(|value| !value.is_finite()) {
            return Err(DataError::NonFinite { what: "base", row: 0, col, value: base[col] }.into());
        }
        let mut plan = Plan {
            rows,
            features,
            nodes: Vec::new(),
            sets: Vec::new(),
            slots: Vec::new(),
            leaves: Vec::new(),
            values: Vec::new(),
            trees: Vec::with_capacity(trees.len()),
            base: base.iter().map(|value| canon(*value)).collect(),
        };
        let slots = plan.slots_of(trees)?;
        for tree in trees {
            plan.add(tree, &slots, &bound)?;
        }
        count_u32("nodes", plan.nodes.len())?;
        count_u32("words of sets", plan.sets.len())?;
        Ok(plan)
    }

    /// Numbers what the nodes ask, columns ascending.
    fn slots_of<T>(&mut self, trees: &[FlatTree<T>]) -> Result<BTreeMap<Slot, u32>> {
        let mut slots = BTreeMap::new();
        for node in trees.iter().flat_map(|tree| &tree.nodes) {
            let (feature, category) = match node {
                FlatNode::Leaf { .. } => continue,
                FlatNode::Number { feature, .. } => (*feature, false),
                // A bin is one number, however it is asked.
                FlatNode::Category { feature, .. } => (*feature, self.rows == Rows::Numbers),
            };
            if feature as usize >= self.features {
                return Err(refused("feature", format!("< {}", self.features), feature));
            }
            slots.insert(Slot { feature, category }, 0);
        }
        for (number, (slot, to)) in slots.iter_mut().enumerate() {
            *to = number as u32;
            self.slots.push(*slot);
        }
        count_u32("slots", self.slots.len())?;
        if self.slots.len() > SLOT as usize {
            return Err(refused("features", format!("<= {SLOT}"), self.slots.len()));
        }
        Ok(slots)
    }

    fn add<T>(
        &mut self,
        tree: &FlatTree<T>,
        slots: &BTreeMap<Slot, u32>,
        bound: &impl Fn(&T) -> Result<u32>,
    ) -> Result<()> {
        let FlatTree { nodes, values, outputs, first_output } = tree;
        let leaves = check_values(values, *outputs)?;
        let last = first_output.checked_add(*outputs).filter(|last| *last <= self.base.len());
        if last.is_none() {
            return Err(refused(
                "first_output",
                format!("<= {}", self.base.len() - (*outputs).min(self.base.len())),
                first_output,
            ));
        }
        check_nodes(nodes)?;
        count_u32("nodes", self.nodes.len() + nodes.len())?;
        let root = self.nodes.len();
        let mut plan = TreePlan {
            root: root as u32,
            first_leaf: self.leaves.len() as u32,
            first_value: self.values.len(),
            first_output: *first_output as u32,
            outputs: *outputs as u32,
            depth: 0,
            categories: false,
        };
        let slot = |feature: u32, category: bool| slots.get(&Slot { feature, category }).copied().unwrap_or(0);
        let flag = |missing_left: bool| if missing_left { MISSING_LEFT } else { 0 };
        // Nodes in the order in which they are numbered, and the depth of each: level after level.
        let mut order = vec![(0u32, 0u32)];
        let mut at = 0;
        while let Some(&(node, depth)) = order.get(at) {
            plan.depth = plan.depth.max(depth);
            let first_child = (root + order.len()) as u32;
            let (words, children) = match &nodes[node as usize] {
                FlatNode::Leaf { leaf } => {
                    if *outputs > 0 {
                        let leaf = *leaf as usize;
                        if leaf >= leaves {
                            return Err(refused("leaf", format!("< {leaves}"), leaf));
                        }
                        self.values.extend(values[leaf * outputs..][..*outputs].iter().map(|value| canon(*value)));
                    }
                    self.leaves.push(*leaf);
                    ([u32::MAX, LEAF, (root + at) as u32, self.leaves.len() as u32 - 1], None)
                }
                FlatNode::Number { feature, bound: most, left, right, missing_left } => {
                    let most = bound(most)? + u32::from(*missing_left);
                    ([most, slot(*feature, false) | flag(*missing_left), first_child, 0], Some([*left, *right]))
                }
                FlatNode::Category { feature, set, left, right, missing_left } => {
                    if set.len() > MAX_SET {
                        return Err(refused("set", format!("<= {MAX_SET} words"), set.len()));
                    }
                    plan.categories = true;
                    let ask = slot(*feature, self.rows == Rows::Numbers) | CATEGORY | flag(*missing_left);
                    let start = count_u32("words of sets", self.sets.len())?;
                    self.sets.extend_from_slice(set);
                    ([set.len() as u32, ask, first_child, start], Some([*left, *right]))
                }
            };
            self.nodes.push(words);
            order.extend(children.into_iter().flatten().map(|child| (child, depth + 1)));
            at += 1;
        }
        self.trees.push(plan);
        Ok(())
    }
}

/// How many leaves the values are for; 0 without outputs.
fn check_values(values: &[f32], outputs: usize) -> Result<usize> {
    if (outputs == 0 && !values.is_empty()) || (outputs > 0 && !values.len().is_multiple_of(outputs)) {
        return Err(DataError::shape("values", format!("a multiple of {outputs} outputs"), values.len()).into());
    }
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let (row, col) = (at / outputs, at % outputs);
        return Err(DataError::NonFinite { what: "values", row, col, value: values[at] }.into());
    }
    Ok(values.len().checked_div(outputs).unwrap_or(0))
}

// pathway: P234
/// Every child stands after its parent and has no other, so that every path ends and no node is reached twice.
fn check_nodes<T>(nodes: &[FlatNode<T>]) -> Result<()> {
    if nodes.is_empty() {
        return Err(refused("nodes", ">= 1", 0));
    }
    count_u32("nodes", nodes.len())?;
    let mut seen = vec![false; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        let (FlatNode::Number { left, right, .. } | FlatNode::Category { left, right, .. }) = node else { continue };
        for child in [*left, *right] {
            let place = child as usize;
            if place <= at || place >= nodes.len() || std::mem::replace(&mut seen[place], true) {
                return Err(refused("child", format!("> {at}, < {}, of one parent", nodes.len()), child));
            }
        }
    }
    Ok(())
}
