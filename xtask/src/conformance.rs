//! `conformance`: every primitive's bytes on every device against its reference, from one binary that needs no source.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ml_kernels::conformance::{Case, Outcome, cases, compare};
use ml_kernels::{Device, DeviceInfo};
use serde_json::json;

use crate::error::{Error, Result};
use crate::evidence::Devices;

/// Compare every primitive with its reference, byte for byte, on the devices given.
///
/// Without a choice of devices: those of ISOBIT_DEVICES where that is set, else the host and each device of the machine.
/// What happened is told on the error stream; the output holds one JSON line a device.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Only cases whose operation or name contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Thread counts with which the host runs as well, whenever it runs
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1usize, 2, 7, 64])]
    threads: Vec<usize>,
}

/// What became of the cases of one operation, or of all, on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    equal: usize,
    differs: usize,
    failed: usize,
}

impl Counts {
    fn cases(self) -> usize {
        self.equal + self.differs + self.failed
    }

    fn bad(self) -> usize {
        self.differs + self.failed
    }
}

/// One device's results.
struct Column {
    device: Device,
    time: Duration,
    ops: BTreeMap<&'static str, Counts>,
    /// One line for every case that is not equal.
    differences: Vec<String>,
}

impl Column {
    fn new(device: Device) -> Self {
        Column { device, time: Duration::ZERO, ops: BTreeMap::new(), differences: Vec::new() }
    }

    fn total(&self) -> Counts {
        self.ops.values().fold(Counts::default(), |t, c| Counts {
            equal: t.equal + c.equal,
            differs: t.differs + c.differs,
            failed: t.failed + c.failed,
        })
    }

    fn check(&mut self, case: &Case, want: &[u8]) {
        let start = Instant::now();
        let counts = self.ops.entry(case.op).or_default();
        let mut note = |text: String| self.differences.push(format!("{} {}: {text}", case.op, case.name));
        // A case that panics is a fault of its primitive, and no reason not to look at the others.
        match catch_unwind(AssertUnwindSafe(|| (case.run)(&self.device))) {
            Err(_) => {
                counts.failed += 1;
                note("panicked".to_owned());
            }
            Ok(Err(e)) => {
                counts.failed += 1;
                note(e.to_string());
            }
            Ok(Ok(got)) => match compare(&got, want) {
                Outcome::Equal => counts.equal += 1,
                Outcome::Differs { word, got, want, count } => {
                    counts.differs += 1;
                    note(format!("{count} words differ, first word {word}: {} instead of {}", hex(got), hex(want)));
                }
                Outcome::Failed(e) => {
                    counts.failed += 1;
                    note(e.to_string());
                }
            },
        }
        self.time += start.elapsed();
    }

    fn record(&self) -> serde_json::Value {
        let DeviceInfo { runtime, language, adapter, driver, .. } = self.device.info();
        let total = self.total();
        json!({
            "device": self.device.name(),
            "runtime": runtime,
            "language": language,
            "adapter": adapter,
            "driver": driver,
            "cases": total.cases(),
            "equal": total.equal,
            "differs": total.differs,
            "failed": total.failed,
            "seconds": self.time.as_secs_f64(),
            "ops": self.ops.iter().map(|(op, c)| (*op, json!([c.equal, c.cases()]))).collect::<BTreeMap<_, _>>(),
        })
    }
}

fn hex(word: Option<u32>) -> String {
    word.map_or_else(|| "nothing".to_owned(), |w| format!("{w:08x}"))
}

/// Runs the task.
///
/// # Errors
/// [`Error::Found`] if any case is not equal; a device that cannot be opened.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut chosen = args.devices.clone();
    if chosen.names.is_empty()
        && !chosen.all
        && let Ok(listed) = std::env::var("ISOBIT_DEVICES")
    {
        chosen.names = listed.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).collect();
    }
    if let Some(code) = chosen.rebuilt()? {
        return Ok(code);
    }
    let mut columns: Vec<Column> = devices(&chosen, &args.threads)?.into_iter().map(Column::new).collect();
    let mut cases = cases();
    if let Some(text) = &args.filter {
        cases.retain(|c| c.op.contains(text) || c.name.contains(text));
    }
    if cases.is_empty() {
        return Err(Error::Found(format!("no case matches `{}`", args.filter.as_deref().unwrap_or_default())));
    }
    let bar = ProgressBar::new((cases.len() * columns.len()) as u64).with_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}").expect("the template's keys are indicatif's own"),
    );
    for case in &cases {
        bar.set_message(format!("{} {}", case.op, case.name));
        let want = (case.reference)();
        for column in &mut columns {
            column.check(case, &want);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    for column in &columns {
        report(column);
        println!("{}", column.record());
    }
    let bad: usize = columns.iter().map(|c| c.total().bad()).sum();
    if bad > 0 {
        return Err(Error::Found(format!("{bad} comparisons of {} failed", cases.len() * columns.len())));
    }
    Ok(ExitCode::SUCCESS)
}

/// The devices chosen, and the host once more for each thread count.
fn devices(chosen: &Devices, threads: &[usize]) -> Result<Vec<Device>> {
    let mut devices = chosen.open()?;
    if devices.iter().any(Device::is_host) {
        for threads in threads {
            devices.push(Device::host_with_threads(*threads)?);
        }
    }
    Ok(devices)
}

fn report(column: &Column) {
    let total = column.total();
    let info = column.device.info();
    eprintln!(
        "{}: {} of {} cases equal in {:.1} s ({}, {}, {})",
        column.device.name(),
        total.equal,
        total.cases(),
        column.time.as_secs_f64(),
        info.adapter,
        info.language,
        info.driver,
    );
    for (op, counts) in &column.ops {
        eprintln!("  {op:<24} {:>5} of {:>5}", counts.equal, counts.cases());
    }
    for line in &column.differences {
        eprintln!("  NOT EQUAL {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(run: impl Fn(&Device) -> ml_core::Result<Vec<u8>> + Send + Sync + 'static) -> Case {
        Case { op: "made-up", name: "one".to_owned(), run: Box::new(run), reference: Box::new(|| vec![1, 0, 0, 0]) }
    }

    #[test]
    fn every_way_to_be_unequal_is_counted_and_told() {
        let mut column = Column::new(Device::host());
        column.check(&case(|_| Ok(vec![1, 0, 0, 0])), &[1, 0, 0, 0]);
        column.check(&case(|_| Ok(vec![2, 0, 0, 0])), &[1, 0, 0, 0]);
        column.check(&case(|_| Ok(Vec::new())), &[1, 0, 0, 0]);
        column.check(&case(|_| Err("gpu9".parse::<Device>().expect_err("no such device"))), &[1, 0, 0, 0]);
        column.check(&case(|_| panic!("on purpose")), &[1, 0, 0, 0]);
        assert_eq!(column.total(), Counts { equal: 1, differs: 2, failed: 2 });
        assert_eq!(column.differences.len(), 4);
        assert!(column.differences[0].ends_with("first word 0: 00000002 instead of 00000001"));
        assert!(column.differences[1].contains("nothing instead of 00000001"));
        assert!(column.differences[3].ends_with("panicked"));
    }
}
