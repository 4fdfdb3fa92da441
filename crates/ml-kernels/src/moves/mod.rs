//! Moves of whole rows by index: gather and scatter. They copy words and round nothing.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;

use ml_core::{DataError, Result};

use crate::buffer::{Buffer, Element};
use crate::device::{Device, on_device};
use crate::reduce::elements;

/// Most indices of one call: positions are counted in `u32`, one value of which means "none".
const MAX_INDICES: usize = u32::MAX as usize - 1;

/// Row `indices[i]` of `table`, shape (table_rows, cols), as row `i` of the result, shape (indices, cols). The result of
/// no indices, or of rows without columns, is empty.
///
/// # Errors
/// [`DataError::Index`], naming the first index that is not below `table_rows`; [`DataError::Shape`] if `table` does not
/// have `table_rows * cols` elements; [`DataError::TooLarge`] for 2^32 - 1 indices or more; a device failure.
///
/// # Bit identity
/// Words are copied as they are.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, moves};
/// let device = Device::host();
/// let table = Buffer::upload(&device, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let rows = moves::gather_rows(&device, &table, &Buffer::upload(&device, &[1u32, 1, 0])?, 2, 2)?;
/// assert_eq!(rows.read()?, [3.0, 4.0, 3.0, 4.0, 1.0, 2.0]);
/// let err = moves::gather_rows(&device, &table, &Buffer::upload(&device, &[0u32, 2])?, 2, 2).unwrap_err();
/// assert_eq!(err.to_string(), "`indices` holds index 2 at position 1, the bound is 2");
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn gather_rows<T: Element>(
    device: &Device,
    table: &Buffer<T>,
    indices: &Buffer<u32>,
    table_rows: usize,
    cols: usize,
) -> Result<Buffer<T>> {
    table.expect("table", elements("table", table_rows, cols)?, device)?;
    indices.expect("indices", indices.len(), device)?;
    elements("result", check_count(indices.len())?, cols)?;
    let facts = indices.facts();
    on_device!(device,
    host(h) => {
        let (table, indices) = (table.host("table")?, indices.host("indices")?);
        h.install(|| {
            if !facts.are_below(table_rows) {
                host::check(indices, table_rows)?;
                facts.note_below(table_rows);
            }
            Ok(Buffer::from_host(device, host::gather_rows(table, indices, cols)))
        })
    },
    gpu(g) => {
        let (table, indices) = (table.chunks("table", device)?, indices.chunks("indices", device)?);
        if !facts.are_below(table_rows) {
            kernel::check(g, indices, table_rows)?;
            facts.note_below(table_rows);
        }
        Ok(Buffer::from_chunks(device, kernel::gather_rows(g, table, indices, table_rows, cols)?))
    })
}

/// Row `i` of `source`, shape (indices, cols), as row `indices[i]` of the result, shape (out_rows, cols). Rows that no
/// index names are zero; where several indices name one row, the last of them wins.
///
/// # Errors
/// [`DataError::Index`], naming the first index that is not below `out_rows`; [`DataError::Shape`] if `source` does not
/// have `indices * cols` elements; [`DataError::TooLarge`] for 2^32 - 1 indices or more; a device failure.
///
/// # Bit identity
/// Words are copied as they are; which source wins depends on positions alone.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, moves};
/// let device = Device::host();
/// let source = Buffer::upload(&device, &[1.0f32, 2.0, 3.0])?;
/// let out = moves::scatter_rows(&device, &source, &Buffer::upload(&device, &[2u32, 0, 2])?, 4, 1)?;
/// assert_eq!(out.read()?, [2.0, 0.0, 3.0, 0.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn scatter_rows<T: Element>(
    device: &Device,
    source: &Buffer<T>,
    indices: &Buffer<u32>,
    out_rows: usize,
    cols: usize,
) -> Result<Buffer<T>> {
    source.expect("source", elements("source", check_count(indices.len())?, cols)?, device)?;
    indices.expect("indices", indices.len(), device)?;
    elements("result", out_rows, cols)?;
    let facts = indices.facts();
    on_device!(device,
    host(h) => {
        let (source, indices) = (source.host("source")?, indices.host("indices")?);
        h.install(|| {
            if !facts.are_below(out_rows) {
                host::check(indices, out_rows)?;
                facts.note_below(out_rows);
            }
            Ok(Buffer::from_host(device, host::scatter_rows(source, indices, out_rows, cols)))
        })
    },
    gpu(g) => {
        let (source, indices) = (source.chunks("source", device)?, indices.chunks("indices", device)?);
        if !facts.are_below(out_rows) {
            kernel::check(g, indices, out_rows)?;
            facts.note_below(out_rows);
        }
        Ok(Buffer::from_chunks(device, kernel::scatter_rows(g, source, indices, out_rows, cols)?))
    })
}

fn check_count(n: usize) -> Result<usize> {
    if n > MAX_INDICES {
        let (elements, limit) = (n as u128, MAX_INDICES as u128);
        return Err(DataError::TooLarge { what: "indices", elements, limit }.into());
    }
    Ok(n)
}

fn bad_index(position: usize, index: u32, bound: usize) -> ml_core::Error {
    DataError::Index { what: "indices", position, index: index as u64, bound: bound as u64 }.into()
}
