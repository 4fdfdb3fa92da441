//! k-means: the same bytes on every device, for every row alone, after a second fit and after saving. No tolerance.

mod common;

use common::{Stages, devices, images, ranged, tied};
use ml_classical::kmeans::Init;
use ml_classical::{Fit, KMeans, KMeansModel, Persist, Predict, Transform};
use ml_core::Matrix;
use ml_kernels::{Context, Device};

fn recorded(estimator: &KMeans, x: &Matrix, device: &Device) -> (KMeansModel, Stages) {
    let mut stages = Stages::default();
    let model = estimator.fit_in(x, &mut Context::new(device).with_recorder(&mut stages)).expect("fits");
    (model, stages)
}

/// Data and estimators that reach every branch: each start, ties, empty clusters, one row, one column, several chunks.
fn subjects() -> Vec<(&'static str, Matrix, KMeans)> {
    let pixels = images("train").0.slice_rows(0..150).expect("150 rows");
    let first = |x: &Matrix, k: usize| x.slice_rows(0..k).expect("enough rows");
    let far = Matrix::from_rows(&[[0.0f32; 3], [1e6; 3], [2e6; 3], [3e6; 3]]).expect("finite");
    vec![
        ("k-means++ on images", pixels.clone(), KMeans::new(10).seed(1).max_iter(6)),
        ("k-means++ of 1,200 tied rows", tied(1_200, 3), KMeans::new(9).seed(2).n_init(2).max_iter(8)),
        ("k-means|| of 2,100 tied rows", tied(2_100, 2), KMeans::new(6).seed(3).init(Init::KMeansParallel).max_iter(5)),
        ("random starts", tied(300, 5), KMeans::new(7).seed(4).init(Init::Random).n_init(3)),
        ("stopped while rows still move", pixels.clone(), KMeans::new(10).seed(1).tol(50.0)),
        ("given centres", pixels.clone(), KMeans::new(4).init(first(&pixels, 4)).tol(0.0).max_iter(4)),
        ("empty clusters", tied(400, 3), KMeans::new(4).init(far)),
        ("fewer distinct rows than clusters", tied(40, 1), KMeans::new(12).seed(5)),
        ("the same in parallel", tied(40, 1), KMeans::new(12).seed(5).init(Init::KMeansParallel)),
        ("huge and tiny values", ranged(257, 6), KMeans::new(5).seed(6)),
        ("one row", tied(1, 4), KMeans::new(1)),
        ("as many clusters as rows", tied(30, 4), KMeans::new(30).seed(7)),
    ]
}

#[test]
fn every_stage_is_the_same_on_every_device() {
    let devices = devices();
    for (name, x, estimator) in subjects() {
        let (model, stages) = recorded(&estimator, &x, &Device::host());
        assert!(stages.has("kmeans.inertia") && stages.has("kmeans.best_run"), "{name}");
        for device in &devices {
            let (other, others) = recorded(&estimator, &x, device);
            assert_eq!(stages.first_difference(&others), None, "{name} on {device:?}");
            assert_eq!(other, model, "{name} on {device:?}");
        }
    }
}

#[test]
// pathway test: P72
fn a_second_fit_and_a_fit_without_recorder_give_the_same_file() {
    for (name, x, estimator) in subjects() {
        let (model, _) = recorded(&estimator, &x, &Device::host());
        let again = estimator.fit(&x, &Device::host()).expect("fits");
        assert_eq!(again.to_bytes().expect("writes"), model.to_bytes().expect("writes"), "{name}");
    }
}

#[test]
fn seeds_and_starts_matter() {
    let x = tied(300, 5);
    let first_stage = |estimator: KMeans| {
        let (_, stages) = recorded(&estimator.max_iter(1), &x, &Device::host());
        stages.0.iter().find(|s| s.0.ends_with("init.rows")).map(|s| s.3.clone()).expect("rows are recorded")
    };
    for init in [Init::KMeansPlusPlus, Init::KMeansParallel, Init::Random] {
        let rows = |seed| first_stage(KMeans::new(7).n_init(1).init(init.clone()).seed(seed));
        assert_ne!(rows(1), rows(2), "{}", init.name());
        assert_eq!(rows(1), rows(1), "{}", init.name());
        let (_, stages) = recorded(&KMeans::new(7).n_init(2).init(init.clone()).max_iter(1), &x, &Device::host());
        let start = |tag: &str| stages.0.iter().find(|s| s.0 == tag).map(|s| s.3.clone()).expect("rows are recorded");
        assert_ne!(start("kmeans.run0.init.rows"), start("kmeans.run1.init.rows"), "{}", init.name());
    }
}

#[test]
fn labels_belong_to_the_centres() {
    for (name, x, estimator) in subjects() {
        let device = Device::host();
        let model = estimator.fit(&x, &device).expect("fits");
        assert_eq!(model.predict(&x, &device).expect("predicts"), model.labels(), "{name}");
        assert!(model.cluster_centers().as_slice().iter().all(|v| v.is_finite()), "{name}");
    }
}

#[test]
fn one_row_is_predicted_as_in_a_batch() {
    let x = images("train").0.slice_rows(0..200).expect("200 rows");
    let model = KMeans::new(10).fit(&x, &Device::host()).expect("fits");
    for device in devices() {
        let labels = model.predict(&x, &device).expect("predicts");
        let distances = model.transform(&x, &device).expect("transforms");
        for i in [0, 1, 57, 128, 199] {
            let one = x.slice_rows(i..i + 1).expect("a row");
            assert_eq!(model.predict(&one, &device).expect("predicts"), labels[i..=i], "row {i} on {device:?}");
            assert_eq!(model.transform(&one, &device).expect("transforms").as_slice(), distances.row(i), "row {i}");
        }
    }
}

#[test]
fn a_saved_model_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kmeans.safetensors");
    for (name, x, estimator) in subjects() {
        let model = estimator.fit(&x, &Device::host()).expect("fits");
        model.save(&path).expect("saves");
        let loaded = KMeansModel::load(&path).expect("loads");
        assert_eq!(loaded, model, "{name}");
        assert_eq!(loaded.to_bytes().expect("writes"), model.to_bytes().expect("writes"), "{name}");
    }
}

#[test]
// pathway test: P73
fn the_best_start_wins() {
    let x = tied(300, 5);
    let estimator = KMeans::new(7).init(Init::Random).seed(4);
    let device = Device::host();
    let ten = estimator.clone().n_init(10).fit(&x, &device).expect("fits");
    let mut stages = Stages::default();
    estimator.n_init(10).fit_in(&x, &mut Context::new(&device).with_recorder(&mut stages)).expect("fits");
    let last = |run: u32| {
        let tag = format!("kmeans.run{run}.iter");
        let mut of_run = stages.0.iter().filter(|s| s.0.starts_with(&tag) && s.0.ends_with(".inertia"));
        of_run.next_back().map(|s| f32::from_le_bytes(s.3[..4].try_into().expect("4 bytes"))).expect("an iteration")
    };
    // The recorded inertia is that before an update, so it bounds the final one from above.
    assert!((0..10).all(|run| run == ten.best_run() || ten.inertia() <= last(run)));
    assert!(ten.inertia() <= last(ten.best_run()));
}
