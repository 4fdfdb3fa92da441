//! The specification of sums of segments: the sum of each list alone.

use super::super::sums::reference_sum;

pub(super) fn segment_sums(x: &[f32], offsets: &[u32]) -> Vec<f32> {
    (1..offsets.len()).map(|s| reference_sum(&x[offsets[s - 1] as usize..offsets[s] as usize])).collect()
}
