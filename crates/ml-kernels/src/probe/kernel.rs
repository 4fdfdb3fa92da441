//! Bare native operations, on purpose: what shader compilers and devices make of them is what is asked here.
//!
//! The only kernel file that `tidy` lets use them; no primitive calls it.

#![allow(
    clippy::disallowed_methods,
    clippy::eq_op,
    reason = "native functions, and a NaN beside itself, are what is asked about"
)]

use cubecl::prelude::*;
use ml_core::Result;

use super::{Answers, RATE_ROWS, Samples, VALUES, ValueInputs};
use crate::buffer::In;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{self, Pins, bits, from_bits};

/// Runs both kernels.
pub(super) fn run<R: Runtime>(g: &Gpu<R>, samples: &Samples, inputs: &ValueInputs) -> Result<Answers> {
    let n = samples.x.len();
    let len = n * RATE_ROWS;
    let out = In { handle: g.alloc_one::<u32>(len)?, len };
    let input = |v: &[f32]| -> Result<In> { Ok(In { handle: g.upload_one(v)?, len: n }) };
    let (x, y, w) = (input(&samples.x)?, input(&samples.y)?, input(&samples.w)?);
    let u = In { handle: g.upload_one(&samples.u)?, len: n };
    g.guard("probe of rates", 0, || {
        // SAFETY: the kernel checks its bound `n`; `out` holds `n` words for each of its rows.
        unsafe {
            rates::launch_unchecked::<R>(
                g.client(),
                g.grid(n, CUBE as usize),
                CubeDim::new_1d(CUBE),
                x.arg(),
                y.arg(),
                w.arg(),
                u.arg(),
                out.arg(),
                n as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
            );
        }
    })?;
    let rates = g.read_one::<u32>(&out.handle, len)?;

    let floats = In { handle: g.upload_one(&inputs.floats)?, len: inputs.floats.len() };
    let words = In { handle: g.upload_one(&inputs.words)?, len: inputs.words.len() };
    let out = In { handle: g.alloc_one::<u32>(VALUES.len())?, len: VALUES.len() };
    g.guard("probe of values", 0, || {
        // SAFETY: one unit reads and writes at constant indices below the lengths, which `super` fixes.
        unsafe {
            values::launch_unchecked::<R>(
                g.client(),
                CubeCount::Static(1, 1, 1),
                CubeDim::new_1d(1),
                floats.arg(),
                words.arg(),
                out.arg(),
            );
        }
    })?;
    let values = g.read_one::<u32>(&out.handle, VALUES.len())?;
    Ok(Answers { rates, values: values.into_iter().map(Some).collect() })
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn rates(
    xs: &Array<f32>,
    ys: &Array<f32>,
    ws: &Array<f32>,
    us: &Array<u32>,
    out: &mut Array<u32>,
    n: u32,
    nz: f32,
    one: f32,
) {
    let i = ABSOLUTE_POS;
    let n = n as usize;
    if i < n {
        let p = Pins { nz, one };
        let x = xs[i];
        let y = ys[i];
        let w = ws[i];
        let u = us[i];
        let size = f32::abs(x);
        let big = 12_582_912.0f32;

        out[i] = bits(x * y + w);
        out[n + i] = bits(fma(x, y, w));
        out[2usize * n + i] = bits(num::add(num::mul(x, y, p), w, p));
        // Exponents 2^-96 and 2^-32: the product is below 2^-126.
        let t = from_bits((bits(x) & 0x807f_ffffu32) | 0x0f80_0000u32);
        let s = from_bits((bits(y) & 0x807f_ffffu32) | 0x2f80_0000u32);
        out[3usize * n + i] = bits(t * s);
        out[4usize * n + i] = bits(x / y);
        out[5usize * n + i] = bits(f32::sqrt(size));
        out[6usize * n + i] = bits(f32::exp(x));
        out[7usize * n + i] = bits(f32::ln(size));
        out[8usize * n + i] = bits(num::div(x, y));
        out[9usize * n + i] = bits(num::sqrt(size));
        out[10usize * n + i] = bits(num::exp_cr(x));
        out[11usize * n + i] = bits(num::ln_cr(size));

        // Error term of a sum, in six plain operations.
        let sum = x + w;
        let part = sum - x;
        out[12usize * n + i] = bits((x - (sum - part)) + (w - part));
        // Rounding to an integer by a large constant.
        out[13usize * n + i] = bits((x + big) - big);
        // Error term of a product: split at 12 bits with plain subtractions, pinned products.
        let c = fma(4097.0f32, x, nz);
        let x_high = c - (c - x);
        let x_low = x - x_high;
        let d = fma(4097.0f32, y, nz);
        let y_high = d - (d - y);
        let y_low = y - y_high;
        let product = fma(x, y, nz);
        let e1 = fma(x_high, y_high, nz) - product;
        let e2 = fma(x_high, y_low, nz) + e1;
        let e3 = fma(x_low, y_high, nz) + e2;
        out[14usize * n + i] = bits(fma(x_low, y_low, nz) + e3);

        // The first two again, as kernels spell sums.
        let sum = fma(x, one, w);
        let part = fma(sum, one, num::neg(x));
        let rest = fma(sum, one, num::neg(part));
        out[15usize * n + i] = bits(fma(fma(x, one, num::neg(rest)), one, fma(w, one, num::neg(part))));
        out[16usize * n + i] = bits(fma(fma(x, one, big), one, num::neg(big)));

        out[17usize * n + i] = bits(f32::cast_from(u));
        out[18usize * n + i] = bits(num::u32_to_f32(u));
        out[19usize * n + i] = num::mul_hi(u, bits(x));
    }
}

#[cube(launch_unchecked)]
fn values(f: &Array<f32>, w: &Array<u32>, out: &mut Array<u32>) {
    let negative_zero = f[0];
    let zero = f[1];
    out[0] = bits(min(negative_zero, zero));
    out[1] = bits(min(zero, negative_zero));
    out[2] = bits(max(negative_zero, zero));
    out[3] = bits(max(zero, negative_zero));

    let thirty_two = w[0];
    out[4] = w[1] << thirty_two;
    out[5] = w[2] >> thirty_two;
    out[6] = u32::reinterpret(i32::reinterpret(w[3]) >> i32::reinterpret(thirty_two));
    let most = i32::reinterpret(w[4]);
    let least = i32::reinterpret(w[2]);
    out[7] = u32::reinterpret(most + i32::reinterpret(w[1]));
    out[8] = u32::reinterpret(most * most);
    out[9] = u32::reinterpret(i32::reinterpret(w[5]) - least);
    out[10] = w[5].leading_zeros();

    #[unroll]
    for k in 0..6usize {
        out[11usize + k] = u32::cast_from(f[2usize + k]);
    }
    #[unroll]
    for k in 0..6usize {
        out[17usize + k] = u32::reinterpret(i32::cast_from(f[2usize + k]));
    }

    let nan = f[7];
    let tiny = f[8];
    out[23] = select(nan == nan, 1u32, 0u32);
    out[24] = select(nan > zero, 1u32, 0u32);
    out[25] = select(tiny > zero, 1u32, 0u32);
    out[26] = select(tiny == zero, 1u32, 0u32);
}
