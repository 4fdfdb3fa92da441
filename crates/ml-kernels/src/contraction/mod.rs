//! Contract clause `contractions`: the engine behind matrix products and squared distances.
//!
//! Both are the same loop over K with another term: leaves of [`LEAF`] elements ascending from +0, leaf results joined by
//! a balanced tree of adjacent pairs. This folder holds the loop once, for the host ([`host`]) and for GPUs; the
//! primitives `matmul` and `distances` hold the shapes, the references and the public API.

pub(crate) mod guard;
pub(crate) mod host;
#[cfg(feature = "gpu")]
pub(crate) mod kernel;
mod micro;
mod pack;
pub(crate) mod testing;
mod vector;

pub(crate) use micro::Isa;

use crate::num::{Pins, add};
use crate::num::{canon, mul, sub};
use crate::sabotage::Arm;

/// Elements of K that are summed serially; part of the contract.
pub(crate) const LEAF: usize = 1024;

/// What is summed over K.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    /// `a * b`.
    Product,
    /// `t * t` with `t = a - b`.
    SquaredDifference,
}

/// A term with the clause that a sabotaged device breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    pub(crate) term: Term,
    pub(crate) arm: Arm,
}

impl Rule {
    pub(crate) fn new(term: Term, arm: Arm) -> Self {
        Rule { term, arm }
    }

    /// Whether the loop without canon runs unasked: two negative controls.
    #[cfg(feature = "gpu")]
    fn unguarded(self) -> bool {
        matches!(self.arm, Arm::KeepSubnormals | Arm::GuardOff)
    }

    /// Whether sums of leaves are canonical; always, but for the arm that keeps subnormals.
    fn joins_canonical(self) -> bool {
        self.arm != Arm::KeepSubnormals
    }

    /// Whether leaves are walked from their last element to their first.
    fn descending(self) -> bool {
        self.arm == Arm::DescendingLeaf
    }
}

/// One operand on the host: `outer` vectors of `k` elements; element `i` of vector `v` is at
/// `v * outer_stride + i * k_stride`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) outer: usize,
    pub(crate) k: usize,
    pub(crate) outer_stride: usize,
    pub(crate) k_stride: usize,
}

impl<'a> Side<'a> {
    /// A row-major matrix whose rows are the vectors.
    pub(crate) fn rows(data: &'a [f32], outer: usize, k: usize) -> Self {
        debug_assert_eq!(data.len(), outer * k);
        Side { data, outer, k, outer_stride: k, k_stride: 1 }
    }

    /// Whether both are the same vectors in the same memory: then a cell equals its mirror image, since the product of two
    /// numbers and the square of their difference do not depend on which comes first.
    pub(crate) fn is(&self, other: &Side<'_>) -> bool {
        let shape = |s: &Side<'_>| (s.data.as_ptr(), s.outer, s.k, s.outer_stride, s.k_stride);
        shape(self) == shape(other)
    }

    /// A row-major matrix whose columns are the vectors.
    #[cfg(test)]
    pub(crate) fn columns(data: &'a [f32], outer: usize, k: usize) -> Self {
        debug_assert_eq!(data.len(), outer * k);
        Side { data, outer, k, outer_stride: 1, k_stride: outer }
    }
}

/// One cell by the letter of the contract: `a` and `b` give element `i` of the two vectors.
// pathway: P33
pub(crate) fn cell(term: Term, k: usize, a: impl Fn(usize) -> f32, b: impl Fn(usize) -> f32) -> f32 {
    let p = Pins::HOST;
    let mut level = Vec::with_capacity(k.div_ceil(LEAF));
    for start in (0..k).step_by(LEAF) {
        let mut acc = 0.0;
        for i in start..(start + LEAF).min(k) {
            let product = match term {
                Term::Product => mul(a(i), b(i), p),
                Term::SquaredDifference => {
                    let t = sub(a(i), b(i), p);
                    mul(t, t, p)
                }
            };
            acc = add(acc, product, p);
        }
        level.push(acc);
    }
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| if pair.len() == 2 { add(pair[0], pair[1], p) } else { pair[0] }).collect();
    }
    canon(level.first().copied().unwrap_or(0.0))
}
