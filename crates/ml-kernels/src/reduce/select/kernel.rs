//! The device: until kernels take over, the host's code over a copy.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::{Order, host};
use crate::buffer::Chunks;
use crate::device::gpu::Gpu;
use crate::sabotage::Arm;

type Chosen = (Chunks<u32>, Chunks<f32>);

pub(super) fn arg_rows<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    order: Order,
    arm: Arm,
) -> Result<Chosen> {
    let (index, value) = host::arg_rows(&x.read(g)?, rows, cols, order, arm);
    Ok((Chunks::upload(g, &index)?, Chunks::upload(g, &value)?))
}

pub(super) fn top_k_rows<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    k: usize,
    order: Order,
    arm: Arm,
) -> Result<Chosen> {
    let (index, value) = host::top_k_rows(&x.read(g)?, rows, cols, k, order, arm);
    Ok((Chunks::upload(g, &index)?, Chunks::upload(g, &value)?))
}
