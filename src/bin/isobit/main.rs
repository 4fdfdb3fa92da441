//! The `isobit` command: fits, predicts and looks at models from the command line, with the same bytes on every device.
//!
//! One file a subcommand; `estimators` holds the table of what can be fitted, which is the only place that names an
//! estimator.

mod data;
mod devices;
mod error;
mod estimators;
mod fit;
mod inspect;
mod params;
mod predict;
mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Machine learning whose training and prediction give the same bytes on every device.
///
/// Exit codes: 0 done; 1 the work failed (a device, a disk, a computed value that is not finite); 2 what was given cannot
/// be used, and the message says which part of it.
#[derive(Parser)]
#[command(name = "isobit", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Devices(devices::Args),
    Fit(fit::Args),
    Predict(predict::PredictArgs),
    Transform(predict::TransformArgs),
    Inspect(inspect::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Devices(args) => devices::run(&args),
        Task::Fit(args) => fit::run(&args),
        Task::Predict(args) => predict::predict(&args),
        Task::Transform(args) => predict::transform(&args),
        Task::Inspect(args) => inspect::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(e.exit_code())
        }
    }
}
