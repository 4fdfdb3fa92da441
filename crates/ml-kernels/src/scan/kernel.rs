//! The device: until kernels take over, the host's code over a copy.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::host;
use crate::buffer::Chunks;
use crate::device::gpu::Gpu;

pub(super) fn exclusive_scan<R: Runtime>(g: &Gpu<R>, x: &Chunks<u32>) -> Result<(Chunks<u32>, u32)> {
    let (before, total) = host::exclusive_scan(&x.read(g)?);
    Ok((Chunks::upload(g, &before)?, total))
}
