//! The host: a task a column and group, sums carried from candidate to candidate, candidates left out that cannot win.

use std::ops::Range;

use rayon::prelude::*;

use super::plan::{Column, Kind, Sums, add_to, is_allowed, is_open, order};
use super::reference::bounds;
use super::weigh::{Gains, add_gain, gains_key};
use super::{Found, Search};
use crate::num::Pins;
use crate::sabotage::Arm;

/// Bins that a thread should have at least.
const MIN_BINS: usize = 1 << 11;

/// The best split of each group of nodes that follow each other.
pub(super) fn search(sums: Sums, groups: &[Range<usize>], search: &Search) -> Vec<Option<Found>> {
    let cols = search.columns.len();
    let nodes = groups.iter().map(|group| group.end).max().unwrap_or(0);
    let Some(first) = search.columns.first() else { return vec![None; groups.len()] };
    // The bins of any column hold all rows, those of the narrowest soonest.
    let narrow = search.columns.iter().map(|column| &column.bins).min_by_key(|bins| bins.len()).unwrap_or(&first.bins);
    let all: Vec<i64> = (0..nodes).into_par_iter().flat_map_iter(|node| sums.all(node, narrow.clone())).collect();
    let width = sums.cells / sums.channels.max(1) / cols;
    let members = groups.first().map_or(1, Range::len);
    let min_len = (MIN_BINS / (width.max(1) * members.max(1))).max(1);
    let best_of = |at: usize| Task { sums, all: &all, nodes: groups[at / cols].clone(), col: at % cols, search }.best();
    let pairs = 0..groups.len() * cols;
    let best: Vec<Option<Found>> = match pairs.len() <= min_len {
        true => pairs.map(best_of).collect(),
        false => pairs.into_par_iter().with_min_len(min_len).map(best_of).collect(),
    };
    let last = search.arm == Arm::TiesLast;
    let better = |a: &Found, b: &Found| a.key > b.key || (last && a.key == b.key);
    let mut best = best.into_iter();
    let winner = |_: &Range<usize>| {
        best.by_ref().take(cols).flatten().reduce(|won, next| if better(&next, &won) { next } else { won })
    };
    groups.iter().map(winner).collect()
}

/// One column in one group.
struct Task<'a> {
    sums: Sums<'a>,
    /// The sums of all nodes.
    all: &'a [i64],
    nodes: Range<usize>,
    col: usize,
    search: &'a Search<'a>,
}

impl Task<'_> {
    fn best(&self) -> Option<Found> {
        let (column, nodes, cols) = (&self.search.columns[self.col], self.nodes.clone(), self.search.columns.len());
        if column.candidates == 0 || !is_allowed(&self.search.limits, nodes.clone(), cols, self.col) {
            return None;
        }
        let mut best = Best::new(self);
        match column.kind {
            Kind::Number => self.numbers(column, &mut best),
            Kind::OneHot => {
                for i in 0..column.candidates {
                    best.clear();
                    if best.add(i + 1) {
                        best.weigh(i);
                    }
                }
            }
            Kind::Sorted => {
                let order = order(self.sums, nodes, column, &self.search.weigher);
                let half = column.candidates / 2;
                best.clear();
                for (i, bin) in order.iter().enumerate().take(half) {
                    best.add(*bin as usize);
                    best.weigh(i);
                }
                best.clear();
                for (i, bin) in order.iter().rev().enumerate().take(half) {
                    best.add(*bin as usize);
                    best.weigh(half + i);
                }
                best.order = order;
            }
        }
        best.found(self.col)
    }

    fn numbers(&self, column: &Column, best: &mut Best) {
        let (limits, cols) = (&self.search.limits, self.search.columns.len());
        let mut fresh = true;
        for i in 0..column.candidates {
            fresh |= best.add(i + 1);
            // With an empty bin more on its left a candidate is the one before it, which comes first.
            if fresh && is_open(limits, self.nodes.clone(), cols, self.col, column.kind, i) {
                best.weigh(i);
                fresh = false;
            }
        }
    }
}

/// The left sums of a task's nodes, and the best candidate so far.
struct Best<'a> {
    task: &'a Task<'a>,
    bins: Range<usize>,
    sign: u32,
    bounds: Vec<[f32; 2]>,
    /// Whether there are missing values.
    missing: bool,
    left: Vec<i64>,
    with_missing: Vec<i64>,
    key: u32,
    candidate: usize,
    missing_left: bool,
    order: Vec<u32>,
}

impl<'a> Best<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let (search, sums) = (task.search, task.sums);
        let bins = search.columns[task.col].bins.clone();
        let is_any = |node: usize| sums.bin(node, bins.start).iter().any(|s| *s != 0);
        Best {
            sign: search.sign(task.col),
            bounds: task.nodes.clone().map(|node| bounds(&search.weigher, &search.limits, node)).collect(),
            missing: task.nodes.clone().any(is_any),
            left: vec![0; task.nodes.len() * sums.channels],
            with_missing: vec![0; sums.channels],
            key: 0,
            candidate: 0,
            missing_left: false,
            order: Vec::new(),
            bins,
            task,
        }
    }

    fn clear(&mut self) {
        self.left.fill(0);
    }

    /// Puts a bin of the column on the left of all nodes; false if it is empty in each.
    #[inline(always)]
    fn add(&mut self, bin: usize) -> bool {
        let sums = self.task.sums;
        let mut any = false;
        for (left, node) in self.left.chunks_exact_mut(sums.channels).zip(self.task.nodes.clone()) {
            let more = sums.bin(node, self.bins.start + bin);
            if more.iter().fold(0, |any, s| any | s) != 0 {
                add_to(left, more);
                any = true;
            }
        }
        any
    }

    /// Weighs what is on the left as candidate `i`.
    #[inline(always)]
    fn weigh(&mut self, i: usize) {
        self.weigh_side(i, false);
        // Without missing values both sides gain the same, and the right one comes first.
        if self.missing {
            self.weigh_side(i, true);
        }
    }

    #[inline(always)]
    fn weigh_side(&mut self, i: usize, missing_left: bool) {
        let (Task { sums, all, search, .. }, channels) = (self.task, self.task.sums.channels);
        let mut gains = Gains { sum: 0.0, nodes: 0 };
        for (k, node) in self.task.nodes.clone().enumerate() {
            let all = &all[node * channels..][..channels];
            let mut left = &self.left[k * channels..][..channels];
            if missing_left {
                self.with_missing.copy_from_slice(left);
                add_to(&mut self.with_missing, sums.bin(node, self.bins.start));
                left = &self.with_missing;
            }
            gains = add_gain(gains, search.weigher.gain(left, all, self.sign, self.bounds[k]), Pins::HOST);
        }
        let key = gains_key(gains);
        if key > self.key || (search.arm == Arm::TiesLast && key == self.key) {
            (self.key, self.candidate, self.missing_left) = (key, i, missing_left);
        }
    }

    fn found(self, col: usize) -> Option<Found> {
        let Best { key, candidate, missing_left, order, .. } = self;
        (key != 0).then_some(Found { key, col, candidate, missing_left, order })
    }
}
