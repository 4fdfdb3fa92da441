//! Tables in and out.

use std::path::Path;

use isobit::core::model::ModelReader;
use isobit::core::readers::{Table, read_csv, read_csv_columns};
use isobit::core::{DataError, Matrix};

use crate::error::{Error, Result};

/// Entry of a model file's parameters that names the columns of its fit, as scikit-learn's attribute does.
pub const FEATURE_NAMES: &str = "feature_names_in";

/// Largest class: above it, not every whole number is an `f32`, and two classes could be read as one.
const LARGEST_CLASS: f32 = 16_777_215.0;

/// What a fit learns from.
pub struct Training {
    /// Names of the columns of `x`.
    pub columns: Vec<String>,
    /// The rows.
    pub x: Matrix,
    /// The target column, if one was asked for.
    pub y: Option<Vec<f32>>,
}

/// The columns `columns` of a CSV file (all others than the target if none is named), and the target.
///
/// # Errors
/// [`isobit::core::DataError`] for a file that cannot be read, or that lacks a column; [`Error::Choice`] for a target that
/// is also a column to learn from.
pub fn training(path: &Path, columns: &[String], target: Option<&str>) -> Result<Training> {
    let mut wanted = columns.to_vec();
    if let Some(target) = target {
        if columns.iter().any(|c| c == target) {
            return Err(Error::Choice(format!("`{target}` cannot be the target and a column to learn from")));
        }
        wanted.push(target.to_owned());
    }
    let table = if columns.is_empty() { read_csv(path)? } else { read_csv_columns(path, &wanted)? };
    let Some(target) = target else {
        return Ok(Training { columns: table.columns, x: table.matrix, y: None });
    };
    let Some(at) = table.position(target) else {
        let reason = format!("is not there; the columns are {}", table.columns.join(", "));
        let (path, name) = (path.display().to_string(), target.to_owned());
        return Err(isobit::Error::from(DataError::Column { path, name, reason }).into());
    };
    let (n, width) = (table.matrix.rows(), table.columns.len());
    let mut x = Vec::with_capacity(n * (width - 1));
    let mut y = Vec::with_capacity(n);
    for row in table.matrix.as_slice().chunks_exact(width) {
        y.push(row[at]);
        x.extend(row.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| *v));
    }
    let columns = table.columns.into_iter().enumerate().filter(|(i, _)| *i != at).map(|(_, c)| c).collect();
    Ok(Training { columns, x: Matrix::from_vec(n, width - 1, x)?, y: Some(y) })
}

/// Classes out of a column of numbers.
///
/// # Errors
/// [`Error::Class`].
pub fn classes(path: &Path, column: &str, y: &[f32]) -> Result<Vec<u32>> {
    let class = |(i, &value): (usize, &f32)| {
        let class = value as u32;
        if (0.0..=LARGEST_CLASS).contains(&value) && class as f32 == value {
            return Ok(class);
        }
        Err(Error::Class { path: path.to_owned(), column: column.to_owned(), row: i + 1, value })
    };
    y.iter().enumerate().map(class).collect()
}

/// The columns of a CSV file that a model was fitted on.
///
/// A model that does not know its columns takes `columns`, or the whole file.
///
/// # Errors
/// [`isobit::core::DataError`] for a file that cannot be read or lacks a column; [`Error::Choice`] for columns where the
/// model knows its own.
pub fn for_model(path: &Path, model: &ModelReader, columns: &[String]) -> Result<Table> {
    let names = model.params().get(FEATURE_NAMES).and_then(|names| names.as_array());
    let names: Option<Vec<String>> =
        names.map(|names| names.iter().map(|n| n.as_str().unwrap_or_default().to_owned()).collect());
    match (names, columns) {
        (Some(names), []) => Ok(read_csv_columns(path, &names)?),
        (Some(names), _) => {
            let names = names.join(", ");
            Err(Error::Choice(format!("leave --columns out: the model was fitted on {names} and takes those")))
        }
        (None, []) => Ok(read_csv(path)?),
        (None, columns) => Ok(read_csv_columns(path, columns)?),
    }
}

/// Writes a table to a file in one step, or to the standard output.
///
/// Numbers are the shortest text that reads back as the same `f32`.
///
/// # Errors
/// [`Error::Write`].
pub fn write(out: Option<&Path>, columns: &[String], cells: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let mut text = columns.join(",");
    text.push('\n');
    for row in cells {
        text += &row.join(",");
        text.push('\n');
    }
    match out {
        Some(path) => isobit::core::files::write_atomic(path, text.as_bytes()).map_err(Error::write(path)),
        None => {
            use std::io::Write;
            std::io::stdout().lock().write_all(text.as_bytes()).map_err(Error::write(Path::new("standard output")))
        }
    }
}

/// A number as [`write()`] spells it.
pub fn cell(value: f32) -> String {
    format!("{value:?}")
}
