//! Tests of the support matrix: it says what the certificates say, and refuses what cannot be set side by side.

use super::*;
use crate::stage::Recording;
use crate::testing::{certificate, changed, recording};

fn table(certificates: &[Certificate]) -> Vec<String> {
    let text = SupportMatrix::new(certificates).unwrap().to_markdown();
    text.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The text of a cell.
fn at(line: &str, column: usize) -> &str {
    line.split('|').nth(column + 2).unwrap().trim()
}

fn refused(certificates: &[Certificate], word: &str) {
    let error = SupportMatrix::new(certificates).unwrap_err();
    assert!(matches!(&error, IdentityError::Support { reason } if reason.contains(word)), "{word}: {error}");
}

#[test]
fn equal_devices_have_equal_cells() {
    let lines = table(&[certificate("host"), certificate("H200")]);
    assert_eq!(lines[..2], ["| estimator | H200 (host) | host (host) |", "|---|---|---|"]);
    assert_eq!(lines.len(), 4);
    assert!(lines[2].starts_with("| KMeans | `") && lines[3].starts_with("| PCA | `"), "{lines:?}");
    assert_eq!(at(&lines[2], 0), at(&lines[2], 1));
    assert!(at(&lines[2], 0).ends_with("` (2)") && at(&lines[3], 0).ends_with("` (1)"), "{lines:?}");
    assert_ne!(at(&lines[2], 0), at(&lines[3], 0));
}

#[test]
fn a_divergence_is_marked_and_shows() {
    let moved = changed("H200", |header, _, r| {
        if header.estimator == "PCA" {
            *r = recording(Some(("k.x", 0)));
        }
    });
    let lines = table(&[certificate("host"), moved]);
    assert!(lines[2].starts_with("| KMeans | ") && lines[3].starts_with("| PCA ≠ | "), "{lines:?}");
    assert_ne!(at(&lines[3], 0), at(&lines[3], 1));
}

#[test]
fn a_device_without_a_card_claims_nothing() {
    let fewer = Certificate::new(certificate("H200").cards()[..2].to_vec()).unwrap();
    let lines = table(&[certificate("host"), fewer]);
    assert_eq!(at(&lines[3], 0), "–");
    // A run that only one device has is no divergence, and the number of runs tells the cells apart.
    let one = Certificate::new(certificate("H200").cards()[..1].to_vec()).unwrap();
    let lines = table(&[certificate("host"), one]);
    assert!(lines[2].starts_with("| KMeans | "), "{lines:?}");
    assert!(at(&lines[2], 0).ends_with("(1)") && at(&lines[2], 1).ends_with("(2)"), "{lines:?}");
}

#[test]
fn refusals_are_counted_and_alone_claim_nothing() {
    let refuses = |fixture: &'static str| {
        move |header: &mut crate::Header, outcome: &mut Outcome, r: &mut Recording| {
            if header.fixture == fixture {
                *outcome = Outcome::Refused { reason: "too few rows".into() };
                *r = Recording::default();
            }
        }
    };
    let lines = table(&[changed("host", refuses("small"))]);
    assert!(at(&lines[2], 0).ends_with("` (2, 1 refused)"), "{lines:?}");
    assert_eq!(at(&lines[3], 0), "–", "PCA ran on nothing else");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    refused(&[certificate("host"), certificate("host")], "two certificates of host (host)");
    refused(&[changed("host", |h, _, _| h.sabotage = Some("ties".into()))], "sabotaged");
    refused(&[certificate("host"), changed("H200", |h, _, _| h.profile = "fp32/2".into())], "profiles");
    let other = changed("H200", |h, _, _| h.fixture_digests.extend([("y".to_owned(), Digest::of(b"other"))]));
    refused(&[certificate("host"), other], "other data");
}

#[test]
fn names_cannot_break_the_table() {
    let odd = changed("a|b\n`c`", |_, _, _| ());
    let lines = table(&[odd]);
    assert_eq!(lines[0], "| estimator | a\\|b \\`c\\` (host) |");
}

#[test]
fn a_folder_is_read_whole_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let none = SupportMatrix::from_folder(folder.path()).unwrap();
    assert_eq!(none.to_markdown(), "No device is certified yet.\n");
    certificate("host").save(folder.path().join("b.json")).unwrap();
    certificate("H200").save(folder.path().join("a.json")).unwrap();
    std::fs::write(folder.path().join("README.md"), "not a certificate").unwrap();
    std::fs::create_dir(folder.path().join("a.dumps")).unwrap();
    let both = SupportMatrix::from_folder(folder.path()).unwrap();
    assert_eq!(both, SupportMatrix::new(&[certificate("host"), certificate("H200")]).unwrap());
    std::fs::write(folder.path().join("c.json"), "{").unwrap();
    assert!(matches!(SupportMatrix::from_folder(folder.path()), Err(IdentityError::Truncated { .. })));
    assert!(matches!(SupportMatrix::from_folder(folder.path().join("absent")), Err(IdentityError::Io { .. })));
}

#[test]
fn the_readme_is_checked_and_rewritten_between_its_markers() {
    let matrix = SupportMatrix::new(&[certificate("host")]).unwrap();
    let readme = format!("# Title\n\n{BEGIN}\nthe former table\n{END}\n\nMore.\n");
    assert!(matches!(check_readme(&readme, &matrix), Err(IdentityError::Support { .. })));
    let new = rewrite_readme(&readme, &matrix).unwrap();
    assert!(
        new.starts_with("# Title\n\n<!-- support:begin -->\n\n| estimator |") && new.ends_with("\n\nMore.\n"),
        "{new}"
    );
    assert!(!new.contains("former"));
    check_readme(&new, &matrix).unwrap();
    assert_eq!(rewrite_readme(&new, &matrix).unwrap(), new);
    // By hand, one digit.
    let at = new.find('`').unwrap() + 1;
    let mut edited = new.clone();
    edited.replace_range(at..at + 1, if &new[at..at + 1] == "0" { "1" } else { "0" });
    assert!(check_readme(&edited, &matrix).is_err());
    for bad in [
        "no markers".to_owned(),
        format!("{END}{BEGIN}"),
        BEGIN.to_owned(),
        format!("{END}{BEGIN}{END}"),
        format!("{BEGIN}{BEGIN}{END}"),
        format!("{BEGIN}{END}{END}"),
        format!("{BEGIN}{END}{BEGIN}{END}"),
    ] {
        assert!(rewrite_readme(&bad, &matrix).is_err(), "{bad}");
    }
}
