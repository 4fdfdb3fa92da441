//! Devices, for now through the host.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::host;
use crate::buffer::Chunks;
use crate::device::gpu::Gpu;
use crate::sabotage::Arm;

pub(super) fn sort<R: Runtime>(
    g: &Gpu<R>,
    keys: &Chunks<u32>,
    values: &Chunks<u32>,
    arm: Arm,
) -> Result<(Chunks<u32>, Chunks<u32>)> {
    let (keys, values) = host::sort(&keys.read(g)?, &values.read(g)?, arm);
    Ok((Chunks::upload(g, &keys)?, Chunks::upload(g, &values)?))
}

pub(super) fn keys<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>) -> Result<(Chunks<u32>, Chunks<u32>)> {
    let (keys, index) = host::keys(&x.read(g)?);
    Ok((Chunks::upload(g, &keys)?, Chunks::upload(g, &index)?))
}
