//! The fit that both linear models share.

use ml_core::canon::is_finite;
use ml_core::check::not_empty;
use ml_core::{DataError, Matrix, Result};
use ml_kernels::{Context, Device};

use super::basis::Basis;
use super::model::{LinearRegressionModel, RidgeModel, Weights};
use super::params::{LinearRegression, Plan, Ridge};
use super::scale::{Centred, Scaling, centred, single};
use super::solve::{Design, Factor, Solution, Stage};
use crate::finite::all_finite;
use crate::record::record_f32;
use crate::traits::FitTarget;

impl FitTarget for LinearRegression {
    type Target = [f32];
    type Model = LinearRegressionModel;

    /// Fits to one target a row.
    ///
    /// Stages: `linear_regression.x_mean`, `.gram`, `.directions` (the turned columns in terms of the scaled ones), for
    /// each target, numbered from 0, `linear_regression.target0.y_mean` and, for each step, `.step0.gradient` and
    /// `.step0.change`; at the end `linear_regression.coef` and `.intercept`, and the decision `linear_regression.rank`.
    /// Progress comes as `linear_regression.refine`, its metric the length of the scaled residual.
    fn fit_in(&self, x: &Matrix, y: &[f32], cx: &mut Context<'_>) -> Result<LinearRegressionModel> {
        self.fit_targets(x, &column(y)?, cx)
    }
}

impl LinearRegression {
    /// Fits to several targets a row: `y` has shape (rows, targets). Each target gets what it would get alone.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_multi_in(&self, x: &Matrix, y: &Matrix, cx: &mut Context<'_>) -> Result<LinearRegressionModel> {
        self.fit_targets(x, y, cx)
    }

    /// [`LinearRegression::fit_multi_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    pub fn fit_multi(&self, x: &Matrix, y: &Matrix, device: &Device) -> Result<LinearRegressionModel> {
        self.fit_targets(x, y, &mut Context::new(device))
    }

    fn fit_targets(&self, x: &Matrix, y: &Matrix, cx: &mut Context<'_>) -> Result<LinearRegressionModel> {
        let plan = self.check()?;
        let names = Names { tag: "linear_regression", progress: "linear_regression.refine" };
        let design = design(&names, &plan, x, y, cx)?;
        let basis = basis(&names, &design, cx)?;
        let rank = basis.rank();
        let singular: Vec<f32> = basis.singular(&design, cx)?.into_iter().map(single).collect();
        all_finite("linear_regression.singular", &singular)?;
        let weights = by_basis(&names, &plan, &design, basis, y, cx)?;
        Ok(LinearRegressionModel::new(weights, rank, singular, self.to_json()))
    }
}

impl FitTarget for Ridge {
    type Target = [f32];
    type Model = RidgeModel;

    /// Fits to one target a row.
    ///
    /// Stages: `ridge.x_mean`, `.gram`, `.factor` (the Cholesky factor of the scaled equations) or `.directions` (as for
    /// [`LinearRegression`]), for each target, numbered from 0, `ridge.target0.y_mean` and, for each step,
    /// `.step0.gradient` and `.step0.change`; at the end `ridge.coef` and `.intercept`, and the decision `ridge.solver`: 0
    /// for the Cholesky factor, 1 for eigenvectors. Progress comes as `ridge.refine`, its metric the length of the scaled
    /// residual.
    fn fit_in(&self, x: &Matrix, y: &[f32], cx: &mut Context<'_>) -> Result<RidgeModel> {
        self.fit_targets(x, &column(y)?, cx)
    }
}

impl Ridge {
    /// Fits to several targets a row: `y` has shape (rows, targets). Each target gets what it would get alone, unless one
    /// of them needs eigenvectors: then all are solved by them.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_multi_in(&self, x: &Matrix, y: &Matrix, cx: &mut Context<'_>) -> Result<RidgeModel> {
        self.fit_targets(x, y, cx)
    }

    /// [`Ridge::fit_multi_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    pub fn fit_multi(&self, x: &Matrix, y: &Matrix, device: &Device) -> Result<RidgeModel> {
        self.fit_targets(x, y, &mut Context::new(device))
    }

    fn fit_targets(&self, x: &Matrix, y: &Matrix, cx: &mut Context<'_>) -> Result<RidgeModel> {
        let plan = self.check()?;
        let names = Names { tag: "ridge", progress: "ridge.refine" };
        let design = design(&names, &plan, x, y, cx)?;
        let by_factor = by_cholesky(&names, &plan, &design, y, cx)?;
        let cholesky = by_factor.is_some();
        cx.decision("ridge.solver", u64::from(!cholesky));
        let weights = match by_factor {
            Some(weights) => weights,
            None => {
                let basis = basis(&names, &design, cx)?;
                by_basis(&names, &plan, &design, basis, y, cx)?
            }
        };
        Ok(RidgeModel::new(weights, cholesky, self.to_json(&plan)))
    }
}

/// What the stages and steps of a fit are called.
struct Names {
    tag: &'static str,
    progress: &'static str,
}

/// `y` as a matrix of one column.
pub(super) fn column(y: &[f32]) -> Result<Matrix> {
    if let Some(row) = y.iter().position(|t| !is_finite(*t)) {
        return Err(DataError::NonFinite { what: "y", row, col: 0, value: y[row] }.into());
    }
    Matrix::from_vec(y.len(), 1, y.to_vec())
}

/// Centres and scales the columns and forms their products.
fn design(names: &Names, plan: &Plan, x: &Matrix, y: &Matrix, cx: &mut Context<'_>) -> Result<Design> {
    not_empty("x", x.view())?;
    if y.rows() != x.rows() {
        return Err(DataError::shape("y", format!("{} (one a row)", x.rows()), y.rows()).into());
    }
    not_empty("y", y.view())?;
    let device = cx.device().clone();
    let columns = centred(&device, x.view(), plan.fit_intercept, Scaling::Columns)?;
    record_means(cx, &format!("{}.x_mean", names.tag), &columns)?;
    cx.step(names.progress, 0, None, None)?;
    let design = Design::new(columns, plan.fit_intercept, f64::from(plan.alpha), cx)?;
    if cx.records() {
        let gram: Vec<f32> = design.gram.iter().map(|&g| single(g)).collect();
        record_f32(cx, &format!("{}.gram", names.tag), &[x.cols(), x.cols()], &gram)?;
    }
    Ok(design)
}

fn record_means(cx: &mut Context<'_>, tag: &str, x: &Centred) -> Result<()> {
    let means: Vec<f32> = x.mean.iter().map(|&m| single(m)).collect();
    record_f32(cx, tag, &[means.len()], &means)
}

fn basis(names: &Names, design: &Design, cx: &mut Context<'_>) -> Result<Basis> {
    let basis = Basis::new(design, cx)?;
    if cx.records() {
        let (turn, kept) = basis.directions();
        record_f32(cx, &format!("{}.directions", names.tag), &[design.x.cols, kept], &turn)?;
    }
    cx.decision(&format!("{}.rank", names.tag), basis.rank() as u64);
    Ok(basis)
}

/// The weights by the Cholesky factor, unless that is not accurate enough for some target.
fn by_cholesky(
    names: &Names,
    plan: &Plan,
    design: &Design,
    y: &Matrix,
    cx: &mut Context<'_>,
) -> Result<Option<Weights>> {
    let Some(factor) = design.cholesky(cx)? else { return Ok(None) };
    cx.record_f32(&format!("{}.factor", names.tag), &[design.x.cols, design.x.cols], &factor.l)?;
    solve_all(names, plan, design, &Factor::Cholesky(factor), y, cx)
}

fn by_basis(
    names: &Names,
    plan: &Plan,
    design: &Design,
    basis: Basis,
    y: &Matrix,
    cx: &mut Context<'_>,
) -> Result<Weights> {
    let weights = solve_all(names, plan, design, &Factor::Basis(basis), y, cx)?;
    weights.ok_or_else(|| unreachable!("only a Cholesky factor is refused"))
}

// pathway: P79
fn solve_all(
    names: &Names,
    plan: &Plan,
    design: &Design,
    factor: &Factor,
    y: &Matrix,
    cx: &mut Context<'_>,
) -> Result<Option<Weights>> {
    let (d, targets) = (design.x.cols, y.cols());
    let mut weights = Weights { coef: Vec::with_capacity(targets * d), intercept: Vec::with_capacity(targets), d };
    for target in 0..targets {
        let tag = format!("{}.target{target}", names.tag);
        let own: Vec<f32> = y.as_slice().iter().skip(target).step_by(targets).copied().collect();
        let own = Matrix::from_vec(own.len(), 1, own)?;
        let device = cx.device().clone();
        let own = centred(&device, own.view(), plan.fit_intercept, Scaling::Columns)?;
        record_means(cx, &format!("{tag}.y_mean"), &own)?;
        let stage = Stage { tag, progress: names.progress };
        let Some(mut found) = design.solve(factor, &own.data, &stage, cx)? else { return Ok(None) };
        if let Factor::Basis(basis) = factor {
            basis.shorten(&mut found.coef, &design.x.scale);
        }
        push(&mut weights, &found, design, &own, plan.fit_intercept);
    }
    record_f32(cx, &format!("{}.coef", names.tag), &[targets, d], &weights.coef)?;
    record_f32(cx, &format!("{}.intercept", names.tag), &[targets], &weights.intercept)?;
    all_finite(&format!("{}.coef", names.tag), &weights.coef)?;
    all_finite(&format!("{}.intercept", names.tag), &weights.intercept)?;
    Ok(Some(weights))
}

/// Adds one target's weights in the data's own units. The intercept is what the rounded coefficients leave of the mean.
fn push(weights: &mut Weights, found: &Solution, design: &Design, y: &Centred, fit_intercept: bool) {
    let (y_mean, y_scale) = (y.mean[0], y.scale[0]);
    let mut intercept = y_mean + found.constant / y_scale;
    for ((b, s), m) in found.coef.iter().zip(&design.x.scale).zip(&design.x.mean) {
        let coef = single(b * s / y_scale);
        intercept -= m * f64::from(coef);
        weights.coef.push(coef);
    }
    weights.intercept.push(if fit_intercept { single(intercept) } else { 0.0 });
}
