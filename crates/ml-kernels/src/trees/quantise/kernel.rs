//! Devices: one unit a value; channels lie one after another, so that units of one channel read neighbours.

use cubecl::prelude::*;
use ml_core::Result;

use super::MAX_CHANNELS;
use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{bits, canon, f32_to_fixed, from_bits, select_u32};

/// Values of one unit while the greatest are sought.
const RUN: u32 = 16;

/// The bits of each channel's greatest canonical magnitude.
pub(super) fn largest<R: Runtime>(g: &Gpu<R>, values: &Chunks<f32>, channels: usize) -> Result<Vec<u32>> {
    let most = In { handle: g.upload_one(&vec![0u32; channels])?, len: channels };
    for part in g.row_panels(values.len(), &[1]) {
        let view = values.view(g, part.clone())?;
        g.guard("quantise", 0, || {
            // SAFETY: the kernel reads below its bound, the length of the view, and writes below `channels`.
            unsafe {
                greatest::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), (CUBE * RUN) as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    most.arg(),
                    part.len() as u32,
                    channels as u32,
                    (part.start % channels) as u32,
                );
            }
        })?;
    }
    g.read_one::<u32>(&most.handle, channels)
}

/// The integers, shape (channels, rows).
pub(super) fn quantise<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<f32>,
    rows: usize,
    shifts: &[i32],
) -> Result<Chunks<i32>> {
    let channels = shifts.len();
    let out = Chunks::<i32>::alloc(g, rows * channels)?;
    let shifts = In { handle: g.upload_one(shifts)?, len: channels };
    // All channels at once, or one at a time where the result lies in pieces.
    let (parts, together) = if values.is_whole() && out.is_whole() {
        (g.row_panels(rows, &[1]), channels)
    } else {
        (g.row_panels(rows, &[channels]), 1)
    };
    for part in parts {
        let view = values.view(g, part.start * channels..part.end * channels)?;
        for first in (0..channels).step_by(together) {
            let result = out.view_out(g, first * rows + part.start..(first + together - 1) * rows + part.end)?;
            g.guard("quantise", 0, || {
                // SAFETY: the kernel checks its bound, the length of the output, and reads that many rows of the view.
                unsafe {
                    integers::launch_unchecked::<R>(
                        g.client(),
                        g.grid(part.len() * together, CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        shifts.arg(),
                        result.arg(),
                        part.len() as u32,
                        (part.len() * together) as u32,
                        channels as u32,
                        first as u32,
                    );
                }
            })?;
            out.commit(g, result)?;
        }
    }
    Ok(out)
}

/// `most[c]` becomes the greatest magnitude of channel c; values are bound by their bits, so that no load can change one.
#[cube(launch_unchecked)]
fn greatest(values: &Array<u32>, most: &mut Array<Atomic<u32>>, n: u32, channels: u32, channel: u32) {
    let own = SharedMemory::<Atomic<u32>>::new(comptime!(MAX_CHANNELS));
    let unit = UNIT_POS;
    if unit < comptime!(MAX_CHANNELS as u32) {
        own[unit as usize].store(0u32);
    }
    sync_cube();
    let first = CUBE_POS as u32 * comptime!(CUBE * RUN) + unit;
    for e in 0u32..comptime!(RUN) {
        let i = first + e * comptime!(CUBE);
        if i < n {
            let m = bits(canon(from_bits(values[i as usize]))) & 0x7fff_ffffu32;
            own[((i + channel) % channels) as usize].fetch_max(m);
        }
    }
    sync_cube();
    if unit < channels {
        most[unit as usize].fetch_max(own[unit as usize].load());
    }
}

/// `out[k][r]` becomes the integer of row r and channel `first` + k.
#[cube(launch_unchecked)]
fn integers(
    values: &Array<u32>,
    shifts: &Array<i32>,
    out: &mut Array<u32>,
    rows: u32,
    n: u32,
    channels: u32,
    first: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let c = first + i / rows;
        let v = canon(from_bits(values[((i % rows) * channels + c) as usize]));
        let q = f32_to_fixed(v, shifts[c as usize]);
        // Below 2^30 in magnitude, so that the low word is all of it.
        out[i as usize] = select_u32(bits(v) == 0u32, 0u32, q.lo);
    }
}
