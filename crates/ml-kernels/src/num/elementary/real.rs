//! Floating point of 128 significant bits in integers: what the elementary functions are put together from.
//!
//! Operations are good to a few units of 2^-127 of their result (sums: of the larger operand), which is far more than any
//! result of 24 bits needs. Nothing here has infinities or NaNs: callers select those at the end.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::wide::*;
use crate::num::divide::split;
use crate::num::raw::*;

/// The exponent of values in [1, 2).
pub(super) const ONE: u32 = 4096;

/// `(-1)^sign * m * 2^(e - ONE - 127)`: the top bit of `m` is set, or `m` is 0 and the value too.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "gpu", derive(CubeType, CubeTypeMut))]
pub(crate) struct Real {
    /// 0 or 0x80000000.
    pub sign: u32,
    /// [`ONE`] and more for magnitudes from 1 on.
    pub e: u32,
    pub m: Wide,
}

/// The value `m * 2^(e - ONE - 127)` with that sign; `m` need not have its top bit set.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn normal(sign: u32, e: u32, m: Wide) -> Real {
    let zeros = clz128(m) & 127u32;
    Real { sign, e: sub_wrap(e, zeros), m: shl128(m, zeros) }
}

/// 1.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn one() -> Real {
    Real { sign: 0u32, e: ONE, m: Wide { w3: 0x8000_0000u32, w2: 0u32, w1: 0u32, w0: 0u32 } }
}

/// A finite float, exactly.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn real(x: f32) -> Real {
    let b = bits(x);
    let p = split(b & 0x7fff_ffffu32);
    // `split` calls the exponent of [1, 2) 191.
    Real { sign: b & 0x8000_0000u32, e: p.e + 3905u32, m: Wide { w3: p.m << 8u32, w2: 0u32, w1: 0u32, w0: 0u32 } }
}

/// `a * 2^k`, `k` in two's complement.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn scaled(a: Real, k: u32) -> Real {
    Real { sign: a.sign, e: add_wrap(a.e, k), m: a.m }
}

/// `-a`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn negated(a: Real) -> Real {
    Real { sign: a.sign ^ 0x8000_0000u32, e: a.e, m: a.m }
}

/// `a` with the given sign bits flipped.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn with_sign(a: Real, sign: u32) -> Real {
    Real { sign: a.sign ^ sign, e: a.e, m: a.m }
}

/// `yes` where `condition` holds, else `no`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn select_real(condition: bool, yes: Real, no: Real) -> Real {
    Real {
        sign: select_u32(condition, yes.sign, no.sign),
        e: select_u32(condition, yes.e, no.e),
        m: select128(condition, yes.m, no.m),
    }
}

/// Whether `|a| < |b|`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn smaller(a: Real, b: Real) -> bool {
    let ea = select_u32(a.m.w3 == 0u32, 0u32, a.e);
    let eb = select_u32(b.m.w3 == 0u32, 0u32, b.e);
    ea < eb || (ea == eb && less128(a.m, b.m))
}

/// `a * b`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn times(a: Real, b: Real) -> Real {
    let p = mul_top4(a.m, b.m);
    let low = p.w3 < 0x8000_0000u32;
    let shift = select_u32(low, 1u32, 0u32);
    Real {
        sign: a.sign ^ b.sign,
        e: sub_wrap(add_wrap(add_wrap(a.e, b.e), 1u32 - shift), ONE),
        m: shl128_bits(p, shift),
    }
}

/// `a + b`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn plus(a: Real, b: Real) -> Real {
    let swap = smaller(a, b);
    let big = select_real(swap, b, a);
    let small = select_real(swap, a, b);
    // A zero may carry any exponent; its shift does not matter. One bit of head room for the sum.
    let apart = add_wrap(sub_wrap(big.e, small.e), 1u32);
    let x = shr128_bits(big.m, 1u32);
    let y = shr128(small.m, apart);
    normal(big.sign, add_wrap(big.e, 1u32), add128(x, neg128_if(big.sign != small.sign, y)))
}

/// `a - b`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn minus(a: Real, b: Real) -> Real {
    plus(a, negated(b))
}

/// About 1/(2 d) to 29 bits, Q.31, for d in 1/2..1, Q.32: Newton's iteration from a line that is 1/17 off.
#[cfg_attr(feature = "gpu", cube)]
fn reciprocal_word(d: u32) -> u32 {
    let y0 = sub_wrap(0xb4b4_b4b5u32, mul_hi(0xf0f0_f0f1u32, d) >> 1u32);
    let y1 = reciprocal_step(d, y0);
    let y2 = reciprocal_step(d, y1);
    reciprocal_step(d, y2)
}

/// y + 2 y (1/2 - d y), y and the result Q.31.
#[cfg_attr(feature = "gpu", cube)]
fn reciprocal_step(d: u32, y: u32) -> u32 {
    let rest = sub_wrap(0x4000_0000u32, mul_hi(d, y));
    let negative = rest >= 0x8000_0000u32;
    let flip = mask(negative);
    let p = mul_hi(y, sub_wrap(rest ^ flip, flip)) << 2u32;
    add_wrap(y, sub_wrap(p ^ flip, flip))
}

/// A quotient good to 20 bits or more, Q.31, of two positive values with quotient below 2: for choosing an interval.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn rough_quotient(a: Real, b: Real) -> u32 {
    // a.m / b.m = (a.w3 / 2^32) * 2 * (1/(2 d)) with 1/(2 d) in Q.31.
    let q = mul_hi(a.m.w3, reciprocal_word(b.m.w3));
    // q is half the quotient of the mantissas in Q.31.
    let apart = sub_wrap(b.e, a.e);
    let far = apart > 30u32 && apart < 0x8000_0000u32;
    let inside = select_u32(apart >= 0x8000_0000u32, q << 2u32, (q << 1u32) >> (apart & 31u32));
    select_u32(far || a.m.w3 == 0u32, 0u32, inside)
}

/// 1/a for a not 0, good to 2^-110.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn reciprocal(a: Real) -> Real {
    let d = a.m;
    let y1 = Wide { w3: reciprocal_word(d.w3), w2: 0u32, w1: 0u32, w0: 0u32 };
    // y + 2 y (1/2 - d y) twice more, in 64 and in 128 bits; y is Q.127 of 1/(2 d), and d Q.128.
    let half = Wide { w3: 0x4000_0000u32, w2: 0u32, w1: 0u32, w0: 0u32 };
    let r1 = add128(half, neg128_if(true, mul_top2(d, y1)));
    let n1 = r1.w3 >= 0x8000_0000u32;
    let p1 = shl128_bits(mul_top2(y1, neg128_if(n1, r1)), 2u32);
    let y2 = add128(y1, neg128_if(n1, p1));
    let r2 = add128(half, neg128_if(true, mul_top4(d, y2)));
    let n2 = r2.w3 >= 0x8000_0000u32;
    let p2 = shl128_bits(mul_top4(y2, neg128_if(n2, r2)), 2u32);
    let y3 = add128(y2, neg128_if(n2, p2));
    // a = 2 d * 2^(e - ONE), so 1/a = y 2^(ONE - e).
    normal(a.sign, sub_wrap(ONE + ONE, a.e), y3)
}

/// y + 2 y (1/4 - d y^2), one word; d Q.32 in 1/4..1, y Q.31 near 1/(2 sqrt(d)).
#[cfg_attr(feature = "gpu", cube)]
fn root_step(d: u32, y: u32) -> u32 {
    // y^2 in Q.30, then d y^2 in Q.30: 1/4 is 2^28.
    let rest = sub_wrap(0x1000_0000u32, mul_hi(d, mul_hi(y, y)));
    let negative = rest >= 0x8000_0000u32;
    let flip = mask(negative);
    // y * rest in Q.29 after the product; 2 y rest in Q.31 is 8 times that.
    let p = mul_hi(y, sub_wrap(rest ^ flip, flip)) << 3u32;
    add_wrap(y, sub_wrap(p ^ flip, flip))
}

/// 1/sqrt(|a|) for a not 0, good to 2^-96.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn reciprocal_root(a: Real) -> Real {
    // |a| = d * 4^k with d in 1/4..1: k = (e - ONE) / 2 + 1, rounded down; ONE is even.
    let even = (a.e & 1u32) == 0u32;
    let d = shr128_bits(a.m, select_u32(even, 1u32, 0u32));
    let k = a.e >> 1u32;
    // 1.0664 - 0.6094 d is off by 8.6% at most; four steps give 25 bits or more.
    let y0 = sub_wrap(0x8880_0000u32, mul_hi(0x9c00_0000u32, d.w3) >> 1u32);
    let y1 = root_step(d.w3, y0);
    let y2 = root_step(d.w3, y1);
    let y3 = root_step(d.w3, y2);
    let z0 = Wide { w3: root_step(d.w3, y3), w2: 0u32, w1: 0u32, w0: 0u32 };
    let quarter = Wide { w3: 0x1000_0000u32, w2: 0u32, w1: 0u32, w0: 0u32 };
    let r1 = add128(quarter, neg128_if(true, mul_top2(d, mul_top2(z0, z0))));
    let n1 = r1.w3 >= 0x8000_0000u32;
    let z1 = add128(z0, neg128_if(n1, shl128_bits(mul_top2(z0, neg128_if(n1, r1)), 3u32)));
    let r2 = add128(quarter, neg128_if(true, mul_top4(d, mul_top4(z1, z1))));
    let n2 = r2.w3 >= 0x8000_0000u32;
    let z2 = add128(z1, neg128_if(n2, shl128_bits(mul_top4(z1, neg128_if(n2, r2)), 3u32)));
    // 1/sqrt(d) = 2 y, y being Q.127.
    normal(0u32, sub_wrap(ONE + ONE / 2u32, k), z2)
}

/// The bits of the float nearest to `a`, canonical: the half-way case, which callers exclude or settle, goes up.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn rounded(a: Real) -> u32 {
    let mantissa = add_wrap(a.m.w3 >> 8u32, (a.m.w3 >> 7u32) & 1u32);
    packed(a, mantissa)
}

/// The canonical bits for a rounded 24-bit `mantissa` (2^24 allowed) with the sign and the exponent of `a`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn packed(a: Real, mantissa: u32) -> u32 {
    // The exponent field, less 1 because the mantissa's leading bit adds one; the carry of a mantissa adds one more.
    let field = sub_wrap(a.e, ONE - 126u32);
    let size = add_wrap(field << 23u32, mantissa);
    let under = field >= 0x8000_0000u32 || a.m.w3 == 0u32;
    let finite = select_u32(under || size <= 0x0080_0000u32, 0u32, size);
    let over = field >= 254u32 && field < 0x8000_0000u32 && a.m.w3 != 0u32;
    let canonical = select_u32(over, 0x7f80_0000u32, finite);
    canonical | select_u32(canonical == 0u32, 0u32, a.sign)
}
