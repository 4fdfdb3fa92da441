//! The scalar functions over ranges of bit patterns, for exhaustive runs and for digests that devices must reproduce.
//!
//! Each [`Function`] maps 32 bits to 32 bits. Functions of two arguments take the second from [`second`](fn@second): a value as
//! good as random that walks through all bit patterns as the first does.

use std::ops::Range;

#[cfg(feature = "gpu")]
use cubecl::prelude::*;
use ml_core::Result;
use rayon::prelude::*;

use super::convert::*;
use super::divide::{div, sqrt};
use super::elementary::*;
use super::exp::exp_cr;
use super::limbs::Limbs;
use super::ln::ln_cr;
use super::ops::{Pins, add, canon, mul, sub};
use super::order::{key, max, min, unkey};
use super::philox::*;
use super::raw::*;
use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// Inputs of one block of [`sweep`].
pub const BLOCK: u64 = 1 << 16;

/// The second argument for input `x` under `operand`.
#[cfg_attr(feature = "gpu", cube)]
pub fn second(x: u32, operand: u32) -> u32 {
    add_wrap(mul_lo(x, 0x9e37_79b9u32), operand)
}

/// `x` as an exponent in -256..=255.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn exponent(x: u32) -> i32 {
    i32_from_bits(sub_wrap(x >> 23u32, 256u32))
}

/// A finite canonical float from any bits: the exponent field 255 becomes 254, and |x| <= 2^-126 becomes 0.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn finite(x: u32) -> f32 {
    let field = x & 0x7f80_0000u32;
    canon(from_bits(x ^ select_u32(field == 0x7f80_0000u32, 0x0080_0000u32, 0u32)))
}

/// `y`, or for odd `x` a value whose exponent is near that of `x`.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn near(x: u32, y: u32) -> u32 {
    select_u32((x & 1u32) == 0u32, y, x ^ (y & 0x83ff_ffffu32))
}

/// `y`, or for odd `x` a value between 2^-3 and 2^5 of either sign.
#[cfg_attr(feature = "gpu", cube)]
pub(super) fn moderate(x: u32, y: u32) -> u32 {
    select_u32((x & 1u32) == 0u32, y, (y & 0x83ff_ffffu32) ^ 0x3e00_0000u32)
}

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $item:ident($x:ident, $y:ident, $p:ident) $body:block)*) => {
        /// A scalar function as a map of bits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Function {
            $($(#[$doc])* $variant,)*
        }

        impl Function {
            /// Every function.
            pub const ALL: &'static [Function] = &[$(Function::$variant,)*];

            /// Its name in reports and on command lines.
            pub fn name(self) -> &'static str {
                match self {
                    $(Function::$variant => $name,)*
                }
            }

            /// The function with that name.
            pub fn from_name(name: &str) -> Option<Function> {
                Self::ALL.iter().copied().find(|f| f.name() == name)
            }

            /// The bits of the result for input bits `x`; the second argument, where there is one, comes from `operand`.
            #[inline(always)]
            pub fn apply(self, x: u32, operand: u32) -> u32 {
                match self {
                    $(Function::$variant => $item(x, second(x, operand), Pins::HOST),)*
                }
            }
        }

        $(
            #[cfg_attr(feature = "gpu", cube)]
            #[allow(unused_variables, reason = "all share one signature")]
            pub(super) fn $item($x: u32, $y: u32, $p: Pins) -> u32 $body
        )*
    };
}

functions! {
    /// [`exp_cr`](fn@exp_cr).
    Exp = "exp", exp_bits(x, y, p) { bits(exp_cr(from_bits(x))) }
    /// [`ln_cr`](fn@ln_cr).
    Ln = "ln", ln_bits(x, y, p) { bits(ln_cr(from_bits(x))) }
    /// [`exp2_cr`](fn@exp2_cr).
    Exp2 = "exp2", exp2_bits(x, y, p) { bits(exp2_cr(from_bits(x))) }
    /// [`expm1_cr`](fn@expm1_cr).
    Expm1 = "expm1", expm1_bits(x, y, p) { bits(expm1_cr(from_bits(x))) }
    /// [`sinh_cr`](fn@sinh_cr).
    Sinh = "sinh", sinh_bits(x, y, p) { bits(sinh_cr(from_bits(x))) }
    /// [`cosh_cr`](fn@cosh_cr).
    Cosh = "cosh", cosh_bits(x, y, p) { bits(cosh_cr(from_bits(x))) }
    /// [`tanh_cr`](fn@tanh_cr).
    Tanh = "tanh", tanh_bits(x, y, p) { bits(tanh_cr(from_bits(x))) }
    /// [`sigmoid_cr`](fn@sigmoid_cr).
    Sigmoid = "sigmoid", sigmoid_bits(x, y, p) { bits(sigmoid_cr(from_bits(x))) }
    /// [`log2_cr`](fn@log2_cr).
    Log2 = "log2", log2_bits(x, y, p) { bits(log2_cr(from_bits(x))) }
    /// [`log10_cr`](fn@log10_cr).
    Log10 = "log10", log10_bits(x, y, p) { bits(log10_cr(from_bits(x))) }
    /// [`log1p_cr`](fn@log1p_cr).
    Log1p = "log1p", log1p_bits(x, y, p) { bits(log1p_cr(from_bits(x))) }
    /// [`softplus_cr`](fn@softplus_cr).
    Softplus = "softplus", softplus_bits(x, y, p) { bits(softplus_cr(from_bits(x))) }
    /// [`sin_cr`](fn@sin_cr).
    Sin = "sin", sin_bits(x, y, p) { bits(sin_cr(from_bits(x))) }
    /// [`cos_cr`](fn@cos_cr).
    Cos = "cos", cos_bits(x, y, p) { bits(cos_cr(from_bits(x))) }
    /// [`tan_cr`](fn@tan_cr).
    Tan = "tan", tan_bits(x, y, p) { bits(tan_cr(from_bits(x))) }
    /// [`atan_cr`](fn@atan_cr).
    Atan = "atan", atan_bits(x, y, p) { bits(atan_cr(from_bits(x))) }
    /// [`asin_cr`](fn@asin_cr).
    Asin = "asin", asin_bits(x, y, p) { bits(asin_cr(from_bits(x))) }
    /// [`acos_cr`](fn@acos_cr).
    Acos = "acos", acos_bits(x, y, p) { bits(acos_cr(from_bits(x))) }
    /// [`cbrt_cr`](fn@cbrt_cr).
    Cbrt = "cbrt", cbrt_bits(x, y, p) { bits(cbrt_cr(from_bits(x))) }
    /// [`rsqrt_cr`](fn@rsqrt_cr).
    Rsqrt = "rsqrt", rsqrt_bits(x, y, p) { bits(rsqrt_cr(from_bits(x))) }
    /// [`erf_cr`](fn@erf_cr).
    Erf = "erf", erf_bits(x, y, p) { bits(erf_cr(from_bits(x))) }
    /// [`erfc_cr`](fn@erfc_cr).
    Erfc = "erfc", erfc_bits(x, y, p) { bits(erfc_cr(from_bits(x))) }
    /// [`lgamma_cr`](fn@lgamma_cr).
    Lgamma = "lgamma", lgamma_bits(x, y, p) { bits(lgamma_cr(from_bits(x))) }
    /// [`digamma_cr`](fn@digamma_cr).
    Digamma = "digamma", digamma_bits(x, y, p) { bits(digamma_cr(from_bits(x))) }
    /// [`atan2_cr`](fn@atan2_cr) of two values with any bits, or with like exponents.
    Atan2 = "atan2", atan2_bits(x, y, p) { bits(atan2_cr(from_bits(x), from_bits(near(x, y)))) }
    /// [`hypot_cr`](fn@hypot_cr) of two values with any bits, or with like exponents.
    Hypot = "hypot", hypot_bits(x, y, p) { bits(hypot_cr(from_bits(x), from_bits(near(x, y)))) }
    /// [`pow_cr`](fn@pow_cr) of two values with any bits, or of one and a power of moderate size.
    Pow = "pow", pow_bits(x, y, p) { bits(pow_cr(from_bits(x), from_bits(moderate(x, y)))) }
    /// [`sqrt`](fn@sqrt).
    Sqrt = "sqrt", sqrt_bits(x, y, p) { bits(sqrt(from_bits(x))) }
    /// [`div`](fn@div) of two values with any bits.
    Div = "div", div_bits(x, y, p) { bits(div(from_bits(x), from_bits(y))) }
    /// [`add`](fn@add) of two finite canonical values.
    Add = "add", add_bits(x, y, p) { bits(add(finite(x), finite(y), p)) }
    /// [`sub`](fn@sub) of two finite canonical values of like exponents.
    Sub = "sub", sub_bits(x, y, p) { bits(sub(finite(x), finite(x ^ (y & 0x81ff_ffffu32)), p)) }
    /// [`mul`](fn@mul) of two finite canonical values.
    Mul = "mul", mul_bits(x, y, p) { bits(mul(finite(x), finite(y), p)) }
    /// [`u32_to_f32`](fn@u32_to_f32).
    U32ToF32 = "u32_to_f32", u32_to_f32_bits(x, y, p) { bits(u32_to_f32(x)) }
    /// [`i32_to_f32`](fn@i32_to_f32).
    I32ToF32 = "i32_to_f32", i32_to_f32_bits(x, y, p) { bits(i32_to_f32(i32_from_bits(x))) }
    /// [`i64_to_f32`](fn@i64_to_f32).
    I64ToF32 = "i64_to_f32", i64_to_f32_bits(x, y, p) { bits(i64_to_f32(Limbs { hi: y >> (x & 31u32), lo: x })) }
    /// [`f32_to_u32_sat`](fn@f32_to_u32_sat).
    F32ToU32 = "f32_to_u32", f32_to_u32_bits(x, y, p) { f32_to_u32_sat(from_bits(x)) }
    /// [`f32_to_i32_sat`](fn@f32_to_i32_sat).
    F32ToI32 = "f32_to_i32", f32_to_i32_bits(x, y, p) { i32_bits(f32_to_i32_sat(from_bits(x))) }
    /// [`f32_to_fixed`](fn@f32_to_fixed), both words folded into one.
    F32ToFixed = "f32_to_fixed", f32_to_fixed_bits(x, y, p) {
        let fixed = f32_to_fixed(from_bits(x), exponent(y));
        fixed.lo ^ mul_lo(fixed.hi, 0x85eb_ca6bu32)
    }
    /// [`scale_pow2`](fn@scale_pow2).
    ScalePow2 = "scale_pow2", scale_pow2_bits(x, y, p) { bits(scale_pow2(from_bits(x), exponent(y))) }
    /// [`key`](fn@key).
    Key = "key", key_bits(x, y, p) { key(from_bits(x)) }
    /// [`unkey`](fn@unkey).
    Unkey = "unkey", unkey_bits(x, y, p) { bits(unkey(x)) }
    /// [`min`](fn@min) and [`max`](fn@max) folded into one word.
    MinMax = "min_max", min_max_bits(x, y, p) {
        let least = bits(min(from_bits(x), from_bits(y)));
        least ^ mul_lo(bits(max(from_bits(x), from_bits(y))), 0x85eb_ca6bu32)
    }
    /// [`draw`](fn@draw), its four words folded into one.
    Draw = "draw", draw_bits(x, y, p) {
        let w = draw(Limbs { hi: y, lo: 7u32 }, 3u32, Limbs { hi: 1u32, lo: x }, 2u32, ROUNDS);
        w.w0 ^ mul_lo(w.w1, 0x85eb_ca6bu32) ^ mul_lo(w.w2, 0xc2b2_ae35u32) ^ mul_lo(w.w3, 0x27d4_eb2fu32)
    }
    /// [`uniform_open`](fn@uniform_open).
    Uniform = "uniform", uniform_bits(x, y, p) { bits(uniform_open(x)) }
    /// [`bounded`](fn@bounded).
    Bounded = "bounded", bounded_bits(x, y, p) { bounded(Limbs { hi: y, lo: x }, 1_000_003u32) }
}

/// Applies `function` to every input in `inputs` (bit patterns, up to 2^32) in parallel blocks of [`BLOCK`] and gives
/// each block to `visit` as (first input, results); what `visit` returns comes back in the order of the blocks.
///
/// # Bit identity
/// The number of threads shows in the speed alone.
pub fn sweep<T: Send>(
    function: Function,
    operand: u32,
    inputs: Range<u64>,
    visit: impl Fn(u32, &[u32]) -> T + Sync,
) -> Vec<T> {
    let end = inputs.end.min(1 << 32);
    let blocks = end.saturating_sub(inputs.start).div_ceil(BLOCK);
    (0..blocks)
        .into_par_iter()
        .map_init(Vec::new, |results, block| {
            let first = inputs.start + block * BLOCK;
            let last = end.min(first + BLOCK);
            results.clear();
            results.extend((first..last).map(|x| function.apply(x as u32, operand)));
            visit(first as u32, results)
        })
        .collect()
}

/// The results for `count` inputs from `first` on (wrapping at 2^32), computed on `device`.
///
/// # Errors
/// A device failure.
///
/// # Bit identity
/// Every device gives what [`Function::apply`] gives.
pub fn sweep_on(device: &Device, function: Function, operand: u32, first: u32, count: usize) -> Result<Buffer<u32>> {
    on_device!(device,
        host(h) => {
            let one = |i: u32| function.apply(first.wrapping_add(i), operand);
            Ok(Buffer::from_host(device, h.install(|| (0..count).into_par_iter().map(|i| one(i as u32)).collect())))
        },
        gpu(g) => Ok(Buffer::from_chunks(device, super::kernel::run(g, function, operand, first, count)?))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for &f in Function::ALL {
            assert_eq!(Function::from_name(f.name()), Some(f));
        }
    }

    #[test]
    fn sweep_covers_the_range_in_order() {
        let range = (1 << 32) - 3 * BLOCK - 5..1 << 32;
        let seen = sweep(Function::Key, 0, range.clone(), |first, results| (u64::from(first), results.len() as u64));
        assert_eq!(seen.len(), 4);
        assert!(seen.windows(2).all(|w| w[0].0 + w[0].1 == w[1].0));
        assert_eq!((seen[0].0, seen[3].0 + seen[3].1), (range.start, range.end));
        assert!(sweep(Function::Key, 0, 7..7, |_, _| ()).is_empty());
    }
}
