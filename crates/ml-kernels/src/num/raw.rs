//! Intrinsics: the few operations that a host function and a kernel spell differently.
//!
//! Each is a plain Rust function for the host and, with the `gpu` feature, an `expand` module of the same name that the
//! `#[cube]` macro calls for kernels. Everything above this file is written once. Nothing here rounds differently on the
//! host and on a device, *given the contract's run-time constants*; what needs them is private to [`super::ops`].

#[cfg(feature = "gpu")]
use cubecl::ir::Scope;
#[cfg(feature = "gpu")]
use cubecl::prelude::*;

#[cfg(feature = "gpu")]
pub(super) type X<T> = <T as CubeType>::ExpandType;

macro_rules! twin {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty, host: $host:expr, gpu($scope:ident): $gpu:expr) => {
        $(#[$doc])*
        #[inline(always)]
        $vis fn $name($($arg: $ty),*) -> $ret {
            $host
        }

        #[cfg(feature = "gpu")]
        #[doc(hidden)]
        $vis mod $name {
            use super::*;

            #[allow(missing_docs)]
            pub fn expand($scope: &mut Scope, $($arg: X<$ty>),*) -> X<$ret> {
                $gpu
            }
        }
    };
}
pub(super) use twin;

/// A constant table of 2^k words: an array on the host, a tree of selects on a device, where indexed constant arrays
/// are slow or spill.
macro_rules! lookup {
    ($(#[$doc:meta])* $vis:vis fn $name:ident(index) = $table:expr) => {
        $(#[$doc])*
        #[inline(always)]
        $vis fn $name(index: u32) -> u32 {
            const TABLE: &[u32] = &$table;
            const { assert!(TABLE.len().is_power_of_two()) }
            TABLE[index as usize & (TABLE.len() - 1)]
        }

        #[cfg(feature = "gpu")]
        #[doc(hidden)]
        $vis mod $name {
            use super::*;

            #[allow(missing_docs)]
            pub fn expand(scope: &mut Scope, index: X<u32>) -> X<u32> {
                $crate::num::raw::select_tree(scope, index, &$table)
            }
        }
    };
}
pub(super) use lookup;

/// `table[index mod table.len()]` by halving: bit 0 of the index picks between neighbours first.
#[cfg(feature = "gpu")]
pub(super) fn select_tree(scope: &mut Scope, index: X<u32>, table: &[u32]) -> X<u32> {
    let mut level: Vec<X<u32>> = table.iter().map(|&word| X::<u32>::from_lit(scope, word)).collect();
    let mut mask = 1u32;
    while level.len() > 1 {
        let bit = X::<u32>::from_lit(scope, mask);
        let masked = bitand::expand(scope, index.clone(), bit);
        let zero = X::<u32>::from_lit(scope, 0u32);
        let odd = ne::expand(scope, masked, zero);
        level = level
            .chunks(2)
            .map(|pair| cubecl::prelude::select::expand(scope, odd.clone(), pair[1].clone(), pair[0].clone()))
            .collect();
        mask <<= 1;
    }
    level.remove(0)
}

/// `x` in a variable if it is a constant: in CUDA and HIP a bit cast takes the address of its operand.
#[cfg(feature = "gpu")]
fn addressable<T: NativeAssign>(scope: &mut Scope, x: NativeExpand<T>) -> NativeExpand<T> {
    if x.expand.as_const().is_some() { x.into_mut(scope) } else { x }
}

twin! {
    /// The bits of `x`.
    pub fn bits(x: f32) -> u32,
    host: x.to_bits(),
    gpu(scope): {
        let x = addressable(scope, x);
        u32::__expand_reinterpret(scope, x)
    }
}

twin! {
    /// The float with bits `x`.
    pub fn from_bits(x: u32) -> f32,
    host: f32::from_bits(x),
    gpu(scope): {
        let x = addressable(scope, x);
        f32::__expand_reinterpret(scope, x)
    }
}

twin! {
    /// The two's complement bits of `x`.
    pub fn i32_bits(x: i32) -> u32,
    host: x as u32,
    gpu(scope): u32::__expand_reinterpret(scope, x)
}

twin! {
    /// The `i32` with two's complement bits `x`.
    pub fn i32_from_bits(x: u32) -> i32,
    host: x as i32,
    gpu(scope): i32::__expand_reinterpret(scope, x)
}

twin! {
    /// `a * b`: on a device `fma(a, b, nz)` with `nz` = -0.0 unknown to the compiler, which is exact product rounding
    /// whether or not the device fuses.
    // pathway: P8
    pub(super) fn mul_pinned(a: f32, b: f32, nz: f32) -> f32,
    host: { let _ = nz; a * b },
    gpu(scope): cubecl::prelude::fma::expand::<f32>(scope, a, b, nz)
}

twin! {
    /// `a + b`: on a device `fma(a, one, b)` with `one` = 1.0 unknown to the compiler, which can then neither contract
    /// nor reassociate the sum.
    // pathway: P9
    pub(super) fn add_pinned(a: f32, b: f32, one: f32) -> f32,
    host: { let _ = one; a + b },
    gpu(scope): cubecl::prelude::fma::expand::<f32>(scope, a, one, b)
}

twin! {
    /// A quotient good to a few units in the last place, different on every device. Only a starting point for exact
    /// integer correction.
    pub(super) fn div_rough(a: f32, b: f32) -> f32,
    host: a / b,
    gpu(scope): cubecl::prelude::div::expand(scope, a, b)
}

twin! {
    /// A product that the compiler may round, contract or reorder as it likes. Only for guesses.
    pub(super) fn mul_rough(a: f32, b: f32) -> f32,
    host: a * b,
    gpu(scope): cubecl::prelude::mul::expand(scope, a, b)
}

twin! {
    /// `a * b + c`, fused or not as the device has it. Only for guesses.
    pub(super) fn fma_rough(a: f32, b: f32, c: f32) -> f32,
    host: a * b + c,
    gpu(scope): cubecl::prelude::fma::expand::<f32>(scope, a, b, c)
}

twin! {
    /// A square root good to a few units in the last place, different on every device. Only a starting point for exact
    /// integer correction.
    pub(super) fn sqrt_rough(a: f32) -> f32,
    host: a.sqrt(),
    gpu(scope): f32::__expand_sqrt(scope, a)
}

twin! {
    /// `x` as a float; exact because callers keep `x` below 2^24, where every device converts exactly.
    pub(super) fn u24_to_f32(x: u32) -> f32,
    host: x as f32,
    gpu(scope): f32::__expand_cast_from(scope, x)
}

twin! {
    /// High 32 bits of the 64-bit product.
    pub fn mul_hi(a: u32, b: u32) -> u32,
    host: ((a as u64 * b as u64) >> 32) as u32,
    gpu(scope): <u32 as cubecl::prelude::MulHi>::__expand_mul_hi(scope, a, b)
}

twin! {
    /// Low 32 bits of the product.
    pub fn mul_lo(a: u32, b: u32) -> u32,
    host: a.wrapping_mul(b),
    gpu(scope): cubecl::prelude::mul::expand(scope, a, b)
}

twin! {
    /// Sum modulo 2^32.
    pub fn add_wrap(a: u32, b: u32) -> u32,
    host: a.wrapping_add(b),
    gpu(scope): cubecl::prelude::add::expand(scope, a, b)
}

twin! {
    /// Difference modulo 2^32.
    pub fn sub_wrap(a: u32, b: u32) -> u32,
    host: a.wrapping_sub(b),
    gpu(scope): cubecl::prelude::sub::expand(scope, a, b)
}

twin! {
    /// Number of leading zero bits of `x`; 32 for zero.
    pub fn clz(x: u32) -> u32,
    host: x.leading_zeros(),
    gpu(scope): x.__expand_leading_zeros_method(scope)
}

twin! {
    /// `yes` where `condition` holds, `no` elsewhere; both are evaluated.
    pub fn select_u32(condition: bool, yes: u32, no: u32) -> u32,
    host: if condition { yes } else { no },
    gpu(scope): cubecl::prelude::select::expand(scope, condition, yes, no)
}

twin! {
    /// `yes` where `condition` holds, `no` elsewhere; both are evaluated.
    pub fn select_f32(condition: bool, yes: f32, no: f32) -> f32,
    host: if condition { yes } else { no },
    gpu(scope): cubecl::prelude::select::expand(scope, condition, yes, no)
}
