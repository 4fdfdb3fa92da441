//! What linear models and principal components refuse, each by name.

use ml_classical::linear::RidgeSolver;
use ml_classical::pca::SvdSolver;
use ml_classical::{
    Fit, FitTarget, LinearRegression, LinearRegressionModel, Pca, PcaModel, Persist, Predict, Ridge, RidgeModel,
    Transform,
};
use ml_core::model::ModelWriter;
use ml_core::{CancelToken, DataError, Error, Matrix, ParamError, Step};
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
fn parameters() {
    let (x, y, device) = (column(&[0.0, 1.0, 5.0]), [1.0, 2.0, 3.0], Device::host());
    for alpha in [-1.0, f32::NAN, f32::INFINITY, -1e-30] {
        out_of_bound(Ridge::new().alpha(alpha).fit(&x, &y, &device).unwrap_err(), "alpha");
    }
    for error in [
        Ridge::new().positive(true).fit(&x, &y, &device).unwrap_err(),
        LinearRegression::new().positive(true).fit(&x, &y, &device).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "parameter `positive` = true is not offered; choose false");
    }
    assert!(Ridge::new().solver(RidgeSolver::Cholesky).positive(false).fit(&x, &y, &device).is_ok());
    for count in [0, 2, usize::MAX] {
        out_of_bound(Pca::new().n_components(count).fit(&x, &device).unwrap_err(), "n_components");
    }
    for part in [0.0, 1.0, -0.5, f32::NAN, 7.0] {
        out_of_bound(Pca::new().n_components(part).fit(&x, &device).unwrap_err(), "n_components");
    }
    assert!(Pca::new().svd_solver(SvdSolver::CovarianceEigh).n_components(0.5).fit(&x, &device).is_ok());
}

#[test]
fn data() {
    let (x, device) = (column(&[0.0, 1.0, 5.0]), Device::host());
    for empty in [Matrix::zeros(0, 3), Matrix::zeros(3, 0), Matrix::zeros(0, 0)] {
        let y = vec![0.0; empty.rows()];
        for error in [
            Ridge::new().fit(&empty, &y, &device).unwrap_err(),
            LinearRegression::new().fit(&empty, &y, &device).unwrap_err(),
            Pca::new().fit(&empty, &device).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Data(DataError::Empty { what: "x", .. })), "{error}");
        }
    }
    bad_shape(Ridge::new().fit(&x, &[1.0, 2.0], &device).unwrap_err(), "y");
    bad_shape(LinearRegression::new().fit(&x, &[1.0; 4], &device).unwrap_err(), "y");
    bad_shape(LinearRegression::new().fit_multi(&x, &Matrix::zeros(2, 2), &device).unwrap_err(), "y");
    let error = Ridge::new().fit_multi(&x, &Matrix::zeros(3, 0), &device).unwrap_err();
    assert!(matches!(error, Error::Data(DataError::Empty { what: "y", .. })), "{error}");
    for bad in [f32::NAN, f32::INFINITY] {
        let error = Ridge::new().fit(&x, &[1.0, bad, 2.0], &device).unwrap_err();
        assert!(matches!(error, Error::Data(DataError::NonFinite { what: "y", row: 1, col: 0, .. })), "{error}");
    }
    bad_shape(Pca::new().fit(&column(&[1.0]), &device).unwrap_err(), "x");

    let ridge = Ridge::new().fit(&x, &[1.0, 2.0, 3.0], &device).expect("fits");
    bad_shape(ridge.predict(&Matrix::zeros(2, 2), &device).unwrap_err(), "x");
    assert!(matches!(ridge.predict(&Matrix::zeros(0, 1), &device), Err(Error::Data(DataError::Empty { .. }))));
    bad_shape(ridge.score(&x, &[1.0, 2.0], &device).unwrap_err(), "y");
    bad_shape(ridge.score(&column(&[1.0]), &[1.0], &device).unwrap_err(), "y");
    assert!(matches!(ridge.score(&x, &[1.0, f32::NAN, 2.0], &device), Err(Error::Data(DataError::NonFinite { .. }))));
    let pca = Pca::new().fit(&x, &device).expect("fits");
    bad_shape(pca.transform(&Matrix::zeros(2, 2), &device).unwrap_err(), "x");
    bad_shape(pca.inverse_transform(&Matrix::zeros(2, 2), &device).unwrap_err(), "x");
}

#[test]
fn values_that_overflow_name_their_stage() {
    let device = Device::host();
    let stage = |error: Error| match error {
        Error::NonFinite { stage, .. } => stage,
        other => panic!("{other}"),
    };
    let tiny = column(&[1e-30, 2e-30, 3e-30]);
    let y = [1e20, 2e20, 3e20];
    assert_eq!(stage(LinearRegression::new().fit(&tiny, &y, &device).unwrap_err()), "linear_regression.coef");
    let huge = column(&[-3e38, 0.0, 3e38]);
    assert_eq!(stage(Pca::new().fit(&huge, &device).unwrap_err()), "pca.explained_variance");
    let ridge = Ridge::new().alpha(0.0).fit(&column(&[0.0, 1.0]), &[0.0, 10.0], &device).expect("fits");
    assert_eq!(stage(ridge.predict(&column(&[3e38]), &device).unwrap_err()), "ridge.predict");
}

#[test]
fn cancelled_fits_end() {
    let (x, y, device) = (column(&[0.0, 1.0, 5.0]), [1.0, 2.0, 4.0], Device::host());
    let token = CancelToken::new();
    token.cancel();
    let cx = || Context::new(&device).with_cancel(token.clone());
    for error in [
        Ridge::new().fit_in(&x, &y, &mut cx()).unwrap_err(),
        LinearRegression::new().fit_in(&x, &y, &mut cx()).unwrap_err(),
        Pca::new().fit_in(&x, &mut cx()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    }
    // From within the work, at its last step.
    let late = CancelToken::new();
    let stop = |step: &Step| {
        if Some(step.done) == step.total {
            late.cancel();
        }
    };
    let mut cx = Context::new(&device).with_progress(&stop).with_cancel(late.clone());
    assert!(matches!(Ridge::new().fit_in(&x, &y, &mut cx), Err(Error::Cancelled { during: "ridge.refine" })));
}

#[test]
fn foreign_files() {
    let params = json!({"used_solver": "cholesky"});
    let file = |coef: &[usize], intercept: usize| {
        let count = coef.iter().product();
        ModelWriter::new("Ridge", params.clone())
            .f32("coef", coef, &vec![1.0; count])
            .f32("intercept", &[intercept], &vec![1.0; intercept])
            .to_bytes()
            .expect("writes")
    };
    assert!(RidgeModel::from_bytes(file(&[2, 3], 2)).is_ok());
    assert!(RidgeModel::from_bytes(file(&[2, 3], 3)).is_err());
    assert!(RidgeModel::from_bytes(file(&[0, 3], 0)).is_err());
    assert!(RidgeModel::from_bytes(file(&[6], 1)).is_err());
    let rank = |rank: u64| {
        ModelWriter::new("LinearRegression", json!({"rank": rank}))
            .f32("coef", &[1, 2], &[1.0; 2])
            .f32("intercept", &[1], &[0.0])
            .f32("singular", &[2], &[1.0; 2])
            .to_bytes()
            .expect("writes")
    };
    assert!(LinearRegressionModel::from_bytes(rank(2)).is_ok());
    out_of_bound(LinearRegressionModel::from_bytes(rank(3)).unwrap_err(), "rank");
    let pca = |variance: f32| {
        let mut file = ModelWriter::new("PCA", json!({"n_samples": 5, "whiten": true}));
        for name in ["explained_variance", "explained_variance_ratio", "singular_values"] {
            file = file.f32(name, &[1], &[variance]);
        }
        let file = file.f32("components", &[1, 2], &[1.0, 0.0]).f32("mean", &[2], &[0.0; 2]);
        file.f32("noise_variance", &[], &[0.0]).to_bytes().expect("writes")
    };
    assert!(PcaModel::from_bytes(pca(1.0)).is_ok());
    bad_shape(PcaModel::from_bytes(pca(-1.0)).unwrap_err(), "explained_variance");
}
