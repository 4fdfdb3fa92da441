//! The reduction step by step: every reflection reaches the whole matrix before the next is made.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Form;
use crate::linalg::dense::dot;
use crate::linalg::householder::reflector;

/// Rows that one thread takes at a time.
const ROWS: usize = 16;

/// Below this many rows a step is too short to be shared between threads.
const SHARED_FROM: usize = 160;

/// The update that the last reflection still owes to the rows below it: S - v w' - w v'.
struct Owed {
    /// Row of `s` that holds v.
    v_row: usize,
    w: Vec<f64>,
}

/// Reduces the symmetric `s`, (n, n), and leaves v(k) in row k, columns k + 1 and up.
///
/// Each step walks over the remaining rows once: it pays what the step before owes them and multiplies them by the new v.
// pathway: P82
pub(super) fn reduce(s: &mut [f64], n: usize) -> Form {
    let mut t = Form { diagonal: vec![0.0; n], off: vec![0.0; n], tau: vec![0.0; n] };
    let mut owed: Option<Owed> = None;
    let mut p = vec![0.0f64; n];
    for k in 0..n {
        let (above, below) = s.split_at_mut((k + 1) * n);
        let (done, row) = above.split_at_mut(k * n);
        if let Some(o) = &owed {
            pay(row, &done[o.v_row * n..], &o.w, k, k);
        }
        t.diagonal[k] = row[k];
        let (beta, tau) = reflector(&mut row[k + 1..]);
        (t.off[k], t.tau[k]) = (beta, tau);
        let v = &row[k + 1..];
        let before: Option<(&[f64], &[f64])> = owed.as_ref().map(|o| (&done[o.v_row * n..(o.v_row + 1) * n], &o.w[..]));
        let product = &mut p[k + 1..];
        if product.len() < SHARED_FROM {
            step(below, before, v, product, k + 1, k + 1);
        } else {
            below
                .par_chunks_mut(ROWS * n)
                .zip(product.par_chunks_mut(ROWS))
                .enumerate()
                .for_each(|(b, (rows, out))| step(rows, before, v, out, k + 1 + b * ROWS, k + 1));
        }
        owed = (tau != 0.0).then(|| {
            let scaled: Vec<f64> = product.iter().map(|x| tau * x).collect();
            let shift = 0.5 * tau * dot(v, &scaled);
            let mut w = vec![0.0f64; n];
            for (i, x) in scaled.iter().enumerate() {
                w[k + 1 + i] = x - shift * v[i];
            }
            Owed { v_row: k, w }
        });
    }
    t
}

/// Row `i` less v(i) w' + w(i) v', from column `from` on; v and w have full length.
#[inline(always)]
fn pay(row: &mut [f64], v: &[f64], w: &[f64], i: usize, from: usize) {
    let (vi, wi) = (v[i], w[i]);
    let end = row.len();
    for ((x, vj), wj) in row[from..].iter_mut().zip(&v[from..end]).zip(&w[from..end]) {
        *x -= vi * wj + wi * vj;
    }
}

/// Pays `before` to the rows, of which the first has index `first`, and multiplies each by `v` from column `from` on.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn step(rows: &mut [f64], before: Option<(&[f64], &[f64])>, v: &[f64], out: &mut [f64], first: usize, from: usize) {
    let n = from + v.len();
    for (i, (row, product)) in rows.chunks_exact_mut(n).zip(out).enumerate() {
        if let Some((v_before, w)) = before {
            pay(row, v_before, w, first + i, from);
        }
        *product = dot(&row[from..], v);
    }
}

/// Rows of `x`, in coordinates of T, in coordinates of S; `s` and `tau` as [`reduce`] left them.
pub(super) fn vectors_to_full(x: &mut [f64], s: &[f64], tau: &[f64], n: usize) {
    x.par_chunks_mut(ROWS * n).for_each(|rows| reflect_rows(rows, s, tau, n));
}

/// Applies H(0) H(1) ... to each row of `rows`; v(k) lies in row k of `s`, columns k + 1 and up.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn reflect_rows(rows: &mut [f64], s: &[f64], tau: &[f64], n: usize) {
    for k in (0..n).rev() {
        if tau[k] == 0.0 {
            continue;
        }
        let v = &s[k * n + k + 1..(k + 1) * n];
        for row in rows.chunks_exact_mut(n) {
            let row = &mut row[k + 1..];
            let amount = tau[k] * dot(row, v);
            row.iter_mut().zip(v).for_each(|(x, vj)| *x -= amount * vj);
        }
    }
}
