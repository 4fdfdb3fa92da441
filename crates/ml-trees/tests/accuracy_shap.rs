//! Explanations against the package shap, on forests that scikit-learn grew on real data.

mod common;

use common::{flight_matrices, numbers, oracle};
use ml_core::Matrix;
use ml_kernels::Device;
use ml_trees::explain::TreeExplainer;
use ml_trees::{Arithmetic, Ensemble, Node, Tree};
use serde_json::Value;

/// The trees of a model, their values divided by the number of trees.
fn ensemble(model: &Value, features: usize) -> Ensemble {
    let trees = model["trees"].as_array().expect("a list");
    let mut outputs = 0;
    let built: Vec<Tree> = trees
        .iter()
        .map(|t| {
            let [left, right, feature, threshold, cover] =
                ["left", "right", "feature", "threshold", "cover"].map(|name| numbers(&t[name]));
            let values: Vec<Vec<f64>> = t["values"].as_array().expect("a list").iter().map(numbers).collect();
            outputs = values[0].len();
            let nodes = (0..left.len()).map(|i| {
                let cover = cover[i] as f32;
                if left[i] < 0.0 {
                    return Node::Leaf { leaf: i as u32, cover };
                }
                let (feature, threshold) = (feature[i] as u32, threshold[i] as f32);
                let (left, right) = (left[i] as u32, right[i] as u32);
                Node::Number { feature, threshold, left, right, missing_left: false, gain: 0.0, cover }
            });
            let scaled = values.concat().iter().map(|v| v / trees.len() as f64).collect();
            Tree::new(nodes.collect(), scaled, outputs).expect("a tree")
        })
        .collect();
    let first = vec![0; built.len()];
    Ensemble::new(built, first, vec![0.0; outputs], features, Arithmetic::Double).expect("an ensemble")
}

#[test]
fn values_are_those_of_shap() {
    let oracle = oracle("shap.json");
    let [_, (test, _)] = flight_matrices(&oracle);
    let d = test.cols();
    let rows = test.slice_rows(0..8).expect("8 rows");
    let background = test.slice_rows(8..28).expect("20 rows");
    for model in oracle["models"].as_array().expect("a list") {
        let e = ensemble(model, d);
        let outputs = e.base().len();
        for (way, explainer) in [
            ("path", TreeExplainer::new(&e).expect("covers")),
            ("background", TreeExplainer::with_background(&e, &background).expect("rows")),
        ] {
            let want = &model[way];
            let size = numbers(&want["expected"]).iter().fold(1.0f64, |m, v| m.max(v.abs()));
            for (got, want) in explainer.expected_value().iter().zip(numbers(&want["expected"])) {
                assert!((got - want).abs() <= 1e-6 * size, "{}, {way}: expected {got} against {want}", model["name"]);
            }
            let shap = explainer.shap_values(&rows, &Device::host()).expect("values");
            for (i, line) in want["values"].as_array().expect("a list").iter().enumerate() {
                let got = shap.of(i / outputs, i % outputs);
                for (j, want) in numbers(line).into_iter().enumerate() {
                    let off = (got[j] - want).abs();
                    // shap keeps leaf values and thresholds in single or double precision, as its own version likes.
                    assert!(
                        off <= 2e-6 * size,
                        "{}, {way}, line {i}, column {j}: {} against {want}",
                        model["name"],
                        got[j]
                    );
                }
            }
        }
    }
}

#[test]
fn a_wrong_cover_shows() {
    let oracle = oracle("shap.json");
    let [_, (test, _)] = flight_matrices(&oracle);
    let rows: Matrix = test.slice_rows(0..8).expect("8 rows");
    let mut model = oracle["models"][0].clone();
    let shap = |m: &Value| {
        let explainer = TreeExplainer::new(&ensemble(m, rows.cols())).expect("covers");
        explainer.shap_values(&rows, &Device::host()).expect("values")
    };
    let right = shap(&model);
    let cover = &mut model["trees"][0]["cover"][1];
    *cover = (cover.as_f64().expect("a number") * 1.5).into();
    assert_ne!(shap(&model), right);
}
