//! Logarithms of all floats by MPFR's logarithms of all mantissas: log(2^e m) = e log(2) + log(m).
//!
//! In fixed point of 112 fraction bits, where products and sums of integers are exact: the sum is off by the roundings of
//! log(2), at most 149 times, and of log(m), together less than 2^-104, which is 2^-80 of the least result but 0.

use rayon::prelude::*;
use rug::Float;

use super::oracle::Value;

/// Fraction bits.
const FRACTION: u32 = 112;

/// Precision at which MPFR is asked.
const BITS: u32 = 160;

/// The logarithms of 1 + i 2^-23 and of 2.
pub(super) struct Table {
    mantissas: Vec<i128>,
    two: i128,
}

impl Table {
    /// Asks MPFR 2^23 times.
    pub(super) fn new(log: Value, pool: &rayon::ThreadPool) -> Table {
        let mantissa = |i: u32| fixed(log, f32::from_bits(0x3f80_0000 + i));
        Table {
            mantissas: pool.install(|| (0..1u32 << 23).into_par_iter().map(mantissa).collect()),
            two: fixed(log, 2.0),
        }
    }

    /// The logarithm of the float with bits `x`, if it is positive, normal and finite and the result so far from the middle
    /// between two floats that the error does not matter.
    pub(super) fn decided(&self, x: u32) -> Option<u32> {
        let normal = (0x0080_0000..0x7f80_0000).contains(&x);
        let e = i128::from(x >> 23) - 127;
        normal.then(|| decided(e * self.two + self.mantissas[(x & 0x007f_ffff) as usize])).flatten()
    }
}

/// The logarithm of 1 or more: its integer part first, then 32 bits at a time.
fn fixed(log: Value, x: f32) -> i128 {
    let mut y = Float::with_val(BITS, x);
    log(&mut y);
    let mut n = 0i128;
    for bits in [0, 32, 32, 32, FRACTION - 96] {
        y <<= bits;
        let whole = y.clone().trunc();
        n = (n << bits) + i128::from(whole.to_u32_saturating().unwrap_or_default());
        y -= whole;
    }
    n
}

/// The float nearest to `sum`, unless the middle between two is near.
fn decided(sum: i128) -> Option<u32> {
    if sum == 0 {
        return Some(0);
    }
    let size = sum.unsigned_abs();
    let zeros = size.leading_zeros();
    let top = size << zeros;
    // 104 bits below the 24 of a float; 2^103 of them is the middle.
    let below = top & ((1 << 104) - 1);
    if below.abs_diff(1 << 103) < 1 << (103 - 19) {
        return None;
    }
    let mantissa = (top >> 104) as u32 + u32::from(below > 1 << 103);
    let field = 127 + (127 - zeros) - FRACTION;
    Some((((field - 1) << 23) + mantissa) | u32::from(sum < 0) << 31)
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{COARSE, nearest};
    use super::*;

    #[test]
    fn sums_are_the_logarithms() {
        let two = fixed(Float::log10_mut, 2.0);
        let mut y = Float::new(COARSE);
        let mut open = 0;
        let near = (0x3f7f_ff00u32..0x3f80_0100).chain((0x0080_0000..0x7f80_0000).step_by(54_321));
        for x in near.chain([0x4120_0000, 0x42c8_0000, 0x0080_0000, 0x7f7f_ffff]) {
            let mantissa = fixed(Float::log10_mut, f32::from_bits(x & 0x007f_ffff | 0x3f80_0000));
            match decided((i128::from(x >> 23) - 127) * two + mantissa) {
                Some(bits) => assert_eq!(bits, nearest(&mut y, f32::from_bits(x), Float::log10_mut).0, "{x:08x}"),
                None => open += 1,
            }
        }
        assert!(open < 5, "{open}");
    }

    #[test]
    fn only_positive_normal_numbers_have_a_sum() {
        let table = Table { mantissas: vec![0; 1 << 23], two: 1 << FRACTION };
        assert_eq!((table.decided(0x4080_0000), table.decided(0x3f00_0000)), (Some(0x4000_0000), Some(0xbf80_0000)));
        for x in [0, 0x007f_ffff, 0x7f80_0000, 0x7fc0_0000, 0xbf80_0000] {
            assert_eq!(table.decided(x), None);
        }
    }
}
