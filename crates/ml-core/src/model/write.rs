//! Writing of model files.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::Dtype;
use serde_json::Value;

use super::{DIGEST_OF, FORMAT, IN_MEMORY, Info, array_digest, file_order, first_foreign, header, metadata_digest};
use crate::error::{ModelError, Result};
use crate::matrix::Matrix;

/// Collects the parts of a model, then saves them as one file.
///
/// What is wrong with a part is reported by [`ModelWriter::save`], so that the calls chain.
///
/// # Example
/// ```
/// use ml_core::model::{ANY, ModelReader, ModelWriter};
/// use serde_json::json;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("centroids.safetensors");
/// ModelWriter::new("KMeans", json!({"n_clusters": 2}))
///     .f32("centroids", &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
///     .save(&path)?;
/// let model = ModelReader::open(&path, "KMeans")?;
/// assert_eq!(model.param_u64("n_clusters")?, 2);
/// assert_eq!(model.f32("centroids", &[2, ANY])?.shape, [2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Bit identity
/// Equal parts give equal files, whatever the order in which they were added and whatever the platform.
#[derive(Debug, Clone)]
pub struct ModelWriter {
    kind: String,
    params: Value,
    arrays: BTreeMap<String, (Info, Vec<u8>)>,
    /// The first thing wrong with the parts.
    fault: Option<Fault>,
}

/// What is wrong with a part, before the file has a name.
#[derive(Debug, Clone)]
enum Fault {
    Refused(String),
    Value { array: String, index: usize, value: f32 },
}

impl ModelWriter {
    /// A model without arrays. `kind` is the name of the estimator, `params` a JSON object.
    ///
    /// A number in `params` keeps its value; beware that `serde_json` turns a NaN or an infinity into null.
    pub fn new(kind: impl Into<String>, params: Value) -> Self {
        ModelWriter { kind: kind.into(), params, arrays: BTreeMap::new(), fault: None }
    }

    /// Sets one parameter, such as the names of the columns that the model was fitted on.
    #[must_use]
    pub fn param(mut self, name: &str, value: Value) -> Self {
        match &mut self.params {
            Value::Object(params) => {
                params.insert(name.to_owned(), value);
            }
            // Reported when the file is written, as for any other parameters that are no object.
            _ => {
                self.fault.get_or_insert(Fault::Refused("the parameters are no JSON object".to_owned()));
            }
        }
        self
    }

    /// Adds an `f32` array, row-major; only finite, canonical values are accepted (`docs/contract.md`, clause `values`).
    #[must_use]
    pub fn f32(mut self, name: &str, shape: &[usize], data: &[f32]) -> Self {
        if let Some((index, value)) = first_foreign(data.iter().copied()) {
            self.fault.get_or_insert(Fault::Value { array: name.to_owned(), index, value });
        }
        self.add(name, Dtype::F32, shape, data, |x| x.to_le_bytes())
    }

    /// Adds a matrix as an `f32` array of shape (rows, cols).
    #[must_use]
    pub fn matrix(self, name: &str, matrix: &Matrix) -> Self {
        self.f32(name, &[matrix.rows(), matrix.cols()], matrix.as_slice())
    }

    /// Adds a `u32` array, row-major.
    #[must_use]
    pub fn u32(self, name: &str, shape: &[usize], data: &[u32]) -> Self {
        self.add(name, Dtype::U32, shape, data, |x| x.to_le_bytes())
    }

    /// Adds an `i32` array, row-major.
    #[must_use]
    pub fn i32(self, name: &str, shape: &[usize], data: &[i32]) -> Self {
        self.add(name, Dtype::I32, shape, data, |x| x.to_le_bytes())
    }

    /// Adds a `u64` array, row-major.
    #[must_use]
    pub fn u64(self, name: &str, shape: &[usize], data: &[u64]) -> Self {
        self.add(name, Dtype::U64, shape, data, |x| x.to_le_bytes())
    }

    fn add<T: Copy, const N: usize>(
        mut self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
        data: &[T],
        le_bytes: impl Fn(T) -> [u8; N],
    ) -> Self {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
        let count = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        let fault = if name.is_empty() || name == "__metadata__" || !name.bytes().all(plain) {
            Some(format!("array name {name:?} is not made of letters, digits, `_`, `.` and `-`"))
        } else if self.arrays.contains_key(name) {
            Some(format!("array `{name}` was added twice"))
        } else if count != Some(data.len()) {
            Some(format!("array `{name}` has shape {shape:?} and {} elements", data.len()))
        } else {
            shape.iter().find(|&&e| u32::try_from(e).is_err()).map(|e| format!("array `{name}` has the extent {e}"))
        };
        if let Some(reason) = fault {
            self.fault.get_or_insert(Fault::Refused(reason));
            return self;
        }
        let mut bytes = Vec::with_capacity(std::mem::size_of_val(data));
        for &x in data {
            bytes.extend_from_slice(&le_bytes(x));
        }
        self.arrays.insert(name.to_owned(), (Info { dtype, shape: shape.to_vec() }, bytes));
        self
    }

    /// The bytes that [`ModelWriter::save`] writes.
    ///
    /// # Errors
    /// Those of [`ModelWriter::save`], but for the file system's.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode(IN_MEMORY)
    }

    /// Writes the file, replacing an older one in one step: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// [`ModelError::Refused`] for parameters that are no JSON object, an empty kind, an array named twice or by unusual
    /// characters, or one whose shape does not fit its length; [`ModelError::Value`] for a float that is not finite or
    /// not canonical; [`ModelError::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let bytes = self.encode(&shown)?;
        crate::files::write_atomic(path, &bytes).map_err(|source| ModelError::Io { path: shown, source }.into())
    }

    // pathway: P94
    fn encode(&self, path: &str) -> Result<Vec<u8>> {
        let refused = |reason: String| ModelError::Refused { path: path.to_owned(), reason };
        match &self.fault {
            Some(Fault::Refused(reason)) => return Err(refused(reason.clone()).into()),
            Some(Fault::Value { array, index, value }) => {
                let (array, index, value) = (array.clone(), *index, *value);
                return Err(ModelError::Value { path: path.to_owned(), array, index, value }.into());
            }
            None => {}
        }
        if self.kind.is_empty() {
            return Err(refused("the estimator has no name".to_owned()).into());
        }
        if !self.params.is_object() {
            return Err(refused("the parameters are no JSON object".to_owned()).into());
        }
        let params = canonical_json(&self.params);
        // Also the check of nesting: the reader stops at a depth that the writer does not know.
        if serde_json::from_str::<Value>(&params).ok().as_ref() != Some(&self.params) {
            return Err(refused("the parameters do not survive being written as JSON".to_owned()).into());
        }
        let mut metadata = BTreeMap::from([
            ("format".to_owned(), FORMAT.to_owned()),
            ("kind".to_owned(), self.kind.clone()),
            ("params".to_owned(), params),
            ("profile".to_owned(), crate::PROFILE.to_owned()),
        ]);
        let mut infos = BTreeMap::new();
        for (name, (info, bytes)) in &self.arrays {
            metadata.insert(format!("{DIGEST_OF}{name}"), array_digest(info, bytes));
            infos.insert(name.clone(), info.clone());
        }
        metadata.insert("blake3".to_owned(), metadata_digest(&metadata));
        let mut file = header(&metadata, &infos).ok_or_else(|| refused("the arrays are too large".to_owned()))?;
        for (name, _) in file_order(&infos) {
            if let Some((_, bytes)) = self.arrays.get(name) {
                file.extend_from_slice(bytes);
            }
        }
        Ok(file)
    }
}

/// JSON without spaces and with sorted keys, whether or not `serde_json` was built to keep the order of insertion.
fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            let entries: Vec<String> =
                sorted.iter().map(|(k, v)| format!("{}:{}", Value::from(k.as_str()), canonical_json(v))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical_json).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}
