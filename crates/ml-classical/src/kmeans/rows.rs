//! The rows that are clustered, on their device.

use ml_core::{DataError, Matrix, Result};
use ml_kernels::map::{self, Expr, Operand};
use ml_kernels::{Buffer, Device, histogram, moves, scatter_add};

/// A matrix on a device: `x` has shape (n, d).
pub(super) struct Rows<'a> {
    pub device: &'a Device,
    pub x: Buffer<f32>,
    pub n: usize,
    pub d: usize,
}

impl<'a> Rows<'a> {
    /// Copies `x` to `device`.
    pub fn upload(device: &'a Device, x: &Matrix) -> Result<Self> {
        // Labels and row numbers are u32.
        if u32::try_from(x.rows()).is_err() {
            let limit = u128::from(u32::MAX);
            return Err(DataError::TooLarge { what: "x", elements: x.rows() as u128, limit }.into());
        }
        Ok(Rows { device, x: Buffer::from_matrix(device, x)?, n: x.rows(), d: x.cols() })
    }

    /// The rows `ids`, each below n: shape (ids, d).
    pub fn gather(&self, ids: &[u32]) -> Result<Buffer<f32>> {
        moves::gather_rows(self.device, &self.x, &Buffer::upload(self.device, ids)?, self.n, self.d)
    }

    /// The mean of the rows of each label below `k`: shape (k, d). A label that no row has gives NaN, 0 / 0.
    pub fn means(&self, labels: &Buffer<u32>, k: usize) -> Result<Buffer<f32>> {
        let sums = scatter_add::scatter_add(self.device, &self.x, labels, self.n, self.d, k)?;
        self.means_of(&sums, labels, k)
    }

    /// The same, where the sums of the rows of each label, shape (k, d), are known.
    pub fn means_of(&self, sums: &Buffer<f32>, labels: &Buffer<u32>, k: usize) -> Result<Buffer<f32>> {
        let counts = map::to_f32(self.device, &histogram::histogram(self.device, labels, k)?)?;
        let quotient = Expr::input(0) / Expr::input(1);
        map::map(self.device, &quotient, &[Operand::Full(sums), Operand::Col(&counts)], &[], k, self.d)
    }
}
