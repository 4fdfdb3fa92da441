//! The kernel of rows: exponentials are summed as they are computed, and never stored.

use cubecl::prelude::*;
use ml_core::Result;

use super::super::runs::runs;
use super::super::sums::{CHUNK, LANES, TILE, join_tile, plus};
use crate::buffer::Chunks;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{Pins, add_exact_range, bits, exp_cr, from_bits, neg, sub};
use crate::sabotage::Arm;

/// The sums of e^(x - m) over each chunk of each row, m the row's element of `greatest`: (rows, cols), neither of them 0, to
/// (rows, ceil(cols / CHUNK)).
pub(super) fn chunk_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    greatest: &Chunks<f32>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let per_row = cols.div_ceil(CHUNK);
    let last_len = cols - (per_row - 1) * CHUNK;
    let out = Chunks::alloc(g, rows * per_row)?;
    for run in runs(rows, cols, CHUNK, g.max_elements::<f32>()) {
        let view = x.view(g, run.elements.clone())?;
        let own = greatest.view(g, run.items.start / per_row..(run.items.end - 1) / per_row + 1)?;
        let result = out.view_out(g, run.items.clone())?;
        let items = run.items.len();
        g.guard("log_sum_exp", 0, || {
            // SAFETY: chunk `i` below `items` lies within the run's elements by construction of `runs`, and its row among
            // those of `own`; one unit writes element `i`. Places within a run are below 2^30; what is longer only enters
            // sums that come back below it, modulo 2^32.
            unsafe {
                exponential_chunks::launch_unchecked::<R>(
                    g.client(),
                    g.grid(items, TILE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    own.arg(),
                    result.arg(),
                    items as u32,
                    per_row as u32,
                    cols as u32,
                    run.first_chunk as u32,
                    last_len as u32,
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

/// e^(x - m), as `map` has it.
#[cube]
fn exponential(x: f32, m: f32, p: Pins, #[comptime] arm: Arm) -> f32 {
    let d = if comptime!(arm == Arm::KeepSubnormals) { add_exact_range(x, neg(m), p) } else { sub(x, m, p) };
    let e = exp_cr(d);
    if comptime!(arm == Arm::RoughElementary) { from_bits(bits(e) & 0xffff_fffeu32) } else { e }
}

/// A workgroup adds up TILE chunks, one unit a lane; eight chunks go side by side. The code of an exponential is long: it
/// stands here once.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
// pathway: P140
fn exponential_chunks(
    x: &Array<f32>,
    greatest: &Array<f32>,
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
    let mut lanes = SharedMemory::<f32>::new(comptime!(TILE as usize * (LANES + 1)));
    for round in 0..comptime!(TILE / 8) {
        let slot = round * 8 + unit / 32;
        let item = tile + slot;
        let mut sum = 0.0f32;
        if item < items {
            let place = first_chunk + item;
            let row = place / per_row;
            let chunk = place - row * per_row;
            let m = greatest[row as usize];
            let at = row * cols + (chunk - first_chunk) * comptime!(CHUNK as u32) + lane;
            let mut len = comptime!(CHUNK as u32).runtime();
            if chunk + 1 == per_row {
                len = last_len;
            }
            let steps = (len + 31 - lane) / 32;
            // The next element is on its way while one is worked on.
            let mut next = 0.0f32;
            if steps > 0 {
                next = x[at as usize];
            }
            for step in 0..steps {
                let value = next;
                if step + 1 < steps {
                    next = x[(at + (step + 1) * 32) as usize];
                }
                sum = plus(sum, exponential(value, m, p, arm), p, arm);
            }
        }
        lanes[(slot * comptime!(LANES as u32 + 1) + lane) as usize] = sum;
    }
    join_tile(out, &lanes, tile, items, p, arm);
}
