//! Readers of data files: CSV tables and the idx format of the MNIST family.
//!
//! **Invariant:** what a reader allocates is bounded by the length of the file, never by a number inside it.

use std::path::Path;

use crate::error::{DataError, Result};
use crate::files::read_regular;
use crate::matrix::Matrix;

/// Name given to bytes that come from no file.
const IN_MEMORY: &str = "<bytes>";

/// A table of numbers with named columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Column names, in file order or in the order asked for; none is empty and no two are equal.
    pub columns: Vec<String>,
    /// Columns of the file that were not asked for, in file order.
    pub left_out: Vec<String>,
    /// The cells, shape (rows, columns).
    pub matrix: Matrix,
}

impl Table {
    /// Position of the column `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c == name)
    }
}

/// Unsigned bytes of an idx file, row-major.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdxU8 {
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl IdxU8 {
    /// Extents, the first being the number of items; never empty.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All bytes, row-major.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// One row per item, values 0 to 255 unscaled; shape (items, product of the other extents).
    ///
    /// # Errors
    /// [`DataError::Shape`] never occurs for a parsed file; it is passed on from [`Matrix::from_vec`].
    pub fn to_matrix(&self) -> Result<Matrix> {
        let cols = self.shape.iter().skip(1).product();
        let rows = self.shape.first().copied().unwrap_or(0);
        Matrix::from_vec(rows, cols, self.data.iter().map(|&b| f32::from(b)).collect())
    }

    /// One label per item.
    ///
    /// # Errors
    /// [`DataError::Shape`] if an item is more than one byte.
    pub fn to_labels(&self) -> Result<Vec<u32>> {
        if self.shape.len() != 1 {
            return Err(DataError::shape("labels", "rank 1", format!("rank {}", self.shape.len())).into());
        }
        Ok(self.data.iter().map(|&b| u32::from(b)).collect())
    }
}

/// Reads a CSV file of numbers; see [`parse_csv`].
///
/// # Errors
/// [`DataError::Read`] with the line and the column.
pub fn read_csv(path: impl AsRef<Path>) -> Result<Table> {
    let path = path.as_ref();
    csv_table(&path.display().to_string(), &read(path)?, None)
}

/// Reads some columns of a CSV file, in the order asked for; see [`parse_csv_columns`].
///
/// # Errors
/// [`DataError::Read`] with the line and the column, [`DataError::Column`].
pub fn read_csv_columns<S: AsRef<str>>(path: impl AsRef<Path>, columns: &[S]) -> Result<Table> {
    let path = path.as_ref();
    csv_table(&path.display().to_string(), &read(path)?, Some(&names(columns)))
}

/// Reads a CSV table of numbers: a header line, then one finite number in every cell.
///
/// Cells are separated by commas, lines end in LF, CR LF or CR, spaces around a cell are dropped. Each number is rounded
/// correctly to `f32`, whatever the platform, and then made canonical by [`Matrix::from_vec`].
///
/// Refused, each by line and column: a missing or empty cell, a cell too many, an empty line, a cell that is no finite
/// `f32`, a header name that is empty, repeated or itself a number (a file without header would lose its first row).
///
/// # Errors
/// [`DataError::Read`].
///
/// # Example
/// ```
/// use ml_core::readers::parse_csv;
/// let table = parse_csv(b"height,width\n1.5,2\n3,4\n")?;
/// assert_eq!(table.columns, ["height", "width"]);
/// assert_eq!(table.matrix.row(1), [3.0, 4.0]);
/// let error = parse_csv(b"height,width\n1.5,wide\n").unwrap_err();
/// assert!(error.to_string().ends_with("line 2, column `width`: \"wide\" is not a number"));
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Bit identity
/// `str::parse::<f32>` is correctly rounded on every platform.
// pathway: P92
pub fn parse_csv(bytes: &[u8]) -> Result<Table> {
    csv_table(IN_MEMORY, bytes, None)
}

/// [`parse_csv`] for some columns, in the order asked for. Cells of other columns must be there, and may hold anything.
///
/// # Errors
/// [`DataError::Read`] as for [`parse_csv`]; [`DataError::Column`] for a column that the table lacks, or that is asked for
/// twice.
///
/// # Example
/// ```
/// use ml_core::readers::parse_csv_columns;
/// let table = parse_csv_columns(b"tailnum,hour,minute\nN14228,5,15\n", &["minute", "hour"])?;
/// assert_eq!(table.columns, ["minute", "hour"]);
/// assert_eq!(table.left_out, ["tailnum"]);
/// assert_eq!(table.matrix.row(0), [15.0, 5.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Bit identity
/// As for [`parse_csv`].
pub fn parse_csv_columns<S: AsRef<str>>(bytes: &[u8], columns: &[S]) -> Result<Table> {
    csv_table(IN_MEMORY, bytes, Some(&names(columns)))
}

fn names<S: AsRef<str>>(columns: &[S]) -> Vec<&str> {
    columns.iter().map(AsRef::as_ref).collect()
}

/// Reads an idx file of unsigned bytes; see [`parse_idx_u8`].
///
/// # Errors
/// [`DataError::Read`].
pub fn read_idx_u8(path: impl AsRef<Path>) -> Result<IdxU8> {
    let path = path.as_ref();
    idx_u8(&path.display().to_string(), &read(path)?)
}

/// Reads unsigned bytes in the idx format: two zero bytes, 0x08, the rank, the extents as big-endian `u32`, the data.
///
/// # Errors
/// [`DataError::Read`] if the header is not that, if an item has no bytes, or if the extents do not account for exactly
/// the bytes that follow.
///
/// # Example
/// ```
/// use ml_core::readers::parse_idx_u8;
/// let labels = parse_idx_u8(&[0, 0, 8, 1, 0, 0, 0, 3, 7, 0, 9])?;
/// assert_eq!(labels.to_labels()?, [7, 0, 9]);
/// # Ok::<(), ml_core::Error>(())
/// ```
// pathway: P93
pub fn parse_idx_u8(bytes: &[u8]) -> Result<IdxU8> {
    idx_u8(IN_MEMORY, bytes)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    read_regular(path).map_err(|e| DataError::Read { path: path.display().to_string(), reason: e.to_string() }.into())
}

fn idx_u8(path: &str, bytes: &[u8]) -> Result<IdxU8> {
    let bad = |reason: String| DataError::Read { path: path.to_owned(), reason };
    let Some((magic, rest)) = bytes.split_first_chunk::<4>() else {
        return Err(bad(format!("{} bytes are too few for an idx header", bytes.len())).into());
    };
    let &[0, 0, 8, rank] = magic else {
        return Err(bad(format!("starts with {magic:02x?}, not with 00 00 08 of an unsigned-byte idx file")).into());
    };
    let rank = usize::from(rank);
    if rank == 0 {
        return Err(bad("rank is 0".to_owned()).into());
    }
    let Some((extents, data)) = rest.split_at_checked(4 * rank) else {
        return Err(bad(format!("ends within the {rank} extents of its header")).into());
    };
    let mut shape = Vec::with_capacity(rank);
    let (mut item, mut overflow) = (1usize, false);
    for (axis, extent) in extents.as_chunks::<4>().0.iter().enumerate() {
        let extent = usize::try_from(u32::from_be_bytes(*extent))
            .map_err(|_| bad(format!("extent {axis} does not fit this machine's address space")))?;
        if axis > 0 {
            if extent == 0 {
                return Err(bad(format!("extent {axis} is 0")).into());
            }
            match item.checked_mul(extent) {
                Some(product) => item = product,
                None => overflow = true,
            }
        }
        shape.push(extent);
    }
    let needed = if overflow { None } else { shape.first().and_then(|n| n.checked_mul(item)) };
    if needed != Some(data.len()) {
        return Err(bad(format!("extents {shape:?} do not describe the {} bytes that follow", data.len())).into());
    }
    Ok(IdxU8 { shape, data: data.to_vec() })
}

/// The columns `wanted`, or all of them.
fn csv_table(path: &str, bytes: &[u8], wanted: Option<&[&str]>) -> Result<Table> {
    let bad = |reason: String| DataError::Read { path: path.to_owned(), reason };
    // Lengths are checked here rather than by the reader, so that the missing column can be named.
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = csv::ByteRecord::new();
    let mut columns: Vec<String> = Vec::new();
    // Positions of the cells that are kept, in the order in which they are kept.
    let mut kept: Vec<usize> = Vec::new();
    let mut data = Vec::new();
    let mut rows = 0;
    loop {
        let start = skip_line_feed(bytes, reader.position().byte());
        if matches!(bytes.get(start), Some(b'\n' | b'\r')) {
            return Err(bad(format!("line {} is empty", line_at(bytes, start))).into());
        }
        if !reader.read_byte_record(&mut record).map_err(|e| bad(e.to_string()))? {
            break;
        }
        let at = |column: &str| format!("line {}, column `{column}`", line_at(bytes, start));
        if columns.is_empty() {
            columns = header(&record).map_err(bad)?;
            kept = match wanted {
                Some(wanted) => positions(path, &columns, wanted)?,
                None => (0..columns.len()).collect(),
            };
            continue;
        }
        if let Some(missing) = columns.get(record.len()) {
            return Err(bad(format!("{}: no cell", at(missing))).into());
        }
        if record.len() > columns.len() {
            let line = line_at(bytes, start);
            return Err(bad(format!("line {line} has {} cells for {} columns", record.len(), columns.len())).into());
        }
        for &i in &kept {
            // Both exist: `kept` holds positions of columns, and the record has a cell for each.
            let (name, cell) = (&columns[i], &record[i]);
            data.push(number(cell).map_err(|reason| bad(format!("{}: {reason}", at(name))))?);
        }
        rows += 1;
    }
    if columns.is_empty() {
        return Err(bad("no header line".to_owned()).into());
    }
    let matrix = Matrix::from_vec(rows, kept.len(), data)?;
    let left_out = (0..columns.len()).filter(|i| !kept.contains(i)).map(|i| columns[i].clone()).collect();
    Ok(Table { columns: kept.iter().map(|&i| columns[i].clone()).collect(), left_out, matrix })
}

/// Where the columns `wanted` are.
fn positions(path: &str, columns: &[String], wanted: &[&str]) -> Result<Vec<usize>, DataError> {
    let column =
        |name: &str, reason: String| DataError::Column { path: path.to_owned(), name: name.to_owned(), reason };
    let mut found: Vec<usize> = Vec::with_capacity(wanted.len());
    for name in wanted {
        let absent = || column(name, format!("is not there; the columns are {}", columns.join(", ")));
        let position = columns.iter().position(|c| c == name).ok_or_else(absent)?;
        if found.contains(&position) {
            return Err(column(name, "is asked for twice".to_owned()));
        }
        found.push(position);
    }
    Ok(found)
}

/// Column names of the header record.
fn header(record: &csv::ByteRecord) -> Result<Vec<String>, String> {
    let mut columns: Vec<String> = Vec::with_capacity(record.len());
    for (i, cell) in record.iter().enumerate() {
        let name = std::str::from_utf8(cell).map_err(|_| format!("line 1, column {}: not UTF-8", i + 1))?.trim();
        if name.is_empty() {
            return Err(format!("line 1, column {}: no name", i + 1));
        }
        if name.parse::<f32>().is_ok() {
            return Err(format!(
                "line 1, column {}: {name:?} is a number; the first line must name the columns",
                i + 1
            ));
        }
        columns.push(name.to_owned());
    }
    let mut sorted: Vec<&String> = columns.iter().collect();
    sorted.sort();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("line 1: column `{}` is named twice", pair[0]));
    }
    Ok(columns)
}

/// A finite number from one cell.
fn number(cell: &[u8]) -> Result<f32, String> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Err("the cell is empty".to_owned());
    }
    let shown = || {
        let text = String::from_utf8_lossy(cell);
        if text.chars().count() > 40 {
            format!("{:?}…", text.chars().take(40).collect::<String>())
        } else {
            format!("{text:?}")
        }
    };
    let value = std::str::from_utf8(cell)
        .ok()
        .and_then(|text| text.parse::<f32>().ok())
        .ok_or_else(|| format!("{} is not a number", shown()))?;
    if !crate::canon::is_finite(value) {
        return Err(format!("{} is not a finite f32", shown()));
    }
    Ok(value)
}

/// Where the next record starts: the reader takes the CR of a CR LF as the end of a record and leaves the LF.
fn skip_line_feed(bytes: &[u8], position: u64) -> usize {
    let start = usize::try_from(position).unwrap_or(usize::MAX);
    let after_cr = start > 0 && bytes.get(start - 1) == Some(&b'\r');
    if after_cr && bytes.get(start) == Some(&b'\n') { start + 1 } else { start }
}

/// Line of a byte, the first being 1. Counted only when there is an error to report.
fn line_at(bytes: &[u8], start: usize) -> usize {
    let head = bytes.get(..start).unwrap_or(bytes);
    let ends = |i: usize, b: u8| b == b'\n' || (b == b'\r' && bytes.get(i + 1) != Some(&b'\n'));
    1 + head.iter().enumerate().filter(|&(i, &b)| ends(i, b)).count()
}

#[cfg(test)]
#[path = "readers_tests.rs"]
mod tests;
