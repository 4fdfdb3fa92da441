//! The instructions that AMD's compiler makes of HIP sources: clang's AMDGPU target, with a header of ours in place of
//! HIP's, since ROCm is not needed to look at instructions.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::process;

const HEADER: &str = include_str!("hip_runtime.h");

/// Names under which clang may be installed.
const CLANGS: [&str; 6] = ["clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15"];

/// The clang of this machine, if it has one.
pub fn clang() -> Option<&'static str> {
    CLANGS.into_iter().find(|name| process::present(name))
}

/// Float instructions of one form of a kernel, and its float modes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    /// Instructions on floats by name, without the encoding's suffix.
    pub instructions: BTreeMap<String, usize>,
    /// `.amdhsa_float_*` settings.
    pub modes: BTreeMap<String, String>,
}

/// Compiles a HIP source for `arch`.
///
/// # Errors
/// [`Error::Program`] with clang's words, [`Error::File`].
pub fn compile(clang: &str, arch: &str, folder: &Path, source: &str) -> Result<Code> {
    let header = folder.join("hip");
    std::fs::create_dir_all(&header).map_err(Error::file(&header))?;
    let header = header.join("hip_runtime.h");
    std::fs::write(&header, HEADER).map_err(Error::file(&header))?;
    let path = folder.join("kernel.hip");
    std::fs::write(&path, source).map_err(Error::file(&path))?;
    // hiprtc's options as CubeCL sets them, and what makes do without ROCm.
    let mut command = process::command(&[clang, "-x", "hip", "-std=c++17", "-O3", "--cuda-device-only", "-S"]);
    command.args(["-nogpuinc", "-nogpulib", "-fms-extensions", "-w"]);
    command.arg(format!("--offload-arch={arch}")).arg("-I").arg(folder).args(["-o", "-"]).arg(&path);
    Ok(read(&process::output(&mut command)?))
}

/// Reads assembler text.
pub fn read(assembler: &str) -> Code {
    let mut code = Code::default();
    for line in assembler.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if first.starts_with(".amdhsa_float_") || first == ".amdhsa_ieee_mode" {
            code.modes.insert(first.to_owned(), words.next().unwrap_or_default().to_owned());
        }
        // Two instructions in one: `v_dual_fmac_f32 … :: v_dual_mov_b32 …`.
        for part in line.split("::") {
            let name = part.split_whitespace().next().unwrap_or_default();
            let float = ["_f32", "_f16", "_f64", "_bf16"].iter().any(|t| name.contains(t));
            if float && (name.starts_with("v_") || name.starts_with("s_") || name.contains("atomic")) {
                let name = ["_e32", "_e64", "_dpp", "_sdwa"].iter().fold(name, |n, suffix| n.trim_end_matches(suffix));
                *code.instructions.entry(name.replace("v_dual_", "v_")).or_default() += 1;
            }
        }
    }
    code
}

/// What is wrong with the code of a kernel, one line each. `excused`: its source holds native operations by an exception,
/// and only what holds for every kernel is asked.
pub fn findings(kernel: &str, excused: bool, code: &Code) -> Vec<String> {
    let mut findings = Vec::new();
    // Denormals kept in and out; to nearest even.
    for (mode, value) in [(".amdhsa_float_denorm_mode_32", "3"), (".amdhsa_float_round_mode_32", "0")] {
        let set = code.modes.get(mode).map_or("not set", String::as_str);
        if set != value {
            findings.push(format!("amdgpu: {kernel}: {mode} is {set}, not {value}"));
        }
    }
    // These flush, or round otherwise, wherever they stand.
    for name in code.instructions.keys() {
        let wrong = name.contains("legacy") || name.starts_with("v_mad_") || name.starts_with("v_mac_");
        if wrong || name.contains("f16") || name.contains("f64") || name.contains("atomic") {
            findings.push(format!("amdgpu: {kernel}: {name}"));
        }
    }
    if excused {
        return findings;
    }
    // A division of integers is one reciprocal, one product and conversions, which integers correct.
    let count = |name: &str| code.instructions.get(name).copied().unwrap_or_default();
    let divisions = count("v_rcp_iflag_f32");
    for (name, n) in &code.instructions {
        // With a literal for one operand, too.
        let fused = ["v_fma_f32", "v_fmac_f32", "v_fmaak_f32", "v_fmamk_f32", "v_pk_fma_f32"].contains(&name.as_str());
        let division = match name.as_str() {
            "v_rcp_iflag_f32" => true,
            "v_mul_f32" => *n == divisions,
            "v_cvt_f32_u32" | "v_cvt_u32_f32" => divisions > 0 && *n <= 2 * divisions,
            _ => false,
        };
        if !(fused || division) {
            findings.push(format!("amdgpu: {kernel}: {n} {name} for {divisions} divisions of integers"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "ml_kernels::scan::kernel::scan_blocks";
    const MODES: &str = "\t.amdhsa_float_round_mode_32 0\n\t.amdhsa_float_denorm_mode_32 3\n";

    fn found(body: &str) -> Vec<String> {
        findings(PLAIN, false, &read(&format!("{body}\n{MODES}")))
    }

    #[test]
    fn fused_instructions_and_integer_divisions_pass() {
        let body = "\tv_fma_f32 v0, v1, v2, s0\n\tv_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4\n\
                    \tv_cvt_f32_u32_e32 v0, v1\n\tv_rcp_iflag_f32_e32 v0, v0\n\tv_mul_f32_e32 v0, 0x4f7ffffe, v0\n\
                    \tv_cvt_u32_f32_e32 v0, v0\n";
        assert!(found(body).is_empty(), "{:?}", found(body));
    }

    #[test]
    fn other_float_instructions_and_modes_do_not() {
        for body in [
            "\tv_add_f32_e32 v0, v1, v2",
            "\tv_mul_f32_e64 v0, v1, v2",
            "\tv_dual_mov_b32 v3, v4 :: v_dual_add_f32 v0, v1, v2",
            "\tv_mac_f32_e32 v0, v1, v2",
            "\tv_sqrt_f32_e32 v0, v1",
            "\tv_cmp_lt_f32_e32 vcc_lo, v0, v1",
            "\tglobal_atomic_add_f32 v0, v1, s[0:1]",
            "\tv_cvt_u32_f32_e32 v0, v0",
        ] {
            assert!(!found(body).is_empty(), "{body}");
        }
        let flushing = "\t.amdhsa_float_round_mode_32 0\n\t.amdhsa_float_denorm_mode_32 0\n";
        assert_eq!(findings(PLAIN, true, &read(flushing)).len(), 1);
        assert_eq!(findings(PLAIN, true, &read("")).len(), 2, "modes must be there");
        let code = read(&format!("\tv_mad_f32 v0, v1, v2, v3\n\tv_sqrt_f32_e32 v0, v1\n{MODES}"));
        assert_eq!(findings(PLAIN, true, &code), [format!("amdgpu: {PLAIN}: v_mad_f32")]);
    }
}
