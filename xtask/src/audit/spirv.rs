//! Reads SPIR-V modules, word by word: opcode numbers are those of the Khronos registry. What is not listed here is not let
//! through.
//!
//! CubeCL's generator has no fused operation: it writes `fma(a, b, c)` as `OpFMul` and an `OpFAdd` of its result. Such a
//! pair is read as what it was; with a run-time constant in its place it is exact whether the driver contracts it or not.

use std::collections::BTreeMap;

use super::operation::{Operation, Pin, Pins, Tallies};

/// One instruction.
struct Instruction<'a> {
    number: usize,
    opcode: u32,
    /// The result's type, where there is one.
    ty: Option<u32>,
    result: Option<u32>,
    operands: &'a [u32],
}

/// What an opcode's first words are.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Nothing,
    Result,
    TypeAndResult,
}

/// Opcodes that do nothing to floats beside moving them.
fn form_of_neutral(opcode: u32) -> Option<Form> {
    Some(match opcode {
        // Nop, Source, SourceExtension, Name, MemberName, Line, Extension, MemoryModel to Capability, FunctionEnd, Store,
        // CopyMemory, Decorate, MemberDecorate, barriers, AtomicStore, LoopMerge, SelectionMerge, Branch to ReturnValue,
        // Unreachable, NoLine.
        0 | 3..=6 | 8 | 10 | 14..=17 | 56 | 62 | 63 | 71 | 72 | 224 | 225 | 228 | 246 | 247 | 249..=255 | 317 => {
            Form::Nothing
        }
        // String, ExtInstImport, TypeVoid to TypeVector, TypeArray to TypeStruct, TypePointer, TypeFunction, Label.
        7 | 11 | 19..=23 | 28..=30 | 32 | 33 | 248 => Form::Result,
        // Undef, constants, Function, parameter, call, Variable, Load, AccessChain, InBoundsAccessChain, ArrayLength,
        // VectorShuffle to CopyObject.
        1 | 41..=44 | 46 | 54 | 55 | 57 | 59 | 61 | 65 | 66 | 68 | 79..=83 => Form::TypeAndResult,
        // UConvert, SConvert, Bitcast, SNegate, IAdd, ISub, IMul, UDiv, SDiv, UMod, SRem, SMod.
        113 | 114 | 124 | 126 | 128 | 130 | 132 | 134 | 135 | 137..=139 => Form::TypeAndResult,
        // IAddCarry to SMulExtended, Any, All, LogicalEqual to SLessThanEqual (Select among them).
        149..=152 | 154 | 155 | 164..=179 => Form::TypeAndResult,
        // Shifts, bits, AtomicLoad, AtomicExchange, AtomicCompareExchange, integer atomics, Phi.
        194..=205 | 227 | 229 | 230 | 232..=242 | 245 => Form::TypeAndResult,
        _ => return None,
    })
}

/// Opcodes that do something to floats, or read them.
fn operation_of(opcode: u32) -> Option<Operation> {
    Some(match opcode {
        109 | 110 => Operation::ToInteger,
        111 | 112 => Operation::FromInteger,
        115 | 116 => Operation::Unread("a conversion between widths of floats".to_owned()),
        127 => Operation::Negation,
        129 => Operation::Sum,
        131 => Operation::Difference,
        133 | 142..=147 => Operation::Product,
        136 => Operation::Quotient,
        140 | 141 => Operation::Remainder,
        148 => Operation::Fma,
        156..=163 | 180..=191 => Operation::Comparison,
        333..=366 | 4421..=4435 => Operation::Plane,
        5614 | 5615 | 6035 => Operation::Atomic,
        _ => return None,
    })
}

/// What an instruction of GLSL.std.450 does to floats; `None` for integers.
fn extended(number: u32) -> Option<Operation> {
    let name = match number {
        5 | 7 | 38 | 39 | 41 | 42 | 44 | 45 | 73..=75 => return None,
        4 => "abs",
        13 => "sin",
        14 => "cos",
        26 => "pow",
        27 => "exp",
        28 => "log",
        29 => "exp2",
        30 => "log2",
        31 => "sqrt",
        32 => "rsqrt",
        37 | 79 => "min",
        40 | 80 => "max",
        _ => return Some(Operation::Function(format!("GLSL.std.450 {number}"))),
    };
    Some(Operation::Function(name.to_owned()))
}

/// GLSL.std.450 Fma.
const EXTENDED_FMA: u32 = 50;

/// Storage class of a function's own variables.
const FUNCTION: u32 = 7;

/// Everything that the module does with floats.
pub fn read(words: &[u32], pins: &Pins) -> Tallies {
    let mut found = Tallies::default();
    match instructions(words, &mut found) {
        Some(list) => Module::new(&list).read(pins, &mut found),
        None => found.add(Operation::Unread("no SPIR-V module".to_owned()), 0, String::new),
    }
    found
}

fn instructions<'a>(words: &'a [u32], found: &mut Tallies) -> Option<Vec<Instruction<'a>>> {
    if words.len() < 5 || words[0] != 0x0723_0203 {
        return None;
    }
    let mut list = Vec::new();
    let mut rest = &words[5..];
    while let Some(&head) = rest.first() {
        let (len, opcode) = ((head >> 16) as usize, head & 0xffff);
        let own = rest.get(1..len).filter(|_| len > 0)?;
        let number = list.len();
        let form = match form_of_neutral(opcode) {
            Some(form) => form,
            // ExtInst and all operations on floats have a type and a result.
            None if opcode == 12 || operation_of(opcode).is_some() => Form::TypeAndResult,
            None => {
                found.add(Operation::Unread(format!("the opcode {opcode}")), number, || code(number, opcode));
                Form::Nothing
            }
        };
        let skip = match form {
            Form::Nothing => 0,
            Form::Result => 1,
            Form::TypeAndResult => 2,
        };
        let operands = own.get(skip..)?;
        let ty = (skip == 2).then(|| own[0]);
        let result = (skip > 0).then(|| own[skip - 1]);
        list.push(Instruction { number, opcode, ty, result, operands });
        rest = &rest[len..];
    }
    Some(list)
}

fn code(number: usize, opcode: u32) -> String {
    let name = match opcode {
        12 => "OpExtInst",
        16 => "OpExecutionMode",
        17 => "OpCapability",
        71 => "OpDecorate",
        109 => "OpConvertFToU",
        110 => "OpConvertFToS",
        111 => "OpConvertSToF",
        112 => "OpConvertUToF",
        127 => "OpFNegate",
        129 => "OpFAdd",
        131 => "OpFSub",
        133 => "OpFMul",
        136 => "OpFDiv",
        _ => return format!("instruction {number}, opcode {opcode}"),
    };
    format!("instruction {number}, {name}")
}

/// A pin that is known, or that cannot be one.
type Known = Option<Pin>;

struct Module<'a> {
    list: &'a [Instruction<'a>],
    by_result: BTreeMap<u32, &'a Instruction<'a>>,
    /// What is known of values, pointers and variables.
    pins: BTreeMap<u32, Known>,
}

impl<'a> Module<'a> {
    fn new(list: &'a [Instruction<'a>]) -> Self {
        let by_result = list.iter().filter_map(|i| Some((i.result?, i))).collect();
        Module { list, by_result, pins: BTreeMap::new() }
    }

    fn get(&self, id: u32) -> Option<&'a Instruction<'a>> {
        self.by_result.get(&id).copied()
    }

    fn constant(&self, id: u32) -> Option<u32> {
        self.get(id).filter(|i| i.opcode == 43).and_then(|i| i.operands.first().copied())
    }

    /// Whether values of this type hold floats: scalars, vectors, arrays, and pointers to them.
    fn is_float(&self, ty: u32) -> bool {
        let Some(i) = self.get(ty) else { return false };
        match i.opcode {
            22 => true,
            23 | 28 | 29 => i.operands.first().is_some_and(|inner| self.is_float(*inner)),
            32 => i.operands.get(1).is_some_and(|inner| self.is_float(*inner)),
            _ => false,
        }
    }

    /// The variable of its own that a pointer of a function points into.
    fn own_variable(&self, pointer: u32) -> Option<u32> {
        let i = self.get(pointer)?;
        match i.opcode {
            59 if i.operands.first() == Some(&FUNCTION) => Some(pointer),
            65 | 66 => self.own_variable(*i.operands.first()?),
            _ => None,
        }
    }

    /// Whether a pointer leads into a uniform or storage buffer.
    fn is_argument(&self, pointer: u32) -> bool {
        match self.get(pointer) {
            Some(i) if i.opcode == 59 => matches!(i.operands.first(), Some(2 | 12)),
            Some(i) if [65, 66].contains(&i.opcode) => i.operands.first().is_some_and(|base| self.is_argument(*base)),
            _ => false,
        }
    }

    /// The number of a float argument that an access chain leads to: a constant index into an array of fixed length of
    /// floats, which only the arguments hold outside of functions.
    fn argument(&self, chain: &Instruction<'_>) -> Option<Pin> {
        let (base, indices) = chain.operands.split_first()?;
        // Shared memory has arrays of fixed length as well.
        if !self.is_argument(*base) {
            return None;
        }
        let mut ty = *self.get(self.get(*base)?.ty?)?.operands.get(1)?;
        let mut pin = None;
        for index in indices {
            let i = self.get(ty)?;
            ty = match i.opcode {
                30 => *i.operands.get(self.constant(*index)? as usize)?,
                28 => {
                    let inner = *i.operands.first()?;
                    if self.get(inner)?.opcode == 22 {
                        pin = Some(Pin { index: self.constant(*index)? as usize, flipped: false });
                    }
                    inner
                }
                29 | 23 => return None,
                _ => return None,
            };
        }
        pin
    }

    fn learn(&mut self, id: u32, pin: Known) -> bool {
        let after = match self.pins.get(&id) {
            None => pin,
            Some(before) if *before == pin => pin,
            Some(_) => None,
        };
        self.pins.insert(id, after) != Some(after)
    }

    /// One pin of several values: what is not known yet does not count.
    fn common(&self, ids: impl Iterator<Item = u32>) -> Option<Known> {
        let mut known = ids.filter_map(|id| self.pins.get(&id).copied());
        let first = known.next()?;
        Some(if known.all(|k| k == first) { first } else { None })
    }

    /// Follows the run-time constants through copies until nothing changes.
    fn follow(&mut self) {
        let list = self.list;
        loop {
            let mut changed = false;
            for i in list {
                if i.opcode == 62 {
                    let variable = i.operands.first().and_then(|p| self.own_variable(*p));
                    let value = i.operands.get(1).and_then(|v| self.pins.get(v).copied());
                    if let (Some(variable), Some(value)) = (variable, value) {
                        changed |= self.learn(variable, value);
                    }
                    continue;
                }
                let Some(id) = i.result else { continue };
                let first = i.operands.first().copied().unwrap_or_default();
                let known: Option<Known> = match i.opcode {
                    65 | 66 => match self.own_variable(first) {
                        Some(variable) => self.pins.get(&variable).copied(),
                        None => Some(self.argument(i)),
                    },
                    // A function's own variable is what was stored, any other is what anybody stored.
                    59 if first == FUNCTION => match i.operands.get(1) {
                        Some(start) => self.pins.get(start).copied(),
                        None => continue,
                    },
                    61 | 83 | 124 => self.pins.get(&first).copied(),
                    81 => self.pins.get(&first).copied(),
                    80 | 44 => self.common(i.operands.iter().copied()),
                    169 => self.common(i.operands.iter().skip(1).copied()),
                    245 => self.common(i.operands.iter().step_by(2).copied()),
                    198 => {
                        let second = i.operands.get(1).copied().unwrap_or_default();
                        let sign = |id| self.constant(id) == Some(1 << 31);
                        let value = if sign(second) { Some(first) } else { sign(first).then_some(second) };
                        match value {
                            Some(value) => self.pins.get(&value).map(|k| k.map(Pin::flip)),
                            None => Some(None),
                        }
                    }
                    _ => Some(None),
                };
                if let Some(known) = known {
                    changed |= self.learn(id, known);
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn pin(&self, id: u32) -> Known {
        self.pins.get(&id).copied().flatten()
    }

    fn read(&mut self, pins: &Pins, found: &mut Tallies) {
        self.follow();
        let fused = self.products_of_sums();
        for i in self.list {
            let place = || code(i.number, i.opcode);
            let operand = |n: usize| i.operands.get(n).copied().unwrap_or_default();
            match i.opcode {
                16 if ![17, 38].contains(&operand(1)) => {
                    found.add(Operation::Licence(format!("execution mode {}", operand(1))), i.number, place);
                }
                17 if ![0, 1, 11, 61, 5345, 5346].contains(&operand(0)) => {
                    found.add(Operation::Licence(format!("capability {}", operand(0))), i.number, place);
                }
                22 if operand(0) != 32 => {
                    found.add(Operation::Unread(format!("floats of {} bits", operand(0))), i.number, place);
                }
                71 => {
                    if let Some(licence) = licence(operand(1), operand(2)) {
                        found.add(Operation::Licence(licence), i.number, place);
                    }
                }
                229 | 230 | 232..=242 if i.ty.is_some_and(|ty| self.is_float(ty)) => {
                    found.add(Operation::Atomic, i.number, place);
                }
                12 if operand(1) == EXTENDED_FMA => {
                    let operation = pins.fma(self.pin(operand(2)), self.pin(operand(3)), self.pin(operand(4)));
                    found.add(operation, i.number, place);
                }
                12 => {
                    if let Some(operation) = extended(operand(1)) {
                        found.add(operation, i.number, place);
                    }
                }
                133 if fused.get(&i.result.unwrap_or_default()) == Some(&true) => {}
                129 => {
                    // The pair with a constant, if there is one, is what was written.
                    let pairs = [(operand(0), operand(1)), (operand(1), operand(0))];
                    let mut operation = Operation::Sum;
                    for (product, other) in pairs {
                        if fused.get(&product) == Some(&true)
                            && let Some(p) = self.get(product)
                            && !operation.is_free()
                        {
                            operation = pins.fma(self.pin(p.operands[0]), self.pin(p.operands[1]), self.pin(other));
                        }
                    }
                    found.add(operation, i.number, place);
                }
                opcode => {
                    if let Some(operation) = operation_of(opcode) {
                        found.add(operation, i.number, place);
                    }
                }
            }
        }
    }

    /// Products, and whether sums alone use them.
    fn products_of_sums(&self) -> BTreeMap<u32, bool> {
        let mut products: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        for i in self.list.iter().filter(|i| i.opcode == 133 && i.operands.len() == 2) {
            products.extend(i.result.map(|id| (id, (0, 0))));
        }
        for i in self.list {
            // Names, decorations and constants use no value; numbers stand after the value that an extraction takes.
            let uses = match i.opcode {
                5 | 6 | 16 | 17 | 43 | 71 | 72 => &[][..],
                81 => i.operands.get(..1).unwrap_or_default(),
                12 => i.operands.get(2..).unwrap_or_default(),
                _ => i.operands,
            };
            for id in uses {
                if let Some((sums, others)) = products.get_mut(id) {
                    if i.opcode == 129 { *sums += 1 } else { *others += 1 }
                }
            }
        }
        products.into_iter().map(|(id, (sums, others))| (id, sums > 0 && others == 0)).collect()
    }
}

/// A decoration that lets a driver compute otherwise than written.
fn licence(decoration: u32, value: u32) -> Option<String> {
    match decoration {
        // Block, ArrayStride, MatrixStride, BuiltIn, Restrict, Aliased, Volatile, Coherent, NonWritable, NonReadable,
        // Uniform, UniformId, Binding, DescriptorSet, Offset, NoContraction.
        2 | 6 | 7 | 11 | 19..=21 | 23..=27 | 33..=35 | 42 => None,
        0 => Some("RelaxedPrecision".to_owned()),
        39 => Some("FPRoundingMode".to_owned()),
        40 if value == 0 => None,
        40 => Some(format!("FPFastMathMode {value}")),
        other => Some(format!("decoration {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of one instruction.
    fn op(opcode: u32, operands: &[u32]) -> Vec<u32> {
        let mut words = vec![((operands.len() as u32 + 1) << 16) | opcode];
        words.extend(operands);
        words
    }

    /// A module with floats 20 and 21, the arguments `nz` (22) and `one` (23), and this body.
    fn found(body: &[Vec<u32>]) -> Vec<String> {
        let head = [
            op(22, &[1, 32]),
            op(21, &[2, 32, 0]),
            op(43, &[2, 3, 0]),
            op(43, &[2, 4, 1]),
            op(43, &[2, 5, 2]),
            op(28, &[6, 1, 5]),
            op(30, &[7, 6]),
            op(32, &[8, 12, 7]),
            op(32, &[9, 12, 1]),
            op(59, &[8, 10, 12]),
            op(29, &[11, 1]),
            op(30, &[12, 11]),
            op(32, &[13, 12, 12]),
            op(59, &[13, 14, 12]),
            op(43, &[2, 15, 1 << 31]),
            op(65, &[9, 16, 14, 3, 3]),
            op(61, &[1, 20, 16]),
            op(65, &[9, 17, 14, 3, 4]),
            op(61, &[1, 21, 17]),
            op(65, &[9, 18, 10, 3, 3]),
            op(61, &[1, 22, 18]),
            op(65, &[9, 19, 10, 3, 4]),
            op(61, &[1, 23, 19]),
        ];
        let mut words = vec![0x0723_0203, 0x0001_0600, 0, 100, 0];
        words.extend(head.iter().chain(body).flatten());
        let found = read(&words, &Pins(vec!["nz".to_owned(), "one".to_owned()]));
        found.0.iter().map(|(operation, t)| format!("{operation}: {}", t.code)).collect()
    }

    #[test]
    fn operations_are_told_with_their_instruction() {
        for (body, what) in [
            (vec![op(136, &[1, 30, 20, 21])], "native quotient: instruction 23, OpFDiv"),
            (vec![op(133, &[1, 30, 20, 21])], "bare product: instruction 23, OpFMul"),
            (vec![op(129, &[1, 30, 20, 21])], "bare sum: instruction 23, OpFAdd"),
            (vec![op(131, &[1, 30, 20, 21])], "bare difference: instruction 23, OpFSub"),
            (vec![op(127, &[1, 30, 20])], "native negation: instruction 23, OpFNegate"),
            (vec![op(112, &[1, 30, 3])], "integer to float: instruction 23, OpConvertUToF"),
            (vec![op(184, &[1, 30, 20, 21])], "float comparison: instruction 23, opcode 184"),
            (vec![op(12, &[1, 30, 99, 31, 20])], "native function `sqrt`: instruction 23, OpExtInst"),
            (vec![op(12, &[1, 30, 99, 50, 20, 21, 20])], "fma without a run-time constant: instruction 23, OpExtInst"),
            (vec![op(6035, &[1, 30, 16, 3, 3, 20])], "float atomic: instruction 23, opcode 6035"),
            (vec![op(229, &[1, 30, 16, 3, 3, 20])], "float atomic: instruction 23, opcode 229"),
            (vec![op(350, &[1, 30, 3, 0, 20])], "plane operation on floats: instruction 23, opcode 350"),
            (vec![op(71, &[30, 40, 16])], "licence for the compiler: FPFastMathMode 16: instruction 23, OpDecorate"),
            (vec![op(71, &[30, 0])], "licence for the compiler: RelaxedPrecision: instruction 23, OpDecorate"),
            (
                vec![op(16, &[1, 4460, 32])],
                "licence for the compiler: execution mode 4460: instruction 23, OpExecutionMode",
            ),
            (vec![op(22, &[40, 64])], "not understood: floats of 64 bits: instruction 23, opcode 22"),
            (vec![op(9999, &[1, 30])], "not understood: the opcode 9999: instruction 23, opcode 9999"),
        ] {
            assert_eq!(found(&body), [what]);
        }
        let broken = read(&[1, 2, 3], &Pins::default());
        assert!(broken.0.keys().all(|o| matches!(o, Operation::Unread(_))) && broken.0.len() == 1);
    }

    #[test]
    fn pairs_with_a_constant_pass_and_others_do_not() {
        let pair = |a, b, c| vec![op(133, &[1, 30, a, b]), op(129, &[1, 31, 30, c])];
        assert_eq!(found(&pair(20, 21, 22)), ["pinned product: instruction 24, OpFAdd"]);
        assert_eq!(found(&pair(20, 23, 21)), ["pinned sum: instruction 24, OpFAdd"]);
        assert_eq!(found(&pair(20, 21, 21)), ["fma without a run-time constant: instruction 24, OpFAdd"]);
        assert_eq!(found(&pair(20, 21, 23)), ["fma without a run-time constant: instruction 24, OpFAdd"]);
        assert_eq!(found(&[op(12, &[1, 30, 99, 50, 20, 21, 22])]), ["pinned product: instruction 23, OpExtInst"]);
        // A product that something else uses too is a product of its own.
        let mut twice = pair(20, 21, 22);
        twice.push(op(62, &[16, 30]));
        assert!(found(&twice).contains(&"bare product: instruction 23, OpFMul".to_owned()));
    }

    #[test]
    fn constants_are_followed_through_copies_and_not_beyond() {
        // one, as bits, its sign flipped, as a float again.
        let flipped = [op(124, &[2, 40, 23]), op(198, &[2, 41, 40, 15]), op(124, &[1, 42, 41])];
        let sum = [op(133, &[1, 30, 20, 42]), op(129, &[1, 31, 30, 21])];
        assert_eq!(found(&[&flipped[..], &sum].concat()), ["pinned sum: instruction 27, OpFAdd"]);
        // A choice between the constant and another value is neither.
        let choice = [op(245, &[1, 42, 22, 50, 20, 51])];
        let product = [op(133, &[1, 30, 20, 21]), op(129, &[1, 31, 30, 42])];
        let found = found(&[&choice[..], &product].concat());
        assert_eq!(found, ["fma without a run-time constant: instruction 25, OpFAdd"]);
    }
}
