//! The ceilings of a device: what a benchmark's floor is computed from. Measures speed; makes no result.

mod host;
#[cfg(feature = "gpu")]
mod kernel;

use std::time::Instant;

use ml_core::Result;

use crate::device::{Device, on_device};

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

fn mul_add(device: &Device) -> Result<f64> {
    on_device!(device,
    host(h) => host::mul_add(h),
    gpu(g) => {
        let (items, mut turns) = (1 << 20, 1);
        let out = g.alloc_one::<f32>(items)?;
        // As many turns as make the start of a launch a small part of it.
        while turns < 1024 && best_of(1, || { kernel::chains(g, &out, items, turns)?; device.sync() })? < 2e-3 {
            turns *= 2;
        }
        let seconds = a_launch(device, || kernel::chains(g, &out, items, turns))?;
        Ok((items * turns * kernel::FLOPS_A_TURN) as f64 / seconds)
    })
}

fn copy(device: &Device) -> Result<f64> {
    on_device!(device,
    host(h) => host::copy(h),
    gpu(g) => {
        // 1 GiB, or a quarter of a binding: larger than any cache.
        let n = (g.max_elements::<u32>() / 4).min(1 << 28) / kernel::COPIED_TOGETHER * kernel::COPIED_TOGETHER;
        let (from, to) = (g.alloc_one::<u32>(n)?, g.alloc_one::<u32>(n)?);
        let seconds = a_launch(device, || kernel::copy(g, &from, &to, n))?;
        Ok((n * 8) as f64 / seconds)
    })
}

/// Seconds of one of several launches that follow each other without a wait, so that only their work counts.
#[cfg(feature = "gpu")]
fn a_launch(device: &Device, mut launch: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut several = |launches: usize| {
        best_of(4, || {
            for _ in 0..launches {
                launch()?;
            }
            device.sync()
        })
    };
    let once = several(1)?;
    // About 20 ms together.
    let launches = (0.02 / once).clamp(1.0, 64.0) as usize;
    Ok(several(launches)? / launches as f64)
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
