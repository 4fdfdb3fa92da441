//! Kernels of the Cholesky factorisation and its solve.
//!
//! The factor is built in a transposed work area, W(k, i) = L(i, k), so that neighbouring units read neighbouring
//! elements. A column takes two launches, one unit a row: `accumulate` contracts, `finish` subtracts and divides. A solve
//! takes one unit for each right-hand side.

use cubecl::prelude::*;
use ml_core::Result;

use super::Unfactorable;
use crate::buffer::Chunks;
use crate::contraction::LEAF;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{
    Pins, add, add_exact_range, bits, canon, div, mul, mul_exact_range, raw::add_wrap, raw::sub_wrap, sqrt, sub,
};
use crate::sabotage::Arm;

/// Which elements a transposition keeps; the others become zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Keep {
    All,
    /// Those on or below the diagonal of the source.
    Lower,
    /// Those on or above the diagonal of the source.
    Upper,
}

/// Products that one unit forms in one launch of a solve, about. Longer launches are ended by the watchdogs of desktop
/// drivers, and llvmpipe ends, in silence, all loops of an invocation after 65,535 iterations.
const PRODUCTS: usize = 1 << 15;

/// Levels of the tree over the leaves of `terms` terms.
fn levels(terms: usize) -> u32 {
    let full = terms / LEAF;
    usize::BITS - full.leading_zeros()
}

/// Row length of the work area: every row then starts where a binding may.
fn padded(n: usize) -> usize {
    n.next_multiple_of(64)
}

pub(super) fn cholesky<R: Runtime>(g: &Gpu<R>, a: &Chunks<f32>, n: usize, arm: Arm, out: &Chunks<f32>) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let stride = padded(n);
    let columns = Chunks::<f32>::alloc(g, n * stride)?;
    transpose(g, (a, n, n), (&columns, n, stride), Keep::Lower)?;
    let work = Chunks::<f32>::alloc(g, n * stride)?;
    let levels = levels(n);
    let state_len = stride * (levels as usize + 1);
    let state = g.alloc_one::<f32>(state_len)?;
    let flag = g.upload_one(&[u32::MAX, 0])?;
    for j in 0..n {
        let mut panels = g.row_panels(j, &[stride]);
        if panels.is_empty() {
            panels.push(0..0);
        }
        for panel in panels {
            let rows = work.view(g, panel.start * stride..panel.end * stride)?;
            g.guard("cholesky", 0, || {
                // SAFETY: units beyond row n - 1 do nothing; rows panel.start..panel.end of `work` and all levels of
                // `state` are `stride` >= n long.
                unsafe {
                    accumulate::launch_unchecked::<R>(
                        g.client(),
                        g.grid(n - j, CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        rows.arg(),
                        ArrayArg::from_raw_parts(state.clone(), state_len),
                        panel.start as u32,
                        panel.end as u32,
                        j as u32,
                        n as u32,
                        stride as u32,
                        Pins::HOST.nz,
                        Pins::HOST.one,
                        levels,
                        arm,
                    );
                }
            })?;
        }
        let column = columns.view(g, j * stride..(j + 1) * stride)?;
        let result = work.view_out(g, j * stride..(j + 1) * stride)?;
        g.guard("cholesky", 0, || {
            // SAFETY: units beyond row n - 1 do nothing; `column` and `result` hold `stride` >= n elements, the flag two.
            unsafe {
                finish::launch_unchecked::<R>(
                    g.client(),
                    g.grid(n, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    ArrayArg::from_raw_parts(state.clone(), state_len),
                    column.arg(),
                    result.arg(),
                    ArrayArg::from_raw_parts(flag.clone(), 2),
                    j as u32,
                    n as u32,
                    stride as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    levels,
                );
            }
        })?;
        work.commit(g, result)?;
    }
    transpose(g, (&work, n, stride), (out, n, n), Keep::Upper)?;
    match g.read_one::<u32>(&flag, 2)?[..] {
        [pivot, value] if pivot != u32::MAX => {
            Err(Unfactorable { pivot: pivot as usize, value: f32::from_bits(value) }.into())
        }
        _ => Ok(()),
    }
}

// pathway: P81
pub(super) fn solve<R: Runtime>(
    g: &Gpu<R>,
    l: &Chunks<f32>,
    b: &Chunks<f32>,
    n: usize,
    nrhs: usize,
    arm: Arm,
    out: &Chunks<f32>,
) -> Result<()> {
    if n == 0 || nrhs == 0 {
        return Ok(());
    }
    let stride = padded(n);
    let columns = Chunks::<f32>::alloc(g, n * stride)?;
    transpose(g, (l, n, n), (&columns, n, stride), Keep::Lower)?;
    // One right-hand side a row.
    let solved = Chunks::<f32>::alloc(g, nrhs * n)?;
    let most = (PRODUCTS / n).max(1);
    for group in g.row_panels(nrhs, &[n]) {
        let x = solved.view_out(g, group.start * n..group.end * n)?;
        for rows in g.row_panels(n, &[nrhs]) {
            let part = b.view(g, rows.start * nrhs..rows.end * nrhs)?;
            g.guard("cholesky_solve", 0, || {
                // SAFETY: as in `transpose`.
                unsafe {
                    transpose_part::launch_unchecked::<R>(
                        g.client(),
                        g.grid(group.len() * rows.len(), CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        part.arg(),
                        x.arg(),
                        rows.start as u32,
                        rows.len() as u32,
                        nrhs as u32,
                        group.start as u32,
                        group.len() as u32,
                        n as u32,
                        Keep::All,
                    );
                }
            })?;
        }
        for forward in [true, false] {
            let (matrix, width) = if forward { (l, n) } else { (&columns, stride) };
            let mut panels: Vec<_> = g
                .row_panels(n, &[width])
                .into_iter()
                .flat_map(|p| p.clone().step_by(most).map(move |start| start..(start + most).min(p.end)))
                .collect();
            if !forward {
                panels.reverse();
            }
            for panel in panels {
                let rows = matrix.view(g, panel.start * width..panel.end * width)?;
                g.guard("cholesky_solve", 0, || {
                    // SAFETY: a unit beyond the group does nothing; the others stay within their own `n` elements of `x`
                    // and the first `n` of each of the panel's rows.
                    unsafe {
                        substitute::launch_unchecked::<R>(
                            g.client(),
                            g.grid(group.len(), CUBE as usize),
                            CubeDim::new_1d(CUBE),
                            rows.arg(),
                            x.arg(),
                            panel.start as u32,
                            panel.len() as u32,
                            n as u32,
                            width as u32,
                            group.len() as u32,
                            Pins::HOST.nz,
                            Pins::HOST.one,
                            levels(n),
                            forward,
                            arm,
                        );
                    }
                })?;
            }
        }
        solved.commit(g, x)?;
    }
    transpose(g, (&solved, nrhs, n), (out, n, nrhs), Keep::All)
}

/// `target`(r, c) = `source`(c, r); a matrix is (elements, rows, row length), and each covers the other's rows.
fn transpose<R: Runtime>(
    g: &Gpu<R>,
    (source, source_rows, source_stride): (&Chunks<f32>, usize, usize),
    (target, target_rows, target_stride): (&Chunks<f32>, usize, usize),
    keep: Keep,
) -> Result<()> {
    for to in g.row_panels(target_rows, &[target_stride]) {
        let result = target.view_out(g, to.start * target_stride..to.end * target_stride)?;
        for from in g.row_panels(source_rows, &[source_stride]) {
            let part = source.view(g, from.start * source_stride..from.end * source_stride)?;
            g.guard("transpose", 0, || {
                // SAFETY: units beyond the two panels do nothing; row lengths cover the other matrix's rows.
                unsafe {
                    transpose_part::launch_unchecked::<R>(
                        g.client(),
                        g.grid(to.len() * from.len(), CUBE as usize),
                        CubeDim::new_1d(CUBE),
                        part.arg(),
                        result.arg(),
                        from.start as u32,
                        from.len() as u32,
                        source_stride as u32,
                        to.start as u32,
                        to.len() as u32,
                        target_stride as u32,
                        keep,
                    );
                }
            })?;
        }
        target.commit(g, result)?;
    }
    Ok(())
}

/// One unit for each pair of a target row and a source row.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "two panels and their places")]
fn transpose_part(
    source: &Array<f32>,
    target: &mut Array<f32>,
    source_first: u32,
    source_rows: u32,
    source_stride: u32,
    target_first: u32,
    target_rows: u32,
    target_stride: u32,
    #[comptime] keep: Keep,
) {
    let unit = ABSOLUTE_POS as u32;
    let r = unit / source_rows;
    let c = unit % source_rows;
    if r < target_rows {
        let row = target_first + r;
        let column = source_first + c;
        let mut value = source[(c * source_stride + row) as usize];
        if comptime!(keep == Keep::Lower) {
            if column < row {
                value = 0.0f32;
            }
        }
        if comptime!(keep == Keep::Upper) {
            if column > row {
                value = 0.0f32;
            }
        }
        target[(r * target_stride + column) as usize] = value;
    }
}

/// `acc + a * b` as `arm` spells it.
#[cube]
fn accumulated(acc: f32, a: f32, b: f32, p: Pins, #[comptime] arm: Arm) -> f32 {
    if comptime!(arm == Arm::KeepSubnormals || arm == Arm::GuardOff) {
        add_exact_range(acc, mul_exact_range(a, b, p), p)
    } else if comptime!(arm == Arm::FuseProducts) {
        canon(fma(a, b, acc))
    } else {
        add(acc, mul(a, b, p), p)
    }
}

/// Contracts rows i and `column` of L over the columns `first..last`, whose rows of the work area are `rows`.
///
/// `state` carries the open leaf (level 0) and the joined full leaves (level 1 + t: the sum of 2^t leaves, present where
/// bit t of their number is set), so that the work area may come in pieces.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn accumulate(
    rows: &Array<f32>,
    state: &mut Array<f32>,
    first: u32,
    last: u32,
    column: u32,
    n: u32,
    stride: u32,
    nz: f32,
    one: f32,
    #[comptime] levels: u32,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let i = column + ABSOLUTE_POS as u32;
    if i < n {
        let mut acc = 0.0f32;
        if first > 0u32 {
            acc = state[i as usize];
        }
        let mut k = first;
        while k < last {
            let mut end = (k / LEAF as u32 + 1u32) * LEAF as u32;
            if end > last {
                end = last;
            }
            for t in 0..end - k {
                let mut row = k + t - first;
                if comptime!(arm == Arm::DescendingLeaf) {
                    row = end - 1u32 - t - first;
                }
                let base = row * stride;
                acc = accumulated(acc, rows[(base + i) as usize], rows[(base + column) as usize], p, arm);
            }
            k = end;
            if k % LEAF as u32 == 0u32 {
                let leaf = k / LEAF as u32 - 1u32;
                let mut open = true;
                #[unroll]
                for level in 0..levels {
                    let at = ((level + 1u32) * stride + i) as usize;
                    if open {
                        if (leaf >> level) & 1u32 == 1u32 {
                            acc = add(state[at], acc, p);
                        } else {
                            state[at] = acc;
                            open = false;
                        }
                    }
                }
                acc = 0.0f32;
            }
        }
        state[i as usize] = acc;
    }
}

/// The whole contraction of row `i` over the columns below `column`. An open leaf without terms is +0, which changes no
/// sum.
#[cube]
fn total(state: &Array<f32>, i: u32, column: u32, stride: u32, p: Pins, #[comptime] levels: u32) -> f32 {
    let mut sum = state[i as usize];
    #[unroll]
    for level in 0..levels {
        if (column / LEAF as u32 >> level) & 1u32 == 1u32 {
            sum = add(state[((level + 1u32) * stride + i) as usize], sum, p);
        }
    }
    sum
}

/// Column `column` of L, one unit a row. The first pivot that is none goes to `flag`: (index, bits).
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn finish(
    state: &Array<f32>,
    a: &Array<f32>,
    out: &mut Array<f32>,
    flag: &mut Array<u32>,
    column: u32,
    n: u32,
    stride: u32,
    nz: f32,
    one: f32,
    #[comptime] levels: u32,
) {
    let p = Pins { nz, one };
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let mut value = 0.0f32;
        if i >= column {
            let pivot = sub(a[column as usize], total(state, column, column, stride, p, levels), p);
            let root = sqrt(pivot);
            value = root;
            if i == column {
                if sub_wrap(bits(pivot), 1u32) >= 0x7f7f_ffffu32 {
                    if flag[0usize] == 0xffff_ffffu32 {
                        flag[0usize] = column;
                        flag[1usize] = bits(pivot);
                    }
                }
            } else {
                value = div(sub(a[i as usize], total(state, i, column, stride, p, levels), p), root);
            }
        }
        out[i as usize] = value;
    }
}

/// The contraction of `terms` elements of `a` from `a_base` and of `x` from `x_base`.
#[cube]
#[expect(clippy::too_many_arguments, reason = "two ranges and the contract")]
fn contract(
    a: &Array<f32>,
    a_base: u32,
    x: &Array<f32>,
    x_base: u32,
    terms: u32,
    p: Pins,
    #[comptime] levels: u32,
    #[comptime] arm: Arm,
) -> f32 {
    let mut joined = Array::<f32>::new(comptime!(if levels == 0 { 1 } else { levels as usize }));
    let mut acc = 0.0f32;
    let mut k = 0u32;
    while k < terms {
        let mut end = k + LEAF as u32;
        if end > terms {
            end = terms;
        }
        for t in 0..end - k {
            let mut at = k + t;
            if comptime!(arm == Arm::DescendingLeaf) {
                at = end - 1u32 - t;
            }
            acc = accumulated(acc, a[(a_base + at) as usize], x[(x_base + at) as usize], p, arm);
        }
        k = end;
        if k % LEAF as u32 == 0u32 {
            let leaf = k / LEAF as u32 - 1u32;
            let mut open = true;
            #[unroll]
            for level in 0..levels {
                if open {
                    if (leaf >> level) & 1u32 == 1u32 {
                        acc = add(joined[level as usize], acc, p);
                    } else {
                        joined[level as usize] = acc;
                        open = false;
                    }
                }
            }
            acc = 0.0f32;
        }
    }
    #[unroll]
    for level in 0..levels {
        if (terms / LEAF as u32 >> level) & 1u32 == 1u32 {
            acc = add(joined[level as usize], acc, p);
        }
    }
    acc
}

/// Some rows of a substitution, one unit a right-hand side: forward through rows of L, or back through rows of L'.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn substitute(
    rows: &Array<f32>,
    x: &mut Array<f32>,
    first: u32,
    count: u32,
    n: u32,
    stride: u32,
    columns: u32,
    nz: f32,
    one: f32,
    #[comptime] levels: u32,
    #[comptime] forward: bool,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let c = ABSOLUTE_POS as u32;
    if c < columns {
        let base = c * n;
        for t in 0..count {
            let mut row = t;
            if comptime!(!forward) {
                row = count - 1u32 - t;
            }
            let i = first + row;
            let diagonal = row * stride + i;
            let mut a_base = row * stride;
            let mut x_base = base;
            let mut terms = i;
            if comptime!(!forward) {
                a_base = add_wrap(diagonal, 1u32);
                x_base = base + i + 1u32;
                terms = n - 1u32 - i;
            }
            let s = contract(rows, a_base, x, x_base, terms, p, levels, arm);
            let at = (base + i) as usize;
            x[at] = div(sub(x[at], s, p), rows[diagonal as usize]);
        }
    }
}
