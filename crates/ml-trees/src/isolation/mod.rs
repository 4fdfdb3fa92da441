//! Isolation forest: rows that random cuts part from the others early are odd.
//!
//! In the terms of `docs/contract.md`, clause `isolation`: trees cut at random between the least and the greatest value of a
//! node's rows, so nothing is summed while they grow; the length of a path is binary64, lengths are added in the order of
//! the trees, and the score is rounded once to binary32.
//!
//! F. T. Liu, K. M. Ting, Z.-H. Zhou, "Isolation forest", ICDM 2008.

mod grow;
mod model;
mod params;

use std::sync::atomic::{AtomicU64, Ordering};

use ml_core::{DataError, Matrix, Result};
use ml_kernels::Context;
use ml_kernels::num::order;
use ml_kernels::traits::Fit;
use rayon::prelude::*;

use crate::double::single;
use crate::flat;
use grow::{Shape, grow};

pub(crate) use grow::between;

pub use model::IsolationForestModel;
pub use params::{Contamination, IsolationForest, MaxSamples};

/// Trees grown between two looks at progress and cancellation.
const BATCH: usize = 64;

/// Average number of cuts that part a row from `n - 1` others: the length of an unsuccessful search in a binary tree.
pub(crate) fn average_path(n: usize) -> f64 {
    /// Euler's constant.
    const GAMMA: f64 = 0.577_215_664_901_532_9;
    match n {
        0 | 1 => 0.0,
        2 => 1.0,
        _ => {
            let m = (n - 1) as f64;
            2.0 * (crate::double::ln(m) + GAMMA) - 2.0 * m / n as f64
        }
    }
}

impl Fit for IsolationForest {
    type Model = IsolationForestModel;

    /// Grows the trees on the rows of `x`. Stages: `isolation.trees.*`, `isolation.offset`. Progress comes as `isolation`,
    /// one step a batch of trees.
    fn fit_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<IsolationForestModel> {
        let plan = self.check(x)?;
        let shape = Shape::of(&plan, x);
        let device = cx.device().clone();
        let mut trees = Vec::with_capacity(plan.n_estimators);
        let nodes = AtomicU64::new(0);
        while trees.len() < plan.n_estimators {
            let batch = trees.len()..(trees.len() + BATCH).min(plan.n_estimators);
            let grown: Result<Vec<_>> = device.on_host(|| {
                let one = |t: usize| {
                    let tree = grow(x, &shape, plan.seed, t as u32)?;
                    nodes.fetch_add(tree.nodes().len() as u64, Ordering::Relaxed);
                    Ok(tree)
                };
                batch.into_par_iter().map(one).collect()
            });
            trees.extend(grown?);
            let total = nodes.load(Ordering::Relaxed);
            if total >= u64::from(u32::MAX) {
                let (elements, limit) = (u128::from(total), u128::from(u32::MAX));
                return Err(DataError::TooLarge { what: "nodes of all trees", elements, limit }.into());
            }
            cx.step("isolation", trees.len() as u64, Some(plan.n_estimators as u64), None)?;
        }
        let ensemble = flat::forest(trees, 1, x.cols())?;
        flat::record(cx, "isolation.trees", &ensemble);
        let mut model = IsolationForestModel::new(self, ensemble, plan.max_samples);
        if let Some(part) = plan.contamination {
            let mut scores = model.score_samples(x, &device)?;
            scores.sort_unstable_by_key(|s| order::key(*s));
            model.set_offset(quantile(&scores, part));
        }
        cx.record("isolation.offset", ml_core::Dtype::F32, &[], &model.offset().to_le_bytes());
        Ok(model)
    }
}

/// The quantile `part` of ascending values, linear between neighbours.
fn quantile(sorted: &[f32], part: f64) -> f32 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let below = (place as usize).min(last);
    let [low, high] = [sorted[below], sorted[(below + 1).min(last)]].map(f64::from);
    single(low + (high - low) * (place - below as f64))
}

#[cfg(test)]
mod tests;
