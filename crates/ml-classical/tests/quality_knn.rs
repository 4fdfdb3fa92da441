//! Nearest neighbours against exact arithmetic and scikit-learn's answers on real data.

mod common;

use common::{flights, images, numbers, oracle, wholes};
use ml_classical::{FitTarget, KNeighborsClassifier, KNeighborsRegressor, Predict, Weights};
use ml_core::Matrix;
use ml_kernels::Device;

/// Data row i is a test row when i % 5 == 0.
fn split(x: &Matrix, y: &[f32]) -> [(Matrix, Vec<f32>); 2] {
    let part = |test: bool| {
        let ids: Vec<usize> = (0..x.rows()).filter(|i| (i % 5 == 0) == test).collect();
        let rows: Vec<&[f32]> = ids.iter().map(|i| x.row(*i)).collect();
        (Matrix::from_rows(&rows).expect("finite"), ids.iter().map(|i| y[*i]).collect())
    };
    [part(false), part(true)]
}

#[test]
fn neighbours_of_images_are_exact() {
    let oracle = oracle("knn.json");
    let want = &oracle["fashion_mnist_classifier"]["exact"];
    let (x, labels) = images("train");
    let device = Device::host();
    let knn = KNeighborsClassifier::new().fit(&x, &labels, &device).expect("fits");
    let asked = images("test").0.slice_rows(0..20).expect("20 rows");
    let (distances, indices) = knn.kneighbors(&asked, &device).expect("finds");
    for i in 0..20 {
        assert_eq!(indices[5 * i..5 * (i + 1)], wholes(&want["neighbours_first_20"][i]), "row {i}");
        for (d, squared) in distances.row(i).iter().zip(numbers(&want["squared_distances_first_20"][i])) {
            assert!((f64::from(*d) / squared.sqrt() - 1.0).abs() < 1e-6, "row {i}: {d} against sqrt({squared})");
        }
    }
}

#[test]
fn images_are_classified_as_exact_arithmetic_does() {
    let oracle = oracle("knn.json");
    let (x, labels) = images("train");
    let (asked, truth) = images("test");
    let device = Device::host();
    for (weights, name) in [(Weights::Uniform, "uniform"), (Weights::Distance, "distance")] {
        let want = &oracle["fashion_mnist_classifier"][name];
        let knn = KNeighborsClassifier::new().weights(weights).fit(&x, &labels, &device).expect("fits");
        let predicted = knn.predict(&asked, &device).expect("predicts");
        let unlike: Vec<usize> = predicted
            .iter()
            .zip(wholes(&want["predictions"]))
            .enumerate()
            .filter(|(_, (p, w))| **p != *w)
            .map(|t| t.0)
            .collect();
        assert!(unlike.is_empty(), "{name}: rows {unlike:?} differ");
        let accuracy = knn.score(&asked, &truth, &device).expect("scores");
        assert!((accuracy - want["accuracy"].as_f64().expect("number")).abs() <= 0.002, "{name}: {accuracy}");
        let probabilities = knn.predict_proba(&asked, &device).expect("predicts");
        for (i, label) in predicted.iter().enumerate() {
            let row = probabilities.row(i);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{name}: row {i} sums to another number");
            let largest = row.iter().copied().fold(0.0f32, f32::max);
            let at = knn.classes().iter().position(|c| c == label).expect("a class");
            assert_eq!(row[at], largest, "{name}: row {i}");
        }
    }
}

#[test]
fn flights_are_predicted_as_scikit_learn_does() {
    let oracle = oracle("knn.json");
    let of = &oracle["flights_regressor"];
    let (x, y) = flights(of);
    let [(train, targets), (test, truth)] = split(&x, &y);
    let device = Device::host();
    for (weights, name) in [(Weights::Uniform, "uniform"), (Weights::Distance, "distance")] {
        let want = &of[name];
        let knn = KNeighborsRegressor::new().weights(weights).fit(&train, &targets, &device).expect("fits");
        let r2 = knn.score(&test, &truth, &device).expect("scores");
        assert!((r2 - want["r2"].as_f64().expect("number")).abs() < 1e-6, "{name}: r2 {r2}");
        let predicted = knn.predict(&test, &device).expect("predicts");
        for (i, w) in numbers(&want["predictions_first_20"]).iter().enumerate() {
            assert!((f64::from(predicted[i]) - w).abs() < 1e-4, "{name}: row {i}: {} against {w}", predicted[i]);
        }
    }
}
