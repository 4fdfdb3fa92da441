//! Lloyd's iteration from given centres to its stop.

use ml_core::Result;
use ml_kernels::distances::{Lloyd, Step};
use ml_kernels::num::order;
use ml_kernels::{Buffer, Context, distances, reduce};

use super::rows::Rows;
use crate::finite::all_finite;
use crate::record::record_f32;
use crate::traits::Stop;

/// What one start came to.
pub(super) struct Run {
    /// Shape (k, d), on the host.
    pub centers: Vec<f32>,
    /// The nearest centre of each row.
    pub labels: Buffer<u32>,
    pub inertia: f32,
    pub n_iter: u32,
    pub stop: Stop,
}

/// The figures of the winning start.
pub(super) struct Outcome {
    pub inertia: f32,
    pub n_iter: u32,
    pub stop: Stop,
    pub best_run: u32,
}

impl Run {
    pub fn outcome(&self, best_run: u32) -> Outcome {
        Outcome { inertia: self.inertia, n_iter: self.n_iter, stop: self.stop, best_run }
    }
}

/// Iterates from `centers`, shape (k, d), until they move by no more than `tol` (squared, all together) or `max_iter`
/// updates are made. One read-back an iteration: the new centres.
pub(super) fn iterate(
    rows: &Rows<'_>,
    mut centers: Vec<f32>,
    max_iter: u32,
    tol: f64,
    tag: &str,
    cx: &mut Context<'_>,
) -> Result<Run> {
    let k = centers.len() / rows.d;
    let mut resident = Buffer::upload(rows.device, &centers)?;
    let (mut n_iter, mut stop) = (max_iter, Stop::MaxIter);
    let mut settled = None;
    let steps = Lloyd::new(rows.device, &rows.x, rows.n, rows.d)?;
    for iter in 1..=max_iter {
        let Step { index: labels, distance: squared, sums } = steps.step(&resident, k)?;
        // pathway: P72
        if cx.records() {
            cx.record_u32(&format!("{tag}.iter{iter}.labels"), &[rows.n], &labels)?;
            let inertia = reduce::sum(rows.device, &squared)?;
            cx.record_f32(&format!("{tag}.iter{iter}.inertia"), &[], &inertia)?;
        }
        let mut moved_to = rows.means_of(&sums, &labels, k)?;
        let mut new = moved_to.read()?;
        if new.iter().any(|c| c.is_nan()) {
            new = refill(rows, k, &labels, &squared)?;
            moved_to = Buffer::upload(rows.device, &new)?;
        }
        all_finite(&format!("{tag}.iter{iter}.centroids"), &new)?;
        record_f32(cx, &format!("{tag}.iter{iter}.centroids"), &[k, rows.d], &new)?;

        let movement = squared_movement(&centers, &new);
        (centers, resident) = (new, moved_to);
        cx.step("kmeans.lloyd", u64::from(iter), Some(u64::from(max_iter)), Some(movement as f32))?;
        if movement <= tol {
            (n_iter, stop) = (iter, Stop::Converged { iter });
            // Only equal centres move by exactly 0, and then this labelling is theirs.
            settled = (movement == 0.0).then_some((labels, squared));
            break;
        }
    }
    let (labels, squared) = match settled {
        Some(pair) => pair,
        None => distances::nearest(rows.device, &rows.x, &resident, rows.n, k, rows.d)?,
    };
    let inertia = reduce::sum(rows.device, &squared)?.read()?;
    all_finite(&format!("{tag}.inertia"), &inertia)?;
    let inertia = inertia.first().copied().unwrap_or(0.0);
    Ok(Run { centers, labels, inertia, n_iter, stop })
}

/// The squared distance between two sets of centres: serial in double precision, where the square of no difference of
/// two different floats vanishes.
// pathway: P71
fn squared_movement(old: &[f32], new: &[f32]) -> f64 {
    let mut total = 0.0f64;
    for (a, b) in old.iter().zip(new) {
        let t = f64::from(*b) - f64::from(*a);
        total += t * t;
    }
    total
}

/// The centres after empty clusters have taken the rows farthest from their centres (rule in the module header).
///
/// `labels` and `squared` are each row's nearest centre and its squared distance. This is rare, so it runs on the host
/// but for the means.
// pathway: P74
fn refill(rows: &Rows<'_>, k: usize, labels: &Buffer<u32>, squared: &Buffer<f32>) -> Result<Vec<f32>> {
    let mut owner = labels.read()?;
    let squared = squared.read()?;
    let empty: Vec<usize> = (0..k).zip(sizes(&owner, k)).filter(|(_, size)| *size == 0).map(|(c, _)| c).collect();

    let mut far: Vec<u32> = (0..).take(rows.n).collect();
    far.sort_unstable_by_key(|&i| (!order::key(squared[i as usize]), i));
    if far.first().is_some_and(|&i| squared[i as usize] > 0.0) {
        for (&cluster, &i) in empty.iter().zip(&far) {
            owner[i as usize] = cluster as u32;
        }
    }

    let mut centers = rows.means(&Buffer::upload(rows.device, &owner)?, k)?.read()?;
    let sizes = sizes(&owner, k);
    let largest = (0..k).rev().max_by_key(|&c| sizes[c]).unwrap_or(0);
    let home = centers[largest * rows.d..(largest + 1) * rows.d].to_vec();
    for (center, _) in centers.chunks_exact_mut(rows.d).zip(&sizes).filter(|(_, size)| **size == 0) {
        center.copy_from_slice(&home);
    }
    Ok(centers)
}

/// Rows of each of `k` clusters.
fn sizes(owner: &[u32], k: usize) -> Vec<u32> {
    let mut sizes = vec![0u32; k];
    for &c in owner {
        sizes[c as usize] += 1;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use ml_core::Matrix;
    use ml_kernels::Device;

    fn refilled(x: &[f32], k: usize, labels: &[u32], squared: &[f32]) -> Vec<f32> {
        let device = Device::host();
        let x = Matrix::from_vec(x.len(), 1, x.to_vec()).expect("finite");
        let rows = Rows::upload(&device, &x).expect("small");
        let labels = Buffer::upload(&device, labels).expect("small");
        refill(&rows, k, &labels, &Buffer::upload(&device, squared).expect("small")).expect("finite")
    }

    #[test]
    // pathway test: P74
    fn empty_clusters_take_the_farthest_rows_in_order() {
        // Rows 1 and 3 are equally far: the lower goes to the lower empty cluster.
        let centers = refilled(&[0.0, 10.0, 2.0, -8.0], 3, &[1, 1, 1, 1], &[1.0, 81.0, 1.0, 81.0]);
        assert_eq!(centers, [10.0, 1.0, -8.0]);
    }

    #[test]
    fn rows_on_their_centres_are_left_there() {
        let centers = refilled(&[3.0, 3.0, 5.0], 4, &[1, 1, 2], &[0.0; 3]);
        assert_eq!(centers, [3.0, 3.0, 5.0, 3.0]);
    }

    #[test]
    fn a_cluster_that_loses_its_only_row_goes_to_the_largest() {
        let centers = refilled(&[1.0, 1.0, 9.0], 3, &[0, 0, 1], &[0.0, 0.0, 4.0]);
        assert_eq!(centers, [1.0, 1.0, 9.0]);
    }

    #[test]
    fn the_largest_cluster_is_the_lowest_of_equals() {
        let centers = refilled(&[1.0, 2.0], 3, &[2, 1], &[0.0, 0.0]);
        assert_eq!(centers, [2.0, 2.0, 1.0]);
    }

    #[test]
    // pathway test: P71
    fn the_smallest_difference_counts_as_movement() {
        let a = f32::from_bits(0x0080_0001);
        let b = f32::from_bits(0x0080_0002);
        assert!(squared_movement(&[a, 1e30], &[b, 1e30]) > 0.0);
        assert_eq!(squared_movement(&[a, b], &[a, b]), 0.0);
    }
}
