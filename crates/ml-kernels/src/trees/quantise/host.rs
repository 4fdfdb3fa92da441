//! The host: blocks of whole rows on all threads, each long enough for vectors whatever the number of channels is.

use ml_core::canon::canon;
use multiversion::multiversion;
use rayon::prelude::*;

use crate::memory;
use crate::scatter_add::host::scale;

/// Rows of a thread's block.
const ROWS: usize = 1 << 13;

/// Rows of a pattern: the scales of this many rows lie side by side, so that a vector meets no end of a row.
const PATTERN: usize = 16;

/// 1.5 * 2^52: what is left in the low bits after adding it is the integer nearest, ties to even.
const INTEGER: f64 = 6_755_399_441_055_744.0;

/// The bits of each channel's greatest canonical magnitude.
pub(super) fn largest(values: &[f32], channels: usize) -> Vec<u32> {
    let fold = |block: &[f32]| {
        let mut most = vec![0u32; channels * PATTERN];
        largest_into(&mut most, block);
        most
    };
    let join = |mut a: Vec<u32>, b: Vec<u32>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = b.max(*a));
        a
    };
    let lanes = values.par_chunks(ROWS * channels).map(fold).reduce(|| vec![0; channels * PATTERN], join);
    let channel = |c: usize| lanes.iter().skip(c).step_by(channels).copied().max().unwrap_or(0);
    // What canon makes zero has a magnitude of at most 2^-126.
    (0..channels).map(|c| canon(f32::from_bits(channel(c))).to_bits()).collect()
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn largest_into(most: &mut [u32], values: &[f32]) {
    for values in values.chunks(most.len()) {
        most.iter_mut().zip(values).for_each(|(m, v)| *m = (*m).max(v.to_bits() & 0x7fff_ffff));
    }
}

/// The integers, shape (rows, channels).
// pathway: P115
pub(super) fn quantise(values: &[f32], shifts: &[i32]) -> Vec<i32> {
    let channels = shifts.len();
    let scales: Vec<f64> = (0..channels * PATTERN).map(|at| scale(shifts[at % channels])).collect();
    let mut out = memory::zeros(values.len());
    let blocks = out.par_chunks_mut(ROWS * channels).zip(values.par_chunks(ROWS * channels));
    blocks.for_each(|(out, values)| quantise_into(out, values, &scales));
    out
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn quantise_into(out: &mut [i32], values: &[f32], scales: &[f64]) {
    for (out, values) in out.chunks_mut(scales.len()).zip(values.chunks(scales.len())) {
        for ((q, v), scale) in out.iter_mut().zip(values).zip(scales) {
            // The product is exact, and the sum rounds once.
            *q = (f64::from(canon(*v)) * scale + INTEGER).to_bits() as i32;
        }
    }
}
