//! The specification: one value after another.

use super::scalar::{finish, fixed, magnitude};
use super::{Shape, shift};
use crate::num::Limbs;

/// The sums; values are finite and indices below the number of groups.
pub(crate) fn sum(values: &[f32], indices: &[u32], shape: Shape) -> Vec<f32> {
    let mut largest = 0;
    for &v in values {
        largest = largest.max(magnitude(v));
    }
    let shift = shift(largest, shape.rows).expect("the values are finite");
    let mut sums = vec![0i64; shape.cells];
    for row in 0..shape.rows {
        for col in 0..shape.cols {
            let cell = indices[row] as usize * shape.cols + col;
            sums[cell] += fixed(values[row * shape.cols + col], shift).to_i64();
        }
    }
    sums.into_iter().map(|s| finish(Limbs::from_i64(s), -shift)).collect()
}
