//! The host: the same program, an operation at a time over blocks, so that the loops vectorise.

use rayon::prelude::*;

use super::Kind;
use super::expr::{Code, Op, Program};
use super::scalar::*;
use crate::num::*;
use crate::sabotage::Arm;

/// Elements that go through the program together: registers of a block stay in the first cache level.
const BLOCK: usize = 512;

/// One operation on one element; unused operands are ignored.
#[inline(always)]
pub(super) fn apply(code: Code, a: f32, b: f32, c: f32, d: f32, arm: Arm) -> f32 {
    let p = Pins::HOST;
    match (code, arm) {
        (Code::Neg, _) => canon(neg(a)),
        (Code::Abs, _) => abs(a),
        (Code::Sqrt, Arm::RoughSqrt) => last_bit_cleared(sqrt(a)),
        (Code::Sqrt, _) => sqrt(a),
        (Code::Exp, Arm::RoughElementary) => last_bit_cleared(exp_cr(a)),
        (Code::Exp, _) => exp_cr(a),
        (Code::Ln, Arm::RoughElementary) => last_bit_cleared(ln_cr(a)),
        (Code::Ln, _) => ln_cr(a),
        (Code::Unary(f), Arm::RoughElementary) => last_bit_cleared(f.apply(a)),
        (Code::Unary(f), _) => f.apply(a),
        (Code::Binary(f), Arm::RoughElementary) => last_bit_cleared(f.apply(a, b)),
        (Code::Binary(f), _) => f.apply(a, b),
        (Code::Add, Arm::KeepSubnormals) => add_exact_range(a, b, p),
        (Code::Add, _) => add(a, b, p),
        (Code::Sub, Arm::KeepSubnormals) => add_exact_range(a, neg(b), p),
        (Code::Sub, _) => sub(a, b, p),
        (Code::Mul, Arm::KeepSubnormals) => mul_exact_range(a, b, p),
        (Code::Mul, _) => mul(a, b, p),
        (Code::Div, Arm::RoughDivision) => div_through_reciprocal(a, b, p),
        (Code::Div, _) => div(a, b),
        (Code::Min, _) => min(a, b),
        (Code::Max, _) => max(a, b),
        (Code::SelectLess, _) => select_less(a, b, c, d),
        (Code::Input | Code::Scalar | Code::Constant, _) => a,
    }
}

pub(super) fn run(
    program: &Program,
    inputs: &[(Kind, &[f32])],
    scalars: &[f32],
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Vec<f32> {
    let mut out = vec![0.0f32; rows * cols];
    out.par_chunks_mut(BLOCK * 16).enumerate().for_each(|(part, part_out)| {
        let mut regs = vec![[0.0f32; BLOCK]; program.ops.len()];
        for (block, block_out) in part_out.chunks_mut(BLOCK).enumerate() {
            let start = part * BLOCK * 16 + block * BLOCK;
            for (i, op) in program.ops.iter().enumerate() {
                let (done, rest) = regs.split_at_mut(i);
                step(op, done, &mut rest[0], inputs, scalars, start, block_out.len(), cols, arm);
            }
            if let Some(last) = regs.last() {
                block_out.copy_from_slice(&last[..block_out.len()]);
            }
        }
    });
    out
}

#[expect(clippy::too_many_arguments, reason = "one block's whole state, in one place")]
fn step(
    op: &Op,
    done: &[[f32; BLOCK]],
    out: &mut [f32; BLOCK],
    inputs: &[(Kind, &[f32])],
    scalars: &[f32],
    start: usize,
    len: usize,
    cols: usize,
    arm: Arm,
) {
    match op.code {
        Code::Input => match inputs[op.a as usize] {
            (Kind::Full, data) => out[..len].copy_from_slice(&data[start..start + len]),
            (Kind::Row, data) => out[..len].iter_mut().enumerate().for_each(|(i, o)| *o = data[(start + i) % cols]),
            (Kind::Col, data) => out[..len].iter_mut().enumerate().for_each(|(i, o)| *o = data[(start + i) / cols]),
        },
        Code::Scalar => out.fill(scalars[op.a as usize]),
        Code::Constant => out.fill(f32::from_bits(op.a)),
        Code::Unary(f) if arm != Arm::RoughElementary => f.apply_slice(&done[op.a as usize][..len], &mut out[..len]),
        Code::Unary(_) | Code::Binary(_) => {
            let (a, b) = (&done[op.a as usize][..len], &done[op.b as usize][..len]);
            for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
                *o = apply(op.code, *a, *b, 0.0, 0.0, arm);
            }
        }
        code => {
            let [a, b, c, d] = [op.a, op.b, op.c, op.d].map(|r| &done[r as usize]);
            // One loop an operation: the match inside is decided outside the loop once it is inlined.
            macro_rules! each {
                ($($code:ident),*) => {
                    match code {
                        $(Code::$code => {
                            for i in 0..BLOCK {
                                out[i] = apply(Code::$code, a[i], b[i], c[i], d[i], arm);
                            }
                        })*
                        _ => {}
                    }
                };
            }
            each!(Neg, Abs, Sqrt, Exp, Ln, Add, Sub, Mul, Div, Min, Max, SelectLess);
        }
    }
}

pub(super) fn to_f32(x: &[u32], arm: Arm) -> Vec<f32> {
    match arm {
        Arm::TruncateConversion => x.par_iter().map(|v| u32_to_f32(truncate_to_24_bits(*v))).collect(),
        _ => x.par_iter().with_min_len(4096).map(|v| u32_to_f32(*v)).collect(),
    }
}
