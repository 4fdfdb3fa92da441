//! `support`: the README's support matrix, from the certificates.

use ml_identity::support::{SupportMatrix, check_readme, rewrite_readme};

use crate::error::{Error, Result};
use crate::process;

/// Check the support matrix of the README against certificates/, or write it.
#[derive(clap::Args, Default)]
pub struct Args {
    /// Write it instead of checking it
    #[arg(long)]
    write: bool,
}

/// Runs the task.
///
/// # Errors
/// A certificate that does not verify, or a README that says something else.
pub fn run(args: &Args) -> Result<()> {
    let matrix = SupportMatrix::from_folder(process::root().join("certificates"))?;
    let path = process::root().join("README.md");
    let readme = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    if args.write {
        return std::fs::write(&path, rewrite_readme(&readme, &matrix)?).map_err(Error::file(&path));
    }
    Ok(check_readme(&readme, &matrix)?)
}
