//! The rows of a fit, on a device, and the search among them.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, ParamError, Result, check};
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::{Buffer, Context, Device, distances};

use super::params::{Metric, Params, SearchAlgorithm};
use crate::finite::all_finite;
use crate::record::{record_f32, record_u32};

/// Rows asked about at once; bounds device memory and sets how often progress is shown.
const BLOCK_ROWS: usize = 16_384;

/// Remembered rows, shape (n, d).
#[derive(Debug, Clone)]
pub(super) struct Search {
    pub params: Params,
    rows: Buffer<f32>,
    n: usize,
    d: usize,
}

/// Neighbours of rows, `n_neighbors` a row, nearest first.
pub(super) struct Found {
    pub distances: Vec<f32>,
    pub indices: Vec<u32>,
}

impl Search {
    /// Remembers the rows of `x` on `device`.
    pub fn fit(params: &Params, x: &Matrix, device: &Device) -> Result<Self> {
        check::not_empty("x", x.view())?;
        if u32::try_from(x.rows()).is_err() {
            let limit = u128::from(u32::MAX);
            return Err(DataError::TooLarge { what: "x", elements: x.rows() as u128, limit }.into());
        }
        params.check(x.rows())?;
        Ok(Search { params: params.clone(), rows: Buffer::from_matrix(device, x)?, n: x.rows(), d: x.cols() })
    }

    pub fn n_samples(&self) -> usize {
        self.n
    }

    pub fn n_features_in(&self) -> usize {
        self.d
    }

    /// The same rows on another device.
    // pathway: P91
    pub fn to(&self, device: &Device) -> Result<Self> {
        Ok(Search { rows: self.rows.to(device)?, ..self.clone() })
    }

    /// The nearest remembered rows of each row of `x`.
    // pathway: P75
    pub fn find(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Found> {
        check::not_empty("x", x.view())?;
        check::width("x", x.view(), self.d)?;
        let device = cx.device().clone();
        let remembered = self.rows.to(&device)?;
        let k = self.params.n_neighbors;
        let mut found = Found { distances: Vec::new(), indices: Vec::new() };
        let blocks = x.as_slice().chunks(BLOCK_ROWS.saturating_mul(self.d));
        for block in blocks {
            cx.step("knn.search", (found.indices.len() / k) as u64, Some(x.rows() as u64), None)?;
            let m = block.len() / self.d;
            let asked = Buffer::upload(&device, block)?;
            let (indices, squared) = distances::k_nearest(&device, &asked, &remembered, m, self.n, self.d, k)?;
            let distances = map(&device, &Expr::input(0).sqrt(), &[Operand::Full(&squared)], &[], m, k)?;
            found.indices.extend(indices.read()?);
            found.distances.extend(distances.read()?);
        }
        record_u32(cx, "knn.indices", &found.indices)?;
        record_f32(cx, "knn.distances", &[x.rows(), k], &found.distances)?;
        all_finite("knn.distances", &found.distances)?;
        Ok(found)
    }

    /// Starts a model file with the parameters and the rows.
    pub fn to_writer(&self, kind: &str) -> Result<ModelWriter> {
        Ok(ModelWriter::new(kind, self.params.to_json()).f32("x", &[self.n, self.d], &self.rows.read()?))
    }

    /// The parameters and the rows of a model file, on the host.
    pub fn from_reader(file: &ModelReader) -> Result<Self> {
        let n_neighbors = file.param_u64("n_neighbors")?;
        let params = Params {
            n_neighbors: usize::try_from(n_neighbors)
                .map_err(|_| ParamError::out_of_bound("n_neighbors", "a usize", n_neighbors))?,
            weights: file.param_str("weights")?.parse()?,
            algorithm: file.param_str("algorithm")?.parse::<SearchAlgorithm>()?,
            metric: file.param_str("metric")?.parse::<Metric>()?,
            p: file.param_f32("p")?,
        };
        Self::fit(&params, &file.matrix("x", ANY, ANY)?, &Device::host())
    }
}
