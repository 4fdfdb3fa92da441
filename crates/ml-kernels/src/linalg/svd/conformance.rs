//! Conformance cases of `svd`, `singular_values` and `lstsq`.

use super::super::conformance::{KINDS, matrix, outcome_of};
use super::super::lstsq::{Lstsq, lstsq};
use super::super::lstsq_reference;
use super::*;
use crate::conformance::{Case, bytes, limited};

fn svd_bytes(device: &Device, a: &[f32], m: usize, n: usize) -> Result<Vec<u8>> {
    let a = Buffer::upload(device, a)?;
    let found = svd(device, &a, m, n)?;
    let alone = singular_values(device, &a, m, n)?;
    Ok(bytes(&[found.u.read()?, found.values.read()?, found.vt.read()?, alone.read()?].concat()))
}

fn wide(a: &[f32]) -> Vec<f64> {
    a.iter().map(|&x| f64::from(x)).collect()
}

/// What [`svd_bytes`] must give, by plain loops.
fn svd_reference(a: &[f32], m: usize, n: usize) -> Result<Vec<u8>> {
    let k = m.min(n);
    let Some(reference::Found { values, left, right }) = reference::svd(&wide(a), m, n) else { return Ok(Vec::new()) };
    let values = single("svd.values", &values)?;
    let (mut u, mut vt) = (vec![0.0f32; m * k], Vec::new());
    for i in 0..k {
        let (of_left, mut of_right) = (single("svd.u", &left[i])?, single("svd.vt", &right[i])?);
        let peak = (0..n).fold(0, |best, j| if of_right[j].abs() > of_right[best].abs() { j } else { best });
        let turned = of_right[peak] < 0.0;
        let signed = |x: f32| canon(if turned { -x } else { x });
        (0..m).for_each(|r| u[r * k + i] = signed(of_left[r]));
        of_right.iter_mut().for_each(|x| *x = signed(*x));
        vt.extend(of_right);
    }
    Ok(bytes(&[u, values.clone(), vt, values].concat()))
}

fn svd_case(kind: &str, m: usize, n: usize, small: bool) -> Case {
    let a = matrix(kind, m, n);
    let same = a.clone();
    Case {
        op: "svd",
        name: format!("{kind} {m}x{n}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| svd_bytes(&limited(device, small), &a, m, n)),
        reference: Box::new(move || svd_reference(&same, m, n).unwrap_or_default()),
    }
}

fn lstsq_bytes(device: &Device, a: &[f32], b: &[f32], shape: (usize, usize, usize)) -> Result<Vec<u8>> {
    let (m, n, nrhs) = shape;
    let (a, b) = (Buffer::upload(device, a)?, Buffer::upload(device, b)?);
    let Lstsq { solution, residuals, rank, singular_values } = lstsq(device, &a, &b, m, n, nrhs, None)?;
    let floats = [solution.read()?, residuals.read()?, singular_values.read()?].concat();
    Ok([bytes(&floats), bytes(&[rank as u32])].concat())
}

fn lstsq_of(a: &[f32], b: &[f32], shape: (usize, usize, usize)) -> Result<Vec<u8>> {
    let rcond = shape.0.max(shape.1) as f64 * f64::from(f32::EPSILON);
    let Some(found) = lstsq_reference::lstsq(&wide(a), &wide(b), shape, rcond) else { return Ok(Vec::new()) };
    let floats = [
        single("lstsq.solution", &found.x)?,
        single("lstsq.residuals", &found.residuals)?,
        single("lstsq.singular_values", &found.values)?,
    ];
    Ok([bytes(&floats.concat()), bytes(&[found.rank as u32])].concat())
}

fn lstsq_case(kind: &str, m: usize, n: usize, nrhs: usize, small: bool) -> Case {
    let (a, b) = (matrix(kind, m, n), matrix("plain", m, nrhs));
    let (a_same, b_same) = (a.clone(), b.clone());
    let shape = (m, n, nrhs);
    Case {
        op: "lstsq",
        name: format!("{kind} {m}x{n}x{nrhs}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| outcome_of(lstsq_bytes(&limited(device, small), &a, &b, shape))),
        reference: Box::new(move || outcome_of(lstsq_of(&a_same, &b_same, shape)).unwrap_or_default()),
    }
}

pub(in super::super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (m, n) in [(0, 0), (0, 4), (4, 0), (1, 1), (1, 9), (9, 1), (33, 32), (64, 65), (70, 200), (300, 20), (150, 150)]
    {
        cases.push(svd_case("plain", m, n, false));
        cases.push(lstsq_case("plain", m, n, 2, false));
    }
    for kind in KINDS {
        cases.push(svd_case(kind, 110, 100, false));
        cases.push(lstsq_case(kind, 110, 100, 3, false));
        cases.push(lstsq_case(kind, 60, 100, 3, false));
    }
    for small in [false, true] {
        cases.push(svd_case("plain", 80, 70, small));
        cases.push(lstsq_case("plain", 80, 70, 2, small));
    }
    cases.push(lstsq_case("plain", 5, 3, 0, false));
    cases
}
