//! Launching the kernels of sums: which one suits a shape, level by level until one value is left.

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::super::runs::{Run, runs};
use super::kernel::{carry_lanes, col_chunks, join_lanes, narrow_rows, row_chunks, vector_chunks};
use super::{CHUNK, LANES};
use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::Pins;
use crate::sabotage::Arm;

/// Chunks, or columns, that one workgroup adds up.
pub(super) const TILE: u32 = 32;

/// Units that share a chunk, or a column, after each has joined its own lanes.
pub(super) const PARTS: u32 = CUBE / TILE;

/// Longest row that one unit adds up alone.
pub(super) const NARROW: usize = 8;

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
