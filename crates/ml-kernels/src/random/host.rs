//! The host: parts of a stream on all threads, blocks of the cipher side by side in vector registers.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Stream;
use crate::num::{Limbs, Words, draw, uniform_open};

/// Words a thread makes at a time; a multiple of `4 * LANES`.
const PART: usize = 1 << 14;

/// Blocks made side by side.
const LANES: usize = 16;

/// The words from word `4 block` on.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn fill(out: &mut [u32], stream: Stream, block: u64) {
    for (group, words) in out.chunks_mut(4 * LANES).enumerate() {
        let first = block + (group * LANES) as u64;
        // One array a word, so that the lanes of the cipher are the lanes of the vectors.
        let mut lanes = [[0u32; LANES]; 4];
        for lane in 0..LANES {
            let index = Limbs::from_u64(first + lane as u64);
            let Words { w0, w1, w2, w3 } = draw(stream.seed, stream.stream, index, 0, stream.rounds);
            lanes[0][lane] = w0;
            lanes[1][lane] = w1;
            lanes[2][lane] = w2;
            lanes[3][lane] = w3;
        }
        for (i, word) in words.iter_mut().enumerate() {
            *word = lanes[i % 4][i / 4];
        }
    }
}

pub(super) fn words(n: usize, stream: Stream) -> Vec<u32> {
    let mut out = vec![0; n];
    out.par_chunks_mut(PART).enumerate().for_each(|(i, part)| fill(part, stream, (i * (PART / 4)) as u64));
    out
}

pub(super) fn uniform(n: usize, stream: Stream) -> Vec<f32> {
    let mut out = vec![0.0; n];
    out.par_chunks_mut(PART).enumerate().for_each(|(i, part)| {
        let mut words = [0; PART];
        let words = &mut words[..part.len()];
        fill(words, stream, (i * (PART / 4)) as u64);
        part.iter_mut().zip(words).for_each(|(o, w)| *o = uniform_open(*w));
    });
    out
}

/// The low key words of a permutation's indices, and the indices.
pub(super) fn low_keys(n: usize, stream: Stream) -> (Vec<u32>, Vec<u32>) {
    let mut keys = vec![0; n];
    keys.par_chunks_mut(PART / 2).enumerate().for_each(|(i, part)| {
        let mut words = [0; PART];
        fill(&mut words[..2 * part.len()], stream, (i * (PART / 4)) as u64);
        part.iter_mut().zip(words.chunks_exact(2)).for_each(|(key, pair)| *key = pair[1]);
    });
    (keys, (0..n as u32).into_par_iter().collect())
}

/// The high key words of the indices in `order`.
pub(super) fn high_keys(order: &[u32], stream: Stream) -> Vec<u32> {
    let words = words(2 * order.len(), stream);
    order.par_iter().with_min_len(4096).map(|&i| words[2 * i as usize]).collect()
}
