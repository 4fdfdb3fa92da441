//! `bench`: measures every workload on a device, after its bits were checked, and writes records.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ml_bench::{Peer, Peers, Record, Size, Workload, estimators, measure, workloads};
use ml_kernels::{Device, peak};

use crate::error::{Error, Result};
use crate::evidence::{self, Devices};

/// Measure the primitives against the device's own ceilings; bits are checked before anything is timed.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Only workloads whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Timed runs of each; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Append the records to this file, one JSON line each
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Use the small shapes on GPUs too (software drivers)
    #[arg(long)]
    small: bool,
    /// Fit the estimators on all of Fashion-MNIST too: the folder of its four files, packed or not
    #[arg(long, value_name = "DIR")]
    full: Option<PathBuf>,
    /// Compare with the measurements of this file of JSON lines, such as benches/peers/sklearn_peers.jsonl; may be given
    /// again
    #[arg(long, value_name = "FILE")]
    peers: Vec<PathBuf>,
}

/// Runs the task.
///
/// # Errors
/// A device failure, or bits that differ from the host's.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
    }
    let mut peers = Peers::default();
    for path in &args.peers {
        peers.extend(Peers::read(path)?);
    }
    for device in args.devices.open()? {
        let peak = peak::measure(&device)?;
        println!(
            "{}: mul and add {:.1} GFLOP/s, copy {:.1} GB/s",
            device.name(),
            peak.mul_add_flops / 1e9,
            peak.copy_bytes / 1e9
        );
        let size = match (args.small, device.is_host()) {
            (true, _) => Size::Tiny,
            (_, true) => Size::Host,
            _ => Size::Gpu,
        };
        let mut all = workloads(&device, size, &args.filter)?;
        all.extend(estimators(&device, args.full.as_deref(), &args.filter)?);
        for mut workload in all {
            let seconds = measure(&mut workload, &device, args.runs)?;
            let live = live_peers(&device, &workload, args.runs)?;
            // A record a peer.
            let all: Vec<Option<&Peer>> =
                if live.is_empty() { vec![peers.find(&workload)] } else { live.iter().map(Some).collect() };
            for peer in all {
                let (command, today) = (evidence::command_line(), evidence::today());
                let record = Record::of(&workload, &device, &peak, seconds, peer, &command, &today);
                report(&record, seconds, args.out.as_deref())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a record and appends it to the file, if there is one.
fn report(record: &Record, seconds: f64, out: Option<&Path>) -> Result<()> {
    println!(
        "  {:18} {:46} {:10.3} ms {:10.4} {:8} {:5.1}% of the floor{}",
        record.name,
        record.shape,
        seconds * 1e3,
        record.value,
        record.unit,
        record.ratio * 100.0,
        record.times_the_peer().map_or(String::new(), |t| format!(", {t:.2} times {}", record.peer))
    );
    if let Some(path) = out {
        let line = serde_json::to_string(record).map_err(Error::json("record"))?;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(Error::file(path))?;
        writeln!(file, "{line}").map_err(Error::file(path))?;
    }
    Ok(())
}

/// Libraries that are built in, measured beside the host's own workload.
#[cfg(feature = "peers")]
fn live_peers(device: &Device, workload: &Workload, runs: usize) -> Result<Vec<Peer>> {
    let is_square = |n: &usize| workload.shape == format!("{n}x{n}x{n} f32 nn");
    let size = workload.shape.split('x').next().and_then(|n| n.parse().ok()).filter(is_square);
    match size {
        Some(n) if device.is_host() && workload.name == "matmul" => {
            ml_bench::Library::ALL.iter().map(|l| Ok(ml_bench::ProductPeer::new(*l, n).measure(runs)?)).collect()
        }
        _ => Ok(Vec::new()),
    }
}

/// No library is built in: the feature `peers` is off.
#[cfg(not(feature = "peers"))]
fn live_peers(_: &Device, _: &Workload, _: usize) -> Result<Vec<Peer>> {
    Ok(Vec::new())
}
