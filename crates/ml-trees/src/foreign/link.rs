//! What libraries make of raw scores.

use ml_core::{Error, Result};
use ml_kernels::{Device, num};

use super::Imported;

/// The function from the raw scores of a row to what the library predicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Link {
    /// The raw scores.
    Identity,
    /// `1 / (1 + exp(-scale * x))` of each score.
    Sigmoid {
        /// The factor, 1 but in LightGBM.
        scale: f32,
    },
    /// The exponentials over their sum.
    Softmax,
    /// The position of the greatest score, as a number; ties go to the lowest.
    ArgMax,
    /// `exp(x)` of each score.
    Exp,
    /// `ln(1 + exp(x))` of each score.
    Softplus,
    /// 1 where the score is above 0, else 0.
    Hinge,
    /// `sign(x) * x * x` of each score: a regression on square roots.
    SignedSquare,
    /// `[-x, x]` of one score: an ONNX classifier of two classes whose weights name one.
    Opposite,
    /// `[sigmoid(-x), sigmoid(x)]` of one score.
    OppositeSigmoid,
    /// `[1 - x, x]` of one score: the same with weights that are all positive.
    Complement,
}

impl Link {
    /// Values that it makes of the scores of a row.
    pub fn width(self, outputs: usize) -> usize {
        match self {
            Link::ArgMax => 1,
            Link::Opposite | Link::OppositeSigmoid | Link::Complement => 2,
            _ => outputs,
        }
    }

    /// The prediction of each row, shape (rows, [`Link::width`]), from raw scores of shape (rows, `outputs`).
    ///
    /// # Bit identity
    /// Binary32 through the correctly rounded functions of `ml_kernels::num`, sums ascending: the same on every device,
    /// and not always the library's own last bits.
    pub fn apply(self, raw: &[f32], outputs: usize) -> Vec<f32> {
        let p = num::Pins::HOST;
        let each = |f: &dyn Fn(f32) -> f32| raw.iter().map(|x| f(*x)).collect();
        match self {
            Link::Identity => raw.to_vec(),
            Link::Sigmoid { scale } => each(&|x| num::sigmoid_cr(num::mul(x, scale, p))),
            Link::Exp => each(&num::exp_cr),
            Link::Softplus => each(&num::softplus_cr),
            Link::Hinge => each(&|x| if x > 0.0 { 1.0 } else { 0.0 }),
            Link::SignedSquare => each(&|x| num::mul(x, num::abs(x), p)),
            Link::Opposite => raw.iter().flat_map(|x| [num::sub(0.0, *x, p), *x]).collect(),
            Link::OppositeSigmoid => {
                raw.iter().flat_map(|x| [num::sigmoid_cr(num::neg(*x)), num::sigmoid_cr(*x)]).collect()
            }
            Link::Complement => raw.iter().flat_map(|x| [num::sub(1.0, *x, p), *x]).collect(),
            Link::Softmax => raw.chunks(outputs.max(1)).flat_map(softmax).collect(),
            Link::ArgMax => raw.chunks(outputs.max(1)).map(|row| greatest(row) as f32).collect(),
        }
    }
}

fn greatest(row: &[f32]) -> usize {
    let mut best = 0;
    for (at, x) in row.iter().enumerate() {
        if *x > row[best] {
            best = at;
        }
    }
    best
}

fn softmax(row: &[f32]) -> Vec<f32> {
    let p = num::Pins::HOST;
    let most = row[greatest(row)];
    let powers: Vec<f32> = row.iter().map(|x| num::exp_cr(num::sub(*x, most, p))).collect();
    let sum = powers.iter().fold(0.0, |sum, x| num::add(sum, *x, p));
    powers.iter().map(|x| num::div(*x, sum)).collect()
}

impl Imported {
    /// What the library predicts: [`Imported::link`] of the raw scores, shape (rows, [`Link::width`]).
    ///
    /// # Errors
    /// Those of [`crate::Ensemble::raw`]; [`Error::NonFinite`] (stage `trees.link`) where the link overflows.
    ///
    /// # Bit identity
    /// That of [`Link::apply`].
    pub fn predict(&self, device: &Device, x: &[f32], rows: usize) -> Result<Vec<f32>> {
        let raw = self.ensemble.raw(device, x, rows)?;
        let predicted = self.link.apply(&raw, self.ensemble.outputs());
        match predicted.iter().position(|y| !y.is_finite()) {
            Some(index) => Err(Error::NonFinite { stage: "trees.link".to_owned(), index }),
            None => Ok(predicted),
        }
    }
}
