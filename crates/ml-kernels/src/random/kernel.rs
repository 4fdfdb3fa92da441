//! Devices, for now through the host.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::{Stream, host};
use crate::buffer::Chunks;
use crate::device::gpu::Gpu;

pub(super) fn words<R: Runtime>(g: &Gpu<R>, n: usize, stream: Stream) -> Result<Chunks<u32>> {
    Chunks::upload(g, &host::words(n, stream))
}

pub(super) fn uniform<R: Runtime>(g: &Gpu<R>, n: usize, stream: Stream) -> Result<Chunks<f32>> {
    Chunks::upload(g, &host::uniform(n, stream))
}

pub(super) fn low_keys<R: Runtime>(g: &Gpu<R>, n: usize, stream: Stream) -> Result<(Chunks<u32>, Chunks<u32>)> {
    let (keys, index) = host::low_keys(n, stream);
    Ok((Chunks::upload(g, &keys)?, Chunks::upload(g, &index)?))
}

pub(super) fn high_keys<R: Runtime>(g: &Gpu<R>, order: &Chunks<u32>, stream: Stream) -> Result<Chunks<u32>> {
    Chunks::upload(g, &host::high_keys(&order.read(g)?, stream))
}
