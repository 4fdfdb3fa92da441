//! The kernel: a program unrolled into straight-line code while the kernel is built.

use cubecl::prelude::*;
use ml_core::Result;

use super::expr::{Code, Program};
use super::scalar::*;
use super::{Kind, MAX_INPUTS};
use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{
    Pins, abs, add, add_exact_range, canon, div, exp_cr, from_bits, ln_cr, max, min, mul, mul_exact_range, neg, sqrt,
    sub, u32_to_f32,
};
use crate::sabotage::Arm;

#[expect(clippy::too_many_arguments, reason = "the call as the public function checked it")]
pub(super) fn run<R: Runtime>(
    g: &Gpu<R>,
    program: &Program,
    inputs: &[(Kind, &Chunks<f32>)],
    scalars: &[f32],
    rows: usize,
    cols: usize,
    arm: Arm,
    out: &Chunks<f32>,
) -> Result<()> {
    let scalar_buffer = In { handle: g.upload_one(scalars)?, len: scalars.len() };
    let kinds: Vec<Kind> = inputs.iter().map(|(k, _)| *k).collect();
    for panel in g.row_panels(rows, &[cols]) {
        let part = panel.start * cols..panel.end * cols;
        let mut views = Vec::with_capacity(MAX_INPUTS);
        for (kind, chunks) in inputs {
            views.push(chunks.view(
                g,
                match kind {
                    Kind::Full => part.clone(),
                    Kind::Row => 0..cols,
                    Kind::Col => panel.clone(),
                },
            )?);
        }
        while views.len() < MAX_INPUTS {
            views.push(In { handle: scalar_buffer.handle.clone(), len: scalar_buffer.len });
        }
        let result = out.view_out(g, part.clone())?;
        g.guard("map", 0, || {
            // SAFETY: the kernel writes only below `n`, and reads each input only at the indices its kind allows, whose
            // lengths the public function has checked.
            unsafe {
                map_program::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    views[0].arg(),
                    views[1].arg(),
                    views[2].arg(),
                    views[3].arg(),
                    scalar_buffer.arg(),
                    result.arg(),
                    part.len() as u32,
                    cols as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    program.clone(),
                    kinds.clone(),
                    arm,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(())
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn map_program(
    x0: &Array<f32>,
    x1: &Array<f32>,
    x2: &Array<f32>,
    x3: &Array<f32>,
    scalars: &Array<f32>,
    out: &mut Array<f32>,
    n: u32,
    cols: u32,
    nz: f32,
    one: f32,
    #[comptime] program: Program,
    #[comptime] kinds: Vec<Kind>,
    #[comptime] arm: Arm,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let p = Pins { nz, one };
        let mut regs = Sequence::<f32>::new();
        #[unroll]
        for r in 0..comptime!(program.ops.len()) {
            let op = comptime!(program.ops[r]);
            if comptime!(op.code == Code::Input) {
                let kind = comptime!(kinds[op.a as usize]);
                let mut at = i;
                if comptime!(kind == Kind::Row) {
                    at = i % cols;
                }
                if comptime!(kind == Kind::Col) {
                    at = i / cols;
                }
                if comptime!(op.a == 0) {
                    regs.push(x0[at as usize]);
                }
                if comptime!(op.a == 1) {
                    regs.push(x1[at as usize]);
                }
                if comptime!(op.a == 2) {
                    regs.push(x2[at as usize]);
                }
                if comptime!(op.a == 3) {
                    regs.push(x3[at as usize]);
                }
            } else if comptime!(op.code == Code::Scalar) {
                regs.push(scalars[comptime!(op.a as usize)]);
            } else if comptime!(op.code == Code::Constant) {
                regs.push(from_bits(comptime!(op.a).runtime()));
            } else {
                let a = *regs.index(comptime!(op.a as usize));
                let b = *regs.index(comptime!(op.b as usize));
                let c = *regs.index(comptime!(op.c as usize));
                let d = *regs.index(comptime!(op.d as usize));
                regs.push(apply(a, b, c, d, p, comptime!(op.code), arm));
            }
        }
        out[i as usize] = *regs.index(comptime!(program.ops.len() - 1));
    }
}

#[cube]
fn apply(a: f32, b: f32, c: f32, d: f32, p: Pins, #[comptime] code: Code, #[comptime] arm: Arm) -> f32 {
    if comptime!(code == Code::Neg) {
        canon(neg(a))
    } else if comptime!(code == Code::Abs) {
        abs(a)
    } else if comptime!(code == Code::Sqrt && arm == Arm::RoughSqrt) {
        last_bit_cleared(sqrt(a))
    } else if comptime!(code == Code::Sqrt) {
        sqrt(a)
    } else if comptime!(code == Code::Exp && arm == Arm::RoughElementary) {
        last_bit_cleared(exp_cr(a))
    } else if comptime!(code == Code::Exp) {
        exp_cr(a)
    } else if comptime!(code == Code::Ln && arm == Arm::RoughElementary) {
        last_bit_cleared(ln_cr(a))
    } else if comptime!(code == Code::Ln) {
        ln_cr(a)
    } else if comptime!(code == Code::Add && arm == Arm::KeepSubnormals) {
        add_exact_range(a, b, p)
    } else if comptime!(code == Code::Add) {
        add(a, b, p)
    } else if comptime!(code == Code::Sub && arm == Arm::KeepSubnormals) {
        add_exact_range(a, neg(b), p)
    } else if comptime!(code == Code::Sub) {
        sub(a, b, p)
    } else if comptime!(code == Code::Mul && arm == Arm::KeepSubnormals) {
        mul_exact_range(a, b, p)
    } else if comptime!(code == Code::Mul) {
        mul(a, b, p)
    } else if comptime!(code == Code::Div && arm == Arm::RoughDivision) {
        div_through_reciprocal(a, b, p)
    } else if comptime!(code == Code::Div) {
        div(a, b)
    } else if comptime!(code == Code::Min) {
        min(a, b)
    } else if comptime!(code == Code::Max) {
        max(a, b)
    } else {
        select_less(a, b, c, d)
    }
}

pub(super) fn to_f32<R: Runtime>(g: &Gpu<R>, x: &Chunks<u32>, arm: Arm, out: &Chunks<f32>) -> Result<()> {
    for part in g.row_panels(x.len(), &[1]) {
        let view = x.view(g, part.clone())?;
        let result = out.view_out(g, part.clone())?;
        g.guard("to_f32", 0, || {
            // SAFETY: the kernel checks its bound `n`, which both views have.
            unsafe {
                convert::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    result.arg(),
                    part.len() as u32,
                    arm,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn convert(x: &Array<u32>, out: &mut Array<f32>, n: u32, #[comptime] arm: Arm) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let mut v = x[i as usize];
        if comptime!(arm == Arm::TruncateConversion) {
            v = truncate_to_24_bits(v);
        }
        out[i as usize] = u32_to_f32(v);
    }
}
