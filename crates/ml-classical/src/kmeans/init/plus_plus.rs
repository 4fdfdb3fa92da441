//! Greedy k-means++.
//!
//! The potential of a choice is the sum of `weight * squared distance to the nearest centre`; each new centre is the best
//! of a few rows drawn by their part of the potential, ties to the earlier draw. If the potential is 0, every row lies on
//! a centre, and row 0 is taken, as scikit-learn does.
//!
//! Choice t of centre c has the number c * trials + t; centre 0 has one choice.
//!
//! D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

use ml_core::Result;
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::num::order;
use ml_kernels::{Buffer, Context, distances, moves, reduce};

use super::choose::{Draws, Weights};
use super::{Purpose, stream};
use crate::finite::all_finite;
use crate::kmeans::rows::Rows;

const STAGE: &str = "kmeans.init.potential";

/// The numbers of `k` rows. `weights`, one a row, are all 1 if not given.
pub(super) fn choose_rows(
    rows: &Rows<'_>,
    weights: Option<&Buffer<f32>>,
    k: usize,
    seed: u64,
    start: u32,
    cx: &Context<'_>,
) -> Result<Vec<u32>> {
    let device = rows.device;
    let trials = 2 + floor_ln(k);
    let draws = Draws::new(device, k.saturating_mul(trials), seed, stream(Purpose::PlusPlus, start))?;
    let order: Vec<u32> = (0..).take(rows.n).collect();
    let order = Buffer::upload(device, &order)?;

    let first = match weights {
        None => draws.below(0, rows.n as u32),
        Some(w) => Weights::new(device, w, &order, STAGE)?.choose(device, &[draws.uniform(0)])?.map_or(0, |ids| ids[0]),
    };
    let mut ids = vec![first];
    let mut part = parts(rows, weights, None, &ids)?;
    while ids.len() < k {
        cx.step("kmeans.init.plus_plus", ids.len() as u64, Some(k as u64), None)?;
        let at = ids.len() * trials;
        let pairs: Vec<(f64, f64)> = (at..at + trials).map(|i| draws.uniform(i)).collect();
        let Some(candidates) = Weights::new(device, &part, &order, STAGE)?.choose(device, &pairs)? else {
            ids.push(0);
            continue;
        };
        let table = parts(rows, weights, Some(&part), &candidates)?;
        let potentials = reduce::row_sums(device, &table, trials, rows.n)?.read()?;
        all_finite(STAGE, &potentials)?;
        let best = (0..trials).min_by_key(|&t| order::key(potentials[t])).unwrap_or(0);
        ids.push(candidates[best]);
        part = moves::gather_rows(device, &table, &Buffer::upload(device, &[best as u32])?, trials, rows.n)?;
    }
    Ok(ids)
}

/// Each row's part of the potential if candidate c were added to the centres: shape (candidates, n). `part` is the same
/// for the centres so far, none for no centre.
///
/// Products round monotonically, so the minimum of the weighted distances is the weighted minimum.
fn parts(
    rows: &Rows<'_>,
    weights: Option<&Buffer<f32>>,
    part: Option<&Buffer<f32>>,
    candidates: &[u32],
) -> Result<Buffer<f32>> {
    let (m, n) = (candidates.len(), rows.n);
    let squared = distances::squared_distances(rows.device, &rows.gather(candidates)?, &rows.x, m, n, rows.d)?;
    let mut inputs = vec![Operand::Full(&squared)];
    let mut expr = Expr::input(0);
    if let Some(w) = weights {
        expr = expr * Expr::input(inputs.len() as u32);
        inputs.push(Operand::Row(w));
    }
    if let Some(p) = part {
        expr = expr.min(Expr::input(inputs.len() as u32));
        inputs.push(Operand::Row(p));
    }
    if inputs.len() == 1 {
        return Ok(squared);
    }
    map(rows.device, &expr, &inputs, &[], m, n)
}

/// floor(ln k) for k of at least 1: a table of ceil(e^i), because the platform's logarithm may differ.
// pathway: P68
fn floor_ln(k: usize) -> usize {
    const CEIL_EXP: [u64; 22] = [
        3,
        8,
        21,
        55,
        149,
        404,
        1_097,
        2_981,
        8_104,
        22_027,
        59_875,
        162_755,
        442_414,
        1_202_605,
        3_269_018,
        8_886_111,
        24_154_953,
        65_659_970,
        178_482_301,
        485_165_196,
        1_318_815_735,
        3_584_912_847,
    ];
    CEIL_EXP.iter().take_while(|e| k as u64 >= **e).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_potential() {
        let device = ml_kernels::Device::host();
        let x = ml_core::Matrix::from_vec(4, 1, vec![0.0, 1.0, 3.0, 7.0]).expect("finite");
        let rows = Rows::upload(&device, &x).expect("small");
        let upload = |values: &[f32]| Buffer::upload(&device, values).expect("small");
        let weights = upload(&[1.0, 2.0, 0.0, 4.0]);
        let so_far = upload(&[9.0, 9.0, 0.0, 60.0]);
        let read = |b: Result<Buffer<f32>>| b.and_then(|b| b.read()).expect("computes");
        assert_eq!(read(parts(&rows, None, None, &[1])), [1.0, 0.0, 4.0, 36.0]);
        assert_eq!(read(parts(&rows, None, Some(&so_far), &[1])), [1.0, 0.0, 0.0, 36.0]);
        assert_eq!(read(parts(&rows, Some(&weights), None, &[1])), [1.0, 0.0, 0.0, 144.0]);
        let both = read(parts(&rows, Some(&weights), Some(&so_far), &[1, 2]));
        assert_eq!(both, [1.0, 0.0, 0.0, 60.0, 9.0, 8.0, 0.0, 60.0]);
    }

    #[test]
    fn only_proportions_of_weights_matter() {
        let device = ml_kernels::Device::host();
        let x = ml_core::Matrix::from_vec(60, 1, (0..60).map(|i| (i * i % 97) as f32).collect()).expect("finite");
        let rows = Rows::upload(&device, &x).expect("small");
        for seed in 0..8 {
            let [ones, fours] = [1.0f32, 4.0].map(|w| {
                let weights = Buffer::upload(&device, &[w; 60]).expect("small");
                choose_rows(&rows, Some(&weights), 12, seed, 0, &Context::new(&device)).expect("chooses")
            });
            assert_eq!(ones, fours, "seed {seed}");
        }
    }

    #[test]
    // pathway test: P68
    fn floor_ln_steps_at_powers_of_e() {
        for (k, expected) in [(1, 0), (2, 0), (3, 1), (7, 1), (8, 2), (10, 2), (20, 2), (21, 3), (1_096, 6), (1_097, 7)]
        {
            assert_eq!(floor_ln(k), expected, "k = {k}");
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "an independent check of the table; exact enough below 2^32")]
    fn floor_ln_is_the_logarithm() {
        for i in 1..=22u32 {
            let e = f64::from(i).exp();
            assert_eq!(floor_ln(e as usize), i as usize - 1);
            assert_eq!(floor_ln(e as usize + 1), i as usize);
        }
    }
}
