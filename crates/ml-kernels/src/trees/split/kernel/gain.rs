//! Candidates are weighed: [`Weigher::gain`](crate::trees::split::rule::Weigher::gain) over sums in device memory.

use cubecl::prelude::*;

use super::prefix::{is_weight, sum_at};
use super::{COLUMN, SORTED};
use crate::device::gpu::CUBE;
use crate::num::{Limbs, Pins, add, add64, from_bits, i64_to_f32, select_u32, sub64};
use crate::trees::split::rule::Form;
use crate::trees::split::weigh::*;

/// Where the sums of a candidate in a node are.
#[derive(Debug, Clone, Copy, CubeType)]
struct Places {
    left: u32,
    missing: u32,
    all: u32,
    /// 1 where missing values are on the left.
    side: u32,
}

/// The left sum of channel `c`.
#[cube]
fn left_at(sums: &Array<u32>, at: Places, c: u32) -> Limbs {
    let m = sum_at(sums, at.missing + c);
    let mask = select_u32(at.side == 1u32, 0xffff_ffffu32, 0u32);
    add64(sum_at(sums, at.left + c), Limbs { hi: m.hi & mask, lo: m.lo & mask })
}

/// What is asked of the sides, and the penalties of a Newton step.
#[derive(Debug, Clone, Copy, CubeType)]
struct Demands {
    weight: Limbs,
    count: Limbs,
    by: Penalty,
    sign: u32,
    classes: u32,
    channels: u32,
}

/// What a candidate gains in a node: [`Weigher::gain`].
#[cube]
fn node_gain(
    sums: &Array<u32>,
    at: Places,
    ask: Demands,
    p: Pins,
    #[comptime] form: Form,
    #[comptime] bounded: bool,
    #[comptime] counted: bool,
) -> f32 {
    let mut wl_lo = 0u32;
    let mut wl_hi = 0u32;
    let mut w_lo = 0u32;
    let mut w_hi = 0u32;
    for c in 0u32..ask.channels {
        if is_weight(c, ask.classes, form) {
            let l = add64(Limbs { hi: wl_hi, lo: wl_lo }, left_at(sums, at, c));
            wl_lo = l.lo;
            wl_hi = l.hi;
            let a = add64(Limbs { hi: w_hi, lo: w_lo }, sum_at(sums, at.all + c));
            w_lo = a.lo;
            w_hi = a.hi;
        }
    }
    let wl = Limbs { hi: wl_hi, lo: wl_lo };
    let w = Limbs { hi: w_hi, lo: w_lo };
    let wr = sub64(w, wl);
    let mut good = is_enough(wl, w, ask.weight);
    if comptime!(counted) {
        let last = ask.channels - 1u32;
        good = good && is_enough(left_at(sums, at, last), sum_at(sums, at.all + last), ask.count);
    }
    let mut gain = 0.0f32;
    if comptime!(form == Form::Newton) {
        gain = newton_gain(left_at(sums, at, 0u32), wl, sum_at(sums, at.all), w, ask.by.l2, p);
    }
    if comptime!(form == Form::Bounded) {
        gain = bounded_gain(left_at(sums, at, 0u32), wl, sum_at(sums, at.all), w, ask.by, ask.sign, p);
    }
    if comptime!(!matches!(form, Form::Newton | Form::Bounded)) {
        good = good && is_positive(i64_to_f32(wl)) && is_positive(i64_to_f32(wr));
        if comptime!(bounded) {
            let sl = left_at(sums, at, 1u32);
            let s = sum_at(sums, at.all + 1u32);
            good = good && is_monotone(sl, wl, s, w, ask.by.low, ask.by.high, ask.sign);
        }
    }
    if comptime!(form == Form::SquaredError) {
        let q = square(left_at(sums, at, 1u32), wl, sum_at(sums, at.all + 1u32), w, p);
        gain = squares_gain(q, wl, wr, p);
    }
    if comptime!(form == Form::Gini) {
        let mut q = 0.0f32;
        for c in 0u32..ask.classes {
            q = add(q, square(left_at(sums, at, c), wl, sum_at(sums, at.all + c), w, p), p);
        }
        gain = squares_gain(q, wl, wr, p);
    }
    if comptime!(form == Form::Entropy) {
        for c in 0u32..ask.classes {
            gain = add(gain, deviance(left_at(sums, at, c), wl, sum_at(sums, at.all + c), w, p), p);
        }
    }
    if comptime!(form == Form::Poisson) {
        let sl = left_at(sums, at, 1u32);
        let s = sum_at(sums, at.all + 1u32);
        good = good && is_positive(i64_to_f32(sl)) && is_positive(i64_to_f32(sub64(s, sl)));
        gain = deviance(sl, wl, s, w, p);
    }
    gain_if(good, gain)
}

/// Place `to` takes what is at `from` if that is better.
#[cube]
fn take_better(keys: &mut SharedMemory<u32>, indices: &mut SharedMemory<u32>, to: u32, from: u32) {
    let k = keys[from as usize];
    let index = indices[from as usize];
    let mine = keys[to as usize];
    if k > mine || (k == mine && index < indices[to as usize]) {
        keys[to as usize] = k;
        indices[to as usize] = index;
    }
}

/// A workgroup finds the best candidate of a column in a group: the key of its gain (0 for none) and twice its number,
/// one more for missing values on the left.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
// pathway: P118
pub(super) fn weigh_candidates(
    sums: &Array<u32>,
    columns: &Array<u32>,
    orders: &Array<u32>,
    best: &mut Array<u32>,
    groups: u32,
    cols: u32,
    channels: u32,
    classes: u32,
    members: u32,
    candidates: u32,
    weight_hi: u32,
    weight_lo: u32,
    count_hi: u32,
    count_lo: u32,
    l1: f32,
    l2: f32,
    nz: f32,
    one: f32,
    #[comptime] form: Form,
    #[comptime] bounded: bool,
    #[comptime] counted: bool,
    #[comptime] ties_last: bool,
) {
    let p = Pins { nz, one };
    let mut keys = SharedMemory::<u32>::new(comptime!(CUBE as usize));
    let mut indices = SharedMemory::<u32>::new(comptime!(CUBE as usize));
    let unit = UNIT_POS;
    let cube = CUBE_POS as u32;
    let live = cube < groups * cols;
    let pair = select_u32(live, cube, 0u32);
    let group = pair / cols;
    let col = pair % cols;
    let about = col * comptime!(COLUMN as u32);
    let kind = columns[(about + 2u32) as usize];
    let count = columns[(about + 3u32) as usize];
    let first = columns[(about + 4u32) as usize];
    let open = columns[(cols * comptime!(COLUMN as u32) + pair) as usize];
    let bounds = cols * comptime!(COLUMN as u32) + groups * cols;
    let slots = candidates + cols + 1u32;
    // Ties go to the lowest index, or, by the sabotage arm, to the highest.
    let flip = comptime!(if ties_last { u32::MAX } else { 0 });
    let mut own_key = 0u32;
    let mut own_index = 0xffff_ffffu32;
    for e in 0u32..(2u32 * count + comptime!(CUBE - 1)) / comptime!(CUBE) {
        let index = e * comptime!(CUBE) + unit;
        let i = index / 2u32;
        let mut there = index < 2u32 * count && (open == 0xffff_ffffu32 || open == i + 1u32);
        if there && kind == SORTED {
            there = orders[(group * candidates + first + i) as usize] != 0u32;
        }
        if there {
            let mut sum = 0.0f32;
            let mut taken = 0u32;
            for member in 0u32..members {
                let node = group * members + member;
                let at = Places {
                    left: (node * slots + first + i) * channels,
                    missing: (node * slots + candidates + col) * channels,
                    all: (node * slots + candidates + cols) * channels,
                    side: index % 2u32,
                };
                let low = from_bits(columns[(bounds + 2u32 * node) as usize]);
                let high = from_bits(columns[(bounds + 2u32 * node + 1u32) as usize]);
                let ask = Demands {
                    weight: Limbs { hi: weight_hi, lo: weight_lo },
                    count: Limbs { hi: count_hi, lo: count_lo },
                    by: Penalty { l1, l2, low, high },
                    sign: columns[(about + 5u32) as usize],
                    classes,
                    channels,
                };
                let gain = node_gain(sums, at, ask, p, form, bounded, counted);
                let gains = add_gain(Gains { sum, nodes: taken }, gain, p);
                sum = gains.sum;
                taken = gains.nodes;
            }
            let k = gains_key(Gains { sum, nodes: taken });
            let flipped = index ^ flip;
            if k > own_key || (k == own_key && flipped < own_index) {
                own_key = k;
                own_index = flipped;
            }
        }
    }
    keys[unit as usize] = own_key;
    indices[unit as usize] = own_index;
    sync_cube();
    // 16 units look at 16 others each, then one unit at what they found.
    let stride = comptime!(CUBE / 16);
    if unit < stride {
        for k in 1u32..comptime!(16u32) {
            take_better(&mut keys, &mut indices, unit, unit + k * stride);
        }
    }
    sync_cube();
    if unit == 0u32 {
        for k in 1u32..comptime!(CUBE / 16) {
            take_better(&mut keys, &mut indices, 0u32, k);
        }
    }
    if unit == 0u32 && live {
        best[(2u32 * pair) as usize] = keys[0];
        best[(2u32 * pair + 1u32) as usize] = indices[0] ^ flip;
    }
}
