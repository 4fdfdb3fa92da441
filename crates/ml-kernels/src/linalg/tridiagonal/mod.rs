//! Contract clause `eigen`: tridiagonal form of a symmetric matrix by reflections.

mod blocked;
mod steps;

use super::householder::Reflections;

/// Up to this many rows the matrix takes every reflection at once; above, a panel of them. The first keeps the whole matrix
/// moving through memory, which is slow when no cache holds it.
const STEPS_UP_TO: usize = 1024;

/// T = Q' S Q with Q = H(0) H(1) ... and H(k) = I - tau(k) v(k) v(k)'.
pub(super) struct Tridiagonal {
    pub(super) diagonal: Vec<f64>,
    /// Element k couples k and k + 1; the last is zero.
    pub(super) off: Vec<f64>,
    way_back: WayBack,
}

/// The reflections, as the reduction left them.
enum WayBack {
    /// v(k) in row k of the matrix, columns k + 1 and up.
    Steps {
        s: Vec<f64>,
        tau: Vec<f64>,
    },
    Blocks(Reflections),
}

/// T, and the factors of its reflections.
struct Form {
    diagonal: Vec<f64>,
    off: Vec<f64>,
    tau: Vec<f64>,
}

impl Tridiagonal {
    /// Rows of `x`, in coordinates of T, in coordinates of S.
    pub(super) fn vectors_to_full(&self, x: &mut [f64]) {
        let n = self.diagonal.len();
        match &self.way_back {
            WayBack::Steps { s, tau } => steps::vectors_to_full(x, s, tau, n),
            WayBack::Blocks(reflections) => reflections.apply(x, n),
        }
    }
}

/// Reduces the symmetric (n, n) matrix `s`.
pub(super) fn tridiagonalise(mut s: Vec<f64>, n: usize) -> Tridiagonal {
    if n > STEPS_UP_TO {
        return blocked::reduce(s, n);
    }
    let Form { diagonal, off, tau } = steps::reduce(&mut s, n);
    Tridiagonal { diagonal, off, way_back: WayBack::Steps { s, tau } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::conformance::{KINDS, matrix, unit};
    use crate::linalg::eigen_reference::{self, by_panels, by_steps};

    /// |T - Q' S Q| and |Q'Q - I| of a small matrix, whatever its size says about the form.
    fn errors(t: &Tridiagonal, s: &[f64], n: usize) -> (f64, f64) {
        let mut q = vec![0.0f64; n * n];
        (0..n).for_each(|i| q[i * n + i] = 1.0);
        t.vectors_to_full(&mut q);
        let product = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(a, b)| a * b).sum() };
        let (mut off, mut skew) = (0.0f64, 0.0f64);
        for i in 0..n {
            let qi = &q[i * n..(i + 1) * n];
            let image: Vec<f64> = (0..n).map(|r| product(&s[r * n..(r + 1) * n], qi)).collect();
            for j in 0..n {
                let qj = &q[j * n..(j + 1) * n];
                let want = match i.abs_diff(j) {
                    0 => t.diagonal[i],
                    1 => t.off[i.min(j)],
                    _ => 0.0,
                };
                off = off.max((product(&image, qj) - want).abs());
                skew = skew.max((product(qi, qj) - f64::from(u8::from(i == j))).abs());
            }
        }
        (off, skew)
    }

    #[test]
    fn both_forms_are_similar_to_the_matrix() {
        for n in [1usize, 2, 3, 31, 32, 33, 64, 65, 130, 200] {
            for spread in [1usize, 7] {
                // Columns that repeat leave reflections with nothing to do.
                let at = |i: usize, j: usize| f64::from(unit(3, (i.min(j) / spread) * n + i.max(j) / spread));
                let s: Vec<f64> = (0..n * n).map(|k| at(k / n, k % n)).collect();
                for (form, t) in [tridiagonalise(s.clone(), n), blocked::reduce(s.clone(), n)].into_iter().enumerate() {
                    let (off, skew) = errors(&t, &s, n);
                    assert!(off < 1e-13 * n as f64 && skew < 1e-13, "form {form}, {n}, {spread}: {off:e}, {skew:e}");
                }
            }
        }
    }

    #[test]
    // pathway test: P131
    fn both_forms_are_those_of_the_specification() {
        for (kind, n) in KINDS.into_iter().flat_map(|kind| [1usize, 2, 31, 33, 64, 97, 200].map(|n| (kind, n))) {
            let a = matrix(kind, n, n);
            let s: Vec<f64> = (0..n * n).map(|k| f64::from(a[(k / n).max(k % n) * n + (k / n).min(k % n)])).collect();
            let rows: Vec<Vec<f64>> = s.chunks(n).map(<[f64]>::to_vec).collect();
            let found = [tridiagonalise(s.clone(), n), blocked::reduce(s.clone(), n)];
            let wanted = [by_steps(rows.clone()), by_panels(rows)];
            for (in_blocks, (found, wanted)) in [false, true].into_iter().zip(found.into_iter().zip(&wanted)) {
                // A zero has no sign that counts.
                let bits = |x: &[f64]| -> Vec<u64> { x.iter().map(|x| (x + 0.0).to_bits()).collect() };
                assert_eq!(bits(&found.diagonal), bits(&wanted.d), "{kind} {n}");
                assert_eq!(bits(&found.off), bits(&wanted.e), "{kind} {n}");
                let x: Vec<f64> = (0..3 * n).map(|k| f64::from(unit(8, k))).collect();
                let (mut ours, mut theirs) = (x.clone(), x);
                found.vectors_to_full(&mut ours);
                theirs.chunks_mut(n).for_each(|y| eigen_reference::to_full(y, &wanted.reflections, in_blocks));
                assert_eq!(bits(&ours), bits(&theirs), "{kind} {n}");
            }
        }
    }
}
