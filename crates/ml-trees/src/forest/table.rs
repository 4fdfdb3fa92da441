//! The rows of a fit, column by column, with their bins.
//!
//! A column with at most `max_bins` distinct values has a bin for each. Else bins are closed one after the other at the
//! distinct value that brings the count of rows to an equal share of what is left or beyond it.

use ml_core::Matrix;
use ml_kernels::Device;
use ml_kernels::num::{key, unkey};
use rayon::prelude::*;

/// One column.
pub(super) struct Column {
    pub values: Vec<f32>,
    /// The bin of each row; empty where nobody asked for bins.
    pub bins: Vec<u16>,
    /// Least and greatest value of each bin.
    pub low: Vec<f32>,
    pub high: Vec<f32>,
}

/// The columns of `x`, with at most `max_bins` bins each if asked for.
pub(super) fn columns(x: &Matrix, max_bins: Option<usize>, device: &Device) -> Vec<Column> {
    let column = |j: usize| {
        let values: Vec<f32> = x.as_slice().iter().skip(j).step_by(x.cols()).copied().collect();
        let Some(max_bins) = max_bins else {
            return Column { values, bins: Vec::new(), low: Vec::new(), high: Vec::new() };
        };
        let mut keys: Vec<u32> = values.iter().map(|v| key(*v)).collect();
        keys.sort_unstable();
        let runs: Vec<(u32, usize)> = keys.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
        let spans = spans(&runs, max_bins);
        let low: Vec<f32> = spans.iter().map(|s| unkey(runs[s.start].0)).collect();
        let high: Vec<f32> = spans.iter().map(|s| unkey(runs[s.end - 1].0)).collect();
        let bins = values.iter().map(|v| high.partition_point(|h| h < v) as u16).collect();
        Column { values, bins, low, high }
    };
    device.on_host(|| (0..x.cols()).into_par_iter().map(column).collect())
}

/// Which distinct values share a bin.
fn spans(runs: &[(u32, usize)], max_bins: usize) -> Vec<std::ops::Range<usize>> {
    if runs.len() <= max_bins {
        return (0..runs.len()).map(|i| i..i + 1).collect();
    }
    let mut left: usize = runs.iter().map(|r| r.1).sum();
    let mut spans = Vec::with_capacity(max_bins);
    let (mut start, mut count) = (0, 0);
    for (i, run) in runs.iter().enumerate() {
        count += run.1;
        let open = max_bins - spans.len();
        // Whole numbers: count >= left / open.
        if open > 1 && count * open >= left || i + 1 == runs.len() {
            spans.push(start..i + 1);
            left -= count;
            (start, count) = (i + 1, 0);
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_part_all_values_and_share_rows_evenly() {
        let data: Vec<f32> = (0..1000).map(|i| ((i * 7919) % 1000) as f32 - 500.0).collect();
        let x = Matrix::from_vec(1000, 1, data).expect("finite");
        let column = &columns(&x, Some(10), &Device::host())[0];
        for bin in 0..10u16 {
            assert_eq!(column.bins.iter().filter(|b| **b == bin).count(), 100, "bin {bin}");
        }
        for (v, b) in column.values.iter().zip(&column.bins) {
            assert!(column.low[*b as usize] <= *v && *v <= column.high[*b as usize]);
        }
        assert!(column.high.iter().zip(&column.low[1..]).all(|(h, l)| h < l));
    }

    #[test]
    fn few_values_have_a_bin_each_and_a_heavy_one_its_own() {
        let x = Matrix::from_vec(5, 1, vec![2.0, -1.0, 2.0, 0.0, -1.0]).expect("finite");
        let column = &columns(&x, Some(3), &Device::host())[0];
        assert_eq!((&column.bins[..], &column.low[..]), (&[2, 0, 2, 1, 0][..], &[-1.0, 0.0, 2.0][..]));
        let heavy: Vec<f32> = (0..100).map(|i| if i < 60 { 50.0 } else { i as f32 }).collect();
        let x = Matrix::from_vec(100, 1, heavy).expect("finite");
        let column = &columns(&x, Some(5), &Device::host())[0];
        assert!(column.low.len() == 5 && column.high[0] == 50.0, "{:?}", column.high);
        assert!(columns(&x, None, &Device::host())[0].bins.is_empty());
    }
}
