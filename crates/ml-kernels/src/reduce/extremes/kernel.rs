//! Kernels of the least and the greatest value. They compare keys, integers, so that no order of comparisons shows; keys
//! are combined with `flip` (exclusive or) so that the wanted one is the least.

use cubecl::prelude::*;
use ml_core::Result;

use super::super::runs::runs;
use crate::buffer::Chunks;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{key, unkey};

/// Elements that PARTS units look through together; rows of a column that one workgroup looks through.
const CHUNK: usize = 1024;

/// Chunks, or columns, of one workgroup.
const TILE: u32 = 32;

/// Units that share a chunk, or a column.
const PARTS: u32 = CUBE / TILE;

/// Longest row that one unit looks through alone.
const NARROW: usize = 8;

pub(super) fn row_extremes<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    flip: u32,
) -> Result<Chunks<f32>> {
    let mut cols = cols;
    let mut best = row_level(g, x, rows, cols, flip)?;
    while cols > CHUNK {
        cols = cols.div_ceil(CHUNK);
        best = row_level(g, &best, rows, cols, flip)?;
    }
    Ok(best)
}

/// The extreme of each chunk of each row: (rows, cols) to (rows, ceil(cols / CHUNK)).
fn row_level<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>, rows: usize, cols: usize, flip: u32) -> Result<Chunks<f32>> {
    let per_row = cols.div_ceil(CHUNK);
    let out = Chunks::alloc(g, rows * per_row)?;
    // Rows and chunks are whole vectors, or are bound element by element.
    let width = if cols.is_multiple_of(4) { 4 } else { 1 };
    let last_len = cols - (per_row - 1) * CHUNK;
    for run in runs(rows, cols, CHUNK, g.max_elements::<f32>()) {
        let view = x.view(g, run.elements.clone())?;
        let result = out.view_out(g, run.items.clone())?;
        let items = run.items.len();
        g.guard("row_extremes", 0, || {
            // SAFETY: chunk `i` below `items` lies within the run's elements by construction of `runs`; one unit writes
            // element `i`.
            unsafe {
                if cols <= NARROW {
                    narrow_rows::launch_unchecked::<R>(
                        g.client(),
                        g.grid(items, CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        result.arg(),
                        items as u32,
                        cols as u32,
                        flip,
                    );
                } else {
                    row_chunks::launch_unchecked::<R>(
                        g.client(),
                        g.grid(items, TILE as usize),
                        CubeDim::new_1d(CUBE),
                        width,
                        view.arg_vec(width),
                        result.arg(),
                        items as u32,
                        per_row as u32,
                        (cols / width) as u32,
                        run.first_chunk as u32,
                        (last_len / width) as u32,
                        flip,
                        width,
                    );
                }
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(out)
}

pub(super) fn col_extremes<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    flip: u32,
) -> Result<Chunks<f32>> {
    let limit = g.max_elements::<f32>();
    // Any number of rows may be looked through at once, as long as fewer are left.
    let tall = (limit / cols).min(CHUNK);
    if tall < 2 {
        return row_by_row(g, x, rows, cols, flip);
    }
    let mut rows = rows;
    let mut best = col_level(g, x, rows, cols, tall, flip)?;
    while rows > tall {
        rows = rows.div_ceil(tall);
        best = col_level(g, &best, rows, cols, tall, flip)?;
    }
    Ok(best)
}

/// The extremes of each column of each `tall` rows: (rows, cols) to (ceil(rows / tall), cols).
fn col_level<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    tall: usize,
    flip: u32,
) -> Result<Chunks<f32>> {
    let blocks = rows.div_ceil(tall);
    let out = Chunks::alloc(g, blocks * cols)?;
    let per_run = g.max_elements::<f32>() / (tall * cols);
    for first in (0..blocks).step_by(per_run) {
        let end = (first + per_run).min(blocks);
        let run_rows = first * tall..(end * tall).min(rows);
        let view = x.view(g, run_rows.start * cols..run_rows.end * cols)?;
        let result = out.view_out(g, first * cols..end * cols)?;
        let items = (end - first) * cols;
        g.guard("col_extremes", 0, || {
            // SAFETY: column `i` below `items` of all blocks' columns lies within the run's rows, which the kernel bounds
            // by `rows`; one unit writes element `i`.
            unsafe {
                col_blocks::launch_unchecked::<R>(
                    g.client(),
                    g.grid(items, TILE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    result.arg(),
                    items as u32,
                    cols as u32,
                    run_rows.len() as u32,
                    tall as u32,
                    flip,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(out)
}

/// Where no binding holds two rows: each row in its turn, a strip of columns at a time.
fn row_by_row<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>, rows: usize, cols: usize, flip: u32) -> Result<Chunks<f32>> {
    let out = Chunks::alloc(g, cols)?;
    let strip = g.max_elements::<f32>().min(cols);
    for left in (0..cols).step_by(strip) {
        let width = strip.min(cols - left);
        let result = out.view_out(g, left..left + width)?;
        for row in 0..rows {
            let view = x.view(g, row * cols + left..row * cols + left + width)?;
            g.guard("col_extremes", 0, || {
                // SAFETY: view and result hold `width` elements, of which unit `i` reads and writes element `i` alone.
                unsafe {
                    carry::launch_unchecked::<R>(
                        g.client(),
                        g.grid(width, CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        result.arg(),
                        width as u32,
                        u32::from(row == 0),
                        flip,
                    );
                }
            })?;
        }
        out.commit(g, result)?;
    }
    Ok(out)
}

/// One unit a row of at most [`NARROW`] elements.
#[cube(launch_unchecked)]
fn narrow_rows(x: &Array<f32>, out: &mut Array<f32>, items: u32, cols: u32, flip: u32) {
    let item = ABSOLUTE_POS as u32;
    if item < items {
        let mut best = 0xffff_ffffu32;
        #[unroll]
        for i in 0..comptime!(NARROW as u32) {
            if i < cols {
                best = min(best, key(x[(item * cols + i) as usize]) ^ flip);
            }
        }
        out[item as usize] = unkey(best ^ flip);
    }
}

/// A workgroup looks through TILE chunks, PARTS units a chunk. Lengths are in vectors of `width` elements.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn row_chunks<N: Size>(
    x: &Array<Vector<f32, N>>,
    out: &mut Array<f32>,
    items: u32,
    per_row: u32,
    cols: u32,
    first_chunk: u32,
    last_len: u32,
    flip: u32,
    #[comptime] width: usize,
) {
    let unit = UNIT_POS;
    let slot = unit / PARTS;
    let part = unit % PARTS;
    let tile = CUBE_POS as u32 * TILE;
    let item = tile + slot;
    let mut best = 0xffff_ffffu32;
    if item < items {
        let place = first_chunk + item;
        let row = place / per_row;
        let chunk = place - row * per_row;
        let at = row * cols + (chunk - first_chunk) * comptime!((CHUNK / width) as u32) + part;
        let mut len = comptime!((CHUNK / width) as u32).runtime();
        if chunk + 1 == per_row {
            len = last_len;
        }
        let steps = (len + (PARTS - 1) - part) / PARTS;
        let blocks = steps / 8;
        for block in 0..blocks {
            let mut values = Array::<Vector<f32, N>>::new(8usize);
            #[unroll]
            for i in 0..8u32 {
                values[i as usize] = x[(at + (block * 8 + i) * PARTS) as usize];
            }
            #[unroll]
            for i in 0..8u32 {
                best = min(best, least_of::<N>(values[i as usize], flip, width));
            }
        }
        for step in blocks * 8..steps {
            best = min(best, least_of::<N>(x[(at + step * PARTS) as usize], flip, width));
        }
    }
    join(out, best, slot, part, tile, items, flip);
}

/// The least key of a vector.
#[cube]
// pathway: P101
fn least_of<N: Size>(value: Vector<f32, N>, flip: u32, #[comptime] width: usize) -> u32 {
    let mut best = key(value[0]) ^ flip;
    #[unroll]
    for i in 1..width {
        best = min(best, key(value[i]) ^ flip);
    }
    best
}

/// A workgroup looks through TILE columns, counted over all blocks of `tall` rows; PARTS units a column.
#[cube(launch_unchecked)]
fn col_blocks(x: &Array<f32>, out: &mut Array<f32>, items: u32, cols: u32, rows: u32, tall: u32, flip: u32) {
    let unit = UNIT_POS;
    let slot = unit % TILE;
    let part = unit / TILE;
    let tile = CUBE_POS as u32 * TILE;
    let item = tile + slot;
    let mut best = 0xffff_ffffu32;
    if item < items {
        let block = item / cols;
        let column = item - block * cols;
        let first = block * tall + part;
        let end = min(rows, (block + 1) * tall);
        let mut steps = 0u32;
        if end > first {
            steps = (end - first).div_ceil(PARTS);
        }
        let blocks = steps / 8;
        for eight in 0..blocks {
            let mut values = Array::<f32>::new(8usize);
            #[unroll]
            for i in 0..8u32 {
                values[i as usize] = x[((first + (eight * 8 + i) * PARTS) * cols + column) as usize];
            }
            #[unroll]
            for i in 0..8u32 {
                best = min(best, key(values[i as usize]) ^ flip);
            }
        }
        for step in blocks * 8..steps {
            best = min(best, key(x[((first + step * PARTS) * cols + column) as usize]) ^ flip);
        }
    }
    join(out, best, slot, part, tile, items, flip);
}

/// Each unit brings the least key of part `part` of item `slot` of the tile; the first TILE units compare the parts of an
/// item each.
#[cube]
fn join(out: &mut Array<f32>, best: u32, slot: u32, part: u32, tile: u32, items: u32, flip: u32) {
    let mut parts = SharedMemory::<u32>::new(CUBE as usize);
    parts[(part * TILE + slot) as usize] = best;
    sync_cube();
    let unit = UNIT_POS;
    if unit < TILE && tile + unit < items {
        let mut least = parts[unit as usize];
        #[unroll]
        for i in 1..PARTS {
            least = min(least, parts[(i * TILE + unit) as usize]);
        }
        out[(tile + unit) as usize] = unkey(least ^ flip);
    }
}

/// One unit a column of a strip: the better of a row's element and what the rows before it left.
#[cube(launch_unchecked)]
fn carry(x: &Array<f32>, out: &mut Array<f32>, width: u32, first: u32, flip: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < width {
        let mut best = key(x[i as usize]) ^ flip;
        if first == 0 {
            best = min(best, key(out[i as usize]) ^ flip);
        }
        out[i as usize] = unkey(best ^ flip);
    }
}
