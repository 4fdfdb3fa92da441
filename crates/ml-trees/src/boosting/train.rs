//! The boosting loop.

use ml_core::canon::canon;
use ml_core::{DataError, Error, ParamError, Result};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::random::{random_u32, random_uniform};
use ml_kernels::trees::{BinRule, Bins, RowSets, add_leaf_values, bin_rows, quantise};
use ml_kernels::{Buffer, Context, Device};
use rayon::prelude::*;

use super::model::scores;
use super::params::{Bootstrap, Params, Plan};
use crate::binning::quantile_bins;
use crate::dataset::Dataset;
use crate::ensemble::{Arithmetic, Ensemble, Tree};
use crate::grow::{Ground, Grown, GrownNode, NodeValue, within};
use crate::loss::{Channels, Gradients, Loss, Renewal, Scored, Softmax, metric};

/// Streams of draws: the iteration is added.
const STREAM_ROWS: u32 = 0x4000_0000;
const STREAM_WEIGHTS: u32 = 0x5000_0000;

/// First and second derivatives for the scores of all rows, made by the caller.
///
/// It is given the raw scores and the targets and must give two values a row. Scores are the same bytes on every device;
/// what it makes of them is its own affair.
pub type Objective<'a> = dyn Fn(&[f32], &[f32]) -> (Vec<f32>, Vec<f32>) + 'a;

/// Rows and truth of a fit or an evaluation. Targets have one column an output, or one of class numbers.
pub(crate) struct Table<'a> {
    pub data: &'a Dataset,
    pub targets: Vec<Vec<f32>>,
    pub weights: Option<Vec<f32>>,
}

/// What a fit is asked for.
pub(crate) struct Task<'a> {
    pub params: &'a Params,
    pub outputs: usize,
    pub train: Table<'a>,
    pub eval: Option<Table<'a>>,
    pub start: Option<&'a Ensemble>,
    pub objective: Option<&'a Objective<'a>>,
    /// Name of the stages.
    pub tag: &'static str,
}

/// What a fit gives.
pub(crate) struct Trained {
    pub ensemble: Ensemble,
    /// The metric on the evaluation rows after each iteration of this fit.
    pub history: Vec<f64>,
}

/// Rows with scores that follow the trees.
struct Rows {
    bins: Bins,
    scores: Vec<Buffer<f32>>,
}

impl Rows {
    fn new(device: &Device, data: &Dataset, rules: &[BinRule], scores: &[Vec<f32>]) -> Result<Self> {
        let x = Buffer::upload(device, data.as_slice())?;
        let scores = scores.iter().map(|s| Buffer::upload(device, s)).collect::<Result<_>>()?;
        Ok(Rows { bins: bin_rows(device, &x, data.rows(), rules)?, scores })
    }

    fn add(&mut self, device: &Device, output: usize, sets: &RowSets, values: &[f32]) -> Result<()> {
        let nothing = Buffer::upload(device, &[])?;
        let scores = std::mem::replace(&mut self.scores[output], nothing);
        self.scores[output] = add_leaf_values(device, scores, 1, 0, sets, values)?;
        Ok(())
    }

    fn read(&self) -> Result<Vec<Vec<f32>>> {
        self.scores.iter().map(Buffer::read).collect()
    }
}

/// Columns of a row-major (rows, outputs) matrix.
fn columns(scores: &[f32], outputs: usize) -> Vec<Vec<f32>> {
    (0..outputs).map(|k| scores.iter().skip(k).step_by(outputs).copied().collect()).collect()
}

pub(crate) fn train(task: &Task<'_>, cx: &mut Context<'_>) -> Result<Trained> {
    let (params, data, loss) = (task.params, task.train.data, task.params.loss);
    let device = cx.device().clone();
    let weighted = task.train.weights.is_some() || task.objective.is_some();
    let plan = params.check(data, weighted)?;
    if params.early_stopping_rounds.is_some() && task.eval.is_none() {
        return Err(ParamError::out_of_bound("early_stopping_rounds", "None without evaluation rows", "Some").into());
    }
    if loss.is_ranking() && task.objective.is_none() && data.groups().is_none() {
        return Err(DataError::shape("group", format!("given for the loss {}", loss.name()), "none").into());
    }
    let rules = quantile_bins(data, params.max_bins, &device)?;
    let base = base(task);
    cx.record(&format!("{}.base", task.tag), ml_core::Dtype::F32, &[base.len()], bytemuck_f32(&base).as_slice());
    let start_scores = |table: &Dataset| match task.start {
        Some(ensemble) => Ok(columns(&scores(&device, ensemble, table.as_slice(), table.rows())?, task.outputs)),
        None => Ok::<_, Error>(base.iter().map(|b| vec![*b; table.rows()]).collect()),
    };
    let mut rows = Rows::new(&device, data, &rules, &start_scores(data)?)?;
    let mut eval = match &task.eval {
        Some(table) => Some((table, Rows::new(&device, table.data, &rules, &start_scores(table.data)?)?)),
        None => None,
    };
    let targets = task.train.targets.iter().map(|t| Buffer::upload(&device, t)).collect::<Result<Vec<_>>>()?;
    let weights = task.train.weights.as_ref().map(|w| Buffer::upload(&device, w)).transpose()?;

    let mut trees: Vec<Tree> = task.start.map_or(Vec::new(), |e| e.trees().to_vec());
    let mut first: Vec<u32> = task.start.map_or(Vec::new(), |e| e.first_output().to_vec());
    let before = trees.len() / task.outputs;
    let mut history: Vec<f64> = Vec::new();
    let mut best = 0usize;
    for round in 0..params.n_estimators {
        let iteration = before + round;
        let sample = Sample::draw(params, data.rows(), iteration, weights.as_ref(), &device)?;
        let context = Round { task, plan: &plan, targets: &targets, sample: &sample, iteration };
        // All outputs of an iteration see the scores before it.
        let gradients = context.gradients(&rows, &device)?;
        for (output, values) in gradients.iter().enumerate() {
            let (grown, leaves) = context.tree(output, values, &mut rows, &device)?;
            if let Some((_, rows)) = &mut eval {
                let all = RowSets::all(&device, rows.bins.rows())?;
                let (sets, nodes) = grown.follow(&device, &rows.bins, all)?;
                rows.add(&device, output, &sets, &leaves.of_nodes(&nodes))?;
            }
            let cover = |node: &GrownNode| leaves.cover(node);
            let tree = grown.to_tree(&rules, &leaves.of_nodes(&grown.leaves), cover)?;
            record(cx, task.tag, iteration, output, &grown, &leaves);
            trees.push(tree);
            first.push(output as u32);
        }
        let shown = match &eval {
            Some((table, rows)) => {
                let score = rows.read()?;
                let groups = table.data.groups();
                let of = Scored { score: &score, target: &table.targets, weight: table.weights.as_deref(), groups };
                let value = metric(loss, &of);
                if !value.is_finite() {
                    return Err(Error::NonFinite { stage: format!("{}.metric", task.tag), index: iteration });
                }
                history.push(value);
                if value < history[best] {
                    best = round;
                }
                Some(value as f32)
            }
            None => None,
        };
        cx.step("boosting.tree", round as u64 + 1, Some(params.n_estimators as u64), shown)?;
        if params.early_stopping_rounds.is_some_and(|patience| round - best >= patience) {
            break;
        }
    }
    let mut iterations = trees.len() / task.outputs;
    if params.early_stopping_rounds.is_some() {
        iterations = before + best + 1;
        trees.truncate(iterations * task.outputs);
        first.truncate(iterations * task.outputs);
    }
    cx.decision(&format!("{}.iterations", task.tag), iterations as u64);
    let base = match task.start {
        Some(start) => start.base().to_vec(),
        None => base.iter().map(|b| f64::from(*b)).collect(),
    };
    let ensemble = Ensemble::new(trees, first, base, data.cols(), Arithmetic::Single)?;
    Ok(Trained { ensemble, history })
}

fn bytemuck_f32(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The constant scores that the fit starts from.
fn base(task: &Task<'_>) -> Vec<f32> {
    let loss = task.params.loss;
    if !task.params.boost_from_average || task.objective.is_some() {
        return vec![0.0; task.outputs];
    }
    let weights = task.train.weights.as_deref();
    (0..task.outputs)
        .map(|k| match loss {
            Loss::MultiClass | Loss::MultiClassOneVsAll => {
                let is: Vec<f32> =
                    task.train.targets[0].iter().map(|y| if *y == k as f32 { 1.0 } else { 0.0 }).collect();
                loss.base(&is, weights)
            }
            _ => loss.base(&task.train.targets[k], weights),
        })
        .collect()
}

/// Rows and weights of one iteration.
struct Sample {
    /// Rows that the trees are grown on and those that only follow; nothing where all rows grow.
    parts: Option<[Vec<u32>; 2]>,
    weights: Option<Buffer<f32>>,
}

impl Sample {
    fn draw(
        params: &Params,
        rows: usize,
        iteration: usize,
        weights: Option<&Buffer<f32>>,
        device: &Device,
    ) -> Result<Self> {
        let number = iteration as u32;
        match params.bootstrap {
            Bootstrap::Bernoulli if params.subsample < 1.0 => {
                // Exact: a float times a power of two.
                let below = (f64::from(params.subsample) * 4_294_967_296.0) as u64;
                let words = random_u32(device, rows, params.seed, STREAM_ROWS + number)?.read()?;
                let (mut kept, mut rest): (Vec<u32>, Vec<u32>) =
                    (0..rows as u32).partition(|row| u64::from(words[*row as usize]) < below);
                if kept.is_empty() {
                    // A tree needs a row; which one is the draw's least word, ties to the lower row.
                    let least = (0..rows).min_by_key(|row| words[*row]).map_or(0, |row| row as u32);
                    kept.push(least);
                    rest.retain(|row| *row != least);
                }
                Ok(Sample { parts: Some([kept, rest]), weights: weights.cloned() })
            }
            Bootstrap::Bayesian { temperature } => {
                let u = random_uniform(device, rows, params.seed, STREAM_WEIGHTS + number)?;
                let drawn = (-(Expr::constant(1.0) - Expr::input(0)).ln()).pow(Expr::scalar(0));
                let (expr, mut inputs) = match weights {
                    Some(_) => (drawn * Expr::input(1), vec![Operand::Full(&u)]),
                    None => (drawn, vec![Operand::Full(&u)]),
                };
                inputs.extend(weights.map(Operand::Full));
                let weights = map(device, &expr, &inputs, &[temperature], rows, 1)?;
                Ok(Sample { parts: None, weights: Some(weights) })
            }
            _ => Ok(Sample { parts: None, weights: weights.cloned() }),
        }
    }
}

/// One iteration.
struct Round<'a> {
    task: &'a Task<'a>,
    plan: &'a Plan,
    targets: &'a [Buffer<f32>],
    sample: &'a Sample,
    iteration: usize,
}

impl Round<'_> {
    /// What the trees of this iteration are grown on, one an output.
    fn gradients(&self, rows: &Rows, device: &Device) -> Result<Vec<Buffer<f32>>> {
        let (task, loss) = (self.task, self.task.params.loss);
        let n = task.train.data.rows();
        let make = |output: usize| Gradients {
            device,
            rows: n,
            target: &self.targets[output.min(self.targets.len() - 1)],
            weight: self.sample.weights.as_ref(),
            channels: Channels { count: self.plan.count },
        };
        if let Some(objective) = task.objective {
            let (g, h) = objective(&rows.scores[0].read()?, &task.train.targets[0]);
            return Ok(vec![make(0).given(&g, &h)?]);
        }
        if let (true, Some(groups)) = (loss.is_ranking(), task.train.data.groups()) {
            let score = rows.scores[0].read()?;
            let target = &task.train.targets[0];
            let (g, h) = device.on_host(|| loss.group_gradients(groups, &score, target))?;
            return Ok(vec![make(0).given(&g, &h)?]);
        }
        let softmax = match loss {
            Loss::MultiClass => Some(Softmax::new(device, n, &rows.scores)?),
            _ => None,
        };
        (0..task.outputs).map(|k| make(k).pointwise(loss, &rows.scores[k], k, softmax.as_ref())).collect()
    }

    /// Grows a tree, values its leaves and adds them to the scores.
    fn tree(&self, output: usize, values: &Buffer<f32>, rows: &mut Rows, device: &Device) -> Result<(Grown, Leaves)> {
        let (params, n) = (self.task.params, self.task.train.data.rows());
        let channels = Channels { count: self.plan.count }.number();
        let sums = quantise(device, values, n, channels)?;
        let tree = (self.iteration * self.task.outputs + output) as u32;
        let ground = Ground { device, bins: &rows.bins, sums: &sums, seed: params.seed, tree };
        let sets = match &self.sample.parts {
            Some([kept, _]) => RowSets::of(device, kept, n)?,
            None => RowSets::all(device, n)?,
        };
        let grown = self.plan.rule.grow(ground, sets)?;
        let mut leaves = Leaves::newton(&grown, self.plan, sums.shifts(), params.learning_rate);
        if let (true, Some(renewal)) = (self.plan.exact, Renewal::of(params.loss)) {
            let score = rows.scores[output].read()?;
            let weights = self.sample.weights.as_ref().map(Buffer::read).transpose()?;
            let members = grown.rows.read()?;
            let target = &self.task.train.targets[output];
            let renewed: Vec<f64> = device
                .on_host(|| members.par_iter().map(|m| renewal.value(m, &score, target, weights.as_deref())).collect());
            leaves.renew(&grown, &renewed, params.learning_rate);
        }
        if let Some(node) = leaves.values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFinite { stage: format!("{}.leaves", self.task.tag), index: node });
        }
        rows.add(device, output, &grown.rows, &leaves.of_nodes(&grown.leaves))?;
        if let Some([_, rest]) = &self.sample.parts {
            let (sets, nodes) = grown.follow(device, &rows.bins, RowSets::of(device, rest, n)?)?;
            rows.add(device, output, &sets, &leaves.of_nodes(&nodes))?;
        }
        Ok((grown, leaves))
    }
}

/// Values of a tree's nodes, of which only those of leaves are used.
struct Leaves {
    values: Vec<f32>,
    value: NodeValue,
}

impl Leaves {
    /// Newton steps within the bounds that monotone columns above have set, times the learning rate, in binary64, rounded
    /// once.
    fn newton(grown: &Grown, plan: &Plan, shifts: &[i32], rate: f32) -> Self {
        let value = NodeValue::new(plan.rule.split.criterion, shifts);
        let scaled = |node: &GrownNode| canon((value.within(&node.sums, node.bounds) * f64::from(rate)) as f32);
        Leaves { values: grown.nodes.iter().map(scaled).collect(), value }
    }

    /// Other values for the leaves, in the order of the tree's sets of rows, within the same bounds.
    fn renew(&mut self, grown: &Grown, values: &[f64], rate: f32) {
        for (node, value) in grown.leaves.iter().zip(values) {
            let bounded = within(*value, grown.nodes[*node as usize].bounds);
            self.values[*node as usize] = canon((bounded * f64::from(rate)) as f32);
        }
    }

    fn of_nodes(&self, nodes: &[u32]) -> Vec<f32> {
        nodes.iter().map(|n| self.values[*n as usize]).collect()
    }

    /// The sum of second derivatives in a node.
    fn cover(&self, node: &GrownNode) -> f32 {
        canon(self.value.sum(&node.sums, 1) as f32)
    }
}

/// Stages of a tree: what its nodes ask, and the values of its leaves.
fn record(cx: &mut Context<'_>, tag: &str, iteration: usize, output: usize, grown: &Grown, leaves: &Leaves) {
    if !cx.records() {
        return;
    }
    let splits: Vec<u32> = grown
        .nodes
        .iter()
        .flat_map(|node| match &node.split {
            None => [u32::MAX; 4],
            Some(split) => {
                let bin = match split {
                    ml_kernels::trees::SplitAt::Number { bin, .. } => *bin,
                    ml_kernels::trees::SplitAt::Category { set, .. } => {
                        set.iter().fold(0u32, |a, w| a.rotate_left(7) ^ w)
                    }
                };
                [split.feature(), bin, u32::from(split.missing_left()), node.gain.to_bits()]
            }
        })
        .collect();
    let bytes: Vec<u8> = splits.iter().flat_map(|v| v.to_le_bytes()).collect();
    cx.record(&format!("{tag}.tree{iteration}.{output}.splits"), ml_core::Dtype::U32, &[splits.len() / 4, 4], &bytes);
    let values = leaves.of_nodes(&grown.leaves);
    let bytes = bytemuck_f32(&values);
    cx.record(&format!("{tag}.tree{iteration}.{output}.leaves"), ml_core::Dtype::F32, &[values.len()], &bytes);
}
