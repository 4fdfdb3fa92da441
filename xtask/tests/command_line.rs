//! `cargo xtask` as people call it: what it prints, and how it ends.

use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    // No rebuilding with other runtimes, and no devices but those that a test names.
    command.args(arguments).env_remove("CARGO").env_remove("ISOBIT_DEVICES");
    command.output().expect("the program was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_task_is_listed_with_what_it_does() {
    let out = xtask(&["--help"]);
    let help = text(&out.stdout);
    assert!(out.status.success());
    for task in ["validate", "setup", "tidy", "fixtures", "arm", "doctor", "conformance"] {
        let line = help.lines().find(|l| l.trim_start().starts_with(&format!("{task} ")));
        assert!(line.is_some_and(|l| l.trim().len() > task.len() + 10), "{task} is not explained:\n{help}");
    }
}

#[test]
fn conformance_tells_one_line_a_column_and_fails_for_nothing_to_do() {
    let out = xtask(&["conformance", "--device", "host", "--threads", "2", "--filter", "exclusive_scan"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let lines: Vec<serde_json::Value> =
        text(&out.stdout).lines().map(|l| serde_json::from_str(l).expect("JSON, a line a device")).collect();
    let names: Vec<&str> = lines.iter().filter_map(|l| l["device"].as_str()).collect();
    assert_eq!(names, ["host", "host:2"]);
    assert!(lines.iter().all(|l| l["cases"].as_u64() > Some(0) && l["equal"] == l["cases"]), "{lines:?}");

    let nothing = xtask(&["conformance", "--device", "host", "--filter", "no such case"]);
    assert!(!nothing.status.success());
    assert!(text(&nothing.stderr).contains("no case matches `no such case`"));
}

#[test]
fn a_device_that_is_not_there_is_an_error_with_its_name() {
    for task in ["conformance", "doctor"] {
        let out = xtask(&[task, "--device", "cuda:99"]);
        assert!(!out.status.success(), "{task} passed without its device");
        assert!(text(&out.stderr).contains("cuda:99"), "{}", text(&out.stderr));
    }
}

#[test]
fn doctor_measures_the_host() {
    let out = xtask(&["doctor", "--device", "host", "--json"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let record: serde_json::Value = serde_json::from_slice(&out.stdout).expect("one JSON object");
    let host = &record["devices"][0];
    assert_eq!(host["device"], "host");
    assert_eq!(host["rates"]["div_ours"], host["samples"]);
    assert!(host["samples"].as_u64() > Some(1000));
}
