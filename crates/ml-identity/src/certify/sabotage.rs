//! Negative controls: each arm breaks one clause, and the recording must move at the stages that the clause governs.
//!
//! An arm that moves nothing is inert: either the fixture does not separate the two spellings or the certificate cannot
//! see the clause. Both are failures. An arm that moves a stage of another clause is a failure too.

use ml_kernels::sabotage::Arm;
use ml_kernels::{Context, Device};

use super::estimators::Estimator;
use super::fixtures_for;
use crate::error::Result;
use crate::fixtures::{Fixture, Fixtures};
use crate::stage::{Recording, StageRecorder};

/// What an arm did to one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bite {
    /// Estimator.
    pub estimator: &'static str,
    /// Fixture.
    pub fixture: String,
    /// Tag of the first stage that moved.
    pub first: String,
    /// Tags of all stages that moved.
    pub moved: Vec<String>,
}

/// An arm on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmReport {
    /// The arm.
    pub arm: Arm,
    /// The device.
    pub device: String,
    /// Runs of the primitives that it moved.
    pub bites: Vec<Bite>,
    /// Runs of estimators that it moved, as far as it reaches them.
    pub reach: Vec<Bite>,
    /// Stages of the primitives that moved and that the arm's clause does not govern.
    pub strays: Vec<String>,
}

impl ArmReport {
    /// Whether the arm moved what it must and nothing else.
    pub fn holds(&self) -> bool {
        !self.bites.is_empty() && self.strays.is_empty()
    }
}

/// Stages of the primitives that an arm may move; it must move one of them.
fn governed(arm: Arm) -> &'static [&'static str] {
    const CONTRACTIONS: &[&str] = &["prim.matmul.", "prim.distances", "prim.nearest.", "prim.cholesky"];
    match arm {
        Arm::None => &[],
        Arm::KeepSubnormals => &[
            "prim.map.subnormal",
            "prim.matmul.subnormal",
            // Hostile data brings subnormal results to other sums and products as well.
            "prim.map.",
            "prim.matmul.",
            "prim.distances",
            "prim.nearest.",
            "prim.sum",
            "prim.row_sums",
            "prim.col_sums",
            "prim.cholesky",
        ],
        Arm::FuseProducts | Arm::DescendingLeaf => CONTRACTIONS,
        Arm::GuardOff => &["prim.matmul.", "prim.distances", "prim.nearest.", "prim.cholesky"],
        Arm::RoughDivision => &["prim.map.quotient"],
        Arm::RoughSqrt => &["prim.map.sqrt"],
        Arm::RoughElementary => &["prim.map.exp", "prim.map.ln"],
        Arm::TruncateConversion => &["prim.to_f32"],
        Arm::SerialLanes => &["prim.sum", "prim.row_sums", "prim.col_sums"],
        Arm::FloatScatter => &["prim.scatter_add"],
        Arm::TiesLast => &["prim.argmin.index", "prim.argmax.index", "prim.top_k.index", "prim.nearest."],
        Arm::UnstableSort => &["prim.sort.order", "prim.argsort"],
        Arm::SevenRounds => &["prim.random_u32", "prim.random_uniform", "prim.permutation"],
    }
}

/// Runs `arm` on `device` over the primitives, and over the estimators if `reach`.
///
/// # Errors
/// A device failure.
pub fn sabotage(arm: Arm, device: &Device, real: &Fixtures, reach: bool) -> Result<ArmReport> {
    let mut report =
        ArmReport { arm, device: device.name().to_owned(), bites: Vec::new(), reach: Vec::new(), strays: Vec::new() };
    let broken = device.sabotaged(arm);
    for fixture in fixtures_for(Estimator::Primitives, real, true)? {
        let Some(bite) = moved(Estimator::Primitives, &fixture, device, &broken)? else {
            continue;
        };
        for tag in &bite.moved {
            let known = governed(arm).iter().any(|g| tag.starts_with(g));
            if !known && !report.strays.contains(tag) {
                report.strays.push(tag.clone());
            }
        }
        report.bites.push(bite);
    }
    if reach {
        for estimator in Estimator::ALL.into_iter().filter(|e| *e != Estimator::Primitives) {
            for fixture in fixtures_for(estimator, real, false)? {
                report.reach.extend(moved(estimator, &fixture.head(200)?, device, &broken)?);
            }
        }
    }
    Ok(report)
}

fn moved(estimator: Estimator, fixture: &Fixture, honest: &Device, broken: &Device) -> Result<Option<Bite>> {
    let (a, b) = (record(estimator, fixture, honest)?, record(estimator, fixture, broken)?);
    let mut moved: Vec<String> = Vec::new();
    for i in 0..a.stages.len().max(b.stages.len()) {
        let (x, y) = (a.stages.get(i), b.stages.get(i));
        if x != y {
            moved.extend(x.or(y).map(|s| s.tag.clone()));
        }
    }
    Ok(moved.first().cloned().map(|first| Bite {
        estimator: estimator.name(),
        fixture: fixture.name().to_owned(),
        first,
        moved,
    }))
}

/// The stages up to the end or to a refusal; a broken clause may well end in one.
fn record(estimator: Estimator, fixture: &Fixture, device: &Device) -> Result<Recording> {
    let mut recorder = StageRecorder::new();
    let outcome = estimator.run(fixture, &mut Context::new(device).with_recorder(&mut recorder));
    if let Err(e @ ml_core::Error::Device(_)) = outcome {
        return Err(e.into());
    }
    recorder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_bites_on_every_device_asked_for_and_nothing_else_moves() {
        let real = Fixtures::embedded().expect("the embedded fixtures are sound");
        for device in ml_kernels::conformance::test_devices() {
            for arm in Arm::ALL {
                let report = sabotage(arm, &device, &real, false).expect("the device works");
                assert!(report.holds(), "{arm:?} on {}: {report:?}", device.name());
            }
        }
    }

    #[test]
    fn an_inert_arm_fails() {
        let real = Fixtures::embedded().expect("the embedded fixtures are sound");
        let report = sabotage(Arm::None, &Device::host(), &real, false).expect("the host works");
        assert!(!report.holds());
    }
}
