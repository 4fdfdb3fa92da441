//! Clauses `sums` and `order`: reductions and cumulative sums.

use ml_kernels::Buffer;
use ml_kernels::{reduce, scan};

use super::{Vectors, data};
use crate::error::Result;

/// Elements that have more than one key, or the last ones.
const EXTREMES: [u32; 11] = [
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xff80_0001,
];

/// Lists, then matrices, then segments.
pub fn run(vectors: &mut Vectors) -> Result<()> {
    for n in [1, 31, 33, 1000, 1025, 3000, 40_000] {
        list(vectors, &format!("mid.{n}"), &data::mid(20, n)?)?;
        list(vectors, &format!("tiny.{n}"), &data::scaled(20, n, -100)?)?;
        // Neither exponential nor logarithm is quick to recompute.
        if n <= 3000 {
            let x = data::unit(21, n)?.into_iter().map(|x| x * 8.0).collect::<Vec<_>>();
            let x = vectors.upload(&x)?;
            vectors.buffer(format!("sums.log_sum_exp.{n}"), &[1], &reduce::log_sum_exp(&vectors.device, &x)?)?;
        }
    }
    for (rows, cols) in [(70, 45), (1100, 7), (7, 1100)] {
        matrix(vectors, rows, cols)?;
    }
    let x = vectors.upload(&data::mid(25, 3000)?)?;
    let offsets = Buffer::upload(&vectors.device, &[0u32, 0, 1, 33, 33, 1100, 2125, 3000])?;
    vectors.buffer("sums.segments", &[7], &reduce::segment_sums(&vectors.device, &x, &offsets)?)
}

fn list(vectors: &mut Vectors, name: &str, x: &[f32]) -> Result<()> {
    let (device, n) = (vectors.device.clone(), x.len());
    let x = vectors.upload(x)?;
    vectors.buffer(format!("sums.sum.{name}"), &[1], &reduce::sum(&device, &x)?)?;
    vectors.buffer(format!("sums.mean.{name}"), &[1], &reduce::mean(&device, &x)?)?;
    for ddof in [0, 1].into_iter().filter(|&ddof| ddof < n) {
        let (_, variance) = reduce::variance(&device, &x, ddof)?;
        vectors.buffer(format!("sums.variance{ddof}.{name}"), &[1], &variance)?;
    }
    vectors.buffer(format!("sums.cumulative.{name}"), &[n], &scan::cumulative_sum(&device, &x)?)
}

fn matrix(vectors: &mut Vectors, rows: usize, cols: usize) -> Result<()> {
    let device = vectors.device.clone();
    let name = format!("{rows}x{cols}");
    let x = vectors.upload(&data::mid(22, rows * cols)?)?;
    vectors.buffer(format!("sums.row_means.{name}"), &[rows], &reduce::row_means(&device, &x, rows, cols)?)?;
    vectors.buffer(format!("sums.col_means.{name}"), &[cols], &reduce::col_means(&device, &x, rows, cols)?)?;
    vectors.buffer(
        format!("sums.row_variances.{name}"),
        &[rows],
        &reduce::row_variances(&device, &x, rows, cols, 1)?.1,
    )?;
    vectors.buffer(
        format!("sums.col_variances.{name}"),
        &[cols],
        &reduce::col_variances(&device, &x, rows, cols, 1)?.1,
    )?;
    let running = scan::row_cumulative_sums(&device, &x, rows, cols)?;
    vectors.buffer(format!("sums.row_cumulative.{name}"), &[rows, cols], &running)?;
    let y = vectors.upload(&data::unit(23, rows * cols)?.into_iter().map(|x| x * 8.0).collect::<Vec<_>>())?;
    vectors.buffer(
        format!("sums.row_log_sum_exp.{name}"),
        &[rows],
        &reduce::row_log_sum_exp(&device, &y, rows, cols)?,
    )?;
    vectors.buffer(
        format!("sums.col_log_sum_exp.{name}"),
        &[cols],
        &reduce::col_log_sum_exp(&device, &y, rows, cols)?,
    )?;

    let pick = |w: u32| f32::from_bits(EXTREMES[w as usize % EXTREMES.len()]);
    let few: Vec<f32> = data::words(24, rows * cols)?.into_iter().map(pick).collect();
    // In the first half of the rows nothing but zeros and NaNs.
    let few: Vec<f32> = few.iter().enumerate().map(|(i, &x)| if i < few.len() / 2 { x * 0.0 } else { x }).collect();
    for (sort, x) in [("mid", &x), ("few", &vectors.upload(&few)?)] {
        let name = format!("{sort}.{name}");
        vectors.buffer(format!("order.min.{name}"), &[1], &reduce::min(&device, x)?)?;
        vectors.buffer(format!("order.max.{name}"), &[1], &reduce::max(&device, x)?)?;
        vectors.buffer(format!("order.row_min.{name}"), &[rows], &reduce::row_min(&device, x, rows, cols)?)?;
        vectors.buffer(format!("order.row_max.{name}"), &[rows], &reduce::row_max(&device, x, rows, cols)?)?;
        vectors.buffer(format!("order.col_min.{name}"), &[cols], &reduce::col_min(&device, x, rows, cols)?)?;
        vectors.buffer(format!("order.col_max.{name}"), &[cols], &reduce::col_max(&device, x, rows, cols)?)?;
    }
    Ok(())
}
