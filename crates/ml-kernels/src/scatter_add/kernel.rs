//! Devices: 64-bit sums in two words, each added to by integer atomics.
//!
//! **Any order gives the same sum.** The low word of a cell is only ever changed by `old = lo.fetch_add(q.lo)`, which
//! wraps exactly when `old + q.lo >= 2^32`, and the unit that made it wrap sees so from `old` and adds one to the high
//! word. Whatever the order of the additions, the low word ends as (sum of q.lo) mod 2^32 and wraps floor(sum of
//! q.lo / 2^32) times; the high word ends as that number plus (sum of q.hi) mod 2^32. So the two words end as
//! (sum of q) mod 2^64, and that is the sum in two's complement because |sum| <= 2^62. Tables of partial sums are added
//! to the result in the same way. Nothing reads a cell before the launch that adds to it has ended.

use cubecl::prelude::*;
use ml_core::Result;

use super::Shape;
use super::scalar::{finish, fixed, magnitude};
use crate::buffer::{Chunks, Element, In};
use crate::device::gpu::{CUBE, Gpu};
use crate::histogram::kernel::{read_word, zeroed};
use crate::num::{Limbs, Pins, add, add_wrap, add64, from_bits, select_u32};
use crate::sabotage::Arm;

/// Cells of a workgroup's table in shared memory, two words each.
const TABLE: u32 = 1024;

/// Most tables that share the traffic of one workgroup.
const COPIES: u32 = 16;

/// Values of a workgroup that has a table.
const PER_CUBE: u32 = CUBE * 64;

/// Values of one unit while the greatest is sought.
const RUN: u32 = 16;

/// The bits of the greatest magnitude of `values`, and the first row (with its index) whose group is out of bounds; of
/// none where a part is left out.
pub(super) fn check<R: Runtime>(
    g: &Gpu<R>,
    values: Option<&Chunks<f32>>,
    indices: Option<&Chunks<u32>>,
    n_groups: usize,
) -> Result<(u32, Option<(usize, u32)>)> {
    if values.is_none() && indices.is_none() {
        return Ok((0, None));
    }
    let status = In { handle: g.upload_one(&[0, u32::MAX])?, len: 2 };
    for (values, part) in panels(g, values) {
        let view = values.view(g, part.clone())?;
        g.guard("scatter_add", 0, || {
            // SAFETY: the kernel reads below its bound, the length of the view, and writes to `status[0]`.
            unsafe {
                greatest::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), (CUBE * RUN) as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    status.arg(),
                    part.len() as u32,
                );
            }
        })?;
    }
    for (indices, part) in panels(g, indices) {
        let view = indices.view(g, part.clone())?;
        g.guard("scatter_add", 0, || {
            // SAFETY: the kernel reads below its bound, the length of the view, and writes to `status[1]`.
            unsafe {
                first_bad::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    status.arg(),
                    part.len() as u32,
                    n_groups as u32,
                    part.start as u32,
                );
            }
        })?;
    }
    let status = g.read_one::<u32>(&status.handle, 2)?;
    let row = status[1] as usize;
    let bad = match indices {
        Some(indices) if row < indices.len() => Some((row, read_word(g, indices, row)?)),
        _ => None,
    };
    Ok((status[0], bad))
}

/// The panels of `chunks`, if there are any.
fn panels<'a, R: Runtime, T: Element>(
    g: &Gpu<R>,
    chunks: Option<&'a Chunks<T>>,
) -> impl Iterator<Item = (&'a Chunks<T>, std::ops::Range<usize>)> {
    chunks.into_iter().flat_map(|c| g.row_panels(c.len(), &[1]).into_iter().map(move |part| (c, part)))
}

/// The sums; every index is below the number of groups.
pub(super) fn sum<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<f32>,
    indices: &Chunks<u32>,
    shape: Shape,
    shift: i32,
    arm: Arm,
) -> Result<Chunks<f32>> {
    let out = Chunks::alloc(g, shape.cells)?;
    if arm == Arm::FloatScatter {
        fold_floats(g, values, indices, shape, &out)?;
        return Ok(out);
    }
    // Cells lie in panels that fit a binding; the values go through once for each.
    for cells in g.row_panels(shape.cells, &[1]) {
        let (lo, hi) = (zeroed(g, cells.len())?.whole(), zeroed(g, cells.len())?.whole());
        let fits = shape.n_groups <= TABLE as usize && cells.len() == shape.cells;
        if fits && shape.cols <= g.max_elements::<u32>() {
            add_in_tables(g, values, indices, shape, shift, (&lo, &hi))?;
        } else {
            add_in_place(g, values, indices, shape, shift, (&lo, &hi), cells.start)?;
        }
        let view = out.view_out(g, cells.clone())?;
        g.guard("scatter_add", 0, || {
            // SAFETY: the kernel checks its bound, the number of cells.
            unsafe {
                finish_cells::launch_unchecked::<R>(
                    g.client(),
                    g.grid(cells.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    lo.arg(),
                    hi.arg(),
                    view.arg(),
                    cells.len() as u32,
                    -shift,
                );
            }
        })?;
        out.commit(g, view)?;
    }
    Ok(out)
}

/// Adds through a table for each workgroup.
fn add_in_tables<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<f32>,
    indices: &Chunks<u32>,
    shape: Shape,
    shift: i32,
    (lo, hi): (&In, &In),
) -> Result<()> {
    let (cols, n_groups) = (shape.cols as u32, shape.n_groups as u32);
    // Columns of one table, and how many tables share its traffic.
    let width = (TABLE / n_groups).min(cols);
    let copies = (TABLE / (n_groups * width)).min(COPIES);
    let slabs = cols.div_ceil(width);
    let block_rows = (PER_CUBE / width).max(1);
    for panel in g.row_panels(shape.rows, &[shape.cols]) {
        let v = values.view(g, panel.start * shape.cols..panel.end * shape.cols)?;
        let i = indices.view(g, panel.clone())?;
        let cubes = panel.len().div_ceil(block_rows as usize) * slabs as usize;
        g.guard("scatter_add", 0, || {
            // SAFETY: the kernel reads rows below its bound and columns below `cols`, and adds only below `n_groups`.
            unsafe {
                add_tables::launch_unchecked::<R>(
                    g.client(),
                    g.grid(cubes, 1),
                    CubeDim::new_1d(CUBE),
                    v.arg(),
                    i.arg(),
                    lo.arg(),
                    hi.arg(),
                    panel.len() as u32,
                    cols,
                    n_groups,
                    width,
                    slabs,
                    copies,
                    block_rows,
                    shift,
                );
            }
        })?;
    }
    Ok(())
}

/// Adds to the cells from `low` on straight away.
fn add_in_place<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<f32>,
    indices: &Chunks<u32>,
    shape: Shape,
    shift: i32,
    (lo, hi): (&In, &In),
    low: usize,
) -> Result<()> {
    for part in g.row_panels(values.len(), &[1]) {
        let (row, col) = (part.start / shape.cols, part.start % shape.cols);
        let v = values.view(g, part.clone())?;
        let i = indices.view(g, row..part.end.div_ceil(shape.cols))?;
        g.guard("scatter_add", 0, || {
            // SAFETY: the kernel reads values below its bound and the indices of their rows, and adds only below the
            // number of cells.
            unsafe {
                add_cells::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    v.arg(),
                    i.arg(),
                    lo.arg(),
                    hi.arg(),
                    part.len() as u32,
                    shape.cols as u32,
                    col as u32,
                    low as u32,
                    lo.len as u32,
                    shift,
                );
            }
        })?;
    }
    Ok(())
}

/// What the sabotage arm does: one unit a cell, float additions in descending order of rows.
fn fold_floats<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<f32>,
    indices: &Chunks<u32>,
    shape: Shape,
    out: &Chunks<f32>,
) -> Result<()> {
    for cells in g.row_panels(shape.cells, &[1]) {
        let sums = zeroed(g, cells.len())?.whole();
        for part in g.row_panels(values.len(), &[1]).into_iter().rev() {
            let (row, col) = (part.start / shape.cols, part.start % shape.cols);
            let rows = part.end.div_ceil(shape.cols) - row;
            let v = values.view(g, part.clone())?;
            let i = indices.view(g, row..row + rows)?;
            g.guard("scatter_add", 0, || {
                // SAFETY: the kernel checks every place against the lengths it is given.
                unsafe {
                    fold_cells::launch_unchecked::<R>(
                        g.client(),
                        g.grid(cells.len(), CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        v.arg(),
                        i.arg(),
                        sums.arg(),
                        part.len() as u32,
                        rows as u32,
                        shape.cols as u32,
                        col as u32,
                        cells.start as u32,
                        cells.len() as u32,
                        Pins::HOST.nz,
                        Pins::HOST.one,
                    );
                }
            })?;
        }
        let view = out.view_out(g, cells.clone())?;
        g.guard("scatter_add", 0, || {
            // SAFETY: the kernel checks its bound, the number of cells.
            unsafe {
                copy_cells::launch_unchecked::<R>(
                    g.client(),
                    g.grid(cells.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    sums.arg(),
                    view.arg(),
                    cells.len() as u32,
                );
            }
        })?;
        out.commit(g, view)?;
    }
    Ok(())
}

/// `status[0]` becomes the greatest magnitude; values are bound by their bits, so that no load can change one.
#[cube(launch_unchecked)]
fn greatest(values: &Array<u32>, status: &mut Array<Atomic<u32>>, n: u32) {
    let most = SharedMemory::<Atomic<u32>>::new(1usize);
    let unit = UNIT_POS;
    if unit == 0u32 {
        most[0].store(0u32);
    }
    sync_cube();
    let first = CUBE_POS as u32 * comptime!(CUBE * RUN) + unit;
    let mut own = 0u32;
    #[unroll]
    for e in 0..comptime!(RUN) {
        let i = first + comptime!(e * CUBE);
        if i < n {
            let m = magnitude(from_bits(values[i as usize]));
            own = select_u32(m > own, m, own);
        }
    }
    most[0].fetch_max(own);
    sync_cube();
    if unit == 0u32 {
        status[0].fetch_max(most[0].load());
    }
}

/// `status[1]` becomes the first position whose group is out of bounds.
#[cube(launch_unchecked)]
fn first_bad(indices: &Array<u32>, status: &mut Array<Atomic<u32>>, n: u32, n_groups: u32, position: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n && indices[i as usize] >= n_groups {
        status[1].fetch_min(position + i);
    }
}

/// What the high word gains when the low word held `old` before it gained `q.lo`.
#[cube]
fn upper(q: Limbs, old: u32) -> u32 {
    let sum = add_wrap(old, q.lo);
    add_wrap(q.hi, select_u32(sum < old, 1u32, 0u32))
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
// pathway: P47
fn add_cells(
    values: &Array<u32>,
    indices: &Array<u32>,
    lo: &mut Array<Atomic<u32>>,
    hi: &mut Array<Atomic<u32>>,
    n: u32,
    cols: u32,
    col: u32,
    low: u32,
    len: u32,
    shift: i32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let at = col + i;
        // Wraps below `low`.
        let cell = indices[(at / cols) as usize] * cols + at % cols - low;
        if cell < len {
            let q = fixed(from_bits(values[i as usize]), shift);
            let old = lo[cell as usize].fetch_add(q.lo);
            let up = upper(q, old);
            if up != 0u32 {
                hi[cell as usize].fetch_add(up);
            }
        }
    }
}

/// A workgroup takes `block_rows` rows of one of `slabs` times `width` columns into a table of (group, column);
/// `copies` of the table lie side by side.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn add_tables(
    values: &Array<u32>,
    indices: &Array<u32>,
    lo: &mut Array<Atomic<u32>>,
    hi: &mut Array<Atomic<u32>>,
    rows: u32,
    cols: u32,
    n_groups: u32,
    width: u32,
    slabs: u32,
    copies: u32,
    block_rows: u32,
    shift: i32,
) {
    let table_lo = SharedMemory::<Atomic<u32>>::new(comptime!(TABLE as usize));
    let table_hi = SharedMemory::<Atomic<u32>>::new(comptime!(TABLE as usize));
    let unit = UNIT_POS;
    // Two loops: CubeCL's optimiser of SPIR-V keeps one of two atomic stores of the same value in one block of code.
    for k in 0u32..comptime!(TABLE / CUBE) {
        table_lo[(k * comptime!(CUBE) + unit) as usize].store(0u32);
    }
    for k in 0u32..comptime!(TABLE / CUBE) {
        table_hi[(k * comptime!(CUBE) + unit) as usize].store(0u32);
    }
    sync_cube();
    let first_col = (CUBE_POS as u32 % slabs) * width;
    let first_row = (CUBE_POS as u32 / slabs) * block_rows;
    let copy = (unit % copies) * n_groups * width;
    for e in 0u32..(block_rows * width + comptime!(CUBE - 1)) / comptime!(CUBE) {
        let i = e * comptime!(CUBE) + unit;
        let row = first_row + i / width;
        let offset = i % width;
        let col = first_col + offset;
        if i < block_rows * width && row < rows && col < cols {
            let group = indices[row as usize];
            if group < n_groups {
                let q = fixed(from_bits(values[(row * cols + col) as usize]), shift);
                let cell = copy + group * width + offset;
                let old = table_lo[cell as usize].fetch_add(q.lo);
                let up = upper(q, old);
                if up != 0u32 {
                    table_hi[cell as usize].fetch_add(up);
                }
            }
        }
    }
    sync_cube();
    let table = n_groups * width;
    for k in 0u32..comptime!(TABLE / CUBE) {
        let at = k * comptime!(CUBE) + unit;
        let col = first_col + at % width;
        if at < table && col < cols {
            let mut sum_hi = 0u32;
            let mut sum_lo = 0u32;
            for c in 0u32..copies {
                let from = (c * table + at) as usize;
                let own = Limbs { hi: table_hi[from].load(), lo: table_lo[from].load() };
                let sum = add64(Limbs { hi: sum_hi, lo: sum_lo }, own);
                sum_hi = sum.hi;
                sum_lo = sum.lo;
            }
            let cell = ((at / width) * cols + col) as usize;
            if (sum_lo | sum_hi) != 0u32 {
                let old = lo[cell].fetch_add(sum_lo);
                let up = upper(Limbs { hi: sum_hi, lo: sum_lo }, old);
                if up != 0u32 {
                    hi[cell].fetch_add(up);
                }
            }
        }
    }
}

#[cube(launch_unchecked)]
fn finish_cells(lo: &Array<u32>, hi: &Array<u32>, out: &mut Array<f32>, n: u32, unshift: i32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        out[i as usize] = finish(Limbs { hi: hi[i as usize], lo: lo[i as usize] }, unshift);
    }
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn fold_cells(
    values: &Array<f32>,
    indices: &Array<u32>,
    sums: &mut Array<f32>,
    n: u32,
    rows: u32,
    cols: u32,
    col: u32,
    low: u32,
    len: u32,
    nz: f32,
    one: f32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < len {
        let p = Pins { nz, one };
        let group = (low + i) / cols;
        let own_col = (low + i) % cols;
        let mut sum = sums[i as usize];
        for r in 0u32..rows {
            let row = rows - 1u32 - r;
            // Wraps for the part of the first row that lies before these values.
            let at = row * cols + own_col - col;
            if at < n && indices[row as usize] == group {
                sum = add(sum, values[at as usize], p);
            }
        }
        sums[i as usize] = sum;
    }
}

#[cube(launch_unchecked)]
fn copy_cells(sums: &Array<f32>, out: &mut Array<f32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        out[i as usize] = sums[i as usize];
    }
}
