//! All 2^32 inputs of a scalar function against an independent oracle: the proof behind the suffix `_cr`.
//!
//! Elementary functions are compared with MPFR in both spellings, the host's and the one devices run; `sqrt` and the
//! conversions, in the spelling that devices run, with the processor's own correctly rounded operations. Every input is
//! compared. MPFR is not asked where its answer follows from another (`subjects.rs` says why for each function): from
//! oddness or evenness, from monotony between two inputs with one result, or next to 0.
//!
//! Functions of two values are compared at random pairs and at pairs built to be hard (`pairs.rs`).

mod logs;
mod oracle;
mod pairs;
mod run;
mod subjects;
mod summary;

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::process;

/// Compare scalar functions with their oracle on all 2^32 inputs, or functions of two values on many pairs.
#[derive(clap::Args)]
pub struct Args {
    /// Functions, such as exp and atan2, or all of one or two values: univariate, bivariate
    #[arg(required = true)]
    functions: Vec<String>,
    /// Threads; one a core by default
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Only one input in N, from every block of 65,536
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: u32,
    /// Leave out the spelling of devices: `digest` compares it on a device, faster
    #[arg(long)]
    host_only: bool,
    /// Ask the platform's function in f64 first, and MPFR only next to the middle between two floats
    #[arg(long)]
    quick: bool,
    /// Random pairs for functions of two values
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pairs: u64,
    /// Put the results into docs/exhaustive.md, or into the file given
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "docs/exhaustive.md")]
    summary: Option<PathBuf>,
}

/// Runs the task and prints one JSON line a function.
///
/// # Errors
/// A function that is unknown, or one that has a mismatch.
pub fn task(args: &Args) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build().map_err(found)?;
    let mut failed = Vec::new();
    for name in subjects::names(&args.functions).map_err(found)? {
        let done = match (subjects::univariate(name), pairs::bivariate(name)) {
            (Some(subject), _) => {
                run::run(&subject, run::Extent { every: args.every, both: !args.host_only, quick: args.quick }, &pool)
            }
            (None, Some(subject)) => pairs::run(&subject, args.pairs, &pool),
            (None, None) => return Err(Error::Found(format!("no oracle for {name}"))),
        };
        println!("{}", done.to_json());
        if done.mismatches > 0 {
            failed.push(name);
        } else if let Some(path) = &args.summary {
            // A sample is no proof and stays out of the table.
            if args.every == 1 {
                let path = process::root().join(path);
                let old = std::fs::read_to_string(&path).unwrap_or_default();
                std::fs::write(&path, summary::merged(&old, &done)).map_err(Error::file(&path))?;
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Error::Found(format!("not correctly rounded: {}", failed.join(", ")))) }
}

fn found(e: impl ToString) -> Error {
    Error::Found(e.to_string())
}
