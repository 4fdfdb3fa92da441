//! The functions by name, for what chooses one while it runs or while a kernel is built: `map`.

#[cfg(feature = "gpu")]
use cubecl::prelude::*;

use super::*;

macro_rules! unary {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $one:ident, $slice:ident;)*) => {
        /// An elementary function of one value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Unary {
            $($(#[$doc])* $variant,)*
        }

        impl Unary {
            /// Every function.
            pub const ALL: &'static [Unary] = &[$(Unary::$variant,)*];

            /// Its name, without `_cr`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Unary::$variant => $name,)*
                }
            }

            /// Its value.
            #[inline]
            pub fn apply(self, x: f32) -> f32 {
                match self {
                    $(Unary::$variant => $one(x),)*
                }
            }

            /// Its value at every element of `x`, into `out`, as far as the shorter of both goes.
            pub fn apply_slice(self, x: &[f32], out: &mut [f32]) {
                match self {
                    $(Unary::$variant => $slice(x, out),)*
                }
            }
        }
    };
}

unary! {
    /// [`exp2_cr`](fn@exp2_cr).
    Exp2 = "exp2", exp2_cr, exp2_cr_slice;
    /// [`expm1_cr`](fn@expm1_cr).
    Expm1 = "expm1", expm1_cr, expm1_cr_slice;
    /// [`sinh_cr`](fn@sinh_cr).
    Sinh = "sinh", sinh_cr, sinh_cr_slice;
    /// [`cosh_cr`](fn@cosh_cr).
    Cosh = "cosh", cosh_cr, cosh_cr_slice;
    /// [`tanh_cr`](fn@tanh_cr).
    Tanh = "tanh", tanh_cr, tanh_cr_slice;
    /// [`sigmoid_cr`](fn@sigmoid_cr).
    Sigmoid = "sigmoid", sigmoid_cr, sigmoid_cr_slice;
    /// [`log2_cr`](fn@log2_cr).
    Log2 = "log2", log2_cr, log2_cr_slice;
    /// [`log10_cr`](fn@log10_cr).
    Log10 = "log10", log10_cr, log10_cr_slice;
    /// [`log1p_cr`](fn@log1p_cr).
    Log1p = "log1p", log1p_cr, log1p_cr_slice;
    /// [`softplus_cr`](fn@softplus_cr).
    Softplus = "softplus", softplus_cr, softplus_cr_slice;
    /// [`sin_cr`](fn@sin_cr).
    Sin = "sin", sin_cr, sin_cr_slice;
    /// [`cos_cr`](fn@cos_cr).
    Cos = "cos", cos_cr, cos_cr_slice;
    /// [`tan_cr`](fn@tan_cr).
    Tan = "tan", tan_cr, tan_cr_slice;
    /// [`atan_cr`](fn@atan_cr).
    Atan = "atan", atan_cr, atan_cr_slice;
    /// [`asin_cr`](fn@asin_cr).
    Asin = "asin", asin_cr, asin_cr_slice;
    /// [`acos_cr`](fn@acos_cr).
    Acos = "acos", acos_cr, acos_cr_slice;
    /// [`cbrt_cr`](fn@cbrt_cr).
    Cbrt = "cbrt", cbrt_cr, cbrt_cr_slice;
    /// [`rsqrt_cr`](fn@rsqrt_cr).
    Rsqrt = "rsqrt", rsqrt_cr, rsqrt_cr_slice;
    /// [`erf_cr`](fn@erf_cr).
    Erf = "erf", erf_cr, erf_cr_slice;
    /// [`erfc_cr`](fn@erfc_cr).
    Erfc = "erfc", erfc_cr, erfc_cr_slice;
    /// [`lgamma_cr`](fn@lgamma_cr).
    Lgamma = "lgamma", lgamma_cr, lgamma_cr_slice;
    /// [`digamma_cr`](fn@digamma_cr).
    Digamma = "digamma", digamma_cr, digamma_cr_slice;
}

/// An elementary function of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// [`atan2_cr`](fn@atan2_cr).
    Atan2,
    /// [`hypot_cr`](fn@hypot_cr).
    Hypot,
    /// [`pow_cr`](fn@pow_cr).
    Pow,
}

impl Binary {
    /// Every function.
    pub const ALL: &'static [Binary] = &[Binary::Atan2, Binary::Hypot, Binary::Pow];

    /// Its name, without `_cr`.
    pub fn name(self) -> &'static str {
        match self {
            Binary::Atan2 => "atan2",
            Binary::Hypot => "hypot",
            Binary::Pow => "pow",
        }
    }

    /// Its value.
    #[inline]
    pub fn apply(self, x: f32, y: f32) -> f32 {
        match self {
            Binary::Atan2 => atan2_cr(x, y),
            Binary::Hypot => hypot_cr(x, y),
            Binary::Pow => pow_cr(x, y),
        }
    }
}

/// [`Unary::apply`] in a kernel.
#[cfg(feature = "gpu")]
#[cube]
pub(crate) fn apply_unary(x: f32, #[comptime] function: Unary) -> f32 {
    match comptime!(function) {
        Unary::Exp2 => exp2_cr(x),
        Unary::Expm1 => expm1_cr(x),
        Unary::Sinh => sinh_cr(x),
        Unary::Cosh => cosh_cr(x),
        Unary::Tanh => tanh_cr(x),
        Unary::Sigmoid => sigmoid_cr(x),
        Unary::Log2 => log2_cr(x),
        Unary::Log10 => log10_cr(x),
        Unary::Log1p => log1p_cr(x),
        Unary::Softplus => softplus_cr(x),
        Unary::Sin => sin_cr(x),
        Unary::Cos => cos_cr(x),
        Unary::Tan => tan_cr(x),
        Unary::Atan => atan_cr(x),
        Unary::Asin => asin_cr(x),
        Unary::Acos => acos_cr(x),
        Unary::Cbrt => cbrt_cr(x),
        Unary::Rsqrt => rsqrt_cr(x),
        Unary::Erf => erf_cr(x),
        Unary::Erfc => erfc_cr(x),
        Unary::Lgamma => lgamma_cr(x),
        Unary::Digamma => digamma_cr(x),
    }
}

/// [`Binary::apply`] in a kernel.
#[cfg(feature = "gpu")]
#[cube]
pub(crate) fn apply_binary(x: f32, y: f32, #[comptime] function: Binary) -> f32 {
    match comptime!(function) {
        Binary::Atan2 => atan2_cr(x, y),
        Binary::Hypot => hypot_cr(x, y),
        Binary::Pow => pow_cr(x, y),
    }
}
