//! The kernels: sums of blocks, scanned by the same means, then each block from the sum of the blocks before it.

use cubecl::prelude::*;
use ml_core::Result;

use crate::buffer::Chunks;
use crate::device::gpu::{CUBE, Gpu};
use crate::reduce::runs::runs;

/// Elements of a block; one workgroup scans it.
const BLOCK: usize = 1024;

/// Elements of a block that one unit scans.
const OWN: u32 = BLOCK as u32 / CUBE;

pub(super) fn exclusive_scan<R: Runtime>(g: &Gpu<R>, x: &Chunks<u32>) -> Result<(Chunks<u32>, u32)> {
    if x.len() == 0 {
        return Ok((Chunks::alloc(g, 0)?, 0));
    }
    let (before, total) = scan(g, x)?;
    Ok((before, total.read(g)?[0]))
}

/// Sums before each element, and the sum of all; `x` is not empty.
pub(crate) fn scan<R: Runtime>(g: &Gpu<R>, x: &Chunks<u32>) -> Result<(Chunks<u32>, Chunks<u32>)> {
    let blocks = x.len().div_ceil(BLOCK);
    let sums = Chunks::alloc(g, blocks)?;
    let runs = runs(1, x.len(), BLOCK, g.max_elements::<u32>());
    for run in &runs {
        let view = x.view(g, run.elements.clone())?;
        let result = sums.view_out(g, run.items.clone())?;
        g.guard("exclusive_scan", 0, || {
            // SAFETY: the kernel reads below `n`, the view's length, and one unit of each block below `blocks` writes.
            unsafe {
                block_sums::launch_unchecked::<R>(
                    g.client(),
                    g.grid(run.items.len(), 1),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    result.arg(),
                    run.elements.len() as u32,
                    run.items.len() as u32,
                );
            }
        })?;
        sums.commit(g, result)?;
    }
    let (starts, total) = if blocks == 1 { (Chunks::upload(g, &[0u32])?, sums) } else { scan(g, &sums)? };
    let before = Chunks::alloc(g, x.len())?;
    for run in &runs {
        let view = x.view(g, run.elements.clone())?;
        let start = starts.view(g, run.items.clone())?;
        let result = before.view_out(g, run.elements.clone())?;
        g.guard("exclusive_scan", 0, || {
            // SAFETY: the kernel reads and writes below `n`, the length of view and result, and reads the start of each
            // block below `blocks`.
            unsafe {
                scan_blocks::launch_unchecked::<R>(
                    g.client(),
                    g.grid(run.items.len(), 1),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    start.arg(),
                    result.arg(),
                    run.elements.len() as u32,
                    run.items.len() as u32,
                );
            }
        })?;
        before.commit(g, result)?;
    }
    Ok((before, total))
}

/// Each unit's value becomes the sum of the values of all units up to it; returns the unit's sum.
#[cube]
fn scan_units(value: u32, sums: &mut SharedMemory<u32>) -> u32 {
    let unit = UNIT_POS;
    let mut sum = value;
    sums[unit as usize] = sum;
    sync_cube();
    #[unroll]
    for level in 0..comptime!(CUBE.trailing_zeros()) {
        let distance = comptime!(1u32 << level);
        if unit >= distance {
            sum += sums[(unit - distance) as usize];
        }
        sync_cube();
        sums[unit as usize] = sum;
        sync_cube();
    }
    sum
}

#[cube(launch_unchecked)]
fn block_sums(x: &Array<u32>, out: &mut Array<u32>, n: u32, blocks: u32) {
    let unit = UNIT_POS;
    let block = CUBE_POS as u32;
    let mut sum = 0u32;
    #[unroll]
    for i in 0..OWN {
        let at = block * comptime!(BLOCK as u32) + i * CUBE + unit;
        if block < blocks && at < n {
            sum += x[at as usize];
        }
    }
    let mut sums = SharedMemory::<u32>::new(CUBE as usize);
    let total = scan_units(sum, &mut sums);
    if unit == CUBE - 1 && block < blocks {
        out[block as usize] = total;
    }
}

#[cube(launch_unchecked)]
// pathway: P57
fn scan_blocks(x: &Array<u32>, starts: &Array<u32>, out: &mut Array<u32>, n: u32, blocks: u32) {
    let unit = UNIT_POS;
    let block = CUBE_POS as u32;
    let first = block * comptime!(BLOCK as u32) + unit * OWN;
    let mut own = Array::<u32>::new(OWN as usize);
    let mut sum = 0u32;
    #[unroll]
    for i in 0..OWN {
        let mut value = 0u32;
        if block < blocks && first + i < n {
            value = x[(first + i) as usize];
        }
        own[i as usize] = value;
        sum += value;
    }
    let mut sums = SharedMemory::<u32>::new(CUBE as usize);
    let mut before = scan_units(sum, &mut sums) - sum;
    if block < blocks {
        before += starts[block as usize];
        #[unroll]
        for i in 0..OWN {
            if first + i < n {
                out[(first + i) as usize] = before;
            }
            before += own[i as usize];
        }
    }
}
