//! Contract clause `operations`: canon, add, sub, mul, div, sqrt, comparisons and exact conversions, written once.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::raw::*;

/// The two run-time constants that keep shader compilers honest.
///
/// A compiler that cannot see that `nz` is -0.0 and `one` is 1.0 can neither contract `fma(a, b, nz)` nor reassociate
/// `fma(a, one, b)`. Every kernel gets them in its scalar arguments; the host ignores them.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub struct Pins {
    /// -0.0.
    pub nz: f32,
    /// 1.0.
    pub one: f32,
}

impl Pins {
    /// The constants, for launch code and for host loops.
    pub const HOST: Pins = Pins { nz: -0.0, one: 1.0 };
}

/// |x| <= 2^-126 becomes +0, all else stays: the only form in which a number is stored.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P1
pub fn canon(x: f32) -> f32 {
    let mut r = x;
    if (bits(x) & 0x7fff_ffffu32) <= 0x0080_0000u32 {
        r = from_bits(0u32);
    }
    r
}

/// `-x`, by the sign bit.
#[cfg_attr(feature = "gpu", cube)]
pub fn neg(x: f32) -> f32 {
    from_bits(bits(x) ^ 0x8000_0000u32)
}

/// `|x|`, by the sign bit.
#[cfg_attr(feature = "gpu", cube)]
pub fn abs(x: f32) -> f32 {
    from_bits(bits(x) & 0x7fff_ffffu32)
}

/// `canon(a * b)`, rounded once.
#[cfg_attr(feature = "gpu", cube)]
pub fn mul(a: f32, b: f32, p: Pins) -> f32 {
    canon(mul_pinned(a, b, p.nz))
}

/// `canon(a + b)`, rounded once.
#[cfg_attr(feature = "gpu", cube)]
pub fn add(a: f32, b: f32, p: Pins) -> f32 {
    canon(add_pinned(a, b, p.one))
}

/// `canon(a - b)`, rounded once.
#[cfg_attr(feature = "gpu", cube)]
pub fn sub(a: f32, b: f32, p: Pins) -> f32 {
    canon(add_pinned(a, neg(b), p.one))
}

/// `a * b` without canon, for code that has proved that no subnormal can occur (clause `flush`).
#[cfg_attr(feature = "gpu", cube)]
pub fn mul_exact_range(a: f32, b: f32, p: Pins) -> f32 {
    mul_pinned(a, b, p.nz)
}

/// `a + b` without canon, for code that has proved that no subnormal can occur (clause `flush`).
#[cfg_attr(feature = "gpu", cube)]
pub fn add_exact_range(a: f32, b: f32, p: Pins) -> f32 {
    add_pinned(a, b, p.one)
}
