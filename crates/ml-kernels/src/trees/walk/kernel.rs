//! The kernels of the walks: one unit a row and tree (`walk`, `walk_bins`), or a row (`walk_sum`).

use std::ops::Range;

use cubecl::prelude::*;
use ml_core::Result;

use super::forest::{CATEGORY, Forest, LEAF, SLOT};
use super::parts::{Part, TREE};
use crate::buffer::{Chunks, In, Out};
use crate::device::Device;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{Pins, add, add_exact_range, select_u32};
use crate::sabotage::Arm;
use crate::trees::bins::{Bins, Store, kernel::rows_of};
use crate::trees::value::{MISSING, category_value, number_value, zero_bound};

/// In the state of a row: it has come to a leaf.
const DONE: u32 = u32::MAX;

/// The rows that walk.
pub(super) struct Source<'a> {
    words: Rows<'a>,
    /// Columns.
    cols: usize,
    /// What counts as zero, see [`zero_bound`].
    zero: u32,
}

enum Rows<'a> {
    Numbers(&'a Chunks<f32>),
    /// Bins, so many a word, of so many rows.
    Bins(&'a Chunks<u32>, usize, usize),
}

impl<'a> Source<'a> {
    pub(super) fn numbers(x: &'a Chunks<f32>, forest: &Forest, arm: Arm) -> Self {
        Source { words: Rows::Numbers(x), cols: forest.features(), zero: zero_bound(arm) }
    }

    pub(super) fn bins(bins: &'a Bins, device: &Device) -> Result<Self> {
        let Store::Words(words) = bins.store() else { return Err(bins.elsewhere("bins", device)) };
        let words = Rows::Bins(words.chunks("bins", device)?, bins.per_word(), bins.rows());
        Ok(Source { words, cols: bins.cols(), zero: 0 })
    }

    /// Words of a row.
    fn width(&self) -> usize {
        match self.words {
            Rows::Numbers(_) => self.cols,
            Rows::Bins(_, per, _) => self.cols.div_ceil(per),
        }
    }

    fn view<R: Runtime>(&self, g: &Gpu<R>, panel: &Range<usize>) -> Result<Seen> {
        let (words, stride, first, per) = match self.words {
            Rows::Numbers(x) => (x.view(g, panel.start * self.cols..panel.end * self.cols)?, self.cols, 0, 0),
            Rows::Bins(bins, per, rows) => {
                let (words, stride, first) = rows_of(g, bins, rows, panel)?;
                (words, stride, first, per)
            }
        };
        Ok(Seen { words, stride: stride as u32, first: first as u32, zero: self.zero, per: per as u32 })
    }
}

/// Some rows: of raw numbers, `stride` words each; of bins, `per` a word and `stride` words from one word of a row to its
/// next, the first row at `first`.
struct Seen {
    words: In,
    stride: u32,
    first: u32,
    zero: u32,
    per: u32,
}

/// The leaf of each row in each tree.
pub(super) fn walk<R: Runtime>(g: &Gpu<R>, forest: &Forest, source: &Source<'_>, rows: usize) -> Result<Chunks<u32>> {
    let width = forest.trees();
    let out = Chunks::alloc(g, rows * width)?;
    if width == 0 {
        return Ok(out);
    }
    for panel in g.row_panels(rows, &[source.width(), width]) {
        let seen = source.view(g, &panel)?;
        let to = out.view_out(g, panel.start * width..panel.end * width)?;
        let state = In { handle: g.alloc_one::<u32>(panel.len())?, len: panel.len() };
        for part in forest.parts() {
            let units = panel.len() * part.numbers.len();
            g.guard("walk", 0, || {
                // SAFETY: unit `i` below `units` writes the cell of its row and tree. Nodes lead to nodes behind them that the
                // part holds, to a leaf of the part, or out of it; sets lie in `sets`; columns were checked.
                unsafe {
                    find_leaves::launch_unchecked::<R>(
                        g.client(),
                        g.grid(units, CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        seen.words.arg(),
                        part.nodes.arg(),
                        part.sets.arg(),
                        part.trees.arg(),
                        part.leaves.arg(),
                        state.arg(),
                        to.arg(),
                        units as u32,
                        panel.len() as u32,
                        seen.stride,
                        seen.first,
                        seen.zero,
                        part.range.len() as u32,
                        part.range.start as u32,
                        u32::from(part.of_one == Some(true)),
                        width as u32,
                        part.numbers.start as u32,
                        seen.per,
                        part.of_one.is_some(),
                    );
                }
            })?;
        }
        out.commit(g, to)?;
    }
    Ok(out)
}

/// The score of each row.
pub(super) fn walk_sum<R: Runtime>(
    g: &Gpu<R>,
    forest: &Forest,
    source: &Source<'_>,
    rows: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let base = &forest.plan().base;
    let width = base.len();
    let out = Chunks::alloc(g, rows * width)?;
    if width == 0 {
        return Ok(out);
    }
    let base = In { handle: g.upload_one(base)?, len: width };
    for panel in g.row_panels(rows, &[source.width(), width]) {
        let seen = source.view(g, &panel)?;
        let to = out.view_out(g, panel.start * width..panel.end * width)?;
        let state = In { handle: g.alloc_one::<u32>(panel.len())?, len: panel.len() };
        g.guard("walk_sum", 0, || {
            // SAFETY: unit `i` below `n`, the length of the output, writes element `i`, and reads the base below `width`.
            unsafe {
                begin::launch_unchecked::<R>(
                    g.client(),
                    g.grid(panel.len() * width, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    base.arg(),
                    to.arg(),
                    (panel.len() * width) as u32,
                    width as u32,
                );
            }
        })?;
        for part in forest.parts() {
            let call = SumCall { width, rows: panel.len(), keep: arm == Arm::KeepSubnormals };
            g.guard("walk_sum", 0, || call.launch(g, &seen, part, &state, &to))?;
        }
        out.commit(g, to)?;
    }
    Ok(out)
}

/// What is the same for all launches with some rows.
struct SumCall {
    width: usize,
    rows: usize,
    keep: bool,
}

impl SumCall {
    fn launch<R: Runtime>(&self, g: &Gpu<R>, seen: &Seen, part: &Part, state: &In, to: &Out) {
        // SAFETY: as in `walk`; unit `i` below `rows` writes the score of its row alone, in outputs below `width`.
        unsafe {
            sum_values::launch_unchecked::<R>(
                g.client(),
                g.grid(self.rows, CUBE as usize),
                CubeDim::new_1d(CUBE),
                seen.words.arg(),
                part.nodes.arg(),
                part.sets.arg(),
                part.trees.arg(),
                part.values.arg(),
                state.arg(),
                to.arg(),
                self.rows as u32,
                seen.stride,
                seen.first,
                seen.zero,
                part.range.len() as u32,
                part.range.start as u32,
                u32::from(part.of_one == Some(true)),
                part.numbers.len() as u32,
                self.width as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                seen.per,
                part.of_one.is_some(),
                self.keep,
            );
        }
    }
}

/// Bits of a bin, `per` bins a word.
fn bits(per: u32) -> u32 {
    32u32.checked_div(per).unwrap_or(32)
}

/// What a column of a row holds, as a node sees it; `per` bins a word, or 0 for raw numbers.
#[cube]
#[expect(clippy::too_many_arguments, reason = "where the rows are")]
fn value_of(
    words: &Array<u32>,
    row: u32,
    column: u32,
    category: bool,
    stride: u32,
    first: u32,
    zero: u32,
    #[comptime] per: u32,
) -> u32 {
    let place = if comptime!(per != 0) { (column / per) * stride + first + row } else { row * stride + column };
    let mut value = words[place as usize];
    if comptime!(per == 0) {
        if category {
            value = category_value(value, zero);
        } else {
            value = number_value(value, zero);
        }
    } else {
        value = (value >> ((column % per) * comptime!(bits(per)))) & comptime!(u32::MAX >> (32 - bits(per)));
        value = select_u32(value == 0u32, MISSING, value);
    }
    value
}

/// The node at which a row's path from `start` ends or leaves the `count` nodes.
#[cube]
#[expect(clippy::too_many_arguments, reason = "where the rows and the nodes are")]
fn descend(
    words: &Array<u32>,
    nodes: &Array<u32>,
    sets: &Array<u32>,
    start: u32,
    count: u32,
    row: u32,
    stride: u32,
    first: u32,
    zero: u32,
    #[comptime] per: u32,
) -> u32 {
    let mut at = start;
    let mut moving = start < count;
    while moving {
        let node = (at * 4u32) as usize;
        let ask = nodes[node + 1];
        if (ask & LEAF) != 0u32 {
            moving = false.runtime();
        } else {
            let bound = nodes[node];
            let category = (ask & CATEGORY) != 0u32;
            let value = value_of(words, row, ask & SLOT, category, stride, first, zero, per);
            let mut right = 0u32;
            if category {
                if value == MISSING {
                    right = 1u32 - (ask >> 31u32);
                } else {
                    right = 1u32;
                    if value / 32u32 < bound {
                        let word = sets[(nodes[node + 3] + value / 32u32) as usize];
                        right = 1u32 - ((word >> (value % 32u32)) & 1u32);
                    }
                }
            } else if value + (ask >> 31u32) > bound {
                right = 1u32;
            }
            at = nodes[node + 2] + right;
            moving = at < count;
        }
    }
    at
}

/// Where a path enters a part of a tree: its root in the first, else where it left the part before.
#[cube]
fn enter(state: &Array<u32>, row: u32, offset: u32, first_part: u32) -> u32 {
    let mut at = 0u32;
    if first_part == 0u32 {
        at = state[row as usize] - offset;
    }
    at
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn find_leaves(
    words: &Array<u32>,
    nodes: &Array<u32>,
    sets: &Array<u32>,
    trees: &Array<u32>,
    leaves: &Array<u32>,
    state: &mut Array<u32>,
    out: &mut Array<u32>,
    units: u32,
    rows: u32,
    stride: u32,
    first: u32,
    zero: u32,
    count: u32,
    offset: u32,
    first_part: u32,
    width: u32,
    first_tree: u32,
    #[comptime] per: u32,
    #[comptime] of_one: bool,
) {
    let i = ABSOLUTE_POS as u32;
    if i < units {
        let tree = i / rows;
        let row = i - tree * rows;
        let mut start = trees[(tree * comptime!(TREE as u32)) as usize];
        if comptime!(of_one) {
            start = enter(state, row, offset, first_part);
        }
        let at = descend(words, nodes, sets, start, count, row, stride, first, zero, per);
        if at < count {
            let leaf = nodes[(at * 4u32 + 3u32) as usize];
            out[(row * width + first_tree + tree) as usize] = leaves[leaf as usize];
        }
        if comptime!(of_one) {
            state[row as usize] = select_u32(at < count, DONE, at + offset);
        }
    }
}

#[cube(launch_unchecked)]
fn begin(base: &Array<f32>, out: &mut Array<f32>, n: u32, width: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        out[i as usize] = base[(i % width) as usize];
    }
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn sum_values(
    words: &Array<u32>,
    nodes: &Array<u32>,
    sets: &Array<u32>,
    trees: &Array<u32>,
    values: &Array<f32>,
    state: &mut Array<u32>,
    out: &mut Array<f32>,
    rows: u32,
    stride: u32,
    first: u32,
    zero: u32,
    count: u32,
    offset: u32,
    first_part: u32,
    numbers: u32,
    width: u32,
    nz: f32,
    one: f32,
    #[comptime] per: u32,
    #[comptime] of_one: bool,
    #[comptime] keep: bool,
) {
    let p = Pins { nz, one };
    let row = ABSOLUTE_POS as u32;
    if row < rows {
        for tree in 0..numbers {
            let about = (tree * comptime!(TREE as u32)) as usize;
            let mut start = trees[about];
            if comptime!(of_one) {
                start = enter(state, row, offset, first_part);
            }
            let at = descend(words, nodes, sets, start, count, row, stride, first, zero, per);
            if at < count {
                let outputs = trees[about + 4];
                let leaf = nodes[(at * 4u32 + 3u32) as usize] - trees[about + 1];
                let value = trees[about + 2] + leaf * outputs;
                let score = row * width + trees[about + 3];
                for o in 0..outputs {
                    let to = (score + o) as usize;
                    if comptime!(keep) {
                        out[to] = add_exact_range(out[to], values[(value + o) as usize], p);
                    } else {
                        out[to] = add(out[to], values[(value + o) as usize], p);
                    }
                }
            }
            if comptime!(of_one) {
                state[row as usize] = select_u32(at < count, DONE, at + offset);
            }
        }
    }
}
