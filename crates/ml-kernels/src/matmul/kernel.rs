//! `matmul` on GPUs.

use cubecl::prelude::*;
use ml_core::Result;

use super::{Layout, host};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::device::gpu::Gpu;
use crate::sabotage::Arm;

pub(crate) fn matmul<R: Runtime>(
    _g: &Gpu<R>,
    device: &Device,
    layout: Layout,
    arm: Arm,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    dims: [usize; 4],
) -> Result<Buffer<f32>> {
    Buffer::upload(device, &host::matmul(layout, arm, &a.read()?, &b.read()?, dims))
}
