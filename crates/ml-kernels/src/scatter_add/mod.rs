//! Sums of rows by group, in integers: histograms of floats, centroid sums, gradients of embeddings.
//!
//! Contract clause `scatter`. Let E be the least integer with |value| < 2^E for every value of the whole buffer, and
//! 2^b the least power of two that is not below the number of rows. Every value becomes the integer `q = value * 2^s`,
//! rounded half to even, with `s = 62 - E - b`; then |q| <= 2^(62 - b), and no sum of q over rows exceeds 2^62. Integer
//! sums do not depend on their order. The sum becomes the nearest float, ties to even, and is multiplied by 2^-s,
//! exactly but for the flush to zero below.
//!
//! **Resolution.** Each value is rounded to a multiple of 2^(E + b - 62): values below 2^(b - 63) times the greatest
//! one vanish, and a sum of n values is off by at most n/2 such steps before its last rounding. For a million rows
//! (b = 20) the step is 2^(E - 42), 2^18 times finer than the last place of the greatest value. A group of values that
//! are all far smaller than the greatest of the buffer keeps only what lies above the step.

pub(crate) mod conformance;
pub(crate) mod host;
#[cfg(feature = "gpu")]
mod kernel;
pub(crate) mod reference;
mod scalar;

use ml_core::{DataError, Result};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::histogram::bad_index;
use crate::sort::count_u32;

/// The sum over the rows of each group: `out[indices[r]][c] += values[r][c]`, shape (`n_groups`, `cols`).
///
/// `values` has shape (`rows`, `cols`), `indices` one group a row. Groups without rows are +0.
///
/// # Errors
/// [`DataError::Shape`] for a length that does not match; [`DataError::Index`] naming the first row whose group is not
/// below `n_groups`; [`DataError::NonFinite`] naming the first value that is not finite; [`DataError::TooLarge`] unless
/// there are fewer than 2^32 rows and elements of the result and fewer than 2^31 columns; a device failure. On a device
/// the call waits for these checks, unless an earlier call has made them or made the indices. No rows give zeros, no columns or no groups an empty result.
///
/// # Bit identity
/// Clause `scatter`: exact integers with one rounding at the end, see the [module](self). A sum beyond the greatest
/// float is an infinity.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, scatter_add::scatter_add};
/// let device = Device::host();
/// let values = Buffer::upload(&device, &[1.0f32, 10.0, 2.0, 20.0, 4.0, 40.0])?;
/// let groups = Buffer::upload(&device, &[2u32, 0, 2])?;
/// let sums = scatter_add(&device, &values, &groups, 3, 2, 3)?;
/// assert_eq!(sums.read()?, [2.0, 20.0, 0.0, 0.0, 5.0, 50.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
// pathway: P87
pub fn scatter_add(
    device: &Device,
    values: &Buffer<f32>,
    indices: &Buffer<u32>,
    rows: usize,
    cols: usize,
    n_groups: usize,
) -> Result<Buffer<f32>> {
    count_u32("rows", rows)?;
    count_u32("n_groups", n_groups)?;
    let too_large = |what, a: usize, b: usize, limit: usize| DataError::TooLarge {
        what,
        elements: a as u128 * b as u128,
        limit: limit as u128,
    };
    let total = rows.checked_mul(cols).ok_or_else(|| too_large("values", rows, cols, usize::MAX))?;
    let cells = n_groups
        .checked_mul(cols)
        .filter(|cells| *cells <= u32::MAX as usize)
        .ok_or_else(|| too_large("result", n_groups, cols, u32::MAX as usize))?;
    // Kernels number the columns from any start within a row in 32 bits.
    if cols > i32::MAX as usize {
        return Err(too_large("cols", cols, 1, i32::MAX as usize).into());
    }
    values.expect("values", total, device)?;
    indices.expect("indices", rows, device)?;
    let arm = device.arm();
    let shape = Shape { rows, cols, n_groups, cells };
    on_device!(device,
    host(h) => {
        let (elements, groups) = (values.host("values")?, indices.host("indices")?);
        h.install(|| {
            if !indices.facts().are_below(n_groups) {
                if let Some(row) = host::bad_row(groups, n_groups) {
                    return Err(bad_index("indices", row, groups[row], n_groups));
                }
                indices.facts().note_below(n_groups);
            }
            let shift = host_shift(values, rows, cols)?;
            Ok(Buffer::from_host(device, host::sum(elements, groups, shape, shift, arm)))
        })
    },
    gpu(g) => {
        let (v, i) = (values.chunks("values", device)?, indices.chunks("indices", device)?);
        let known = values.facts().greatest_magnitude();
        let in_bounds = indices.facts().are_below(n_groups);
        let (found, bad_row) = kernel::check(g, known.is_none().then_some(v), (!in_bounds).then_some(i), n_groups)?;
        if let Some((row, index)) = bad_row {
            return Err(bad_index("indices", row, index, n_groups));
        }
        indices.facts().note_below(n_groups);
        let largest = known.unwrap_or(found);
        values.facts().note_greatest_magnitude(largest);
        let Some(shift) = shift(largest, rows) else {
            return Err(first_non_finite(&values.read()?, cols));
        };
        Ok(Buffer::from_chunks(device, kernel::sum(g, v, i, shape, shift, arm)?))
    })
}

/// The shift for a buffer of the host, shape (`rows`, `cols`).
pub(crate) fn host_shift(values: &Buffer<f32>, rows: usize, cols: usize) -> Result<i32> {
    let elements = values.host("values")?;
    let largest = values.facts().greatest_magnitude().unwrap_or_else(|| host::largest(elements));
    values.facts().note_greatest_magnitude(largest);
    match shift(largest, rows) {
        Some(shift) => Ok(shift),
        None => Err(first_non_finite(elements, cols)),
    }
}

/// The shapes of one call, checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) n_groups: usize,
    /// `n_groups * cols`.
    pub(crate) cells: usize,
}

/// `s` of the clause, from the bits of the greatest canonical magnitude; `None` if that is not finite.
// pathway: P50
fn shift(largest: u32, rows: usize) -> Option<i32> {
    let field = (largest >> 23) as i32;
    // A magnitude with exponent field f is below 2^(f - 126).
    let exponent = field - 126;
    let row_bits = rows.max(1).next_power_of_two().trailing_zeros() as i32;
    (field < 255).then_some(62 - exponent - row_bits)
}

fn first_non_finite(values: &[f32], cols: usize) -> ml_core::Error {
    let at = values.iter().position(|v| !ml_core::canon::is_finite(*v)).unwrap_or(0);
    DataError::NonFinite { what: "values", row: at / cols.max(1), col: at % cols.max(1), value: values[at] }.into()
}
