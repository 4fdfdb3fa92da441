//! Neighbours: the same bytes on every device, for every row alone, after a second fit and after saving. No tolerance.

mod common;

use common::{Stages, devices, images, ranged, tied};
use ml_classical::{
    FitTarget, KNeighborsClassifier, KNeighborsClassifierModel, KNeighborsRegressor, KNeighborsRegressorModel, Persist,
    Predict, Weights,
};
use ml_core::Matrix;
use ml_kernels::{Context, Device};

/// (name, rows of the fit, rows asked about, neighbours)
fn subjects() -> Vec<(&'static str, Matrix, Matrix, usize)> {
    let pixels = images("train").0;
    let part = |a, b| pixels.slice_rows(a..b).expect("enough rows");
    vec![
        ("images", part(0, 130), part(125, 160), 5),
        ("ties and distance 0", tied(300, 2), tied(40, 2), 9),
        ("huge and tiny values", ranged(150, 5), ranged(31, 5), 4),
        ("every row a neighbour", tied(33, 3), tied(5, 3), 33),
        ("one row", tied(1, 3), tied(4, 3), 1),
    ]
}

fn classes(x: &Matrix) -> Vec<u32> {
    (0..x.rows()).map(|i| [4_000_000_000, 7, 0][i * 7 / 3 % 3]).collect()
}

fn targets(x: &Matrix) -> Vec<f32> {
    (0..x.rows()).map(|i| (i * 37 % 101) as f32 / 3.0 - 11.0).collect()
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn every_stage_is_the_same_on_every_device() {
    for (name, x, asked, k) in subjects() {
        for weights in [Weights::Uniform, Weights::Distance] {
            let run = |device: &Device| {
                let mut stages = Stages::default();
                let mut cx = Context::new(device).with_recorder(&mut stages);
                let classifier = KNeighborsClassifier::new().n_neighbors(k).weights(weights);
                let classifier = classifier.fit_in(&x, &classes(&x), &mut cx).expect("fits");
                let labels = classifier.predict_in(&asked, &mut cx).expect("predicts");
                classifier.predict_proba_in(&asked, &mut cx).expect("predicts");
                let regressor = KNeighborsRegressor::new().n_neighbors(k).weights(weights);
                let regressor = regressor.fit_in(&x, &targets(&x), &mut cx).expect("fits");
                regressor.predict_in(&asked, &mut cx).expect("predicts");
                (labels, stages)
            };
            let (labels, stages) = run(&Device::host());
            assert!(stages.has("knn.labels") && stages.has("knn.probabilities") && stages.has("knn.means"));
            for device in devices() {
                let (other, others) = run(&device);
                assert_eq!(stages.first_difference(&others), None, "{name} {weights:?} on {device:?}");
                assert_eq!(other, labels, "{name} {weights:?} on {device:?}");
            }
        }
    }
}

#[test]
fn one_row_is_predicted_as_in_a_batch() {
    for (name, x, asked, k) in subjects() {
        for device in devices() {
            let classifier = KNeighborsClassifier::new().n_neighbors(k).weights(Weights::Distance);
            let classifier = classifier.fit(&x, &classes(&x), &device).expect("fits");
            let regressor = KNeighborsRegressor::new().n_neighbors(k).weights(Weights::Distance);
            let regressor = regressor.fit(&x, &targets(&x), &device).expect("fits");
            let labels = classifier.predict(&asked, &device).expect("predicts");
            let probabilities = classifier.predict_proba(&asked, &device).expect("predicts");
            let means = regressor.predict(&asked, &device).expect("predicts");
            for i in [0, asked.rows() / 2, asked.rows() - 1] {
                let one = asked.slice_rows(i..i + 1).expect("a row");
                assert_eq!(classifier.predict(&one, &device).expect("predicts"), labels[i..=i], "{name}, row {i}");
                let p = classifier.predict_proba(&one, &device).expect("predicts");
                assert_eq!(bits(p.as_slice()), bits(probabilities.row(i)), "{name}, row {i}");
                assert_eq!(
                    bits(&regressor.predict(&one, &device).expect("predicts")),
                    bits(&means[i..=i]),
                    "{name}, row {i}"
                );
            }
        }
    }
}

#[test]
// pathway test: P60
fn ties_go_to_the_earlier_row_and_the_lower_class() {
    let device = Device::host();
    let x = Matrix::from_rows(&[[1.0f32], [-1.0], [1.0], [3.0], [-3.0]]).expect("finite");
    let knn = KNeighborsClassifier::new().n_neighbors(4);
    let knn = knn.fit(&x, &[9, 5, 5, 9, 1], &device).expect("fits");
    let asked = Matrix::from_rows(&[[0.0f32]]).expect("finite");
    let (distances, indices) = knn.kneighbors(&asked, &device).expect("finds");
    assert_eq!(indices, [0, 1, 2, 3]);
    assert_eq!(distances.as_slice(), [1.0, 1.0, 1.0, 3.0]);
    // Two votes each: class 5 is the lower.
    assert_eq!(knn.predict(&asked, &device).expect("predicts"), [5]);
    assert_eq!(knn.classes(), [1, 5, 9]);
    assert_eq!(knn.predict_proba(&asked, &device).expect("predicts").as_slice(), [0.0, 0.5, 0.5]);
}

#[test]
fn a_row_of_the_fit_gets_its_own_target_by_distance() {
    let device = Device::host();
    let x = tied(300, 6);
    let y = targets(&x);
    let knn = KNeighborsRegressor::new().weights(Weights::Distance).n_neighbors(3).fit(&x, &y, &device).expect("fits");
    let predicted = knn.predict(&x, &device).expect("predicts");
    let (distances, indices) = knn.kneighbors(&x, &device).expect("finds");
    let mut alone = 0;
    for i in 0..x.rows() {
        assert_eq!(distances.row(i)[0], 0.0, "row {i} is its own neighbour");
        if distances.row(i)[1] > 0.0 {
            assert_eq!((predicted[i], indices[3 * i]), (y[i], i as u32));
            alone += 1;
        }
    }
    assert!(alone > 100, "{alone} rows are unlike all others");
}

#[test]
fn a_saved_model_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("knn.safetensors");
    let device = Device::host();
    for (name, x, asked, k) in subjects() {
        let classifier = KNeighborsClassifier::new().n_neighbors(k).weights(Weights::Distance);
        let classifier = classifier.fit(&x, &classes(&x), &device).expect("fits");
        classifier.save(&path).expect("saves");
        let loaded = KNeighborsClassifierModel::load(&path).expect("loads");
        assert_eq!(loaded.to_bytes().expect("writes"), classifier.to_bytes().expect("writes"), "{name}");
        assert_eq!(loaded.predict(&asked, &device).ok(), classifier.predict(&asked, &device).ok(), "{name}");
        assert_eq!(loaded.classes(), classifier.classes());

        let regressor = KNeighborsRegressor::new().n_neighbors(k).fit(&x, &targets(&x), &device).expect("fits");
        regressor.save(&path).expect("saves");
        let loaded = KNeighborsRegressorModel::load(&path).expect("loads");
        assert_eq!(loaded.to_bytes().expect("writes"), regressor.to_bytes().expect("writes"), "{name}");
        let (a, b) = (loaded.predict(&asked, &device), regressor.predict(&asked, &device));
        assert_eq!(bits(&a.expect("predicts")), bits(&b.expect("predicts")), "{name}");
        assert!(KNeighborsClassifierModel::load(&path).is_err(), "a file of another estimator");
    }
}

#[test]
// pathway test: P91
fn a_model_moves_between_devices() {
    let (x, asked) = (tied(100, 3), tied(9, 3));
    for device in devices() {
        let knn = KNeighborsClassifier::new().fit(&x, &classes(&x), &device).expect("fits");
        let home = knn.to(&Device::host()).expect("moves");
        let host = home.predict(&asked, &Device::host()).expect("predicts");
        assert_eq!(knn.predict(&asked, &Device::host()).expect("predicts"), host);
        assert_eq!(home.predict(&asked, &device).expect("predicts"), host);
    }
}

#[test]
// pathway test: P75
fn more_rows_than_a_block_are_predicted_as_in_pieces() {
    let device = Device::host();
    let (x, asked) = (tied(20, 2), tied(20_000, 2));
    let knn = KNeighborsClassifier::new().n_neighbors(3).fit(&x, &classes(&x), &device).expect("fits");
    let labels = knn.predict(&asked, &device).expect("predicts");
    let (_, indices) = knn.kneighbors(&asked, &device).expect("finds");
    for range in [0..7_000, 7_000..16_385, 16_385..20_000] {
        let piece = asked.slice_rows(range.clone()).expect("rows");
        assert_eq!(knn.predict(&piece, &device).expect("predicts"), labels[range.clone()]);
        assert_eq!(knn.kneighbors(&piece, &device).expect("finds").1, indices[3 * range.start..3 * range.end]);
    }
}
