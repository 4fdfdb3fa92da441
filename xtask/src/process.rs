//! Running other programs, and the place of the workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::{Error, Result};

/// The workspace's root folder: where this crate was built from, or the current folder if that has moved.
pub fn root() -> PathBuf {
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default();
    if built_from.join("Cargo.toml").is_file() { built_from } else { PathBuf::from(".") }
}

/// cargo's target folder.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The cargo that runs this task, or the one on the path.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// `program` with words of a command line as arguments.
pub fn command(line: &[&str]) -> Command {
    let mut command = Command::new(line.first().copied().unwrap_or_default());
    command.args(line.iter().skip(1));
    command
}

/// The command as a person would type it.
pub fn text(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    std::iter::once(program).chain(command.get_args()).map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs the command to its end, its output going where ours goes.
///
/// # Errors
/// [`Error::Start`], or [`Error::Program`] if it ends without success.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().map_err(|source| start(command, source))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { command: text(command), status: status.to_string(), output: String::new() })
}

/// Runs the command to its end and catches what it prints.
///
/// # Errors
/// [`Error::Start`], or [`Error::Program`] with the output if it ends without success.
pub fn output(command: &mut Command) -> Result<String> {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(|source| start(command, source))?;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(stdout);
    }
    let output = format!("{stdout}{}", String::from_utf8_lossy(&stderr));
    Err(Error::Program { command: text(command), status: status.to_string(), output: output.trim_end().to_owned() })
}

/// Whether a program of this name is on the path.
pub fn present(program: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else { return false };
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn start(command: &Command, source: std::io::Error) -> Error {
    Error::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}
