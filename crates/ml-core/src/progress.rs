//! Progress callbacks and cancellation of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// One step of long work, as shown to a [`Progress`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// What is under way, such as `"kmeans.lloyd"`.
    pub stage: &'static str,
    /// Steps done.
    pub done: u64,
    /// Steps at the most, if known.
    pub total: Option<u64>,
    /// The figure that the work is to bring down or up, if it has one.
    pub metric: Option<f32>,
}

/// Receives the steps of long work. Any `Fn(&Step) + Sync` is one.
///
/// # Bit identity
/// A progress callback sees results and cannot change them.
pub trait Progress: Sync {
    /// Called after each step.
    fn step(&self, step: &Step);
}

impl<F: Fn(&Step) + Sync> Progress for F {
    fn step(&self, step: &Step) {
        self(step)
    }
}

/// A flag that ends long work at its next step; clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not yet cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Errors once cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`] after [`CancelToken::cancel`].
    pub fn check(&self, during: &'static str) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled { during }) } else { Ok(()) }
    }
}
