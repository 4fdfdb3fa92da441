//! Starting centres. Every random choice is a function of (seed, start, number of the choice).
//!
//! A start draws all its words at once from the stream `purpose << 16 | start` (clause `random`). Choice i reads
//! words 4 i to 4 i + 3: `u` = the top 53 of the 64 bits (word 4 i, word 4 i + 1) times 2^-53, and `v` likewise from the
//! other two. Where rows are equally likely, the row is floor((64 bits) * n / 2^64).
//!
//! **Choice by weight.** Weights lie in chunks of 1,024. The chunk is the first at which the running total of the chunk
//! sums (clause `sums`) exceeds `u` times their total; inside it, the element is the first at which the running total of
//! the elements exceeds `v` times theirs. Totals run serially in double precision on the host. So one draw needs two
//! small copies, however many rows there are, and no scan whose rounding would depend on a device.

mod choose;
mod plus_plus;
mod scalable;

use std::collections::BTreeSet;

use ml_core::Result;
use ml_kernels::Context;

use self::choose::Draws;
use super::params::{Init, Plan};
use super::rows::Rows;
use crate::record::record_u32;

/// What a random stream is for: the upper half of its number.
#[derive(Clone, Copy)]
enum Purpose {
    PlusPlus = 1,
    Parallel = 2,
    Random = 3,
}

/// The random stream of one start.
fn stream(purpose: Purpose, start: u32) -> u32 {
    (purpose as u32) << 16 | start
}

/// The centres of start number `start`: shape (k, d), on the host.
pub(super) fn centers(
    rows: &Rows<'_>,
    plan: &Plan<'_>,
    start: u32,
    tag: &str,
    cx: &mut Context<'_>,
) -> Result<Vec<f32>> {
    cx.step("kmeans.init", u64::from(start), Some(u64::from(plan.n_runs)), None)?;
    let k = plan.n_clusters;
    let ids = match plan.init {
        Init::Centers(centers) => return Ok(centers.as_slice().to_vec()),
        Init::Random => distinct_rows(rows, k, plan.seed, start)?,
        Init::KMeansPlusPlus => plus_plus::choose_rows(rows, None, k, plan.seed, start, cx)?,
        Init::KMeansParallel => scalable::choose_rows(rows, plan, start, cx)?,
    };
    record_u32(cx, &format!("{tag}.init.rows"), &ids)?;
    rows.gather(&ids)?.read()
}

/// `k` distinct rows, each set of rows equally likely: choice i draws t from the first n - k + i + 1 rows and takes t,
/// or the last of them if t was taken before.
///
/// R. Floyd, in J. Bentley, "Programming pearls: a sample of brilliance", CACM 30 (1987).
fn distinct_rows(rows: &Rows<'_>, k: usize, seed: u64, start: u32) -> Result<Vec<u32>> {
    let draws = Draws::new(rows.device, k, seed, stream(Purpose::Random, start))?;
    let mut taken = BTreeSet::new();
    let mut ids = Vec::with_capacity(k);
    for i in 0..k {
        let last = (rows.n - k + i) as u32;
        let t = draws.below(i, last + 1);
        let id = if taken.insert(t) { t } else { last };
        taken.insert(id);
        ids.push(id);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ml_core::Matrix;
    use ml_kernels::Device;

    #[test]
    fn random_rows_are_distinct_and_all_within_reach() {
        let device = Device::host();
        let rows = Rows::upload(&device, &Matrix::zeros(20, 1)).expect("small");
        let some = |start| distinct_rows(&rows, 10, 5, start).expect("draws");
        assert_ne!(some(0), some(1), "starts differ");
        let mut all = distinct_rows(&rows, 20, 5, 0).expect("draws");
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..20));
        let first: BTreeSet<u32> = (0..400).flat_map(|seed| distinct_rows(&rows, 2, seed, 0).expect("draws")).collect();
        assert_eq!(first.len(), 20);
    }

    #[test]
    fn weightless_rows_are_no_centres() {
        let device = Device::host();
        let x = Matrix::from_vec(8, 1, (0..8).map(|i| (i * i) as f32).collect()).expect("finite");
        let rows = Rows::upload(&device, &x).expect("small");
        let weights = [0.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0, 2.0f32];
        let weights = ml_kernels::Buffer::upload(&device, &weights).expect("small");
        for seed in 0..20 {
            let cx = Context::new(&device);
            let mut ids = plus_plus::choose_rows(&rows, Some(&weights), 3, seed, 0, &cx).expect("chooses");
            ids.sort_unstable();
            assert_eq!(ids, [2, 4, 7], "seed {seed}");
        }
    }
}
