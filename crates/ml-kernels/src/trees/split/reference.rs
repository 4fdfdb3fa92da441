//! The specification of the search, clause `tree-splits`: every candidate of every column, its sums added up anew.

use std::ops::Range;

use super::plan::{Column, Sums, add_to, is_allowed, is_open, left_bins, order};
use super::rule::Weigher;
use super::weigh::{Gains, add_gain, gains_key};
use super::{Found, Limits, Search};
use crate::num::Pins;

/// The best split of each group of nodes.
pub(super) fn search(sums: Sums, groups: &[Range<usize>], search: &Search) -> Vec<Option<Found>> {
    groups.iter().map(|nodes| best(sums, nodes.clone(), search)).collect()
}

fn best(sums: Sums, nodes: Range<usize>, search: &Search) -> Option<Found> {
    let Search { columns, weigher, limits, .. } = search;
    let mut best: Option<Found> = None;
    for (col, column) in columns.iter().enumerate() {
        if !is_allowed(limits, nodes.clone(), columns.len(), col) {
            continue;
        }
        let order = order(sums, nodes.clone(), column, weigher);
        for i in 0..column.candidates {
            if !is_open(limits, nodes.clone(), columns.len(), col, column.kind, i) {
                continue;
            }
            let Some(bins) = left_bins(column, &order, i) else { continue };
            for missing_left in [false, true] {
                let mut gains = Gains { sum: 0.0, nodes: 0 };
                for node in nodes.clone() {
                    let left = left_sums(sums, node, column, &bins, missing_left);
                    gains = add_gain(gains, gain(sums, node, col, column, &left, search), Pins::HOST);
                }
                let key = gains_key(gains);
                // Ties stay with what came first.
                if key > best.as_ref().map_or(0, |b| b.key) {
                    best = Some(Found { key, col, candidate: i, missing_left, order: order.clone() });
                }
            }
        }
    }
    best
}

/// What a node gains.
fn gain(sums: Sums, node: usize, col: usize, column: &Column, left: &[i64], search: &Search) -> f32 {
    let all = sums.all(node, column.bins.clone());
    search.weigher.gain(left, &all, search.sign(col), bounds(&search.weigher, &search.limits, node))
}

/// The bounds of a node's values in units of the integers.
pub(super) fn bounds(weigher: &Weigher, limits: &Limits, node: usize) -> [f32; 2] {
    weigher.bounds(limits.bounds.map_or([f32::NEG_INFINITY, f32::INFINITY], |bounds| bounds[node]))
}

/// The sums of the left side.
pub(super) fn left_sums(sums: Sums, node: usize, column: &Column, bins: &[usize], missing_left: bool) -> Vec<i64> {
    let mut left = vec![0; sums.channels];
    if missing_left {
        add_to(&mut left, sums.bin(node, column.bins.start));
    }
    bins.iter().for_each(|bin| add_to(&mut left, sums.bin(node, column.bins.start + bin)));
    left
}
