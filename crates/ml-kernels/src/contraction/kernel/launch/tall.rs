//! Launches for a tall operand with few vectors, and for symmetric results.

use cubecl::prelude::*;
use ml_core::Result;

use super::{Dense, ShapeLaunch};
use crate::buffer::In;
use crate::contraction::LEAF;
use crate::contraction::kernel::Contiguous;
use crate::contraction::kernel::mirror::mirror;
use crate::contraction::kernel::tall::{TallPlan, UNITS, tall_leaves};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::Pins;

impl Dense {
    /// Leaves by the kernel for tall operands, and their joining.
    pub(super) fn tall<R: Runtime>(&self, g: &Gpu<R>, target: &In) -> Result<()> {
        let (leaves, cells) = (self.k.div_ceil(LEAF), self.m * self.n);
        if leaves == 1 {
            return self.tall_leaves(g, target);
        }
        let len = self.batch * leaves * cells;
        let parts = In { handle: g.alloc_one::<f32>(len)?, len };
        self.tall_leaves(g, &parts)?;
        self.join(g, parts, target)
    }

    fn tall_leaves<R: Runtime>(&self, g: &Gpu<R>, target: &In) -> Result<()> {
        let first = self.m > self.n;
        let a = (&self.a, self.a_contiguous, self.m);
        let b = (&self.b, self.b_contiguous, self.n);
        let ((tall, contiguous, vectors), (other, other_contiguous, few)) = if first { (a, b) } else { (b, a) };
        let plan = TallPlan { tall: contiguous, other: other_contiguous, few, first, rule: self.rule };
        let width = tall_align(contiguous);
        let item = |contiguous, vectors: usize, stride: usize| match contiguous {
            Contiguous::K => vectors * stride,
            Contiguous::Vectors => self.k * stride,
        };
        let shape = ShapeLaunch::new(
            self.batch as u32,
            vectors as u32,
            few as u32,
            self.k as u32,
            (tall.stride / width) as u32,
            (item(contiguous, vectors, tall.stride) / width) as u32,
            other.stride as u32,
            item(other_contiguous, few, other.stride) as u32,
            1,
        );
        let cubes = self.batch * self.k.div_ceil(LEAF) * vectors.div_ceil(UNITS as usize);
        g.guard("matmul: tall", 0, || {
            // SAFETY: workgroups beyond `cubes` do nothing; the others clamp their reads to the operands, whose rows are
            // padded to quads where they are read in quads, and store each cell of `target` once a leaf.
            unsafe {
                tall_leaves::launch_unchecked::<R>(
                    g.client(),
                    g.grid(cubes, 1),
                    CubeDim::new_1d(UNITS),
                    width,
                    tall.data.arg_vec(width),
                    other.data.arg(),
                    target.arg(),
                    shape,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    plan,
                );
            }
        })
    }

    /// The cells right of the diagonal of each item.
    pub(super) fn mirror<R: Runtime>(&self, g: &Gpu<R>, target: &In) -> Result<()> {
        g.guard("matmul: mirror", 0, || {
            // SAFETY: the kernel's bound is `batch * m * m`, the length of the result, and images lie in the same item.
            unsafe {
                mirror::launch_unchecked::<R>(
                    g.client(),
                    g.grid(self.batch * self.m * self.m, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    target.arg(),
                    self.batch as u32,
                    self.m as u32,
                );
            }
        })
    }
}

/// Elements that a tall operand is read in at once, and to which its rows are padded.
pub(super) fn tall_align(contiguous: Contiguous) -> usize {
    if contiguous == Contiguous::K { 4 } else { 1 }
}
