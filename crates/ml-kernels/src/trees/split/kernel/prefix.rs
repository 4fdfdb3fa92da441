//! Sums before candidates are weighed: of nodes, of bins in the order of their ratios, and of every left side.

use cubecl::prelude::*;

use super::{COLUMN, EMPTY, ONE_HOT, SORTED};
use crate::num::{Limbs, Pins, add64, i64_to_f32, key, select_u32};
use crate::trees::split::rule::Form;
use crate::trees::split::weigh::ratio_key;

/// The sum at place `at`.
#[cube]
pub(super) fn sum_at(sums: &Array<u32>, at: u32) -> Limbs {
    Limbs { hi: sums[(2u32 * at + 1u32) as usize], lo: sums[(2u32 * at) as usize] }
}

/// The sums of each node: of all bins of its first column.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn total_sums(
    lo: &Array<u32>,
    hi: &Array<u32>,
    sums: &mut Array<u32>,
    nodes: u32,
    channels: u32,
    bins: u32,
    cells: u32,
    slots: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < nodes * channels {
        let node = i / channels;
        let c = i % channels;
        let mut sum_lo = 0u32;
        let mut sum_hi = 0u32;
        for bin in 0u32..bins {
            let at = (node * cells + bin * channels + c) as usize;
            let sum = add64(Limbs { hi: sum_hi, lo: sum_lo }, Limbs { hi: hi[at], lo: lo[at] });
            sum_lo = sum.lo;
            sum_hi = sum.hi;
        }
        let to = ((node + 1u32) * slots - 1u32) * channels + c;
        sums[(2u32 * to) as usize] = sum_lo;
        sums[(2u32 * to + 1u32) as usize] = sum_hi;
    }
}

/// The order keys of the bins of a column in each group; all ones for an empty bin, for missing values and for unknown
/// categories.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn ratio_keys(
    lo: &Array<u32>,
    hi: &Array<u32>,
    sums: &Array<u32>,
    keys: &mut Array<u32>,
    n: u32,
    n_bins: u32,
    start: u32,
    bins: u32,
    channels: u32,
    classes: u32,
    members: u32,
    slots: u32,
    l2: f32,
    nz: f32,
    one: f32,
    #[comptime] form: Form,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let p = Pins { nz, one };
        let group = i / n_bins;
        let bin = i % n_bins;
        // The channel whose ratio counts.
        let mut channel = 0u32;
        if comptime!(matches!(form, Form::SquaredError | Form::Poisson)) {
            channel = 1u32;
        }
        if comptime!(matches!(form, Form::Gini | Form::Entropy)) {
            let mut greatest = 0u32;
            for c in 0u32..classes {
                let mut all_lo = 0u32;
                let mut all_hi = 0u32;
                for member in 0u32..members {
                    let node = group * members + member;
                    let own = sum_at(sums, ((node + 1u32) * slots - 1u32) * channels + c);
                    let sum = add64(Limbs { hi: all_hi, lo: all_lo }, own);
                    all_lo = sum.lo;
                    all_hi = sum.hi;
                }
                let k = key(i64_to_f32(Limbs { hi: all_hi, lo: all_lo }));
                if k > greatest {
                    greatest = k;
                    channel = c;
                }
            }
        }
        let mut s_lo = 0u32;
        let mut s_hi = 0u32;
        let mut w_lo = 0u32;
        let mut w_hi = 0u32;
        let mut any = 0u32;
        for member in 0u32..members {
            let node = group * members + member;
            for c in 0u32..channels {
                let at = ((node * bins + start + bin) * channels + c) as usize;
                let own = Limbs { hi: hi[at], lo: lo[at] };
                if c == channel {
                    let sum = add64(Limbs { hi: s_hi, lo: s_lo }, own);
                    s_lo = sum.lo;
                    s_hi = sum.hi;
                }
                if is_weight(c, classes, form) {
                    let sum = add64(Limbs { hi: w_hi, lo: w_lo }, own);
                    w_lo = sum.lo;
                    w_hi = sum.hi;
                }
            }
        }
        // A bin is empty if every channel's sum over the group is zero.
        for c in 0u32..channels {
            let mut c_lo = 0u32;
            let mut c_hi = 0u32;
            for member in 0u32..members {
                let at = (((group * members + member) * bins + start + bin) * channels + c) as usize;
                let sum = add64(Limbs { hi: c_hi, lo: c_lo }, Limbs { hi: hi[at], lo: lo[at] });
                c_lo = sum.lo;
                c_hi = sum.hi;
            }
            any = any | c_lo | c_hi;
        }
        let k = ratio_key(Limbs { hi: s_hi, lo: s_lo }, Limbs { hi: w_hi, lo: w_lo }, l2, p);
        let named = bin != 0u32 && bin + 1u32 < n_bins && any != 0u32;
        keys[(group * bins + start + bin) as usize] = select_u32(named, k, EMPTY);
    }
}

/// Whether channel `c` is part of the weight.
#[cube]
pub(super) fn is_weight(c: u32, classes: u32, #[comptime] form: Form) -> bool {
    if comptime!(matches!(form, Form::Newton | Form::Bounded)) {
        c == 1u32
    } else if comptime!(matches!(form, Form::Gini | Form::Entropy)) {
        c < classes
    } else {
        c == 0u32
    }
}

/// Puts every bin of a column that is not empty where its rank from either end wants it.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn rank_bins(
    keys: &Array<u32>,
    orders: &mut Array<u32>,
    n: u32,
    n_bins: u32,
    start: u32,
    bins: u32,
    half: u32,
    first: u32,
    candidates: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let group = i / n_bins;
        let bin = i % n_bins;
        let base = group * bins + start;
        let own = keys[(base + bin) as usize];
        if own != EMPTY {
            let mut before = 0u32;
            let mut after = 0u32;
            for other in 0u32..n_bins {
                let k = keys[(base + other) as usize];
                if k != EMPTY {
                    if k < own || (k == own && other < bin) {
                        before += 1u32;
                    }
                    if k > own || (k == own && other > bin) {
                        after += 1u32;
                    }
                }
            }
            let to = group * candidates + first;
            if before < half {
                orders[(to + before) as usize] = bin;
            }
            if after < half {
                orders[(to + half + after) as usize] = bin;
            }
        }
    }
}

/// The left sums of a column's candidates and its missing values, one channel in one node.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
pub(super) fn prefix_sums(
    lo: &Array<u32>,
    hi: &Array<u32>,
    columns: &Array<u32>,
    orders: &Array<u32>,
    sums: &mut Array<u32>,
    nodes: u32,
    cols: u32,
    channels: u32,
    members: u32,
    candidates: u32,
    cells: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < nodes * cols * channels {
        let c = i % channels;
        let col = (i / channels) % cols;
        let node = i / (channels * cols);
        let about = col * comptime!(COLUMN as u32);
        let start = columns[about as usize];
        let kind = columns[(about + 2u32) as usize];
        let count = columns[(about + 3u32) as usize];
        let first = columns[(about + 4u32) as usize];
        let slots = candidates + cols + 1u32;
        let from = node * cells + start * channels + c;
        let missing = (node * slots + candidates + col) * channels + c;
        sums[(2u32 * missing) as usize] = lo[from as usize];
        sums[(2u32 * missing + 1u32) as usize] = hi[from as usize];
        let order = (node / members) * candidates + first;
        let mut sum_lo = 0u32;
        let mut sum_hi = 0u32;
        for k in 0u32..count {
            let mut bin = k + 1u32;
            let mut afresh = kind == ONE_HOT;
            if kind == SORTED {
                bin = orders[(order + k) as usize];
                afresh = k == count / 2u32;
            }
            if afresh {
                sum_lo = 0u32;
                sum_hi = 0u32;
            }
            // Bin 0 stands for no bin.
            if bin != 0u32 {
                let at = (from + bin * channels) as usize;
                let sum = add64(Limbs { hi: sum_hi, lo: sum_lo }, Limbs { hi: hi[at], lo: lo[at] });
                sum_lo = sum.lo;
                sum_hi = sum.hi;
            }
            let to = (node * slots + first + k) * channels + c;
            sums[(2u32 * to) as usize] = sum_lo;
            sums[(2u32 * to + 1u32) as usize] = sum_hi;
        }
    }
}

/// `out[node][c]` becomes the sum of one slot, and of another where there is one.
#[cube(launch_unchecked)]
pub(super) fn take_sums(sums: &Array<u32>, slots: &Array<u32>, out: &mut Array<u32>, n: u32, channels: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let node = i / channels;
        let c = i % channels;
        let missing = slots[(2u32 * node + 1u32) as usize];
        let has = missing != 0xffff_ffffu32;
        let m = sum_at(sums, select_u32(has, missing, 0u32) * channels + c);
        let mask = select_u32(has, 0xffff_ffffu32, 0u32);
        let left = sum_at(sums, slots[(2u32 * node) as usize] * channels + c);
        let sum = add64(left, Limbs { hi: m.hi & mask, lo: m.lo & mask });
        out[(2u32 * i) as usize] = sum.lo;
        out[(2u32 * i + 1u32) as usize] = sum.hi;
    }
}
