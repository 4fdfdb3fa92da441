//! What a node or a bin rule sees of a number: its order key, or the category that it names. Integers alone.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use crate::num::{select_u32, sub_wrap};
use crate::sabotage::Arm;

/// The value of a missing entry, above every key and every category.
pub(crate) const MISSING: u32 = u32::MAX;

/// A whole number of 2^31 or more: a category that no set holds.
pub(crate) const BEYOND: u32 = 0x8000_0000;

/// The greatest magnitude that counts as zero, as bits: that of clause `values`, or zero itself where subnormals are kept.
pub(crate) fn zero_bound(arm: Arm) -> u32 {
    if arm == Arm::KeepSubnormals { 0 } else { 0x0080_0000 }
}

/// The order key of the float with bits `b`, magnitudes up to `zero` taken for zero; [`MISSING`] for a NaN.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P231
pub(crate) fn number_value(b: u32, zero: u32) -> u32 {
    let magnitude = b & 0x7fff_ffffu32;
    let signed = select_u32(b >= 0x8000_0000u32, b ^ 0xffff_ffffu32, b ^ 0x8000_0000u32);
    let ordered = select_u32(magnitude <= zero, 0x8000_0000u32, signed);
    select_u32(magnitude > 0x7f80_0000u32, MISSING, ordered)
}

/// The category that the float with bits `b` names: its value if it is a whole number from 0 on, [`BEYOND`] for one of
/// 2^31 or more; [`MISSING`] for a NaN, an infinity, a negative number and a fraction. Magnitudes up to `zero` name
/// category 0.
#[cfg_attr(feature = "gpu", cube)]
pub(crate) fn category_value(b: u32, zero: u32) -> u32 {
    let magnitude = b & 0x7fff_ffffu32;
    let exponent = magnitude >> 23u32;
    let mantissa = (magnitude & 0x007f_ffffu32) | 0x0080_0000u32;
    // Shifts stay below 32 whatever the exponent is; where they mean nothing, nothing of theirs is chosen.
    let down = sub_wrap(150u32, exponent) & 31u32;
    let up = sub_wrap(exponent, 150u32) & 31u32;
    let shifted = mantissa >> down;
    let whole = select_u32((shifted << down) == mantissa, shifted, MISSING);
    let small = select_u32(exponent < 127u32, MISSING, whole);
    let middle = select_u32(exponent > 150u32, mantissa << up, small);
    let large = select_u32(exponent >= 158u32, BEYOND, middle);
    let signed = select_u32(b >= 0x8000_0000u32, MISSING, large);
    let finite = select_u32(exponent == 255u32, MISSING, signed);
    select_u32(magnitude <= zero, 0u32, finite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::key;

    #[test]
    fn numbers_are_keys_of_what_is_stored() {
        let zero = zero_bound(Arm::None);
        let sorted =
            [f32::NEG_INFINITY, -1.0, 0.0, 1.2e-38, 1.0, f32::INFINITY].map(|x| (x, number_value(x.to_bits(), zero)));
        for (x, value) in sorted {
            assert_eq!(value, key(x));
        }
        for x in [-0.0, 1e-45, -1e-45, f32::MIN_POSITIVE, -f32::MIN_POSITIVE] {
            assert_eq!(number_value(x.to_bits(), zero), key(0.0), "{x:e}");
        }
        assert_eq!(number_value(1, zero_bound(Arm::KeepSubnormals)), key(1e-45));
        for nan in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff] {
            assert_eq!(number_value(nan, zero), MISSING);
        }
    }

    #[test]
    fn categories_are_whole_numbers() {
        let of = |x: f32| category_value(x.to_bits(), zero_bound(Arm::None));
        for c in [0u32, 1, 2, 3, 31, 32, 1000, 8_388_607, 8_388_609, 16_777_215, 16_777_216, 33_554_436, 0x7fff_ff80] {
            assert_eq!(of(c as f32), c);
        }
        for x in [2_147_483_648.0, 4e9, 1e20, f32::MAX] {
            assert_eq!(of(x), BEYOND);
        }
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, -0.5, 0.5, 1.5, 1e-30, 8_388_606.5, -1e20] {
            assert_eq!(of(x), MISSING, "{x:e}");
        }
        for x in [-0.0, 1e-40, -1e-40] {
            assert_eq!(of(x), 0, "{x:e}");
        }
    }
}
