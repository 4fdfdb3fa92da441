//! What k-means and nearest neighbours refuse, each by name.

use ml_classical::kmeans::{Algorithm, Init};
use ml_classical::neighbors::{Metric, SearchAlgorithm};
use ml_classical::{
    Fit, FitTarget, KMeans, KMeansModel, KNeighborsClassifier, KNeighborsRegressor, Persist, Predict, Transform,
};
use ml_core::model::ModelWriter;
use ml_core::{CancelToken, DataError, Error, Matrix, ModelError, ParamError};
use ml_kernels::{Context, Device};
use serde_json::json;

fn column(values: &[f32]) -> Matrix {
    Matrix::from_vec(values.len(), 1, values.to_vec()).expect("finite")
}

#[track_caller]
fn out_of_bound(error: Error, parameter: &str) {
    match error {
        Error::Param(ParamError::OutOfBound { name, .. }) => assert_eq!(name, parameter),
        other => panic!("{other}"),
    }
}

#[track_caller]
fn bad_shape(error: Error, argument: &str) {
    match error {
        Error::Data(DataError::Shape { what, .. }) => assert_eq!(what, argument),
        other => panic!("{other}"),
    }
}

#[test]
fn kmeans_parameters() {
    let x = column(&[0.0, 1.0, 5.0]);
    let refused = |k: KMeans, parameter| out_of_bound(k.fit(&x, &Device::host()).unwrap_err(), parameter);
    refused(KMeans::new(0), "n_clusters");
    refused(KMeans::new(4), "n_clusters");
    refused(KMeans::new(usize::MAX), "n_clusters");
    refused(KMeans::new(2).n_init(0), "n_init");
    refused(KMeans::new(2).n_init(65_536), "n_init");
    refused(KMeans::new(2).max_iter(0), "max_iter");
    refused(KMeans::new(2).tol(-1.0), "tol");
    refused(KMeans::new(2).tol(f32::NAN), "tol");
    refused(KMeans::new(2).tol(f32::INFINITY), "tol");
    refused(KMeans::new(2).init(column(&[0.0, 1.0])).n_init(3), "n_init");
    for factor in [0.0, -1.0, f32::NAN, 1_001.0] {
        refused(KMeans::new(2).init(Init::KMeansParallel).oversampling_factor(factor), "oversampling_factor");
    }
    refused(KMeans::new(2).oversampling_factor(3.0), "oversampling_factor");
    assert!(KMeans::new(2).init(Init::KMeansParallel).oversampling_factor(3.0).fit(&x, &Device::host()).is_ok());
    assert!(
        KMeans::new(2).algorithm(Algorithm::Lloyd).n_init(1).init(column(&[0.0, 1.0])).fit(&x, &Device::host()).is_ok()
    );
}

#[test]
fn kmeans_data() {
    let device = Device::host();
    let x = column(&[0.0, 1.0, 5.0]);
    for empty in [Matrix::zeros(0, 3), Matrix::zeros(3, 0), Matrix::zeros(0, 0)] {
        assert!(matches!(KMeans::new(1).fit(&empty, &device), Err(Error::Data(DataError::Empty { what: "x", .. }))));
    }
    bad_shape(KMeans::new(2).init(Matrix::zeros(2, 2)).fit(&x, &device).unwrap_err(), "init");
    bad_shape(KMeans::new(2).init(Matrix::zeros(3, 1)).fit(&x, &device).unwrap_err(), "init");
    let model = KMeans::new(2).fit(&x, &device).expect("fits");
    bad_shape(model.predict(&Matrix::zeros(2, 2), &device).unwrap_err(), "x");
    bad_shape(model.transform(&Matrix::zeros(2, 3), &device).unwrap_err(), "x");
    assert!(matches!(model.predict(&Matrix::zeros(0, 1), &device), Err(Error::Data(DataError::Empty { .. }))));
}

#[test]
// pathway test: P5
fn values_that_overflow_name_their_stage() {
    let device = Device::host();
    let x = column(&[-3e38, 3e38, 0.0, 1.0]);
    let stage = |r: ml_core::Result<KMeansModel>| match r {
        Err(Error::NonFinite { stage, .. }) => stage,
        other => panic!("{other:?}"),
    };
    assert_eq!(stage(KMeans::new(2).fit(&x, &device)), "kmeans.tol");
    assert_eq!(stage(KMeans::new(2).tol(0.0).fit(&x, &device)), "kmeans.init.potential");
    assert_eq!(stage(KMeans::new(2).tol(0.0).init(column(&[0.0, 1.0])).max_iter(1).fit(&x, &device)), "kmeans.inertia");
    let knn = KNeighborsClassifier::new().n_neighbors(4).fit(&x, &[0, 1, 2, 3], &device).expect("fits");
    let error = knn.predict(&column(&[1.0]), &device).unwrap_err();
    assert!(matches!(error, Error::NonFinite { stage, index: 2 } if stage == "knn.distances"));
}

#[test]
fn neighbours_parameters_and_data() {
    let device = Device::host();
    let x = column(&[0.0, 1.0, 5.0]);
    let labels = [1, 2, 3];
    let fit = |k: KNeighborsClassifier| k.n_neighbors(2).fit(&x, &labels, &device);
    out_of_bound(KNeighborsClassifier::new().n_neighbors(0).fit(&x, &labels, &device).unwrap_err(), "n_neighbors");
    out_of_bound(KNeighborsClassifier::new().n_neighbors(4).fit(&x, &labels, &device).unwrap_err(), "n_neighbors");
    out_of_bound(KNeighborsRegressor::new().fit(&x, &[0.0; 3], &device).unwrap_err(), "n_neighbors");
    for p in [0.0, -2.0, f32::NAN] {
        out_of_bound(fit(KNeighborsClassifier::new().p(p)).unwrap_err(), "p");
    }
    let refused = fit(KNeighborsClassifier::new().p(1.0)).unwrap_err();
    assert!(matches!(refused, Error::Param(ParamError::NotOffered { name: "p", .. })));
    let offered = KNeighborsClassifier::new().algorithm(SearchAlgorithm::Brute).metric(Metric::Euclidean).p(2.0);
    let model = fit(offered).expect("fits");

    bad_shape(KNeighborsClassifier::new().n_neighbors(1).fit(&x, &[1, 2], &device).unwrap_err(), "labels");
    bad_shape(KNeighborsRegressor::new().n_neighbors(1).fit(&x, &[1.0], &device).unwrap_err(), "y");
    let nan = KNeighborsRegressor::new().n_neighbors(1).fit(&x, &[1.0, f32::NAN, 0.0], &device).unwrap_err();
    assert!(matches!(nan, Error::Data(DataError::NonFinite { what: "y", row: 1, .. })));
    bad_shape(model.predict(&Matrix::zeros(1, 2), &device).unwrap_err(), "x");
    bad_shape(model.score(&x, &[1], &device).unwrap_err(), "labels");
    for empty in [Matrix::zeros(0, 1), Matrix::zeros(2, 0)] {
        assert!(matches!(model.predict(&empty, &device), Err(Error::Data(DataError::Empty { .. }))));
        let fit = KNeighborsClassifier::new().fit(&empty, &[], &device);
        assert!(matches!(fit, Err(Error::Data(DataError::Empty { what: "x", .. }))));
    }
}

#[test]
fn foreign_model_files() {
    let params = json!({"n_iter": 1, "converged": true, "best_run": 0});
    let write = |params: &serde_json::Value, labels: &[u32]| {
        let writer = ModelWriter::new("KMeans", params.clone());
        let writer = writer.f32("cluster_centers", &[2, 1], &[0.0, 1.0]).f32("inertia", &[], &[0.5]);
        writer.u32("labels", &[labels.len()], labels).to_bytes().expect("writes")
    };
    let model = KMeansModel::from_bytes(write(&params, &[0, 1, 1])).expect("a model");
    assert_eq!(model.labels(), [0, 1, 1]);
    let error = KMeansModel::from_bytes(write(&params, &[0, 2])).unwrap_err();
    assert!(matches!(error, Error::Data(DataError::Index { what: "labels", position: 1, index: 2, bound: 2 })));
    let error = KMeansModel::from_bytes(write(&json!({"n_iter": 1}), &[0])).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::Param { .. })));
    out_of_bound(
        KMeansModel::from_bytes(write(&json!({"n_iter": 1u64 << 40, "converged": true, "best_run": 0}), &[0]))
            .unwrap_err(),
        "n_iter",
    );
}

#[test]
fn cancelled_work_stops() {
    let x = column(&[0.0, 1.0, 5.0]);
    let token = CancelToken::new();
    token.cancel();
    let device = Device::host();
    let error = KMeans::new(2).fit_in(&x, &mut Context::new(&device).with_cancel(token.clone())).unwrap_err();
    assert!(matches!(error, Error::Cancelled { during: "kmeans.init" }));
    let knn = KNeighborsClassifier::new().n_neighbors(1).fit(&x, &[0, 0, 1], &device).expect("fits");
    let error = knn.predict_in(&x, &mut Context::new(&device).with_cancel(token)).unwrap_err();
    assert!(matches!(error, Error::Cancelled { during: "knn.search" }));
}
