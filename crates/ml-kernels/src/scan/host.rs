//! The host: sums of blocks in parallel, then each block from the sum of the blocks before it.

use rayon::prelude::*;

/// Elements of a block.
const BLOCK: usize = 1 << 16;

pub(super) fn exclusive_scan(x: &[u32]) -> (Vec<u32>, u32) {
    let mut starts: Vec<u32> =
        x.par_chunks(BLOCK).map(|block| block.iter().fold(0u32, |sum, &v| sum.wrapping_add(v))).collect();
    let mut total = 0u32;
    for start in &mut starts {
        let sum = *start;
        *start = total;
        total = total.wrapping_add(sum);
    }
    let mut before = vec![0u32; x.len()];
    before.par_chunks_mut(BLOCK).zip(x.par_chunks(BLOCK)).zip(starts).for_each(|((before, x), start)| {
        let mut sum = start;
        for (b, &v) in before.iter_mut().zip(x) {
            *b = sum;
            sum = sum.wrapping_add(v);
        }
    });
    (before, total)
}
