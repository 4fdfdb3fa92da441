//! Kernels of minimum and maximum. Every choice is by (key, index), so no order of comparisons can change it.

use cubecl::prelude::*;
use ml_core::Result;

use super::super::runs::runs;
use super::Order;
use crate::buffer::{Chunks, In, Out};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{key, less, select_u32, unkey};
use crate::sabotage::Arm;

/// Elements that 32 units look through together.
const CHUNK: usize = 1024;

/// Chunks of one workgroup.
const TILE: u32 = 32;

/// Longest row that one unit looks through alone.
const NARROW: usize = 16;

/// Indices and values.
pub(super) type Chosen = (Chunks<u32>, Chunks<f32>);

/// What keys and indices are combined with (exclusive or) so that the wanted pair is the least.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flips {
    pub(super) key: u32,
    pub(super) index: u32,
}

impl Flips {
    pub(super) fn new(order: Order, arm: Arm) -> Self {
        Flips { key: order.flip(), index: if arm == Arm::TiesLast { u32::MAX } else { 0 } }
    }
}

/// Values of a (rows, cols) matrix, with the indices that they had before earlier levels chose them.
pub(super) enum Source<'a> {
    First(&'a Chunks<f32>),
    Later(Chosen),
}

impl Source<'_> {
    pub(super) fn values(&self) -> &Chunks<f32> {
        match self {
            Source::First(values) => values,
            Source::Later((_, values)) => values,
        }
    }

    /// The indices of `range`; where there are none yet, something to bind in their place.
    pub(super) fn indices<R: Runtime>(&self, g: &Gpu<R>, values: &In, range: std::ops::Range<usize>) -> Result<In> {
        match self {
            Source::First(_) => Ok(In { handle: values.handle.clone(), len: values.len }),
            Source::Later((indices, _)) => indices.view(g, range),
        }
    }

    pub(super) fn has_indices(&self) -> bool {
        matches!(self, Source::Later(_))
    }
}

pub(super) fn arg_rows<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    order: Order,
    arm: Arm,
) -> Result<Chosen> {
    let flips = Flips::new(order, arm);
    let mut cols = cols;
    let mut best = level(g, &Source::First(x), rows, cols, flips)?;
    while cols > CHUNK {
        cols = cols.div_ceil(CHUNK);
        best = level(g, &Source::Later(best), rows, cols, flips)?;
    }
    Ok(best)
}

/// The best of each chunk of each row: (rows, cols) to (rows, ceil(cols / CHUNK)).
fn level<R: Runtime>(g: &Gpu<R>, x: &Source<'_>, rows: usize, cols: usize, flips: Flips) -> Result<Chosen> {
    let per_row = cols.div_ceil(CHUNK);
    let (index, value) = (Chunks::alloc(g, rows * per_row)?, Chunks::alloc(g, rows * per_row)?);
    for run in runs(rows, cols, CHUNK, g.max_elements::<f32>()) {
        let view = x.values().view(g, run.elements.clone())?;
        let indices = x.indices(g, &view, run.elements.clone())?;
        let (i, v): (Out, Out) = (index.view_out(g, run.items.clone())?, value.view_out(g, run.items.clone())?);
        let (items, last_len) = (run.items.len(), cols - (per_row - 1) * CHUNK);
        g.guard("arg_rows", 0, || {
            // SAFETY: chunk `i` below `items` lies within the run's elements by construction of `runs`; one unit writes
            // element `i` of both results.
            unsafe {
                if cols <= NARROW {
                    narrow_best::launch_unchecked::<R>(
                        g.client(),
                        g.grid(items, CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        indices.arg(),
                        i.arg(),
                        v.arg(),
                        items as u32,
                        cols as u32,
                        flips.key,
                        flips.index,
                        x.has_indices(),
                    );
                } else {
                    chunk_best::launch_unchecked::<R>(
                        g.client(),
                        g.grid(items, TILE as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        indices.arg(),
                        i.arg(),
                        v.arg(),
                        items as u32,
                        per_row as u32,
                        cols as u32,
                        run.first_chunk as u32,
                        last_len as u32,
                        flips.key,
                        flips.index,
                        x.has_indices(),
                    );
                }
            }
        })?;
        index.commit(g, i)?;
        value.commit(g, v)?;
    }
    Ok((index, value))
}

/// A key and an index, both flipped, of which the least is wanted.
#[derive(CubeType, CubeTypeMut, Clone, Copy)]
pub(super) struct Pair {
    pub(super) key: u32,
    pub(super) index: u32,
}

/// The lesser of two pairs.
#[cube]
// pathway: P52
pub(super) fn lesser(a: Pair, b: Pair) -> Pair {
    let b_first = less(b.key, b.index, a.key, a.index);
    Pair { key: select_u32(b_first, b.key, a.key), index: select_u32(b_first, b.index, a.index) }
}

/// The pair of element `at`, which is `place`th in its row.
#[cube]
pub(super) fn pair_at(
    x: &Array<f32>,
    indices: &Array<u32>,
    at: u32,
    place: u32,
    flip_key: u32,
    flip_index: u32,
    #[comptime] indexed: bool,
) -> Pair {
    let key = key(x[at as usize]) ^ flip_key;
    if comptime!(indexed) {
        Pair { key, index: indices[at as usize] ^ flip_index }
    } else {
        Pair { key, index: place ^ flip_index }
    }
}

/// One unit a row.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn narrow_best(
    x: &Array<f32>,
    indices: &Array<u32>,
    index: &mut Array<u32>,
    value: &mut Array<f32>,
    items: u32,
    cols: u32,
    flip_key: u32,
    flip_index: u32,
    #[comptime] indexed: bool,
) {
    let item = ABSOLUTE_POS as u32;
    if item < items {
        let mut best = pair_at(x, indices, item * cols, 0u32, flip_key, flip_index, indexed);
        for place in 1..cols {
            best = lesser(best, pair_at(x, indices, item * cols + place, place, flip_key, flip_index, indexed));
        }
        index[item as usize] = best.index ^ flip_index;
        value[item as usize] = unkey(best.key ^ flip_key);
    }
}

/// A workgroup looks through TILE chunks, 32 units a chunk; eight chunks go side by side.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn chunk_best(
    x: &Array<f32>,
    indices: &Array<u32>,
    index: &mut Array<u32>,
    value: &mut Array<f32>,
    items: u32,
    per_row: u32,
    cols: u32,
    first_chunk: u32,
    last_len: u32,
    flip_key: u32,
    flip_index: u32,
    #[comptime] indexed: bool,
) {
    let unit = UNIT_POS;
    let lane = unit % 32;
    let tile = CUBE_POS as u32 * TILE;
    let mut keys = SharedMemory::<u32>::new(comptime!((TILE * 33) as usize));
    let mut places = SharedMemory::<u32>::new(comptime!((TILE * 33) as usize));
    #[unroll]
    for round in 0..comptime!(TILE / 8) {
        let slot = round * 8 + unit / 32;
        let item = tile + slot;
        // What no element gives: above or equal to every pair.
        let mut best = Pair { key: 0xffff_ffffu32, index: 0xffff_ffffu32 };
        if item < items {
            let place = first_chunk + item;
            let row = place / per_row;
            let chunk = place - row * per_row;
            let at = row * cols + (chunk - first_chunk) * comptime!(CHUNK as u32);
            let in_row = chunk * comptime!(CHUNK as u32);
            let mut len = comptime!(CHUNK as u32).runtime();
            if chunk + 1 == per_row {
                len = last_len;
            }
            let steps = (len + 31 - lane) / 32;
            let blocks = steps / 8;
            for block in 0..blocks {
                #[unroll]
                for i in 0..8u32 {
                    let step = (block * 8 + i) * 32 + lane;
                    best = lesser(best, pair_at(x, indices, at + step, in_row + step, flip_key, flip_index, indexed));
                }
            }
            for i in blocks * 8..steps {
                let step = i * 32 + lane;
                best = lesser(best, pair_at(x, indices, at + step, in_row + step, flip_key, flip_index, indexed));
            }
        }
        keys[(slot * 33 + lane) as usize] = best.key;
        places[(slot * 33 + lane) as usize] = best.index;
    }
    sync_cube();
    // Eight units a chunk look at four lanes each, then one unit at what they found.
    let own = unit / 8 * 33 + unit % 8 * 4;
    let mut best = Pair { key: keys[own as usize], index: places[own as usize] };
    #[unroll]
    for i in 1..4u32 {
        best = lesser(best, Pair { key: keys[(own + i) as usize], index: places[(own + i) as usize] });
    }
    sync_cube();
    keys[unit as usize] = best.key;
    places[unit as usize] = best.index;
    sync_cube();
    if unit < TILE && tile + unit < items {
        let mut best = Pair { key: keys[(unit * 8) as usize], index: places[(unit * 8) as usize] };
        #[unroll]
        for i in 1..8u32 {
            let at = (unit * 8 + i) as usize;
            best = lesser(best, Pair { key: keys[at], index: places[at] });
        }
        index[(tile + unit) as usize] = best.index ^ flip_index;
        value[(tile + unit) as usize] = unkey(best.key ^ flip_key);
    }
}
