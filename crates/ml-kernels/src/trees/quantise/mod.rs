//! Gradients as integers: what makes every later sum exact and free of order.
//!
//! Contract clause `tree-sums`. The channels of a row (gradient and second derivative, weight and weighted target, weight
//! in each class, …) are each multiplied by a power of two of their own and rounded, so that no integer reaches 2^30 and
//! no sum over fewer than 2^32 rows reaches 2^62.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
pub(crate) mod reference;

use std::sync::Arc;

use ml_core::{DataError, DeviceError, ParamError, Result};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::reduce::elements;
use crate::sort::count_u32;

/// Most channels of a row.
pub const MAX_CHANNELS: usize = 64;

/// Bits of an integer below its sign: |q| < 2^30.
const BITS: i32 = 30;

/// Rows of integers on a device, made by [`quantise`]. Clones share the memory.
#[derive(Debug, Clone)]
pub struct Quantised {
    rows: usize,
    shifts: Arc<[i32]>,
    /// The host: shape (rows, channels). A device: shape (channels, rows).
    values: Buffer<i32>,
}

impl Quantised {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.shifts.len()
    }

    /// For each channel the power of two that its values were multiplied by: `q = value * 2^shift`.
    pub fn shifts(&self) -> &[i32] {
        &self.shifts
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        self.values.device()
    }

    /// The integers, shape (rows, channels).
    ///
    /// # Errors
    /// A device failure.
    pub fn read(&self) -> Result<Vec<i32>> {
        let values = self.values.read()?;
        if self.device().is_host() {
            return Ok(values);
        }
        let channels = self.channels();
        Ok((0..self.rows)
            .flat_map(|row| (0..channels).map(move |c| c * self.rows + row))
            .map(|at| values[at])
            .collect())
    }

    /// The integers as they lie: by row on the host, by channel elsewhere.
    pub(crate) fn values(&self) -> &Buffer<i32> {
        &self.values
    }

    /// It has `rows` rows and lives on `device`.
    pub(crate) fn expect(&self, what: &'static str, rows: usize, device: &Device) -> Result<()> {
        if self.rows != rows {
            return Err(DataError::shape(what, format!("{rows} rows"), self.rows).into());
        }
        if !self.device().same_memory(device) {
            let (found, expected) = (self.device().name().to_owned(), device.name().to_owned());
            return Err(DeviceError::WrongDevice { what, found, expected }.into());
        }
        Ok(())
    }
}

/// `values`, shape (`rows`, `channels`), as integers: each channel times the power of two that brings its greatest
/// magnitude below 2^30, rounded half to even. The shift of a channel of zeros is 0.
///
/// Small whole numbers (counts, weights of 0 and 1) stay exact.
///
/// # Errors
/// [`ParamError::OutOfBound`] unless `1 <= channels <= 64`; [`DataError::Shape`] for a length that does not match;
/// [`DataError::NonFinite`] naming the first value that is not finite; [`DataError::TooLarge`] for 2^32 rows or more; a
/// device failure. On a device the call waits for the shifts. No rows give none.
///
/// # Bit identity
/// Clause `tree-sums`.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, trees};
/// let device = Device::host();
/// let values = Buffer::upload(&device, &[0.5f32, 1.0, -0.25, 1.0])?;
/// let q = trees::quantise(&device, &values, 2, 2)?;
/// assert_eq!(q.shifts(), [30, 29]);
/// assert_eq!(q.read()?, [1 << 29, 1 << 29, -(1 << 28), 1 << 29]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn quantise(device: &Device, values: &Buffer<f32>, rows: usize, channels: usize) -> Result<Quantised> {
    quantise_sharing(device, values, rows, channels, 1)
}

/// As [`quantise`], but the first `shared` channels have one shift, that of the greatest magnitude in any of them. The
/// criteria that compare classes need it.
///
/// # Errors
/// As [`quantise`], and [`ParamError::OutOfBound`] unless `1 <= shared <= channels`.
///
/// # Bit identity
/// Clause `tree-sums`.
pub fn quantise_sharing(
    device: &Device,
    values: &Buffer<f32>,
    rows: usize,
    channels: usize,
    shared: usize,
) -> Result<Quantised> {
    if channels == 0 || channels > MAX_CHANNELS {
        return Err(ParamError::out_of_bound("channels", format!("in 1..={MAX_CHANNELS}"), channels).into());
    }
    if shared == 0 || shared > channels {
        return Err(ParamError::out_of_bound("shared", format!("in 1..={channels}"), shared).into());
    }
    count_u32("rows", rows)?;
    values.expect("values", elements("values", rows, channels)?, device)?;
    let shifts_of = |largest: &[u32]| -> Option<Arc<[i32]>> {
        let common = largest[..shared].iter().copied().max().unwrap_or(0);
        (0..channels).map(|c| shift(if c < shared { common } else { largest[c] })).collect()
    };
    on_device!(device,
    host(h) => {
        let elements = values.host("values")?;
        h.install(|| {
            let shifts = shifts_of(&host::largest(elements, channels));
            let shifts = shifts.ok_or_else(|| first_non_finite(elements, channels))?;
            let values = Buffer::from_host(device, host::quantise(elements, &shifts));
            Ok(Quantised { rows, shifts, values })
        })
    },
    gpu(g) => {
        let chunks = values.chunks("values", device)?;
        let shifts = match shifts_of(&kernel::largest(g, chunks, channels)?) {
            Some(shifts) => shifts,
            None => return Err(first_non_finite(&values.read()?, channels)),
        };
        let values = Buffer::from_chunks(device, kernel::quantise(g, chunks, rows, &shifts)?);
        Ok(Quantised { rows, shifts, values })
    })
}

/// The shift of a channel from the bits of its greatest canonical magnitude; `None` if that is not finite.
fn shift(largest: u32) -> Option<i32> {
    let field = (largest >> 23) as i32;
    match field {
        0 => Some(0),
        255 => None,
        // A magnitude with exponent field f is below 2^(f - 126).
        _ => Some(BITS - (field - 126)),
    }
}

fn first_non_finite(values: &[f32], channels: usize) -> ml_core::Error {
    let at = values.iter().position(|v| !ml_core::canon::is_finite(*v)).unwrap_or(0);
    DataError::NonFinite { what: "values", row: at / channels, col: at % channels, value: values[at] }.into()
}
