//! The workloads.

use ml_core::{DeviceError, Result};
use ml_kernels::conformance::bytes;
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::matmul::{Layout, matmul};
use ml_kernels::{Buffer, Device, Element, distances, histogram, reduce, scatter_add, sort};

use crate::contractions::contractions;
use crate::decompositions::decompositions;
use crate::reductions::reductions;

/// How large the workloads are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// For a test that they run at all.
    Tiny,
    /// For a few processor cores.
    Host,
    /// For a large GPU.
    Gpu,
}

/// What is recorded of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Products and sums a second.
    Flops,
    /// Bytes a second.
    Bytes,
    /// The time itself.
    Seconds,
}

impl Unit {
    /// As records spell it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Flops => "GFLOP/s",
            Unit::Bytes => "GB/s",
            Unit::Seconds => "s",
        }
    }
}

/// One thing to measure.
pub struct Workload {
    /// Operation.
    pub name: &'static str,
    /// Shape and type.
    pub shape: String,
    /// What is recorded.
    pub unit: Unit,
    /// Bytes that must move at the least: each input read once (twice where a first pass must end before the second can
    /// begin), each output written once.
    pub bytes: f64,
    /// Products and sums that must be made; 0 where memory is the floor.
    pub flops: f64,
    /// Compares the bits with the host's on a small shape of the same kind.
    pub check: Box<dyn FnMut() -> Result<()>>,
    /// One run, not waited for.
    pub run: Box<dyn FnMut() -> Result<()>>,
}

/// Deterministic values in (-2, 2) with full mantissas.
pub(crate) fn values(n: usize, seed: u32) -> Vec<f32> {
    (0..n as u32)
        .map(|i| {
            let mut x = i.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
            x ^= x >> 15;
            x = x.wrapping_mul(0x2c1b_3c6d);
            x ^= x >> 12;
            x = x.wrapping_mul(0x297a_2d39);
            x ^= x >> 15;
            f32::from_bits((x & 0x807f_ffff) | ((126 + (x >> 23 & 1)) << 23))
        })
        .collect()
}

fn words(n: usize, seed: u32) -> Vec<u32> {
    values(n, seed).iter().map(|v| v.to_bits().wrapping_mul(0x9e37_79b1) ^ (v.to_bits() >> 13)).collect()
}

/// An error if the bytes that `work` gives on `device` are not those of one thread of the host.
pub(crate) fn same<T: Element>(device: &Device, work: impl Fn(&Device) -> Result<Buffer<T>>) -> Result<()> {
    same_values(device, |d| work(d)?.read())
}

/// [`same`] for results that are on the host already.
pub(crate) fn same_values<T: Element>(device: &Device, work: impl Fn(&Device) -> Result<Vec<T>>) -> Result<()> {
    let (got, want) = (work(device)?, work(&Device::host_with_threads(1)?)?);
    if bytes(&got) == bytes(&want) {
        return Ok(());
    }
    Err(DeviceError::Failed {
        device: device.name().to_owned(),
        during: "the check before a benchmark".to_owned(),
        reason: "bits differ from those of one thread of the host".to_owned(),
    }
    .into())
}

/// Every workload on `device`.
///
/// # Errors
/// A device failure while the data is uploaded.
pub fn workloads(device: &Device, size: Size, filter: &str) -> Result<Vec<Workload>> {
    let pick = |tiny: usize, host: usize, gpu: usize| match size {
        Size::Tiny => tiny,
        Size::Host => host,
        Size::Gpu => gpu,
    };
    let mut all = Vec::new();
    let wanted = |name: &str| filter.is_empty() || name.contains(filter);
    if wanted("matmul") {
        for n in [pick(64, 1024, 1024), pick(96, 4096, 4096), pick(130, 2048, 8192)] {
            all.push(square_matmul(device, n)?);
        }
    }
    all.extend(contractions(device, size, filter)?);
    if wanted("sum") {
        let n = pick(1 << 12, 1 << 26, 1 << 28);
        all.push(sum(device, n)?);
    }
    let n = pick(1 << 12, 1 << 26, 1 << 28);
    all.extend(reductions(device, n, pick(1 << 12, 1 << 24, 1 << 28), wanted)?);
    if wanted("squared_distances") {
        let n = pick(64, 2048, 8192);
        all.push(squared_distances(device, n, n, pick(16, 256, 256))?);
    }
    if wanted("nearest") {
        all.push(nearest(device, pick(100, 60_000, 60_000), 10, pick(16, 784, 784))?);
    }
    if wanted("argmin") {
        all.push(argmin(device, pick(64, 16_384, 65_536), pick(64, 1024, 4096))?);
    }
    if wanted("top_k_rows") {
        all.push(top_k(device, pick(64, 4096, 65_536), pick(64, 4096, 4096), 10)?);
    }
    if wanted("sort") {
        all.push(sort_by_key(device, pick(1 << 12, 1 << 22, 1 << 25))?);
    }
    if wanted("histogram") {
        all.push(histogram_256(device, pick(1 << 12, 1 << 24, 1 << 28))?);
    }
    if wanted("scatter_add") {
        all.push(scatter(device, pick(64, 60_000, 1 << 20), pick(8, 128, 128), 10)?);
    }
    if wanted("map") {
        let n = pick(1 << 12, 1 << 24, 1 << 28);
        all.push(elementwise(device, "map standardise", n, (Expr::input(0) - Expr::input(1)) / Expr::input(2))?);
        all.push(elementwise(device, "map exp", n, (Expr::input(0) + Expr::input(1) * Expr::input(2)).exp())?);
    }
    all.extend(decompositions(device, size, filter)?);
    Ok(all)
}

fn square_matmul(device: &Device, n: usize) -> Result<Workload> {
    let (a, b) = (Buffer::upload(device, &values(n * n, 1))?, Buffer::upload(device, &values(n * n, 2))?);
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "matmul",
        shape: format!("{n}x{n}x{n} f32 nn"),
        unit: Unit::Flops,
        bytes: (3 * n * n * 4) as f64,
        flops: 2.0 * (n as f64) * (n as f64) * (n as f64),
        check: Box::new(move || {
            let (m, k) = (n.min(384), n.min(1500));
            let (av, bv) = (values(m * k, 1), values(k * m, 2));
            same(&d, |d| matmul(d, Layout::NN, &Buffer::upload(d, &av)?, &Buffer::upload(d, &bv)?, m, m, k))
        }),
        run: Box::new(move || matmul(&e, Layout::NN, &a, &b, n, n, n).map(drop)),
    })
}

fn sum(device: &Device, n: usize) -> Result<Workload> {
    let x = Buffer::upload(device, &values(n, 3))?;
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "sum",
        shape: format!("{n} f32"),
        unit: Unit::Bytes,
        bytes: (n * 4) as f64,
        flops: 0.0,
        check: Box::new(move || {
            let v = values(n.min(3_000_001), 3);
            same(&d, |d| reduce::sum(d, &Buffer::upload(d, &v)?))
        }),
        run: Box::new(move || reduce::sum(&e, &x).map(drop)),
    })
}

fn squared_distances(device: &Device, n: usize, m: usize, k: usize) -> Result<Workload> {
    let (x, y) = (Buffer::upload(device, &values(n * k, 4))?, Buffer::upload(device, &values(m * k, 5))?);
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "squared_distances",
        shape: format!("{n}x{m}x{k} f32"),
        unit: Unit::Flops,
        bytes: ((n * k + m * k + n * m) * 4) as f64,
        flops: 3.0 * n as f64 * m as f64 * k as f64,
        check: Box::new(move || {
            let (n, m) = (n.min(200), m.min(170));
            let (xv, yv) = (values(n * k, 4), values(m * k, 5));
            same(&d, |d| distances::squared_distances(d, &Buffer::upload(d, &xv)?, &Buffer::upload(d, &yv)?, n, m, k))
        }),
        run: Box::new(move || distances::squared_distances(&e, &x, &y, n, m, k).map(drop)),
    })
}

fn nearest(device: &Device, n: usize, m: usize, k: usize) -> Result<Workload> {
    let (x, y) = (Buffer::upload(device, &values(n * k, 4))?, Buffer::upload(device, &values(m * k, 5))?);
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "nearest",
        shape: format!("{n}x{m}x{k} f32"),
        unit: Unit::Flops,
        bytes: ((n * k + m * k + 2 * n) * 4) as f64,
        flops: 3.0 * n as f64 * m as f64 * k as f64,
        check: Box::new(move || {
            let n = n.min(500);
            let (xv, yv) = (values(n * k, 4), values(m * k, 5));
            same(&d, |d| Ok(distances::nearest(d, &Buffer::upload(d, &xv)?, &Buffer::upload(d, &yv)?, n, m, k)?.0))
        }),
        run: Box::new(move || distances::nearest(&e, &x, &y, n, m, k).map(drop)),
    })
}

fn argmin(device: &Device, rows: usize, cols: usize) -> Result<Workload> {
    let x = Buffer::upload(device, &values(rows * cols, 6))?;
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "argmin_rows",
        shape: format!("{rows}x{cols} f32"),
        unit: Unit::Bytes,
        bytes: (rows * cols * 4) as f64,
        flops: 0.0,
        check: Box::new(move || {
            let rows = rows.min(300);
            let v = values(rows * cols, 6);
            same(&d, |d| Ok(reduce::argmin_rows(d, &Buffer::upload(d, &v)?, rows, cols)?.0))
        }),
        run: Box::new(move || reduce::argmin_rows(&e, &x, rows, cols).map(drop)),
    })
}

fn top_k(device: &Device, rows: usize, cols: usize, k: usize) -> Result<Workload> {
    let x = Buffer::upload(device, &values(rows * cols, 15))?;
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "top_k_rows",
        shape: format!("{rows}x{cols} f32, {k} least"),
        unit: Unit::Bytes,
        bytes: (rows * cols * 4 + rows * k * 8) as f64,
        flops: 0.0,
        check: Box::new(move || {
            let rows = rows.min(300);
            let v = values(rows * cols, 15);
            same(&d, |d| Ok(reduce::top_k_rows(d, &Buffer::upload(d, &v)?, rows, cols, k, reduce::Order::Smallest)?.0))
        }),
        run: Box::new(move || reduce::top_k_rows(&e, &x, rows, cols, k, reduce::Order::Smallest).map(drop)),
    })
}

fn sort_by_key(device: &Device, n: usize) -> Result<Workload> {
    let (keys, rows) = (Buffer::upload(device, &words(n, 7))?, Buffer::upload(device, &words(n, 8))?);
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "sort_by_key",
        shape: format!("{n} u32 keys and values"),
        unit: Unit::Bytes,
        bytes: (n * 16) as f64,
        flops: 0.0,
        check: Box::new(move || {
            let n = n.min(300_001);
            let (k, v) = (words(n, 7).iter().map(|w| w % 5000).collect::<Vec<_>>(), words(n, 8));
            same(&d, |d| Ok(sort::sort_by_key(d, &Buffer::upload(d, &k)?, &Buffer::upload(d, &v)?)?.1))
        }),
        run: Box::new(move || sort::sort_by_key(&e, &keys, &rows).map(drop)),
    })
}

fn histogram_256(device: &Device, n: usize) -> Result<Workload> {
    let bins: Vec<u32> = words(n, 9).iter().map(|w| w >> 24).collect();
    let x = Buffer::upload(device, &bins)?;
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "histogram",
        shape: format!("{n} u32 in 256 bins"),
        unit: Unit::Bytes,
        bytes: (n * 4) as f64,
        flops: 0.0,
        check: Box::new(move || {
            let v: Vec<u32> = words(n.min(500_003), 9).iter().map(|w| w >> 24).collect();
            same(&d, |d| histogram::histogram(d, &Buffer::upload(d, &v)?, 256))
        }),
        run: Box::new(move || histogram::histogram(&e, &x, 256).map(drop)),
    })
}

fn scatter(device: &Device, rows: usize, cols: usize, groups: usize) -> Result<Workload> {
    let group = move |n: usize| words(n, 11).iter().map(|w| w % groups as u32).collect::<Vec<_>>();
    let (x, g) = (Buffer::upload(device, &values(rows * cols, 10))?, Buffer::upload(device, &group(rows))?);
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: "scatter_add",
        shape: format!("{rows}x{cols} f32 into {groups} groups"),
        unit: Unit::Bytes,
        bytes: (rows * cols * 4 + rows * 4) as f64,
        flops: 0.0,
        check: Box::new(move || {
            let rows = rows.min(2000);
            let (v, g) = (values(rows * cols, 10), group(rows));
            same(&d, |d| {
                scatter_add::scatter_add(d, &Buffer::upload(d, &v)?, &Buffer::upload(d, &g)?, rows, cols, groups)
            })
        }),
        run: Box::new(move || scatter_add::scatter_add(&e, &x, &g, rows, cols, groups).map(drop)),
    })
}

fn elementwise(device: &Device, name: &'static str, n: usize, expr: Expr) -> Result<Workload> {
    let cols = 1024.min(n);
    let rows = n / cols;
    let (x, r, c) = (values(rows * cols, 12), values(cols, 13), values(cols, 14));
    let (d, e, f) = (device.clone(), device.clone(), expr.clone());
    let (xb, rb, cb) = (Buffer::upload(device, &x)?, Buffer::upload(device, &r)?, Buffer::upload(device, &c)?);
    Ok(Workload {
        name,
        shape: format!("{rows}x{cols} f32"),
        unit: Unit::Bytes,
        bytes: (rows * cols * 8) as f64,
        flops: 0.0,
        check: Box::new(move || {
            let rows = rows.min(300);
            same(&d, |d| {
                let (x, r, c) = (Buffer::upload(d, &x[..rows * cols])?, Buffer::upload(d, &r)?, Buffer::upload(d, &c)?);
                map(d, &f, &[Operand::Full(&x), Operand::Row(&r), Operand::Row(&c)], &[], rows, cols)
            })
        }),
        run: Box::new(move || {
            map(&e, &expr, &[Operand::Full(&xb), Operand::Row(&rb), Operand::Row(&cb)], &[], rows, cols).map(drop)
        }),
    })
}
