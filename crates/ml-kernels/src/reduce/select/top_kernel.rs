//! Kernels of top k: a radix search finds the last pair that is wanted, and counting lesser pairs puts them in order.

use cubecl::prelude::*;
use ml_core::Result;

use super::super::runs::runs;
use super::kernel::{Chosen, Flips, Source, pair_at};
use super::{Order, host};
use crate::buffer::Chunks;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{less, select_u32, unkey};
use crate::sabotage::Arm;

/// Rows up to this length are put in order at once: comparing every pair of them costs less than a search.
const DIRECT: usize = 512;

/// Elements that one workgroup searches.
const SEGMENT: usize = 1 << 14;

pub(super) fn top_k_rows<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    k: usize,
    order: Order,
    arm: Arm,
) -> Result<Chosen> {
    let limit = g.max_elements::<f32>();
    if k > limit / 2 {
        // No binding holds the candidates of two segments: such rows are put in order on the host.
        let (index, value) = host::top_k_rows(&x.read(g)?, rows, cols, k, order, arm);
        return Ok((Chunks::upload(g, &index)?, Chunks::upload(g, &value)?));
    }
    let flips = Flips::new(order, arm);
    let segment = SEGMENT.max(8 * k).min(limit);
    let mut width = cols;
    let mut source = Source::First(x);
    while width > k && width > DIRECT {
        let (next, next_width) = search(g, &source, rows, width, k, segment, flips)?;
        (source, width) = (Source::Later(next), next_width);
    }
    put_in_order(g, &source, rows, width, k, flips)
}

/// The `k` best of each segment of each row, in no certain order; and how many they are in a row.
fn search<R: Runtime>(
    g: &Gpu<R>,
    x: &Source<'_>,
    rows: usize,
    cols: usize,
    k: usize,
    segment: usize,
    flips: Flips,
) -> Result<(Chosen, usize)> {
    let per_row = cols.div_ceil(segment);
    let last_len = cols - (per_row - 1) * segment;
    let width = (per_row - 1) * k + k.min(last_len);
    let (index, value) = (Chunks::alloc(g, rows * width)?, Chunks::alloc(g, rows * width)?);
    let place = |item: usize| item / per_row * width + item % per_row * k;
    for run in runs(rows, cols, segment, g.max_elements::<f32>()) {
        let view = x.values().view(g, run.elements.clone())?;
        let indices = x.indices(g, &view, run.elements.clone())?;
        let found = place(run.items.start)..place(run.items.end);
        let (i, v) = (index.view_out(g, found.clone())?, value.view_out(g, found)?);
        g.guard("top_k_rows", 0, || {
            // SAFETY: segment `i` below `items` lies within the run's elements by construction of `runs`, and has as many
            // results, which lie side by side: exactly so many pairs are not above the last one wanted.
            unsafe {
                segment_best::launch_unchecked::<R>(
                    g.client(),
                    g.grid(run.items.len(), 1),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    indices.arg(),
                    i.arg(),
                    v.arg(),
                    run.items.len() as u32,
                    per_row as u32,
                    cols as u32,
                    segment as u32,
                    run.first_chunk as u32,
                    last_len as u32,
                    width as u32,
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

/// One workgroup a segment: finds the k-th least pair digit by digit, then writes every pair up to it.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn segment_best(
    x: &Array<f32>,
    indices: &Array<u32>,
    index: &mut Array<u32>,
    value: &mut Array<f32>,
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
    #[comptime] indexed: bool,
) {
    let unit = UNIT_POS;
    let item = CUBE_POS as u32;
    let counts = SharedMemory::<Atomic<u32>>::new(256usize);
    let mut sums = SharedMemory::<u32>::new(16usize);
    // The digit that was found, how many are wanted among the pairs that share it, and whether those are all of them.
    let mut found = SharedMemory::<u32>::new(3usize);

    // A workgroup beyond the last item keeps an empty segment: it must meet every barrier.
    let mut at = 0u32;
    let mut in_row = 0u32;
    let mut len = 0u32;
    let mut out_at = 0u32;
    if item < items {
        let place = first_chunk + item;
        let row = place / per_row;
        let chunk = place - row * per_row;
        at = row * cols + (chunk - first_chunk) * segment;
        in_row = chunk * segment;
        len = segment;
        if chunk + 1 == per_row {
            len = last_len;
        }
        out_at = row * width + (chunk - first_chunk) * k;
    }
    let mut wanted = min(k, len);
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
            let to = out_at + counts[0].fetch_add(1u32);
            index[to as usize] = pair.index ^ flip_index;
            value[to as usize] = unkey(pair.key ^ flip_key);
        }
        i += CUBE;
    }
}
