//! The specification of QR (clause `factorisations`): plain loops over whole columns.

use crate::linalg::plain::{columns, factor};

/// Q, (m, k), and R, (k, n), of the row-major (m, n) matrix `a`.
pub(super) fn qr(a: &[f64], m: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    let k = m.min(n);
    let (columns, blocks) = factor(columns(a, m, n), m);
    let (mut q, mut r) = (vec![0.0f64; m * k], vec![0.0f64; k * n]);
    for j in 0..k {
        let sign = if columns[j][j] < 0.0 { -1.0 } else { 1.0 };
        let mut column = vec![0.0f64; m];
        column[j] = sign;
        blocks.iter().rev().for_each(|block| block.turn(&mut column));
        (0..m).for_each(|i| q[i * k + j] = column[i]);
        (j..n).for_each(|c| r[j * n + c] = sign * columns[c][j]);
    }
    (q, r)
}
