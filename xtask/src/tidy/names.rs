//! Names that the kernel rules know.

/// Integers of every width, as types and as first segments of paths.
pub(super) const INTEGERS: [&str; 12] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];

/// Floats of every width, and the traits that stand for them in generic kernels.
pub(super) const FLOATS: [&str; 7] = ["f16", "bf16", "f32", "f64", "flex32", "tf32", "Float"];

/// Traits that stand for integers in generic kernels.
pub(super) const INTEGER_TRAITS: [&str; 1] = ["Int"];

/// Types whose elements are reached by an index, by their first generic argument.
pub(super) const CONTAINERS: [&str; 8] =
    ["Array", "SharedMemory", "Slice", "SliceMut", "Sequence", "Tensor", "Vec", "Range"];

/// Types of several elements that are added and multiplied as one value.
pub(super) const VECTORS: [&str; 2] = ["Vector", "Line"];

/// Starts of the names of a kernel's own position and extent, which are integers.
pub(super) const TOPOLOGY: [&str; 5] = ["ABSOLUTE_POS", "CUBE_", "UNIT_POS", "PLANE_DIM", "PLANE_POS"];

/// Functions of a float whose result every device computes in its own way: as methods, and as `f32::name`.
pub(super) const NATIVE: [&str; 42] = [
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "degrees",
    "dot",
    "erf",
    "exp",
    "exp2",
    "exp_m1",
    "floor",
    "hypot",
    "inverse_sqrt",
    "is_inf",
    "is_nan",
    "ln",
    "ln_1p",
    "log",
    "log1p",
    "log2",
    "magnitude",
    "max",
    "min",
    "mul_add",
    "normalize",
    "powf",
    "powi",
    "radians",
    "recip",
    "rhypot",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
];

/// Functions that give back the type of their first argument.
pub(super) const SAME_AS_FIRST: [&str; 12] = [
    "min",
    "max",
    "clamp",
    "div_ceil",
    "next_multiple_of",
    "saturating_sub",
    "plane_min",
    "plane_max",
    "plane_sum",
    "plane_broadcast",
    "clone",
    "runtime",
];

/// Methods and functions that give an integer whatever they are called on.
pub(super) const GIVES_INTEGER: [&str; 10] = [
    "len",
    "count_ones",
    "leading_zeros",
    "trailing_zeros",
    "find_first_set",
    "reverse_bits",
    "buffer_len",
    "shape",
    "stride",
    "rank",
];
