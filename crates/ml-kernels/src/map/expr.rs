//! Expressions over matrix elements, and the straight-line programs that they compile to.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

use ml_core::{ParamError, Result};

use crate::num::elementary::{Binary, Unary};

/// Most operations of one compiled expression; a guard against runaway kernels.
pub(super) const MAX_OPS: usize = 256;

/// An element-wise formula: inputs, run-time scalars and constants joined by the contract's operations.
///
/// Operators build it; nothing is computed until [`super::map`] runs it. Every operation rounds once and stores canonical
/// values, in the order in which the expression is written.
///
/// # Example
/// ```
/// use ml_kernels::map::Expr;
/// // (x - mean) / deviation
/// let standardise = (Expr::input(0) - Expr::input(1)) / Expr::input(2);
/// ```
#[derive(Debug, Clone)]
pub struct Expr(Arc<Node>);

#[derive(Debug)]
enum Node {
    Input(u32),
    Scalar(u32),
    Constant(u32),
    Apply(Code, Vec<Expr>),
}

/// One operation of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Code {
    Input,
    Scalar,
    Constant,
    Neg,
    Abs,
    Sqrt,
    Exp,
    Ln,
    Unary(Unary),
    Binary(Binary),
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    /// `a < b ? x : y`
    SelectLess,
}

#[cfg(feature = "gpu")]
impl Code {
    /// The function of [`Code::Unary`]; any for others, which never ask.
    pub(super) fn unary(self) -> Unary {
        match self {
            Code::Unary(function) => function,
            _ => Unary::Exp2,
        }
    }

    /// The function of [`Code::Binary`]; any for others, which never ask.
    pub(super) fn binary(self) -> Binary {
        match self {
            Code::Binary(function) => function,
            _ => Binary::Pow,
        }
    }
}

/// An operation with its operands: register numbers, or an input, scalar or constant in `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Op {
    pub(super) code: Code,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) c: u32,
    pub(super) d: u32,
}

/// A straight-line program: operation `i` fills register `i`; the last is the result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) n_inputs: usize,
    pub(super) n_scalars: usize,
}

impl Expr {
    /// Input `index` of the call.
    pub fn input(index: u32) -> Expr {
        Expr(Arc::new(Node::Input(index)))
    }

    /// Run-time scalar `index` of the call: changing it compiles no new kernel.
    pub fn scalar(index: u32) -> Expr {
        Expr(Arc::new(Node::Scalar(index)))
    }

    /// A constant; stored canonically.
    pub fn constant(value: f32) -> Expr {
        Expr(Arc::new(Node::Constant(ml_core::canon::canon(value).to_bits())))
    }

    fn apply(code: Code, args: Vec<Expr>) -> Expr {
        Expr(Arc::new(Node::Apply(code, args)))
    }

    /// |self|.
    pub fn abs(self) -> Expr {
        Self::apply(Code::Abs, vec![self])
    }

    /// Correctly rounded square root.
    pub fn sqrt(self) -> Expr {
        Self::apply(Code::Sqrt, vec![self])
    }

    /// Correctly rounded e^self.
    pub fn exp(self) -> Expr {
        Self::apply(Code::Exp, vec![self])
    }

    /// Correctly rounded natural logarithm.
    pub fn ln(self) -> Expr {
        Self::apply(Code::Ln, vec![self])
    }

    /// An elementary function, correctly rounded.
    pub fn unary(self, function: Unary) -> Expr {
        Self::apply(Code::Unary(function), vec![self])
    }

    /// An elementary function of two values, correctly rounded.
    pub fn binary(self, other: Expr, function: Binary) -> Expr {
        Self::apply(Code::Binary(function), vec![self, other])
    }

    /// Correctly rounded ln(1 + self).
    pub fn log1p(self) -> Expr {
        self.unary(Unary::Log1p)
    }

    /// Correctly rounded e^self - 1.
    pub fn expm1(self) -> Expr {
        self.unary(Unary::Expm1)
    }

    /// Correctly rounded hyperbolic tangent.
    pub fn tanh(self) -> Expr {
        self.unary(Unary::Tanh)
    }

    /// Correctly rounded 1/(1 + e^-self).
    pub fn sigmoid(self) -> Expr {
        self.unary(Unary::Sigmoid)
    }

    /// Correctly rounded self^other.
    pub fn pow(self, other: Expr) -> Expr {
        self.binary(other, Binary::Pow)
    }

    /// The smaller by the contract's total order.
    pub fn min(self, other: Expr) -> Expr {
        Self::apply(Code::Min, vec![self, other])
    }

    /// The larger by the contract's total order.
    pub fn max(self, other: Expr) -> Expr {
        Self::apply(Code::Max, vec![self, other])
    }

    /// The larger of self and 0.
    pub fn relu(self) -> Expr {
        self.max(Expr::constant(0.0))
    }

    /// `then` where `self < other` by the contract's total order, else `otherwise`.
    pub fn select_less(self, other: Expr, then: Expr, otherwise: Expr) -> Expr {
        Self::apply(Code::SelectLess, vec![self, other, then, otherwise])
    }

    /// `self * self`, one product.
    pub fn square(self) -> Expr {
        self.clone() * self
    }

    /// The program of this expression; equal sub-expressions are computed once.
    pub(super) fn compile(&self) -> Result<Program> {
        Ok(Self::compile_all(std::slice::from_ref(self))?.0)
    }

    /// One program for all of `exprs`, and the operation that is the result of each.
    pub(super) fn compile_all(exprs: &[Expr]) -> Result<(Program, Vec<u32>)> {
        let mut program = Program { ops: Vec::new(), n_inputs: 0, n_scalars: 0 };
        let results = exprs.iter().map(|expr| expr.emit(&mut program)).collect::<Result<_>>()?;
        Ok((program, results))
    }

    // pathway: P24
    fn emit(&self, program: &mut Program) -> Result<u32> {
        let leaf = |code, a| Op { code, a, b: 0, c: 0, d: 0 };
        let op = match self.0.as_ref() {
            Node::Input(i) => {
                program.n_inputs = program.n_inputs.max(*i as usize + 1);
                leaf(Code::Input, *i)
            }
            Node::Scalar(i) => {
                program.n_scalars = program.n_scalars.max(*i as usize + 1);
                leaf(Code::Scalar, *i)
            }
            Node::Constant(bits) => leaf(Code::Constant, *bits),
            Node::Apply(code, args) => {
                let mut r = [0u32; 4];
                for (slot, arg) in r.iter_mut().zip(args) {
                    *slot = arg.emit(program)?;
                }
                Op { code: *code, a: r[0], b: r[1], c: r[2], d: r[3] }
            }
        };
        if let Some(i) = program.ops.iter().position(|o| *o == op) {
            return Ok(i as u32);
        }
        if program.ops.len() == MAX_OPS {
            return Err(ParamError::out_of_bound("expr", format!("at most {MAX_OPS} operations"), "more").into());
        }
        program.ops.push(op);
        Ok(program.ops.len() as u32 - 1)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $code:ident) => {
        impl $trait for Expr {
            type Output = Expr;

            fn $method(self, other: Expr) -> Expr {
                Expr::apply(Code::$code, vec![self, other])
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Sub);
operator!(Mul, mul, Mul);
operator!(Div, div, Div);

impl Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        Expr::apply(Code::Neg, vec![self])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // pathway test: P24
    fn common_terms_are_computed_once() {
        let t = Expr::input(0) - Expr::scalar(0);
        let program = (t.clone() * t).compile().expect("short");
        assert_eq!(program.ops.len(), 4);
        assert_eq!((program.n_inputs, program.n_scalars), (1, 1));
    }

    #[test]
    fn runaway_expressions_are_refused() {
        let mut e = Expr::input(0);
        for i in 0..MAX_OPS as u32 {
            e = e + Expr::constant(i as f32 + 1.0);
        }
        assert!(e.compile().unwrap_err().to_string().contains("256 operations"));
    }
}
