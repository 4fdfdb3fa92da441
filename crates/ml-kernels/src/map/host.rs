//! The host: the same program, an operation at a time over blocks, so that the loops vectorise.

use std::borrow::Cow;

use multiversion::multiversion;
use rayon::prelude::*;

use super::Kind;
use super::expr::{Code, Op, Program};
use super::scalar::*;
use crate::memory;
use crate::num::*;
use crate::sabotage::Arm;

/// Elements that go through the program together, at most: a few registers of a block stay in the first cache level.
pub(crate) const BLOCK: usize = 1024;

/// Blocks of a task.
const TASK: usize = 16;

/// One operation on one element; unused operands are ignored.
#[inline(always)]
pub(super) fn apply(code: Code, a: f32, b: f32, c: f32, d: f32, arm: Arm) -> f32 {
    let p = Pins::HOST;
    match (code, arm) {
        (Code::Neg, _) => canon(neg(a)),
        (Code::Abs, _) => abs(a),
        (Code::Sqrt, Arm::RoughSqrt) => last_bit_cleared(sqrt(a)),
        (Code::Sqrt, _) => sqrt(a),
        (Code::Exp, Arm::RoughElementary) => last_bit_cleared(exp_cr(a)),
        (Code::Exp, _) => exp_cr(a),
        (Code::Ln, Arm::RoughElementary) => last_bit_cleared(ln_cr(a)),
        (Code::Ln, _) => ln_cr(a),
        (Code::Unary(f), Arm::RoughElementary) => last_bit_cleared(f.apply(a)),
        (Code::Unary(f), _) => f.apply(a),
        (Code::Binary(f), Arm::RoughElementary) => last_bit_cleared(f.apply(a, b)),
        (Code::Binary(f), _) => f.apply(a, b),
        (Code::Add, Arm::KeepSubnormals) => add_exact_range(a, b, p),
        (Code::Add, _) => add(a, b, p),
        (Code::Sub, Arm::KeepSubnormals) => add_exact_range(a, neg(b), p),
        (Code::Sub, _) => sub(a, b, p),
        (Code::Mul, Arm::KeepSubnormals) => mul_exact_range(a, b, p),
        (Code::Mul, _) => mul(a, b, p),
        (Code::Div, Arm::RoughDivision) => div_through_reciprocal(a, b, p),
        (Code::Div, _) => div(a, b),
        (Code::Min, _) => min(a, b),
        (Code::Max, _) => max(a, b),
        (Code::SelectLess, _) => select_less(a, b, c, d),
        (Code::Input | Code::Scalar | Code::Constant, _) => a,
    }
}

/// The value of every element, row-major.
pub(super) fn run(call: Call<'_>, rows: usize, cols: usize) -> Vec<f32> {
    let mut out = memory::zeros(rows * cols);
    run_over(call, &mut out, rows, cols);
    out
}

/// The same into `out`, which holds the elements of the input [`Call::over`].
pub(super) fn run_over(call: Call<'_>, out: &mut [f32], rows: usize, cols: usize) {
    if out.is_empty() {
        return;
    }
    let plan = Plan::new(call, vec![call.program.ops.len() as u32 - 1], rows, cols);
    // Blocks follow each other in memory, so tasks are runs of blocks.
    let mut tasks = Vec::new();
    let (mut rest, mut first) = (out, 0);
    while !rest.is_empty() {
        let end = (first + TASK).min(plan.blocks());
        let (task, after) = rest.split_at_mut(plan.start(end) - plan.start(first));
        tasks.push((first..end, task));
        (rest, first) = (after, end);
    }
    tasks.into_par_iter().for_each_init(
        || plan.registers(),
        |registers, (blocks, mut out)| {
            for b in blocks {
                let block = plan.block(b);
                let (part, after) = std::mem::take(&mut out).split_at_mut(block.len());
                plan.evaluate(&block, registers, &mut [part]);
                out = after;
            }
        },
    );
}

/// How an input reaches a block.
#[derive(Debug)]
enum Source<'a> {
    /// One element an element.
    Full(&'a [f32]),
    /// One a column; repeated for every row of a block where blocks have several.
    Row(Cow<'a, [f32]>),
    /// One a row.
    Col(&'a [f32]),
    /// The same everywhere.
    One(f32),
    /// One element an element, in the place of the result.
    Over,
}

/// Where an operation's result lies, or what an operand is.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    One(f32),
    Many(&'a [f32]),
}

/// A program with its inputs, cut into blocks: a few whole rows each, or a part of one row.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    program: &'a Program,
    /// The operations whose results are wanted.
    outputs: Vec<u32>,
    sources: Vec<Source<'a>>,
    scalars: &'a [f32],
    rows: usize,
    cols: usize,
    /// Rows of a block; more than one only if it has all columns.
    block_rows: usize,
    block_cols: usize,
    /// The register of each operation that needs one.
    slots: Vec<Option<usize>>,
    n_slots: usize,
    arm: Arm,
}

/// A part of the matrix that is contiguous in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) row: usize,
    pub(crate) rows: usize,
    pub(crate) col: usize,
    pub(crate) cols: usize,
}

impl Block {
    fn len(&self) -> usize {
        self.rows * self.cols
    }
}

/// The registers of one thread, and room for operands that must be spread out.
#[derive(Debug)]
pub(crate) struct Registers {
    slots: Vec<Vec<f32>>,
    spread: Vec<Vec<f32>>,
}

/// A program and what it is to be run on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(super) program: &'a Program,
    pub(super) inputs: &'a [(Kind, &'a [f32])],
    pub(super) scalars: &'a [f32],
    pub(super) arm: Arm,
    /// The input, if one does, whose elements the result is to overwrite; its slice is not looked at.
    pub(super) over: Option<usize>,
}

impl<'a> Plan<'a> {
    /// Blocks as large as they can be.
    fn new(call: Call<'a>, outputs: Vec<u32>, rows: usize, cols: usize) -> Self {
        let by_position = call.inputs.iter().any(|(kind, _)| *kind != Kind::Full);
        // Without rows and columns to tell apart, all elements are one long row.
        let (rows, cols) = if by_position { (rows, cols) } else { (1, rows * cols) };
        let block_rows = if cols <= BLOCK { (BLOCK / cols.max(1)).clamp(1, rows.max(1)) } else { 1 };
        Self::with_blocks(call, outputs, [rows, cols], [block_rows, cols.clamp(1, BLOCK)])
    }

    /// Blocks of at most so many rows and columns, [`BLOCK`] elements together; of several rows only if they have all
    /// columns. There is at least one row and one column.
    pub(crate) fn with_blocks(
        call: Call<'a>,
        outputs: Vec<u32>,
        [rows, cols]: [usize; 2],
        [block_rows, block_cols]: [usize; 2],
    ) -> Self {
        let Call { program, inputs, scalars, arm, over } = call;
        debug_assert!(block_rows * block_cols <= BLOCK && (block_rows == 1 || block_cols == cols));
        let source = |&(kind, data): &(Kind, &'a [f32])| match kind {
            Kind::Full => Source::Full(data),
            Kind::Row if cols == 1 => Source::One(data[0]),
            Kind::Row if rows == 1 => Source::Full(data),
            Kind::Row if block_rows > 1 => Source::Row(Cow::Owned(data.repeat(block_rows))),
            Kind::Row => Source::Row(Cow::Borrowed(data)),
            Kind::Col if rows == 1 => Source::One(data[0]),
            Kind::Col if cols == 1 => Source::Full(data),
            Kind::Col => Source::Col(data),
        };
        let mut sources: Vec<Source<'a>> = inputs.iter().map(source).collect();
        if let Some(source) = over.and_then(|i| sources.get_mut(i)) {
            *source = Source::Over;
        }
        let needs_register = |op: &Op| match op.code {
            Code::Input => match sources[op.a as usize] {
                Source::Over => true,
                Source::Col(_) => block_rows > 1,
                _ => false,
            },
            Code::Scalar | Code::Constant => false,
            _ => true,
        };
        let (slots, n_slots) = assign(program, &outputs, needs_register);
        Plan { program, outputs, sources, scalars, rows, cols, block_rows, block_cols, slots, n_slots, arm }
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs.len()
    }

    pub(crate) fn registers(&self) -> Registers {
        Registers { slots: vec![vec![0.0; BLOCK]; self.n_slots], spread: vec![Vec::new(); 4] }
    }

    fn blocks_across(&self) -> usize {
        self.cols.div_ceil(self.block_cols)
    }

    /// Number of blocks.
    fn blocks(&self) -> usize {
        self.rows.div_ceil(self.block_rows) * self.blocks_across()
    }

    /// The first element of block `b`; of the one after the last, the end.
    fn start(&self, b: usize) -> usize {
        let (down, across) = (b / self.blocks_across(), b % self.blocks_across());
        (down * self.block_rows).min(self.rows) * self.cols + across * self.block_cols
    }

    fn block(&self, b: usize) -> Block {
        let (down, across) = (b / self.blocks_across(), b % self.blocks_across());
        let (row, col) = (down * self.block_rows, across * self.block_cols);
        Block { row, rows: self.block_rows.min(self.rows - row), col, cols: self.block_cols.min(self.cols - col) }
    }

    /// Fills `out`, one slice for each output.
    pub(crate) fn evaluate(&self, block: &Block, registers: &mut Registers, out: &mut [&mut [f32]]) {
        let Registers { slots, spread } = registers;
        let len = block.len();
        let last = self.program.ops.len() - 1;
        for (i, op) in self.program.ops.iter().enumerate() {
            let Some(slot) = self.slots[i] else { continue };
            let mut result = std::mem::take(&mut slots[slot]);
            // The last operation is nobody's operand, so what wants it can have it at once.
            let direct = self.outputs.iter().position(|o| *o as usize == last).filter(|_| i == last);
            let target = match direct {
                Some(output) => &mut out[output][..len],
                None => &mut result[..len],
            };
            match (op.code, self.sources.get(op.a as usize)) {
                // Elements that stay as they are.
                (Code::Input, Some(Source::Over)) if direct.is_some() => {}
                (Code::Input, Some(Source::Over)) => result[..len].copy_from_slice(&out[0][..len]),
                (Code::Input, Some(Source::Col(data))) => {
                    for (row, value) in target.chunks_exact_mut(block.cols).zip(&data[block.row..]) {
                        row.fill(*value);
                    }
                }
                (code, _) => {
                    let operands = [op.a, op.b, op.c, op.d].map(|r| self.value(r, block, slots));
                    match self.arm {
                        Arm::None => step(code, operands, target, spread),
                        arm => step_armed(code, operands, target, arm),
                    }
                }
            }
            slots[slot] = result;
        }
        for (o, out) in self.outputs.iter().zip(out) {
            let done = *o as usize == last && self.slots[last].is_some();
            match self.value(*o, block, slots) {
                _ if done => {}
                Value::One(x) => out[..len].fill(x),
                Value::Many(values) => out[..len].copy_from_slice(values),
            }
        }
    }

    /// The result of operation `r`.
    fn value<'v>(&'v self, r: u32, block: &Block, slots: &'v [Vec<f32>]) -> Value<'v> {
        let op = &self.program.ops[r as usize];
        if let Some(slot) = self.slots[r as usize] {
            return Value::Many(&slots[slot][..block.len()]);
        }
        match op.code {
            Code::Scalar => Value::One(self.scalars[op.a as usize]),
            Code::Constant => Value::One(f32::from_bits(op.a)),
            _ => match &self.sources[op.a as usize] {
                Source::Full(data) => Value::Many(&data[block.row * self.cols + block.col..][..block.len()]),
                Source::Row(data) => Value::Many(&data[block.col..][..block.len()]),
                Source::Col(data) => Value::One(data[block.row]),
                Source::One(x) => Value::One(*x),
                // Held in a register.
                Source::Over => Value::Many(&[]),
            },
        }
    }
}

/// Gives a register to each operation that `needs` one, again and again once nobody wants its result any more.
fn assign(program: &Program, outputs: &[u32], needs: impl Fn(&Op) -> bool) -> (Vec<Option<usize>>, usize) {
    let n = program.ops.len();
    let mut last_use: Vec<usize> = (0..n).collect();
    for (i, op) in program.ops.iter().enumerate() {
        if !matches!(op.code, Code::Input | Code::Scalar | Code::Constant) {
            [op.a, op.b, op.c, op.d].into_iter().for_each(|r| last_use[r as usize] = i);
        }
    }
    outputs.iter().for_each(|o| last_use[*o as usize] = n);
    let mut slots: Vec<Option<usize>> = vec![None; n];
    let (mut free, mut n_slots) = (Vec::new(), 0);
    for (i, op) in program.ops.iter().enumerate() {
        if needs(op) {
            slots[i] = Some(free.pop().unwrap_or_else(|| {
                n_slots += 1;
                n_slots - 1
            }));
        }
        free.extend((0..=i).filter(|r| last_use[*r] == i).filter_map(|r| slots[r]));
    }
    (slots, n_slots)
}

/// One operation on a block, in vectors. Loops rather than closures: those of so large a function are not inlined into it,
/// but called once an element.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn step(code: Code, [a, b, c, d]: [Value<'_>; 4], out: &mut [f32], spread: &mut [Vec<f32>]) {
    macro_rules! unary {
        ($code:ident) => {
            match a {
                Value::One(x) => out.fill(apply(Code::$code, x, 0.0, 0.0, 0.0, Arm::None)),
                Value::Many(a) => {
                    for (o, a) in out.iter_mut().zip(a) {
                        *o = apply(Code::$code, *a, 0.0, 0.0, 0.0, Arm::None);
                    }
                }
            }
        };
    }
    macro_rules! binary {
        ($code:ident) => {
            binary!(x, y => apply(Code::$code, x, y, 0.0, 0.0, Arm::None))
        };
        ($x:ident, $y:ident => $value:expr) => {
            match (a, b) {
                (Value::One($x), Value::One($y)) => out.fill($value),
                (Value::One($x), Value::Many(b)) => {
                    for (o, &$y) in out.iter_mut().zip(b) {
                        *o = $value;
                    }
                }
                (Value::Many(a), Value::One($y)) => {
                    for (o, &$x) in out.iter_mut().zip(a) {
                        *o = $value;
                    }
                }
                (Value::Many(a), Value::Many(b)) => {
                    for ((o, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                        *o = $value;
                    }
                }
            }
        };
    }
    match code {
        Code::Neg => unary!(Neg),
        Code::Abs => unary!(Abs),
        Code::Sqrt => unary!(Sqrt),
        Code::Exp => match a {
            Value::One(x) => out.fill(exp_cr(x)),
            Value::Many(a) => exp_cr_slice(a, out),
        },
        Code::Ln => match a {
            Value::One(x) => out.fill(ln_cr(x)),
            Value::Many(a) => ln_cr_slice(a, out),
        },
        Code::Unary(f) => match a {
            Value::One(x) => out.fill(f.apply(x)),
            Value::Many(a) => f.apply_slice(a, out),
        },
        Code::Binary(f) => binary!(x, y => f.apply(x, y)),
        Code::Add => binary!(Add),
        Code::Sub => binary!(Sub),
        Code::Mul => binary!(Mul),
        Code::Div => binary!(Div),
        Code::Min => binary!(Min),
        Code::Max => binary!(Max),
        Code::SelectLess => {
            let mut operands: [&[f32]; 4] = [&[]; 4];
            for ((slot, value), room) in operands.iter_mut().zip([a, b, c, d]).zip(spread) {
                *slot = match value {
                    Value::Many(values) => values,
                    Value::One(x) => {
                        room.clear();
                        room.resize(out.len(), x);
                        room
                    }
                };
            }
            let [a, b, c, d] = operands;
            for ((((o, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *o = apply(Code::SelectLess, *a, *b, *c, *d, Arm::None);
            }
        }
        Code::Input | Code::Scalar | Code::Constant => {}
    }
}

/// One operation on a block with one clause broken; not fast, and never run outside certification.
fn step_armed(code: Code, operands: [Value<'_>; 4], out: &mut [f32], arm: Arm) {
    for (i, out) in out.iter_mut().enumerate() {
        let [a, b, c, d] = operands.map(|value| match value {
            Value::One(x) => x,
            Value::Many(values) => values.get(i).copied().unwrap_or_default(),
        });
        *out = apply(code, a, b, c, d, arm);
    }
}

pub(super) fn to_f32(x: &[u32], arm: Arm) -> Vec<f32> {
    match arm {
        Arm::TruncateConversion => x.par_iter().map(|v| u32_to_f32(truncate_to_24_bits(*v))).collect(),
        _ => x.par_iter().with_min_len(4096).map(|v| u32_to_f32(*v)).collect(),
    }
}
