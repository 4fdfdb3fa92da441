//! `audit`: every kernel of the conformance suite in every language that a device may get it in, read for operations on
//! floats that a device or a compiler may round in its own way. Needs no GPU and no driver.

#[cfg(any(test, feature = "audit"))]
#[cfg_attr(
    not(feature = "audit"),
    allow(dead_code, reason = "builds without the code generators have nothing to read")
)]
mod amdgpu;
#[cfg(any(test, feature = "audit"))]
mod lexer;
#[cfg_attr(
    not(feature = "audit"),
    allow(dead_code, reason = "builds without the code generators have nothing to read")
)]
mod operation;
mod registry;
#[cfg(feature = "audit")]
mod report;
#[cfg(any(test, feature = "audit"))]
#[cfg_attr(
    not(feature = "audit"),
    allow(dead_code, reason = "builds without the code generators have nothing to read")
)]
mod rules;
#[cfg(any(test, feature = "audit"))]
mod spirv;
#[cfg(feature = "audit")]
mod suite;
#[cfg(any(test, feature = "audit"))]
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::error::Result;

pub use registry::{REPORT, kernels};

/// Read the code that kernels become, in every language, for float operations that the contract forbids.
///
/// Renders the kernels of the whole conformance suite as CUDA, HIP, Metal's language, WGSL and SPIR-V, and the WGSL as the
/// SPIR-V that a Vulkan driver is given. No GPU is needed; without the code generators built in, they are built first.
#[derive(clap::Args)]
#[cfg_attr(not(feature = "audit"), allow(dead_code, reason = "the program built anew reads them"))]
pub struct Args {
    /// Write docs/audit.md
    #[arg(long)]
    report: bool,
    /// Also compile the HIP sources with clang for this architecture, such as gfx1100, and read the instructions
    #[arg(long, value_name = "ARCH")]
    amdgpu: Option<String>,
    /// Write the sources to this folder as well
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
}

/// Runs the task.
///
/// # Errors
/// [`crate::error::Error::Start`] if the program with the code generators cannot be built.
#[cfg(not(feature = "audit"))]
pub fn run(_args: &Args) -> Result<ExitCode> {
    crate::evidence::again(["audit".to_owned()].into(), None)
}

/// Runs the task.
///
/// # Errors
/// [`crate::error::Error::Found`] if anything stands in generated code that no rule allows, or a kernel of the source was
/// not rendered.
#[cfg(feature = "audit")]
pub fn run(args: &Args) -> Result<ExitCode> {
    full::run(args).map(|()| ExitCode::SUCCESS)
}

#[cfg(feature = "audit")]
mod full {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::rules::Seen;
    use super::suite::Audited;
    use super::{Args, amdgpu, registry, report, rules, suite};
    use crate::error::{Error, Result};
    use crate::{process, tidy};

    pub fn run(args: &Args) -> Result<()> {
        let sources = tidy::sources(&process::root())?;
        let kernels = registry::kernels(&sources);
        let audited = suite::render(&kernels)?;
        if let Some(folder) = &args.dump {
            dump(&audited, folder)?;
        }
        let mut findings = findings(&audited, &kernels);
        // A map program is one of many; each of its operations occurs in some that was read.
        for operation in missing_operations(&registry::variants(&sources, "Code"), &audited) {
            findings.push(format!("map: no program with the operation `{operation}` was rendered"));
        }
        let amd = args.amdgpu.as_deref().map(|arch| instructions(&audited, arch, &mut findings)).transpose()?;
        for a in &audited {
            println!("{:13} {:3} forms of {} kernels read", a.language, a.forms.len(), a.kernels().len());
        }
        match &amd {
            Some(amd) => println!("{:13} {:3} forms compiled and read", amd.arch, amd.forms),
            None => println!("amdgpu        not run: --amdgpu ARCH asks for it, with clang installed"),
        }
        for finding in &findings {
            eprintln!("{finding}");
        }
        if !findings.is_empty() {
            return Err(Error::Found(format!("audit: {} findings", findings.len())));
        }
        println!("audit: nothing in generated code but what the rules allow");
        if args.report {
            let path = process::root().join(registry::REPORT);
            std::fs::write(&path, report::text(&audited, amd.as_ref())).map_err(Error::file(&path))?;
            println!("wrote {}", registry::REPORT);
        }
        Ok(())
    }

    fn findings(audited: &[Audited], kernels: &BTreeMap<String, super::operation::Pins>) -> Vec<String> {
        let seen: Vec<Seen<'_>> = audited
            .iter()
            .flat_map(|a| a.forms.iter().map(|f| Seen { language: a.language, kernel: &f.kernel, tallies: &f.tallies }))
            .collect();
        let languages: Vec<&str> = audited.iter().map(|a| a.language).collect();
        rules::findings(&seen, kernels, &languages)
    }

    /// Operations of map programs that no form's build-time parameters name.
    fn missing_operations(all: &[String], audited: &[Audited]) -> Vec<String> {
        let forms = || audited.iter().flat_map(|a| &a.forms).filter(|f| f.kernel.ends_with("::map_program"));
        let named: BTreeSet<&str> = forms()
            .flat_map(|f| f.form.split("code: ").skip(1))
            .map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default())
            .collect();
        all.iter().filter(|v| !named.contains(v.as_str())).cloned().collect()
    }

    /// What clang made of the HIP sources.
    pub struct Amd {
        /// The architecture.
        pub arch: String,
        /// The compiler's own words.
        pub clang: String,
        /// Forms of kernels compiled.
        pub forms: usize,
        /// Float instructions of all kernels without native operations.
        pub instructions: BTreeMap<String, usize>,
    }

    fn instructions(audited: &[Audited], arch: &str, findings: &mut Vec<String>) -> Result<Amd> {
        let missing = || Error::Missing("--amdgpu needs clang 15 or later (Debian: clang-16)".to_owned());
        let clang = amdgpu::clang().ok_or_else(missing)?;
        let folder = process::target_dir().join("audit");
        let version = process::output(process::command(&[clang, "--version"]).current_dir(process::root()))?;
        let clang_words = version.lines().next().unwrap_or_default().to_owned();
        let mut amd = Amd { arch: arch.to_owned(), clang: clang_words, forms: 0, instructions: BTreeMap::new() };
        for form in audited.iter().filter(|a| a.language == "hip").flat_map(|a| &a.forms) {
            let excused = form.tallies.0.keys().any(|operation| !operation.is_free());
            match amdgpu::compile(clang, arch, &folder, &form.source) {
                Ok(code) => {
                    findings.extend(amdgpu::findings(&form.kernel, excused, &code));
                    amd.forms += 1;
                    for (name, n) in code.instructions.into_iter().filter(|_| !excused) {
                        *amd.instructions.entry(name).or_default() += n;
                    }
                }
                Err(e) => findings.push(format!("amdgpu: {}: {e}", form.kernel)),
            }
        }
        Ok(amd)
    }

    fn dump(audited: &[Audited], folder: &Path) -> Result<()> {
        for a in audited {
            let folder = folder.join(a.language);
            std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
            for (number, form) in a.forms.iter().enumerate() {
                let name = form.kernel.trim_start_matches("ml_kernels::").replace("::", ".");
                let path = folder.join(format!("{number:03}-{name}.txt"));
                let text = format!("// {}\n// {}\n{}", form.kernel, form.form, form.source);
                std::fs::write(&path, text).map_err(Error::file(&path))?;
                if !form.words.is_empty() {
                    let path = path.with_extension("spv");
                    let bytes: Vec<u8> = form.words.iter().flat_map(|w| w.to_le_bytes()).collect();
                    std::fs::write(&path, bytes).map_err(Error::file(&path))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(feature = "audit")]
pub use full::Amd;
