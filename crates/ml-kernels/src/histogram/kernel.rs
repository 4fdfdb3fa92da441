//! Devices: counters in shared memory while the bins fit there, in global memory otherwise.

use cubecl::prelude::*;
use ml_core::Result;

use super::bad_index;
use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};

/// Counters of a workgroup: all the shared memory that every runtime has.
const TABLE: u32 = 4096;

/// Most tables that share the traffic of one workgroup.
const COPIES: u32 = 16;

/// Entries of one unit.
const RUN: u32 = 64;

/// The counts; where the bins are not `known` to be in bounds, this waits to see.
pub(super) fn count<R: Runtime>(g: &Gpu<R>, bins: &Chunks<u32>, n_bins: usize, known: bool) -> Result<Chunks<u32>> {
    let out = zeroed(g, n_bins)?;
    // Holds the first position out of bounds, or all ones.
    let bad = In { handle: g.upload_one(&[u32::MAX])?, len: 1 };
    let in_shared = n_bins <= TABLE as usize && n_bins <= g.max_elements::<u32>();
    let mut parts = g.row_panels(n_bins, &[1]);
    if parts.is_empty() {
        // Without bins there is no output to go through, but entries to check.
        parts.push(0..0);
    }
    for part in parts {
        let counts = out.view_out(g, part.clone())?;
        for panel in g.row_panels(bins.len(), &[1]) {
            let (view, n) = (bins.view(g, panel.clone())?, panel.len() as u32);
            g.guard("histogram", 0, || {
                // SAFETY: both kernels read below `n` and count only below the length of the output.
                unsafe {
                    if in_shared {
                        let copies = TABLE.checked_div(n_bins as u32).map_or(1, |c| c.min(COPIES));
                        count_shared::launch_unchecked::<R>(
                            g.client(),
                            g.grid(panel.len(), (CUBE * RUN) as usize),
                            CubeDim::new_1d(CUBE),
                            view.arg(),
                            counts.arg(),
                            bad.arg(),
                            n,
                            n_bins as u32,
                            copies,
                            panel.start as u32,
                        );
                    } else {
                        count_global::launch_unchecked::<R>(
                            g.client(),
                            g.grid(panel.len(), CUBE as usize),
                            CubeDim::new_1d(CUBE),
                            view.arg(),
                            counts.arg(),
                            bad.arg(),
                            n,
                            n_bins as u32,
                            panel.start as u32,
                            part.start as u32,
                            part.len() as u32,
                        );
                    }
                }
            })?;
        }
        out.commit(g, counts)?;
    }
    if known {
        return Ok(out);
    }
    let position = g.read_one::<u32>(&bad.handle, 1)?[0] as usize;
    if position < bins.len() {
        return Err(bad_index("bins", position, read_word(g, bins, position)?, n_bins));
    }
    Ok(out)
}

/// One word of a buffer, for an error message.
pub(crate) fn read_word<R: Runtime>(g: &Gpu<R>, words: &Chunks<u32>, at: usize) -> Result<u32> {
    let view = words.view(g, at..at + 1)?;
    Ok(g.read_one::<u32>(&view.handle, 1)?[0])
}

/// `len` zeros.
// pathway: P88
pub(crate) fn zeroed<R: Runtime>(g: &Gpu<R>, len: usize) -> Result<Chunks<u32>> {
    let out = Chunks::alloc(g, len)?;
    for part in g.row_panels(len, &[1]) {
        let view = out.view_out(g, part.clone())?;
        g.guard("zeros", 0, || {
            // SAFETY: the kernel checks its bound, the length of the output.
            unsafe {
                write_zeros::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    part.len() as u32,
                );
            }
        })?;
        out.commit(g, view)?;
    }
    Ok(out)
}

#[cube(launch_unchecked)]
fn write_zeros(out: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        out[i as usize] = 0u32;
    }
}

#[cube(launch_unchecked)]
// pathway: P59
fn count_shared(
    bins: &Array<u32>,
    counts: &mut Array<Atomic<u32>>,
    bad: &mut Array<Atomic<u32>>,
    n: u32,
    n_bins: u32,
    copies: u32,
    position: u32,
) {
    let table = SharedMemory::<Atomic<u32>>::new(comptime!(TABLE as usize));
    let unit = UNIT_POS;
    for k in 0u32..comptime!(TABLE / CUBE) {
        table[(k * comptime!(CUBE) + unit) as usize].store(0u32);
    }
    sync_cube();
    let first = CUBE_POS as u32 * comptime!(CUBE * RUN) + unit;
    let copy = (unit % copies) * n_bins;
    for e in 0u32..comptime!(RUN) {
        let i = first + e * comptime!(CUBE);
        if i < n {
            let bin = bins[i as usize];
            if bin < n_bins {
                table[(copy + bin) as usize].fetch_add(1u32);
            } else {
                bad[0].fetch_min(position + i);
            }
        }
    }
    sync_cube();
    for k in 0u32..comptime!(TABLE / CUBE) {
        let bin = k * comptime!(CUBE) + unit;
        if bin < n_bins {
            let mut sum = 0u32;
            for c in 0u32..copies {
                sum += table[(c * n_bins + bin) as usize].load();
            }
            if sum != 0u32 {
                counts[bin as usize].fetch_add(sum);
            }
        }
    }
}

/// Counts the bins from `low` on for which `counts` has room (`len`).
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn count_global(
    bins: &Array<u32>,
    counts: &mut Array<Atomic<u32>>,
    bad: &mut Array<Atomic<u32>>,
    n: u32,
    n_bins: u32,
    position: u32,
    low: u32,
    len: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let bin = bins[i as usize];
        if bin < n_bins {
            // Wraps below `low`.
            let at = bin - low;
            if at < len {
                counts[at as usize].fetch_add(1u32);
            }
        } else {
            bad[0].fetch_min(position + i);
        }
    }
}
