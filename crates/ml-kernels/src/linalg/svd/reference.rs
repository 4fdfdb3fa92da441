//! The specification of the SVD (clause `factorisations`, items 5 to 7): plain loops.

#![expect(clippy::needless_range_loop, reason = "the contract speaks of indices, and so does its spelling here")]

use crate::linalg::plain::{Block, Reflection, columns, descending, dot, factor, less, less_leaves, power, scale};

/// Steps of a panel, and rows of a block of the product with the matrix.
const STEPS: usize = 32;
const ROWS: usize = 64;

/// Singular values, descending, with the left and right vectors in rows.
pub(in super::super) struct Found {
    pub(in super::super) values: Vec<f64>,
    pub(in super::super) left: Vec<Vec<f64>>,
    pub(in super::super) right: Vec<Vec<f64>>,
}

/// Item 7, of the row-major (m, n) matrix `a`, before the rounding. None where the iteration does not end.
pub(in super::super) fn svd(a: &[f64], m: usize, n: usize) -> Option<Found> {
    if m < n {
        let transposed: Vec<f64> = columns(a, m, n).concat();
        let Found { values, left, right } = svd(&transposed, n, m)?;
        return Some(Found { values, left: right, right: left });
    }
    if m == n {
        return square((0..n).map(|i| a[i * n..(i + 1) * n].to_vec()).collect());
    }
    let (r, blocks) = factor(columns(a, m, n), m);
    let mut found = square((0..n).map(|i| r.iter().map(|column| column[i]).collect()).collect())?;
    for u in &mut found.left {
        u.resize(m, 0.0);
        blocks.iter().rev().for_each(|block| block.turn(u));
    }
    Some(found)
}

/// Of a square matrix whose rows are given.
pub(in super::super) fn square(mut a: Vec<Vec<f64>>) -> Option<Found> {
    let n = a.len();
    let q = scale(a.iter().flatten());
    a.iter_mut().flatten().for_each(|x| *x *= power(-q));
    let Bidiagonal { mut d, mut e, left: from_left, right: from_right } = bidiagonalise(a);
    let identity: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let (mut left, mut right) = (identity.clone(), identity);
    diagonalise(&mut d, &mut e, &mut left, &mut right)?;
    let order = descending(&d.iter().map(|x| x.abs()).collect::<Vec<_>>());
    let mut found = Found {
        values: order.iter().map(|&i| d[i].abs() * power(q)).collect(),
        left: order.iter().map(|&i| left[i].clone()).collect(),
        right: order.iter().map(|&i| right[i].iter().map(|x| if d[i] < 0.0 { -x } else { *x }).collect()).collect(),
    };
    let blocks = Block::all(0, &from_left);
    found.left.iter_mut().for_each(|u| blocks.iter().rev().for_each(|block| block.turn(u)));
    let blocks = Block::all(1, &from_right);
    found.right.iter_mut().for_each(|v| blocks.iter().rev().for_each(|block| block.turn(v)));
    Some(found)
}

struct Bidiagonal {
    d: Vec<f64>,
    e: Vec<f64>,
    /// Reflection k begins at coordinate k.
    left: Vec<Reflection>,
    /// Reflection k begins at coordinate k + 1; the last step has none.
    right: Vec<Reflection>,
}

/// Item 5.
fn bidiagonalise(mut a: Vec<Vec<f64>>) -> Bidiagonal {
    let n = a.len();
    let mut b = Bidiagonal { d: vec![0.0; n], e: vec![0.0; n], left: Vec::new(), right: Vec::new() };
    for first in (0..n).step_by(STEPS) {
        let end = n.min(first + STEPS);
        // Column vectors and row vectors of full length, zero before their beginning.
        let mut pairs: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        for k in first..end {
            let mut x: Vec<f64> = (0..n).map(|i| a[i][k]).collect();
            for (c, r) in &pairs {
                less(&mut x, r[k], c);
            }
            let found = Reflection::of(&x[k..]);
            b.d[k] = found.beta;
            let v = [vec![0.0; k], found.v.clone()].concat();
            let tau = found.tau;
            b.left.push(found);
            if k + 1 == n {
                break;
            }
            let mut y = vec![0.0f64; n];
            if tau != 0.0 {
                for (b, block) in (k..n).step_by(ROWS).enumerate() {
                    let mut sums = vec![0.0f64; n];
                    for i in block..n.min(block + ROWS) {
                        (k + 1..n).for_each(|j| sums[j] += v[i] * a[i][j]);
                    }
                    y.iter_mut().zip(&sums).for_each(|(y, s)| *y = if b == 0 { *s } else { *y + s });
                }
                for (c, r) in &pairs {
                    let amount = dot(&c[k..], &v[k..]);
                    less(&mut y[k + 1..], amount, &r[k + 1..]);
                }
                y.iter_mut().for_each(|y| *y *= tau);
            }
            let mut x = a[k].clone();
            for (c, r) in &pairs {
                less(&mut x, c[k], r);
            }
            x.iter_mut().zip(&y).for_each(|(x, y)| *x -= y);
            let found = Reflection::of(&x[k + 1..]);
            b.e[k] = found.beta;
            let u = [vec![0.0; k + 1], found.v.clone()].concat();
            let tau = found.tau;
            b.right.push(found);
            pairs.push((v, y));
            let mut z = vec![0.0f64; n];
            if tau != 0.0 {
                (k + 1..n).for_each(|i| z[i] = dot(&a[i][k + 1..], &u[k + 1..]));
                for (c, r) in &pairs {
                    let amount = dot(&r[k + 1..], &u[k + 1..]);
                    less(&mut z[k + 1..], amount, &c[k + 1..]);
                }
                z.iter_mut().for_each(|z| *z *= tau);
            }
            pairs.push((z, u));
        }
        for i in end..n {
            for j in end..n {
                a[i][j] = less_leaves(a[i][j], pairs.len(), |p| pairs[p].0[i] * pairs[p].1[j]);
            }
        }
    }
    b
}

fn rot(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    let small = f.abs() < power(-480) && g.abs() < power(-480);
    let (f, g) = if small { (f * power(600), g * power(600)) } else { (f, g) };
    let r = (f * f + g * g).sqrt();
    (f / r, g / r, if small { r / power(600) } else { r })
}

fn smaller_singular_value(f: f64, g: f64, h: f64) -> f64 {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (a, b) = if f < h { (f, h) } else { (h, f) };
    if a == 0.0 {
        return 0.0;
    }
    let (big_a, big_b) = (1.0 + a / b, (b - a) / b);
    if g < b {
        let z = (g / b) * (g / b);
        2.0 * a / ((big_a * big_a + z).sqrt() + (big_b * big_b + z).sqrt())
    } else {
        let rho = b / g;
        let (big_a, big_b) = (big_a * rho, big_b * rho);
        (2.0 * (a / ((1.0 + big_a * big_a).sqrt() + (1.0 + big_b * big_b).sqrt()))) * rho
    }
}

/// A rotation of positions t and t + 1 of a block: (t, cos, sin).
type Turn = (usize, f64, f64);

/// Item 6.
fn diagonalise(d: &mut [f64], e: &mut [f64], left: &mut [Vec<f64>], right: &mut [Vec<f64>]) -> Option<()> {
    let n = d.len();
    let f = power(-53) * d.iter().zip(&*e).fold(0.0f64, |m, (x, y)| m.max(x.abs() + y.abs()));
    let mut high = n.saturating_sub(1);
    let mut sweeps = 0;
    // The block swept last and whether it was swept downwards.
    let mut last: Option<(usize, usize, bool)> = None;
    while high > 0 {
        let negligible = |k: usize| e[k].abs() <= f || e[k].abs() <= power(-53) * (d[k].abs() + d[k + 1].abs());
        if negligible(high - 1) {
            e[high - 1] = 0.0;
            high -= 1;
            continue;
        }
        let mut low = high - 1;
        while low > 0 && !negligible(low - 1) {
            low -= 1;
        }
        if low > 0 {
            e[low - 1] = 0.0;
        }
        if sweeps == 40 * n {
            return None;
        }
        sweeps += 1;
        let down = match last {
            Some((l, h, down)) if l <= low && high <= h => down,
            _ => d[low].abs() >= d[high].abs(),
        };
        last = Some((low, high, down));
        // The block as it is read, with its rotations of columns and rows.
        let (mut block_d, mut block_e) = (d[low..=high].to_vec(), e[low..high].to_vec());
        if !down {
            block_d.reverse();
            block_e.reverse();
        }
        let (of_columns, of_rows) = sweep(&mut block_d, &mut block_e, f);
        if !down {
            block_d.reverse();
            block_e.reverse();
        }
        d[low..=high].copy_from_slice(&block_d);
        e[low..high].copy_from_slice(&block_e);
        for (turns, columns) in [(of_columns, true), (of_rows, false)] {
            let vectors = if columns == down { &mut *right } else { &mut *left };
            for (t, c, s) in turns {
                let (k, s) = if down { (low + t, s) } else { (high - t - 1, -s) };
                for j in 0..n {
                    let (u, l) = (vectors[k][j], vectors[k + 1][j]);
                    vectors[k][j] = c * u + s * l;
                    vectors[k + 1][j] = c * l - s * u;
                }
            }
        }
    }
    Some(())
}

/// A downward sweep over a whole block: its rotations of columns and of rows.
fn sweep(d: &mut [f64], e: &mut [f64], f: f64) -> (Vec<Turn>, Vec<Turn>) {
    let (mut of_columns, mut of_rows) = (Vec::new(), Vec::new());
    let steps = e.len();
    let noise = d.iter().any(|x| x.abs() <= f);
    let shift = if noise { 0.0 } else { smaller_singular_value(d[steps - 1], e[steps - 1], d[steps]) };
    let part = shift / d[0].abs();
    if noise || part * part < power(-53) {
        let (mut big_c, mut big_s, mut h) = (1.0f64, 0.0f64, d[0]);
        for t in 0..steps {
            let (c, s, r) = rot(h, e[t]);
            of_columns.push((t, c, s));
            if t > 0 {
                e[t - 1] = big_s * r;
            }
            (big_c, big_s, d[t]) = rot(big_c * r, d[t + 1] * s);
            of_rows.push((t, big_c, big_s));
            h = d[t + 1] * c;
        }
        d[steps] = h * big_c;
        e[steps - 1] = h * big_s;
        return (of_columns, of_rows);
    }
    let sign = if d[0].is_sign_negative() { -1.0 } else { 1.0 };
    let mut big_f = (d[0].abs() - shift) * (sign + shift / d[0]);
    let mut big_g = e[0];
    for t in 0..steps {
        let (c, s, r) = rot(big_f, big_g);
        of_columns.push((t, c, s));
        if t > 0 {
            e[t - 1] = r;
        }
        big_f = c * d[t] + s * e[t];
        e[t] = c * e[t] - s * d[t];
        big_g = s * d[t + 1];
        d[t + 1] *= c;
        let (c, s, r) = rot(big_f, big_g);
        of_rows.push((t, c, s));
        d[t] = r;
        big_f = c * e[t] + s * d[t + 1];
        d[t + 1] = c * d[t + 1] - s * e[t];
        if t + 1 < steps {
            big_g = s * e[t + 1];
            e[t + 1] *= c;
        }
    }
    e[steps - 1] = big_f;
    (of_columns, of_rows)
}
