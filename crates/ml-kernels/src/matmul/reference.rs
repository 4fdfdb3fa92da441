//! The specification of `matmul`: every cell by itself.

use super::Layout;
use crate::contraction::{Term, cell};

/// `batch` products, each m x n, row-major.
pub(crate) fn matmul(layout: Layout, a: &[f32], b: &[f32], [batch, m, n, k]: [usize; 4]) -> Vec<f32> {
    let mut out = Vec::with_capacity(batch * m * n);
    for item in 0..batch {
        let a = &a[item * m * k..(item + 1) * m * k];
        let b = &b[item * k * n..(item + 1) * k * n];
        for row in 0..m {
            for col in 0..n {
                out.push(cell(
                    Term::Product,
                    k,
                    |i| match layout {
                        Layout::NN | Layout::NT => a[row * k + i],
                        Layout::TN => a[i * m + row],
                    },
                    |i| match layout {
                        Layout::NN | Layout::TN => b[i * n + col],
                        Layout::NT => b[col * k + i],
                    },
                ));
            }
        }
    }
    out
}
