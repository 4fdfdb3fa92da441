//! The kernels: groups of units add the lanes of a chunk side by side, and meet once in shared memory.

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::super::runs::{Run, runs};
use super::{CHUNK, LANES};
use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{Pins, add, add_exact_range};
use crate::sabotage::Arm;

type V4 = Vector<f32, Const<4>>;

/// Chunks, or columns, that one workgroup adds up.
const TILE: u32 = 32;

/// Units that share a chunk, or a column, after each has joined its own lanes.
const PARTS: u32 = CUBE / TILE;

/// Longest row that one unit adds up alone.
const NARROW: usize = 8;

pub(super) fn row_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let mut cols = cols;
    let mut sums = row_level(g, x, rows, cols, arm)?;
    while cols > CHUNK {
        cols = cols.div_ceil(CHUNK);
        sums = row_level(g, &sums, rows, cols, arm)?;
    }
    Ok(sums)
}

/// The chunk sums of each row: (rows, cols) to (rows, ceil(cols / CHUNK)).
fn row_level<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>, rows: usize, cols: usize, arm: Arm) -> Result<Chunks<f32>> {
    let out = Chunks::alloc(g, rows * cols.div_ceil(CHUNK))?;
    for run in runs(rows, cols, CHUNK, g.max_elements::<f32>()) {
        let view = x.view(g, run.elements.clone())?;
        let result = out.view_out(g, run.items.clone())?;
        g.guard("row_sums", 0, || launch_rows(g, &view, result.arg(), &run, cols, arm))?;
        out.commit(g, result)?;
    }
    Ok(out)
}

fn launch_rows<R: Runtime>(g: &Gpu<R>, view: &In, result: ArrayArg<R>, run: &Run, cols: usize, arm: Arm) {
    let items = run.items.len();
    let (nz, one) = (Pins::HOST.nz, Pins::HOST.one);
    if cols <= NARROW {
        // SAFETY: unit `i` below `items` reads the `cols` elements of row `i` and writes element `i`; the run has
        // `items` rows.
        unsafe {
            narrow_rows::launch_unchecked::<R>(
                g.client(),
                g.grid(items, CUBE as usize),
                CubeDim::new_1d(CUBE),
                view.arg(),
                result,
                items as u32,
                cols as u32,
                nz,
                one,
                arm,
            );
        }
        return;
    }
    // Places within a run are below 2^30; what is longer only enters sums that come back below it, modulo 2^32.
    let per_row = cols.div_ceil(CHUNK);
    let last_len = (cols - (per_row - 1) * CHUNK) as u32;
    let grid = g.grid(items, TILE as usize);
    let (items, per_row, cols_mod, first) = (items as u32, per_row as u32, cols as u32, run.first_chunk as u32);
    if cols.is_multiple_of(4) && arm != Arm::SerialLanes {
        // SAFETY: chunk `i` below `items` lies within the run's elements by construction of `runs`, as do its vectors
        // because rows and chunks are whole vectors; one unit writes element `i`.
        unsafe {
            vector_chunks::launch_unchecked::<R>(
                g.client(),
                grid,
                CubeDim::new_1d(CUBE),
                view.arg_vec(4),
                result,
                items,
                per_row,
                cols_mod,
                first,
                last_len,
                nz,
                one,
                arm,
            );
        }
    } else {
        // SAFETY: as above, element by element.
        unsafe {
            row_chunks::launch_unchecked::<R>(
                g.client(),
                grid,
                CubeDim::new_1d(CUBE),
                view.arg(),
                result,
                items,
                per_row,
                cols_mod,
                first,
                last_len,
                nz,
                one,
                arm,
            );
        }
    }
}

pub(super) fn col_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let mut rows = rows;
    let mut sums = col_level(g, x, rows, cols, arm)?;
    while rows > CHUNK {
        rows = rows.div_ceil(CHUNK);
        sums = col_level(g, &sums, rows, cols, arm)?;
    }
    Ok(sums)
}

/// The chunk sums of each column: (rows, cols) to (ceil(rows / CHUNK), cols).
fn col_level<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>, rows: usize, cols: usize, arm: Arm) -> Result<Chunks<f32>> {
    let chunks = rows.div_ceil(CHUNK);
    let out = Chunks::alloc(g, chunks * cols)?;
    let limit = g.max_elements::<f32>();
    let chunk_rows = rows.min(CHUNK);
    let Some(per_run) = std::num::NonZero::new(limit / chunk_rows.saturating_mul(cols)) else {
        for chunk in 0..chunks {
            carried_chunk(g, x, chunk * CHUNK..((chunk + 1) * CHUNK).min(rows), cols, arm, &out, chunk)?;
        }
        return Ok(out);
    };
    for first in (0..chunks).step_by(per_run.get()) {
        let end = (first + per_run.get()).min(chunks);
        let run_rows = first * CHUNK..(end * CHUNK).min(rows);
        let view = x.view(g, run_rows.start * cols..run_rows.end * cols)?;
        let result = out.view_out(g, first * cols..end * cols)?;
        g.guard("col_sums", 0, || {
            // SAFETY: column `i` below `items` of all chunks' columns lies within the run's rows, which the kernel
            // bounds by `rows`; one unit writes element `i`.
            unsafe {
                col_chunks::launch_unchecked::<R>(
                    g.client(),
                    g.grid((end - first) * cols, TILE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    result.arg(),
                    ((end - first) * cols) as u32,
                    cols as u32,
                    run_rows.len() as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    arm,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(out)
}

/// The sums of one chunk of rows that no binding holds: a few rows at a time, lanes kept in memory between launches.
fn carried_chunk<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: std::ops::Range<usize>,
    cols: usize,
    arm: Arm,
    out: &Chunks<f32>,
    chunk: usize,
) -> Result<()> {
    let limit = g.max_elements::<f32>();
    let strip = (limit / LANES).min(cols);
    let step = (limit / cols).max(1);
    for left in (0..cols).step_by(strip) {
        let width = strip.min(cols - left);
        let lanes = g.alloc_one::<f32>(LANES * width)?;
        for row in rows.clone().step_by(step) {
            let end = (row + step).min(rows.end);
            // Whole rows where they fit, else the strip of one row.
            let (part, offset) = if cols <= limit {
                (row * cols..end * cols, left)
            } else {
                (row * cols + left..row * cols + left + width, 0)
            };
            let view = x.view(g, part)?;
            let at = Carried { rows: end - row, first: row - rows.start, cols, offset, width };
            g.guard("col_sums", 0, || at.launch(g, &view, &lanes, arm))?;
        }
        let result = out.view_out(g, chunk * cols + left..chunk * cols + left + width)?;
        g.guard("col_sums", 0, || {
            // SAFETY: `lanes` holds LANES values for each of `width` columns, the result `width` elements.
            unsafe {
                join_lanes::launch_unchecked::<R>(
                    g.client(),
                    g.grid(width, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    ArrayArg::from_raw_parts(lanes.clone(), LANES * width),
                    result.arg(),
                    width as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    arm,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(())
}

/// A few rows of a strip on their way into its lanes.
struct Carried {
    rows: usize,
    /// Their place in the chunk.
    first: usize,
    cols: usize,
    /// Where the strip starts in a row of the view.
    offset: usize,
    width: usize,
}

impl Carried {
    fn launch<R: Runtime>(&self, g: &Gpu<R>, view: &In, lanes: &Handle, arm: Arm) {
        // SAFETY: the view holds `rows` rows of `cols` elements, or the strip of one; unit `i` below LANES * width reads
        // and writes lane value `i` alone.
        unsafe {
            carry_lanes::launch_unchecked::<R>(
                g.client(),
                g.grid(LANES * self.width, CUBE as usize),
                CubeDim::new_1d(CUBE),
                view.arg(),
                ArrayArg::from_raw_parts(lanes.clone(), LANES * self.width),
                self.rows as u32,
                self.first as u32,
                self.cols as u32,
                self.offset as u32,
                self.width as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                arm,
            );
        }
    }
}

/// `a + b`, canonical unless the arm keeps subnormals.
#[cube]
fn plus(a: f32, b: f32, p: Pins, #[comptime] arm: Arm) -> f32 {
    if comptime!(arm == Arm::KeepSubnormals) { add_exact_range(a, b, p) } else { add(a, b, p) }
}

/// The tree over `n` neighbouring values, `n` a power of two, or one after the other where the arm says so.
#[cube]
fn join(values: &mut Array<f32>, #[comptime] n: u32, p: Pins, #[comptime] arm: Arm) -> f32 {
    if comptime!(arm == Arm::SerialLanes) {
        #[unroll]
        for i in 1..n {
            values[0] = plus(values[0], values[i as usize], p, arm);
        }
    } else {
        #[unroll]
        for level in 0..comptime!(n.trailing_zeros()) {
            #[unroll]
            for i in 0..comptime!((n / 2) >> level) {
                values[i as usize] =
                    plus(values[comptime!(2 * i) as usize], values[comptime!(2 * i + 1) as usize], p, arm);
            }
        }
    }
    values[0]
}

/// One unit a row of at most [`NARROW`] elements: each is a lane of its own, and lanes without elements are +0.
#[cube(launch_unchecked)]
fn narrow_rows(x: &Array<f32>, out: &mut Array<f32>, items: u32, cols: u32, nz: f32, one: f32, #[comptime] arm: Arm) {
    let item = ABSOLUTE_POS as u32;
    if item < items {
        let p = Pins { nz, one };
        let mut lanes = Array::<f32>::new(NARROW);
        #[unroll]
        for lane in 0..comptime!(NARROW as u32) {
            let mut sum = 0.0f32;
            if lane < cols {
                sum = plus(sum, x[(item * cols + lane) as usize], p, arm);
            }
            lanes[lane as usize] = sum;
        }
        out[item as usize] = join(&mut lanes, comptime!(NARROW as u32), p, arm);
    }
}

/// A workgroup adds up TILE chunks, one unit a lane; eight chunks go side by side.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn row_chunks(
    x: &Array<f32>,
    out: &mut Array<f32>,
    items: u32,
    per_row: u32,
    cols: u32,
    first_chunk: u32,
    last_len: u32,
    nz: f32,
    one: f32,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let lane = unit % 32;
    let tile = CUBE_POS as u32 * TILE;
    // One more than the lanes, so that units that read along different chunks meet different banks.
    let mut lanes = SharedMemory::<f32>::new(comptime!((TILE * 33) as usize));
    #[unroll]
    for round in 0..comptime!(TILE / 8) {
        let slot = round * 8 + unit / 32;
        let item = tile + slot;
        let mut sum = 0.0f32;
        if item < items {
            let place = first_chunk + item;
            let row = place / per_row;
            let chunk = place - row * per_row;
            let at = row * cols + (chunk - first_chunk) * comptime!(CHUNK as u32) + lane;
            let mut len = comptime!(CHUNK as u32).runtime();
            if chunk + 1 == per_row {
                len = last_len;
            }
            let steps = (len + 31 - lane) / 32;
            let blocks = steps / 8;
            for block in 0..blocks {
                let mut values = Array::<f32>::new(8usize);
                #[unroll]
                for i in 0..8u32 {
                    values[i as usize] = x[(at + (block * 8 + i) * 32) as usize];
                }
                #[unroll]
                for i in 0..8u32 {
                    sum = plus(sum, values[i as usize], p, arm);
                }
            }
            for step in blocks * 8..steps {
                sum = plus(sum, x[(at + step * 32) as usize], p, arm);
            }
        }
        lanes[(slot * 33 + lane) as usize] = sum;
    }
    sync_cube();
    if comptime!(arm == Arm::SerialLanes) {
        if unit < TILE && tile + unit < items {
            let mut all = Array::<f32>::new(LANES);
            #[unroll]
            for i in 0..comptime!(LANES as u32) {
                all[i as usize] = lanes[(unit * 33 + i) as usize];
            }
            out[(tile + unit) as usize] = join(&mut all, comptime!(LANES as u32), p, arm);
        }
    } else {
        let mut own = Array::<f32>::new(4usize);
        #[unroll]
        for i in 0..4u32 {
            own[i as usize] = lanes[(unit / PARTS * 33 + unit % PARTS * 4 + i) as usize];
        }
        let part = join(&mut own, 4u32, p, arm);
        join_parts(out, part, unit / PARTS, unit % PARTS, tile, items, p, arm);
    }
}

/// A workgroup adds up TILE chunks, eight units a chunk, each with four neighbouring lanes.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn vector_chunks(
    x: &Array<V4>,
    out: &mut Array<f32>,
    items: u32,
    per_row: u32,
    cols: u32,
    first_chunk: u32,
    last_len: u32,
    nz: f32,
    one: f32,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let slot = unit / PARTS;
    let part = unit % PARTS;
    let tile = CUBE_POS as u32 * TILE;
    let item = tile + slot;
    let mut lanes = Array::<f32>::new(4usize);
    #[unroll]
    for i in 0..4usize {
        lanes[i] = 0.0f32;
    }
    if item < items {
        let place = first_chunk + item;
        let row = place / per_row;
        let chunk = place - row * per_row;
        // In vectors from here on: rows and chunks are whole vectors.
        let at = (row * cols + (chunk - first_chunk) * comptime!(CHUNK as u32)) / 4 + part;
        let mut len = comptime!(CHUNK as u32 / 4).runtime();
        if chunk + 1 == per_row {
            len = last_len / 4;
        }
        let steps = (len + 7 - part) / 8;
        let blocks = steps / 8;
        for block in 0..blocks {
            let mut values = Array::<V4>::new(8usize);
            #[unroll]
            for i in 0..8u32 {
                values[i as usize] = x[(at + (block * 8 + i) * 8) as usize];
            }
            #[unroll]
            for i in 0..8u32 {
                let value = values[i as usize];
                #[unroll]
                for lane in 0..4usize {
                    lanes[lane] = plus(lanes[lane], value[lane], p, arm);
                }
            }
        }
        for step in blocks * 8..steps {
            let value = x[(at + step * 8) as usize];
            #[unroll]
            for lane in 0..4usize {
                lanes[lane] = plus(lanes[lane], value[lane], p, arm);
            }
        }
    }
    let sum = join(&mut lanes, 4u32, p, arm);
    join_parts(out, sum, slot, part, tile, items, p, arm);
}

/// Each unit brings the sum of four neighbouring lanes, part `part` of item `slot` of the tile; the first TILE units join
/// the parts of an item each.
#[cube]
#[expect(clippy::too_many_arguments, reason = "the state of the kernels that end in it")]
fn join_parts(
    out: &mut Array<f32>,
    sum: f32,
    slot: u32,
    part: u32,
    tile: u32,
    items: u32,
    p: Pins,
    #[comptime] arm: Arm,
) {
    let mut parts = SharedMemory::<f32>::new(CUBE as usize);
    parts[(part * TILE + slot) as usize] = sum;
    sync_cube();
    let unit = UNIT_POS;
    if unit < TILE && tile + unit < items {
        let mut own = Array::<f32>::new(PARTS as usize);
        #[unroll]
        for i in 0..PARTS {
            own[i as usize] = parts[(i * TILE + unit) as usize];
        }
        out[(tile + unit) as usize] = join(&mut own, PARTS, p, arm);
    }
}

/// A workgroup adds up TILE columns, counted over all chunks; eight units a column, each with four neighbouring lanes.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn col_chunks(
    x: &Array<f32>,
    out: &mut Array<f32>,
    items: u32,
    cols: u32,
    rows: u32,
    nz: f32,
    one: f32,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let slot = unit % TILE;
    let part = unit / TILE;
    let tile = CUBE_POS as u32 * TILE;
    let item = tile + slot;
    let mut lanes = Array::<f32>::new(4usize);
    #[unroll]
    for i in 0..4usize {
        lanes[i] = 0.0f32;
    }
    if item < items {
        let chunk = item / cols;
        let column = item - chunk * cols;
        let first = chunk * comptime!(CHUNK as u32) + part * 4;
        let end = min(rows, (chunk + 1) * comptime!(CHUNK as u32));
        let mut steps = 0u32;
        if end >= first + 4 {
            steps = (end - first - 4) / 32 + 1;
        }
        let pairs = steps / 4;
        for pair in 0..pairs {
            let mut values = Array::<f32>::new(16usize);
            #[unroll]
            for i in 0..16u32 {
                let row = first + (pair * 4 + comptime!(i / 4)) * 32 + comptime!(i % 4);
                values[i as usize] = x[(row * cols + column) as usize];
            }
            #[unroll]
            for i in 0..16u32 {
                let lane = comptime!((i % 4) as usize);
                lanes[lane] = plus(lanes[lane], values[i as usize], p, arm);
            }
        }
        for step in pairs * 4..steps {
            #[unroll]
            for lane in 0..4u32 {
                let row = first + step * 32 + lane;
                lanes[lane as usize] = plus(lanes[lane as usize], x[(row * cols + column) as usize], p, arm);
            }
        }
        // The step in which the rows end between the four lanes.
        #[unroll]
        for lane in 0..4u32 {
            let row = first + steps * 32 + lane;
            if row < end {
                lanes[lane as usize] = plus(lanes[lane as usize], x[(row * cols + column) as usize], p, arm);
            }
        }
    }
    if comptime!(arm == Arm::SerialLanes) {
        let mut shared = SharedMemory::<f32>::new(comptime!(LANES * TILE as usize));
        #[unroll]
        for lane in 0..4u32 {
            shared[((part * 4 + lane) * TILE + slot) as usize] = lanes[lane as usize];
        }
        sync_cube();
        if unit < TILE && tile + unit < items {
            let mut all = Array::<f32>::new(LANES);
            #[unroll]
            for i in 0..comptime!(LANES as u32) {
                all[i as usize] = shared[(i * TILE + unit) as usize];
            }
            out[(tile + unit) as usize] = join(&mut all, comptime!(LANES as u32), p, arm);
        }
    } else {
        let sum = join(&mut lanes, 4u32, p, arm);
        join_parts(out, sum, slot, part, tile, items, p, arm);
    }
}

/// One unit a lane of a column of the strip: adds the rows of the view that are its own.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn carry_lanes(
    x: &Array<f32>,
    lanes: &mut Array<f32>,
    rows: u32,
    first: u32,
    cols: u32,
    offset: u32,
    width: u32,
    nz: f32,
    one: f32,
    #[comptime] arm: Arm,
) {
    let i = ABSOLUTE_POS as u32;
    if i < comptime!(LANES as u32) * width {
        let p = Pins { nz, one };
        let lane = i / width;
        let column = i - lane * width;
        let mut sum = 0.0f32;
        if first > 0 {
            sum = lanes[i as usize];
        }
        let mut row = (lane + 32 - first % 32) % 32;
        while row < rows {
            sum = plus(sum, x[(row * cols + offset + column) as usize], p, arm);
            row += 32;
        }
        lanes[i as usize] = sum;
    }
}

/// One unit a column of the strip: joins its lanes.
#[cube(launch_unchecked)]
fn join_lanes(lanes: &Array<f32>, out: &mut Array<f32>, width: u32, nz: f32, one: f32, #[comptime] arm: Arm) {
    let column = ABSOLUTE_POS as u32;
    if column < width {
        let p = Pins { nz, one };
        let mut all = Array::<f32>::new(LANES);
        #[unroll]
        for i in 0..comptime!(LANES as u32) {
            all[i as usize] = lanes[(i * width + column) as usize];
        }
        out[column as usize] = join(&mut all, comptime!(LANES as u32), p, arm);
    }
}
