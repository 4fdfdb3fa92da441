//! The best split of nodes, from their sums by bin.
//!
//! Contract clause `tree-splits`. Every candidate is weighed from exact sums by one formula in binary32; the greatest gain
//! of the one order of floats wins, ties by column, candidate and the side of missing values.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod plan;
mod reference;
mod rule;
#[cfg(test)]
mod tests;
mod weigh;

use std::ops::Range;

use ml_core::{DataError, Result};

use self::plan::{Column, Sums, columns, left_bins, split_at};
use self::rule::Weigher;
use super::histogram::Histograms;
use super::partition::SplitAt;
use crate::device::{Device, on_device};
use crate::num::{key, scale_pow2, unkey};
use crate::sabotage::Arm;

pub use rule::{Criterion, SplitRule};

/// Most categories that the left side of a split of sorted categories has.
pub const MAX_SET: usize = 64;

/// What single nodes may do. By default everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Bit `node * cols + column` of word (that / 32): whether the node may be split by the column. Default all.
    pub allowed: Option<&'a [u32]>,
    /// For each node the least and the greatest value that it and its children may have; infinities bound nothing. Looked
    /// at only where the rule has [`SplitRule::monotone`]. Newton leaves are brought within, means outside are refused.
    pub bounds: Option<&'a [[f32; 2]]>,
    /// Entry `node * cols + column`: the one bin at which a column of numbers may be split there, `u32::MAX` for any and 0
    /// for none. Default any.
    pub only: Option<&'a [u32]>,
}

/// A split of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// What goes left. A split of numbers at the last bin asks only whether the value is missing: its threshold is
    /// +infinity.
    pub at: SplitAt,
    /// What it gains, in units of the criterion.
    pub gain: f32,
    /// The sums of the left side, one a channel.
    pub left: Vec<i64>,
}

/// A split that all nodes make together.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonSplit {
    /// What goes left, as in [`Split`].
    pub at: SplitAt,
    /// What it gains: the sum over the nodes, ascending, of those that do not refuse it.
    pub gain: f32,
    /// The sums of each node's left side, shape (nodes, channels).
    pub left: Vec<i64>,
}

/// The best split of each node of `sums`, `None` where none is allowed or gains more than [`SplitRule::min_gain`].
///
/// `shifts` are those of the [`Quantised`](crate::trees::Quantised) that the sums were made of. Ties go to the lowest column,
/// then to the lowest bin (for sorted categories: the shortest set from the low end of the order, then from the high end),
/// then to missing values on the right.
///
/// # Errors
/// [`ParamError::OutOfBound`](ml_core::ParamError::OutOfBound) for a rule that does not fit: see [`SplitRule`];
/// [`DataError::Shape`] for lengths that do not match; a device failure. No nodes give none. The call waits for the
/// device.
///
/// # Bit identity
/// Clause `tree-splits`.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, trees::{self, BinRule, Criterion, Limits, RowSets, SplitAt, SplitRule}};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let bins = trees::bin_rows(&device, &x, 4, &[BinRule::Number { edges: [1.5, 2.5, 3.5].into() }])?;
/// // Weight and weighted target.
/// let values = Buffer::upload(&device, &[1.0f32, 5.0, 1.0, 5.0, 1.0, 9.0, 1.0, 9.0])?;
/// let values = trees::quantise(&device, &values, 4, 2)?;
/// let sums = trees::histograms(&device, &bins, &values, &RowSets::all(&device, 4)?, &[0])?;
/// let rule = SplitRule::new(Criterion::SquaredError);
/// let splits = trees::best_splits(&device, &sums, values.shifts(), &rule, &Limits::default())?;
/// let split = splits[0].as_ref().expect("the targets differ");
/// assert_eq!(split.at, SplitAt::Number { feature: 0, bin: 2, missing_left: false });
/// assert_eq!(split.gain, 16.0);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn best_splits(
    device: &Device,
    sums: &Histograms,
    shifts: &[i32],
    rule: &SplitRule,
    limits: &Limits,
) -> Result<Vec<Option<Split>>> {
    let groups: Vec<Range<usize>> = (0..sums.nodes()).map(|node| node..node + 1).collect();
    let answers = search(device, sums, shifts, rule, limits, &groups)?;
    let split = |a: CommonSplit| Split { at: a.at, gain: a.gain, left: a.left };
    Ok(answers.into_iter().map(|answer| answer.map(split)).collect())
}

/// The best split that all nodes of `sums` make together, as the nodes of a level of a symmetric tree do: its gain is the
/// sum of the nodes' gains, a node that refuses it (an empty side, a side too small) adding nothing. Categories are ordered
/// by the sums of all nodes together. A limit of one node binds all.
///
/// # Errors
/// As [`best_splits`].
///
/// # Bit identity
/// Clause `tree-splits`: gains are added over nodes in ascending order.
pub fn best_common_split(
    device: &Device,
    sums: &Histograms,
    shifts: &[i32],
    rule: &SplitRule,
    limits: &Limits,
) -> Result<Option<CommonSplit>> {
    if sums.nodes() == 0 {
        return Ok(None);
    }
    let whole = 0..sums.nodes();
    Ok(search(device, sums, shifts, rule, limits, std::slice::from_ref(&whole))?.pop().flatten())
}

/// What is searched for.
struct Search<'a> {
    columns: Vec<Column>,
    weigher: Weigher,
    rule: &'a SplitRule,
    limits: Limits<'a>,
    arm: Arm,
}

impl Search<'_> {
    /// 1 where values must not fall from left to right, 2 where they must not rise, else 0.
    fn sign(&self, col: usize) -> u32 {
        match self.rule.monotone.as_ref().map_or(0, |signs| signs[col]) {
            1 => 1,
            -1 => 2,
            _ => 0,
        }
    }
}

/// The best candidate of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// The key of its gain in units of the integers.
    key: u32,
    col: usize,
    candidate: usize,
    missing_left: bool,
    /// The order of categories, for columns that have one.
    order: Vec<u32>,
}

/// The best split of each group of nodes that follow each other.
fn search(
    device: &Device,
    sums: &Histograms,
    shifts: &[i32],
    rule: &SplitRule,
    limits: &Limits,
    groups: &[Range<usize>],
) -> Result<Vec<Option<CommonSplit>>> {
    if shifts.len() != sums.channels() {
        return Err(DataError::shape("shifts", format!("{} channels", sums.channels()), shifts.len()).into());
    }
    let (nodes, pairs) = (sums.nodes(), sums.nodes() * sums.cols());
    let expect = |what, given: Option<usize>, want: usize| match given {
        Some(len) if len != want => Err(DataError::shape(what, format!("{want} entries"), len)),
        _ => Ok(()),
    };
    expect("allowed", limits.allowed.map(<[u32]>::len), pairs.div_ceil(32))?;
    expect("bounds", limits.bounds.map(<[[f32; 2]]>::len), nodes)?;
    expect("only", limits.only.map(<[u32]>::len), pairs)?;
    if let Some(row) = limits.bounds.and_then(|b| b.iter().position(|pair| pair.iter().any(|v| v.is_nan()))) {
        return Err(DataError::NonFinite { what: "bounds", row, col: 0, value: f32::NAN }.into());
    }
    let weigher = rule.weigher(shifts, sums.cols())?;
    let search = Search { columns: columns(sums, rule), weigher, rule, limits: *limits, arm: device.arm() };
    on_device!(device,
    host(h) => {
        let values = sums.host()?;
        let sums = Sums { values, cells: sums.cells(), channels: sums.channels() };
        Ok(h.install(|| host::search(sums, groups, &search)).into_iter().zip(groups).map(|(found, group)| {
            found.and_then(|found| answer(sums, group.clone(), &search, &found))
        }).collect())
    },
    gpu(g) => kernel::search(g, sums, groups, &search))
}

/// The split that `found` is, if it gains enough; from the sums.
fn answer(sums: Sums, group: Range<usize>, search: &Search, found: &Found) -> Option<CommonSplit> {
    let column = &search.columns[found.col];
    let bins = left_bins(column, &found.order, found.candidate)?;
    let left = |node| reference::left_sums(sums, node, column, &bins, found.missing_left);
    let (at, gain) = (split_of(search, found), gain_of(search, found)?);
    Some(CommonSplit { at, gain, left: group.flat_map(left).collect() })
}

fn split_of(search: &Search, found: &Found) -> SplitAt {
    split_at(found.col, &search.columns[found.col], &found.order, found.candidate, found.missing_left)
}

/// The gain in units of the criterion, if it is more than the least.
fn gain_of(search: &Search, found: &Found) -> Option<f32> {
    let gain = scale_pow2(unkey(found.key), search.weigher.gain_scale);
    (key(gain) > key(search.rule.min_gain) && gain.is_finite()).then_some(gain)
}
