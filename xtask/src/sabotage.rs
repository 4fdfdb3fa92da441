//! `sabotage`: breaks each clause of the contract on purpose and shows which stage moved, per device.

use std::path::PathBuf;
use std::process::ExitCode;

use ml_identity::Fixtures;
use ml_identity::certify::{ArmReport, sabotage};
use ml_kernels::sabotage::Arm;

use crate::error::{Error, Result};
use crate::evidence::{self, Devices};

/// Break each contract clause on purpose: every arm must move a stage of its clause, and no other.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// Also show which stages of the estimators each arm reaches
    #[arg(long)]
    reach: bool,
    /// Write the table to this Markdown file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the task.
///
/// # Errors
/// [`Error::Found`] if an arm was inert or moved a stage that its clause does not govern.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(code) = args.devices.rebuilt()? {
        return Ok(code);
    }
    let real = Fixtures::embedded()?;
    let mut reports = Vec::new();
    for device in args.devices.open()? {
        for arm in Arm::ALL {
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
    let failed: Vec<String> = reports.iter().filter(|(_, r)| !r.holds()).map(|(_, r)| line(r)).collect();
    if !failed.is_empty() {
        return Err(Error::Found(format!("{} arms do not hold:\n{}", failed.len(), failed.join("\n"))));
    }
    println!(
        "{} arms on {} devices: each moved a stage of its clause and no other",
        Arm::ALL.len(),
        reports.len() / Arm::ALL.len()
    );
    Ok(ExitCode::SUCCESS)
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
