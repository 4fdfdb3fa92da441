//! Boosting: the same bytes on every device, after a second fit, after saving, in one piece or two. No tolerance.

mod common;

use common::{Stages, devices, mixed};
use ml_core::Matrix;
use ml_kernels::traits::Persist;
use ml_kernels::{Context, Device};
use ml_trees::{
    Bootstrap, ClassWeights, Dataset, GradientBoostingClassifier, GradientBoostingClassifierModel,
    GradientBoostingModel, GradientBoostingRegressor, GrowPolicy, Loss,
};

const POLICIES: [GrowPolicy; 3] = [GrowPolicy::Depthwise, GrowPolicy::Lossguide, GrowPolicy::Symmetric];

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|v| v.to_bits()).collect()
}

fn grown(policy: GrowPolicy) -> GradientBoostingRegressor {
    let boosting = GradientBoostingRegressor::new().n_estimators(4).grow_policy(policy).max_depth(4).max_bins(32);
    if policy == GrowPolicy::Lossguide { boosting.max_leaves(9) } else { boosting }
}

fn grown_classes(policy: GrowPolicy) -> GradientBoostingClassifier {
    let boosting = GradientBoostingClassifier::new().n_estimators(3).grow_policy(policy).max_depth(3).max_bins(32);
    if policy == GrowPolicy::Lossguide { boosting.max_leaves(6) } else { boosting }
}

/// Targets in the domain of the loss.
fn domain(loss: Loss, y: &[f32]) -> Vec<f32> {
    match loss {
        Loss::CrossEntropy => y.iter().map(|v| (v / 20.0).clamp(0.0, 1.0)).collect(),
        Loss::LambdaRank | Loss::PairLogit | Loss::QueryRmse => y.iter().map(|v| (v / 3.0).floor()).collect(),
        Loss::Gamma | Loss::LogLinQuantile { .. } => y.iter().map(|v| v + 0.01).collect(),
        _ => y.to_vec(),
    }
}

const LOSSES: [Loss; 15] = [
    Loss::Rmse,
    Loss::Mae,
    Loss::Quantile { alpha: 0.8 },
    Loss::Huber { delta: 1.0 },
    Loss::LogLinQuantile { alpha: 0.4 },
    Loss::Mape,
    Loss::Poisson,
    Loss::Tweedie { power: 1.4 },
    Loss::Gamma,
    Loss::Expectile { alpha: 0.7 },
    Loss::Lq { q: 3.0 },
    Loss::CrossEntropy,
    Loss::QueryRmse,
    Loss::PairLogit,
    Loss::LambdaRank,
];

/// Everything that fits and predictions give on one device.
#[derive(PartialEq)]
struct All {
    stages: Stages,
    files: Vec<Vec<u8>>,
    outputs: Vec<Vec<u32>>,
}

fn all(rows: usize, device: &Device) -> All {
    let mut stages = Stages::default();
    let mut cx = Context::new(device).with_recorder(&mut stages);
    let (x, y) = mixed(rows, 5);
    let weighted = x.clone().with_weights((0..rows).map(|i| (i % 4) as f32 * 0.5).collect()).expect("weights");
    let grouped = x.clone().with_groups(&groups(rows)).expect("sizes");
    let classes: Vec<u32> = y.iter().map(|v| (*v as u32).min(3)).collect();
    let two: Vec<u32> = y.iter().map(|v| u32::from(*v > 3.0)).collect();
    let (mut files, mut outputs) = (Vec::new(), Vec::new());
    let mut keep = |model: GradientBoostingModel| {
        outputs.push(bits(model.predict_rows(&x, device).expect("predicts").as_slice()));
        files.push(model.to_bytes().expect("writes"));
    };
    for policy in POLICIES {
        keep(grown(policy).fit_rows_in(&x, &y, &mut cx).expect("fits"));
        let harder = grown(policy)
            .l1(0.1)
            .min_child_samples(7)
            .bootstrap(Bootstrap::Bernoulli)
            .subsample(0.6)
            .colsample_bytree(0.8)
            .colsample_bynode(0.7)
            .monotone_constraints(vec![1, 0, -1, 0, 1, 0])
            .interaction_constraints(vec![vec![0, 1], vec![1, 2, 5]]);
        keep(harder.fit_rows_in(&weighted, &y, &mut cx).expect("fits"));
    }
    for loss in LOSSES {
        let rows = if loss.is_ranking() { &grouped } else { &x };
        let boosting = grown(GrowPolicy::Depthwise).n_estimators(2).loss(loss);
        keep(boosting.fit_rows_in(rows, &domain(loss, &y), &mut cx).expect("fits"));
    }
    let bayesian = grown(GrowPolicy::Depthwise).bootstrap(Bootstrap::Bayesian { temperature: 1.0 });
    keep(bayesian.fit_rows_in(&x, &y, &mut cx).expect("fits"));
    let pairs: Vec<f32> = y.iter().flat_map(|v| [*v, -v]).collect();
    let pairs = Matrix::from_vec(y.len(), 2, pairs).expect("finite");
    keep(grown(GrowPolicy::Depthwise).loss(Loss::MultiRmse).fit_multi_in(&x, &pairs, &mut cx).expect("fits"));
    let mut keep = |model: GradientBoostingClassifierModel| {
        outputs.push(bits(model.predict_proba(&x, device).expect("predicts").as_slice()));
        files.push(model.to_bytes().expect("writes"));
    };
    for policy in POLICIES {
        keep(grown_classes(policy).fit_rows_in(&x, &two, &mut cx).expect("fits"));
        let balanced = grown_classes(policy).class_weights(ClassWeights::Balanced);
        keep(balanced.fit_rows_in(&weighted, &classes, &mut cx).expect("fits"));
    }
    let alone = grown_classes(GrowPolicy::Depthwise).loss(Loss::MultiClassOneVsAll);
    keep(alone.fit_rows_in(&x, &classes, &mut cx).expect("fits"));
    All { stages, files, outputs }
}

fn groups(rows: usize) -> Vec<usize> {
    let mut sizes = vec![7; rows / 7];
    if !rows.is_multiple_of(7) {
        sizes.push(rows % 7);
    }
    sizes
}

#[test]
fn every_stage_is_the_same_on_every_device() {
    for rows in [30, 600] {
        let host = all(rows, &Device::host());
        for device in devices() {
            let other = all(rows, &device);
            assert_eq!(host.stages.first_difference(&other.stages), None, "{rows} rows on {device:?}");
            assert!(host == other, "{rows} rows on {device:?}");
        }
    }
}

#[test]
fn predictions_are_those_of_training_and_of_rows_alone() {
    let (x, y) = mixed(300, 1);
    let (other, truth) = mixed(200, 77_777);
    let device = Device::host();
    for policy in POLICIES {
        let boosting = grown(policy).bootstrap(Bootstrap::Bernoulli).subsample(0.5);
        let mut cx = Context::new(&device);
        let model = boosting.fit_eval_in(&x, &y, (&other, &truth), &mut cx).expect("fits");
        // The metric comes from scores that followed the splits in bins; the same from raw rows.
        let stages = model.staged_raw_scores(&other, &device).expect("stages");
        assert_eq!(stages.len(), model.eval_history().len());
        for (stage, shown) in stages.iter().zip(model.eval_history()) {
            let sum: f64 =
                stage.as_slice().iter().zip(&truth).map(|(s, y)| (f64::from(*s) - f64::from(*y)).powi2_()).sum();
            assert_eq!((sum / truth.len() as f64).sqrt(), *shown);
        }
        let raw = model.raw_scores(&other, &device).expect("scores");
        assert_eq!(bits(stages[stages.len() - 1].as_slice()), bits(raw.as_slice()));
        for i in [0, 17, 199] {
            let row = Dataset::new(1, other.cols(), other.row(i).to_vec()).expect("finite");
            let alone = model.raw_scores(&row, &device).expect("scores");
            assert_eq!(bits(alone.as_slice()), bits(raw.row(i)), "{policy:?} row {i}");
        }
        let back = GradientBoostingModel::from_bytes(model.to_bytes().expect("writes")).expect("reads");
        assert_eq!(back.ensemble(), model.ensemble());
        assert_eq!(back.to_bytes().expect("writes"), model.to_bytes().expect("writes"));
    }
}

trait Square {
    fn powi2_(self) -> f64;
}

impl Square for f64 {
    fn powi2_(self) -> f64 {
        self * self
    }
}

#[test]
fn two_fits_are_one_long_fit() {
    let (x, y) = mixed(400, 3);
    let classes: Vec<u32> = y.iter().map(|v| (*v as u32).min(2)).collect();
    let device = Device::host();
    for policy in POLICIES {
        let boosting = grown(policy).bootstrap(Bootstrap::Bernoulli).subsample(0.7).colsample_bynode(0.5).seed(9);
        let mut cx = Context::new(&device);
        let long = boosting.clone().n_estimators(7).fit_rows_in(&x, &y, &mut cx).expect("fits");
        let first = boosting.clone().n_estimators(3).fit_rows_in(&x, &y, &mut cx).expect("fits");
        let both = boosting.n_estimators(4).fit_more_in(&first, &x, &y, None, &mut cx).expect("fits");
        assert_eq!(both.ensemble(), long.ensemble(), "{policy:?}");
        assert_eq!(long.truncated(3).expect("three").ensemble(), first.ensemble());

        let boosting = grown_classes(policy).bootstrap(Bootstrap::Bayesian { temperature: 0.5 });
        let long = boosting.clone().n_estimators(5).fit_rows_in(&x, &classes, &mut cx).expect("fits");
        let first = boosting.clone().n_estimators(2).fit_rows_in(&x, &classes, &mut cx).expect("fits");
        let both = boosting.n_estimators(3).fit_more_in(&first, &x, &classes, None, &mut cx).expect("fits");
        assert_eq!(both.ensemble(), long.ensemble(), "{policy:?}");
    }
}

#[test]
fn seeds_and_parameters_move_the_model() {
    let (x, y) = mixed(300, 2);
    let device = Device::host();
    let file = |b: GradientBoostingRegressor| b.fit_rows(&x, &y, &device).expect("fits").ensemble().clone();
    let drawn = || grown(GrowPolicy::Depthwise).bootstrap(Bootstrap::Bernoulli).subsample(0.5);
    assert_eq!(file(drawn().seed(1)), file(drawn().seed(1)));
    assert_ne!(file(drawn().seed(1)), file(drawn().seed(2)));
    let plain = || grown(GrowPolicy::Depthwise);
    let base = file(plain());
    let others = [
        plain().l1(0.5),
        plain().l2(3.0),
        plain().learning_rate(0.2),
        plain().min_child_samples(40),
        plain().min_child_weight(40.0),
        plain().min_split_gain(5.0),
        plain().max_depth(2),
        plain().max_leaves(5),
        plain().max_bins(6),
        plain().colsample_bylevel(0.4),
        plain().max_one_hot(32),
        plain().boost_from_average(false),
        plain().monotone_constraints(vec![-1, 0, 0, 0, 0, 0]),
        plain().interaction_constraints(vec![vec![0], vec![1]]),
    ];
    for other in others {
        let found = file(other.clone());
        assert_ne!(found, base, "{other:?}");
    }
}
