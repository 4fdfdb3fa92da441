//! The specification of the exclusive scan: a plain loop.

pub(super) fn exclusive_scan(x: &[u32]) -> (Vec<u32>, u32) {
    let mut total = 0u32;
    let mut before = Vec::new();
    for &value in x {
        before.push(total);
        total = total.wrapping_add(value);
    }
    (before, total)
}
