//! The specification: positions sorted by (key, position).

use crate::num::key;

pub(super) fn sort(keys: &[u32], values: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&i| (keys[i], i));
    (order.iter().map(|&i| keys[i]).collect(), order.iter().map(|&i| values[i]).collect())
}

pub(super) fn argsort(x: &[f32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..x.len() as u32).collect();
    order.sort_unstable_by_key(|&i| (key(x[i as usize]), i));
    order
}
