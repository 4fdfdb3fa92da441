//! Random values and permutations: a pure function of (seed, stream, index).
//!
//! Element `i` of stream `t` under a seed is word `i mod 4` of the Philox4x32-10 block `i div 4`: key = seed, counter =
//! (block low, block high, t, 0). No state passes from one element to another, so any part of a stream can be made on
//! its own, and the first elements of a longer one are those of a shorter one.
//!
//! J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;

use ml_core::Result;

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::num::{Limbs, ROUNDS, Words, draw};
use crate::sabotage::Arm;
use crate::sort::count_u32;

/// What identifies a stream, and how many rounds its cipher takes.
#[derive(Debug, Clone, Copy)]
struct Stream {
    seed: Limbs,
    stream: u32,
    rounds: u32,
}

impl Stream {
    fn new(seed: u64, stream: u32, arm: Arm) -> Self {
        let rounds = if arm == Arm::SevenRounds { 7 } else { ROUNDS };
        Stream { seed: Limbs::from_u64(seed), stream, rounds }
    }

    /// The four words of block `index`: elements `4 index ..= 4 index + 3`.
    #[inline(always)]
    fn block(self, index: u64) -> [u32; 4] {
        let Words { w0, w1, w2, w3 } = draw(self.seed, self.stream, Limbs::from_u64(index), 0, self.rounds);
        [w0, w1, w2, w3]
    }
}

/// `n` uniform 32-bit words.
///
/// # Errors
/// A device failure. `n` = 0 gives an empty buffer.
///
/// # Bit identity
/// Clause `random`: element `i` depends on (`seed`, `stream`, `i`) alone, not on `n`.
///
/// # Example
/// ```
/// use ml_kernels::{Device, random::random_u32};
/// let device = Device::host();
/// let short = random_u32(&device, 3, 42, 0)?.read()?;
/// let long = random_u32(&device, 300, 42, 0)?.read()?;
/// assert_eq!(short, long[..3]);
/// assert_ne!(short, random_u32(&device, 3, 42, 1)?.read()?);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn random_u32(device: &Device, n: usize, seed: u64, stream: u32) -> Result<Buffer<u32>> {
    let stream = Stream::new(seed, stream, device.arm());
    on_device!(device,
        host(h) => Ok(Buffer::from_host(device, h.install(|| host::words(n, stream)))),
        gpu(g) => Ok(Buffer::from_chunks(device, kernel::words(g, n, stream)?)))
}

/// `n` uniform values in [0, 1): the top 24 bits of each word of [`random_u32`], times 2^-24.
///
/// # Errors
/// A device failure. `n` = 0 gives an empty buffer.
///
/// # Bit identity
/// Clause `random`; the conversion is exact.
pub fn random_uniform(device: &Device, n: usize, seed: u64, stream: u32) -> Result<Buffer<f32>> {
    let stream = Stream::new(seed, stream, device.arm());
    on_device!(device,
        host(h) => Ok(Buffer::from_host(device, h.install(|| host::uniform(n, stream)))),
        gpu(g) => Ok(Buffer::from_chunks(device, kernel::uniform(g, n, stream)?)))
}

/// A permutation of `0..n`, all equally likely but for the chance that two of `n` 64-bit keys are equal (below
/// `n^2 / 2^65`).
///
/// The indices in ascending order of (key, index), where the key of index `i` has word `2 i` of [`random_u32`] above
/// word `2 i + 1`.
///
/// # Errors
/// [`ml_core::DataError::TooLarge`] unless `n < 2^32`; a device failure. `n` = 0 gives an empty buffer.
///
/// # Bit identity
/// Clauses `random` and `order`: integers throughout.
pub fn permutation(device: &Device, n: usize, seed: u64, stream: u32) -> Result<Buffer<u32>> {
    count_u32("permutation", n)?;
    let stream = Stream::new(seed, stream, device.arm());
    let indices = on_device!(device,
        host(h) => Buffer::from_host(device, h.install(|| host::permutation(n, stream))),
        gpu(g) => Buffer::from_chunks(device, kernel::permutation(g, n, stream)?));
    indices.facts().note_below(n);
    Ok(indices)
}
