//! Decompositions of matrices: the shapes that `benches/peers/linalg_peers.py` times.

use ml_core::Result;
use ml_kernels::linalg::{Triangle, cholesky, lstsq, lu, qr, singular_values, svd, symmetric_eigen, triangular_solve};
use ml_kernels::{Buffer, Device};

use crate::workloads::{Size, Unit, Workload, same_values, values};

/// Rows of the smaller matrix on which bits are compared before anything is timed.
const CHECKED_ROWS: usize = 200;

/// What one run gives, on the host.
type Run = fn(&Device, &Buffer<f32>, usize) -> Result<Vec<Buffer<f32>>>;

/// A decomposition of square matrices.
struct Kind {
    name: &'static str,
    /// Products and sums over the cube of the rows, at the least: of the reductions and of the way back of the vectors.
    /// Iterations are not counted.
    flops: f64,
    /// Whether the largest matrix is measured only if the decomposition is asked for by name, as it takes minutes.
    long: bool,
    /// Whether a GPU computes it.
    on_device: bool,
    run: Run,
}

const KINDS: [Kind; 7] = [
    Kind {
        name: "cholesky",
        flops: 1.0 / 3.0,
        long: false,
        on_device: true,
        run: |d, a, n| Ok(vec![cholesky(d, a, n)?]),
    },
    Kind {
        name: "lu",
        flops: 2.0 / 3.0,
        long: false,
        on_device: false,
        run: |d, a, n| Ok(vec![lu(d, a, n, n)?.factors]),
    },
    Kind {
        name: "triangular_solve",
        flops: 1.0,
        long: false,
        on_device: false,
        run: |d, a, n| Ok(vec![triangular_solve(d, a, a, n, n, Triangle::default())?]),
    },
    Kind {
        name: "qr",
        flops: 8.0 / 3.0,
        long: false,
        on_device: false,
        run: |d, a, n| {
            let (q, r) = qr(d, a, n, n)?;
            Ok(vec![q, r])
        },
    },
    Kind {
        name: "symmetric_eigen",
        flops: 10.0 / 3.0,
        long: true,
        on_device: false,
        run: |d, a, n| {
            let (values, vectors) = symmetric_eigen(d, a, n)?;
            Ok(vec![values, vectors])
        },
    },
    Kind {
        name: "singular_values",
        flops: 8.0 / 3.0,
        long: true,
        on_device: false,
        run: |d, a, n| Ok(vec![singular_values(d, a, n, n)?]),
    },
    Kind {
        name: "svd",
        flops: 20.0 / 3.0,
        long: true,
        on_device: false,
        run: |d, a, n| {
            let found = svd(d, a, n, n)?;
            Ok(vec![found.u, found.values, found.vt])
        },
    },
];

/// Every decomposition on `device`; on a GPU at full size only those that compute there, or that `filter` names: the others
/// run on the host whatever the device, and would take most of a run's time to say nothing of it.
///
/// # Errors
/// A device failure while the data is uploaded.
pub(crate) fn decompositions(device: &Device, size: Size, filter: &str) -> Result<Vec<Workload>> {
    let mut all = Vec::new();
    for kind in &KINDS {
        let by_name = !filter.is_empty() && kind.name.contains(filter);
        if !filter.is_empty() && !by_name || size == Size::Gpu && !by_name && !kind.on_device {
            continue;
        }
        match size {
            Size::Tiny => all.push(square(device, kind, 70)?),
            Size::Host | Size::Gpu => {
                all.push(square(device, kind, 1024)?);
                if by_name || !kind.long {
                    all.push(square(device, kind, 4096)?);
                }
            }
        }
    }
    if filter.is_empty() && size != Size::Gpu || !filter.is_empty() && "lstsq".contains(filter) {
        let (m, n) = if size == Size::Tiny { (90, 20) } else { (4096, 512) };
        all.push(least_squares(device, m, n)?);
    }
    Ok(all)
}

/// A matrix with a diagonal that makes it positive definite: the lower triangle is that of a symmetric one.
fn matrix(n: usize) -> Vec<f32> {
    let mut a = values(n * n, 31);
    (0..n).for_each(|i| a[i * n + i] = 2.0 * n as f32);
    a
}

fn read(buffers: Vec<Buffer<f32>>) -> Result<Vec<f32>> {
    Ok(buffers.iter().map(Buffer::read).collect::<Result<Vec<_>>>()?.concat())
}

fn square(device: &Device, kind: &Kind, n: usize) -> Result<Workload> {
    // Only the factor needs the diagonal; for the others a spectrum of two scales would be easier than a usual one.
    let of =
        |n: usize| if matches!(kind.name, "cholesky" | "triangular_solve") { matrix(n) } else { values(n * n, 32) };
    let (a, small) = (Buffer::upload(device, &of(n))?, of(n.min(CHECKED_ROWS)));
    let (d, e, run) = (device.clone(), device.clone(), kind.run);
    Ok(Workload {
        name: kind.name,
        shape: format!("{n}x{n} f32"),
        unit: Unit::Seconds,
        bytes: (2 * n * n * 4) as f64,
        flops: kind.flops * (n as f64) * (n as f64) * (n as f64),
        check: Box::new(move || same_values(&d, |d| read(run(d, &Buffer::upload(d, &small)?, n.min(CHECKED_ROWS))?))),
        run: Box::new(move || run(&e, &a, n).map(drop)),
    })
}

fn least_squares(device: &Device, m: usize, n: usize) -> Result<Workload> {
    let (a, b) = (values(m * n, 33), values(m, 34));
    let (ab, bb) = (Buffer::upload(device, &a)?, Buffer::upload(device, &b)?);
    let (d, e) = (device.clone(), device.clone());
    let (rows, cols) = (m as f64, n as f64);
    Ok(Workload {
        name: "lstsq",
        shape: format!("{m}x{n} f32, one right side"),
        unit: Unit::Seconds,
        bytes: ((m * n + m + n) * 4) as f64,
        // The reduction to R, and that of R to the two diagonals that hold the singular values.
        flops: 2.0 * cols * cols * (rows - cols / 3.0) + 8.0 / 3.0 * cols * cols * cols,
        check: Box::new(move || {
            let m = m.min(3 * CHECKED_ROWS);
            same_values(&d, |d| {
                let (a, b) = (Buffer::upload(d, &a[..m * n])?, Buffer::upload(d, &b[..m])?);
                let found = lstsq(d, &a, &b, m, n, 1, None)?;
                read(vec![found.solution, found.residuals, found.singular_values])
            })
        }),
        run: Box::new(move || lstsq(&e, &ab, &bb, m, n, 1, None).map(drop)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_not_asked_for_what_the_host_does() {
        let names = |filter| -> Vec<&str> {
            let all = decompositions(&Device::host(), Size::Gpu, filter).expect("fits");
            all.iter().map(|workload| workload.name).collect()
        };
        assert_eq!(names(""), ["cholesky", "cholesky"]);
        assert_eq!(names("lu"), ["lu", "lu", "singular_values", "singular_values"]);
        assert_eq!(names("lstsq"), ["lstsq"]);
    }
}
