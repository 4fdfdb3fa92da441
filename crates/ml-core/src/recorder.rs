//! The recorder: how a fit shows its intermediate bytes without knowing who looks.

/// Element type of a recorded stage; all are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE binary32.
    F32,
    /// Unsigned 32-bit.
    U32,
    /// Signed 32-bit.
    I32,
    /// Unsigned 64-bit.
    U64,
    /// IEEE binary64 (host-side scalars only).
    F64,
}

impl Dtype {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Dtype::F32 | Dtype::U32 | Dtype::I32 => 4,
            Dtype::U64 | Dtype::F64 => 8,
        }
    }
}

/// Receives every intermediate of a fit that matters, in order.
///
/// A stage is named by a dotted tag (`"kmeans.iter3.centroids"`); decisions such as iteration counts are integer stages.
pub trait Recorder: Send {
    /// Whether anybody looks; when not, callers skip copying data back from a device.
    fn enabled(&self) -> bool {
        true
    }

    /// One stage: `bytes.len()` is the product of `shape` times the size of `dtype`.
    fn record(&mut self, tag: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]);
}

impl dyn Recorder + '_ {
    /// Records `f32` data.
    pub fn f32(&mut self, tag: &str, shape: &[usize], data: &[f32]) {
        if self.enabled() {
            let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
            self.record(tag, Dtype::F32, shape, &bytes);
        }
    }

    /// Records `u32` data.
    pub fn u32(&mut self, tag: &str, shape: &[usize], data: &[u32]) {
        if self.enabled() {
            let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
            self.record(tag, Dtype::U32, shape, &bytes);
        }
    }

    /// Records one decision: an iteration count, a rank, a pivot.
    pub fn decision(&mut self, tag: &str, value: u64) {
        if self.enabled() {
            self.record(tag, Dtype::U64, &[], &value.to_le_bytes());
        }
    }
}

/// A recorder that looks at nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRecorder;

impl Recorder for NoRecorder {
    fn enabled(&self) -> bool {
        false
    }

    fn record(&mut self, _: &str, _: Dtype, _: &[usize], _: &[u8]) {}
}
