//! The verifier verified: whatever is wrong with the evidence, the program says what, by a code and a sentence of its own,
//! and never prints success.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ml_identity::{Card, Certificate, Header, Outcome, Recording};

fn xtask(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).env_remove("CARGO").env_remove("ISOBIT_DEVICES");
    command.output().expect("the program was built for this test")
}

/// A real certificate of the host, of runs that take no time: one of them a refusal.
fn certified(folder: &Path) -> PathBuf {
    let out = folder.to_str().expect("a folder with a plain name");
    let only = "hostile/below-tile,hostile/one-row";
    let done = xtask(&["certify", "--device", "host", "--only", only, "--estimators", "Ridge,PCA", "--out", out]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut files = std::fs::read_dir(folder).expect("was written").map(|f| f.expect("is readable").path());
    files.find(|p| p.extension().is_some_and(|e| e == "json")).expect("one certificate")
}

/// The certificate as another device would have written it, each card changed first.
fn other(certificate: &Certificate, change: impl Fn(&mut Header, &mut Outcome, &mut Recording)) -> Certificate {
    let cards = certificate.cards().iter().map(|card| {
        let (mut header, mut outcome) = (card.header().clone(), card.outcome().clone());
        let mut recording = Recording { stages: card.stages().to_vec(), decisions: card.decisions().to_vec() };
        header.device = "another device".to_owned();
        change(&mut header, &mut outcome, &mut recording);
        Card::new(header, outcome, recording).expect("consistent")
    });
    Certificate::new(cards.collect()).expect("consistent")
}

/// Exit code and the whole output of `compare`.
fn compared(files: &[&Path], more: &[&str]) -> (i32, String) {
    let mut arguments = vec!["compare"];
    arguments.extend(files.iter().map(|f| f.to_str().expect("a plain name")));
    arguments.extend(more);
    let done = xtask(&arguments);
    let text = [done.stdout, done.stderr].concat();
    (done.status.code().expect("ended by itself"), String::from_utf8_lossy(&text).into_owned())
}

/// What no output about bad evidence may contain.
fn claims_success(text: &str) -> bool {
    let text = text.to_lowercase();
    ["equal:", " runs and ", "passed", "success"].iter().any(|word| text.contains(word))
}

fn on_ridge(header: &Header) -> bool {
    header.estimator == "Ridge" && header.fixture == "hostile/below-tile"
}

#[test]
fn every_kind_of_bad_evidence_has_a_code_and_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let host_file = certified(folder.path());
    let host = Certificate::load(&host_file).expect("was just written");
    let path = folder.path().join("other.json");
    let ask = |text: &[u8], more: &[&str]| {
        std::fs::write(&path, text).expect("is writable");
        compared(&[&host_file, &path], more)
    };

    let sound = other(&host, |_, _, _| ()).to_bytes();
    let (code, text) = ask(&sound, &[]);
    assert!(code == 0 && text.starts_with("Equal: 2 certificates"), "{code}: {text}");
    assert!(claims_success(&text), "the words that are looked for are those of a success");

    let mut flipped = sound.clone();
    let digest = b"\"blake3\":\"";
    let at = sound.windows(digest.len()).position(|w| w == digest).expect("has a digest") + digest.len();
    flipped[at] = if flipped[at] == b'0' { b'1' } else { b'0' };
    let moved = other(&host, |header, _, recording| {
        if on_ridge(header) {
            recording.stages[1].blake3 = ml_identity::Digest::of(b"moved");
        }
    });
    let fewer = other(&host, |header, _, recording| {
        if on_ridge(header) {
            let dropped = recording.stages.pop().map(|s| s.index);
            recording.decisions.retain(|d| Some(d.index) != dropped);
        }
    });
    let refused = other(&host, |header, outcome, recording| {
        if on_ridge(header) {
            *outcome = Outcome::Refused { reason: "too few rows".to_owned() };
            *recording = Recording::default();
        }
    });
    let all_refused = other(&host, |_, outcome, recording| {
        *outcome = Outcome::Refused { reason: "no memory".to_owned() };
        *recording = Recording::default();
    });
    let profile = other(&host, |header, _, _| header.profile = "fp32/2".to_owned());
    let data = other(&host, |header, _, _| {
        header.fixture_digests.insert("x".to_owned(), ml_identity::Digest::of(b"other"));
    });
    let sound_certificate = Certificate::from_bytes(&sound).expect("is sound");
    let run_lost = Certificate::new(sound_certificate.cards()[1..].to_vec()).expect("is sound");
    let armed = other(&host, |header, _, _| header.sabotage = Some("TiesLast".to_owned()));

    /// What is wrong, the certificate, more arguments, the exit code and words of the sentence.
    type Case<'a> = (&'a str, Vec<u8>, &'a [&'a str], i32, &'a [&'a str]);
    let cases: [Case<'_>; 11] = [
        ("one flipped bit", flipped, &[], 40, &["Invalid:", "root"]),
        ("truncated", sound[..sound.len() / 2].to_vec(), &[], 41, &["Truncated:", "cut short"]),
        ("a stage moved", moved.to_bytes(), &[], 10, &["Diverged:", "stage 1 `ridge.gram`"]),
        ("a stage missing", fewer.to_bytes(), &[], 11, &["Stage lists differ:", "no further stage"]),
        ("a refused run", refused.to_bytes(), &[], 12, &["Outcomes differ:", "too few rows"]),
        ("two profiles", profile.to_bytes(), &[], 20, &["Different profiles:", "fp32/2"]),
        ("other data", data.to_bytes(), &[], 21, &["Different fixtures:", "`x`"]),
        ("a missing column", sound.clone(), &["--expect", "H200"], 30, &["Missing column:", "H200"]),
        ("a missing run", run_lost.to_bytes(), &[], 31, &["Missing run:"]),
        ("refusals only", all_refused.to_bytes(), &[], 32, &["Nothing compared:"]),
        ("a sabotaged run", armed.to_bytes(), &[], 40, &["Invalid:", "on purpose (`TiesLast`)"]),
    ];
    for (what, text, more, want, words) in &cases {
        let (code, said) = ask(text, more);
        assert_eq!(code, *want, "{what}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{what}: {said}");
        assert!(!claims_success(&said), "{what}: {said}");
    }
    // One file alone, or one file twice, is a missing column too.
    for files in [vec![host_file.as_path()], vec![host_file.as_path(); 2]] {
        let (code, said) = compared(&files, &[]);
        assert!(code == 30 && said.starts_with("Missing column:") && !claims_success(&said), "{code}: {said}");
    }
}

#[test]
fn no_flipped_bit_and_no_cut_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let host_file = certified(folder.path());
    let sound = other(&Certificate::load(&host_file).expect("was just written"), |_, _, _| ()).to_bytes();
    let path = folder.path().join("other.json");
    // A hundred places, each with another bit; the tests of ml-identity take every bit.
    for (i, at) in (0..sound.len()).step_by(sound.len() / 100).enumerate() {
        let mut flipped = sound.clone();
        flipped[at] ^= 1 << (i % 8);
        for bad in [flipped, sound[..at].to_vec()] {
            std::fs::write(&path, bad).expect("is writable");
            let (code, said) = compared(&[&host_file, &path], &[]);
            assert!(matches!(code, 40 | 41) && !claims_success(&said), "byte {at}: {code}: {said}");
        }
    }
}

#[test]
fn an_inert_arm_fails_by_name() {
    let done = xtask(&["sabotage", "--device", "host", "--arm", "None"]);
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert_eq!(done.status.code(), Some(50), "{said}");
    assert!(said.contains("Inert: 1 arms") && said.contains("INERT") && !claims_success(&said), "{said}");
    assert!(!said.contains("each moved"), "{said}");

    let done = xtask(&["sabotage", "--device", "host", "--arm", "SevenRounds"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("each moved a stage of its clause"), "{said}");

    let done = xtask(&["sabotage", "--device", "host", "--arm", "NoSuchArm"]);
    assert!(!done.status.success() && String::from_utf8_lossy(&done.stderr).contains("known arms: None, Keep"));
}

#[test]
fn certify_does_not_claim_what_it_did_not_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("a plain name");
    // A device that is not there, and a choice that leaves no run.
    for more in [&["--device", "cuda:99"][..], &["--device", "host", "--only", "no-such-fixture"]] {
        let done = xtask(&[&["certify", "--out", out], more].concat());
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(!done.status.success() && !said.contains("written to"), "{more:?}: {said}");
        assert!(std::fs::read_dir(folder.path()).expect("is there").next().is_none(), "{more:?} left a file");
    }
}
