//! Growing one tree: which node is parted next, and by what.
//!
//! Every policy asks the same primitives: histograms of the nodes that are weighed (of two siblings the one with fewer rows
//! is summed, ties to the left one, the other is what its parent has more; integers, so it is the same), the best split of
//! each, and the parting of rows.
//!
//! - **Depthwise**: all nodes of a level, left to right. Where `max_leaves` has room for fewer splits than there are, those
//!   of greatest gain are made, ties to the lower node.
//! - **Lossguide**: the node whose split gains most, ties to the lower node, one at a time.
//! - **Symmetric**: all nodes of a level by one common split.
//!
//! Nodes are numbered in the order in which they arise, left before right.

mod features;
mod tree;
mod value;

use ml_core::{ParamError, Result};
use ml_kernels::Device;
use ml_kernels::num::key;
use ml_kernels::trees::{
    Bins, Histograms, Limits, Quantised, RowSets, Split, SplitAt, SplitRule, best_common_split, best_splits,
    histograms, node_sums, partition,
};

pub use features::FeatureSampling;
pub(crate) use features::Features;
pub use tree::{Grown, GrownNode};
pub(crate) use value::{NodeValue, within};

/// Which node is parted next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrowPolicy {
    /// All nodes of a level.
    #[default]
    Depthwise,
    /// The node that gains most.
    Lossguide,
    /// All nodes of a level by the same split, so that a tree is a table.
    Symmetric,
}

impl GrowPolicy {
    /// Its name in a model file.
    pub fn name(self) -> &'static str {
        match self {
            GrowPolicy::Depthwise => "depthwise",
            GrowPolicy::Lossguide => "lossguide",
            GrowPolicy::Symmetric => "symmetric",
        }
    }
}

impl std::str::FromStr for GrowPolicy {
    type Err = ml_core::Error;

    /// The policy of that name; CatBoost's names are taken as well.
    ///
    /// # Errors
    /// [`ParamError::NotOffered`].
    fn from_str(s: &str) -> Result<Self> {
        match s {
            "depthwise" | "Depthwise" => Ok(GrowPolicy::Depthwise),
            "lossguide" | "Lossguide" => Ok(GrowPolicy::Lossguide),
            "symmetric" | "SymmetricTree" => Ok(GrowPolicy::Symmetric),
            _ => Err(ParamError::NotOffered {
                name: "grow_policy",
                value: s.to_owned(),
                instead: "depthwise, lossguide or symmetric".to_owned(),
            }
            .into()),
        }
    }
}

/// Deepest symmetric tree: 2^16 leaves.
pub const MAX_SYMMETRIC_DEPTH: usize = 16;

/// How a tree is grown.
#[derive(Debug, Clone)]
pub struct GrowRule {
    /// Which node is parted next.
    pub policy: GrowPolicy,
    /// Most splits between the root and a leaf; 0 for no bound.
    pub max_depth: usize,
    /// Most leaves; 0 for no bound.
    pub max_leaves: usize,
    /// How splits are weighed.
    pub split: SplitRule,
    /// Which columns a split may ask.
    pub features: FeatureSampling,
    /// Sets of columns that may meet on a path; columns of no set form one more. Empty: no bound.
    pub interactions: Vec<Vec<u32>>,
}

impl GrowRule {
    /// Bounds that belong together.
    ///
    /// # Errors
    /// [`ParamError::OutOfBound`] for a policy without an end (lossguide and depthwise need `max_depth` or `max_leaves`),
    /// for a symmetric tree that is too deep or has a number of leaves, and for columns and parts that are not there.
    pub fn check(&self, cols: usize) -> Result<()> {
        match self.policy {
            GrowPolicy::Symmetric => {
                ml_core::check::usize_within("max_depth", self.max_depth, 1, MAX_SYMMETRIC_DEPTH)?;
                if self.max_leaves != 0 {
                    let bound = "0 (no bound) with grow_policy = symmetric, whose trees have 2^depth leaves";
                    return Err(ParamError::out_of_bound("max_leaves", bound, self.max_leaves).into());
                }
            }
            GrowPolicy::Depthwise | GrowPolicy::Lossguide => {
                if self.max_leaves == 1 {
                    return Err(ParamError::out_of_bound("max_leaves", "0 (no bound) or at least 2", 1).into());
                }
            }
        }
        if let Some(c) = self.interactions.iter().flatten().find(|c| **c as usize >= cols) {
            let bound = format!("columns below {cols}");
            return Err(ParamError::out_of_bound("interaction_constraints", bound, c).into());
        }
        self.features.check()
    }
}

/// What a tree is grown on.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// Where it grows.
    pub device: &'a Device,
    /// Bins of the rows.
    pub bins: &'a Bins,
    /// What is summed.
    pub sums: &'a Quantised,
    /// Seed of the draws of columns.
    pub seed: u64,
    /// Number of the tree, for the same.
    pub tree: u32,
}

/// A split that is best for a node.
struct Candidate {
    node: u32,
    at: SplitAt,
    gain: f32,
    left: Vec<i64>,
}

/// A tree that grows.
struct Growth<'a> {
    ground: Ground<'a>,
    rule: &'a GrowRule,
    features: Features<'a>,
    /// Values of nodes, where monotone columns bound them.
    value: Option<NodeValue>,
    nodes: Vec<GrownNode>,
    rows: RowSets,
    /// Node of each set of rows.
    leaves: Vec<u32>,
    /// Set of rows of each node that is a leaf now.
    sets: Vec<u32>,
}

impl GrowRule {
    /// The tree that this rule grows over `rows`, one set of rows.
    ///
    /// # Errors
    /// Those of the primitives, and of [`GrowRule::check`].
    ///
    /// # Bit identity
    /// Clauses [tree-sums], [tree-splits], [tree-bins]; the order of nodes is part of the result.
    pub fn grow(&self, ground: Ground<'_>, rows: RowSets) -> Result<Grown> {
        self.check(ground.bins.cols())?;
        let sums = node_sums(ground.device, ground.sums, &rows)?;
        let features = Features::new(&self.features, &self.interactions, ground.bins.cols(), ground.seed, ground.tree);
        let nodes = vec![GrownNode::leaf(0, rows.len(0), sums)];
        let bounded = self.split.monotone.is_some();
        let value = bounded.then(|| NodeValue::new(self.split.criterion, ground.sums.shifts()));
        let (leaves, sets) = (vec![0], vec![0]);
        let mut growth = Growth { ground, rule: self, features, value, nodes, rows, leaves, sets };
        match self.policy {
            GrowPolicy::Depthwise => growth.depthwise()?,
            GrowPolicy::Lossguide => growth.lossguide()?,
            GrowPolicy::Symmetric => growth.symmetric()?,
        }
        Ok(Grown { nodes: growth.nodes, rows: growth.rows, leaves: growth.leaves })
    }
}

impl Growth<'_> {
    fn deep(&self, depth: usize) -> bool {
        self.rule.max_depth != 0 && depth >= self.rule.max_depth
    }

    fn room(&self) -> usize {
        match self.rule.max_leaves {
            0 => usize::MAX,
            most => most.saturating_sub(self.leaves.len()),
        }
    }

    fn sum(&self, nodes: &[u32]) -> Result<Histograms> {
        let sets: Vec<u32> = nodes.iter().map(|n| self.sets[*n as usize]).collect();
        histograms(self.ground.device, self.ground.bins, self.ground.sums, &self.rows, &sets)
    }

    /// The best split of each of `nodes`, those of `sums` in this order.
    fn weigh(&mut self, nodes: &[u32], sums: &Histograms) -> Result<Vec<Option<Candidate>>> {
        let allowed = self.features.allowed(nodes, &self.nodes);
        let bounds = self.bounds(nodes);
        let limits = Limits { allowed: allowed.as_deref(), bounds: bounds.as_deref(), only: None };
        let shifts = self.ground.sums.shifts();
        let found = best_splits(self.ground.device, sums, shifts, &self.rule.split, &limits)?;
        let candidate = |(node, split): (&u32, Option<Split>)| {
            split.map(|Split { at, gain, left, .. }| Candidate { node: *node, at, gain, left })
        };
        Ok(nodes.iter().zip(found).map(candidate).collect())
    }

    /// Bounds of the nodes' values, where there are any.
    fn bounds(&self, nodes: &[u32]) -> Option<Vec<[f32; 2]>> {
        self.value.as_ref()?;
        Some(nodes.iter().map(|n| self.nodes[*n as usize].bounds.map(|b| b as f32)).collect())
    }

    /// Parts the nodes of `splits`; gives the children of each.
    fn part(&mut self, splits: Vec<Candidate>) -> Result<Vec<[u32; 2]>> {
        let mut at: Vec<Option<SplitAt>> = vec![None; self.leaves.len()];
        let mut children = Vec::with_capacity(splits.len());
        let mut leaves: Vec<Vec<u32>> = self.leaves.iter().map(|n| vec![*n]).collect();
        for split in splits {
            let set = self.sets[split.node as usize] as usize;
            let parent = &self.nodes[split.node as usize];
            let depth = parent.depth + 1;
            let right: Vec<i64> = parent.sums.iter().zip(&split.left).map(|(all, left)| all - left).collect();
            let pair = [self.nodes.len() as u32, self.nodes.len() as u32 + 1];
            at[set] = Some(split.at.clone());
            leaves[set] = pair.to_vec();
            for sums in [split.left, right] {
                self.nodes.push(GrownNode::leaf(depth, 0, sums));
            }
            self.features.descend(split.node, pair, split.at.feature());
            let parent = &mut self.nodes[split.node as usize];
            parent.split = Some(split.at);
            parent.gain = split.gain;
            parent.children = pair;
            children.push(pair);
            self.bound(split.node);
        }
        self.leaves = leaves.concat();
        let empty = RowSets::of(self.ground.device, &[], self.ground.bins.rows())?;
        let rows = std::mem::replace(&mut self.rows, empty);
        self.rows = partition(self.ground.device, self.ground.bins, rows, &at)?;
        self.sets.resize(self.nodes.len(), 0);
        for (set, node) in self.leaves.iter().enumerate() {
            self.nodes[*node as usize].rows = self.rows.len(set);
            self.sets[*node as usize] = set as u32;
        }
        Ok(children)
    }

    /// Bounds of the children of `node`: its own and, where a monotone column parts them, the middle of their values.
    fn bound(&mut self, node: u32) {
        let (Some(value), Some(signs)) = (&self.value, &self.rule.split.monotone) else { return };
        let parent = &self.nodes[node as usize];
        let (own, [l, r]) = (parent.bounds, parent.children.map(|c| c as usize));
        let column = parent.split.as_ref().map_or(0, SplitAt::feature);
        let sign = signs.get(column as usize).copied().unwrap_or(0);
        let [left, right] = [l, r].map(|c| value.within(&self.nodes[c].sums, own));
        let middle = 0.5 * (left + right);
        let [mut low, mut high] = [own, own];
        if sign != 0 {
            (low[1], high[0]) = (middle, middle);
        }
        let (below, above) = if sign < 0 { (r, l) } else { (l, r) };
        self.nodes[below].bounds = low;
        self.nodes[above].bounds = high;
    }

    /// Histograms of the children of nodes `parents` of `sums`, left and right in turn.
    fn children(&self, sums: &Histograms, parents: &[u32], children: &[[u32; 2]]) -> Result<Histograms> {
        let Ground { device, bins, sums: values, .. } = self.ground;
        let sets: Vec<[u32; 2]> = children.iter().map(|pair| pair.map(|node| self.sets[node as usize])).collect();
        sums.children(device, bins, values, &self.rows, parents, &sets)
    }

    fn depthwise(&mut self) -> Result<()> {
        let mut nodes = vec![0u32];
        let mut sums = self.sum(&nodes)?;
        let mut depth = 0;
        while !nodes.is_empty() && !self.deep(depth) && self.room() > 0 {
            let found = self.weigh(&nodes, &sums)?;
            let mut chosen: Vec<(u32, Candidate)> =
                (0u32..).zip(found).filter_map(|(at, split)| Some((at, split?))).collect();
            if chosen.len() > self.room() {
                // Stable, so equal gains stay in the order of nodes.
                chosen.sort_by_key(|(_, split)| !key(split.gain));
                chosen.truncate(self.room());
                chosen.sort_by_key(|(at, _)| *at);
            }
            let (parents, splits): (Vec<u32>, Vec<Candidate>) = chosen.into_iter().unzip();
            if splits.is_empty() {
                break;
            }
            let children = self.part(splits)?;
            depth += 1;
            if !self.deep(depth) && self.room() > 0 {
                sums = self.children(&sums, &parents, &children)?;
            }
            nodes = children.concat();
        }
        Ok(())
    }

    fn lossguide(&mut self) -> Result<()> {
        /// Histograms of siblings, and which of them is the node's.
        type Place = (std::rc::Rc<Histograms>, u32);
        let mut open: Vec<(Candidate, Place)> = Vec::new();
        let consider = |growth: &mut Self, open: &mut Vec<(Candidate, Place)>, nodes: &[u32], sums: Histograms| {
            let found = growth.weigh(nodes, &sums)?;
            let sums = std::rc::Rc::new(sums);
            for (at, split) in (0u32..).zip(found) {
                open.extend(split.map(|split| (split, (sums.clone(), at))));
            }
            Ok::<(), ml_core::Error>(())
        };
        if !self.deep(0) {
            let sums = self.sum(&[0])?;
            consider(self, &mut open, &[0], sums)?;
        }
        while self.room() > 0 {
            // Greatest gain, ties to the lower node.
            let best = (0..open.len()).min_by_key(|&i| (!key(open[i].0.gain), open[i].0.node));
            let Some(best) = best else { break };
            let (split, (sums, at)) = open.swap_remove(best);
            let depth = self.nodes[split.node as usize].depth as usize + 1;
            let children = self.part(vec![split])?;
            if !self.deep(depth) && self.room() > 0 {
                let below = self.children(&sums, &[at], &children)?;
                drop(sums);
                consider(self, &mut open, &children[0], below)?;
            }
        }
        Ok(())
    }

    fn symmetric(&mut self) -> Result<()> {
        let mut nodes = vec![0u32];
        let mut sums = self.sum(&nodes)?;
        let mut depth = 0;
        while !self.deep(depth) {
            let allowed = self.features.common(depth, &nodes);
            let bounds = self.bounds(&nodes);
            let limits = Limits { allowed: allowed.as_deref(), bounds: bounds.as_deref(), only: None };
            let Ground { device, sums: quantised, .. } = self.ground;
            let found = best_common_split(device, &sums, quantised.shifts(), &self.rule.split, &limits)?;
            let Some(common) = found else { break };
            let width = quantised.channels();
            // The gain is the level's; its first node stands for it, so that gains of a tree add up.
            let splits = nodes.iter().zip(common.left.chunks_exact(width)).enumerate();
            let splits = splits.map(|(i, (node, left))| {
                let gain = if i == 0 { common.gain } else { 0.0 };
                Candidate { node: *node, at: common.at.clone(), gain, left: left.to_vec() }
            });
            let children = self.part(splits.collect())?;
            depth += 1;
            if !self.deep(depth) {
                let parents: Vec<u32> = (0..nodes.len() as u32).collect();
                sums = self.children(&sums, &parents, &children)?;
            }
            nodes = children.concat();
        }
        Ok(())
    }
}
