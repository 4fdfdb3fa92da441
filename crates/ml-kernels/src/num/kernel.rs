//! The sweep of [`super::sweep`] as a kernel.

use cubecl::prelude::*;

use super::ops::Pins;
use super::sweep::*;

/// `out[i] = function(first + i)`, one unit per element; the same map of bits as [`Function::apply`].
#[cube(launch_unchecked)]
pub fn sweep_kernel(out: &mut Array<u32>, first: u32, operand: u32, nz: f32, one: f32, #[comptime] function: Function) {
    let i = ABSOLUTE_POS;
    if i < out.len() {
        let x = first + u32::cast_from(i);
        let y = second(x, operand);
        let p = Pins { nz, one };
        out[i] = match comptime!(function) {
            Function::Exp => exp_bits(x, y, p),
            Function::Ln => ln_bits(x, y, p),
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
