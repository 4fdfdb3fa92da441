//! The kernel: a program unrolled into straight-line code while the kernel is built.

use cubecl::prelude::*;
use ml_core::Result;

use super::expr::{Code, Op, Program};
use super::scalar::*;
use super::{Kind, MAX_INPUTS};
use crate::buffer::{Chunks, In, Out};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::elementary::{apply_binary, apply_unary};
use crate::num::{
    Pins, abs, add, add_exact_range, canon, div, exp_cr, from_bits, ln_cr, max, min, mul, mul_exact_range, neg, sqrt,
    sub, u32_to_f32,
};
use crate::sabotage::Arm;

/// What a kernel is built for. Nothing here moves a rounding but the arm.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Plan {
    program: Program,
    kinds: Vec<Kind>,
    /// For each operation, whether it has one value for a whole column: no operand changes along it.
    fixed: Vec<bool>,
    arm: Arm,
    /// Elements that a unit takes side by side.
    width: usize,
    /// Whether the result is walked over as one row, all operands being of its shape.
    flat: bool,
    /// Vectors that a unit loads before it computes the first of them.
    batch: u32,
}

impl Plan {
    fn new(program: &Program, kinds: &[Kind], arm: Arm) -> Self {
        let mut fixed = Vec::with_capacity(program.ops.len());
        for op in &program.ops {
            fixed.push(match op.code {
                Code::Input => kinds[op.a as usize] == Kind::Row,
                Code::Scalar | Code::Constant => true,
                _ => operands(op).iter().all(|r| fixed[*r]),
            });
        }
        // Long formulas have enough to do while they wait for one vector.
        let long = |op: &Op| matches!(op.code, Code::Exp | Code::Ln | Code::Unary(_) | Code::Binary(_));
        let long = program.ops.iter().any(long) || program.ops.len() > 24;
        Plan {
            program: program.clone(),
            kinds: kinds.to_vec(),
            fixed,
            arm,
            width: 1,
            flat: kinds.iter().all(|kind| *kind == Kind::Full),
            batch: if long { 1 } else { 4 },
        }
    }

    /// How many of the operations before `r` are of its sort, fixed or not: the place of register `r` among them.
    fn place(&self, r: usize) -> usize {
        self.fixed[..r].iter().filter(|fixed| **fixed == self.fixed[r]).count()
    }

    /// The inputs that a unit loads for each of its vectors.
    fn moving(&self) -> Vec<usize> {
        (0..self.kinds.len()).filter(|i| self.kinds[*i] != Kind::Row).collect()
    }

    /// Elements of input `i` that are bound as one.
    fn width_of(&self, i: usize) -> usize {
        if self.kinds.get(i).is_none_or(|kind| *kind == Kind::Col) { 1 } else { self.width }
    }
}

/// The registers that an operation reads; the first again in place of those that it has no use for.
fn operands(op: &Op) -> [usize; 4] {
    let [a, b, c, d] = [op.a, op.b, op.c, op.d].map(|r| r as usize);
    match op.code {
        Code::Neg | Code::Abs | Code::Sqrt | Code::Exp | Code::Ln | Code::Unary(_) => [a; 4],
        Code::Binary(_) | Code::Add | Code::Sub | Code::Mul | Code::Div | Code::Min | Code::Max => [a, b, a, a],
        _ => [a, b, c, d],
    }
}

/// Vectors that a unit computes, one after the other, where there are enough of them for that.
const STEPS: usize = 8;

/// Workgroups below which units compute fewer vectors instead.
const ENOUGH: usize = 1024;

/// How units walk over the result, in vectors.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Walk {
    rows: u32,
    cols: u32,
    /// The first vector, where the result is one row.
    first: u32,
    /// Most vectors of a unit.
    steps: u32,
    /// Binary logarithm of the units of a workgroup that lie side by side in a row.
    across: u32,
    /// Workgroups that lie side by side in a row.
    blocks: u32,
}

/// The widest workgroup, as a binary logarithm of units side by side, that leaves few of them beyond the end of a row.
fn across(cols: usize) -> u32 {
    let beyond = |log: u32| cols.next_multiple_of(1 << log) - cols;
    (0..=CUBE.ilog2()).rev().find(|log| beyond(*log) * 8 <= cols).unwrap_or(0)
}

#[expect(clippy::too_many_arguments, reason = "the call as the public function checked it")]
pub(super) fn run<R: Runtime>(
    g: &Gpu<R>,
    program: &Program,
    inputs: &[(Kind, &Chunks<f32>)],
    scalars: &[f32],
    rows: usize,
    cols: usize,
    arm: Arm,
    out: &Chunks<f32>,
) -> Result<()> {
    let scalar_buffer = In { handle: g.upload_one(scalars)?, len: scalars.len() };
    let kinds: Vec<Kind> = inputs.iter().map(|(k, _)| *k).collect();
    let plan = Plan::new(program, &kinds, arm);
    // The code of these functions is long: it stands in a kernel once, not once for each element of a vector.
    let heavy = program.ops.iter().any(|op| matches!(op.code, Code::Unary(_) | Code::Binary(_)));
    let widest = if heavy { 1 } else { 4 };
    let wide = |width| Plan { width, ..plan.clone() };
    for panel in g.row_panels(rows, &[cols]) {
        let part = panel.start * cols..panel.end * cols;
        let mut views = Vec::with_capacity(MAX_INPUTS);
        for (kind, chunks) in inputs {
            views.push(chunks.view(
                g,
                match kind {
                    Kind::Full => part.clone(),
                    Kind::Row => 0..cols,
                    Kind::Col => panel.clone(),
                },
            )?);
        }
        while views.len() < MAX_INPUTS {
            views.push(In { handle: scalar_buffer.handle.clone(), len: scalar_buffer.len });
        }
        let result = out.view_out(g, part.clone())?;
        if plan.flat {
            let whole = part.len() / widest * widest;
            launch(g, &views, &scalar_buffer, &result, wide(widest), 1, 0..whole)?;
            launch(g, &views, &scalar_buffer, &result, wide(1), 1, whole..part.len())?;
        } else {
            let width = if cols.is_multiple_of(widest) { widest } else { 1 };
            launch(g, &views, &scalar_buffer, &result, wide(width), panel.len(), 0..cols)?;
        }
        out.commit(g, result)?;
    }
    Ok(())
}

/// The elements `cols` of each of `rows` rows; all of them where there are several rows.
fn launch<R: Runtime>(
    g: &Gpu<R>,
    views: &[In],
    scalars: &In,
    result: &Out,
    plan: Plan,
    rows: usize,
    cols: std::ops::Range<usize>,
) -> Result<()> {
    let (width, flat) = (plan.width, plan.flat);
    let (first, cols) = (cols.start / width, cols.len() / width);
    let across = if flat { CUBE.ilog2() } else { across(cols) };
    let steps = (rows * cols / (ENOUGH * CUBE as usize)).clamp(1, STEPS);
    let blocks = if flat { 1 } else { cols.div_ceil(1 << across) };
    let cubes = match flat {
        true => cols.div_ceil(CUBE as usize * steps),
        false => blocks * rows.div_ceil((CUBE as usize >> across) * steps),
    };
    if cubes == 0 {
        return Ok(());
    }
    let walk = WalkLaunch::new(rows as u32, cols as u32, first as u32, steps as u32, across, blocks as u32);
    g.guard("map", 0, || {
        // SAFETY: a unit reads and writes only vectors of rows below `rows` and columns below `cols`, all of which lie in
        // the views, whose lengths the public function has checked; of an input only what its kind allows.
        unsafe {
            map_program::launch_unchecked::<R>(
                g.client(),
                g.grid(cubes, 1),
                CubeDim::new_1d(CUBE),
                width,
                plan.width_of(0),
                plan.width_of(1),
                plan.width_of(2),
                plan.width_of(3),
                views[0].arg_vec(plan.width_of(0)),
                views[1].arg_vec(plan.width_of(1)),
                views[2].arg_vec(plan.width_of(2)),
                views[3].arg_vec(plan.width_of(3)),
                scalars.arg(),
                result.arg_vec(width),
                walk,
                Pins::HOST.nz,
                Pins::HOST.one,
                plan,
            );
        }
    })
}

/// A unit computes up to `steps` vectors: of one column, or where the result is one row, a workgroup's width apart.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn map_program<N: Size, A: Size, B: Size, C: Size, D: Size>(
    x0: &Array<Vector<f32, A>>,
    x1: &Array<Vector<f32, B>>,
    x2: &Array<Vector<f32, C>>,
    x3: &Array<Vector<f32, D>>,
    scalars: &Array<f32>,
    out: &mut Array<Vector<f32, N>>,
    walk: Walk,
    nz: f32,
    one: f32,
    #[comptime] plan: Plan,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let cube = CUBE_POS as u32;
    // The unit's first vector, from one of its vectors to the next, and how many there are up to the end.
    let mut col = walk.first + cube * walk.steps * CUBE + unit;
    let mut row = 0u32;
    let mut down = CUBE.runtime();
    let mut left = 0u32;
    if comptime!(plan.flat) {
        if col < walk.first + walk.cols {
            left = (walk.first + walk.cols - col).div_ceil(CUBE);
        }
    } else {
        down = CUBE >> walk.across;
        col = ((cube % walk.blocks) << walk.across) + (unit & ((1u32 << walk.across) - 1));
        row = cube / walk.blocks * down * walk.steps + (unit >> walk.across);
        if row < walk.rows && col < walk.cols {
            left = (walk.rows - row).div_ceil(down);
        }
    }
    let count = min_u32(left, walk.steps);

    if count > 0 {
        let mut fixed = Sequence::<Vector<f32, N>>::new();
        #[unroll]
        for r in 0..comptime!(plan.program.ops.len()) {
            if comptime!(plan.fixed[r]) {
                let op = comptime!(plan.program.ops[r]);
                if comptime!(op.code == Code::Input) {
                    fixed.push(input::<N, A, B, C, D>(x0, x1, x2, x3, col, comptime!(op.a as usize)));
                } else if comptime!(op.code == Code::Scalar) {
                    fixed.push(Vector::<f32, N>::new(scalars[comptime!(op.a as usize)]));
                } else if comptime!(op.code == Code::Constant) {
                    fixed.push(Vector::<f32, N>::new(from_bits(comptime!(op.a).runtime())));
                } else {
                    let a = *fixed.index(comptime!(plan.place(operands(&op)[0])));
                    let b = *fixed.index(comptime!(plan.place(operands(&op)[1])));
                    let c = *fixed.index(comptime!(plan.place(operands(&op)[2])));
                    let d = *fixed.index(comptime!(plan.place(operands(&op)[3])));
                    fixed.push(apply_each::<N>(
                        a,
                        b,
                        c,
                        d,
                        p,
                        comptime!(op.code),
                        comptime!(plan.arm),
                        comptime!(plan.width),
                    ));
                }
            }
        }
        let mut turn = 0u32;
        while turn < count {
            let mut loaded = Sequence::<Vector<f32, N>>::new();
            #[unroll]
            for ahead in 0..comptime!(plan.batch) {
                // Beyond the last turn the first is loaded again and not stored.
                let own = select(turn + ahead < count, turn + ahead, 0u32);
                #[unroll]
                for m in 0..comptime!(plan.moving().len()) {
                    let i = comptime!(plan.moving()[m]);
                    let mut at = row + own * down;
                    if comptime!(plan.flat) {
                        at = col + own * down;
                    } else if comptime!(plan.kinds[i] == Kind::Full) {
                        at = (row + own * down) * walk.cols + col;
                    }
                    loaded.push(input::<N, A, B, C, D>(x0, x1, x2, x3, at, i));
                }
            }
            #[unroll]
            for ahead in 0..comptime!(plan.batch) {
                let mut moving = Sequence::<Vector<f32, N>>::new();
                #[unroll]
                for r in 0..comptime!(plan.program.ops.len()) {
                    if comptime!(!plan.fixed[r]) {
                        let op = comptime!(plan.program.ops[r]);
                        if comptime!(op.code == Code::Input) {
                            let before = comptime!(plan.moving().iter().position(|i| *i == op.a as usize).unwrap_or(0));
                            moving.push(*loaded.index(comptime!(ahead as usize * plan.moving().len() + before)));
                        } else {
                            let a =
                                register::<N>(&fixed, &moving, comptime!(operands(&op)[0]), comptime!(plan.clone()));
                            let b =
                                register::<N>(&fixed, &moving, comptime!(operands(&op)[1]), comptime!(plan.clone()));
                            let c =
                                register::<N>(&fixed, &moving, comptime!(operands(&op)[2]), comptime!(plan.clone()));
                            let d =
                                register::<N>(&fixed, &moving, comptime!(operands(&op)[3]), comptime!(plan.clone()));
                            moving.push(apply_each::<N>(
                                a,
                                b,
                                c,
                                d,
                                p,
                                comptime!(op.code),
                                comptime!(plan.arm),
                                comptime!(plan.width),
                            ));
                        }
                    }
                }
                if turn + ahead < count {
                    let value =
                        register::<N>(&fixed, &moving, comptime!(plan.program.ops.len() - 1), comptime!(plan.clone()));
                    if comptime!(plan.flat) {
                        out[(col + (turn + ahead) * down) as usize] = value;
                    } else {
                        out[((row + (turn + ahead) * down) * walk.cols + col) as usize] = value;
                    }
                }
            }
            turn += comptime!(plan.batch);
        }
    }
}

/// The lesser of two words.
#[cube]
fn min_u32(a: u32, b: u32) -> u32 {
    select(a < b, a, b)
}

/// Vector `at` of input `i`; one value in all places where the input is bound by single elements.
#[cube]
fn input<N: Size, A: Size, B: Size, C: Size, D: Size>(
    x0: &Array<Vector<f32, A>>,
    x1: &Array<Vector<f32, B>>,
    x2: &Array<Vector<f32, C>>,
    x3: &Array<Vector<f32, D>>,
    at: u32,
    #[comptime] i: usize,
) -> Vector<f32, N> {
    if comptime!(i == 0) {
        widened::<A, N>(x0[at as usize])
    } else if comptime!(i == 1) {
        widened::<B, N>(x1[at as usize])
    } else if comptime!(i == 2) {
        widened::<C, N>(x2[at as usize])
    } else {
        widened::<D, N>(x3[at as usize])
    }
}

/// A vector of the same width as it is, a single element in all places.
#[cube]
fn widened<A: Size, N: Size>(x: Vector<f32, A>) -> Vector<f32, N> {
    // tidy: native: a copy; the element type stays
    Vector::<f32, N>::cast_from(x)
}

/// Register `r` of the program.
#[cube]
fn register<N: Size>(
    fixed: &Sequence<Vector<f32, N>>,
    moving: &Sequence<Vector<f32, N>>,
    #[comptime] r: usize,
    #[comptime] plan: Plan,
) -> Vector<f32, N> {
    if comptime!(plan.fixed[r]) {
        *fixed.index(comptime!(plan.place(r)))
    } else {
        *moving.index(comptime!(plan.place(r)))
    }
}

/// One operation on each element of vectors.
#[cube]
#[expect(clippy::too_many_arguments, reason = "an operation's operands and what it is")]
fn apply_each<N: Size>(
    a: Vector<f32, N>,
    b: Vector<f32, N>,
    c: Vector<f32, N>,
    d: Vector<f32, N>,
    p: Pins,
    #[comptime] code: Code,
    #[comptime] arm: Arm,
    #[comptime] width: usize,
) -> Vector<f32, N> {
    if comptime!(width == 1) {
        Vector::<f32, N>::new(apply(a[0], b[0], c[0], d[0], p, code, arm))
    } else {
        let mut out = Vector::<f32, N>::empty();
        #[unroll]
        for i in 0..width {
            out[i] = apply(a[i], b[i], c[i], d[i], p, code, arm);
        }
        out
    }
}

#[cube]
fn apply(a: f32, b: f32, c: f32, d: f32, p: Pins, #[comptime] code: Code, #[comptime] arm: Arm) -> f32 {
    if comptime!(code == Code::Neg) {
        canon(neg(a))
    } else if comptime!(code == Code::Abs) {
        abs(a)
    } else if comptime!(code == Code::Sqrt && arm == Arm::RoughSqrt) {
        last_bit_cleared(sqrt(a))
    } else if comptime!(code == Code::Sqrt) {
        sqrt(a)
    } else if comptime!(code == Code::Exp && arm == Arm::RoughElementary) {
        last_bit_cleared(exp_cr(a))
    } else if comptime!(code == Code::Exp) {
        exp_cr(a)
    } else if comptime!(code == Code::Ln && arm == Arm::RoughElementary) {
        last_bit_cleared(ln_cr(a))
    } else if comptime!(code == Code::Ln) {
        ln_cr(a)
    } else if comptime!(matches!(code, Code::Unary(_)) && arm == Arm::RoughElementary) {
        last_bit_cleared(apply_unary(a, comptime!(code.unary())))
    } else if comptime!(matches!(code, Code::Unary(_))) {
        apply_unary(a, comptime!(code.unary()))
    } else if comptime!(matches!(code, Code::Binary(_)) && arm == Arm::RoughElementary) {
        last_bit_cleared(apply_binary(a, b, comptime!(code.binary())))
    } else if comptime!(matches!(code, Code::Binary(_))) {
        apply_binary(a, b, comptime!(code.binary()))
    } else if comptime!(code == Code::Add && arm == Arm::KeepSubnormals) {
        add_exact_range(a, b, p)
    } else if comptime!(code == Code::Add) {
        add(a, b, p)
    } else if comptime!(code == Code::Sub && arm == Arm::KeepSubnormals) {
        add_exact_range(a, neg(b), p)
    } else if comptime!(code == Code::Sub) {
        sub(a, b, p)
    } else if comptime!(code == Code::Mul && arm == Arm::KeepSubnormals) {
        mul_exact_range(a, b, p)
    } else if comptime!(code == Code::Mul) {
        mul(a, b, p)
    } else if comptime!(code == Code::Div && arm == Arm::RoughDivision) {
        div_through_reciprocal(a, b, p)
    } else if comptime!(code == Code::Div) {
        div(a, b)
    } else if comptime!(code == Code::Min) {
        min(a, b)
    } else if comptime!(code == Code::Max) {
        max(a, b)
    } else {
        select_less(a, b, c, d)
    }
}

pub(super) fn to_f32<R: Runtime>(g: &Gpu<R>, x: &Chunks<u32>, arm: Arm, out: &Chunks<f32>) -> Result<()> {
    for part in g.row_panels(x.len(), &[1]) {
        let view = x.view(g, part.clone())?;
        let result = out.view_out(g, part.clone())?;
        g.guard("to_f32", 0, || {
            // SAFETY: the kernel checks its bound `n`, which both views have.
            unsafe {
                convert::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    result.arg(),
                    part.len() as u32,
                    arm,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn convert(x: &Array<u32>, out: &mut Array<f32>, n: u32, #[comptime] arm: Arm) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let mut v = x[i as usize];
        if comptime!(arm == Arm::TruncateConversion) {
            v = truncate_to_24_bits(v);
        }
        out[i as usize] = u32_to_f32(v);
    }
}
