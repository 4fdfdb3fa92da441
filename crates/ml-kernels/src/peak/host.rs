//! The ceilings of the host: all threads multiply and add in registers, or copy more than their caches hold.

use ml_core::Result;
use rayon::prelude::*;

use super::best_of;
use crate::device::Host;
use crate::memory;

/// Bytes of each side of a copy: 256 MiB, larger than any cache.
const COPIED: usize = 1 << 28;

/// Turns of a thread: some ten milliseconds.
const STEPS: usize = 1 << 21;

/// Independent chains: enough vector registers in flight to hide the latency of an addition.
const CHAINS: usize = 192;

/// Products and sums a second.
pub(super) fn mul_add(h: &Host) -> Result<f64> {
    let threads = h.install(rayon::current_num_threads);
    let seconds = best_of(10, || {
        let sum: f32 = h.install(|| (0..threads).into_par_iter().map(|t| chains(STEPS, t as f32)).sum());
        std::hint::black_box(sum);
        Ok(())
    })?;
    Ok((threads * STEPS * CHAINS * 2) as f64 / seconds)
}

/// Bytes a second, read plus written.
pub(super) fn copy(h: &Host) -> Result<f64> {
    let from = vec![1.0f64; COPIED / 8];
    let mut to = memory::zeros::<f64>(COPIED / 8);
    let part = from.len().div_ceil(h.install(rayon::current_num_threads));
    let seconds = best_of(10, || {
        let parts = to.par_chunks_mut(part).zip(from.par_chunks(part));
        h.install(|| parts.for_each(|(to, from)| to.copy_from_slice(from)));
        Ok(())
    })?;
    Ok((2 * COPIED) as f64 / seconds)
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2", "aarch64+neon"))]
fn chains(steps: usize, seed: f32) -> f32 {
    let mut x = [0.5f32; CHAINS];
    let (a, b) = (std::hint::black_box(0.999 + seed * 0.0), std::hint::black_box(0.001));
    for _ in 0..steps {
        for v in &mut x {
            *v = *v * a + b;
        }
    }
    x.iter().sum()
}
