//! Exact powers of two, and matrices centred and scaled by them.
//!
//! Centring is done twice, since the mean of single-precision numbers is rounded: first by the rounded mean, then by the
//! mean of what is left. A column whose elements are all equal has that element as its mean, and nothing is left of it.
//! Scaling by powers of two rounds nothing; it keeps squares within range and normal equations comparable.

use ml_core::canon::canon;
use ml_core::{MatRef, Result};
use ml_kernels::map::{Expr, Operand, col_sums, map};
use ml_kernels::reduce::col_ranges;
use ml_kernels::{Buffer, Device};

/// Largest and smallest exponent of a scale: 2^-126 itself is stored as zero (`docs/contract.md`, clause `values`).
const LIMIT: i32 = 125;

/// Exponent of the leading bit of a finite normal `x`; a zero counts as 1.
pub(crate) fn exponent(x: f64) -> i32 {
    if x == 0.0 { 0 } else { (x.to_bits() >> 52 & 0x7ff) as i32 - 1023 }
}

/// 2^`exponent`, for exponents of normal numbers.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// `x` rounded to single precision, as it is stored.
pub(crate) fn single(x: f64) -> f32 {
    canon(x as f32)
}

/// Which columns share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scaling {
    /// Each column has its own.
    Columns,
    /// All have that of the widest column.
    Whole,
}

/// A matrix on a device, centred and scaled.
pub(crate) struct Centred {
    /// (x - mean) * scale: shape (rows, columns). The widest of a column is from 1 to 2; less where columns share a scale,
    /// up to 4 at the end of the range.
    pub data: Buffer<f32>,
    pub rows: usize,
    pub cols: usize,
    /// One a column; zeros if the columns were not centred.
    pub mean: Vec<f64>,
    /// One a column, exact powers of two.
    pub scale: Vec<f64>,
}

/// Centres (if `centre`) and scales `x`, which has at least one row.
// pathway: P77
pub(crate) fn centred(device: &Device, x: MatRef<'_>, centre: bool, scaling: Scaling) -> Result<Centred> {
    let (rows, cols) = (x.rows(), x.cols());
    let raw = Buffer::from_matrix(device, x)?;
    let spans: Vec<Span> = col_ranges(device, x).into_iter().map(|(low, high)| Span { low, high }).collect();
    // First scale: no sum of a column leaves the range.
    let first: Vec<i32> = spans.iter().map(|s| exponent(s.size()).clamp(-LIMIT, LIMIT)).collect();
    let first_scale: Vec<f64> = first.iter().map(|&e| power_of_two(-e)).collect();
    let row = |values: Vec<f32>| Buffer::upload(device, &values);
    let scale_row = row(first_scale.iter().map(|&s| s as f32).collect())?;
    let (mut mean, mut rest) = (vec![0.0f32; cols], vec![0.0f32; cols]);
    if centre {
        let scaled = Expr::input(0) * Expr::input(1);
        let sums = |expr: &Expr, more: &[Operand<'_>]| {
            let operands = [&[Operand::Full(&raw), Operand::Row(&scale_row)], more].concat();
            let sums = col_sums(device, std::slice::from_ref(expr), &operands, &[], rows, cols)?;
            means(&sums, rows)
        };
        mean = sums(&scaled, &[])?;
        for ((m, span), scale) in mean.iter_mut().zip(&spans).zip(&first_scale) {
            if span.low == span.high {
                *m = single(f64::from(span.low) * scale);
            }
        }
        rest = sums(&(scaled - Expr::input(2)), &[Operand::Row(&row(mean.clone())?)])?;
    }

    // Second scale: the widest deviation of a column is from 1 to 2.
    let mut shift: Vec<i32> = Vec::with_capacity(cols);
    for (j, span) in spans.iter().enumerate() {
        let centre = f64::from(mean[j]) + f64::from(rest[j]);
        let deviation = |edge: f32| (f64::from(edge) * first_scale[j] - centre).abs();
        let spread = deviation(span.low).max(deviation(span.high));
        shift.push(if spread == 0.0 { i32::MIN } else { exponent(spread) + first[j] });
    }
    let widest = shift.iter().copied().max().unwrap_or(i32::MIN);
    let scale: Vec<f64> = shift
        .iter()
        .map(|&s| match scaling {
            Scaling::Columns => s,
            Scaling::Whole => widest,
        })
        .map(|s| if s == i32::MIN { 1.0 } else { power_of_two(-s.clamp(-LIMIT, LIMIT)) })
        .collect();
    let in_scale = |part: &[f32]| -> Vec<f32> {
        part.iter().zip(&scale).zip(&first).map(|((&p, s), &e)| single(f64::from(p) * power_of_two(e) * s)).collect()
    };
    let data = map(
        device,
        &((Expr::input(0) * Expr::input(1) - Expr::input(2)) - Expr::input(3)),
        &[
            Operand::Full(&raw),
            Operand::Row(&row(scale.iter().map(|&s| s as f32).collect())?),
            Operand::Row(&row(in_scale(&mean))?),
            Operand::Row(&row(in_scale(&rest))?),
        ],
        &[],
        rows,
        cols,
    )?;
    let mean = mean
        .iter()
        .zip(&rest)
        .zip(&first)
        .map(|((&m, &r), &e)| (f64::from(m) + f64::from(r)) * power_of_two(e))
        .collect();
    Ok(Centred { data, rows, cols, mean, scale })
}

/// Each of the sums divided by `rows`, rounded once.
fn means(sums: &[Buffer<f32>], rows: usize) -> Result<Vec<f32>> {
    let sums = sums.iter().map(Buffer::read).collect::<Result<Vec<_>>>()?.concat();
    Ok(sums.iter().map(|&s| single(f64::from(s) / rows as f64)).collect())
}

/// Least and greatest element of a column.
#[derive(Debug, Clone, Copy)]
struct Span {
    low: f32,
    high: f32,
}

impl Span {
    fn size(self) -> f64 {
        f64::from(self.low.abs().max(self.high.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ml_core::Matrix;

    fn of(rows: &[[f32; 3]], centre: bool, scaling: Scaling) -> (Centred, Vec<f32>) {
        let x = Matrix::from_rows(rows).expect("finite");
        let c = centred(&Device::host(), x.view(), centre, scaling).expect("host");
        let data = c.data.read().expect("host");
        (c, data)
    }

    #[test]
    fn columns_are_centred_and_scaled_exactly() {
        let (c, data) = of(&[[1.0, 0.1, 3e38], [2.0, 0.1, 1e38], [6.0, 0.1, 2e38]], true, Scaling::Columns);
        assert_eq!((c.mean[0], c.scale[0]), (3.0, 0.5));
        assert_eq!([data[0], data[3], data[6]], [-1.0, -0.5, 1.5]);
        // A constant column vanishes, though a third of three tenths is not a tenth.
        assert_eq!(c.mean[1], f64::from(0.1f32));
        assert_eq!([data[1], data[4], data[7]], [0.0; 3]);
        assert!((c.mean[2] / 2e38 - 1.0).abs() < 1e-7 && data[2] >= 1.0 && data[2] < 4.0);
        assert!((data[2] + data[5]).abs() < 1e-6 && data[8].abs() < 1e-6);
    }

    #[test]
    // pathway test: P77
    fn a_small_spread_on_a_large_mean_is_kept() {
        let rows: Vec<[f32; 3]> = (0..4096).map(|i| [1e6 + (i % 16) as f32 / 16.0, 1.0, 0.0]).collect();
        let (c, data) = of(&rows, true, Scaling::Columns);
        assert_eq!(c.mean[0], 1e6 + 7.5 / 16.0);
        assert_eq!(c.scale[0], 4.0);
        assert!((0..4096).all(|i| data[3 * i] == ((i % 16) as f32 - 7.5) / 4.0));
    }

    #[test]
    fn without_centring_only_the_scale_changes() {
        let (c, data) = of(&[[3.0, 0.0, -1e-30], [1.0, 0.0, 1e-30], [2.0, 0.0, 0.0]], false, Scaling::Columns);
        assert_eq!((c.mean.clone(), c.scale[0], c.scale[1]), (vec![0.0; 3], 0.5, 1.0));
        assert_eq!([data[0], data[3], data[6]], [1.5, 0.5, 1.0]);
        assert!(data[5] >= 1.0 && data[5] < 2.0);
    }

    #[test]
    fn one_scale_for_all() {
        let (c, data) = of(&[[0.0, 4.0, 7.0], [8.0, 6.0, 7.0]], true, Scaling::Whole);
        assert_eq!(c.scale, [0.25; 3]);
        assert_eq!(data, [-1.0, -0.25, 0.0, 1.0, 0.25, 0.0]);
    }
}
