//! Where the bins of each column begin and end.
//!
//! **Numbers.** The column is sorted, exactly, by key (`docs/contract.md`, clause `order`). With as many bins as distinct
//! values or more, an edge lies between each two neighbours. Else values that have an equal share of the rows or more get a
//! bin each (again and again, the share being that of the bins and rows that are left), and the other bins are closed one
//! after the other at the distinct value that brings the bin's count nearest to an equal share of the other rows that are
//! left; a bin also ends before a heavy value if it has half a share. Equal values are never parted. An edge is the middle of
//! the two values that it parts, rounded once, or the lower one where that is not below the upper one.
//!
//! **Categories.** The most frequent ones have a bin each, ties going to the lower number; where they do not fit, the others
//! share one. Numbers that no row has lie in a bin of their own, and numbers beyond the greatest in another.
//!
//! Bin 0 is that of missing values in every column, so a column of numbers has `max_bins - 1` bins for them, one of
//! categories `max_bins - 3`.

use std::sync::Arc;

use ml_core::canon::canon;
use ml_core::{Result, check};
use ml_kernels::Device;
use ml_kernels::num::{key, unkey};
use ml_kernels::trees::BinRule;
use rayon::prelude::*;

use crate::dataset::{Dataset, category};

/// Most bins of a column, the one of missing values among them.
pub const MAX_BINS: usize = 65_536;

/// Columns gathered in one pass over the rows: a cache line of them.
const GATHER: usize = 16;

/// The bins of each column of `data`, `max_bins` at most.
///
/// # Errors
/// [`ml_core::ParamError::OutOfBound`] unless `max_bins` is from 4 to [`MAX_BINS`].
///
/// # Bit identity
/// Integers, and one rounding an edge, in binary64 on the host.
///
/// # Example
/// ```
/// use ml_kernels::{Device, trees::BinRule};
/// use ml_trees::{Dataset, binning};
/// let rows = Dataset::new(4, 1, vec![1.0, 2.0, 4.0, f32::NAN])?;
/// let rules = binning::quantile_bins(&rows, 256, &Device::host())?;
/// assert!(matches!(&rules[0], BinRule::Number { edges } if edges[..] == [1.5, 3.0]));
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn quantile_bins(data: &Dataset, max_bins: usize, device: &Device) -> Result<Vec<BinRule>> {
    check::usize_within("max_bins", max_bins, 4, MAX_BINS)?;
    let starts: Vec<usize> = (0..data.cols()).step_by(GATHER).collect();
    let blocks: Vec<Vec<BinRule>> = device.on_host(|| {
        starts
            .par_iter()
            .map(|&first| {
                let width = GATHER.min(data.cols() - first);
                let mut columns = vec![Vec::with_capacity(data.rows()); width];
                for row in data.as_slice().chunks_exact(data.cols()) {
                    for (column, &value) in columns.iter_mut().zip(&row[first..first + width]) {
                        if !value.is_nan() {
                            column.push(key(value));
                        }
                    }
                }
                let rule = |(at, mut keys): (usize, Vec<u32>)| {
                    keys.sort_unstable();
                    let distinct = runs(&keys);
                    if data.is_categorical(first + at) {
                        BinRule::Category { codes: codes(&distinct, max_bins - 3).into() }
                    } else {
                        BinRule::Number { edges: Arc::from(edges(&distinct, max_bins - 1)) }
                    }
                };
                columns.into_par_iter().enumerate().map(rule).collect()
            })
            .collect()
    });
    Ok(blocks.concat())
}

/// Distinct keys of a sorted column, ascending, and how often each occurs.
fn runs(keys: &[u32]) -> Vec<(u32, u64)> {
    keys.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect()
}

/// The edges that part `distinct` values into `bins` bins at most.
fn edges(distinct: &[(u32, u64)], bins: usize) -> Vec<f32> {
    let between = |pair: &[(u32, u64)]| middle(unkey(pair[0].0), unkey(pair[1].0));
    if distinct.len() <= bins {
        return distinct.windows(2).map(between).collect();
    }
    // Values with an equal share or more have bins of their own; what is left of both is shared by the others.
    let (mut rest, mut left) = (distinct.iter().map(|d| d.1).sum::<u64>(), bins as u64);
    let mut heavy = vec![false; distinct.len()];
    loop {
        let (share, parts) = (rest, left);
        for (heavy, (_, count)) in heavy.iter_mut().zip(distinct) {
            if !*heavy && left > 1 && count * parts >= share {
                (*heavy, rest, left) = (true, rest - count, left - 1);
            }
        }
        if left == parts {
            break;
        }
    }
    let mut edges = Vec::with_capacity(bins - 1);
    let mut count = 0u64;
    for (pair, heavy) in distinct.windows(2).zip(heavy.windows(2)) {
        if edges.len() == bins - 1 {
            break;
        }
        count += pair[0].1;
        let close = match (heavy[0], heavy[1]) {
            (true, _) => true,
            // A bin of less than half a share joins the heavy value.
            (false, true) => 2 * count * left >= rest,
            // Twice the count here and with the next value, against twice the share rest / left.
            (false, false) => left > 1 && (2 * count + pair[1].1) * left > 2 * rest,
        };
        if close {
            edges.push(between(pair));
            if !heavy[0] {
                (rest, left) = (rest - count, (left - 1).max(1));
            }
            count = 0;
        } else if heavy[1] {
            (rest, count) = (rest - count, 0);
        }
    }
    edges
}

/// The number between `low` and `high` that parts them: `low <= x < high`.
fn middle(low: f32, high: f32) -> f32 {
    // The sum is exact in binary64 unless the two lie 2^29 apart, where it is as near as the rounding to come.
    let middle = canon((0.5 * (f64::from(low) + f64::from(high))) as f32);
    if middle < high { middle } else { low }
}

/// Bin - 1 of each category up to the greatest: the most frequent ones have their own, `bins` at most with the one that the
/// others share; numbers between them that no row has get the next.
fn codes(distinct: &[(u32, u64)], bins: usize) -> Vec<u32> {
    let mut found: Vec<(u32, u64)> =
        distinct.iter().filter_map(|&(k, n)| category(unkey(k)).map(|number| (number, n))).collect();
    let size = found.last().map_or(0, |(number, _)| *number as usize + 1);
    found.sort_by_key(|&(number, n)| (u64::MAX - n, number));
    let rare = if found.len() > bins { found.split_off(bins - 1) } else { Vec::new() };
    found.sort_unstable();
    let shared = found.len() as u32;
    let mut codes = vec![shared + u32::from(!rare.is_empty()); size];
    for (code, (number, _)) in (0u32..).zip(found) {
        codes[number as usize] = code;
    }
    rare.iter().for_each(|(number, _)| codes[*number as usize] = shared);
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(values: &[f32], bins: usize) -> Vec<f32> {
        let mut keys: Vec<u32> = values.iter().map(|v| key(*v)).collect();
        keys.sort_unstable();
        edges(&runs(&keys), bins)
    }

    fn counts(values: &[f32], edges: &[f32]) -> Vec<usize> {
        let mut counts = vec![0; edges.len() + 1];
        values.iter().for_each(|v| counts[edges.partition_point(|e| e < v)] += 1);
        counts
    }

    #[test]
    fn an_edge_parts_each_two_values_where_they_fit() {
        assert_eq!(number(&[3.0, 1.0, 1.0, 2.0], 3), [1.5, 2.5]);
        assert_eq!(number(&[5.0; 4], 3), [] as [f32; 0]);
        assert_eq!(number(&[], 3), [] as [f32; 0]);
    }

    #[test]
    fn edges_part_even_neighbouring_floats() {
        let pairs = [
            (1.0, f32::from_bits(1.0f32.to_bits() + 1)),
            (f32::MIN, f32::MAX),
            (f32::MAX / 2.0, f32::MAX),
            (-f32::from_bits(0x0080_0001), 0.0),
            (0.0, f32::from_bits(0x0080_0001)),
            (-1.5e-38, -1.4e-38),
        ];
        for (low, high) in pairs {
            let edge = middle(low, high);
            assert!(low <= edge && edge < high, "{low:e} {edge:e} {high:e}");
            assert_eq!(edge.to_bits(), canon(edge).to_bits());
        }
    }

    #[test]
    fn bins_hold_equal_counts_but_keep_ties_together() {
        let even: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        assert!(counts(&even, &number(&even, 10)).iter().all(|c| *c == 100));
        // One value is half of the rows: it has a bin of its own, and the others share what is left.
        let heavy: Vec<f32> = (0..1000).map(|i| if i % 2 == 0 { 500.5 } else { i as f32 }).collect();
        let found = counts(&heavy, &number(&heavy, 11));
        assert_eq!(found.iter().sum::<usize>(), 1000);
        assert!(found.contains(&500), "{found:?}");
        assert!(found.iter().all(|c| *c == 500 || (30..=70).contains(c)), "{found:?}");
        for bins in 2..40 {
            let edges = number(&heavy, bins);
            assert!(edges.len() < bins && edges.windows(2).all(|w| w[0] < w[1]), "{bins}: {edges:?}");
        }
    }

    #[test]
    fn frequent_categories_have_bins() {
        let keys = |values: &[f32]| runs(&values.iter().map(|v| key(*v)).collect::<Vec<_>>());
        let column = keys(&[0.0, 2.0, 2.0, 5.0, 5.0, 7.0]);
        assert_eq!(codes(&column, 4), [0, 4, 1, 4, 4, 2, 4, 3]);
        assert_eq!(codes(&column, 3), [2, 3, 0, 3, 3, 1, 3, 2]);
        assert_eq!(codes(&column, 1), [0, 1, 0, 1, 1, 0, 1, 0]);
        assert_eq!(codes(&[], 3), [] as [u32; 0]);
    }

    #[test]
    fn columns_and_threads_change_nothing() {
        let data: Vec<f32> = (0..500 * 37).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 20) as f32 / 7.0).collect();
        let all = Dataset::new(500, 37, data).expect("finite");
        let wanted = quantile_bins(&all, 16, &Device::host()).expect("bins");
        for threads in [1, 2, 7] {
            let device = Device::host_with_threads(threads).expect("threads");
            let found = quantile_bins(&all, 16, &device).expect("bins");
            assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
        }
        let last = Dataset::new(500, 1, (0..500).map(|i| all.row(i)[36]).collect()).expect("finite");
        let alone = quantile_bins(&last, 16, &Device::host()).expect("bins");
        assert_eq!(format!("{:?}", alone[0]), format!("{:?}", wanted[36]));
        assert!(quantile_bins(&all, 3, &Device::host()).unwrap_err().to_string().contains("max_bins"));
    }
}
