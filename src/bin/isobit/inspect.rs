//! `inspect`: what a model file holds.

use std::path::PathBuf;

use isobit::core::model::{FORMAT, ModelReader};
use ml_identity::Digest;

use crate::error::Result;
use crate::estimators::load;

/// Verify a model file and show what it holds: estimator, parameters, and each array with shape and digest.
///
/// Everything in the file is verified before anything is shown: the digests of header and arrays, that every number is
/// finite and canonical, and that the parts make a model.
#[derive(clap::Args)]
pub struct Args {
    /// The model
    #[arg(value_name = "MODEL.safetensors")]
    model: PathBuf,
}

/// Runs the subcommand.
///
/// # Errors
/// A file that cannot be trusted.
pub fn run(args: &Args) -> Result<()> {
    let file = ModelReader::open_any(&args.model)?;
    load(&file)?;
    println!("kind     {}", file.kind());
    println!("format   {FORMAT}");
    println!("profile  {}", isobit::PROFILE);
    println!("blake3   {}", Digest::of(file.as_bytes()));
    println!("parameters");
    for (name, value) in file.params().as_object().into_iter().flatten() {
        println!("  {name:<24} {value}");
    }
    println!("arrays");
    for array in file.arrays() {
        println!("  {:<24} {} {:<14} {}", array.name, array.dtype, format!("{:?}", array.shape), array.digest);
    }
    println!("verified {} bytes", file.as_bytes().len());
    Ok(())
}
