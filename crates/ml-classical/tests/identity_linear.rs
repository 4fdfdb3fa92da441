//! Linear models and principal components: the same bytes on every device, for every row alone, after a second fit and
//! after saving. No tolerance.

mod common;

use common::{Stages, devices, images, ranged, tied};
use ml_classical::{
    Fit, FitTarget, LinearRegression, LinearRegressionModel, Pca, PcaModel, Persist, Predict, Ridge, RidgeModel,
    Transform,
};
use ml_core::Matrix;
use ml_kernels::{Context, Device};

/// Designs that reach every branch: full rank, repeated and constant columns, fewer rows than columns, several chunks and
/// leaves, values over the whole range.
fn subjects() -> Vec<(&'static str, Matrix)> {
    let pixels = images("train").0;
    let part = |rows: usize| pixels.slice_rows(0..rows).expect("enough rows");
    // Middle columns of the images: they differ in nearly every row.
    let middle = |x: &Matrix, cols: usize| {
        let data = (0..x.rows()).flat_map(|i| x.row(i)[400..400 + cols].to_vec()).collect();
        Matrix::from_vec(x.rows(), cols, data).expect("finite")
    };
    let constant =
        Matrix::from_vec(40, 3, (0..120).map(|at| if at % 3 == 1 { 0.1 } else { (at % 7) as f32 }).collect());
    vec![
        ("pixels", middle(&part(300), 12)),
        ("1,100 rows", tied(1_100, 3)),
        ("fewer rows than columns", middle(&part(9), 20)),
        ("the whole range", ranged(150, 4)),
        ("a constant column", constant.expect("finite")),
        ("two rows", tied(2, 2)),
    ]
}

fn target(x: &Matrix) -> Vec<f32> {
    let first = |i: usize| x.row(i).first().copied().unwrap_or(0.0).clamp(-1e6, 1e6);
    (0..x.rows()).map(|i| first(i) + (i * 37 % 101) as f32 / 3.0 - 11.0).collect()
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|v| v.to_bits()).collect()
}

/// Everything that fits and predictions give on one device.
#[derive(PartialEq)]
struct All {
    stages: Stages,
    files: Vec<Vec<u8>>,
    outputs: Vec<Vec<u32>>,
}

fn all(x: &Matrix, device: &Device) -> All {
    let mut stages = Stages::default();
    let mut cx = Context::new(device).with_recorder(&mut stages);
    let y = target(x);
    let mut files = Vec::new();
    let mut outputs = Vec::new();
    let ols = LinearRegression::new().fit_in(x, &y, &mut cx).expect("fits");
    outputs.push(bits(&ols.predict_in(x, &mut cx).expect("predicts")));
    files.push(ols.to_bytes().expect("writes"));
    for (alpha, intercept) in [(1.0, true), (0.0, true), (0.5, false)] {
        let ridge = Ridge::new().alpha(alpha).fit_intercept(intercept).fit_in(x, &y, &mut cx).expect("fits");
        outputs.push(bits(&ridge.predict_in(x, &mut cx).expect("predicts")));
        files.push(ridge.to_bytes().expect("writes"));
    }
    for whiten in [false, true] {
        let pca = Pca::new().n_components(0.9).whiten(whiten).fit_in(x, &mut cx).expect("fits");
        let image = pca.transform_in(x, &mut cx).expect("transforms");
        outputs.push(bits(image.as_slice()));
        outputs.push(bits(pca.inverse_transform_in(&image, &mut cx).expect("transforms").as_slice()));
        files.push(pca.to_bytes().expect("writes"));
    }
    All { stages, files, outputs }
}

#[test]
fn every_stage_is_the_same_on_every_device() {
    let mut solvers = [false; 2];
    for (name, x) in subjects() {
        let host = all(&x, &Device::host());
        for tag in ["linear_regression.rank", "linear_regression.coef", "ridge.solver", "ridge.coef", "pca.components"]
        {
            assert!(host.stages.has(tag), "{name}: {tag}");
        }
        solvers[0] |= host.stages.has("ridge.factor") && !host.stages.has("ridge.directions");
        solvers[1] |= host.stages.has("ridge.directions");
        for device in devices() {
            let other = all(&x, &device);
            assert_eq!(host.stages.first_difference(&other.stages), None, "{name} on {device:?}");
            assert!(host == other, "{name} on {device:?}");
        }
    }
    assert_eq!(solvers, [true; 2], "both solvers of ridge are reached");
}

#[test]
fn recorders_and_repetition_change_nothing() {
    for (name, x) in subjects() {
        let y = target(&x);
        let device = Device::host();
        let recorded = all(&x, &device);
        let ols = LinearRegression::new().fit(&x, &y, &device).expect("fits");
        assert!(ols.to_bytes().expect("writes") == recorded.files[0], "{name}");
        let ridge = Ridge::new().fit(&x, &y, &device).expect("fits");
        assert!(ridge.to_bytes().expect("writes") == recorded.files[1], "{name}");
        let pca = Pca::new().n_components(0.9).fit(&x, &device).expect("fits");
        assert!(pca.to_bytes().expect("writes") == recorded.files[4], "{name}");
    }
}

#[test]
fn one_row_is_predicted_as_in_a_batch() {
    for (name, x) in subjects() {
        let y = target(&x);
        for device in devices() {
            let ridge = Ridge::new().fit(&x, &y, &device).expect("fits");
            let pca = Pca::new().n_components(1).whiten(true).fit(&x, &device).expect("fits");
            let predicted = ridge.predict(&x, &device).expect("predicts");
            let image = pca.transform(&x, &device).expect("transforms");
            for i in [0, x.rows() / 2, x.rows() - 1] {
                let row = x.slice_rows(i..i + 1).expect("a row");
                assert_eq!(bits(&ridge.predict(&row, &device).expect("predicts")), bits(&predicted[i..=i]), "{name}");
                let alone = pca.transform(&row, &device).expect("transforms");
                assert_eq!(bits(alone.as_slice()), bits(image.row(i)), "{name}, row {i}");
            }
        }
    }
}

#[test]
fn saved_models_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, x) in subjects() {
        let y = target(&x);
        let device = Device::host();
        let path = folder.path().join("model.safetensors");
        let ols = LinearRegression::new().fit(&x, &y, &device).expect("fits");
        ols.save(&path).expect("saves");
        assert_eq!(LinearRegressionModel::load(&path).expect("loads"), ols, "{name}");
        let ridge = Ridge::new().alpha(0.3).fit(&x, &y, &device).expect("fits");
        ridge.save(&path).expect("saves");
        assert_eq!(RidgeModel::load(&path).expect("loads"), ridge, "{name}");
        assert!(LinearRegressionModel::load(&path).unwrap_err().to_string().contains("holds a Ridge"));
        let pca = Pca::new().whiten(true).fit(&x, &device).expect("fits");
        pca.save(&path).expect("saves");
        assert_eq!(PcaModel::load(&path).expect("loads"), pca, "{name}");
    }
}

#[test]
fn stages_move_with_data_and_parameters() {
    let (_, x) = subjects().remove(0);
    let y = target(&x);
    let device = Device::host();
    let run = |alpha: f32, y: &[f32]| {
        let mut stages = Stages::default();
        Ridge::new().alpha(alpha).fit_in(&x, y, &mut Context::new(&device).with_recorder(&mut stages)).expect("fits");
        stages
    };
    let base = run(1.0, &y);
    assert_eq!(base.first_difference(&run(1.0, &y)), None);
    assert_eq!(base.first_difference(&run(1.5, &y)), Some("ridge.factor".to_owned()));
    let mut other = y.clone();
    other[7] += 1.0;
    assert_eq!(base.first_difference(&run(1.0, &other)), Some("ridge.target0.y_mean".to_owned()));
}
