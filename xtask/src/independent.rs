//! The step `independent` of `validate`: `fixtures/independent/` recomputes the host's certificate and the committed vectors
//! from the contract's text, in Python, and is seen to fail where it must.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::process;

/// The interpreter, if it has NumPy; else what is missing.
pub fn interpreter() -> Result<String, String> {
    let name = std::env::var("ISOBIT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&name);
    let quiet = command.args(["-c", "import numpy"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match quiet.status() {
        Ok(status) if status.success() => Ok(name),
        Ok(_) => Err(format!("`{name}` has no NumPy; set ISOBIT_PYTHON to an interpreter that has it")),
        Err(e) => Err(format!("`{name}` could not be started ({e}); set ISOBIT_PYTHON")),
    }
}

/// Certifies the host, checks the certificate and the vectors; `run` starts each command.
///
/// # Errors
/// The first command that fails.
pub fn check(python: &str, run: impl Fn(&mut Command) -> Result<()>) -> Result<()> {
    let folder = process::target_dir().join("independent");
    let (cards, hostile) = (folder.join("cards"), folder.join("hostile"));
    // What an earlier run left must not be what this one judges.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(Error::file(&folder))?;
    }
    // Host certificates need no runtime, so this program can make them whatever it was built with.
    let program = std::env::current_exe().map_err(Error::file(Path::new("xtask")))?;
    run(Command::new(&program).args(["certify", "--device", "host", "--out"]).arg(&cards))?;
    run(Command::new(&program).args(["fixtures", "--write-hostile"]).arg(&hostile))?;
    let script = |name: &str| {
        let mut command = Command::new(python);
        command.arg(process::root().join("fixtures/independent").join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    run(script("check.py").arg(&cards).arg("--hostile").arg(&hostile))?;
    run(script("test_check.py").arg(&cards).arg(&hostile))?;
    // That the product gives the vectors is a test of this crate.
    run(&mut script("check_vectors.py"))?;
    run(&mut script("test_vectors.py"))
}
