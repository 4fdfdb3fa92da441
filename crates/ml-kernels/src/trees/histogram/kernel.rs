//! Devices: a workgroup adds some rows of a node to a table in shared memory, the tables are added to the result.
//!
//! **Any order gives the same sum.** In a table an integer is its low 15 bits and the signed rest, each with a sum of its
//! own: over the rows of a workgroup neither leaves 32 bits. Tables, and rows where no table fits, are added to the two
//! words of a cell as in `scatter_add`: the low word wraps as often as one of the units that add to it sees it wrap, and
//! that unit carries into the high word.

use std::ops::Range;

use cubecl::prelude::*;
use ml_core::Result;

use super::{Histograms, Shape};
use crate::buffer::{Chunks, In};
use crate::device::Device;
use crate::device::gpu::{CUBE, Gpu};
use crate::histogram::kernel::zeroed;
use crate::num::{Limbs, add_wrap, select_u32, sub64};
use crate::sabotage::Arm;
use crate::trees::bins::{Bins, Store};
use crate::trees::partition::RowSets;
use crate::trees::quantise::Quantised;

/// Rows of a workgroup; up to 65,536 would do.
const ROWS: usize = 8192;

/// Columns of a word where a bin takes a byte.
const BYTES: u32 = 4;

/// Bins of a byte.
const BYTE_BINS: u32 = 256;

/// Channels of a table.
const PAIR: u32 = 2;

/// Words of a table: low and high parts. All the shared memory that every runtime has.
const TABLE: u32 = BYTES * BYTE_BINS * PAIR * 2;

/// Words of an item: where its rows start, how many there are, and which node's they are.
const ITEM: usize = 3;

type Words = (Chunks<u32>, Chunks<u32>);

/// Some rows of nodes, as work for workgroups.
struct Items {
    /// Rows of the nodes, a part of the list.
    ids: In,
    /// [`ITEM`] words an item, then what the caller put there.
    table: In,
    count: usize,
}

/// The rows of `nodes` (each a range of the list `rows`) in items; `tail` follows the items of each table.
fn items<R: Runtime>(g: &Gpu<R>, rows: &Chunks<u32>, nodes: &[Range<usize>], tail: &[u32]) -> Result<Vec<Items>> {
    let most = (g.max_elements::<u32>().saturating_sub(tail.len()) / ITEM).max(1);
    let mut out = Vec::new();
    for panel in g.row_panels(rows.len(), &[1]) {
        let mut list = Vec::new();
        for (slot, node) in nodes.iter().enumerate() {
            let (start, end) = (node.start.max(panel.start), node.end.min(panel.end));
            for from in (start..end).step_by(ROWS) {
                list.push([(from - panel.start) as u32, ROWS.min(end - from) as u32, slot as u32]);
            }
        }
        if list.is_empty() {
            continue;
        }
        let ids = rows.view(g, panel)?;
        for list in list.chunks(most) {
            let words: Vec<u32> = list.iter().flatten().chain(tail).copied().collect();
            let table = In { handle: g.upload_one(&words)?, len: words.len() };
            out.push(Items { ids: ids.clone(), table, count: list.len() });
        }
    }
    Ok(out)
}

/// Rows of integers, `pair` channels of them, for a kernel: the rows `rows` of channel `channel` start at the offset.
fn channel_rows<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<i32>,
    all_rows: usize,
    channel: usize,
    rows: Range<usize>,
) -> Result<(In, u32)> {
    if values.is_whole() {
        return Ok((values.whole(), (channel * all_rows + rows.start) as u32));
    }
    Ok((values.view(g, channel * all_rows + rows.start..channel * all_rows + rows.end)?, 0))
}

/// The sums of nodes: the low and the high words.
pub(super) fn histograms<R: Runtime>(
    g: &Gpu<R>,
    device: &Device,
    bins: &Bins,
    values: &Quantised,
    sets: &RowSets,
    nodes: &[u32],
    shape: Shape,
) -> Result<Words> {
    let Store::Words(words) = bins.store() else {
        return Err(bins.elsewhere("bins", device));
    };
    let (words, q) = (words.chunks("bins", device)?, values.values().chunks("values", device)?);
    let of = |node: &u32| sets.starts()[*node as usize]..sets.starts()[*node as usize + 1];
    let nodes: Vec<Range<usize>> = nodes.iter().map(of).collect();
    let (rows, per) = (bins.rows(), bins.per_word());
    let n_words = shape.cols.div_ceil(per);
    let total = nodes.len() * shape.cells();
    if device.arm() == Arm::FloatScatter {
        return float_sums(g, bins, values, sets, &nodes, shape);
    }
    if total == 0 || rows == 0 {
        return Ok((zeroed(g, total)?, zeroed(g, total)?));
    }
    let (lo, hi) = (zeroed(g, total)?, zeroed(g, total)?);
    let starts: Vec<u32> = shape.starts.iter().map(|start| *start as u32).collect();
    // Where the table of columns does not fit beside an item, a few columns at a time have one.
    let most = (g.max_elements::<u32>() / 2 / per).max(1);
    let together = if q.is_whole() { PAIR as usize } else { 1 };
    for (some, at) in word_panels(g, rows, n_words, most) {
        let bins = words.view(g, some.start * rows + at.start..(some.end - 1) * rows + at.end)?;
        let cols = some.start * per..shape.cols.min(some.end * per);
        for items in items(g, sets.rows().chunks("sets", device)?, &nodes, &starts[cols.start..=cols.end])? {
            for channel in (0..shape.channels).step_by(together) {
                let pair = together.min(shape.channels - channel);
                let (q, offset) = channel_rows(g, q, rows, channel, at.clone())?;
                for part in g.row_panels(total, &[1]) {
                    // A part is a piece: what is added stays, launch after launch.
                    let (lo_out, hi_out) = (lo.view_out(g, part.clone())?, hi.view_out(g, part.clone())?);
                    g.guard("histograms", 0, || {
                        // SAFETY: the kernel reads rows below the bounds of its panel, bins of the words given and
                        // channels below the number of them, and adds only below the length of the part.
                        unsafe {
                            add_rows::launch_unchecked::<R>(
                                g.client(),
                                g.grid(items.count * some.len(), 1),
                                CubeDim::new_1d(CUBE),
                                bins.arg(),
                                q.arg(),
                                items.ids.arg(),
                                items.table.arg(),
                                lo_out.arg(),
                                hi_out.arg(),
                                items.count as u32,
                                some.len() as u32,
                                cols.len() as u32,
                                at.len() as u32,
                                at.start as u32,
                                if some.len() > 1 { rows as u32 } else { 0 },
                                offset,
                                rows as u32,
                                channel as u32,
                                pair as u32,
                                shape.channels as u32,
                                shape.cells() as u32,
                                part.start as u32,
                                part.len() as u32,
                                per as u32 == BYTES,
                            );
                        }
                    })?;
                    lo.commit(g, lo_out)?;
                    hi.commit(g, hi_out)?;
                }
            }
        }
    }
    Ok((lo, hi))
}

/// Words and rows of the bins that fit a binding: many words of all rows, or some rows of one word.
fn word_panels<R: Runtime>(g: &Gpu<R>, rows: usize, words: usize, most: usize) -> Vec<(Range<usize>, Range<usize>)> {
    let step = (g.max_elements::<u32>() / rows.max(1)).min(most);
    if step > 0 {
        return (0..words).step_by(step).map(|w| (w..(w + step).min(words), 0..rows)).collect();
    }
    (0..words).flat_map(|w| g.row_panels(rows, &[1]).into_iter().map(move |at| (w..w + 1, at))).collect()
}

/// What the sabotage arm does: float additions in descending order of rows, on the host.
#[cold]
fn float_sums<R: Runtime>(
    g: &Gpu<R>,
    bins: &Bins,
    values: &Quantised,
    sets: &RowSets,
    nodes: &[Range<usize>],
    shape: Shape,
) -> Result<Words> {
    let (bins, values, rows) = (bins.read()?, values.read()?, sets.rows().read()?);
    let mut sums = vec![0f32; nodes.len() * shape.cells()];
    for (slot, node) in nodes.iter().enumerate() {
        for row in rows[node.clone()].iter().rev() {
            let row = *row as usize;
            for col in 0..shape.cols {
                let bin = shape.starts[col] + bins[row * shape.cols + col] as usize;
                for c in 0..shape.channels {
                    sums[slot * shape.cells() + bin * shape.channels + c] += values[row * shape.channels + c] as f32;
                }
            }
        }
    }
    upload(g, &sums.into_iter().map(|s| s as i64).collect::<Vec<_>>())
}

/// `sums` on a device.
pub(super) fn upload<R: Runtime>(g: &Gpu<R>, sums: &[i64]) -> Result<Words> {
    let lo: Vec<u32> = sums.iter().map(|s| Limbs::from_i64(*s).lo).collect();
    let hi: Vec<u32> = sums.iter().map(|s| Limbs::from_i64(*s).hi).collect();
    Ok((Chunks::upload(g, &lo)?, Chunks::upload(g, &hi)?))
}

/// The sums of `nodes`, less those of `less`, node by node.
pub(super) fn pick<R: Runtime>(g: &Gpu<R>, of: &Histograms, nodes: &[u32], less: Option<&Histograms>) -> Result<Words> {
    let (cells, total) = (of.cells(), nodes.len() * of.cells());
    let (a_lo, a_hi) = of.limbs()?;
    let (b_lo, b_hi) = less.unwrap_or(of).limbs()?;
    let (lo, hi) = (Chunks::alloc(g, total)?, Chunks::alloc(g, total)?);
    if total == 0 {
        return Ok((lo, hi));
    }
    let launch = |ins: [In; 4], (lo, hi): (ArrayArg<R>, ArrayArg<R>), map: &[u32], n: usize, cells: usize| {
        let map = In { handle: g.upload_one(map)?, len: map.len() };
        let [a_lo, a_hi, b_lo, b_hi] = ins;
        g.guard("histograms", 0, || {
            // SAFETY: the kernel checks its bound, the length of the output; the map names nodes of the first operand.
            unsafe {
                move_cells::launch_unchecked::<R>(
                    g.client(),
                    g.grid(n, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    a_lo.arg(),
                    a_hi.arg(),
                    b_lo.arg(),
                    b_hi.arg(),
                    map.arg(),
                    lo,
                    hi,
                    n as u32,
                    cells as u32,
                    less.is_some(),
                );
            }
        })
    };
    if a_lo.is_whole() && b_lo.is_whole() && lo.is_whole() && nodes.len() <= g.max_elements::<u32>() {
        let (out_lo, out_hi) = (lo.view_out(g, 0..total)?, hi.view_out(g, 0..total)?);
        let ins = [a_lo.whole(), a_hi.whole(), b_lo.whole(), b_hi.whole()];
        launch(ins, (out_lo.arg(), out_hi.arg()), nodes, total, cells)?;
        lo.commit(g, out_lo)?;
        hi.commit(g, out_hi)?;
        return Ok((lo, hi));
    }
    for (slot, node) in nodes.iter().enumerate() {
        for part in g.row_panels(cells, &[1]) {
            let shifted = |node: usize| node * cells + part.start..node * cells + part.end;
            let (a, b) = (shifted(*node as usize), shifted(if less.is_some() { slot } else { *node as usize }));
            let ins = [a_lo.view(g, a.clone())?, a_hi.view(g, a)?, b_lo.view(g, b.clone())?, b_hi.view(g, b)?];
            let (out_lo, out_hi) = (lo.view_out(g, shifted(slot))?, hi.view_out(g, shifted(slot))?);
            launch(ins, (out_lo.arg(), out_hi.arg()), &[0], part.len(), part.len())?;
            lo.commit(g, out_lo)?;
            hi.commit(g, out_hi)?;
        }
    }
    Ok((lo, hi))
}

/// The sums of the rows of each node, shape (nodes, channels).
pub(super) fn node_sums<R: Runtime>(
    g: &Gpu<R>,
    device: &Device,
    values: &Quantised,
    sets: &RowSets,
) -> Result<Vec<i64>> {
    let (q, channels, rows) = (values.values().chunks("values", device)?, values.channels(), values.rows());
    let nodes: Vec<Range<usize>> = sets.starts().windows(2).map(|pair| pair[0]..pair[1]).collect();
    let mut sums = Vec::with_capacity(nodes.len() * channels);
    // As many nodes at a time as have their sums in one binding.
    let step = (g.max_elements::<u32>() / (2 * channels)).max(1);
    for nodes in nodes.chunks(step) {
        let n = nodes.len() * channels;
        let out = zeroed(g, 2 * n)?.whole();
        for items in items(g, sets.rows().chunks("sets", device)?, nodes, &[])? {
            let panels = if q.is_whole() { std::iter::once(0..rows).collect() } else { g.row_panels(rows, &[1]) };
            for at in panels {
                for channel in 0..channels {
                    let (q, offset) = channel_rows(g, q, rows, channel, at.clone())?;
                    g.guard("node_sums", 0, || {
                        // SAFETY: the kernel reads rows below the bound of its panel and adds to the cells of the nodes
                        // that the items name.
                        unsafe {
                            add_nodes::launch_unchecked::<R>(
                                g.client(),
                                g.grid(items.count, 1),
                                CubeDim::new_1d(CUBE),
                                q.arg(),
                                items.ids.arg(),
                                items.table.arg(),
                                out.arg(),
                                items.count as u32,
                                at.len() as u32,
                                at.start as u32,
                                offset,
                                channels as u32,
                                channel as u32,
                            );
                        }
                    })?;
                }
            }
        }
        let words = g.read_one::<u32>(&out.handle, 2 * n)?;
        sums.extend(words.chunks_exact(2).map(|pair| Limbs { hi: pair[1], lo: pair[0] }.to_i64()));
    }
    Ok(sums)
}

/// The low 15 bits of a signed integer.
#[cube]
fn low_part(q: u32) -> u32 {
    q & 0x7fffu32
}

/// The signed rest: `q = 2^15 high + low`.
#[cube]
fn high_part(q: u32) -> u32 {
    (q >> 15u32) | select_u32(q >= 0x8000_0000u32, 0xfffe_0000u32, 0u32)
}

/// `2^15 high + low` for the sums of both parts.
#[cube]
fn join_parts(low: u32, high: u32) -> Limbs {
    let shifted = high << 15u32;
    let lo = add_wrap(shifted, low);
    let sign = select_u32(high >= 0x8000_0000u32, 0xffff_8000u32, 0u32);
    Limbs { hi: add_wrap((high >> 17u32) | sign, select_u32(lo < low, 1u32, 0u32)), lo }
}

/// A signed word as two.
#[cube]
fn widen(q: u32) -> Limbs {
    Limbs { hi: select_u32(q >= 0x8000_0000u32, 0xffff_ffffu32, 0u32), lo: q }
}

/// What the high word gains when the low word held `old` before it gained `q.lo`.
#[cube]
fn upper(q: Limbs, old: u32) -> u32 {
    let sum = add_wrap(old, q.lo);
    add_wrap(q.hi, select_u32(sum < old, 1u32, 0u32))
}

/// Adds `q` to cell `at` of the part of `len` cells, if it is one of them.
#[cube]
// pathway: P116
fn add_cell(lo: &Array<Atomic<u32>>, hi: &Array<Atomic<u32>>, at: u32, len: u32, q: Limbs) {
    if at < len && (q.lo | q.hi) != 0u32 {
        let old = lo[at as usize].fetch_add(q.lo);
        let up = upper(q, old);
        if up != 0u32 {
            hi[at as usize].fetch_add(up);
        }
    }
}

/// A workgroup takes an item and a word. The table that comes with the items says where the bins of each column of the
/// words start.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn add_rows(
    bins: &Array<u32>,
    values: &Array<u32>,
    ids: &Array<u32>,
    table: &Array<u32>,
    lo: &mut Array<Atomic<u32>>,
    hi: &mut Array<Atomic<u32>>,
    items: u32,
    words: u32,
    cols: u32,
    rows: u32,
    first_row: u32,
    word_stride: u32,
    offset: u32,
    channel_stride: u32,
    channel: u32,
    pair: u32,
    channels: u32,
    cells: u32,
    low: u32,
    len: u32,
    #[comptime] bytes: bool,
) {
    let cube = CUBE_POS as u32;
    let unit = UNIT_POS;
    let word = cube % words;
    let live = cube / words < items;
    // Workgroups beyond the items have nothing to add, but must come to every barrier.
    let item = select_u32(live, cube / words, 0u32) * comptime!(ITEM as u32);
    let start = table[item as usize];
    let n = select_u32(live, table[(item + 1u32) as usize], 0u32);
    let base = table[(item + 2u32) as usize] * cells + channel;
    let columns = items * comptime!(ITEM as u32);
    if comptime!(bytes) {
        let sums = SharedMemory::<Atomic<u32>>::new(comptime!(TABLE as usize));
        for k in 0u32..comptime!(TABLE / CUBE) {
            sums[(k * comptime!(CUBE) + unit) as usize].store(0u32);
        }
        sync_cube();
        for e in 0u32..(n + comptime!(CUBE - 1)) / comptime!(CUBE) {
            let i = e * comptime!(CUBE) + unit;
            if i < n {
                // Wraps for rows before the panel.
                let row = ids[(start + i) as usize] - first_row;
                if row < rows {
                    let four = bins[(word * word_stride + row) as usize];
                    for c in 0u32..pair {
                        let q = values[(offset + c * channel_stride + row) as usize];
                        for k in 0u32..comptime!(BYTES) {
                            let bin = (four >> (k * 8u32)) & 255u32;
                            let at = ((k * comptime!(BYTE_BINS) + bin) * comptime!(PAIR) + c) * 2u32;
                            sums[at as usize].fetch_add(low_part(q));
                            sums[(at + 1u32) as usize].fetch_add(high_part(q));
                        }
                    }
                }
            }
        }
        sync_cube();
        for k in 0u32..comptime!(TABLE / 2 / CUBE) {
            let at = k * comptime!(CUBE) + unit;
            let c = at % comptime!(PAIR);
            let bin = (at / comptime!(PAIR)) % comptime!(BYTE_BINS);
            let col = word * comptime!(BYTES) + at / comptime!(PAIR * BYTE_BINS);
            if col < cols && c < pair {
                let first = table[(columns + col) as usize];
                if first + bin < table[(columns + col + 1u32) as usize] {
                    let q = join_parts(sums[(2u32 * at) as usize].load(), sums[(2u32 * at + 1u32) as usize].load());
                    add_cell(lo, hi, base + (first + bin) * channels + c - low, len, q);
                }
            }
        }
    } else {
        for e in 0u32..(n + comptime!(CUBE - 1)) / comptime!(CUBE) {
            let i = e * comptime!(CUBE) + unit;
            if i < n {
                let row = ids[(start + i) as usize] - first_row;
                if row < rows {
                    let two = bins[(word * word_stride + row) as usize];
                    for c in 0u32..pair {
                        let q = widen(values[(offset + c * channel_stride + row) as usize]);
                        for k in 0u32..2u32 {
                            let col = word * 2u32 + k;
                            if col < cols {
                                let bin = table[(columns + col) as usize] + ((two >> (k * 16u32)) & 0xffffu32);
                                add_cell(lo, hi, base + bin * channels + c - low, len, q);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `out` becomes the cells of the nodes that `map` names in `a`, less those of `b` where `less`.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn move_cells(
    a_lo: &Array<u32>,
    a_hi: &Array<u32>,
    b_lo: &Array<u32>,
    b_hi: &Array<u32>,
    map: &Array<u32>,
    lo: &mut Array<u32>,
    hi: &mut Array<u32>,
    n: u32,
    cells: u32,
    #[comptime] less: bool,
) {
    let i = ABSOLUTE_POS;
    if i < n as usize {
        let slot = i as u32 / cells;
        let from = (map[slot as usize] * cells + i as u32 % cells) as usize;
        let a = Limbs { hi: a_hi[from], lo: a_lo[from] };
        if comptime!(less) {
            let d = sub64(a, Limbs { hi: b_hi[i], lo: b_lo[i] });
            lo[i] = d.lo;
            hi[i] = d.hi;
        } else {
            lo[i] = a.lo;
            hi[i] = a.hi;
        }
    }
}

/// A workgroup adds the rows of an item, one channel.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn add_nodes(
    values: &Array<u32>,
    ids: &Array<u32>,
    table: &Array<u32>,
    out: &mut Array<Atomic<u32>>,
    items: u32,
    rows: u32,
    first_row: u32,
    offset: u32,
    channels: u32,
    channel: u32,
) {
    let sums = SharedMemory::<Atomic<u32>>::new(2usize);
    let cube = CUBE_POS as u32;
    let unit = UNIT_POS;
    let live = cube < items;
    let item = select_u32(live, cube, 0u32) * comptime!(ITEM as u32);
    let start = table[item as usize];
    let n = select_u32(live, table[(item + 1u32) as usize], 0u32);
    if unit < 2u32 {
        sums[unit as usize].store(0u32);
    }
    sync_cube();
    let mut low = 0u32;
    let mut high = 0u32;
    for e in 0u32..(n + comptime!(CUBE - 1)) / comptime!(CUBE) {
        let i = e * comptime!(CUBE) + unit;
        if i < n {
            let row = ids[(start + i) as usize] - first_row;
            if row < rows {
                let q = values[(offset + row) as usize];
                low = add_wrap(low, low_part(q));
                high = add_wrap(high, high_part(q));
            }
        }
    }
    sums[0].fetch_add(low);
    sums[1].fetch_add(high);
    sync_cube();
    if unit == 0u32 && live {
        let q = join_parts(sums[0].load(), sums[1].load());
        let at = (table[(item + 2u32) as usize] * channels + channel) * 2u32;
        let old = out[at as usize].fetch_add(q.lo);
        let up = upper(q, old);
        if up != 0u32 {
            out[(at + 1u32) as usize].fetch_add(up);
        }
    }
}
