//! The rows of each node of a tree that grows: parted by splits, and given the values of their leaves.

pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;

use std::sync::Arc;

use ml_core::{DataError, DeviceError, ParamError, Result};

use super::bins::{Bins, Store};
use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::num::canon;
use crate::sabotage::Arm;
use crate::sort::count_u32;

/// A split of a node by the bins of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum SplitAt {
    /// Bins `1..=bin` go left.
    Number {
        /// The column.
        feature: u32,
        /// The last bin on the left.
        bin: u32,
        /// Whether bin 0, the missing values, goes left.
        missing_left: bool,
    },
    /// Bins of a set go left.
    Category {
        /// The column.
        feature: u32,
        /// Bit b of word b / 32 for bin b. Bit 0 is not looked at; bins beyond the words go right.
        set: Arc<[u32]>,
        /// Whether bin 0, the missing values, goes left.
        missing_left: bool,
    },
}

impl SplitAt {
    /// The column asked.
    pub fn feature(&self) -> u32 {
        match self {
            SplitAt::Number { feature, .. } | SplitAt::Category { feature, .. } => *feature,
        }
    }

    /// Whether missing values go left.
    pub fn missing_left(&self) -> bool {
        match self {
            SplitAt::Number { missing_left, .. } | SplitAt::Category { missing_left, .. } => *missing_left,
        }
    }
}

/// The rows of each node, node by node, each node's rows ascending.
///
/// It is changed in place by [`partition`], which is why it cannot be cloned.
#[derive(Debug)]
pub struct RowSets {
    device: Device,
    /// Rows of the matrix that the sets speak of.
    bound: usize,
    /// Rows of all nodes, node by node.
    rows: Buffer<u32>,
    /// Where each node's rows start, and where the last one's end.
    starts: Vec<usize>,
    /// Memory of the host that the next [`partition`] works in.
    spare: Vec<u32>,
}

impl RowSets {
    /// One node with all of `rows` rows.
    ///
    /// # Errors
    /// [`DataError::TooLarge`] for 2^32 rows or more; a device failure.
    pub fn all(device: &Device, rows: usize) -> Result<Self> {
        let n = count_u32("rows", rows)?;
        let all = on_device!(device,
            host(_h) => Buffer::from_host(device, (0..n).collect()),
            gpu(g) => Buffer::from_chunks(device, kernel::all(g, rows)?));
        Ok(RowSets { device: device.clone(), bound: rows, rows: all, starts: vec![0, rows], spare: Vec::new() })
    }

    /// One node with the rows `rows` of a matrix of `of` rows; the others are in no node.
    ///
    /// # Errors
    /// [`DataError::Index`] for a row that is not below `of`; [`DataError::Shape`] unless the rows ascend strictly;
    /// [`DataError::TooLarge`] for 2^32 rows or more; a device failure.
    pub fn of(device: &Device, rows: &[u32], of: usize) -> Result<Self> {
        count_u32("rows", of)?;
        if let Some(at) = rows.windows(2).position(|pair| pair[0] >= pair[1]) {
            let got = format!("{} before {}", rows[at], rows[at + 1]);
            return Err(DataError::shape("rows", "strictly ascending", got).into());
        }
        if let Some(last) = rows.last().filter(|last| **last as usize >= of) {
            let (index, bound) = (u64::from(*last), of as u64);
            return Err(DataError::Index { what: "rows", position: rows.len() - 1, index, bound }.into());
        }
        let starts = vec![0, rows.len()];
        let rows = Buffer::upload(device, rows)?;
        Ok(RowSets { device: device.clone(), bound: of, rows, starts, spare: Vec::new() })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of rows of node `node`; 0 beyond the nodes.
    pub fn len(&self, node: usize) -> usize {
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(start), Some(end)) => end - start,
            _ => 0,
        }
    }

    /// Whether no node has a row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows of the matrix that the sets speak of.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// The rows of each node.
    ///
    /// # Errors
    /// A device failure.
    pub fn read(&self) -> Result<Vec<Vec<u32>>> {
        let rows = self.rows.read()?;
        Ok(self.starts.windows(2).map(|pair| rows[pair[0]..pair[1]].to_vec()).collect())
    }

    /// Rows of all nodes, node by node, each below [`RowSets::bound`].
    #[allow(dead_code, reason = "histograms are on their way")]
    pub(crate) fn rows(&self) -> &Buffer<u32> {
        &self.rows
    }

    /// Where each node's rows start, and where the last one's end.
    #[allow(dead_code, reason = "histograms are on their way")]
    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// They live on `device` and speak of a matrix of `bound` rows.
    pub(crate) fn expect(&self, what: &'static str, bound: usize, device: &Device) -> Result<()> {
        if self.bound != bound {
            return Err(DataError::shape(what, format!("of {bound} rows"), self.bound).into());
        }
        if !self.device.same_memory(device) {
            let (found, expected) = (self.device.name().to_owned(), device.name().to_owned());
            return Err(DeviceError::WrongDevice { what, found, expected }.into());
        }
        Ok(())
    }
}

/// Parts nodes: entry k of `splits` keeps node k (`None`) or puts two nodes in its place, the rows that go left and those
/// that go right, each in the order they had.
///
/// # Errors
/// [`DataError::Shape`] unless there is one entry a node and `sets` speaks of the rows of `bins`;
/// [`ParamError::OutOfBound`] for a column that `bins` does not have; a device failure.
///
/// # Bit identity
/// Clause `tree-walk`: integers alone, and the result is unique.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, trees::{self, BinRule, RowSets, SplitAt}};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[3.0f32, 1.0, f32::NAN, 2.0])?;
/// let bins = trees::bin_rows(&device, &x, 4, &[BinRule::Number { edges: [1.5, 2.5].into() }])?;
/// let split = SplitAt::Number { feature: 0, bin: 2, missing_left: false };
/// let sets = trees::partition(&device, &bins, RowSets::all(&device, 4)?, &[Some(split)])?;
/// assert_eq!(sets.read()?, [vec![1, 3], vec![0, 2]]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn partition(device: &Device, bins: &Bins, sets: RowSets, splits: &[Option<SplitAt>]) -> Result<RowSets> {
    bins.expect("bins", device)?;
    sets.expect("sets", bins.rows(), device)?;
    if splits.len() != sets.nodes() {
        return Err(DataError::shape("splits", format!("{} entries", sets.nodes()), splits.len()).into());
    }
    if let Some(split) = splits.iter().flatten().find(|split| split.feature() as usize >= bins.cols()) {
        return Err(ParamError::out_of_bound("feature", format!("< {}", bins.cols()), split.feature()).into());
    }
    on_device!(device,
    host(h) => {
        let RowSets { device, bound, rows, starts, mut spare } = sets;
        let mut rows = rows.into_host("sets")?;
        let n_bins = |col| bins.n_bins(col);
        let install = |work: &mut (dyn FnMut() + Send)| h.install(work);
        let starts = match bins.store() {
            Store::Bytes(b) => {
                host::partition(&mut rows, &mut spare, &starts, splits, (b, bins.cols()), n_bins, install)
            }
            Store::Halves(b) => {
                host::partition(&mut rows, &mut spare, &starts, splits, (b, bins.cols()), n_bins, install)
            }
            #[cfg(feature = "gpu")]
            Store::Words(_) => return Err(bins.elsewhere("bins", &device)),
        };
        let rows = Buffer::from_host(&device, rows);
        Ok(RowSets { device, bound, rows, starts, spare })
    },
    gpu(g) => {
        let (rows, starts) = kernel::partition(g, bins, sets.rows.chunks("sets", device)?, &sets.starts, splits)?;
        Ok(RowSets { rows: Buffer::from_chunks(device, rows), starts, ..sets })
    })
}

/// `scores`, shape (rows, outputs), after output `output` of each row of node k has had `values[k]` added; rows of no node
/// stay. `scores` that nobody else shares are changed in place.
///
/// # Errors
/// [`DataError::Shape`] unless there is one value a node and `scores` has rows of `outputs` numbers for the rows that
/// `sets` speaks of; [`ParamError::OutOfBound`] unless `output < outputs`; [`DataError::NonFinite`] for a value that is not
/// finite; a device failure.
///
/// # Bit identity
/// Clause `tree-walk`: `score ⊕ canon(value)`, one addition a row.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, trees::{self, RowSets}};
/// let device = Device::host();
/// let sets = RowSets::of(&device, &[0, 2], 3)?;
/// let scores = Buffer::upload(&device, &[1.0f32, 2.0, 3.0])?;
/// let scores = trees::add_leaf_values(&device, scores, 1, 0, &sets, &[0.5])?;
/// assert_eq!(scores.read()?, [1.5, 2.0, 3.5]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn add_leaf_values(
    device: &Device,
    scores: Buffer<f32>,
    outputs: usize,
    output: usize,
    sets: &RowSets,
    values: &[f32],
) -> Result<Buffer<f32>> {
    sets.expect("sets", sets.bound, device)?;
    scores.expect("scores", crate::reduce::elements("scores", sets.bound, outputs)?, device)?;
    if output >= outputs {
        return Err(ParamError::out_of_bound("output", format!("< {outputs}"), output).into());
    }
    if values.len() != sets.nodes() {
        return Err(DataError::shape("values", format!("{} values", sets.nodes()), values.len()).into());
    }
    if let Some(row) = values.iter().position(|value| !value.is_finite()) {
        return Err(DataError::NonFinite { what: "values", row, col: 0, value: values[row] }.into());
    }
    let values: Vec<f32> = values.iter().map(|value| canon(*value)).collect();
    let keep = device.arm() == Arm::KeepSubnormals;
    on_device!(device,
    host(h) => {
        let mut scores = scores.into_host("scores")?;
        let rows = sets.rows.host("sets")?;
        h.install(|| host::add_leaf_values(&mut scores, (outputs, output), rows, &sets.starts, &values, keep));
        Ok(Buffer::from_host(device, scores))
    },
    gpu(g) => {
        let (scores, rows) = (scores.chunks("scores", device)?, sets.rows.chunks("sets", device)?);
        let sum = kernel::add_leaf_values(g, scores, (outputs, output), rows, &sets.starts, &values, keep)?;
        Ok(Buffer::from_chunks(device, sum))
    })
}
