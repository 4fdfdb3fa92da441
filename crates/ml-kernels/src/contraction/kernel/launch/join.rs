//! Launches that join leaves.

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::Dense;
use crate::buffer::In;
use crate::contraction::kernel::cells::{join_pair, join_parts};
use crate::contraction::{LEAF, Rule};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::Pins;

/// Most leaves that one unit joins.
const TOGETHER: usize = 32;

impl Dense {
    /// Joins leaves that were summed apart: `parts` is (item, leaf, cell).
    pub(super) fn join<R: Runtime>(&self, g: &Gpu<R>, parts: In, target: &In) -> Result<()> {
        let cells = self.m * self.n;
        let mut leaves = self.k.div_ceil(LEAF);
        let mut parts = parts;
        while leaves > TOGETHER {
            let groups = leaves.div_ceil(TOGETHER);
            let len = self.batch * groups * cells;
            let joined = In { handle: g.alloc_one::<f32>(len)?, len };
            self.join_groups(g, &parts, leaves, &joined)?;
            (leaves, parts) = (groups, joined);
        }
        self.join_groups(g, &parts, leaves, target)
    }

    /// Joins `leaves` leaves of each cell into as many as there are groups of them.
    fn join_groups<R: Runtime>(&self, g: &Gpu<R>, parts: &In, leaves: usize, target: &In) -> Result<()> {
        let cells = self.m * self.n;
        let together = leaves.next_power_of_two().min(TOGETHER);
        let units = self.batch * leaves.div_ceil(together) * cells;
        g.guard("matmul: join", 0, || {
            // SAFETY: the kernel's bound is `units`, the length of the result; `parts` holds each cell once a leaf.
            unsafe {
                join_parts::launch_unchecked::<R>(
                    g.client(),
                    g.grid(units, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    parts.arg(),
                    target.arg(),
                    self.batch as u32,
                    leaves as u32,
                    cells as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    together,
                    self.rule,
                );
            }
        })
    }
}

/// Joins `before` onto `sum`, element by element.
pub(super) fn join_two<R: Runtime>(g: &Gpu<R>, rule: Rule, before: &Handle, sum: &Handle, len: usize) -> Result<()> {
    g.guard("matmul: join", 0, || {
        // SAFETY: both handles hold `len` elements, the kernel's bound.
        unsafe {
            join_pair::launch_unchecked::<R>(
                g.client(),
                g.grid(len, CUBE as usize),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(before.clone(), len),
                ArrayArg::from_raw_parts(sum.clone(), len),
                len as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                rule,
            );
        }
    })
}
