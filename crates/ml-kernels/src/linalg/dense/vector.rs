//! Vectors of doubles: the few operations that the microkernel of products needs, none of them fused.

/// A vector of doubles. Operations work lane by lane and round once.
// pathway: P133
pub(in super::super) trait Lanes: Copy {
    const COUNT: usize;

    fn splat(x: f64) -> Self;

    /// The first elements of `from`, of which there must be enough.
    fn load(from: &[f64]) -> Self;

    /// Stores to the first elements of `to`, of which there must be enough.
    fn store(self, to: &mut [f64]);

    fn add(self, other: Self) -> Self;

    fn sub(self, other: Self) -> Self;

    fn mul(self, other: Self) -> Self;
}

/// Two lanes in plain Rust: the vectors that every 64-bit target has.
#[derive(Clone, Copy)]
pub(in super::super) struct Portable([f64; 2]);

impl Lanes for Portable {
    const COUNT: usize = 2;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Portable([x; 2])
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        Portable([from[0], from[1]])
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[..2].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Portable([self.0[0] + other.0[0], self.0[1] + other.0[1]])
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Portable([self.0[0] - other.0[0], self.0[1] - other.0[1]])
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Portable([self.0[0] * other.0[0], self.0[1] * other.0[1]])
    }
}

#[cfg(target_arch = "x86_64")]
pub(in super::super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    macro_rules! lanes {
        ($(#[$doc:meta])* $name:ident($raw:ty), $count:literal, $set:ident $load:ident $store:ident $add:ident $sub:ident $mul:ident) => {
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub(in super::super::super) struct $name($raw);

            impl Lanes for $name {
                const COUNT: usize = $count;

                #[inline(always)]
                fn splat(x: f64) -> Self {
                    // SAFETY: the caller is compiled for these instructions, see the type.
                    unsafe { $name($set(x)) }
                }

                #[inline(always)]
                fn load(from: &[f64]) -> Self {
                    let from = &from[..Self::COUNT];
                    // SAFETY: as in `splat`; `from` has as many elements as the vector.
                    unsafe { $name($load(from.as_ptr())) }
                }

                #[inline(always)]
                fn store(self, to: &mut [f64]) {
                    let to = &mut to[..Self::COUNT];
                    // SAFETY: as in `splat`; `to` has as many elements as the vector.
                    unsafe { $store(to.as_mut_ptr(), self.0) };
                }

                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    // SAFETY: as in `splat`.
                    unsafe { $name($add(self.0, other.0)) }
                }

                #[inline(always)]
                fn sub(self, other: Self) -> Self {
                    // SAFETY: as in `splat`.
                    unsafe { $name($sub(self.0, other.0)) }
                }

                #[inline(always)]
                fn mul(self, other: Self) -> Self {
                    // SAFETY: as in `splat`.
                    unsafe { $name($mul(self.0, other.0)) }
                }
            }
        };
    }

    lanes! {
        /// Eight lanes. Only functions that are compiled for AVX-512 may touch one.
        Avx512(__m512d), 8,
        _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd
    }
    lanes! {
        /// Four lanes. Only functions that are compiled for AVX2 may touch one.
        Avx2(__m256d), 4,
        _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd
    }
}
