//! Contract clause `order`: one total order on order-preserving keys, ties to the lowest index.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::raw::*;

/// The key of the NaN that every NaN is mapped to: above all other keys.
pub const KEY_NAN: u32 = 0xffc0_0000;

/// The key of +infinity, above all finite values.
pub const KEY_INFINITY: u32 = 0xff80_0000;

/// The key of -infinity, the least key of any value.
pub const KEY_NEG_INFINITY: u32 = 0x007f_ffff;

/// A `u32` that sorts as `x` does: -inf < ... < 0 < ... < +inf < NaN. Both zeros have one key, and so do all NaNs.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P51
pub fn key(x: f32) -> u32 {
    let b = bits(x);
    let magnitude = b & 0x7fff_ffffu32;
    let signed = select_u32(b >= 0x8000_0000u32, b ^ 0xffff_ffffu32, b ^ 0x8000_0000u32);
    let ordered = select_u32(magnitude == 0u32, 0x8000_0000u32, signed);
    select_u32(magnitude > 0x7f80_0000u32, KEY_NAN, ordered)
}

/// The value with key `k`; `unkey(key(x))` is `x` for every `x` but -0 (becomes +0) and NaN (becomes 0x7fc00000).
#[cfg_attr(feature = "gpu", cube)]
pub fn unkey(k: u32) -> f32 {
    from_bits(select_u32(k >= 0x8000_0000u32, k ^ 0x8000_0000u32, k ^ 0xffff_ffffu32))
}

/// True if (`a_key`, `a_index`) comes before (`b_key`, `b_index`): by key, equal keys by index.
#[cfg_attr(feature = "gpu", cube)]
pub fn less(a_key: u32, a_index: u32, b_key: u32, b_index: u32) -> bool {
    a_key < b_key || (a_key == b_key && a_index < b_index)
}

/// The lesser of two values by [`key`](fn@key); a NaN only if both are.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P23
pub fn min(a: f32, b: f32) -> f32 {
    let x = key(a);
    let y = key(b);
    unkey(select_u32(y < x, y, x))
}

/// The greater of two values by [`key`](fn@key); a NaN if either is.
#[cfg_attr(feature = "gpu", cube)]
pub fn max(a: f32, b: f32) -> f32 {
    let x = key(a);
    let y = key(b);
    unkey(select_u32(x < y, y, x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // pathway test: P51
    fn keys_sort_as_values_do() {
        let sorted = [
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            -1e-45,
            0.0,
            1e-45,
            f32::MIN_POSITIVE,
            1.0,
            f32::MAX,
            f32::INFINITY,
            f32::NAN,
        ];
        assert!(sorted.windows(2).all(|w| key(w[0]) < key(w[1])));
        assert!(sorted.iter().all(|&x| unkey(key(x)).to_bits() == x.to_bits()));
        assert_eq!(key(-0.0), key(0.0));
        assert_eq!(key(f32::from_bits(0xffff_ffff)), KEY_NAN);
        assert_eq!(key(f32::INFINITY), KEY_INFINITY);
        assert_eq!(key(f32::NEG_INFINITY), KEY_NEG_INFINITY);
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        assert!(less(5, 1, 5, 2) && !less(5, 2, 5, 1) && !less(5, 1, 5, 1));
        assert!(less(4, 9, 5, 0) && !less(5, 0, 4, 9));
    }

    #[test]
    // pathway test: P23
    fn minimum_and_maximum() {
        assert_eq!(min(-0.0, 0.0).to_bits(), 0);
        assert_eq!(max(-0.0, 0.0).to_bits(), 0);
        assert_eq!((min(-2.0, 3.0), max(-2.0, 3.0)), (-2.0, 3.0));
        assert_eq!(min(f32::NAN, 1.0), 1.0);
        assert!(max(1.0, f32::NAN).is_nan() && min(f32::NAN, f32::NAN).is_nan());
    }
}
