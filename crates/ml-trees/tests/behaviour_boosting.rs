//! What boosting promises of its trees, and what it refuses.

mod common;

use common::{mixed, unit};
use ml_core::{CancelToken, Matrix};
use ml_kernels::traits::{FitTarget, Persist, Predict};
use ml_kernels::{Context, Device};
use ml_trees::{
    BoostingType, Bootstrap, ClassWeights, Dataset, GradientBoostingClassifier, GradientBoostingModel,
    GradientBoostingRegressor, GrowPolicy, Importance, LeafEstimation, Loss, Node, Tree,
};

const POLICIES: [GrowPolicy; 3] = [GrowPolicy::Depthwise, GrowPolicy::Lossguide, GrowPolicy::Symmetric];

fn leaves(tree: &Tree) -> usize {
    tree.nodes().iter().filter(|n| matches!(n, Node::Leaf { .. })).count()
}

fn depth(tree: &Tree, at: u32) -> usize {
    match &tree.nodes()[at as usize] {
        Node::Leaf { .. } => 0,
        Node::Number { left, right, .. } | Node::Category { left, right, .. } => {
            1 + depth(tree, *left).max(depth(tree, *right))
        }
    }
}

/// Paths of columns from the root to each leaf.
fn paths(tree: &Tree, at: u32, above: &[u32], out: &mut Vec<Vec<u32>>) {
    match &tree.nodes()[at as usize] {
        Node::Leaf { .. } => out.push(above.to_vec()),
        Node::Number { feature, left, right, .. } | Node::Category { feature, left, right, .. } => {
            let own = [above, &[*feature]].concat();
            paths(tree, *left, &own, out);
            paths(tree, *right, &own, out);
        }
    }
}

/// A tree of least squares grown the slow way: every split of every column at every distinct value, in binary64.
fn best_stump(x: &Dataset, residual: &[f64], l2: f64) -> (u32, f64) {
    let worth = |s: f64, n: f64| s * s / (n + l2);
    let mut best = (0u32, 0.0f64);
    for c in 0..x.cols() {
        let mut values: Vec<f32> = (0..x.rows()).map(|i| x.row(i)[c]).collect();
        values.sort_by(f32::total_cmp);
        values.dedup();
        for bound in values {
            let (mut l, mut r) = ((0.0, 0.0), (0.0, 0.0));
            for (i, e) in residual.iter().enumerate() {
                let side = if x.row(i)[c] <= bound { &mut l } else { &mut r };
                *side = (side.0 + e, side.1 + 1.0);
            }
            if l.1 > 0.0 && r.1 > 0.0 {
                let gain = worth(l.0, l.1) + worth(r.0, r.1) - worth(l.0 + r.0, l.1 + r.1);
                if gain > best.1 {
                    best = (c as u32, gain);
                }
            }
        }
    }
    best
}

#[test]
fn the_first_split_is_the_best_there_is() {
    for seed in 0..5 {
        let x: Vec<f32> = (0..200 * 3).map(|i| (unit(seed * 1000 + i) * 40.0).floor()).collect();
        let y: Vec<f32> = (0..200).map(|i| x[i * 3] * 0.3 + (x[i * 3 + 1] - 20.0).abs() + unit(i as u32)).collect();
        let x = Dataset::new(200, 3, x).expect("finite");
        let model = GradientBoostingRegressor::new().n_estimators(1).max_depth(1).fit_rows(&x, &y, &Device::host());
        let model = model.expect("fits");
        let base = model.ensemble().base()[0];
        let residual: Vec<f64> = y.iter().map(|v| base - f64::from(*v)).collect();
        let (column, gain) = best_stump(&x, &residual, 1.0);
        match &model.ensemble().trees()[0].nodes()[0] {
            Node::Number { feature, gain: found, .. } => {
                assert_eq!(*feature, column);
                assert!((f64::from(*found) / gain - 1.0).abs() < 1e-4, "{found} {gain}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn leaves_are_newton_steps() {
    let (x, y) = mixed(500, 4);
    let device = Device::host();
    for policy in POLICIES {
        let boosting = GradientBoostingRegressor::new().n_estimators(1).grow_policy(policy).max_depth(3).l2(2.5);
        let model = boosting.fit_rows(&x, &y, &device).expect("fits");
        let raw = model.raw_scores(&x, &device).expect("scores");
        let base = model.ensemble().base()[0];
        // Rows of a leaf share a score: its step is what the residuals of these rows say.
        let mut scores: Vec<f32> = raw.as_slice().to_vec();
        scores.sort_by(f32::total_cmp);
        scores.dedup();
        assert!(scores.len() > 3, "{policy:?}");
        for score in scores {
            let rows: Vec<usize> = (0..500).filter(|i| raw.as_slice()[*i] == score).collect();
            let sum: f64 = rows.iter().map(|i| f64::from(y[*i]) - base).sum();
            let step = 0.1f64 * sum / (rows.len() as f64 + 2.5);
            assert!((f64::from(score) - base - step).abs() < 2e-6, "{policy:?} {score} {step}");
        }
    }
}

#[test]
fn bounds_of_trees_hold() {
    let (x, y) = mixed(800, 6);
    let device = Device::host();
    let grown = |b: GradientBoostingRegressor| b.n_estimators(3).fit_rows(&x, &y, &device).expect("fits");
    for policy in POLICIES {
        let model = grown(GradientBoostingRegressor::new().grow_policy(policy).max_depth(3));
        assert!(model.ensemble().trees().iter().all(|t| depth(t, 0) <= 3 && leaves(t) > 4), "{policy:?}");
    }
    for policy in [GrowPolicy::Depthwise, GrowPolicy::Lossguide] {
        let model = grown(GradientBoostingRegressor::new().grow_policy(policy).max_depth(0).max_leaves(11));
        assert!(model.ensemble().trees().iter().all(|t| leaves(t) == 11), "{policy:?}");
        let model = grown(GradientBoostingRegressor::new().grow_policy(policy).max_depth(2).max_leaves(11));
        assert!(model.ensemble().trees().iter().all(|t| leaves(t) == 4), "{policy:?}");
    }
    let symmetric = grown(GradientBoostingRegressor::new().grow_policy(GrowPolicy::Symmetric).max_depth(4));
    for tree in symmetric.ensemble().trees() {
        let mut found = Vec::new();
        paths(tree, 0, &[], &mut found);
        assert_eq!(found.len(), 16);
        assert!(found.iter().all(|p| *p == found[0]), "one column a level");
    }
    let sets = vec![vec![0, 1], vec![1, 2]];
    let bounded = grown(GradientBoostingRegressor::new().max_depth(5).interaction_constraints(sets.clone()));
    let free = grown(GradientBoostingRegressor::new().max_depth(5));
    let inside = |path: &Vec<u32>| {
        let rest = [vec![3, 4, 5]];
        sets.iter().chain(&rest).any(|set| path.iter().all(|c| set.contains(c)))
    };
    let all = |model: &GradientBoostingModel| {
        let mut found = Vec::new();
        model.ensemble().trees().iter().for_each(|t| paths(t, 0, &[], &mut found));
        found
    };
    assert!(all(&bounded).iter().all(inside));
    assert!(!all(&free).iter().all(inside), "the bound had something to do");
    // Rows of a leaf: at least as many as asked, also where rows have weights.
    let weights = (0..800).map(|i| if i % 3 == 0 { 0.1 } else { 2.0 }).collect();
    let weighted = x.clone().with_weights(weights).expect("weights");
    for rows in [&x, &weighted] {
        let boosting = GradientBoostingRegressor::new().n_estimators(1).min_child_samples(60).min_child_weight(0.0);
        let model = boosting.fit_rows(rows, &y, &device).expect("fits");
        let raw = model.raw_scores(rows, &device).expect("scores");
        for score in raw.as_slice() {
            assert!(raw.as_slice().iter().filter(|s| *s == score).count() >= 60);
        }
    }
}

#[test]
fn monotone_columns_are_obeyed() {
    let n = 600u32;
    let x: Vec<f32> = (0..n).flat_map(|i| [unit(i), unit(i + 10_000), unit(i + 20_000)]).collect();
    let wave = |t: f32| if (t * 8.0).floor() % 2.0 == 0.0 { t } else { t - 0.4 };
    let y: Vec<f32> = (0..n as usize).map(|i| wave(x[3 * i]) - wave(x[3 * i + 1]) + x[3 * i + 2]).collect();
    let x = Dataset::new(n as usize, 3, x).expect("finite");
    let device = Device::host();
    for policy in POLICIES {
        for signs in [vec![1i8, -1, 0], vec![0, 0, 0]] {
            let boosting = GradientBoostingRegressor::new().n_estimators(20).grow_policy(policy).max_depth(4).l2(0.0);
            let model = boosting.monotone_constraints(signs.clone()).fit_rows(&x, &y, &device).expect("fits");
            let mut falls = [0usize; 2];
            for i in 0..50 {
                for c in 0..2 {
                    let line: Vec<f32> = (0..100)
                        .flat_map(|t| {
                            let mut row = x.row(i).to_vec();
                            row[c] = t as f32 / 100.0;
                            row
                        })
                        .collect();
                    let line = Dataset::new(100, 3, line).expect("finite");
                    let raw = model.raw_scores(&line, &device).expect("scores");
                    let wrong = |w: &[f32]| if c == 0 { w[1] < w[0] } else { w[1] > w[0] };
                    falls[c] += raw.as_slice().windows(2).filter(|w| wrong(w)).count();
                }
            }
            if signs[0] != 0 {
                assert_eq!(falls, [0, 0], "{policy:?}");
            } else {
                assert!(falls[0] > 0 && falls[1] > 0, "{policy:?}: the bound had nothing to do");
            }
        }
    }
}

#[test]
fn missing_values_and_categories_are_learnt() {
    let (x, y) = mixed(2000, 8);
    let device = Device::host();
    for policy in POLICIES {
        let boosting = GradientBoostingRegressor::new().n_estimators(60).grow_policy(policy);
        let model = boosting.fit_rows(&x, &y, &device).expect("fits");
        let error = |x: &Dataset| {
            let raw = model.raw_scores(x, &device).expect("scores");
            let sum: f64 = raw.as_slice().iter().zip(&y).map(|(s, y)| f64::from((s - y) * (s - y))).sum();
            (sum / y.len() as f64).sqrt()
        };
        let found = error(&x);
        assert!(found < 0.25, "{policy:?}: {found}");
        let blind: Vec<f32> =
            (0..x.rows()).flat_map(|i| x.row(i).iter().map(|v| if v.is_nan() { 0.0 } else { *v })).collect();
        assert!(error(&Dataset::new(x.rows(), x.cols(), blind).expect("finite")) > 2.0 * found);
        let asked = model.ensemble().trees().iter().flat_map(|t| t.nodes()).any(|n| matches!(n, Node::Category { .. }));
        assert!(asked, "{policy:?}");
        let importance = model.feature_importances(Importance::Gain);
        assert_eq!(importance[3], 0.0, "a constant column gains nothing");
        assert!(importance[0] > importance[4] && importance[5] > importance[4]);
        let splits = model.feature_importances(Importance::Splits);
        let inner: usize = model.ensemble().trees().iter().map(|t| t.nodes().len() - leaves(t)).sum();
        assert_eq!(splits.iter().sum::<f64>(), inner as f64);
    }
}

#[test]
fn losses_bring_down_what_they_say() {
    let (x, y) = mixed(1000, 11);
    let device = Device::host();
    let losses = [
        Loss::Rmse,
        Loss::Mae,
        Loss::Quantile { alpha: 0.9 },
        Loss::Huber { delta: 0.5 },
        Loss::LogLinQuantile { alpha: 0.5 },
        Loss::Mape,
        Loss::Poisson,
        Loss::Tweedie { power: 1.5 },
        Loss::Gamma,
        Loss::Expectile { alpha: 0.2 },
        Loss::Lq { q: 2.5 },
        Loss::Lq { q: 1.5 },
        Loss::CrossEntropy,
    ];
    for loss in losses {
        let y: Vec<f32> = match loss {
            Loss::CrossEntropy => y.iter().map(|v| (v / 14.0).clamp(0.0, 1.0)).collect(),
            _ => y.iter().map(|v| v + 0.05).collect(),
        };
        let boosting = GradientBoostingRegressor::new().loss(loss).n_estimators(30).min_child_weight(0.01);
        let mut cx = Context::new(&device);
        let model = boosting.fit_eval_in(&x, &y, (&x, &y), &mut cx).expect("fits");
        let history = model.eval_history();
        let (first, last) = (history[0], history[29]);
        let start = ml_core::canon::canon(model.ensemble().base()[0] as f32);
        println!("{loss:?}: base {start}, {first} -> {last}");
        assert!(last < first - 0.02 * first.abs(), "{loss:?}: {first} {last}");
        if let Loss::Quantile { alpha } = loss {
            let raw = model.raw_scores(&x, &device).expect("scores");
            let below = raw.as_slice().iter().zip(&y).filter(|(s, y)| *y <= *s).count() as f32 / 1000.0;
            assert!((below - alpha).abs() < 0.06, "{below}");
        }
    }
}

#[test]
fn rankings_are_learnt() {
    let (x, y) = mixed(700, 12);
    let y: Vec<f32> = y.iter().map(|v| (v / 3.0).floor()).collect();
    let x = x.with_groups(&[10; 70]).expect("sizes");
    let device = Device::host();
    for loss in [Loss::QueryRmse, Loss::PairLogit, Loss::LambdaRank] {
        let boosting = GradientBoostingRegressor::new().loss(loss).n_estimators(30).min_child_weight(0.001);
        let model = boosting.fit_eval_in(&x, &y, (&x, &y), &mut Context::new(&device)).expect("fits");
        let history = model.eval_history();
        println!("{loss:?}: {} -> {}", history[0], history[29]);
        assert!(history[29] < 0.8 * history[0], "{loss:?}: {} {}", history[0], history[29]);
    }
    let bare = Dataset::new(2, 1, vec![0.0, 1.0]).expect("finite");
    let refused = GradientBoostingRegressor::new().loss(Loss::PairLogit).fit_rows(&bare, &[0.0, 1.0], &device);
    assert!(refused.unwrap_err().to_string().contains("group"));
}

#[test]
fn early_stopping_keeps_the_best() {
    let (x, y) = mixed(300, 13);
    let (other, truth) = mixed(300, 99_999);
    let device = Device::host();
    let boosting = GradientBoostingRegressor::new().n_estimators(400).learning_rate(0.5).l2(0.0);
    let stopped = boosting.clone().early_stopping_rounds(Some(5));
    let mut cx = Context::new(&device);
    let model = stopped.fit_eval_in(&x, &y, (&other, &truth), &mut cx).expect("fits");
    let history = model.eval_history();
    let best = model.best_iteration().expect("evaluated");
    assert!(best < 400 - 5 && history.len() == best + 5);
    assert!(
        history.iter().enumerate().all(|(i, v)| *v >= history[best - 1] && (i >= best - 1 || *v > history[best - 1]))
    );
    assert_eq!(model.n_iterations(), best);
    let long = boosting.n_estimators(best).fit_rows(&x, &y, &device).expect("fits");
    assert_eq!(long.ensemble(), model.ensemble());
    let refused = stopped.fit_rows(&x, &y, &device).unwrap_err();
    assert!(refused.to_string().contains("early_stopping_rounds"));
}

#[test]
fn weights_are_repetitions() {
    let (x, y) = mixed(200, 14);
    let times = |i: usize| i % 3;
    let weighted = x.clone().with_weights((0..200).map(|i| times(i) as f32).collect()).expect("weights");
    let ids: Vec<usize> = (0..200).flat_map(|i| vec![i; times(i)]).collect();
    let repeated = Dataset::new(ids.len(), x.cols(), ids.iter().flat_map(|i| x.row(*i).to_vec()).collect());
    let repeated = repeated.expect("finite").with_categorical(&[5]).expect("whole");
    let again: Vec<f32> = ids.iter().map(|i| y[*i]).collect();
    let device = Device::host();
    // Enough bins that those of both are edges between all values that count.
    let boosting = GradientBoostingRegressor::new().n_estimators(5).max_bins(4096).max_depth(3);
    let a = boosting.fit_rows(&weighted, &y, &device).expect("fits").raw_scores(&repeated, &device).expect("scores");
    let b =
        boosting.fit_rows(&repeated, &again, &device).expect("fits").raw_scores(&repeated, &device).expect("scores");
    let worst = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn classes_keep_their_names_and_weights() {
    let (x, y) = mixed(600, 15);
    let device = Device::host();
    let classes: Vec<u32> = y.iter().map(|v| [40, 7, 1000][(*v as usize).min(2)]).collect();
    for loss in [Loss::MultiClass, Loss::MultiClassOneVsAll] {
        let boosting = GradientBoostingClassifier::new().loss(loss).n_estimators(20).min_child_weight(0.1);
        let model = boosting.fit_rows(&x, &classes, &device).expect("fits");
        assert_eq!(model.classes(), [7, 40, 1000]);
        let found = model.predict_rows(&x, &device).expect("predicts");
        let right = found.iter().zip(&classes).filter(|(a, b)| a == b).count();
        assert!(right > 570, "{loss:?}: {right}");
        let p = model.predict_proba(&x, &device).expect("predicts");
        assert_eq!((p.rows(), p.cols()), (600, 3));
        if loss == Loss::MultiClass {
            assert!((0..600).all(|i| (p.row(i).iter().sum::<f32>() - 1.0).abs() < 1e-5));
        }
        let back = ml_trees::GradientBoostingClassifierModel::from_bytes(model.to_bytes().expect("writes"));
        assert_eq!(back.expect("reads").classes(), model.classes());
    }
    // One row in twenty is of class 1: balanced weights make the model say it more often.
    let rare: Vec<u32> = (0..600).map(|i| u32::from(i % 20 == 0)).collect();
    let boosting = GradientBoostingClassifier::new().n_estimators(3);
    let count = |b: GradientBoostingClassifier| {
        let p = b.fit_rows(&x, &rare, &device).expect("fits").predict_proba(&x, &device).expect("predicts");
        (0..600).map(|i| p.row(i)[1]).sum::<f32>()
    };
    let (plain, balanced) = (count(boosting.clone()), count(boosting.class_weights(ClassWeights::Balanced)));
    assert!((plain - 30.0).abs() < 6.0 && balanced > 200.0, "{plain} {balanced}");
}

#[test]
fn what_is_out_of_bounds_is_refused_by_name() {
    let x = Matrix::from_rows(&[[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]]).expect("finite");
    let y = [0.0, 1.0, 2.0];
    let device = Device::host();
    let new = GradientBoostingRegressor::new;
    let cases: Vec<(&str, GradientBoostingRegressor)> = vec![
        ("n_estimators", new().n_estimators(0)),
        ("learning_rate", new().learning_rate(0.0)),
        ("learning_rate", new().learning_rate(f32::NAN)),
        ("max_bins", new().max_bins(3)),
        ("max_bins", new().max_bins(65_537)),
        ("max_leaves", new().max_leaves(1)),
        ("max_leaves", new().max_leaves(8).grow_policy(GrowPolicy::Symmetric)),
        ("max_depth", new().max_depth(0).grow_policy(GrowPolicy::Symmetric)),
        ("max_depth", new().max_depth(17).grow_policy(GrowPolicy::Symmetric)),
        ("min_child_weight", new().min_child_weight(-1.0)),
        ("min_split_gain", new().min_split_gain(f32::INFINITY)),
        ("l1", new().l1(-0.5)),
        ("l2", new().l2(f32::NAN)),
        ("subsample", new().subsample(0.5)),
        ("subsample", new().subsample(0.0).bootstrap(Bootstrap::Bernoulli)),
        ("subsample", new().subsample(0.5).bootstrap(Bootstrap::Bayesian { temperature: 1.0 })),
        ("temperature", new().bootstrap(Bootstrap::Bayesian { temperature: -1.0 })),
        ("`bootstrap` = mvs is not offered; choose no, bernoulli or bayesian", new().bootstrap(Bootstrap::Mvs)),
        ("`bootstrap` = goss is not offered", new().bootstrap(Bootstrap::Goss)),
        ("`boosting_type` = ordered is not offered; choose plain", new().boosting_type(BoostingType::Ordered)),
        ("`boosting_type` = dart is not offered; choose plain", new().boosting_type(BoostingType::Dart)),
        ("`leaf_estimation` = gradient is not offered", new().leaf_estimation(LeafEstimation::Gradient)),
        ("`leaf_estimation` = exact is not offered", new().leaf_estimation(LeafEstimation::Exact)),
        ("`loss` = YetiRank is not offered", new().loss(Loss::YetiRank)),
        ("`loss` = Logloss is not offered", new().loss(Loss::Logloss)),
        ("alpha", new().loss(Loss::Quantile { alpha: 1.0 })),
        ("delta", new().loss(Loss::Huber { delta: 0.0 })),
        ("power", new().loss(Loss::Tweedie { power: 2.0 })),
        ("`q`", new().loss(Loss::Lq { q: 0.5 })),
        ("colsample_bytree", new().colsample_bytree(0.0)),
        ("colsample_bynode", new().colsample_bynode(1.5)),
        ("monotone_constraints", new().monotone_constraints(vec![1])),
        ("monotone_constraints", new().monotone_constraints(vec![1, 2])),
        ("interaction_constraints", new().interaction_constraints(vec![vec![2]])),
        ("early_stopping_rounds", new().early_stopping_rounds(Some(0))),
        ("above 0 for the loss Gamma", new().loss(Loss::Gamma)),
        ("within 0..=1 for the loss CrossEntropy", new().loss(Loss::CrossEntropy)),
    ];
    for (name, boosting) in cases {
        let refused = boosting.fit(&x, &y, &device).expect_err(name).to_string();
        assert!(refused.contains(name), "{name}: {refused}");
    }
    for y in [&[0.0f32, 1.0][..], &[0.0, f32::NAN, 1.0]] {
        assert!(new().fit(&x, y, &device).unwrap_err().to_string().contains("`y`"));
    }
    let classes = GradientBoostingClassifier::new();
    assert!(classes.fit(&x, &[1, 1, 1], &device).unwrap_err().to_string().contains("2 to"));
    let refused = classes.clone().loss(Loss::Rmse).fit(&x, &[0, 1, 1], &device).unwrap_err();
    assert!(refused.to_string().contains("choose Logloss, MultiClass or MultiClassOneVsAll"));
    let weights = ClassWeights::Given(vec![1.0]);
    assert!(
        classes.class_weights(weights).fit(&x, &[0, 1, 1], &device).unwrap_err().to_string().contains("class_weights")
    );
    let model = new().n_estimators(2).fit(&x, &y, &device).expect("fits");
    let narrow = Matrix::from_rows(&[[1.0]]).expect("finite");
    assert!(model.predict(&narrow, &device).unwrap_err().to_string().contains("2 columns"));
    assert!("best".parse::<GrowPolicy>().unwrap_err().to_string().contains("depthwise, lossguide or symmetric"));
}

#[test]
fn files_of_strangers_are_refused() {
    let (x, y) = mixed(100, 21);
    let model = GradientBoostingRegressor::new().n_estimators(2).fit_rows(&x, &y, &Device::host()).expect("fits");
    let bytes = model.to_bytes().expect("writes");
    for at in (0..bytes.len()).step_by(97) {
        let mut broken = bytes.clone();
        broken[at] ^= 4;
        assert!(GradientBoostingModel::from_bytes(broken).is_err(), "byte {at}");
    }
}

#[test]
fn fits_can_be_cancelled_and_derivatives_are_checked() {
    let (x, y) = mixed(100, 22);
    let device = Device::host();
    let cancel = CancelToken::new();
    cancel.cancel();
    let mut cx = Context::new(&device).with_cancel(cancel);
    assert!(
        GradientBoostingRegressor::new().fit_rows_in(&x, &y, &mut cx).unwrap_err().to_string().contains("cancelled")
    );
    let mut cx = Context::new(&device);
    let boosting = GradientBoostingRegressor::new().n_estimators(2);
    let short = |_: &[f32], _: &[f32]| (vec![1.0], vec![1.0]);
    assert!(boosting.fit_objective_in(&x, &y, &short, &mut cx).unwrap_err().to_string().contains("gradient"));
    let broken = |s: &[f32], _: &[f32]| (s.to_vec(), vec![f32::NAN; s.len()]);
    assert!(boosting.fit_objective_in(&x, &y, &broken, &mut cx).unwrap_err().to_string().contains("curvature"));
}
