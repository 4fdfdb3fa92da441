//! Inputs of the vectors: numbers from the words of Philox streams, and matrices made of them.

use ml_core::canon::canon;
use ml_kernels::Device;
use ml_kernels::random::random_u32;

use crate::error::Result;

/// The seed of every stream.
const SEED: u64 = 23;

/// The first `n` words of a stream.
pub fn words(stream: u32, n: usize) -> Result<Vec<u32>> {
    Ok(random_u32(&Device::host(), n, SEED, stream)?.read()?)
}

fn floats(stream: u32, n: usize, of: impl Fn(u32) -> f32) -> Result<Vec<f32>> {
    Ok(words(stream, n)?.into_iter().map(of).collect())
}

/// Any bits at all.
pub fn any(stream: u32, n: usize) -> Result<Vec<f32>> {
    floats(stream, n, f32::from_bits)
}

/// Both signs, magnitudes from 2^-24 to 2^8.
pub fn mid(stream: u32, n: usize) -> Result<Vec<f32>> {
    floats(stream, n, |w| f32::from_bits((w & 0x807f_ffff) | ((103 + ((w >> 23) & 31)) << 23)))
}

/// `mid` times 2^`exponent`, canonical.
pub fn scaled(stream: u32, n: usize, exponent: i32) -> Result<Vec<f32>> {
    Ok(mid(stream, n)?.into_iter().map(|x| canon(x * power(exponent))).collect())
}

/// Multiples of 2^-23 in [-1, 1).
pub fn unit(stream: u32, n: usize) -> Result<Vec<f32>> {
    floats(stream, n, |w| canon(((w >> 8) as i32 - (1 << 23)) as f32 * power(-23)))
}

/// The integers -2 … 2.
pub fn small(stream: u32, n: usize) -> Result<Vec<f32>> {
    floats(stream, n, |w| (w % 5) as f32 - 2.0)
}

/// 2^`exponent`, for normal numbers.
pub fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// Element (i, j) of an m x n matrix.
pub fn matrix(m: usize, n: usize, of: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    (0..m * n).map(|at| of(at / n, at % n)).collect()
}

/// A sort of matrix for the factorisations.
#[derive(Clone, Copy)]
pub enum Sort {
    /// `unit`.
    Unit,
    /// `small`: ties of pivots.
    Small,
    /// `unit`, row i times 2^(7 i mod 61 - 30).
    Rows,
    /// The product of an (m, r) and an (r, n) matrix of `small`: rank r at most.
    Rank(usize),
    /// `scaled` by 2^-110: elements that are zero or near the least.
    Tiny,
    /// `unit` times 2^100.
    Huge,
    /// Zeros.
    Zero,
    /// Zero off the diagonal, where element i is (5 i mod 7) - 3.
    Diagonal,
}

impl Sort {
    /// The matrix of a stream.
    pub fn make(self, stream: u32, m: usize, n: usize) -> Result<Vec<f32>> {
        Ok(match self {
            Sort::Unit => unit(stream, m * n)?,
            Sort::Small => small(stream, m * n)?,
            Sort::Rows => {
                let x = unit(stream, m * n)?;
                matrix(m, n, |i, j| x[i * n + j] * power((7 * i as i32) % 61 - 30))
            }
            Sort::Rank(r) => {
                let (a, b) = (small(stream, m * r)?, small(stream + 1, r * n)?);
                // Integers below 2^24: every order of sums is exact.
                matrix(m, n, |i, j| (0..r).map(|k| a[i * r + k] * b[k * n + j]).sum::<f32>() + 0.0)
            }
            Sort::Tiny => scaled(stream, m * n, -110)?,
            Sort::Huge => unit(stream, m * n)?.into_iter().map(|x| x * power(100)).collect(),
            Sort::Zero => vec![0.0; m * n],
            Sort::Diagonal => matrix(m, n, |i, j| if i == j { ((5 * i) % 7) as f32 - 3.0 } else { 0.0 }),
        })
    }
}
