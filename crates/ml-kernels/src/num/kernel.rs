//! The sweep of [`super::sweep`] on a GPU runtime: one unit a value.

use cubecl::prelude::*;
use ml_core::Result;

use super::ops::Pins;
use super::sweep::*;
use crate::buffer::Chunks;
use crate::device::gpu::{CUBE, Gpu};

pub(super) fn run<R: Runtime>(
    g: &Gpu<R>,
    function: Function,
    operand: u32,
    first: u32,
    count: usize,
) -> Result<Chunks<u32>> {
    let out = Chunks::alloc(g, count)?;
    for part in g.row_panels(count, &[1]) {
        let result = out.view_out(g, part.clone())?;
        g.guard("sweep", 0, || {
            // SAFETY: the kernel checks its bound, the length of the output.
            unsafe {
                sweep_kernel::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    result.arg(),
                    part.len() as u32,
                    first.wrapping_add(part.start as u32),
                    operand,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    function,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(out)
}

/// `out[i] = function(first + i)` for `i < n`: the same map of bits as [`Function::apply`].
#[cube(launch_unchecked)]
fn sweep_kernel(
    out: &mut Array<u32>,
    n: u32,
    first: u32,
    operand: u32,
    nz: f32,
    one: f32,
    #[comptime] function: Function,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let x = first + i;
        let y = second(x, operand);
        let p = Pins { nz, one };
        out[i as usize] = match comptime!(function) {
            Function::Exp => exp_bits(x, y, p),
            Function::Ln => ln_bits(x, y, p),
            Function::Exp2 => exp2_bits(x, y, p),
            Function::Expm1 => expm1_bits(x, y, p),
            Function::Sinh => sinh_bits(x, y, p),
            Function::Cosh => cosh_bits(x, y, p),
            Function::Tanh => tanh_bits(x, y, p),
            Function::Sigmoid => sigmoid_bits(x, y, p),
            Function::Log2 => log2_bits(x, y, p),
            Function::Log10 => log10_bits(x, y, p),
            Function::Log1p => log1p_bits(x, y, p),
            Function::Softplus => softplus_bits(x, y, p),
            Function::Sin => sin_bits(x, y, p),
            Function::Cos => cos_bits(x, y, p),
            Function::Tan => tan_bits(x, y, p),
            Function::Atan => atan_bits(x, y, p),
            Function::Asin => asin_bits(x, y, p),
            Function::Acos => acos_bits(x, y, p),
            Function::Cbrt => cbrt_bits(x, y, p),
            Function::Rsqrt => rsqrt_bits(x, y, p),
            Function::Erf => erf_bits(x, y, p),
            Function::Erfc => erfc_bits(x, y, p),
            Function::Lgamma => lgamma_bits(x, y, p),
            Function::Digamma => digamma_bits(x, y, p),
            Function::Atan2 => atan2_bits(x, y, p),
            Function::Hypot => hypot_bits(x, y, p),
            Function::Pow => pow_bits(x, y, p),
            Function::Sqrt => sqrt_bits(x, y, p),
            Function::Div => div_bits(x, y, p),
            Function::Add => add_bits(x, y, p),
            Function::Sub => sub_bits(x, y, p),
            Function::Mul => mul_bits(x, y, p),
            Function::U32ToF32 => u32_to_f32_bits(x, y, p),
            Function::I32ToF32 => i32_to_f32_bits(x, y, p),
            Function::I64ToF32 => i64_to_f32_bits(x, y, p),
            Function::F32ToU32 => f32_to_u32_bits(x, y, p),
            Function::F32ToI32 => f32_to_i32_bits(x, y, p),
            Function::F32ToFixed => f32_to_fixed_bits(x, y, p),
            Function::ScalePow2 => scale_pow2_bits(x, y, p),
            Function::Key => key_bits(x, y, p),
            Function::Unkey => unkey_bits(x, y, p),
            Function::MinMax => min_max_bits(x, y, p),
            Function::Draw => draw_bits(x, y, p),
            Function::Uniform => uniform_bits(x, y, p),
            Function::Bounded => bounded_bits(x, y, p),
        };
    }
}
