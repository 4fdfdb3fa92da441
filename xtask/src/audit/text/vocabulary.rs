//! The words of the four languages that the reader knows. A word that is not here is a finding.

use super::Kind;

/// The kind of a type's name; vectors are what their components are.
pub(super) fn type_kind(word: &str) -> Option<Kind> {
    let stem =
        word.trim_start_matches("metal::").split(|c: char| c == '_' || c.is_ascii_digit()).next().unwrap_or(word);
    match word {
        "info_st" => return Some(Kind::Arguments),
        "atomic_uint" | "atomic_int" | "uint32_t" | "uint64_t" | "int32_t" => return Some(Kind::Integer),
        "float" | "f32" => return Some(Kind::Float),
        "bool" => return Some(Kind::Bool),
        "u32" | "i32" | "u64" | "i64" | "unsigned" | "signed" | "long" | "short" | "char" => {
            return Some(Kind::Integer);
        }
        _ => {}
    }
    let vector = word[stem.len()..].chars().all(|c| c == '_' || c.is_ascii_digit());
    match stem {
        "float" if vector && word.starts_with("float_") => Some(Kind::Float),
        "uint" | "int" | "uchar" if vector => Some(Kind::Integer),
        _ => None,
    }
}

/// Words in front of a declared name that say where it lives.
pub(super) const QUALIFIERS: [&str; 12] = [
    "const",
    "extern",
    "__shared__",
    "__restrict__",
    "__grid_constant__",
    "threadgroup",
    "device",
    "constant",
    "thread",
    "unsigned",
    "signed",
    "__align__",
];

/// Words that stand outside of bodies and say nothing about floats.
pub(super) const OUTSIDE: [&str; 23] = [
    "C",
    "__global__",
    "__launch_bounds__",
    "typedef",
    "using",
    "namespace",
    "metal",
    "struct",
    "alignas",
    "void",
    "kernel",
    "buffer",
    "group",
    "binding",
    "var",
    "storage",
    "read_write",
    "read",
    "workgroup",
    "compute",
    "workgroup_size",
    "builtin",
    "fn",
];

/// Built-in names of all four languages, all integers.
pub(super) const POSITIONS: [&str; 28] = [
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_threadgroup",
    "thread_index_in_threadgroup",
    "global_invocation_id",
    "local_invocation_index",
    "local_invocation_id",
    "num_workgroups",
    "workgroup_id",
    "mem_flags::mem_threadgroup",
    "mem_flags::mem_device",
    "memory_order_relaxed",
    "WORKGROUP_SIZE_X",
    "WORKGROUP_SIZE_Y",
    "WORKGROUP_SIZE_Z",
    "thread_pos_in_grid",
    "thread_pos_in_threadgroup",
    "threadgroup_pos_in_grid",
    "global_id",
    "local_idx",
    "local_id",
    "id",
];

/// Functions of integers; of a float, each is a native function.
pub(super) const INTEGER_FUNCTIONS: [&str; 29] = [
    "__umulhi",
    "__clz",
    "clz",
    "countLeadingZeros",
    "countOneBits",
    "__popc",
    "popcount",
    "min",
    "max",
    "abs",
    "clamp",
    "make_uint3",
    "atomicAdd",
    "atomicMin",
    "atomicMax",
    "atomicExch",
    "atomicLoad",
    "atomicStore",
    "atomicOr",
    "atomicAnd",
    "atomic_fetch_add_explicit",
    "atomic_fetch_min_explicit",
    "atomic_fetch_max_explicit",
    "atomic_fetch_or_explicit",
    "atomic_fetch_and_explicit",
    "atomic_exchange_explicit",
    "atomic_load_explicit",
    "atomic_store_explicit",
    "sizeof",
];

/// Functions without a value.
pub(super) const BARRIERS: [&str; 5] =
    ["__syncthreads", "threadgroup_barrier", "workgroupBarrier", "storageBarrier", "__threadfence_block"];

/// Native functions of floats, so that a finding names them; any other unknown name is refused as well.
pub(super) const FLOAT_FUNCTIONS: [&str; 31] = [
    "sqrt",
    "rsqrt",
    "inverseSqrt",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "pow",
    "powf",
    "powr",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "asin",
    "acos",
    "atan",
    "atan2",
    "floor",
    "ceil",
    "round",
    "rint",
    "trunc",
    "fract",
    "fmod",
];

/// Binary operators, loosest first.
pub(super) const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
