//! `cargo xtask`: everything that is done to this workspace rather than with it.
//!
//! One file a task. A task takes its own `Args` and returns [`error::Result`]; what it fails with is printed here.

mod arm;
mod audit;
mod bench;
mod certify;
mod compare;
mod conformance;
mod digest;
mod doctor;
mod error;
mod evidence;
#[cfg(feature = "oracle")]
mod exhaustive;
mod fixtures;
mod grow;
mod independent;
mod process;
mod sabotage;
mod setup;
mod support;
mod tidy;
mod validate;
mod vectors;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of the isobit workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    // The workspace: is it in order?
    Validate(validate::Args),
    Setup(setup::Args),
    Tidy(tidy::Args),
    Fixtures(fixtures::Args),
    Arm(arm::Args),
    // Devices: what are they, and do they conform?
    Doctor(doctor::Args),
    Conformance(conformance::Args),
    Audit(audit::Args),
    // Evidence: cards, comparisons, negative controls, measurements.
    Certify(certify::Args),
    Compare(compare::Args),
    Sabotage(sabotage::Args),
    Grow(grow::Args),
    Support(support::Args),
    Bench(bench::Args),
    Digest(digest::Args),
    Vectors(vectors::Args),
    #[cfg(feature = "oracle")]
    Exhaustive(exhaustive::Args),
}

fn main() -> ExitCode {
    let ok = |()| ExitCode::SUCCESS;
    let done = match Cli::parse().task {
        // The workspace.
        Task::Validate(args) => validate::run(&args).map(ok),
        Task::Setup(args) => setup::run(&args).map(ok),
        Task::Tidy(args) => tidy::run(&args).map(ok),
        Task::Fixtures(args) => fixtures::run(&args).map(ok),
        Task::Arm(args) => arm::run(&args).map(ok),
        // Devices.
        Task::Doctor(args) => doctor::run(&args),
        Task::Conformance(args) => conformance::run(&args),
        Task::Audit(args) => audit::run(&args),
        // Evidence.
        Task::Certify(args) => certify::run(&args),
        Task::Compare(args) => compare::run(&args),
        Task::Sabotage(args) => sabotage::run(&args),
        Task::Grow(args) => grow::run(&args),
        Task::Support(args) => support::run(&args).map(ok),
        Task::Bench(args) => bench::run(&args),
        Task::Digest(args) => digest::run(&args),
        Task::Vectors(args) => vectors::run(&args).map(ok),
        #[cfg(feature = "oracle")]
        Task::Exhaustive(args) => exhaustive::task(&args).map(ok),
    };
    match done {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}
