//! The specification of sums: plain loops.

use super::{CHUNK, LANES};
use crate::num::{Pins, add};

/// The sum of a list.
// pathway: P43
pub(crate) fn sum(x: &[f32]) -> f32 {
    let mut list: Vec<f32> = x.chunks(CHUNK).map(chunk_sum).collect();
    while list.len() > 1 {
        list = list.chunks(CHUNK).map(chunk_sum).collect();
    }
    list.first().copied().unwrap_or(0.0)
}

// pathway: P42
fn chunk_sum(chunk: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for (i, &value) in chunk.iter().enumerate() {
        lanes[i % LANES] = add(lanes[i % LANES], value, Pins::HOST);
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = add(lanes[2 * i], lanes[2 * i + 1], Pins::HOST);
        }
    }
    lanes[0]
}

pub(crate) fn row_sums(x: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows).map(|r| sum(&x[r * cols..(r + 1) * cols])).collect()
}

pub(crate) fn col_sums(x: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let column = |c: usize| -> Vec<f32> { (0..rows).map(|r| x[r * cols + c]).collect() };
    (0..cols).map(|c| sum(&column(c))).collect()
}
