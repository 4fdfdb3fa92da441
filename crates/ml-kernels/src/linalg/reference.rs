//! The specification of the Cholesky factorisation and its solve, clause `factor`: plain loops.

use super::Unfactorable;
use crate::contraction::{Term, cell};
use crate::num::{Pins, div, sqrt, sub};

const P: Pins = Pins::HOST;

/// `a`: (n, n), of which the lower triangle is read. Returns L: (n, n), zeros above the diagonal.
pub(super) fn cholesky(a: &[f32], n: usize) -> Result<Vec<f32>, Unfactorable> {
    let mut l = vec![0.0f32; n * n];
    for j in 0..n {
        for i in j..n {
            let s = cell(Term::Product, j, |k| l[i * n + k], |k| l[j * n + k]);
            let rest = sub(a[i * n + j], s, P);
            if i == j {
                if !super::is_pivot(rest) {
                    return Err(Unfactorable { pivot: j, value: rest });
                }
                l[j * n + j] = sqrt(rest);
            } else {
                l[i * n + j] = div(rest, l[j * n + j]);
            }
        }
    }
    Ok(l)
}

/// `l`: (n, n), lower; `b`: (n, nrhs). Returns x: (n, nrhs) with L L' x = b.
pub(super) fn solve(l: &[f32], b: &[f32], n: usize, nrhs: usize) -> Vec<f32> {
    let mut x = b.to_vec();
    for c in 0..nrhs {
        for i in 0..n {
            let s = cell(Term::Product, i, |k| l[i * n + k], |k| x[k * nrhs + c]);
            x[i * nrhs + c] = div(sub(x[i * nrhs + c], s, P), l[i * n + i]);
        }
        for i in (0..n).rev() {
            let below = i + 1;
            let s = cell(Term::Product, n - below, |k| l[(below + k) * n + i], |k| x[(below + k) * nrhs + c]);
            x[i * nrhs + c] = div(sub(x[i * nrhs + c], s, P), l[i * n + i]);
        }
    }
    x
}
