//! Devices: prefix sums of every candidate first, one unit a column and channel; then one workgroup weighs the candidates
//! of a column in one group of nodes. The host picks among columns, and reads back what the winners need.
//!
//! The sums of a search lie in slots of one channel after another, two words a sum: for each node a slot a candidate (its
//! left side with missing values on the right), a slot a column (its missing values), and one of the node.

mod gain;
mod prefix;

use std::ops::Range;

use cubecl::prelude::*;
use ml_core::Result;

use self::gain::weigh_candidates;
use self::prefix::{prefix_sums, rank_bins, ratio_keys, take_sums, total_sums};
use super::plan::{Column, Kind, Sums, is_allowed};
use super::rule::Weigher;
use super::{CommonSplit, Found, Search, answer, gain_of, host, reference, split_of};
use crate::buffer::In;
use crate::device::gpu::{CUBE, Gpu};
use crate::histogram::kernel::zeroed;
use crate::num::{Limbs, Pins};
use crate::sabotage::Arm;
use crate::trees::histogram::Histograms;

/// Words that describe a column.
const COLUMN: usize = 6;

const NUMBER: u32 = 0;
const ONE_HOT: u32 = 1;
const SORTED: u32 = 2;

/// Order key of a bin that is empty; no ratio has it.
const EMPTY: u32 = u32::MAX;

/// The best split of each group of nodes that follow each other, all groups equally long.
pub(super) fn search<R: Runtime>(
    g: &Gpu<R>,
    of: &Histograms,
    groups: &[Range<usize>],
    search: &Search,
) -> Result<Vec<Option<CommonSplit>>> {
    let layout = Layout::new(of, groups, search);
    if layout.fits(g, of)? {
        return on_device(g, of, groups, search, &layout);
    }
    // Sums beyond one binding are searched where there is no such bound.
    let values = of.read()?;
    let sums = Sums { values: &values, cells: of.cells(), channels: of.channels() };
    let found = host::search(sums, groups, search);
    let answers = found.into_iter().zip(groups);
    Ok(answers.map(|(found, group)| found.and_then(|f| answer(sums, group.clone(), search, &f))).collect())
}

/// Where everything lies.
struct Layout {
    nodes: usize,
    cols: usize,
    channels: usize,
    /// Nodes of a group.
    members: usize,
    groups: usize,
    /// Candidates of all columns.
    candidates: usize,
    /// The first candidate of each column.
    first: Vec<usize>,
}

impl Layout {
    fn new(of: &Histograms, groups: &[Range<usize>], search: &Search) -> Self {
        let mut first = Vec::new();
        let mut candidates = 0;
        for column in &search.columns {
            first.push(candidates);
            candidates += column.candidates;
        }
        let (nodes, cols, channels) = (of.nodes(), of.cols(), of.channels());
        let members = groups.first().map_or(0, Range::len);
        Layout { nodes, cols, channels, members, groups: groups.len(), candidates, first }
    }

    /// Slots of a node.
    fn slots(&self) -> usize {
        self.candidates + self.cols + 1
    }

    fn words(&self) -> Option<usize> {
        self.nodes.checked_mul(self.slots())?.checked_mul(2 * self.channels)
    }

    fn fits<R: Runtime>(&self, g: &Gpu<R>, of: &Histograms) -> Result<bool> {
        let most = g.max_elements::<u32>();
        let tables = COLUMN * self.cols + self.groups * self.cols + 2 * self.nodes;
        let bins = of.cells() / self.channels;
        let orders = self.groups.saturating_mul(bins.max(self.candidates));
        let fits = self.words().is_some_and(|words| words <= most) && tables <= most && orders <= most;
        Ok(fits && of.limbs()?.0.is_whole() && 3 * self.groups * (self.cols + self.channels * self.members) <= most)
    }
}

fn on_device<R: Runtime>(
    g: &Gpu<R>,
    of: &Histograms,
    groups: &[Range<usize>],
    search: &Search,
    layout: &Layout,
) -> Result<Vec<Option<CommonSplit>>> {
    let Layout { nodes, cols, channels, members, candidates, .. } = *layout;
    if nodes == 0 || cols == 0 || candidates == 0 {
        return Ok(vec![None; groups.len()]);
    }
    let (lo, hi) = of.limbs()?;
    let (lo, hi) = (lo.whole(), hi.whole());
    let words = layout.words().unwrap_or(0);
    let sums = In { handle: g.alloc_one::<u32>(words)?, len: words };
    let table = tables(groups, search, layout);
    let columns = In { handle: g.upload_one(&table)?, len: table.len() };
    let orders = orders(g, (&lo, &hi), &sums, search, layout)?;
    run(g, nodes * cols * channels, |grid, dim| {
        // SAFETY: the kernel checks its bound; columns say which bins and slots are theirs.
        unsafe {
            prefix_sums::launch_unchecked::<R>(
                g.client(),
                grid,
                dim,
                lo.arg(),
                hi.arg(),
                columns.arg(),
                orders.arg(),
                sums.arg(),
                nodes as u32,
                cols as u32,
                channels as u32,
                members as u32,
                candidates as u32,
                of.cells() as u32,
            );
        }
    })?;
    let pairs = groups.len() * cols;
    let best = In { handle: g.alloc_one::<u32>(2 * pairs)?, len: 2 * pairs };
    let Weigher { form, classes, bounded, counted, .. } = search.weigher;
    let (least_weight, least_count) =
        (Limbs::from_i64(search.weigher.least_weight), Limbs::from_i64(search.weigher.least_count));
    g.guard("best_splits", 0, || {
        // SAFETY: the kernel checks the number of pairs; columns say which slots are theirs.
        unsafe {
            weigh_candidates::launch_unchecked::<R>(
                g.client(),
                g.grid(pairs, 1),
                CubeDim::new_1d(CUBE),
                sums.arg(),
                columns.arg(),
                orders.arg(),
                best.arg(),
                groups.len() as u32,
                cols as u32,
                channels as u32,
                classes as u32,
                members as u32,
                candidates as u32,
                least_weight.hi,
                least_weight.lo,
                least_count.hi,
                least_count.lo,
                search.weigher.l1,
                search.weigher.l2,
                Pins::HOST.nz,
                Pins::HOST.one,
                form,
                bounded,
                counted,
                search.arm == Arm::TiesLast,
            );
        }
    })?;
    let best = g.read_one::<u32>(&best.handle, 2 * pairs)?;
    let last = search.arm == Arm::TiesLast;
    let winners: Vec<Option<(u32, usize, usize)>> = best
        .chunks_exact(2 * cols)
        .map(|row| {
            let mut won: Option<(u32, usize, usize)> = None;
            for (col, pair) in row.chunks_exact(2).enumerate() {
                let than = won.map_or(0, |(key, ..)| key);
                if pair[0] > than || (last && pair[0] == than && than != 0) {
                    won = Some((pair[0], col, pair[1] as usize));
                }
            }
            won
        })
        .collect();
    read_winners(g, &sums, &orders, groups, search, layout, &winners)
}

/// What the host needs of the winners: their left sums, and their orders.
fn read_winners<R: Runtime>(
    g: &Gpu<R>,
    sums: &In,
    orders: &In,
    groups: &[Range<usize>],
    search: &Search,
    layout: &Layout,
    winners: &[Option<(u32, usize, usize)>],
) -> Result<Vec<Option<CommonSplit>>> {
    let Layout { nodes, channels, members, candidates, .. } = *layout;
    // For each node the slot of its left side, and that of the missing values or none.
    let mut slots = Vec::with_capacity(2 * nodes);
    for (group, winner) in groups.iter().zip(winners) {
        for node in group.clone() {
            let (col, index) = winner.map_or((0, 0), |(_, col, index)| (col, index));
            let base = node * layout.slots();
            slots.push((base + layout.first[col] + index / 2) as u32);
            slots.push(if index % 2 == 1 { (base + candidates + col) as u32 } else { u32::MAX });
        }
    }
    let n = nodes * channels;
    let slots = In { handle: g.upload_one(&slots)?, len: slots.len() };
    let left = In { handle: g.alloc_one::<u32>(2 * n)?, len: 2 * n };
    run(g, n, |grid, dim| {
        // SAFETY: the kernel checks its bound; the slots are slots of `sums`.
        unsafe {
            take_sums::launch_unchecked::<R>(
                g.client(),
                grid,
                dim,
                sums.arg(),
                slots.arg(),
                left.arg(),
                n as u32,
                channels as u32,
            );
        }
    })?;
    let words = g.read_one::<u32>(&left.handle, 2 * n)?;
    let left: Vec<i64> = words.chunks_exact(2).map(|pair| Limbs { hi: pair[1], lo: pair[0] }.to_i64()).collect();
    let sorted = |winner: &Option<(u32, usize, usize)>| {
        winner.is_some_and(|(_, col, _)| search.columns[col].kind == Kind::Sorted)
    };
    let orders = if winners.iter().any(sorted) { g.read_one::<u32>(&orders.handle, orders.len)? } else { Vec::new() };
    let mut answers = Vec::with_capacity(groups.len());
    for (k, winner) in winners.iter().enumerate() {
        let answer = winner.and_then(|(key, col, index)| {
            let (column, candidate) = (&search.columns[col], index / 2);
            let at = k * candidates + layout.first[col];
            let order = match column.kind {
                Kind::Sorted => own_order(&orders[at..at + column.candidates], candidate),
                _ => Vec::new(),
            };
            let found = Found { key, col, candidate, missing_left: index % 2 == 1, order };
            let left = left[k * members * channels..][..members * channels].to_vec();
            Some(CommonSplit { at: split_of(search, &found), gain: gain_of(search, &found)?, left })
        });
        answers.push(answer);
    }
    Ok(answers)
}

/// The bins that candidate `i` names: the entries of its end of the order up to its own. As an order of its own they are
/// both the first and the last bins.
fn own_order(ends: &[u32], i: usize) -> Vec<u32> {
    let half = ends.len() / 2;
    if i < half { ends[..=i].to_vec() } else { ends[half..=i].to_vec() }
}

/// The descriptions of columns, then for each pair of group and column the bin it may be split at (0 for none, all ones
/// for any), then for each node the bits of its bounds.
fn tables(groups: &[Range<usize>], search: &Search, layout: &Layout) -> Vec<u32> {
    let mut table = Vec::new();
    for (col, Column { bins, kind, candidates }) in search.columns.iter().enumerate() {
        let kind = match kind {
            Kind::Number => NUMBER,
            Kind::OneHot => ONE_HOT,
            Kind::Sorted => SORTED,
        };
        let (first, sign) = (layout.first[col] as u32, search.sign(col));
        table.extend([bins.start as u32, bins.len() as u32, kind, *candidates as u32, first, sign]);
    }
    for group in groups {
        for (col, column) in search.columns.iter().enumerate() {
            let mut open = if is_allowed(&search.limits, group.clone(), layout.cols, col) { u32::MAX } else { 0 };
            if let Some(only) = search.limits.only.filter(|_| column.kind == Kind::Number) {
                for node in group.clone() {
                    let bin = only[node * layout.cols + col];
                    open = match (open, bin) {
                        (open, u32::MAX) => open,
                        (u32::MAX, bin) => bin,
                        (open, bin) if open == bin => open,
                        _ => 0,
                    };
                }
            }
            table.push(open);
        }
    }
    for node in 0..layout.nodes {
        table.extend(reference::bounds(&search.weigher, &search.limits, node).map(f32::to_bits));
    }
    table
}

fn run<R: Runtime>(g: &Gpu<R>, units: usize, launch: impl FnOnce(CubeCount, CubeDim)) -> Result<()> {
    g.guard("best_splits", 0, || launch(g.grid(units, CUBE as usize), CubeDim::new_1d(CUBE)))
}

/// Writes the sums of nodes, and gives the orders of sorted columns: for each group and candidate the bin that the
/// candidate adds to the one before it, 0 where there is none.
fn orders<R: Runtime>(g: &Gpu<R>, (lo, hi): (&In, &In), sums: &In, search: &Search, layout: &Layout) -> Result<In> {
    let Layout { nodes, channels, members, groups, candidates, .. } = *layout;
    let slots = layout.slots();
    let bins = search.columns.last().map_or(0, |column| column.bins.end);
    run(g, nodes * channels, |grid, dim| {
        // SAFETY: the kernel checks its bound; the bins of the first column are bins of every node.
        unsafe {
            total_sums::launch_unchecked::<R>(
                g.client(),
                grid,
                dim,
                lo.arg(),
                hi.arg(),
                sums.arg(),
                nodes as u32,
                channels as u32,
                search.columns[0].bins.len() as u32,
                (bins * channels) as u32,
                slots as u32,
            );
        }
    })?;
    let sorted = search.columns.iter().any(|column| column.kind == Kind::Sorted);
    if !sorted {
        return Ok(In { handle: g.upload_one(&[0u32])?, len: 1 });
    }
    let orders = zeroed(g, groups * candidates)?.whole();
    let keys = In { handle: g.alloc_one::<u32>(groups * bins)?, len: groups * bins };
    for (col, column) in search.columns.iter().enumerate().filter(|(_, column)| column.kind == Kind::Sorted) {
        let n = column.bins.len();
        run(g, groups * n, |grid, dim| {
            // SAFETY: the kernel checks its bound; the bins are those of the column in every node.
            unsafe {
                ratio_keys::launch_unchecked::<R>(
                    g.client(),
                    grid,
                    dim,
                    lo.arg(),
                    hi.arg(),
                    sums.arg(),
                    keys.arg(),
                    (groups * n) as u32,
                    n as u32,
                    column.bins.start as u32,
                    bins as u32,
                    channels as u32,
                    search.weigher.classes as u32,
                    members as u32,
                    slots as u32,
                    search.weigher.l2,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    search.weigher.form,
                );
            }
        })?;
        run(g, groups * n, |grid, dim| {
            // SAFETY: the kernel checks its bound; ranks below half of the candidates are places of the column.
            unsafe {
                rank_bins::launch_unchecked::<R>(
                    g.client(),
                    grid,
                    dim,
                    keys.arg(),
                    orders.arg(),
                    (groups * n) as u32,
                    n as u32,
                    column.bins.start as u32,
                    bins as u32,
                    (column.candidates / 2) as u32,
                    layout.first[col] as u32,
                    candidates as u32,
                );
            }
        })?;
    }
    Ok(orders)
}
