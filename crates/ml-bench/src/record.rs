//! Timing, and the record that is kept of it.

use std::time::Instant;

use ml_core::Result;
use ml_kernels::Device;
use ml_kernels::peak::Peak;
use serde::{Deserialize, Serialize};

use crate::workloads::Workload;

/// One line of `bench-records/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Operation, such as `matmul`.
    pub name: String,
    /// Device, by adapter and runtime.
    pub device: String,
    /// Shape and type.
    pub shape: String,
    /// The measured value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The floor (for a time) or ceiling (for a rate) in the same unit, from the measured peaks of the device.
    pub floor: f64,
    /// What it is compared with.
    pub peer: String,
    /// The peer's value in the same unit; 0 where there is no peer.
    pub peer_value: f64,
    /// Value over floor for a rate, floor over value for a time: 1 is the floor itself.
    pub ratio: f64,
    /// The command that made this line.
    pub command: String,
    /// Day, YYYY-MM-DD.
    pub date: String,
}

/// Seconds of one run: the median of `runs` after a warm-up, each run repeated until it fills a tenth of a second and
/// waited for.
///
/// # Errors
/// A device failure, or an error of the workload's check: a benchmark whose bits are wrong is not timed.
pub fn measure(workload: &mut Workload, device: &Device, runs: usize) -> Result<f64> {
    (workload.check)()?;
    (workload.run)()?;
    device.sync()?;
    let once = Instant::now();
    (workload.run)()?;
    device.sync()?;
    let repeats = (0.1 / once.elapsed().as_secs_f64().max(1e-7)).clamp(1.0, 1000.0) as usize;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        for _ in 0..repeats {
            (workload.run)()?;
        }
        device.sync()?;
        times.push(start.elapsed().as_secs_f64() / repeats as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

impl Record {
    /// The record of `seconds` for one run of `workload`.
    pub fn of(workload: &Workload, device: &Device, peak: &Peak, seconds: f64, command: &str, date: &str) -> Self {
        let info = device.info();
        let (value, unit, floor) = if workload.flops > 0.0 {
            (workload.flops / seconds / 1e9, "GFLOP/s", peak.mul_add_flops / 1e9)
        } else {
            (workload.bytes / seconds / 1e9, "GB/s", peak.copy_bytes / 1e9)
        };
        Record {
            name: workload.name.to_owned(),
            device: format!("{} ({} {})", info.adapter, info.runtime, info.language),
            shape: workload.shape.clone(),
            value,
            unit: unit.to_owned(),
            floor,
            peer: String::new(),
            peer_value: 0.0,
            ratio: value / floor,
            command: command.to_owned(),
            date: date.to_owned(),
        }
    }
}
