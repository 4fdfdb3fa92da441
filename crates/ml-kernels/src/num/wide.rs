//! Contract clause `tree-splits`: `a b - c d` of 64-bit integers, rounded once.
//!
//! What a split gains is a small difference of large products. Taken in integers nothing of it cancels, and where there
//! is nothing to gain it is exactly zero.

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::convert::round_top;
use super::limbs::*;
use super::ln::{Wide, add128, neg128_if};
use super::raw::*;

/// The product of two signed integers, two's complement.
#[cfg_attr(feature = "gpu", cube)]
fn product(a: Limbs, b: Limbs) -> Wide {
    let low = mul_wide(a.lo, b.lo);
    let one = mul_wide(a.lo, b.hi);
    let two = mul_wide(a.hi, b.lo);
    let high = mul_wide(a.hi, b.hi);
    let ends = Wide { hi: high, lo: low };
    let first = Wide { hi: Limbs { hi: 0u32, lo: one.hi }, lo: Limbs { hi: one.lo, lo: 0u32 } };
    let second = Wide { hi: Limbs { hi: 0u32, lo: two.hi }, lo: Limbs { hi: two.lo, lo: 0u32 } };
    let unsigned = add128(add128(ends, first), second);
    // A negative operand counted as 2^64 more than it is.
    let mask_a = select_u32(a.hi >= 0x8000_0000u32, 0xffff_ffffu32, 0u32);
    let mask_b = select_u32(b.hi >= 0x8000_0000u32, 0xffff_ffffu32, 0u32);
    let less_b = sub64(unsigned.hi, Limbs { hi: b.hi & mask_a, lo: b.lo & mask_a });
    Wide { hi: sub64(less_b, Limbs { hi: a.hi & mask_b, lo: a.lo & mask_b }), lo: unsigned.lo }
}

/// [`cross`](fn@cross) in words: what devices run.
#[cfg_attr(feature = "gpu", cube)]
pub fn cross_integer(a: Limbs, b: Limbs, c: Limbs, d: Limbs) -> f32 {
    let x = add128(product(a, b), neg128_if(true, product(c, d)));
    let sign = x.hi.hi & 0x8000_0000u32;
    let size = neg128_if(sign != 0u32, x);
    // The first word that is not zero, the next one, and whether anything lies below.
    let has3 = size.hi.hi != 0u32;
    let has2 = size.hi.lo != 0u32;
    let has1 = size.lo.hi != 0u32;
    let top = select_u32(has3, size.hi.hi, select_u32(has2, size.hi.lo, select_u32(has1, size.lo.hi, size.lo.lo)));
    let next = select_u32(has3, size.hi.lo, select_u32(has2, size.lo.hi, select_u32(has1, size.lo.lo, 0u32)));
    let rest = select_u32(has3, size.lo.hi | size.lo.lo, select_u32(has2, size.lo.lo, 0u32));
    let field = select_u32(has3, 254u32, select_u32(has2, 222u32, select_u32(has1, 190u32, 158u32)));
    let zeros = clz(top | 1u32);
    let rounded = round_top(shl_pair(top, next, zeros), (next << zeros) | rest, field - zeros);
    from_bits(select_u32(top == 0u32, 0u32, rounded | sign))
}

/// [`cross`](fn@cross) on the host.
#[inline(always)]
fn cross_host(a: Limbs, b: Limbs, c: Limbs, d: Limbs) -> f32 {
    let product = |a: Limbs, b: Limbs| i128::from(a.to_i64()) * i128::from(b.to_i64());
    let x = product(a, b).wrapping_sub(product(c, d));
    let size = x.unsigned_abs();
    // The 62 bits from the first one on, and whether anything lies below: more than one rounding to 24 bits needs.
    let zeros = size.leading_zeros();
    let top = ((size << (zeros & 127)) >> 66) as i64;
    let below = (size << (zeros & 127)) & ((1 << 66) - 1) != 0;
    let unit = f32::from_bits((127 + 66 - zeros.min(127)) << 23);
    let rounded = (top | i64::from(below)) as f32 * unit;
    if x < 0 { -rounded } else { rounded }
}

twin! {
    /// `a b - c d` of signed 64-bit integers as the nearest float, ties to even. No operand may exceed 2^62 in magnitude.
    // pathway: P117
    pub fn cross(a: Limbs, b: Limbs, c: Limbs, d: Limbs) -> f32,
    host: cross_host(a, b, c, d),
    gpu(scope): cross_integer::expand(scope, a, b, c, d)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limbs(x: i64) -> Limbs {
        Limbs::from_i64(x)
    }

    fn check(a: i64, b: i64, c: i64, d: i64) {
        let want = (i128::from(a) * i128::from(b) - i128::from(c) * i128::from(d)) as f32;
        let (a, b, c, d) = (limbs(a), limbs(b), limbs(c), limbs(d));
        assert_eq!(cross(a, b, c, d).to_bits(), want.to_bits());
        assert_eq!(cross_integer(a, b, c, d).to_bits(), want.to_bits());
    }

    #[test]
    fn edges() {
        let ends = [0, 1, -1, 3, i64::from(u32::MAX), 1 << 32, -(1 << 32), (1 << 62) - 1, 1 << 62, -(1 << 62)];
        for a in ends {
            for b in ends {
                for c in ends {
                    for d in ends {
                        check(a, b, c, d);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn equals_integers_of_128_bits(v in proptest::array::uniform4((any::<i64>(), 1u32..63))) {
            let [a, b, c, d] = v.map(|(x, shift)| x >> shift);
            check(a, b, c, d);
            // Near ties of the rounding.
            check((1 << 24) + 1 + 2 * (a & 0xffff), 1 << (b & 31), c & 1, d & 3);
        }
    }
}
