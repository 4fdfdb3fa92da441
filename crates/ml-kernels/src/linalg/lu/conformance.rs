//! Conformance cases of `lu`, `solve`, `inverse` and `triangular_solve`.

use super::super::conformance::{KINDS, matrix, outcome_of, power, unit};
use super::super::dense::single;
use super::super::triangular::{Triangle, triangular_solve};
use super::*;
use crate::conformance::{Case, bytes, limited};

fn wide(a: &[f32]) -> Vec<f64> {
    a.iter().map(|&x| f64::from(x)).collect()
}

fn factors_case(kind: &str, m: usize, n: usize, small: bool) -> Case {
    let a = matrix(kind, m, n);
    let same = a.clone();
    Case {
        op: "lu",
        name: format!("{kind} {m}x{n}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let found = lu(&device, &Buffer::upload(&device, &a)?, m, n)?;
            Ok([bytes(&found.factors.read()?), bytes(&found.order.read()?)].concat())
        }),
        reference: Box::new(move || {
            let (packed, order) = reference::lu(&wide(&same), m, n);
            [bytes(&single("lu.factors", &packed).unwrap_or_default()), bytes(&order)].concat()
        }),
    }
}

/// The two triangular systems after the factors, by plain loops.
fn solved(a: &[f32], b: &[f32], n: usize, nrhs: usize) -> Result<Vec<u8>> {
    let (packed, order) = reference::lu(&wide(a), n, n);
    if let Some(pivot) = (0..n).find(|&i| packed[i * n + i] == 0.0) {
        return Err(Error::Singular { pivot });
    }
    let b: Vec<f64> = order.iter().flat_map(|&row| wide(&b[row as usize * nrhs..(row as usize + 1) * nrhs])).collect();
    let lower = Triangle { unit_diagonal: true, ..Triangle::default() };
    let y = reference::triangular(&packed, &b, n, nrhs, lower);
    let upper = Triangle { upper: true, ..Triangle::default() };
    Ok(bytes(&single("solve.solution", &reference::triangular(&packed, &y, n, nrhs, upper))?))
}

fn solve_case(kind: &str, n: usize, nrhs: usize, small: bool) -> Case {
    let (a, b) = (matrix(kind, n, n), matrix("plain", n, nrhs));
    let (a_same, b_same) = (a.clone(), b.clone());
    Case {
        op: "solve",
        name: format!("{kind} {n}x{nrhs}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (a, b) = (Buffer::upload(&device, &a)?, Buffer::upload(&device, &b)?);
            outcome_of(solve(&device, &a, &b, n, nrhs).and_then(|x| Ok(bytes(&x.read()?))))
        }),
        reference: Box::new(move || outcome_of(solved(&a_same, &b_same, n, nrhs)).unwrap_or_default()),
    }
}

fn inverse_case(n: usize) -> Case {
    let a = matrix("plain", n, n);
    let same = a.clone();
    let identity: Vec<f32> = (0..n * n).map(|at| f32::from(u8::from(at / n == at % n))).collect();
    Case {
        op: "inverse",
        name: format!("plain {n}"),
        run: Box::new(move |device| Ok(bytes(&inverse(device, &Buffer::upload(device, &a)?, n)?.read()?))),
        reference: Box::new(move || solved(&same, &identity, n, n).unwrap_or_default()),
    }
}

/// A triangle with a diagonal that is far from zero; what must not be read is not a number.
fn triangle_case(n: usize, nrhs: usize, which: Triangle, scale: fn(usize) -> i32, small: bool) -> Case {
    let t: Vec<f32> = (0..n * n)
        .map(|at| {
            let (i, j) = (at / n, at % n);
            match (i == j, (i < j) == which.upper) {
                (true, _) if which.unit_diagonal => f32::NAN,
                (true, _) => (1.25 + 0.25 * unit(51, at)) * power(scale(i)),
                (false, true) => unit(51, at) / 8.0 * power(scale(i)),
                (false, false) => f32::INFINITY,
            }
        })
        .collect();
    let b = matrix("plain", n, nrhs);
    let (t_same, b_same) = (t.clone(), b.clone());
    Case {
        op: "triangular_solve",
        name: format!(
            "{}{}{} {n}x{nrhs}{}",
            if which.upper { "upper" } else { "lower" },
            if which.transposed { " transposed" } else { "" },
            if which.unit_diagonal { " unit" } else { "" },
            if small { " limited" } else { "" }
        ),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (t, b) = (Buffer::upload(&device, &t)?, Buffer::upload(&device, &b)?);
            outcome_of(triangular_solve(&device, &t, &b, n, nrhs, which).and_then(|x| Ok(bytes(&x.read()?))))
        }),
        reference: Box::new(move || {
            let x = reference::triangular(&wide(&t_same), &wide(&b_same), n, nrhs, which);
            outcome_of(single("triangular_solve.solution", &x).map(|x| bytes(&x))).unwrap_or_default()
        }),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (m, n) in [(0, 0), (0, 4), (4, 0), (1, 1), (1, 9), (9, 1), (63, 64), (65, 64), (130, 70), (70, 330), (200, 200)]
    {
        cases.push(factors_case("plain", m, n, false));
    }
    for kind in KINDS {
        cases.push(factors_case(kind, 150, 140, false));
        cases.push(solve_case(kind, 140, 3, false));
    }
    for small in [false, true] {
        cases.push(factors_case("plain", 90, 80, small));
        cases.push(solve_case("plain", 90, 2, small));
        cases.push(triangle_case(90, 3, Triangle::default(), |_| 0, small));
    }
    for (n, nrhs) in [(0, 0), (0, 3), (3, 0), (1, 1), (2, 500), (64, 1), (65, 130), (260, 7)] {
        cases.push(solve_case("plain", n, nrhs, false));
    }
    cases.push(inverse_case(100));
    for bits in 0..8 {
        let which = Triangle { upper: bits & 1 != 0, transposed: bits & 2 != 0, unit_diagonal: bits & 4 != 0 };
        for (n, nrhs) in [(5, 2), (130, 150), (201, 1)] {
            cases.push(triangle_case(n, nrhs, which, |_| 0, false));
        }
        cases.push(triangle_case(100, 4, which, |i| (i as i32 * 37) % 50 - 25, false));
    }
    cases
}
