//! Identity, the rules of the score, and refusals.

use ml_core::Matrix;
use ml_kernels::Device;
use ml_kernels::traits::{Fit, Persist, Predict};

use super::*;
use crate::ensemble::Node;
use ml_core::canon::canon;

/// Rows of small whole numbers, with many ties, and one far away.
fn rows(n: usize, d: usize) -> Matrix {
    let mut state = 0x9e37_79b9u32;
    let mut data: Vec<f32> = (0..n * d)
        .map(|i| {
            state = (state ^ i as u32).wrapping_mul(0x85eb_ca6b).rotate_left(13);
            (state >> 24) as f32 / 16.0
        })
        .collect();
    data[..d].fill(100.0);
    Matrix::from_vec(n, d, data).expect("finite")
}

#[test]
fn threads_change_nothing() {
    let x = rows(700, 5);
    for forest in [
        IsolationForest::new().seed(5).contamination(0.1),
        IsolationForest::new().seed(5).n_estimators(7).bootstrap(true).max_features(0.5).max_samples(0.9),
    ] {
        let fit = |threads| {
            let device = Device::host_with_threads(threads).expect("threads");
            let model = forest.fit(&x, &device).expect("fits");
            (model.to_bytes().expect("bytes"), model.score_samples(&x, &device).expect("scores"))
        };
        let wanted = fit(1);
        for threads in [2, 7, 64] {
            assert!(fit(threads) == wanted, "{threads} threads");
        }
        let other = forest.clone().seed(6).fit(&x, &Device::host()).expect("fits");
        assert!(other.to_bytes().expect("bytes") != wanted.0, "the seed changes nothing");
    }
}

#[test]
fn a_tree_depends_on_its_number_alone() {
    let x = rows(300, 4);
    let device = Device::host();
    let few = IsolationForest::new().n_estimators(3).fit(&x, &device).expect("fits");
    let many = IsolationForest::new().n_estimators(70).fit(&x, &device).expect("fits");
    assert_eq!(few.ensemble().trees(), &many.ensemble().trees()[..3]);
    assert_ne!(many.ensemble().trees()[0], many.ensemble().trees()[1]);
}

#[test]
fn every_leaf_holds_what_its_value_says() {
    let x = rows(400, 3);
    let model = IsolationForest::new().n_estimators(5).max_samples(64).fit(&x, &Device::host()).expect("fits");
    for tree in model.ensemble().trees() {
        let mut depth = vec![0u32; tree.nodes().len()];
        let mut covers = 0.0;
        for (at, node) in tree.nodes().iter().enumerate() {
            match *node {
                Node::Leaf { leaf, cover } => {
                    covers += cover;
                    assert_eq!(tree.values()[leaf as usize], f64::from(depth[at]) + average_path(cover as usize));
                    assert!(depth[at] == 6 || (depth[at] < 6 && cover == 1.0));
                }
                Node::Number { left, right, .. } => {
                    depth[left as usize] = depth[at] + 1;
                    depth[right as usize] = depth[at] + 1;
                }
                Node::Category { .. } => panic!("no categories here"),
            }
        }
        assert_eq!(covers, 64.0);
        assert_eq!(depth.iter().max(), Some(&6));
    }
}

#[test]
fn average_paths_are_those_of_the_paper() {
    for (n, want) in [(1, 0.0), (2, 1.0), (3, 1.207_392_357_589_622_5), (256, 10.244_770_920_119_917)] {
        assert!((average_path(n) - want).abs() < 1e-14, "{n}: {}", average_path(n));
    }
}

#[test]
fn contamination_marks_its_part_of_the_rows() {
    let x = rows(1000, 4);
    let device = Device::host();
    let model = IsolationForest::new().contamination(0.05).fit(&x, &device).expect("fits");
    let predicted = model.predict(&x, &device).expect("predicts");
    let odd = predicted.iter().filter(|p| **p == -1).count();
    assert!((45..=50).contains(&odd), "{odd}");
    assert_eq!(predicted[0], -1);
    let decision = model.decision_function(&x, &device).expect("decides");
    let scores = model.score_samples(&x, &device).expect("scores");
    assert!(decision.iter().zip(&scores).all(|(d, s)| *d == canon(s - model.offset())));
    assert_eq!(IsolationForest::new().fit(&x, &device).expect("fits").offset(), -0.5);
}

#[test]
fn degenerate_rows_are_scored() {
    let device = Device::host();
    let one = Matrix::from_vec(1, 2, vec![1.0, 2.0]).expect("finite");
    let model = IsolationForest::new().fit(&one, &device).expect("fits");
    assert_eq!(model.score_samples(&one, &device).expect("scores"), [-0.5]);
    let same = Matrix::from_vec(20, 2, vec![3.0; 40]).expect("finite");
    let model = IsolationForest::new().fit(&same, &device).expect("fits");
    assert!(model.ensemble().trees().iter().all(|t| t.nodes().len() == 1));
    let scores = model.score_samples(&same, &device).expect("scores");
    assert!(scores.iter().all(|s| (s + 0.5).abs() < 1e-6), "{scores:?}");
    let far = Matrix::from_vec(2, 1, vec![f32::MIN, f32::MAX]).expect("finite");
    assert!(IsolationForest::new().fit(&far, &device).is_ok());
}

#[test]
fn a_saved_forest_is_the_same() {
    let x = rows(200, 3);
    let device = Device::host();
    let model = IsolationForest::new().n_estimators(9).contamination(0.2).fit(&x, &device).expect("fits");
    let bytes = model.to_bytes().expect("bytes");
    let loaded = IsolationForestModel::from_bytes(bytes.clone()).expect("loads");
    assert_eq!(loaded, model);
    assert_eq!(loaded.to_bytes().expect("bytes"), bytes);
}

#[test]
fn parameters_are_refused_by_name() {
    let x = rows(50, 3);
    for (forest, name) in [
        (IsolationForest::new().n_estimators(0), "n_estimators"),
        (IsolationForest::new().max_samples(0), "max_samples"),
        (IsolationForest::new().max_samples(0.001), "max_samples"),
        (IsolationForest::new().max_features(4), "max_features"),
        (IsolationForest::new().max_features(1.1), "max_features"),
        (IsolationForest::new().contamination(0.0), "contamination"),
        (IsolationForest::new().contamination(0.51), "contamination"),
        (IsolationForest::new().contamination(f64::NAN), "contamination"),
    ] {
        let error = forest.fit(&x, &Device::host()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
    let model = IsolationForest::new().fit(&x, &Device::host()).expect("fits");
    assert!(model.predict(&rows(5, 2), &Device::host()).is_err());
    assert!(IsolationForest::new().fit(&Matrix::zeros(0, 3), &Device::host()).is_err());
}
