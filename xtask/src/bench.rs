//! `bench`: measures every workload on a device, after its bits were checked, and writes records.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ml_bench::{Record, Size, measure, workloads};
use ml_kernels::peak;

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
}

/// Runs the task.
///
/// # Errors
/// A device failure, or bits that differ from the host's.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
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
        for mut workload in workloads(&device, size, &args.filter)? {
            let seconds = measure(&mut workload, &device, args.runs)?;
            let record = Record::of(&workload, &device, &peak, seconds, &evidence::command_line(), &evidence::today());
            println!(
                "  {:18} {:32} {:10.3} ms {:10.1} {:8} {:5.1}% of the floor",
                record.name,
                record.shape,
                seconds * 1e3,
                record.value,
                record.unit,
                record.ratio * 100.0
            );
            if let Some(path) = &args.out {
                let line = serde_json::to_string(&record).map_err(Error::json("record"))?;
                let mut file =
                    std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(Error::file(path))?;
                writeln!(file, "{line}").map_err(Error::file(path))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
