//! Tests of cards: they come back whole, and no damage, edit or contradiction passes.

use ml_core::Dtype;
use serde_json::Value;

use super::*;
use crate::testing::{card, header, recording};

fn sound() -> Card {
    card("host", "KMeans", "small")
}

fn error(bytes: &[u8]) -> IdentityError {
    Card::from_bytes(bytes).expect_err("the card must be refused")
}

/// The card after a change of its JSON, sealed and spelled as ours would be, but with the root it had.
fn edited(change: impl FnOnce(&mut RawCard)) -> Vec<u8> {
    let mut raw: RawCard = serde_json::from_slice(&sound().to_bytes()).unwrap();
    change(&mut raw);
    // Made without the checks that `Card::new` would do.
    let recording = Recording { stages: raw.stages, decisions: raw.decisions };
    Card { header: raw.header, outcome: raw.outcome, recording, root: raw.root }.to_bytes()
}

#[test]
fn a_card_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    let card = sound();
    card.save(&path).unwrap();
    let back = Card::load(&path).unwrap();
    assert_eq!(back, card);
    assert_eq!(back.to_bytes(), std::fs::read(&path).unwrap());
    assert_eq!(back.stages().len(), 6);
    assert_eq!(back.decisions(), [Decision { index: 5, tag: "k.iter".into(), value: 2 }]);
    assert_eq!(back.outcome(), &Outcome::Ran);
    assert_eq!(back.header().column(), "host (host)");
    let refused = Outcome::Refused { reason: "parameter `k` must be at least 1, got 0".into() };
    let refused = Card::new(header("host", "KMeans", "small"), refused, Recording::default()).unwrap();
    assert_eq!(Card::from_bytes(&refused.to_bytes()).unwrap(), refused);
}

#[test]
fn the_file_is_plain_json_with_a_line_per_stage() {
    let bytes = sound().to_bytes();
    let json: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(json["format"], "isobit-card/1");
    assert_eq!(json["stages"][0]["tag"], "k.x");
    assert_eq!(json["stages"][0]["dtype"], "f32");
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"index\"")).count(), 6 + 1);
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = sound().to_bytes();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(Card::from_bytes(&changed).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn every_truncation_is_refused() {
    let bytes = sound().to_bytes();
    for len in 0..bytes.len() - 1 {
        let error = error(&bytes[..len]);
        assert!(matches!(error, IdentityError::Truncated { .. }), "cut to {len}: {error}");
    }
    assert!(matches!(error(&bytes[..bytes.len() - 1]), IdentityError::Respelled { .. }), "without the last line end");
}

#[test]
fn every_absent_field_is_refused() {
    let json: Value = serde_json::from_slice(&sound().to_bytes()).unwrap();
    let refused = |json: Value, field: &str| {
        let error = error(&serde_json::to_vec(&json).unwrap());
        assert!(
            matches!(&error, IdentityError::Malformed { reason, .. } if reason.contains(field)),
            "{field}: {error}"
        );
    };
    type Part = fn(&mut Value) -> &mut Value;
    let parts: [(&str, Part); 5] = [
        ("card", |v| v),
        ("header", |v| &mut v["header"]),
        ("outcome", |v| &mut v["outcome"]),
        ("decision", |v| &mut v["decisions"][0]),
        ("stage", |v| &mut v["stages"][2]),
    ];
    let mut fields = 0;
    for (part, get) in parts {
        let names: Vec<String> = get(&mut json.clone()).as_object().unwrap().keys().cloned().collect();
        for name in names {
            let mut without = json.clone();
            get(&mut without).as_object_mut().unwrap().remove(&name);
            refused(without, &name);
            fields += 1;
        }
        let mut with = json.clone();
        get(&mut with).as_object_mut().unwrap().insert("surplus".into(), 1.into());
        if part != "outcome" {
            refused(with, "surplus");
        } else {
            // serde lets this one through; the spelling does not.
            error(&serde_json::to_vec(&with).unwrap());
        }
    }
    assert_eq!(fields, 7 + 13 + 1 + 3 + 6);
}

#[test]
fn edits_are_refused_by_what_they_break() {
    let stage = error(&edited(|c| c.stages[1].blake3 = Digest::of(b"moved")));
    assert!(matches!(&stage, IdentityError::Root { .. }), "{stage}");
    let tag = error(&edited(|c| c.stages[1].tag = "k.other".into()));
    assert!(matches!(&tag, IdentityError::Root { .. }), "{tag}");
    let gone = error(&edited(|c| drop(c.stages.remove(4))));
    assert!(matches!(&gone, IdentityError::Inconsistent { .. }), "{gone}");
    let root = error(&edited(|c| c.root = Digest::of(b"x")));
    assert!(matches!(&root, IdentityError::Root { .. }), "{root}");
    for (name, bytes) in [
        ("count", edited(|c| c.stages[1].count += 1)),
        ("shape", edited(|c| c.stages[1].shape = vec![u64::MAX, u64::MAX])),
        ("index", edited(|c| c.stages[1].index = 7)),
        ("tag", edited(|c| c.stages[1].tag.clear())),
        ("decision value", edited(|c| c.decisions[0].value += 1)),
        ("decision index", edited(|c| c.decisions[0].index += 1)),
        ("decision tag", edited(|c| c.decisions[0].tag.push('x'))),
        ("decision gone", edited(|c| c.decisions.clear())),
        ("decision too many", edited(|c| c.decisions.push(Decision { index: 5, tag: "k.iter".into(), value: 2 }))),
        ("reason", edited(|c| c.outcome = Outcome::Refused { reason: " ".into() })),
        ("no fixture", edited(|c| c.header.fixture_digests.clear())),
        ("date", edited(|c| c.header.date = "30.11.2026".into())),
        ("features", edited(|c| c.header.features.reverse())),
        ("sabotage", edited(|c| c.header.sabotage = Some(String::new()))),
        ("device", edited(|c| c.header.device = " ".into())),
    ] {
        let error = error(&bytes);
        assert!(matches!(&error, IdentityError::Inconsistent { .. }), "{name}: {error}");
    }
}

#[test]
fn an_edit_that_keeps_the_root_breaks_the_seal() {
    let text = String::from_utf8(sound().to_bytes()).unwrap();
    for (from, to) in [
        ("\"device\":\"host\"", "\"device\":\"H200\""),
        ("2026-11-30", "2026-12-01"),
        ("\"fixture\":\"small\"", "\"fixture\":\"large\""),
        ("{\"kind\":\"ran\"}", "{\"kind\":\"refused\",\"reason\":\"x\"}"),
        ("\"sabotage\":null", "\"sabotage\":\"ties\""),
    ] {
        assert!(text.contains(from), "{from}");
        let error = error(text.replacen(from, to, 1).as_bytes());
        assert!(matches!(&error, IdentityError::Seal { .. }), "{from}: {error}");
    }
}

#[test]
fn another_spelling_is_refused() {
    let text = String::from_utf8(sound().to_bytes()).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    for other in [
        text.replace('\n', "\r\n"),
        text.replace(",\n\"root\"", ", \n\"root\""),
        serde_json::to_string(&json).unwrap(),
        text.replace("k.x", "k\\u002ex"),
    ] {
        let error = error(other.as_bytes());
        assert!(matches!(&error, IdentityError::Respelled { .. }), "{error}");
    }
}

#[test]
fn foreign_files_are_refused_by_kind() {
    let version = error(br#"{"format":"isobit-card/2","news":1}"#);
    assert_eq!(version.to_string(), "<bytes>: format is `isobit-card/2`, this build reads `isobit-card/1`");
    for bytes in [&b"[]"[..], b"{}", b"no", b"{\"format\":1}", b"\xff\xff"] {
        let error = error(bytes);
        assert!(matches!(&error, IdentityError::Malformed { .. }), "{error}");
    }
    assert!(matches!(error(b""), IdentityError::Truncated { .. }));
    let deep = "[".repeat(100_000);
    assert!(Card::from_bytes(deep.as_bytes()).is_err());
    assert!(matches!(Card::load("absent/card.json"), Err(IdentityError::Io { .. })));
}

#[test]
fn a_run_without_stages_is_no_card() {
    let none = Card::new(header("host", "KMeans", "small"), Outcome::Ran, Recording::default());
    assert!(matches!(none, Err(IdentityError::Inconsistent { .. })));
}

#[test]
fn the_result_leaves_the_device_out_and_takes_the_rest_in() {
    let make = |change: &dyn Fn(&mut Header, &mut Outcome, &mut Recording)| {
        let (mut h, mut o, mut r) = (header("host", "KMeans", "small"), Outcome::Ran, recording(None));
        change(&mut h, &mut o, &mut r);
        Card::new(h, o, r).unwrap().result_digest()
    };
    let plain = make(&|_, _, _| ());
    assert_eq!(make(&|h, _, _| h.device = "H200".into()), plain);
    assert_eq!(make(&|h, _, _| h.date = "2027-01-01".into()), plain);
    assert_ne!(make(&|h, _, _| h.profile = "fp32/2".into()), plain);
    assert_ne!(make(&|h, _, _| h.estimator = "PCA".into()), plain);
    assert_ne!(make(&|h, _, _| h.fixture = "large".into()), plain);
    assert_ne!(make(&|h, _, _| h.fixture_digests.retain(|part, _| part != "y")), plain);
    assert_ne!(make(&|_, o, _| *o = Outcome::Refused { reason: "x".into() }), plain);
    assert_ne!(make(&|_, _, r| r.stages[0].dtype = Dtype::I32), plain);
}

#[test]
fn a_header_tells_where_and_when() {
    let header = Header::on(&Device::host(), "KMeans", "flights.csv");
    assert_eq!((header.runtime.as_str(), header.estimator.as_str()), ("host", "KMeans"));
    assert_eq!(header.date.len(), 10);
    assert!(header.date.starts_with("20"), "{}", header.date);
    // What only the caller knows is still to be said.
    assert_eq!(header.fault().unwrap(), "header field `command` is empty");
}
