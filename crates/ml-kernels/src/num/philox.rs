//! Contract clause `random`: Philox4x32-10, a pure function of (seed, stream, index).
//!
//! J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::limbs::Limbs;
use super::raw::*;

/// Rounds of the contract's generator. A sabotage arm uses fewer.
pub const ROUNDS: u32 = 10;

/// Four random words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "gpu", derive(CubeType))]
pub struct Words {
    /// Word 0.
    pub w0: u32,
    /// Word 1.
    pub w1: u32,
    /// Word 2.
    pub w2: u32,
    /// Word 3.
    pub w3: u32,
}

/// The block cipher: counter `c` encrypted with key (`k0`, `k1`) in `rounds` rounds.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P61
pub fn philox4x32(c: Words, k0: u32, k1: u32, rounds: u32) -> Words {
    let mut w0 = c.w0;
    let mut w1 = c.w1;
    let mut w2 = c.w2;
    let mut w3 = c.w3;
    let mut a = k0;
    let mut b = k1;
    for _round in 0u32..rounds {
        let hi0 = mul_hi(w0, 0xd251_1f53u32);
        let lo0 = mul_lo(w0, 0xd251_1f53u32);
        let hi1 = mul_hi(w2, 0xcd9e_8d57u32);
        let lo1 = mul_lo(w2, 0xcd9e_8d57u32);
        w0 = hi1 ^ w1 ^ a;
        w1 = lo1;
        w2 = hi0 ^ w3 ^ b;
        w3 = lo0;
        a = add_wrap(a, 0x9e37_79b9u32);
        b = add_wrap(b, 0xbb67_ae85u32);
    }
    Words { w0, w1, w2, w3 }
}

/// The contract's draw: four words for item `index` of `stream` under `seed`, `block` counting further draws of the item.
///
/// Key = seed (low word first); counter = (index low, index high, stream, block).
#[cfg_attr(feature = "gpu", cube)]
// pathway: P62
pub fn draw(seed: Limbs, stream: u32, index: Limbs, block: u32, rounds: u32) -> Words {
    let counter = Words { w0: index.lo, w1: index.hi, w2: stream, w3: block };
    philox4x32(counter, seed.lo, seed.hi, rounds)
}

/// A uniform value in [0, 1): the top 24 bits of `word` times 2^-24, exact.
#[cfg_attr(feature = "gpu", cube)]
// pathway: P63
pub fn uniform_open(word: u32) -> f32 {
    let n = word >> 8u32;
    // Dividing by 2^24 takes 24 from the exponent field; 0 has none to spare.
    let scaled = sub_wrap(bits(u24_to_f32(n)), 0x0c00_0000u32);
    from_bits(select_u32(n == 0u32, 0u32, scaled))
}

/// A uniform value in (0, 1): (2 * top 23 bits + 1) * 2^-24, exact; never 0, so its logarithm is finite.
#[cfg_attr(feature = "gpu", cube)]
pub fn uniform_inside(word: u32) -> f32 {
    from_bits(sub_wrap(bits(u24_to_f32((word >> 8u32) | 1u32)), 0x0c00_0000u32))
}

/// A uniform integer in 0..`n` from 64 random bits: floor(r * n / 2^64); 0 if `n` is 0.
///
/// The bias is bounded: no value is more likely than 1/n by more than a factor 1 + n * 2^-64.
#[cfg_attr(feature = "gpu", cube)]
pub fn bounded(r: Limbs, n: u32) -> u32 {
    let low = mul_lo(r.hi, n);
    let sum = add_wrap(low, mul_hi(r.lo, n));
    add_wrap(mul_hi(r.hi, n), select_u32(sum < low, 1u32, 0u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(w: [u32; 4]) -> Words {
        Words { w0: w[0], w1: w[1], w2: w[2], w3: w[3] }
    }

    /// `kat_vectors` of Random123, rows `philox4x32 10`.
    #[test]
    // pathway test: P61
    fn published_vectors() {
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox4x32(words(counter), key[0], key[1], ROUNDS), words(expected));
        }
    }

    #[test]
    fn fewer_rounds_differ() {
        let zero = words([0; 4]);
        assert_ne!(philox4x32(zero, 0, 0, 7), philox4x32(zero, 0, 0, ROUNDS));
    }

    #[test]
    // pathway test: P62
    fn draw_places_its_arguments() {
        let drawn = draw(Limbs::from_u64(0x2222_2222_1111_1111), 3, Limbs::from_u64(0x5555_5555_4444_4444), 6, ROUNDS);
        let expected = philox4x32(words([0x4444_4444, 0x5555_5555, 3, 6]), 0x1111_1111, 0x2222_2222, ROUNDS);
        assert_eq!(drawn, expected);
    }

    #[test]
    // pathway test: P63
    fn uniform_is_exact() {
        for word in [0u32, 255, 256, 0x8000_0000, 0xffff_ffff, 0x1234_5678] {
            assert_eq!(uniform_open(word), (word >> 8) as f32 / 16_777_216.0);
            assert_eq!(uniform_inside(word), (word >> 8 | 1) as f32 / 16_777_216.0);
        }
        assert!(uniform_open(u32::MAX) < 1.0 && uniform_inside(u32::MAX) < 1.0 && uniform_inside(0) > 0.0);
    }

    #[test]
    fn bounded_is_the_high_product() {
        for r in [0u64, 1, u64::MAX, 0x8000_0000_0000_0000, 0x1234_5678_9abc_def0, 0x0000_0001_ffff_ffff] {
            for n in [0u32, 1, 2, 3, 10, 1_000_003, u32::MAX] {
                let expected = ((u128::from(r) * u128::from(n)) >> 64) as u32;
                assert_eq!(bounded(Limbs::from_u64(r), n), expected);
                assert!(n == 0 || expected < n);
            }
        }
    }
}
