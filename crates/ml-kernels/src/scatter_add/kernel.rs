//! Devices, for now through the host.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::{Shape, host};
use crate::buffer::Chunks;
use crate::device::gpu::Gpu;
use crate::sabotage::Arm;

pub(super) fn check<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<f32>,
    indices: &Chunks<u32>,
    n_groups: usize,
) -> Result<(u32, Option<(usize, u32)>)> {
    let indices = indices.read(g)?;
    let (largest, row) = host::check(&values.read(g)?, &indices, n_groups);
    Ok((largest, row.map(|row| (row, indices[row]))))
}

pub(super) fn sum<R: Runtime>(
    g: &Gpu<R>,
    values: &Chunks<f32>,
    indices: &Chunks<u32>,
    shape: Shape,
    shift: i32,
    arm: Arm,
) -> Result<Chunks<f32>> {
    Chunks::upload(g, &host::sum(&values.read(g)?, &indices.read(g)?, shape, shift, arm))
}
