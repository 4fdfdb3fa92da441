//! The ceilings of a device: what a benchmark's floor is computed from. Measures speed; makes no result.

#[cfg(feature = "gpu")]
mod kernel;

use std::time::Instant;

use ml_core::Result;
use rayon::prelude::*;

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::map::{Expr, Operand, map};

/// Measured ceilings of one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Products and sums a second, each rounded on its own: the ceiling of a contraction under the contract.
    pub mul_add_flops: f64,
    /// Bytes a second of a copy, read plus written.
    pub copy_bytes: f64,
}

/// Measures the ceilings of `device`: the best of several runs.
///
/// # Errors
/// A device failure.
pub fn measure(device: &Device) -> Result<Peak> {
    Ok(Peak { mul_add_flops: mul_add(device)?, copy_bytes: copy(device)? })
}

/// Chains a work item keeps in flight.
#[cfg(feature = "gpu")]
const CHAINS: usize = 16;

fn mul_add(device: &Device) -> Result<f64> {
    on_device!(device,
    host(h) => {
        let threads = h.install(rayon::current_num_threads);
        let steps = 1 << 20;
        let best = best_of(4, || {
            let sum: f32 = h.install(|| (0..threads).into_par_iter().map(|t| host_chains(steps, t as f32)).sum());
            std::hint::black_box(sum);
            Ok(())
        })?;
        Ok((threads * steps * HOST_CHAINS * 2) as f64 / best)
    },
    gpu(g) => {
        let (items, steps) = (1 << 20, 512usize);
        let out = g.alloc_one::<f32>(items)?;
        let best = best_of(6, || {
            kernel::chains(g, &out, items, steps)?;
            device.sync()
        })?;
        Ok((items * steps * CHAINS * 2) as f64 / best)
    })
}

fn copy(device: &Device) -> Result<f64> {
    // Larger than any cache: 256 MiB on the host, 1 GiB on a device.
    let n: usize = if device.is_host() { 1 << 26 } else { 1 << 28 };
    let x = Buffer::upload(device, &vec![1.0f32; n])?;
    let best = best_of(6, || {
        map(device, &Expr::input(0), &[Operand::Full(&x)], &[], n / 1024, 1024)?;
        device.sync()
    })?;
    Ok((n * 8) as f64 / best)
}

fn best_of(runs: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let mut best = f64::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Independent chains of the host loop: enough vector registers in flight to hide the latency of an addition.
const HOST_CHAINS: usize = 192;

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2", "aarch64+neon"))]
fn host_chains(steps: usize, seed: f32) -> f32 {
    let mut x = [0.5f32; HOST_CHAINS];
    let (a, b) = (std::hint::black_box(0.999 + seed * 0.0), std::hint::black_box(0.001));
    for _ in 0..steps {
        for v in &mut x {
            *v = *v * a + b;
        }
    }
    x.iter().sum()
}
