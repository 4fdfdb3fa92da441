//! `matmul` on GPUs: a batch of contractions.

use cubecl::prelude::*;
use ml_core::Result;

use super::{Layout, Place, strided};
use crate::buffer::Buffer;
use crate::buffer::Chunks;
use crate::contraction::kernel::Contiguous;
use crate::contraction::kernel::launch::{Operand, contract};
use crate::contraction::{Rule, Term};
use crate::device::Device;
use crate::device::gpu::Gpu;

/// `batch` products, each m x n, row-major, of operands at these places.
pub(crate) fn matmul<R: Runtime>(
    g: &Gpu<R>,
    device: &Device,
    layout: Layout,
    [a, b]: [&Buffer<f32>; 2],
    [a_place, b_place]: [Place; 2],
    dims: [usize; 4],
) -> Result<Buffer<f32>> {
    let [batch, m, n, k] = dims;
    let (a_contiguous, b_contiguous) = match layout {
        Layout::NN => (Contiguous::K, Contiguous::Vectors),
        Layout::NT => (Contiguous::K, Contiguous::K),
        Layout::TN => (Contiguous::Vectors, Contiguous::Vectors),
    };
    let [a_shape, b_shape] = strided::shapes(layout, dims);
    // What lies as dense operands do is one: its items are taken together.
    let strides = |p: Place, shape| {
        let dense = Place::dense(shape);
        (p.row != dense.row || p.item != dense.item).then_some((p.row, p.item))
    };
    let operand = |data, p: Place, shape, contiguous, vectors| Operand {
        data,
        start: p.start,
        strides: strides(p, shape),
        contiguous,
        vectors,
    };
    let a = operand(a.chunks("a", device)?, a_place, a_shape, a_contiguous, m);
    let b = operand(b.chunks("b", device)?, b_place, b_shape, b_contiguous, n);
    let out = Chunks::alloc(g, batch * m * n)?;
    contract(g, Rule::new(Term::Product, device.arm()), a, b, batch, k, &out)?;
    Ok(Buffer::from_chunks(device, out))
}
