//! The engine on the host: packed panels, cache blocks, and tiles of cells handed to a sink.
//!
//! A tile is `rows` x `lanes`: vector lanes run over the operand called lanes, values of the operand called rows are
//! broadcast. Which operand is which, how blocks are cut and how many threads there are changes no bit: every cell is
//! computed by itself, K ascending.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use multiversion::multiversion;
use rayon::prelude::*;

use super::guard::plain_is_proved;
use super::micro::{self, Isa, Loop, Panels};
use super::pack::{Cut, Form, Packed};
use super::{LEAF, Rule, Side, Term};
use crate::sabotage::Arm;

/// Elements of a panel of lanes between two visits of a tile's accumulators: they stay in the first-level cache.
const PANEL_BLOCK: usize = 4096;

/// Rows of a task, at most.
const ROW_BLOCK: usize = 120;

/// Lanes of a task, at most.
const LANE_BLOCK: usize = 512;

/// Lanes of a task that packs them itself, at most: a leaf of them stays in the second-level cache.
const OWN_LANE_BLOCK: usize = 64;

/// Most packed elements of one operand that are held at once.
pub(crate) const PACK_LIMIT: usize = 1 << 24;

/// Both operands of one contraction, with what has been packed of them.
pub(crate) struct Engine<'a> {
    rule: Rule,
    isa: Isa,
    /// Rows and lanes of a full microkernel.
    step: (usize, usize),
    rows: Side<'a>,
    lanes: Side<'a>,
    /// Most packed elements of one operand that are held at once.
    pack_limit: usize,
    ready_rows: Option<Ready>,
    ready_lanes: Option<Arc<Ready>>,
    /// Rows and lanes are the same vectors, so that a cell equals its mirror image: those right of the diagonal are left
    /// out, and what stands in their places is of no meaning.
    lower: bool,
}

/// Vectors from `from` on that all tasks share in packed form, with all their leaves or those from `leaf` on.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    packed: Packed,
    from: usize,
    leaf: usize,
}

/// Memory of one task. Threads keep theirs ([`with_workspace`]): fresh pages would cost as much as short contractions do.
#[derive(Default)]
pub(crate) struct Workspace {
    rows: Packed,
    lanes: Packed,
    tile: Vec<f32>,
    /// Joined leaves that wait for their neighbours: level i holds 2^i of them.
    waiting: Vec<Vec<f32>>,
    /// Panel pairs that the guard sent to the loop without and with canon.
    pub(crate) plain: usize,
    pub(crate) flushed: usize,
}

thread_local! {
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// Runs `work` with this thread's workspace.
pub(crate) fn with_workspace<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    let mut ws = WORKSPACE.take().unwrap_or_default();
    let result = work(&mut ws);
    WORKSPACE.set(Some(ws));
    result
}

impl<'a> Engine<'a> {
    pub(crate) fn new(rule: Rule, rows: Side<'a>, lanes: Side<'a>, pack_limit: usize) -> Self {
        Engine { pack_limit, ..Self::on(Isa::detect(), rule, rows, lanes) }
    }

    fn on(isa: Isa, rule: Rule, rows: Side<'a>, lanes: Side<'a>) -> Self {
        debug_assert_eq!(rows.k, lanes.k);
        let pack_limit = PACK_LIMIT;
        let step = isa.tile(rule.term);
        Engine { rule, isa, step, rows, lanes, pack_limit, ready_rows: None, ready_lanes: None, lower: false }
    }

    fn form(&self, lanes: bool, parallel: bool) -> Form {
        let cut = if lanes { Cut::Lanes(self.step.1) } else { Cut::Rows(self.step.0) };
        Form { cut, descending: self.rule.descending(), parallel }
    }

    /// Block sizes in rows and lanes: full ones, or smaller where that gives threads `wanted` tasks.
    // pathway: P35
    pub(crate) fn blocks(&self, wanted: usize) -> (usize, usize) {
        let (row_step, lane_step) = self.step;
        let mut row_block = ROW_BLOCK.next_multiple_of(row_step);
        let mut lane_block = if self.rows.outer > row_block { LANE_BLOCK } else { OWN_LANE_BLOCK };
        let tasks = |r: usize, l: usize| self.rows.outer.div_ceil(r) * self.lanes.outer.div_ceil(l);
        while tasks(row_block, lane_block) < wanted && lane_block > 2 * lane_step {
            lane_block /= 2;
        }
        while tasks(row_block, lane_block) < wanted && row_block > 2 * row_step {
            row_block = (row_block / 2).next_multiple_of(row_step);
        }
        (row_block, lane_block)
    }

    /// Width of a panel of lanes or of rows: blocks are multiples of it.
    pub(crate) fn step(&self, lanes: bool) -> usize {
        if lanes { self.step.1 } else { self.step.0 }
    }

    /// Whether blocks of `block` vectors of one operand should be packed once for all tasks. Not if the other operand's
    /// `others` vectors are one block, so that only one task needs them and packs them into its cache; and not if K is
    /// so long that a block would not fit the memory for it: then each task packs a leaf at a time.
    pub(crate) fn shares(&self, others: usize, other_block: usize, block: usize) -> bool {
        others > other_block && block.saturating_mul(self.rows.k) <= self.pack_limit
    }

    /// Whether K is so long, and the result so small, that a few leaves of all vectors should be packed at a time: then no
    /// leaf is packed more than once, and the tiles, one for each level of the tree, are few enough to wait.
    fn is_long(&self) -> bool {
        let cells = self.rows.outer.saturating_mul(self.lanes.outer);
        let elements = (self.rows.outer.saturating_add(self.lanes.outer)).saturating_mul(self.rows.k);
        self.leaves_together() < self.leaves()
            && self.rows.outer > self.step.0
            && self.lanes.outer > self.step.1
            && elements > self.pack_limit
            && cells <= self.pack_limit / 8
    }

    /// Leaves that are packed together: in the second-level cache.
    fn leaves_together(&self) -> usize {
        (self.pack_limit / 64 / LEAF / (self.rows.outer + self.lanes.outer).max(1)).max(1)
    }

    /// How many vectors, in whole blocks, are held in packed form at once.
    pub(crate) fn chunk(&self, block: usize) -> usize {
        (self.pack_limit / self.rows.k.max(1) / block).max(1) * block
    }

    /// Packs the row vectors `range` for all tasks.
    pub(crate) fn ready_rows(&mut self, range: Range<usize>) {
        let mut packed = self.ready_rows.take().map(|r| r.packed).unwrap_or_default();
        packed.fill(&self.rows, range.clone(), 0..self.rows.k, self.form(false, true));
        self.ready_rows = Some(Ready { packed, from: range.start, leaf: 0 });
    }

    /// Packs the lane vectors `range` for all tasks.
    pub(crate) fn ready_lanes(&mut self, range: Range<usize>) {
        let mut packed = self.ready_lanes.take().and_then(Arc::into_inner).map(|r| r.packed).unwrap_or_default();
        packed.fill(&self.lanes, range.clone(), 0..self.lanes.k, self.form(true, true));
        self.ready_lanes = Some(Arc::new(Ready { packed, from: range.start, leaf: 0 }));
    }

    /// Packs these leaves of all vectors for all tasks.
    fn ready_leaves(&mut self, leaves: Range<usize>) {
        let k = leaves.start * LEAF..(leaves.end * LEAF).min(self.rows.k);
        let mut rows = self.ready_rows.take().map(|r| r.packed).unwrap_or_default();
        rows.fill(&self.rows, 0..self.rows.outer, k.clone(), self.form(false, true));
        self.ready_rows = Some(Ready { packed: rows, from: 0, leaf: leaves.start });
        let mut lanes = self.ready_lanes.take().and_then(Arc::into_inner).map(|r| r.packed).unwrap_or_default();
        lanes.fill(&self.lanes, 0..self.lanes.outer, k, self.form(true, true));
        self.ready_lanes = Some(Arc::new(Ready { packed: lanes, from: 0, leaf: leaves.start }));
    }

    /// The lane vectors as they are packed, for other contractions of the same term with the same lanes.
    pub(crate) fn share_lanes(&self) -> Option<Arc<Ready>> {
        self.ready_lanes.clone()
    }

    /// Takes lane vectors that another engine packed.
    pub(crate) fn take_lanes(&mut self, ready: Arc<Ready>) {
        self.ready_lanes = Some(ready);
    }

    /// Computes the cells `rows` x `lanes`; both start on a panel. Returns them row-major with the distance of rows.
    pub(crate) fn tile<'w>(
        &self,
        ws: &'w mut Workspace,
        rows: Range<usize>,
        lanes: Range<usize>,
    ) -> (&'w [f32], usize) {
        let leaves = self.leaves();
        if leaves == 0 {
            ws.tile.clear();
            ws.tile.resize(rows.len() * self.ld(&lanes), 0.0);
        }
        let ld = self.ld(&lanes);
        self.add_leaves(ws, rows, lanes, 0..leaves);
        (&ws.tile, ld)
    }

    fn leaves(&self) -> usize {
        self.rows.k.div_ceil(LEAF)
    }

    /// The distance of rows in a tile of these lanes.
    fn ld(&self, lanes: &Range<usize>) -> usize {
        lanes.len().next_multiple_of(self.step.1)
    }

    /// Takes these leaves into the cells of `ws`, which has had those before them. After the last leaf of all, its tile is
    /// the result.
    fn add_leaves(&self, ws: &mut Workspace, rows: Range<usize>, lanes: Range<usize>, leaves: Range<usize>) {
        let ld = self.ld(&lanes);
        for leaf in leaves {
            ws.tile.resize(rows.len() * ld, 0.0);
            self.leaf(ws, rows.clone(), lanes.clone(), leaf, ld);
            self.join(ws, leaf, self.leaves());
        }
    }

    /// Sums one leaf into the tile.
    fn leaf(&self, ws: &mut Workspace, rows: Range<usize>, lanes: Range<usize>, leaf: usize, ld: usize) {
        let Workspace { rows: own_rows, lanes: own_lanes, tile, plain, flushed, .. } = ws;
        let k = leaf * LEAF..((leaf + 1) * LEAF).min(self.rows.k);
        let (a, a_from, a_leaf) = match &self.ready_rows {
            Some(r) => (&r.packed, rows.start - r.from, leaf - r.leaf),
            None => {
                own_rows.fill(&self.rows, rows.clone(), k.clone(), self.form(false, false));
                (&*own_rows, 0, 0)
            }
        };
        let (b, b_from, b_leaf) = match &self.ready_lanes {
            Some(r) => (&r.packed, lanes.start - r.from, leaf - r.leaf),
            None => {
                own_lanes.fill(&self.lanes, lanes.clone(), k.clone(), self.form(true, false));
                (&*own_lanes, 0, 0)
            }
        };
        let block = PANEL_BLOCK / self.step.1;
        for first in (0..k.len()).step_by(block) {
            let steps = first..(first + block).min(k.len());
            for j in b.panels(b_from, lanes.len()) {
                let (b_part, lane) = (b.steps(j, b_leaf, &steps), b.panel(j).start - b_from);
                for i in a.panels(a_from, rows.len()) {
                    let panel = a.panel(i);
                    if self.lower && lanes.start + lane >= rows.start + (panel.start - a_from) + panel.width {
                        continue;
                    }
                    let kind = self.choose(a.least(i, a_leaf), b.least(j, b_leaf));
                    match kind {
                        Loop::Plain => *plain += 1,
                        Loop::Flushed | Loop::Fused { .. } => *flushed += 1,
                    }
                    let a_part = a.steps(i, a_leaf, &steps);
                    let panels = Panels { rows: panel.width, a: a_part, b: b_part, first: first == 0 };
                    let cells = &mut tile[(panel.start - a_from) * ld + lane..];
                    micro::run(self.isa, self.rule.term, kind, &panels, cells, ld);
                }
            }
        }
    }

    /// Clause `flush`, or what a sabotaged device makes of it.
    fn choose(&self, a: u32, b: u32) -> Loop {
        let plain = plain_is_proved(self.rule.term, a, b);
        match self.rule.arm {
            Arm::KeepSubnormals | Arm::GuardOff => Loop::Plain,
            Arm::FuseProducts => Loop::Fused { flush: !plain },
            _ if plain => Loop::Plain,
            _ => Loop::Flushed,
        }
    }

    /// Joins the tile with what waits, as a binary counter carries: the balanced tree of adjacent pairs.
    // pathway: P34
    fn join(&self, ws: &mut Workspace, leaf: usize, leaves: usize) {
        let Workspace { tile, waiting, .. } = ws;
        let last = leaf + 1 == leaves;
        let mut level = 0;
        while (leaf >> level) != 0 && (last || (leaf >> level) & 1 == 1) {
            if (leaf >> level) & 1 == 1 {
                add_into(tile, &waiting[level], self.rule.joins_canonical());
            }
            level += 1;
        }
        if !last {
            if waiting.len() == level {
                waiting.push(Vec::new());
            }
            waiting[level].resize(tile.len(), 0.0);
            std::mem::swap(tile, &mut waiting[level]);
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn add_into(tile: &mut [f32], other: &[f32], canonical: bool) {
    let canon = |x: f32| if (x.to_bits() & 0x7fff_ffff) <= 0x0080_0000 { 0.0 } else { x };
    if canonical {
        tile.iter_mut().zip(other).for_each(|(t, o)| *t = canon(*o + *t));
    } else {
        tile.iter_mut().zip(other).for_each(|(t, o)| *t += *o);
    }
}

/// Cuts `range` into pieces of `step`.
pub(crate) fn ranges(range: Range<usize>, step: usize) -> Vec<Range<usize>> {
    range.clone().step_by(step.max(1)).map(|start| start..(start + step).min(range.end)).collect()
}

/// Computes every cell, or those up to the diagonal of equal operands (`lower`), and gives each tile to
/// `sink(rows, lanes, tile, distance of rows)`, in parallel.
fn tiles(
    rule: Rule,
    rows: Side<'_>,
    lanes: Side<'_>,
    pack_limit: usize,
    lower: bool,
    sink: impl Fn(Range<usize>, Range<usize>, &[f32], usize) + Sync,
) {
    let mut engine = Engine::new(rule, rows, lanes, pack_limit);
    engine.lower = lower;
    if engine.is_long() {
        return long_tiles(engine, sink);
    }
    let (row_block, lane_block) = engine.blocks(4 * rayon::current_num_threads());
    let share_rows = engine.shares(lanes.outer, lane_block, row_block);
    let share_lanes = engine.shares(rows.outer, row_block, lane_block);
    let row_chunks = ranges(0..rows.outer, if share_rows { engine.chunk(row_block) } else { rows.outer.max(1) });
    let lane_chunks = ranges(0..lanes.outer, if share_lanes { engine.chunk(lane_block) } else { lanes.outer.max(1) });
    for lane_chunk in &lane_chunks {
        if share_lanes {
            engine.ready_lanes(lane_chunk.clone());
        }
        for (i, row_chunk) in row_chunks.iter().enumerate() {
            if share_rows && (i > 0 || row_chunks.len() > 1 || engine.ready_rows.is_none()) {
                engine.ready_rows(row_chunk.clone());
            }
            let row_blocks = ranges(row_chunk.clone(), row_block);
            let lane_blocks = ranges(lane_chunk.clone(), lane_block);
            (0..row_blocks.len() * lane_blocks.len()).into_par_iter().for_each(|task| {
                let (r, l) = (&row_blocks[task / lane_blocks.len()], &lane_blocks[task % lane_blocks.len()]);
                let l = l.start..if lower { l.end.min(r.end) } else { l.end };
                if l.is_empty() {
                    return;
                }
                with_workspace(|ws| {
                    let (tile, ld) = engine.tile(ws, r.clone(), l.clone());
                    sink(r.clone(), l.clone(), tile, ld);
                });
            });
        }
    }
}

// pathway: P111
/// As [`tiles`], a few leaves of all vectors at a time: each element is packed once, and tiles wait in between.
fn long_tiles(mut engine: Engine<'_>, sink: impl Fn(Range<usize>, Range<usize>, &[f32], usize) + Sync) {
    let (row_block, lane_block) = engine.blocks(16 * rayon::current_num_threads());
    let lane_blocks = ranges(0..engine.lanes.outer, lane_block);
    let mut tiles: Vec<(Range<usize>, Range<usize>, Workspace)> = ranges(0..engine.rows.outer, row_block)
        .into_iter()
        .flat_map(|r| lane_blocks.iter().map(move |l| (r.clone(), l.clone(), Workspace::default())))
        .collect();
    if engine.lower {
        tiles.iter_mut().for_each(|(r, l, _)| l.end = l.end.min(r.end));
        tiles.retain(|(_, l, _)| l.start < l.end);
    }
    for leaves in ranges(0..engine.leaves(), engine.leaves_together()) {
        engine.ready_leaves(leaves.clone());
        let engine = &engine;
        tiles.par_iter_mut().with_max_len(1).for_each(|(r, l, ws)| {
            engine.add_leaves(ws, r.clone(), l.clone(), leaves.clone());
            if leaves.end == engine.leaves() {
                sink(r.clone(), l.clone(), &ws.tile, engine.ld(l));
            }
        });
    }
}

/// Whether lanes should run over the first operand's `m` vectors rather than over the second's `n`: where fewer of them
/// are padding.
pub(crate) fn lanes_over_first(term: Term, m: usize, n: usize) -> bool {
    let (_, width) = Isa::detect().tile(term);
    n * m.next_multiple_of(width) < m * n.next_multiple_of(width)
}

/// All cells, row-major, a row for each vector of `a` and a column for each of `b`.
pub(crate) fn matrix(rule: Rule, a: Side<'_>, b: Side<'_>, out: &mut [f32]) {
    matrix_within(PACK_LIMIT, rule, a, b, out);
}

fn matrix_within(pack_limit: usize, rule: Rule, a: Side<'_>, b: Side<'_>, out: &mut [f32]) {
    let n = b.outer;
    let cells = Cells::new(out);
    if a.is(&b) {
        tiles(rule, a, b, pack_limit, true, |rows, cols, tile, ld| {
            for (i, row) in rows.enumerate() {
                let known = cols.start..cols.end.min(row + 1);
                let values = || tile[i * ld..i * ld + known.len()].iter().copied();
                // SAFETY: tiles are disjoint, and so are their mirror images; only the diagonal is its own, in one tile.
                unsafe { cells.put(row * n + known.start, values()) };
                for (col, value) in known.clone().zip(values()) {
                    // SAFETY: as above.
                    unsafe { cells.put(col * n + row, std::iter::once(value)) };
                }
            }
        });
    } else if lanes_over_first(rule.term, a.outer, n) {
        tiles(rule, b, a, pack_limit, false, |cols, rows, tile, ld| {
            for (lane, row) in rows.enumerate() {
                let values = (0..cols.len()).map(|i| tile[i * ld + lane]);
                // SAFETY: tiles are disjoint, so no other task touches these cells.
                unsafe { cells.put(row * n + cols.start, values) };
            }
        });
    } else {
        tiles(rule, a, b, pack_limit, false, |rows, cols, tile, ld| {
            for (i, row) in rows.enumerate() {
                let values = tile[i * ld..i * ld + cols.len()].iter().copied();
                // SAFETY: tiles are disjoint, so no other task touches these cells.
                unsafe { cells.put(row * n + cols.start, values) };
            }
        });
    }
}

/// A result that several tasks fill, each its own cells.
struct Cells<'a> {
    start: *mut f32,
    len: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

// SAFETY: `put` is the only access, and its callers give every cell to one task only.
unsafe impl Sync for Cells<'_> {}

impl<'a> Cells<'a> {
    fn new(cells: &'a mut [f32]) -> Self {
        Cells { start: cells.as_mut_ptr(), len: cells.len(), borrow: PhantomData }
    }

    /// Stores `values` from cell `at` on.
    ///
    /// # Safety
    /// No other thread accesses these cells meanwhile.
    unsafe fn put(&self, at: usize, values: impl ExactSizeIterator<Item = f32>) {
        let end = at.saturating_add(values.len());
        assert!(end <= self.len, "a tile lies inside the result");
        for (cell, v) in (at..end).zip(values) {
            // SAFETY: `cell` is below `len`, checked above; the borrow keeps the memory alive and unshared.
            unsafe { self.start.add(cell).write(v) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contraction::cell;
    use crate::contraction::testing::Data;

    /// What the engine makes of a fixture, and how many panel pairs ran without and with canon.
    fn run(term: Term, arm: Arm, data: Data) -> (Vec<u32>, usize, usize) {
        let (m, n, k) = (11, 70, 1300);
        let (a, b) = (data.values(m * k, 7), data.values(n * k, 8));
        let engine = Engine::new(Rule::new(term, arm), Side::rows(&a, m, k), Side::rows(&b, n, k), PACK_LIMIT);
        let mut ws = Workspace::default();
        let (tile, ld) = engine.tile(&mut ws, 0..m, 0..n);
        let cells = tile.chunks(ld).flat_map(|row| row[..n].iter().map(|v| v.to_bits())).collect();
        (cells, ws.plain, ws.flushed)
    }

    /// The guard fires on subnormal-heavy data, does not on ordinary data, and there the loops do differ or agree.
    #[test]
    // pathway test: P25
    fn the_guard_fires_where_the_loops_differ() {
        for term in [Term::Product, Term::SquaredDifference] {
            let (guarded, plain, flushed) = run(term, Arm::None, Data::Subnormal);
            assert!(plain == 0 && flushed > 0, "{term:?}: {plain} plain, {flushed} flushed");
            let (unguarded, plain, flushed) = run(term, Arm::GuardOff, Data::Subnormal);
            assert!(plain > 0 && flushed == 0);
            assert_ne!(guarded, unguarded, "{term:?}");
            let (guarded, plain, flushed) = run(term, Arm::None, Data::Ordinary);
            assert!(plain > 0 && flushed == 0, "{term:?}: {plain} plain, {flushed} flushed");
            assert_eq!(guarded, run(term, Arm::GuardOff, Data::Ordinary).0, "{term:?}");
        }
    }

    /// At the bound itself the plain loop must still be right: least exponents that sum to -102 exactly.
    #[test]
    fn the_bound_is_safe() {
        let k = 900;
        let scale = |e: i32| f32::from_bits(((e + 127) as u32) << 23);
        let odd = |x: &[f32], e: i32| -> Vec<f32> {
            // Fractions in [1, 2) with either sign, so that sums cancel down to the last place.
            x.iter()
                .map(|v| (if *v < 0.0 { v - 1.0 } else { v + 1.0 }).clamp(-1.9999999, 1.9999999) * scale(e))
                .collect()
        };
        let halves: Vec<f32> = Data::Ordinary.values(k, 9).iter().map(|v| v / 2.0).collect();
        let (a, b) =
            (odd(&halves, -51), odd(&Data::Ordinary.values(k, 10).iter().map(|v| v / 2.0).collect::<Vec<_>>(), -51));
        let rule = Rule::new(Term::Product, Arm::None);
        let engine = Engine::new(rule, Side::rows(&a, 1, k), Side::rows(&b, 1, k), PACK_LIMIT);
        let mut ws = Workspace::default();
        let got = engine.tile(&mut ws, 0..1, 0..1).0[0].to_bits();
        assert!(ws.plain > 0 && ws.flushed == 0);
        assert_eq!(got, cell(Term::Product, k, |i| a[i], |i| b[i]).to_bits());
    }

    #[test]
    // pathway test: P7, P37
    fn vectors_of_every_width_give_the_same_bits() {
        let (m, n, k) = (23, 75, 2100);
        for data in Data::ALL {
            let (a, b) = (data.values(m * k, 11), data.values(n * k, 12));
            for term in [Term::Product, Term::SquaredDifference] {
                let run = |isa: Isa| -> Vec<u32> {
                    let rule = Rule::new(term, Arm::None);
                    let engine = Engine::on(isa, rule, Side::rows(&a, m, k), Side::rows(&b, n, k));
                    let mut ws = Workspace::default();
                    let (tile, ld) = engine.tile(&mut ws, 0..m, 0..n);
                    tile.chunks(ld).flat_map(|row| row[..n].iter().map(|v| v.to_bits())).collect()
                };
                for isa in Isa::all() {
                    assert_eq!(run(*isa), run(Isa::Base), "{isa:?} {term:?} {data:?}");
                }
            }
        }
    }

    /// Operands too large to be packed whole are packed in pieces, or a leaf at a time; neither shows.
    #[test]
    // pathway test: P38
    fn packing_in_pieces_changes_nothing() {
        for (m, n, k) in [(700, 1300, 3), (300, 1100, 1030), (1100, 40, 64)] {
            let (a, b) = (Data::Subnormal.values(m * k, 13), Data::Subnormal.values(n * k, 14));
            let rule = Rule::new(Term::Product, Arm::None);
            let run = |pack_limit: usize| {
                let mut out = vec![f32::NAN; m * n];
                matrix_within(pack_limit, rule, Side::rows(&a, m, k), Side::columns(&b, n, k), &mut out);
                out.iter().map(|v| v.to_bits()).collect::<Vec<u32>>()
            };
            let whole = run(usize::MAX);
            for pack_limit in [1, 2000, 150_000] {
                assert_eq!(run(pack_limit), whole, "{m}x{n}x{k} within {pack_limit}");
            }
            let (i, j) = (m - 1, n - 2);
            let wanted = cell(Term::Product, k, |p| a[i * k + p], |p| b[p * n + j]);
            assert_eq!(whole[i * n + j], wanted.to_bits());
        }
    }

    /// A long K and a small result: all vectors are packed a few leaves at a time while tiles wait. Neither how many leaves,
    /// nor threads, nor the mirrored half of a product with itself shows.
    #[test]
    // pathway test: P111
    fn long_axes_change_nothing() {
        let (m, n, k) = (70, 75, 11 * LEAF + 300);
        for data in [Data::Ordinary, Data::Subnormal] {
            let (a, b) = (data.values(m * k, 15), data.values(n * k, 16));
            for term in [Term::Product, Term::SquaredDifference] {
                let rule = Rule::new(term, Arm::None);
                let (rows, columns) = (Side::rows(&a, m, k), Side::columns(&b, n, k));
                let run = |pack_limit: usize, x: Side<'_>, y: Side<'_>| {
                    let mut out = vec![f32::NAN; x.outer * y.outer];
                    matrix_within(pack_limit, rule, x, y, &mut out);
                    out.iter().map(|v| v.to_bits()).collect::<Vec<u32>>()
                };
                let long = |pack_limit| Engine::new(rule, rows, columns, pack_limit).is_long();
                assert!(!long(usize::MAX) && !long(2000), "so that there is a plain path to compare with");
                let whole = run(usize::MAX, rows, columns);
                let square = run(usize::MAX, rows, rows);
                for (i, j) in [(0, 0), (m - 1, n - 2), (33, 41)] {
                    let wanted = cell(term, k, |p| a[i * k + p], |p| b[p * n + j]);
                    assert_eq!(whole[i * n + j], wanted.to_bits(), "{term:?} {data:?} {i} {j}");
                }
                for pack_limit in [50_000, 700_000, 1_500_000] {
                    assert!(long(pack_limit), "{pack_limit}");
                    for threads in [1, 7] {
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
                        pool.install(|| {
                            assert_eq!(run(pack_limit, rows, columns), whole, "{term:?} {data:?} {pack_limit}");
                            assert_eq!(run(pack_limit, rows, rows), square, "{term:?} {data:?} {pack_limit}");
                        });
                    }
                }
            }
        }
    }
}
