//! Principal components of data that are constant, of low rank, wide, whitened, or of extreme scale.

mod common;

use common::{images, tied};
use ml_classical::{Fit, Pca, Transform};
use ml_core::Matrix;
use ml_kernels::Device;

fn fit(pca: &Pca, x: &Matrix) -> ml_classical::PcaModel {
    pca.fit(x, &Device::host()).expect("fits")
}

/// Largest |V V' - I| of the components.
fn skew(model: &ml_classical::PcaModel) -> f64 {
    let c = model.components();
    let mut worst = 0.0f64;
    for i in 0..c.rows() {
        for j in 0..c.rows() {
            let dot: f64 = c.row(i).iter().zip(c.row(j)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            worst = worst.max((dot - f64::from(i == j)).abs());
        }
    }
    worst
}

#[test]
fn equal_rows_have_no_variance() {
    let x = Matrix::from_rows(&[[0.1f32, -3.0, 7e20]; 5]).expect("finite");
    for whiten in [false, true] {
        let model = fit(&Pca::new().whiten(whiten), &x);
        assert_eq!(model.mean(), [0.1, -3.0, 7e20]);
        assert_eq!(
            (model.explained_variance(), model.explained_variance_ratio()),
            (&[0.0f32; 3][..], &[0.0f32; 3][..])
        );
        assert!(skew(&model) < 1e-6);
        let image = model.transform(&x, &Device::host()).expect("transforms");
        assert!(image.as_slice().iter().all(|v| *v == 0.0));
        assert_eq!(model.inverse_transform(&image, &Device::host()).expect("transforms"), x);
    }
    assert_eq!(fit(&Pca::new().n_components(0.5), &x).n_components(), 3);
}

#[test]
fn one_direction_is_found() {
    let rows: Vec<[f32; 3]> = (0..50).map(|i| [3.0 * i as f32, 1.0, -4.0 * i as f32]).collect();
    let model = fit(&Pca::new(), &Matrix::from_rows(&rows).expect("finite"));
    for (got, want) in model.components().row(0).iter().zip([-0.6, 0.0, 0.8]) {
        assert!((got - want).abs() < 1e-6, "{:?}", model.components().row(0));
    }
    // The variance of 0 to 49 is 50 * 51 / 12.
    assert!((model.explained_variance()[0] / (25.0 * 212.5) - 1.0).abs() < 1e-6);
    assert!(model.explained_variance()[1..].iter().all(|v| *v < 1e-3));
    assert!((model.explained_variance_ratio()[0] - 1.0).abs() < 1e-6 && model.noise_variance() == 0.0);
}

#[test]
fn wide_data_have_as_many_components_as_rows() {
    let (pixels, _) = images("train");
    let x = pixels.slice_rows(0..12).expect("12 rows");
    let model = fit(&Pca::new(), &x);
    assert_eq!((model.n_components(), model.n_features_in(), model.n_samples()), (12, 784, 12));
    assert!(skew(&model) < 1e-5, "{}", skew(&model));
    // Twelve centred rows span eleven directions, which carry everything.
    let back = model.transform(&x, &Device::host()).expect("transforms");
    let back = model.inverse_transform(&back, &Device::host()).expect("transforms");
    let worst = back.as_slice().iter().zip(x.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < 2e-2, "{worst}");
    let trace: f64 = (0..784)
        .map(|j| {
            let column: Vec<f64> = (0..12).map(|i| f64::from(x.row(i)[j])).collect();
            let mean = column.iter().sum::<f64>() / 12.0;
            column.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 11.0
        })
        .sum();
    let sum: f64 = model.explained_variance().iter().map(|v| f64::from(*v)).sum();
    assert!((sum / trace - 1.0).abs() < 1e-5, "{sum} of {trace}");
}

#[test]
fn whitened_columns_have_variance_one() {
    let x = tied(500, 4);
    let model = fit(&Pca::new().n_components(3).whiten(true), &x);
    let image = model.transform(&x, &Device::host()).expect("transforms");
    for k in 0..3 {
        let column: Vec<f64> = (0..500).map(|i| f64::from(image.row(i)[k])).collect();
        let mean = column.iter().sum::<f64>() / 500.0;
        let variance = column.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 499.0;
        assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-5, "{k}: {mean}, {variance}");
    }
    let plain = fit(&Pca::new().n_components(3), &x);
    let same = plain.inverse_transform(&plain.transform(&x, &Device::host()).expect("transforms"), &Device::host());
    let back = model.inverse_transform(&image, &Device::host()).expect("transforms");
    let same = same.expect("transforms");
    assert!(back.as_slice().iter().zip(same.as_slice()).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
// pathway test: P84
fn scale_is_nothing_but_a_factor() {
    let x = tied(200, 3);
    let model = fit(&Pca::new(), &x);
    for power in [-60i32, -20, 20, 60] {
        let factor = f32::from_bits(((power + 127) as u32) << 23);
        let scaled: Vec<f32> = x.as_slice().iter().map(|v| v * factor).collect();
        let other = fit(&Pca::new(), &Matrix::from_vec(200, 3, scaled).expect("finite"));
        assert_eq!(other.components(), model.components(), "2^{power}");
        assert_eq!(other.explained_variance_ratio(), model.explained_variance_ratio(), "2^{power}");
        for (a, b) in other.singular_values().iter().zip(model.singular_values()) {
            assert_eq!(*a, b * factor, "2^{power}");
        }
    }
}

#[test]
fn the_rest_is_noise() {
    let x = tied(300, 4);
    let all = fit(&Pca::new(), &x);
    let some = fit(&Pca::new().n_components(2), &x);
    assert_eq!(some.components().as_slice(), &all.components().as_slice()[..8]);
    let rest = (all.explained_variance()[2] + all.explained_variance()[3]) / 2.0;
    assert!((some.noise_variance() / rest - 1.0).abs() < 1e-6 && all.noise_variance() == 0.0);
    assert!((all.explained_variance_ratio().iter().sum::<f32>() - 1.0).abs() < 1e-6);
}
