//! Timing, and the record that is kept of it.

use std::time::Instant;

use ml_core::Result;
use ml_kernels::Device;
use ml_kernels::peak::Peak;
use serde::{Deserialize, Serialize};

use crate::peers::Peer;
use crate::quiet::{RUN_SECONDS, quiet_seconds};
use crate::workloads::{Unit, Workload};

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

/// Seconds that a device works before it is measured.
const WARM_UP_SECONDS: f64 = 0.7;

/// The same through Vulkan: in some processes on an H200 products and distances take four to six times as long for the first
/// two seconds or so.
const WARM_UP_SECONDS_VULKAN: f64 = 3.0;

/// Seconds of one run of `workload`: the median of `runs` after a warm-up, each run repeated until it fills a tenth of a
/// second and waited for. On the host they fill half a second and count only if nothing else ran meanwhile.
///
/// # Errors
/// A device failure; an error of the workload's check: a benchmark whose bits are wrong is not timed; a host that is never
/// quiet.
pub fn measure(workload: &mut Workload, device: &Device, runs: usize) -> Result<f64> {
    (workload.check)()?;
    if device.is_host() {
        return median_seconds(runs, &mut workload.run);
    }
    let mut wave = |repeats: usize| {
        let start = Instant::now();
        for _ in 0..repeats {
            (workload.run)()?;
        }
        device.sync()?;
        Ok(start.elapsed().as_secs_f64())
    };
    let warming = Instant::now();
    let mut once = wave(1)?;
    let warm_up = if device.name().starts_with("vulkan") { WARM_UP_SECONDS_VULKAN } else { WARM_UP_SECONDS };
    while warming.elapsed().as_secs_f64() < warm_up {
        once = wave(1)?;
    }
    let repeats = repeats(0.1, once);
    let times = (0..runs.max(1)).map(|_| wave(repeats)).collect::<Result<Vec<f64>>>()?;
    Ok(median(times) / repeats as f64)
}

/// Seconds of one call of `work` on the host: the median of `runs` after a warm-up, each run repeated until it fills half a
/// second, and counted only if nothing else ran meanwhile.
///
/// # Errors
/// Those of `work`; a host that is never quiet.
pub fn median_seconds(runs: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let once = Instant::now();
    work()?;
    let repeats = repeats(RUN_SECONDS, once.elapsed().as_secs_f64());
    let times = quiet_seconds(runs.max(1), || (0..repeats).try_for_each(|_| work()))?;
    Ok(median(times) / repeats as f64)
}

/// How many runs of `once` seconds fill `seconds`.
fn repeats(seconds: f64, once: f64) -> usize {
    (seconds / once.max(1e-7)).ceil().clamp(1.0, 10_000.0) as usize
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Record {
    /// The record of `seconds` for one run of `workload`.
    pub fn of(
        workload: &Workload,
        device: &Device,
        peak: &Peak,
        seconds: f64,
        peer: Option<&Peer>,
        command: &str,
        date: &str,
    ) -> Self {
        let info = device.info();
        let (value, floor) = match workload.unit {
            Unit::Flops => (workload.flops / seconds / 1e9, peak.mul_add_flops / 1e9),
            Unit::Bytes => (workload.bytes / seconds / 1e9, peak.copy_bytes / 1e9),
            Unit::Seconds => (seconds, (workload.flops / peak.mul_add_flops).max(workload.bytes / peak.copy_bytes)),
        };
        Record {
            name: workload.name.to_owned(),
            device: format!("{} ({} {})", info.adapter, info.runtime, info.language),
            shape: workload.shape.clone(),
            value,
            unit: workload.unit.name().to_owned(),
            floor,
            peer: peer.map(|p| p.peer.clone()).unwrap_or_default(),
            peer_value: peer.map_or(0.0, |p| p.value),
            ratio: if workload.unit == Unit::Seconds { floor / value } else { value / floor },
            command: command.to_owned(),
            date: date.to_owned(),
        }
    }

    /// How many times as fast as the peer, if there is one.
    pub fn times_the_peer(&self) -> Option<f64> {
        let (faster, slower) = if self.unit == Unit::Seconds.name() {
            (self.peer_value, self.value)
        } else {
            (self.value, self.peer_value)
        };
        (self.peer_value > 0.0).then(|| faster / slower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(unit: Unit, seconds: f64, peer: f64) -> Record {
        let workload = Workload {
            name: "fit",
            shape: "7".to_owned(),
            unit,
            bytes: 4e9,
            flops: 6e9,
            check: Box::new(|| Ok(())),
            run: Box::new(|| Ok(())),
        };
        let peak = Peak { mul_add_flops: 2e9, copy_bytes: 8e9 };
        let unit = unit.name().to_owned();
        let peer = Peer { name: "fit".to_owned(), shape: "7".to_owned(), value: peer, unit, peer: "other".to_owned() };
        Record::of(&workload, &Device::host(), &peak, seconds, Some(&peer), "", "")
    }

    #[test]
    fn ratios_grow_with_speed_in_every_unit() {
        // The floor of a time is the longer of both: 3 s of products and sums, half a second of bytes.
        let r = record(Unit::Seconds, 4.0, 6.0);
        assert_eq!((r.value, r.floor, r.ratio, r.times_the_peer()), (4.0, 3.0, 0.75, Some(1.5)));
        let r = record(Unit::Flops, 4.0, 6.0);
        assert_eq!((r.value, r.floor, r.ratio, r.times_the_peer()), (1.5, 2.0, 0.75, Some(0.25)));
        let r = record(Unit::Bytes, 4.0, 0.0);
        assert_eq!((r.value, r.floor, r.ratio, r.times_the_peer()), (1.0, 8.0, 0.125, None));
    }
}
