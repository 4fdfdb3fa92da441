//! The host: integer sums on all threads, several columns in one vector register.

use ml_core::canon::canon;
use multiversion::multiversion;
use rayon::prelude::*;

use super::Shape;
use super::scalar::{finish, magnitude};
use crate::num::{Limbs, Pins, add};
use crate::sabotage::Arm;

/// Values a thread should have at least.
const MIN_BLOCK: usize = 1 << 14;

/// Columns from which on sorting the rows by group costs less than scattering them.
const WIDE: usize = 8;

/// The bits of the greatest magnitude, and the first row whose group is out of bounds.
pub(super) fn check(values: &[f32], indices: &[u32], n_groups: usize) -> (u32, Option<usize>) {
    let largest = values.par_chunks(MIN_BLOCK).map(largest).max().unwrap_or(0);
    let in_block =
        |(b, block): (usize, &[u32])| block.iter().position(|&g| g as usize >= n_groups).map(|at| b * MIN_BLOCK + at);
    (largest, indices.par_chunks(MIN_BLOCK).enumerate().find_map_first(in_block))
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn largest(values: &[f32]) -> u32 {
    values.iter().fold(0, |m, v| m.max(magnitude(*v)))
}

/// The sums; every index is below the number of groups.
pub(super) fn sum(values: &[f32], indices: &[u32], shape: Shape, shift: i32, arm: Arm) -> Vec<f32> {
    let Shape { rows, cols, n_groups, cells } = shape;
    if cells == 0 {
        return Vec::new();
    }
    let threads = rayon::current_num_threads().min((rows * cols).div_ceil(MIN_BLOCK)).max(1);
    let groups_each = n_groups.div_ceil(threads);
    if arm == Arm::FloatScatter {
        let mut sums = vec![0.0; cells];
        sums.par_chunks_mut(groups_each * cols)
            .enumerate()
            .for_each(|(part, table)| add_floats(table, part * groups_each, values, indices, cols));
        return sums;
    }
    let scale = f64::from_bits(((1023 + i64::from(shift)) as u64) << 52);
    let mut sums;
    if threads > 1 && n_groups <= rows / (4 * threads) {
        // A table a thread: adding them up costs less than a quarter of the work.
        let rows_each = rows.div_ceil(threads);
        let tables: Vec<Vec<i64>> = values
            .par_chunks(rows_each * cols)
            .zip(indices.par_chunks(rows_each))
            .map(|(values, indices)| {
                let mut table = vec![0; cells];
                add_rows(&mut table, 0, values, indices, cols, scale);
                table
            })
            .collect();
        sums = vec![0i64; cells];
        sums.par_chunks_mut(4096).enumerate().for_each(|(part, sums)| {
            for table in &tables {
                sums.iter_mut().zip(&table[part * 4096..]).for_each(|(s, t)| *s += t);
            }
        });
    } else if n_groups > rows || (threads > 1 && cols >= WIDE) {
        return by_group(values, indices, shape, shift, scale);
    } else {
        // Groups a thread: each reads all indices and adds the rows of its own groups.
        sums = vec![0i64; cells];
        sums.par_chunks_mut(groups_each * cols)
            .enumerate()
            .for_each(|(part, table)| add_rows(table, part * groups_each, values, indices, cols, scale));
    }
    sums.into_par_iter().with_min_len(4096).map(|s| finish(Limbs::from_i64(s), -shift)).collect()
}

/// The sums by way of the rows in order of their groups: no table of integers, and no group is touched that has no row.
fn by_group(values: &[f32], indices: &[u32], shape: Shape, shift: i32, scale: f64) -> Vec<f32> {
    let Shape { rows, cols, n_groups, cells } = shape;
    let all: Vec<u32> = (0..rows as u32).collect();
    let (groups, order) = crate::sort::host::sort(indices, &all, Arm::None);
    let mut sums = vec![0.0; cells];
    // More parts than threads, because groups differ in size.
    let groups_each = n_groups.div_ceil(8 * rayon::current_num_threads());
    sums.par_chunks_mut(groups_each * cols).enumerate().for_each(|(part, sums)| {
        let first = part * groups_each;
        let from = groups.partition_point(|g| (*g as usize) < first);
        let to = groups.partition_point(|g| (*g as usize) < first + groups_each);
        sum_groups(sums, first, &groups[from..to], &order[from..to], values, cols, shift, scale);
    });
    sums
}

/// The sums of the groups from `first` on; `groups` ascend, and `order` names their rows.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
#[expect(clippy::too_many_arguments, reason = "one part of the caller's state")]
fn sum_groups(
    sums: &mut [f32],
    first: usize,
    groups: &[u32],
    order: &[u32],
    values: &[f32],
    cols: usize,
    shift: i32,
    scale: f64,
) {
    let mut own = vec![0i64; cols];
    let mut at = 0;
    while at < groups.len() {
        let group = groups[at];
        own.fill(0);
        while at < groups.len() && groups[at] == group {
            let row = &values[order[at] as usize * cols..][..cols];
            own.iter_mut().zip(row).for_each(|(cell, v)| *cell += fixed(*v, scale));
            at += 1;
        }
        let out = &mut sums[(group as usize - first) * cols..][..cols];
        out.iter_mut().zip(&own).for_each(|(o, s)| *o = finish(Limbs::from_i64(*s), -shift));
    }
}

/// Adds the rows of the groups from `first` on for which `table` has room.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn add_rows(table: &mut [i64], first: usize, values: &[f32], indices: &[u32], cols: usize, scale: f64) {
    if cols == 1 {
        for (v, &group) in values.iter().zip(indices) {
            if let Some(cell) = table.get_mut((group as usize).wrapping_sub(first)) {
                *cell += fixed(*v, scale);
            }
        }
        return;
    }
    for (row, &group) in values.chunks_exact(cols).zip(indices) {
        // A group below `first` wraps to an offset that no table has.
        let start = (group as usize).wrapping_sub(first).saturating_mul(cols);
        if start < table.len() {
            table[start..start + cols].iter_mut().zip(row).for_each(|(cell, v)| *cell += fixed(*v, scale));
        }
    }
}

/// `canon(x) * scale` rounded half to even; `scale` is a power of two and the product at most 2^62.
///
/// All steps but the two roundings to integers are exact: the product is that of an f32 and a power of two; `high` is
/// an integer up to 2^30; `low` is at most 2^31 and a multiple of the product's last place (or 0 where that place is
/// above 2^32). The even integer `high * 2^32` changes no tie, so rounding `low` rounds the product.
#[inline(always)]
fn fixed(x: f32, scale: f64) -> i64 {
    /// 1.5 * 2^52: adding it leaves a rounded integer in the low bits.
    const INTEGER: f64 = 6_755_399_441_055_744.0;
    /// 2^32.
    const WORD: f64 = 4_294_967_296.0;
    let product = f64::from(canon(x)) * scale;
    let high_shifted = product * (1.0 / WORD) + INTEGER;
    let high = high_shifted - INTEGER;
    let low = product - high * WORD;
    let integer = |shifted: f64| shifted.to_bits().wrapping_sub(INTEGER.to_bits()) as i64;
    (integer(high_shifted) << 32) + integer(low + INTEGER)
}

/// What the sabotage arm does: float additions in ascending order of rows.
fn add_floats(table: &mut [f32], first: usize, values: &[f32], indices: &[u32], cols: usize) {
    for (row, &group) in values.chunks_exact(cols).zip(indices) {
        let start = (group as usize).wrapping_sub(first).saturating_mul(cols);
        if start < table.len() {
            table[start..start + cols].iter_mut().zip(row).for_each(|(sum, v)| *sum = add(*sum, *v, Pins::HOST));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn floats_and_integers_round_alike(b in any::<u32>(), below in 0i32..80) {
            let x = f32::from_bits(b);
            prop_assume!(x.is_finite());
            // The greatest shift that keeps the product within 2^62, less some.
            let shift = 62 - ((magnitude(x) >> 23) as i32 - 126) - below;
            let scale = f64::from_bits(((1023 + i64::from(shift)) as u64) << 52);
            prop_assert_eq!(fixed(x, scale), crate::scatter_add::scalar::fixed(x, shift).to_i64());
        }
    }
}
