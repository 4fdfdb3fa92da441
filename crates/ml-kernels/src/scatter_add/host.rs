//! The host: integer sums on all threads, several columns in one vector register.

use ml_core::canon::canon;
use multiversion::multiversion;
use rayon::prelude::*;

use super::Shape;
use super::scalar::magnitude;
use crate::num::{Pins, add};
use crate::sabotage::Arm;

/// Values a thread should have at least.
const MIN_BLOCK: usize = 1 << 14;

/// Columns from which on sorting the rows by group costs less than scattering them.
const WIDE: usize = 8;

/// The bits of the greatest canonical magnitude.
pub(crate) fn largest(values: &[f32]) -> u32 {
    let size = values.par_chunks(MIN_BLOCK).map(largest_size).max().unwrap_or(0);
    magnitude(f32::from_bits(size))
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn largest_size(values: &[f32]) -> u32 {
    values.iter().fold(0, |m, v| m.max(v.to_bits() & 0x7fff_ffff))
}

/// The first row whose group is out of bounds.
pub(super) fn bad_row(indices: &[u32], n_groups: usize) -> Option<usize> {
    let in_block =
        |(b, block): (usize, &[u32])| block.iter().position(|&g| g as usize >= n_groups).map(|at| b * MIN_BLOCK + at);
    indices.par_chunks(MIN_BLOCK).enumerate().find_map_first(in_block)
}

/// The sums; every index is below the number of groups.
// pathway: P46
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
    let scale = scale(shift);
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
        total(&tables, cells, shift)
    } else if n_groups > rows || (threads > 1 && cols >= WIDE) {
        by_group(values, indices, shape, shift)
    } else {
        // Groups a thread: each reads all indices and adds the rows of its own groups.
        let mut sums = vec![0i64; cells];
        sums.par_chunks_mut(groups_each * cols)
            .enumerate()
            .for_each(|(part, table)| add_rows(table, part * groups_each, values, indices, cols, scale));
        total(&[sums], cells, shift)
    }
}

/// 2^`shift`, which is a normal number for every shift of the clause.
pub(crate) fn scale(shift: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(shift)) as u64) << 52)
}

/// The sums of `tables`, each `cells` long, as floats.
pub(crate) fn total(tables: &[Vec<i64>], cells: usize, shift: i32) -> Vec<f32> {
    const PART: usize = 1 << 12;
    let mut out = vec![0.0f32; cells];
    let scale = scale(-shift);
    out.par_chunks_mut(PART).with_min_len(2).enumerate().for_each(|(part, out)| {
        let from = part * PART;
        let mut parts = tables.iter().map(|table| &table[from..from + out.len()]);
        if let Some(first) = parts.next() {
            let mut sums = first.to_vec();
            parts.for_each(|table| sums.iter_mut().zip(table).for_each(|(s, t)| *s += t));
            finish_slice(&sums, scale, out);
        }
    });
    out
}

/// The floats for integer sums; `scale` is 2^-shift.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn finish_slice(sums: &[i64], scale: f64, out: &mut [f32]) {
    for (out, sum) in out.iter_mut().zip(sums) {
        // One rounding, to a float; the product is exact, and so is its conversion but for what canon flushes.
        *out = canon((f64::from(*sum as f32) * scale) as f32);
    }
}

/// The sums by way of the rows in order of their groups: no table of integers, and no group is touched that has no row.
fn by_group(values: &[f32], indices: &[u32], shape: Shape, shift: i32) -> Vec<f32> {
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
        sum_groups(sums, first, &groups[from..to], &order[from..to], values, cols, [scale(shift), scale(-shift)]);
    });
    sums
}

/// The sums of the groups from `first` on; `groups` ascend, and `order` names their rows.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn sum_groups(
    sums: &mut [f32],
    first: usize,
    groups: &[u32],
    order: &[u32],
    values: &[f32],
    cols: usize,
    [scale, unscale]: [f64; 2],
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
        finish_slice(&own, unscale, &mut sums[(group as usize - first) * cols..][..cols]);
    }
}

/// Adds the rows of the groups from `first` on for which `table` has room.
pub(crate) fn add_rows(table: &mut [i64], first: usize, values: &[f32], indices: &[u32], cols: usize, scale: f64) {
    #[cfg(target_arch = "x86_64")]
    if cols >= wide::LANES && scale <= wide::GREATEST_SCALE && wide::is_there() {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { wide::add_rows(table, first, values, indices, cols, scale) };
    }
    add_rows_plainly(table, first, values, indices, cols, scale);
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn add_rows_plainly(table: &mut [i64], first: usize, values: &[f32], indices: &[u32], cols: usize, scale: f64) {
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
// pathway: P49
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

/// AVX-512 has an instruction that rounds doubles to 64-bit integers, half to even.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// Elements that are added together.
    pub(super) const LANES: usize = 8;

    /// 2^125: up to this scale what canon flushes, at most 2^-126 in magnitude, rounds to zero by itself.
    pub(super) const GREATEST_SCALE: f64 = f64::from_bits((1023 + 125) << 52);

    pub(super) fn is_there() -> bool {
        std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512dq")
    }

    /// Rows that are put in order of their groups, so that the sums of a group are loaded and stored once for several rows.
    const BLOCK: usize = 64;

    /// As `add_rows_plainly`.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn add_rows(table: &mut [i64], first: usize, values: &[f32], indices: &[u32], cols: usize, scale: f64) {
        let mut order = [(0, 0); BLOCK];
        for (values, groups) in values.chunks(BLOCK * cols).zip(indices.chunks(BLOCK)) {
            let order = &mut order[..groups.len()];
            for (row, (place, group)) in order.iter_mut().zip(groups).enumerate().map(|(i, pair)| (i as u32, pair)) {
                *place = (*group, row);
            }
            order.sort_unstable();
            for rows in order.chunk_by(|a, b| a.0 == b.0) {
                // A group below `first` wraps to an offset that no table has.
                let start = (rows[0].0 as usize).wrapping_sub(first).saturating_mul(cols);
                if let Some(cells) = table.get_mut(start..start.saturating_add(cols)) {
                    add_group(cells, values, rows, scale);
                }
            }
        }
    }

    /// Adds to `cells` the rows of `values`, as wide as `cells`, whose numbers are the second of each of `rows`.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn add_group(cells: &mut [i64], values: &[f32], rows: &[(u32, u32)], scale: f64) {
        const TOGETHER: usize = 8;
        let cols = cells.len();
        let mut col = 0;
        while col + TOGETHER * LANES <= cols {
            add_columns::<TOGETHER>(&mut cells[col..], values, rows, col, cols, scale);
            col += TOGETHER * LANES;
        }
        while col + LANES <= cols {
            add_columns::<1>(&mut cells[col..], values, rows, col, cols, scale);
            col += LANES;
        }
        for (col, cell) in cells.iter_mut().enumerate().skip(col) {
            for &(_, row) in rows {
                *cell += super::fixed(values[row as usize * cols + col], scale);
            }
        }
    }

    /// Adds `N` vectors of columns from `col` on to the first of `cells`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn add_columns<const N: usize>(
        cells: &mut [i64],
        values: &[f32],
        rows: &[(u32, u32)],
        col: usize,
        cols: usize,
        scale: f64,
    ) {
        let scales = _mm512_set1_pd(scale);
        let (cells, _) = cells.as_chunks_mut::<LANES>();
        let cells = &mut cells[..N];
        let mut sums = [_mm512_setzero_si512(); N];
        for i in 0..N {
            // SAFETY: the array has eight elements.
            sums[i] = unsafe { _mm512_loadu_si512(cells[i].as_ptr().cast()) };
        }
        for &(_, row) in rows {
            let (x, _) = values[row as usize * cols + col..].as_chunks::<LANES>();
            let x = &x[..N];
            for i in 0..N {
                // SAFETY: the array has eight elements.
                let x = unsafe { _mm256_loadu_ps(x[i].as_ptr()) };
                sums[i] = _mm512_add_epi64(sums[i], _mm512_cvtpd_epi64(_mm512_mul_pd(_mm512_cvtps_pd(x), scales)));
            }
        }
        for i in 0..N {
            // SAFETY: the array has eight elements.
            unsafe { _mm512_storeu_si512(cells[i].as_mut_ptr().cast(), sums[i]) };
        }
    }
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
        // pathway test: P49
        fn floats_and_integers_round_alike(b in any::<u32>(), below in 0i32..80) {
            let x = f32::from_bits(b);
            prop_assume!(x.is_finite());
            // The greatest shift that keeps the product within 2^62, less some.
            let shift = 62 - ((magnitude(x) >> 23) as i32 - 126) - below;
            let wanted = crate::scatter_add::scalar::fixed(x, shift).to_i64();
            prop_assert_eq!(fixed(x, scale(shift)), wanted);
            let mut table = [0i64; 91];
            add_rows(&mut table, 0, &[x; 91], &[0], 91, scale(shift));
            prop_assert_eq!(table, [wanted; 91]);
        }

        #[test]
        fn sums_become_the_same_floats(sum in any::<i64>(), right in 0u32..64, shift in -98i32..188) {
            let sum = sum >> right;
            let wanted = crate::scatter_add::scalar::finish(crate::num::Limbs::from_i64(sum), -shift);
            let got = total(&[vec![sum - 3], vec![3]], 1, shift);
            prop_assert_eq!(got[0].to_bits(), wanted.to_bits());
        }
    }
}
