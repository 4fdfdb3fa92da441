//! `digest`: a scalar function's results at all 2^32 inputs on a device, as one digest, against that of the host.
//!
//! The host's digests stand in `docs/exhaustive.md`: there every result was compared with MPFR. A device with the same digest
//! has computed the same results.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use ml_kernels::Device;
use ml_kernels::num::sweep::{BLOCK, Function, sweep_on};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::evidence::Devices;
use crate::process;

/// Digest a scalar function's results at all 2^32 inputs on devices, and compare with the host's.
#[derive(clap::Args)]
pub struct Args {
    /// Functions, such as exp; all that have a digest in docs/exhaustive.md by default
    functions: Vec<String>,
    #[command(flatten)]
    devices: Devices,
    /// Put a line for each device into docs/exhaustive.md, or into the file given
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "docs/exhaustive.md")]
    summary: Option<PathBuf>,
}

/// Results fetched from a device at a time.
const CHUNK: usize = 1 << 24;

/// Hexadecimal digits of a digest that `docs/exhaustive.md` holds.
const HELD: usize = 32;

/// Runs the task.
///
/// # Errors
/// [`Error::Found`] if a device's results are not the host's.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
    }
    let path = process::root().join("docs/exhaustive.md");
    let table = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let functions = chosen(&args.functions, &table)?;
    let mut wrong = Vec::new();
    for device in args.devices.open()? {
        let start = Instant::now();
        let mut equal = Vec::new();
        for &function in &functions {
            let begin = Instant::now();
            let digest = digest(&device, function)?;
            let verdict = match held(&table, function.name()) {
                None => "not known",
                Some(host) if digest.starts_with(&host) => {
                    equal.push(function.name());
                    "equal"
                }
                Some(_) => {
                    wrong.push(format!("{} on {}", function.name(), device.name()));
                    "differs"
                }
            };
            println!(
                r#"{{"device":"{}","adapter":"{}","function":"{}","digest":"{digest}","host":"{verdict}","seconds":{:.1}}}"#,
                device.name(),
                device.info().adapter,
                function.name(),
                begin.elapsed().as_secs_f64()
            );
        }
        if let Some(path) = args.summary.as_ref().filter(|_| !equal.is_empty()) {
            let path = process::root().join(path);
            let old = std::fs::read_to_string(&path).unwrap_or_default();
            let runtime = device.name().split(':').next().unwrap_or_default().to_owned();
            let line = format!(
                "- {runtime}, {}: {} functions in {:.0} s: {}",
                device.info().adapter,
                equal.len(),
                start.elapsed().as_secs_f64(),
                equal.join(", ")
            );
            std::fs::write(&path, with_line(&old, &line)).map_err(Error::file(&path))?;
        }
    }
    if wrong.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Error::Found(format!("other results than the host's: {}", wrong.join(", "))))
    }
}

/// The functions named, or those whose digest is known.
fn chosen(names: &[String], table: &str) -> Result<Vec<Function>> {
    if names.is_empty() {
        return Ok(Function::ALL.iter().copied().filter(|f| held(table, f.name()).is_some()).collect());
    }
    let find = |name: &String| Function::from_name(name).ok_or_else(|| Error::Found(format!("no function {name}")));
    names.iter().map(find).collect()
}

/// The digest in a function's row of the table.
fn held(table: &str, name: &str) -> Option<String> {
    let row = table.lines().find(|l| l.starts_with(&format!("| {name} |")))?;
    let hex = |word: &str| word.len() == HELD && word.bytes().all(|b| b.is_ascii_hexdigit());
    row.split(['`', '…', ' ', '|']).find(|word| hex(word)).map(str::to_owned)
}

/// BLAKE3 as in the exhaustive runs: of the hashes of blocks of results, in the order of the inputs.
fn digest(device: &Device, function: Function) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for first in (0..1u64 << 32).step_by(CHUNK) {
        let results = sweep_on(device, function, 0, first as u32, CHUNK)?.read()?;
        let hashes: Vec<blake3::Hash> = results
            .par_chunks(BLOCK as usize)
            .map(|block| blake3::hash(&block.iter().flat_map(|r| r.to_le_bytes()).collect::<Vec<u8>>()))
            .collect();
        for hash in hashes {
            hasher.update(hash.as_bytes());
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The text with a line in its section on devices, in place of one for the same device.
fn with_line(old: &str, line: &str) -> String {
    const TITLE: &str = "## Devices with the same digests";
    let own = line.split(':').next().unwrap_or_default().to_owned() + ":";
    let mut lines: Vec<&str> = old.lines().filter(|l| !l.starts_with(&own)).collect();
    if !lines.contains(&TITLE) {
        lines.extend(["", TITLE, ""]);
    }
    lines.push(line);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_from_their_rows() {
        let hex = "0123456789abcdef0123456789abcdef";
        let table = format!("| function | digest |\n|---|---|\n| exp2 | 1 | `{hex}…` | x |\n| atan2 | – |\n");
        assert_eq!(held(&table, "exp2").as_deref(), Some(hex));
        assert_eq!((held(&table, "exp"), held(&table, "atan2")), (None, None));
        assert_eq!(chosen(&[], &table).expect("known"), [Function::Exp2]);
        assert!(chosen(&["nothing".into()], &table).is_err());
    }

    #[test]
    fn a_device_has_one_line() {
        let once = with_line("# T\n", "- cuda, H: 1 functions in 5 s: exp");
        let twice = with_line(&once, "- cuda, H: 2 functions in 7 s: exp, ln");
        let more = with_line(&twice, "- vulkan, H: 2 functions in 7 s: exp, ln");
        assert_eq!(more.matches("- cuda, H:").count(), 1);
        assert!(more.starts_with("# T\n\n## Devices") && more.contains("exp, ln\n- vulkan"), "{more}");
    }
}
