//! The kernels: a unit a run, in shared memory; the sums of chunks, what comes before each of them by the same means, then
//! each chunk from there.

use cubecl::prelude::*;
use ml_core::Result;

use super::{CHUNK, RUN};
use crate::buffer::{Chunks, In};
use crate::device::gpu::Gpu;
use crate::num::Pins;
use crate::reduce::plus;
use crate::reduce::runs::runs;
use crate::sabotage::Arm;

/// Units of a workgroup, each with one run.
const UNITS: u32 = 64;

/// Chunks of a workgroup.
const TILE: u32 = UNITS / RUN as u32;

/// Words from one run to the next in shared memory: one more than its elements, so that units that go along different runs
/// meet different banks.
const STRIDE: u32 = RUN as u32 + 1;

/// Where the chunks of a launch lie.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Shape {
    items: u32,
    per_row: u32,
    /// Modulo 2^32: what is longer only enters sums that come back below it.
    cols: u32,
    first_chunk: u32,
    last_len: u32,
}

pub(super) fn cumulative_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    sums(g, x, rows, cols, false, arm)
}

/// Sums up to each element, or `exclusive`, of all before it.
fn sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    exclusive: bool,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let per_row = cols.div_ceil(CHUNK);
    let runs = runs(rows, cols, CHUNK, g.max_elements::<f32>());
    let shape = |items: usize, first_chunk: usize| {
        let last_len = cols - (per_row - 1) * CHUNK;
        ShapeLaunch::new(items as u32, per_row as u32, cols as u32, first_chunk as u32, last_len as u32)
    };
    // Rows and chunks are whole vectors, or are bound element by element.
    let width = if cols.is_multiple_of(4) { 4 } else { 1 };
    let mut starts = None;
    if per_row > 1 {
        let totals = Chunks::alloc(g, rows * per_row)?;
        for run in &runs {
            let view = x.view(g, run.elements.clone())?;
            let result = totals.view_out(g, run.items.clone())?;
            g.guard("cumulative_sum", 0, || {
                // SAFETY: chunk `i` below `items` lies within the run's elements by construction of `runs`; one unit
                // writes element `i`.
                unsafe {
                    chunk_totals::launch_unchecked::<R>(
                        g.client(),
                        g.grid(run.items.len(), TILE as usize),
                        CubeDim::new_1d(UNITS),
                        width,
                        view.arg_vec(width),
                        result.arg(),
                        shape(run.items.len(), run.first_chunk),
                        Pins::HOST.nz,
                        Pins::HOST.one,
                        width as u32,
                        arm,
                    );
                }
            })?;
            totals.commit(g, result)?;
        }
        starts = Some(sums(g, &totals, rows, per_row, true, arm)?);
    }
    let out = Chunks::alloc(g, rows * cols)?;
    for run in &runs {
        let view = x.view(g, run.elements.clone())?;
        let start = match &starts {
            Some(starts) => starts.view(g, run.items.clone())?,
            // Something to bind in their place.
            None => In { handle: view.handle.clone(), len: view.len },
        };
        let result = out.view_out(g, run.elements.clone())?;
        g.guard("cumulative_sum", 0, || {
            // SAFETY: as above; a unit writes elements that lie in chunks below `items` alone, and reads their starts.
            unsafe {
                chunk_sums::launch_unchecked::<R>(
                    g.client(),
                    g.grid(run.items.len(), TILE as usize),
                    CubeDim::new_1d(UNITS),
                    width,
                    view.arg_vec(width),
                    start.arg(),
                    result.arg_vec(width),
                    shape(run.items.len(), run.first_chunk),
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    width as u32,
                    starts.is_some(),
                    exclusive,
                    arm,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(out)
}

/// A chunk: its first element and its length, 0 where there is none.
#[derive(CubeType, Clone, Copy)]
struct Place {
    at: u32,
    len: u32,
}

/// Chunk `item` of the launch.
#[cube]
fn place_of(item: u32, shape: &Shape) -> Place {
    let place = shape.first_chunk + item;
    let row = place / shape.per_row;
    let chunk = place - row * shape.per_row;
    let mut len = comptime!(CHUNK as u32).runtime();
    if chunk + 1 == shape.per_row {
        len = shape.last_len;
    }
    if item >= shape.items {
        len = 0u32;
    }
    Place { at: row * shape.cols + (chunk - shape.first_chunk) * comptime!(CHUNK as u32), len }
}

/// The place in shared memory of element `q` of chunk `slot` of the workgroup.
#[cube]
fn word(q: u32, #[comptime] slot: u32) -> u32 {
    (comptime!(slot * RUN as u32) + q / comptime!(RUN as u32)) * STRIDE + q % comptime!(RUN as u32)
}

/// Brings the chunks of the workgroup into shared memory, all of them before the first is put there; missing elements are +0.
#[cube]
fn fill<N: Size>(
    x: &Array<Vector<f32, N>>,
    tile: u32,
    values: &mut SharedMemory<f32>,
    shape: &Shape,
    #[comptime] width: u32,
) {
    let each = comptime!(CHUNK as u32 / UNITS / width);
    let mut own = Array::<Vector<f32, N>>::new(comptime!((TILE * each) as usize));
    #[unroll]
    for slot in 0..TILE {
        let place = place_of(tile + slot, shape);
        #[unroll]
        for j in 0..each {
            let q = (j * UNITS + UNIT_POS) * width;
            let mut value = Vector::<f32, N>::new(0.0f32);
            if q < place.len {
                value = x[((place.at + q) / width) as usize];
            }
            own[comptime!((slot * each + j) as usize)] = value;
        }
    }
    #[unroll]
    for slot in 0..TILE {
        #[unroll]
        for j in 0..each {
            let value = own[comptime!((slot * each + j) as usize)];
            let at = word((j * UNITS + UNIT_POS) * width, slot);
            #[unroll]
            for e in 0..width {
                values[(at + e) as usize] = value[comptime!(e as usize)];
            }
        }
    }
    sync_cube();
}

/// Adds up the unit's run from `start`; where `keep`, its elements become the sums up to them, or `exclusive`, before them.
#[cube]
fn along(
    values: &mut SharedMemory<f32>,
    start: f32,
    p: Pins,
    #[comptime] keep: bool,
    #[comptime] exclusive: bool,
    #[comptime] arm: Arm,
) -> f32 {
    let mut sum = start;
    #[unroll]
    for i in 0..comptime!(RUN as u32) {
        let at = UNIT_POS * STRIDE + i;
        let next = plus(sum, values[at as usize], p, arm);
        if comptime!(keep && exclusive) {
            values[at as usize] = sum;
        } else if comptime!(keep) {
            values[at as usize] = next;
        }
        sum = next;
    }
    sum
}

/// What is before a run, and a sum within it.
#[cube]
fn joined(values: &SharedMemory<f32>, at: u32, before: f32, p: Pins, #[comptime] arm: Arm) -> f32 {
    let mut value = values[at as usize];
    if comptime!(arm != Arm::SerialLanes) {
        value = plus(before, value, p, arm);
    }
    value
}

/// The sums of the chunks.
#[cube(launch_unchecked)]
fn chunk_totals<N: Size>(
    x: &Array<Vector<f32, N>>,
    out: &mut Array<f32>,
    shape: Shape,
    nz: f32,
    one: f32,
    #[comptime] width: u32,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let tile = CUBE_POS as u32 * TILE;
    let mut values = SharedMemory::<f32>::new(comptime!((UNITS * STRIDE) as usize));
    let mut totals = SharedMemory::<f32>::new(UNITS as usize);
    fill::<N>(x, tile, &mut values, &shape, width);
    totals[unit as usize] = along(&mut values, 0.0f32, p, false, false, arm);
    sync_cube();
    if unit < TILE && tile + unit < shape.items {
        let mut sum = 0.0f32;
        #[unroll]
        for run in 0..comptime!(RUN as u32) {
            sum = plus(sum, totals[(unit * comptime!(RUN as u32) + run) as usize], p, arm);
        }
        out[(tile + unit) as usize] = sum;
    }
}

/// The cumulative sums of the chunks, where `started` from what is before each.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn chunk_sums<N: Size>(
    x: &Array<Vector<f32, N>>,
    starts: &Array<f32>,
    out: &mut Array<Vector<f32, N>>,
    shape: Shape,
    nz: f32,
    one: f32,
    #[comptime] width: u32,
    #[comptime] started: bool,
    #[comptime] exclusive: bool,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let tile = CUBE_POS as u32 * TILE;
    let mut values = SharedMemory::<f32>::new(comptime!((UNITS * STRIDE) as usize));
    let mut totals = SharedMemory::<f32>::new(UNITS as usize);
    // Asked for before it is needed.
    let mut start = 0.0f32;
    if comptime!(started) {
        if unit < TILE && tile + unit < shape.items {
            start = starts[(tile + unit) as usize];
        }
    }
    fill::<N>(x, tile, &mut values, &shape, width);
    totals[unit as usize] = along(&mut values, 0.0f32, p, comptime!(arm != Arm::SerialLanes), exclusive, arm);
    sync_cube();
    // What is before each run takes the place of its sum.
    if unit < TILE && tile + unit < shape.items {
        let mut sum = 0.0f32;
        #[unroll]
        for run in 0..comptime!(RUN as u32) {
            let at = unit * comptime!(RUN as u32) + run;
            let total = totals[at as usize];
            totals[at as usize] = plus(start, sum, p, arm);
            sum = plus(sum, total, p, arm);
        }
    }
    sync_cube();
    if comptime!(arm == Arm::SerialLanes) {
        along(&mut values, totals[unit as usize], p, true, exclusive, arm);
        sync_cube();
    }
    #[unroll]
    for slot in 0..TILE {
        let place = place_of(tile + slot, &shape);
        #[unroll]
        for j in 0..comptime!(CHUNK as u32 / UNITS / width) {
            let q = (j * UNITS + unit) * width;
            if q < place.len {
                let at = word(q, slot);
                let before = totals[(comptime!(slot * RUN as u32) + q / comptime!(RUN as u32)) as usize];
                let mut sums = Vector::<f32, N>::new(joined(&values, at, before, p, arm));
                #[unroll]
                for e in 1..width {
                    sums[comptime!(e as usize)] = joined(&values, at + e, before, p, arm);
                }
                out[((place.at + q) / width) as usize] = sums;
            }
        }
    }
}
