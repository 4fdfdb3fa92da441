//! Launching the kernels of sums: which one suits a shape, level by level until one value is left.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::super::runs::{Run, runs};
use super::kernel::{carry_lanes, col_chunks, join_lanes, narrow_rows, row_chunks, vector_chunks};
use super::{CHUNK, LANES, Term};
use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::Pins;
use crate::sabotage::Arm;

/// Chunks, or columns, that one workgroup adds up.
pub(in super::super) const TILE: u32 = 32;

/// Units that share a chunk, or a column, after each has joined its own lanes.
pub(super) const PARTS: u32 = CUBE / TILE;

/// Longest row that one unit adds up alone.
pub(super) const NARROW: usize = 8;

/// What is summed.
#[derive(Clone, Copy)]
pub(super) enum Terms<'a> {
    /// The elements.
    Elements,
    /// The squares of the elements' distances from the centre of their row or column.
    Deviations(&'a Chunks<f32>),
}

impl Terms<'_> {
    fn term(self) -> Term {
        match self {
            Terms::Elements => Term::Element,
            Terms::Deviations(_) => Term::SquaredDeviation,
        }
    }

    /// The centres of `range`; where there are none, something to bind in their place.
    fn centres<R: Runtime>(self, g: &Gpu<R>, view: &In, range: Range<usize>) -> Result<In> {
        match self {
            Terms::Elements => Ok(In { handle: view.handle.clone(), len: view.len }),
            Terms::Deviations(centres) => centres.view(g, range),
        }
    }
}

pub(super) fn row_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    terms: Terms<'_>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let mut cols = cols;
    let mut sums = row_level(g, x, terms, rows, cols, arm)?;
    while cols > CHUNK {
        cols = cols.div_ceil(CHUNK);
        sums = row_level(g, &sums, Terms::Elements, rows, cols, arm)?;
    }
    Ok(sums)
}

/// The chunk sums of each row: (rows, cols) to (rows, ceil(cols / CHUNK)).
fn row_level<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    terms: Terms<'_>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let per_row = cols.div_ceil(CHUNK);
    let out = Chunks::alloc(g, rows * per_row)?;
    for run in runs(rows, cols, CHUNK, g.max_elements::<f32>()) {
        let view = x.view(g, run.elements.clone())?;
        let centres = terms.centres(g, &view, run.items.start / per_row..(run.items.end - 1) / per_row + 1)?;
        let result = out.view_out(g, run.items.clone())?;
        let operands = (&view, &centres, terms.term());
        g.guard("row_sums", 0, || launch_rows(g, operands, result.arg(), &run, cols, arm))?;
        out.commit(g, result)?;
    }
    Ok(out)
}

fn launch_rows<R: Runtime>(
    g: &Gpu<R>,
    (view, centres, term): (&In, &In, Term),
    result: ArrayArg<R>,
    run: &Run,
    cols: usize,
    arm: Arm,
) {
    let items = run.items.len();
    let (nz, one) = (Pins::HOST.nz, Pins::HOST.one);
    if cols <= NARROW {
        // SAFETY: unit `i` below `items` reads the `cols` elements of row `i` and its centre, and writes element `i`; the
        // run has `items` rows.
        unsafe {
            narrow_rows::launch_unchecked::<R>(
                g.client(),
                g.grid(items, CUBE as usize),
                CubeDim::new_1d(CUBE),
                view.arg(),
                centres.arg(),
                result,
                items as u32,
                cols as u32,
                nz,
                one,
                term,
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
        // because rows and chunks are whole vectors; the centres are those of its rows; one unit writes element `i`.
        unsafe {
            vector_chunks::launch_unchecked::<R>(
                g.client(),
                grid,
                CubeDim::new_1d(CUBE),
                view.arg_vec(4),
                centres.arg(),
                result,
                items,
                per_row,
                cols_mod,
                first,
                last_len,
                nz,
                one,
                term,
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
                centres.arg(),
                result,
                items,
                per_row,
                cols_mod,
                first,
                last_len,
                nz,
                one,
                term,
                arm,
            );
        }
    }
}

pub(super) fn col_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    terms: Terms<'_>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let mut rows = rows;
    let mut sums = col_level(g, x, terms, rows, cols, arm)?;
    while rows > CHUNK {
        rows = rows.div_ceil(CHUNK);
        sums = col_level(g, &sums, Terms::Elements, rows, cols, arm)?;
    }
    Ok(sums)
}

/// The chunk sums of each column: (rows, cols) to (ceil(rows / CHUNK), cols).
fn col_level<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    terms: Terms<'_>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let chunks = rows.div_ceil(CHUNK);
    let out = Chunks::alloc(g, chunks * cols)?;
    let limit = g.max_elements::<f32>();
    let chunk_rows = rows.min(CHUNK);
    let Some(per_run) = std::num::NonZero::new(limit / chunk_rows.saturating_mul(cols)) else {
        for chunk in 0..chunks {
            carried_chunk(g, x, terms, chunk * CHUNK..((chunk + 1) * CHUNK).min(rows), cols, arm, &out, chunk)?;
        }
        return Ok(out);
    };
    for first in (0..chunks).step_by(per_run.get()) {
        let end = (first + per_run.get()).min(chunks);
        let run_rows = first * CHUNK..(end * CHUNK).min(rows);
        let view = x.view(g, run_rows.start * cols..run_rows.end * cols)?;
        let centres = terms.centres(g, &view, 0..cols)?;
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
                    centres.arg(),
                    result.arg(),
                    ((end - first) * cols) as u32,
                    cols as u32,
                    run_rows.len() as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    terms.term(),
                    arm,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(out)
}

/// The sums of one chunk of rows that no binding holds: a few rows at a time, lanes kept in memory between launches.
#[expect(clippy::too_many_arguments, reason = "the state of the level that it is a part of")]
fn carried_chunk<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    terms: Terms<'_>,
    rows: Range<usize>,
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
            let centres = terms.centres(g, &view, left..left + width)?;
            let at = Carried { rows: end - row, first: row - rows.start, cols, offset, width };
            g.guard("col_sums", 0, || at.launch(g, (&view, &centres, terms.term()), &lanes, arm))?;
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
    fn launch<R: Runtime>(&self, g: &Gpu<R>, (view, centres, term): (&In, &In, Term), lanes: &Handle, arm: Arm) {
        // SAFETY: the view holds `rows` rows of `cols` elements, or the strip of one; the centres are those of its
        // columns; unit `i` below LANES * width reads and writes lane value `i` alone.
        unsafe {
            carry_lanes::launch_unchecked::<R>(
                g.client(),
                g.grid(LANES * self.width, CUBE as usize),
                CubeDim::new_1d(CUBE),
                view.arg(),
                centres.arg(),
                ArrayArg::from_raw_parts(lanes.clone(), LANES * self.width),
                self.rows as u32,
                self.first as u32,
                self.cols as u32,
                self.offset as u32,
                self.width as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                term,
                arm,
            );
        }
    }
}
