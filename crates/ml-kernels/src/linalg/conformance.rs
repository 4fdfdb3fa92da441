//! Conformance cases of `cholesky`, `cholesky_solve` and `symmetric_eigen`, and what the others' cases are made of.

use super::*;
use crate::conformance::{Case, bytes, limited, scramble};

/// A number of [-1, 1), the same everywhere.
pub(super) fn unit(seed: u32, i: usize) -> f32 {
    (scramble(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i as u32)) >> 8) as f32 / 8_388_608.0 - 1.0
}

pub(super) fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// A symmetric matrix with `diagonal` added to its diagonal, row and column i times 2^scale(i). The upper triangle is
/// wrong on purpose: it must not be read.
pub(super) fn symmetric(n: usize, seed: u32, diagonal: f32, scale: impl Fn(usize) -> i32) -> Vec<f32> {
    let mut a = vec![0.0f32; n * n];
    for i in 0..n {
        for j in 0..n {
            let raw = unit(seed, i * n + j) + if i == j { diagonal } else { 0.0 };
            a[i * n + j] = ml_core::canon::canon(raw * power(scale(i)) * power(scale(j)));
        }
    }
    a
}

/// The (m, n) matrices on which decompositions are compared: ordinary, full of ties, far apart in scale, tiny, of low rank.
pub(super) const KINDS: [&str; 5] = ["plain", "ties", "wide", "tiny", "repeated"];

pub(super) fn matrix(kind: &str, m: usize, n: usize) -> Vec<f32> {
    let at = |i: usize, j: usize| {
        let raw = unit(33, i * n + j);
        match kind {
            "ties" => (raw * 2.0).round(),
            // Rows and columns from 1e-18 to 1e18.
            "wide" => {
                raw * power((scramble(i as u32) % 61) as i32 - 30) * power((scramble(!j as u32) % 61) as i32 - 30)
            }
            "tiny" => raw * power(-120),
            "repeated" => unit(34, i * n + j / 2),
            _ => raw,
        }
    };
    (0..m * n).map(|k| ml_core::canon::canon(at(k / n.max(1), k % n.max(1)))).collect()
}

/// A result, or the one failure that an input is meant to have.
pub(super) fn outcome_of(result: Result<Vec<u8>>) -> Result<Vec<u8>> {
    match result {
        Err(Error::Singular { pivot }) => Ok(bytes(&[u32::MAX, pivot as u32])),
        Err(Error::NonFinite { index, .. }) => Ok(bytes(&[u32::MAX - 1, index as u32])),
        Err(Error::Data(DataError::NonFinite { row, col, .. })) => Ok(bytes(&[u32::MAX - 2, row as u32, col as u32])),
        other => other,
    }
}

fn outcome(factor: Result<Vec<f32>>) -> Result<Vec<u8>> {
    match factor {
        Ok(l) => Ok(bytes(&l)),
        Err(Error::NotPositiveDefinite { pivot, value }) => Ok(bytes(&[u32::MAX, pivot as u32, value.to_bits()])),
        Err(other) => Err(other),
    }
}

fn factor(name: &str, n: usize, a: Vec<f32>, small: bool) -> Case {
    let same = a.clone();
    Case {
        op: "cholesky",
        name: format!("{name} {n}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let a = Buffer::upload(&device, &a)?;
            outcome(cholesky(&device, &a, n).and_then(|l| l.read()))
        }),
        reference: Box::new(move || outcome(reference::cholesky(&same, n).map_err(Error::from)).unwrap_or_default()),
    }
}

fn solution(name: &str, n: usize, nrhs: usize, scale: impl Fn(usize) -> i32, small: bool) -> Case {
    let mut l = symmetric(n, 5, 0.0, |_| 0);
    for i in 0..n {
        for j in 0..n {
            let raw = if i == j { 1.25 + 0.25 * l[i * n + i] } else { l[i * n + j] / 8.0 };
            l[i * n + j] = ml_core::canon::canon(raw * power(scale(i)));
        }
    }
    let b: Vec<f32> = (0..n * nrhs).map(|i| unit(9, i) * power(scale(i / nrhs))).map(ml_core::canon::canon).collect();
    let (l_same, b_same) = (l.clone(), b.clone());
    Case {
        op: "cholesky_solve",
        name: format!("{name} {n}x{nrhs}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (l, b) = (Buffer::upload(&device, &l)?, Buffer::upload(&device, &b)?);
            Ok(bytes(&cholesky_solve(&device, &l, &b, n, nrhs)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::solve(&l_same, &b_same, n, nrhs))),
    }
}

fn eigen_case(name: &str, n: usize, a: Vec<f32>, small: bool) -> Case {
    let same = a.clone();
    let join = |values: Vec<f32>, vectors: Vec<f32>| bytes(&[values, vectors].concat());
    Case {
        op: "symmetric_eigen",
        name: format!("{name} {n}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (values, vectors) = symmetric_eigen(&device, &Buffer::upload(&device, &a)?, n)?;
            Ok(join(values.read()?, vectors.read()?))
        }),
        reference: Box::new(move || {
            let wide: Vec<f64> = same.iter().map(|&x| f64::from(x)).collect();
            let found = eigen_reference::decompose(&wide, n).and_then(|found| eigen::to_single(&found).ok());
            found.map(|(values, vectors)| join(values, vectors)).unwrap_or_default()
        }),
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let plain = |_: usize| 0;
    // Products of rows fall on both sides of the flush bound.
    let hostile = |i: usize| (scramble(i as u32) % 61) as i32 - 62;
    let wide = |i: usize| (scramble(i as u32) % 79) as i32 - 39;
    let mut cases = Vec::new();
    for n in [0usize, 1, 2, 5, 31, 32, 33, 65, 130] {
        cases.push(factor("plain", n, symmetric(n, 1, n as f32, plain), false));
    }
    for small in [false, true] {
        cases.push(factor("plain", 71, symmetric(71, 2, 40.0, plain), small));
        cases.push(factor("subnormal", 97, symmetric(97, 3, 60.0, hostile), small));
        cases.push(factor("wide", 97, symmetric(97, 3, 60.0, wide), small));
        cases.push(factor("indefinite", 90, symmetric(90, 4, 3.0, plain), small));
        cases.push(solution("plain", 71, 5, plain, small));
        cases.push(solution("subnormal", 90, 3, hostile, small));
        cases.push(eigen_case("plain", 40, symmetric(40, 21, 0.0, plain), small));
    }
    for n in [0usize, 1, 2, 33] {
        cases.push(eigen_case("plain", n, symmetric(n, 21, 0.0, plain), false));
    }
    for kind in KINDS {
        cases.push(eigen_case(kind, 170, matrix(kind, 170, 170), false));
    }
    let mut flat = vec![1.0f32; 9];
    cases.push(factor("first column repeated", 3, flat.clone(), false));
    flat[0] = -1.0;
    cases.push(factor("negative", 3, flat.clone(), false));
    flat[0] = f32::NAN;
    cases.push(factor("not a number", 3, flat.clone(), false));
    flat[0] = 1.0;
    flat[3] = f32::MAX;
    cases.push(factor("overflow", 3, flat, false));
    for (n, nrhs) in [(0, 3), (3, 0), (1, 1), (33, 1), (64, 40), (20, 300)] {
        cases.push(solution("plain", n, nrhs, plain, false));
    }
    cases.extend(lu::conformance::cases());
    cases.extend(qr::conformance::cases());
    cases.extend(svd::conformance::cases());
    // Beyond one leaf.
    cases.push(factor("two leaves", 1056, symmetric(1056, 6, 700.0, plain), false));
    cases.push(solution("three leaves", 2200, 1, |i| -(i as i32 / 300), false));
    cases
}
