//! Binned matrices: each number of a column becomes the number of the interval, or of the category, that it lies in.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
pub(crate) mod kernel;
mod reference;

use std::sync::Arc;

use ml_core::{DeviceError, Error, ParamError, Result};

use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::num::key;
use crate::reduce::elements;
use crate::sort::count_u32;

/// Most bins of a column, the bin of missing values among them.
pub(crate) const MAX_BINS: usize = 1 << 16;

/// Most bins of a column where a bin takes a byte.
pub(crate) const BYTE_BINS: usize = 1 << 8;

/// How the numbers of a column become bins. Bin 0 is that of missing values (NaN), whatever the rule.
#[derive(Debug, Clone, PartialEq)]
pub enum BinRule {
    /// Bin 1 + (number of edges below x): bin b holds `edges[b - 2] < x <= edges[b - 1]`, the last bin what is above all
    /// edges. A split at bin b, bins `1..=b` to the left, is the split `x <= edges[b - 1]`.
    Number {
        /// Strictly ascending, no NaN.
        edges: Arc<[f32]>,
    },
    /// Bin 1 + `codes[x]` for a category x: a whole number from 0 on. Numbers beyond `codes` are in one bin more, the last
    /// one, which training rows should not need and splits should not name. Negative numbers, fractions and infinities are
    /// no category: they are missing.
    Category {
        /// For each category its bin less 1. Categories may share a bin.
        codes: Arc<[u32]>,
    },
}

impl BinRule {
    /// Number of bins, bin 0 included.
    pub fn n_bins(&self) -> u32 {
        match self {
            BinRule::Number { edges } => edges.len() as u32 + 2,
            BinRule::Category { codes } => {
                codes.iter().max().map_or(0, |most| most.saturating_add(1)).saturating_add(2)
            }
        }
    }

    fn check(&self) -> Result<()> {
        let refused = |name, bound: String, value: String| Error::from(ParamError::out_of_bound(name, bound, value));
        match self {
            BinRule::Number { edges } => {
                if edges.len() > MAX_BINS - 2 {
                    return Err(refused("edges", format!("<= {} numbers", MAX_BINS - 2), edges.len().to_string()));
                }
                if edges.iter().any(|edge| edge.is_nan()) {
                    return Err(refused("edges", "numbers".to_owned(), "NaN".to_owned()));
                }
                if let Some(pair) = edges.windows(2).find(|pair| key(pair[0]) >= key(pair[1])) {
                    let value = format!("{:e} before {:e}", pair[0], pair[1]);
                    return Err(refused("edges", "strictly ascending".to_owned(), value));
                }
            }
            BinRule::Category { codes } => {
                if let Some(code) = codes.iter().find(|code| **code as usize > MAX_BINS - 3) {
                    return Err(refused("codes", format!("<= {}", MAX_BINS - 3), code.to_string()));
                }
            }
        }
        Ok(())
    }
}

/// A matrix of bins on a device, made by [`bin_rows`]. Clones share the memory.
#[derive(Debug, Clone)]
pub struct Bins {
    device: Device,
    rows: usize,
    n_bins: Arc<[u32]>,
    store: Store,
}

/// Where the bins are.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// The host, row-major, where no column has more than 256 bins.
    Bytes(Arc<Vec<u8>>),
    /// The host, row-major.
    Halves(Arc<Vec<u16>>),
    /// A device: word `w * rows + row` holds the bins of `row` in the columns `w * per ..`, the first of them in the lowest
    /// bits, with [`Bins::per_word`] = per.
    #[cfg(feature = "gpu")]
    Words(Buffer<u32>),
}

impl Bins {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.n_bins.len()
    }

    /// Number of bins of column `col`, bin 0 included; 0 beyond the columns.
    pub fn n_bins(&self, col: usize) -> u32 {
        self.n_bins.get(col).copied().unwrap_or(0)
    }

    /// The greatest number of bins of any column; 0 without columns.
    pub fn max_bins(&self) -> u32 {
        self.n_bins.iter().copied().max().unwrap_or(0)
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The bins, shape (rows, cols).
    ///
    /// # Errors
    /// A device failure.
    pub fn read(&self) -> Result<Vec<u32>> {
        match &self.store {
            Store::Bytes(bins) => Ok(bins.iter().map(|bin| u32::from(*bin)).collect()),
            Store::Halves(bins) => Ok(bins.iter().map(|bin| u32::from(*bin)).collect()),
            #[cfg(feature = "gpu")]
            Store::Words(words) => {
                let (words, per) = (words.read()?, self.per_word());
                let bits = 32 / per;
                let bin = |row: usize, col: usize| {
                    let word = words[col / per * self.rows + row];
                    word >> (col % per * bits) & (u32::MAX >> (32 - bits))
                };
                Ok((0..self.rows).flat_map(|row| (0..self.cols()).map(move |col| bin(row, col))).collect())
            }
        }
    }

    /// Where the bins are.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Columns of a word on a device.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the host has no words"))]
    pub(crate) fn per_word(&self) -> usize {
        if self.max_bins() as usize <= BYTE_BINS { 4 } else { 2 }
    }

    /// It lives on `device`.
    pub(crate) fn expect(&self, what: &'static str, device: &Device) -> Result<()> {
        if self.device.same_memory(device) {
            return Ok(());
        }
        Err(self.elsewhere(what, device))
    }

    /// The error that says that it lives elsewhere.
    pub(crate) fn elsewhere(&self, what: &'static str, device: &Device) -> Error {
        let (found, expected) = (self.device.name().to_owned(), device.name().to_owned());
        DeviceError::WrongDevice { what, found, expected }.into()
    }
}

/// The bins of `x`, shape (rows, rules), by one rule a column. NaN is missing, infinities are numbers, and what `canon`
/// makes zero counts as zero.
///
/// # Errors
/// [`ParamError::OutOfBound`] for edges that are not strictly ascending or hold a NaN, and for more than 65,536 bins;
/// [`ml_core::DataError::Shape`] if `x` does not have `rows * rules` elements; [`ml_core::DataError::TooLarge`] for 2^32 rows or more; a
/// device failure. No rows and no rules give no bins.
///
/// # Bit identity
/// Clause `tree-bins`: keys of the total order are compared, integers alone.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, trees};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[0.5f32, 2.0, f32::NAN, 1.0])?;
/// let rules = [trees::BinRule::Number { edges: [0.5, 1.0].into() }];
/// let bins = trees::bin_rows(&device, &x, 4, &rules)?;
/// assert_eq!(bins.read()?, [1, 3, 0, 2]);
/// assert_eq!(bins.n_bins(0), 4);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn bin_rows(device: &Device, x: &Buffer<f32>, rows: usize, rules: &[BinRule]) -> Result<Bins> {
    count_u32("rows", rows)?;
    x.expect("x", elements("x", rows, rules.len())?, device)?;
    rules.iter().try_for_each(BinRule::check)?;
    let n_bins: Arc<[u32]> = rules.iter().map(BinRule::n_bins).collect();
    let bytes = n_bins.iter().all(|n| *n as usize <= BYTE_BINS);
    let arm = device.arm();
    let store = on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        if bytes {
            Store::Bytes(Arc::new(h.install(|| host::bin_rows(x, rules, arm))))
        } else {
            Store::Halves(Arc::new(h.install(|| host::bin_rows(x, rules, arm))))
        }
    },
    gpu(g) => {
        let per = if bytes { 4 } else { 2 };
        Store::Words(Buffer::from_chunks(device, kernel::bin_rows(g, x.chunks("x", device)?, rows, rules, per, arm)?))
    });
    Ok(Bins { device: device.clone(), rows, n_bins, store })
}
