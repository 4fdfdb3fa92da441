//! The primitives on a fixture, each on its own: no stage feeds another, so that a stage that moves names its clause.

use ml_core::canon::canon;
use ml_core::{Matrix, Result};
use ml_kernels::map::{Expr, Operand, map, to_f32};
use ml_kernels::matmul::{Layout, matmul};
use ml_kernels::reduce::{self, Order};
use ml_kernels::{Buffer, Context, Device, distances, histogram, linalg, moves, random, scan, scatter_add, sort};

use super::estimators::{record_f32, record_u32};
use crate::fixtures::Fixture;

/// The data of one run, prepared on the host: no primitive under test has touched it.
struct Input {
    rows: usize,
    cols: usize,
    /// The fixture times 0.1, so that products and sums of whole numbers round.
    x: Vec<f32>,
    /// Scaled into the range where products and sums are subnormal.
    tiny: Vec<f32>,
    /// Groups, one a row.
    groups: Vec<u32>,
}

impl Input {
    fn of(x: &Matrix) -> Self {
        let (rows, cols) = (x.rows().min(160), x.cols().min(96));
        // Columns from the middle: the borders of images are blank.
        let first = (x.cols() - cols) / 2;
        let cut: Vec<f32> = (0..rows).flat_map(|i| x.row(i)[first..first + cols].iter().copied()).collect();
        let largest = cut.iter().fold(1.0f32, |m, v| m.max(v.abs()));
        // A power of two near 1 / largest, from the exponent alone.
        let unit = f32::from_bits((254 - (largest.to_bits() >> 23)) << 23);
        Input {
            rows,
            cols,
            tiny: cut.iter().map(|v| canon(canon(canon(v * unit) * 0.1) * f32::from_bits(65 << 23))).collect(),
            x: cut.iter().map(|v| canon(v * 0.1)).collect(),
            groups: (0..rows as u32).map(|i| (i * 7 + i / 5) % 4).collect(),
        }
    }
}

/// Every primitive on `fixture`.
pub(super) fn run(fixture: &Fixture, cx: &mut Context<'_>) -> Result<()> {
    let device = cx.device().clone();
    let input = Input::of(fixture.x());
    let (n, d) = (input.rows, input.cols);
    let x = Buffer::upload(&device, &input.x)?;
    elementwise(cx, &device, &input, &x)?;
    contractions(cx, &device, &input, &x)?;

    let bits: Vec<u32> = input.x.iter().map(|v| v.to_bits() ^ 0x0155_5555).collect();
    let bits_buffer = Buffer::upload(&device, &bits)?;
    let groups = Buffer::upload(&device, &input.groups)?;
    cx.record_f32("prim.to_f32", &[n * d], &to_f32(&device, &bits_buffer)?)?;
    cx.record_f32("prim.sum", &[1], &reduce::sum(&device, &x)?)?;
    cx.record_f32("prim.row_sums", &[n], &reduce::row_sums(&device, &x, n, d)?)?;
    cx.record_f32("prim.col_sums", &[d], &reduce::col_sums(&device, &x, n, d)?)?;
    // Few distinct values, so that ties are everywhere.
    let coarse: Vec<f32> = input.x.iter().map(|v| (v.to_bits() % 5) as f32).collect();
    let coarse_buffer = Buffer::upload(&device, &coarse)?;
    let (index, value) = reduce::argmin_rows(&device, &coarse_buffer, n, d)?;
    cx.record_u32("prim.argmin.index", &[n], &index)?;
    cx.record_f32("prim.argmin.value", &[n], &value)?;
    let (index, _) = reduce::argmax_rows(&device, &coarse_buffer, n, d)?;
    cx.record_u32("prim.argmax.index", &[n], &index)?;
    let k = d.min(5);
    let (index, _) = reduce::top_k_rows(&device, &coarse_buffer, n, d, k, Order::Largest)?;
    cx.record_u32("prim.top_k.index", &[n, k], &index)?;
    let rows: Vec<u32> = (0..n as u32).map(|i| (i * 3) % n as u32).collect();
    let rows = Buffer::upload(&device, &rows)?;
    cx.record_f32("prim.gather", &[n, d], &moves::gather_rows(&device, &x, &rows, n, d)?)?;
    cx.record_f32("prim.scatter", &[n, d], &moves::scatter_rows(&device, &x, &rows, n, d)?)?;
    cx.record_u32("prim.scan", &[n], &scan::exclusive_scan(&device, &groups)?.0)?;
    let keys: Vec<u32> = input.x.iter().map(|v| v.to_bits() % 17).collect();
    let positions: Vec<u32> = (0..keys.len() as u32).collect();
    let (_, order) =
        sort::sort_by_key(&device, &Buffer::upload(&device, &keys)?, &Buffer::upload(&device, &positions)?)?;
    cx.record_u32("prim.sort.order", &[n * d], &order)?;
    cx.record_u32("prim.argsort", &[n * d], &sort::argsort(&device, &x)?)?;
    cx.record_u32("prim.histogram", &[4], &histogram::histogram(&device, &groups, 4)?)?;
    cx.record_f32("prim.scatter_add", &[4, d], &scatter_add::scatter_add(&device, &x, &groups, n, d, 4)?)?;
    cx.record_u32("prim.random_u32", &[257], &random::random_u32(&device, 257, 11, 3)?)?;
    cx.record_f32("prim.random_uniform", &[257], &random::random_uniform(&device, 257, 11, 4)?)?;
    cx.record_u32("prim.permutation", &[1000], &random::permutation(&device, 1000, 11, 5)?)?;
    factorisations(cx, &device, &input)
}

/// `map`, one operation a stage, on data that separates the contract's operation from its likely replacements.
fn elementwise(cx: &mut Context<'_>, device: &Device, input: &Input, x: &Buffer<f32>) -> Result<()> {
    let (n, d) = (input.rows, input.cols);
    let tiny = Buffer::upload(device, &input.tiny)?;
    let a = || Expr::input(0);
    let third = Expr::constant(1.0 / 3.0);
    let seven = Expr::constant(7.3);
    let small = Expr::constant(f32::from_bits(66 << 23));
    for (tag, expr, data) in [
        ("prim.map.sum", a() + third.clone(), x),
        ("prim.map.product", a() * third.clone(), x),
        ("prim.map.product_sum", a() * third.clone() + a(), x),
        ("prim.map.quotient", a() / seven.clone(), x),
        ("prim.map.sqrt", a().abs().sqrt(), x),
        ("prim.map.exp", (a() * Expr::constant(1e-3)).exp(), x),
        ("prim.map.ln", (a().abs() + third).ln(), x),
        ("prim.map.select", a().select_less(seven, -a(), a()), x),
        ("prim.map.subnormal", a() * small, &tiny),
    ] {
        let out = map(device, &expr, &[Operand::Full(data)], &[], n, d)?;
        cx.record_f32(tag, &[n, d], &out)?;
    }
    Ok(())
}

/// Contractions: ordinary data (the guard lets the plain loop run), tiny data (it does not), and more than one leaf.
fn contractions(cx: &mut Context<'_>, device: &Device, input: &Input, x: &Buffer<f32>) -> Result<()> {
    let (n, d) = (input.rows, input.cols);
    let tiny = Buffer::upload(device, &input.tiny)?;
    cx.record_f32("prim.matmul.nt", &[n, n], &matmul(device, Layout::NT, x, x, n, n, d)?)?;
    cx.record_f32("prim.matmul.tn", &[d, d], &matmul(device, Layout::TN, x, x, d, d, n)?)?;
    cx.record_f32("prim.matmul.subnormal", &[n, n], &matmul(device, Layout::NT, &tiny, &tiny, n, n, d)?)?;
    let long = n * d;
    cx.record_f32("prim.matmul.leaves", &[1], &matmul(device, Layout::NT, x, x, 1, 1, long)?)?;
    cx.record_f32("prim.distances", &[n, n], &distances::squared_distances(device, x, x, n, n, d)?)?;
    let m = n.min(7);
    let some = Buffer::upload(device, &input.x[..m * d])?;
    let (index, distance) = distances::nearest(device, x, &some, n, m, d)?;
    cx.record_u32("prim.nearest.index", &[n], &index)?;
    cx.record_f32("prim.nearest.distance", &[n], &distance)?;
    Ok(())
}

/// Cholesky of a Gram matrix made on the host, and the eigenproblem of the same.
fn factorisations(cx: &mut Context<'_>, device: &Device, input: &Input) -> Result<()> {
    let d = input.cols.min(24);
    let row = |i: usize| &input.x[i * input.cols..i * input.cols + d];
    let mut gram = vec![0.0f32; d * d];
    for i in 0..input.rows {
        for (a, va) in row(i).iter().enumerate() {
            for (b, vb) in row(i).iter().enumerate() {
                let at = &mut gram[a * d + b];
                *at = canon(*at + canon(va * vb));
            }
        }
    }
    let largest = gram.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    for i in 0..d {
        gram[i * d + i] = canon(canon(gram[i * d + i] + canon(largest * 0.125)) + 1.0);
    }
    let a = Buffer::upload(device, &gram)?;
    let l = linalg::cholesky(device, &a, d)?;
    cx.record_f32("prim.cholesky", &[d, d], &l)?;
    let solved = linalg::cholesky_solve(device, &l, &a, d, d)?;
    cx.record_f32("prim.cholesky_solve", &[d, d], &solved)?;
    let (values, vectors) = linalg::symmetric_eigen(device, &a, d)?;
    record_f32(cx, "prim.eigen.values", &[d], &values.read()?);
    record_f32(cx, "prim.eigen.vectors", &[d, d], &vectors.read()?);
    record_u32(cx, "prim.shape", &[input.rows as u32, input.cols as u32]);
    Ok(())
}
