//! The specification of LU and of triangular systems (clause `factorisations`): plain loops, element by element.

use super::super::dense::PANEL;
use super::super::triangular::Triangle;

/// What panel by panel is taken out of element (i, j): whole panels as one sum each, then the open panel term by term.
fn remainder(start: f64, terms: usize, term: impl Fn(usize) -> f64) -> f64 {
    let whole = terms / PANEL * PANEL;
    let mut rest = start;
    for panel in (0..whole).step_by(PANEL) {
        rest -= (panel..panel + PANEL).fold(0.0, |sum, k| sum + term(k));
    }
    (whole..terms).fold(rest, |rest, k| rest - term(k))
}

/// Packed factors of the (m, n) matrix `a` and the order of its rows.
pub(in super::super) fn lu(a: &[f64], m: usize, n: usize) -> (Vec<f64>, Vec<u32>) {
    let mut rows: Vec<Vec<f64>> = a.chunks(n.max(1)).map(<[f64]>::to_vec).collect();
    let mut order: Vec<u32> = (0..m as u32).collect();
    for j in 0..m.min(n) {
        let column: Vec<f64> = (j..m).map(|i| remainder(rows[i][j], j, |k| rows[i][k] * rows[k][j])).collect();
        let mut best = 0;
        for (i, x) in column.iter().enumerate() {
            if x.abs() > column[best].abs() {
                best = i;
            }
        }
        let pivot = column[best];
        for (i, x) in (j..m).zip(&column) {
            rows[i][j] = if i != j + best && pivot != 0.0 { x / pivot } else { *x };
        }
        rows.swap(j, j + best);
        order.swap(j, j + best);
        for c in j + 1..n {
            rows[j][c] = remainder(rows[j][c], j, |k| rows[j][k] * rows[k][c]);
        }
    }
    (rows.concat(), order)
}

/// The solutions, (n, nrhs), for the triangle of `t` that `which` names. Unknowns are numbered in the order in which they
/// are found, for the panels as well: an upper system has its short panel last in the matrix, first in that order.
pub(in super::super) fn triangular(t: &[f64], b: &[f64], n: usize, nrhs: usize, which: Triangle) -> Vec<f64> {
    let at = |i: usize, k: usize| if which.transposed { t[k * n + i] } else { t[i * n + k] };
    let upper = which.upper != which.transposed;
    let panel = |i: usize| i / PANEL;
    let mut x = b.to_vec();
    let unknowns: Vec<usize> = if upper { (0..n).rev().collect() } else { (0..n).collect() };
    for c in 0..nrhs {
        for &i in &unknowns {
            let known = |k: &usize| if upper { *k > i } else { *k < i };
            let mut rest = x[i * nrhs + c];
            let mut others: Vec<usize> =
                (0..n.div_ceil(PANEL)).filter(|p| (*p > panel(i)) == upper && *p != panel(i)).collect();
            if upper {
                others.reverse();
            }
            for p in others {
                rest -= (p * PANEL..n.min((p + 1) * PANEL)).fold(0.0, |sum, k| sum + at(i, k) * x[k * nrhs + c]);
            }
            for k in unknowns.iter().filter(|k| panel(**k) == panel(i) && known(k)) {
                rest -= at(i, *k) * x[k * nrhs + c];
            }
            x[i * nrhs + c] = if which.unit_diagonal { rest } else { rest / at(i, i) };
        }
    }
    x
}
