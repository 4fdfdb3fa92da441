//! Operands that lie somewhere inside a buffer.

use ml_core::{DataError, Result};

use super::{Layout, elements, product};
use crate::buffer::Buffer;
use crate::device::Device;

/// A matrix, or a batch of matrices, inside a buffer: element j of row i of item t is element
/// `start + t * item_stride + i * row_stride + j`.
///
/// Strides may be anything that stays inside the buffer: 0 repeats a row or an item, and rows may overlap.
#[derive(Debug, Clone, Copy)]
pub struct Strided<'a> {
    /// The memory.
    pub buffer: &'a Buffer<f32>,
    /// Element where the first row of the first item starts.
    pub start: usize,
    /// Elements from the start of one row to the start of the next.
    pub row_stride: usize,
    /// Elements from the start of one item to the start of the next; of no meaning for a single item.
    pub item_stride: usize,
}

impl<'a> Strided<'a> {
    /// A single matrix: `row_stride` elements (the "leading dimension") from row to row, from element `start` on.
    pub fn new(buffer: &'a Buffer<f32>, start: usize, row_stride: usize) -> Self {
        Strided { buffer, start, row_stride, item_stride: 0 }
    }

    /// Where it lies, checked to be inside the buffer; `what` names it in errors.
    fn place(&self, what: &'static str, [batch, rows, width]: [usize; 3], device: &Device) -> Result<Place> {
        let own = self.buffer.len();
        self.buffer.expect(what, own, device)?;
        if elements(what, [batch, rows, width])? == 0 {
            return Ok(Place::dense([rows, width]));
        }
        let far = |steps: usize, stride: usize| (steps as u128 - 1).saturating_mul(stride as u128);
        let end = [far(batch, self.item_stride), far(rows, self.row_stride), width as u128]
            .into_iter()
            .fold(self.start as u128, u128::saturating_add);
        if end > own as u128 {
            return Err(DataError::shape(what, format!("at least {end} elements"), own).into());
        }
        let item = if batch == 1 { rows.saturating_mul(width) } else { self.item_stride };
        let row = if rows == 1 { width } else { self.row_stride };
        Ok(Place { start: self.start, row, item })
    }
}

/// Where an operand lies: its first element, and the distances of rows in memory and of batch items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) row: usize,
    pub(crate) item: usize,
}

impl Place {
    /// Rows one after the other, and items one after the other.
    pub(crate) fn dense([rows, width]: [usize; 2]) -> Self {
        Place { start: 0, row: width, item: rows * width }
    }
}

/// Rows of an item in memory, and their width, of `a` and of `b`.
pub(crate) fn shapes(layout: Layout, [_, m, n, k]: [usize; 4]) -> [[usize; 2]; 2] {
    match layout {
        Layout::NN => [[m, k], [k, n]],
        Layout::NT => [[m, k], [n, k]],
        Layout::TN => [[k, m], [k, n]],
    }
}

/// `batch` matrix products of operands that lie anywhere in their buffers; the result is as that of
/// [`super::matmul_batched`].
///
/// # Errors
/// [`DataError::Shape`] if an operand reaches beyond its buffer, [`DataError::TooLarge`] if a product of dimensions does
/// not fit; [`ml_core::DeviceError`] if a buffer lives elsewhere or the device fails.
///
/// # Bit identity
/// As [`super::matmul`]: where operands lie changes nothing. GPUs copy an operand whose rows do not follow each other once,
/// the host reads it where it is.
///
/// # Example
/// The product of the right half of a 2 x 4 matrix with the left half:
/// ```
/// use ml_kernels::{Buffer, Device, matmul::{Layout, Strided, matmul_strided}};
/// let host = Device::host();
/// let x = Buffer::upload(&host, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
/// let (right, left) = (Strided::new(&x, 2, 4), Strided::new(&x, 0, 4));
/// let c = matmul_strided(&host, Layout::NN, right, left, 1, 2, 2, 2)?;
/// assert_eq!(c.read()?, [23.0, 30.0, 47.0, 62.0]);
/// let err = matmul_strided(&host, Layout::NN, Strided::new(&x, 3, 4), left, 1, 2, 2, 2).unwrap_err();
/// assert_eq!(err.to_string(), "`a` must be at least 9 elements, got 8");
/// # Ok::<(), ml_core::Error>(())
/// ```
#[allow(clippy::too_many_arguments, reason = "a product has two operands and four dimensions")]
pub fn matmul_strided(
    device: &Device,
    layout: Layout,
    a: Strided<'_>,
    b: Strided<'_>,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
) -> Result<Buffer<f32>> {
    let dims = [batch, m, n, k];
    let [[a_rows, a_width], [b_rows, b_width]] = shapes(layout, dims);
    let places = [a.place("a", [batch, a_rows, a_width], device)?, b.place("b", [batch, b_rows, b_width], device)?];
    product(device, layout, [a.buffer, b.buffer], places, dims)
}
