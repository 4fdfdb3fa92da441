//! What the fitted models share.

use ml_core::canon::is_finite;
use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{DataError, Error, Matrix, ModelError, Result, check};
use ml_kernels::num::order;
use ml_kernels::{Context, Device};
use serde_json::Value;

use super::fit::Fitted;
use crate::double::single;
use crate::ensemble::{Ensemble, Node};
use crate::{flat, walk};

/// What trees say of the rows that they did not draw.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfBagClasses {
    /// The probability of each class for each row of the fit, shape (rows, classes); zeros for a row that every tree drew.
    pub decision_function: Matrix,
    /// Whether any tree did not draw the row.
    pub known: Vec<bool>,
    /// The share of the known rows whose most probable class is their own.
    pub score: f64,
}

/// What trees say of the rows that they did not draw.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfBagNumbers {
    /// The prediction for each row of the fit; 0 for a row that every tree drew.
    pub prediction: Vec<f32>,
    /// Whether any tree did not draw the row.
    pub known: Vec<bool>,
    /// The coefficient of determination over the known rows.
    pub score: f64,
}

/// Trees that vote for classes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Classifier {
    pub ensemble: Ensemble,
    pub classes: Vec<u32>,
    pub params: Value,
    pub out_of_bag: Option<OutOfBagClasses>,
}

/// Trees that predict numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Regressor {
    pub ensemble: Ensemble,
    pub params: Value,
    pub out_of_bag: Option<OutOfBagNumbers>,
}

/// The distinct labels, ascending, and each row's place among them.
pub(super) fn classes(labels: &[u32], rows: usize) -> Result<(Vec<u32>, Vec<u32>)> {
    if labels.len() != rows {
        return Err(DataError::shape("labels", format!("{rows} (one a row)"), labels.len()).into());
    }
    let mut names = labels.to_vec();
    names.sort_unstable();
    names.dedup();
    let of = labels.iter().map(|l| names.partition_point(|name| name < l) as u32).collect();
    Ok((names, of))
}

/// The place of the greatest number of a row; ties to the first.
fn greatest(row: &[f32]) -> usize {
    (0..row.len()).rev().max_by_key(|c| order::key(row[*c])).unwrap_or(0)
}

impl Classifier {
    pub fn new(fitted: Fitted, classes: Vec<u32>, of: &[u32], params: Value) -> Result<Self> {
        let k = classes.len();
        let out_of_bag = match fitted.out_of_bag {
            None => None,
            Some((scores, known)) => {
                let decision: Vec<f32> = scores.into_iter().map(single).collect();
                let rows = decision.chunks_exact(k).zip(of).zip(&known).filter(|(_, known)| **known);
                let (mut hits, mut all) = (0u32, 0u32);
                for ((row, class), _) in rows {
                    all += 1;
                    hits += u32::from(greatest(row) == *class as usize);
                }
                let score = if all == 0 { 0.0 } else { f64::from(hits) / f64::from(all) };
                let decision_function = Matrix::from_vec(of.len(), k, decision)?;
                Some(OutOfBagClasses { decision_function, known, score })
            }
        };
        Ok(Classifier { ensemble: fitted.ensemble, classes, params, out_of_bag })
    }

    pub fn predict_proba(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Matrix> {
        let scores = scores(&self.ensemble, x, cx)?;
        record(cx, "forest.probabilities", &[x.rows(), self.classes.len()], &scores);
        Matrix::from_vec(x.rows(), self.classes.len(), scores)
    }

    pub fn predict(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<u32>> {
        let scores = self.predict_proba(x, cx)?;
        Ok((0..x.rows()).map(|i| self.classes[greatest(scores.row(i))]).collect())
    }

    pub fn score(&self, x: &Matrix, labels: &[u32], device: &Device) -> Result<f64> {
        if labels.len() != x.rows() {
            return Err(DataError::shape("labels", format!("{} (one a row)", x.rows()), labels.len()).into());
        }
        let predicted = self.predict(x, &mut Context::new(device))?;
        Ok(predicted.iter().zip(labels).filter(|(p, l)| p == l).count() as f64 / labels.len() as f64)
    }

    pub fn to_writer(&self, kind: &str) -> ModelWriter {
        let writer = ModelWriter::new(kind, self.params.clone()).u32("classes", &[self.classes.len()], &self.classes);
        flat::write(writer, &self.ensemble)
    }

    pub fn from_reader(file: &ModelReader) -> Result<Self> {
        let ensemble = flat::read(file)?;
        let classes = file.u32("classes", &[ensemble.base().len()])?.data;
        if !classes.windows(2).all(|w| w[0] < w[1]) {
            let reason = "classes are not in order".to_owned();
            return Err(ModelError::Malformed { path: file.path().to_owned(), reason }.into());
        }
        Ok(Classifier { ensemble, classes, params: params(file), out_of_bag: None })
    }
}

impl Regressor {
    pub fn new(fitted: Fitted, y: &[f32], params: Value) -> Self {
        let out_of_bag = fitted.out_of_bag.map(|(scores, known)| {
            let prediction: Vec<f32> = scores.into_iter().map(single).collect();
            let pairs = prediction.iter().zip(y).zip(&known).filter(|(_, known)| **known).map(|((p, y), _)| (*p, *y));
            OutOfBagNumbers { score: determination(pairs), prediction, known }
        });
        Regressor { ensemble: fitted.ensemble, params, out_of_bag }
    }

    pub fn predict(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<f32>> {
        let scores = scores(&self.ensemble, x, cx)?;
        record(cx, "forest.predictions", &[x.rows()], &scores);
        Ok(scores)
    }

    pub fn score(&self, x: &Matrix, y: &[f32], device: &Device) -> Result<f64> {
        if y.len() != x.rows() {
            return Err(DataError::shape("y", format!("{} (one a row)", x.rows()), y.len()).into());
        }
        let predicted = self.predict(x, &mut Context::new(device))?;
        Ok(determination(predicted.iter().copied().zip(y.iter().copied())))
    }

    pub fn to_writer(&self, kind: &str) -> ModelWriter {
        flat::write(ModelWriter::new(kind, self.params.clone()), &self.ensemble)
    }

    pub fn from_reader(file: &ModelReader) -> Result<Self> {
        let ensemble = flat::read(file)?;
        if ensemble.base().len() != 1 {
            let reason = "trees of a regressor give one number".to_owned();
            return Err(ModelError::Malformed { path: file.path().to_owned(), reason }.into());
        }
        Ok(Regressor { ensemble, params: params(file), out_of_bag: None })
    }
}

/// The parameters of the fit, without what the arrays say themselves.
fn params(file: &ModelReader) -> Value {
    let mut params = file.params().clone();
    if let Value::Object(map) = &mut params {
        map.remove("n_features_in");
        map.remove("n_outputs");
    }
    params
}

/// Leaf values added in double precision in the order of the trees, rounded once.
fn scores(ensemble: &Ensemble, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<f32>> {
    check::not_empty("x", x.view())?;
    check::width("x", x.view(), ensemble.features())?;
    let scores: Vec<f32> = walk::scores(ensemble, x.as_slice(), cx.device()).into_iter().map(single).collect();
    if let Some(index) = scores.iter().position(|s| !is_finite(*s)) {
        return Err(Error::NonFinite { stage: "forest.predict".to_owned(), index });
    }
    cx.step("forest.predict", 1, Some(1), None)?;
    Ok(scores)
}

fn record(cx: &mut Context<'_>, tag: &str, shape: &[usize], data: &[f32]) {
    if cx.records() {
        let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        cx.record(tag, ml_core::Dtype::F32, shape, &bytes);
    }
}

/// 1 - (squares of errors) / (squares about the mean), serial in double precision; 0 where the targets do not vary.
fn determination(pairs: impl Iterator<Item = (f32, f32)> + Clone) -> f64 {
    let (mut n, mut sum) = (0.0, 0.0);
    for (_, y) in pairs.clone() {
        n += 1.0;
        sum += f64::from(y);
    }
    let mean = sum / n;
    let (mut errors, mut total) = (0.0, 0.0);
    for (p, y) in pairs {
        let (p, y) = (f64::from(p), f64::from(y));
        errors += (y - p) * (y - p);
        total += (y - mean) * (y - mean);
    }
    if total == 0.0 || n == 0.0 { 0.0 } else { 1.0 - errors / total }
}

/// The part of all gains that each column's splits have: parts of each tree, averaged over the trees that split at all.
pub(super) fn feature_importances(ensemble: &Ensemble) -> Vec<f64> {
    let mut all = vec![0.0; ensemble.features()];
    for tree in ensemble.trees() {
        let mut own = vec![0.0; all.len()];
        for node in tree.nodes() {
            if let Node::Number { feature, gain, .. } = node {
                own[*feature as usize] += f64::from(*gain);
            }
        }
        let sum = own.iter().fold(0.0, |s, v| s + v);
        if sum > 0.0 {
            all.iter_mut().zip(&own).for_each(|(a, v)| *a += v / sum);
        }
    }
    let sum = all.iter().fold(0.0, |s, v| s + v);
    if sum > 0.0 {
        all.iter_mut().for_each(|a| *a /= sum);
    }
    all
}
