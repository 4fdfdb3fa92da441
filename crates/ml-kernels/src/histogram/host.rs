//! The host: tables per thread while they are small, one shared table otherwise.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

/// Entries a thread should have at least.
const MIN_BLOCK: usize = 1 << 15;

/// Tables side by side in one thread, so that runs of one bin do not wait for their own last addition.
const COPIES: usize = 4;

/// Most bins with such copies: all of them stay in the first cache level.
const COPIED_BINS: usize = 1 << 11;

/// The counts, or the position of the first entry out of bounds.
pub(super) fn count(bins: &[u32], n_bins: usize) -> Result<Vec<u32>, usize> {
    let blocks = rayon::current_num_threads().min(bins.len().div_ceil(MIN_BLOCK)).max(1);
    let block_len = bins.len().div_ceil(blocks).max(1);
    let bad = |block: usize, at: usize| block * block_len + at;
    // Adding up the tables costs `blocks * n_bins`.
    if blocks == 1 || n_bins <= bins.len() / (4 * blocks) {
        let tables: Vec<Result<Vec<u32>, usize>> = bins
            .par_chunks(block_len)
            .enumerate()
            .map(|(b, block)| {
                let table =
                    if n_bins <= COPIED_BINS { count_copied(block, n_bins) } else { count_plain(block, n_bins) };
                table.map_err(|at| bad(b, at))
            })
            .collect();
        let mut counts = vec![0; n_bins];
        for table in tables {
            counts.iter_mut().zip(table?).for_each(|(c, t)| *c += t);
        }
        return Ok(counts);
    }
    let counts: Vec<AtomicU32> = (0..n_bins).into_par_iter().with_min_len(4096).map(|_| AtomicU32::new(0)).collect();
    let first_bad = bins
        .par_chunks(block_len)
        .enumerate()
        .filter_map(|(b, block)| {
            let at = block.iter().position(|&bin| match counts.get(bin as usize) {
                Some(count) => {
                    count.fetch_add(1, Relaxed);
                    false
                }
                None => true,
            });
            at.map(|at| bad(b, at))
        })
        .min();
    match first_bad {
        Some(position) => Err(position),
        None => Ok(counts.into_par_iter().with_min_len(4096).map(AtomicU32::into_inner).collect()),
    }
}

fn count_plain(block: &[u32], n_bins: usize) -> Result<Vec<u32>, usize> {
    let mut counts = vec![0; n_bins];
    for (i, &bin) in block.iter().enumerate() {
        match counts.get_mut(bin as usize) {
            Some(count) => *count += 1,
            None => return Err(i),
        }
    }
    Ok(counts)
}

fn count_copied(block: &[u32], n_bins: usize) -> Result<Vec<u32>, usize> {
    // Entries out of bounds meet one bin more than there are, so that the loop never leaves.
    let width = n_bins + 1;
    let mut tables = vec![0u32; COPIES * width];
    let (t0, rest) = tables.split_at_mut(width);
    let (t1, rest) = rest.split_at_mut(width);
    let (t2, t3) = rest.split_at_mut(width);
    let clamp = |bin: u32| (bin as usize).min(n_bins);
    let mut fours = block.chunks_exact(COPIES);
    for four in &mut fours {
        t0[clamp(four[0])] += 1;
        t1[clamp(four[1])] += 1;
        t2[clamp(four[2])] += 1;
        t3[clamp(four[3])] += 1;
    }
    fours.remainder().iter().for_each(|&bin| t0[clamp(bin)] += 1);
    let mut counts: Vec<u32> = (0..width).map(|i| t0[i] + t1[i] + t2[i] + t3[i]).collect();
    if counts.pop() != Some(0)
        && let Some(at) = block.iter().position(|&bin| bin as usize >= n_bins)
    {
        return Err(at);
    }
    Ok(counts)
}
