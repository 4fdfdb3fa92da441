//! The specification of `matmul`: every cell by itself.

use super::Layout;
use super::Place;
use super::strided::shapes;
use crate::contraction::{Term, cell};

/// `batch` products, each m x n, row-major, of dense operands.
pub(crate) fn matmul(layout: Layout, a: &[f32], b: &[f32], dims: [usize; 4]) -> Vec<f32> {
    strided(layout, [a, b], shapes(layout, dims).map(Place::dense), dims)
}

/// The same of operands at these places.
pub(crate) fn strided(
    layout: Layout,
    [a, b]: [&[f32]; 2],
    [pa, pb]: [Place; 2],
    [batch, m, n, k]: [usize; 4],
) -> Vec<f32> {
    let mut out = Vec::with_capacity(batch * m * n);
    for item in 0..batch {
        let (a_start, b_start) = (pa.start + item * pa.item, pb.start + item * pb.item);
        for row in 0..m {
            for col in 0..n {
                out.push(cell(
                    Term::Product,
                    k,
                    |i| match layout {
                        Layout::NN | Layout::NT => a[a_start + row * pa.row + i],
                        Layout::TN => a[a_start + i * pa.row + row],
                    },
                    |i| match layout {
                        Layout::NN | Layout::TN => b[b_start + i * pb.row + col],
                        Layout::NT => b[b_start + col * pb.row + i],
                    },
                ));
            }
        }
    }
    out
}
