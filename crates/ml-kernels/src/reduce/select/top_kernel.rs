//! Kernels of top k. Few elements are found by a bound: each unit's best bounds the k-th best of all. Many are found by a
//! radix search for the last pair that is wanted. Counting lesser pairs puts what was found in order.

use cubecl::prelude::*;
use ml_core::Result;

use super::super::runs::runs;
use super::kernel::{Chosen, Flips, Pair, Source, lesser, pair_at};
use super::{Order, host};
use crate::buffer::Chunks;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{less, select_u32, unkey};
use crate::sabotage::Arm;

/// Elements that one workgroup searches.
const SEGMENT: usize = 1 << 14;

/// Longest row that 32 units search rather than a workgroup.
const SHORT: usize = 4096;

/// Pairs that a workgroup has room for in shared memory.
const ROOM: u32 = 1024;

/// How the `k` best of a row of `width` elements are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Comparing every pair of elements.
    Compare,
    /// By the best of each of so many units, three quarters of which are at least `k`.
    Bound(u32),
    /// By a radix search.
    Search,
}

impl Way {
    fn new(width: usize, k: usize) -> Self {
        match (width, k) {
            _ if width <= 32 || width == k => Way::Compare,
            (..=SHORT, ..=24) => Way::Bound(32),
            (..=256, _) => Way::Compare,
            (_, ..=192) => Way::Bound(CUBE),
            _ => Way::Search,
        }
    }

    /// Elements of a segment, of which one binding holds `limit >= 2 * k`.
    fn segment(self, width: usize, k: usize, limit: usize) -> usize {
        match self {
            Way::Compare | Way::Bound(32) => width.min(limit),
            Way::Bound(_) => SEGMENT.min(limit),
            Way::Search => SEGMENT.max(8 * k).min(limit),
        }
    }
}

pub(super) fn top_k_rows<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    k: usize,
    order: Order,
    arm: Arm,
) -> Result<Chosen> {
    if k > g.max_elements::<f32>() / 2 {
        // No binding holds the candidates of two segments: such rows are put in order on the host.
        let (index, value) = host::top_k_rows(&x.read(g)?, rows, cols, k, order, arm);
        return Ok((Chunks::upload(g, &index)?, Chunks::upload(g, &value)?));
    }
    let flips = Flips::new(order, arm);
    let mut width = cols;
    let mut source = Source::First(x);
    loop {
        let way = Way::new(width, k);
        if way == Way::Compare {
            return put_in_order(g, &source, rows, width, k, flips);
        }
        let (next, next_width) = search(g, &source, rows, width, k, way, flips)?;
        (source, width) = (Source::Later(next), next_width);
    }
}

/// The `k` best of each segment of each row, in no certain order; and how many they are in a row.
fn search<R: Runtime>(
    g: &Gpu<R>,
    x: &Source<'_>,
    rows: usize,
    cols: usize,
    k: usize,
    way: Way,
    flips: Flips,
) -> Result<(Chosen, usize)> {
    let limit = g.max_elements::<f32>();
    let segment = way.segment(cols, k, limit);
    let per_row = cols.div_ceil(segment);
    let last_len = cols - (per_row - 1) * segment;
    let width = (per_row - 1) * k + k.min(last_len);
    let (index, value) = (Chunks::alloc(g, rows * width)?, Chunks::alloc(g, rows * width)?);
    let place = |item: usize| item / per_row * width + item % per_row * k;
    for run in runs(rows, cols, segment, limit) {
        let view = x.values().view(g, run.elements.clone())?;
        let indices = x.indices(g, &view, run.elements.clone())?;
        let found = place(run.items.start)..place(run.items.end);
        let (i, v) = (index.view_out(g, found.clone())?, value.view_out(g, found)?);
        let items = run.items.len();
        // For each segment, whether a bound left more pairs than there is room for.
        let full = g.alloc_one::<u32>(items)?;
        let shape = || {
            ShapeLaunch::new(
                items as u32,
                per_row as u32,
                cols as u32,
                segment as u32,
                run.first_chunk as u32,
                last_len as u32,
                width as u32,
                k as u32,
                flips.key,
                flips.index,
            )
        };
        g.guard("top_k_rows", 0, || {
            // SAFETY: segment `i` below `items` lies within the run's elements by construction of `runs`, and has as many
            // results, which lie side by side: exactly so many pairs are not above the last one wanted.
            unsafe {
                if let Way::Bound(units) = way {
                    segment_few::launch_unchecked::<R>(
                        g.client(),
                        g.grid(items, (CUBE / units) as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        indices.arg(),
                        i.arg(),
                        v.arg(),
                        ArrayArg::from_raw_parts(full.clone(), items),
                        shape(),
                        x.has_indices(),
                        units,
                    );
                }
                segment_best::launch_unchecked::<R>(
                    g.client(),
                    g.grid(items, 1),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    indices.arg(),
                    i.arg(),
                    v.arg(),
                    ArrayArg::from_raw_parts(full.clone(), items),
                    shape(),
                    x.has_indices(),
                    way == Way::Search,
                );
            }
        })?;
        index.commit(g, i)?;
        value.commit(g, v)?;
    }
    Ok(((index, value), width))
}

/// The `k` best of each row, in order.
fn put_in_order<R: Runtime>(
    g: &Gpu<R>,
    x: &Source<'_>,
    rows: usize,
    cols: usize,
    k: usize,
    flips: Flips,
) -> Result<Chosen> {
    let (index, value) = (Chunks::alloc(g, rows * k)?, Chunks::alloc(g, rows * k)?);
    for panel in g.row_panels(rows, &[cols]) {
        let part = panel.start * cols..panel.end * cols;
        let view = x.values().view(g, part.clone())?;
        let indices = x.indices(g, &view, part.clone())?;
        let (i, v) =
            (index.view_out(g, panel.start * k..panel.end * k)?, value.view_out(g, panel.start * k..panel.end * k)?);
        g.guard("top_k_rows", 0, || {
            // SAFETY: unit `i` below `items` reads its row of `cols` elements within the view and writes at its rank
            // among them, which no other element of the row has, if it is below `k`.
            unsafe {
                rank_rows::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    indices.arg(),
                    i.arg(),
                    v.arg(),
                    part.len() as u32,
                    cols as u32,
                    k as u32,
                    flips.key,
                    flips.index,
                    x.has_indices(),
                );
            }
        })?;
        index.commit(g, i)?;
        value.commit(g, v)?;
    }
    Ok((index, value))
}

/// One unit an element: its rank is the number of lesser pairs in its row.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn rank_rows(
    x: &Array<f32>,
    indices: &Array<u32>,
    index: &mut Array<u32>,
    value: &mut Array<f32>,
    items: u32,
    cols: u32,
    k: u32,
    flip_key: u32,
    flip_index: u32,
    #[comptime] indexed: bool,
) {
    let item = ABSOLUTE_POS as u32;
    if item < items {
        let row = item / cols;
        let own = pair_at(x, indices, item, item - row * cols, flip_key, flip_index, indexed);
        let mut rank = 0u32;
        for place in 0..cols {
            let other = pair_at(x, indices, row * cols + place, place, flip_key, flip_index, indexed);
            if less(other.key, other.index, own.key, own.index) {
                rank += 1;
            }
        }
        if rank < k {
            index[(row * k + rank) as usize] = own.index ^ flip_index;
            value[(row * k + rank) as usize] = unkey(own.key ^ flip_key);
        }
    }
}

/// The segments of a run.
#[derive(CubeType, CubeLaunch)]
struct Shape {
    items: u32,
    per_row: u32,
    cols: u32,
    segment: u32,
    first_chunk: u32,
    last_len: u32,
    width: u32,
    k: u32,
    flip_key: u32,
    flip_index: u32,
}

/// Where a segment and its results lie.
#[derive(CubeType)]
struct Segment {
    /// Its first element in the run, and that element's place in its row.
    at: u32,
    in_row: u32,
    len: u32,
    out_at: u32,
}

#[cube]
fn segment_of(item: u32, shape: &Shape) -> Segment {
    // A unit beyond the last item keeps an empty segment: it must meet every barrier.
    let mut at = 0u32;
    let mut in_row = 0u32;
    let mut len = 0u32;
    let mut out_at = 0u32;
    if item < shape.items {
        let place = shape.first_chunk + item;
        let row = place / shape.per_row;
        let chunk = place - row * shape.per_row;
        at = row * shape.cols + (chunk - shape.first_chunk) * shape.segment;
        in_row = chunk * shape.segment;
        len = shape.segment;
        if chunk + 1 == shape.per_row {
            len = shape.last_len;
        }
        out_at = row * shape.width + (chunk - shape.first_chunk) * shape.k;
    }
    Segment { at, in_row, len, out_at }
}

/// `units` units a segment: the k-th least of each unit's best bounds the k-th least of all; the pairs up to that bound
/// are few, and comparing them leaves the k least.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn segment_few(
    x: &Array<f32>,
    indices: &Array<u32>,
    index: &mut Array<u32>,
    value: &mut Array<f32>,
    full: &mut Array<u32>,
    shape: Shape,
    #[comptime] indexed: bool,
    #[comptime] units: u32,
) {
    let groups = comptime!(CUBE / units);
    let room = comptime!(ROOM / (CUBE / units));
    let unit = UNIT_POS % units;
    let group = UNIT_POS / units;
    let item = CUBE_POS as u32 * groups + group;
    let segment = segment_of(item, &shape);
    let len = segment.len;

    let mut keys = SharedMemory::<u32>::new(CUBE as usize);
    let mut places = SharedMemory::<u32>::new(CUBE as usize);
    let mut bounds = SharedMemory::<u32>::new(comptime!((2 * (CUBE / units)) as usize));
    let counts = SharedMemory::<Atomic<u32>>::new(comptime!((CUBE / units) as usize));
    let mut found_keys = SharedMemory::<u32>::new(ROOM as usize);
    let mut found_places = SharedMemory::<u32>::new(ROOM as usize);

    // The best of the unit's own elements; above or equal to every pair where it has none.
    let mut best = Pair { key: 0xffff_ffffu32, index: 0xffff_ffffu32 };
    let mut i = unit;
    while i < len {
        let pair = pair_at(x, indices, segment.at + i, segment.in_row + i, shape.flip_key, shape.flip_index, indexed);
        best = lesser(best, pair);
        i += units;
    }
    keys[UNIT_POS as usize] = best.key;
    places[UNIT_POS as usize] = best.index;
    if unit == 0 {
        counts[group as usize].store(0u32);
        bounds[(2 * group) as usize] = 0xffff_ffffu32;
        bounds[(2 * group + 1) as usize] = 0xffff_ffffu32;
    }
    sync_cube();
    let mut rank = 0u32;
    for other in 0..units {
        let at = (group * units + other) as usize;
        if less(keys[at], places[at], best.key, best.index) {
            rank += 1;
        }
    }
    if rank + 1 == shape.k {
        bounds[(2 * group) as usize] = best.key;
        bounds[(2 * group + 1) as usize] = best.index;
    }
    sync_cube();

    let bound_key = bounds[(2 * group) as usize];
    let bound_place = bounds[(2 * group + 1) as usize];
    let mut i = unit;
    while i < len {
        let pair = pair_at(x, indices, segment.at + i, segment.in_row + i, shape.flip_key, shape.flip_index, indexed);
        if !less(bound_key, bound_place, pair.key, pair.index) {
            let slot = counts[group as usize].fetch_add(1u32);
            if slot < room {
                found_keys[(group * room + slot) as usize] = pair.key;
                found_places[(group * room + slot) as usize] = pair.index;
            }
        }
        i += units;
    }
    sync_cube();

    let count = counts[group as usize].load();
    if item < shape.items {
        if unit == 0 {
            full[item as usize] = select_u32(count > room, 1u32, 0u32);
        }
        let mut i = unit;
        if count > room {
            i = count;
        }
        while i < count {
            let key = found_keys[(group * room + i) as usize];
            let place = found_places[(group * room + i) as usize];
            let mut rank = 0u32;
            for other in 0..count {
                let at = (group * room + other) as usize;
                if less(found_keys[at], found_places[at], key, place) {
                    rank += 1;
                }
            }
            if rank < shape.k {
                index[(segment.out_at + rank) as usize] = place ^ shape.flip_index;
                value[(segment.out_at + rank) as usize] = unkey(key ^ shape.flip_key);
            }
            i += units;
        }
    }
}

/// One workgroup a segment, all or those marked full: finds the k-th least pair digit by digit, then writes every pair up
/// to it.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn segment_best(
    x: &Array<f32>,
    indices: &Array<u32>,
    index: &mut Array<u32>,
    value: &mut Array<f32>,
    full: &Array<u32>,
    shape: Shape,
    #[comptime] indexed: bool,
    #[comptime] all: bool,
) {
    let item = CUBE_POS as u32;
    // The same for the whole workgroup, so none of its units is missed at a barrier.
    let mut wanted = item < shape.items;
    if comptime!(!all) {
        if wanted {
            wanted = full[item as usize] == 1u32;
        }
    }
    if wanted {
        best_of_segment(x, indices, index, value, &segment_of(item, &shape), &shape, indexed);
    }
}

/// The `k` best of one segment, found by a workgroup.
#[cube]
fn best_of_segment(
    x: &Array<f32>,
    indices: &Array<u32>,
    index: &mut Array<u32>,
    value: &mut Array<f32>,
    segment: &Segment,
    shape: &Shape,
    #[comptime] indexed: bool,
) {
    let unit = UNIT_POS;
    let counts = SharedMemory::<Atomic<u32>>::new(256usize);
    let mut sums = SharedMemory::<u32>::new(16usize);
    // The digit that was found, how many are wanted among the pairs that share it, and whether those are all of them.
    let mut found = SharedMemory::<u32>::new(3usize);

    let at = segment.at;
    let in_row = segment.in_row;
    let len = segment.len;
    let flip_key = shape.flip_key;
    let flip_index = shape.flip_index;
    let mut wanted = min(shape.k, len);
    let mut settled = false;
    // The part of the k-th pair that is known.
    let mut key = 0u32;
    let mut place = 0u32;

    #[unroll]
    for pass in 0..8u32 {
        let shift = comptime!(24 - 8 * (pass % 4));
        counts[unit as usize].store(0u32);
        sync_cube();
        // Once all pairs that share the known part are wanted, the rest of it may be as great as can be.
        let mut i = unit;
        if settled {
            i = len;
        }
        while i < len {
            let pair = pair_at(x, indices, at + i, in_row + i, flip_key, flip_index, indexed);
            let mut word = pair.key;
            let mut shares = true;
            if comptime!(pass >= 4) {
                word = pair.index;
                shares = pair.key == key;
            }
            if comptime!(pass % 4 > 0) {
                let mut known = key;
                if comptime!(pass >= 4) {
                    known = place;
                }
                shares =
                    shares && (word >> comptime!(32 - 8 * (pass % 4))) == (known >> comptime!(32 - 8 * (pass % 4)));
            }
            if shares {
                counts[((word >> shift) & 255u32) as usize].fetch_add(1u32);
            }
            i += CUBE;
        }
        sync_cube();
        if unit < 16 {
            let mut sum = 0u32;
            for bin in 0..16u32 {
                sum += counts[(unit * 16 + bin) as usize].load();
            }
            sums[unit as usize] = sum;
        }
        sync_cube();
        if unit == 0 {
            let mut left = select_u32(settled, 0xffff_ffffu32, wanted);
            let mut block = 0u32;
            while block < 15 && left > sums[block as usize] {
                left -= sums[block as usize];
                block += 1;
            }
            let mut digit = block * 16;
            let mut count = counts[digit as usize].load();
            while digit < block * 16 + 15 && left > count {
                left -= count;
                digit += 1;
                count = counts[digit as usize].load();
            }
            found[0] = digit;
            found[1] = left;
            found[2] = select_u32(settled || left == count, 1u32, 0u32);
        }
        sync_cube();
        if comptime!(pass < 4) {
            key = key | (found[0] << shift);
        } else {
            place = place | (found[0] << shift);
        }
        wanted = found[1];
        settled = found[2] == 1u32;
        sync_cube();
    }

    if unit == 0 {
        counts[0].store(0u32);
    }
    sync_cube();
    let mut i = unit;
    while i < len {
        let pair = pair_at(x, indices, at + i, in_row + i, flip_key, flip_index, indexed);
        if !less(key, place, pair.key, pair.index) {
            let to = segment.out_at + counts[0].fetch_add(1u32);
            index[to as usize] = pair.index ^ flip_index;
            value[to as usize] = unkey(pair.key ^ flip_key);
        }
        i += CUBE;
    }
}
