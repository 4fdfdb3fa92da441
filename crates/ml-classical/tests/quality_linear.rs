//! Linear models against exact rational solutions and scikit-learn's answers on real data.

mod common;

use common::{flights, numbers, oracle, relative};
use ml_classical::{FitTarget, LinearRegression, Predict, Ridge};
use ml_core::Matrix;
use ml_kernels::Device;
use serde_json::{Value, json};

/// Data row i is a test row when i % 5 == 0.
fn split(x: &Matrix, y: &[f32]) -> [(Matrix, Vec<f32>); 2] {
    let part = |test: bool| {
        let ids: Vec<usize> = (0..x.rows()).filter(|i| (i % 5 == 0) == test).collect();
        let rows: Vec<&[f32]> = ids.iter().map(|i| x.row(*i)).collect();
        (Matrix::from_rows(&rows).expect("finite"), ids.iter().map(|i| y[*i]).collect())
    };
    [part(false), part(true)]
}

/// The features as they are, or standardised as the oracle says.
fn features(of: &Value, kind: &str) -> [(Matrix, Vec<f32>); 2] {
    let names = of["features"].clone();
    let count = names.as_array().expect("list").len();
    let how = match kind {
        "raw" => json!({"features": names, "mean": vec![0.0; count], "std": vec![1.0; count]}),
        _ => json!({"features": names, "mean": of[kind]["mean"], "std": of[kind]["std"]}),
    };
    let (x, y) = flights(&how);
    split(&x, &y)
}

struct Fitted {
    coef: Vec<f32>,
    intercept: f32,
    r2: f64,
    predicted: Vec<f32>,
}

fn compare(name: &str, of: &Value, kind: &str, got: &Fitted, bound: f64) {
    let want = &of[kind];
    let best = |exact: &str, other: &str| if want[exact].is_null() { want[other].clone() } else { want[exact].clone() };
    let coef = numbers(&best("exact_coef", "coef"));
    assert_eq!(got.coef.len(), coef.len());
    let worst = got.coef.iter().zip(&coef).map(|(g, w)| relative(f64::from(*g), *w)).fold(0.0, f64::max);
    let intercept = best("exact_intercept", "intercept").as_f64().expect("number");
    let off = relative(f64::from(got.intercept), intercept);
    println!("{name} {kind}: coefficients {worst:.1e}, intercept {off:.1e}, r2 {}", got.r2);
    assert!(worst < bound, "{name} {kind}: a coefficient is off by {worst:e}");
    assert!(off < 2e-6, "{name} {kind}: the intercept is off by {off:e}");
    assert!((got.r2 - want["r2_test"].as_f64().expect("number")).abs() < 1e-6, "{name} {kind}: r2 {}", got.r2);
    for (i, (g, w)) in got.predicted.iter().zip(numbers(&want["predictions_first_20"])).enumerate() {
        assert!((f64::from(*g) - w).abs() < 2e-4, "{name} {kind}, row {i}: {g}, expected {w}");
    }
}

#[test]
fn least_squares_on_flights() {
    let of = oracle("linear.json");
    let device = Device::host();
    for kind in ["raw", "standardised"] {
        let [(train, y), (test, truth)] = features(&of, kind);
        let model = LinearRegression::new().fit(&train, &y, &device).expect("fits");
        assert_eq!(model.rank(), 9);
        let got = Fitted {
            coef: model.coef().to_vec(),
            intercept: model.intercept(),
            r2: model.score(&test, &truth, &device).expect("scores"),
            predicted: model.predict(&test, &device).expect("predicts"),
        };
        compare("LinearRegression", &of, kind, &got, 5e-5);
        if kind == "standardised" {
            let singular = model.singular();
            let condition = f64::from(singular[0]) / f64::from(singular[8]);
            let want = of[kind]["condition_number"].as_f64().expect("number");
            assert!(relative(condition, want) < 1e-5, "condition {condition}, expected {want}");
        }
    }
}

#[test]
fn ridge_on_flights() {
    let of = oracle("ridge.json");
    let device = Device::host();
    for kind in ["raw", "standardised"] {
        let [(train, y), (test, truth)] = features(&of, kind);
        let model = Ridge::new().alpha(1.0).fit(&train, &y, &device).expect("fits");
        assert_eq!(model.solver(), "cholesky");
        let got = Fitted {
            coef: model.coef().to_vec(),
            intercept: model.intercept(),
            r2: model.score(&test, &truth, &device).expect("scores"),
            predicted: model.predict(&test, &device).expect("predicts"),
        };
        compare("Ridge", &of, kind, &got, 5e-5);
    }
}
