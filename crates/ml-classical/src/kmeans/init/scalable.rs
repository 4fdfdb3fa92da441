//! k-means||: many candidates in few rounds, then weighted k-means++ among them.
//!
//! From one uniformly drawn row on, each of five rounds draws `oversampling_factor * k` rows by their part of the
//! potential, with replacement, and adds them in ascending order, each once. (The paper also describes rounds that
//! draw exactly so many from the joint distribution.) A candidate then weighs as many rows as have it for their nearest
//! candidate, ties to the earlier one. If there are fewer candidates than clusters, greedy k-means++ on all rows
//! takes over.
//!
//! The first row is choice 0, draw j of round r is choice 1 + r * draws + j.
//!
//! B. Bahmani et al., "Scalable k-means++", VLDB 2012.

use std::collections::BTreeSet;

use ml_core::Result;
use ml_kernels::map::{self, Expr, Operand};
use ml_kernels::{Buffer, Context, distances, histogram};

use super::choose::{Draws, Weights};
use super::{Purpose, plus_plus, stream};
use crate::kmeans::params::Plan;
use crate::kmeans::rows::Rows;

const ROUNDS: usize = 5;
const STAGE: &str = "kmeans.init.potential";

/// The numbers of `n_clusters` rows.
pub(super) fn choose_rows(rows: &Rows<'_>, plan: &Plan<'_>, start: u32, cx: &Context<'_>) -> Result<Vec<u32>> {
    let candidates = candidates(rows, plan, start, cx)?;
    let k = plan.n_clusters;
    if candidates.len() < k {
        return plus_plus::choose_rows(rows, None, k, plan.seed, start, cx);
    }
    let table = Rows { device: rows.device, x: rows.gather(&candidates)?, n: candidates.len(), d: rows.d };
    let weights = weights(rows, &table)?;
    let chosen = plus_plus::choose_rows(&table, Some(&weights), k, plan.seed, start, cx)?;
    Ok(chosen.into_iter().map(|c| candidates[c as usize]).collect())
}

/// How many rows have each row of `table` for their nearest.
fn weights(rows: &Rows<'_>, table: &Rows<'_>) -> Result<Buffer<f32>> {
    let (nearest, _) = distances::nearest(rows.device, &rows.x, &table.x, rows.n, table.n, rows.d)?;
    map::to_f32(rows.device, &histogram::histogram(rows.device, &nearest, table.n)?)
}

/// Distinct rows, in the order in which they were added.
fn candidates(rows: &Rows<'_>, plan: &Plan<'_>, start: u32, cx: &Context<'_>) -> Result<Vec<u32>> {
    let device = rows.device;
    let choices = plan.draws.saturating_mul(ROUNDS).saturating_add(1);
    let draws = Draws::new(device, choices, plan.seed, stream(Purpose::Parallel, start))?;
    let order: Vec<u32> = (0..).take(rows.n).collect();
    let order = Buffer::upload(device, &order)?;

    let mut ids = vec![draws.below(0, rows.n as u32)];
    let (_, mut squared) = distances::nearest(device, &rows.x, &rows.gather(&ids)?, rows.n, 1, rows.d)?;
    for round in 0..ROUNDS {
        cx.step("kmeans.init.parallel", round as u64, Some(ROUNDS as u64), None)?;
        let at = 1 + round * plan.draws;
        let pairs: Vec<(f64, f64)> = (at..at + plan.draws).map(|i| draws.uniform(i)).collect();
        let Some(chosen) = Weights::new(device, &squared, &order, STAGE)?.choose(device, &pairs)? else {
            break;
        };
        // Rows that are candidates already have no distance left, so none of them is among these.
        let new: Vec<u32> = chosen.into_iter().collect::<BTreeSet<u32>>().into_iter().collect();
        let (_, to_new) = distances::nearest(device, &rows.x, &rows.gather(&new)?, rows.n, new.len(), rows.d)?;
        let closer = Expr::input(0).min(Expr::input(1));
        squared = map::map(device, &closer, &[Operand::Full(&squared), Operand::Full(&to_new)], &[], 1, rows.n)?;
        ids.extend(new);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kmeans::{Init, KMeans};
    use ml_core::Matrix;
    use ml_kernels::Device;

    #[test]
    fn candidates_are_many_and_distinct_and_weigh_all_rows() {
        let device = Device::host();
        let x = Matrix::from_vec(3_000, 1, (0..3_000).map(|i| (i % 1_000) as f32).collect()).expect("finite");
        let rows = Rows::upload(&device, &x).expect("small");
        let estimator = KMeans::new(20).init(Init::KMeansParallel);
        let plan = estimator.check(&x).expect("in bounds");
        let ids = candidates(&rows, &plan, 0, &Context::new(&device)).expect("draws");
        // One, and five rounds of 40 with replacement.
        assert!((150..=201).contains(&ids.len()), "{}", ids.len());
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        let table = Rows { device: &device, x: rows.gather(&ids).expect("gathers"), n: ids.len(), d: 1 };
        let weights = weights(&rows, &table).expect("counts").read().expect("reads");
        assert_eq!(weights.iter().sum::<f32>(), 3_000.0);
        assert!(weights.iter().any(|w| *w > 3.0), "some candidate stands for other values than its own");
    }
}
