//! Whether other processes ran while something was timed.
//!
//! Threads that share their work wait for the slowest: a compiler on one of two cores doubles the time of a product and
//! more. So a run on the host counts only if the others used little of the cores meanwhile. That looks at their CPU time
//! alone, never at the time measured. Where the system does not tell (anything but Linux), every run counts.

use std::time::{Duration, Instant};

use ml_core::{DeviceError, Result};

/// The others' greatest part of the cores.
const MAX_OTHERS: f64 = 0.05;

/// Runs that are refused before a measurement is given up.
const MAX_REFUSED: usize = 60;

/// Least seconds of a run: CPU time is counted in hundredths.
pub(crate) const RUN_SECONDS: f64 = 0.5;

/// CPU seconds of all processes, and of this one.
fn cpu_seconds() -> Option<(f64, f64)> {
    /// Ticks a second that Linux shows to programs, whatever it counts itself.
    const TICKS: f64 = 100.0;
    let numbers = |text: &str| text.split_whitespace().filter_map(|v| v.parse::<f64>().ok()).collect::<Vec<f64>>();
    let all = std::fs::read_to_string("/proc/stat").ok()?;
    let all = numbers(all.lines().next()?.strip_prefix("cpu")?);
    // user, nice, system, (idle, waiting,) interrupts, stolen by other machines.
    let [user, nice, system, _, _, irq, softirq, steal, ..] = all[..] else { return None };
    let own = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may hold anything; user and system time are the 12th and 13th fields after it.
    let own = own.rsplit(')').next()?.split_whitespace().skip(11).take(2).map(|v| v.parse::<f64>());
    let own = own.collect::<std::result::Result<Vec<f64>, _>>().ok()?;
    Some(((user + nice + system + irq + softirq + steal) / TICKS, own.iter().sum::<f64>() / TICKS))
}

/// Runs `work` until it has been quiet `times` times, and gives the seconds of each of those.
///
/// # Errors
/// Those of `work`; [`DeviceError::Failed`] if the machine is not quiet often enough.
pub(crate) fn quiet_seconds(times: usize, mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get()) as f64;
    let (mut quiet, mut refused) = (Vec::with_capacity(times), 0);
    while quiet.len() < times {
        let (before, start) = (cpu_seconds(), Instant::now());
        work()?;
        let (after, wall) = (cpu_seconds(), start.elapsed().as_secs_f64());
        let others = match (before, after) {
            (Some((all, own)), Some((all_after, own_after))) => (all_after - all - (own_after - own)) / (wall * cores),
            _ => 0.0,
        };
        if others <= MAX_OTHERS {
            quiet.push(wall);
            continue;
        }
        refused += 1;
        if refused == MAX_REFUSED {
            return Err(DeviceError::Failed {
                device: "host".to_owned(),
                during: "a benchmark".to_owned(),
                reason: format!("other processes used more than {:.0}% of the cores", MAX_OTHERS * 100.0),
            }
            .into());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn own_time_is_part_of_all_time() {
        let (all, own) = cpu_seconds().expect("Linux tells");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        let (all_after, own_after) = cpu_seconds().expect("Linux tells");
        assert!(own_after - own >= 0.05, "{own} to {own_after}");
        assert!(all_after - all >= own_after - own - 0.05, "{all} to {all_after}");
    }
}
