//! A basis in which the columns of a design are nearly orthogonal, and the rank of the design.
//!
//! Single-precision normal equations lose half of the digits: directions whose length is below about a thousandth of the
//! longest drown in the rounding of X' X. So the design is turned by the eigenvectors of X' X first, the lengths of the
//! turned columns are measured, columns are brought to equal length, and X' X is formed anew: now no direction is short.
//! This resolves lengths down to [`CUT`], near the precision of the data themselves.
//!
//! The idea is that of Cholesky QR done twice (Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, "Roundoff error analysis of
//! the CholeskyQR2 algorithm", ETNA 44, 2015), with eigenvectors in place of the factor, so that a deficient rank shows.

use ml_core::Result;
use ml_kernels::map::{Expr, Operand, col_sums, map};
use ml_kernels::matmul::{Layout, matmul};
use ml_kernels::{Buffer, Context, linalg};

use super::scale::{exponent, power_of_two, single};
use super::solve::{Design, equilibrate};

/// Directions shorter than this times the longest and the root of the number of columns are no directions: 2^-20, sixteen
/// times the rounding of an element. Columns are taken at equal length.
const CUT: f64 = 1.0 / (1u64 << 20) as f64;

/// Squared lengths, after turning and equalising, that drown in the rounding of the second X' X: 2^-18 of the longest.
const SECOND_CUT: f64 = 1.0 / (1u64 << 18) as f64;

/// Directions z = T' x in which the normal equations are well conditioned.
pub(super) struct Basis {
    /// X T: shape (rows, turned columns).
    pub data: Buffer<f32>,
    /// Lengths of the turned columns.
    pub lengths: Vec<f64>,
    /// T: shape (columns, turned columns). Column c was multiplied by `column_equal` first, turned column k by `sizes`
    /// last.
    turn: Vec<f64>,
    column_equal: Vec<f64>,
    sizes: Vec<f64>,
    /// Kept eigenvectors of Z' Z + penalty, equilibrated by `equal`, and their values.
    vectors: Vec<f64>,
    values: Vec<f64>,
    equal: Vec<f64>,
    /// Directions of scaled coefficients that move no prediction, each of length `columns`.
    null: Vec<Vec<f64>>,
    /// Z' Z: shape (turned columns, turned columns).
    gram: Vec<f64>,
}

impl Basis {
    pub fn new(design: &Design, cx: &Context<'_>) -> Result<Self> {
        let (n, d) = (design.x.rows, design.x.cols);
        let device = cx.device();
        let equal = equilibrate(&(0..d).map(|j| design.gram[j * d + j]).collect::<Vec<_>>());
        let mut a = vec![0.0f32; d * d];
        for i in 0..d {
            for j in 0..d {
                a[i * d + j] = single(design.gram[i * d + j] * equal[i] * equal[j]);
            }
        }
        let (_, vectors) = linalg::symmetric_eigen(device, &Buffer::upload(device, &a)?, d)?;
        let vectors = vectors.read()?;
        // (columns, columns): column k is eigenvector k for the equilibrated columns.
        let first = |kept: &[usize], size: &dyn Fn(usize) -> f64| -> Vec<f32> {
            (0..d)
                .flat_map(|i| kept.iter().map(move |&k| (i, k)))
                .map(|(i, k)| single(f64::from(vectors[k * d + i]) * equal[i] * size(k)))
                .collect()
        };
        let all: Vec<usize> = (0..d).collect();
        let turned = turn(cx, design, &first(&all, &|_| 1.0), d)?;
        let lengths = lengths(cx, &turned, n, d)?;
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let shortest = CUT * (d as f64).sqrt() * longest;
        let (kept, lost): (Vec<usize>, Vec<usize>) = all.into_iter().partition(|&k| lengths[k] > shortest);
        let mut null: Vec<Vec<f64>> =
            lost.iter().map(|&k| (0..d).map(|i| f64::from(vectors[k * d + i]) * equal[i]).collect()).collect();

        // Columns of equal length, from the turned ones or, if some are lost, anew.
        let size = |k: usize| power_of_two(-exponent(lengths[k]));
        let matrix = first(&kept, &size);
        let r = kept.len();
        let data = if r == d {
            let sizes: Vec<f32> = kept.iter().map(|&k| single(size(k))).collect();
            let sizes = Buffer::upload(device, &sizes)?;
            let scaled = Expr::input(0) * Expr::input(1);
            map(device, &scaled, &[Operand::Full(&turned), Operand::Row(&sizes)], &[], n, d)?
        } else {
            turn(cx, design, &matrix, r)?
        };
        let gram: Vec<f64> =
            matmul(device, Layout::TN, &data, &data, r, r, n)?.read()?.into_iter().map(f64::from).collect();
        let matrix: Vec<f64> = matrix.into_iter().map(f64::from).collect();

        // Z' Z + T' penalty T.
        let mut m = gram.clone();
        for (row, &penalty) in matrix.chunks_exact(r.max(1)).zip(&design.penalty).filter(|(_, p)| **p > 0.0) {
            for (out, t) in m.chunks_exact_mut(r.max(1)).zip(row) {
                out.iter_mut().zip(row).for_each(|(x, u)| *x += penalty * t * u);
            }
        }
        let second = equilibrate(&(0..r).map(|k| m[k * r + k]).collect::<Vec<_>>());
        for i in 0..r {
            for j in 0..r {
                m[i * r + j] *= second[i] * second[j];
            }
        }
        let eigen = linalg::symmetric_eigen_f64(device, &m, r)?;
        let top = eigen.values.first().copied().unwrap_or(0.0);
        let mut basis = Basis {
            lengths: (0..r).map(|k| gram[k * r + k].sqrt()).collect(),
            data,
            turn: matrix,
            sizes: kept.iter().map(|&k| size(k)).collect(),
            column_equal: equal,
            vectors: Vec::new(),
            values: Vec::new(),
            equal: second,
            null: Vec::new(),
            gram,
        };
        for (k, &value) in eigen.values.iter().enumerate() {
            let vector = &eigen.vectors[k * r..(k + 1) * r];
            let direction = basis.back(vector);
            let reach = direction.iter().zip(&basis.column_equal).map(|(w, e)| (w / e) * (w / e)).sum::<f64>().sqrt();
            if value > SECOND_CUT * top && value.sqrt() > shortest * reach {
                basis.values.push(value);
                basis.vectors.extend_from_slice(vector);
            } else {
                null.push(direction);
            }
        }
        basis.null = null;
        Ok(basis)
    }

    /// Number of directions.
    pub fn rank(&self) -> usize {
        self.values.len()
    }

    /// T as it was used, shape (columns, turned columns), and the number of turned columns.
    pub fn directions(&self) -> (Vec<f32>, usize) {
        (self.turn.iter().map(|&t| single(t)).collect(), self.sizes.len())
    }

    /// Scaled coefficients of a combination of turned columns.
    fn back(&self, combination: &[f64]) -> Vec<f64> {
        let r = self.equal.len();
        let c: Vec<f64> = combination.iter().zip(&self.equal).map(|(x, e)| x * e).collect();
        (0..self.column_equal.len()).map(|i| dot(&self.turn[i * r..(i + 1) * r], &c)).collect()
    }

    /// The step for the gradient `g` of the turned columns, less T' `pull`.
    pub fn step(&self, g: &[f64], pull: &[f64]) -> Vec<f64> {
        let r = self.equal.len();
        let mut rest = g.to_vec();
        for (row, p) in self.turn.chunks_exact(r.max(1)).zip(pull) {
            rest.iter_mut().zip(row).for_each(|(x, t)| *x -= t * p);
        }
        rest.iter_mut().zip(&self.equal).for_each(|(x, e)| *x *= e);
        let mut combination = vec![0.0f64; r];
        for (vector, value) in self.vectors.chunks_exact(r.max(1)).zip(&self.values) {
            let amount = vector.iter().zip(&rest).map(|(v, x)| v * x).sum::<f64>() / value;
            combination.iter_mut().zip(vector).for_each(|(c, v)| *c += amount * v);
        }
        self.back(&combination)
    }

    /// Takes out of `coef` what moves no prediction, so that it is the shortest of all solutions. `scale` is that of the
    /// columns: coefficients and directions are those of scaled columns, lengths those of the data's own.
    pub fn shorten(&self, coef: &mut [f64], scale: &[f64]) {
        let mut known: Vec<Vec<f64>> = Vec::new();
        for direction in &self.null {
            let mut w: Vec<f64> = direction.iter().zip(scale).map(|(x, s)| x * s).collect();
            // Twice is enough (Kahan and Parlett).
            for _ in 0..2 {
                known.iter().for_each(|u| remove(&mut w, u));
                let length = dot(&w, &w).sqrt();
                if length > 0.0 {
                    w.iter_mut().for_each(|x| *x /= length);
                }
            }
            known.push(w);
        }
        let mut own: Vec<f64> = coef.iter().zip(scale).map(|(x, s)| x * s).collect();
        known.iter().for_each(|u| remove(&mut own, u));
        coef.iter_mut().zip(own).zip(scale).for_each(|((c, x), s)| *c = x / s);
    }

    /// Singular values of the design in the data's own units, descending; those beyond the rank are zero.
    pub fn singular(&self, design: &Design, cx: &Context<'_>) -> Result<Vec<f64>> {
        let (n, d, r) = (design.x.rows, design.x.cols, self.equal.len());
        let mut values = vec![0.0; n.min(d)];
        if r == 0 {
            return Ok(values);
        }
        // X = Z P with P the inverse of T on the kept directions, so X' X = P' (Z' Z) P.
        let inverse = self.inverse(d);
        let scale = &design.x.scale;
        let mut half = vec![0.0f64; r * d];
        for (i, row) in half.chunks_exact_mut(d).enumerate() {
            for (k, p) in inverse.chunks_exact(d).enumerate() {
                let z = self.gram[i * r + k];
                row.iter_mut().zip(p).for_each(|(x, p)| *x += z * p);
            }
        }
        let mut a = vec![0.0f64; d * d];
        for (p, h) in inverse.chunks_exact(d).zip(half.chunks_exact(d)) {
            for (row, p) in a.chunks_exact_mut(d).zip(p) {
                row.iter_mut().zip(h).for_each(|(x, h)| *x += p * h);
            }
        }
        for i in 0..d {
            for j in 0..d {
                a[i * d + j] /= scale[i] * scale[j];
            }
        }
        let eigen = linalg::symmetric_eigen_f64(cx.device(), &a, d)?;
        for (s, value) in values.iter_mut().zip(&eigen.values).take(self.rank()) {
            *s = value.max(0.0).sqrt();
        }
        Ok(values)
    }

    /// The inverse of T on the kept directions, shape (turned columns, columns).
    ///
    /// T = E V' S with V of orthonormal rows and E and S diagonal; so the inverse is S^-1 V E^-1 = S^-2 T' E^-2.
    fn inverse(&self, d: usize) -> Vec<f64> {
        let r = self.sizes.len();
        let mut p = vec![0.0f64; r * d];
        for (c, row) in self.turn.chunks_exact(r).enumerate() {
            let e = self.column_equal[c];
            for (k, t) in row.iter().enumerate() {
                let s = self.sizes[k];
                p[k * d + c] = t / (e * e * s * s);
            }
        }
        p
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Takes the part along the unit vector `u` out of `w`.
fn remove(w: &mut [f64], u: &[f64]) {
    let amount = dot(w, u);
    w.iter_mut().zip(u).for_each(|(x, y)| *x -= amount * y);
}

/// X T for T of shape (columns, `r`).
fn turn(cx: &Context<'_>, design: &Design, matrix: &[f32], r: usize) -> Result<Buffer<f32>> {
    let matrix = Buffer::upload(cx.device(), matrix)?;
    matmul(cx.device(), Layout::NN, &design.x.data, &matrix, design.x.rows, r, design.x.cols)
}

/// Lengths of the columns of `z`, shape (n, r).
fn lengths(cx: &Context<'_>, z: &Buffer<f32>, n: usize, r: usize) -> Result<Vec<f64>> {
    let sums = col_sums(cx.device(), &[Expr::input(0).square()], &[Operand::Full(z)], &[], n, r)?;
    let sums = sums.iter().map(Buffer::read).collect::<Result<Vec<_>>>()?.concat();
    Ok(sums.into_iter().map(|s| f64::from(s).sqrt()).collect())
}
