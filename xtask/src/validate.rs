//! `validate`: exactly what CI runs, cheapest first. Every step runs, whatever became of those before it, and every step
//! and column is named at the end: passed, failed, or not run and why.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::{arm, independent, process, setup};

/// Run every check of the workspace: what CI runs, cheapest first.
///
/// The columns are those of ISOBIT_DEVICES where that is set; else the host and the software Vulkan drivers that
/// `setup` installs.
#[derive(clap::Args)]
pub struct Args {
    /// Install what is missing first (Debian, as root)
    #[arg(long)]
    setup: bool,
    /// Also cross-compile for aarch64 and run that column under qemu (Debian, as root; slow)
    #[arg(long)]
    arm: bool,
    /// Also run what takes long: certificates and negative controls on every column, the independent checker, property
    /// tests with more cases, primitives on random shapes and hostile data, the audit of generated code, and the checks of
    /// the runtimes that this machine has no device of
    #[arg(long)]
    long: bool,
    /// Only steps whose name contains this; may be given again
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    /// Not run. `needed`: a run that was to install everything, or CI, must not pass without it.
    Skipped {
        why: String,
        needed: bool,
    },
}

/// One line of the summary.
struct Done {
    name: String,
    outcome: Outcome,
    time: Duration,
}

/// The run so far, and what all its children see.
struct Validate<'a> {
    args: &'a Args,
    /// Device names of the columns that can run.
    columns: Vec<String>,
    /// Driver manifests of the columns, for the Vulkan loader; empty where the machine's own are used.
    manifests: Vec<std::path::PathBuf>,
    done: Vec<Done>,
}

/// Runs the task.
///
/// # Errors
/// [`Error::Found`] if a step failed, or if a needed one did not run.
pub fn run(args: &Args) -> Result<()> {
    let mut v = Validate { args, columns: vec!["host".to_owned()], manifests: Vec::new(), done: Vec::new() };
    if args.setup {
        v.always("setup", |_| setup::run(&setup::Args {}));
    }
    v.find_columns();
    let features = v.features();
    let features = features.as_str();

    v.step("fmt", |v| v.cargo(&["fmt", "--all", "--check"]));
    v.step("tidy", |_| crate::tidy::run(&crate::tidy::Args {}));
    v.step("fixtures", |_| crate::fixtures::run(&crate::fixtures::Args::default()));
    v.step("host-only dependencies", |_| host_only_dependencies());
    v.step("one resolution", |_| one_resolution(features));
    v.step("host-only check", |v| v.cargo(&["check", "--locked", "--package", "isobit"]));
    v.step("host-only clippy", |v| {
        let packages = ["-p", "isobit", "-p", "ml-kernels"];
        let arguments = ["--features", "isobit/cli", "--all-targets", "--", "-Dwarnings"];
        v.cargo(&[&["clippy", "--locked"], &packages[..], &arguments[..]].concat())
    });
    v.step("clippy", |v| {
        v.cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--features", features, "--", "-Dwarnings"])
    });
    v.step("docs", |v| {
        let mut command = process::cargo();
        command.args(["doc", "--locked", "--workspace", "--no-deps", "--features", features]);
        v.run(command.env("RUSTDOCFLAGS", "-Dwarnings"))
    });
    // The conformance test is the conformance step below, with its counts for each column.
    v.step("tests", |v| {
        v.cargo(&["test", "--locked", "--workspace", "--features", features, "--", "--skip", CONFORMANCE_TEST])
    });
    v.conformance(features);
    v.step("support matrix", |_| crate::support::run(&crate::support::Args::default()));
    v.deny();
    if args.long {
        // Neither needs its vendor's software to be built: libraries are looked for when a device is opened.
        for runtime in ["cuda", "hip"] {
            let features = format!("isobit/{runtime},isobit/cli");
            v.step(&format!("{runtime} check"), |v| {
                v.cargo(&["check", "--locked", "--package", "isobit", "--bins", "--features", &features])
            });
        }
        // The code generators are built for this step alone.
        v.step("audit", |v| {
            let with = ["--locked", "--quiet", "--package", "xtask", "--features", "audit"];
            v.cargo(&[&["test"], &with[..], &["audit::"]].concat())?;
            v.cargo(&[&["run"], &with[..], &["--", "audit"]].concat())
        });
        v.step("stress", |v| {
            let test = ["test", "--locked", "--workspace", "--features", features, "--test", "stress"];
            v.cargo(&[&test[..], &["--", "--ignored"]].concat())
        });
        v.step("certify", |v| v.on_columns(features, "certify"));
        v.step("sabotage", |v| v.on_columns(features, "sabotage"));
        v.independent();
    }
    if args.arm {
        v.step("aarch64 under qemu", |_| arm::run(&arm::Args::default()));
    }
    v.finish()
}

/// The test of `crates/ml-kernels/tests/conformance.rs` that the conformance step stands in for.
const CONFORMANCE_TEST: &str = "every_device_gives_the_bytes_of_the_reference";

impl Validate<'_> {
    /// The columns that the machine has; each that it lacks is noted as not run.
    fn find_columns(&mut self) {
        if let Ok(listed) = std::env::var("ISOBIT_DEVICES") {
            self.columns = listed.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).collect();
            println!("columns, as ISOBIT_DEVICES lists them: {}", self.columns.join(", "));
            return;
        }
        for column in setup::columns() {
            match column.manifest {
                Some(path) => {
                    self.columns.push(column.device.to_owned());
                    self.manifests.push(path);
                }
                None => self.skip(&format!("column {}", column.device), format!("install {}", column.install), true),
            }
        }
        println!("columns: {}", self.columns.join(", "));
    }

    /// One feature set for all steps that build with a GPU runtime, so that nothing is built twice.
    fn features(&self) -> String {
        let mut runtimes = vec!["wgpu"];
        for runtime in ["cuda", "hip"] {
            if self.columns.iter().any(|c| c.starts_with(runtime)) {
                runtimes.push(runtime);
            }
        }
        let runtimes = runtimes.iter().map(|r| format!("isobit/{r},xtask/{r}"));
        // The oracle is built for the tests of ml-kernels anyway, the command for its own.
        let programs = ["isobit/cli", "xtask/oracle"].map(str::to_owned);
        runtimes.chain(programs).collect::<Vec<_>>().join(",")
    }

    fn wanted(&self, name: &str) -> bool {
        self.args.only.is_empty() || self.args.only.iter().any(|text| name.contains(text))
    }

    /// A step, if it is wanted.
    fn step(&mut self, name: &str, work: impl FnOnce(&Self) -> Result<()>) {
        if self.wanted(name) {
            self.always(name, work);
        }
    }

    fn always(&mut self, name: &str, work: impl FnOnce(&Self) -> Result<()>) {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = match work(self) {
            Ok(()) => Outcome::Passed,
            Err(e) => {
                eprintln!("{name}: {e}");
                Outcome::Failed(e.to_string().lines().next().unwrap_or_default().to_owned())
            }
        };
        self.note(name, outcome, start.elapsed());
    }

    fn note(&mut self, name: &str, outcome: Outcome, time: Duration) {
        self.done.push(Done { name: name.to_owned(), outcome, time });
    }

    fn skip(&mut self, name: &str, why: String, needed: bool) {
        self.note(name, Outcome::Skipped { why, needed }, Duration::ZERO);
    }

    fn cargo(&self, args: &[&str]) -> Result<()> {
        self.run(process::cargo().args(args))
    }

    /// Runs a child that sees the columns.
    fn run(&self, command: &mut Command) -> Result<()> {
        println!("   {}", process::text(command));
        process::run(self.environment(command))
    }

    fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("ISOBIT_DEVICES", self.columns.join(","));
        if let Ok(list) = std::env::join_paths(&self.manifests)
            && !list.is_empty()
        {
            command.env("VK_DRIVER_FILES", &list).env("VK_ICD_FILENAMES", &list);
        }
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
        }
        if self.args.long {
            command.env("PROPTEST_CASES", "4096");
        }
        command
    }

    /// This program as the tests step has built it: with the runtimes.
    ///
    /// `cargo run --package xtask` would resolve the features of shared dependencies without those of the tests, and
    /// build every GPU crate a second time.
    fn program(&self, features: &str) -> Result<Command> {
        self.cargo(&["build", "--locked", "--workspace", "--bins", "--tests", "--features", features])?;
        let name = format!("xtask{}", std::env::consts::EXE_SUFFIX);
        Ok(Command::new(process::target_dir().join("debug").join(name)))
    }

    /// `--device NAME` for every column.
    fn device_arguments(&self) -> Vec<&str> {
        self.columns.iter().flat_map(|c| ["--device", c.as_str()]).collect()
    }

    /// Another task of this program on all columns.
    fn on_columns(&self, features: &str, task: &str) -> Result<()> {
        let mut command = self.program(features)?;
        self.run(command.arg(task).args(self.device_arguments()))
    }

    /// The conformance suite on all columns in one process; a line of the summary for each.
    fn conformance(&mut self, features: &str) {
        if !self.wanted("conformance") {
            return;
        }
        println!("\n== conformance");
        let start = Instant::now();
        let run = self.program(features).and_then(|mut command| {
            command.arg("conformance").args(self.device_arguments());
            println!("   {}", process::text(&command));
            records(self.environment(&mut command))
        });
        let (records, ended) = run.unwrap_or_else(|e| (Vec::new(), Err(e)));
        for record in &records {
            let count = |key: &str| record[key].as_u64().unwrap_or_default();
            let name = format!("conformance {}", record["device"].as_str().unwrap_or("?"));
            let outcome = match (count("equal"), count("cases")) {
                (equal, cases) if equal == cases && cases > 0 => Outcome::Passed,
                (equal, cases) => Outcome::Failed(format!("{} of {cases} cases are not equal", cases - equal)),
            };
            let seconds = record["seconds"].as_f64().unwrap_or_default();
            self.note(&name, outcome, Duration::try_from_secs_f64(seconds).unwrap_or_default());
        }
        // A process that ended badly without having told a column's result would otherwise go unnoticed.
        let failed = self.done.iter().any(|d| d.name.starts_with("conformance ") && d.outcome != Outcome::Passed);
        match ended {
            Err(e) if !failed => self.note("conformance", Outcome::Failed(e.to_string()), start.elapsed()),
            Ok(()) if records.len() < self.columns.len() => {
                let why = format!("{} of {} columns told their result", records.len(), self.columns.len());
                self.note("conformance", Outcome::Failed(why), start.elapsed());
            }
            _ => {}
        }
    }

    /// Licences, sources and bans of the dependencies.
    fn deny(&mut self) {
        if process::present("cargo-deny") {
            self.step("deny", |v| {
                v.cargo(&["deny", "--offline", "--workspace", "check", "bans", "licenses", "sources"])
            });
        } else if self.wanted("deny") {
            self.skip("deny", "install cargo-deny (cargo install --locked cargo-deny)".to_owned(), false);
        }
    }

    /// The certificate of the host, recomputed in Python from the text of the contract.
    fn independent(&mut self) {
        const NAME: &str = "independent";
        match independent::interpreter() {
            Ok(python) => self.step(NAME, |v| independent::check(&python, |command| v.run(command))),
            Err(why) if self.wanted(NAME) => self.skip(NAME, why, false),
            Err(_) => {}
        }
    }

    /// Prints the summary; the last line is the counts alone.
    fn finish(self) -> Result<()> {
        let strict = self.args.setup || std::env::var("CI").is_ok_and(|ci| ci == "true");
        println!("\n== summary");
        for done in &self.done {
            let seconds = done.time.as_secs_f64();
            match &done.outcome {
                Outcome::Passed => println!("passed  {seconds:>7.1} s  {}", done.name),
                Outcome::Failed(why) => println!("FAILED  {seconds:>7.1} s  {}: {why}", done.name),
                Outcome::Skipped { why, .. } => println!("not run            {}: {why}", done.name),
            }
        }
        let (passed, failed, skipped, verdict) = verdict(&self.done, strict);
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        verdict
    }
}

/// Counts, and whether the run may pass: `strict` runs must not lack a needed column.
fn verdict(done: &[Done], strict: bool) -> (usize, usize, usize, Result<()>) {
    let count = |f: fn(&Outcome) -> bool| done.iter().filter(|d| f(&d.outcome)).count();
    let passed = count(|o| *o == Outcome::Passed);
    let failed = count(|o| matches!(o, Outcome::Failed(_)));
    let skipped = count(|o| matches!(o, Outcome::Skipped { .. }));
    let lacking = count(|o| matches!(o, Outcome::Skipped { needed: true, .. }));
    let verdict = if failed > 0 {
        Err(Error::Found(format!("{failed} steps failed")))
    } else if strict && lacking > 0 {
        Err(Error::Missing(format!("{lacking} columns could not run")))
    } else if passed == 0 {
        Err(Error::Found("no step ran".to_owned()))
    } else {
        Ok(())
    };
    (passed, failed, skipped, verdict)
}

/// The JSON lines that a child prints, each shown as it comes, and how the child ended.
fn records(command: &mut Command) -> Result<(Vec<serde_json::Value>, Result<()>)> {
    let line = process::text(command);
    let start = |source| Error::Start { program: line.clone(), source };
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(start)?;
    let mut records = Vec::new();
    for text in BufReader::new(child.stdout.take().expect("stdout is piped")).lines().map_while(|l| l.ok()) {
        println!("{text}");
        records.extend(serde_json::from_str(&text).ok());
    }
    let status = child.wait().map_err(start)?;
    let ended = match status.success() {
        true => Ok(()),
        false => Err(Error::Program { command: line, status: status.to_string(), output: String::new() }),
    };
    Ok((records, ended))
}

/// With default features the package `isobit` must not pull in a GPU runtime.
fn host_only_dependencies() -> Result<()> {
    let mut command = process::cargo();
    command.args(["tree", "--locked", "--package", "isobit", "--edges", "normal,build", "--prefix", "none"]);
    let tree = process::output(&mut command)?;
    let gpu: Vec<&str> = gpu_crates(&tree);
    if !gpu.is_empty() {
        return Err(Error::Found(format!("default features pull in {}", gpu.join(", "))));
    }
    println!("{} packages, none of a GPU runtime", tree.lines().count());
    Ok(())
}

/// A program that builds itself anew with wgpu must find every crate as the steps above have built it, or all GPU crates
/// are built twice (`Devices::rebuilt`).
fn one_resolution(features: &str) -> Result<()> {
    let tree = |arguments: &[&str]| {
        let mut command = process::cargo();
        command.args(["tree", "--locked", "--prefix", "none", "--format", "{p} [{f}]"]).args(arguments);
        process::output(&mut command)
    };
    let all = tree(&["--workspace", "--features", features, "--edges", "normal,build,dev"])?;
    let alone = tree(&["--package", "xtask", "--features", "wgpu", "--edges", "normal,build"])?;
    let other = otherwise_built(&all, &alone);
    if !other.is_empty() {
        let list = other.join(", ");
        return Err(Error::Found(format!("`--package xtask` builds with other features than the workspace: {list}")));
    }
    println!("{} crates, each with the features that the workspace builds it with", crates(&alone).len());
    Ok(())
}

/// Lines of `part`, a tree, that `all` does not have, but for the program's own.
fn otherwise_built<'a>(all: &str, part: &'a str) -> Vec<&'a str> {
    let all = crates(all);
    crates(part).into_iter().filter(|line| !line.starts_with("xtask ") && !all.contains(line)).collect()
}

/// The distinct lines of a tree; a crate that was shown before is marked by a star.
fn crates(tree: &str) -> BTreeSet<&str> {
    tree.lines().map(|line| line.trim_end_matches(" (*)")).collect()
}

/// Lines of `cargo tree` that name a crate which only GPU runtimes need.
fn gpu_crates(tree: &str) -> Vec<&str> {
    let gpu = |line: &&str| {
        ["cubecl", "wgpu", "naga", "cudarc", "ash"].iter().any(|c| {
            let name = line.split_whitespace().next().unwrap_or_default();
            name == *c || name.strip_prefix(c).is_some_and(|rest| rest.starts_with('-'))
        })
    };
    tree.lines().filter(gpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(outcomes: &[Outcome]) -> Vec<Done> {
        outcomes.iter().map(|o| Done { name: String::new(), outcome: o.clone(), time: Duration::ZERO }).collect()
    }

    #[test]
    fn a_missing_column_fails_strict_runs_only() {
        let column = Outcome::Skipped { why: String::new(), needed: true };
        let tool = Outcome::Skipped { why: String::new(), needed: false };
        assert!(verdict(&done(&[Outcome::Passed, column.clone()]), true).3.is_err());
        assert!(verdict(&done(&[Outcome::Passed, column]), false).3.is_ok());
        assert!(verdict(&done(&[Outcome::Passed, tool]), true).3.is_ok());
    }

    #[test]
    fn a_failure_or_an_empty_run_fails() {
        assert!(verdict(&done(&[Outcome::Passed, Outcome::Failed(String::new())]), false).3.is_err());
        assert!(verdict(&[], false).3.is_err());
        let (passed, failed, skipped, _) = verdict(&done(&[Outcome::Passed, Outcome::Failed(String::new())]), true);
        assert_eq!((passed, failed, skipped), (1, 1, 0));
    }

    #[test]
    fn a_crate_with_other_features_is_seen() {
        let all = "either v1.0.0 [std]\nrayon v1.0.0 []\nxtask v0.1.0 [oracle,wgpu]\nrug v1.0.0 []";
        assert_eq!(otherwise_built(all, "xtask v0.1.0 [wgpu]\neither v1.0.0 [std] (*)"), [""; 0]);
        assert_eq!(otherwise_built(all, "either v1.0.0 []\nrayon v1.0.0 []"), ["either v1.0.0 []"]);
    }

    #[test]
    fn gpu_crates_are_seen_in_a_tree() {
        let tree = "isobit v0.1.0\ncubecl-core v0.10.0\nwgpu v29.0.0\nwgpuish v1.0.0\nblake3 v1.8.0\nash v0.38.0\nashes v1.0.0";
        assert_eq!(gpu_crates(tree), ["cubecl-core v0.10.0", "wgpu v29.0.0", "ash v0.38.0"]);
        assert!(gpu_crates("isobit v0.1.0\nblake3 v1.8.0").is_empty());
    }
}
