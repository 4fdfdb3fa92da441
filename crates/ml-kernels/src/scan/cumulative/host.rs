//! The host: the totals of all chunks in parallel, what comes before each of them, then each chunk from there.

use multiversion::multiversion;
use rayon::prelude::*;

use super::reference::sums_before;
use super::{CHUNK, RUN};
use crate::memory;
use crate::num::canon;
use crate::sabotage::Arm;

/// Chunks of a task.
const TASK: usize = 64;

/// Runs that are added side by side.
const WIDTH: usize = 16;

pub(super) fn cumulative_sums(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    let mut out = memory::zeros(x.len());
    let task = match arm {
        Arm::KeepSubnormals => chunks_kept,
        Arm::SerialLanes => chunks_carried_on,
        _ => chunks_flushed,
    };
    let totals = match arm {
        Arm::KeepSubnormals => totals_kept,
        _ => totals_flushed,
    };
    if cols <= TASK * CHUNK {
        let together = (TASK * CHUNK / cols).clamp(1, rows);
        out.par_chunks_mut(together * cols).zip(x.par_chunks(together * cols)).for_each(|(out, x)| {
            for (out, x) in out.chunks_mut(cols).zip(x.chunks(cols)) {
                if cols > CHUNK {
                    task(x, &sums_before(&totals(x)), out);
                } else {
                    task(x, &[0.0], out);
                }
            }
        });
        return out;
    }
    for (out, x) in out.chunks_mut(cols).zip(x.chunks(cols)) {
        let parts: Vec<Vec<f32>> = x.par_chunks(TASK * CHUNK).map(totals).collect();
        let before = sums_before(&parts.concat());
        let parts = out.par_chunks_mut(TASK * CHUNK).zip(x.par_chunks(TASK * CHUNK)).zip(before.par_chunks(TASK));
        parts.for_each(|((out, x), before)| task(x, before, out));
    }
    out
}

#[multiversion(targets = "simd")]
fn totals_flushed(x: &[f32]) -> Vec<f32> {
    totals_loop::<true>(x)
}

#[multiversion(targets = "simd")]
fn totals_kept(x: &[f32]) -> Vec<f32> {
    totals_loop::<false>(x)
}

#[multiversion(targets = "simd")]
fn chunks_flushed(x: &[f32], before: &[f32], out: &mut [f32]) {
    chunks_loop::<true, false>(x, before, out);
}

#[multiversion(targets = "simd")]
fn chunks_kept(x: &[f32], before: &[f32], out: &mut [f32]) {
    chunks_loop::<false, false>(x, before, out);
}

#[multiversion(targets = "simd")]
fn chunks_carried_on(x: &[f32], before: &[f32], out: &mut [f32]) {
    chunks_loop::<true, true>(x, before, out);
}

/// `a + b`, canonical unless the arm keeps subnormals.
#[inline(always)]
fn plus<const FLUSH: bool>(a: f32, b: f32) -> f32 {
    let sum = a + b;
    if FLUSH { canon(sum) } else { sum }
}

/// The sum of each chunk.
#[inline(always)]
fn totals_loop<const FLUSH: bool>(x: &[f32]) -> Vec<f32> {
    let total = |chunk: &[f32]| {
        let mut runs = [0.0f32; RUN];
        for (runs, part) in runs.chunks_mut(WIDTH).zip(chunk.chunks(WIDTH * RUN)) {
            if part.len() == WIDTH * RUN {
                for i in 0..RUN {
                    for (r, sum) in runs.iter_mut().enumerate() {
                        *sum = plus::<FLUSH>(*sum, part[r * RUN + i]);
                    }
                }
            } else {
                for (sum, run) in runs.iter_mut().zip(part.chunks(RUN)) {
                    *sum = run.iter().fold(0.0, |sum, value| plus::<FLUSH>(sum, *value));
                }
            }
        }
        runs.iter().fold(0.0, |sum, run| plus::<FLUSH>(sum, *run))
    };
    x.chunks(CHUNK).map(total).collect()
}

/// The cumulative sums of the chunks of `x`, before each of which there is a sum. Where `ON`, runs are carried on from what
/// is before them instead of being begun anew.
#[inline(always)]
fn chunks_loop<const FLUSH: bool, const ON: bool>(x: &[f32], before: &[f32], out: &mut [f32]) {
    for ((x, out), &start) in x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).zip(before) {
        for (x, out) in x.chunks(WIDTH * RUN).zip(out.chunks_mut(WIDTH * RUN)) {
            if x.len() == WIDTH * RUN {
                let mut sums = [0.0f32; WIDTH];
                for i in 0..RUN {
                    for (r, sum) in sums.iter_mut().enumerate() {
                        *sum = plus::<FLUSH>(*sum, x[r * RUN + i]);
                        out[r * RUN + i] = *sum;
                    }
                }
            } else {
                for (x, out) in x.chunks(RUN).zip(out.chunks_mut(RUN)) {
                    let mut sum = 0.0f32;
                    for (value, out) in x.iter().zip(out) {
                        sum = plus::<FLUSH>(sum, *value);
                        *out = sum;
                    }
                }
            }
        }
        let mut runs = 0.0f32;
        for (x, out) in x.chunks(RUN).zip(out.chunks_mut(RUN)) {
            let (mut sum, total) = (plus::<FLUSH>(start, runs), out[out.len() - 1]);
            for (value, out) in x.iter().zip(out) {
                if ON {
                    sum = plus::<FLUSH>(sum, *value);
                    *out = sum;
                } else {
                    *out = plus::<FLUSH>(sum, *out);
                }
            }
            runs = plus::<FLUSH>(runs, total);
        }
    }
}
