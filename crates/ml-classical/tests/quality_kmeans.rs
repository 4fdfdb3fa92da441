//! k-means against scikit-learn's answers on real data.

mod common;

use common::{flights, images, numbers, oracle, relative, wholes};
use ml_classical::kmeans::Init;
use ml_classical::{Fit, KMeans, KMeansModel, Stop};
use ml_core::Matrix;
use ml_kernels::{Context, Device};
use serde_json::Value;

fn from_first_rows(x: &Matrix, of: &Value) -> KMeansModel {
    let params = &of["first_rows_init"]["params"];
    let k = params["n_clusters"].as_u64().expect("whole") as usize;
    KMeans::new(k).init(x.slice_rows(0..k).expect("enough rows")).tol(0.0).fit(x, &Device::host()).expect("fits")
}

/// One start, no randomness: the whole run must be scikit-learn's, up to rounding.
fn check_first_rows(x: &Matrix, of: &Value) {
    let model = from_first_rows(x, of);
    let want = &of["first_rows_init"];
    let n_iter = want["n_iter"].as_u64().expect("whole") as u32;
    assert_eq!(model.stop(), Stop::Converged { iter: n_iter });
    let gap = relative(f64::from(model.inertia()), want["inertia"].as_f64().expect("number"));
    assert!(gap < 2e-6, "inertia is off by {gap:e}");
    let mut sizes = vec![0u32; model.cluster_centers().rows()];
    model.labels().iter().for_each(|l| sizes[*l as usize] += 1);
    assert_eq!(sizes, wholes(&want["cluster_sizes"]));
    assert_eq!(model.labels()[..20], wholes(&want["labels_first_20"]));
    for (i, want) in numbers(&want["center_means"]).iter().enumerate() {
        let row = model.cluster_centers().row(i);
        let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / row.len() as f64;
        assert!((mean - want).abs() < 1e-5 * want.abs().max(1.0), "centre {i}: mean {mean}, expected {want}");
    }
}

/// Ten starts a seed and twenty seeds, as scikit-learn was run. The random numbers are others, so what is compared is the
/// best and the middle of as many starts. On the images one start in twenty to thirty ends in the best basin of either
/// program, and the next is 0.16% above: two hundred starts find it but for one time in some thousand.
fn check_seeded(x: &Matrix, of: &Value, init: &Init) {
    let want = &of["seeded"];
    let k = want["params"]["n_clusters"].as_u64().expect("whole") as usize;
    let seeds = want["runs"].as_array().expect("a list").len() as u64;
    let estimator = KMeans::new(k).n_init(10).init(init.clone());
    let fit = |seed| f64::from(estimator.clone().seed(seed).fit(x, &Device::host()).expect("fits").inertia());
    let mut inertia: Vec<f64> = (0..seeds).map(fit).collect();
    inertia.sort_by(f64::total_cmp);
    let middle = (inertia[(inertia.len() - 1) / 2] + inertia[inertia.len() / 2]) / 2.0;
    let best = want["inertia_best"].as_f64().expect("number");
    let median = want["inertia_median"].as_f64().expect("number");
    println!("{}: {inertia:?}, scikit-learn best {best}, median {median}", init.name());
    assert!(inertia[0] <= best * 1.001, "best {} against {best}", inertia[0]);
    assert!(middle <= median * 1.001, "median {middle} against {median}");
}

#[test]
fn images_from_the_first_rows() {
    check_first_rows(&images("train").0, &oracle("kmeans.json")["fashion_mnist"]);
}

#[test]
fn flights_from_the_first_rows() {
    let oracle = oracle("kmeans.json");
    check_first_rows(&flights(&oracle["flights"]).0, &oracle["flights"]);
}

#[test]
fn images_seeded() {
    check_seeded(&images("train").0, &oracle("kmeans.json")["fashion_mnist"], &Init::KMeansPlusPlus);
}

#[test]
fn images_seeded_in_parallel() {
    check_seeded(&images("train").0, &oracle("kmeans.json")["fashion_mnist"], &Init::KMeansParallel);
}

#[test]
fn flights_seeded() {
    let oracle = oracle("kmeans.json");
    check_seeded(&flights(&oracle["flights"]).0, &oracle["flights"], &Init::KMeansPlusPlus);
}

/// Careful seeding is worth its cost: its start is far better than random rows, before any iteration has helped.
#[test]
fn seeding_beats_random_rows() {
    let oracle = oracle("kmeans.json");
    let (x, _) = flights(&oracle["flights"]);
    let mean_after_one_iteration = |init: Init| {
        let fit = |seed| KMeans::new(8).init(init.clone()).n_init(1).max_iter(1).seed(seed).fit(&x, &Device::host());
        (0..10).map(|seed| f64::from(fit(seed).expect("fits").inertia())).sum::<f64>() / 10.0
    };
    let random = mean_after_one_iteration(Init::Random);
    for init in [Init::KMeansPlusPlus, Init::KMeansParallel] {
        let careful = mean_after_one_iteration(init.clone());
        println!("{}: {careful}, random: {random}", init.name());
        assert!(careful < random, "{}: {careful} against {random}", init.name());
    }
}

/// `tol` is a part of the mean variance of the columns, and `n_init` "auto" depends on the start.
#[test]
fn defaults_mean_what_they_mean_in_scikit_learn() {
    let x = Matrix::from_rows(&[[0.0f32, 10.0], [2.0, 30.0]]).expect("finite");
    let mut stages = common::Stages::default();
    let device = Device::host();
    let estimator = KMeans::new(1).tol(0.5);
    let model = estimator.fit_in(&x, &mut Context::new(&device).with_recorder(&mut stages)).expect("fits");
    assert_eq!(model.cluster_centers().as_slice(), [1.0, 20.0]);
    assert_eq!(model.inertia(), 202.0);
    // Variances 1 and 100.
    assert_eq!(stages.0[0].0, "kmeans.tol");
    assert_eq!(stages.0[0].3, (50.5f32 * 0.5).to_le_bytes());

    let want = &oracle("defaults.json")["estimators"]["KMeans"]["params"];
    let model = KMeans::new(want["n_clusters"].as_u64().expect("whole") as usize - 6).fit(&x, &device).expect("fits");
    assert_eq!(model.params()["max_iter"], want["max_iter"]);
    assert_eq!(model.params()["init"], want["init"]);
    assert_eq!(model.params()["algorithm"], want["algorithm"]);
    assert_eq!(model.params()["tol"].as_f64().map(|t| t as f32), want["tol"].as_f64().map(|t| t as f32));
    let n_init = |init: &str| {
        let estimator = KMeans::new(2).init(init.parse::<Init>().expect("offered"));
        estimator.fit(&x, &device).expect("fits").params()["n_init"].as_u64()
    };
    assert_eq!(["k-means++", "k-means||", "random"].map(n_init), [Some(1), Some(1), Some(10)]);
}
