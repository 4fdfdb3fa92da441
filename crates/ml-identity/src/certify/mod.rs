//! Certification: trains every estimator on every fixture on one device and writes down what it did.
//!
//! The list of runs is the same on every device: an estimator that must refuse a fixture (one row has no variance to
//! decompose) is a run whose outcome is that refusal.

mod estimators;
mod primitives;
#[cfg(feature = "sabotage")]
mod sabotage;

use std::path::PathBuf;

use ml_core::{CancelToken, Progress, Step};
use ml_kernels::{Context, Device};

use crate::card::{Card, Header, Outcome};
use crate::certificate::Certificate;
use crate::error::Result;
use crate::fixtures::{Fixture, Fixtures, hostile};
use crate::stage::{StageRecorder, dump_folder};

pub use estimators::Estimator;
#[cfg(feature = "growth")]
pub(crate) use estimators::{record_f32, record_u32};
#[cfg(feature = "sabotage")]
pub use sabotage::{ArmReport, Bite, sabotage};

/// What to certify, and what to write into the headers.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Estimators, in any order; empty for all.
    pub estimators: Vec<Estimator>,
    /// Names of fixtures; empty for all.
    pub fixtures: Vec<String>,
    /// Whether to run the hostile fixtures too.
    pub hostile: bool,
    /// Folder for the bytes of every stage; `None` keeps digests alone.
    pub dumps: Option<PathBuf>,
    /// Commit that was built.
    pub git_commit: String,
    /// Cargo features of the build.
    pub features: Vec<String>,
    /// Day of the run, YYYY-MM-DD.
    pub date: String,
    /// Command that was given.
    pub command: String,
}

/// One run that is done, for whoever watches.
#[derive(Debug, Clone)]
pub struct Done {
    /// Estimator.
    pub estimator: Estimator,
    /// Fixture.
    pub fixture: String,
    /// Stages recorded.
    pub stages: usize,
    /// Seconds taken.
    pub seconds: f64,
    /// Whether it was refused.
    pub refused: bool,
}

/// The fixtures that `estimator` runs on, real ones first.
///
/// # Errors
/// Those of the fixture's loader.
pub fn fixtures_for(estimator: Estimator, real: &Fixtures, with_hostile: bool) -> Result<Vec<Fixture>> {
    let mut all = Vec::new();
    for fixture in real.all() {
        if let Some(cut) = estimator.cut(fixture)? {
            all.push(cut);
        }
    }
    if with_hostile {
        all.extend(hostile()?);
    }
    Ok(all)
}

/// Runs the plan on `device`.
///
/// # Errors
/// A device failure, or a fixture that cannot be read. A refusal by an estimator is an outcome, not an error.
///
/// # Bit identity
/// The stages depend on the plan and the contract alone; the header tells where they were made.
pub fn certify(plan: &Plan, device: &Device, real: &Fixtures, watch: &mut dyn FnMut(&Done)) -> Result<Certificate> {
    let estimators: Vec<Estimator> =
        if plan.estimators.is_empty() { Estimator::ALL.to_vec() } else { plan.estimators.clone() };
    let mut cards = Vec::new();
    for estimator in estimators {
        for fixture in fixtures_for(estimator, real, plan.hostile)? {
            if !plan.fixtures.is_empty() && !plan.fixtures.iter().any(|f| fixture.name().starts_with(f.as_str())) {
                continue;
            }
            let start = std::time::Instant::now();
            let card = run(plan, device, estimator, &fixture)?;
            watch(&Done {
                estimator,
                fixture: fixture.name().to_owned(),
                stages: card.stages().len(),
                seconds: start.elapsed().as_secs_f64(),
                refused: *card.outcome() != Outcome::Ran,
            });
            cards.push(card);
        }
    }
    Certificate::new(cards)
}

fn run(plan: &Plan, device: &Device, estimator: Estimator, fixture: &Fixture) -> Result<Card> {
    let mut recorder = match &plan.dumps {
        Some(root) => StageRecorder::with_dumps(dump_folder(root, estimator.name(), fixture.name()))?,
        None => StageRecorder::new(),
    };
    let nobody = |_: &Step| {};
    let outcome = {
        let progress: &dyn Progress = &nobody;
        let mut cx =
            Context::new(device).with_recorder(&mut recorder).with_progress(progress).with_cancel(CancelToken::new());
        match estimator.run(fixture, &mut cx) {
            Ok(()) => Outcome::Ran,
            // A device that fails proves nothing about the data, so its failure is no outcome.
            Err(e @ ml_core::Error::Device(_)) => return Err(e.into()),
            Err(e) => Outcome::Refused { reason: e.to_string() },
        }
    };
    let header = Header {
        git_commit: plan.git_commit.clone(),
        features: {
            let mut features = plan.features.clone();
            features.sort();
            features
        },
        date: plan.date.clone(),
        fixture_digests: fixture.digests().clone(),
        command: plan.command.clone(),
        ..Header::on(device, estimator.name(), fixture.name())
    };
    Card::new(header, outcome, recorder.finish()?)
}
