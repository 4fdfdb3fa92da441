//! The specification: the expression evaluated element by element.

use super::expr::{Code, Program};
use super::{Kind, host::apply};
use crate::sabotage::Arm;

/// The value of every element, row-major.
pub(super) fn run(program: &Program, inputs: &[(Kind, &[f32])], scalars: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows * cols);
    for row in 0..rows {
        for col in 0..cols {
            let mut regs: Vec<f32> = Vec::with_capacity(program.ops.len());
            for op in &program.ops {
                let reg = |i: u32| regs[i as usize];
                regs.push(match op.code {
                    Code::Input => {
                        let (kind, data) = inputs[op.a as usize];
                        match kind {
                            Kind::Full => data[row * cols + col],
                            Kind::Row => data[col],
                            Kind::Col => data[row],
                        }
                    }
                    Code::Scalar => scalars[op.a as usize],
                    Code::Constant => f32::from_bits(op.a),
                    Code::Neg | Code::Abs | Code::Sqrt | Code::Exp | Code::Ln | Code::Unary(_) => {
                        apply(op.code, reg(op.a), 0.0, 0.0, 0.0, Arm::None)
                    }
                    Code::SelectLess => apply(op.code, reg(op.a), reg(op.b), reg(op.c), reg(op.d), Arm::None),
                    _ => apply(op.code, reg(op.a), reg(op.b), 0.0, 0.0, Arm::None),
                });
            }
            out.extend(regs.last());
        }
    }
    out
}
