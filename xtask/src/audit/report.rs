//! `docs/audit.md`, out of what was read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Amd;
use super::operation::{Operation, Tallies};
use super::rules::{EXCEPTIONS, UNRENDERED, excepted};
use super::suite::{Audited, Form};

const HEAD: &str = "\
# Audit of generated code

Written by `cargo xtask audit --report --amdgpu gfx1100`; not edited by hand. Every kernel of the conformance suite is
rendered in every language that a device may get it in, without a GPU, by the code generators and with the options that the
runtimes use, and every operation on floats in the result is looked at. Allowed everywhere are `fma(a, b, nz)` and
`fma(a, one, b)`, where `nz` = -0.0 and `one` = 1.0 of either sign are arguments of the kernel, followed from there through
copies: docs/contract.md, clause [operations]. What a reader does not know is a finding, not an omission.

";

const PROOF: &str = "\
## What this shows, and what it does not

It shows, of every form of a kernel that the conformance suite launches: its source has no bare float `+ - * / %`, no native
function, comparison or conversion, no float atomic, no plane operation on floats, no pragma, attribute, decoration or
execution mode that changes rounding, but for the exceptions below. A launchable function that is not rendered is a finding,
so a new kernel cannot be forgotten; so is an exception that nothing needs any more.

It does not show:
- **what a driver's compiler makes of the source**: that the run-time constants stop contraction and reassociation is what
  the conformance suite measures on devices. The AMDGPU section looks one step further, with Debian's clang in place of
  hiprtc's. Metal compiles with fast mathematics unless told otherwise, and wgpu does not tell it otherwise;
- **WGSL as Metal and DirectX 12 get it**: wgpu translates it (naga), and only its translation to SPIR-V is read here. The MSL
  read here is CubeCL's own, which isobit does not switch on;
- **forms that no case launches**: map programs of estimators are other combinations of the operations that are read here
  (all of them are: that is checked); sabotage arms are left out;
- **that guesses are repaired**: docs/exhaustive.md is the proof of that;
- **integers**: their operations are exact in every language where shifts stay below the width and divisors are not zero.

CubeCL writes `fma(a, b, c)` in SPIR-V as `OpFMul` and `OpFAdd`, neither marked against contraction. Such pairs count as
pinned where one of the constants stands in its place: contracted or not, they round once.

";

/// The whole report.
pub fn text(audited: &[Audited], amd: Option<&Amd>) -> String {
    let mut out = HEAD.to_owned();
    out += "## What was read\n\n| language | kernels | forms | pinned products | pinned sums | by exception |\n";
    out += "|---|---|---|---|---|---|\n";
    for a in audited {
        let total = |pick: fn(&Operation) -> bool| -> usize { a.forms.iter().map(|f| count(&f.tallies, pick)).sum() };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            named(a.language),
            a.kernels().len(),
            a.forms.len(),
            total(|o| *o == Operation::PinnedProduct),
            total(|o| *o == Operation::PinnedSum),
            total(|o| !o.is_free()),
        );
    }
    out += "\nVectors are spelled out by component in C++, and are one operation elsewhere.\n\n";
    out += PROOF;
    out += "## Exceptions\n\n";
    for exception in &EXCEPTIONS {
        let kernels: Vec<String> = exception.kernels.iter().map(|k| format!("`{}`", short(k))).collect();
        let _ = writeln!(out, "- **{}**, in {}: {}", exception.name, kernels.join(", "), exception.reason);
    }
    out += "\n## Kernels\n\nFloat operations in CUDA, over all forms.\n\n";
    out += "| kernel | forms | pinned products | pinned sums | by exception |\n|---|---|---|---|---|\n";
    let Some(first) = audited.first() else { return out };
    let mut by_kernel: BTreeMap<&str, Vec<&Form>> = BTreeMap::new();
    for form in &first.forms {
        by_kernel.entry(&form.kernel).or_default().push(form);
    }
    for (kernel, forms) in &by_kernel {
        let total = |pick: &dyn Fn(&Operation) -> bool| forms.iter().map(|f| count(&f.tallies, pick)).sum::<usize>();
        let mut others: BTreeMap<&Operation, usize> = BTreeMap::new();
        for (operation, tally) in forms.iter().flat_map(|f| &f.tallies.0).filter(|(o, _)| !o.is_free()) {
            *others.entry(operation).or_default() += tally.count;
        }
        let names: std::collections::BTreeSet<&str> =
            others.keys().flat_map(|o| excepted(kernel, o)).map(|e| e.name).collect();
        let list: Vec<String> = others.iter().map(|(o, n)| format!("{n} {o}")).collect();
        let exceptions = match list.is_empty() {
            true => String::new(),
            false => format!("{}: {}", names.into_iter().collect::<Vec<_>>().join(", "), list.join(", ")),
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {exceptions} |",
            short(kernel),
            forms.len(),
            total(&|o| *o == Operation::PinnedProduct),
            total(&|o| *o == Operation::PinnedSum),
        );
    }
    out += "\nNot rendered:\n";
    for (kernel, why) in UNRENDERED {
        let _ = writeln!(out, "- `{}`: {why}.", short(kernel));
    }
    let _ = writeln!(out, "\nOf {} cases, these stop early, since nothing is computed:", first.cases);
    for early in &first.early {
        let _ = writeln!(out, "- {early}.");
    }
    out += "\n## Instructions of AMD GPUs\n\n";
    match amd {
        None => out += "Not run.\n",
        Some(amd) => {
            let _ = writeln!(
                out,
                "{} forms of kernels, compiled for {} by {} with `-O3` and its default contraction. Every form keeps \
                 denormals and rounds to nearest even (`.amdhsa_float_denorm_mode_32 3`, `.amdhsa_float_round_mode_32 0`), \
                 and none has `v_mad_f32`, `v_mac_f32` or a legacy product, which flush. Float instructions of the kernels \
                 without an exception, all of them fused or part of a division of integers (one reciprocal and one product \
                 each):\n",
                amd.forms, amd.arch, amd.clang
            );
            for (name, n) in &amd.instructions {
                let _ = writeln!(out, "- `{name}`: {n}");
            }
        }
    }
    out
}

fn count(tallies: &Tallies, pick: impl Fn(&Operation) -> bool) -> usize {
    tallies.0.iter().filter(|(o, _)| pick(o)).map(|(_, t)| t.count).sum()
}

fn short(kernel: &str) -> &str {
    kernel.trim_start_matches("ml_kernels::")
}

/// The language, and who gets it.
fn named(language: &str) -> &str {
    match language {
        "cuda" => "CUDA, for NVRTC",
        "hip" => "HIP, for hiprtc",
        "msl" => "MSL, of CubeCL's generator",
        "wgsl" => "WGSL, for devices with 64-bit integers",
        "wgsl-32" => "WGSL, for other devices",
        "spirv" => "SPIR-V, of CubeCL's generator (`wgpu-spirv`)",
        "wgsl-as-spirv" => "SPIR-V, as wgpu makes it of WGSL",
        other => other,
    }
}
