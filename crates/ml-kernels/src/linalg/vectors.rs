//! Products of a matrix with one vector (clause `factorisations`): the steps of reductions that memory bounds.

use multiversion::multiversion;
use rayon::prelude::*;

use super::dense::{SHARED_FROM, dot};

/// Rows whose products are summed before other rows' are added: one thread's share.
pub(super) const ROWS: usize = 64;

/// Columns `from..` of the rows times `v`: [`ROWS`] rows ascending from +0, those sums ascending.
pub(super) fn transposed_product(rows: &[f64], n: usize, from: usize, v: &[f64], partial: &mut [f64], out: &mut [f64]) {
    let width = out.len();
    let shares = partial[..v.len().div_ceil(ROWS) * width].chunks_mut(width);
    let work = |((rows, v), sums): ((&[f64], &[f64]), &mut [f64])| combine_rows(rows, n, from, v, sums);
    let all = rows.chunks(ROWS * n).zip(v.chunks(ROWS)).zip(shares);
    if v.len() * width < SHARED_FROM {
        all.for_each(work);
    } else {
        all.collect::<Vec<_>>().into_par_iter().for_each(work);
    }
    out.copy_from_slice(&partial[..width]);
    for sums in partial[..v.len().div_ceil(ROWS) * width].chunks(width).skip(1) {
        out.iter_mut().zip(sums).for_each(|(out, x)| *out += x);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn combine_rows(rows: &[f64], n: usize, from: usize, v: &[f64], sums: &mut [f64]) {
    sums.fill(0.0);
    let mut fours = v.chunks_exact(4);
    let mut blocks = rows.chunks(4 * n);
    for (v, block) in fours.by_ref().zip(blocks.by_ref()) {
        let row = |i: usize| &block[i * n + from..(i + 1) * n];
        let (r0, r1, r2, r3) = (row(0), row(1), row(2), row(3));
        for ((((s, a), b), c), d) in sums.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
            *s = (((*s + v[0] * a) + v[1] * b) + v[2] * c) + v[3] * d;
        }
    }
    for (v, row) in fours.remainder().iter().zip(blocks.flat_map(|block| block.chunks(n))) {
        sums.iter_mut().zip(&row[from..]).for_each(|(s, a)| *s += v * a);
    }
}

/// The dot product of `u` with columns `from..` of each row.
pub(super) fn product(rows: &[f64], n: usize, from: usize, u: &[f64], out: &mut [f64]) {
    let work = |(rows, out): (&[f64], &mut [f64])| dot_rows(rows, n, from, u, out);
    if out.len() * u.len() < SHARED_FROM {
        rows.chunks(ROWS * n).zip(out.chunks_mut(ROWS)).for_each(work);
    } else {
        rows.par_chunks(ROWS * n).zip(out.par_chunks_mut(ROWS)).for_each(work);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn dot_rows(rows: &[f64], n: usize, from: usize, u: &[f64], out: &mut [f64]) {
    for (row, out) in rows.chunks_exact(n).zip(out) {
        *out = dot(&row[from..], u);
    }
}
