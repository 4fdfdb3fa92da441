//! Tests of certificates: one device, one card per run, nothing changed.

use super::*;
use crate::card::Outcome;
use crate::testing::{RUNS, card, certificate, changed, header, recording};

fn error(bytes: &[u8]) -> IdentityError {
    Certificate::from_bytes(bytes).expect_err("the certificate must be refused")
}

#[test]
fn a_certificate_comes_back_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.json");
    let cards = RUNS.iter().rev().map(|(estimator, fixture)| card("host", estimator, fixture)).collect();
    let certificate = Certificate::new(cards).unwrap();
    certificate.save(&path).unwrap();
    let back = Certificate::load(&path).unwrap();
    assert_eq!(back, certificate);
    let runs: Vec<_> = back.cards().iter().map(run).collect();
    assert_eq!(runs, RUNS);
    for (estimator, fixture) in RUNS {
        assert_eq!(run(back.card(estimator, fixture).unwrap()), (estimator, fixture));
    }
    assert!(back.card("KMeans", "absent").is_none());
    assert_eq!(back.column(), "host (host)");
}

#[test]
fn roots_are_equal_across_devices_and_seals_are_not() {
    let (a, b) = (certificate("host"), certificate("H200"));
    assert_eq!(a.root(), b.root());
    assert_ne!(a.seal(), b.seal());
    let moved = changed("H200", |header, _, recording_of| {
        if header.estimator == "PCA" {
            *recording_of = recording(Some(("k.x", 3)));
        }
    });
    assert_ne!(moved.root(), a.root());
    // The estimator that moved is told from one that did not.
    assert_ne!(moved.root_of("PCA"), a.root_of("PCA"));
    assert_eq!(moved.root_of("KMeans"), a.root_of("KMeans"));
    assert_ne!(a.root_of("KMeans"), a.root_of("PCA"));
    assert!(a.root_of("KMeans").is_some());
    assert_eq!(a.root_of("Ridge"), None);
}

#[test]
fn flipped_bits_and_truncations_are_refused() {
    let bytes = certificate("host").to_bytes();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        error(&flipped);
    }
    for len in (0..bytes.len() - 1).step_by(7) {
        let error = error(&bytes[..len]);
        assert!(matches!(error, IdentityError::Truncated { .. }), "{len}: {error}");
    }
}

#[test]
fn an_absent_or_swapped_card_breaks_the_root() {
    let bytes = String::from_utf8(certificate("host").to_bytes()).unwrap();
    let two = Certificate::new(certificate("host").cards()[..2].to_vec()).unwrap();
    // The cards of two under the root of three.
    let body = two.body().replace(&two.root().to_string(), &certificate("host").root().to_string());
    let forged = format!("{body},\n\"seal\":{}}}\n", line(&seal("isobit certificate/1 seal", &body)));
    assert!(matches!(error(forged.as_bytes()), IdentityError::Root { .. }));
    let seal = certificate("host").seal().to_string();
    let other = bytes.replace(&seal, &certificate("H200").seal().to_string());
    assert!(matches!(error(other.as_bytes()), IdentityError::Seal { .. }));
    assert!(matches!(error(bytes.replace('\n', "\r\n").as_bytes()), IdentityError::Respelled { .. }));
    assert!(matches!(error(&card("host", "KMeans", "small").to_bytes()), IdentityError::Version { .. }));
}

#[test]
fn cards_of_two_devices_or_of_one_run_do_not_mix() {
    let refused = |cards: Vec<Card>, word: &str| {
        let error = Certificate::new(cards).unwrap_err();
        assert!(
            matches!(&error, IdentityError::Inconsistent { reason, .. } if reason.contains(word)),
            "{word}: {error}"
        );
    };
    refused(vec![], "without a card");
    let one = card("host", "KMeans", "small");
    refused(vec![one.clone(), one.clone()], "two cards of KMeans on small");
    type Change = fn(&mut Header);
    let changes: [(&str, Change); 8] = [
        ("profile", |h| h.profile.push('0')),
        ("crate version", |h| h.crate_version.push('0')),
        ("git commit", |h| h.git_commit.push('0')),
        ("device", |h| h.device.push('0')),
        ("runtime", |h| h.runtime.push('0')),
        ("driver", |h| h.driver.push('0')),
        ("feature set", |h| drop(h.features.pop())),
        ("sabotage", |h| h.sabotage = Some("ties".into())),
    ];
    for (word, change) in changes {
        let mut header = header("host", "PCA", "small");
        change(&mut header);
        refused(vec![one.clone(), Card::new(header, Outcome::Ran, recording(None)).unwrap()], word);
    }
}
