//! The specification: one element at a time.

use super::Stream;
use crate::num::uniform_open;

pub(super) fn words(n: usize, stream: Stream) -> Vec<u32> {
    (0..n).map(|i| stream.block(i as u64 / 4)[i % 4]).collect()
}

pub(super) fn uniform(n: usize, stream: Stream) -> Vec<f32> {
    words(n, stream).into_iter().map(uniform_open).collect()
}

pub(super) fn permutation(n: usize, stream: Stream) -> Vec<u32> {
    let words = words(2 * n, stream);
    let key = |i: u32| u64::from(words[2 * i as usize]) << 32 | u64::from(words[2 * i as usize + 1]);
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&i| (key(i), i));
    order
}
