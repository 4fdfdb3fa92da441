//! The kernels of sums: groups of units add the lanes of a chunk side by side, and meet once in shared memory.

use cubecl::prelude::*;

use super::launch::{NARROW, PARTS, TILE};
use super::{CHUNK, LANES, Term};
use crate::device::gpu::CUBE;
use crate::num::{Pins, add, add_exact_range, mul, mul_exact_range, neg};
use crate::sabotage::Arm;

type V4 = Vector<f32, Const<4>>;

/// `a + b`, canonical unless the arm keeps subnormals.
#[cube]
// pathway: P6
pub(crate) fn plus(a: f32, b: f32, p: Pins, #[comptime] arm: Arm) -> f32 {
    if comptime!(arm == Arm::KeepSubnormals) { add_exact_range(a, b, p) } else { add(a, b, p) }
}

/// `sum` and what element `x` adds to it.
///
/// Of squares little has to be flushed (clause `flush`): the square of a difference up to 2^-126 is zero once canonical,
/// whatever became of the difference, and sums of values that are 0 or above 2^-126 are such values again.
#[cube]
fn take(sum: f32, x: f32, centre: f32, p: Pins, #[comptime] term: Term, #[comptime] arm: Arm) -> f32 {
    if comptime!(term == Term::Element) {
        plus(sum, x, p, arm)
    } else if comptime!(arm == Arm::KeepSubnormals) {
        let d = add_exact_range(x, neg(centre), p);
        add_exact_range(sum, mul_exact_range(d, d, p), p)
    } else {
        let d = add_exact_range(x, neg(centre), p);
        add_exact_range(sum, mul(d, d, p), p)
    }
}

/// The centre of row or column `i`, where there are centres.
#[cube]
fn centre_of(centres: &Array<f32>, i: u32, #[comptime] term: Term) -> f32 {
    let mut centre = 0.0f32;
    if comptime!(term == Term::SquaredDeviation) {
        centre = centres[i as usize];
    }
    centre
}

/// The tree over `n` neighbouring values, `n` a power of two, or one after the other where the arm says so.
#[cube]
fn join(values: &mut Array<f32>, #[comptime] n: u32, p: Pins, #[comptime] arm: Arm) -> f32 {
    if comptime!(arm == Arm::SerialLanes) {
        #[unroll]
        for i in 1..n {
            values[0] = plus(values[0], values[i as usize], p, arm);
        }
    } else {
        #[unroll]
        for level in 0..comptime!(n.trailing_zeros()) {
            #[unroll]
            for i in 0..comptime!((n / 2) >> level) {
                values[i as usize] =
                    plus(values[comptime!(2 * i) as usize], values[comptime!(2 * i + 1) as usize], p, arm);
            }
        }
    }
    values[0]
}

/// One unit a row of at most [`NARROW`] elements: each is a lane of its own, and lanes without elements are +0.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn narrow_rows(
    x: &Array<f32>,
    centres: &Array<f32>,
    out: &mut Array<f32>,
    items: u32,
    cols: u32,
    nz: f32,
    one: f32,
    #[comptime] term: Term,
    #[comptime] arm: Arm,
) {
    let item = ABSOLUTE_POS as u32;
    if item < items {
        let p = Pins { nz, one };
        let centre = centre_of(centres, item, term);
        let mut lanes = Array::<f32>::new(NARROW);
        #[unroll]
        for lane in 0..comptime!(NARROW as u32) {
            let mut sum = 0.0f32;
            if lane < cols {
                sum = take(sum, x[(item * cols + lane) as usize], centre, p, term, arm);
            }
            lanes[lane as usize] = sum;
        }
        out[item as usize] = join(&mut lanes, comptime!(NARROW as u32), p, arm);
    }
}

/// A workgroup adds up TILE chunks, one unit a lane; eight chunks go side by side.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn row_chunks(
    x: &Array<f32>,
    centres: &Array<f32>,
    out: &mut Array<f32>,
    items: u32,
    per_row: u32,
    cols: u32,
    first_chunk: u32,
    last_len: u32,
    nz: f32,
    one: f32,
    #[comptime] term: Term,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let lane = unit % 32;
    let tile = CUBE_POS as u32 * TILE;
    let mut lanes = SharedMemory::<f32>::new(comptime!((TILE * 33) as usize));
    #[unroll]
    for round in 0..comptime!(TILE / 8) {
        let slot = round * 8 + unit / 32;
        let item = tile + slot;
        let mut sum = 0.0f32;
        if item < items {
            let place = first_chunk + item;
            let row = place / per_row;
            let chunk = place - row * per_row;
            let centre = centre_of(centres, row, term);
            let at = row * cols + (chunk - first_chunk) * comptime!(CHUNK as u32) + lane;
            let mut len = comptime!(CHUNK as u32).runtime();
            if chunk + 1 == per_row {
                len = last_len;
            }
            sum = lane_sum(x, at, len, lane, centre, p, term, arm);
        }
        lanes[(slot * 33 + lane) as usize] = sum;
    }
    join_tile(out, &lanes, tile, items, p, arm);
}

/// Lane `lane` of a chunk of `len` elements, the first of its own at `at`.
#[cube]
#[expect(clippy::too_many_arguments, reason = "a chunk, a lane of it, and what is summed")]
pub(in super::super) fn lane_sum(
    x: &Array<f32>,
    at: u32,
    len: u32,
    lane: u32,
    centre: f32,
    p: Pins,
    #[comptime] term: Term,
    #[comptime] arm: Arm,
) -> f32 {
    let mut sum = 0.0f32;
    let steps = (len + 31 - lane) / 32;
    let blocks = steps / 8;
    for block in 0..blocks {
        let mut values = Array::<f32>::new(8usize);
        #[unroll]
        for i in 0..8u32 {
            values[i as usize] = x[(at + (block * 8 + i) * 32) as usize];
        }
        #[unroll]
        for i in 0..8u32 {
            sum = take(sum, values[i as usize], centre, p, term, arm);
        }
    }
    for step in blocks * 8..steps {
        sum = take(sum, x[(at + step * 32) as usize], centre, p, term, arm);
    }
    sum
}

/// Joins the lanes of TILE chunks, those of a chunk 33 words after those of the one before: one more than the lanes, so
/// that units that read along different chunks meet different banks.
#[cube]
pub(in super::super) fn join_tile(
    out: &mut Array<f32>,
    lanes: &SharedMemory<f32>,
    tile: u32,
    items: u32,
    p: Pins,
    #[comptime] arm: Arm,
) {
    let unit = UNIT_POS;
    sync_cube();
    if comptime!(arm == Arm::SerialLanes) {
        if unit < TILE && tile + unit < items {
            let mut all = Array::<f32>::new(LANES);
            #[unroll]
            for i in 0..comptime!(LANES as u32) {
                all[i as usize] = lanes[(unit * 33 + i) as usize];
            }
            out[(tile + unit) as usize] = join(&mut all, comptime!(LANES as u32), p, arm);
        }
    } else {
        let mut own = Array::<f32>::new(4usize);
        #[unroll]
        for i in 0..4u32 {
            own[i as usize] = lanes[(unit / PARTS * 33 + unit % PARTS * 4 + i) as usize];
        }
        let part = join(&mut own, 4u32, p, arm);
        join_parts(out, part, unit / PARTS, unit % PARTS, tile, items, p, arm);
    }
}

/// A workgroup adds up TILE chunks, eight units a chunk, each with four neighbouring lanes.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn vector_chunks(
    x: &Array<V4>,
    centres: &Array<f32>,
    out: &mut Array<f32>,
    items: u32,
    per_row: u32,
    cols: u32,
    first_chunk: u32,
    last_len: u32,
    nz: f32,
    one: f32,
    #[comptime] term: Term,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let slot = unit / PARTS;
    let part = unit % PARTS;
    let tile = CUBE_POS as u32 * TILE;
    let item = tile + slot;
    let mut lanes = Array::<f32>::new(4usize);
    #[unroll]
    for i in 0..4usize {
        lanes[i] = 0.0f32;
    }
    if item < items {
        let place = first_chunk + item;
        let row = place / per_row;
        let chunk = place - row * per_row;
        let centre = centre_of(centres, row, term);
        // In vectors from here on: rows and chunks are whole vectors.
        let at = (row * cols + (chunk - first_chunk) * comptime!(CHUNK as u32)) / 4 + part;
        let mut len = comptime!(CHUNK as u32 / 4).runtime();
        if chunk + 1 == per_row {
            len = last_len / 4;
        }
        let steps = (len + 7 - part) / 8;
        let blocks = steps / 8;
        for block in 0..blocks {
            let mut values = Array::<V4>::new(8usize);
            #[unroll]
            for i in 0..8u32 {
                values[i as usize] = x[(at + (block * 8 + i) * 8) as usize];
            }
            #[unroll]
            for i in 0..8u32 {
                let value = values[i as usize];
                #[unroll]
                for lane in 0..4usize {
                    lanes[lane] = take(lanes[lane], value[lane], centre, p, term, arm);
                }
            }
        }
        for step in blocks * 8..steps {
            let value = x[(at + step * 8) as usize];
            #[unroll]
            for lane in 0..4usize {
                lanes[lane] = take(lanes[lane], value[lane], centre, p, term, arm);
            }
        }
    }
    let sum = join(&mut lanes, 4u32, p, arm);
    join_parts(out, sum, slot, part, tile, items, p, arm);
}

/// Each unit brings the sum of four neighbouring lanes, part `part` of item `slot` of the tile; the first TILE units join
/// the parts of an item each.
#[cube]
#[expect(clippy::too_many_arguments, reason = "the state of the kernels that end in it")]
fn join_parts(
    out: &mut Array<f32>,
    sum: f32,
    slot: u32,
    part: u32,
    tile: u32,
    items: u32,
    p: Pins,
    #[comptime] arm: Arm,
) {
    let mut parts = SharedMemory::<f32>::new(CUBE as usize);
    parts[(part * TILE + slot) as usize] = sum;
    sync_cube();
    let unit = UNIT_POS;
    if unit < TILE && tile + unit < items {
        let mut own = Array::<f32>::new(PARTS as usize);
        #[unroll]
        for i in 0..PARTS {
            own[i as usize] = parts[(i * TILE + unit) as usize];
        }
        out[(tile + unit) as usize] = join(&mut own, PARTS, p, arm);
    }
}

/// A workgroup adds up TILE columns, counted over all chunks; eight units a column, each with four neighbouring lanes.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn col_chunks(
    x: &Array<f32>,
    centres: &Array<f32>,
    out: &mut Array<f32>,
    items: u32,
    cols: u32,
    rows: u32,
    nz: f32,
    one: f32,
    #[comptime] term: Term,
    #[comptime] arm: Arm,
) {
    let p = Pins { nz, one };
    let unit = UNIT_POS;
    let slot = unit % TILE;
    let part = unit / TILE;
    let tile = CUBE_POS as u32 * TILE;
    let item = tile + slot;
    let mut lanes = Array::<f32>::new(4usize);
    #[unroll]
    for i in 0..4usize {
        lanes[i] = 0.0f32;
    }
    if item < items {
        let chunk = item / cols;
        let column = item - chunk * cols;
        let centre = centre_of(centres, column, term);
        let first = chunk * comptime!(CHUNK as u32) + part * 4;
        let end = min(rows, (chunk + 1) * comptime!(CHUNK as u32));
        let mut steps = 0u32;
        if end >= first + 4 {
            steps = (end - first - 4) / 32 + 1;
        }
        let pairs = steps / 4;
        for pair in 0..pairs {
            let mut values = Array::<f32>::new(16usize);
            #[unroll]
            for i in 0..16u32 {
                let row = first + (pair * 4 + comptime!(i / 4)) * 32 + comptime!(i % 4);
                values[i as usize] = x[(row * cols + column) as usize];
            }
            #[unroll]
            for i in 0..16u32 {
                let lane = comptime!((i % 4) as usize);
                lanes[lane] = take(lanes[lane], values[i as usize], centre, p, term, arm);
            }
        }
        for step in pairs * 4..steps {
            #[unroll]
            for lane in 0..4u32 {
                let row = first + step * 32 + lane;
                let value = x[(row * cols + column) as usize];
                lanes[lane as usize] = take(lanes[lane as usize], value, centre, p, term, arm);
            }
        }
        // The step in which the rows end between the four lanes.
        #[unroll]
        for lane in 0..4u32 {
            let row = first + steps * 32 + lane;
            if row < end {
                let value = x[(row * cols + column) as usize];
                lanes[lane as usize] = take(lanes[lane as usize], value, centre, p, term, arm);
            }
        }
    }
    if comptime!(arm == Arm::SerialLanes) {
        let mut shared = SharedMemory::<f32>::new(comptime!(LANES * TILE as usize));
        #[unroll]
        for lane in 0..4u32 {
            shared[((part * 4 + lane) * TILE + slot) as usize] = lanes[lane as usize];
        }
        sync_cube();
        if unit < TILE && tile + unit < items {
            let mut all = Array::<f32>::new(LANES);
            #[unroll]
            for i in 0..comptime!(LANES as u32) {
                all[i as usize] = shared[(i * TILE + unit) as usize];
            }
            out[(tile + unit) as usize] = join(&mut all, comptime!(LANES as u32), p, arm);
        }
    } else {
        let sum = join(&mut lanes, 4u32, p, arm);
        join_parts(out, sum, slot, part, tile, items, p, arm);
    }
}

/// One unit a lane of a column of the strip: adds the rows of the view that are its own.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn carry_lanes(
    x: &Array<f32>,
    centres: &Array<f32>,
    lanes: &mut Array<f32>,
    rows: u32,
    first: u32,
    cols: u32,
    offset: u32,
    width: u32,
    nz: f32,
    one: f32,
    #[comptime] term: Term,
    #[comptime] arm: Arm,
) {
    let i = ABSOLUTE_POS as u32;
    if i < comptime!(LANES as u32) * width {
        let p = Pins { nz, one };
        let lane = i / width;
        let column = i - lane * width;
        let centre = centre_of(centres, column, term);
        let mut sum = 0.0f32;
        if first > 0 {
            sum = lanes[i as usize];
        }
        let mut row = (lane + 32 - first % 32) % 32;
        while row < rows {
            sum = take(sum, x[(row * cols + offset + column) as usize], centre, p, term, arm);
            row += 32;
        }
        lanes[i as usize] = sum;
    }
}

/// One unit a column of the strip: joins its lanes.
#[cube(launch_unchecked)]
pub(super) fn join_lanes(
    lanes: &Array<f32>,
    out: &mut Array<f32>,
    width: u32,
    nz: f32,
    one: f32,
    #[comptime] arm: Arm,
) {
    let column = ABSOLUTE_POS as u32;
    if column < width {
        let p = Pins { nz, one };
        let mut all = Array::<f32>::new(LANES);
        #[unroll]
        for i in 0..comptime!(LANES as u32) {
            all[i as usize] = lanes[(i * width + column) as usize];
        }
        out[column as usize] = join(&mut all, comptime!(LANES as u32), p, arm);
    }
}
