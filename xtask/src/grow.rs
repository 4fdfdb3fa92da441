//! `grow`: random trials of every estimator on every device at hand, for as long as is given.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ml_identity::growth::{Divergence, Report, grow, replay};
use ml_kernels::Device;

use crate::error::{Error, Result};
use crate::evidence::Devices;

/// Draw estimators, parameters and data at random and compare all devices, byte for byte; a divergence is made simple and
/// kept.
///
/// The first device is the one that the others are compared with. Exit code 1: devices disagree.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// How long to draw
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    minutes: f64,
    /// Which draws: one seed gives one sequence; the day and time by default
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Append divergences to this file, one JSON line each
    #[arg(long, value_name = "FILE", default_value = "target/divergences.jsonl")]
    out: PathBuf,
    /// Try the draws of such a file again instead of new ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["minutes", "seed"])]
    replay: Option<PathBuf>,
}

/// Runs the task.
///
/// # Errors
/// Fewer than two devices, a time that is not one, a file that cannot be read or written, a device that fails.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
    }
    let mut devices = args.devices.open()?;
    if devices.len() == 1 && devices[0].is_host() {
        // Without another device, other numbers of threads are compared.
        devices.extend([Device::host_with_threads(1)?, Device::host_with_threads(7)?]);
    }
    if devices.len() < 2 {
        return Err(Error::Missing("a comparison needs two devices or the host: name them with --device".to_owned()));
    }
    let names: Vec<&str> = devices.iter().map(Device::name).collect();
    println!("devices: {}", names.join(", "));
    match &args.replay {
        Some(path) => again(path, &devices),
        None => draw(args, &devices),
    }
}

fn draw(args: &Args, devices: &[Device]) -> Result<ExitCode> {
    let time = Duration::try_from_secs_f64(args.minutes * 60.0)
        .map_err(|_| Error::Found(format!("--minutes must be a number from 0 on, got {}", args.minutes)))?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let seed = args.seed.unwrap_or(now);
    println!("seed {seed}");
    let start = Instant::now();
    let mut told = Instant::now();
    let mut known = 0;
    let mut failure = None;
    let report = grow(devices, seed, time, &mut |report: &Report| {
        for found in &report.divergences[known..] {
            tell(found);
            failure = failure.take().or(keep(&args.out, found).err());
        }
        known = report.divergences.len();
        if told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            println!("{:5.0} s: {} draws", start.elapsed().as_secs_f64(), report.draws);
        }
    })?;
    println!(
        "{} draws ({} refused by all), {} stages on {} devices in {:.0} s: {} divergences",
        report.draws,
        report.refused,
        report.stages,
        devices.len(),
        start.elapsed().as_secs_f64(),
        report.divergences.len()
    );
    match failure {
        Some(e) => Err(e),
        None => Ok(ExitCode::from(u8::from(!report.divergences.is_empty()))),
    }
}

fn again(path: &PathBuf, devices: &[Device]) -> Result<ExitCode> {
    let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
    let mut differ = 0;
    let mut tried = 0;
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let kept: Divergence = serde_json::from_str(line).map_err(Error::json("divergence"))?;
        tried += 1;
        if let Some(found) = replay(&kept.draw, devices)? {
            tell(&found);
            differ += 1;
        }
    }
    println!("{differ} of {tried} kept draws differ");
    Ok(ExitCode::from(u8::from(differ > 0)))
}

fn tell(found: &Divergence) {
    let [base, other] = &found.devices;
    println!("DIVERGENCE {} between {base} and {other}: {}\n  {:?}", found.draw.estimator(), found.what, found.draw);
}

fn keep(path: &PathBuf, found: &Divergence) -> Result<()> {
    let line = serde_json::to_string(found).map_err(Error::json("divergence"))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(Error::file(path))?;
    writeln!(file, "{line}").map_err(Error::file(path))
}
