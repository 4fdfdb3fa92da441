//! The device: until kernels take over, the host's code over a copy.

use cubecl::prelude::Runtime;
use ml_core::Result;

use super::host;
use crate::buffer::{Chunks, Element};
use crate::device::gpu::Gpu;

pub(super) fn check<R: Runtime>(g: &Gpu<R>, indices: &Chunks<u32>, bound: usize) -> Result<()> {
    host::check(&indices.read(g)?, bound)
}

pub(super) fn gather_rows<R: Runtime, T: Element>(
    g: &Gpu<R>,
    table: &Chunks<T>,
    indices: &Chunks<u32>,
    _table_rows: usize,
    cols: usize,
) -> Result<Chunks<T>> {
    Chunks::upload(g, &host::gather_rows(&table.read(g)?, &indices.read(g)?, cols))
}

pub(super) fn scatter_rows<R: Runtime, T: Element>(
    g: &Gpu<R>,
    source: &Chunks<T>,
    indices: &Chunks<u32>,
    out_rows: usize,
    cols: usize,
) -> Result<Chunks<T>> {
    Chunks::upload(g, &host::scatter_rows(&source.read(g)?, &indices.read(g)?, out_rows, cols))
}
