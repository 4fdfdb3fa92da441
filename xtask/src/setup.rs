//! `setup`: what the columns of the test fleet need on this machine, found or installed.
//!
//! Two software Vulkan drivers stand in for GPUs: lavapipe out of Debian's Mesa, and SwiftShader out of Debian's Chromium.
//! They disagree with each other and with the host on almost every native operation, which is what makes them good tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process;

/// Install what the test fleet needs: software Vulkan drivers, and what the tests' oracle is built with.
///
/// On Debian and its relatives only. Installs packages as root; SwiftShader goes into the target folder.
#[derive(clap::Args)]
pub struct Args {}

/// Debian packages: the Vulkan loader, lavapipe, and what MPFR (the oracle of the tests) is built with.
const PACKAGES: [&str; 6] = ["libvulkan1", "mesa-vulkan-drivers", "gcc", "libc6-dev", "m4", "make"];

/// The packages that may hold SwiftShader; which one does has changed between releases.
const SWIFTSHADER_PACKAGES: [&str; 2] = ["chromium-common", "chromium"];

const SWIFTSHADER: &str = "libvk_swiftshader.so";

/// A column of the fleet beside the host: a Vulkan driver.
pub struct Column {
    /// Its device name.
    pub device: &'static str,
    /// The driver's manifest for the Vulkan loader, if it is here.
    pub manifest: Option<PathBuf>,
    /// What to install where it is not.
    pub install: &'static str,
}

/// The fleet's Vulkan columns as this machine has them.
pub fn columns() -> Vec<Column> {
    let swiftshader = drivers().join("swiftshader_icd.json");
    vec![
        Column {
            device: "vulkan:llvmpipe",
            manifest: lavapipe(),
            install: "lavapipe and the Vulkan loader (Debian: mesa-vulkan-drivers libvulkan1)",
        },
        Column {
            device: "vulkan:swiftshader",
            manifest: swiftshader.is_file().then_some(swiftshader),
            install: "SwiftShader (`cargo xtask setup` takes it out of Debian's chromium-common)",
        },
    ]
}

/// Where drivers that no package manager holds are put.
fn drivers() -> PathBuf {
    process::target_dir().join("drivers")
}

fn lavapipe() -> Option<PathBuf> {
    ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
        .into_iter()
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flat_map(|entries| entries.flatten())
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("lvp_icd")))
}

/// Runs the task.
///
/// # Errors
/// A package or driver that cannot be had, with what to do instead.
pub fn run(_args: &Args) -> Result<()> {
    let absent = packages_absent()?;
    if absent.is_empty() {
        println!("setup: packages are installed: {}", PACKAGES.join(" "));
    } else {
        install(&absent)?;
    }
    swiftshader()?;
    for column in columns() {
        match column.manifest {
            Some(path) => println!("setup: {}: {}", column.device, path.display()),
            None => {
                return Err(Error::Missing(format!("{} is still missing: install {}", column.device, column.install)));
            }
        }
    }
    Ok(())
}

/// Packages of [`PACKAGES`] that dpkg does not have installed.
fn packages_absent() -> Result<Vec<&'static str>> {
    debian()?;
    Ok(PACKAGES.into_iter().filter(|p| !installed(p)).collect())
}

fn installed(package: &str) -> bool {
    process::output(&mut process::command(&["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]))
        .is_ok_and(|status| status.trim() == "installed")
}

fn debian() -> Result<()> {
    if Path::new("/etc/debian_version").is_file() && process::present("apt-get") && process::present("dpkg-deb") {
        return Ok(());
    }
    Err(Error::Missing(format!(
        "setup knows Debian and its relatives only. Install by hand: a Vulkan loader, lavapipe (part of Mesa), SwiftShader \
         (its manifest at {}), a C compiler, make and m4",
        drivers().join("swiftshader_icd.json").display()
    )))
}

/// Whether this process may install packages.
pub fn is_root() -> bool {
    #[cfg(unix)]
    return std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    #[cfg(not(unix))]
    false
}

/// Installs Debian packages.
///
/// # Errors
/// [`Error::Missing`] for others than root; apt's own failure.
pub fn install(packages: &[&str]) -> Result<()> {
    if !is_root() {
        let list = packages.join(" ");
        return Err(Error::Missing(format!("packages are missing and this is not root: sudo apt-get install {list}")));
    }
    update();
    println!("setup: apt-get install {}", packages.join(" "));
    process::run(apt(&["install", "--yes", "--quiet=2", "--no-install-recommends"]).args(packages))
}

/// Brings apt's lists up to date. A list that cannot be had, of some third party say, is no failure: what matters is
/// whether the packages can be had, and that shows.
fn update() {
    if let Err(e) = process::run(&mut apt(&["update", "--quiet=2"])) {
        eprintln!("setup: {e}; going on with the lists that are here");
    }
}

fn apt(args: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Takes SwiftShader out of the first package that has it, and writes its manifest.
fn swiftshader() -> Result<()> {
    let library = drivers().join(SWIFTSHADER);
    if !library.is_file() {
        let download = drivers().join("download");
        fresh_dir(&download)?;
        let found = SWIFTSHADER_PACKAGES.into_iter().try_fold(None, |found: Option<PathBuf>, package| match found {
            Some(path) => Ok(Some(path)),
            None => unpack(package, &download),
        })?;
        let Some(found) = found else {
            let packages = SWIFTSHADER_PACKAGES.join(", ");
            return Err(Error::Missing(format!("no package of {packages} holds {SWIFTSHADER}")));
        };
        std::fs::rename(&found, &library).map_err(Error::file(&found))?;
        std::fs::remove_dir_all(&download).map_err(Error::file(&download))?;
    }
    let library = library.canonicalize().map_err(Error::file(&library))?;
    let manifest = serde_json::json!({
        "file_format_version": "1.0.0",
        "ICD": { "library_path": library, "api_version": "1.1.0" },
    });
    let path = drivers().join("swiftshader_icd.json");
    std::fs::write(&path, manifest.to_string()).map_err(Error::file(&path))
}

/// Downloads one package and unpacks it below `dir`; the driver's place in it, if it has one.
fn unpack(package: &str, dir: &Path) -> Result<Option<PathBuf>> {
    println!("setup: looking for {SWIFTSHADER} in {package}");
    let download = |dir: &Path| {
        process::run(apt(&["download", "--quiet=2", "--option", "APT::Sandbox::User=root", package]).current_dir(dir))
    };
    if download(dir).is_err() {
        update();
        if let Err(e) = download(dir) {
            eprintln!("setup: {package} cannot be had: {e}");
            return Ok(None);
        }
    }
    let tree = dir.join(package);
    for file in files(dir)?.into_iter().filter(|f| f.extension().is_some_and(|e| e == "deb")) {
        process::run(Command::new("dpkg-deb").arg("--extract").arg(&file).arg(&tree))?;
        std::fs::remove_file(&file).map_err(Error::file(&file))?;
    }
    find(&tree, SWIFTSHADER)
}

fn fresh_dir(dir: &Path) -> Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).map_err(Error::file(dir))?;
    }
    std::fs::create_dir_all(dir).map_err(Error::file(dir))
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).map_err(Error::file(dir))?;
    let mut paths =
        entries.map(|e| e.map(|e| e.path())).collect::<std::io::Result<Vec<_>>>().map_err(Error::file(dir))?;
    paths.sort();
    Ok(paths)
}

/// The first file called `name` below `dir`.
fn find(dir: &Path, name: &str) -> Result<Option<PathBuf>> {
    for path in files(dir)? {
        if path.is_dir() && !path.is_symlink() {
            if let Some(found) = find(&path, name)? {
                return Ok(Some(found));
            }
        } else if path.file_name().is_some_and(|n| n == name) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
