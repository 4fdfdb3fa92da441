//! Contract clause `eigen`: eigenvectors of symmetric matrices in double precision on the host, in one fixed order.
//!
//! Householder reflections bring the matrix to tridiagonal form, implicit QL steps bring that to diagonal form, and the
//! eigenvectors of the tridiagonal matrix go back through the reflections. Threads share rows, blocks of columns or
//! whole vectors, between which nothing is added.

use ml_core::canon::canon;
use ml_core::{Error, Result};

use super::Eigen;
use super::rotations::{BATCH, Panels, Rotation};
use super::tridiagonal::tridiagonalise;

/// Iterations allowed for each eigenvalue, on average: the first ones may do the work of others, as they do in a matrix
/// whose large elements come first.
const MAX_ITER: usize = 50;

/// An off-diagonal element that is no longer felt: 2^-75 of the largest row.
const NEGLIGIBLE: f64 = 1.0 / (1u128 << 75) as f64;

/// Half a unit in the last place of 1.
const UNIT: f64 = f64::EPSILON / 2.0;

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
    let mut t = tridiagonalise(s, n);
    let mut panels = Panels::identity(n);
    iterate(&mut t.diagonal, &mut t.off, |batch| panels.rotate(batch))?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| t.diagonal[j].partial_cmp(&t.diagonal[i]).unwrap_or(std::cmp::Ordering::Equal));
    let values: Vec<f64> = order.iter().map(|&i| t.diagonal[i] * grow).collect();
    order.truncate(keep(&values));
    let mut vectors = panels.rows(&order);
    t.vectors_to_full(&mut vectors);
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

/// Implicit QL with shifts from the leading 2 x 2 block, on the diagonal `d` and the off-diagonal `e`.
///
/// `apply` gets the rotations in order, in batches.
fn iterate(d: &mut [f64], e: &mut [f64], mut apply: impl FnMut(&[Rotation])) -> Result<()> {
    let n = d.len();
    let largest = d.iter().zip(&*e).fold(0.0f64, |m, (x, y)| m.max(x.abs() + y.abs()));
    let floor = largest * NEGLIGIBLE;
    let mut batch: Vec<Rotation> = Vec::with_capacity(BATCH + n);
    let limit = MAX_ITER * n;
    let mut iterations = 0;
    for low in 0..n {
        loop {
            let decoupled = |k: usize| {
                let size = e[k].abs();
                size <= floor || size <= UNIT * (d[k].abs() + d[k + 1].abs())
            };
            let high = (low..n - 1).find(|&k| decoupled(k)).unwrap_or(n - 1);
            if high == low {
                break;
            }
            if iterations == limit {
                return Err(Error::NoConvergence { what: "symmetric_eigen", limit });
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
