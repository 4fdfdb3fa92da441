//! Principal components against scikit-learn's answers in double precision on real data.

mod common;

use common::{images, numbers, oracle, relative};
use ml_classical::{Fit, Pca, Transform};
use ml_kernels::Device;

#[test]
fn sixteen_components_of_images() {
    let of = oracle("pca.json");
    let truth = &of["truth_full_float64"];
    let (x, _) = images("train");
    let device = Device::host();
    let model = Pca::new().n_components(16).fit(&x, &device).expect("fits");
    for (name, got) in [
        ("explained_variance", model.explained_variance()),
        ("explained_variance_ratio", model.explained_variance_ratio()),
        ("singular_values", model.singular_values()),
    ] {
        let want = numbers(&truth[name]);
        assert_eq!(got.len(), want.len());
        let worst = got.iter().zip(want).map(|(g, w)| relative(f64::from(*g), w)).fold(0.0, f64::max);
        println!("{name}: {worst:.1e}");
        assert!(worst < 1e-5, "{name} is off by {worst:e}");
    }
    let noise = relative(f64::from(model.noise_variance()), truth["noise_variance"].as_f64().expect("number"));
    assert!(noise < 1e-5, "noise variance is off by {noise:e}");
    for (i, want) in of["components_first_3"].as_array().expect("list").iter().enumerate() {
        let row = model.components().row(i);
        let worst = row.iter().zip(numbers(want)).map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, f64::max);
        println!("component {i}: {worst:.1e}");
        assert!(worst < 1e-5, "component {i} is off by {worst:e}");
    }
    // The sum of squared projections is that of the singular values.
    let projected = model.transform(&x, &device).expect("transforms");
    for (k, want) in numbers(&truth["singular_values"]).iter().enumerate() {
        let sum: f64 = (0..x.rows()).map(|i| f64::from(projected.row(i)[k])).map(|v| v * v).sum();
        assert!(relative(sum.sqrt(), *want) < 1e-5, "projection {k}");
    }
}

#[test]
fn a_part_of_the_variance() {
    let ratios = numbers(&oracle("pca.json")["truth_full_float64"]["explained_variance_ratio"]);
    let (x, _) = images("train");
    let part = 0.75f32;
    let mut sum = 0.0;
    let want = 1 + ratios
        .iter()
        .take_while(|r| {
            sum += **r;
            sum <= f64::from(part)
        })
        .count();
    let model = Pca::new().n_components(part).fit(&x, &Device::host()).expect("fits");
    assert_eq!(model.n_components(), want);
}
