//! The host: parts of a stream on all threads, blocks of the cipher side by side in vector registers.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Stream;
use crate::num::uniform_open;
use crate::sabotage::Arm;

/// Words a thread makes at a time; a multiple of `4 * LANES`.
const PART: usize = 1 << 14;

/// Blocks made side by side.
const LANES: usize = 16;

/// The words from word `4 block` on: [`philox4x32`](fn@crate::num::philox4x32) with a loop over blocks in each round.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
// pathway: P64
fn fill(out: &mut [u32], stream: Stream, block: u64) {
    for (group, words) in out.chunks_mut(4 * LANES).enumerate() {
        let first = block + (group * LANES) as u64;
        // One array a word of the block, so that blocks lie side by side in a register.
        let (mut w0, mut w1, mut w2, mut w3) = ([0u32; LANES], [0u32; LANES], [stream.stream; LANES], [0u32; LANES]);
        for lane in 0..LANES {
            let index = first + lane as u64;
            (w0[lane], w1[lane]) = (index as u32, (index >> 32) as u32);
        }
        let (mut key0, mut key1) = (stream.seed.lo, stream.seed.hi);
        for _ in 0..stream.rounds {
            for lane in 0..LANES {
                let p = u64::from(w0[lane]) * 0xd251_1f53;
                let q = u64::from(w2[lane]) * 0xcd9e_8d57;
                w0[lane] = (q >> 32) as u32 ^ w1[lane] ^ key0;
                w1[lane] = q as u32;
                w2[lane] = (p >> 32) as u32 ^ w3[lane] ^ key1;
                w3[lane] = p as u32;
            }
            key0 = key0.wrapping_add(0x9e37_79b9);
            key1 = key1.wrapping_add(0xbb67_ae85);
        }
        if let Some(words) = words.as_mut_array::<{ 4 * LANES }>() {
            for lane in 0..LANES {
                words[4 * lane] = w0[lane];
                words[4 * lane + 1] = w1[lane];
                words[4 * lane + 2] = w2[lane];
                words[4 * lane + 3] = w3[lane];
            }
        } else {
            let lanes = [w0, w1, w2, w3];
            words.iter_mut().enumerate().for_each(|(i, word)| *word = lanes[i % 4][i / 4]);
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

/// The order of the high key words, repaired where they are equal: that happens to one index in `2^33 / n`.
// pathway: P65
pub(super) fn permutation(n: usize, stream: Stream) -> Vec<u32> {
    let mut high = vec![0; n];
    high.par_chunks_mut(PART / 2).enumerate().for_each(|(i, part)| {
        let mut words = [0; PART];
        fill(&mut words[..2 * part.len()], stream, (i * (PART / 4)) as u64);
        part.iter_mut().zip(words.chunks_exact(2)).for_each(|(key, pair)| *key = pair[0]);
    });
    let index: Vec<u32> = (0..n as u32).into_par_iter().collect();
    let (high, mut order) = crate::sort::host::sort(&high, &index, Arm::None);
    let low = |i: u32| stream.block(u64::from(i / 2))[(i % 2 * 2 + 1) as usize];
    let mut at = 0;
    while at + 1 < n {
        if high[at] != high[at + 1] {
            at += 1;
            continue;
        }
        let end = at + high[at..].iter().take_while(|key| **key == high[at]).count();
        order[at..end].sort_unstable_by_key(|&i| (low(i), i));
        at = end;
    }
    order
}
