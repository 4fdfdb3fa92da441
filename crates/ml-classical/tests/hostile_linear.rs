//! Linear models on designs that break normal equations: dependent, constant and nearly equal columns, fewer rows than
//! columns, scales over the whole range. Compared with the shortest solution in double precision.

mod common;

use ml_classical::{FitTarget, LinearRegression, LinearRegressionModel, Predict, Ridge};
use ml_core::Matrix;
use ml_kernels::Device;
use ml_kernels::linalg::symmetric_eigen_f64;

/// A number of [-1, 1) made by integer hashing.
fn noise(seed: u32, i: usize, j: usize) -> f32 {
    let mut h =
        seed.wrapping_mul(0x9e37_79b9) ^ (i as u32).wrapping_mul(0x85eb_ca6b) ^ (j as u32).wrapping_mul(0xc2b2_ae35);
    for _ in 0..3 {
        h = (h ^ h >> 15).wrapping_mul(0x2c1b_3c6d).rotate_left(9);
    }
    (h >> 8) as f32 / 8_388_608.0 - 1.0
}

fn design(rows: usize, cols: usize, element: impl Fn(usize, usize) -> f32) -> Matrix {
    let data = (0..rows * cols).map(|at| element(at / cols, at % cols)).collect();
    Matrix::from_vec(rows, cols, data).expect("finite")
}

/// A target that no design here explains fully.
fn target(x: &Matrix) -> Vec<f32> {
    (0..x.rows()).map(|i| x.row(i).iter().take(3).sum::<f32>() + 0.5 * noise(99, i, 0) + 3.0).collect()
}

struct Reference {
    coef: Vec<f64>,
    intercept: f64,
    singular: Vec<f64>,
}

/// The shortest minimiser of |y - X w - c|^2 + alpha |w|^2, in double precision. Singular values below `cut` times the
/// largest count as zero.
fn reference(x: &Matrix, y: &[f32], alpha: f64, cut: f64) -> Reference {
    let (n, d) = (x.rows(), x.cols());
    let mean = |values: &dyn Fn(usize) -> f64| (0..n).map(values).sum::<f64>() / n as f64;
    let x_mean: Vec<f64> = (0..d).map(|j| mean(&|i| f64::from(x.row(i)[j]))).collect();
    let y_mean = mean(&|i| f64::from(y[i]));
    let at = |i: usize, j: usize| f64::from(x.row(i)[j]) - x_mean[j];
    let mut gram = vec![0.0f64; d * d];
    for i in 0..n {
        for j in 0..d {
            for k in 0..d {
                gram[j * d + k] += at(i, j) * at(i, k);
            }
        }
    }
    let xty: Vec<f64> = (0..d).map(|j| (0..n).map(|i| at(i, j) * (f64::from(y[i]) - y_mean)).sum()).collect();
    let eigen = symmetric_eigen_f64(&Device::host(), &gram, d).expect("converges");
    let largest = eigen.values[0];
    let mut coef = vec![0.0f64; d];
    for (value, vector) in eigen.values.iter().zip(eigen.vectors.chunks(d)) {
        if *value > cut * cut * largest {
            let amount = vector.iter().zip(&xty).map(|(v, t)| v * t).sum::<f64>() / (value + alpha);
            coef.iter_mut().zip(vector).for_each(|(c, v)| *c += amount * v);
        }
    }
    let intercept = y_mean - coef.iter().zip(&x_mean).map(|(c, m)| c * m).sum::<f64>();
    let singular = eigen.values.iter().take(n.min(d)).map(|v| v.max(0.0).sqrt()).collect();
    Reference { coef, intercept, singular }
}

/// Largest error of a coefficient, as a part of the largest coefficient.
fn error(got: &[f32], want: &[f64]) -> f64 {
    let size = want.iter().fold(0.0f64, |m, w| m.max(w.abs()));
    got.iter().zip(want).map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, f64::max) / size
}

#[track_caller]
fn check(name: &str, x: &Matrix, rank: usize, bound: f64) -> LinearRegressionModel {
    let y = target(x);
    let device = Device::host();
    let model = LinearRegression::new().fit(x, &y, &device).expect("fits");
    let want = reference(x, &y, 0.0, 1e-7);
    let off = error(model.coef(), &want.coef);
    let lift = (f64::from(model.intercept()) - want.intercept).abs() / want.intercept.abs().max(1.0);
    println!("{name}: rank {}, coefficients {off:.1e}, intercept {lift:.1e}", model.rank());
    assert_eq!(model.rank(), rank, "{name}: {:?}", model.singular());
    assert!(off < bound, "{name}: {:?}, expected {:?}", model.coef(), want.coef);
    assert!(lift < bound.max(1e-6), "{name}: intercept {}, expected {}", model.intercept(), want.intercept);
    assert_eq!(model.singular().len(), x.rows().min(x.cols()));
    for (k, (got, want)) in model.singular().iter().zip(&want.singular).enumerate() {
        if k < rank {
            assert!(
                (f64::from(*got) / want - 1.0).abs() < 1e-3,
                "{name}: singular value {k} is {got}, expected {want}"
            );
        } else {
            assert_eq!(*got, 0.0, "{name}: singular value {k}");
        }
    }
    model
}

#[test]
fn repeated_columns_share_their_weight() {
    let x = design(200, 4, |i, j| match j {
        3 => noise(2, i, 0),
        2 => 2.0 * noise(1, i, 0),
        _ => noise(1, i, 0),
    });
    let model = check("repeated", &x, 2, 1e-6);
    assert_eq!(model.coef()[0], model.coef()[1]);
}

#[test]
fn sums_of_columns_are_found() {
    let x = design(500, 5, |i, j| if j == 4 { noise(3, i, 0) + noise(3, i, 1) } else { noise(3, i, j) });
    check("a sum", &x, 4, 1e-5);
    // Every group has its column: with the intercept, one too many.
    let x = design(300, 6, |i, j| if j == 5 { noise(4, i, 0) } else { f32::from((i * 7 / 3) % 5 == j) });
    check("groups", &x, 5, 1e-6);
}

#[test]
fn constant_and_zero_columns_weigh_nothing() {
    let x = design(100, 5, |i, j| [noise(5, i, 0), 0.1, 0.0, noise(5, i, 1), -7e20][j]);
    let y: Vec<f32> = (0..100).map(|i| 2.0 * noise(5, i, 0) - noise(5, i, 1) + 4.0).collect();
    for alpha in [0.0, 0.5] {
        let model = Ridge::new().alpha(alpha).fit(&x, &y, &Device::host()).expect("fits");
        assert_eq!([model.coef()[1], model.coef()[2], model.coef()[4]], [0.0; 3]);
    }
    let model = LinearRegression::new().fit(&x, &y, &Device::host()).expect("fits");
    assert_eq!(model.rank(), 2);
    assert!((model.coef()[0] - 2.0).abs() < 1e-5 && (model.coef()[3] + 1.0).abs() < 1e-5 && model.coef()[2] == 0.0);
    assert!((model.intercept() - 4.0).abs() < 1e-5);
}

#[test]
fn fewer_rows_than_columns() {
    check("6 x 20", &design(6, 20, |i, j| noise(6, i, j)), 5, 1e-5);
    check("30 x 31", &design(30, 31, |i, j| noise(7, i, j)), 29, 1e-4);
    check("2 x 3", &design(2, 3, |i, j| noise(8, i, j)), 1, 1e-6);
}

#[test]
fn nearly_equal_columns_are_told_apart() {
    for (gap, bound) in [(1e-2, 1e-4), (1e-3, 1e-3), (1e-4, 1e-2)] {
        let x = design(1000, 3, |i, j| noise(9, i, 0) * f32::from(j < 2) + gap * noise(9, i, j) * f32::from(j > 0));
        check(&format!("gap {gap:e}"), &x, 3, bound);
        // Two such pairs at once: both short directions lie in the rounding of the products.
        let x = design(1000, 4, |i, j| noise(10, i, j / 2) + gap * noise(11, i, j) * [0.0, 1.0, 0.0, 0.3][j]);
        check(&format!("two gaps {gap:e}"), &x, 4, bound);
    }
    let x = design(400, 4, |i, j| {
        let t = 1.0 + i as f32 / 400.0;
        [t, t * t, t * t * t, t * t * t * t][j]
    });
    check("powers", &x, 4, 1e-2);
}

#[test]
fn large_means_do_not_hide_small_spreads() {
    let x = design(700, 3, |i, j| [1e6 + (i % 13) as f32, noise(12, i, 0), 4096.0 + (i % 7) as f32 / 1024.0][j]);
    check("large means", &x, 3, 1e-5);
}

#[test]
fn scales_over_the_whole_range() {
    let device = Device::host();
    for size in [1e-30f32, 1e-18, 1e-4, 1e4, 1e18, 1e30] {
        let x = design(150, 3, |i, j| noise(13, i, j) * [1.0, size, 1.0 / size][j]);
        let y: Vec<f32> = (0..150).map(|i| noise(13, i, 0) + 2.0 * noise(13, i, 1) - 3.0 * noise(13, i, 2)).collect();
        let model = LinearRegression::new().fit(&x, &y, &device).expect("fits");
        assert_eq!(model.rank(), 3, "{size:e}");
        for (j, want) in [1.0, 2.0 / f64::from(size), -3.0 * f64::from(size)].into_iter().enumerate() {
            let off = (f64::from(model.coef()[j]) / want - 1.0).abs();
            assert!(off < 1e-6, "{size:e}, column {j}: {}, expected {want}", model.coef()[j]);
        }
        // The target's scale is nothing but a factor.
        let y: Vec<f32> = y.iter().map(|t| t * 1_048_576.0).collect();
        let other = LinearRegression::new().fit(&x, &y, &device).expect("fits");
        assert!(model.coef().iter().zip(other.coef()).all(|(a, b)| a * 1_048_576.0 == *b), "{size:e}");
    }
}

#[test]
// pathway test: P78
fn ridge_where_its_factor_fails() {
    let device = Device::host();
    let plain = design(300, 4, |i, j| noise(14, i, j));
    let twins = design(300, 4, |i, j| noise(14, i, j % 2));
    let close = design(300, 3, |i, j| noise(15, i, 0) * f32::from(j < 2) + 1e-3 * noise(15, i, j));
    for (name, x, alpha, solver, bound) in [
        ("plain", &plain, 1.0f32, "cholesky", 1e-6),
        ("plain without penalty", &plain, 0.0, "cholesky", 1e-6),
        ("twins", &twins, 1.0, "cholesky", 1e-6),
        ("twins without penalty", &twins, 0.0, "eigen", 1e-6),
        ("twins, tiny penalty", &twins, 1e-6, "eigen", 1e-5),
        ("close, tiny penalty", &close, 1e-5, "eigen", 1e-3),
        ("close without penalty", &close, 0.0, "eigen", 1e-3),
    ] {
        let y = target(x);
        let model = Ridge::new().alpha(alpha).fit(x, &y, &device).expect("fits");
        let want = reference(x, &y, f64::from(alpha), 1e-7);
        let off = error(model.coef(), &want.coef);
        println!("{name}: {} {off:.1e}", model.solver());
        assert_eq!(model.solver(), solver, "{name}");
        assert!(off < bound, "{name}: {:?}, expected {:?}", model.coef(), want.coef);
    }
}

#[test]
fn without_intercept_nothing_is_centred() {
    let x = design(80, 2, |i, j| noise(16, i, j) + 3.0);
    let y: Vec<f32> = (0..80).map(|i| 2.0 * x.row(i)[0] - x.row(i)[1]).collect();
    let model = LinearRegression::new().fit_intercept(false).fit(&x, &y, &Device::host()).expect("fits");
    assert_eq!(model.intercept(), 0.0);
    assert!((model.coef()[0] - 2.0).abs() < 1e-6 && (model.coef()[1] + 1.0).abs() < 1e-6, "{:?}", model.coef());
    let model = Ridge::new().alpha(0.0).fit_intercept(false).fit(&x, &y, &Device::host()).expect("fits");
    assert!((model.coef()[0] - 2.0).abs() < 1e-6 && (model.coef()[1] + 1.0).abs() < 1e-6, "{:?}", model.coef());
    assert_eq!(model.intercept(), 0.0);
}

#[test]
fn one_row_and_a_constant_target() {
    let device = Device::host();
    let one = Matrix::from_rows(&[[1.0f32, 2.0]]).expect("finite");
    let model = LinearRegression::new().fit(&one, &[5.0], &device).expect("fits");
    assert_eq!((model.coef(), model.intercept(), model.rank()), (&[0.0f32, 0.0][..], 5.0, 0));
    assert_eq!(model.singular(), [0.0]);
    assert_eq!(model.predict(&one, &device).expect("predicts"), [5.0]);
    let x = design(20, 2, |i, j| noise(17, i, j));
    let model = Ridge::new().fit(&x, &[0.1; 20], &device).expect("fits");
    assert_eq!((model.coef(), model.intercept()), (&[0.0f32, 0.0][..], 0.1));
    assert_eq!(model.score(&x, &[0.1; 20], &device).expect("scores"), 1.0);
}

#[test]
// pathway test: P79
fn several_targets_are_fitted_one_by_one() {
    let device = Device::host();
    let x = design(120, 3, |i, j| noise(18, i, j));
    let y = design(120, 3, |i, j| noise(19, i, j) + x.row(i)[j]);
    let column = |j: usize| -> Vec<f32> { (0..120).map(|i| y.row(i)[j]).collect() };
    let ols = LinearRegression::new().fit_multi(&x, &y, &device).expect("fits");
    let ridge = Ridge::new().fit_multi(&x, &y, &device).expect("fits");
    let all = ols.predict_multi(&x, &device).expect("predicts");
    let mut total = 0.0;
    for j in 0..3 {
        let alone = LinearRegression::new().fit(&x, &column(j), &device).expect("fits");
        assert_eq!(&ols.coef()[3 * j..3 * j + 3], alone.coef());
        assert_eq!(ols.intercepts()[j], alone.intercept());
        let predicted = alone.predict(&x, &device).expect("predicts");
        assert!((0..120).all(|i| all.row(i)[j] == predicted[i]));
        total += alone.score(&x, &column(j), &device).expect("scores");
        let alone = Ridge::new().fit(&x, &column(j), &device).expect("fits");
        assert_eq!(&ridge.coef()[3 * j..3 * j + 3], alone.coef());
    }
    let score = ols.score_multi(&x, &y, &device).expect("scores");
    assert!((score - total / 3.0).abs() < 1e-12 && score > 0.3);
    assert!(ols.predict(&x, &device).unwrap_err().to_string().contains("predict_multi"));
}
