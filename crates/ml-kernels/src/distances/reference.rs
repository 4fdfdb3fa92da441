//! The specification of distances: every pair by itself, every neighbour by a full sort.

use crate::contraction::{Term, cell};
use crate::num::order;

/// All squared distances, n x m, row-major.
// pathway: P41
pub(crate) fn squared_distances(x: &[f32], y: &[f32], [n, m, d]: [usize; 3]) -> Vec<f32> {
    let mut out = Vec::with_capacity(n * m);
    for i in 0..n {
        for j in 0..m {
            out.push(cell(Term::SquaredDifference, d, |c| x[i * d + c], |c| y[j * d + c]));
        }
    }
    out
}

/// The `k` nearest rows of `y` for each row of `x`: indices and squared distances, n x k.
pub(crate) fn k_nearest(x: &[f32], y: &[f32], dims: [usize; 3], k: usize) -> (Vec<u32>, Vec<f32>) {
    let (mut indices, mut distances) = (Vec::new(), Vec::new());
    for row in squared_distances(x, y, dims).chunks(dims[1].max(1)) {
        let mut order: Vec<u32> = (0..row.len() as u32).collect();
        order.sort_by_key(|&j| (order::key(row[j as usize]), j));
        for &j in &order[..k] {
            indices.push(j);
            distances.push(order::unkey(order::key(row[j as usize])));
        }
    }
    (indices, distances)
}
