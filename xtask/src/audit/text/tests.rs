//! What the reader finds in small kernels, and what it lets through.

use super::*;

/// A kernel in CUDA as CubeCL writes them, with this body.
fn cuda(body: &str) -> Vec<String> {
    let text = format!(
        "#include <cuda_runtime.h>\ntypedef unsigned int uint32;\nstruct __align__(16) float_4 {{\nfloat i_0;\n}};\n\
         struct info_st {{\nfloat scalars_float[2];\nuint32 scalars_uint32[2];\n}};\n\
         extern \"C\" __global__ void __launch_bounds__(256)k (\n\
         const float* __restrict__ buffer_0, uint32* buffer_1, const __grid_constant__ info_st info\n) {{\n\
         uint32 at = threadIdx.x + blockIdx.x * blockDim.x;\nfloat l_mut_1;\nfloat_4 l_mut_2;\n\
         const float l_1 = buffer_0[at];\nconst float l_2 = buffer_0[at + uint32(1)];\n{body}\n}}\n"
    );
    told(read(false, &text, &Pins(vec!["nz".to_owned(), "one".to_owned()])))
}

fn wgsl(body: &str) -> Vec<String> {
    let text = format!(
        "@group(0)\n@binding(0)\nvar<storage, read_write> buffer_0_global: array<vec4<f32>>;\n\
         struct info_st {{\n scalars_f32: array<f32, 2>,\n scalars_u32: array<u32, 2>,\n}}\n\
         @group(0)\n@binding(1)\nvar<storage, read> info: info_st;\n@compute\n@workgroup_size(256, 1, 1)\n\
         fn k(\n @builtin(local_invocation_index) local_idx: u32,\n) {{\nvar l_mut_1: vec4<f32>;\n\
         let l_1 = buffer_0_global[local_idx];\nlet l_2 = buffer_0_global[local_idx + u32(1)];\n{body}\n}}\n"
    );
    told(read(true, &text, &Pins(vec!["nz".to_owned(), "one".to_owned()])))
}

/// Operation and code of everything found.
fn told(found: Tallies) -> Vec<String> {
    found.0.iter().map(|(operation, t)| format!("{operation}: {}", t.code)).collect()
}

#[test]
fn bare_operations_are_told_with_their_line() {
    for (code, operation) in [
        ("const float l_3 = l_1 * l_2;", "bare product"),
        ("const float l_3 = l_1 + l_2;", "bare sum"),
        ("l_mut_1 += l_2;", "bare sum"),
        ("l_mut_2.i_0 = l_1 - l_2;", "bare difference"),
        ("const float l_3 = float(1.0) / l_2;", "native quotient"),
        ("const float l_3 = -l_2;", "native negation"),
        ("const bool l_3 = l_1 < l_2;", "float comparison"),
        ("const float l_3 = float(at);", "integer to float"),
        ("const uint32 l_3 = uint32(l_1);", "float to integer"),
        ("const float l_3 = exp(l_1);", "native function `exp`"),
        ("const float l_3 = min(l_1, l_2);", "native function `min`"),
        ("const float l_3 = fma(l_1, l_2, float(1.0));", "fma without a run-time constant"),
        ("const float l_3 = fma(l_1, info.scalars_float[0], l_2);", "fma without a run-time constant"),
        ("const float l_3 = fma(l_1, l_2, info.scalars_float[1]);", "fma without a run-time constant"),
        ("const float l_3 = atomicAdd(&buffer_0[at], l_1);", "float atomic"),
        ("const float l_3 = __shfl_xor_sync(at, l_1, at);", "plane operation on floats"),
        ("const float l_3 = __fdividef(l_1, l_2);", "not understood: the function `__fdividef`"),
        ("double l_3 = buffer_1[at];", "not understood: the name `double`"),
    ] {
        assert!(cuda(code).contains(&format!("{operation}: {code}")), "{code}: {:?}", cuda(code));
    }
    for (code, operation) in [
        ("let l_3 = l_1 * l_2;", "bare product"),
        ("l_mut_1[u32(0)] = l_1[u32(0)] + l_2[u32(1)];", "bare sum"),
        ("let l_3 = l_1 / l_2;", "native quotient"),
        ("let l_3 = vec4<f32>(vec4<u32>(local_idx));", "integer to float"),
        ("let l_3 = sqrt(l_1);", "native function `sqrt`"),
        ("let l_3 = subgroupAdd(l_1);", "plane operation on floats"),
        ("let l_3 = f16(l_1);", "not understood: the function `f16`"),
    ] {
        assert!(wgsl(code).contains(&format!("{operation}: {code}")), "{code}: {:?}", wgsl(code));
    }
}

#[test]
fn pinned_operations_and_integers_pass() {
    for code in [
        "const float l_3 = fma(l_1, l_2, info.scalars_float[0]);",
        "const float l_3 = info.scalars_float[1];\nconst float l_4 = fma(l_1, l_3, l_2);",
        "const float l_3 = info.scalars_float[0];\nconst float_4 l_4 = float_4{\nl_3,l_3,l_3,l_3,};\n\
         const float l_5 = fma(l_1, l_2, l_4.i_0);",
        "l_mut_1 = info.scalars_float[1];\nconst uint32 l_3 = reinterpret_cast<uint32 const&>(l_mut_1);\n\
         const uint32 l_4 = l_3 ^ uint32(2147483648);\nconst float l_5 = reinterpret_cast<float const&>(l_4);\n\
         const float l_6 = fma(l_1, l_5, l_2);",
    ] {
        let found = cuda(code);
        assert_eq!(found.len(), 1, "{code}: {found:?}");
        assert!(found[0].starts_with("pinned "), "{code}: {found:?}");
    }
    for code in [
        "const uint32 l_3 = at * uint32(3) + buffer_1[at] / uint32(7) - at % uint32(5);",
        "const uint32 l_3 = (at < uint32(4)) ? at : uint32(4);\nbuffer_1[l_3] = __umulhi(at, l_3);",
        "while (true) {\nconst bool l_3 = at >= uint32(9);\nif (l_3) {\nbreak;}\n} ",
        "for (uint32 l_mut_3 = uint32(0); l_mut_3 < at; ++l_mut_3) {\n__syncthreads();\n}",
    ] {
        assert!(cuda(code).is_empty(), "{code}: {:?}", cuda(code));
    }
    assert_eq!(wgsl("let l_3 = fma(l_1, l_2, vec4<f32>(info.scalars_f32[0]));").len(), 1);
    assert!(wgsl("let l_3 = select(local_idx, u32(2), local_idx < u32(3));").is_empty());
}

#[test]
fn a_name_that_is_not_always_the_constant_is_none() {
    // Assigned after its use, in a loop.
    let code = "l_mut_1 = info.scalars_float[0];\nwhile (true) {\nconst float l_3 = fma(l_1, l_2, l_mut_1);\n\
                l_mut_1 = l_3;\n}";
    let found = cuda(code);
    assert!(found.iter().any(|f| f.starts_with("fma without")), "{found:?}");
    assert!(!found.iter().any(|f| f.starts_with("pinned")), "{found:?}");
}

#[test]
fn licences_are_found_outside_of_bodies() {
    let kernel = |head: &str| format!("{head}extern \"C\" __global__ void __launch_bounds__(256)k () {{\n}}\n");
    for head in [
        "#pragma clang fp contract(fast)\n",
        "#include <math.h>\n",
        "__attribute__((optimize(\"fast-math\"))) ",
        "[[clang::optnone]] ",
    ] {
        let found = told(read(false, &kernel(head), &Pins::default()));
        assert!(found.iter().any(|f| f.starts_with("licence")), "{head}: {found:?}");
    }
    assert!(read(false, &kernel(""), &Pins::default()).0.is_empty());
}
