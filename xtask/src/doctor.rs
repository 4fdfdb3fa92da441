//! `doctor`: the devices of this machine, and what their native operations really do.

use std::process::ExitCode;

use ml_kernels::device::DeviceEntry;
use ml_kernels::probe::{ProbeReport, probe};
use ml_kernels::{Device, DeviceInfo};
use serde_json::json;

use crate::error::{Error, Result};
use crate::evidence::{self, Devices};
use crate::setup;

/// List the devices of this machine and measure what their native operations do.
///
/// Nothing here is a fault of a device: the contract's spellings hold whatever the native operations do, which the rows
/// marked with `*` show.
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    devices: Devices,
}

/// Rates that the contract needs to be whole on every device.
const HELD: [&str; 8] = [
    "pinned_unfused",
    "div_ours",
    "sqrt_ours",
    "exp_ours",
    "ln_ours",
    "two_sum_pinned",
    "magic_pinned",
    "u32_to_f32_ours",
];

/// A device that answered.
struct Patient {
    device: Device,
    report: ProbeReport,
}

/// Runs the task.
///
/// # Errors
/// A device that was asked for by name and cannot be opened; a device that fails while it is measured; a pinned spelling
/// that does not hold.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
    }
    let names = &args.devices.names;
    let entries = match names.as_slice() {
        [] => Device::all(),
        _ => {
            args.devices.open()?.into_iter().map(|d| DeviceEntry { name: d.name().to_owned(), device: Ok(d) }).collect()
        }
    };
    let mut patients = Vec::new();
    let mut absent = runtimes_not_built();
    for entry in entries {
        match entry.device {
            Ok(device) => patients.push(Patient { report: probe(&device)?, device }),
            Err(e) => absent.push((entry.name, e.to_string())),
        }
    }
    if cfg!(feature = "wgpu") && names.is_empty() {
        let present = |name: &str| {
            let part = name.trim_start_matches("vulkan:");
            patients.iter().any(|p| p.device.info().adapter.to_lowercase().contains(part))
        };
        for column in setup::columns().into_iter().filter(|c| !present(c.device)) {
            let why = match column.manifest {
                Some(path) => format!("not loaded: set VK_DRIVER_FILES to {}", path.display()),
                None => format!("not here: install {}", column.install),
            };
            absent.push((column.device.to_owned(), why));
        }
    }
    if args.json {
        println!("{}", record(&patients, &absent));
    } else {
        print_devices(&patients, &absent);
        print_answers(&patients);
    }
    let broken: Vec<String> = patients.iter().flat_map(not_held).collect();
    if broken.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Error::Found(broken.join("\n"))) }
}

/// Runtimes that this build lacks, and how to get them.
fn runtimes_not_built() -> Vec<(String, String)> {
    let built = evidence::built_features();
    let absent = ["wgpu", "cuda", "hip"].into_iter().filter(|f| !built.iter().any(|b| b == f));
    absent.map(|f| (f.to_owned(), format!("not in this build: cargo xtask doctor --features {f}"))).collect()
}

/// Pinned spellings that do not hold on a device.
fn not_held(patient: &Patient) -> Vec<String> {
    let broken = |key: &&str| patient.report.rate(key).filter(|r| r.hits != r.of);
    let tell = |r: ml_kernels::probe::Rate| format!("{}: {}: {} of {}", patient.device.name(), r.what, r.hits, r.of);
    HELD.iter().filter_map(broken).map(tell).collect()
}

fn print_devices(patients: &[Patient], absent: &[(String, String)]) {
    let mut table = vec![["device", "runtime", "adapter", "driver", "largest binding", "grid axis"].map(String::from)];
    for patient in patients {
        let DeviceInfo { runtime, language, adapter, driver, max_binding_bytes, max_grid } = patient.device.info();
        let limit = |n: u64, none: bool, unit: &str| if none { "-".to_owned() } else { format!("{n}{unit}") };
        table.push([
            patient.device.name().to_owned(),
            format!("{runtime}/{language}"),
            adapter.clone(),
            driver.clone(),
            limit(max_binding_bytes >> 20, *max_binding_bytes == u64::MAX, " MiB"),
            limit(u64::from(*max_grid), *max_grid == u32::MAX, ""),
        ]);
    }
    print_table(&table);
    println!();
    for (name, why) in absent {
        println!("{name}: {why}");
    }
    println!();
}

fn print_answers(patients: &[Patient]) {
    let Some(first) = patients.first() else { return };
    let head = |title: &str| {
        let names = patients.iter().map(|p| p.device.name().to_owned());
        std::iter::once(title.to_owned()).chain(names).collect::<Vec<_>>()
    };
    let mut rates = vec![head(&format!("of {} samples (* must be 100% everywhere)", samples(first)))];
    for rate in &first.report.rates {
        let mark = if HELD.contains(&rate.key) { "* " } else { "  " };
        let mut row = vec![format!("{mark}{}", rate.what)];
        row.extend(patients.iter().map(|p| p.report.rate(rate.key).map_or_else(String::new, percent)));
        rates.push(row);
    }
    print_table(&rates);
    println!();
    let mut values = vec![head("single answers (hexadecimal bits; - where Rust has no such operation)")];
    for (i, value) in first.report.values.iter().enumerate() {
        let mut row = vec![format!("  {}", value.what)];
        let answer = |p: &Patient| p.report.values.get(i).and_then(|v| v.bits);
        row.extend(patients.iter().map(|p| answer(p).map_or_else(|| "-".to_owned(), |bits| format!("{bits:x}"))));
        values.push(row);
    }
    print_table(&values);
}

fn samples(patient: &Patient) -> usize {
    patient.report.rates.first().map_or(0, |r| r.of)
}

/// A percentage that says 100 only for all, and 0 only for none.
fn percent(rate: ml_kernels::probe::Rate) -> String {
    let ml_kernels::probe::Rate { hits, of, .. } = rate;
    match hits {
        0 => "0%".to_owned(),
        _ if hits == of => "100%".to_owned(),
        _ => format!("{:.2}%", (hits as f64 / of as f64 * 100.0).clamp(0.01, 99.99)),
    }
}

/// Columns as wide as their widest cell.
fn print_table<R: AsRef<[String]>>(rows: &[R]) {
    let columns = rows.iter().map(|r| r.as_ref().len()).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.as_ref().get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells: Vec<String> = row.as_ref().iter().zip(&widths).map(|(cell, w)| format!("{cell:<w$}")).collect();
        println!("{}", cells.join("  ").trim_end());
    }
}

fn record(patients: &[Patient], absent: &[(String, String)]) -> serde_json::Value {
    let device = |p: &Patient| {
        let DeviceInfo { runtime, language, adapter, driver, max_binding_bytes, max_grid } = p.device.info();
        json!({
            "device": p.device.name(),
            "runtime": runtime,
            "language": language,
            "adapter": adapter,
            "driver": driver,
            "max_binding_bytes": max_binding_bytes,
            "max_grid": max_grid,
            "samples": samples(p),
            "rates": p.report.rates.iter().map(|r| (r.key, r.hits)).collect::<std::collections::BTreeMap<_, _>>(),
            "values": p.report.values.iter().map(|v| (v.key, v.bits)).collect::<std::collections::BTreeMap<_, _>>(),
        })
    };
    let absent: Vec<_> = absent.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
    json!({ "devices": patients.iter().map(device).collect::<Vec<_>>(), "absent": absent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ml_kernels::probe::Rate;

    #[test]
    fn percentages_do_not_round_up_to_all() {
        let of = 65_536;
        let text = |hits| percent(Rate { key: "", what: "", hits, of });
        assert_eq!(
            [0, 1, of / 2, of - 1, of].map(text),
            ["0%", "0.01%", "50.00%", "99.99%", "100%"].map(str::to_owned)
        );
    }

    #[test]
    fn a_pin_that_does_not_hold_is_told() {
        let device = Device::host();
        let mut patient = Patient { report: probe(&device).expect("the host can be asked"), device };
        assert!(not_held(&patient).is_empty());
        let div = patient.report.rates.iter_mut().find(|r| r.key == "div_ours").expect("is measured");
        div.hits -= 1;
        assert_eq!(not_held(&patient).len(), 1);
    }
}
