//! Walks of rows through trees: to the leaf of each tree, or to the sum of the leaves' values.

pub(crate) mod conformance;
mod forest;
mod host;
#[cfg(feature = "gpu")]
mod kernel;
#[cfg(feature = "gpu")]
mod parts;
mod reference;

use ml_core::{DataError, DeviceError, ParamError, Result};

pub use forest::{FlatNode, FlatTree, Forest};

use super::bins::{Bins, Store};
use crate::buffer::Buffer;
use crate::device::{Device, on_device};
use crate::reduce::elements;
use crate::sabotage::Arm;
use crate::sort::count_u32;
use forest::Rows;

/// The number of the leaf that each row of `x`, shape (rows, features), comes to in each tree: shape (rows, trees).
///
/// NaN is missing, infinities are numbers, and what `canon` makes zero counts as zero.
///
/// # Errors
/// [`ParamError::OutOfBound`] for a forest of bins; [`DataError::Shape`] if `x` does not have `rows * features` elements;
/// [`DataError::TooLarge`] for 2^32 rows or more; a device failure. No rows and no trees give an empty result.
///
/// # Bit identity
/// Clause `tree-walk`: integers alone.
///
/// # Example
/// ```
/// use ml_kernels::{Buffer, Device, trees::{self, FlatNode, FlatTree, Forest}};
/// let device = Device::host();
/// let nodes = vec![
///     FlatNode::Number { feature: 0, bound: 0.5, left: 1, right: 2, missing_left: true },
///     FlatNode::Leaf { leaf: 0 },
///     FlatNode::Leaf { leaf: 1 },
/// ];
/// let tree = FlatTree { nodes, values: vec![-1.0, 2.0], outputs: 1, first_output: 0 };
/// let forest = Forest::new(&device, &[tree], 1, &[10.0])?;
/// let x = Buffer::upload(&device, &[0.5f32, 0.75, f32::NAN])?;
/// assert_eq!(trees::walk(&device, &x, 3, &forest)?.read()?, [0, 1, 0]);
/// assert_eq!(trees::walk_sum(&device, &x, 3, &forest)?.read()?, [9.0, 12.0, 9.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn walk(device: &Device, x: &Buffer<f32>, rows: usize, forest: &Forest) -> Result<Buffer<u32>> {
    check(device, forest, rows, Rows::Numbers)?;
    x.expect("x", elements("x", rows, forest.features())?, device)?;
    elements("leaves", rows, forest.trees())?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let source = host::Numbers { x: x.host("x")?, cols: forest.features(), arm };
        let out = host::walk(forest.plan(), rows, &source, &host::LeafNumbers, |work| h.install(work));
        Ok(Buffer::from_host(device, out))
    },
    gpu(g) => {
        let out = kernel::walk(g, forest, &kernel::Source::numbers(x.chunks("x", device)?, forest, arm), rows)?;
        Ok(Buffer::from_chunks(device, out))
    })
}

/// The score of each row of `x`, shape (rows, features): what the forest starts from, plus the values of the row's leaf in
/// each tree, in order. Shape (rows, outputs).
///
/// # Errors
/// As [`walk`](fn@walk).
///
/// # Bit identity
/// Clause `tree-walk`: `base ⊕ value ⊕ value …` in the order of the trees, whatever the batch a row is in.
pub fn walk_sum(device: &Device, x: &Buffer<f32>, rows: usize, forest: &Forest) -> Result<Buffer<f32>> {
    check(device, forest, rows, Rows::Numbers)?;
    x.expect("x", elements("x", rows, forest.features())?, device)?;
    elements("scores", rows, forest.outputs())?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let source = host::Numbers { x: x.host("x")?, cols: forest.features(), arm };
        let plan = forest.plan();
        let out = match arm {
            Arm::KeepSubnormals => host::walk(plan, rows, &source, &host::Sum::<true>, |work| h.install(work)),
            _ => host::walk(plan, rows, &source, &host::Sum::<false>, |work| h.install(work)),
        };
        Ok(Buffer::from_host(device, out))
    },
    gpu(g) => {
        let source = kernel::Source::numbers(x.chunks("x", device)?, forest, arm);
        Ok(Buffer::from_chunks(device, kernel::walk_sum(g, forest, &source, rows, arm)?))
    })
}

/// [`walk`](fn@walk) of the rows of a binned matrix through a forest made by [`Forest::in_bins`].
///
/// # Errors
/// [`ParamError::OutOfBound`] for a forest of raw numbers; [`DataError::Shape`] unless `bins` has its columns; a device
/// failure.
///
/// # Bit identity
/// Clause `tree-walk`: integers alone.
pub fn walk_bins(device: &Device, bins: &Bins, forest: &Forest) -> Result<Buffer<u32>> {
    check(device, forest, bins.rows(), Rows::Bins)?;
    bins.expect("bins", device)?;
    if bins.cols() != forest.features() {
        return Err(DataError::shape("bins", format!("{} columns", forest.features()), bins.cols()).into());
    }
    elements("leaves", bins.rows(), forest.trees())?;
    let cols = bins.cols();
    on_device!(device,
    host(h) => {
        let (plan, rows) = (forest.plan(), bins.rows());
        let install = |work: &mut (dyn FnMut() + Send)| h.install(work);
        let out = match bins.store() {
            Store::Bytes(b) => host::walk(plan, rows, &host::Binned { bins: b, cols }, &host::LeafNumbers, install),
            Store::Halves(b) => host::walk(plan, rows, &host::Binned { bins: b, cols }, &host::LeafNumbers, install),
            #[cfg(feature = "gpu")]
            Store::Words(_) => return Err(bins.elsewhere("bins", device)),
        };
        Ok(Buffer::from_host(device, out))
    },
    gpu(g) => {
        let out = kernel::walk(g, forest, &kernel::Source::bins(bins, device)?, bins.rows())?;
        Ok(Buffer::from_chunks(device, out))
    })
}

fn check(device: &Device, forest: &Forest, rows: usize, kind: Rows) -> Result<()> {
    count_u32("rows", rows)?;
    if forest.plan().rows != kind {
        let name = |rows| if rows == Rows::Bins { "of bins" } else { "of raw numbers" };
        return Err(ParamError::out_of_bound("forest", name(kind), name(forest.plan().rows)).into());
    }
    if !forest.device().same_memory(device) {
        let (found, expected) = (forest.device().name().to_owned(), device.name().to_owned());
        return Err(DeviceError::WrongDevice { what: "forest", found, expected }.into());
    }
    Ok(())
}
