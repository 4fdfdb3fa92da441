//! The specification of `quantise`, clause `tree-sums`: one value after another.

use super::shift;
use crate::num::{bits, canon, f32_to_fixed};

/// The shifts of the channels and the integers, shape (rows, channels); values are finite.
pub(crate) fn quantise(values: &[f32], channels: usize, shared: usize) -> (Vec<i32>, Vec<i32>) {
    let mut largest = vec![0u32; channels];
    for (at, v) in values.iter().enumerate() {
        let c = at % channels;
        largest[c] = largest[c].max(bits(canon(*v)) & 0x7fff_ffff);
    }
    let common = largest[..shared].iter().copied().max().unwrap_or(0);
    largest[..shared].fill(common);
    let shifts: Vec<i32> = largest.into_iter().map(|l| shift(l).expect("the values are finite")).collect();
    let q = values.iter().enumerate().map(|(at, v)| f32_to_fixed(canon(*v), shifts[at % channels]).to_i64() as i32);
    let q = q.collect();
    (shifts, q)
}
