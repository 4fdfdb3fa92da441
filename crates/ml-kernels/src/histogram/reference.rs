//! The specification: one entry after another.

/// The counts, or the position of the first entry out of bounds.
pub(super) fn count(bins: &[u32], n_bins: usize) -> Result<Vec<u32>, usize> {
    let mut counts = vec![0; n_bins];
    for (i, &bin) in bins.iter().enumerate() {
        if bin as usize >= n_bins {
            return Err(i);
        }
        counts[bin as usize] += 1;
    }
    Ok(counts)
}
