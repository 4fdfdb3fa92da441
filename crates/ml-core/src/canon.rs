//! Contract clause `values`: the one canonical form of a stored number.

/// Smallest positive normal number, 2^-126; itself canonicalised to zero (clause `values` says why the bound is `<=`).
pub const FLUSH_BOUND: f32 = f32::MIN_POSITIVE;

/// `x` as the contract stores it: |x| <= 2^-126 becomes +0, everything else stays.
///
/// Decided on bits, so that no compiler's view of subnormals or zeros matters.
#[inline(always)]
// pathway: P2
pub fn canon(x: f32) -> f32 {
    let b = x.to_bits();
    if b & 0x7fff_ffff <= 0x0080_0000 { 0.0 } else { x }
}

/// Whether `x` is neither NaN nor infinite, decided on bits.
#[inline(always)]
pub fn is_finite(x: f32) -> bool {
    x.to_bits() & 0x7f80_0000 != 0x7f80_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // pathway test: P2
    fn bound_is_inclusive_and_zero_is_unsigned() {
        for (x, want) in [(-0.0f32, 0u32), (f32::MIN_POSITIVE, 0), (-f32::MIN_POSITIVE, 0), (1e-42, 0)] {
            assert_eq!(canon(x).to_bits(), want);
        }
        let above = f32::from_bits(0x0080_0001);
        assert_eq!(canon(above).to_bits(), 0x0080_0001);
        assert_eq!(canon(-above).to_bits(), 0x8080_0001);
        assert!(canon(f32::NAN).is_nan());
    }
}
