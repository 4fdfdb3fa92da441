//! What generated code does to floats, and which of it the contract allows.

use std::collections::BTreeMap;

/// One thing that generated code does with floats, or one that the reader could not place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// `fma(a, b, nz)`: rounded once, fused or not.
    PinnedProduct,
    /// `fma(a, one, b)`, `one` of either sign: rounded once, fused or not.
    PinnedSum,
    /// A bare `a * b`.
    Product,
    /// A bare `a + b`.
    Sum,
    /// A bare `a - b`.
    Difference,
    /// A native `a / b`.
    Quotient,
    /// A native `a % b`.
    Remainder,
    /// A native `-a`.
    Negation,
    /// An `fma` with neither run-time constant.
    Fma,
    /// A native function of floats, by its name.
    Function(String),
    /// A native comparison of floats.
    Comparison,
    /// An integer to a float.
    FromInteger,
    /// A float to an integer.
    ToInteger,
    /// An atomic operation on a float.
    Atomic,
    /// An operation of a whole plane (warp, subgroup) on floats.
    Plane,
    /// A licence for the compiler: fast mathematics, another rounding, a pragma.
    Licence(String),
    /// What the reader does not know, and therefore does not let through.
    Unread(String),
}

impl Operation {
    /// Whether every kernel may do it.
    pub fn is_free(&self) -> bool {
        matches!(self, Operation::PinnedProduct | Operation::PinnedSum)
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Operation::PinnedProduct => "pinned product",
            Operation::PinnedSum => "pinned sum",
            Operation::Product => "bare product",
            Operation::Sum => "bare sum",
            Operation::Difference => "bare difference",
            Operation::Quotient => "native quotient",
            Operation::Remainder => "native remainder",
            Operation::Negation => "native negation",
            Operation::Fma => "fma without a run-time constant",
            Operation::Function(name) => return write!(f, "native function `{name}`"),
            Operation::Comparison => "float comparison",
            Operation::FromInteger => "integer to float",
            Operation::ToInteger => "float to integer",
            Operation::Atomic => "float atomic",
            Operation::Plane => "plane operation on floats",
            Operation::Licence(what) => return write!(f, "licence for the compiler: {what}"),
            Operation::Unread(what) => return write!(f, "not understood: {what}"),
        })
    }
}

/// How often something is done in one kernel, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Places in the code; an operation on a vector is one for each component that the language spells out.
    pub count: usize,
    /// Line of the first, of a SPIR-V module the number of the instruction.
    pub line: usize,
    /// The code there.
    pub code: String,
}

/// Everything that one kernel does with floats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tallies(pub BTreeMap<Operation, Tally>);

impl Tallies {
    /// One more.
    pub fn add(&mut self, operation: Operation, line: usize, code: impl FnOnce() -> String) {
        self.0.entry(operation).or_insert_with(|| Tally { count: 0, line, code: code() }).count += 1;
    }
}

/// The names of a kernel's float arguments that are the run-time constants, in the order in which the code generators
/// number float arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins(pub Vec<String>);

/// Where a value is a run-time constant and nothing else: its number among the float arguments, and whether its sign was
/// flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// Number among the float arguments.
    pub index: usize,
    /// The sign bit was flipped.
    pub flipped: bool,
}

impl Pin {
    /// The same with its sign bit flipped.
    pub fn flip(self) -> Pin {
        Pin { flipped: !self.flipped, ..self }
    }
}

impl Pins {
    fn name(&self, pin: Option<Pin>) -> Option<(&str, bool)> {
        let pin = pin?;
        Some((self.0.get(pin.index)?.as_str(), pin.flipped))
    }

    /// What `a * b + c` is.
    pub fn fma(&self, a: Option<Pin>, b: Option<Pin>, c: Option<Pin>) -> Operation {
        let one = |pin| self.name(pin).is_some_and(|(name, _)| name == "one");
        if self.name(c) == Some(("nz", false)) {
            Operation::PinnedProduct
        } else if one(a) || one(b) {
            Operation::PinnedSum
        } else {
            Operation::Fma
        }
    }
}
