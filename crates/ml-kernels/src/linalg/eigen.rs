//! Contract clause `eigen`: eigenvectors of symmetric matrices in double precision on the host, in one fixed order.
//!
//! Householder reflections bring the matrix to tridiagonal form, implicit QL steps bring that to diagonal form, and the
//! eigenvectors of the tridiagonal matrix go back through the reflections. Threads share rows, blocks of columns or
//! whole vectors, between which nothing is added; sums run in [`LANES`] interleaved lanes whatever the SIMD width.

use ml_core::canon::canon;
use ml_core::{Error, Result};
use multiversion::multiversion;
use rayon::prelude::*;

use super::Eigen;

/// Interleaved partial sums of one dot product.
const LANES: usize = 8;

/// Iterations allowed for one eigenvalue.
const MAX_ITER: usize = 50;

/// Rows that one thread takes at a time.
const ROWS: usize = 16;

/// Columns that are rotated together: a block of a thousand rows of them stays in the second cache level.
const COLS: usize = 64;

/// Below this many rows a step is too short to be shared between threads.
const SHARED_FROM: usize = 160;

/// Rotations collected before they are applied, so that a block of columns is brought into the cache once for all.
const BATCH: usize = 1 << 15;

/// An off-diagonal element that is no longer felt: 2^-75 of the largest row.
const NEGLIGIBLE: f64 = 1.0 / (1u128 << 75) as f64;

/// Half a unit in the last place of 1.
const UNIT: f64 = f64::EPSILON / 2.0;

/// A rotation of rows `row` and `row + 1`.
#[derive(Debug, Clone, Copy)]
struct Rotation {
    row: usize,
    cos: f64,
    sin: f64,
}

/// `a`: (n, n), of which the lower triangle is read; its length was checked. `keep` says, from all values, how many of
/// the first vectors are wanted.
pub(super) fn decompose(a: &[f64], n: usize, keep: impl FnOnce(&[f64]) -> usize) -> Result<Eigen> {
    if n == 0 {
        return Ok(Eigen { values: Vec::new(), vectors: Vec::new() });
    }
    let mut s = vec![0.0f64; n * n];
    let mut largest = 0.0f64;
    for i in 0..n {
        for j in 0..=i {
            let x = a[i * n + j];
            if !x.is_finite() {
                return Err(Error::NonFinite { stage: "symmetric_eigen.input".to_owned(), index: i * n + j });
            }
            largest = largest.max(x.abs());
            s[i * n + j] = x;
            s[j * n + i] = x;
        }
    }
    // An exact power of two keeps squares of very large and very small elements within range.
    let exponent = exponent(largest);
    let (shrink, grow) = (power_of_two(-exponent), power_of_two(exponent));
    s.iter_mut().for_each(|x| *x *= shrink);
    let mut t = tridiagonalise(&mut s, n);
    let mut panels = Panels::identity(n);
    iterate(&mut t.diagonal, &mut t.off, |batch| panels.rotate(batch))?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| t.diagonal[j].partial_cmp(&t.diagonal[i]).unwrap_or(std::cmp::Ordering::Equal));
    let values: Vec<f64> = order.iter().map(|&i| t.diagonal[i] * grow).collect();
    order.truncate(keep(&values));
    let mut vectors = panels.rows(&order);
    vectors.par_chunks_mut(ROWS * n).for_each(|rows| reflect(rows, &s, &t.tau, n));
    Ok(Eigen { values, vectors })
}

/// `x` rounded once to single precision.
pub(super) fn single(x: f64) -> f32 {
    canon(x as f32)
}

/// Rounds once to single precision and turns each vector so that its entry of largest magnitude is positive.
// pathway: P83
pub(super) fn to_single(found: &Eigen) -> Result<(Vec<f32>, Vec<f32>)> {
    let n = found.values.len();
    let values: Vec<f32> = found.values.iter().map(|&x| single(x)).collect();
    if let Some(index) = values.iter().position(|x| !x.is_finite()) {
        return Err(Error::NonFinite { stage: "symmetric_eigen.values".to_owned(), index });
    }
    let mut vectors: Vec<f32> = found.vectors.iter().map(|&x| single(x)).collect();
    for row in vectors.chunks_mut(n.max(1)) {
        let peak = row.iter().fold(0.0f32, |best, &x| if x.abs() > f32::abs(best) { x } else { best });
        if peak < 0.0 {
            row.iter_mut().for_each(|x| *x = canon(-*x));
        }
    }
    Ok((values, vectors))
}

/// Exponent of the leading bit of a finite `x`, kept away from the ends of the range.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) as i32 - 1023).clamp(-1000, 1000)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lane = [0.0f64; LANES];
    let (a_blocks, a_tail) = a.as_chunks::<LANES>();
    let (b_blocks, b_tail) = b.as_chunks::<LANES>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for i in 0..LANES {
            lane[i] += x[i] * y[i];
        }
    }
    for (i, (x, y)) in a_tail.iter().zip(b_tail).enumerate() {
        lane[i] += x * y;
    }
    ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]))
}

/// T = Q' S Q with Q = H(0) H(1) ... and H(k) = I - tau(k) v(k) v(k)'.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Element k couples k and k + 1; the last is zero.
    off: Vec<f64>,
    tau: Vec<f64>,
}

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
fn tridiagonalise(s: &mut [f64], n: usize) -> Tridiagonal {
    let mut t = Tridiagonal { diagonal: vec![0.0; n], off: vec![0.0; n], tau: vec![0.0; n] };
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

/// Turns `x` into v with v(0) = 1, so that (I - tau v v') x = (beta, 0, ...). Returns (beta, tau).
fn reflector(x: &mut [f64]) -> (f64, f64) {
    let Some((&mut head, tail)) = x.split_first_mut() else { return (0.0, 0.0) };
    let rest = dot(tail, tail);
    if rest == 0.0 {
        // Nothing to remove; elements too small to have a square are dropped.
        tail.fill(0.0);
        x[0] = 1.0;
        return (head, 0.0);
    }
    let norm = (head * head + rest).sqrt();
    let beta = if head > 0.0 { -norm } else { norm };
    let pivot = head - beta;
    tail.iter_mut().for_each(|e| *e /= pivot);
    x[0] = 1.0;
    (beta, (beta - head) / beta)
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

/// Implicit QL with shifts from the leading 2 x 2 block, on the diagonal `d` and the off-diagonal `e`.
///
/// `apply` gets the rotations in order, in batches.
fn iterate(d: &mut [f64], e: &mut [f64], mut apply: impl FnMut(&[Rotation])) -> Result<()> {
    let n = d.len();
    let largest = d.iter().zip(&*e).fold(0.0f64, |m, (x, y)| m.max(x.abs() + y.abs()));
    let floor = largest * NEGLIGIBLE;
    let mut batch: Vec<Rotation> = Vec::with_capacity(BATCH + n);
    for low in 0..n {
        let mut iterations = 0;
        loop {
            let decoupled = |k: usize| {
                let size = e[k].abs();
                size <= floor || size <= UNIT * (d[k].abs() + d[k + 1].abs())
            };
            let high = (low..n - 1).find(|&k| decoupled(k)).unwrap_or(n - 1);
            if high == low {
                break;
            }
            if iterations == MAX_ITER {
                return Err(Error::NoConvergence { what: "symmetric_eigen", limit: MAX_ITER });
            }
            iterations += 1;
            sweep(d, e, low, high, &mut batch);
            if batch.len() >= BATCH {
                apply(&batch);
                batch.clear();
            }
        }
    }
    apply(&batch);
    Ok(())
}

/// One QL step on the block low..=high: the shift's rotation enters at the bottom and is chased to the top.
fn sweep(d: &mut [f64], e: &mut [f64], low: usize, high: usize, batch: &mut Vec<Rotation>) {
    let half = (d[low + 1] - d[low]) / (2.0 * e[low]);
    let root = (half * half + 1.0).sqrt();
    let mut bulge = d[high] - d[low] + e[low] / (half + root.copysign(half));
    let (mut sin, mut cos, mut moved) = (1.0f64, 1.0f64, 0.0f64);
    for k in (low..high).rev() {
        let (f, b) = (sin * e[k], cos * e[k]);
        let size = (f * f + bulge * bulge).sqrt();
        e[k + 1] = size;
        if size == 0.0 {
            // The block has come apart here; what is left is found in the next round.
            d[k + 1] -= moved;
            e[high] = 0.0;
            return;
        }
        (sin, cos) = (f / size, bulge / size);
        let base = d[k + 1] - moved;
        let slope = (d[k] - base) * sin + 2.0 * cos * b;
        moved = sin * slope;
        d[k + 1] = base + moved;
        bulge = cos * slope - b;
        batch.push(Rotation { row: k, cos, sin });
    }
    d[low] -= moved;
    e[low] = bulge;
    e[high] = 0.0;
}

/// An (n, n) matrix as panels of [`COLS`] columns, each of them n rows long and contiguous.
struct Panels {
    n: usize,
    data: Vec<f64>,
}

impl Panels {
    fn identity(n: usize) -> Self {
        let mut data = vec![0.0f64; n.div_ceil(COLS) * n * COLS];
        for i in 0..n {
            data[(i / COLS) * n * COLS + i * COLS + i % COLS] = 1.0;
        }
        Panels { n, data }
    }

    fn rotate(&mut self, batch: &[Rotation]) {
        if !batch.is_empty() {
            self.data.par_chunks_mut(self.n * COLS).for_each(|panel| rotate_panel(panel, batch));
        }
    }

    /// The rows in this order, (n, n).
    fn rows(&self, order: &[usize]) -> Vec<f64> {
        let mut out = Vec::with_capacity(order.len() * self.n);
        for &i in order {
            for first in (0..self.n).step_by(COLS) {
                let start = first * self.n + i * COLS;
                out.extend_from_slice(&self.data[start..start + COLS.min(self.n - first)]);
            }
        }
        out
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn rotate_panel(panel: &mut [f64], batch: &[Rotation]) {
    let (rows, _) = panel.as_chunks_mut::<COLS>();
    for r in batch {
        if let [upper, lower, ..] = &mut rows[r.row..] {
            for (x, y) in upper.iter_mut().zip(lower) {
                let (u, l) = (*x, *y);
                *y = r.sin * u + r.cos * l;
                *x = r.cos * u - r.sin * l;
            }
        }
    }
}

/// Applies H(0) H(1) ... to each row of `rows`; v(k) lies in row k of `s`, columns k + 1 and up.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn reflect(rows: &mut [f64], s: &[f64], tau: &[f64], n: usize) {
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
