//! Least and greatest elements of the columns of a matrix that is on the host.

use ml_core::MatRef;
use multiversion::multiversion;
use rayon::prelude::*;

use crate::device::{Device, on_device};

/// Elements that one task looks at.
const TASK: usize = 1 << 16;

/// The least and the greatest element of each column of `x`, infinity and -infinity where there are no rows. `x` is on the
/// host, and there it is looked at, whatever the device: of `device` only the threads are used, if it is the host.
///
/// # Bit identity
/// Elements of a matrix are finite and their zeros have one sign, so the order of comparisons changes nothing.
///
/// # Example
/// ```
/// use ml_core::Matrix;
/// use ml_kernels::{Device, reduce::col_ranges};
/// let x = Matrix::from_rows(&[[1.0, -2.0], [0.5, 7.0]])?;
/// assert_eq!(col_ranges(&Device::host(), x.view()), [(0.5, 1.0), (-2.0, 7.0)]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn col_ranges(device: &Device, x: MatRef<'_>) -> Vec<(f32, f32)> {
    let ranges = || {
        let cols = x.cols().max(1);
        let nothing = || (vec![f32::INFINITY; x.cols()], vec![f32::NEG_INFINITY; x.cols()]);
        let rows = (TASK / cols).max(1);
        let widened = |mut all: (Vec<f32>, Vec<f32>), part: &[f32]| {
            widen(part, &mut all.0, &mut all.1);
            all
        };
        let joined = |mut all: (Vec<f32>, Vec<f32>), more: (Vec<f32>, Vec<f32>)| {
            all.0.iter_mut().zip(more.0).for_each(|(l, m)| *l = if m < *l { m } else { *l });
            all.1.iter_mut().zip(more.1).for_each(|(h, m)| *h = if m > *h { m } else { *h });
            all
        };
        let (low, high) = x.as_slice().par_chunks(rows * cols).fold(nothing, widened).reduce(nothing, joined);
        low.into_iter().zip(high).collect()
    };
    on_device!(device, host(h) => h.install(ranges), gpu(_g) => ranges())
}

/// Widens the ranges by rows.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn widen(rows: &[f32], low: &mut [f32], high: &mut [f32]) {
    for row in rows.chunks_exact(low.len().max(1)) {
        for ((l, h), &v) in low.iter_mut().zip(high.iter_mut()).zip(row) {
            *l = if v < *l { v } else { *l };
            *h = if v > *h { v } else { *h };
        }
    }
}

#[cfg(test)]
mod tests {
    use ml_core::Matrix;

    use super::*;

    #[test]
    fn ranges_are_those_of_a_plain_loop() {
        for (rows, cols) in [(0, 3), (1, 1), (3000, 37), (70_000, 1), (2, 0)] {
            let data: Vec<f32> =
                (0..rows * cols).map(|i| (crate::conformance::scramble(i as u32) as i32) as f32).collect();
            let x = Matrix::from_vec(rows, cols, data).expect("finite");
            let of = |c: usize| {
                let column = (0..rows).map(|r| x.row(r)[c]);
                column.fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
            };
            let wanted: Vec<(f32, f32)> = (0..cols).map(of).collect();
            for threads in [1, 2, 7] {
                let device = Device::host_with_threads(threads).expect("the system gives the threads");
                assert_eq!(col_ranges(&device, x.view()), wanted, "{rows}x{cols}");
            }
        }
    }
}
