//! `matmul` on the host: a batch of contractions.

use rayon::prelude::*;

use super::Layout;
use crate::contraction::host::matrix;
use crate::contraction::{Rule, Side, Term};
use crate::memory;
use crate::sabotage::Arm;

/// `batch` products, each m x n, row-major.
pub(crate) fn matmul(layout: Layout, arm: Arm, a: &[f32], b: &[f32], [batch, m, n, k]: [usize; 4]) -> Vec<f32> {
    let mut out = memory::zeros(batch * m * n);
    if out.is_empty() || k == 0 {
        return out;
    }
    out.par_chunks_mut(m * n).zip(a.par_chunks(m * k)).zip(b.par_chunks(k * n)).for_each(|((out, a), b)| {
        one(layout, arm, a, b, [m, n, k], out);
    });
    out
}

fn one(layout: Layout, arm: Arm, a: &[f32], b: &[f32], [m, n, k]: [usize; 3], out: &mut [f32]) {
    let a = match layout {
        Layout::NN | Layout::NT => Side::rows(a, m, k),
        Layout::TN => Side::columns(a, m, k),
    };
    let b = match layout {
        Layout::NN | Layout::TN => Side::columns(b, n, k),
        Layout::NT => Side::rows(b, n, k),
    };
    matrix(Rule::new(Term::Product, arm), a, b, out);
}
