//! Tests of the comparator: every way to disagree has its verdict and its exit code, and none looks like success.

use super::*;
use crate::card::{Card, Header};
use crate::stage::Recording;
use crate::testing::{RUNS, certificate, changed, dumped, recording};

fn column(certificate: Certificate) -> Column {
    Column { certificate, dumps: None }
}

fn verdict(certificates: impl IntoIterator<Item = Certificate>) -> Verdict {
    let columns: Vec<Column> = certificates.into_iter().map(column).collect();
    compare(&columns, &Options::default()).verdict
}

/// A certificate of which the run `RUNS[1]` was changed.
fn changed_run(device: &str, change: impl Fn(&mut Header, &mut Outcome, &mut Recording)) -> Certificate {
    changed(device, |header, outcome, recording| {
        if (header.estimator.as_str(), header.fixture.as_str()) == RUNS[1] {
            change(header, outcome, recording);
        }
    })
}

fn run() -> Run {
    Run { estimator: RUNS[1].0.into(), fixture: RUNS[1].1.into() }
}

fn pair() -> Pair {
    Pair { a: "host (host)".into(), b: "H200 (host)".into() }
}

#[test]
fn equal_devices_are_equal() {
    let columns = ["host (host)", "H200 (host)", "M4 (host)"].map(str::to_owned).to_vec();
    let equal = verdict(["host", "H200", "M4"].map(certificate));
    assert_eq!(equal, Verdict::Equal { columns, runs: 3, stages: 18 });
    assert_eq!(equal.exit_code(), 0);
    let want = "Equal: 3 certificates (host (host), H200 (host), M4 (host)) agree on 3 runs and 18 stages.";
    assert_eq!(equal.sentence(), want);
}

#[test]
fn two_runs_of_one_device_are_two_columns_by_number() {
    let later = changed("host", |header, _, _| header.date = "2026-12-01".into());
    let Verdict::Equal { columns, .. } = verdict([certificate("host"), later]) else { panic!() };
    assert_eq!(columns, ["host (host)", "host (host) #2"]);
}

#[test]
fn a_moved_stage_is_named_whatever_follows() {
    for tag in ["k.x", "k.iter0.dist", "k.iter0.centroids", "k.iter1.dist", "k.iter1.centroids"] {
        let moved = changed_run("H200", |_, _, r| {
            *r = recording(Some((tag, 0)));
            // Everything after it moves too, as it does in a fit.
            let at = r.stages.iter().position(|s| s.tag == tag).unwrap();
            for stage in r.stages.iter_mut().skip(at + 1).filter(|s| !s.is_decision()) {
                stage.blake3 = Digest::of(b"moved");
            }
        });
        let found = verdict([certificate("host"), moved]);
        let tags: Vec<String> = recording(None).stages.into_iter().map(|s| s.tag).collect();
        let at = tags.iter().position(|t| t == tag).unwrap();
        let Verdict::Diverged { pair: p, run: r, last_equal, first_divergent, index, .. } = &found else {
            panic!("{found:?}")
        };
        assert_eq!((p, r), (&pair(), &run()));
        assert_eq!((first_divergent.as_str(), *index), (tag, at as u64));
        assert_eq!(last_equal.as_deref(), at.checked_sub(1).map(|i| tags[i].as_str()));
        assert_eq!(found.exit_code(), 10);
    }
}

#[test]
fn a_divergence_in_the_last_of_many_columns_is_found() {
    let moved = changed_run("M4", |_, _, r| *r = recording(Some(("k.x", 5))));
    let found = verdict([certificate("host"), certificate("H200"), moved]);
    assert!(matches!(&found, Verdict::Diverged { pair, .. } if pair.b == "M4 (host)"), "{found:?}");
}

#[test]
fn differing_elements_are_decoded_from_dumps() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.json", "b.json"].map(|name| folder.path().join(name));
    dumped("host", &dumps_of(&paths[0]), None).save(&paths[0]).unwrap();
    dumped("H200", &dumps_of(&paths[1]), Some(("k.iter1.dist", 2))).save(&paths[1]).unwrap();
    let found = compare_files(&paths, &Options::default()).verdict;
    let Verdict::Diverged { elements: Elements::Known { first, differing: 1, total: 4 }, .. } = &found else {
        panic!("{found:?}")
    };
    let want =
        Element { index: 2, a_bits: 0x4020_0000, b_bits: 0x4020_0001, a: "2.5e0".into(), b: "2.5000002e0".into() };
    assert_eq!(first, &[want]);
    assert_eq!(
        found.sentence(),
        "Diverged: KMeans on hostile/ties: host (host) and H200 (host) differ after `k.iter0.centroids`, first at stage 3 \
         `k.iter1.dist`; 1 of 4 elements differ, first element 2: 2.5e0 (0x40200000) against 2.5000002e0 (0x40200001)."
    );
    // Dumps of another run must not be decoded as if they were these.
    dumped("host", &dumps_of(&paths[0]), Some(("k.iter1.dist", 0)));
    let stale = compare_files(&paths, &Options::default()).verdict;
    let Verdict::Diverged { elements: Elements::Unknown { reason }, .. } = &stale else { panic!("{stale:?}") };
    assert!(reason.contains("is not the dump of this certificate"), "{reason}");
    std::fs::remove_dir_all(dumps_of(&paths[0])).unwrap();
    let none = compare_files(&paths, &Options::default()).verdict;
    assert!(none.sentence().contains("elements unknown (dumps were not kept on both sides)"), "{}", none.sentence());
    assert_eq!(none.exit_code(), 10);
}

#[test]
fn a_moved_decision_is_decoded_without_dumps() {
    let more = changed_run("H200", |_, _, r| {
        let decision = &mut r.decisions[0];
        decision.value = 3;
        r.stages[5].blake3 = Digest::of(&3u64.to_le_bytes());
    });
    let sentence = verdict([certificate("host"), more]).sentence();
    assert!(sentence.contains("first at stage 5 `k.iter`; 1 of 1 elements differ, first element 0: 2 "), "{sentence}");
}

#[test]
fn other_stages_are_a_verdict_of_their_own() {
    type Change = fn(&mut Recording);
    let changes: [(Change, u64, &str); 4] = [
        (|r| r.stages[2].tag = "k.other".into(), 2, "`k.other` (F32 [1, 3])"),
        (|r| r.stages[2].shape = vec![3], 2, "`k.iter0.centroids` (F32 [3])"),
        (|r| r.stages[2].dtype = ml_core::Dtype::I32, 2, "`k.iter0.centroids` (I32 [1, 3])"),
        (
            |r| {
                r.stages.pop();
                r.decisions.pop();
            },
            5,
            "no further stage",
        ),
    ];
    for (change, at, words) in changes {
        let other = changed_run("H200", |_, _, r| change(r));
        let found = verdict([certificate("host"), other]);
        let Verdict::StageListDiffers { index, b, .. } = &found else { panic!("{found:?}") };
        assert_eq!((*index, b.as_str()), (at, words));
        assert_eq!(found.exit_code(), 11);
    }
}

#[test]
fn a_refusal_on_one_side_or_for_another_reason_differs() {
    let refused = |device: &str, reason: &str| {
        changed_run(device, |_, outcome, r| {
            *outcome = Outcome::Refused { reason: reason.into() };
            *r = Recording::default();
        })
    };
    let one = verdict([certificate("host"), refused("H200", "k too large")]);
    assert_eq!(one.exit_code(), 12);
    let want = "Outcomes differ: KMeans on small: host (host) and H200 (host), where one ran to its end and the other was \
                refused (k too large).";
    assert_eq!(one.sentence(), want);
    assert_eq!(verdict([refused("host", "a"), refused("H200", "b")]).exit_code(), 12);
    // Alike refusals agree, and the stages of the other runs carry the verdict.
    let both = verdict([refused("host", "a"), refused("H200", "a")]);
    assert!(matches!(both, Verdict::Equal { runs: 3, stages: 12, .. }), "{both:?}");
    // Refused late, after equal stages.
    let late = changed_run("H200", |_, outcome, _| *outcome = Outcome::Refused { reason: "late".into() });
    assert_eq!(verdict([certificate("host"), late]).exit_code(), 12);
}

#[test]
fn refusals_alone_are_no_agreement() {
    let refused = |device: &str| {
        changed(device, |_, outcome, r| {
            *outcome = Outcome::Refused { reason: "no device memory".into() };
            *r = Recording::default();
        })
    };
    let found = verdict([refused("host"), refused("H200")]);
    assert_eq!(found, Verdict::NothingCompared { column: "host (host)".into() });
    assert_eq!(found.exit_code(), 32);
    // Stages of refused runs do not count either.
    let late = |device: &str| changed(device, |_, o, _| *o = Outcome::Refused { reason: "late".into() });
    assert_eq!(verdict([late("host"), late("H200")]).exit_code(), 32);
}

#[test]
fn two_profiles_need_not_agree() {
    let other = changed("H200", |header, _, _| header.profile = "fp32/2".into());
    let found = verdict([certificate("host"), other]);
    let want = Verdict::DifferentProfile { pair: pair(), a: "fp32/1".into(), b: "fp32/2".into() };
    assert_eq!((found.exit_code(), found), (20, want));
}

#[test]
fn other_data_is_not_compared() {
    let changes: [fn(&mut Header); 2] = [
        |h| h.fixture_digests.extend([("y".to_owned(), Digest::of(b"other"))]),
        |h| h.fixture_digests.retain(|part, _| part != "y"),
    ];
    for change in changes {
        // The results differ as well, which must not be called a divergence.
        let other = |device: &str| {
            changed_run(device, |h, _, r| {
                change(h);
                *r = recording(Some(("k.x", 0)));
            })
        };
        let want = Verdict::DifferentFixtures { pair: pair(), run: run(), part: "y".into() };
        assert_eq!(verdict([certificate("host"), other("H200")]), want);
        assert_eq!(verdict([other("host"), certificate("H200")]).exit_code(), 21);
    }
}

#[test]
fn too_few_columns_are_never_equal() {
    assert_eq!(verdict([]).exit_code(), 30);
    assert_eq!(verdict([certificate("host")]).exit_code(), 30);
    let twice = verdict([certificate("host"), certificate("host")]);
    assert_eq!(twice, Verdict::MissingColumn { what: "1 of at least 2 different certificates".into() });
}

#[test]
fn a_column_that_was_asked_for_must_be_there() {
    let columns = ["host", "H200"].map(|device| column(certificate(device)));
    let ask = |names: &[&str]| {
        let expect = names.iter().map(|n| (*n).to_owned()).collect();
        compare(&columns, &Options { expect, ..Options::default() }).verdict.exit_code()
    };
    assert_eq!(ask(&["host", "H200 (host)"]), 0);
    assert_eq!(ask(&["host", "MI300X"]), 30);
}

#[test]
fn a_missing_run_is_named_on_either_side() {
    let fewer = |device: &str| Certificate::new(certificate(device).cards()[..2].to_vec()).unwrap();
    let run = Run { estimator: "PCA".into(), fixture: "small".into() };
    let (host, h200) = ("host (host)".to_owned(), "H200 (host)".to_owned());
    let want = Verdict::MissingRun { run: run.clone(), has: host.clone(), lacks: h200.clone() };
    assert_eq!(verdict([certificate("host"), fewer("H200")]), want);
    let found = verdict([fewer("host"), certificate("H200")]);
    assert_eq!(found.exit_code(), 31);
    assert_eq!(found, Verdict::MissingRun { run, has: h200, lacks: host });
}

#[test]
fn sabotage_never_supports_a_claim() {
    let arm = changed("H200", |header, _, _| header.sabotage = Some("ties".into()));
    let columns = [column(certificate("host")), column(arm)];
    let found = compare(&columns, &Options::default()).verdict;
    assert!(matches!(&found, Verdict::Invalid { reason } if reason.contains("`ties`")), "{found:?}");
    assert_eq!(found.exit_code(), 40);
    assert_eq!(compare(&columns, &Options { allow_sabotage: true, ..Options::default() }).verdict.exit_code(), 0);
}

#[test]
fn a_bad_file_is_invalid_however_many_good_ones_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b", "c"].map(|name| folder.path().join(format!("{name}.json")));
    for (path, device) in paths.iter().zip(["host", "H200", "M4"]) {
        certificate(device).save(path).unwrap();
    }
    assert_eq!(compare_files(&paths, &Options::default()).verdict.exit_code(), 0);
    let bytes = std::fs::read(&paths[1]).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    for (bad, code) in [(flipped, 40), (bytes[..bytes.len() / 2].to_vec(), 41), (Vec::new(), 41)] {
        std::fs::write(&paths[1], bad).unwrap();
        let report = compare_files(&paths, &Options::default());
        assert_eq!(report.verdict.exit_code(), code);
        assert!(report.verdict.sentence().contains("b.json"), "{}", report.verdict.sentence());
        assert_eq!(report.findings.len(), 1, "the two good ones agree");
    }
    std::fs::remove_file(&paths[1]).unwrap();
    assert_eq!(compare_files(&paths, &Options::default()).verdict.exit_code(), 40);
}

#[test]
fn all_findings_are_kept_gravest_first() {
    let moved = changed_run("H200", |_, _, r| *r = recording(Some(("k.x", 0))));
    let kept: Vec<Card> = moved.cards()[..2].to_vec();
    let report = compare(&[column(certificate("host")), column(Certificate::new(kept).unwrap())], &Options::default());
    let codes: Vec<u8> = report.findings.iter().map(Verdict::exit_code).collect();
    assert_eq!(codes, [31, 10]);
    assert_eq!(report.verdict, report.findings[0]);
}

#[test]
fn exit_codes_are_distinct_and_leave_room_for_other_failures() {
    let (pair, run, text) = (pair(), run(), String::new);
    let elements = Elements::Unknown { reason: text() };
    let all = [
        Verdict::Equal { columns: vec![], runs: 0, stages: 0 },
        Verdict::Diverged {
            pair: pair.clone(),
            run: run.clone(),
            last_equal: None,
            first_divergent: text(),
            index: 0,
            elements,
        },
        Verdict::StageListDiffers {
            pair: pair.clone(),
            run: run.clone(),
            last_equal: None,
            index: 0,
            a: text(),
            b: text(),
        },
        Verdict::OutcomeDiffers { pair: pair.clone(), run: run.clone(), a: text(), b: text() },
        Verdict::DifferentProfile { pair: pair.clone(), a: text(), b: text() },
        Verdict::DifferentFixtures { pair, run: run.clone(), part: text() },
        Verdict::MissingColumn { what: text() },
        Verdict::MissingRun { run, has: text(), lacks: text() },
        Verdict::NothingCompared { column: text() },
        Verdict::Invalid { reason: text() },
        Verdict::Truncated { reason: text() },
    ];
    let codes: std::collections::BTreeSet<u8> = all.iter().map(Verdict::exit_code).collect();
    assert_eq!(codes.len(), all.len());
    assert!([1, 2, 101].iter().all(|code| !codes.contains(code)));
    for other in &all[1..] {
        assert!(!other.sentence().to_lowercase().starts_with("equal"), "{}", other.sentence());
        assert!(other.rank() < all[0].rank());
    }
    // The documented table is the one in force.
    let table = include_str!("mod.rs");
    for code in codes {
        assert!(table.contains(&format!("//! | {code} | [`Verdict::")), "{code} is not in the table");
    }
}

/// A run of `n` stages, every third of them a decision.
fn long(n: usize) -> Recording {
    let mut recorder = crate::stage::StageRecorder::new();
    let watch: &mut dyn ml_core::Recorder = &mut recorder;
    for i in 0..n {
        match i % 3 {
            0 => watch.decision(&format!("s.{i}"), i as u64),
            1 => watch.u32(&format!("s.{i}"), &[2], &[i as u32, 7]),
            _ => watch.f32(&format!("s.{i}"), &[1, 2], &[i as f32, 0.5]),
        }
    }
    recorder.finish().unwrap()
}

/// One change to one stage.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A bit of the digest; of the value, where the stage is a decision.
    Bit(u8),
    Tag,
    Dtype,
    Shape,
}

fn apply(change: Change, at: usize, r: &mut Recording) {
    let decided = r.decisions.iter().position(|d| d.index == at as u64);
    let stage = &mut r.stages[at];
    match (change, decided) {
        (Change::Bit(bit), Some(decision)) => {
            let value = &mut r.decisions[decision].value;
            *value ^= 1 << (bit % 64);
            stage.blake3 = Digest::of(&value.to_le_bytes());
        }
        (Change::Bit(bit), None) => {
            let text = stage.blake3.to_string();
            let digit = usize::from(bit) / 4;
            let old = u32::from_str_radix(&text[digit..=digit], 16).unwrap();
            let new = format!("{}{:x}{}", &text[..digit], old ^ (1 << (bit % 4)), &text[digit + 1..]);
            stage.blake3 = serde_json::from_str(&format!("\"{new}\"")).unwrap();
        }
        (Change::Tag, _) => {
            stage.tag.push('x');
            decided.into_iter().for_each(|d| r.decisions[d].tag.push('x'));
        }
        // A decision of another type or shape is none; its tag is what can change.
        (Change::Dtype | Change::Shape, Some(_)) => apply(Change::Tag, at, r),
        (Change::Dtype, None) => stage.dtype = ml_core::Dtype::I32,
        (Change::Shape, None) => stage.shape = vec![1, 1, 2],
    }
}

proptest::proptest! {
    /// Whatever single stage is changed, and however: the comparison names that stage, its place and what is before it,
    /// through files that were written and read.
    #[test]
    fn a_single_changed_stage_is_named(n in 1usize..70, place in 0usize..70, kind in 0u8..4, bit in proptest::num::u8::ANY) {
        let at = place % n;
        let change = [Change::Bit(bit), Change::Tag, Change::Dtype, Change::Shape][usize::from(kind)];
        let make = |device: &str, change: Option<Change>| {
            let made = changed_run(device, |_, _, r| {
                *r = long(n);
                change.into_iter().for_each(|c| apply(c, at, r));
            });
            Certificate::from_bytes(&made.to_bytes()).unwrap()
        };
        let found = verdict([make("host", None), make("H200", Some(change))]);
        let before = at.checked_sub(1).map(|b| format!("s.{b}"));
        match &found {
            Verdict::Diverged { run: r, last_equal, first_divergent, index, .. } => {
                proptest::prop_assert!(matches!(change, Change::Bit(_)), "{:?}", found);
                proptest::prop_assert_eq!((r, *index as usize), (&run(), at));
                proptest::prop_assert_eq!((first_divergent, last_equal), (&format!("s.{at}"), &before));
            }
            Verdict::StageListDiffers { run: r, last_equal, index, a, .. } => {
                proptest::prop_assert!(!matches!(change, Change::Bit(_)), "{:?}", found);
                proptest::prop_assert_eq!((r, *index as usize, last_equal), (&run(), at, &before));
                let named = format!("`s.{at}`");
                proptest::prop_assert!(a.starts_with(&named), "{:?}", found);
            }
            _ => proptest::prop_assert!(false, "{:?}", found),
        }
        proptest::prop_assert_eq!(verdict([make("host", None), make("H200", None)]).exit_code(), 0);
    }
}
