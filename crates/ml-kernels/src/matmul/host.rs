//! `matmul` on the host: a batch of contractions.

use rayon::prelude::*;

use super::{Layout, Place};
use crate::contraction::host::matrix;
use crate::contraction::{Rule, Side, Term};
use crate::memory;
use crate::sabotage::Arm;

/// `batch` products, each m x n, row-major, of operands at these places.
pub(crate) fn matmul(
    layout: Layout,
    arm: Arm,
    [a, b]: [&[f32]; 2],
    [a_place, b_place]: [Place; 2],
    [batch, m, n, k]: [usize; 4],
) -> Vec<f32> {
    let mut out = memory::zeros(batch * m * n);
    if out.is_empty() || k == 0 {
        return out;
    }
    let (a_rows, b_rows) = (layout != Layout::TN, layout == Layout::NT);
    out.par_chunks_mut(m * n).enumerate().for_each(|(item, out)| {
        let a = side(&a[a_place.start + item * a_place.item..], a_place.row, a_rows, m, k);
        let b = side(&b[b_place.start + item * b_place.item..], b_place.row, b_rows, n, k);
        matrix(Rule::new(Term::Product, arm), a, b, out);
    });
    out
}

/// An operand whose vectors are rows in memory, or columns.
fn side(data: &[f32], row: usize, rows: bool, outer: usize, k: usize) -> Side<'_> {
    let (outer_stride, k_stride) = if rows { (row, 1) } else { (1, row) };
    Side { data, outer, k, outer_stride, k_stride }
}
