//! Criterion benchmarks of the primitives, on the devices that `ISOBIT_DEVICES` lists (the host by default).
//!
//! Every workload compares its bits with the host's before it is timed. `cargo xtask bench` runs the same workloads and
//! writes records with floor and ratio.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ml_bench::{Size, workloads};

fn primitives(c: &mut Criterion) {
    // `cargo test --benches` passes `--test`: then it is enough that everything runs.
    let test = std::env::args().any(|a| a == "--test");
    for device in ml_kernels::conformance::test_devices() {
        let size = match (test, device.is_host()) {
            (true, _) => Size::Tiny,
            (false, true) => Size::Host,
            (false, false) => Size::Gpu,
        };
        let mut group = c.benchmark_group(device.name().replace(':', "-"));
        group.sample_size(10);
        for mut workload in workloads(&device, size, "").expect("the workloads fit the device") {
            (workload.check)().expect("the bits are the host's");
            group.throughput(Throughput::Bytes(workload.bytes as u64));
            group.bench_function(format!("{}/{}", workload.name, workload.shape), |b| {
                b.iter(|| {
                    (workload.run)().expect("the device works");
                    device.sync().expect("the device works");
                })
            });
        }
        group.finish();
    }
}

criterion_group!(benches, primitives);
criterion_main!(benches);
