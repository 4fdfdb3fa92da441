//! `sabotage`: breaks each clause of the contract on purpose and shows which stage moved, per device.

use std::path::PathBuf;
use std::process::ExitCode;

use ml_identity::Fixtures;
use ml_identity::certify::{ArmReport, sabotage};
use ml_kernels::sabotage::Arm;

use crate::error::{Error, Result};
use crate::evidence::{self, Devices};

/// Break each contract clause on purpose: every arm must move a stage of its clause, and no other.
///
/// Exit codes: 0 every arm holds; 50 an arm was inert; 51 an arm moved a stage that its clause does not govern.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Only these arms; `None` breaks nothing and must therefore be found inert
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = arm)]
    arm: Vec<Arm>,
    /// Also show which stages of the estimators each arm reaches
    #[arg(long)]
    reach: bool,
    /// Write the table to this Markdown file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Exit code for an arm that moved nothing.
const INERT: u8 = 50;

/// Exit code for an arm that moved what its clause does not govern.
const STRAYED: u8 = 51;

/// An arm by its name.
fn arm(name: &str) -> Result<Arm, String> {
    let known = || std::iter::once(Arm::None).chain(Arm::ALL);
    known().find(|arm| format!("{arm:?}") == name).ok_or_else(|| {
        let names: Vec<String> = known().map(|arm| format!("{arm:?}")).collect();
        format!("known arms: {}", names.join(", "))
    })
}

/// Runs the task. An arm that does not hold is told by the exit code.
///
/// # Errors
/// A device that fails, or a table that cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
    }
    let real = Fixtures::embedded()?;
    let arms: &[Arm] = if args.arm.is_empty() { &Arm::ALL } else { &args.arm };
    let mut reports = Vec::new();
    for device in args.devices.open()? {
        for &arm in arms {
            let report = sabotage(arm, &device, &real, args.reach)?;
            println!("{}", line(&report));
            for bite in &report.reach {
                println!("    reaches {} on {}: first `{}`", bite.estimator, bite.fixture, bite.first);
            }
            reports.push((device.info().adapter.clone(), report));
        }
    }
    if let Some(path) = &args.out {
        std::fs::write(path, table(&reports)).map_err(Error::file(path))?;
    }
    if let Some((code, sentence)) = verdict(reports.iter().map(|(_, r)| r)) {
        eprintln!("{sentence}");
        return Ok(ExitCode::from(code));
    }
    println!(
        "{} arms on {} devices: each moved a stage of its clause and no other",
        arms.len(),
        reports.len() / arms.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// Exit code and sentence for arms that do not hold; nothing if all do. An inert arm is the graver: it proves nothing.
fn verdict<'a>(reports: impl Iterator<Item = &'a ArmReport> + Clone) -> Option<(u8, String)> {
    let lines = |bad: fn(&ArmReport) -> bool| reports.clone().filter(|r| bad(r)).map(line).collect::<Vec<String>>();
    let (inert, strayed) = (lines(|r| r.bites.is_empty()), lines(|r| !r.strays.is_empty()));
    if !inert.is_empty() {
        return Some((INERT, format!("Inert: {} arms moved no stage:\n{}", inert.len(), inert.join("\n"))));
    }
    let told = || format!("Strayed: {} arms moved stages of other clauses:\n{}", strayed.len(), strayed.join("\n"));
    (!strayed.is_empty()).then(|| (STRAYED, told()))
}

fn line(report: &ArmReport) -> String {
    let first = report.bites.first().map_or("INERT".to_owned(), |b| format!("`{}` on {}", b.first, b.fixture));
    let strays = match report.strays.as_slice() {
        [] => String::new(),
        some => format!("; STRAYS: {}", some.join(", ")),
    };
    let (arm, clause) = (format!("{:?}", report.arm), report.arm.clause());
    format!("{:20} {arm:20} [{clause:12}] moved {first} ({} fixtures){strays}", report.device, report.bites.len())
}

fn table(reports: &[(String, ArmReport)]) -> String {
    let mut text = format!(
        "# Negative controls\n\nEach arm breaks one clause of `contract.md` on purpose; the first stage that moved, and on how many of the\n\
         fixtures. An arm that moves nothing, or a stage that its clause does not govern, fails the run.\n\n\
         Made {} at commit {} by `{}`.\n\n| arm | clause | device | first stage moved | on fixture | fixtures |\n|---|---|---|---|---|---|\n",
        evidence::today(),
        evidence::commit(),
        evidence::command_line()
    );
    for arm in Arm::ALL {
        for (adapter, report) in reports.iter().filter(|(_, r)| r.arm == arm) {
            let (first, fixture) =
                report.bites.first().map_or(("inert", "–"), |b| (b.first.as_str(), b.fixture.as_str()));
            text += &format!(
                "| {arm:?} | {} | {} ({adapter}) | `{first}` | {fixture} | {} |\n",
                arm.clause(),
                report.device,
                report.bites.len()
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use ml_identity::certify::Bite;

    use super::*;

    fn report(bites: usize, strays: &[&str]) -> ArmReport {
        let bite = Bite { estimator: "primitives", fixture: "f".into(), first: "prim.sum".into(), moved: Vec::new() };
        let strays = strays.iter().map(|s| (*s).to_owned()).collect();
        ArmReport { arm: Arm::SerialLanes, device: "host".into(), bites: vec![bite; bites], reach: Vec::new(), strays }
    }

    #[test]
    fn arms_that_do_not_hold_have_codes_of_their_own() {
        let (holds, inert, strayed) = (report(2, &[]), report(0, &[]), report(1, &["prim.scan"]));
        let code = |reports: &[&ArmReport]| verdict(reports.iter().copied()).map(|(code, _)| code);
        assert_eq!(code(&[&holds]), None);
        assert_eq!(code(&[&holds, &inert]), Some(INERT));
        assert_eq!(code(&[&holds, &strayed]), Some(STRAYED));
        assert_eq!(code(&[&strayed, &inert, &holds]), Some(INERT));
        let (_, sentence) = verdict([&strayed].into_iter()).expect("does not hold");
        assert!(sentence.contains("prim.scan") && sentence.contains("SerialLanes"), "{sentence}");
    }
}
