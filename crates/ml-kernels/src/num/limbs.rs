//! Integers of 64 bits in two `u32` limbs: WGSL has no `u64`, and identity wants one spelling for all devices.
//!
//! All arithmetic wraps. Signed use is two's complement ([`Limbs::hi`] holds the sign).

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::raw::*;

/// A 64-bit integer, or a fixed-point fraction, as its high and low words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub struct Limbs {
    /// Bits 63..32.
    pub hi: u32,
    /// Bits 31..0.
    pub lo: u32,
}

impl Limbs {
    /// From a host integer.
    pub const fn from_u64(x: u64) -> Self {
        Self { hi: (x >> 32) as u32, lo: x as u32 }
    }

    /// As a host integer.
    pub const fn to_u64(self) -> u64 {
        (self.hi as u64) << 32 | self.lo as u64
    }

    /// From a signed host integer, two's complement.
    pub const fn from_i64(x: i64) -> Self {
        Self::from_u64(x as u64)
    }

    /// As a signed host integer, two's complement.
    pub const fn to_i64(self) -> i64 {
        self.to_u64() as i64
    }
}

/// 1 if `sum`, the wrapped sum of `addend` and something else, lost a carry; 0 if not.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn carry(sum: u32, addend: u32) -> u32 {
    select_u32(sum < addend, 1u32, 0u32)
}

/// `a + b` modulo 2^64.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P22
pub fn add64(a: Limbs, b: Limbs) -> Limbs {
    let lo = add_wrap(a.lo, b.lo);
    let hi = add_wrap(add_wrap(a.hi, b.hi), carry(lo, b.lo));
    Limbs { hi, lo }
}

/// `a - b` modulo 2^64.
#[cfg_attr(feature = "gpu", cube)]
pub fn sub64(a: Limbs, b: Limbs) -> Limbs {
    let lo = sub_wrap(a.lo, b.lo);
    let hi = sub_wrap(sub_wrap(a.hi, b.hi), carry(a.lo, b.lo));
    Limbs { hi, lo }
}

/// `-a` modulo 2^64.
#[cfg_attr(feature = "gpu", cube)]
pub fn neg64(a: Limbs) -> Limbs {
    let lo = sub_wrap(0u32, a.lo);
    let hi = add_wrap(a.hi ^ 0xffff_ffffu32, select_u32(a.lo == 0u32, 1u32, 0u32));
    Limbs { hi, lo }
}

/// `-a` where `negate`, else `a`.
#[cfg_attr(feature = "gpu", cube)]
pub fn neg64_if(negate: bool, a: Limbs) -> Limbs {
    let n = neg64(a);
    Limbs { hi: select_u32(negate, n.hi, a.hi), lo: select_u32(negate, n.lo, a.lo) }
}

/// True if `a < b` as unsigned integers.
#[cfg_attr(feature = "gpu", cube)]
pub fn less64(a: Limbs, b: Limbs) -> bool {
    a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo)
}

/// The full product of two words.
#[cfg_attr(feature = "gpu", cube)]
pub fn mul_wide(a: u32, b: u32) -> Limbs {
    Limbs { hi: mul_hi(a, b), lo: mul_lo(a, b) }
}

/// `hi:lo >> s`, low word, for `s` in 0..=31 (a plain `hi << (32 - s)` would shift by 32).
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn shr_pair(hi: u32, lo: u32, s: u32) -> u32 {
    (lo >> s) | ((hi << 1u32) << (31u32 - s))
}

/// `hi:lo << s`, high word, for `s` in 0..=31.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P21
pub(super) fn shl_pair(hi: u32, lo: u32, s: u32) -> u32 {
    (hi << s) | ((lo >> 1u32) >> (31u32 - s))
}

/// `a >> s` for `s` in 0..=31.
#[cfg_attr(feature = "gpu", cube)]
pub fn shr64(a: Limbs, s: u32) -> Limbs {
    Limbs { hi: a.hi >> s, lo: shr_pair(a.hi, a.lo, s) }
}

/// The top 64 bits of the 128-bit product, short by at most 3 units because the lowest partial products are dropped.
#[cfg_attr(feature = "gpu", cube)]
pub fn mul_top(a: Limbs, b: Limbs) -> Limbs {
    let lo = mul_lo(a.hi, b.hi);
    let x = mul_hi(a.hi, b.lo);
    let y = mul_hi(a.lo, b.hi);
    let s = add_wrap(lo, x);
    let t = add_wrap(s, y);
    let hi = add_wrap(mul_hi(a.hi, b.hi), add_wrap(carry(s, x), carry(t, y)));
    Limbs { hi, lo: t }
}

/// The top 64 bits of the 96-bit product, exact (rounded down).
#[cfg_attr(feature = "gpu", cube)]
pub fn mul_top_word(a: Limbs, b: u32) -> Limbs {
    let x = mul_hi(a.lo, b);
    let lo = add_wrap(mul_lo(a.hi, b), x);
    let hi = add_wrap(mul_hi(a.hi, b), carry(lo, x));
    Limbs { hi, lo }
}
