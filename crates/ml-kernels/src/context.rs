//! What a fit runs in: its device, who records its stages, who watches its progress, and whether it was cancelled.

use ml_core::{CancelToken, Dtype, Progress, Recorder, Result, Step};

use crate::{Buffer, Device};

/// The surroundings of one fit or prediction.
///
/// # Bit identity
/// Recorder, progress and cancellation see results and change none.
pub struct Context<'a> {
    device: Device,
    recorder: Option<&'a mut dyn Recorder>,
    progress: Option<&'a dyn Progress>,
    cancel: CancelToken,
}

impl<'a> Context<'a> {
    /// A context on `device` that records nothing and reports to nobody.
    pub fn new(device: &Device) -> Self {
        Context { device: device.clone(), recorder: None, progress: None, cancel: CancelToken::new() }
    }

    /// Records stages to `recorder`.
    pub fn with_recorder(mut self, recorder: &'a mut dyn Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Reports steps to `progress`.
    pub fn with_progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Stops at the next step once `cancel` is cancelled.
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether anybody records.
    pub fn records(&self) -> bool {
        self.recorder.as_ref().is_some_and(|r| r.enabled())
    }

    /// Records bytes that are on the host already.
    pub fn record(&mut self, tag: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
        if let Some(r) = &mut self.recorder {
            r.record(tag, dtype, shape, bytes);
        }
    }

    /// Records a device buffer of floats; copies nothing when nobody records.
    ///
    /// # Errors
    /// A device failure while reading the buffer back.
    pub fn record_f32(&mut self, tag: &str, shape: &[usize], data: &Buffer<f32>) -> Result<()> {
        if self.records() {
            let host = data.read()?;
            if let Some(r) = &mut self.recorder {
                r.record(tag, Dtype::F32, shape, bytemuck::cast_slice(&host));
            }
        }
        Ok(())
    }

    /// Records a device buffer of unsigned integers; copies nothing when nobody records.
    ///
    /// # Errors
    /// A device failure while reading the buffer back.
    pub fn record_u32(&mut self, tag: &str, shape: &[usize], data: &Buffer<u32>) -> Result<()> {
        if self.records() {
            let host = data.read()?;
            if let Some(r) = &mut self.recorder {
                r.record(tag, Dtype::U32, shape, bytemuck::cast_slice(&host));
            }
        }
        Ok(())
    }

    /// Records one decision: an iteration count, a rank, a pivot.
    pub fn decision(&mut self, tag: &str, value: u64) {
        if let Some(r) = &mut self.recorder {
            r.decision(tag, value);
        }
    }

    /// Reports one step and stops if cancelled.
    ///
    /// # Errors
    /// [`ml_core::Error::Cancelled`].
    pub fn step(&self, stage: &'static str, done: u64, total: Option<u64>, metric: Option<f32>) -> Result<()> {
        if let Some(p) = self.progress {
            p.step(&Step { stage, done, total, metric });
        }
        self.cancel.check(stage)
    }
}

impl From<&Device> for Context<'_> {
    fn from(device: &Device) -> Self {
        Context::new(device)
    }
}
