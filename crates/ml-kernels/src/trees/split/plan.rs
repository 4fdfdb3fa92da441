//! Which splits there are: the candidates of each column, numbered.

use std::ops::Range;
use std::sync::Arc;

use super::rule::{SplitRule, Weigher};
use super::{Limits, MAX_SET};
use crate::num::{Limbs, Pins, i64_to_f32, key};
use crate::trees::histogram::Histograms;
use crate::trees::partition::SplitAt;

use super::weigh::ratio_key;

/// What the candidates of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Candidate i has the bins `1..=i + 1` on the left.
    Number,
    /// Candidate i has the bin i + 1 on the left.
    OneHot,
    /// Candidate i has the first i + 1 bins of the order on the left, or, from half of the candidates on, the last ones.
    Sorted,
}

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Its bins among those of all columns; the first is that of missing values.
    pub(super) bins: Range<usize>,
    pub(super) kind: Kind,
    pub(super) candidates: usize,
}

impl Column {
    /// Bins that a set may name, numbered in the column.
    pub(super) fn categories(&self) -> Range<usize> {
        1..self.bins.len().saturating_sub(1).max(1)
    }
}

/// The columns of a search.
pub(super) fn columns(of: &Histograms, rule: &SplitRule) -> Vec<Column> {
    let column = |col: usize| {
        let bins = of.bins_of(col);
        if !rule.categorical.as_ref().is_some_and(|c| c[col]) {
            let candidates = bins.len().saturating_sub(1);
            return Column { bins, kind: Kind::Number, candidates };
        }
        let n = bins.len().saturating_sub(2);
        if n <= rule.max_one_hot as usize {
            Column { bins, kind: Kind::OneHot, candidates: n }
        } else {
            Column { bins, kind: Kind::Sorted, candidates: 2 * n.min(MAX_SET) }
        }
    };
    (0..of.cols()).map(column).collect()
}

/// The sums that a search goes through.
#[derive(Clone, Copy)]
pub(super) struct Sums<'a> {
    pub(super) values: &'a [i64],
    pub(super) cells: usize,
    pub(super) channels: usize,
}

impl<'a> Sums<'a> {
    /// The sums of `bin`, counted among those of all columns.
    #[inline(always)]
    pub(super) fn bin(&self, node: usize, bin: usize) -> &'a [i64] {
        &self.values[node * self.cells + bin * self.channels..][..self.channels]
    }

    /// The sums of a node, from the bins of any column.
    pub(super) fn all(&self, node: usize, bins: Range<usize>) -> Vec<i64> {
        let mut all = vec![0; self.channels];
        bins.for_each(|bin| add_to(&mut all, self.bin(node, bin)));
        all
    }
}

/// Adds `more` to `sums`.
#[inline(always)]
pub(super) fn add_to(sums: &mut [i64], more: &[i64]) {
    sums.iter_mut().zip(more).for_each(|(s, m)| *s = s.wrapping_add(*m));
}

/// The bins of a column of categories that are not empty in all of `nodes`, in the order of their ratios there.
pub(super) fn order(sums: Sums, nodes: Range<usize>, column: &Column, weigher: &Weigher) -> Vec<u32> {
    let group = |bin: usize| {
        let mut total = vec![0; sums.channels];
        nodes.clone().for_each(|node| add_to(&mut total, sums.bin(node, bin)));
        total
    };
    let mut all = vec![0; sums.channels];
    column.bins.clone().for_each(|bin| add_to(&mut all, &group(bin)));
    let channel = sorting_channel(&all, weigher);
    let mut order: Vec<(u32, u32)> = Vec::new();
    for category in column.categories() {
        let total = group(column.bins.start + category);
        if total.iter().any(|s| *s != 0) {
            let (s, w) = (Limbs::from_i64(total[channel]), Limbs::from_i64(weigher.weight(&total)));
            order.push((ratio_key(s, w, weigher.l2, Pins::HOST), category as u32));
        }
    }
    order.sort_unstable();
    order.into_iter().map(|(_, bin)| bin).collect()
}

/// The channel whose ratio to the weight orders categories: the gradient, the target, or the class of the greatest sum.
pub(super) fn sorting_channel(all: &[i64], weigher: &Weigher) -> usize {
    use super::rule::Form;
    match weigher.form {
        Form::Newton | Form::Bounded => 0,
        Form::SquaredError | Form::Poisson => 1,
        Form::Gini | Form::Entropy => {
            let greatness = |k: &usize| key(i64_to_f32(Limbs::from_i64(all[*k])));
            (1..weigher.classes).fold(0, |best, k| if greatness(&k) > greatness(&best) { k } else { best })
        }
    }
}

/// The bins on the left of candidate `i`, numbered in the column; `None` if there is no such candidate.
pub(super) fn left_bins(column: &Column, order: &[u32], i: usize) -> Option<Vec<usize>> {
    let half = column.candidates / 2;
    match column.kind {
        Kind::Number => Some((1..=i + 1).collect()),
        Kind::OneHot => Some(vec![i + 1]),
        Kind::Sorted if i < half => order.get(..=i).map(|bins| bins.iter().map(|bin| *bin as usize).collect()),
        Kind::Sorted => {
            let from = order.len().checked_sub(i - half + 1)?;
            Some(order[from..].iter().map(|bin| *bin as usize).collect())
        }
    }
}

/// The split that candidate `i` of column `col` is.
pub(super) fn split_at(col: usize, column: &Column, order: &[u32], i: usize, missing_left: bool) -> SplitAt {
    let feature = col as u32;
    if column.kind == Kind::Number {
        return SplitAt::Number { feature, bin: i as u32 + 1, missing_left };
    }
    let mut set = vec![0u32; column.bins.len().div_ceil(32)];
    for bin in left_bins(column, order, i).unwrap_or_default() {
        set[bin / 32] |= 1 << (bin % 32);
    }
    SplitAt::Category { feature, set: Arc::from(set), missing_left }
}

/// Whether the limits of `nodes` let column `col` be asked.
pub(super) fn is_allowed(limits: &Limits, nodes: Range<usize>, cols: usize, col: usize) -> bool {
    let bit = |at: usize| limits.allowed.is_none_or(|words| words[at / 32] >> (at % 32) & 1 == 1);
    nodes.into_iter().all(|node| bit(node * cols + col))
}

/// Whether the limits of `nodes` let candidate `i` of column `col` be taken.
pub(super) fn is_open(limits: &Limits, nodes: Range<usize>, cols: usize, col: usize, kind: Kind, i: usize) -> bool {
    let Some(only) = limits.only else { return true };
    kind != Kind::Number || nodes.into_iter().all(|node| [u32::MAX, i as u32 + 1].contains(&only[node * cols + col]))
}
