//! What a GPU does at most: chains of one product and one sum, as a contraction does them, and a copy.

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use crate::device::gpu::{CUBE, Gpu};
use crate::num::Pins;

type V4 = Vector<f32, Const<4>>;
type Words = Vector<u32, Const<4>>;

/// Vectors of chains that a unit keeps in flight: four chains each.
const VECTORS: usize = 4;

/// Steps of every chain between two looks at the loop's end.
const UNROLL: usize = 8;

/// Products and sums of one unit in one turn of the loop.
pub(super) const FLOPS_A_TURN: usize = 2 * 4 * VECTORS * UNROLL;

/// Vectors that a unit copies, all of them loaded before the first is stored.
const COPIES: usize = 4;

/// Elements that a workgroup copies: a copy of so many times a whole number wastes no unit.
pub(super) const COPIED_TOGETHER: usize = CUBE as usize * COPIES * 4;

pub(super) fn chains<R: Runtime>(g: &Gpu<R>, out: &Handle, items: usize, turns: usize) -> Result<()> {
    g.guard("peak", 0, || {
        // SAFETY: `out` holds `items` elements and the grid is `items` units, which the kernel checks.
        unsafe {
            mul_add_chains::launch_unchecked::<R>(
                g.client(),
                g.grid(items, CUBE as usize),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(out.clone(), items),
                items as u32,
                turns as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                0.999f32,
                0.001f32,
            );
        }
    })
}

#[cube(launch_unchecked)]
fn mul_add_chains(out: &mut Array<f32>, n: u32, turns: u32, nz: f32, one: f32, a: f32, b: f32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let p = Pins { nz, one };
        let (nz, one, a, b) = (V4::new(nz), V4::new(one), V4::new(a), V4::new(b));
        let mut x = Array::<V4>::new(VECTORS);
        #[unroll]
        for v in 0..VECTORS {
            x[v] = a;
        }
        for _ in 0..turns {
            #[unroll]
            for _ in 0..UNROLL {
                #[unroll]
                for v in 0..VECTORS {
                    x[v] = fma(fma(x[v], a, nz), one, b);
                }
            }
        }
        let mut total = x[0];
        #[unroll]
        for v in 1..VECTORS {
            total = fma(total, one, x[v]);
        }
        out[i as usize] = fma(fma(total[0], p.one, total[1]), p.one, fma(total[2], p.one, total[3]));
    }
}

/// Copies `len` elements, a multiple of [`COPIED_TOGETHER`].
pub(super) fn copy<R: Runtime>(g: &Gpu<R>, from: &Handle, to: &Handle, len: usize) -> Result<()> {
    g.guard("peak", 0, || {
        // SAFETY: both handles hold `len` elements, and the kernel checks the number of workgroups.
        unsafe {
            copy_vectors::launch_unchecked::<R>(
                g.client(),
                g.grid(len, COPIED_TOGETHER),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(from.clone(), len / 4),
                ArrayArg::from_raw_parts(to.clone(), len / 4),
                (len / COPIED_TOGETHER) as u32,
            );
        }
    })
}

#[cube(launch_unchecked)]
fn copy_vectors(from: &Array<Words>, to: &mut Array<Words>, cubes: u32) {
    let cube = CUBE_POS as u32;
    if cube < cubes {
        let at = cube * comptime!(CUBE * COPIES as u32) + UNIT_POS;
        let mut hold = Array::<Words>::new(COPIES);
        #[unroll]
        for i in 0..COPIES {
            hold[i] = from[(at + comptime!(i as u32 * CUBE)) as usize];
        }
        #[unroll]
        for i in 0..COPIES {
            to[(at + comptime!(i as u32 * CUBE)) as usize] = hold[i];
        }
    }
}
