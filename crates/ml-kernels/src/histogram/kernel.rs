//! Devices, for now through the host.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::{bad_index, host};
use crate::buffer::Chunks;
use crate::device::gpu::Gpu;

pub(super) fn count<R: Runtime>(g: &Gpu<R>, bins: &Chunks<u32>, n_bins: usize) -> Result<Chunks<u32>> {
    let bins = bins.read(g)?;
    match host::count(&bins, n_bins) {
        Ok(counts) => Chunks::upload(g, &counts),
        Err(position) => Err(bad_index("bins", position, bins[position], n_bins)),
    }
}
