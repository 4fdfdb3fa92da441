//! One operation of a program on one element, written once for host and kernels.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use crate::num::raw::clz;
use crate::num::{Pins, bits, div, from_bits, key, mul};

/// `a / b` as the arm `RoughDivision` would have it: through a reciprocal.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn div_through_reciprocal(a: f32, b: f32, p: Pins) -> f32 {
    mul(a, div(1.0f32, b), p)
}

/// A result with its last bit cleared, as the arms `RoughSqrt` and `RoughElementary` would have it.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn last_bit_cleared(x: f32) -> f32 {
    from_bits(bits(x) & 0xffff_fffeu32)
}

/// `x` rounded towards zero to 24 bits, as the arm `TruncateConversion` would have it.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn truncate_to_24_bits(x: u32) -> u32 {
    let n = clz(x);
    let mut mask = 0xffff_ffffu32;
    if n < 8u32 {
        mask = 0xffff_ffffu32 << (8u32 - n);
    }
    x & mask
}

/// `a < b ? x : y` by total order.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn select_less(a: f32, b: f32, x: f32, y: f32) -> f32 {
    let mut r = y;
    if key(a) < key(b) {
        r = x;
    }
    r
}
