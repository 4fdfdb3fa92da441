//! One tree, grown depth first, or best first under `max_leaf_nodes`.
//!
//! Nodes are numbered when they are made: the root is 0, and a split makes its left child and then its right child. The
//! draws of a node depend on its number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::params::Plan;
use super::split::Gains;
use super::table::Column;
use super::target::{Target, Weights};
use crate::draw::{Draws, Purpose, place};
use crate::isolation::between;

/// What all trees of a fit share.
pub(super) struct Ground<'a> {
    pub columns: &'a [Column],
    pub target: &'a Target,
    pub gains: &'a Gains,
    pub plan: &'a Plan,
}

/// How a node is parted.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub feature: u32,
    /// Values up to this go left.
    pub threshold: f32,
    /// In units of the integers, of the whole node.
    pub gain: f64,
    left: Vec<i64>,
    right: Vec<i64>,
}

/// A node of a grown tree.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    /// Left and right child of a node that was parted.
    pub children: Option<(usize, usize)>,
    pub cut: Option<Cut>,
    pub sums: Vec<i64>,
    /// Within which a leaf's ratio is held by monotone columns.
    pub bounds: (f64, f64),
    rows: Range<usize>,
    depth: usize,
}

pub(super) struct Grower<'a> {
    ground: &'a Ground<'a>,
    draws: Draws,
    /// Integer weight of each row in this tree, how often it was drawn included.
    weights: Vec<i64>,
    /// The integer target of each row, as often as it was drawn; empty for classes.
    targets: Vec<i64>,
    rows: Vec<u32>,
    spare: Vec<u32>,
    /// Columns in ascending order between nodes.
    order: Vec<u32>,
    /// Sums of the bins of one column, and rows by bin.
    bins: Vec<i64>,
    keys: Vec<u64>,
    left: Vec<i64>,
    right: Vec<i64>,
    /// Least weight of a leaf.
    least_weight: f64,
    nodes: Vec<Grown>,
}

impl<'a> Grower<'a> {
    /// `counts`: how often each row was drawn.
    pub fn new(ground: &'a Ground<'a>, draws: Draws, weights: &Weights, counts: Option<&[u32]>) -> Self {
        let times = |i: usize| counts.map_or(1, |c| i64::from(c[i]));
        let scaled = |of: &[i64]| of.iter().enumerate().map(|(i, w)| w * times(i)).collect::<Vec<_>>();
        let drawn = scaled(&weights.of);
        let targets = match ground.target {
            Target::Numbers { of, .. } => scaled(of),
            Target::Classes { .. } => Vec::new(),
        };
        let rows: Vec<u32> = (0..drawn.len() as u32).filter(|i| drawn[*i as usize] != 0).collect();
        Grower {
            ground,
            draws,
            weights: drawn,
            targets,
            spare: Vec::with_capacity(rows.len()),
            rows,
            order: (0..ground.columns.len() as u32).collect(),
            bins: Vec::new(),
            keys: Vec::new(),
            left: vec![0; ground.gains.channels()],
            right: vec![0; ground.gains.channels()],
            least_weight: 0.0,
            nodes: Vec::new(),
        }
    }

    /// The nodes of the tree; `unit` turns a gain into a decrease of impurity as a part of the whole tree's weight.
    pub fn grow(mut self, unit: f64) -> Vec<Grown> {
        let plan = self.ground.plan;
        let mut sums = vec![0; self.ground.gains.channels()];
        for i in 0..self.rows.len() {
            self.add(&mut sums, 0, self.rows[i]);
        }
        let total = self.ground.gains.weight(&sums) as f64;
        self.least_weight = plan.min_weight_fraction_leaf * total;
        let unit = unit / total;
        self.node(sums, 0..self.rows.len(), 0, (f64::NEG_INFINITY, f64::INFINITY), unit);
        match plan.max_leaf_nodes {
            None => {
                let mut open = vec![0];
                while let Some(at) = open.pop() {
                    if let Some((left, right)) = self.part(at, unit) {
                        open.extend([right, left]);
                    }
                }
            }
            Some(most) => {
                // Gains are at least 0 and never NaN, so their bits have their order. Equal ones: the older node.
                let ready = |grower: &Self, at: usize| {
                    grower.nodes[at].cut.as_ref().map(|cut| (cut.gain.to_bits(), Reverse(at)))
                };
                let mut open: BinaryHeap<_> = ready(&self, 0).into_iter().collect();
                let mut leaves = 1;
                while leaves < most
                    && let Some((_, Reverse(at))) = open.pop()
                {
                    if let Some((left, right)) = self.part(at, unit) {
                        leaves += 1;
                        open.extend(ready(&self, left));
                        open.extend(ready(&self, right));
                    }
                }
            }
        }
        self.nodes
    }

    /// Adds a row to the sums at `at`.
    fn add(&self, sums: &mut [i64], at: usize, row: u32) {
        let row = row as usize;
        match self.ground.target {
            Target::Classes { of, k } => {
                sums[at + of[row] as usize] += self.weights[row];
                sums[at + k] += 1;
            }
            Target::Numbers { .. } => {
                sums[at] += self.weights[row];
                sums[at + 1] += self.targets[row];
                sums[at + 2] += 1;
            }
        }
    }

    /// Makes a node and looks for its cut.
    fn node(&mut self, sums: Vec<i64>, rows: Range<usize>, depth: usize, bounds: (f64, f64), unit: f64) -> usize {
        let at = self.nodes.len();
        let plan = self.ground.plan;
        let weight = self.ground.gains.weight(&sums) as f64;
        let count = rows.len();
        let ends = depth >= plan.max_depth
            || count < plan.min_samples_split
            || count < plan.min_samples_leaf.saturating_mul(2)
            || weight < 2.0 * self.least_weight
            || self.is_pure(&sums, &rows);
        let cut = if ends { None } else { self.cut(at, &sums, rows.clone(), bounds) };
        let cut = cut.filter(|cut| cut.gain * unit + f64::EPSILON >= plan.min_impurity_decrease);
        self.nodes.push(Grown { children: None, cut, sums, bounds, rows, depth });
        at
    }

    /// Whether all rows of a node have the same target.
    fn is_pure(&self, sums: &[i64], rows: &Range<usize>) -> bool {
        match self.ground.target {
            Target::Classes { k, .. } => sums[..*k].iter().filter(|w| **w != 0).count() <= 1,
            Target::Numbers { y, .. } => {
                let mut all = self.rows[rows.clone()].iter().map(|r| y[*r as usize]);
                let first = all.next();
                all.all(|v| Some(v) == first)
            }
        }
    }

    /// Parts a node that has a cut; its children.
    fn part(&mut self, at: usize, unit: f64) -> Option<(usize, usize)> {
        let Grown { cut, rows, depth, bounds, .. } = &self.nodes[at];
        let (span, depth, bounds) = (rows.clone(), depth + 1, *bounds);
        let Cut { feature, threshold, left, right, .. } = cut.clone()?;
        let values = &self.ground.columns[feature as usize].values;
        // Rows keep their order on both sides.
        self.spare.clear();
        let mut middle = span.start;
        for i in span.clone() {
            let row = self.rows[i];
            if values[row as usize] <= threshold {
                self.rows[middle] = row;
                middle += 1;
            } else {
                self.spare.push(row);
            }
        }
        self.rows[middle..span.end].copy_from_slice(&self.spare);
        let (mut below, mut above) = (bounds, bounds);
        if let Some(signs) = &self.ground.plan.monotonic_cst {
            let gains = self.ground.gains;
            let half = (gains.ratio(&left) + gains.ratio(&right)) / 2.0;
            match signs[feature as usize] {
                1 => (below.1, above.0) = (half, half),
                -1 => (below.0, above.1) = (half, half),
                _ => {}
            }
        }
        let left = self.node(left, span.start..middle, depth, below, unit);
        let right = self.node(right, middle..span.end, depth, above, unit);
        self.nodes[at].children = Some((left, right));
        Some((left, right))
    }

    /// The best cut of a node: columns in a random order until `max_features` were looked at and one of them varies. The
    /// greatest gain wins; equal ones: the column drawn first, then the lowest threshold.
    fn cut(&mut self, at: usize, sums: &[i64], rows: Range<usize>, bounds: (f64, f64)) -> Option<Cut> {
        let most = self.ground.plan.max_features;
        let columns = self.order.len();
        let mut swaps = Vec::new();
        let (mut seen, mut constant) = (0, 0);
        let mut best = None;
        for j in 0..columns {
            if seen >= most && seen > constant {
                break;
            }
            let other = j + self.draws.below(Purpose::NodeColumns, place(at, j), (columns - j) as u32) as usize;
            self.order.swap(j, other);
            swaps.push((j, other));
            seen += 1;
            let feature = self.order[j];
            let varies = if self.ground.plan.random_cuts {
                let u = self.draws.unit(Purpose::Threshold, place(at, j));
                self.random_cut(feature, u, sums, rows.clone(), bounds, &mut best)
            } else if self.ground.columns[feature as usize].low.len() * sums.len() <= 32 * rows.len() {
                self.binned_cut(feature, sums, rows.clone(), bounds, &mut best)
            } else {
                self.sorted_cut(feature, sums, rows.clone(), bounds, &mut best)
            };
            constant += usize::from(!varies);
        }
        for (j, other) in swaps.into_iter().rev() {
            self.order.swap(j, other);
        }
        best
    }

    /// Weighs the cut whose left sums are `self.left`.
    fn weigh(&mut self, feature: u32, sums: &[i64], bounds: (f64, f64), best: &mut Option<Cut>, at: impl Fn() -> f32) {
        let (gains, plan) = (self.ground.gains, self.ground.plan);
        for ((right, all), left) in self.right.iter_mut().zip(sums).zip(&self.left) {
            *right = all - left;
        }
        let rows = gains.count();
        let least = plan.min_samples_leaf as i64;
        if self.left[rows] < least || self.right[rows] < least {
            return;
        }
        if self.least_weight > 0.0 {
            let [l, r] = [&self.left, &self.right].map(|side| gains.weight(side) as f64);
            if l < self.least_weight || r < self.least_weight {
                return;
            }
        }
        if let Some(signs) = &plan.monotonic_cst {
            let [l, r] = [&self.left, &self.right].map(|side| gains.ratio(side));
            let inside = |v: f64| bounds.0 <= v && v <= bounds.1;
            let sign = signs[feature as usize];
            // Other columns may leave the bounds; their leaves are held within them.
            if sign != 0 && (!inside(l) || !inside(r) || (sign == 1 && l > r) || (sign == -1 && l < r)) {
                return;
            }
        }
        let Some(gain) = gains.gain(sums, &self.left, &self.right) else { return };
        if best.as_ref().is_none_or(|b| gain > b.gain) {
            let (left, right) = (self.left.clone(), self.right.clone());
            *best = Some(Cut { feature, threshold: at(), gain, left, right });
        }
    }

    /// Cuts between bins, by a histogram of the node. Whether the column varies.
    fn binned_cut(
        &mut self,
        feature: u32,
        sums: &[i64],
        rows: Range<usize>,
        bounds: (f64, f64),
        best: &mut Option<Cut>,
    ) -> bool {
        let column = &self.ground.columns[feature as usize];
        let (width, count) = (sums.len(), self.ground.gains.count());
        let mut bins = std::mem::take(&mut self.bins);
        bins.clear();
        bins.resize(column.low.len() * width, 0);
        for row in &self.rows[rows] {
            self.add(&mut bins, usize::from(column.bins[*row as usize]) * width, *row);
        }
        self.left.fill(0);
        let mut last = None;
        let mut varies = false;
        for (bin, here) in bins.chunks_exact(width).enumerate() {
            if here[count] == 0 {
                continue;
            }
            if let Some(last) = last {
                varies = true;
                self.weigh(feature, sums, bounds, best, || middle(column.high[last], column.low[bin]));
            }
            self.left.iter_mut().zip(here).for_each(|(l, h)| *l += h);
            last = Some(bin);
        }
        self.bins = bins;
        varies
    }

    /// The same by sorting the node's rows, where bins outnumber them.
    fn sorted_cut(
        &mut self,
        feature: u32,
        sums: &[i64],
        rows: Range<usize>,
        bounds: (f64, f64),
        best: &mut Option<Cut>,
    ) -> bool {
        let column = &self.ground.columns[feature as usize];
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(self.rows[rows].iter().map(|r| u64::from(column.bins[*r as usize]) << 32 | u64::from(*r)));
        keys.sort_unstable();
        self.left.fill(0);
        let mut last = None;
        for run in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            let bin = (run[0] >> 32) as usize;
            if let Some(last) = last {
                self.weigh(feature, sums, bounds, best, || middle(column.high[last], column.low[bin]));
            }
            let mut left = std::mem::take(&mut self.left);
            for key in run {
                self.add(&mut left, 0, *key as u32);
            }
            self.left = left;
            last = Some(bin);
        }
        let varies = keys.first().map(|k| k >> 32) != keys.last().map(|k| k >> 32);
        self.keys = keys;
        varies
    }

    /// One cut at a random place between the least and the greatest value. Whether the column varies.
    fn random_cut(
        &mut self,
        feature: u32,
        u: f64,
        sums: &[i64],
        rows: Range<usize>,
        bounds: (f64, f64),
        best: &mut Option<Cut>,
    ) -> bool {
        let values = &self.ground.columns[feature as usize].values;
        let rows = &self.rows[rows];
        let (mut low, mut high) = (f32::MAX, f32::MIN);
        for row in rows {
            let v = values[*row as usize];
            (low, high) = (low.min(v), high.max(v));
        }
        if low >= high {
            return false;
        }
        let threshold = between(low, high, u);
        let mut left = std::mem::take(&mut self.left);
        left.fill(0);
        for row in rows {
            if values[*row as usize] <= threshold {
                self.add(&mut left, 0, *row);
            }
        }
        self.left = left;
        self.weigh(feature, sums, bounds, best, || threshold);
        true
    }
}

/// The middle of two neighbouring values, rounded once; the lower one where that is not below the upper one.
fn middle(low: f32, high: f32) -> f32 {
    let at = crate::double::single((f64::from(low) + f64::from(high)) / 2.0);
    if at >= high || at < low { low } else { at }
}
