//! LU, QR, SVD, triangular systems and least squares: that factors give back their matrix, that what must be orthogonal is,
//! that hostile input ends in a named error, and that threads change no bit.

use proptest::prelude::*;

use super::conformance::{KINDS, matrix, unit};
use super::*;
use crate::conformance::test_devices;

fn wide(a: &Buffer<f32>) -> Vec<f64> {
    a.read().expect("reads").iter().map(|&x| f64::from(x)).collect()
}

fn upload(device: &Device, data: &[f32]) -> Buffer<f32> {
    Buffer::upload(device, data).expect("fits")
}

fn host(data: &[f32]) -> Buffer<f32> {
    upload(&Device::host(), data)
}

fn double(a: &[f32]) -> Vec<f64> {
    a.iter().map(|&x| f64::from(x)).collect()
}

/// (m, k) times (k, n).
fn product(a: &[f64], b: &[f64], (m, k, n): (usize, usize, usize)) -> Vec<f64> {
    (0..m * n).map(|at| (0..k).map(|t| a[at / n * k + t] * b[t * n + at % n]).sum()).collect()
}

fn transposed(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    dense::transpose(a, m, n)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (x, y)| m.max((x - y).abs()))
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Largest |Q'Q - I| for the columns of an (m, k) matrix.
fn skew(q: &[f64], m: usize, k: usize) -> f64 {
    let mut gram = product(&transposed(q, m, k), q, (k, m, k));
    (0..k).for_each(|i| gram[i * k + i] -= 1.0);
    largest(&gram)
}

/// The matrix of a kind, brought to magnitudes at which single precision flushes nothing that counts here.
fn sizeable(kind: &str, m: usize, n: usize) -> Vec<f32> {
    let grow = if kind == "tiny" { f32::from_bits((127 + 100) << 23) } else { 1.0 };
    matrix(kind, m, n).iter().map(|x| x * grow).collect()
}

const ROUNDING: f64 = 1.0 / 8_388_608.0;

fn check_lu(a: &[f32], m: usize, n: usize) {
    let k = m.min(n);
    let found = lu(&Device::host(), &host(a), m, n).expect("finite");
    let (packed, order) = (wide(&found.factors), found.order.read().expect("reads"));
    let mut seen = order.clone();
    seen.sort_unstable();
    assert!(seen.iter().copied().eq(0..m as u32), "{order:?} is no permutation");
    let l: Vec<f64> = (0..m * k)
        .map(|at| match (at / k).cmp(&(at % k)) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => packed[at / k * n + at % k],
        })
        .collect();
    let u: Vec<f64> = (0..k * n).map(|at| if at / n <= at % n { packed[at] } else { 0.0 }).collect();
    assert!(largest(&l) <= 1.0, "a multiplier above 1");
    let back = product(&l, &u, (m, k, n));
    for (i, row) in order.iter().enumerate() {
        for j in 0..n {
            let bound: f64 = (0..k).map(|t| (l[i * k + t] * u[t * n + j]).abs()).sum::<f64>() * ROUNDING + 1e-37;
            let want = f64::from(a[*row as usize * n + j]);
            assert!((back[i * n + j] - want).abs() <= bound, "({i}, {j}) of {m}x{n}");
        }
    }
}

fn check_qr(a: &[f32], m: usize, n: usize) {
    let k = m.min(n);
    let (q, r) = qr(&Device::host(), &host(a), m, n).expect("finite");
    let (q, r) = (wide(&q), wide(&r));
    assert!((0..k).all(|i| r[i * n + i] >= 0.0 && r[i * n..i * n + i].iter().all(|x| *x == 0.0)), "{m}x{n}: R");
    assert!(skew(&q, m, k) < 4.0 * ROUNDING, "{m}x{n}: {:e}", skew(&q, m, k));
    let a = double(a);
    // Column by column, as the lengths of columns may lie far apart.
    let back = product(&q, &r, (m, k, n));
    for j in 0..n {
        let column = |x: &[f64]| -> Vec<f64> { (0..m).map(|i| x[i * n + j]).collect() };
        let length = column(&a).iter().map(|x| x * x).sum::<f64>().sqrt();
        let off = distance(&column(&back), &column(&a));
        assert!(off <= 2.0 * ROUNDING * length + 1e-37, "column {j} of {m}x{n}: {off:e} of {length:e}");
    }
}

fn check_svd(a: &[f32], m: usize, n: usize) {
    let k = m.min(n);
    let found = svd(&Device::host(), &host(a), m, n).expect("converges");
    let (u, values, vt) = (wide(&found.u), wide(&found.values), wide(&found.vt));
    assert!(values.windows(2).all(|w| w[0] >= w[1]) && values.iter().all(|x| *x >= 0.0), "{values:?}");
    assert!(skew(&u, m, k) < 4.0 * ROUNDING && skew(&transposed(&vt, k, n), n, k) < 4.0 * ROUNDING, "{m}x{n}");
    for row in vt.chunks(n.max(1)) {
        assert_eq!(row.iter().find(|x| x.abs() == largest(row)), Some(&largest(row)), "sign");
    }
    let scaled: Vec<f64> = u.iter().enumerate().map(|(at, x)| x * values[at % k]).collect();
    let off = distance(&product(&scaled, &vt, (m, k, n)), &double(a));
    assert!(off <= 4.0 * ROUNDING * values.first().unwrap_or(&0.0), "{m}x{n}: {off:e}");
    let alone = singular_values(&Device::host(), &host(a), m, n).expect("converges");
    assert_eq!(wide(&alone), values);
}

/// The four conditions of Moore and Penrose, on the solution for the identity.
fn check_lstsq(a: &[f32], m: usize, n: usize) {
    let identity: Vec<f32> = (0..m * m).map(|at| f32::from(u8::from(at / m == at % m))).collect();
    let found = lstsq(&Device::host(), &host(a), &host(&identity), m, n, m, None).expect("converges");
    let (a, x) = (double(a), wide(&found.solution));
    let values = wide(&found.singular_values);
    assert_eq!(values.len(), m.min(n));
    let condition =
        values.first().map_or(1.0, |first| first / values[..found.rank].last().unwrap_or(first).max(1e-300));
    let bound = 8.0 * ROUNDING * condition * (m.max(n) as f64);
    let (ax, xa) = (product(&a, &x, (m, n, m)), product(&x, &a, (n, m, n)));
    assert!(distance(&ax, &transposed(&ax, m, m)) <= bound && distance(&xa, &transposed(&xa, n, n)) <= bound);
    assert!(distance(&product(&ax, &a, (m, m, n)), &a) <= bound * largest(&a).max(1e-300), "A X A = A");
    assert!(distance(&product(&xa, &x, (n, n, m)), &x) <= bound * largest(&x).max(1e-300), "X A X = X");
    // Residuals are the diagonal of (I - A X)'(I - A X), which is I - A X for a projection.
    for (i, residual) in wide(&found.residuals).into_iter().enumerate() {
        assert!((residual - (1.0 - ax[i * m + i])).abs() <= bound, "residual {i}");
    }
}

#[test]
// pathway test: P136
fn factors_give_back_their_matrix() {
    for (m, n) in [(1, 1), (2, 2), (5, 3), (3, 5), (64, 64), (65, 63), (130, 70), (40, 150), (129, 129)] {
        for kind in KINDS {
            let a = sizeable(kind, m, n);
            check_lu(&a, m, n);
            check_qr(&a, m, n);
            check_svd(&a, m, n);
            // A cut in the middle of a scale without gaps says nothing about the four conditions.
            if kind != "wide" {
                check_lstsq(&a, m, n);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_shape_decomposes(m in 1usize..40, n in 1usize..40, seed in 0u32..1000, rank in 1usize..6, low in any::<bool>()) {
        let full = |i: usize, j: usize| unit(seed, i * n + j);
        let of_rank = |i: usize, j: usize| {
            let whole = |seed: u32, at: usize| (unit(seed, at) * 8.0).round();
            (0..rank).map(|k| whole(seed, i * rank + k) * whole(seed + 1, k * n + j)).sum()
        };
        let a: Vec<f32> = (0..m * n).map(|at| if low { of_rank(at / n, at % n) } else { full(at / n, at % n) }).collect();
        check_lu(&a, m, n);
        check_qr(&a, m, n);
        check_svd(&a, m, n);
        if low {
            check_lstsq(&a, m, n);
            let found = lstsq(&Device::host(), &host(&a), &host(&vec![1.0; m]), m, n, 1, None).expect("converges");
            prop_assert!(found.rank <= rank);
        }
    }

    #[test]
    fn solutions_solve(n in 1usize..90, nrhs in 1usize..5, seed in 0u32..1000, bits in 0u8..8) {
        let a: Vec<f32> = (0..n * n).map(|k| unit(seed, k) + f32::from(u8::from(k / n == k % n)) * 3.0).collect();
        let b: Vec<f32> = (0..n * nrhs).map(|k| unit(seed + 1, k)).collect();
        let x = wide(&solve(&Device::host(), &host(&a), &host(&b), n, nrhs).expect("regular"));
        let off = distance(&product(&double(&a), &x, (n, n, nrhs)), &double(&b));
        prop_assert!(off <= 8.0 * n as f64 * ROUNDING * largest(&x).max(1.0), "{off:e}");
        let which = Triangle { upper: bits & 1 != 0, transposed: bits & 2 != 0, unit_diagonal: bits & 4 != 0 };
        let small: Vec<f32> = a.iter().enumerate().map(|(k, x)| if k / n == k % n { *x } else { x / 16.0 }).collect();
        let t: Vec<f64> = (0..n * n).map(|k| match ((k / n).cmp(&(k % n)), which.upper) {
            (std::cmp::Ordering::Equal, _) if which.unit_diagonal => 1.0,
            (std::cmp::Ordering::Equal, _) | (std::cmp::Ordering::Less, true) | (std::cmp::Ordering::Greater, false) => f64::from(small[k]),
            _ => 0.0,
        }).collect();
        let t = if which.transposed { transposed(&t, n, n) } else { t };
        let x = wide(&triangular_solve(&Device::host(), &host(&small), &host(&b), n, nrhs, which).expect("regular"));
        let off = distance(&product(&t, &x, (n, n, nrhs)), &double(&b));
        prop_assert!(off <= 8.0 * n as f64 * ROUNDING * largest(&x).max(1.0), "{off:e}");
    }
}

#[test]
// pathway test: P132
fn threads_change_no_bit() {
    let (m, n) = (330, 270);
    let run = |device: &Device| -> Vec<Vec<f32>> {
        let (a, square) = (upload(device, &matrix("plain", m, n)), upload(device, &matrix("plain", n, n)));
        let repeated = upload(device, &matrix("repeated", m, n));
        let b = upload(device, &matrix("plain", m, 150));
        let (q, r) = qr(device, &a, m, n).expect("finite");
        let s = svd(device, &a, m, n).expect("converges");
        let x = lstsq(device, &repeated, &b, m, n, 150, None).expect("converges");
        let buffers =
            [lu(device, &a, m, n).expect("finite").factors, inverse(device, &square, n).expect("regular"), q, r, s.u];
        let more = [s.values, s.vt, x.solution, x.residuals, x.singular_values];
        buffers.iter().chain(&more).map(|b| b.read().expect("reads")).collect()
    };
    let one = run(&Device::host_with_threads(1).expect("one thread"));
    for threads in [2, 7, 64] {
        let other = run(&Device::host_with_threads(threads).expect("a few threads are granted"));
        assert!(one == other, "{threads} threads moved a bit");
    }
}

#[test]
// pathway test: P135
fn known_answers() {
    let device = Device::host();
    // Equal pivots: the lowest row wins.
    let a = host(&[1.0, 2.0, -2.0, 1.0, 2.0, 5.0]);
    let found = lu(&device, &a, 3, 2).expect("finite");
    assert_eq!(found.order.read().expect("reads"), [1, 2, 0]);
    assert_eq!(found.factors.read().expect("reads"), [-2.0, 1.0, -1.0, 6.0, -0.5, 2.5 / 6.0]);
    // A constant shift of the identity has every value twice or more; ones have a single value.
    let s = svd(&device, &host(&[1.0; 12]), 4, 3).expect("converges");
    let values = s.values.read().expect("reads");
    assert!((values[0] - 12f32.sqrt()).abs() < 1e-6 && values[1..].iter().all(|x| *x < 1e-15), "{values:?}");
    let zero = svd(&device, &host(&[0.0; 6]), 2, 3).expect("converges");
    assert_eq!(zero.values.read().expect("reads"), [0.0, 0.0]);
    assert_eq!(zero.vt.read().expect("reads"), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    // Determinants and their logarithms.
    let diagonal = |x: &[f32]| -> Buffer<f32> {
        let n = x.len();
        host(&(0..n * n).map(|at| if at / n == at % n { x[at / n] } else { 0.0 }).collect::<Vec<_>>())
    };
    let log = |x: &[f32]| slogdet(&device, &diagonal(x), x.len()).expect("finite");
    assert_eq!(log(&[]), SignLogDet { sign: 1.0, log: 0.0 });
    assert_eq!(log(&[0.0, 3.0]), SignLogDet { sign: 0.0, log: f32::NEG_INFINITY });
    // The nearest float to e lies so far below it that its logarithm is the one below 1.
    assert_eq!(log(&[std::f32::consts::E]).log, 1.0 - f32::EPSILON / 2.0);
    assert_eq!(log(&[-2.0, 0.5]), SignLogDet { sign: -1.0, log: 0.0 });
    assert_eq!(log(&[1.0 + f32::EPSILON]).log, f32::EPSILON.next_down());
    assert_eq!(log(&[1e-30; 5]).log, -345.387_76);
    assert_eq!(determinant(&device, &diagonal(&[1e30, 1e30, 1e-30, 1e-30, -2.0]), 5).expect("fits"), -2.0);
    assert_eq!(determinant(&device, &diagonal(&[1e-30; 5]), 5).expect("fits"), 0.0);
    let swapped = host(&[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(determinant(&device, &swapped, 3).expect("fits"), 1.0);
}

/// What a short residual hides: the rank, the shortest of many solutions, the cut.
#[test]
fn least_squares_of_low_rank() {
    let device = Device::host();
    // Columns 0 and 1 are one: the weight is shared.
    let a = host(&[1.0, 1.0, 0.0, 2.0, 2.0, 1.0, 3.0, 3.0, 5.0, 4.0, 4.0, 1.0]);
    let b = host(&[2.0, 5.0, 11.0, 9.0]);
    let found = lstsq(&device, &a, &b, 4, 3, 1, None).expect("converges");
    assert_eq!((found.rank, found.solution.read().expect("reads")), (2, vec![1.0, 1.0, 1.0]));
    assert!(found.residuals.read().expect("reads")[0] < 1e-25);
    // Underdetermined: the shortest.
    let wide = lstsq(&device, &host(&[1.0, 2.0, 2.0]), &host(&[9.0]), 1, 3, 1, None).expect("converges");
    assert_eq!(wide.solution.read().expect("reads"), [1.0, 2.0, 2.0]);
    // The cut is part of the question, and may be zero.
    let graded = host(&[1.0, 0.0, 0.0, 1.0 / 1024.0]);
    let y = host(&[1.0, 1.0]);
    let rank = |rcond: f32| {
        let found = lstsq(&device, &graded, &y, 2, 2, 1, Some(rcond)).expect("converges");
        (found.rank, found.solution.read().expect("reads")[1])
    };
    assert_eq!((rank(0.0), rank(1e-2)), ((2, 1024.0), (1, 0.0)));
    let none = lstsq(&device, &host(&[]), &y, 2, 0, 1, None).expect("nothing to fit");
    assert_eq!((none.rank, none.solution.len(), none.residuals.read().expect("reads")), (0, 0, vec![2.0]));
    assert_eq!(
        lstsq(&device, &graded, &y, 2, 2, 1, Some(f32::NAN)).unwrap_err().to_string(),
        "parameter `rcond` must be finite and not negative, got NaN"
    );
}

#[test]
fn hostile_input_ends_in_a_named_error() {
    for device in test_devices() {
        let up = |data: &[f32]| upload(&device, data);
        let text = |e: Error| e.to_string();
        let bad = up(&[1.0, 2.0, f32::NAN, 4.0]);
        let said = "`a` holds NaN at row 1, column 0; only finite values are accepted";
        let good = up(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(text(lu(&device, &bad, 2, 2).unwrap_err()), said);
        assert_eq!(text(solve(&device, &bad, &good, 2, 2).unwrap_err()), said);
        assert_eq!(text(inverse(&device, &bad, 2).unwrap_err()), said);
        assert_eq!(text(determinant(&device, &bad, 2).unwrap_err()), said);
        assert_eq!(text(qr(&device, &bad, 2, 2).unwrap_err()), said);
        assert_eq!(text(svd(&device, &bad, 2, 2).unwrap_err()), said);
        assert_eq!(text(singular_values(&device, &bad, 2, 2).unwrap_err()), said);
        assert_eq!(text(lstsq(&device, &bad, &good, 2, 2, 2, None).unwrap_err()), said);
        let infinite = up(&[f32::INFINITY, 0.0]);
        let said = "`b` holds inf at row 0, column 0; only finite values are accepted";
        assert_eq!(text(solve(&device, &good, &infinite, 2, 1).unwrap_err()), said);
        assert_eq!(text(lstsq(&device, &good, &infinite, 2, 2, 1, None).unwrap_err()), said);
        // Only the triangle that is asked for is looked at.
        let which = Triangle { upper: true, ..Triangle::default() };
        assert!(triangular_solve(&device, &bad, &good, 2, 2, which).is_ok());
        let said = "`t` holds NaN at row 1, column 0; only finite values are accepted";
        assert_eq!(text(triangular_solve(&device, &bad, &good, 2, 2, Triangle::default()).unwrap_err()), said);
        // Singular matrices name their pivot.
        let flat = up(&[1.0, 2.0, 2.0, 4.0]);
        assert_eq!(text(inverse(&device, &flat, 2).unwrap_err()), "matrix is singular: pivot 1 is zero");
        let hollow = up(&[0.0, 2.0, 2.0, 0.0]);
        let singular = triangular_solve(&device, &hollow, &good, 2, 2, Triangle::default()).unwrap_err();
        assert!(matches!(singular, Error::Singular { pivot: 0 }), "{singular}");
        let unit_diagonal = Triangle { unit_diagonal: true, ..Triangle::default() };
        assert!(triangular_solve(&device, &hollow, &good, 2, 2, unit_diagonal).is_ok());
        // Shapes and sizes.
        assert_eq!(text(qr(&device, &good, 3, 2).unwrap_err()), "`a` must be 6 elements, got 4");
        assert_eq!(text(solve(&device, &good, &flat, 2, 3).unwrap_err()), "`b` must be 6 elements, got 4");
        assert!(matches!(svd(&device, &good, 1 << 20, 1 << 20).unwrap_err(), Error::Data(DataError::TooLarge { .. })));
        assert!(matches!(
            lstsq(&device, &up(&[]), &up(&[]), 0, 1 << 20, 1 << 20, None).unwrap_err(),
            Error::Data(DataError::TooLarge { .. })
        ));
        // What single precision does not hold.
        let big = up(&[3e38, 3e38, 3e38, -3e38]);
        assert_eq!(
            text(svd(&device, &big, 2, 2).unwrap_err()),
            "stage `svd.values` computed a non-finite value at element 0"
        );
        assert_eq!(text(qr(&device, &big, 2, 2).unwrap_err()), "stage `qr.r` computed a non-finite value at element 0");
        assert_eq!(
            text(determinant(&device, &big, 2).unwrap_err()),
            "stage `determinant` computed a non-finite value at element 0"
        );
        let small = up(&[1e-38, 0.0, 0.0, 1e-38]);
        assert_eq!(
            text(solve(&device, &small, &up(&[1e3, 0.0]), 2, 1).unwrap_err()),
            "stage `solve.solution` computed a non-finite value at element 0"
        );
    }
}

#[test]
fn the_ends_of_the_range() {
    let device = Device::host();
    for scale in [1e-38f32, 1e-18, 1e18, 1e37] {
        let a: Vec<f32> = [2.0, 1.0, 0.5, -1.0, 3.0, 0.25, 0.125, 1.0, 1.5].iter().map(|x| x * scale).collect();
        let b: Vec<f32> = [1.0, 2.0, 3.0].iter().map(|x| x * scale).collect();
        let x = wide(&solve(&device, &host(&a), &host(&b), 3, 1).expect("regular"));
        // The squared residual of an exact fit, 1e-32 of the squared data, must fit as well.
        if scale < 1e30 {
            let fitted = wide(&lstsq(&device, &host(&a), &host(&b), 3, 3, 1, None).expect("converges").solution);
            assert!(distance(&x, &fitted) < 1e-6, "{scale:e}: {x:?} and {fitted:?}");
        }
        assert!(distance(&product(&double(&a), &x, (3, 3, 1)), &double(&b)) < 1e-6 * f64::from(scale));
        check_qr(&a, 3, 3);
        if scale > 1e-30 {
            check_svd(&a, 3, 3);
        }
    }
    // Subnormals are numbers on the way in, and zero on the way out.
    let (one, two) = (f32::from_bits(1 << 16), f32::from_bits(2 << 16));
    let tiny = host(&[one, 0.0, 0.0, two]);
    assert_eq!(svd(&device, &tiny, 2, 2).expect("converges").values.read().expect("reads"), [0.0, 0.0]);
    assert_eq!(solve(&device, &tiny, &host(&[one, one]), 2, 1).expect("regular").read().expect("reads"), [1.0, 0.5]);
}
