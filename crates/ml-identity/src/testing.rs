//! Small cards and certificates that the tests of this crate share.

use std::collections::BTreeMap;
use std::path::Path;

use ml_core::Recorder;

use crate::card::{Card, Header, Outcome};
use crate::certificate::Certificate;
use crate::digest::Digest;
use crate::stage::{Recording, StageRecorder, dump_folder};

pub(crate) fn header(device: &str, estimator: &str, fixture: &str) -> Header {
    Header {
        profile: "fp32/1".into(),
        crate_version: "0.1.0".into(),
        git_commit: "0123abc".into(),
        device: device.into(),
        runtime: "host".into(),
        driver: "none".into(),
        features: vec!["cuda".into(), "wgpu".into()],
        sabotage: None,
        date: "2026-11-30".into(),
        estimator: estimator.into(),
        fixture: fixture.into(),
        fixture_digests: BTreeMap::from([
            ("x".to_owned(), Digest::of(fixture.as_bytes())),
            ("y".to_owned(), Digest::of(b"y")),
        ]),
        command: "cargo xtask certify".into(),
    }
}

/// What a small fit records: a matrix, and in each of two iterations labels and a matrix; then a decision.
pub(crate) fn fit(recorder: &mut dyn Recorder, bump: Option<(&str, usize)>) {
    let mut send = |tag: &str, shape: &[usize], mut data: Vec<f32>| {
        if let Some((_, element)) = bump.filter(|(bumped, _)| *bumped == tag) {
            data[element] = f32::from_bits(data[element].to_bits() + 1);
        }
        recorder.f32(tag, shape, &data);
    };
    send("k.x", &[2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for iter in 0..2 {
        send(&format!("k.iter{iter}.dist"), &[4], vec![0.5, 1.5, 2.5, 3.5]);
        send(&format!("k.iter{iter}.centroids"), &[1, 3], vec![iter as f32, 2.0, 3.0]);
    }
    recorder.decision("k.iter", 2);
}

pub(crate) fn recording(bump: Option<(&str, usize)>) -> Recording {
    let mut recorder = StageRecorder::new();
    fit(&mut recorder, bump);
    recorder.finish().unwrap()
}

pub(crate) fn card(device: &str, estimator: &str, fixture: &str) -> Card {
    Card::new(header(device, estimator, fixture), Outcome::Ran, recording(None)).unwrap()
}

/// The runs of [`certificate`].
pub(crate) const RUNS: [(&str, &str); 3] = [("KMeans", "hostile/ties"), ("KMeans", "small"), ("PCA", "small")];

pub(crate) fn certificate(device: &str) -> Certificate {
    changed(device, |_, _, _| ())
}

/// A certificate of [`RUNS`] of which each card was changed before it was made.
pub(crate) fn changed(device: &str, change: impl Fn(&mut Header, &mut Outcome, &mut Recording)) -> Certificate {
    let cards = RUNS.iter().map(|(estimator, fixture)| {
        let (mut header, mut outcome) = (header(device, estimator, fixture), Outcome::Ran);
        let mut recording = recording(None);
        change(&mut header, &mut outcome, &mut recording);
        Card::new(header, outcome, recording).unwrap()
    });
    Certificate::new(cards.collect()).unwrap()
}

/// A certificate of one run that keeps its dumps below `root`.
pub(crate) fn dumped(device: &str, root: &Path, bump: Option<(&str, usize)>) -> Certificate {
    let (estimator, fixture) = RUNS[0];
    let mut recorder = StageRecorder::with_dumps(dump_folder(root, estimator, fixture)).unwrap();
    fit(&mut recorder, bump);
    let card = Card::new(header(device, estimator, fixture), Outcome::Ran, recorder.finish().unwrap()).unwrap();
    Certificate::new(vec![card]).unwrap()
}
