//! The specification of the symmetric eigenproblem (clause `eigen`): plain loops in the order of the contract's items.

use super::Eigen;
use super::plain::{Block, Reflection, descending, dot, less, less_leaves, power, scale};

/// Up to this many rows reflections are applied one by one.
const ONE_BY_ONE: usize = 1024;

/// Rows of a panel's step, and of a block of the product with the matrix.
const STEPS: usize = 32;
const ROWS: usize = 64;

/// A tridiagonal matrix and the reflections that led to it; reflection k begins at coordinate k + 1.
pub(super) struct Form {
    pub(super) d: Vec<f64>,
    pub(super) e: Vec<f64>,
    pub(super) reflections: Vec<Reflection>,
}

/// `a`: (n, n), of which the lower triangle is read. None where the iteration does not end.
pub(super) fn decompose(a: &[f64], n: usize) -> Option<Eigen> {
    let at = |i: usize, j: usize| a[i.max(j) * n + i.min(j)];
    let lower: Vec<f64> = (0..n * n).map(|k| at(k / n, k % n)).collect();
    let q = scale(&lower);
    let s: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| at(i, j) * power(-q)).collect()).collect();
    let Form { mut d, mut e, reflections } = if n > ONE_BY_ONE { by_panels(s) } else { by_steps(s) };
    let rows = diagonal_form(&mut d, &mut e)?;
    let order = descending(&d);
    let mut vectors: Vec<Vec<f64>> = order.iter().map(|&i| rows[i].clone()).collect();
    vectors.iter_mut().for_each(|y| to_full(y, &reflections, n > ONE_BY_ONE));
    Some(Eigen { values: order.iter().map(|&i| d[i] * power(q)).collect(), vectors: vectors.concat() })
}

/// Items 4 and 6: a vector in coordinates of T in those of the matrix.
pub(super) fn to_full(y: &mut [f64], reflections: &[Reflection], in_blocks: bool) {
    if in_blocks {
        let blocks = Block::all(1, &reflections[..reflections.len().saturating_sub(1)]);
        return blocks.iter().rev().for_each(|block| block.turn(y));
    }
    for (k, r) in reflections.iter().enumerate().rev().filter(|(_, r)| r.tau != 0.0) {
        let z = &mut y[k + 1..];
        let amount = r.tau * dot(z, &r.v);
        less(z, amount, &r.v);
    }
}

/// Item 2.
pub(super) fn by_steps(mut s: Vec<Vec<f64>>) -> Form {
    let n = s.len();
    let mut form = Form { d: vec![0.0; n], e: vec![0.0; n], reflections: Vec::new() };
    for k in 0..n {
        form.d[k] = s[k][k];
        let found = Reflection::of(&s[k][k + 1..]);
        form.e[k] = found.beta;
        if found.tau != 0.0 {
            let v = &found.v;
            let p: Vec<f64> = (k + 1..n).map(|i| found.tau * dot(&s[i][k + 1..], v)).collect();
            let c = (0.5 * found.tau) * dot(v, &p);
            let w: Vec<f64> = p.iter().zip(v).map(|(p, v)| p - c * v).collect();
            for i in k + 1..n {
                for j in k + 1..n {
                    s[i][j] -= v[i - k - 1] * w[j - k - 1] + w[i - k - 1] * v[j - k - 1];
                }
            }
        }
        form.reflections.push(found);
    }
    form
}

/// Item 6, of the upper triangle of `s`.
pub(super) fn by_panels(mut s: Vec<Vec<f64>>) -> Form {
    let n = s.len();
    let mut form = Form { d: vec![0.0; n], e: vec![0.0; n], reflections: Vec::new() };
    for first in (0..n).step_by(STEPS) {
        let end = n.min(first + STEPS);
        // Vectors of full length, zero before their beginning.
        let mut pairs: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        for k in first..end {
            let mut x = s[k].clone();
            for (v, w) in &pairs {
                less(&mut x, v[k], w);
                less(&mut x, w[k], v);
            }
            form.d[k] = x[k];
            let found = Reflection::of(&x[k + 1..]);
            form.e[k] = found.beta;
            if found.tau != 0.0 {
                let v = [vec![0.0; k + 1], found.v.clone()].concat();
                let mut p = symmetric_product(&s, &v, k + 1);
                for (a, b) in &pairs {
                    let (alpha, beta) = (dot(&a[k + 1..], &v[k + 1..]), dot(&b[k + 1..], &v[k + 1..]));
                    less(&mut p[k + 1..], beta, &a[k + 1..]);
                    less(&mut p[k + 1..], alpha, &b[k + 1..]);
                }
                p.iter_mut().for_each(|x| *x *= found.tau);
                let shift = (0.5 * found.tau) * dot(&v[k + 1..], &p[k + 1..]);
                less(&mut p, shift, &v);
                pairs.push((v, p));
            }
            form.reflections.push(found);
        }
        for i in end..n {
            for j in i..n {
                s[i][j] = less_leaves(s[i][j], 2 * pairs.len(), |t| {
                    let (v, w) = &pairs[t / 2];
                    if t % 2 == 0 { v[i] * w[j] } else { w[i] * v[j] }
                });
            }
        }
    }
    form
}

/// The symmetric matrix from row `from` on, of which `s` holds the upper triangle, times `v`.
fn symmetric_product(s: &[Vec<f64>], v: &[f64], from: usize) -> Vec<f64> {
    let n = s.len();
    let mut p = vec![0.0f64; n];
    for block in (from..n).step_by(ROWS) {
        let mut sums = vec![0.0f64; n];
        for i in block..n.min(block + ROWS) {
            sums[i] += s[i][i] * v[i] + dot(&s[i][i + 1..], &v[i + 1..]);
            for j in i + 1..n {
                sums[j] += v[i] * s[i][j];
            }
        }
        p.iter_mut().zip(&sums).for_each(|(p, x)| *p += x);
    }
    p
}

/// Item 3: the rows of Q.
fn diagonal_form(d: &mut [f64], e: &mut [f64]) -> Option<Vec<Vec<f64>>> {
    let n = d.len();
    let mut q: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let f = power(-75) * d.iter().zip(&*e).fold(0.0f64, |m, (x, y)| m.max(x.abs() + y.abs()));
    let mut sweeps = 0;
    for low in 0..n {
        loop {
            let negligible = |k: &usize| e[*k].abs() <= f || e[*k].abs() <= power(-53) * (d[*k].abs() + d[k + 1].abs());
            let high = (low..n - 1).find(negligible).unwrap_or(n - 1);
            if high == low {
                break;
            }
            if sweeps == 50 * n {
                return None;
            }
            sweeps += 1;
            sweep(d, e, low, high, &mut q);
        }
    }
    Some(q)
}

fn sweep(d: &mut [f64], e: &mut [f64], low: usize, high: usize, q: &mut [Vec<f64>]) {
    let g = (d[low + 1] - d[low]) / (2.0 * e[low]);
    let r = (g * g + 1.0).sqrt();
    let mut b = d[high] - d[low] + e[low] / (g + if g.is_sign_negative() { -r } else { r });
    let (mut s, mut c, mut m) = (1.0f64, 1.0f64, 0.0f64);
    for k in (low..high).rev() {
        let (big_f, big_b) = (s * e[k], c * e[k]);
        let z = (big_f * big_f + b * b).sqrt();
        e[k + 1] = z;
        if z == 0.0 {
            d[k + 1] -= m;
            e[high] = 0.0;
            return;
        }
        (s, c) = (big_f / z, b / z);
        let big_g = d[k + 1] - m;
        let big_h = (d[k] - big_g) * s + (2.0 * c) * big_b;
        m = s * big_h;
        d[k + 1] = big_g + m;
        b = c * big_h - big_b;
        let (upper, lower) = (q[k].clone(), q[k + 1].clone());
        q[k] = upper.iter().zip(&lower).map(|(u, l)| c * u - s * l).collect();
        q[k + 1] = upper.iter().zip(&lower).map(|(u, l)| s * u + c * l).collect();
    }
    d[low] -= m;
    e[low] = b;
    e[high] = 0.0;
}
