//! Row-major `f32` matrices, owned and borrowed.

use std::sync::Arc;

use crate::canon::{canon, is_finite};
use crate::error::{DataError, Result};

/// An owned row-major matrix of shape (rows, cols). Clones share the elements, which never change.
///
/// The contents are canonical (`docs/contract.md`, clause `values`) and finite: both are checked on entry, so that no
/// estimator has to look again.
///
/// # Example
/// ```
/// use ml_core::Matrix;
/// let x = Matrix::from_vec(2, 2, vec![1.0, 2.0, 3.0, -0.0])?;
/// assert_eq!(x.row(1), [3.0, 0.0]);
/// assert!(Matrix::from_vec(1, 1, vec![f32::NAN]).unwrap_err().to_string().contains("row 0, column 0"));
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Arc<Vec<f32>>,
}

impl Matrix {
    /// A matrix from row-major `data`.
    ///
    /// # Errors
    /// [`DataError::Shape`] if `data.len() != rows * cols`, [`DataError::NonFinite`] for a NaN or an infinity.
    // pathway: P4
    pub fn from_vec(rows: usize, cols: usize, mut data: Vec<f32>) -> Result<Self> {
        if rows.checked_mul(cols) != Some(data.len()) {
            return Err(DataError::shape("data", format!("{rows} x {cols} elements"), data.len()).into());
        }
        for (i, x) in data.iter_mut().enumerate() {
            if !is_finite(*x) {
                return Err(DataError::NonFinite { what: "data", row: i / cols, col: i % cols, value: *x }.into());
            }
            // pathway: P3
            *x = canon(*x);
        }
        Ok(Matrix { rows, cols, data: Arc::new(data) })
    }

    /// A matrix from rows of equal length.
    ///
    /// # Errors
    /// [`DataError::Shape`] if the rows differ in length, [`DataError::NonFinite`] for a NaN or an infinity.
    pub fn from_rows<R: AsRef<[f32]>>(rows: &[R]) -> Result<Self> {
        let cols = rows.first().map_or(0, |r| r.as_ref().len());
        let mut data = Vec::with_capacity(rows.len() * cols);
        for row in rows {
            let row = row.as_ref();
            if row.len() != cols {
                return Err(DataError::shape("row length", cols, row.len()).into());
            }
            data.extend_from_slice(row);
        }
        Self::from_vec(rows.len(), cols, data)
    }

    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Matrix { rows, cols, data: Arc::new(vec![0.0; rows * cols]) }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If `i` is not below [`Matrix::rows`].
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// All elements, row-major.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// The elements, row-major; without a copy unless a clone or a buffer shares them.
    pub fn into_vec(self) -> Vec<f32> {
        Arc::unwrap_or_clone(self.data)
    }

    /// A borrowed view of the whole.
    pub fn view(&self) -> MatRef<'_> {
        MatRef { rows: self.rows, cols: self.cols, data: &self.data }
    }

    /// The rows `range` as a new matrix.
    ///
    /// # Errors
    /// [`DataError::Shape`] if the range ends beyond the last row.
    pub fn slice_rows(&self, range: std::ops::Range<usize>) -> Result<Self> {
        if range.start > range.end || range.end > self.rows {
            return Err(DataError::shape("row range", format!("within 0..{}", self.rows), format!("{range:?}")).into());
        }
        let data = self.data[range.start * self.cols..range.end * self.cols].to_vec();
        Ok(Matrix { rows: range.len(), cols: self.cols, data: Arc::new(data) })
    }
}

/// A borrowed row-major matrix whose contents are finite and canonical, because only [`Matrix::view`] makes one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatRef<'a> {
    rows: usize,
    cols: usize,
    data: &'a Arc<Vec<f32>>,
}

impl<'a> MatRef<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All elements, row-major.
    pub fn as_slice(&self) -> &'a [f32] {
        self.data
    }

    /// All elements, row-major, for whoever keeps them beyond the view.
    pub fn share(&self) -> Arc<Vec<f32>> {
        Arc::clone(self.data)
    }
}

impl<'a> From<&'a Matrix> for MatRef<'a> {
    fn from(m: &'a Matrix) -> Self {
        m.view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // pathway test: P4
    #[test]
    fn what_is_not_finite_is_refused_with_its_place() {
        for bits in [0x7fc0_0000u32, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff, 0x7f80_0000, 0xff80_0000] {
            let bad = f32::from_bits(bits);
            let rows = [[1.0, 2.0, 3.0], [4.0, 5.0, bad]];
            for refused in [Matrix::from_vec(2, 3, rows.concat()), Matrix::from_rows(&rows)] {
                match refused {
                    Err(crate::Error::Data(DataError::NonFinite { row: 1, col: 2, value, .. })) => {
                        assert_eq!(value.to_bits(), bits);
                    }
                    other => panic!("{bits:08x}: {other:?}"),
                }
            }
        }
        assert!(Matrix::from_vec(1, 2, vec![f32::MAX, f32::MIN]).is_ok());
    }
}
