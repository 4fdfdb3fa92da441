//! Clauses `factorisations` and `eigen`, item 6.

use ml_kernels::linalg::{self, Triangle};

use super::data::{self, Sort};
use super::{Vectors, data::matrix};
use crate::error::Result;

/// Names, sorts and shapes of the matrices; each has the streams from 100 + 4 times its position on.
const MATRICES: &[(&str, Sort, usize, usize)] = &[
    ("one", Sort::Unit, 1, 1),
    ("row", Sort::Unit, 1, 6),
    ("column", Sort::Unit, 6, 1),
    ("unit.5x3", Sort::Unit, 5, 3),
    ("unit.3x5", Sort::Unit, 3, 5),
    ("unit.64x64", Sort::Unit, 64, 64),
    ("unit.70x70", Sort::Unit, 70, 70),
    ("unit.150x150", Sort::Unit, 150, 150),
    ("unit.200x70", Sort::Unit, 200, 70),
    ("unit.70x200", Sort::Unit, 70, 200),
    ("unit.300x130", Sort::Unit, 300, 130),
    ("unit.90x140", Sort::Unit, 90, 140),
    ("small.40x40", Sort::Small, 40, 40),
    ("small.100x80", Sort::Small, 100, 80),
    ("rows.66x66", Sort::Rows, 66, 66),
    ("rows.80x50", Sort::Rows, 80, 50),
    ("rank.40x30", Sort::Rank(7), 40, 30),
    ("rank.30x40", Sort::Rank(7), 30, 40),
    ("rank.70x70", Sort::Rank(20), 70, 70),
    // Of low rank: what is left beyond it is nothing but roundings, so that each of them shows.
    ("rank.150x150", Sort::Rank(50), 150, 150),
    ("rank.300x130", Sort::Rank(40), 300, 130),
    ("rank.130x300", Sort::Rank(40), 130, 300),
    ("tiny.20x20", Sort::Tiny, 20, 20),
    ("tiny.30x12", Sort::Tiny, 30, 12),
    ("huge.20x20", Sort::Huge, 20, 20),
    ("zero.4x4", Sort::Zero, 4, 4),
    ("zero.5x2", Sort::Zero, 5, 2),
    ("diagonal.9x9", Sort::Diagonal, 9, 9),
    ("diagonal.7x10", Sort::Diagonal, 7, 10),
];

/// Every factorisation of every matrix, and the systems that have a solution.
pub fn run(vectors: &mut Vectors) -> Result<()> {
    for (position, &(name, sort, m, n)) in MATRICES.iter().enumerate() {
        let stream = 100 + 4 * position as u32;
        of_any_shape(vectors, name, &sort.make(stream, m, n)?, &data::unit(stream + 2, m * 3)?, m, n)?;
        if m == n {
            of_squares(vectors, name, &sort.make(stream, m, n)?, &data::unit(stream + 2, m * 3)?, n)?;
        }
    }
    triangles(vectors)?;
    eigen(vectors)
}

fn of_any_shape(vectors: &mut Vectors, name: &str, a: &[f32], b: &[f32], m: usize, n: usize) -> Result<()> {
    let (device, k) = (vectors.device.clone(), m.min(n));
    let (a, b) = (vectors.upload(a)?, vectors.upload(b)?);
    let lu = linalg::lu(&device, &a, m, n)?;
    vectors.buffer(format!("lu.factors.{name}"), &[m, n], &lu.factors)?;
    vectors.indices(format!("lu.order.{name}"), &[m], &lu.order.read()?);
    let (q, r) = linalg::qr(&device, &a, m, n)?;
    vectors.buffer(format!("qr.q.{name}"), &[m, k], &q)?;
    vectors.buffer(format!("qr.r.{name}"), &[k, n], &r)?;
    let svd = linalg::svd(&device, &a, m, n)?;
    vectors.buffer(format!("svd.values.{name}"), &[k], &svd.values)?;
    vectors.buffer(format!("svd.u.{name}"), &[m, k], &svd.u)?;
    vectors.buffer(format!("svd.vt.{name}"), &[k, n], &svd.vt)?;
    let least = linalg::lstsq(&device, &a, &b, m, n, 3, None)?;
    vectors.buffer(format!("lstsq.solution.{name}"), &[n, 3], &least.solution)?;
    vectors.buffer(format!("lstsq.residuals.{name}"), &[3], &least.residuals)?;
    vectors.indices(format!("lstsq.rank.{name}"), &[1], &[least.rank as u32]);
    vectors.buffer(format!("lstsq.values.{name}"), &[k], &least.singular_values)
}

fn of_squares(vectors: &mut Vectors, name: &str, a: &[f32], b: &[f32], n: usize) -> Result<()> {
    let device = vectors.device.clone();
    let (a, b) = (vectors.upload(a)?, vectors.upload(b)?);
    let found = linalg::slogdet(&device, &a, n)?;
    vectors.floats(format!("determinant.sign.{name}"), &[1], &[found.sign]);
    vectors.floats(format!("determinant.log.{name}"), &[1], &[found.log]);
    // What exceeds single precision is an error, and so is the solution of a singular system.
    if let Ok(value) = linalg::determinant(&device, &a, n) {
        vectors.floats(format!("determinant.{name}"), &[1], &[value]);
    }
    if let Ok(x) = linalg::solve(&device, &a, &b, n, 3) {
        vectors.buffer(format!("solve.{name}"), &[n, 3], &x)?;
    }
    if let Ok(x) = linalg::inverse(&device, &a, n) {
        vectors.buffer(format!("inverse.{name}"), &[n, n], &x)?;
    }
    Ok(())
}

/// Systems of all eight sorts, through three blocks.
fn triangles(vectors: &mut Vectors) -> Result<()> {
    let device = vectors.device.clone();
    let n = 150;
    let x = data::unit(90, n * n)?;
    let t = vectors.upload(&matrix(n, n, |i, j| x[i * n + j] * if i == j { 8.0 } else { 0.125 }))?;
    let b = vectors.upload(&data::unit(91, n * 2)?)?;
    for bits in 0..8 {
        let which = Triangle { upper: bits & 1 != 0, transposed: bits & 2 != 0, unit_diagonal: bits & 4 != 0 };
        let x = linalg::triangular_solve(&device, &t, &b, n, 2, which)?;
        vectors.buffer(format!("triangle.{bits}"), &[n, 2], &x)?;
    }
    Ok(())
}

/// More than 1,024 rows, of which 300 … 559 meet each other in a block of rank 30 at most: vectors of zero values are nothing
/// but roundings.
fn eigen(vectors: &mut Vectors) -> Result<()> {
    let device = vectors.device.clone();
    let (n, low, high) = (1060, 300, 560);
    let x = data::unit(92, n)?;
    let g = data::small(93, (high - low) * 30)?;
    let row = |i: usize| &g[(i - low) * 30..(i - low + 1) * 30];
    let a = matrix(n, n, |i, j| {
        let inside = |i: usize| (low..high).contains(&i);
        if inside(i) && inside(j) {
            row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f32>() + 0.0
        } else if i == j {
            x[i]
        } else {
            0.0
        }
    });
    let a = vectors.upload(&a)?;
    let (values, found) = linalg::symmetric_eigen(&device, &a, n)?;
    vectors.buffer("eigen.values", &[n], &values)?;
    vectors.buffer("eigen.vectors", &[n, n], &found)
}
