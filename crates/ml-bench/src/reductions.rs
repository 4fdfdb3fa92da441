//! The workloads of reductions and scans.

use ml_core::Result;
use ml_kernels::{Buffer, Device, reduce, scan};

use crate::workloads::{Unit, Workload, same, values};

/// A reduction of a list to a few numbers.
type Reduction = fn(&Device, &Buffer<f32>) -> Result<Buffer<f32>>;

/// Segments of the workload of that name.
const SEGMENTS: usize = 4096;

/// The workloads whose names `wanted` picks, of `n` elements; `exponentials` of them where functions bound the speed.
pub(crate) fn reductions(
    device: &Device,
    n: usize,
    exponentials: usize,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Workload>> {
    let all: [(&'static str, usize, f64, Reduction); 5] = [
        ("mean", n, 1.0, reduce::mean),
        // Each element is needed when the mean is known, which each element is needed for.
        ("variance", n, 2.0, |d, x| Ok(reduce::variance(d, x, 1)?.1)),
        ("max", n, 1.0, reduce::max),
        ("log_sum_exp", exponentials, 2.0, reduce::log_sum_exp),
        // Read once and written once. The kernels read twice: no portable way lets workgroups wait for each other.
        ("cumulative_sum", n, 2.0, scan::cumulative_sum),
    ];
    let mut workloads = Vec::new();
    for (name, n, passes, reduction) in all {
        if wanted(name) {
            workloads.push(workload(device, name, n, passes, reduction)?);
        }
    }
    if wanted("segment_sums") {
        let of = |d: &Device, x: &Buffer<f32>| reduce::segment_sums(d, x, &segments(d, x.len())?);
        let workload = workload(device, "segment_sums", n, 1.0, of)?;
        let (x, offsets, d) = (Buffer::upload(device, &values(n, 16))?, segments(device, n)?, device.clone());
        workloads.push(Workload {
            shape: format!("{n} f32 in {SEGMENTS} segments"),
            // The offsets lie on the device already.
            run: Box::new(move || reduce::segment_sums(&d, &x, &offsets).map(drop)),
            ..workload
        });
    }
    if wanted("row_variances") {
        let cols = 1024.min(n);
        let by_rows = move |d: &Device, x: &Buffer<f32>| Ok(reduce::row_variances(d, x, x.len() / cols, cols, 1)?.1);
        let workload = workload(device, "row_variances", n, 2.0, by_rows)?;
        workloads.push(Workload { shape: format!("{}x{cols} f32", n / cols), ..workload });
    }
    if wanted("col_variances") {
        let cols = 1024.min(n);
        let by_columns = move |d: &Device, x: &Buffer<f32>| Ok(reduce::col_variances(d, x, x.len() / cols, cols, 1)?.1);
        let workload = workload(device, "col_variances", n, 2.0, by_columns)?;
        workloads.push(Workload { shape: format!("{}x{cols} f32", n / cols), ..workload });
    }
    Ok(workloads)
}

/// `passes` times the bytes of `n` elements are what must move at the least.
fn workload(
    device: &Device,
    name: &'static str,
    n: usize,
    passes: f64,
    reduction: impl Fn(&Device, &Buffer<f32>) -> Result<Buffer<f32>> + Copy + 'static,
) -> Result<Workload> {
    let x = Buffer::upload(device, &values(n, 16))?;
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name,
        shape: format!("{n} f32"),
        unit: Unit::Bytes,
        bytes: passes * (n * 4) as f64,
        flops: 0.0,
        check: Box::new(move || {
            // Whole rows of the workloads that have rows.
            let v = values(n.min(2048 * 1024), 16);
            same(&d, |d| reduction(d, &Buffer::upload(d, &v)?))
        }),
        run: Box::new(move || reduction(&e, &x).map(drop)),
    })
}

/// Segments of unequal lengths that are all of `n` elements.
fn segments(device: &Device, n: usize) -> Result<Buffer<u32>> {
    let step = n / SEGMENTS;
    let offset = |s: usize| match s {
        0 => 0,
        SEGMENTS => n as u32,
        _ => (s * step + s % 7 * step / 16) as u32,
    };
    Buffer::upload(device, &(0..=SEGMENTS).map(offset).collect::<Vec<_>>())
}
