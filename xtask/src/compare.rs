//! `compare`: whether certificates agree, and if not, which stage of which run moved first.

use std::path::PathBuf;
use std::process::ExitCode;

use ml_identity::compare::{Options, Verdict, compare_files};

use crate::error::Result;

/// Compare two or more certificates, bit for bit.
///
/// Exit codes: 0 equal; 10 a stage differs; 11 the stage lists differ; 12 outcomes differ; 20 other profile; 21 other
/// fixtures; 30 a column is missing; 31 a run is missing; 32 nothing to compare; 40 a certificate is not valid; 41 a
/// certificate was cut short.
#[derive(clap::Args)]
pub struct Args {
    /// Certificates
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A column that must be among them; may be given again
    #[arg(long, value_name = "NAME")]
    expect: Vec<String>,
    /// Show every finding, not the gravest alone
    #[arg(long)]
    every: bool,
}

/// Runs the task.
///
/// # Errors
/// None: what is wrong with a certificate is a verdict.
pub fn run(args: &Args) -> Result<ExitCode> {
    let options = Options { expect: args.expect.clone(), ..Options::default() };
    let report = compare_files(&args.files, &options);
    println!("{}", report.verdict.sentence());
    if args.every {
        for finding in report.findings.iter().map(Verdict::sentence) {
            println!("  {finding}");
        }
    }
    Ok(ExitCode::from(report.verdict.exit_code()))
}
