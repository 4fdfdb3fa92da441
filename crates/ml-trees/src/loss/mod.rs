//! Losses: what a boosting fit brings down, with the gradients that its trees are grown on.
//!
//! A raw score s meets its target y through the loss; [`Loss::link`] says how a prediction comes of s. Gradients of a loss
//! that looks at one row at a time are expressions of the waist (`ml_kernels::map`), each operation rounded once; those of
//! a ranking are made on the host, in binary64, pairs ascending, rounded once.

mod gradient;
mod metric;
mod ranking;
mod renew;

use ml_core::canon::canon;
use ml_core::{DataError, ParamError, Result};
use ml_kernels::num::{ln_cr, sub};
use serde_json::{Value, json};

pub(crate) use gradient::{Channels, Gradients, Softmax};
pub(crate) use metric::{Scored, metric};
pub(crate) use renew::{Renewal, weighted_quantile};

/// What a fit brings down. r = s - y is the residual of a raw score s.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// Squared error: r² / 2.
    #[default]
    Rmse,
    /// Absolute error |r|. Leaves are medians.
    Mae,
    /// The pinball loss: alpha (y - s) where s < y, else (1 - alpha) (s - y). Leaves are quantiles.
    Quantile {
        /// The quantile, in (0, 1).
        alpha: f32,
    },
    /// r² / 2 up to |r| = delta, delta (|r| - delta / 2) beyond.
    Huber {
        /// Where it turns from square to line, above 0.
        delta: f32,
    },
    /// The pinball loss of e^s.
    LogLinQuantile {
        /// The quantile, in (0, 1).
        alpha: f32,
    },
    /// |r| / max(1, |y|). Leaves are medians, rows weighing 1 / max(1, |y|).
    Mape,
    /// e^s - y s, for counts y >= 0.
    Poisson,
    /// -y e^((1 - power) s) / (1 - power) + e^((2 - power) s) / (2 - power), for y >= 0.
    Tweedie {
        /// The power of the variance, in (1, 2).
        power: f32,
    },
    /// y e^-s + s, for y > 0.
    Gamma,
    /// alpha r² where s < y, else (1 - alpha) r².
    Expectile {
        /// The expectile, in (0, 1).
        alpha: f32,
    },
    /// |r|^q.
    Lq {
        /// The power, at least 1.
        q: f32,
    },
    /// Squared errors of several targets.
    MultiRmse,
    /// ln(1 + e^s) - y s of classes 0 and 1.
    Logloss,
    /// The same for y in [0, 1].
    CrossEntropy,
    /// -ln of the softmax of the scores at the row's class.
    MultiClass,
    /// Logloss of each class against the others.
    MultiClassOneVsAll,
    /// Squared error after the group's mean residual is taken off.
    QueryRmse,
    /// ln(1 + e^(s_j - s_i)) over the pairs of a group with y_i > y_j.
    PairLogit,
    /// PairLogit, each pair weighing what swapping it would do to the group's NDCG.
    LambdaRank,
    /// Known to the field, not offered here.
    YetiRank,
}

/// How a prediction comes of raw scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The score itself.
    Identity,
    /// e^s.
    Exp,
    /// 1 / (1 + e^-s), for each output.
    Sigmoid,
    /// e^(s_k - m) over the sum of these, m being the greatest score.
    Softmax,
}

impl Link {
    /// Its name in a model file.
    pub fn name(self) -> &'static str {
        match self {
            Link::Identity => "identity",
            Link::Exp => "exp",
            Link::Sigmoid => "sigmoid",
            Link::Softmax => "softmax",
        }
    }

    /// The link of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Link::Identity, Link::Exp, Link::Sigmoid, Link::Softmax].into_iter().find(|l| l.name() == name)
    }
}

impl Loss {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Loss::Rmse => "RMSE",
            Loss::Mae => "MAE",
            Loss::Quantile { .. } => "Quantile",
            Loss::Huber { .. } => "Huber",
            Loss::LogLinQuantile { .. } => "LogLinQuantile",
            Loss::Mape => "MAPE",
            Loss::Poisson => "Poisson",
            Loss::Tweedie { .. } => "Tweedie",
            Loss::Gamma => "Gamma",
            Loss::Expectile { .. } => "Expectile",
            Loss::Lq { .. } => "Lq",
            Loss::MultiRmse => "MultiRMSE",
            Loss::Logloss => "Logloss",
            Loss::CrossEntropy => "CrossEntropy",
            Loss::MultiClass => "MultiClass",
            Loss::MultiClassOneVsAll => "MultiClassOneVsAll",
            Loss::QueryRmse => "QueryRMSE",
            Loss::PairLogit => "PairLogit",
            Loss::LambdaRank => "LambdaRank",
            Loss::YetiRank => "YetiRank",
        }
    }

    /// The loss as a model file shows it.
    pub(crate) fn to_json(self) -> Value {
        match self {
            Loss::Quantile { alpha } | Loss::LogLinQuantile { alpha } | Loss::Expectile { alpha } => {
                json!({"name": self.name(), "alpha": alpha})
            }
            Loss::Huber { delta } => json!({"name": self.name(), "delta": delta}),
            Loss::Tweedie { power } => json!({"name": self.name(), "power": power}),
            Loss::Lq { q } => json!({"name": self.name(), "q": q}),
            _ => json!({"name": self.name()}),
        }
    }

    /// How a prediction comes of a raw score.
    pub fn link(&self) -> Link {
        match self {
            Loss::LogLinQuantile { .. } | Loss::Poisson | Loss::Tweedie { .. } | Loss::Gamma => Link::Exp,
            Loss::Logloss | Loss::CrossEntropy | Loss::MultiClassOneVsAll => Link::Sigmoid,
            Loss::MultiClass => Link::Softmax,
            _ => Link::Identity,
        }
    }

    /// Whether rows are looked at in groups.
    pub fn is_ranking(&self) -> bool {
        matches!(self, Loss::QueryRmse | Loss::PairLogit | Loss::LambdaRank | Loss::YetiRank)
    }

    /// Whether targets are classes.
    pub fn is_classes(&self) -> bool {
        matches!(self, Loss::Logloss | Loss::MultiClass | Loss::MultiClassOneVsAll)
    }

    /// Whether the second derivative is 1 in every row of weight 1.
    pub(crate) fn unit_curvature(&self) -> bool {
        matches!(self, Loss::Rmse | Loss::MultiRmse | Loss::Mae | Loss::Quantile { .. } | Loss::Huber { .. })
            || matches!(self, Loss::Lq { q } if *q < 2.0)
            || matches!(self, Loss::QueryRmse)
    }

    /// Its parameters within their bounds.
    ///
    /// # Errors
    /// [`ParamError::OutOfBound`]; [`ParamError::NotOffered`].
    pub(crate) fn check(&self) -> Result<()> {
        let inside = |name: &'static str, value: f32, low: f32, high: f32| {
            if value > low && value < high && canon(value) != 0.0 {
                return Ok(());
            }
            Err(ParamError::out_of_bound(name, format!("within ({low}, {high})"), value))
        };
        match *self {
            Loss::Quantile { alpha } | Loss::LogLinQuantile { alpha } | Loss::Expectile { alpha } => {
                inside("alpha", alpha, 0.0, 1.0)?;
            }
            Loss::Huber { delta } => inside("delta", delta, 0.0, f32::INFINITY)?,
            Loss::Tweedie { power } => inside("power", power, 1.0, 2.0)?,
            Loss::Lq { q } if !(1.0..=64.0).contains(&q) => {
                return Err(ParamError::out_of_bound("q", "within 1..=64", q).into());
            }
            Loss::YetiRank => {
                return Err(ParamError::NotOffered {
                    name: "loss",
                    value: "YetiRank".to_owned(),
                    instead: "LambdaRank, PairLogit or QueryRMSE".to_owned(),
                }
                .into());
            }
            _ => {}
        }
        Ok(())
    }

    /// The targets (one column an output or a target) within the loss's domain.
    ///
    /// # Errors
    /// [`DataError::Shape`] with the first row that is not.
    pub(crate) fn check_targets(&self, y: &[f32]) -> Result<()> {
        let (domain, inside): (&str, fn(f32) -> bool) = match self {
            Loss::Poisson | Loss::Tweedie { .. } => ("at least 0", |v| v >= 0.0),
            Loss::Gamma | Loss::LogLinQuantile { .. } => ("above 0", |v| v > 0.0),
            Loss::CrossEntropy => ("within 0..=1", |v| (0.0..=1.0).contains(&v)),
            Loss::LambdaRank => ("within 0..=31", |v| (0.0..=31.0).contains(&v)),
            _ => return Ok(()),
        };
        match y.iter().position(|v| !inside(*v)) {
            Some(row) => {
                let expected = format!("{domain} for the loss {}", self.name());
                Err(DataError::shape("y", expected, format!("{} at row {row}", y[row])).into())
            }
            None => Ok(()),
        }
    }

    /// The constant score that a fit starts from: the best one, or near it. `y` is one target or, for classes, whether the
    /// row is of the output's class.
    pub(crate) fn base(&self, y: &[f32], weights: Option<&[f32]>) -> f32 {
        let weight = |i: usize| weights.map_or(1.0, |w| f64::from(w[i]));
        let mean = || {
            let (mut sum, mut total) = (0.0f64, 0.0f64);
            for (i, v) in y.iter().enumerate() {
                sum += weight(i) * f64::from(*v);
                total += weight(i);
            }
            canon((sum / total) as f32)
        };
        let quantile = |alpha: f32, of: &dyn Fn(usize) -> (f64, f64)| {
            let mut items: Vec<(f64, f64)> = (0..y.len()).map(of).collect();
            canon(weighted_quantile(&mut items, f64::from(alpha)) as f32)
        };
        let plain = |i: usize| (f64::from(y[i]), weight(i));
        // Far enough from 0 and 1 that both logarithms are finite.
        let near = f32::from_bits(0x3380_0000);
        match *self {
            Loss::Rmse | Loss::MultiRmse | Loss::Expectile { .. } | Loss::Huber { .. } => mean(),
            Loss::Mae | Loss::Lq { .. } => quantile(0.5, &plain),
            Loss::Quantile { alpha } => quantile(alpha, &plain),
            Loss::LogLinQuantile { alpha } => ln_cr(quantile(alpha, &plain)),
            Loss::Mape => quantile(0.5, &|i| (f64::from(y[i]), weight(i) / f64::from(y[i].abs().max(1.0)))),
            Loss::Poisson | Loss::Tweedie { .. } | Loss::Gamma => ln_cr(mean().max(near)),
            Loss::Logloss | Loss::CrossEntropy | Loss::MultiClassOneVsAll => {
                let p = mean().clamp(near, 1.0 - near);
                sub(ln_cr(p), ln_cr(1.0 - p), ml_kernels::num::Pins::HOST)
            }
            Loss::MultiClass => ln_cr(mean().max(near)),
            Loss::QueryRmse | Loss::PairLogit | Loss::LambdaRank | Loss::YetiRank => 0.0,
        }
    }
}
