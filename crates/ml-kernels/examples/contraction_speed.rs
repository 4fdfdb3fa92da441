//! Times matrix products and distances on one device and prints a digest of each result, to be compared across devices.
//!
//! `cargo run --release -p ml-kernels --features cuda --example contraction_speed -- cuda:0 [substring of a line]`

use std::time::Instant;

use ml_kernels::distances::{k_nearest, nearest};
use ml_kernels::matmul::{Layout, matmul};
use ml_kernels::{Buffer, Device};

/// Numbers within (-1/2, 1/2) that depend on seed and index alone, scaled.
fn values(n: usize, seed: u32, scale: f32) -> Vec<f32> {
    let mix = |i: u32| {
        let x = (i.wrapping_mul(0x9e37_79b9) ^ seed).wrapping_mul(0x2c1b_3c6d);
        (x ^ (x >> 12)).wrapping_mul(0x297a_2d39)
    };
    (0..n as u32).map(|i| ((mix(i) >> 8) as f32 / 16_777_216.0 - 0.5) * scale).collect()
}

fn digest(words: impl Iterator<Item = u32>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |h, w| (h ^ w as u64).wrapping_mul(0x100_0000_01b3))
}

/// Runs `work` once for its digest and to build kernels, then `repeats` times without waiting in between.
fn report<T>(
    device: &Device,
    line: &str,
    operations: f64,
    repeats: u32,
    work: impl Fn() -> ml_core::Result<T>,
    read: impl Fn(&T) -> ml_core::Result<u64>,
) -> ml_core::Result<()> {
    if std::env::args().nth(2).is_some_and(|part| !line.contains(&part)) {
        return Ok(());
    }
    let digest = read(&work()?)?;
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        for _ in 0..repeats {
            work()?;
        }
        device.sync()?;
        best = best.min(start.elapsed().as_secs_f64() / f64::from(repeats));
    }
    println!("{line:44} {:10.3} ms {:8.3} T/s  {digest:016x}", best * 1e3, operations / best / 1e12);
    Ok(())
}

fn main() -> ml_core::Result<()> {
    let device: Device = std::env::args().nth(1).unwrap_or_else(|| "host".to_owned()).parse()?;
    println!("{} ({})", device.name(), device.info().adapter);
    let sizes: &[[usize; 3]] = if device.is_host() {
        &[[1024, 1024, 1024], [60_000, 10, 784], [1, 4096, 4096], [512, 512, 64]]
    } else {
        &[
            [1024, 1024, 1024],
            [4096, 4096, 4096],
            [8192, 8192, 8192],
            [8192, 2048, 768],
            [8192, 768, 2048],
            [768, 2048, 8192],
            [8192, 50_257, 768],
            [60_000, 10, 784],
            [1, 4096, 4096],
        ]
    };
    for &[m, n, k] in sizes {
        let repeats = ((4e12 / (2.0 * (m * n * k) as f64)) as u32).clamp(1, 100);
        let repeats = if device.is_host() { 3 } else { repeats };
        for (layout, scale) in [(Layout::NN, 1.0), (Layout::NT, 1.0), (Layout::TN, 1.0), (Layout::NN, 1e-19)] {
            let a = Buffer::upload(&device, &values(m * k, 1, scale))?;
            let b = Buffer::upload(&device, &values(k * n, 2, scale))?;
            let note = if scale == 1.0 { "" } else { " flushed" };
            report(
                &device,
                &format!("matmul {layout:?} {m}x{n}x{k}{note}"),
                2.0 * (m * n * k) as f64,
                repeats,
                || matmul(&device, layout, &a, &b, m, n, k),
                |c| Ok(digest(c.read()?.iter().map(|v| v.to_bits()))),
            )?;
        }
    }
    let queries = if device.is_host() { 1000 } else { 10_000 };
    let (m, d) = (60_000, 784);
    let y = Buffer::upload(&device, &values(m * d, 3, 1.0))?;
    let x = Buffer::upload(&device, &values(queries * d, 4, 1.0))?;
    let centres = Buffer::upload(&device, &values(10 * d, 5, 1.0))?;
    let read = |r: &(Buffer<u32>, Buffer<f32>)| {
        Ok(digest(r.0.read()?.into_iter().chain(r.1.read()?.iter().map(|v| v.to_bits()))))
    };
    report(
        &device,
        &format!("nearest {m} rows of 10"),
        3.0 * (m * 10 * d) as f64,
        20,
        || nearest(&device, &y, &centres, m, 10, d),
        read,
    )?;
    report(
        &device,
        &format!("k_nearest {queries} rows of {m}, k = 5"),
        3.0 * (queries * m * d) as f64,
        1,
        || k_nearest(&device, &x, &y, queries, m, d, 5),
        read,
    )
}
