//! Against a plain search, identity, the meaning of each parameter, and refusals.

use ml_core::{Matrix, Result};
use ml_kernels::traits::{FitTarget, Persist, Predict};
use ml_kernels::{Context, Device};

use super::params::{ClassCriterion, ClassWeight, Criterion, NumberCriterion};
use super::*;
use crate::ensemble::{Node, Tree};
use crate::walk;

fn hash(i: usize, salt: u32) -> u32 {
    let mut x = (i as u32).wrapping_mul(0x9e37_79b9) ^ salt.wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// `n` rows of `d` whole numbers below `levels`.
fn rows(n: usize, d: usize, levels: u32) -> Matrix {
    Matrix::from_vec(n, d, (0..n * d).map(|i| (hash(i, 1) % levels) as f32).collect()).expect("finite")
}

/// A target of the first two columns and noise.
fn target(x: &Matrix) -> Vec<f32> {
    (0..x.rows())
        .map(|i| {
            let row = x.row(i);
            let step = if row[0] > row[1] { 7.0 } else { 0.0 };
            row[0] * 3.0 + step + (hash(i, 2) % 16) as f32 / 4.0
        })
        .collect()
}

fn labels(x: &Matrix) -> Vec<u32> {
    target(x)
        .iter()
        .enumerate()
        .map(|(i, y)| if hash(i, 3).is_multiple_of(9) { 40 } else { 10 * (*y as u32 % 3) })
        .collect()
}

/// Rows of each node.
fn reach(tree: &Tree, x: &Matrix) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); tree.nodes().len()];
    for i in 0..x.rows() {
        let mut at = 0usize;
        loop {
            found[at].push(i);
            match &tree.nodes()[at] {
                node @ Node::Number { left, right, .. } => {
                    at = if walk::goes_left(node, x.row(i)) == Some(true) { *left } else { *right } as usize;
                }
                _ => break,
            }
        }
    }
    found
}

/// Impurity of rows times their number.
fn impurity(rows: &[usize], y: &[f32], criterion: Criterion) -> f64 {
    let n = rows.len() as f64;
    let number = |i: &usize| f64::from(y[*i]);
    let mean = rows.iter().map(number).sum::<f64>() / n;
    let shares = || {
        let mut all: Vec<f32> = rows.iter().map(|i| y[*i]).collect();
        all.sort_by(f32::total_cmp);
        all.chunk_by(|a, b| a == b).map(|run| run.len() as f64 / n).collect::<Vec<_>>()
    };
    let ln = crate::double::ln;
    match criterion {
        Criterion::SquaredError => rows.iter().map(|i| (number(i) - mean) * (number(i) - mean)).sum(),
        Criterion::Poisson => {
            let part = |i: &usize| if number(i) == 0.0 { 0.0 } else { number(i) * ln(number(i) / mean) };
            rows.iter().map(part).sum()
        }
        Criterion::Gini => n * shares().iter().map(|p| p * (1.0 - p)).sum::<f64>(),
        Criterion::Entropy => n * shares().iter().map(|p| -p * ln(*p) / std::f64::consts::LN_2).sum::<f64>(),
    }
}

/// The greatest gain of any cut of `rows` with `least` rows on each side; `None` if there is no cut.
fn best(rows: &[usize], x: &Matrix, y: &[f32], criterion: Criterion, least: usize) -> Option<f64> {
    let whole = impurity(rows, y, criterion);
    let mut best: Option<f64> = None;
    for j in 0..x.cols() {
        let mut cuts: Vec<f32> = rows.iter().map(|i| x.row(*i)[j]).collect();
        cuts.sort_by(f32::total_cmp);
        cuts.dedup();
        for cut in &cuts[..cuts.len() - 1] {
            let (l, r): (Vec<usize>, Vec<usize>) = rows.iter().partition(|i| x.row(**i)[j] <= *cut);
            if l.len() < least || r.len() < least {
                continue;
            }
            let zero = |side: &[usize]| side.iter().all(|i| y[*i] == 0.0);
            if criterion == Criterion::Poisson && (zero(&l) || zero(&r)) {
                continue;
            }
            let gain = whole - impurity(&l, y, criterion) - impurity(&r, y, criterion);
            best = Some(best.map_or(gain, |b| b.max(gain)));
        }
    }
    best
}

#[test]
fn every_split_is_the_best_there_is() {
    let device = Device::host();
    // Few levels make nodes with more rows than bins, many levels the other way round.
    for (n, levels, least) in [(240, 7, 1), (300, 250, 1), (200, 90, 6)] {
        let x = rows(n, 4, levels);
        let y: Vec<f32> = target(&x).iter().map(|v| v % 23.0).collect();
        let classes = labels(&x);
        let as_numbers: Vec<f32> = classes.iter().map(|c| *c as f32).collect();
        let class = |c| {
            let tree = DecisionTreeClassifier::new().criterion(c).min_samples_leaf(least).max_depth(9);
            tree.fit(&x, &classes, &device).expect("fits").ensemble().trees()[0].clone()
        };
        let number = |c| {
            let tree = DecisionTreeRegressor::new().criterion(c).min_samples_leaf(least).max_depth(9);
            tree.fit(&x, &y, &device).expect("fits").ensemble().trees()[0].clone()
        };
        for (criterion, tree, y) in [
            (Criterion::Gini, class(ClassCriterion::Gini), &as_numbers),
            (Criterion::Entropy, class(ClassCriterion::Entropy), &as_numbers),
            (Criterion::SquaredError, number(NumberCriterion::SquaredError), &y),
            (Criterion::Poisson, number(NumberCriterion::Poisson), &y),
        ] {
            let reached = reach(&tree, &x);
            let mut splits = 0;
            for (node, rows) in tree.nodes().iter().zip(&reached) {
                match *node {
                    Node::Number { gain, cover, .. } => {
                        splits += 1;
                        assert_eq!(cover as usize, rows.len());
                        let want = best(rows, &x, y, criterion, least).expect("a cut");
                        let scale = impurity(rows, y, criterion).max(1.0);
                        let off = (f64::from(gain) - want).abs();
                        assert!(off <= 1e-6 * scale, "{criterion:?}, {levels} levels: {gain} against {want}");
                    }
                    Node::Leaf { leaf, cover } => {
                        assert_eq!(cover as usize, rows.len());
                        let values = &tree.values()[leaf as usize * tree.outputs()..][..tree.outputs()];
                        if tree.outputs() == 1 {
                            let mean = rows.iter().map(|i| f64::from(y[*i])).sum::<f64>() / rows.len() as f64;
                            assert!((values[0] - mean).abs() < 1e-9);
                        } else {
                            assert!((values.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                        }
                    }
                    Node::Category { .. } => panic!("no categories here"),
                }
            }
            assert!(splits > 10, "{criterion:?}: {splits}");
        }
    }
}

#[test]
fn threads_change_nothing() -> Result<()> {
    let x = rows(500, 6, 400);
    let (y, classes) = (target(&x), labels(&x));
    let all = |threads| -> Result<Vec<Vec<u8>>> {
        let device = Device::host_with_threads(threads)?;
        let few = |n| RandomForestClassifier::new().n_estimators(n).seed(3).oob_score(true);
        let oob = few(9).fit(&x, &classes, &device)?;
        let shown = format!("{:?}", oob.out_of_bag().map(|o| (o.decision_function.as_slice().to_vec(), o.score)));
        Ok(vec![
            DecisionTreeClassifier::new().ccp_alpha(0.002).fit(&x, &classes, &device)?.to_bytes()?,
            DecisionTreeRegressor::new().max_leaf_nodes(40).fit(&x, &y, &device)?.to_bytes()?,
            few(70).class_weight(ClassWeight::BalancedSubsample).fit(&x, &classes, &device)?.to_bytes()?,
            RandomForestRegressor::new().n_estimators(11).max_samples(0.5).fit(&x, &y, &device)?.to_bytes()?,
            ExtraTreesClassifier::new().n_estimators(11).fit(&x, &classes, &device)?.to_bytes()?,
            ExtraTreesRegressor::new().n_estimators(11).max_features(0.4).fit(&x, &y, &device)?.to_bytes()?,
            oob.to_bytes()?,
            shown.into_bytes(),
            oob.predict_proba(&x, &device)?.as_slice().iter().flat_map(|p| p.to_le_bytes()).collect(),
        ])
    };
    let wanted = all(1)?;
    for threads in [2, 7, 64] {
        assert!(all(threads)? == wanted, "{threads} threads");
    }
    let device = Device::host();
    let other = RandomForestRegressor::new().n_estimators(11).max_samples(0.5).seed(1).fit(&x, &y, &device)?;
    assert!(other.to_bytes()? != wanted[3], "the seed changes nothing");
    Ok(())
}

#[test]
fn a_tree_depends_on_its_number_alone() -> Result<()> {
    let x = rows(200, 5, 50);
    let y = target(&x);
    let device = Device::host();
    for extra in [false, true] {
        let fit = |n| -> Result<Vec<Vec<Node>>> {
            let ensemble = if extra {
                ExtraTreesRegressor::new().n_estimators(n).fit(&x, &y, &device)?.ensemble().clone()
            } else {
                RandomForestRegressor::new().n_estimators(n).fit(&x, &y, &device)?.ensemble().clone()
            };
            Ok(ensemble.trees().iter().map(|t| t.nodes().to_vec()).collect())
        };
        let (few, many) = (fit(3)?, fit(40)?);
        assert_eq!(few, many[..3]);
        assert_ne!(many[0], many[1]);
    }
    Ok(())
}

#[test]
fn a_weight_is_a_number_of_equal_rows() -> Result<()> {
    let device = Device::host();
    let x = rows(120, 3, 30);
    let (y, classes) = (target(&x), labels(&x));
    let weights: Vec<f32> = (0..120).map(|i| (hash(i, 5) % 4) as f32).collect();
    let ids: Vec<usize> = (0..120).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let repeated = Matrix::from_rows(&ids.iter().map(|i| x.row(*i)).collect::<Vec<_>>())?;
    let cx = || Context::new(&device);
    let numbers = DecisionTreeRegressor::new();
    let many: Vec<f32> = ids.iter().map(|i| y[*i]).collect();
    let weighted = numbers.fit_weighted_in(&x, &y, &weights, &mut cx())?;
    let plain = numbers.fit(&repeated, &many, &device)?;
    assert_eq!(weighted.ensemble().trees()[0].nodes(), plain.ensemble().trees()[0].nodes());
    let kinds = DecisionTreeClassifier::new().criterion(ClassCriterion::Entropy);
    let many: Vec<u32> = ids.iter().map(|i| classes[*i]).collect();
    let weighted = kinds.fit_weighted_in(&x, &classes, &weights, &mut cx())?;
    assert_eq!(weighted.ensemble(), kinds.fit(&repeated, &many, &device)?.ensemble());
    // Scaling all weights by a power of two changes covers and gains alone.
    let gini = DecisionTreeClassifier::new();
    let scaled: Vec<f32> = weights.iter().map(|w| w * 0.125).collect();
    let [whole, scaled] = [&weights, &scaled].map(|w| gini.fit_weighted_in(&x, &classes, w, &mut cx()));
    assert_eq!(whole?.predict_proba(&x, &device)?, scaled?.predict_proba(&x, &device)?);
    Ok(())
}

#[test]
fn class_weights_are_sample_weights() -> Result<()> {
    let device = Device::host();
    let x = rows(150, 3, 20);
    let classes = labels(&x);
    let count = |c: u32| classes.iter().filter(|k| **k == c).count() as f64;
    let names = [0, 10, 20, 40];
    let by: Vec<(u32, f64)> = names.iter().map(|c| (*c, 150.0 / (4.0 * count(*c)))).collect();
    let fit = |w| DecisionTreeClassifier::new().max_depth(4).class_weight(w).fit(&x, &classes, &device);
    let balanced = fit(ClassWeight::Balanced)?;
    assert_eq!(balanced.ensemble(), fit(ClassWeight::Of(by))?.ensemble());
    assert_ne!(balanced.ensemble(), fit(ClassWeight::Even)?.ensemble());
    let Node::Number { cover, .. } = balanced.ensemble().trees()[0].nodes()[0] else { panic!("a split") };
    assert!((cover - 150.0).abs() < 1e-3);
    // A class of weight 0 is never predicted.
    let without = fit(ClassWeight::Of(vec![(40, 0.0)]))?;
    assert!(without.predict(&x, &device)?.iter().all(|c| *c != 40));
    Ok(())
}

#[test]
fn monotone_columns_are_monotone() -> Result<()> {
    let device = Device::host();
    let x = rows(400, 3, 60);
    let y = target(&x);
    let two: Vec<u32> = y.iter().map(|v| u32::from(*v % 31.0 > 14.0)).collect();
    let grid = |j: usize| -> Result<Vec<Matrix>> {
        (0..20)
            .map(|i| {
                let at = |v: usize| {
                    let mut row = x.row(i * 7).to_vec();
                    row[j] = v as f32 - 0.5;
                    row
                };
                Matrix::from_rows(&(0..62).map(at).collect::<Vec<_>>())
            })
            .collect()
    };
    let signs = vec![1i8, -1, 0];
    let plain = RandomForestRegressor::new().n_estimators(5).fit(&x, &y, &device)?;
    let held = RandomForestRegressor::new().n_estimators(5).monotonic_cst(signs.clone()).fit(&x, &y, &device)?;
    let classes = ExtraTreesClassifier::new().n_estimators(5).monotonic_cst(signs).fit(&x, &two, &device)?;
    let mut broken = 0;
    for (j, sign) in [(0, 1.0), (1, -1.0)] {
        for line in grid(j)? {
            let falls = |values: &[f32]| values.windows(2).filter(|w| (w[1] - w[0]) * sign < 0.0).count();
            assert_eq!(falls(&held.predict(&line, &device)?), 0, "column {j}");
            let second: Vec<f32> =
                classes.predict_proba(&line, &device)?.as_slice().iter().skip(1).step_by(2).copied().collect();
            assert_eq!(falls(&second), 0, "classes, column {j}");
            broken += falls(&plain.predict(&line, &device)?);
        }
    }
    assert!(broken > 0, "nothing to hold");
    assert!(held.score(&x, &y, &device)? > 0.5);
    Ok(())
}

fn leaves(tree: &Tree) -> usize {
    tree.nodes().iter().filter(|n| matches!(n, Node::Leaf { .. })).count()
}

#[test]
fn limits_hold() -> Result<()> {
    let device = Device::host();
    let x = rows(300, 4, 100);
    let y = target(&x);
    let fit = |t: DecisionTreeRegressor| t.fit(&x, &y, &device).map(|m| m.ensemble().trees()[0].clone());
    let new = DecisionTreeRegressor::new;
    for most in [2, 3, 17] {
        assert_eq!(leaves(&fit(new().max_leaf_nodes(most))?), most);
    }
    assert_eq!(fit(new().max_depth(1))?.nodes().len(), 3);
    let covers = |tree: &Tree, leaf: bool| -> Vec<f32> {
        let of = |n: &Node| match *n {
            Node::Leaf { cover, .. } if leaf => Some(cover),
            Node::Number { cover, .. } if !leaf => Some(cover),
            _ => None,
        };
        tree.nodes().iter().filter_map(of).collect()
    };
    assert!(covers(&fit(new().min_samples_leaf(13))?, true).iter().all(|c| *c >= 13.0));
    assert!(covers(&fit(new().min_samples_leaf(0.1))?, true).iter().all(|c| *c >= 30.0));
    assert!(covers(&fit(new().min_samples_split(40))?, false).iter().all(|c| *c >= 40.0));
    assert!(covers(&fit(new().min_weight_fraction_leaf(0.07))?, true).iter().all(|c| *c >= 21.0));
    let decreases = |tree: &Tree| -> Vec<f32> {
        tree.nodes()
            .iter()
            .filter_map(|n| if let Node::Number { gain, .. } = n { Some(gain / 300.0) } else { None })
            .collect()
    };
    let all = decreases(&fit(new())?);
    let some = decreases(&fit(new().min_impurity_decrease(5.0))?);
    assert!(all.iter().any(|d| *d < 5.0) && !some.is_empty() && some.iter().all(|d| *d >= 5.0));
    // A full tree knows every row.
    let full = DecisionTreeRegressor::new().fit(&x, &y, &device)?;
    assert_eq!(full.predict(&x, &device)?, y);
    Ok(())
}

#[test]
fn pruning_undoes_weak_links_one_by_one() -> Result<()> {
    let device = Device::host();
    let x = rows(200, 3, 40);
    let y = target(&x);
    let fit = |alpha| {
        let model = DecisionTreeRegressor::new().max_depth(7).ccp_alpha(alpha).fit(&x, &y, &device)?;
        let error = model.predict(&x, &device)?.iter().zip(&y).map(|(p, y)| f64::from((p - y) * (p - y))).sum::<f64>();
        Ok::<_, ml_core::Error>((leaves(&model.ensemble().trees()[0]), error / 200.0))
    };
    let path: Vec<(f64, (usize, f64))> =
        [0.0, 0.01, 0.1, 0.5, 2.0, 10.0, 1e9].iter().map(|a| Ok((*a, fit(*a)?))).collect::<Result<_>>()?;
    assert!(path.windows(2).all(|w| w[1].1.0 <= w[0].1.0), "{path:?}");
    assert!(path[0].1.0 > 60 && path[6].1.0 == 1, "{path:?}");
    // Of all these trees, the one of each alpha costs least.
    for (alpha, (n, error)) in &path {
        let cost = error + alpha * *n as f64;
        for (_, (m, other)) in &path {
            assert!(cost <= other + alpha * *m as f64 + 1e-9, "alpha {alpha}: {n} leaves against {m}");
        }
    }
    Ok(())
}

#[test]
fn rows_out_of_the_bag_are_told_by_the_other_trees() -> Result<()> {
    let device = Device::host();
    let x = rows(400, 4, 100);
    let (y, classes) = (target(&x), labels(&x));
    let one = RandomForestRegressor::new().n_estimators(1).oob_score(true).fit(&x, &y, &device)?;
    let told = one.out_of_bag().expect("asked for");
    let known = told.known.iter().filter(|k| **k).count();
    assert!((115..180).contains(&known), "{known}");
    let predicted = one.predict(&x, &device)?;
    let (mut drawn, mut right) = (0, 0);
    for i in 0..400 {
        if told.known[i] {
            assert_eq!(told.prediction[i], predicted[i]);
        } else {
            assert_eq!(told.prediction[i], 0.0);
            drawn += 1;
            right += usize::from(predicted[i] == y[i]);
        }
    }
    // A full tree knows the rows that it drew, all but those that look alike.
    assert!(right * 10 >= drawn * 9, "{right} of {drawn}");
    let forest = RandomForestRegressor::new().oob_score(true).fit(&x, &y, &device)?;
    let score = forest.out_of_bag().expect("asked for").score;
    assert!(score < forest.score(&x, &y, &device)? && score > 0.5, "{score}");
    let forest = RandomForestClassifier::new().oob_score(true).fit(&x, &classes, &device)?;
    let told = forest.out_of_bag().expect("asked for");
    assert!(told.known.iter().all(|k| *k) && told.score > 0.3 && told.score < 1.0);
    for i in 0..400 {
        assert!((told.decision_function.row(i).iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
    assert!(RandomForestRegressor::new().fit(&x, &y, &device)?.out_of_bag().is_none());
    Ok(())
}

#[test]
fn saved_models_are_the_same() -> Result<()> {
    let device = Device::host();
    let x = rows(90, 3, 40);
    let (y, classes) = (target(&x), labels(&x));
    fn same<M: Persist + PartialEq + std::fmt::Debug>(model: &M) -> Result<()> {
        let bytes = model.to_bytes()?;
        let loaded = M::from_bytes(bytes.clone())?;
        assert_eq!(&loaded, model);
        assert_eq!(loaded.to_bytes()?, bytes);
        Ok(())
    }
    same(&DecisionTreeClassifier::new().fit(&x, &classes, &device)?)?;
    same(&DecisionTreeRegressor::new().fit(&x, &y, &device)?)?;
    same(&RandomForestClassifier::new().n_estimators(4).fit(&x, &classes, &device)?)?;
    same(&RandomForestRegressor::new().n_estimators(4).fit(&x, &y, &device)?)?;
    same(&ExtraTreesClassifier::new().n_estimators(4).fit(&x, &classes, &device)?)?;
    let extra = ExtraTreesRegressor::new().n_estimators(4).fit(&x, &y, &device)?;
    same(&extra)?;
    assert!(RandomForestRegressorModel::from_bytes(extra.to_bytes()?).is_err());
    Ok(())
}

#[test]
fn foreign_arrays_are_checked() -> Result<()> {
    use ml_core::model::{ANY, ModelReader, ModelWriter};
    let x = rows(50, 2, 9);
    let model = DecisionTreeRegressor::new().max_depth(2).fit(&x, &target(&x), &Device::host())?;
    let kind = DecisionTreeRegressorModel::KIND;
    let file = ModelReader::from_bytes(model.to_bytes()?, kind)?;
    // The model's own file, one array or parameter of it changed.
    let build = |changed: &str, data: &[u64]| -> Result<DecisionTreeRegressorModel> {
        let mut writer = ModelWriter::new(kind, file.params().clone());
        for name in ["starts", "leaf_starts", "feature"] {
            let own = file.u32(name, &[ANY])?.data;
            let data = if name == changed { data.iter().map(|v| *v as u32).collect() } else { own };
            writer = writer.u32(name, &[data.len()], &data);
        }
        let own = file.u32("children", &[ANY, 2])?.data;
        let children = if changed == "children" { vec![data[0] as u32; own.len()] } else { own };
        writer = writer.u32("children", &[children.len() / 2, 2], &children);
        for name in ["threshold", "gain", "cover"] {
            let own = file.f32(name, &[ANY])?.data;
            let own = if name == changed { own[1..].to_vec() } else { own };
            writer = writer.f32(name, &[own.len()], &own);
        }
        let own = file.u64("values", &[ANY])?.data;
        let values = if changed == "values" { vec![data[0]; own.len()] } else { own };
        writer = writer.u64("values", &[values.len()], &values);
        if changed.starts_with("n_") {
            writer = writer.param(changed, serde_json::json!(data[0]));
        }
        DecisionTreeRegressorModel::from_bytes(writer.to_bytes()?)
    };
    assert_eq!(build("", &[])?, model);
    let n = file.u32("feature", &[ANY])?.data.len() as u64;
    let features = vec![7; n as usize];
    for (name, data) in [
        ("feature", &features[..]),
        ("feature", &features[1..]),
        ("children", &[0]),
        ("children", &[u64::from(u32::MAX)]),
        ("starts", &[0, 1]),
        ("starts", &[0]),
        ("starts", &[]),
        ("starts", &[1, n]),
        ("starts", &[0, n, n]),
        ("leaf_starts", &[0, 1]),
        ("leaf_starts", &[0, u64::from(u32::MAX)]),
        ("threshold", &[]),
        ("cover", &[]),
        ("values", &[f64::NAN.to_bits()]),
        ("n_outputs", &[0]),
        ("n_outputs", &[2]),
        ("n_outputs", &[u64::MAX]),
        ("n_features_in", &[0]),
    ] {
        assert!(build(name, data).is_err(), "{name} {data:?}");
    }
    Ok(())
}

#[test]
fn extreme_numbers_are_taken() -> Result<()> {
    let device = Device::host();
    let x = Matrix::from_vec(6, 1, vec![f32::MIN, -1e-37, 0.0, 1e-37, 1e30, f32::MAX])?;
    for scale in [4e-38f32, 1.0, 3e38] {
        let y: Vec<f32> = [-1.0, -1.0, 0.5, 0.5, 1.0, 1.0].iter().map(|v| v * scale).collect();
        let model = DecisionTreeRegressor::new().fit(&x, &y, &device)?;
        for (p, y) in model.predict(&x, &device)?.iter().zip(&y) {
            assert!((p - y).abs() <= 1e-6 * scale, "{p:e} against {y:e}");
        }
        assert!(ExtraTreesRegressor::new().n_estimators(3).fit(&x, &y, &device).is_ok());
    }
    // A mean far from 0 takes nothing from the differences.
    let far: Vec<f32> = (0..6).map(|i| 16_000_000.0 + i as f32).collect();
    let model = DecisionTreeRegressor::new().fit(&x, &far, &device)?;
    assert_eq!(model.predict(&x, &device)?, far);
    let same = DecisionTreeRegressor::new().fit(&x, &[4.0; 6], &device)?;
    assert_eq!(same.ensemble().trees()[0].nodes().len(), 1);
    let one = DecisionTreeClassifier::new().fit(&x, &[9; 6], &device)?;
    assert_eq!(one.predict(&x, &device)?, [9; 6]);
    Ok(())
}

#[test]
fn refusals_name_the_parameter() {
    let device = Device::host();
    let x = rows(50, 4, 20);
    let (y, classes) = (target(&x), labels(&x));
    let number = |t: RandomForestRegressor| t.fit(&x, &y, &device).unwrap_err().to_string();
    let class = |t: RandomForestClassifier| t.fit(&x, &classes, &device).unwrap_err().to_string();
    let (n, c) = (RandomForestRegressor::new, RandomForestClassifier::new);
    for (error, name) in [
        (number(n().n_estimators(0)), "n_estimators"),
        (number(n().max_depth(0)), "max_depth"),
        (number(n().min_samples_split(1)), "min_samples_split"),
        (number(n().min_samples_leaf(0)), "min_samples_leaf"),
        (number(n().min_samples_leaf(1.5)), "min_samples_leaf"),
        (number(n().min_weight_fraction_leaf(0.6)), "min_weight_fraction_leaf"),
        (number(n().max_features(5)), "max_features"),
        (number(n().max_features(0.0)), "max_features"),
        (number(n().max_leaf_nodes(1)), "max_leaf_nodes"),
        (number(n().min_impurity_decrease(-1.0)), "min_impurity_decrease"),
        (number(n().ccp_alpha(f64::NAN)), "ccp_alpha"),
        (number(n().max_samples(51)), "max_samples"),
        (number(n().bootstrap(false).max_samples(5)), "max_samples"),
        (number(n().bootstrap(false).oob_score(true)), "oob_score"),
        (number(n().monotonic_cst(vec![1, 0])), "monotonic_cst"),
        (number(n().monotonic_cst(vec![2, 0, 0, 0])), "monotonic_cst"),
        (class(c().monotonic_cst(vec![1, 0, 0, 0])), "monotonic_cst"),
        (number(n().max_bins(1)), "max_bins"),
        (class(c().class_weight(ClassWeight::Of(vec![(5, 1.0)]))), "class_weight"),
        (class(c().class_weight(ClassWeight::Of(vec![(10, -1.0)]))), "class_weight"),
        (class(c().bootstrap(false).class_weight(ClassWeight::BalancedSubsample)), "class_weight"),
    ] {
        assert!(error.contains(&format!("`{name}`")), "{name}: {error}");
    }
    for name in ["absolute_error", "friedman_mse"] {
        let error = name.parse::<NumberCriterion>().unwrap_err().to_string();
        assert!(error.contains("is not offered; choose squared_error or poisson"), "{error}");
    }
    assert!("gin".parse::<ClassCriterion>().is_err() && "auto".parse::<MaxFeatures>().is_err());
    let poisson = RandomForestRegressor::new().criterion(NumberCriterion::Poisson);
    assert!(poisson.fit(&x, &[-1.0; 50], &device).unwrap_err().to_string().contains("`y`"));
    assert!(poisson.fit(&x, &[0.0; 50], &device).is_err());
    let mut bad = y.clone();
    bad[3] = f32::NAN;
    assert!(RandomForestRegressor::new().fit(&x, &bad, &device).unwrap_err().to_string().contains("row 3"));
    assert!(RandomForestRegressor::new().fit(&x, &y[1..], &device).is_err());
    assert!(RandomForestClassifier::new().fit(&x, &classes[1..], &device).is_err());
    let weigh = |w: &[f32]| n().fit_weighted_in(&x, &y, w, &mut Context::new(&device)).unwrap_err().to_string();
    assert!(weigh(&[1.0; 49]).contains("sample_weight") && weigh(&[-1.0; 50]).contains("sample_weight"));
    assert!(weigh(&[0.0; 50]).contains("0 for all"));
    let model = n().n_estimators(2).fit(&x, &y, &device).expect("fits");
    assert!(model.predict(&rows(3, 5, 9), &device).is_err() && model.score(&x, &y[1..], &device).is_err());
}
