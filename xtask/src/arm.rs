//! `arm`: the aarch64 column on an x86-64 machine: cross-compiled, run by qemu's user-mode emulation.
//!
//! The processor differs in what Rust leaves to it (which SIMD loops are chosen, how far a compiler may go with them),
//! so equal bytes there are evidence that the host columns do not agree by being the same machine.
//!
//! Everything lives below the target folder, in a Debian tree of its own: its compiler is newer than Debian stable's, and
//! nothing is installed on the machine but debootstrap.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::{evidence, process, setup};

/// Cross-compile for aarch64, and run conformance and certification of its host under qemu (Debian, as root).
#[derive(clap::Args, Default)]
pub struct Args {
    /// Build and run again without bringing the Debian tree up to date
    #[arg(long)]
    no_update: bool,
}

/// The Debian release of the tree: its rustc meets the workspace's `rust-version`.
const RELEASE: &str = "forky";

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// What the tree needs: a compiler with the standard library of both architectures, a cross linker, an emulator.
const PACKAGES: [&str; 8] = [
    "ca-certificates",
    "cargo",
    "gcc",
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "libstd-rust-dev:arm64",
    "qemu-user",
    "rustc",
];

/// Runs the task.
///
/// # Errors
/// What is missing on this machine; a build or a comparison that failed.
pub fn run(args: &Args) -> Result<()> {
    if !setup::is_root() || !Path::new("/etc/debian_version").is_file() {
        let why = "the aarch64 column needs Debian and root: it makes a Debian tree and runs programs in it (chroot)";
        return Err(Error::Missing(why.to_owned()));
    }
    let base = process::target_dir().join("arm");
    std::fs::create_dir_all(&base).map_err(Error::file(&base))?;
    let base = base.canonicalize().map_err(Error::file(&base))?;
    let tree = base.join("tree");
    if !(args.no_update && tree.join("usr/bin/cargo").is_file()) {
        make_tree(&tree)?;
    }
    copy_source(&tree)?;
    copy_registry(&tree)?;
    build(&tree)?;
    let program = format!("/target/{TARGET}/release/xtask");
    emulate(&tree, &[&program, "conformance", "--device", "host"])?;
    emulate(&tree, &[&program, "certify", "--device", "host", "--out", "/cards"])?;
    let cards = base.join("cards");
    if cards.exists() {
        std::fs::remove_dir_all(&cards).map_err(Error::file(&cards))?;
    }
    process::run(Command::new("cp").arg("--recursive").arg(tree.join("cards")).arg(&cards))?;
    println!("arm: cards are in {}", cards.display());
    Ok(())
}

/// Makes the Debian tree, or completes one that an earlier run left half made.
fn make_tree(tree: &Path) -> Result<()> {
    if !process::present("debootstrap") {
        setup::install(&["debootstrap"])?;
    }
    // debootstrap knows only the releases of its own time; all newer ones are made like sid.
    let script = Path::new("/usr/share/debootstrap/scripts").join(RELEASE);
    if !script.exists() {
        process::run(Command::new("ln").args(["--symbolic", "sid"]).arg(&script))?;
    }
    if !tree.join("usr").is_dir() || !tree.join("var/lib/dpkg/status").is_file() {
        let mirror = mirror()?;
        println!("arm: debootstrap {RELEASE} from {mirror}");
        // Signatures of releases newer than this machine's keyring cannot be checked; nothing of the tree leaves it.
        process::run(
            Command::new("debootstrap").args(["--variant=minbase", "--no-check-gpg", RELEASE]).arg(tree).arg(&mirror),
        )?;
    }
    copy_if_there(Path::new("/etc/resolv.conf"), &tree.join("etc/resolv.conf"))?;
    let confs = std::fs::read_dir("/etc/apt/apt.conf.d").into_iter().flatten().flatten().map(|e| e.path());
    for conf in confs {
        copy_if_there(&conf, &tree.join("etc/apt/apt.conf.d").join(conf.file_name().unwrap_or_default()))?;
    }
    process::run(chroot(tree).args(["dpkg", "--add-architecture", "arm64"]))?;
    process::run(chroot(tree).args(["apt-get", "update", "--quiet=2"]))?;
    process::run(
        chroot(tree).args(["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends"]).args(PACKAGES),
    )
}

fn copy_if_there(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        std::fs::copy(from, to).map_err(Error::file(to))?;
    }
    Ok(())
}

/// The Debian mirror that this machine's apt uses.
fn mirror() -> Result<String> {
    let dir = Path::new("/etc/apt/sources.list.d");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    files.insert(0, PathBuf::from("/etc/apt/sources.list"));
    let texts = files.iter().filter_map(|f| std::fs::read_to_string(f).ok());
    texts.filter_map(|text| mirror_in(&text)).next().ok_or_else(|| {
        Error::Missing("no Debian mirror in /etc/apt/sources.list or sources.list.d: add one".to_owned())
    })
}

/// The first address ending in `/debian` of a sources file, in the old (`deb URI …`) or the new (`URIs: …`) format.
fn mirror_in(text: &str) -> Option<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| line.starts_with("deb ") || line.starts_with("URIs:"))
        .flat_map(str::split_whitespace)
        .map(|word| word.trim_end_matches('/'))
        .find(|word| word.contains("://") && word.ends_with("/debian"))
        .map(str::to_owned)
}

/// A fresh copy of the workspace in the tree; what was built from earlier copies lies elsewhere and stays.
fn copy_source(tree: &Path) -> Result<()> {
    let source = tree.join("src");
    if source.exists() {
        std::fs::remove_dir_all(&source).map_err(Error::file(&source))?;
    }
    std::fs::create_dir_all(&source).map_err(Error::file(&source))?;
    let mut pack = Command::new("tar");
    pack.arg("--directory").arg(process::root()).args(["--exclude=./target", "--exclude=./.git", "--create", "."]);
    pipe(pack, Command::new("tar").arg("--directory").arg(&source).arg("--extract"))
}

/// The crates that the lock file names: fetched by this machine's cargo, since the tree may not reach the registry.
fn copy_registry(tree: &Path) -> Result<()> {
    let fetch = ["fetch", "--locked", "--target", TARGET, "--target", "x86_64-unknown-linux-gnu"];
    process::run(process::cargo().args(fetch))?;
    let home = match (std::env::var_os("CARGO_HOME"), std::env::var_os("HOME")) {
        (Some(home), _) => PathBuf::from(home),
        (None, Some(home)) => PathBuf::from(home).join(".cargo"),
        (None, None) => return Err(Error::Missing("neither CARGO_HOME nor HOME is set".to_owned())),
    };
    let copy = tree.join("cargo");
    std::fs::create_dir_all(&copy).map_err(Error::file(&copy))?;
    let mut pack = Command::new("tar");
    pack.arg("--directory").arg(&home).args(["--exclude=registry/src", "--create", "registry"]);
    for name in ["config.toml", "config"] {
        if home.join(name).is_file() {
            pack.arg(name);
        }
    }
    pipe(pack, Command::new("tar").arg("--directory").arg(&copy).arg("--extract"))
}

/// `from | to`.
fn pipe(mut from: Command, to: &mut Command) -> Result<()> {
    let start = |command: &Command, source| Error::Start { program: process::text(command), source };
    let mut child = from.stdout(Stdio::piped()).spawn().map_err(|e| start(&from, e))?;
    let out = child.stdout.take().expect("stdout is piped");
    let taken = to.stdin(out).status().map_err(|e| start(to, e))?;
    let given = child.wait().map_err(|e| start(&from, e))?;
    for (command, status) in [(&from, given), (&*to, taken)] {
        if !status.success() {
            let command = process::text(command);
            return Err(Error::Program { command, status: status.to_string(), output: String::new() });
        }
    }
    Ok(())
}

/// A command inside the tree.
fn chroot(tree: &Path) -> Command {
    let mut command = Command::new("nice");
    command.arg("chroot").arg(tree);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn build(tree: &Path) -> Result<()> {
    println!("arm: building for {TARGET}");
    let linker = format!("target.{TARGET}.linker=\"aarch64-linux-gnu-gcc\"");
    let mut command = chroot(tree);
    command.args(["env", "--chdir=/src", "--unset=RUSTUP_TOOLCHAIN", "CARGO_HOME=/cargo", "CARGO_TARGET_DIR=/target"]);
    command.args(["cargo", "build", "--locked", "--offline", "--release", "--package", "xtask"]);
    process::run(command.args(["--target", TARGET, "--config", &linker]))
}

/// Runs an aarch64 program of the tree.
fn emulate(tree: &Path, line: &[&str]) -> Result<()> {
    println!("arm: {}", line.join(" "));
    let mut command = chroot(tree);
    // The tree has no history and no cargo xtask: a certificate is to name those it comes from.
    command.args(["env", "--chdir=/src"]);
    command.arg(format!("ISOBIT_COMMIT={}", evidence::commit()));
    command.arg(format!("ISOBIT_COMMAND={}", evidence::command_line()));
    command.args(["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]).args(line);
    // The columns of this machine are not those of the emulated one, and cargo is not to build others for it.
    process::run(command.env_remove("ISOBIT_DEVICES").env_remove("CARGO"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_read_from_both_formats() {
        let new = "Types: deb\n# a comment\nURIs: http://mirror.example/debian\nSuites: stable\n";
        assert_eq!(mirror_in(new).as_deref(), Some("http://mirror.example/debian"));
        let old = "# deb http://commented.example/debian stable main\ndeb [arch=amd64] http://mirror.example/debian/ stable main\n";
        assert_eq!(mirror_in(old).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(mirror_in("URIs: http://mirror.example/debian-security\n"), None);
        assert_eq!(mirror_in("deb http://packages.example/apt stable main\n"), None);
    }

    #[test]
    fn a_failing_end_of_a_pipe_is_an_error() {
        assert!(pipe(Command::new("true"), &mut Command::new("cat")).is_ok());
        assert!(pipe(Command::new("false"), &mut Command::new("true")).is_err());
        assert!(pipe(Command::new("true"), &mut Command::new("false")).is_err());
    }
}
