//! The claim under random trials: estimators with drawn parameters on drawn data, compared stage by stage on every device
//! at hand. A trial on which devices disagree is made simpler for as long as they still do.

mod draw;

use std::time::{Duration, Instant};

use ml_classical::kmeans::Init;
use ml_classical::prelude::*;
use ml_core::Dtype;
use ml_kernels::{Context, Device};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::{Deserialize, Serialize};

use crate::card::Outcome;
use crate::certify::{record_f32, record_u32};
use crate::error::Result;
use crate::stage::{Recording, StageRecorder};

pub use draw::{Data, Draw, Fit as Drawn, Kind};

/// Most trials that making one draw simpler may take.
const SIMPLER: usize = 300;

/// A draw on which two devices disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divergence {
    /// The simplest such draw that was found.
    pub draw: Draw,
    /// The draw as it first came up.
    pub first: Draw,
    /// The device that the others are compared with, and the one that differs.
    pub devices: [String; 2],
    /// What differs: the first stage that moved and the last equal one, or the outcomes.
    pub what: String,
}

/// What a run of trials showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Draws tried.
    pub draws: usize,
    /// Draws that every device refused, with the same sentence.
    pub refused: usize,
    /// Stages compared, over all draws.
    pub stages: usize,
    /// Draws on which devices disagree.
    pub divergences: Vec<Divergence>,
}

/// What one device made of a draw.
struct Trial {
    outcome: Outcome,
    recording: Recording,
}

/// Draws and compares until `time` is over, and at least once. `seed` decides the draws; `watch` sees the report grow.
///
/// # Errors
/// A device that fails, or a recording that is not sound; no devices at all is a report of no draws.
///
/// # Bit identity
/// The draws follow from `seed` alone; how many there are follows from `time`.
pub fn grow(devices: &[Device], seed: u64, time: Duration, watch: &mut dyn FnMut(&Report)) -> Result<Report> {
    let mut report = Report::default();
    let Some((base, others)) = devices.split_first() else {
        return Ok(report);
    };
    let mut bytes = [0u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng);
    let strategy = Draw::any();
    let start = Instant::now();
    while report.draws == 0 || start.elapsed() < time {
        // The strategy has no filter, so it gives a draw whenever it is asked.
        let Ok(mut tree) = strategy.new_tree(&mut runner) else { continue };
        let first = tree.current();
        let trial = trial(&first, base)?;
        report.draws += 1;
        report.stages += trial.recording.stages.len();
        report.refused += usize::from(trial.outcome != Outcome::Ran);
        if let Some(found) = disagreement(&first, &trial, others)? {
            let mut simplest = (first.clone(), found);
            let mut moved = tree.simplify();
            for _ in 0..SIMPLER {
                if !moved {
                    break;
                }
                let simpler = tree.current();
                moved = match disagreement(&simpler, &self::trial(&simpler, base)?, others)? {
                    Some(found) => {
                        simplest = (simpler, found);
                        tree.simplify()
                    }
                    None => tree.complicate(),
                };
            }
            let (draw, (device, what)) = simplest;
            let devices = [base.name().to_owned(), device];
            report.divergences.push(Divergence { draw, first, devices, what });
        }
        watch(&report);
    }
    Ok(report)
}

/// Compares `devices` on one draw, as a file may hold it.
///
/// # Errors
/// As [`grow`].
pub fn replay(draw: &Draw, devices: &[Device]) -> Result<Option<Divergence>> {
    let Some((base, others)) = devices.split_first() else {
        return Ok(None);
    };
    let found = disagreement(draw, &trial(draw, base)?, others)?;
    Ok(found.map(|(device, what)| Divergence {
        draw: draw.clone(),
        first: draw.clone(),
        devices: [base.name().to_owned(), device],
        what,
    }))
}

/// The first of `others` whose bytes differ from those wanted, and where.
fn disagreement(draw: &Draw, wanted: &Trial, others: &[Device]) -> Result<Option<(String, String)>> {
    for device in others {
        let got = trial(draw, device)?;
        if let Some(what) = difference(wanted, &got) {
            return Ok(Some((device.name().to_owned(), what)));
        }
    }
    Ok(None)
}

fn difference(wanted: &Trial, got: &Trial) -> Option<String> {
    let (a, b) = (&wanted.recording.stages, &got.recording.stages);
    if let Some(at) = (0..a.len().min(b.len())).find(|&i| a[i] != b[i]) {
        let last = at.checked_sub(1).map_or("none".to_owned(), |i| format!("`{}`", a[i].tag));
        return Some(format!("first moved `{}`, last equal {last}", a[at].tag));
    }
    if a.len() != b.len() {
        return Some(format!("{} stages and {} stages", a.len(), b.len()));
    }
    (wanted.outcome != got.outcome).then(|| format!("{:?} and {:?}", wanted.outcome, got.outcome))
}

/// Fits and predicts on `device`, recorded.
fn trial(draw: &Draw, device: &Device) -> Result<Trial> {
    let mut recorder = StageRecorder::new();
    let x = draw.data.matrix()?;
    let outcome = {
        let mut cx = Context::new(device).with_recorder(&mut recorder);
        match fit(draw, &x, &mut cx) {
            Ok(()) => Outcome::Ran,
            // A device that fails says nothing about the draw.
            Err(e @ ml_core::Error::Device(_)) => return Err(e.into()),
            Err(e) => Outcome::Refused { reason: e.to_string() },
        }
    };
    Ok(Trial { outcome, recording: recorder.finish()? })
}

/// Records the bytes of the model's file, in words: what is kept of a fit.
fn record_model(cx: &mut Context<'_>, model: &impl Persist) -> ml_core::Result<()> {
    let mut bytes = model.to_writer()?.to_bytes()?;
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    cx.record("growth.model", Dtype::U32, &[bytes.len() / 4], &bytes);
    Ok(())
}

fn fit(draw: &Draw, x: &ml_core::Matrix, cx: &mut Context<'_>) -> ml_core::Result<()> {
    let weights = |distance: bool| if distance { Weights::Distance } else { Weights::Uniform };
    match draw.fit {
        Drawn::KMeans { n_clusters, parallel, n_init, max_iter, tol, seed } => {
            let init = if parallel { Init::KMeansParallel } else { Init::KMeansPlusPlus };
            let model = KMeans::new(n_clusters).init(init).n_init(n_init).max_iter(max_iter).tol(tol).seed(seed);
            let model = model.fit_in(x, cx)?;
            record_model(cx, &model)?;
            let labels = model.predict_in(x, cx)?;
            record_u32(cx, "growth.predict", &labels);
        }
        Drawn::KNeighborsClassifier { n_neighbors, distance, classes } => {
            let model = KNeighborsClassifier::new().n_neighbors(n_neighbors).weights(weights(distance));
            let model = model.fit_in(x, &draw.data.labels(classes), cx)?;
            record_model(cx, &model)?;
            let labels = model.predict_in(x, cx)?;
            record_u32(cx, "growth.predict", &labels);
        }
        Drawn::KNeighborsRegressor { n_neighbors, distance } => {
            let model = KNeighborsRegressor::new().n_neighbors(n_neighbors).weights(weights(distance));
            let model = model.fit_in(x, &draw.data.targets(), cx)?;
            record_model(cx, &model)?;
            let predicted = model.predict_in(x, cx)?;
            record_f32(cx, "growth.predict", &[predicted.len()], &predicted);
        }
        Drawn::Pca { n_components, whiten } => {
            let model = Pca::new().n_components(n_components).whiten(whiten).fit_in(x, cx)?;
            record_model(cx, &model)?;
            let scores = model.transform_in(x, cx)?;
            record_f32(cx, "growth.transform", &[scores.rows(), scores.cols()], scores.as_slice());
        }
        Drawn::LinearRegression { fit_intercept } => {
            let model = LinearRegression::new().fit_intercept(fit_intercept).fit_in(x, &draw.data.targets(), cx)?;
            record_model(cx, &model)?;
            let predicted = model.predict_in(x, cx)?;
            record_f32(cx, "growth.predict", &[predicted.len()], &predicted);
        }
        Drawn::Ridge { alpha, fit_intercept } => {
            let model = Ridge::new().alpha(alpha).fit_intercept(fit_intercept);
            let model = model.fit_in(x, &draw.data.targets(), cx)?;
            record_model(cx, &model)?;
            let predicted = model.predict_in(x, cx)?;
            record_f32(cx, "growth.predict", &[predicted.len()], &predicted);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ml_kernels::sabotage::Arm;

    use super::*;

    fn host(threads: usize) -> Device {
        Device::host_with_threads(threads).expect("a host")
    }

    #[test]
    fn threads_agree_and_the_draws_follow_from_the_seed() {
        let devices = [host(1), host(3)];
        let mut seen = Vec::new();
        let one = grow(&devices, 5, Duration::from_millis(300), &mut |r| seen.push((r.draws, r.stages))).expect("runs");
        assert!(one.draws > 3 && one.stages > 50 && one.divergences.is_empty(), "{one:?}");
        let again = grow(&devices, 5, Duration::ZERO, &mut |_| ()).expect("runs");
        assert_eq!((again.draws, again.stages), seen[0]);
    }

    /// A device that breaks ties the other way is found out, and on few rows.
    #[test]
    fn a_broken_device_is_found_and_the_draw_made_simple() {
        let broken = Device::sabotaged(&host(1), Arm::TiesLast);
        let report = grow(&[host(1), broken.clone()], 1, Duration::from_secs(4), &mut |_| ()).expect("runs");
        let found = report.divergences.iter().min_by_key(|d| d.draw.data.rows).expect("ties are common");
        assert!(found.draw.data.rows <= 20 && found.draw.data.rows <= found.first.data.rows, "{found:?}");
        assert!(found.what.starts_with("first moved `"), "{found:?}");
        // A file of it shows the same again, and the sound device does not.
        let text = serde_json::to_string(found).expect("plain data");
        let read: Divergence = serde_json::from_str(&text).expect("reads");
        assert_eq!(&read, found);
        let again = replay(&read.draw, &[host(1), broken]).expect("runs").expect("differs");
        assert_eq!(again.what, found.what);
        assert_eq!(replay(&read.draw, &[host(1), host(2)]).expect("runs"), None);
    }

    #[test]
    fn refusals_are_compared_too() {
        let data = Data { rows: 2, cols: 1, kind: Kind::Ordinary, seed: 1 };
        let draw = Draw { data, fit: Drawn::KNeighborsRegressor { n_neighbors: 3, distance: false } };
        let trial = trial(&draw, &host(1)).expect("runs");
        assert!(matches!(trial.outcome, Outcome::Refused { .. }));
        assert_eq!(replay(&draw, &[host(1), host(2)]).expect("runs"), None);
    }
}
