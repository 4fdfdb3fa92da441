//! What the fitted models share: trees, link, history.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{DataError, Error, Matrix, ModelError, Result};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::trees::{walk, walk_sum};
use ml_kernels::{Buffer, Context, Device};
use serde_json::Value;

use super::files;
use crate::dataset::Dataset;
use crate::ensemble::Ensemble;
use crate::loss::{Link, Softmax};

/// A boosted ensemble with its link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Boosted {
    pub ensemble: Ensemble,
    pub link: Link,
    /// Metric after each iteration on the evaluation rows, binary64.
    pub history: Vec<f64>,
    pub params: Value,
}

impl Boosted {
    pub fn outputs(&self) -> usize {
        self.ensemble.base().len()
    }

    pub fn iterations(&self) -> usize {
        self.ensemble.trees().len() / self.outputs().max(1)
    }

    /// Raw scores, shape (rows, outputs).
    pub fn raw(&self, x: &[f32], rows: usize, cols: usize, cx: &mut Context<'_>) -> Result<Vec<f32>> {
        self.same_width(cols)?;
        if rows == 0 {
            return Err(DataError::Empty { what: "x", rows, cols }.into());
        }
        scores(cx.device(), &self.ensemble, x, rows)
    }

    fn same_width(&self, cols: usize) -> Result<()> {
        if cols != self.ensemble.features() {
            let expected = format!("{} columns wide", self.ensemble.features());
            return Err(DataError::shape("x", expected, format!("{cols} columns")).into());
        }
        Ok(())
    }

    /// The model of the first `iterations` iterations.
    pub fn first(&self, iterations: usize) -> Result<Boosted> {
        let trees = iterations.min(self.iterations()) * self.outputs();
        let e = &self.ensemble;
        let (trees, first) = (e.trees()[..trees].to_vec(), e.first_output()[..trees].to_vec());
        let ensemble = Ensemble::new(trees, first, e.base().to_vec(), e.features(), e.arithmetic())?;
        Ok(Boosted { ensemble, ..self.clone() })
    }

    /// Raw scores after each iteration, shape (iterations, rows, outputs): each is what the trees up to it give.
    pub fn staged(&self, x: &Dataset, cx: &mut Context<'_>) -> Result<Vec<Matrix>> {
        let outputs = self.outputs();
        self.same_width(x.cols())?;
        let device = cx.device().clone();
        let rows = Buffer::upload(&device, x.as_slice())?;
        let leaves = walk(&device, &rows, x.rows(), &files::forest(&device, &self.ensemble)?)?.read()?;
        let trees = self.ensemble.trees();
        let base: Vec<f32> = self.ensemble.base().iter().map(|b| *b as f32).collect();
        let mut score: Vec<f32> = base.iter().copied().cycle().take(x.rows() * outputs).collect();
        let mut stages = Vec::with_capacity(self.iterations());
        for iteration in 0..self.iterations() {
            for k in 0..outputs {
                let at = iteration * outputs + k;
                let values: Vec<f32> = trees[at].values().iter().map(|v| *v as f32).collect();
                for (row, score) in score.chunks_exact_mut(outputs).enumerate() {
                    let value = values[leaves[row * trees.len() + at] as usize];
                    score[k] = ml_kernels::num::add(score[k], value, ml_kernels::num::Pins::HOST);
                }
            }
            stages.push(Matrix::from_vec(x.rows(), outputs, score.clone())?);
        }
        Ok(stages)
    }

    /// Predictions from raw scores: the link.
    pub fn linked(&self, raw: Vec<f32>, rows: usize, tag: &str, cx: &mut Context<'_>) -> Result<Vec<f32>> {
        let device: Device = cx.device().clone();
        let outputs = self.outputs();
        let one = |expr: Expr, raw: &[f32]| {
            let raw = Buffer::upload(&device, raw)?;
            map(&device, &expr, &[Operand::Full(&raw)], &[], rows, outputs)?.read()
        };
        let out = match self.link {
            Link::Identity => raw,
            Link::Exp => one(Expr::input(0).exp(), &raw)?,
            Link::Sigmoid => one(Expr::input(0).sigmoid(), &raw)?,
            Link::Softmax => {
                let columns = (0..outputs)
                    .map(|k| {
                        let column: Vec<f32> = raw.iter().skip(k).step_by(outputs).copied().collect();
                        Buffer::upload(&device, &column)
                    })
                    .collect::<Result<Vec<_>>>()?;
                let softmax = Softmax::new(&device, rows, &columns)?;
                let mut out = vec![0.0f32; raw.len()];
                for (k, column) in columns.iter().enumerate() {
                    let p = softmax.probability(&device, rows, column)?.read()?;
                    out.iter_mut().skip(k).step_by(outputs).zip(p).for_each(|(o, p)| *o = p);
                }
                out
            }
        };
        if let Some(index) = out.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFinite { stage: tag.to_owned(), index });
        }
        let bytes: Vec<u8> = out.iter().flat_map(|v| v.to_le_bytes()).collect();
        cx.record(tag, ml_core::Dtype::F32, &[rows, outputs], &bytes);
        Ok(out)
    }

    pub fn write(&self, kind: &str) -> Result<ModelWriter> {
        let bits: Vec<u64> = self.history.iter().map(|v| v.to_bits()).collect();
        let file = ModelWriter::new(kind, self.params.clone()).param("link", self.link.name().into()).u64(
            "history",
            &[bits.len()],
            &bits,
        );
        Ok(files::write(file, &self.ensemble))
    }

    pub fn read(file: &ModelReader) -> Result<Self> {
        let ensemble = files::read(file)?;
        let name = file.param_str("link")?;
        let link = Link::from_name(name).ok_or_else(|| ModelError::Param {
            path: file.path().to_owned(),
            name: "link".to_owned(),
            found: name.to_owned(),
            expected: "identity, exp, sigmoid or softmax",
        })?;
        let history: Vec<f64> = file.u64("history", &[ANY])?.data.into_iter().map(f64::from_bits).collect();
        if ensemble.base().is_empty() || ensemble.trees().len() % ensemble.base().len() != 0 {
            return Err(ModelError::Malformed {
                path: file.path().to_owned(),
                reason: format!("{} trees for {} outputs", ensemble.trees().len(), ensemble.base().len()),
            }
            .into());
        }
        Ok(Boosted { ensemble, link, history, params: file.params().clone() })
    }
}

/// Raw scores of `rows` rows, shape (rows, outputs).
pub(super) fn scores(device: &Device, ensemble: &Ensemble, x: &[f32], rows: usize) -> Result<Vec<f32>> {
    let x = Buffer::upload(device, x)?;
    let scores = walk_sum(device, &x, rows, &files::forest(device, ensemble)?)?.read()?;
    match scores.iter().position(|s| !s.is_finite()) {
        Some(index) => Err(Error::NonFinite { stage: "gradient_boosting.raw".to_owned(), index }),
        None => Ok(scores),
    }
}

/// Methods that both models have.
macro_rules! boosted_model {
    ($model:ident) => {
        impl $model {
            /// The trees.
            pub fn ensemble(&self) -> &Ensemble {
                &self.boosted.ensemble
            }

            /// Iterations kept: trees over outputs.
            pub fn n_iterations(&self) -> usize {
                self.boosted.iterations()
            }

            /// The iteration, counted from 1 in this fit, whose metric on the evaluation rows was least; `None` without
            /// evaluation rows. Ties go to the first.
            pub fn best_iteration(&self) -> Option<usize> {
                let history = &self.boosted.history;
                let best = (0..history.len()).min_by(|&a, &b| history[a].total_cmp(&history[b]))?;
                Some(best + 1)
            }

            /// The metric on the evaluation rows after each iteration of the fit; less is better. Empty without any.
            pub fn eval_history(&self) -> &[f64] {
                &self.boosted.history
            }

            /// Number of columns that predictions need.
            pub fn n_features_in(&self) -> usize {
                self.boosted.ensemble.features()
            }

            /// The importance of each column, not normalised.
            ///
            /// # Bit identity
            /// Sums in binary64 over trees and nodes in order.
            pub fn feature_importances(&self, kind: Importance) -> Vec<f64> {
                crate::explain::importances(&self.boosted.ensemble, kind)
            }

            /// The parameters of the fit, as the model file shows them.
            pub fn params(&self) -> &serde_json::Value {
                &self.boosted.params
            }

            /// Raw scores, shape (rows, outputs): base ⊕ leaf values in the order of the trees.
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`].
            ///
            /// # Bit identity
            /// A score depends on its row and the trees alone.
            pub fn raw_scores(&self, x: &Dataset, device: &Device) -> Result<Matrix> {
                let raw = self.boosted.raw(x.as_slice(), x.rows(), x.cols(), &mut Context::new(device))?;
                Matrix::from_vec(x.rows(), self.boosted.outputs(), raw)
            }

            /// Raw scores after each iteration, each of shape (rows, outputs).
            ///
            /// # Errors
            /// Those of [`Predict::predict_in`].
            ///
            /// # Bit identity
            /// The last one is [`Self::raw_scores`].
            pub fn staged_raw_scores(&self, x: &Dataset, device: &Device) -> Result<Vec<Matrix>> {
                self.boosted.staged(x, &mut Context::new(device))
            }

            /// The same model with its first `iterations` iterations alone.
            ///
            /// # Errors
            /// None for a model that was fitted or loaded.
            pub fn truncated(&self, iterations: usize) -> Result<Self> {
                let mut model = self.clone();
                model.boosted = self.boosted.first(iterations)?;
                Ok(model)
            }
        }
    };
}
pub(crate) use boosted_model;
