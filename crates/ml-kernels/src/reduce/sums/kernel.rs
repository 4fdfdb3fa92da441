//! The device: until kernels take over, the host's code over a copy.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::host;
use crate::buffer::Chunks;
use crate::device::gpu::Gpu;
use crate::sabotage::Arm;

pub(super) fn row_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    Chunks::upload(g, &host::row_sums(&x.read(g)?, rows, cols, arm))
}

pub(super) fn col_sums<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    cols: usize,
    arm: Arm,
) -> Result<Chunks<f32>> {
    Chunks::upload(g, &host::col_sums(&x.read(g)?, rows, cols, arm))
}
