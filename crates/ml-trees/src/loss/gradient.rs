//! Gradients of losses that look at one row at a time, as expressions.

use ml_core::{DataError, Result};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::{Buffer, Device};

use super::Loss;

/// The least second derivative of a probability's loss, 2^-53: a row whose probability is 0 or 1 keeps a part.
const LEAST_CURVATURE: f32 = 1.0 / (1u64 << 53) as f32;

/// The columns of what trees are grown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Channels {
    /// Whether a third column counts rows.
    pub count: bool,
}

impl Channels {
    pub fn number(self) -> usize {
        if self.count { 3 } else { 2 }
    }
}

/// What gradients of an output are made of: buffers of one value a row.
pub(crate) struct Gradients<'a> {
    pub device: &'a Device,
    pub rows: usize,
    /// Target, or number of the row's class.
    pub target: &'a Buffer<f32>,
    /// Weight, if rows have any.
    pub weight: Option<&'a Buffer<f32>>,
    pub channels: Channels,
}

/// The softmax of scores, one buffer a class.
pub(crate) struct Softmax {
    top: Buffer<f32>,
    sum: Buffer<f32>,
    classes: usize,
}

impl Softmax {
    /// The greatest score and the sum of e^(score - greatest) of each row, classes ascending.
    pub fn new(device: &Device, rows: usize, scores: &[Buffer<f32>]) -> Result<Self> {
        let [first, rest @ ..] = scores else {
            return Err(DataError::shape("outputs", "at least 1", 0).into());
        };
        let run = |expr: &Expr, inputs: &[Operand<'_>]| map(device, expr, inputs, &[], rows, 1);
        let [a, b, c] = [0, 1, 2].map(Expr::input);
        let mut top = run(&a, &[Operand::Full(first)])?;
        for score in rest {
            top = run(&a.clone().max(b.clone()), &[Operand::Full(&top), Operand::Full(score)])?;
        }
        let mut sum = run(&(a.clone() - b.clone()).exp(), &[Operand::Full(first), Operand::Full(&top)])?;
        for score in rest {
            let next = c.clone() + (a.clone() - b.clone()).exp();
            sum = run(&next, &[Operand::Full(score), Operand::Full(&top), Operand::Full(&sum)])?;
        }
        Ok(Softmax { top, sum, classes: scores.len() })
    }

    /// The probability of a class with these scores.
    pub fn probability(&self, device: &Device, rows: usize, score: &Buffer<f32>) -> Result<Buffer<f32>> {
        let [a, b, c] = [0, 1, 2].map(Expr::input);
        let inputs = [Operand::Full(score), Operand::Full(&self.top), Operand::Full(&self.sum)];
        map(device, &((a - b).exp() / c), &inputs, &[], rows, 1)
    }
}

impl Gradients<'_> {
    /// First and second derivatives of the loss at `score`, times the weight, and a count where one is asked: shape (rows,
    /// channels). `output` is the class of the score, and `softmax` that of all scores, where the loss has classes.
    pub fn pointwise(
        &self,
        loss: Loss,
        score: &Buffer<f32>,
        output: usize,
        softmax: Option<&Softmax>,
    ) -> Result<Buffer<f32>> {
        let s = || Expr::input(0);
        let y = || Expr::input(1);
        let number = Expr::constant;
        let one = || number(1.0);
        let given = |i: u32| Expr::scalar(i);
        // What is dear is computed once a row, not once a channel.
        let first = |expr: Expr| map(self.device, &expr, &[Operand::Full(score)], &[], self.rows, 1).map(Some);
        let (lent, scalars, g, h): (Option<Buffer<f32>>, Vec<f32>, Expr, Expr) = match loss {
            Loss::Rmse | Loss::MultiRmse => (None, vec![], s() - y(), one()),
            Loss::Mae => (None, vec![], sign(s() - y()), one()),
            Loss::Quantile { alpha } => {
                let (low, high) = sides(alpha);
                (None, vec![low, high], s().select_less(y(), -given(0), given(1)), one())
            }
            Loss::Huber { delta } => (None, vec![delta], (s() - y()).max(-given(0)).min(given(0)), one()),
            Loss::LogLinQuantile { alpha } => {
                let (low, high) = sides(alpha);
                let g = s().select_less(y(), -given(0), given(1)) * s();
                (first(s().exp())?, vec![low, high], g, s())
            }
            Loss::Mape => {
                let part = one() / y().abs().max(one());
                (None, vec![], sign(s() - y()) * part.clone(), part)
            }
            Loss::Poisson => (first(s().exp())?, vec![], s() - y(), s()),
            Loss::Gamma => (first((-s()).exp())?, vec![], one() - y() * s(), y() * s()),
            Loss::Tweedie { power } => {
                let (a, b) = ((1.0 - f64::from(power)) as f32, (2.0 - f64::from(power)) as f32);
                let low = y() * (given(0) * s()).exp();
                let high = (given(1) * s()).exp();
                let g = high.clone() - low.clone();
                (None, vec![a, b], g, given(1) * high - given(0) * low)
            }
            Loss::Expectile { alpha } => {
                let (low, high) = sides(alpha);
                let side = s().select_less(y(), given(0), given(1));
                (None, vec![2.0 * low, 2.0 * high], side.clone() * (s() - y()), side)
            }
            Loss::Lq { q } => {
                let r = s() - y();
                let g = sign(r.clone()) * (given(0) * r.clone().abs().pow(given(1)));
                if q < 2.0 {
                    (None, vec![q, q - 1.0], g, one())
                } else {
                    let h = given(2) * r.abs().pow(given(3));
                    (None, vec![q, q - 1.0, q * (q - 1.0), q - 2.0], g, h)
                }
            }
            Loss::Logloss | Loss::CrossEntropy => (first(s().sigmoid())?, vec![], s() - y(), curvature(s())),
            Loss::MultiClassOneVsAll => {
                let is = is_class(y(), given(0));
                (first(s().sigmoid())?, vec![output as f32], s() - is, curvature(s()))
            }
            Loss::MultiClass => {
                let softmax = softmax.ok_or_else(|| DataError::shape("softmax", "given", "none"))?;
                let p = softmax.probability(self.device, self.rows, score)?;
                // Friedman's diagonal approximation, which makes up for what the other classes' scores do.
                let factor = softmax.classes as f32 / (softmax.classes as f32 - 1.0);
                let h = given(1) * curvature(s());
                (Some(p), vec![output as f32, factor], s() - is_class(y(), given(0)), h)
            }
            Loss::QueryRmse | Loss::PairLogit | Loss::LambdaRank | Loss::YetiRank => {
                return Err(DataError::shape("loss", "one of rows", loss.name()).into());
            }
        };
        self.channelled(lent.as_ref().unwrap_or(score), g, h, &scalars)
    }

    /// Gradients that are there already, times the weight, and a count: shape (rows, channels).
    pub fn given(&self, g: &[f32], h: &[f32]) -> Result<Buffer<f32>> {
        for (what, values) in [("gradient", g), ("curvature", h)] {
            if values.len() != self.rows {
                return Err(DataError::shape(what, self.rows, values.len()).into());
            }
            crate::dataset::finite(what, values)?;
        }
        let g = Buffer::upload(self.device, g)?;
        let h = Buffer::upload(self.device, h)?;
        let own = Gradients { target: &h, ..*self };
        own.channelled(&g, Expr::input(0), Expr::input(1), &[])
    }

    fn channelled(&self, a: &Buffer<f32>, g: Expr, h: Expr, scalars: &[f32]) -> Result<Buffer<f32>> {
        let numbers: Vec<f32> = (0..self.channels.number()).map(|c| c as f32).collect();
        let channel = Buffer::upload(self.device, &numbers)?;
        let mut inputs = vec![Operand::Col(a), Operand::Col(self.target), Operand::Row(&channel)];
        let c = || Expr::input(2);
        let mut value = c().select_less(Expr::constant(0.5), g, h);
        if let Some(weight) = self.weight {
            inputs.push(Operand::Col(weight));
            value = value * Expr::input(3);
        }
        if self.channels.count {
            value = c().select_less(Expr::constant(1.5), value, Expr::constant(1.0));
        }
        map(self.device, &value, &inputs, scalars, self.rows, numbers.len())
    }
}

/// alpha and 1 - alpha.
fn sides(alpha: f32) -> (f32, f32) {
    (alpha, (1.0 - f64::from(alpha)) as f32)
}

/// -1, 0 or 1.
fn sign(x: Expr) -> Expr {
    let zero = || Expr::constant(0.0);
    let positive = zero().select_less(x.clone(), Expr::constant(1.0), zero());
    x.select_less(zero(), Expr::constant(-1.0), positive)
}

/// 1 where `y` is `class`, else 0.
fn is_class(y: Expr, class: Expr) -> Expr {
    (y - class).abs().select_less(Expr::constant(0.5), Expr::constant(1.0), Expr::constant(0.0))
}

/// p (1 - p), not below [`LEAST_CURVATURE`].
fn curvature(p: Expr) -> Expr {
    (p.clone() * (Expr::constant(1.0) - p)).max(Expr::constant(LEAST_CURVATURE))
}
