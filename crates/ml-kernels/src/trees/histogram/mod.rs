//! Exact sums of integer gradients: by node, column and bin, and by node alone.
//!
//! Contract clause `tree-sums`. A cell is the sum of a channel over the rows of a node that lie in a bin of a column, a
//! 64-bit integer. Sums of integers have no order, so rows may be added by any thread in any order, and the cells of a
//! node are those of its parent less those of its sibling.

mod children;
pub(crate) mod conformance;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
pub(crate) mod reference;

use std::ops::Range;
use std::sync::Arc;

use ml_core::{DataError, DeviceError, Result};

use super::bins::Bins;
use super::partition::RowSets;
use super::quantise::Quantised;
#[cfg(feature = "gpu")]
use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// The sums of nodes by column, bin and channel, on a device. Clones share the memory.
#[derive(Debug, Clone)]
pub struct Histograms {
    device: Device,
    nodes: usize,
    channels: usize,
    /// Where the bins of each column start, and where those of the last one end.
    starts: Arc<[usize]>,
    store: Store,
}

/// Where the sums are: shape (nodes, bins of all columns, channels).
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// The host.
    Host(Arc<Vec<i64>>),
    /// A device: the low words and the high words of the sums, two's complement.
    #[cfg(feature = "gpu")]
    Limbs(Buffer<u32>, Buffer<u32>),
}

impl Histograms {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.starts.len() - 1
    }

    /// The bins of column `col` among those of all columns; empty beyond the columns.
    pub fn bins_of(&self, col: usize) -> Range<usize> {
        match (self.starts.get(col), self.starts.get(col + 1)) {
            (Some(start), Some(end)) => *start..*end,
            _ => 0..0,
        }
    }

    /// Sums of a node: bins of all columns times channels.
    pub fn cells(&self) -> usize {
        self.starts[self.cols()] * self.channels
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The sums, shape (nodes, bins of all columns, channels); [`Histograms::bins_of`] tells which bins are a column's.
    ///
    /// # Errors
    /// A device failure.
    pub fn read(&self) -> Result<Vec<i64>> {
        match &self.store {
            Store::Host(sums) => Ok(sums.to_vec()),
            #[cfg(feature = "gpu")]
            Store::Limbs(lo, hi) => {
                let (lo, hi) = (lo.read()?, hi.read()?);
                let join = |(lo, hi): (u32, u32)| crate::num::Limbs { hi, lo }.to_i64();
                Ok(lo.into_iter().zip(hi).map(join).collect())
            }
        }
    }

    /// The histograms of siblings: those of `nodes` (positions here) less those of `child`, one after another.
    ///
    /// # Errors
    /// [`DataError::Index`] for a position beyond the nodes; [`DataError::Shape`] unless `child` has as many nodes as are
    /// named and the same columns, bins and channels; a device failure.
    ///
    /// # Bit identity
    /// Clause `tree-sums`: integers, so that the result is what the rows of the siblings would have given.
    pub fn subtract(&self, nodes: &[u32], child: &Histograms) -> Result<Histograms> {
        if child.nodes != nodes.len() || child.channels != self.channels || child.starts != self.starts {
            let expected = format!("{} nodes of {} cells", nodes.len(), self.cells());
            let got = format!("{} of {}", child.nodes, child.cells());
            return Err(DataError::shape("child", expected, got).into());
        }
        if !child.device.same_memory(&self.device) {
            let (found, expected) = (child.device.name().to_owned(), self.device.name().to_owned());
            return Err(DeviceError::WrongDevice { what: "child", found, expected }.into());
        }
        self.pick(nodes, Some(child))
    }

    /// The histograms of `nodes` (positions here), in that order.
    ///
    /// # Errors
    /// [`DataError::Index`] for a position beyond the nodes; a device failure.
    ///
    /// # Bit identity
    /// Moves integers.
    pub fn select(&self, nodes: &[u32]) -> Result<Histograms> {
        self.pick(nodes, None)
    }

    /// `sums`, shape (nodes, bins of all columns, channels), on `device`, for columns of `n_bins` bins.
    pub(crate) fn upload(device: &Device, n_bins: &[u32], channels: usize, sums: Vec<i64>) -> Result<Self> {
        let mut starts = vec![0];
        n_bins.iter().for_each(|n| starts.push(starts[starts.len() - 1] + *n as usize));
        let nodes = sums.len() / (starts[n_bins.len()] * channels).max(1);
        let store = on_device!(device,
        host(_h) => Store::Host(Arc::new(sums)),
        gpu(g) => {
            let (lo, hi) = kernel::upload(g, &sums)?;
            Store::Limbs(Buffer::from_chunks(device, lo), Buffer::from_chunks(device, hi))
        });
        Ok(Histograms { device: device.clone(), nodes, channels, starts: starts.into(), store })
    }

    fn pick(&self, nodes: &[u32], less: Option<&Histograms>) -> Result<Histograms> {
        expect_nodes(nodes, self.nodes)?;
        let store = on_device!(&self.device,
        host(h) => {
            let sums = self.host()?;
            let less = less.map(Histograms::host).transpose()?;
            Store::Host(Arc::new(h.install(|| host::pick(sums, self.cells(), nodes, less))))
        },
        gpu(g) => {
            let (lo, hi) = kernel::pick(g, self, nodes, less)?;
            Store::Limbs(Buffer::from_chunks(&self.device, lo), Buffer::from_chunks(&self.device, hi))
        });
        Ok(Histograms { nodes: nodes.len(), store, ..self.clone() })
    }

    /// The sums of the host.
    pub(crate) fn host(&self) -> Result<&[i64]> {
        match &self.store {
            Store::Host(sums) => Ok(sums),
            #[cfg(feature = "gpu")]
            Store::Limbs(..) => {
                let (found, expected) = (self.device.name().to_owned(), Device::host().name().to_owned());
                Err(DeviceError::WrongDevice { what: "histograms", found, expected }.into())
            }
        }
    }

    /// The low and the high words of a device.
    #[cfg(feature = "gpu")]
    pub(crate) fn limbs(&self) -> Result<(&crate::buffer::Chunks<u32>, &crate::buffer::Chunks<u32>)> {
        match &self.store {
            Store::Limbs(lo, hi) => {
                Ok((lo.chunks("histograms", &self.device)?, hi.chunks("histograms", &self.device)?))
            }
            Store::Host(_) => {
                let (found, expected) = (Device::host().name().to_owned(), self.device.name().to_owned());
                Err(DeviceError::WrongDevice { what: "histograms", found, expected }.into())
            }
        }
    }
}

/// The sums of the nodes `nodes` of `sets` by column, bin and channel.
///
/// # Errors
/// [`DataError::Shape`] unless `bins`, `values` and `sets` speak of the same rows; [`DataError::Index`] for a node that
/// `sets` does not have; [`DataError::TooLarge`] for more sums than memory can be addressed for; a device failure. No
/// nodes and no columns give no sums.
///
/// # Bit identity
/// Clause `tree-sums`: exact integers, in any order.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, trees::{self, BinRule, RowSets}};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[0.0f32, 1.0, 0.0, f32::NAN])?;
/// let bins = trees::bin_rows(&device, &x, 4, &[BinRule::Number { edges: [0.5].into() }])?;
/// let ones = Buffer::upload(&device, &[1.0f32; 4])?;
/// let values = trees::quantise(&device, &ones, 4, 1)?;
/// let sums = trees::histograms(&device, &bins, &values, &RowSets::all(&device, 4)?, &[0])?;
/// let counts: Vec<i64> = sums.read()?.iter().map(|sum| sum >> values.shifts()[0]).collect();
/// assert_eq!(counts, [1, 2, 1]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn histograms(
    device: &Device,
    bins: &Bins,
    values: &Quantised,
    sets: &RowSets,
    nodes: &[u32],
) -> Result<Histograms> {
    bins.expect("bins", device)?;
    values.expect("values", bins.rows(), device)?;
    sets.expect("sets", bins.rows(), device)?;
    expect_nodes(nodes, sets.nodes())?;
    let mut starts = vec![0];
    for col in 0..bins.cols() {
        starts.push(starts[col] + bins.n_bins(col) as usize);
    }
    let (starts, channels): (Arc<[usize]>, usize) = (starts.into(), values.channels());
    let shape = Shape { cols: bins.cols(), channels, starts: &starts };
    let total = (shape.cells() as u128) * nodes.len() as u128;
    if total > (isize::MAX as u128) / 8 {
        let limit = (isize::MAX as u128) / 8;
        return Err(DataError::TooLarge { what: "histograms", elements: total, limit }.into());
    }
    let store = on_device!(device,
    host(h) => {
        let (rows, values) = (sets.rows().host("sets")?, values.values().host("values")?);
        let of = |node: &u32| &rows[sets.starts()[*node as usize]..sets.starts()[*node as usize + 1]];
        let nodes: Vec<&[u32]> = nodes.iter().map(of).collect();
        Store::Host(Arc::new(h.install(|| host::histograms(bins.store(), values, &nodes, shape, device.arm()))?))
    },
    gpu(g) => {
        let (lo, hi) = kernel::histograms(g, device, bins, values, sets, nodes, shape)?;
        Store::Limbs(Buffer::from_chunks(device, lo), Buffer::from_chunks(device, hi))
    });
    Ok(Histograms { device: device.clone(), nodes: nodes.len(), channels, starts, store })
}

/// The sums of every node of `sets`, shape (nodes, channels), on the host.
///
/// # Errors
/// [`DataError::Shape`] unless `values` and `sets` speak of the same rows; a device failure.
///
/// # Bit identity
/// Clause `tree-sums`: exact integers, in any order.
pub fn node_sums(device: &Device, values: &Quantised, sets: &RowSets) -> Result<Vec<i64>> {
    values.expect("values", sets.bound(), device)?;
    sets.expect("sets", sets.bound(), device)?;
    on_device!(device,
    host(h) => {
        let (rows, q) = (sets.rows().host("sets")?, values.values().host("values")?);
        Ok(h.install(|| host::node_sums(q, rows, sets.starts(), values.channels())))
    },
    gpu(g) => kernel::node_sums(g, device, values, sets))
}

/// The shapes of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) cols: usize,
    pub(crate) channels: usize,
    /// Where the bins of each column start, and where those of the last one end.
    pub(crate) starts: &'a [usize],
}

impl Shape<'_> {
    /// Sums of a node.
    pub(crate) fn cells(&self) -> usize {
        self.starts[self.cols] * self.channels
    }
}

fn expect_nodes(nodes: &[u32], bound: usize) -> Result<()> {
    match nodes.iter().position(|node| *node as usize >= bound) {
        Some(at) => {
            let index = u64::from(nodes[at]);
            Err(DataError::Index { what: "nodes", position: at, index, bound: bound as u64 }.into())
        }
        None => Ok(()),
    }
}
