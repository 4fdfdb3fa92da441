//! Plane rotations of neighbouring rows, applied in batches so that a block of columns is brought into the cache once.

use rayon::prelude::*;

use super::dense::vector::{Lanes, Portable};
use crate::contraction::Isa;

/// Columns that are rotated together: a block of two thousand rows of them stays in the second cache level.
const COLS: usize = 32;

/// Rotations collected before they are applied.
pub(super) const BATCH: usize = 1 << 15;

/// A rotation of rows `row` and `row + 1`: (u, l) becomes (cos u - sin l, sin u + cos l).
#[derive(Debug, Clone, Copy)]
pub(super) struct Rotation {
    pub(super) row: usize,
    pub(super) cos: f64,
    pub(super) sin: f64,
}

/// An (n, n) matrix as panels of [`COLS`] columns, each of them n rows long and contiguous.
pub(super) struct Panels {
    n: usize,
    data: Vec<f64>,
}

impl Panels {
    pub(super) fn identity(n: usize) -> Self {
        let mut data = vec![0.0f64; n.div_ceil(COLS) * n * COLS];
        for i in 0..n {
            data[(i / COLS) * n * COLS + i * COLS + i % COLS] = 1.0;
        }
        Panels { n, data }
    }

    pub(super) fn rotate(&mut self, batch: &[Rotation]) {
        if !batch.is_empty() {
            let isa = Isa::detect();
            self.data.par_chunks_mut(self.n * COLS).for_each(|panel| run(isa, panel.as_chunks_mut().0, batch));
        }
    }

    /// The rows in this order, (n, n).
    pub(super) fn rows(&self, order: &[usize]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.n * self.n);
        for &i in order {
            for first in (0..self.n).step_by(COLS) {
                let start = first * self.n + i * COLS;
                out.extend_from_slice(&self.data[start..start + COLS.min(self.n - first)]);
            }
        }
        out
    }
}

/// Rotates the rows of one panel. Neighbouring rotations share a row, which stays in registers from one to the next.
// pathway: P134
#[inline(always)]
fn rotate_panel<V: Lanes, const C: usize>(rows: &mut [[f64; COLS]], batch: &[Rotation]) {
    const { assert!(C * V::COUNT == COLS) };
    let load = |row: &[f64; COLS]| -> [V; C] { std::array::from_fn(|c| V::load(&row[c * V::COUNT..])) };
    let store = |row: &mut [f64; COLS], x: &[V; C]| (0..C).for_each(|c| x[c].store(&mut row[c * V::COUNT..]));
    let mut rest = batch;
    while let [first, others @ ..] = rest {
        let upwards = others.first().is_some_and(|next| next.row + 1 == first.row);
        let mut carried = load(&rows[if upwards { first.row + 1 } else { first.row }]);
        let mut row = first.row;
        let mut count = 0;
        for r in rest {
            let expected = if upwards { row.checked_sub(count) } else { row.checked_add(count) };
            if expected != Some(r.row) {
                break;
            }
            count += 1;
            let (cos, sin) = (V::splat(r.cos), V::splat(r.sin));
            if upwards {
                let upper = load(&rows[r.row]);
                let lower: [V; C] = std::array::from_fn(|c| sin.mul(upper[c]).add(cos.mul(carried[c])));
                carried = std::array::from_fn(|c| cos.mul(upper[c]).sub(sin.mul(carried[c])));
                store(&mut rows[r.row + 1], &lower);
            } else {
                let lower = load(&rows[r.row + 1]);
                let upper: [V; C] = std::array::from_fn(|c| cos.mul(carried[c]).sub(sin.mul(lower[c])));
                carried = std::array::from_fn(|c| sin.mul(carried[c]).add(cos.mul(lower[c])));
                store(&mut rows[r.row], &upper);
            }
        }
        row = if upwards { row + 1 - count } else { row + count };
        store(&mut rows[row], &carried);
        rest = &rest[count..];
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn wide(rows: &mut [[f64; COLS]], batch: &[Rotation]) {
    rotate_panel::<super::dense::vector::Avx512, 4>(rows, batch);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn middle(rows: &mut [[f64; COLS]], batch: &[Rotation]) {
    rotate_panel::<super::dense::vector::Avx2, 8>(rows, batch);
}

fn run(isa: Isa, rows: &mut [[f64; COLS]], batch: &[Rotation]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this variant proves that the machine has AVX-512.
        Isa::Wide => unsafe { wide(rows, batch) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this variant proves that the machine has AVX2.
        Isa::Middle => unsafe { middle(rows, batch) },
        Isa::Base => rotate_panel::<Portable, 16>(rows, batch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::conformance::unit;

    #[test]
    // pathway test: P134
    fn every_instruction_set_turns_rows_one_rotation_after_the_other() {
        // Chains upwards and downwards, and rotations that belong to none.
        let order = [0usize, 1, 2, 3, 8, 7, 6, 5, 4, 4, 9, 2, 3, 9, 8, 0, 0, 5];
        let batch: Vec<Rotation> = order
            .iter()
            .enumerate()
            .map(|(i, &row)| {
                let t = f64::from(unit(4, i));
                let r = (1.0 + t * t).sqrt();
                Rotation { row, cos: 1.0 / r, sin: t / r }
            })
            .collect();
        let start: Vec<[f64; COLS]> =
            (0..11).map(|i| std::array::from_fn(|j| f64::from(unit(5, i * COLS + j)))).collect();
        let mut want = start.clone();
        for r in &batch {
            let (upper, lower) = (want[r.row], want[r.row + 1]);
            want[r.row] = std::array::from_fn(|j| r.cos * upper[j] - r.sin * lower[j]);
            want[r.row + 1] = std::array::from_fn(|j| r.sin * upper[j] + r.cos * lower[j]);
        }
        for &isa in Isa::all() {
            let mut rows = start.clone();
            run(isa, &mut rows, &batch);
            assert_eq!(rows, want, "{isa:?}");
        }
    }
}
