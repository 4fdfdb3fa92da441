//! What a split is judged by, and the same in units of the integers.

use std::sync::Arc;

use ml_core::{DataError, Error, ParamError, Result};

use super::weigh::{
    Penalty, bounded_gain, deviance, is_enough, is_monotone, is_positive, newton_gain, square, squares_gain,
};
use crate::num::{Limbs, Pins, add, i64_to_f32, scale_pow2, sub64};
use crate::scatter_add::host::scale;

/// What a split gains. The channels of the sums are named with each; one more, a count of rows, may follow
/// ([`SplitRule::counted`]).
///
/// Formulas are those of clause `tree-splits`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// Channels g and h, first and second derivatives of a loss. A node is worth G² / (H + l2), with |G| lessened by l1;
    /// there is no factor of one half.
    Newton {
        /// Penalty on the magnitude of a leaf's value, >= 0.
        l1: f32,
        /// Penalty on the square of a leaf's value, >= 0.
        l2: f32,
    },
    /// Channels: the weight of a row in each class, with one shift for all
    /// ([`quantise_sharing`](crate::trees::quantise_sharing)). A node of weight W has W (1 - Σ (W_k / W)²) to lose.
    Gini,
    /// Channels as for [`Criterion::Gini`]. A node has -Σ W_k ln(W_k / W) to lose.
    Entropy,
    /// Channels w and w y, weight and weighted target. A node has Σ w (y - mean)² to lose.
    SquaredError,
    /// Channels w and w y, y >= 0. A node has Σ w y ln(y / mean) to lose, half its deviance. Sides without a positive sum of
    /// targets are refused.
    Poisson,
}

/// What a split is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitRule {
    /// What a split gains.
    pub criterion: Criterion,
    /// A split must gain more than this, in units of the criterion. Default 0; below 0, splits that gain nothing are made
    /// too.
    pub min_gain: f32,
    /// Least weight of a child, >= 0: the sum of h for [`Criterion::Newton`], the weights of all classes together, or w.
    /// Default 0.
    pub min_child_weight: f32,
    /// Least rows of a child; above 1 it needs a count. Default 1.
    pub min_samples_leaf: u32,
    /// Whether the last channel counts rows. Default no.
    pub counted: bool,
    /// For each column 1 where values must not fall as the column grows, -1 where they must not rise, 0 otherwise. Default
    /// none. The value of a node is that of its leaf for [`Criterion::Newton`], its mean, or the share of class 1 of two.
    pub monotone: Option<Arc<[i8]>>,
    /// For each column whether its bins are categories. Default none. The last bin of such a column, categories unknown at
    /// training, is never on the left.
    pub categorical: Option<Arc<[bool]>>,
    /// Most categories of a column whose splits name one category each; the splits of a column with more name up to
    /// [`MAX_SET`](super::MAX_SET) categories from either end of their order. Default 4.
    pub max_one_hot: u32,
}

impl SplitRule {
    /// The rule of `criterion` with defaults.
    pub fn new(criterion: Criterion) -> Self {
        SplitRule {
            criterion,
            min_gain: 0.0,
            min_child_weight: 0.0,
            min_samples_leaf: 1,
            counted: false,
            monotone: None,
            categorical: None,
            max_one_hot: 4,
        }
    }

    /// In units of integers with `shifts`, for `cols` columns.
    pub(super) fn weigher(&self, shifts: &[i32], cols: usize) -> Result<Weigher> {
        let refused = |name, bound: &str, value: String| Error::from(ParamError::out_of_bound(name, bound, value));
        for (name, value) in [("min_child_weight", self.min_child_weight), ("l1", self.l1()), ("l2", self.l2())] {
            if !value.is_finite() || value < 0.0 {
                return Err(refused(name, "finite and >= 0", value.to_string()));
            }
        }
        if self.min_gain.is_nan() {
            return Err(refused("min_gain", "a number", "NaN".to_owned()));
        }
        if self.min_samples_leaf > 1 && !self.counted {
            return Err(refused("min_samples_leaf", "at most 1 without a count", self.min_samples_leaf.to_string()));
        }
        let classes = shifts.len() - usize::from(self.counted && !shifts.is_empty());
        let by_class = matches!(self.criterion, Criterion::Gini | Criterion::Entropy);
        if classes < 1 || (!by_class && classes < 2) {
            return Err(refused("channels", "those of the criterion and the count", shifts.len().to_string()));
        }
        if by_class && shifts[..classes].iter().any(|s| *s != shifts[0]) {
            return Err(refused("shifts", "one for all classes", format!("{:?}", &shifts[..classes])));
        }
        let expect_cols = |what, n: usize| match n == cols {
            true => Ok(()),
            false => Err(Error::from(DataError::shape(what, format!("{cols} columns"), n))),
        };
        self.categorical.as_ref().map_or(Ok(()), |c| expect_cols("categorical", c.len()))?;
        if let Some(monotone) = &self.monotone {
            expect_cols("monotone", monotone.len())?;
            let is_category = |col: usize| self.categorical.as_ref().is_some_and(|c| c[col]);
            let bad = |(col, sign): (usize, &i8)| ![-1, 0, 1].contains(sign) || (*sign != 0 && is_category(col));
            if let Some((col, sign)) = monotone.iter().enumerate().find(|(col, sign)| bad((*col, sign))) {
                return Err(refused("monotone", "-1, 0 or 1, and 0 for categories", format!("{sign} at column {col}")));
            }
            if by_class && classes != 2 {
                return Err(refused("monotone", "none unless there are two classes", format!("{classes} classes")));
            }
        }
        let (first, second) = (shifts[0], shifts.get(1).copied().unwrap_or(0));
        let count = shifts[shifts.len() - 1];
        let least = |x: f64, shift: i32| (x * scale(shift)).ceil() as i64;
        let bounded = self.monotone.is_some();
        let (form, weight, gain_scale, value_scale) = match self.criterion {
            Criterion::Newton { l1, .. } if l1 == 0.0 && !bounded => (Form::Newton, second, second - 2 * first, 0),
            Criterion::Newton { .. } => (Form::Bounded, second, second - 2 * first, first - second),
            Criterion::Gini => (Form::Gini, first, -first, 0),
            Criterion::Entropy => (Form::Entropy, first, -first, 0),
            Criterion::SquaredError => (Form::SquaredError, first, first - 2 * second, second - first),
            Criterion::Poisson => (Form::Poisson, first, -second, second - first),
        };
        Ok(Weigher {
            form,
            channels: shifts.len(),
            classes,
            bounded,
            l1: scale_pow2(self.l1(), first),
            l2: scale_pow2(self.l2(), second),
            least_weight: least(f64::from(self.min_child_weight), weight),
            counted: self.counted,
            least_count: least(f64::from(self.min_samples_leaf), count),
            gain_scale,
            value_scale,
        })
    }

    fn l1(&self) -> f32 {
        if let Criterion::Newton { l1, .. } = self.criterion { l1 } else { 0.0 }
    }

    fn l2(&self) -> f32 {
        if let Criterion::Newton { l2, .. } = self.criterion { l2 } else { 0.0 }
    }
}

/// Which formula weighs a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// Newton with an L2 penalty alone.
    Newton,
    /// Newton with an L1 penalty or bounds.
    Bounded,
    Gini,
    Entropy,
    SquaredError,
    Poisson,
}

/// A rule in units of the integers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weigher {
    pub(super) form: Form,
    pub(super) channels: usize,
    /// Channels without the count.
    pub(super) classes: usize,
    /// Whether there are bounds and signs.
    pub(super) bounded: bool,
    pub(super) l1: f32,
    pub(super) l2: f32,
    pub(super) least_weight: i64,
    pub(super) counted: bool,
    pub(super) least_count: i64,
    /// Gains times two to this are in units of the criterion.
    pub(super) gain_scale: i32,
    /// Values of leaves times two to this are in units of the integers.
    pub(super) value_scale: i32,
}

impl Weigher {
    /// Bounds of a node's values in units of the integers.
    pub(super) fn bounds(&self, [low, high]: [f32; 2]) -> [f32; 2] {
        [scale_pow2(low, self.value_scale), scale_pow2(high, self.value_scale)]
    }

    /// The weight among sums.
    #[inline(always)]
    pub(super) fn weight(&self, sums: &[i64]) -> i64 {
        match self.form {
            Form::Newton | Form::Bounded => sums[1],
            Form::SquaredError | Form::Poisson => sums[0],
            Form::Gini | Form::Entropy => sums[..self.classes].iter().fold(0, |w, s| w.wrapping_add(*s)),
        }
    }

    /// What a split gains in one node, in units of the integers: a NaN if it is refused. `left` and `all` are sums of the
    /// left side and of the node; `sign` is 1 where values must not fall from left to right, 2 where they must not rise.
    #[inline(always)]
    pub(super) fn gain(&self, left: &[i64], all: &[i64], sign: u32, [low, high]: [f32; 2]) -> f32 {
        let at = |sums: &[i64], c: usize| Limbs::from_i64(sums[c]);
        let p = Pins::HOST;
        let count = self.channels - 1;
        let (wl, w) = (Limbs::from_i64(self.weight(left)), Limbs::from_i64(self.weight(all)));
        let enough = is_enough(wl, w, Limbs::from_i64(self.least_weight))
            && (!self.counted || is_enough(at(left, count), at(all, count), Limbs::from_i64(self.least_count)));
        if !enough {
            return f32::NAN;
        }
        if matches!(self.form, Form::Newton | Form::Bounded) {
            let (gl, g) = (at(left, 0), at(all, 0));
            return match self.form {
                Form::Newton => newton_gain(gl, wl, g, w, self.l2, p),
                _ => bounded_gain(gl, wl, g, w, Penalty { l1: self.l1, l2: self.l2, low, high }, sign, p),
            };
        }
        let wr = sub64(w, wl);
        if !is_positive(i64_to_f32(wl)) || !is_positive(i64_to_f32(wr)) {
            return f32::NAN;
        }
        // The channel whose mean is the node's value.
        if self.bounded && !is_monotone(at(left, 1), wl, at(all, 1), w, low, high, sign) {
            return f32::NAN;
        }
        let classes = 0..self.classes;
        match self.form {
            Form::SquaredError => squares_gain(square(at(left, 1), wl, at(all, 1), w, p), wl, wr, p),
            Form::Gini => {
                let sum = classes.fold(0.0, |q, k| add(q, square(at(left, k), wl, at(all, k), w, p), p));
                squares_gain(sum, wl, wr, p)
            }
            Form::Entropy => classes.fold(0.0, |q, k| add(q, deviance(at(left, k), wl, at(all, k), w, p), p)),
            _ => {
                let (sl, s) = (at(left, 1), at(all, 1));
                let good = is_positive(i64_to_f32(sl)) && is_positive(i64_to_f32(sub64(s, sl)));
                if good { deviance(sl, wl, s, w, p) } else { f32::NAN }
            }
        }
    }
}
