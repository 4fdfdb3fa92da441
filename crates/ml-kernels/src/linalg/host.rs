//! The host: panels of columns over rows that share nothing, so that the loops vectorise and threads take rows apart.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Unfactorable;
use crate::contraction::guard::{ONLY_ZEROS, least_exponent, plain_is_proved};
use crate::contraction::{LEAF, Term};
use crate::num::{Pins, add, canon, div, mul, sqrt, sub};
use crate::sabotage::Arm;

const P: Pins = Pins::HOST;

/// Columns of a panel. It divides [`LEAF`], so that one panel lies within one leaf.
const WIDTH: usize = 32;
const _: () = assert!(LEAF.is_multiple_of(WIDTH));

/// Rows that one thread takes at a time.
const ROWS: usize = 8;

/// The contraction rule on leaf sums that are already known; `leaves` is used up.
fn join(leaves: &mut [f32]) -> f32 {
    let mut count = leaves.len();
    while count > 1 {
        for i in 0..count / 2 {
            leaves[i] = add(leaves[2 * i], leaves[2 * i + 1], P);
        }
        if !count.is_multiple_of(2) {
            leaves[count / 2] = leaves[count - 1];
        }
        count = count.div_ceil(2);
    }
    leaves.first().copied().unwrap_or(0.0)
}

/// One product and one sum as `arm` spells them.
#[inline(always)]
fn accumulate(acc: f32, a: f32, b: f32, arm: Arm) -> f32 {
    match arm {
        Arm::KeepSubnormals | Arm::GuardOff => acc + a * b,
        Arm::FuseProducts => fused(acc, a, b),
        _ => canon(acc + canon(a * b)),
    }
}

#[expect(clippy::disallowed_methods, reason = "the negative control is the contraction itself")]
fn fused(acc: f32, a: f32, b: f32) -> f32 {
    canon(a.mul_add(b, acc))
}

/// The contraction of two rows, as `arm` spells it.
fn contract(terms: usize, arm: Arm, at: impl Fn(usize) -> (f32, f32)) -> f32 {
    let mut leaves: Vec<f32> = (0..terms)
        .step_by(LEAF)
        .map(|start| {
            let end = (start + LEAF).min(terms);
            let step = |acc, k| {
                let (a, b) = at(k);
                accumulate(acc, a, b, arm)
            };
            match arm {
                Arm::DescendingLeaf => (start..end).rev().fold(0.0, step),
                _ => (start..end).fold(0.0, step),
            }
        })
        .collect();
    join(&mut leaves)
}

/// Whether `arm` breaks a clause that contractions follow.
fn breaks_contractions(arm: Arm) -> bool {
    matches!(arm, Arm::KeepSubnormals | Arm::FuseProducts | Arm::GuardOff | Arm::DescendingLeaf)
}

// pathway: P80
pub(super) fn cholesky(a: &[f32], n: usize, arm: Arm) -> Result<Vec<f32>, Unfactorable> {
    if breaks_contractions(arm) {
        return cholesky_armed(a, n, arm);
    }
    let mut l = vec![0.0f32; n * n];
    // Least exponent in each row so far.
    let mut least = vec![ONLY_ZEROS; n];
    for first in (0..n).step_by(WIDTH) {
        let width = WIDTH.min(n - first);
        let mut panel = Panel::new(&l, n, first, width);
        // Clause `flush`: both operands of every product before the panel are elements of these rows.
        let low = least[first..].iter().copied().min().unwrap_or(ONLY_ZEROS);
        panel.plain = plain_is_proved(Term::Product, low, low);
        let (rows, below) = l[first * n..].split_at_mut(width * n);
        for (r, row) in rows.chunks_exact_mut(n).enumerate() {
            let i = first + r;
            panel.diagonal_row(row, &a[i * n..(i + 1) * n], r)?;
            least[i] = least[i].min(least_exponent(&row[first..first + r + 1]));
        }
        below.par_chunks_mut(ROWS * n).zip(least[first + width..].par_chunks_mut(ROWS)).enumerate().for_each(
            |(block, (rows, least))| {
                for (r, (row, least)) in rows.chunks_exact_mut(n).zip(least).enumerate() {
                    let i = first + width + block * ROWS + r;
                    panel.row(row, &a[i * n..(i + 1) * n]);
                    *least = (*least).min(least_exponent(&row[first..first + width]));
                }
            },
        );
    }
    Ok(l)
}

/// Columns `first..first + width` of the factor, as its rows are completed.
struct Panel {
    first: usize,
    width: usize,
    /// Element (k, j) is L(first + j, k) for the columns k before the panel.
    before: Vec<[f32; WIDTH]>,
    /// Element (k, j) is L(first + j, first + k).
    within: [[f32; WIDTH]; WIDTH],
    pivots: [f32; WIDTH],
    /// Whether no product or sum over the columns before can be subnormal.
    plain: bool,
}

impl Panel {
    fn new(l: &[f32], n: usize, first: usize, width: usize) -> Self {
        let mut before = vec![[0.0f32; WIDTH]; first];
        for (k, column) in before.iter_mut().enumerate() {
            for (j, x) in column.iter_mut().enumerate().take(width) {
                *x = l[(first + j) * n + k];
            }
        }
        Panel { first, width, before, within: [[0.0; WIDTH]; WIDTH], pivots: [0.0; WIDTH], plain: false }
    }

    /// Sums of full leaves and of the open leaf over the columns before the panel, for every column of it.
    fn sums(&self, row: &[f32]) -> (Vec<[f32; WIDTH]>, [f32; WIDTH]) {
        let mut full = Vec::new();
        let mut open = [0.0f32; WIDTH];
        for start in (0..self.first).step_by(LEAF) {
            let end = (start + LEAF).min(self.first);
            let mut acc = [0.0f32; WIDTH];
            if self.plain {
                leaf_plain(&row[start..end], &self.before[start..end], &mut acc);
            } else {
                leaf_flushed(&row[start..end], &self.before[start..end], &mut acc);
            }
            if end - start == LEAF {
                full.push(acc);
            } else {
                open = acc;
            }
        }
        (full, open)
    }

    /// The contraction for column `j`. An open leaf without terms is +0, which changes no sum.
    fn contraction(full: &[[f32; WIDTH]], open: &[f32; WIDTH], j: usize) -> f32 {
        if full.is_empty() {
            return open[j];
        }
        let mut leaves: Vec<f32> = full.iter().map(|leaf| leaf[j]).chain([open[j]]).collect();
        join(&mut leaves)
    }

    /// Row `r` of the panel's own rows; those above it are complete.
    fn diagonal_row(&mut self, row: &mut [f32], a: &[f32], r: usize) -> Result<(), Unfactorable> {
        let (full, mut open) = self.sums(row);
        for k in 0..=r {
            let at = self.first + k;
            let rest = sub(a[at], Self::contraction(&full, &open, k), P);
            if k == r {
                if !super::is_pivot(rest) {
                    return Err(Unfactorable { pivot: at, value: rest });
                }
                self.pivots[r] = sqrt(rest);
                row[at] = self.pivots[r];
                break;
            }
            row[at] = div(rest, self.pivots[k]);
            self.within[k][r] = row[at];
            for (sum, x) in open.iter_mut().zip(&self.within[k]).take(r + 1).skip(k + 1) {
                *sum = add(*sum, mul(row[at], *x, P), P);
            }
        }
        Ok(())
    }

    /// A row below the panel's own.
    fn row(&self, row: &mut [f32], a: &[f32]) {
        let (full, mut open) = self.sums(row);
        for k in 0..self.width {
            let at = self.first + k;
            let value = div(sub(a[at], Self::contraction(&full, &open, k), P), self.pivots[k]);
            row[at] = value;
            for (sum, x) in open.iter_mut().zip(&self.within[k]).skip(k + 1) {
                *sum = add(*sum, mul(value, *x, P), P);
            }
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn leaf_plain(row: &[f32], before: &[[f32; WIDTH]], acc: &mut [f32; WIDTH]) {
    let mut sum = *acc;
    for (a, column) in row.iter().zip(before) {
        for j in 0..WIDTH {
            sum[j] += a * column[j];
        }
    }
    *acc = sum;
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn leaf_flushed(row: &[f32], before: &[[f32; WIDTH]], acc: &mut [f32; WIDTH]) {
    let mut sum = *acc;
    for (a, column) in row.iter().zip(before) {
        for j in 0..WIDTH {
            sum[j] = canon(sum[j] + canon(a * column[j]));
        }
    }
    *acc = sum;
}

/// The loops of the reference with one clause broken.
fn cholesky_armed(a: &[f32], n: usize, arm: Arm) -> Result<Vec<f32>, Unfactorable> {
    let mut l = vec![0.0f32; n * n];
    for j in 0..n {
        for i in j..n {
            let rest = sub(a[i * n + j], contract(j, arm, |k| (l[i * n + k], l[j * n + k])), P);
            if i == j && !super::is_pivot(rest) {
                return Err(Unfactorable { pivot: j, value: rest });
            }
            l[i * n + j] = if i == j { sqrt(rest) } else { div(rest, l[j * n + j]) };
        }
    }
    Ok(l)
}

pub(super) fn solve(l: &[f32], b: &[f32], n: usize, nrhs: usize, arm: Arm) -> Vec<f32> {
    let mut columns = vec![0.0f32; n * n];
    for i in 0..n {
        for k in 0..=i {
            columns[k * n + i] = l[i * n + k];
        }
    }
    let armed = breaks_contractions(arm);
    let groups: Vec<Vec<[f32; WIDTH]>> = (0..nrhs.div_ceil(WIDTH))
        .into_par_iter()
        .map(|group| {
            let first = group * WIDTH;
            let width = WIDTH.min(nrhs - first);
            let mut x = vec![[0.0f32; WIDTH]; n];
            for (i, row) in x.iter_mut().enumerate() {
                row[..width].copy_from_slice(&b[i * nrhs + first..i * nrhs + first + width]);
            }
            for i in 0..n {
                let row = &l[i * n..(i + 1) * n];
                let s = if armed { contract_armed(row, &x[..i], arm) } else { contract_group(&row[..i], &x[..i]) };
                substitute(&mut x[i], &s, row[i]);
            }
            for i in (0..n).rev() {
                let column = &columns[i * n..(i + 1) * n];
                let (a, known) = (&column[i + 1..], &x[i + 1..]);
                let s = if armed { contract_armed(a, known, arm) } else { contract_group(a, known) };
                substitute(&mut x[i], &s, column[i]);
            }
            x
        })
        .collect();
    let mut out = Vec::with_capacity(n * nrhs);
    for i in 0..n {
        for (group, x) in groups.iter().enumerate() {
            out.extend_from_slice(&x[i][..WIDTH.min(nrhs - group * WIDTH)]);
        }
    }
    out
}

fn substitute(x: &mut [f32; WIDTH], s: &[f32; WIDTH], pivot: f32) {
    for (x, s) in x.iter_mut().zip(s) {
        *x = div(sub(*x, *s, P), pivot);
    }
}

/// The contraction of `a` with each column of `x`.
fn contract_group(a: &[f32], x: &[[f32; WIDTH]]) -> [f32; WIDTH] {
    let mut leaves: Vec<[f32; WIDTH]> = Vec::new();
    let mut only = [0.0f32; WIDTH];
    for (a, x) in a.chunks(LEAF).zip(x.chunks(LEAF)) {
        only = [0.0; WIDTH];
        leaf_flushed(a, x, &mut only);
        leaves.push(only);
    }
    if leaves.len() <= 1 {
        return only;
    }
    std::array::from_fn(|c| join(&mut leaves.iter().map(|leaf| leaf[c]).collect::<Vec<f32>>()))
}

fn contract_armed(a: &[f32], x: &[[f32; WIDTH]], arm: Arm) -> [f32; WIDTH] {
    std::array::from_fn(|c| contract(x.len(), arm, |k| (a[k], x[k][c])))
}
