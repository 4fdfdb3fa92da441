//! Reading of model files. Everything is verified when a file is opened.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use super::{
    ANY, Array, DIGEST_OF, ENTRIES, FORMAT, IN_MEMORY, Info, array_digest, dtype_name, file_order, first_foreign,
    header, metadata_digest,
};
use crate::error::{ModelError, Result};
use crate::matrix::Matrix;

/// What a model file says about one array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayInfo {
    /// Its name.
    pub name: String,
    /// Its dtype, as safetensors spells it: `F32`, `U32`, `I32` or `U64`.
    pub dtype: &'static str,
    /// Its extents; empty for a scalar.
    pub shape: Vec<usize>,
    /// Its verified digest, 64 hexadecimal digits over dtype, shape and little-endian bytes.
    pub digest: String,
}

/// A model file that was opened and verified.
///
/// # Example: a changed byte
/// ```
/// use ml_core::model::{ModelReader, ModelWriter};
/// use serde_json::json;
/// let mut bytes = ModelWriter::new("Ridge", json!({})).f32("coef", &[2], &[1.5, -2.0]).to_bytes()?;
/// *bytes.last_mut().unwrap() ^= 1;
/// let error = ModelReader::from_bytes(bytes, "Ridge").unwrap_err();
/// assert_eq!(error.to_string(), "<bytes>: array `coef` does not match its digest (file damaged or changed)");
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ModelReader {
    path: String,
    kind: String,
    params: Value,
    bytes: Vec<u8>,
    arrays: BTreeMap<String, (Info, Range<usize>)>,
}

impl ModelReader {
    /// Opens the model file of an estimator of this `kind` and verifies all of it.
    ///
    /// # Errors
    /// [`ModelError::Io`]; [`ModelError::Malformed`] for a file that is cut short, damaged or none of ours;
    /// [`ModelError::Version`] for another format version or numeric profile; [`ModelError::Kind`];
    /// [`ModelError::Digest`]; [`ModelError::Value`] for a float that is not finite or not canonical.
    pub fn open(path: impl AsRef<Path>, kind: &str) -> Result<Self> {
        Self::read(path.as_ref(), Some(kind))
    }

    /// Opens the model file of any estimator, to be told apart by [`ModelReader::kind`], and verifies all of it.
    ///
    /// # Errors
    /// Those of [`ModelReader::open`], but for [`ModelError::Kind`].
    pub fn open_any(path: impl AsRef<Path>) -> Result<Self> {
        Self::read(path.as_ref(), None)
    }

    fn read(path: &Path, kind: Option<&str>) -> Result<Self> {
        let shown = path.display().to_string();
        match crate::files::read_regular(path) {
            Ok(bytes) => Self::verify(shown, bytes, kind),
            Err(source) => Err(ModelError::Io { path: shown, source }.into()),
        }
    }

    /// The same from bytes in memory.
    ///
    /// # Errors
    /// Those of [`ModelReader::open`], but for the file system's.
    pub fn from_bytes(bytes: Vec<u8>, kind: &str) -> Result<Self> {
        Self::verify(IN_MEMORY.to_owned(), bytes, Some(kind))
    }

    // pathway: P95
    fn verify(path: String, bytes: Vec<u8>, kind: Option<&str>) -> Result<Self> {
        let malformed = |reason: String| ModelError::Malformed { path: path.clone(), reason };
        let (_, found) = SafeTensors::read_metadata(&bytes).map_err(|e| malformed(e.to_string()))?;
        let metadata: BTreeMap<String, String> =
            found.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        let entry =
            |key: &str| metadata.get(key).cloned().ok_or_else(|| malformed(format!("no metadata entry `{key}`")));
        // The format comes first: another version may seal its metadata in another way.
        let version = |what: &'static str, found: String, expected: &str| {
            if found == expected {
                return Ok(());
            }
            Err(ModelError::Version { path: path.clone(), what, found, expected: expected.to_owned() })
        };
        version("format", entry("format")?, FORMAT)?;
        if entry("blake3")? != metadata_digest(&metadata) {
            return Err(malformed("the metadata does not match its digest (file damaged or changed)".to_owned()).into());
        }
        version("numeric profile", entry("profile")?, crate::PROFILE)?;
        let holds = entry("kind")?;
        if let Some(kind) = kind
            && holds != kind
        {
            return Err(ModelError::Kind { path, found: holds, expected: kind.to_owned() }.into());
        }
        let params: Value =
            serde_json::from_str(&entry("params")?).map_err(|e| malformed(format!("parameters: {e}")))?;
        if !params.is_object() {
            return Err(malformed("the parameters are no JSON object".to_owned()).into());
        }

        let mut infos = BTreeMap::new();
        for name in found.offset_keys() {
            let Some(info) = found.info(&name) else {
                return Err(malformed(format!("array `{name}` is listed and absent")).into());
            };
            if dtype_name(info.dtype).is_none() {
                return Err(malformed(format!("array `{name}` has the dtype {:?}", info.dtype)).into());
            }
            if info.shape.iter().any(|&extent| u32::try_from(extent).is_err()) {
                return Err(malformed(format!("array `{name}` has the shape {:?}", info.shape)).into());
            }
            infos.insert(name, Info { dtype: info.dtype, shape: info.shape.clone() });
        }
        // One spelling per model: this is what catches spaces, escapes, repeated keys and reordered arrays.
        let expected = header(&metadata, &infos).ok_or_else(|| malformed("array sizes overflow".to_owned()))?;
        if !bytes.starts_with(&expected) {
            return Err(malformed("the header is not written as this format writes it".to_owned()).into());
        }
        if metadata.len() != ENTRIES.len() + infos.len() {
            return Err(malformed("metadata entries and arrays do not match".to_owned()).into());
        }
        let mut arrays = BTreeMap::new();
        let mut start = expected.len();
        for (name, info) in file_order(&infos) {
            let end = info.len().and_then(|len| start.checked_add(len));
            let Some((range, data)) = end.and_then(|end| Some((start..end, bytes.get(start..end)?))) else {
                return Err(malformed(format!("array `{name}` ends beyond the file")).into());
            };
            if entry(&format!("{DIGEST_OF}{name}"))? != array_digest(info, data) {
                return Err(ModelError::Digest { path, array: name.to_owned() }.into());
            }
            let foreign = if info.dtype == Dtype::F32 { first_foreign(floats(data)) } else { None };
            if let Some((index, value)) = foreign {
                return Err(ModelError::Value { path, array: name.to_owned(), index, value }.into());
            }
            start = range.end;
            arrays.insert(name.to_owned(), (info.clone(), range));
        }
        if start != bytes.len() {
            return Err(malformed(format!("{} bytes follow the last array", bytes.len() - start)).into());
        }
        Ok(ModelReader { path, kind: holds, params, bytes, arrays })
    }

    /// The file, as the caller named it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The estimator whose model this is.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The whole file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the file says about its arrays, sorted by name; all of it was verified.
    pub fn arrays(&self) -> impl Iterator<Item = ArrayInfo> {
        self.arrays.iter().map(|(name, (info, range))| ArrayInfo {
            name: name.clone(),
            dtype: dtype_name(info.dtype).unwrap_or_default(),
            shape: info.shape.clone(),
            digest: array_digest(info, self.bytes.get(range.clone()).unwrap_or_default()),
        })
    }

    /// All parameters, a JSON object.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// A parameter that is a whole number.
    ///
    /// # Errors
    /// [`ModelError::Param`] if it is absent or of another type.
    pub fn param_u64(&self, name: &str) -> Result<u64> {
        self.param(name, "a whole number", Value::as_u64)
    }

    /// A parameter that is a truth value.
    ///
    /// # Errors
    /// [`ModelError::Param`] if it is absent or of another type.
    pub fn param_bool(&self, name: &str) -> Result<bool> {
        self.param(name, "true or false", Value::as_bool)
    }

    /// A parameter that is a text.
    ///
    /// # Errors
    /// [`ModelError::Param`] if it is absent or of another type.
    pub fn param_str(&self, name: &str) -> Result<&str> {
        self.param(name, "a text", Value::as_str)
    }

    /// A parameter that is exactly an `f32`, finite and canonical.
    ///
    /// # Errors
    /// [`ModelError::Param`] if it is absent, of another type, or no such number.
    pub fn param_f32(&self, name: &str) -> Result<f32> {
        self.param(name, "a finite, canonical f32", |value| {
            let wide = value.as_f64()?;
            let narrow = wide as f32;
            let exact = f64::from(narrow).to_bits() == wide.to_bits();
            (exact && first_foreign(std::iter::once(narrow)).is_none()).then_some(narrow)
        })
    }

    fn param<'a, T>(&'a self, name: &str, expected: &'static str, get: impl Fn(&'a Value) -> Option<T>) -> Result<T> {
        let value = self.params.get(name);
        value.and_then(get).ok_or_else(|| {
            let found = value.map_or_else(|| "absent".to_owned(), Value::to_string);
            ModelError::Param { path: self.path.clone(), name: name.to_owned(), expected, found }.into()
        })
    }

    /// Names of the arrays, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.keys().map(String::as_str)
    }

    /// An `f32` array of this shape, where [`ANY`] stands for any extent.
    ///
    /// # Errors
    /// [`ModelError::Array`] if it is absent, of another dtype or of another shape.
    pub fn f32(&self, name: &str, shape: &[usize]) -> Result<Array<f32>> {
        self.array(name, Dtype::F32, shape, f32::from_le_bytes)
    }

    /// An `f32` array of rank 2 as a matrix, where [`ANY`] stands for any number of rows or columns.
    ///
    /// # Errors
    /// [`ModelError::Array`] if it is absent, of another dtype or of another shape.
    pub fn matrix(&self, name: &str, rows: usize, cols: usize) -> Result<Matrix> {
        let array = self.f32(name, &[rows, cols])?;
        match array.shape[..] {
            [rows, cols] => Matrix::from_vec(rows, cols, array.data),
            _ => Err(self.mismatch(name, Dtype::F32, &[rows, cols])),
        }
    }

    /// A `u32` array of this shape, where [`ANY`] stands for any extent.
    ///
    /// # Errors
    /// [`ModelError::Array`] if it is absent, of another dtype or of another shape.
    pub fn u32(&self, name: &str, shape: &[usize]) -> Result<Array<u32>> {
        self.array(name, Dtype::U32, shape, u32::from_le_bytes)
    }

    /// An `i32` array of this shape, where [`ANY`] stands for any extent.
    ///
    /// # Errors
    /// [`ModelError::Array`] if it is absent, of another dtype or of another shape.
    pub fn i32(&self, name: &str, shape: &[usize]) -> Result<Array<i32>> {
        self.array(name, Dtype::I32, shape, i32::from_le_bytes)
    }

    /// A `u64` array of this shape, where [`ANY`] stands for any extent.
    ///
    /// # Errors
    /// [`ModelError::Array`] if it is absent, of another dtype or of another shape.
    pub fn u64(&self, name: &str, shape: &[usize]) -> Result<Array<u64>> {
        self.array(name, Dtype::U64, shape, u64::from_le_bytes)
    }

    fn array<T, const N: usize>(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
        from_le_bytes: impl Fn([u8; N]) -> T,
    ) -> Result<Array<T>> {
        let fits = |info: &Info| {
            info.dtype == dtype
                && info.shape.len() == shape.len()
                && info.shape.iter().zip(shape).all(|(have, want)| *want == ANY || have == want)
        };
        match self.arrays.get(name) {
            Some((info, range)) if fits(info) => {
                let bytes = self.bytes.get(range.clone()).unwrap_or_default();
                let data = bytes.as_chunks::<N>().0.iter().map(|&chunk| from_le_bytes(chunk)).collect();
                Ok(Array { shape: info.shape.clone(), data })
            }
            _ => Err(self.mismatch(name, dtype, shape)),
        }
    }

    fn mismatch(&self, name: &str, dtype: Dtype, shape: &[usize]) -> crate::Error {
        let extents: Vec<String> =
            shape.iter().map(|&e| if e == ANY { "any".to_owned() } else { e.to_string() }).collect();
        let found = match self.arrays.get(name) {
            Some((info, _)) => format!("{:?} {:?}", info.dtype, info.shape),
            None => "no such array".to_owned(),
        };
        let expected = format!("{dtype:?} [{}]", extents.join(", "));
        ModelError::Array { path: self.path.clone(), array: name.to_owned(), expected, found }.into()
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|&chunk| f32::from_le_bytes(chunk))
}
