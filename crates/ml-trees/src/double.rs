//! Two functions in double precision from sums, products and quotients alone, so that every host has the same bits.

use std::f64::consts::{LN_2, SQRT_2};

/// The natural logarithm of a positive normal number, to a few units of its last place.
///
/// x = 2^e m with m above √2/2 and at most √2; s = (m - 1) / (m + 1); e ln 2 + 2 s (1 + s²/3 + s⁴/5 + … + s²²/23), the
/// series by Horner from its last term.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut e = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let sum = (0..12).rev().fold(0.0, |sum, k| sum * z + 1.0 / f64::from(2 * k + 1));
    e as f64 * LN_2 + 2.0 * s * sum
}

/// 2 to the power `x`, which is held within ±1000.
///
/// k is the whole number next to x (halves go up), t = (x - k) ln 2; 1 + t (1 + t/2 (1 + t/3 (… (1 + t/16)))), times 2^k.
pub(crate) fn exp2(x: f64) -> f64 {
    let x = x.clamp(-1000.0, 1000.0);
    let k = (x + 0.5).floor();
    let t = (x - k) * LN_2;
    let sum = (1..=16).rev().fold(1.0, |sum, j| 1.0 + t / f64::from(j) * sum);
    sum * power_of_two(k as i32)
}

/// 2^k for -1022 <= k <= 1023; beyond, the nearest of these.
pub(crate) fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// ⌊log2 x⌋ of a positive normal number.
pub(crate) fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// A binary64 number rounded once to a canonical binary32.
pub(crate) fn single(x: f64) -> f32 {
    ml_core::canon::canon(x as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of mpmath at 30 digits, rounded to 20.
    #[test]
    fn logarithms_are_right_to_the_last_places() {
        for (x, want) in [
            (1.0, 0.0),
            (2.0, std::f64::consts::LN_2),
            (10.0, std::f64::consts::LN_10),
            (255.0, 5.541_263_545_158_426),
            (0.1, -std::f64::consts::LN_10),
            (1e300, 690.775_527_898_213_7),
            (1.000_000_1, 9.999_999_505_838_704e-8),
        ] {
            let got = ln(x);
            assert!((got - want).abs() <= 1e-15 * want.abs(), "ln {x}: {got} against {want}");
        }
    }

    #[test]
    fn powers_of_two_are_right_to_the_last_places() {
        assert_eq!(exp2(0.0), 1.0);
        assert_eq!(exp2(-3.0), 0.125);
        assert!((exp2(0.5) - SQRT_2).abs() < 5e-16);
        assert!((exp2(-0.5) - SQRT_2 / 2.0).abs() < 3e-16);
        assert!((exp2(-7.25) - 0.006_569_503_244_169_644).abs() < 1e-17);
        assert_eq!(exp2(f64::INFINITY), power_of_two(1000));
    }

    #[test]
    fn a_logarithm_undoes_a_power() {
        for i in -400..400 {
            let x = f64::from(i) / 16.0 + 0.01;
            assert!((ln(exp2(x)) - x * LN_2).abs() < 1e-14, "{x}");
        }
    }
}
