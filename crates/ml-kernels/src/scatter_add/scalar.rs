//! The per-element formulas of the clause, once for the host and for kernels.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use crate::num::*;

/// The bits of the canonical |x|: they order as magnitudes do.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn magnitude(x: f32) -> u32 {
    bits(canon(x)) & 0x7fff_ffffu32
}

/// The integer that stands for `x`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn fixed(x: f32, shift: i32) -> Limbs {
    f32_to_fixed(canon(x), shift)
}

/// The float for an integer sum; `unshift` is the negative of the shift.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn finish(sum: Limbs, unshift: i32) -> f32 {
    scale_pow2(i64_to_f32(sum), unshift)
}
