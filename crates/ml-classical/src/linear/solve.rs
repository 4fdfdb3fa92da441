//! Least squares by steps: each solves approximate normal equations for what the residual still holds.
//!
//! The equations are formed in single precision, so their solution is off by their condition number. What the steps
//! converge to depends only on the residual, which is y - X b with the rows of the data, and on the gradient X' r, whose
//! sums are formed in an exact part and a small rest. Coefficients are kept in double precision on the host.

use ml_core::{Error, Result};
use ml_kernels::map::{Expr, Operand, col_sums, map};
use ml_kernels::matmul::{Layout, matmul};
use ml_kernels::{Buffer, Context, linalg, reduce};

use super::basis::Basis;
use super::scale::{Centred, exponent, power_of_two, single};
use crate::finite::all_finite;
use crate::record::record_f32;

/// Steps after the first. Each leaves that part of the error by which the factor misses the equations, a thousandth or less
/// as a rule and a 64th at most; the rounding of the residual sets the end.
pub(super) const CORRECTIONS: usize = 3;

/// A Cholesky factor is good enough if the first correction is at most this part of the first solution.
// pathway: P78
const ACCEPTED: f64 = 1.0 / 64.0;

/// The design of a fit: scaled columns, their Gram matrix, and the penalty on each scaled coefficient.
pub(super) struct Design {
    pub x: Centred,
    pub intercept: bool,
    /// X' X: shape (columns, columns).
    pub gram: Vec<f64>,
    /// alpha * scale^2, one a column.
    pub penalty: Vec<f64>,
}

/// What turns a gradient into a step.
pub(super) enum Factor {
    Cholesky(Cholesky),
    Basis(Basis),
}

/// A factor of the equilibrated normal equations.
pub(super) struct Cholesky {
    pub l: Buffer<f32>,
    /// Powers of two that bring the diagonal to 1..4.
    equal: Vec<f64>,
}

/// The solution for one target, in scaled units.
pub(super) struct Solution {
    pub coef: Vec<f64>,
    pub constant: f64,
}

/// How a solve is called by those who watch.
pub(super) struct Stage {
    /// Prefix of recorded stages.
    pub tag: String,
    pub progress: &'static str,
}

impl Design {
    pub fn new(x: Centred, intercept: bool, alpha: f64, cx: &Context<'_>) -> Result<Self> {
        let (n, d) = (x.rows, x.cols);
        let gram = matmul(cx.device(), Layout::TN, &x.data, &x.data, d, d, n)?;
        let gram = gram.read()?.into_iter().map(f64::from).collect();
        let penalty = x.scale.iter().map(|s| alpha * s * s).collect();
        Ok(Design { x, intercept, gram, penalty })
    }

    /// The factor of X' X + penalty, or nothing if that is not positive definite in single precision.
    pub fn cholesky(&self, cx: &Context<'_>) -> Result<Option<Cholesky>> {
        let d = self.x.cols;
        let diagonal: Vec<f64> = (0..d).map(|j| self.gram[j * d + j] + self.penalty[j]).collect();
        let equal = equilibrate(&diagonal);
        let mut a = vec![0.0f32; d * d];
        for i in 0..d {
            for j in 0..d {
                let value = if i == j { diagonal[i] } else { self.gram[i * d + j] };
                a[i * d + j] = single(value * equal[i] * equal[j]);
            }
        }
        match linalg::cholesky(cx.device(), &Buffer::upload(cx.device(), &a)?, d) {
            Ok(l) => Ok(Some(Cholesky { l, equal })),
            Err(Error::NotPositiveDefinite { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Solves for the centred and scaled target `y`, shape (rows). Nothing if `factor` turns out not to be good enough.
    pub fn solve(
        &self,
        factor: &Factor,
        y: &Buffer<f32>,
        stage: &Stage,
        cx: &mut Context<'_>,
    ) -> Result<Option<Solution>> {
        let device = cx.device().clone();
        let (n, d) = (self.x.rows, self.x.cols);
        let mut found = Solution { coef: vec![0.0; d], constant: 0.0 };
        let mut residual = y.clone();
        let mut first = 0.0f64;
        for step in 0..=CORRECTIONS {
            let size = norm(cx, &residual, n)?;
            cx.step(stage.progress, step as u64, Some(CORRECTIONS as u64 + 1), Some(single(size)))?;
            let gradient = self.gradient(factor, &residual, size, cx)?;
            let change = self.step(factor, &gradient, &found.coef, cx)?;
            if cx.records() {
                let gradient: Vec<f32> = gradient.iter().map(|&g| single(g)).collect();
                record_f32(cx, &format!("{}.step{step}.gradient", stage.tag), &[gradient.len()], &gradient)?;
                record_f32(cx, &format!("{}.step{step}.change", stage.tag), &[d], &change)?;
            }
            all_finite(&format!("{}.step{step}.change", stage.tag), &change)?;
            let length = factor.length(&change);
            match factor {
                Factor::Cholesky(_) if step == 1 && length > ACCEPTED * first => return Ok(None),
                _ if step == 0 => first = length,
                _ => {}
            }
            found.coef.iter_mut().zip(&change).for_each(|(b, c)| *b += f64::from(*c));
            let change = Buffer::upload(&device, &change)?;
            let explained = matmul(&device, Layout::NN, &self.x.data, &change, n, 1, d)?;
            residual = subtract(cx, &residual, &explained, n)?;
            if self.intercept {
                let sum = reduce::sum(&device, &residual)?.read()?;
                let mean = single(sum.iter().map(|&s| f64::from(s)).sum::<f64>() / n as f64);
                found.constant += f64::from(mean);
                let less = Expr::input(0) - Expr::scalar(0);
                residual = map(&device, &less, &[Operand::Full(&residual)], &[mean], n, 1)?;
            }
        }
        cx.step(stage.progress, CORRECTIONS as u64 + 1, Some(CORRECTIONS as u64 + 1), None)?;
        Ok(Some(found))
    }

    /// The gradient for `residual`, of length `size`: of the scaled columns, or of the turned ones.
    fn gradient(&self, factor: &Factor, residual: &Buffer<f32>, size: f64, cx: &Context<'_>) -> Result<Vec<f64>> {
        let (n, d) = (self.x.rows, self.x.cols);
        match factor {
            Factor::Cholesky(_) => {
                let lengths: Vec<f64> = (0..d).map(|j| self.gram[j * d + j].sqrt()).collect();
                products(cx, &self.x.data, &lengths, residual, size, n)
            }
            Factor::Basis(b) => products(cx, &b.data, &b.lengths, residual, size, n),
        }
    }

    /// The change of the scaled coefficients that a gradient asks for.
    fn step(&self, factor: &Factor, gradient: &[f64], coef: &[f64], cx: &Context<'_>) -> Result<Vec<f32>> {
        let d = self.x.cols;
        let pull = coef.iter().zip(&self.penalty).map(|(b, p)| b * p);
        match factor {
            Factor::Cholesky(c) => {
                let g: Vec<f32> =
                    gradient.iter().zip(pull).zip(&c.equal).map(|((g, p), e)| single((g - p) * e)).collect();
                let g = Buffer::upload(cx.device(), &g)?;
                let solved = linalg::cholesky_solve(cx.device(), &c.l, &g, d, 1)?.read()?;
                Ok(solved.iter().zip(&c.equal).map(|(&s, e)| single(f64::from(s) * e)).collect())
            }
            Factor::Basis(b) => Ok(b.step(gradient, &pull.collect::<Vec<_>>()).into_iter().map(single).collect()),
        }
    }
}

impl Factor {
    /// Length of a step in units in which all columns count the same.
    fn length(&self, change: &[f32]) -> f64 {
        match self {
            Factor::Cholesky(c) => {
                change.iter().zip(&c.equal).fold(0.0f64, |m, (&x, e)| m.max((f64::from(x) / e).abs()))
            }
            Factor::Basis(_) => change.iter().fold(0.0f64, |m, &x| m.max(f64::from(x).abs())),
        }
    }
}

/// Powers of two that bring a diagonal to 1..4; 1 for zeros.
pub(super) fn equilibrate(diagonal: &[f64]) -> Vec<f64> {
    diagonal.iter().map(|&a| if a > 0.0 { power_of_two(-exponent(a).div_euclid(2)) } else { 1.0 }).collect()
}

/// The length of `r`, shape (n).
fn norm(cx: &Context<'_>, r: &Buffer<f32>, n: usize) -> Result<f64> {
    let squares = map(cx.device(), &Expr::input(0).square(), &[Operand::Full(r)], &[], n, 1)?;
    let sum = reduce::sum(cx.device(), &squares)?.read()?;
    Ok(sum.iter().map(|&s| f64::from(s)).sum::<f64>().sqrt())
}

fn subtract(cx: &Context<'_>, a: &Buffer<f32>, b: &Buffer<f32>, n: usize) -> Result<Buffer<f32>> {
    map(cx.device(), &(Expr::input(0) - Expr::input(1)), &[Operand::Full(a), Operand::Full(b)], &[], n, 1)
}

/// X' r for the columns of `x`, of the given lengths, and `r`, of length `size`.
///
/// Each product t is split into t = high + low, high being a multiple of 2^q, by adding and subtracting 1.5 * 2^(q + 23).
/// Neither t nor any partial sum of a column's products exceeds its length times that of r (Cauchy and Schwarz), which is
/// below 2^(q + 22). So the high parts, multiples of 2^q, are added without rounding, whatever the order; the low ones are
/// smaller by a thousand times and more, and so is the rounding of their sum.
fn products(
    cx: &Context<'_>,
    x: &Buffer<f32>,
    lengths: &[f64],
    r: &Buffer<f32>,
    size: f64,
    n: usize,
) -> Result<Vec<f64>> {
    let device = cx.device();
    let cols = lengths.len();
    if cols == 0 {
        return Ok(Vec::new());
    }
    let anchors: Vec<f32> = lengths
        .iter()
        .map(|l| {
            let bound = exponent(l * size) + 2;
            single(1.5 * power_of_two(bound.clamp(-100, 126)))
        })
        .collect();
    let anchors = Buffer::upload(device, &anchors)?;
    let operands = [Operand::Full(x), Operand::Col(r), Operand::Row(&anchors)];
    let product = Expr::input(0) * Expr::input(1);
    let high = (product.clone() + Expr::input(2)) - Expr::input(2);
    let low = product - high.clone();
    let sums = col_sums(device, &[high, low], &operands, &[], n, cols)?;
    let sums = sums.iter().map(Buffer::read).collect::<Result<Vec<_>>>()?;
    let both = |(h, l): (&f32, &f32)| f64::from(*h) + f64::from(*l);
    Ok(sums.first().into_iter().flatten().zip(sums.last().into_iter().flatten()).map(both).collect())
}
