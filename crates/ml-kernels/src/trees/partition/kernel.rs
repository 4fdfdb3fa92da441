//! The kernels of `partition` (mark what goes left, scan, scatter) and of `add_leaf_values`; one unit a row of a node.

use std::ops::Range;

use cubecl::prelude::*;
use ml_core::Result;

use super::SplitAt;
use crate::buffer::{Chunks, In, Out};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{Pins, add, add_exact_range, from_bits};
use crate::scan::kernel::scan;
use crate::trees::bins::{Bins, Store, kernel::copy};

/// Words that describe a node to `mark_left`: its first place, the word of the column asked, where in that word the bin lies
/// with the flags below, the last bin on the left or the words of the set, and the set's first word.
const ASK: usize = 5;

/// A missing value goes left.
const MISSING_LEFT: u32 = 1 << 31;
/// A set is asked.
const CATEGORY: u32 = 1 << 30;
/// The node stays as it is.
const KEPT: u32 = 1 << 29;

/// Words that describe a node to `scatter`: its first place, the rows that went left in all nodes before, and in it.
const MOVE: usize = 3;

/// The rows `0..rows`.
pub(super) fn all<R: Runtime>(g: &Gpu<R>, rows: usize) -> Result<Chunks<u32>> {
    let out = Chunks::alloc(g, rows)?;
    for panel in g.row_panels(rows, &[1]) {
        let view = out.view_out(g, panel.clone())?;
        g.guard("row sets", 0, || {
            // SAFETY: the kernel checks its bound, the length of the output.
            unsafe {
                count_up::launch_unchecked::<R>(
                    g.client(),
                    g.grid(panel.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    panel.start as u32,
                    panel.len() as u32,
                );
            }
        })?;
        out.commit(g, view)?;
    }
    Ok(out)
}

/// The parted rows, and where each node's start.
pub(super) fn partition<R: Runtime>(
    g: &Gpu<R>,
    bins: &Bins,
    rows: &Chunks<u32>,
    starts: &[usize],
    splits: &[Option<SplitAt>],
) -> Result<(Chunks<u32>, Vec<usize>)> {
    let nodes = splits.len();
    if rows.len() == 0 {
        let count = nodes + splits.iter().flatten().count();
        return Ok((Chunks::alloc(g, 0)?, vec![0; count + 1]));
    }
    let left = mark(g, bins, rows, starts, splits)?;
    let (before, total) = scan(g, &left)?;
    let before_start = at_starts(g, &before, &total, starts)?;
    let table = |node: usize| {
        // Never more than there are, whatever a device that only writes kernels down gives back.
        let lefts =
            before_start[node + 1].wrapping_sub(before_start[node]).min((starts[node + 1] - starts[node]) as u32);
        [starts[node] as u32, before_start[node], lefts]
    };
    let out = Chunks::alloc(g, rows.len())?;
    let limit = g.max_elements::<u32>();
    for few in panels(nodes, limit / MOVE) {
        let words: Vec<u32> = few.clone().flat_map(table).collect();
        let words = upload(g, &words)?;
        let places = starts[few.start]..starts[few.end];
        for target in panels_in(&places, limit) {
            let to = out.view_out(g, target.clone())?;
            for part in panels_in(&places, limit) {
                let from = [rows, &left, &before].map(|chunks| chunks.view(g, part.clone()));
                let [rows, left, before] = from;
                let (rows, left, before) = (rows?, left?, before?);
                g.guard("partition", 0, || {
                    // SAFETY: unit `i` below `n`, the length of the inputs, reads element `i` of each and the words of a
                    // node below `nodes`; it writes only if its place lies in the output.
                    unsafe {
                        scatter::launch_unchecked::<R>(
                            g.client(),
                            g.grid(part.len(), CUBE as usize),
                            CubeDim::new_1d(CUBE),
                            rows.arg(),
                            left.arg(),
                            before.arg(),
                            words.arg(),
                            to.arg(),
                            part.len() as u32,
                            part.start as u32,
                            few.len() as u32,
                            target.start as u32,
                            target.len() as u32,
                        );
                    }
                })?;
            }
            out.commit(g, to)?;
        }
    }
    let mut ends = vec![0];
    for (node, split) in splits.iter().enumerate() {
        if split.is_some() {
            ends.push(starts[node] + table(node)[2] as usize);
        }
        ends.push(starts[node + 1]);
    }
    Ok((out, ends))
}

/// For each row of each node 1 if it goes left or its node is kept, else 0.
fn mark<R: Runtime>(
    g: &Gpu<R>,
    bins: &Bins,
    rows: &Chunks<u32>,
    starts: &[usize],
    splits: &[Option<SplitAt>],
) -> Result<Chunks<u32>> {
    let Store::Words(words) = bins.store() else { return Err(bins.elsewhere("bins", bins.device())) };
    let words = words.chunks("bins", bins.device())?;
    let (per, limit) = (bins.per_word(), g.max_elements::<u32>());
    let out = Chunks::alloc(g, rows.len())?;
    for few in node_panels(bins, splits, limit) {
        let asks = Asks::new(g, bins, &starts[few.clone()], &splits[few.clone()])?;
        for part in panels_in(&(starts[few.start]..starts[few.end]), limit) {
            let view = rows.view(g, part.clone())?;
            let to = out.view_out(g, part.clone())?;
            for (at, held) in held_words(words, bins.rows(), limit).into_iter().enumerate() {
                let held_view = words.view(g, held.elements.clone())?;
                g.guard("partition", 0, || {
                    // SAFETY: unit `i` below `n`, the length of rows and output, reads the words of a node below `nodes`,
                    // a word of bins only if the view holds it, and words of the node's own set.
                    unsafe {
                        mark_left::launch_unchecked::<R>(
                            g.client(),
                            g.grid(part.len(), CUBE as usize),
                            CubeDim::new_1d(CUBE),
                            view.arg(),
                            held_view.arg(),
                            asks.nodes.arg(),
                            asks.sets.arg(),
                            to.arg(),
                            part.len() as u32,
                            part.start as u32,
                            few.len() as u32,
                            held.first_word as u32,
                            held.words as u32,
                            held.first_row as u32,
                            held.rows as u32,
                            u32::from(at == 0),
                            (32 / per) as u32,
                        );
                    }
                })?;
            }
            out.commit(g, to)?;
        }
    }
    Ok(out)
}

/// A part of a binned matrix that one binding holds: some rows of some words.
struct Held {
    elements: Range<usize>,
    first_word: usize,
    words: usize,
    first_row: usize,
    rows: usize,
}

fn held_words(words: &Chunks<u32>, rows: usize, limit: usize) -> Vec<Held> {
    let count = words.len() / rows.max(1);
    if rows <= limit {
        let held = |w: Range<usize>| Held {
            elements: w.start * rows..w.end * rows,
            first_word: w.start,
            words: w.len(),
            first_row: 0,
            rows,
        };
        return panels(count, limit / rows.max(1)).into_iter().map(held).collect();
    }
    let held = |word: usize, r: Range<usize>| Held {
        elements: word * rows + r.start..word * rows + r.end,
        first_word: word,
        words: 1,
        first_row: r.start,
        rows: r.len(),
    };
    (0..count).flat_map(|word| panels(rows, limit).into_iter().map(move |r| held(word, r))).collect()
}

/// Words of the set of `split` that bins of its column can ask for.
fn set_words<'a>(bins: &Bins, split: &'a Option<SplitAt>) -> &'a [u32] {
    match split {
        Some(SplitAt::Category { feature, set, .. }) => {
            &set[..set.len().min((bins.n_bins(*feature as usize) as usize).div_ceil(32))]
        }
        _ => &[],
    }
}

/// As many nodes as bindings have room for what they ask, one at least.
fn node_panels(bins: &Bins, splits: &[Option<SplitAt>], limit: usize) -> Vec<Range<usize>> {
    let (mut out, mut first, mut words): (Vec<Range<usize>>, usize, usize) = (Vec::new(), 0, 0);
    for (node, split) in splits.iter().enumerate() {
        let own = set_words(bins, split).len();
        if node > first && (words + own > limit || (node + 1 - first) * ASK > limit) {
            out.push(first..node);
            (first, words) = (node, 0);
        }
        words += own;
    }
    if splits.len() > first {
        out.push(first..splits.len());
    }
    out
}

/// What consecutive nodes ask, on the device.
struct Asks {
    nodes: In,
    sets: In,
}

impl Asks {
    fn new<R: Runtime>(g: &Gpu<R>, bins: &Bins, starts: &[usize], splits: &[Option<SplitAt>]) -> Result<Self> {
        let per = bins.per_word() as u32;
        let (mut nodes, mut sets) = (Vec::with_capacity(splits.len() * ASK), Vec::new());
        for (start, split) in starts.iter().zip(splits) {
            let first = sets.len() as u32;
            let Some(split) = split else {
                nodes.extend([*start as u32, 0, KEPT, 0, 0]);
                continue;
            };
            let mut place = split.feature() % per * (32 / per);
            if split.missing_left() {
                place |= MISSING_LEFT;
            }
            let bound = match split {
                SplitAt::Number { bin, .. } => *bin,
                SplitAt::Category { .. } => {
                    place |= CATEGORY;
                    sets.extend_from_slice(set_words(bins, &Some(split.clone())));
                    sets.len() as u32 - first
                }
            };
            nodes.extend([*start as u32, split.feature() / per, place, bound, first]);
        }
        Ok(Asks { nodes: upload(g, &nodes)?, sets: upload(g, &sets)? })
    }
}

/// How many rows went left before each of `starts`.
fn at_starts<R: Runtime>(g: &Gpu<R>, before: &Chunks<u32>, total: &Chunks<u32>, starts: &[usize]) -> Result<Vec<u32>> {
    let (n, limit) = (before.len(), g.max_elements::<u32>());
    let words: Vec<u32> = starts.iter().map(|start| *start as u32).collect();
    let total = total.view(g, 0..1)?;
    let mut out = Vec::with_capacity(starts.len());
    for few in panels(starts.len(), limit) {
        let places = upload(g, &words[few.clone()])?;
        let found = Chunks::<u32>::alloc(g, few.len())?;
        let to = found.view_out(g, 0..few.len())?;
        for part in panels(n, limit) {
            let view = before.view(g, part.clone())?;
            g.guard("partition", 0, || {
                // SAFETY: unit `i` below `places`, the length of places and output, reads a sum only if the view holds it.
                unsafe {
                    pick_sums::launch_unchecked::<R>(
                        g.client(),
                        g.grid(few.len(), CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        total.arg(),
                        places.arg(),
                        to.arg(),
                        few.len() as u32,
                        part.start as u32,
                        part.len() as u32,
                        n as u32,
                    );
                }
            })?;
        }
        found.commit(g, to)?;
        out.extend(found.read(g)?);
    }
    Ok(out)
}

/// `scores` with each node's value added to output `output` of its rows; subnormal sums stay if `keep`.
pub(super) fn add_leaf_values<R: Runtime>(
    g: &Gpu<R>,
    scores: &Chunks<f32>,
    (outputs, output): (usize, usize),
    rows: &Chunks<u32>,
    starts: &[usize],
    values: &[f32],
    keep: bool,
) -> Result<Chunks<f32>> {
    let (out, limit) = (Chunks::alloc(g, scores.len())?, g.max_elements::<u32>());
    for panel in g.row_panels(scores.len() / outputs, &[outputs]) {
        let elements = panel.start * outputs..panel.end * outputs;
        let (from, to) = (scores.view(g, elements.clone())?, out.view_out(g, elements)?);
        copy(g, &from, &to)?;
        for few in panels(values.len(), limit / 2) {
            let words: Vec<u32> = few.clone().flat_map(|node| [starts[node] as u32, values[node].to_bits()]).collect();
            let words = upload(g, &words)?;
            for part in panels_in(&(starts[few.start]..starts[few.end]), limit) {
                let view = rows.view(g, part.clone())?;
                let call = Add { few: &few, part: &part, panel: &panel, outputs, output, keep };
                g.guard("add_leaf_values", 0, || call.launch(g, &view, &words, &to))?;
            }
        }
        out.commit(g, to)?;
    }
    Ok(out)
}

/// One launch of [`add_values`].
struct Add<'a> {
    few: &'a Range<usize>,
    part: &'a Range<usize>,
    panel: &'a Range<usize>,
    outputs: usize,
    output: usize,
    keep: bool,
}

impl Add<'_> {
    fn launch<R: Runtime>(&self, g: &Gpu<R>, rows: &In, nodes: &In, to: &Out) {
        // SAFETY: unit `i` below `n`, the length of `rows`, reads the words of a node below `nodes`, and changes a score only
        // if the panel holds its row, which no other unit has.
        unsafe {
            add_values::launch_unchecked::<R>(
                g.client(),
                g.grid(self.part.len(), CUBE as usize),
                CubeDim::new_1d(CUBE),
                rows.arg(),
                nodes.arg(),
                to.arg(),
                self.part.len() as u32,
                self.part.start as u32,
                self.few.len() as u32,
                self.panel.start as u32,
                self.panel.len() as u32,
                self.outputs as u32,
                self.output as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                self.keep,
            );
        }
    }
}

fn upload<R: Runtime>(g: &Gpu<R>, words: &[u32]) -> Result<In> {
    Ok(In { handle: g.upload_one(words)?, len: words.len() })
}

/// `0..n` in ranges of `most` at most.
fn panels(n: usize, most: usize) -> Vec<Range<usize>> {
    panels_in(&(0..n), most)
}

fn panels_in(whole: &Range<usize>, most: usize) -> Vec<Range<usize>> {
    let most = most.max(1);
    whole.clone().step_by(most).map(|start| start..(start + most).min(whole.end)).collect()
}

#[cube(launch_unchecked)]
fn count_up(out: &mut Array<u32>, first: u32, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        out[i as usize] = first + i;
    }
}

/// The last of `count` nodes, `stride` words each, whose first place is at most `place`: it holds the place, since nodes
/// without rows stand before it.
#[cube]
fn node_of(nodes: &Array<u32>, count: u32, #[comptime] stride: u32, place: u32) -> u32 {
    let mut low = 0u32;
    let mut high = count;
    while high - low > 1u32 {
        let middle = (low + high) / 2u32;
        if nodes[(middle * stride) as usize] <= place {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn mark_left(
    rows: &Array<u32>,
    words: &Array<u32>,
    nodes: &Array<u32>,
    sets: &Array<u32>,
    left: &mut Array<u32>,
    n: u32,
    first: u32,
    count: u32,
    first_word: u32,
    held_words: u32,
    first_row: u32,
    held_rows: u32,
    first_panel: u32,
    #[comptime] bits: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let at = (node_of(nodes, count, comptime!(ASK as u32), first + i) * comptime!(ASK as u32)) as usize;
        let place = nodes[at + 2];
        if (place & KEPT) != 0u32 {
            if first_panel == 1u32 {
                left[i as usize] = 1u32;
            }
        } else {
            let word = nodes[at + 1] - first_word;
            let row = rows[i as usize] - first_row;
            if word < held_words && row < held_rows {
                let bin =
                    (words[(word * held_rows + row) as usize] >> (place & 31u32)) & comptime!(u32::MAX >> (32 - bits));
                let bound = nodes[at + 3];
                let mut goes_left = 0u32;
                if bin == 0u32 {
                    goes_left = place >> 31u32;
                } else if (place & CATEGORY) != 0u32 {
                    if bin / 32u32 < bound {
                        goes_left = (sets[(nodes[at + 4] + bin / 32u32) as usize] >> (bin % 32u32)) & 1u32;
                    }
                } else if bin <= bound {
                    goes_left = 1u32;
                }
                left[i as usize] = goes_left;
            }
        }
    }
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn pick_sums(
    before: &Array<u32>,
    total: &Array<u32>,
    places: &Array<u32>,
    out: &mut Array<u32>,
    count: u32,
    first: u32,
    held: u32,
    n: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < count {
        let place = places[i as usize];
        if place == n {
            out[i as usize] = total[0];
        } else if place - first < held {
            out[i as usize] = before[(place - first) as usize];
        }
    }
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn scatter(
    rows: &Array<u32>,
    left: &Array<u32>,
    before: &Array<u32>,
    nodes: &Array<u32>,
    out: &mut Array<u32>,
    n: u32,
    first: u32,
    count: u32,
    target: u32,
    target_len: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let place = first + i;
        let at = (node_of(nodes, count, comptime!(MOVE as u32), place) * comptime!(MOVE as u32)) as usize;
        let start = nodes[at];
        let lefts = before[i as usize] - nodes[at + 1];
        let mut to = start + lefts;
        if left[i as usize] == 0u32 {
            to = place + nodes[at + 2] - lefts;
        }
        let to = to - target;
        if to < target_len {
            out[to as usize] = rows[i as usize];
        }
    }
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn add_values(
    rows: &Array<u32>,
    nodes: &Array<u32>,
    scores: &mut Array<f32>,
    n: u32,
    first: u32,
    count: u32,
    first_row: u32,
    held_rows: u32,
    outputs: u32,
    output: u32,
    nz: f32,
    one: f32,
    #[comptime] keep: bool,
) {
    let p = Pins { nz, one };
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let node = node_of(nodes, count, 2u32, first + i);
        let value = from_bits(nodes[(node * 2u32 + 1u32) as usize]);
        let row = rows[i as usize] - first_row;
        if row < held_rows {
            let at = (row * outputs + output) as usize;
            if comptime!(keep) {
                scores[at] = add_exact_range(scores[at], value, p);
            } else {
                scores[at] = add(scores[at], value, p);
            }
        }
    }
}
