//! The specification of least squares (clause `factorisations`, item 8): plain loops.

use super::lu::reference::triangular;
use super::plain::{Block, columns, factor, leaves, less_leaves};
use super::svd::reference::{Found, square};
use super::triangular::Triangle;

/// The solutions, (n, nrhs), the squared lengths of what is left, the rank and the singular values.
pub(super) struct Solved {
    pub(super) x: Vec<f64>,
    pub(super) residuals: Vec<f64>,
    pub(super) rank: usize,
    pub(super) values: Vec<f64>,
}

/// Of the row-major (m, n) matrix `a` and the (m, nrhs) right sides `b`. None where the iteration does not end.
pub(super) fn lstsq(a: &[f64], b: &[f64], (m, n, nrhs): (usize, usize, usize), rcond: f64) -> Option<Solved> {
    let k = m.min(n);
    let tall = m >= n;
    let of_matrix = columns(a, m, n);
    let of_transpose: Vec<Vec<f64>> = (0..m).map(|i| a[i * n..(i + 1) * n].to_vec()).collect();
    let (r, blocks) = if tall { factor(of_matrix, m) } else { factor(of_transpose, n) };
    let r: Vec<Vec<f64>> = (0..k).map(|i| (0..k).map(|j| r[j][i]).collect()).collect();
    let Found { values, left, right } = square(r.clone())?;
    let cut = rcond * values.first().copied().unwrap_or(0.0);
    let rank = values.iter().filter(|&&x| x > cut).count();
    let regular = rank == k && (0..k).all(|i| r[i][i] != 0.0);
    let mut solutions = Vec::new();
    for column in columns(b, m, nrhs) {
        let mut c = column;
        if tall {
            blocks.iter().for_each(|block: &Block| block.turn_back(&mut c));
            c.truncate(k);
        }
        let mut x = if regular {
            let which = Triangle { upper: true, transposed: !tall, unit_diagonal: false };
            triangular(&r.concat(), &c, k, 1, which)
        } else {
            let (u, v) = if tall { (&left, &right) } else { (&right, &left) };
            let y: Vec<f64> = (0..rank).map(|i| leaves(k, |r| u[i][r] * c[r]) / values[i]).collect();
            (0..k).map(|r| leaves(rank, |i| v[i][r] * y[i])).collect()
        };
        if !tall {
            x.resize(n, 0.0);
            blocks.iter().rev().for_each(|block| block.turn(&mut x));
        }
        solutions.push(x);
    }
    let x: Vec<f64> = (0..n * nrhs).map(|at| solutions[at % nrhs][at / nrhs]).collect();
    let residuals = solutions
        .iter()
        .enumerate()
        .map(|(c, x)| {
            (0..m).fold(0.0, |sum, i| {
                let rest = less_leaves(b[i * nrhs + c], n, |j| a[i * n + j] * x[j]);
                sum + rest * rest
            })
        })
        .collect();
    Some(Solved { x, residuals, rank, values })
}
