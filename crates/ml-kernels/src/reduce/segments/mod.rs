//! Contract clause `sums`: sums of segments of any lengths, each as if it were alone.

pub(super) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;

use ml_core::{DataError, Result};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// The sum of each segment of `x`: shape (segments). Segment `s` is made of the elements from `offsets[s]` up to, but
/// without, `offsets[s + 1]`; there is one segment fewer than there are offsets, and those without elements sum to +0.
/// Elements before the first offset and from the last one on belong to none.
///
/// # Errors
/// [`DataError::Shape`] if there is no offset, or if one is below the one before it; [`DataError::Index`] if one exceeds the
/// number of elements (its bound is one more); [`DataError::TooLarge`] if there are more than 2^31; a device failure.
///
/// # Bit identity
/// Clause `sums`: each segment's sum is what [`sum`](super::sum()) gives for its elements alone, wherever they lie and
/// whatever lies beside them.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, reduce};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 3.5, 4.0])?;
/// let offsets = Buffer::upload(&device, &[0u32, 2, 2, 4])?;
/// assert_eq!(reduce::segment_sums(&device, &x, &offsets)?.read()?, [3.0, 0.0, 7.5]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn segment_sums(device: &Device, x: &Buffer<f32>, offsets: &Buffer<u32>) -> Result<Buffer<f32>> {
    x.expect("x", x.len(), device)?;
    offsets.expect("offsets", offsets.len(), device)?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let (x, offsets) = (x.host("x")?, offsets.host("offsets")?);
        check(offsets, x.len())?;
        Ok(Buffer::from_host(device, h.install(|| host::segment_sums(x, offsets, arm))))
    },
    gpu(g) => {
        let x = x.chunks("x", device)?;
        // Words that have been here once need not be waited for again.
        let facts = offsets.facts();
        let read = facts.words().is_none().then(|| offsets.read()).transpose()?;
        if let Some(words) = &read {
            facts.note_words(words);
        }
        let words = read.as_deref().or(facts.words()).unwrap_or_default();
        check(words, x.len())?;
        Ok(Buffer::from_chunks(device, kernel::segment_sums(g, x, words, arm)?))
    })
}

/// Offsets ascend and stay within `len` elements, and there is one at least.
fn check(offsets: &[u32], len: usize) -> Result<()> {
    if offsets.is_empty() {
        return Err(DataError::shape("offsets", "one more than the segments", 0).into());
    }
    // So that the chunks of all segments can be counted in 32 bits.
    let limit = 1u128 << 31;
    if offsets.len() as u128 > limit {
        return Err(DataError::TooLarge { what: "offsets", elements: offsets.len() as u128, limit }.into());
    }
    if let Some(i) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
        let got = format!("{} at position {} after {}", offsets[i + 1], i + 1, offsets[i]);
        return Err(DataError::shape("offsets", "ascending", got).into());
    }
    if let Some(position) = offsets.iter().position(|offset| *offset as usize > len) {
        let (index, bound) = (offsets[position] as u64, len as u64 + 1);
        return Err(DataError::Index { what: "offsets", position, index, bound }.into());
    }
    Ok(())
}
