//! `matmul` on GPUs: a batch of contractions.

use cubecl::prelude::*;
use ml_core::Result;

use super::Layout;
use crate::buffer::Buffer;
use crate::buffer::Chunks;
use crate::contraction::kernel::Contiguous;
use crate::contraction::kernel::launch::{Operand, contract};
use crate::contraction::{Rule, Term};
use crate::device::Device;
use crate::device::gpu::Gpu;

/// `batch` products, each m x n, row-major.
pub(crate) fn matmul<R: Runtime>(
    g: &Gpu<R>,
    device: &Device,
    layout: Layout,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    [batch, m, n, k]: [usize; 4],
) -> Result<Buffer<f32>> {
    let (a_contiguous, b_contiguous) = match layout {
        Layout::NN => (Contiguous::K, Contiguous::Vectors),
        Layout::NT => (Contiguous::K, Contiguous::K),
        Layout::TN => (Contiguous::Vectors, Contiguous::Vectors),
    };
    let a = Operand { data: a.chunks("a", device)?, start: 0, contiguous: a_contiguous, vectors: m };
    let b = Operand { data: b.chunks("b", device)?, start: 0, contiguous: b_contiguous, vectors: n };
    let out = Chunks::alloc(g, batch * m * n)?;
    contract(g, Rule::new(Term::Product, device.arm()), a, b, batch, k, &out)?;
    Ok(Buffer::from_chunks(device, out))
}
