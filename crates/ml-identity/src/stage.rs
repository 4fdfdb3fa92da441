//! Recording of stages: what a fit computed, as digests, and on demand as bytes.

use std::path::{Path, PathBuf};

use ml_core::{Dtype, Recorder};
use serde::{Deserialize, Serialize};

use crate::card::Decision;
use crate::digest::Digest;
use crate::error::{IdentityError, Result};

/// One recorded intermediate of a fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Position within the run, from 0.
    pub index: u64,
    /// Dotted name, such as `kmeans.iter3.centroids`.
    pub tag: String,
    /// Element type.
    pub dtype: Dtype,
    /// Extents; empty for a scalar.
    pub shape: Vec<u64>,
    /// Elements, the product of the extents.
    pub count: u64,
    /// Digest of the little-endian bytes.
    pub blake3: Digest,
}

/// All that was recorded of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// Every stage, in order.
    pub stages: Vec<Stage>,
    /// The values of the stages that are decisions (`u64` scalars), in order.
    pub decisions: Vec<Decision>,
}

/// A [`Recorder`] that keeps a digest of each stage, and its bytes too if given a folder.
///
/// # Bit identity
/// A recorder sees copies; it cannot change a fit.
#[derive(Debug, Default)]
pub struct StageRecorder {
    recording: Recording,
    dumps: Option<PathBuf>,
    /// The first thing that went wrong; a recorder has no way to say so while a fit runs.
    fault: Option<IdentityError>,
}

impl StageRecorder {
    /// Keeps digests alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the bytes of each stage as well, one file per stage in `folder`, which is created.
    ///
    /// # Errors
    /// [`IdentityError::Io`] if the folder cannot be created.
    pub fn with_dumps(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        match std::fs::create_dir_all(&folder) {
            Ok(()) => Ok(StageRecorder { dumps: Some(folder), ..Self::default() }),
            Err(source) => Err(IdentityError::Io { path: folder.display().to_string(), source }),
        }
    }

    /// What was recorded.
    ///
    /// # Errors
    /// [`IdentityError::Stage`] for the first stage whose bytes did not fit its shape or that had no tag,
    /// [`IdentityError::Io`] for the first dump that could not be written.
    pub fn finish(self) -> Result<Recording> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.recording),
        }
    }

    fn try_record(&mut self, tag: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<()> {
        let index = self.recording.stages.len() as u64;
        let fault = |reason: String| IdentityError::Stage { index, tag: tag.to_owned(), reason };
        if tag.is_empty() {
            return Err(fault("has no tag".to_owned()));
        }
        let count = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        let Some(count) = count.filter(|n| n.checked_mul(dtype.size()) == Some(bytes.len())) else {
            return Err(fault(format!("shape {shape:?} of {dtype:?} does not describe {} bytes", bytes.len())));
        };
        let stage = Stage {
            index,
            tag: tag.to_owned(),
            dtype,
            shape: shape.iter().map(|&extent| extent as u64).collect(),
            count: count as u64,
            blake3: Digest::of(bytes),
        };
        if let (true, Ok(value)) = (stage.is_decision(), bytes.try_into()) {
            let value = u64::from_le_bytes(value);
            self.recording.decisions.push(Decision { index, tag: tag.to_owned(), value });
        }
        if let Some(folder) = &self.dumps {
            let path = folder.join(dump_name(&stage));
            std::fs::write(&path, bytes)
                .map_err(|source| IdentityError::Io { path: path.display().to_string(), source })?;
        }
        self.recording.stages.push(stage);
        Ok(())
    }
}

impl Recorder for StageRecorder {
    fn record(&mut self, tag: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
        // After a fault the positions would be wrong, so nothing more is kept.
        if self.fault.is_none() {
            self.fault = self.try_record(tag, dtype, shape, bytes).err();
        }
    }
}

impl Stage {
    /// Whether this is a decision: one `u64` without extents.
    pub fn is_decision(&self) -> bool {
        self.dtype == Dtype::U64 && self.shape.is_empty()
    }
}

/// Folder of the dumps of one run, below the folder of all dumps of a device.
pub fn dump_folder(root: &Path, estimator: &str, fixture: &str) -> PathBuf {
    root.join(file_name(estimator)).join(file_name(fixture))
}

/// File name of the dump of a stage: its index, its tag, and nothing that a file system may object to.
pub fn dump_name(stage: &Stage) -> String {
    format!("{:05}-{}.bin", stage.index, file_name(&stage.tag))
}

/// A short, plain form of a name; names that lose something in it stay different by a piece of their digest.
fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let kept: String = name.chars().take(80).map(|c| if plain(c) { c } else { '_' }).collect();
    let dots = kept.chars().all(|c| c == '.');
    if kept == name && !dots { kept } else { format!("{kept}-{}", Digest::of(name.as_bytes()).short()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls the recorder as a fit does.
    fn fit(recorder: &mut dyn Recorder) {
        recorder.f32("k.x", &[2, 1], &[1.0, -2.0]);
        recorder.decision("k.iter", 17);
        recorder.u32("k.labels", &[3], &[0, 1, 2]);
        recorder.record("k.wide", Dtype::U64, &[1], &5u64.to_le_bytes());
    }

    #[test]
    fn stages_and_decisions_are_kept_in_order() {
        let mut recorder = StageRecorder::new();
        fit(&mut recorder);
        let recording = recorder.finish().unwrap();
        let tags: Vec<_> = recording.stages.iter().map(|s| (s.index, s.tag.as_str(), s.count)).collect();
        assert_eq!(tags, [(0, "k.x", 2), (1, "k.iter", 1), (2, "k.labels", 3), (3, "k.wide", 1)]);
        let bytes = [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0];
        assert_eq!(recording.stages[0].blake3, Digest::of(&bytes));
        assert_eq!(recording.stages[0].shape, [2, 1]);
        // A vector of one is no decision: only a scalar is.
        assert_eq!(recording.decisions, [Decision { index: 1, tag: "k.iter".into(), value: 17 }]);
    }

    #[test]
    fn bytes_that_do_not_fit_are_reported_at_the_end() {
        for (shape, len) in [(&[2usize][..], 4), (&[usize::MAX, 2], 8), (&[0], 4), (&[], 8)] {
            let mut recorder = StageRecorder::new();
            recorder.record("k.bad", Dtype::F32, shape, &vec![0; len]);
            recorder.record("k.good", Dtype::F32, &[1], &[0; 4]);
            let error = recorder.finish().unwrap_err();
            assert!(matches!(&error, IdentityError::Stage { index: 0, tag, .. } if tag == "k.bad"), "{error}");
        }
        let mut recorder = StageRecorder::new();
        recorder.record("", Dtype::F32, &[1], &[0; 4]);
        assert!(recorder.finish().is_err());
    }

    #[test]
    fn dumps_hold_the_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let run = dump_folder(folder.path(), "k/means", "..");
        let mut recorder = StageRecorder::with_dumps(&run).unwrap();
        fit(&mut recorder);
        let recording = recorder.finish().unwrap();
        for stage in &recording.stages {
            let bytes = std::fs::read(run.join(dump_name(stage))).unwrap();
            assert_eq!(Digest::of(&bytes), stage.blake3, "{}", stage.tag);
        }
        assert!(run.canonicalize().unwrap().starts_with(folder.path().canonicalize().unwrap()));
        assert!(StageRecorder::with_dumps(run.join("00000-k.x.bin")).is_err(), "a file is no folder");
    }

    #[test]
    fn a_dump_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let mut recorder = StageRecorder::with_dumps(&run).unwrap();
        std::fs::remove_dir(&run).unwrap();
        fit(&mut recorder);
        assert!(matches!(recorder.finish(), Err(IdentityError::Io { .. })));
    }

    #[test]
    fn file_names_are_plain_short_and_different() {
        assert_eq!(file_name("kmeans.iter3"), "kmeans.iter3");
        assert_ne!(file_name("a/b"), file_name("a:b"));
        assert_ne!(file_name(&"x".repeat(200)), file_name(&"x".repeat(201)));
        for name in ["", "..", "a/../../b", "\0", "ä", &"x".repeat(300)] {
            let plain = file_name(name);
            assert!(plain.len() < 100 && !plain.contains(['/', '\\', '\0']) && plain != ".." && !plain.is_empty());
        }
    }
}
