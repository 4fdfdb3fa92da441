//! Rows that trees are grown on: missing values, columns of categories, weights, groups.

use std::ops::Range;
use std::sync::Arc;

use ml_core::canon::canon;
use ml_core::{DataError, Matrix, ParamError, Result};

/// Category numbers are below this: 2^20. A set of categories is one bit a number, in every node that asks for one.
pub const MAX_CATEGORIES: u32 = 1 << 20;

/// Rows of numbers and categories, of which some may be missing.
///
/// A missing value is a NaN; infinities are refused. Values are canonical (`docs/contract.md`, clause `values`). Clones share
/// the rows.
///
/// # Example
/// ```
/// use ml_trees::Dataset;
/// let rows = Dataset::new(2, 2, vec![0.5, 1.0, f32::NAN, 3.0])?.with_categorical(&[1])?.with_weights(vec![1.0, 0.5])?;
/// assert!(rows.row(1)[0].is_nan() && rows.is_categorical(1));
/// let refused = Dataset::new(1, 1, vec![f32::INFINITY]).unwrap_err();
/// assert!(refused.to_string().contains("row 0, column 0"));
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dataset {
    rows: usize,
    cols: usize,
    data: Arc<Vec<f32>>,
    categorical: Arc<Vec<bool>>,
    weights: Option<Arc<Vec<f32>>>,
    groups: Option<Arc<Vec<Range<usize>>>>,
}

impl Dataset {
    /// Rows of `cols` columns from row-major `data`. Every column is one of numbers until
    /// [`Dataset::with_categorical`] says otherwise.
    ///
    /// # Errors
    /// [`DataError::Shape`] unless `data` has `rows * cols` elements, [`DataError::Empty`] without rows or columns,
    /// [`DataError::NonFinite`] for an infinity, [`DataError::TooLarge`] from 2^32 rows on.
    pub fn new(rows: usize, cols: usize, mut data: Vec<f32>) -> Result<Self> {
        if rows.checked_mul(cols) != Some(data.len()) {
            return Err(DataError::shape("x", format!("{rows} x {cols} elements"), data.len()).into());
        }
        if let Some(at) = data.iter().position(|v| v.is_infinite()) {
            return Err(DataError::NonFinite { what: "x", row: at / cols, col: at % cols, value: data[at] }.into());
        }
        data.iter_mut().for_each(|v| *v = canon(*v));
        Self::from_canonical(rows, cols, Arc::new(data))
    }

    /// The rows of a matrix, none of whose values is missing.
    ///
    /// # Errors
    /// [`DataError::Empty`], [`DataError::TooLarge`].
    pub fn from_matrix(x: &Matrix) -> Result<Self> {
        Self::from_canonical(x.rows(), x.cols(), x.view().share())
    }

    fn from_canonical(rows: usize, cols: usize, data: Arc<Vec<f32>>) -> Result<Self> {
        if rows == 0 || cols == 0 {
            return Err(DataError::Empty { what: "x", rows, cols }.into());
        }
        let limit = u128::from(u32::MAX);
        for elements in [rows as u128, cols as u128] {
            if elements > limit {
                return Err(DataError::TooLarge { what: "x", elements, limit }.into());
            }
        }
        Ok(Dataset { rows, cols, data, categorical: Arc::new(vec![false; cols]), weights: None, groups: None })
    }

    /// The same rows, `columns` being those of categories: their values are whole numbers from 0 on, or missing.
    ///
    /// # Errors
    /// [`ParamError::OutOfBound`] for a column that is not there; [`DataError::Shape`] for a value that is no category
    /// number below [`MAX_CATEGORIES`].
    pub fn with_categorical(mut self, columns: &[usize]) -> Result<Self> {
        let mut categorical = vec![false; self.cols];
        for &column in columns {
            if column >= self.cols {
                let bound = format!("columns below {}", self.cols);
                return Err(ParamError::out_of_bound("categorical", bound, column).into());
            }
            categorical[column] = true;
            for row in 0..self.rows {
                let value = self.data[row * self.cols + column];
                if !value.is_nan() && category(value).is_none() {
                    let expected = format!("whole numbers from 0 to {} in column {column}", MAX_CATEGORIES - 1);
                    return Err(DataError::shape("x", expected, format!("{value} at row {row}")).into());
                }
            }
        }
        self.categorical = Arc::new(categorical);
        Ok(self)
    }

    /// The same rows, each counting as `weights` says. A weight of 0 leaves a row out of every sum.
    ///
    /// # Errors
    /// [`DataError::Shape`] unless there is one weight a row, [`DataError::NonFinite`] for a weight that is not finite,
    /// [`ParamError::OutOfBound`] for a negative one, or where all are 0.
    pub fn with_weights(mut self, mut weights: Vec<f32>) -> Result<Self> {
        if weights.len() != self.rows {
            return Err(DataError::shape("sample_weight", self.rows, weights.len()).into());
        }
        finite("sample_weight", &weights)?;
        weights.iter_mut().for_each(|w| *w = canon(*w));
        if let Some(w) = weights.iter().find(|w| **w < 0.0) {
            return Err(ParamError::out_of_bound("sample_weight", "at least 0", w).into());
        }
        if weights.iter().all(|w| *w == 0.0) {
            return Err(ParamError::out_of_bound("sample_weight", "above 0 for some row", "0 for all").into());
        }
        self.weights = Some(Arc::new(weights));
        Ok(self)
    }

    /// The same rows in groups of `sizes` neighbouring rows each: the queries of a ranking.
    ///
    /// # Errors
    /// [`DataError::Shape`] unless the sizes sum to the number of rows; [`ParamError::OutOfBound`] for an empty group.
    pub fn with_groups(mut self, sizes: &[usize]) -> Result<Self> {
        let mut groups = Vec::with_capacity(sizes.len());
        let mut start = 0usize;
        for &size in sizes {
            if size == 0 {
                return Err(ParamError::out_of_bound("group", "at least 1", size).into());
            }
            let end = start.saturating_add(size);
            groups.push(start..end);
            start = end;
        }
        if start != self.rows {
            return Err(DataError::shape("group", format!("sizes of sum {}", self.rows), start).into());
        }
        self.groups = Some(Arc::new(groups));
        Ok(self)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All values, row-major.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If `i` is not below [`Dataset::rows`].
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Whether `column` holds categories; false for a column that is not there.
    pub fn is_categorical(&self, column: usize) -> bool {
        self.categorical.get(column).copied().unwrap_or(false)
    }

    /// The weights of the rows, if they have any.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_ref().map(|w| w.as_slice())
    }

    /// The groups of the rows, if they have any.
    pub fn groups(&self) -> Option<&[Range<usize>]> {
        self.groups.as_ref().map(|g| g.as_slice())
    }
}

/// The category that a value names: a whole number below [`MAX_CATEGORIES`].
pub(crate) fn category(value: f32) -> Option<u32> {
    // The comparison refuses a NaN; the conversion is exact below 2^24.
    if !(value >= 0.0 && value < MAX_CATEGORIES as f32) {
        return None;
    }
    let number = value as u32;
    (number as f32 == value).then_some(number)
}

/// Every value finite.
pub(crate) fn finite(what: &'static str, values: &[f32]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(row) => Err(DataError::NonFinite { what, row, col: 0, value: values[row] }.into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T>(result: Result<T>) -> String {
        result.err().expect("refused").to_string()
    }

    #[test]
    fn values_are_checked_with_their_place() {
        assert!(Dataset::new(1, 2, vec![f32::NAN, -0.0]).expect("missing").row(0)[1].is_sign_positive());
        for bad in [f32::INFINITY, f32::NEG_INFINITY] {
            let text = message(Dataset::new(2, 2, vec![0.0, 1.0, f32::NAN, bad]));
            assert!(text.contains("row 1, column 1"), "{text}");
        }
        assert!(message(Dataset::new(2, 2, vec![0.0; 3])).contains("2 x 2 elements"));
        assert!(message(Dataset::new(0, 3, vec![])).contains("empty"));
        assert!(message(Dataset::new(usize::MAX, 2, vec![])).contains("elements"));
    }

    #[test]
    fn categories_are_whole_numbers() {
        let rows = |v: f32| Dataset::new(2, 1, vec![f32::NAN, v]).expect("finite");
        assert!(rows(7.0).with_categorical(&[0]).expect("whole").is_categorical(0));
        assert!(rows(MAX_CATEGORIES as f32 - 1.0).with_categorical(&[0]).is_ok());
        for bad in [-1.0, 0.5, MAX_CATEGORIES as f32, 1e30] {
            assert!(message(rows(bad).with_categorical(&[0])).contains("row 1"), "{bad}");
        }
        assert!(message(rows(1.0).with_categorical(&[1])).contains("below 1"));
    }

    #[test]
    fn weights_and_groups_are_checked() {
        let rows = || Dataset::new(3, 1, vec![1.0, 2.0, 3.0]).expect("finite");
        assert!(message(rows().with_weights(vec![1.0; 2])).contains("sample_weight"));
        assert!(message(rows().with_weights(vec![1.0, f32::NAN, 1.0])).contains("row 1"));
        assert!(message(rows().with_weights(vec![1.0, -1.0, 1.0])).contains("at least 0"));
        assert!(message(rows().with_weights(vec![0.0, 1e-45, 0.0])).contains("0 for all"));
        let grouped = rows().with_groups(&[1, 2]).expect("sizes");
        assert_eq!(grouped.groups(), Some(&[0..1, 1..3][..]));
        assert!(message(rows().with_groups(&[1, 1])).contains("sum 3"));
        assert!(message(rows().with_groups(&[3, 0])).contains("at least 1"));
        assert!(message(rows().with_groups(&[usize::MAX, 5])).contains("sum 3"));
    }
}
