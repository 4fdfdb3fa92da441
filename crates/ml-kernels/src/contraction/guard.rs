//! Contract clause `flush`: when the loop without canon provably gives the bits of the loop with it.
//!
//! Let e and f be the least exponents among the non-zero |a| and |b|. A product rounds to 0 or to at least 2^(e+f) in
//! magnitude, so it is a multiple of 2^(e+f-23), and so is every sum. With e + f >= -102 that is a multiple of 2^-125:
//! no product and no sum is a subnormal, or the 2^-126 that canon flushes too. A difference is a multiple of
//! 2^(e-23) with e the lesser exponent of both; with e >= -28 its square is 0 or at least 2^-102.

use multiversion::multiversion;

use super::Term;

/// Biased exponent that stands for "no element but zeros".
pub(crate) const ONLY_ZEROS: u32 = 255;

/// Least sum of biased exponents for which plain products are provably exact enough: -102 + 2 * 127.
// pathway: P26
pub(crate) const PRODUCT_BOUND: u32 = 152;

/// Least biased exponent for which plain squared differences are: -28 + 127.
pub(crate) const DIFFERENCE_BOUND: u32 = 99;

/// The least biased exponent among the elements that are not zero, [`ONLY_ZEROS`] if there are none.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2", "aarch64+neon"))]
// pathway: P27
pub(crate) fn least_exponent(x: &[f32]) -> u32 {
    let mut least = u32::MAX;
    for v in x {
        // Without the sign, a zero becomes the greatest word and the exponent leads.
        let magnitude = v.to_bits() << 1;
        least = least.min(if magnitude == 0 { u32::MAX } else { magnitude });
    }
    least >> 24
}

/// Whether the plain loop is proved for operands with these least biased exponents.
// pathway: P25
pub(crate) fn plain_is_proved(term: Term, a: u32, b: u32) -> bool {
    match term {
        Term::Product => a + b >= PRODUCT_BOUND,
        Term::SquaredDifference => a.min(b) >= DIFFERENCE_BOUND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // pathway test: P27
    fn least_exponent_skips_zeros_only() {
        assert_eq!(least_exponent(&[]), ONLY_ZEROS);
        assert_eq!(least_exponent(&[0.0, -0.0]), ONLY_ZEROS);
        assert_eq!(least_exponent(&[0.0, -1.0, 3.0]), 127);
        assert_eq!(least_exponent(&[f32::MIN_POSITIVE, 1.0]), 1);
        assert_eq!(least_exponent(&[1e-45, 1.0]), 0);
        let mut long = vec![1.0f32; 1000];
        long[777] = -0.25;
        assert_eq!(least_exponent(&long), 125);
    }

    #[test]
    // pathway test: P26
    fn bounds_are_tight() {
        // 2^-102 just passes; its half does not, and 2^-126 + 2^-126 * tiny would show.
        assert!(plain_is_proved(Term::Product, 127 - 51, 127 - 51));
        assert!(!plain_is_proved(Term::Product, 127 - 51, 127 - 52));
        assert!(plain_is_proved(Term::Product, ONLY_ZEROS, 1));
        assert!(plain_is_proved(Term::SquaredDifference, 127 - 28, 127));
        assert!(!plain_is_proved(Term::SquaredDifference, 127 - 29, 127));
    }
}
