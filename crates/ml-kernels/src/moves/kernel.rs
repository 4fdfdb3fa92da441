//! The kernels of gather and scatter: one unit a word, or four words, of the result.

use cubecl::prelude::*;
use ml_core::Result;

use super::bad_index;
use crate::buffer::{Chunks, Element, In};
use crate::device::gpu::{CUBE, Gpu};

/// What an index of [`pick`] means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Meaning {
    /// The row of the table.
    Row,
    /// The row of the table, counted from 1; 0 is a row of zeros.
    RowOrNone,
}

/// The first index that is not below `bound` is an error.
// pathway: P89
pub(super) fn check<R: Runtime>(g: &Gpu<R>, indices: &Chunks<u32>, bound: usize) -> Result<()> {
    let Ok(bound) = u32::try_from(bound) else { return Ok(()) };
    if indices.len() == 0 {
        return Ok(());
    }
    let first = g.upload_one(&[u32::MAX])?;
    for part in g.row_panels(indices.len(), &[1]) {
        let view = indices.view(g, part.clone())?;
        g.guard("index check", 0, || {
            // SAFETY: unit `i` below the view's length reads element `i`; the one word of `first` is changed atomically.
            unsafe {
                first_bad::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    ArrayArg::from_raw_parts(first.clone(), 1),
                    part.len() as u32,
                    part.start as u32,
                    bound,
                );
            }
        })?;
    }
    match g.read_one::<u32>(&first, 1)?[..] {
        [position] if position != u32::MAX => {
            let position = position as usize;
            let index = g.read_one::<u32>(&indices.view(g, position..position + 1)?.handle, 1)?;
            Err(bad_index(position, index[0], bound as usize))
        }
        _ => Ok(()),
    }
}

pub(super) fn gather_rows<R: Runtime, T: Element>(
    g: &Gpu<R>,
    table: &Chunks<T>,
    indices: &Chunks<u32>,
    table_rows: usize,
    cols: usize,
) -> Result<Chunks<T>> {
    pick(g, table, indices, table_rows, cols, Meaning::Row)
}

pub(super) fn scatter_rows<R: Runtime, T: Element>(
    g: &Gpu<R>,
    source: &Chunks<T>,
    indices: &Chunks<u32>,
    out_rows: usize,
    cols: usize,
) -> Result<Chunks<T>> {
    // For each row of the result, the position that wins, counted from 1; 0 where none names the row.
    let winners = Chunks::<u32>::alloc(g, out_rows)?;
    for rows in g.row_panels(out_rows, &[1]) {
        let won = winners.view_out(g, rows.clone())?;
        g.guard("scatter_rows", 0, || {
            // SAFETY: unit `i` below the view's length writes element `i`.
            unsafe {
                clear::launch_unchecked::<R>(
                    g.client(),
                    g.grid(rows.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    won.arg(),
                    rows.len() as u32,
                );
            }
        })?;
        for part in g.row_panels(indices.len(), &[1]) {
            let view = indices.view(g, part.clone())?;
            g.guard("scatter_rows", 0, || {
                // SAFETY: unit `i` below the view's length reads element `i`, and changes a winner atomically only if its
                // row is one of those in `won`.
                unsafe {
                    win::launch_unchecked::<R>(
                        g.client(),
                        g.grid(part.len(), CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        view.arg(),
                        won.arg(),
                        part.len() as u32,
                        part.start as u32,
                        rows.start as u32,
                        rows.len() as u32,
                    );
                }
            })?;
        }
        winners.commit(g, won)?;
    }
    pick(g, source, &winners, indices.len(), cols, Meaning::RowOrNone)
}

/// For each index a row of the table, in the order of the indices, which are within their bounds.
fn pick<R: Runtime, T: Element>(
    g: &Gpu<R>,
    table: &Chunks<T>,
    indices: &Chunks<u32>,
    table_rows: usize,
    cols: usize,
    meaning: Meaning,
) -> Result<Chunks<T>> {
    let out = Chunks::alloc(g, indices.len() * cols)?;
    if cols > g.max_elements::<T>() {
        pick_wide(g, table, indices, cols, meaning, &out)?;
        return Ok(out);
    }
    if cols == 0 {
        return Ok(out);
    }
    // A table without rows still needs one pass, which writes the rows of zeros.
    let mut panels = g.row_panels(table_rows, &[cols]);
    if panels.is_empty() {
        panels.push(0..0);
    }
    for rows in g.row_panels(indices.len(), &[cols]) {
        let wanted = indices.view(g, rows.clone())?;
        let result = out.view_out(g, rows.start * cols..rows.end * cols)?;
        for panel in &panels {
            let view = table.view(g, panel.start * cols..panel.end * cols)?;
            let call = Pick { items: rows.len(), cols, first: panel.start, count: panel.len(), meaning };
            g.guard("gather_rows", 0, || call.launch(g, &view, &wanted, &result))?;
        }
        out.commit(g, result)?;
    }
    Ok(out)
}

/// Rows longer than a binding: the host reads the indices and has each row copied in strips.
fn pick_wide<R: Runtime, T: Element>(
    g: &Gpu<R>,
    table: &Chunks<T>,
    indices: &Chunks<u32>,
    cols: usize,
    meaning: Meaning,
    out: &Chunks<T>,
) -> Result<()> {
    // Row 0 of every strip, under either meaning; and the index of a row of zeros.
    let one = In { handle: g.upload_one(&[1u32])?, len: 1 };
    let none = In { handle: g.upload_one(&[0u32])?, len: 1 };
    let strip = g.max_elements::<T>();
    for (i, index) in indices.read(g)?.into_iter().enumerate() {
        let row = if meaning == Meaning::Row { Some(index as usize) } else { (index as usize).checked_sub(1) };
        for left in (0..cols).step_by(strip) {
            let width = strip.min(cols - left);
            let start = row.map_or(0, |row| row * cols + left);
            let view = table.view(g, if row.is_some() { start..start + width } else { 0..0 })?;
            let result = out.view_out(g, i * cols + left..i * cols + left + width)?;
            let wanted = if row.is_some() { &one } else { &none };
            let call = Pick { items: 1, cols: width, first: 0, count: 1, meaning: Meaning::RowOrNone };
            g.guard("gather_rows", 0, || call.launch(g, &view, wanted, &result))?;
            out.commit(g, result)?;
        }
    }
    Ok(())
}

/// One pass: of the rows that the indices name, those that lie in one panel of the table.
struct Pick {
    items: usize,
    cols: usize,
    /// First row of the panel, and how many it has.
    first: usize,
    count: usize,
    meaning: Meaning,
}

impl Pick {
    fn launch<R: Runtime>(&self, g: &Gpu<R>, table: &In, indices: &In, out: &crate::buffer::Out) {
        // An empty table is bound as one word, which is no whole vector.
        let width = if self.cols.is_multiple_of(4) && table.len > 0 { 4 } else { 1 };
        let cols = self.cols / width;
        let units = self.items * cols;
        // SAFETY: unit `i` below `units` writes vector `i` of the result, and reads the table only in rows that the panel
        // holds; rows are whole vectors.
        unsafe {
            pick_rows::launch_unchecked::<R>(
                g.client(),
                g.grid(units, CUBE as usize),
                CubeDim::new_1d(CUBE),
                width,
                table.arg_vec(width),
                indices.arg(),
                out.arg_vec(width),
                units as u32,
                cols as u32,
                self.first as u32,
                self.count as u32,
                self.meaning,
            );
        }
    }
}

#[cube(launch_unchecked)]
fn first_bad(indices: &Array<u32>, first: &mut Array<Atomic<u32>>, n: u32, start: u32, bound: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n && indices[i as usize] >= bound {
        first[0].fetch_min(start + i);
    }
}

#[cube(launch_unchecked)]
fn clear(out: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        out[i as usize] = 0u32;
    }
}

/// The highest position that names a row wins it.
#[cube(launch_unchecked)]
// pathway: P58
fn win(indices: &Array<u32>, winners: &mut Array<Atomic<u32>>, n: u32, start: u32, first: u32, count: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let row = indices[i as usize] - first;
        if row < count {
            winners[row as usize].fetch_max(start + i + 1);
        }
    }
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn pick_rows<N: Size>(
    table: &Array<Vector<u32, N>>,
    indices: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    units: u32,
    cols: u32,
    first: u32,
    count: u32,
    #[comptime] meaning: Meaning,
) {
    let i = ABSOLUTE_POS as u32;
    if i < units {
        let to = i / cols;
        let col = i - to * cols;
        let mut index = indices[to as usize];
        if comptime!(meaning == Meaning::RowOrNone) {
            if index == 0u32 && first == 0u32 {
                out[i as usize] = Vector::new(0u32);
            }
            // None becomes 2^32 - 1, which is in no panel.
            index -= 1u32;
        }
        let row = index - first;
        if row < count {
            out[i as usize] = table[(row * cols + col) as usize];
        }
    }
}
