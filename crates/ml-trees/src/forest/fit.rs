//! Many trees at once, one a thread; rows out of the bag.

use std::sync::atomic::{AtomicU64, Ordering};

use ml_core::{DataError, Matrix, ParamError, Result};
use ml_kernels::{Context, Device};
use rayon::prelude::*;

use super::grow::{Ground, Grower, Grown};
use super::params::{ClassWeight, Criterion, Params, Plan};
use super::prune::{prune, tree};
use super::split::Gains;
use super::table::columns;
use super::target::{Target, Weights, class_weights, sample_weights};
use crate::double::power_of_two;
use crate::draw::{Draws, Purpose};
use crate::ensemble::{Ensemble, Tree};
use crate::{flat, walk};

/// Trees grown between two looks at progress and cancellation.
const BATCH: usize = 32;

/// Rows that one task walks.
const ROWS: usize = 256;

/// What a fit gives.
pub(super) struct Fitted {
    pub ensemble: Ensemble,
    /// The scores of each row of the fit over the trees that did not draw it, as a mean, and whether there are any.
    pub out_of_bag: Option<(Vec<f64>, Vec<bool>)>,
}

/// Fits to classes 0..k.
pub(super) fn classes(
    params: &Params,
    x: &Matrix,
    of: Vec<u32>,
    names: &[u32],
    sample_weight: Option<&[f32]>,
    cx: &mut Context<'_>,
) -> Result<Fitted> {
    let plan = params.check(x)?;
    let k = names.len();
    if plan.monotonic_cst.is_some() && k > 2 {
        return Err(ParamError::out_of_bound("monotonic_cst", "all 0 for more than two classes", k).into());
    }
    let sample = sample_weights(sample_weight, x.rows())?;
    let weigh = |counts: Option<&[u32]>| -> Result<Weights> {
        let mut rows = vec![0u64; k];
        for (i, class) in of.iter().enumerate() {
            rows[*class as usize] += counts.map_or(1, |c| u64::from(c[i]));
        }
        let weights = match class_weights(&params.class_weight, names, &rows)? {
            None => Weights::new(&sample),
            Some(by) => {
                let weight = |(s, class): (&f64, &u32)| s * by[*class as usize];
                Weights::new(&sample.iter().zip(&of).map(weight).collect::<Vec<_>>())
            }
        };
        Ok(weights)
    };
    let each = params.class_weight == ClassWeight::BalancedSubsample;
    let shared = weigh(None)?;
    let target = Target::Classes { of: of.clone(), k };
    forest(&plan, x, &target, k, shared, each.then_some(&weigh as &Reweigh<'_>), cx)
}

/// Fits to numbers.
pub(super) fn numbers(
    params: &Params,
    x: &Matrix,
    y: &[f32],
    sample_weight: Option<&[f32]>,
    cx: &mut Context<'_>,
) -> Result<Fitted> {
    let plan = params.check(x)?;
    let weights = Weights::new(&sample_weights(sample_weight, x.rows())?);
    let count = x.rows().max(plan.draws.unwrap_or(0) as usize);
    let target = Target::numbers(y, &weights, plan.criterion, count)?;
    forest(&plan, x, &target, 1, weights, None, cx)
}

/// Weights of the rows of one tree, from how often each was drawn.
type Reweigh<'a> = dyn Fn(Option<&[u32]>) -> Result<Weights> + Sync + 'a;

fn forest(
    plan: &Plan,
    x: &Matrix,
    target: &Target,
    outputs: usize,
    shared: Weights,
    reweigh: Option<&Reweigh<'_>>,
    cx: &mut Context<'_>,
) -> Result<Fitted> {
    if shared.of.iter().all(|w| *w == 0) {
        return Err(ParamError::out_of_bound("sample_weight", "above 0 for some row", "0 for all").into());
    }
    let device = cx.device().clone();
    let columns = columns(x, (!plan.random_cuts).then_some(plan.max_bins), &device);
    let gains = Gains::new(plan.criterion, outputs);
    let ground = Ground { columns: &columns, target, gains: &gains, plan };
    let mut trees: Vec<Tree> = Vec::with_capacity(plan.n_estimators);
    let mut bags: Vec<Vec<u64>> = Vec::new();
    let nodes = AtomicU64::new(0);
    while trees.len() < plan.n_estimators {
        let batch = trees.len()..(trees.len() + BATCH).min(plan.n_estimators);
        let one = |t: usize| -> Result<(Tree, Vec<u64>)> {
            let draws = Draws::new(plan.seed, t as u32);
            let counts = plan.draws.map(|n| drawn(&draws, n, x.rows()));
            let own = reweigh.map(|of| of(counts.as_deref())).transpose()?;
            let weights = own.as_ref().unwrap_or(&shared);
            let tree = one_tree(&ground, draws, weights, counts.as_deref(), outputs)?;
            nodes.fetch_add(tree.nodes().len() as u64, Ordering::Relaxed);
            let bag = if plan.oob_score { bag(&counts.unwrap_or_default()) } else { Vec::new() };
            Ok((tree, bag))
        };
        let grown: Result<Vec<_>> = device.on_host(|| batch.into_par_iter().map(one).collect());
        for (tree, bag) in grown? {
            trees.push(tree);
            bags.push(bag);
        }
        let total = nodes.load(Ordering::Relaxed);
        if total >= u64::from(u32::MAX) {
            let (elements, limit) = (u128::from(total), u128::from(u32::MAX));
            return Err(DataError::TooLarge { what: "nodes of all trees", elements, limit }.into());
        }
        cx.step("forest", trees.len() as u64, Some(plan.n_estimators as u64), None)?;
    }
    let ensemble = flat::forest(trees, outputs, x.cols())?;
    flat::record(cx, "forest.trees", &ensemble);
    let out_of_bag = plan.oob_score.then(|| out_of_bag(&ensemble, x, &bags, &device));
    Ok(Fitted { ensemble, out_of_bag })
}

/// How often each row is drawn.
fn drawn(draws: &Draws, n: u32, rows: usize) -> Vec<u32> {
    let mut counts = vec![0; rows];
    for i in 0..n {
        counts[draws.below(Purpose::Rows, u64::from(i), rows as u32) as usize] += 1;
    }
    counts
}

/// One bit a row: whether it was drawn.
fn bag(counts: &[u32]) -> Vec<u64> {
    let word = |chunk: &[u32]| chunk.iter().rev().fold(0, |word, c| word << 1 | u64::from(*c != 0));
    counts.chunks(64).map(word).collect()
}

fn one_tree(
    ground: &Ground<'_>,
    draws: Draws,
    weights: &Weights,
    counts: Option<&[u32]>,
    outputs: usize,
) -> Result<Tree> {
    let plan = ground.plan;
    let grower = Grower::new(ground, draws, weights, counts);
    // A gain in the units of the data is `scale` times the integers'; as a part of the weight of all, `unit / weight`.
    let weight_unit = power_of_two(-weights.shift);
    let scale = match (plan.criterion, ground.target) {
        (Criterion::SquaredError, Target::Numbers { shift, .. }) => power_of_two(weights.shift - 2 * shift),
        (Criterion::Poisson, Target::Numbers { shift, .. }) => power_of_two(-shift),
        _ => weight_unit,
    };
    let unit = scale * power_of_two(weights.shift);
    let mut nodes = grower.grow(unit);
    let total = ground.gains.weight(&nodes[0].sums) as f64;
    prune(&mut nodes, plan.ccp_alpha, unit / total);
    let trees = plan.n_estimators as f64;
    let value = |node: &Grown, values: &mut Vec<f64>| match ground.target {
        Target::Classes { k, .. } => {
            let weight = ground.gains.weight(&node.sums) as f64;
            if weight == 0.0 {
                // A tree whose rows all have classes of weight 0: nothing is known.
                values.extend(std::iter::repeat_n(1.0 / *k as f64 / trees, *k));
            } else if plan.monotonic_cst.is_some() {
                let second = ground.gains.ratio(&node.sums).clamp(node.bounds.0, node.bounds.1);
                values.extend([(1.0 - second) / trees, second / trees]);
            } else {
                values.extend(node.sums[..*k].iter().map(|w| *w as f64 / weight / trees));
            }
        }
        Target::Numbers { centre, shift, .. } => {
            if ground.gains.weight(&node.sums) == 0 {
                // A tree whose drawn rows all have weight 0.
                values.push(centre / trees);
                return;
            }
            let ratio = ground.gains.ratio(&node.sums).clamp(node.bounds.0, node.bounds.1);
            values.push((centre + ratio * power_of_two(weights.shift - shift)) / trees);
        }
    };
    tree(&nodes, outputs, value, |gain| gain * scale, |sums| ground.gains.weight(sums) as f64 * weight_unit)
}

/// Means over the trees that did not draw a row, added in the order of the trees.
fn out_of_bag(ensemble: &Ensemble, x: &Matrix, bags: &[Vec<u64>], device: &Device) -> (Vec<f64>, Vec<bool>) {
    let outputs = ensemble.base().len();
    let (n, all) = (x.rows(), ensemble.trees().len() as f64);
    let mut scores = vec![0.0; n * outputs];
    let mut known = vec![false; n];
    device.on_host(|| {
        let tasks = scores.par_chunks_mut(ROWS * outputs).zip(known.par_chunks_mut(ROWS)).enumerate();
        tasks.for_each(|(task, (scores, known))| {
            for (i, (score, known)) in scores.chunks_exact_mut(outputs).zip(known).enumerate() {
                let row = task * ROWS + i;
                let mut trees = 0u32;
                for (tree, bag) in ensemble.trees().iter().zip(bags) {
                    if bag[row / 64] >> (row % 64) & 1 == 1 {
                        continue;
                    }
                    trees += 1;
                    let leaf = walk::leaf(tree, x.row(row)) * outputs;
                    score.iter_mut().zip(&tree.values()[leaf..]).for_each(|(s, v)| *s += v);
                }
                *known = trees != 0;
                if *known {
                    // Leaf values are parts of all trees.
                    score.iter_mut().for_each(|s| *s *= all / f64::from(trees));
                }
            }
        });
    });
    (scores, known)
}
