//! The host: SIMD over lanes, and over the trees of many chunks at once; threads over chunks.

use std::ops::Range;

use multiversion::multiversion;
use rayon::prelude::*;

use super::{CHUNK, LANES};
use crate::map::host::{self as map, Block, Call, Plan, Registers};
use crate::num::canon;
use crate::sabotage::Arm;

/// Elements that one task adds up: below a second cache level, well above the cost of a task.
const TASK: usize = 1 << 16;

/// Lanes that are kept side by side, of as many chunks as that makes.
const BLOCK: usize = 2048;

/// Columns of a tile whose lanes are kept together: 32 lanes of it stay in a second cache level.
const TILE: usize = 1024;

/// Columns up to which the lanes of all stay in the first cache level.
const FEW: usize = 64;

pub(super) fn row_sums(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    up_rows(row_level(x, rows, cols, arm), rows, cols, arm)
}

/// For each row, the sum of the squares of its elements' distances from the row's centre.
pub(super) fn row_deviations(x: &[f32], centres: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let chunks = cols.div_ceil(CHUNK);
    let mut out = vec![0.0f32; rows * chunks];
    let per_task = (TASK / cols.min(CHUNK)).max(1);
    let task = |(t, part): (usize, &mut [f32])| rows_task_squared(x, centres, cols, t * per_task, part);
    out.par_chunks_mut(per_task).enumerate().for_each(task);
    up_rows(out, rows, cols, Arm::None)
}

/// The sums of the chunk sums of each row, of which there were `cols` elements.
fn up_rows(mut sums: Vec<f32>, rows: usize, mut cols: usize, arm: Arm) -> Vec<f32> {
    while cols > CHUNK {
        cols = cols.div_ceil(CHUNK);
        sums = row_level(&sums, rows, cols, arm);
    }
    sums
}

pub(super) fn col_sums(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    let task = |part: &[f32], left, right| match arm {
        Arm::KeepSubnormals => cols_task_kept(part, cols, left, right),
        Arm::SerialLanes => cols_task_serial(part, cols, left, right),
        _ => cols_task(part, cols, left, right),
    };
    let sums = col_level(x, rows, cols, task);
    if rows > CHUNK { col_sums(&sums, rows.div_ceil(CHUNK), cols, arm) } else { sums }
}

/// For each column, the sum of the squares of its elements' distances from the column's centre.
pub(super) fn col_deviations(x: &[f32], centres: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let sums = col_level(x, rows, cols, |part, left, right| cols_task_squared(part, centres, cols, left, right));
    if rows > CHUNK { col_sums(&sums, rows.div_ceil(CHUNK), cols, Arm::None) } else { sums }
}

/// The chunk sums of each row: (rows, cols) to (rows, ceil(cols / CHUNK)).
fn row_level(x: &[f32], rows: usize, cols: usize, arm: Arm) -> Vec<f32> {
    let chunks = cols.div_ceil(CHUNK);
    let mut out = vec![0.0f32; rows * chunks];
    let per_task = (TASK / cols.min(CHUNK)).max(1);
    let task = |(t, part): (usize, &mut [f32])| match arm {
        Arm::KeepSubnormals => rows_task_kept(x, cols, t * per_task, part),
        Arm::SerialLanes => rows_task_serial(x, cols, t * per_task, part),
        _ => rows_task(x, cols, t * per_task, part),
    };
    if out.len() <= per_task {
        task((0, &mut out));
    } else {
        out.par_chunks_mut(per_task).enumerate().for_each(task);
    }
    out
}

#[multiversion(targets = "simd")]
fn rows_task(x: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    rows_loop::<true, false, false>(x, &[], cols, first, out);
}

#[multiversion(targets = "simd")]
fn rows_task_kept(x: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    rows_loop::<false, false, false>(x, &[], cols, first, out);
}

#[multiversion(targets = "simd")]
fn rows_task_serial(x: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    rows_loop::<true, true, false>(x, &[], cols, first, out);
}

/// Sums of squares are 0 or above 2^-126 as the squares are, so canon of the squares is enough (clause `flush`).
#[multiversion(targets = "simd")]
fn rows_task_squared(x: &[f32], centres: &[f32], cols: usize, first: usize, out: &mut [f32]) {
    rows_loop::<false, false, true>(x, centres, cols, first, out);
}

/// Sums of the chunks `first..` of all rows' chunks counted together: first the lanes of many chunks side by side, then
/// the tree over all of them at once, a level a loop.
#[inline(always)]
fn rows_loop<const FLUSH: bool, const SERIAL: bool, const SQUARED: bool>(
    x: &[f32],
    centres: &[f32],
    cols: usize,
    first: usize,
    out: &mut [f32],
) {
    // Chunks of few elements have few lanes: the others are +0, which changes no sum.
    let width = if SERIAL { LANES } else { cols.next_power_of_two().min(LANES) };
    let mut lanes = [0.0f32; BLOCK];
    for (block, sums) in out.chunks_mut(BLOCK / width).enumerate() {
        let lanes = &mut lanes[..sums.len() * width];
        let first = first + block * (BLOCK / width);
        match width {
            1 => fill_short::<1, FLUSH, SQUARED>(x, centres, cols, first, lanes),
            2 => fill_short::<2, FLUSH, SQUARED>(x, centres, cols, first, lanes),
            4 => fill_short::<4, FLUSH, SQUARED>(x, centres, cols, first, lanes),
            8 => fill_short::<8, FLUSH, SQUARED>(x, centres, cols, first, lanes),
            16 => fill_short::<16, FLUSH, SQUARED>(x, centres, cols, first, lanes),
            _ if cols <= LANES => fill_short::<LANES, FLUSH, SQUARED>(x, centres, cols, first, lanes),
            _ => fill_long::<FLUSH, SQUARED>(x, centres, cols, first, lanes),
        }
        join_each::<FLUSH, SERIAL>(lanes, width, sums);
    }
}

/// Joins the lanes of each chunk, `width` of them.
#[inline(always)]
fn join_each<const FLUSH: bool, const SERIAL: bool>(lanes: &mut [f32], width: usize, sums: &mut [f32]) {
    if SERIAL {
        for (sum, lanes) in sums.iter_mut().zip(lanes.chunks(width)) {
            *sum = lanes[1..].iter().fold(lanes[0], |sum, &lane| plus::<FLUSH>(sum, lane));
        }
    } else {
        join::<FLUSH>(lanes, sums);
    }
}

/// `a + b`, canonical unless the arm keeps subnormals.
#[inline(always)]
fn plus<const FLUSH: bool>(a: f32, b: f32) -> f32 {
    let s = a + b;
    if FLUSH { canon(s) } else { s }
}

/// What an element adds: itself, or the square of its distance from the centre.
#[inline(always)]
fn term<const SQUARED: bool>(value: f32, centre: f32) -> f32 {
    if SQUARED {
        let distance = value - centre;
        canon(distance * distance)
    } else {
        value
    }
}

/// The centre of a row; without squares there are none.
#[inline(always)]
fn centre<const SQUARED: bool>(centres: &[f32], row: usize) -> f32 {
    if SQUARED { centres[row] } else { 0.0 }
}

/// The lanes of the rows `first..`, each of at most W elements.
#[inline(always)]
// pathway: P44
fn fill_short<const W: usize, const FLUSH: bool, const SQUARED: bool>(
    x: &[f32],
    centres: &[f32],
    cols: usize,
    first: usize,
    lanes: &mut [f32],
) {
    let x = &x[first * cols..];
    if cols == W && !SQUARED {
        for (lane, &value) in lanes.iter_mut().zip(x) {
            *lane = plus::<FLUSH>(0.0, value);
        }
        return;
    }
    for (r, lanes) in lanes.as_chunks_mut::<W>().0.iter_mut().enumerate() {
        let (row, centre) = (&x[r * cols..], centre::<SQUARED>(centres, first + r));
        if let Some(values) = row.first_chunk::<W>() {
            // Whole vectors, of which the elements of the next row are struck out.
            for lane in 0..W {
                let value = term::<SQUARED>(values[lane], centre);
                lanes[lane] = if lane < cols { plus::<FLUSH>(0.0, value) } else { 0.0 };
            }
        } else {
            *lanes = [0.0; W];
            for (lane, &value) in lanes.iter_mut().zip(&row[..cols]) {
                *lane = plus::<FLUSH>(0.0, term::<SQUARED>(value, centre));
            }
        }
    }
}

/// The lanes of the chunks `first..` of all rows' chunks counted together.
#[inline(always)]
fn fill_long<const FLUSH: bool, const SQUARED: bool>(
    x: &[f32],
    centres: &[f32],
    cols: usize,
    first: usize,
    lanes: &mut [f32],
) {
    let chunks = cols.div_ceil(CHUNK);
    for (i, out) in lanes.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let (row, chunk) = ((first + i) / chunks, (first + i) % chunks);
        let part = &x[row * cols + chunk * CHUNK..row * cols + ((chunk + 1) * CHUNK).min(cols)];
        fill_chunk::<FLUSH, SQUARED>(part, centre::<SQUARED>(centres, row), out);
    }
}

/// The lanes of one chunk.
#[inline(always)]
fn fill_chunk<const FLUSH: bool, const SQUARED: bool>(chunk: &[f32], centre: f32, out: &mut [f32; LANES]) {
    let (steps, rest) = chunk.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for step in steps {
        for lane in 0..LANES {
            sums[lane] = plus::<FLUSH>(sums[lane], term::<SQUARED>(step[lane], centre));
        }
    }
    *out = sums;
    for (lane, &value) in out.iter_mut().zip(rest) {
        *lane = plus::<FLUSH>(*lane, term::<SQUARED>(value, centre));
    }
}

/// The sum of each of `chunks`, wherever they lie, of at most CHUNK elements.
pub(in super::super) fn chunk_sums(chunks: &[&[f32]], sums: &mut [f32], arm: Arm) {
    match arm {
        Arm::KeepSubnormals => chunks_task_kept(chunks, sums),
        Arm::SerialLanes => chunks_task_serial(chunks, sums),
        _ => chunks_task(chunks, sums),
    }
}

#[multiversion(targets = "simd")]
fn chunks_task(chunks: &[&[f32]], sums: &mut [f32]) {
    chunks_loop::<true, false>(chunks, sums);
}

#[multiversion(targets = "simd")]
fn chunks_task_kept(chunks: &[&[f32]], sums: &mut [f32]) {
    chunks_loop::<false, false>(chunks, sums);
}

#[multiversion(targets = "simd")]
fn chunks_task_serial(chunks: &[&[f32]], sums: &mut [f32]) {
    chunks_loop::<true, true>(chunks, sums);
}

#[inline(always)]
fn chunks_loop<const FLUSH: bool, const SERIAL: bool>(chunks: &[&[f32]], sums: &mut [f32]) {
    let mut lanes = [0.0f32; BLOCK];
    for (chunks, sums) in chunks.chunks(BLOCK / LANES).zip(sums.chunks_mut(BLOCK / LANES)) {
        let lanes = &mut lanes[..sums.len() * LANES];
        for (chunk, lanes) in chunks.iter().zip(lanes.as_chunks_mut::<LANES>().0) {
            fill_chunk::<FLUSH, false>(chunk, 0.0, lanes);
        }
        join_each::<FLUSH, SERIAL>(lanes, LANES, sums);
    }
}

/// The trees over the lanes of as many chunks as there are sums, all with the same power of two of lanes.
#[inline(always)]
fn join<const FLUSH: bool>(lanes: &mut [f32], sums: &mut [f32]) {
    let mut half = [0.0f32; BLOCK / 2];
    let mut left = lanes.len();
    while left > sums.len() {
        left /= 2;
        for (sum, pair) in half[..left].iter_mut().zip(lanes.as_chunks::<2>().0) {
            *sum = plus::<FLUSH>(pair[0], pair[1]);
        }
        lanes[..left].copy_from_slice(&half[..left]);
    }
    sums.copy_from_slice(&lanes[..left]);
}

/// The chunk sums of each column: (rows, cols) to (ceil(rows / CHUNK), cols). `task` gives those of some rows in a range of
/// columns.
fn col_level(x: &[f32], rows: usize, cols: usize, task: impl Fn(&[f32], usize, usize) -> Vec<f32> + Sync) -> Vec<f32> {
    let chunks = rows.div_ceil(CHUNK);
    let tiles = cols.div_ceil(TILE);
    let sums: Vec<Vec<f32>> = (0..chunks * tiles)
        .into_par_iter()
        .map(|t| {
            let (chunk, tile) = (t / tiles, t % tiles);
            let (first, end) = (chunk * CHUNK, ((chunk + 1) * CHUNK).min(rows));
            let (left, right) = (tile * TILE, ((tile + 1) * TILE).min(cols));
            task(&x[first * cols..end * cols], left, right)
        })
        .collect();
    sums.concat()
}

#[multiversion(targets = "simd")]
fn cols_task(x: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    cols_loop::<true, false, false>(x, &[], cols, left, right)
}

#[multiversion(targets = "simd")]
fn cols_task_kept(x: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    cols_loop::<false, false, false>(x, &[], cols, left, right)
}

#[multiversion(targets = "simd")]
fn cols_task_serial(x: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    cols_loop::<true, true, false>(x, &[], cols, left, right)
}

/// As [`rows_task_squared`].
#[multiversion(targets = "simd")]
fn cols_task_squared(x: &[f32], centres: &[f32], cols: usize, left: usize, right: usize) -> Vec<f32> {
    cols_loop::<false, false, true>(x, centres, cols, left, right)
}

/// Sums down the columns `left..right` of one chunk of rows `x`.
#[inline(always)]
fn cols_loop<const FLUSH: bool, const SERIAL: bool, const SQUARED: bool>(
    x: &[f32],
    centres: &[f32],
    cols: usize,
    left: usize,
    right: usize,
) -> Vec<f32> {
    let width = right - left;
    let mut lanes = vec![0.0f32; LANES * width];
    // The lanes of a step are one contiguous run where all columns are taken. Each lane needs all centres, so many of them
    // are not repeated for that.
    let one_run = width == cols && (!SQUARED || cols <= FEW);
    let repeated = if one_run { centres.repeat(LANES) } else { Vec::new() };
    let centres = if one_run || !SQUARED { &repeated[..] } else { &centres[left..right] };
    // The lanes of few columns stay in the first cache level; of more columns, a lane takes four of its elements at a time,
    // so that it is loaded and stored once for them.
    let whole = if width == cols && cols <= FEW { 0 } else { x.len() / (4 * LANES * cols) * (4 * LANES * cols) };
    let (fours, rest) = x.split_at(whole);
    for rows in fours.chunks(4 * LANES * cols) {
        if one_run {
            add_four::<FLUSH, SQUARED>(&mut lanes, rows, LANES * cols, centres);
        } else {
            for (lane, sums) in lanes.chunks_mut(width).enumerate() {
                add_four::<FLUSH, SQUARED>(sums, &rows[lane * cols + left..], LANES * cols, centres);
            }
        }
    }
    for rows in rest.chunks(LANES * cols) {
        if one_run {
            add_one::<FLUSH, SQUARED>(&mut lanes, rows, centres);
        } else {
            for (lanes, row) in lanes.chunks_mut(width).zip(rows.chunks(cols)) {
                add_one::<FLUSH, SQUARED>(lanes, &row[left..right], centres);
            }
        }
    }
    if SERIAL {
        let (sums, rest) = lanes.split_at_mut(width);
        for lane in rest.chunks(width) {
            for (sum, &value) in sums.iter_mut().zip(lane) {
                *sum = plus::<FLUSH>(*sum, value);
            }
        }
    } else {
        join_cols::<FLUSH>(&mut lanes, width);
    }
    lanes.truncate(width);
    lanes
}

/// The trees over the lanes of `width` columns; the sums are left in the first lane.
#[inline(always)]
fn join_cols<const FLUSH: bool>(lanes: &mut [f32], width: usize) {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            for c in 0..width {
                lanes[i * width + c] = plus::<FLUSH>(lanes[2 * i * width + c], lanes[(2 * i + 1) * width + c]);
            }
        }
        half /= 2;
    }
}

/// Whole chunks that are computed before their trees are summed at once.
const GROUP: usize = 8;

/// Elements, more or less, that one task of [`mapped_row_sums`] computes and adds up.
const MAPPED_TASK: usize = 1 << 14;

/// The sums of the rows of each output of an element-wise program, the matrix having a row and a column at least.
pub(crate) fn mapped_row_sums(call: Call<'_>, outputs: Vec<u32>, rows: usize, cols: usize) -> Vec<Vec<f32>> {
    let per_row = cols.div_ceil(CHUNK);
    let block_rows = (map::BLOCK / cols).clamp(1, rows);
    let plan = Plan::with_blocks(call, outputs, [rows, cols], [block_rows, cols.min(map::BLOCK)]);
    // A block is a few whole rows, or one chunk of a row.
    let block = |b: usize| {
        let (row, col) = (b / per_row * block_rows, b % per_row * CHUNK);
        Block { row, rows: block_rows.min(rows - row), col, cols: CHUNK.min(cols - col) }
    };
    let blocks = rows.div_ceil(block_rows) * per_row;
    let per_task = (MAPPED_TASK / (block_rows * cols.min(CHUNK))).max(1);
    let parts: Vec<Vec<Vec<f32>>> = (0..blocks.div_ceil(per_task))
        .into_par_iter()
        .map_init(
            || (plan.registers(), vec![vec![0.0f32; GROUP * CHUNK]; plan.outputs()]),
            |(registers, values), task| {
                let mut sums = vec![Vec::new(); plan.outputs()];
                let (mut next, end) = (task * per_task, ((task + 1) * per_task).min(blocks));
                while next < end {
                    // Whole chunks lie behind each other like the rows of a matrix.
                    let Block { rows: tall, cols: wide, .. } = block(next);
                    let whole = |b: &usize| *b < end && tall == 1 && wide == CHUNK && block(*b).cols == CHUNK;
                    let count = (next..next + GROUP).take_while(whole).count().max(1);
                    for i in 0..count {
                        let mut out: Vec<&mut [f32]> = values.iter_mut().map(|v| &mut v[i * CHUNK..]).collect();
                        plan.evaluate(&block(next + i), registers, &mut out);
                    }
                    for (sums, values) in sums.iter_mut().zip(&*values) {
                        let first = sums.len();
                        sums.resize(first + count * tall, 0.0f32);
                        rows_task(&values[..count * tall * wide], wide, 0, &mut sums[first..]);
                    }
                    next += count;
                }
                sums
            },
        )
        .collect();
    let sums_of = |output: usize| {
        let sums: Vec<f32> = parts.iter().flat_map(|part| &part[output]).copied().collect();
        if per_row == 1 { sums } else { row_sums(&sums, rows, per_row, Arm::None) }
    };
    (0..plan.outputs()).map(sums_of).collect()
}

/// The sums of the columns of each output of an element-wise program.
pub(crate) fn mapped_col_sums(call: Call<'_>, outputs: Vec<u32>, rows: usize, cols: usize) -> Vec<Vec<f32>> {
    let (chunks, tiles) = (rows.div_ceil(CHUNK), cols.div_ceil(TILE));
    let narrow = LANES * cols <= map::BLOCK;
    let blocks = if narrow { [LANES, cols] } else { [1, cols.min(TILE)] };
    let plan = Plan::with_blocks(call, outputs, [rows, cols], blocks);
    let parts: Vec<Vec<Vec<f32>>> = (0..chunks * tiles)
        .into_par_iter()
        .map_init(
            || plan.registers(),
            |registers, t| {
                let (chunk, tile) = (t / tiles, t % tiles);
                let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(rows);
                let cols = tile * TILE..((tile + 1) * TILE).min(cols);
                if narrow {
                    narrow_chunk(&plan, registers, rows, cols.len())
                } else {
                    wide_chunk(&plan, registers, rows, cols)
                }
            },
        )
        .collect();
    let sums_of = |output: usize| {
        let sums: Vec<f32> = parts.iter().flat_map(|part| &part[output]).copied().collect();
        if rows > CHUNK { col_sums(&sums, chunks, cols, Arm::None) } else { sums }
    };
    (0..plan.outputs()).map(sums_of).collect()
}

/// The sums of one chunk of rows in few columns: a block is the rows of one step of all lanes.
fn narrow_chunk(plan: &Plan<'_>, registers: &mut Registers, rows: Range<usize>, cols: usize) -> Vec<Vec<f32>> {
    let mut lanes = vec![vec![0.0f32; LANES * cols]; plan.outputs()];
    let mut values = lanes.clone();
    for row in rows.clone().step_by(LANES) {
        let block = Block { row, rows: LANES.min(rows.end - row), col: 0, cols };
        let mut out: Vec<&mut [f32]> = values.iter_mut().map(Vec::as_mut_slice).collect();
        plan.evaluate(&block, registers, &mut out);
        for (lanes, values) in lanes.iter_mut().zip(&values) {
            add_one_flushed(&mut lanes[..block.rows * cols], values);
        }
    }
    join_all(lanes, cols)
}

/// Steps of a lane whose rows are computed before they are added.
const STEPS: usize = 4;

/// The sums of one chunk of rows in the columns `cols`: a block is a row.
fn wide_chunk(plan: &Plan<'_>, registers: &mut Registers, rows: Range<usize>, cols: Range<usize>) -> Vec<Vec<f32>> {
    let width = cols.len();
    let mut lanes = vec![vec![0.0f32; LANES * width]; plan.outputs()];
    let mut values = vec![vec![0.0f32; STEPS * width]; plan.outputs()];
    let mut row_into = |row: usize, step: usize, values: &mut [Vec<f32>]| {
        let block = Block { row, rows: 1, col: cols.start, cols: width };
        let mut out: Vec<&mut [f32]> = values.iter_mut().map(|v| &mut v[step * width..]).collect();
        plan.evaluate(&block, registers, &mut out);
    };
    let group = STEPS * LANES;
    let whole = rows.start + rows.len() / group * group;
    for first in (rows.start..whole).step_by(group) {
        for lane in 0..LANES {
            for step in 0..STEPS {
                row_into(first + step * LANES + lane, step, &mut values);
            }
            for (lanes, values) in lanes.iter_mut().zip(&values) {
                add_four_flushed(&mut lanes[lane * width..(lane + 1) * width], values, width);
            }
        }
    }
    for (i, row) in (whole..rows.end).enumerate() {
        row_into(row, 0, &mut values);
        let lane = i % LANES;
        for (lanes, values) in lanes.iter_mut().zip(&values) {
            add_one_flushed(&mut lanes[lane * width..(lane + 1) * width], values);
        }
    }
    join_all(lanes, width)
}

fn join_all(mut lanes: Vec<Vec<f32>>, width: usize) -> Vec<Vec<f32>> {
    for lanes in &mut lanes {
        join_cols_flushed(lanes, width);
        lanes.truncate(width);
    }
    lanes
}

#[multiversion(targets = "simd")]
fn add_one_flushed(sums: &mut [f32], values: &[f32]) {
    add_one::<true, false>(sums, values, &[]);
}

#[multiversion(targets = "simd")]
fn add_four_flushed(sums: &mut [f32], values: &[f32], stride: usize) {
    add_four::<true, false>(sums, values, stride, &[]);
}

#[multiversion(targets = "simd")]
fn join_cols_flushed(lanes: &mut [f32], width: usize) {
    join_cols::<true>(lanes, width);
}

/// Adds the run `x`, which may be shorter, to the sums.
#[inline(always)]
fn add_one<const FLUSH: bool, const SQUARED: bool>(sums: &mut [f32], x: &[f32], centres: &[f32]) {
    let n = sums.len().min(x.len());
    let (sums, x, centres) = (&mut sums[..n], &x[..n], if SQUARED { &centres[..n] } else { centres });
    for i in 0..n {
        sums[i] = plus::<FLUSH>(sums[i], term::<SQUARED>(x[i], centre::<SQUARED>(centres, i)));
    }
}

/// Adds four runs of `x`, `stride` apart, to the sums, one after the other.
#[inline(always)]
fn add_four<const FLUSH: bool, const SQUARED: bool>(sums: &mut [f32], x: &[f32], stride: usize, centres: &[f32]) {
    let (n, x) = (sums.len(), [0, 1, 2, 3].map(|step| &x[step * stride..]));
    let ([a, b, c, d], centres) = (x.map(|run| &run[..n]), if SQUARED { &centres[..n] } else { centres });
    for i in 0..n {
        let centre = centre::<SQUARED>(centres, i);
        let sum = plus::<FLUSH>(plus::<FLUSH>(sums[i], term::<SQUARED>(a[i], centre)), term::<SQUARED>(b[i], centre));
        sums[i] = plus::<FLUSH>(plus::<FLUSH>(sum, term::<SQUARED>(c[i], centre)), term::<SQUARED>(d[i], centre));
    }
}
