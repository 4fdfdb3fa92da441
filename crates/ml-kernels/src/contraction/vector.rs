//! Vectors of floats: the few operations that microkernels need, none of them fused.

/// |x| <= 2^-126 becomes +0: `num::canon`, for code that is compiled for the machine's own instruction set.
#[inline(always)]
pub(super) fn flush(x: f32) -> f32 {
    if (x.to_bits() & 0x7fff_ffff) <= 0x0080_0000 { 0.0 } else { x }
}

/// A vector of floats. Operations work lane by lane and round once.
pub(super) trait Vector: Copy {
    const LANES: usize;

    fn splat(x: f32) -> Self;

    /// The first elements of `from`, of which there must be enough.
    fn load(from: &[f32]) -> Self;

    /// Stores to the first elements of `to`, of which there must be enough.
    fn store(self, to: &mut [f32]);

    fn add(self, other: Self) -> Self;

    fn sub(self, other: Self) -> Self;

    /// As `sub`, where the machine can by another unit: loops that do half of their differences this way keep both busy.
    /// `ones` are ones that the compiler does not see, so that it leaves the spelling alone.
    #[inline(always)]
    fn sub_elsewhere(self, other: Self, ones: Self) -> Self {
        let _ = ones;
        self.sub(other)
    }

    fn mul(self, other: Self) -> Self;

    /// Canon of each lane.
    fn flush(self) -> Self;

    /// `self + other.flush()`, for a `self` without -0.
    #[inline(always)]
    fn add_flushed(self, other: Self) -> Self {
        self.add(other.flush())
    }
}

/// Four lanes in plain Rust: the vectors that every 64-bit target has.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; 4]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut out = self;
        for i in 0..4 {
            out.0[i] = f(self.0[i], other.0[i]);
        }
        out
    }
}

impl Vector for Portable {
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Portable([x; 4])
    }

    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        Portable([from[0], from[1], from[2], from[3]])
    }

    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[..4].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    fn flush(self) -> Self {
        self.zip(self, |a, _| flush(a))
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    /// Sixteen lanes. Only functions that are compiled for AVX-512 may touch one.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx512(__m512);

    /// Eight lanes. Only functions that are compiled for AVX2 may touch one.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(__m256);

    impl Vector for Avx512 {
        const LANES: usize = 16;

        #[inline(always)]
        fn splat(x: f32) -> Self {
            // SAFETY: the caller is compiled for AVX-512, see the type.
            unsafe { Avx512(_mm512_set1_ps(x)) }
        }

        #[inline(always)]
        fn load(from: &[f32]) -> Self {
            let from = &from[..Self::LANES];
            // SAFETY: as in `splat`; `from` has sixteen elements.
            unsafe { Avx512(_mm512_loadu_ps(from.as_ptr())) }
        }

        #[inline(always)]
        fn store(self, to: &mut [f32]) {
            let to = &mut to[..Self::LANES];
            // SAFETY: as in `splat`; `to` has sixteen elements.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) };
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            unsafe { Avx512(_mm512_add_ps(self.0, other.0)) }
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            unsafe { Avx512(_mm512_sub_ps(self.0, other.0)) }
        }

        #[inline(always)]
        fn sub_elsewhere(self, other: Self, ones: Self) -> Self {
            // The multiplier's unit: a product by 1 is exact, so its difference is rounded once, as a difference is.
            // SAFETY: as in `splat`.
            unsafe { Avx512(_mm512_fmsub_ps(self.0, ones.0, other.0)) }
        }

        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            unsafe { Avx512(_mm512_mul_ps(self.0, other.0)) }
        }

        #[inline(always)]
        fn flush(self) -> Self {
            // SAFETY: as in `splat`.
            unsafe { Avx512(_mm512_maskz_mov_ps(self.kept(), self.0)) }
        }

        #[inline(always)]
        // pathway: P7
        fn add_flushed(self, other: Self) -> Self {
            // A lane whose addend is flushed stays as it is, which is what adding +0 to it gives.
            // SAFETY: as in `splat`.
            unsafe { Avx512(_mm512_mask_add_ps(self.0, other.kept(), self.0, other.0)) }
        }
    }

    impl Avx512 {
        /// The lanes that canon leaves as they are.
        #[inline(always)]
        fn kept(self) -> __mmask16 {
            // SAFETY: as in `splat`.
            unsafe {
                let magnitude = _mm512_and_si512(_mm512_castps_si512(self.0), _mm512_set1_epi32(0x7fff_ffff));
                _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x0080_0000))
            }
        }
    }

    impl Vector for Avx2 {
        const LANES: usize = 8;

        #[inline(always)]
        fn splat(x: f32) -> Self {
            // SAFETY: the caller is compiled for AVX2, see the type.
            unsafe { Avx2(_mm256_set1_ps(x)) }
        }

        #[inline(always)]
        fn load(from: &[f32]) -> Self {
            let from = &from[..Self::LANES];
            // SAFETY: as in `splat`; `from` has eight elements.
            unsafe { Avx2(_mm256_loadu_ps(from.as_ptr())) }
        }

        #[inline(always)]
        fn store(self, to: &mut [f32]) {
            let to = &mut to[..Self::LANES];
            // SAFETY: as in `splat`; `to` has eight elements.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) };
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            unsafe { Avx2(_mm256_add_ps(self.0, other.0)) }
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            unsafe { Avx2(_mm256_sub_ps(self.0, other.0)) }
        }

        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            unsafe { Avx2(_mm256_mul_ps(self.0, other.0)) }
        }

        #[inline(always)]
        fn flush(self) -> Self {
            // SAFETY: as in `splat`.
            unsafe {
                let word = _mm256_castps_si256(self.0);
                let magnitude = _mm256_and_si256(word, _mm256_set1_epi32(0x7fff_ffff));
                let kept = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x0080_0000));
                Avx2(_mm256_castsi256_ps(_mm256_and_si256(word, kept)))
            }
        }
    }
}
