//! The host: SIMD over keys, threads over rows, parts of long rows, and tiles of columns. Keys are combined with `flip`
//! (exclusive or) so that the wanted one is the least.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::num::{key, unkey};

/// Elements that one task looks at.
const TASK: usize = 1 << 16;

/// Keys that are compared side by side.
const WIDTH: usize = 64;

/// Columns of a tile, and the rows that one task takes of it at the least.
const TILE: usize = 1024;
const ROWS: usize = 64;

pub(super) fn row_extremes(x: &[f32], rows: usize, cols: usize, flip: u32) -> Vec<f32> {
    let mut best = vec![u32::MAX; rows];
    if cols > TASK {
        for (row, best) in x.chunks(cols).zip(&mut best) {
            *best = row.par_chunks(TASK).map(|part| least(part, flip)).min().unwrap_or(u32::MAX);
        }
    } else {
        let per_task = TASK / cols;
        let tasks = best.par_chunks_mut(per_task).zip(x.par_chunks(per_task * cols));
        tasks.for_each(|(best, x)| least_of_rows(x, cols, flip, best));
    }
    best.into_iter().map(|key| unkey(key ^ flip)).collect()
}

pub(super) fn col_extremes(x: &[f32], rows: usize, cols: usize, flip: u32) -> Vec<f32> {
    let tall = (TASK / cols.min(TILE)).max(ROWS);
    let down = rows.div_ceil(tall);
    let mut best = vec![u32::MAX; cols];
    best.par_chunks_mut(TILE).enumerate().for_each(|(tile, best)| {
        let part = |block: usize| {
            let mut part = vec![u32::MAX; best.len()];
            let rows = block * tall..((block + 1) * tall).min(rows);
            least_of_columns(&x[rows.start * cols..rows.end * cols], cols, tile * TILE, flip, &mut part);
            part
        };
        let parts: Vec<Vec<u32>> = (0..down).into_par_iter().map(part).collect();
        for part in parts {
            best.iter_mut().zip(part).for_each(|(best, key)| *best = (*best).min(key));
        }
    });
    best.into_iter().map(|key| unkey(key ^ flip)).collect()
}

#[multiversion(targets = "simd")]
fn least(x: &[f32], flip: u32) -> u32 {
    least_key(x, flip)
}

#[multiversion(targets = "simd")]
fn least_of_rows(x: &[f32], cols: usize, flip: u32, best: &mut [u32]) {
    for (row, best) in x.chunks(cols).zip(best) {
        *best = least_key(row, flip);
    }
}

/// The least of each of the columns from `left` on, as many as `best` has.
#[multiversion(targets = "simd")]
fn least_of_columns(x: &[f32], cols: usize, left: usize, flip: u32, best: &mut [u32]) {
    for row in x.chunks(cols) {
        for (best, &value) in best.iter_mut().zip(&row[left..]) {
            *best = (*best).min(key(value) ^ flip);
        }
    }
}

#[inline(always)]
fn least_key(x: &[f32], flip: u32) -> u32 {
    let (steps, rest) = x.as_chunks::<WIDTH>();
    let mut least = rest.iter().map(|&value| key(value) ^ flip).fold(u32::MAX, u32::min);
    if steps.is_empty() {
        return least;
    }
    let mut lanes = [u32::MAX; WIDTH];
    for step in steps {
        for lane in 0..WIDTH {
            lanes[lane] = lanes[lane].min(key(step[lane]) ^ flip);
        }
    }
    for lane in lanes {
        least = least.min(lane);
    }
    least
}
