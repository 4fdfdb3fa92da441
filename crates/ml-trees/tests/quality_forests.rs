//! Trees and forests against scikit-learn's on real data: held-out metrics, mean over seeds.

mod common;

use common::{flight_matrices, images, mean, numbers, oracle};
use ml_core::Matrix;
use ml_kernels::Device;
use ml_kernels::traits::{Fit, FitTarget, Predict};
use ml_trees::forest::{ClassCriterion, ClassWeight, NumberCriterion};
use ml_trees::{
    DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreesClassifier, ExtraTreesRegressor, IsolationForest, Node,
    RandomForestClassifier, RandomForestRegressor, Tree,
};

const LATE: f32 = 15.0;

fn late(y: &[f32]) -> Vec<u32> {
    y.iter().map(|v| u32::from(*v > LATE)).collect()
}

fn square(x: f64) -> f64 {
    x * x
}

/// Mean squared distance of the probabilities to the true class; classes are 0, 1, ….
fn brier(probabilities: &Matrix, labels: &[u32]) -> f64 {
    let of = |(i, label): (usize, &u32)| {
        let row = probabilities.row(i).iter().enumerate();
        row.map(|(c, p)| square(f64::from(*p) - f64::from(u8::from(c == *label as usize)))).sum::<f64>()
    };
    labels.iter().enumerate().map(of).sum::<f64>() / labels.len() as f64
}

fn leaves(tree: &Tree) -> u64 {
    tree.nodes().iter().filter(|n| matches!(n, Node::Leaf { .. })).count() as u64
}

/// Within `part` of `want`, saying both.
fn near(what: &str, got: f64, want: f64, part: f64) {
    println!("{what}: {got:.6} against {want:.6}, {:+.3}%", 100.0 * (got / want - 1.0));
    assert!((got - want).abs() <= part * want.abs(), "{what}: {got} against {want}");
}

#[test]
fn single_trees_are_scikit_learns() {
    let oracle = oracle("trees.json");
    let [(x, y), (test, truth)] = flight_matrices(&oracle);
    let device = Device::host();
    let counts: Vec<f32> = y.iter().map(|v| v.max(0.0)).collect();
    for case in oracle["single_trees"].as_array().expect("a list") {
        let p = &case["params"];
        let what = format!("{} {p}", case["criterion"].as_str().expect("a name"));
        let whole = |name: &str| p[name].as_u64().map(|v| v as usize);
        let number = |name: &str| p[name].as_f64().unwrap_or(0.0);
        // As many bins as distinct values: the very cuts of scikit-learn.
        macro_rules! set {
            ($tree:expr) => {{
                let mut tree = $tree
                    .max_bins(65_535)
                    .max_depth(whole("max_depth"))
                    .max_leaf_nodes(whole("max_leaf_nodes"))
                    .min_samples_leaf(whole("min_samples_leaf").unwrap_or(1))
                    .min_weight_fraction_leaf(number("min_weight_fraction_leaf"))
                    .min_impurity_decrease(number("min_impurity_decrease"))
                    .ccp_alpha(number("ccp_alpha"));
                if let Some(signs) = p["monotonic_cst"].as_array() {
                    tree =
                        tree.monotonic_cst(signs.iter().map(|s| s.as_i64().expect("a sign") as i8).collect::<Vec<_>>());
                }
                tree
            }};
        }
        let (tree, metric, importances) = match case["criterion"].as_str().expect("a name") {
            name @ ("gini" | "entropy") => {
                let mut tree =
                    set!(DecisionTreeClassifier::new()).criterion(name.parse::<ClassCriterion>().expect("offered"));
                if p["class_weight"] == "balanced" {
                    tree = tree.class_weight(ClassWeight::Balanced);
                }
                let model = tree.fit(&x, &late(&y), &device).expect("fits");
                let metric = model.score(&test, &late(&truth), &device).expect("scores");
                (model.ensemble().trees()[0].clone(), metric, model.feature_importances())
            }
            name => {
                let tree =
                    set!(DecisionTreeRegressor::new()).criterion(name.parse::<NumberCriterion>().expect("offered"));
                let poisson = name == "poisson";
                let model = tree.fit(&x, if poisson { &counts } else { &y }, &device).expect("fits");
                let metric = if poisson {
                    let predicted = model.predict(&test, &device).expect("predicts");
                    let part = |(p, y): (&f32, &f32)| {
                        let (p, y) = (f64::from(*p).max(1e-9), f64::from(y.max(0.0)));
                        let log = if y > 0.0 { y * f64::from(ml_kernels::num::ln_cr((y / p) as f32)) } else { 0.0 };
                        2.0 * (log - y + p)
                    };
                    mean(&predicted.iter().zip(&truth).map(part).collect::<Vec<_>>())
                } else {
                    model.score(&test, &truth, &device).expect("scores")
                };
                (model.ensemble().trees()[0].clone(), metric, model.feature_importances())
            }
        };
        // Equal gains are decided by a random order there and here: the outcome has to be one of scikit-learn's own.
        let outcomes = case["outcomes"].as_array().expect("a list");
        let metrics: Vec<f64> = outcomes.iter().map(|o| o["metric"].as_f64().expect("a number")).collect();
        println!("{what}: {metric:.6}, {} leaves, of {metrics:?}", leaves(&tree));
        let bound = if case["criterion"] == "poisson" { 1e-4 } else { 1e-6 };
        let same = |o: &&serde_json::Value| {
            (o["metric"].as_f64().expect("a number") - metric).abs() <= bound && o["leaves"] == leaves(&tree)
        };
        let alike = outcomes
            .iter()
            .filter(same)
            .any(|o| importances.iter().zip(numbers(&o["importances"])).all(|(got, want)| (got - want).abs() <= 0.005));
        assert!(alike, "{what}: {metric}, {} leaves, {importances:?}", leaves(&tree));
    }
}

/// The mean over the oracle's seeds of what `of` gives for each.
fn over_seeds(seeds: &serde_json::Value, mut of: impl FnMut(u64) -> f64) -> f64 {
    mean(&(0..seeds.as_u64().expect("a number")).map(&mut of).collect::<Vec<_>>())
}

#[test]
fn forests_of_flights_predict_as_well() {
    let oracle = oracle("trees.json");
    let [(x, y), (test, truth)] = flight_matrices(&oracle);
    let (classes, answers) = (late(&y), late(&truth));
    let device = Device::host();
    let want = |forest: &str, name: &str| mean(&numbers(&oracle["forests"][forest][name]));
    let seeds = &oracle["seeds"];
    let mut oob = Vec::new();
    let r2 = over_seeds(seeds, |seed| {
        let model = RandomForestRegressor::new().seed(seed).oob_score(true).fit(&x, &y, &device).expect("fits");
        oob.push(model.out_of_bag().expect("asked for").score);
        model.score(&test, &truth, &device).expect("scores")
    });
    near("random forest r2", r2, want("random_forest", "flights_r2"), 0.002);
    near("random forest oob r2", mean(&oob), want("random_forest", "flights_oob_r2"), 0.002);
    let r2 = over_seeds(seeds, |seed| {
        let model = ExtraTreesRegressor::new().seed(seed).fit(&x, &y, &device).expect("fits");
        model.score(&test, &truth, &device).expect("scores")
    });
    near("extra trees r2", r2, want("extra_trees", "flights_r2"), 0.002);

    let mut accuracy = Vec::new();
    let score = over_seeds(seeds, |seed| {
        let model = RandomForestClassifier::new().seed(seed).fit(&x, &classes, &device).expect("fits");
        accuracy.push(model.score(&test, &answers, &device).expect("scores"));
        brier(&model.predict_proba(&test, &device).expect("predicts"), &answers)
    });
    near("random forest accuracy", mean(&accuracy), want("random_forest", "late_accuracy"), 0.002);
    near("random forest brier", score, want("random_forest", "late_brier"), 0.02);
    accuracy.clear();
    let score = over_seeds(seeds, |seed| {
        let model = ExtraTreesClassifier::new().seed(seed).fit(&x, &classes, &device).expect("fits");
        accuracy.push(model.score(&test, &answers, &device).expect("scores"));
        brier(&model.predict_proba(&test, &device).expect("predicts"), &answers)
    });
    near("extra trees accuracy", mean(&accuracy), want("extra_trees", "late_accuracy"), 0.002);
    near("extra trees brier", score, want("extra_trees", "late_brier"), 0.02);
}

#[test]
fn forests_of_images_predict_as_well() {
    let oracle = oracle("trees.json");
    let (x, labels) = images("train");
    let (test, truth) = images("test");
    let device = Device::host();
    let want = |forest: &str, name: &str| mean(&numbers(&oracle["forests"][forest][name]));
    let seeds = &oracle["seeds"];
    for extra in [false, true] {
        let mut accuracy = Vec::new();
        let score = over_seeds(seeds, |seed| {
            let probabilities = if extra {
                let model = ExtraTreesClassifier::new().seed(seed).fit(&x, &labels, &device).expect("fits");
                accuracy.push(model.score(&test, &truth, &device).expect("scores"));
                model.predict_proba(&test, &device)
            } else {
                let model = RandomForestClassifier::new().seed(seed).fit(&x, &labels, &device).expect("fits");
                accuracy.push(model.score(&test, &truth, &device).expect("scores"));
                model.predict_proba(&test, &device)
            };
            brier(&probabilities.expect("predicts"), &truth)
        });
        let forest = if extra { "extra_trees" } else { "random_forest" };
        // 500 images: one is 0.2% of them, and the means of ten seeds differ by chance. 0.2%, and three standard errors.
        let chance = |name: &str| {
            let all = numbers(&oracle["forests"][forest][name]);
            let squares = all.iter().map(|v| square(v - mean(&all))).sum::<f64>() / (all.len() - 1) as f64;
            0.002 + 3.0 * (2.0 * squares / all.len() as f64).sqrt() / mean(&all)
        };
        let [b, a] = ["images_brier", "images_accuracy"];
        near(&format!("{forest} images brier"), score, want(forest, b), chance(b));
        near(&format!("{forest} images accuracy"), mean(&accuracy), want(forest, a), chance(a));
    }
}

#[test]
fn odd_flights_are_as_odd() {
    let oracle = oracle("trees.json");
    let [(x, _), (test, _)] = flight_matrices(&oracle);
    let want = &oracle["forests"]["isolation_forest"];
    let device = Device::host();
    let seeds = oracle["seeds"].as_u64().expect("a number");
    let mut rows = vec![0.0; 200];
    let all: Vec<f64> = (0..seeds)
        .map(|seed| {
            let model = IsolationForest::new().seed(seed).fit(&x, &device).expect("fits");
            let scores: Vec<f64> =
                model.score_samples(&test, &device).expect("scores").into_iter().map(f64::from).collect();
            rows.iter_mut().zip(&scores).for_each(|(r, s)| *r += s / seeds as f64);
            mean(&scores)
        })
        .collect();
    near("isolation forest mean score", mean(&all), mean(&numbers(&want["mean_score"])), 0.01);
    let deviations = numbers(&want["deviation_of_row_first_200"]);
    for (i, (got, want)) in rows.iter().zip(numbers(&want["mean_score_of_row_first_200"])).enumerate() {
        // Two means of ten seeds each, six standard errors apart at most.
        let bound = 6.0 * deviations[i] * (2.0 / seeds as f64).sqrt();
        assert!((got - want).abs() <= bound, "row {i}: {got} against {want}, bound {bound}");
    }
}
