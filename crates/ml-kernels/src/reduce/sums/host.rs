//! The host: SIMD over lanes, several chunks at once so that no addition waits for the one before, threads over chunks.

use multiversion::multiversion;
use rayon::prelude::*;

use super::{CHUNK, LANES};
use crate::num::canon;
use crate::sabotage::Arm;

/// Elements that one task adds up: below a second cache level, well above the cost of a task.
const TASK: usize = 1 << 16;

/// Chunks that are added side by side.
const ABREAST: usize = 4;

/// Columns of a tile whose lanes are kept together: 32 lanes of it stay in the first cache level.
const TILE: usize = 128;

pub(super) fn row_sums(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    let mut cols = cols;
    let mut sums = row_level(x, rows, cols, arm);
    while cols > CHUNK {
        cols = cols.div_ceil(CHUNK);
        sums = row_level(&sums, rows, cols, arm);
    }
    sums
}

pub(super) fn col_sums(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    let mut rows = rows;
    let mut sums = col_level(x, rows, cols, arm);
    while rows > CHUNK {
        rows = rows.div_ceil(CHUNK);
        sums = col_level(&sums, rows, cols, arm);
    }
    sums
}

/// The chunk sums of each row: (rows, cols) to (rows, ceil(cols / CHUNK)).
fn row_level(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    let chunks = cols.div_ceil(CHUNK);
    let mut out = vec![0.0f32; rows * chunks];
    let per_task = (TASK / cols.min(CHUNK)).max(1);
    let task = |(t, part): (usize, &mut [f32])| match arm {
        Arm::KeepSubnormals => rows_task_kept(x, cols, t * per_task, part),
        Arm::SerialLanes => rows_task_serial(x, cols, t * per_task, part),
        _ => rows_task(x, cols, t * per_task, part),
    };
    if out.len() <= per_task {
        task((0, &mut out));
    } else {
        out.par_chunks_mut(per_task).enumerate().for_each(task);
    }
    out
}

#[multiversion(targets = "simd")]
fn rows_task(x: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    rows_loop::<true, false>(x, cols, first, out);
}

#[multiversion(targets = "simd")]
fn rows_task_kept(x: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    rows_loop::<false, false>(x, cols, first, out);
}

#[multiversion(targets = "simd")]
fn rows_task_serial(x: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    rows_loop::<true, true>(x, cols, first, out);
}

/// Sums of the chunks `first..` of all rows' chunks counted together.
#[inline(always)]
fn rows_loop<const FLUSH: bool, const SERIAL: bool>(x: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    let chunks = cols.div_ceil(CHUNK);
    let range = |i: usize| {
        let (row, chunk) = (i / chunks, i % chunks);
        row * cols + chunk * CHUNK..row * cols + ((chunk + 1) * CHUNK).min(cols)
    };
    let mut i = 0;
    while i < out.len() {
        let parts: [_; ABREAST] = std::array::from_fn(|k| range(first + (i + k).min(out.len() - 1)));
        if i + ABREAST <= out.len() && parts.iter().all(|p| p.len() == parts[0].len()) {
            let sums = chunk_sums::<ABREAST, FLUSH, SERIAL>(parts.map(|p| &x[p]));
            out[i..i + ABREAST].copy_from_slice(&sums);
            i += ABREAST;
        } else {
            let [part, ..] = parts;
            [out[i]] = chunk_sums::<1, FLUSH, SERIAL>([&x[part]]);
            i += 1;
        }
    }
}

/// `a + b`, canonical unless the arm keeps subnormals.
#[inline(always)]
fn plus<const FLUSH: bool>(a: f32, b: f32) -> f32 {
    let s = a + b;
    if FLUSH { canon(s) } else { s }
}

/// Sums of `K` chunks of equal length.
#[inline(always)]
fn chunk_sums<const K: usize, const FLUSH: bool, const SERIAL: bool>(parts: [&[f32]; K]) -> [f32; K] {
    let mut lanes = [[0.0f32; LANES]; K];
    let steps = parts[0].len() / LANES;
    for step in 0..steps {
        for k in 0..K {
            let values = &parts[k][step * LANES..(step + 1) * LANES];
            for lane in 0..LANES {
                lanes[k][lane] = plus::<FLUSH>(lanes[k][lane], values[lane]);
            }
        }
    }
    for k in 0..K {
        for (lane, &value) in parts[k][steps * LANES..].iter().enumerate() {
            lanes[k][lane] = plus::<FLUSH>(lanes[k][lane], value);
        }
    }
    lanes.map(|l| join::<FLUSH, SERIAL>(l))
}

/// The lanes of a chunk joined.
#[inline(always)]
fn join<const FLUSH: bool, const SERIAL: bool>(lanes: [f32; LANES]) -> f32 {
    if SERIAL {
        return lanes[1..].iter().fold(lanes[0], |sum, &lane| plus::<FLUSH>(sum, lane));
    }
    let a: [f32; 16] = std::array::from_fn(|i| plus::<FLUSH>(lanes[2 * i], lanes[2 * i + 1]));
    let b: [f32; 8] = std::array::from_fn(|i| plus::<FLUSH>(a[2 * i], a[2 * i + 1]));
    let c: [f32; 4] = std::array::from_fn(|i| plus::<FLUSH>(b[2 * i], b[2 * i + 1]));
    let d: [f32; 2] = std::array::from_fn(|i| plus::<FLUSH>(c[2 * i], c[2 * i + 1]));
    plus::<FLUSH>(d[0], d[1])
}

/// The chunk sums of each column: (rows, cols) to (ceil(rows / CHUNK), cols).
fn col_level(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    let chunks = rows.div_ceil(CHUNK);
    let tiles = cols.div_ceil(TILE);
    let sums: Vec<Vec<f32>> = (0..chunks * tiles)
        .into_par_iter()
        .map(|t| {
            let (chunk, tile) = (t / tiles, t % tiles);
            let (first, end) = (chunk * CHUNK, ((chunk + 1) * CHUNK).min(rows));
            let (left, right) = (tile * TILE, ((tile + 1) * TILE).min(cols));
            let part = &x[first * cols..end * cols];
            match arm {
                Arm::KeepSubnormals => cols_task_kept(part, cols, left, right),
                Arm::SerialLanes => cols_task_serial(part, cols, left, right),
                _ => cols_task(part, cols, left, right),
            }
        })
        .collect();
    sums.concat()
}

#[multiversion(targets = "simd")]
fn cols_task(x: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    cols_loop::<true, false>(x, cols, left, right)
}

#[multiversion(targets = "simd")]
fn cols_task_kept(x: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    cols_loop::<false, false>(x, cols, left, right)
}

#[multiversion(targets = "simd")]
fn cols_task_serial(x: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    cols_loop::<true, true>(x, cols, left, right)
}

/// Sums down the columns `left..right` of one chunk of rows `x`.
#[inline(always)]
fn cols_loop<const FLUSH: bool, const SERIAL: bool>(x: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    let width = right - left;
    let mut lanes = vec![0.0f32; LANES * width];
    if width == cols {
        // A step of all lanes is one contiguous run.
        for step in x.chunks(LANES * cols) {
            for (lane, &value) in lanes.iter_mut().zip(step) {
                *lane = plus::<FLUSH>(*lane, value);
            }
        }
    } else {
        for (r, row) in x.chunks(cols).enumerate() {
            let at = (r % LANES) * width;
            for (lane, &value) in lanes[at..at + width].iter_mut().zip(&row[left..right]) {
                *lane = plus::<FLUSH>(*lane, value);
            }
        }
    }
    if SERIAL {
        let (sums, rest) = lanes.split_at_mut(width);
        for lane in rest.chunks(width) {
            for (sum, &value) in sums.iter_mut().zip(lane) {
                *sum = plus::<FLUSH>(*sum, value);
            }
        }
    } else {
        let mut half = LANES / 2;
        while half > 0 {
            for i in 0..half {
                for c in 0..width {
                    lanes[i * width + c] = plus::<FLUSH>(lanes[2 * i * width + c], lanes[(2 * i + 1) * width + c]);
                }
            }
            half /= 2;
        }
    }
    lanes.truncate(width);
    lanes
}
