//! Chains of one product and one sum, as a contraction does them.

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::CHAINS;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{Pins, add_exact_range, mul_exact_range};

pub(super) fn chains<R: Runtime>(g: &Gpu<R>, out: &Handle, items: usize, steps: usize) -> Result<()> {
    g.guard("peak", 0, || {
        // SAFETY: `out` holds `items` elements and the grid is `items` units, which the kernel checks.
        unsafe {
            mul_add_chains::launch_unchecked::<R>(
                g.client(),
                g.grid(items, CUBE as usize),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(out.clone(), items),
                items as u32,
                steps as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                0.999f32,
                0.001f32,
            );
        }
    })
}

#[cube(launch_unchecked)]
fn mul_add_chains(out: &mut Array<f32>, n: u32, steps: u32, nz: f32, one: f32, a: f32, b: f32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let p = Pins { nz, one };
        let mut x = Array::<f32>::new(CHAINS);
        #[unroll]
        for c in 0..CHAINS {
            x[c] = 0.5f32;
        }
        for _ in 0..steps {
            #[unroll]
            for c in 0..CHAINS {
                x[c] = add_exact_range(mul_exact_range(x[c], a, p), b, p);
            }
        }
        let mut total = 0.0f32;
        #[unroll]
        for c in 0..CHAINS {
            total = add_exact_range(total, x[c], p);
        }
        out[i as usize] = total;
    }
}
