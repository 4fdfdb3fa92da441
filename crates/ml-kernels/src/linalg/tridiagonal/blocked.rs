//! The reduction by panels of reflections (Dongarra, Sorensen and Hammarling,
//! *J. Comput. Appl. Math.* 27, 1989): half the matrix is read once a step and written once a panel.

use multiversion::multiversion;
use rayon::prelude::*;

use super::{Form, Tridiagonal, WayBack};
use crate::linalg::dense::gemm::{Left, Part, Right, Sign, accumulate};
use crate::linalg::dense::{LANES, SHARED_FROM, View, dot, subtract_multiple};
use crate::linalg::householder::{Reflections, reflector};
use crate::linalg::vectors::ROWS;

/// Steps before the rest of the matrix is written.
const STEPS: usize = 32;

/// Reduces the symmetric (n, n) matrix whose upper triangle `s` holds.
// pathway: P131
pub(super) fn reduce(mut s: Vec<f64>, n: usize) -> Tridiagonal {
    let mut t = Form { diagonal: vec![0.0; n], off: vec![0.0; n], tau: vec![0.0; n] };
    let mut vectors = vec![0.0f64; n * n];
    let mut partial = vec![0.0f64; n.div_ceil(ROWS) * n];
    for first in (0..n).step_by(STEPS) {
        let end = n.min(first + STEPS);
        // Pairs v w' + w v' that the steps of the panel have not yet taken out of the matrix: v(0), w(0), v(1), w(1), ...
        let mut owed = vec![0.0f64; 2 * (end - first) * n];
        for k in first..end {
            let v = &mut vectors[k * n + k + 1..(k + 1) * n];
            step(&s, n, k, (&mut owed, k - first), &mut t, v, &mut partial);
        }
        if end < n {
            let depth = 2 * (end - first);
            let exchanged: Vec<f64> =
                owed.chunks_exact(2 * n).flat_map(|pair| [&pair[n..], &pair[..n]].concat()).collect();
            let left = Left::new(View::new(&owed, depth, n, n).cols(end..n).transposed());
            let right = Right::new(View::new(&exchanged, depth, n, n).cols(end..n));
            accumulate(&mut s[end * n..], n, end, (&left, &right), Sign::Minus, Part::Upper);
        }
    }
    let reflections = Reflections { vectors, tau: t.tau, lag: 1 };
    Tridiagonal { diagonal: t.diagonal, off: t.off, way_back: WayBack::Blocks(reflections) }
}

/// Step k, after `pairs` others of the panel; v(k) goes to `kept`.
fn step(
    s: &[f64],
    n: usize,
    k: usize,
    (owed, pairs): (&mut [f64], usize),
    t: &mut Form,
    kept: &mut [f64],
    partial: &mut [f64],
) {
    // Row k as it stands after the steps before.
    let mut row = s[k * n + k..(k + 1) * n].to_vec();
    for pair in owed.chunks_exact(2 * n).take(pairs) {
        let (v, w) = pair.split_at(n);
        subtract_multiple(&mut row, v[k], &w[k..]);
        subtract_multiple(&mut row, w[k], &v[k..]);
    }
    t.diagonal[k] = row[0];
    let v = &mut row[1..];
    if v.is_empty() {
        return;
    }
    let tau;
    (t.off[k], tau) = reflector(v);
    t.tau[k] = tau;
    kept.copy_from_slice(v);
    if tau == 0.0 {
        return;
    }
    // w = p - (tau p'v / 2) v with p = tau S v.
    let mut p = vec![0.0f64; v.len()];
    symmetric_product(&s[(k + 1) * n..], n, k + 1, v, partial, &mut p);
    for pair in owed.chunks_exact(2 * n).take(pairs) {
        let (a, b) = (&pair[k + 1..n], &pair[n + k + 1..]);
        let (along_a, along_b) = (dot(a, v), dot(b, v));
        subtract_multiple(&mut p, along_b, a);
        subtract_multiple(&mut p, along_a, b);
    }
    p.iter_mut().for_each(|x| *x *= tau);
    let shift = 0.5 * tau * dot(v, &p);
    subtract_multiple(&mut p, shift, v);
    let pair = &mut owed[2 * pairs * n..2 * (pairs + 1) * n];
    pair[k + 1..n].copy_from_slice(v);
    pair[n + k + 1..].copy_from_slice(&p);
}

/// The symmetric matrix whose rows, from column `from` on and from the diagonal on, are given, times `v`.
///
/// Blocks of [`ROWS`] rows give a sum each, from both triangles; those are added in ascending order.
fn symmetric_product(rows: &[f64], n: usize, from: usize, v: &[f64], partial: &mut [f64], out: &mut [f64]) {
    let width = v.len();
    let partial = &mut partial[..width.div_ceil(ROWS) * width];
    let work = |(block, (rows, sums)): (usize, (&[f64], &mut [f64]))| {
        let first = block * ROWS;
        symmetric_rows(rows, n, from + first, &v[first..], &mut sums[first..]);
    };
    if width * width < 2 * SHARED_FROM {
        rows.chunks(ROWS * n).zip(partial.chunks_mut(width)).enumerate().for_each(work);
    } else {
        rows.par_chunks(ROWS * n).zip(partial.par_chunks_mut(width)).enumerate().for_each(work);
    }
    out.fill(0.0);
    for (block, sums) in partial.chunks(width).enumerate() {
        let first = block * ROWS;
        out[first..].iter_mut().zip(&sums[first..]).for_each(|(out, x)| *out += x);
    }
}

/// What some rows of the upper triangle give to the product: row i times v to element i, v(i) times the rest of row i to
/// the others. Column `from` belongs to the first row's diagonal, as do the first elements of `v` and `sums`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn symmetric_rows(rows: &[f64], n: usize, from: usize, v: &[f64], sums: &mut [f64]) {
    sums.fill(0.0);
    for (i, row) in rows.chunks_exact(n).enumerate() {
        let row = &row[from + i..];
        let along = &v[i..];
        let amount = along[0];
        let (own, others) = sums[i..].split_first_mut().expect("a row has its diagonal");
        let (own_x, own_rest) = (row[0] * amount, &row[1..]);
        // One walk over the row for both products.
        let mut lane = [0.0f64; LANES];
        let (row_blocks, row_tail) = own_rest.as_chunks::<LANES>();
        let (v_blocks, v_tail) = along[1..].as_chunks::<LANES>();
        let (out_blocks, out_tail) = others.as_chunks_mut::<LANES>();
        for ((a, x), out) in row_blocks.iter().zip(v_blocks).zip(out_blocks) {
            for l in 0..LANES {
                lane[l] += a[l] * x[l];
                out[l] += amount * a[l];
            }
        }
        for (l, ((a, x), out)) in row_tail.iter().zip(v_tail).zip(out_tail).enumerate() {
            lane[l] += a * x;
            *out += amount * a;
        }
        let sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
        *own += own_x + sum;
    }
}
