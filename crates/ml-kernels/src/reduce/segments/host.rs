//! The host: the chunks of all segments side by side, threads over many of them.

use rayon::prelude::*;

use super::super::sums::{CHUNK, chunk_sums};
use crate::sabotage::Arm;

/// Chunks that one task adds up.
const TASK: usize = 256;

pub(super) fn segment_sums(x: &[f32], offsets: &[u32], arm: Arm) -> Vec<f32> {
    let mut bounds: Vec<usize> = offsets.iter().map(|offset| *offset as usize).collect();
    let mut sums = level(x, &mut bounds, arm);
    while sums.len() + 1 > bounds.len() {
        sums = level(&sums, &mut bounds, arm);
    }
    sums
}

/// The chunk sums of each segment; `bounds` become those of the segments of these. An empty segment has one chunk.
fn level(x: &[f32], bounds: &mut [usize], arm: Arm) -> Vec<f32> {
    let mut chunks: Vec<&[f32]> = Vec::with_capacity(bounds.len());
    let mut start = bounds.first().copied().unwrap_or(0);
    if let Some(first) = bounds.first_mut() {
        *first = 0;
    }
    for end in bounds.iter_mut().skip(1) {
        let segment = &x[start..*end];
        start = *end;
        if segment.is_empty() {
            chunks.push(segment);
        } else {
            chunks.extend(segment.chunks(CHUNK));
        }
        *end = chunks.len();
    }
    let mut sums = vec![0.0f32; chunks.len()];
    let tasks = sums.par_chunks_mut(TASK).zip(chunks.par_chunks(TASK));
    tasks.for_each(|(sums, chunks)| chunk_sums(chunks, sums, arm));
    sums
}
