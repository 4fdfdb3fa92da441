//! What the tasks that make evidence share: devices by name, the commit, and building with the runtimes needed.

use std::collections::BTreeSet;

pub use ml_identity::card::today;
use ml_kernels::Device;

use crate::error::{Error, Result};
use crate::{process, setup};

/// Which devices a task runs on, and with which runtimes it is to be built.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Devices {
    /// A device, such as host, cuda:0 or vulkan:llvmpipe; may be given again
    #[arg(long = "device", value_name = "NAME")]
    pub names: Vec<String>,
    /// Every device that the build and the machine have
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Runtimes to build with first: wgpu, wgpu-spirv, cuda, hip
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub features: Vec<String>,
}

impl Devices {
    /// The devices. Without a choice: the host, and every device that can be opened.
    ///
    /// # Errors
    /// [`Error::Isobit`] for a name that cannot be opened, or for one of `--all` that is there and fails.
    pub fn open(&self) -> Result<Vec<Device>> {
        if !self.names.is_empty() {
            return self.names.iter().map(|n| n.parse::<Device>().map_err(Error::from)).collect();
        }
        let mut devices = Vec::new();
        for entry in Device::all() {
            match entry.device {
                Ok(device) => devices.push(device),
                Err(e) => eprintln!("{}: not run: {e}", entry.name),
            }
        }
        Ok(devices)
    }

    /// Features that must be built in and are not: those asked for, those that the device names need, and, where
    /// nothing was chosen, `wgpu` on a machine that has a Vulkan driver.
    fn missing(&self) -> BTreeSet<String> {
        let mut wanted: BTreeSet<String> = self.features.iter().cloned().collect();
        for name in &self.names {
            let runtime = name.split(':').next().unwrap_or_default();
            match runtime {
                "cuda" | "hip" => wanted.insert(runtime.to_owned()),
                "vulkan" | "metal" | "dx12" if !wanted.contains("wgpu-spirv") => wanted.insert("wgpu".to_owned()),
                _ => false,
            };
        }
        if self.names.is_empty() && self.features.is_empty() && setup::columns().iter().any(|c| c.manifest.is_some()) {
            wanted.insert("wgpu".to_owned());
        }
        let built = built_features();
        wanted.into_iter().filter(|f| !built.contains(f)).collect()
    }

    /// Builds this program again with the runtimes that are missing and runs it in its place; `None` if none is missing or
    /// there is no cargo to build with.
    ///
    /// # Errors
    /// [`Error::Start`].
    pub fn rebuilt(&self) -> Result<Option<std::process::ExitCode>> {
        let missing = self.missing();
        if missing.is_empty() || std::env::var_os("CARGO").is_none() || std::env::var_os(REBUILT).is_some() {
            return Ok(None);
        }
        let manifests: Vec<String> =
            setup::columns().into_iter().filter_map(|c| c.manifest).map(|m| m.display().to_string()).collect();
        let manifests = (!manifests.is_empty()).then(|| manifests.join(":"));
        again(missing, manifests.filter(|_| std::env::var_os("VK_DRIVER_FILES").is_none())).map(Some)
    }
}

/// Builds this program with `features` besides its own and runs it in its place; `manifests` are the Vulkan drivers to use
/// in place of the machine's.
///
/// # Errors
/// [`Error::Start`].
pub fn again(features: BTreeSet<String>, manifests: Option<String>) -> Result<std::process::ExitCode> {
    let features: Vec<String> =
        features.into_iter().chain(built_features()).collect::<BTreeSet<_>>().into_iter().collect();
    let mut command = process::cargo();
    command.args(["run", "--quiet", "--package", "xtask", "--features", &features.join(","), "--"]);
    command.args(std::env::args_os().skip(1)).env(REBUILT, "1");
    command.envs(manifests.map(|list| ("VK_DRIVER_FILES", list)));
    // Mesa complains on every start without one.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    }
    let program = process::text(&command);
    let status = command.status().map_err(|source| Error::Start { program, source })?;
    let code = status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1);
    Ok(std::process::ExitCode::from(code))
}

/// Set in the program that [`again`] starts.
const REBUILT: &str = "ISOBIT_XTASK_REBUILT";

/// Runtimes that this program was built with.
pub fn built_features() -> Vec<String> {
    [
        ("wgpu", cfg!(feature = "wgpu")),
        ("wgpu-spirv", cfg!(feature = "wgpu-spirv")),
        ("cuda", cfg!(feature = "cuda")),
        ("hip", cfg!(feature = "hip")),
    ]
    .into_iter()
    .filter(|(_, on)| *on)
    .map(|(name, _)| name.to_owned())
    .collect()
}

/// The commit that was built: from git, or `ISOBIT_COMMIT` on a machine without the source.
pub fn commit() -> String {
    if let Ok(commit) = std::env::var("ISOBIT_COMMIT") {
        return commit;
    }
    let git = |args: &[&str]| {
        let mut command = process::command(&["git"]);
        command.args(args).current_dir(process::root());
        process::output(&mut command)
    };
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Ok(head) => {
            let clean = git(&["status", "--porcelain", "--untracked-files=no"]).is_ok_and(|s| s.trim().is_empty());
            format!("{}{}", head.trim(), if clean { "" } else { "-dirty" })
        }
        Err(_) => "unknown".to_owned(),
    }
}

/// The command as it was given, the program's path left out.
///
/// A task that runs this program elsewhere says in `ISOBIT_COMMAND` how it was called itself.
pub fn command_line() -> String {
    if let Ok(command) = std::env::var("ISOBIT_COMMAND") {
        return command;
    }
    std::iter::once("cargo xtask".to_owned()).chain(std::env::args().skip(1)).collect::<Vec<_>>().join(" ")
}
