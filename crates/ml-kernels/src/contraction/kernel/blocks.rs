//! Rectangles of a matrix that lies in pieces: cut out, padded, and put back.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};

/// A rectangle on the device, row-major, `stride` elements from row to row; what lies beyond the rectangle's width is +0.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) data: In,
    pub(super) stride: usize,
}

/// The rectangle `rows` x `cols` of a matrix whose first element is element `start` of `from` and whose rows are `step`
/// elements apart; its own rows are padded to a multiple of `align` elements. It is a view where it can be, else a copy; it
/// must fit one binding.
// pathway: P114
pub(super) fn cut<R: Runtime>(
    g: &Gpu<R>,
    from: &Chunks<f32>,
    start: usize,
    step: usize,
    rows: Range<usize>,
    cols: Range<usize>,
    align: usize,
) -> Result<Block> {
    let whole = cols == (0..step);
    if whole && step.is_multiple_of(align) {
        let data = from.view(g, start + rows.start * step..start + rows.end * step)?;
        return Ok(Block { data, stride: step });
    }
    let stride = cols.len().next_multiple_of(align);
    let len = rows.len() * stride;
    let handle = g.alloc_one::<f32>(len)?;
    if cols.is_empty() {
        return Ok(Block { data: In { handle, len }, stride });
    }
    let limit = g.max_elements::<f32>();
    // As many rows as fit a binding together; a row that does not fit is read by its own part alone.
    let fits = cols.end <= limit;
    let group = if fits { (limit - cols.end).checked_div(step).map_or(rows.len(), |more| more + 1) } else { 1 };
    for at in (0..rows.len()).step_by(group.max(1)) {
        let n = group.min(rows.len() - at);
        let first = start + (rows.start + at) * step;
        let (view, shift) = if fits {
            (from.view(g, first..first + (n - 1) * step + cols.end)?, cols.start)
        } else {
            (from.view(g, first + cols.start..first + cols.end)?, 0)
        };
        let source = Rectangle { handle: view.handle, len: view.len, start: shift, stride: step };
        let target = Rectangle { handle: handle.clone(), len, start: at * stride, stride };
        copy(g, source, target, n, cols.len(), stride)?;
    }
    Ok(Block { data: In { handle, len }, stride })
}

/// Puts a rectangle, stored without gaps, into the columns `cols` of the rows from `row` on.
pub(super) fn put<R: Runtime>(
    g: &Gpu<R>,
    block: &Handle,
    (rows, cols): (usize, Range<usize>),
    to: &Chunks<f32>,
    start: usize,
    width: usize,
) -> Result<()> {
    let n = cols.len();
    for row in 0..rows {
        let first = start + row * width;
        let out = to.view_out(g, first + cols.start..first + cols.end)?;
        let source = Rectangle { handle: block.clone(), len: rows * n, start: row * n, stride: n };
        let target = Rectangle { handle: out.handle.clone(), len: n, start: 0, stride: n };
        copy(g, source, target, 1, n, n)?;
        to.commit(g, out)?;
    }
    Ok(())
}

struct Rectangle {
    handle: Handle,
    len: usize,
    start: usize,
    stride: usize,
}

/// Copies `rows` x `cols` elements and fills each row with +0 up to `filled` elements.
fn copy<R: Runtime>(
    g: &Gpu<R>,
    source: Rectangle,
    target: Rectangle,
    rows: usize,
    cols: usize,
    filled: usize,
) -> Result<()> {
    if rows * filled == 0 {
        return Ok(());
    }
    g.guard("matmul: copy", 0, || {
        // SAFETY: the kernel's bound is `rows * filled`; both rectangles lie inside their handles, whose lengths in
        // elements are given.
        unsafe {
            copy_rectangle::launch_unchecked::<R>(
                g.client(),
                g.grid(rows * filled, CUBE as usize),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(source.handle, source.len),
                ArrayArg::from_raw_parts(target.handle, target.len),
                source.start as u32,
                source.stride as u32,
                target.start as u32,
                target.stride as u32,
                rows as u32,
                cols as u32,
                filled as u32,
            );
        }
    })
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn copy_rectangle(
    source: &Array<f32>,
    target: &mut Array<f32>,
    source_start: u32,
    source_stride: u32,
    target_start: u32,
    target_stride: u32,
    rows: u32,
    cols: u32,
    filled: u32,
) {
    let i = ABSOLUTE_POS;
    let filled = filled as usize;
    if i < rows as usize * filled {
        let row = i / filled;
        let col = i % filled;
        let mut v = 0.0f32;
        if col < cols as usize {
            v = source[source_start as usize + row * source_stride as usize + col];
        }
        target[target_start as usize + row * target_stride as usize + col] = v;
    }
}
