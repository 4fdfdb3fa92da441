//! Boosting against XGBoost, LightGBM and CatBoost on real data, at equal settings (`fixtures/oracle/make_boosting.py`).

mod common;

use common::{flights, oracle};
use ml_kernels::{Context, Device};
use ml_trees::{Dataset, GradientBoostingClassifier, GradientBoostingRegressor, GrowPolicy, Loss};
use serde_json::Value;

/// The target of a loss from the delay.
fn target(name: &str, delay: &[f32]) -> Vec<f32> {
    let minutes = |d: &f32| (d + 60.0).max(1.0);
    match name {
        "MAPE" | "Poisson" | "Tweedie" | "Gamma" => delay.iter().map(minutes).collect(),
        "CrossEntropy" => delay.iter().map(|d| (minutes(d) / 400.0).clamp(0.0, 1.0)).collect(),
        "Logloss" => delay.iter().map(|d| if *d > 15.0 { 1.0 } else { 0.0 }).collect(),
        "MultiClass" => delay.iter().map(|d| f32::from(u8::from(*d >= 0.0) + u8::from(*d >= 30.0))).collect(),
        _ => delay.to_vec(),
    }
}

fn loss(name: &str) -> Loss {
    match name {
        "RMSE" => Loss::Rmse,
        "MAE" => Loss::Mae,
        "Quantile" => Loss::Quantile { alpha: 0.8 },
        "Huber" => Loss::Huber { delta: 10.0 },
        "MAPE" => Loss::Mape,
        "Poisson" => Loss::Poisson,
        "Tweedie" => Loss::Tweedie { power: 1.5 },
        "Gamma" => Loss::Gamma,
        "CrossEntropy" => Loss::CrossEntropy,
        other => panic!("{other}"),
    }
}

/// The metric after the last tree on the rows of `eval`.
fn metric(result: &Value, train: (&Dataset, &[f32]), eval: (&Dataset, &[f32])) -> f64 {
    let text = |key: &str| result[key].as_str().expect("text").to_owned();
    let (name, library, policy) = (text("loss"), text("library"), text("policy"));
    let policy: GrowPolicy = policy.parse().expect("a policy");
    let leaves = if policy == GrowPolicy::Lossguide { 31 } else { 0 };
    let depth = if policy == GrowPolicy::Lossguide { 0 } else { 6 };
    // What a child must hold is what each library is asked for.
    let (samples, weight) = match library.as_str() {
        "lightgbm" => (20, 0.001),
        "xgboost" => (1, 1.0),
        _ => (1, 0.0),
    };
    let (y, truth) = (target(&name, train.1), target(&name, eval.1));
    let mut cx = Context::new(&Device::host());
    let history = if name == "Logloss" || name == "MultiClass" {
        let classes = |y: &[f32]| y.iter().map(|v| *v as u32).collect::<Vec<u32>>();
        let boosting = GradientBoostingClassifier::new()
            .grow_policy(policy)
            .max_depth(depth)
            .max_leaves(leaves)
            .max_bins(4096)
            .min_child_samples(samples)
            .min_child_weight(weight);
        let model = boosting.fit_eval_in(train.0, &classes(&y), (eval.0, &classes(&truth)), &mut cx).expect("fits");
        model.eval_history().to_vec()
    } else {
        let boosting = GradientBoostingRegressor::new()
            .loss(loss(&name))
            .grow_policy(policy)
            .max_depth(depth)
            .max_leaves(leaves)
            .max_bins(4096)
            .min_child_samples(samples)
            .min_child_weight(weight);
        let model = boosting.fit_eval_in(train.0, &y, (eval.0, &truth), &mut cx).expect("fits");
        model.eval_history().to_vec()
    };
    assert_eq!(history.len(), 100);
    history[99]
}

/// How far above theirs our metric may be, as a part of theirs: on the rows of the fit, and on others.
///
/// XGBoost's trees are ours but for the place of a bound between two values, which rows of the fit do not see. LightGBM and
/// XGBoost do not grow the same trees from the same settings: with 20 rows a leaf, XGBoost reaches the 11.3683 of ours on the
/// rows of the squared error's fit, LightGBM 11.3048. CatBoost chooses its own bounds.
fn bounds(library: &str) -> (f64, f64) {
    match library {
        "xgboost" => (0.0001, 0.001),
        "lightgbm" => (0.01, 0.01),
        _ => (0.005, 0.005),
    }
}

#[test]
fn metrics_are_those_of_other_libraries() {
    let of = oracle("boosting.json");
    let features: Vec<&str> = of["features"].as_array().expect("list").iter().filter_map(Value::as_str).collect();
    let flights = flights(&features);
    let (train, test) = ((&flights.train.0, &flights.train.1[..]), (&flights.test.0, &flights.test.1[..]));
    let mut wrong = Vec::new();
    for result in of["results"].as_array().expect("list") {
        let (library, loss) = (result["library"].as_str().expect("text"), result["loss"].as_str().expect("text"));
        let want = |key: &str| result[key].as_f64().expect("a number");
        let found = [metric(result, train, train), metric(result, train, test)];
        let part = |at: usize, key: &str| (found[at] - want(key)) / want(key).abs();
        let (own, rest) = (part(0, "train"), part(1, "test"));
        let line = format!(
            "{loss} {library} {}: train {:.6} ({:+.3}%), test {:.6} ({:+.3}%)",
            result["policy"],
            found[0],
            own * 100.0,
            found[1],
            rest * 100.0
        );
        println!("{line}");
        let (own_bound, rest_bound) = bounds(library);
        if own > own_bound || rest > rest_bound {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
