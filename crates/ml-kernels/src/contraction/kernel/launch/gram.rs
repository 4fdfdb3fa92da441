//! Launches for the products of a tall table's columns with each other.

use cubecl::prelude::*;
use ml_core::Result;

use super::{Dense, Operand};
use crate::buffer::In;
use crate::contraction::LEAF;
use crate::contraction::kernel::Contiguous;
use crate::contraction::kernel::gram::{GramPlan, WIDE, gram_leaves};
use crate::device::gpu::Gpu;
use crate::num::Pins;

/// Whether `a` with `b` is the product of a table's columns with each other, few columns and more than one leaf of rows.
pub(super) fn suits_gram(a: &Operand<'_>, b: &Operand<'_>, k: usize) -> bool {
    a.is(b) && a.contiguous == Contiguous::Vectors && a.vectors <= WIDE && k > LEAF
}

impl Dense {
    /// Leaves by the kernel for Gram matrices, their joining, and the other half.
    pub(super) fn gram<R: Runtime>(&self, g: &Gpu<R>, target: &In) -> Result<()> {
        let runtime = R::name(g.client());
        self.gram_as(g, runtime == "cuda" || runtime == "hip", target)
    }

    /// The same with tiles fetched one ahead or not, which changes no bit.
    pub(super) fn gram_as<R: Runtime>(&self, g: &Gpu<R>, prefetch: bool, target: &In) -> Result<()> {
        let leaves = self.k.div_ceil(LEAF);
        let len = self.batch * leaves * self.m * self.m;
        let parts = In { handle: g.alloc_one::<f32>(len)?, len };
        let plan = GramPlan::new(self.m, prefetch, self.rule);
        g.guard("matmul: gram", 0, || {
            // SAFETY: workgroups beyond the stacks of all items do nothing; the others read elements below K of columns that
            // are clamped to the padded rows, and store each cell of `parts` once at most.
            unsafe {
                gram_leaves::launch_unchecked::<R>(
                    g.client(),
                    g.grid(self.batch * leaves.div_ceil(plan.stack), 1),
                    CubeDim::new_1d(plan.units() as u32),
                    self.a.data.arg_vec(4),
                    parts.arg(),
                    self.shape(4, 1),
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    plan,
                );
            }
        })?;
        self.join(g, parts, target)?;
        self.mirror(g, target)
    }
}
