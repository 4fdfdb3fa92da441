//! The host: all channels of a cell in one addition, a few columns at a time so that their cells stay in the first cache,
//! rows in blocks so that their bins stay in the second.

use std::ops::Range;

use ml_core::{DeviceError, Result};
use rayon::prelude::*;

use super::Shape;
use crate::memory;
use crate::sabotage::Arm;
use crate::trees::bins::Store;

/// Columns that are added to together: their cells, 256 bins of two channels, fill half of a first cache.
const TOGETHER: usize = 4;

/// Rows of a block.
const BLOCK: usize = 1 << 9;

/// Least columns of a task that takes some of a node's columns, so that tasks share few cache lines of bins.
const WIDTH: usize = 16;

/// Least rows of a task that takes some of a node's rows.
const ROWS: usize = 1 << 12;

/// Bins times rows from which on a node is worth more than one task.
const LARGE: usize = 1 << 16;

/// The sums of nodes, each given by its rows.
pub(super) fn histograms(bins: &Store, values: &[i32], nodes: &[&[u32]], shape: Shape, arm: Arm) -> Result<Vec<i64>> {
    match bins {
        Store::Bytes(bins) => Ok(of_nodes(bins, values, nodes, shape, arm)),
        Store::Halves(bins) => Ok(of_nodes(bins, values, nodes, shape, arm)),
        #[cfg(feature = "gpu")]
        Store::Words(bins) => {
            let (found, expected) = (bins.device().name().to_owned(), "host".to_owned());
            Err(DeviceError::WrongDevice { what: "bins", found, expected }.into())
        }
        #[cfg(not(feature = "gpu"))]
        #[allow(unreachable_patterns, reason = "names the error as used in host-only builds")]
        _ => Err(DeviceError::WrongDevice { what: "bins", found: String::new(), expected: String::new() }.into()),
    }
}

/// A number of a bin, as it lies in memory.
trait Bin: Copy + Send + Sync {
    fn index(self) -> usize;
}

impl Bin for u8 {
    fn index(self) -> usize {
        usize::from(self)
    }
}

impl Bin for u16 {
    fn index(self) -> usize {
        usize::from(self)
    }
}

/// Some columns of some rows of a node, and where their sums go.
struct Task<'a> {
    rows: &'a [u32],
    cols: Range<usize>,
    sums: &'a mut [i64],
}

fn of_nodes<B: Bin>(bins: &[B], values: &[i32], nodes: &[&[u32]], shape: Shape, arm: Arm) -> Vec<i64> {
    let cells = shape.cells();
    let mut sums: Vec<i64> = memory::zeros(nodes.len() * cells);
    if cells == 0 {
        return sums;
    }
    let threads = rayon::current_num_threads();
    let by_columns = shape.cols >= WIDTH * threads;
    let is_large = |rows: &[u32]| threads > 1 && rows.len() * shape.cols > LARGE;
    let parts = |rows: &[u32]| {
        let few = is_large(rows) && !by_columns;
        if few { threads.min(rows.len() / ROWS).max(1) } else { 1 }
    };
    // Tables of all parts of a node's rows but the first.
    let extra: usize = nodes.iter().map(|rows| parts(rows) - 1).sum();
    let mut tables: Vec<i64> = memory::zeros(extra * cells);
    let mut tasks = Vec::new();
    let mut spare = tables.chunks_exact_mut(cells);
    for (rows, sums) in nodes.iter().zip(sums.chunks_exact_mut(cells)) {
        if by_columns && is_large(rows) {
            let width = shape.cols.div_ceil(2 * threads).max(WIDTH);
            let mut rest = sums;
            for from in (0..shape.cols).step_by(width) {
                let cols = from..(from + width).min(shape.cols);
                let len = (shape.starts[cols.end] - shape.starts[cols.start]) * shape.channels;
                let (sums, after) = rest.split_at_mut(len);
                tasks.push(Task { rows, cols, sums });
                rest = after;
            }
        } else {
            let mut pieces = rows.chunks(rows.len().div_ceil(parts(rows)).max(1));
            tasks.push(Task { rows: pieces.next().unwrap_or(&[]), cols: 0..shape.cols, sums });
            for (rows, sums) in pieces.zip(&mut spare) {
                tasks.push(Task { rows, cols: 0..shape.cols, sums });
            }
        }
    }
    let add = |task: Task| match (arm, shape.channels) {
        (Arm::FloatScatter, _) => add_floats(bins, values, shape, task),
        (_, 1) => add_rows::<B, 1>(bins, values, shape, task),
        (_, 2) => add_rows::<B, 2>(bins, values, shape, task),
        (_, 3) => add_rows::<B, 3>(bins, values, shape, task),
        (_, 4) => add_rows::<B, 4>(bins, values, shape, task),
        _ => add_many(bins, values, shape, task),
    };
    match tasks.len() {
        1 => tasks.into_iter().for_each(add),
        _ => tasks.into_par_iter().with_max_len(1).for_each(add),
    }
    let mut spare = tables.chunks_exact(cells);
    for (rows, sums) in nodes.iter().zip(sums.chunks_exact_mut(cells)) {
        let pieces = rows.chunks(rows.len().div_ceil(parts(rows)).max(1)).skip(1);
        for (_, table) in pieces.zip(&mut spare) {
            sums.par_iter_mut().zip(table).with_min_len(1 << 14).for_each(|(s, t)| *s += t);
        }
    }
    sums
}

/// Adds the rows of `task`, `C` channels.
fn add_rows<B: Bin, const C: usize>(bins: &[B], values: &[i32], shape: Shape, task: Task) {
    let (sums, _) = task.sums.as_chunks_mut::<C>();
    let (values, _) = values.as_chunks::<C>();
    let start = shape.starts[task.cols.start];
    for rows in task.rows.chunks(BLOCK) {
        for from in task.cols.clone().step_by(TOGETHER) {
            let n = TOGETHER.min(task.cols.end - from);
            if n == TOGETHER {
                add_columns::<B, C, TOGETHER>(bins, values, rows, shape, from, start, sums);
            } else {
                for col in from..from + n {
                    add_columns::<B, C, 1>(bins, values, rows, shape, col, start, sums);
                }
            }
        }
    }
}

/// Adds `K` columns from `from` on; the bins of column 0 of the task start at `start`.
#[inline(always)]
fn add_columns<B: Bin, const C: usize, const K: usize>(
    bins: &[B],
    values: &[[i32; C]],
    rows: &[u32],
    shape: Shape,
    from: usize,
    start: usize,
    sums: &mut [[i64; C]],
) {
    let offsets: [usize; K] = std::array::from_fn(|k| shape.starts[from + k] - start);
    for row in rows {
        let row = *row as usize;
        let q: [i64; C] = values[row].map(i64::from);
        let at = row * shape.cols + from;
        for (bin, offset) in bins[at..at + K].iter().zip(offsets) {
            let cell = &mut sums[offset + bin.index()];
            for c in 0..C {
                cell[c] = cell[c].wrapping_add(q[c]);
            }
        }
    }
}

/// Adds the rows of `task`, any number of channels.
fn add_many<B: Bin>(bins: &[B], values: &[i32], shape: Shape, task: Task) {
    let (cols, channels) = (shape.cols, shape.channels);
    let start = shape.starts[task.cols.start];
    for row in task.rows {
        let row = *row as usize;
        let q = &values[row * channels..][..channels];
        for (col, bin) in task.cols.clone().zip(&bins[row * cols + task.cols.start..]) {
            let cell = (shape.starts[col] - start + bin.index()) * channels;
            task.sums[cell..][..channels].iter_mut().zip(q).for_each(|(s, q)| *s += i64::from(*q));
        }
    }
}

/// What the sabotage arm does: float additions in descending order of rows.
#[cold]
fn add_floats<B: Bin>(bins: &[B], values: &[i32], shape: Shape, task: Task) {
    let (cols, channels) = (shape.cols, shape.channels);
    let start = shape.starts[task.cols.start];
    let mut floats = vec![0f32; task.sums.len()];
    for row in task.rows.iter().rev() {
        let row = *row as usize;
        for (col, bin) in task.cols.clone().zip(&bins[row * cols + task.cols.start..]) {
            let cell = (shape.starts[col] - start + bin.index()) * channels;
            for c in 0..channels {
                floats[cell + c] += values[row * channels + c] as f32;
            }
        }
    }
    task.sums.iter_mut().zip(floats).for_each(|(s, f)| *s = f as i64);
}

/// `sums` of `nodes`, `cells` a node, less those of `less`, node by node.
pub(super) fn pick(sums: &[i64], cells: usize, nodes: &[u32], less: Option<&[i64]>) -> Vec<i64> {
    /// Sums of a thread's piece.
    const PIECE: usize = 1 << 13;
    let mut out: Vec<i64> = memory::zeros(nodes.len() * cells);
    if cells == 0 {
        return out;
    }
    let pieces = cells.div_ceil(PIECE);
    let mut tasks = Vec::with_capacity(nodes.len() * pieces);
    for (k, (out, node)) in out.chunks_exact_mut(cells).zip(nodes).enumerate() {
        let from = &sums[*node as usize * cells..][..cells];
        let less = less.map(|less| &less[k * cells..][..cells]);
        for (piece, out) in out.chunks_mut(PIECE).enumerate() {
            let at = piece * PIECE..piece * PIECE + out.len();
            tasks.push((out, &from[at.clone()], less.map(|less| &less[at])));
        }
    }
    tasks.into_par_iter().with_min_len(4).for_each(|(out, from, less)| match less {
        Some(less) => out.iter_mut().zip(from).zip(less).for_each(|((o, a), b)| *o = a - b),
        None => out.copy_from_slice(from),
    });
    out
}

/// The sums of the rows of each node, shape (nodes, channels).
pub(super) fn node_sums(values: &[i32], rows: &[u32], starts: &[usize], channels: usize) -> Vec<i64> {
    let of = |rows: &[u32]| {
        let mut sums = vec![0i64; channels];
        for row in rows {
            let q = &values[*row as usize * channels..][..channels];
            sums.iter_mut().zip(q).for_each(|(s, q)| *s += i64::from(*q));
        }
        sums
    };
    let join = |mut a: Vec<i64>, b: Vec<i64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    let node = |pair: &[usize]| rows[pair[0]..pair[1]].par_chunks(1 << 14).map(of).reduce(|| vec![0; channels], join);
    starts.par_windows(2).flat_map_iter(node).collect()
}
