//! What conformance cannot say: that factors and eigenvectors are right, and that errors are named.

use super::conformance::symmetric;
use super::*;
use crate::conformance::{Outcome, test_devices};

fn wide(a: &[f32]) -> Vec<f64> {
    a.iter().map(|&x| f64::from(x)).collect()
}

/// The full symmetric matrix whose lower triangle `a` holds.
fn mirrored(a: &[f32], n: usize) -> Vec<f64> {
    (0..n * n).map(|at| f64::from(a[(at / n).max(at % n) * n + (at / n).min(at % n)])).collect()
}

/// Largest |V A V' - diag(values)| and |V V' - I|.
fn residuals(a: &[f64], found: &Eigen) -> (f64, f64) {
    let n = found.values.len();
    let v = &found.vectors;
    let product = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(a, b)| a * b).sum() };
    let (mut off, mut skew) = (0.0f64, 0.0f64);
    for i in 0..n {
        let vi = &v[i * n..(i + 1) * n];
        let image: Vec<f64> = (0..n).map(|r| product(&a[r * n..(r + 1) * n], vi)).collect();
        for j in 0..n {
            let vj = &v[j * n..(j + 1) * n];
            let (value, unit) = if i == j { (found.values[i], 1.0) } else { (0.0, 0.0) };
            off = off.max((product(&image, vj) - value).abs());
            skew = skew.max((product(vi, vj) - unit).abs());
        }
    }
    (off, skew)
}

#[test]
// pathway test: P81
fn conformance_on_every_device() {
    for case in super::conformance::cases() {
        for device in test_devices() {
            let outcome = case.check(&device);
            assert!(matches!(outcome, Outcome::Equal), "{} {} on {device:?}: {outcome:?}", case.op, case.name);
        }
    }
}

#[test]
fn a_factor_gives_back_its_matrix() {
    let n = 150;
    let a = symmetric(n, 31, 30.0, |_| 0);
    let l = wide(&host::cholesky(&a, n, crate::sabotage::Arm::None).expect("diagonally dominant"));
    for i in 0..n {
        for j in 0..=i {
            let back: f64 = (0..=j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            assert!((back - f64::from(a[i * n + j])).abs() < 2e-5, "({i}, {j})");
        }
    }
}

#[test]
fn eigenvectors_diagonalise() {
    let device = Device::host();
    for (n, diagonal) in [(1, 0.0), (2, 0.0), (3, 1.0), (17, 0.0), (64, 5.0), (200, 0.0)] {
        let a = symmetric(n, 40 + n as u32, diagonal, |_| 0);
        let found = symmetric_eigen_f64(&device, &wide(&a), n).expect("converges");
        assert!(found.values.windows(2).all(|w| w[0] >= w[1]), "{n}: not descending");
        let (off, skew) = residuals(&mirrored(&a, n), &found);
        assert!(off < 1e-12 && skew < 1e-13, "{n}: {off:e}, {skew:e}");
    }
}

#[test]
fn special_spectra() {
    let device = Device::host();
    let n = 12;
    let at = |f: &dyn Fn(usize, usize) -> f64| -> Vec<f64> { (0..n * n).map(|k| f(k / n, k % n)).collect() };
    let solve = |a: &[f64]| {
        let found = symmetric_eigen_f64(&device, a, n).expect("converges");
        let size = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let (off, skew) = residuals(a, &found);
        assert!(off <= 1e-14 * size * n as f64 && skew < 1e-13, "{off:e} of {size:e}, {skew:e}");
        found.values
    };
    assert_eq!(solve(&at(&|_, _| 0.0)), vec![0.0; n]);
    assert_eq!(solve(&at(&|i, j| f64::from(i == j))), vec![1.0; n]);
    let ones = solve(&at(&|_, _| 1.0));
    assert!((ones[0] - n as f64).abs() < 1e-13 && ones[1..].iter().all(|x| x.abs() < 1e-13), "{ones:?}");
    // The graph Laplacian of a path: 0 and n - 1 positive values, adding up to the trace.
    let path = solve(&at(&|i, j| match i.abs_diff(j) {
        0 if i == 0 || i == n - 1 => 1.0,
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    }));
    assert!(path[n - 1].abs() < 1e-14 && (path.iter().sum::<f64>() - 2.0 * (n - 1) as f64).abs() < 1e-13);
    // The ends of the range.
    solve(&at(&|i, j| if i == j { 1e300 } else { 1e299 }));
    solve(&at(&|i, j| if i == j { 1e-300 } else { 1e-301 }));
    solve(&at(&|i, j| 1.0 / (1u64 << (3 * (i + j).min(20))) as f64));
}

#[test]
// pathway test: P83
fn signs_and_order_in_single_precision() {
    let device = Device::host();
    let a = [2.0f32, 9.0, 9.0, 0.0, 2.0, 9.0, -1.0, -1.0, 1.0];
    let (values, vectors) =
        symmetric_eigen(&device, &Buffer::upload(&device, &a).expect("fits"), 3).expect("converges");
    let (values, vectors) = (values.read().expect("host"), vectors.read().expect("host"));
    // Lower triangle: [[2, 0, -1], [0, 2, -1], [-1, -1, 1]] has the values 3, 2, 0.
    for (got, want) in values.iter().zip([3.0, 2.0, 0.0]) {
        assert!((got - want).abs() < 1e-6, "{values:?}");
    }
    for row in vectors.chunks(3) {
        let peak = row.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        assert_eq!(row.iter().find(|x| x.abs() == peak), Some(&peak), "{row:?}");
    }
}

#[test]
// pathway test: P82
fn threads_change_no_bit_of_a_shared_decomposition() {
    // Step by step, and by panels.
    for n in [300, 1030] {
        threads_change_no_bit(n);
    }
}

fn threads_change_no_bit(n: usize) {
    let a = wide(&symmetric(n, 77, 0.0, |_| 0));
    let one = symmetric_eigen_f64(&Device::host_with_threads(1).expect("one thread"), &a, n).expect("converges");
    for threads in [2, 7, 64] {
        let device = Device::host_with_threads(threads).expect("a few threads are granted");
        let other = symmetric_eigen_f64(&device, &a, n).expect("converges");
        assert!(one == other, "{threads} threads moved a bit");
    }
}

#[test]
fn errors_are_named() {
    for device in test_devices() {
        let upload = |data: &[f32]| Buffer::upload(&device, data).expect("fits");
        let text = |e: Error| e.to_string();
        let a = upload(&[1.0, 0.0, 0.0, -2.0]);
        assert_eq!(text(cholesky(&device, &a, 2).unwrap_err()), "matrix is not positive definite: pivot 1 is -2e0");
        assert_eq!(text(cholesky(&device, &a, 3).unwrap_err()), "`a` must be 9 elements, got 4");
        assert!(matches!(cholesky(&device, &a, 1 << 20).unwrap_err(), Error::Data(DataError::TooLarge { .. })));
        assert_eq!(text(cholesky_solve(&device, &a, &a, 2, 1).unwrap_err()), "`b` must be 2 elements, got 4");
        // Only the lower triangle counts.
        assert!(symmetric_eigen(&device, &upload(&[1.0, f32::NAN, 0.0, 1.0]), 2).is_ok());
        let bad = upload(&[1.0, 0.0, f32::INFINITY, 1.0]);
        assert_eq!(
            text(symmetric_eigen(&device, &bad, 2).unwrap_err()),
            "stage `symmetric_eigen.input` computed a non-finite value at element 2"
        );
        let big = upload(&[3e38, 0.0, 3e38, 3e38]);
        assert_eq!(
            text(symmetric_eigen(&device, &big, 2).unwrap_err()),
            "stage `symmetric_eigen.values` computed a non-finite value at element 0"
        );
    }
}

#[test]
// pathway test: P80
fn arms_move_factors() {
    use crate::sabotage::Arm;
    let n = 97;
    let plain = symmetric(n, 3, 60.0, |_| 0);
    let tiny = symmetric(n, 3, 60.0, |i| -((i % 61) as i32) - 1);
    for (arm, a) in [
        (Arm::FuseProducts, &plain),
        (Arm::DescendingLeaf, &plain),
        (Arm::KeepSubnormals, &tiny),
        (Arm::GuardOff, &tiny),
    ] {
        let straight = host::cholesky(a, n, Arm::None).expect("diagonally dominant");
        let bent = host::cholesky(a, n, arm).expect("diagonally dominant");
        assert!(straight != bent, "{arm:?} is inert in cholesky");
    }
    let l = host::cholesky(&plain, n, Arm::None).expect("diagonally dominant");
    let b: Vec<f32> = (0..n).map(|i| super::conformance::unit(8, i)).collect();
    for arm in [Arm::FuseProducts, Arm::DescendingLeaf] {
        assert!(
            host::solve(&l, &b, n, 1, Arm::None) != host::solve(&l, &b, n, 1, arm),
            "{arm:?} is inert in the solve"
        );
    }
}

#[test]
fn the_first_vectors_are_those_of_all() {
    let device = Device::host();
    for (n, kept) in [(1, 0), (40, 3), (200, 17), (5, 9)] {
        let a = Buffer::upload(&device, &symmetric(n, 4, 3.0, |_| 0)).expect("fits");
        let (values, all) = symmetric_eigen(&device, &a, n).expect("converges");
        let values = values.read().expect("host");
        let shown = |v: &[f32]| {
            assert_eq!(v, values);
            kept
        };
        let (_, first) = symmetric_eigen_top(&device, &a, n, shown).expect("converges");
        assert_eq!(first.read().expect("host"), all.read().expect("host")[..kept.min(n) * n]);
    }
}
