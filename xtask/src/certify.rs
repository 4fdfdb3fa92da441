//! `certify`: trains every estimator on every fixture on the devices asked for and writes one certificate a device.

use std::path::PathBuf;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use ml_identity::certify::{Estimator, Plan, certify};
use ml_identity::compare::{Options, compare_files, dumps_of};
use ml_identity::{Certificate, Fixtures};

use crate::error::{Error, Result};
use crate::evidence::{self, Devices};

/// Train on real and hostile data and write one certificate a device.
///
/// Without a choice of devices: the host, and each device of the machine that this build can open; built with wgpu first
/// where a Vulkan driver is installed. With more than one device the certificates are compared at the end, and the exit
/// code is that of `compare`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Estimators, by name (all by default)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    estimators: Vec<Estimator>,
    /// Fixtures whose names start with one of these (all by default)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    only: Vec<String>,
    /// Folder of the real fixtures; those inside the program by default
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    /// Leave out the hostile fixtures
    #[arg(long)]
    real_only: bool,
    /// Where the certificates go
    #[arg(long, value_name = "DIR", default_value = ".cards")]
    out: PathBuf,
    /// Keep the bytes of every stage beside the certificate, so that compare can show elements
    #[arg(long)]
    keep_dumps: bool,
}

/// Runs the task.
///
/// # Errors
/// A device or a fixture that fails, or a folder that cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
    }
    std::fs::create_dir_all(&args.out).map_err(Error::file(&args.out))?;
    let real = match &args.fixtures {
        Some(dir) => Fixtures::from_dir(dir)?,
        None => Fixtures::embedded()?,
    };
    let mut files = Vec::new();
    for device in args.devices.open()? {
        let info = device.info();
        let path = args.out.join(format!("{}.json", file_name(info.runtime, info.language, &info.adapter)));
        let plan = Plan {
            estimators: args.estimators.clone(),
            fixtures: args.only.clone(),
            hostile: !args.real_only,
            dumps: args.keep_dumps.then(|| dumps_of(&path)),
            git_commit: evidence::commit(),
            features: evidence::built_features(),
            date: evidence::today(),
            command: evidence::command_line(),
        };
        println!("{} ({}, {}, {})", device.name(), info.adapter, info.language, info.driver);
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {pos} runs, {elapsed}: {msg}")
                .map_err(|e| Error::Found(format!("progress template: {e}")))?,
        );
        let start = std::time::Instant::now();
        let certificate = certify(&plan, &device, &real, &mut |done| {
            bar.inc(1);
            bar.set_message(format!("{} on {} ({:.1} s)", done.estimator.name(), done.fixture, done.seconds));
        })?;
        bar.finish_and_clear();
        summary(&certificate);
        println!("  {:.1} s, written to {}", start.elapsed().as_secs_f64(), path.display());
        certificate.save(&path)?;
        files.push(path);
    }
    if files.len() < 2 {
        return Ok(ExitCode::SUCCESS);
    }
    let report = compare_files(&files, &Options::default());
    println!("{}", report.verdict.sentence());
    Ok(ExitCode::from(report.verdict.exit_code()))
}

/// One root an estimator, over its fixtures, and the certificate's.
fn summary(certificate: &Certificate) {
    for estimator in Estimator::ALL {
        let cards: Vec<_> = certificate.cards().iter().filter(|c| c.header().estimator == estimator.name()).collect();
        let stages: usize = cards.iter().map(|c| c.stages().len()).sum();
        let Some(root) = certificate.root_of(estimator.name()) else { continue };
        println!("  {:22} {root}  {:2} fixtures, {stages:4} stages", estimator.name(), cards.len());
    }
    println!("  {:22} {}", "certificate", certificate.root());
}

/// A file name of letters, digits and dashes.
fn file_name(runtime: &str, language: &str, adapter: &str) -> String {
    let runtime =
        if runtime == language || runtime == "host" { runtime.to_owned() } else { format!("{runtime}-{language}") };
    let short = adapter.split('(').next().unwrap_or(adapter).trim();
    let name: String = format!("{runtime}-{short}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    name.trim_matches('-').to_owned()
}
