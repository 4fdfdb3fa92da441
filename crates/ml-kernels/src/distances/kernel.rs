//! Distances on GPUs.

use cubecl::prelude::*;
use ml_core::Result;

use super::host;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::device::gpu::Gpu;
use crate::sabotage::Arm;

pub(crate) fn squared_distances<R: Runtime>(
    _g: &Gpu<R>,
    device: &Device,
    arm: Arm,
    x: &Buffer<f32>,
    y: &Buffer<f32>,
    dims: [usize; 3],
) -> Result<Buffer<f32>> {
    Buffer::upload(device, &host::squared_distances(arm, &x.read()?, &y.read()?, dims))
}

pub(crate) fn k_nearest<R: Runtime>(
    _g: &Gpu<R>,
    device: &Device,
    arm: Arm,
    x: &Buffer<f32>,
    y: &Buffer<f32>,
    dims: [usize; 3],
    k: usize,
) -> Result<(Buffer<u32>, Buffer<f32>)> {
    let (i, d) = host::k_nearest(arm, &x.read()?, &y.read()?, dims, k);
    Ok((Buffer::upload(device, &i)?, Buffer::upload(device, &d)?))
}
