//! What a driver's failures become: typed errors at the first read, on a device that lives on unless it is gone.

use cubecl::prelude::*;
use cubecl::server::{Handle, IoError, LaunchError, ResourceLimitError, ServerError};
use ml_core::{DeviceError, Error, Result};

use super::faults::Fault;
use super::gpu::{CUBE, Gpu, fault_in, fault_of};
use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// Writes 7 everywhere. Nothing is wrong with it, but with some ways to launch it.
#[cube(launch_unchecked)]
fn sevens(out: &mut Array<u32>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = 7u32;
    }
}

/// Doubles in double precision, which some devices do not know.
#[cube(launch_unchecked)]
fn wide(out: &mut Array<u32>) {
    if ABSOLUTE_POS < out.len() {
        let x = f64::cast_from(out[ABSOLUTE_POS]);
        out[ABSOLUTE_POS] = u32::cast_from(x + x);
    }
}

/// Asks for 64 MiB of shared memory.
#[cube(launch_unchecked)]
fn greedy(out: &mut Array<u32>) {
    let mut shared = SharedMemory::<u32>::new(16_777_216usize);
    shared[UNIT_POS as usize] = 7u32;
    sync_cube();
    out[UNIT_POS as usize] = shared[(CUBE - 1u32 - UNIT_POS) as usize];
}

#[derive(Debug, Clone, Copy)]
enum Kernel {
    Sevens,
    Wide,
    Greedy,
}

/// Launches over `CUBE` elements that hold 1, and gives the memory.
fn launch<R: Runtime>(g: &Gpu<R>, kernel: Kernel, cubes: u32, units: u32) -> Result<Handle> {
    let out = g.upload_one(&[1u32; CUBE as usize])?;
    let (count, dim) = (CubeCount::Static(cubes, 1, 1), CubeDim::new_1d(units));
    g.guard("misfit", 0, || {
        // SAFETY: the kernels check their bound, or run on `CUBE` units over `CUBE` elements.
        unsafe {
            let out = ArrayArg::from_raw_parts(out.clone(), CUBE as usize);
            match kernel {
                Kernel::Sevens => sevens::launch_unchecked::<R>(g.client(), count, dim, out),
                Kernel::Wide => wide::launch_unchecked::<R>(g.client(), count, dim, out),
                Kernel::Greedy => greedy::launch_unchecked::<R>(g.client(), count, dim, out),
            }
        }
    })?;
    Ok(out)
}

fn run(device: &Device, kernel: Kernel, cubes: u32, units: u32) -> Result<Vec<u32>> {
    on_device!(device, host(_h) => Ok(Vec::new()), gpu(g) => {
        launch(g, kernel, cubes, units).and_then(|out| g.read_one(&out, CUBE as usize))
    })
}

fn gpus() -> Vec<Device> {
    crate::conformance::test_devices().into_iter().filter(|d| !d.is_host()).collect()
}

/// Good work gives good results, and nobody is told of a fault twice.
fn lives(device: &Device) {
    assert_eq!(run(device, Kernel::Sevens, 1, CUBE).expect("the device lives on"), [7; CUBE as usize]);
    device.sync().expect("the device lives on");
}

/// The error says that the kernel `misfit` could not be compiled.
fn assert_refused(device: &Device, result: &Result<Vec<u32>>) {
    match result {
        Err(Error::Device(DeviceError::Compile { device: name, kernel, reason })) => {
            assert_eq!(name, device.name());
            assert!(kernel.contains("misfit"), "{kernel}");
            assert!(!reason.is_empty());
        }
        other => panic!("{}: {other:?}", device.name()),
    }
}

#[test]
fn buffers_of_two_devices_do_not_meet() {
    for device in gpus() {
        let there = Buffer::upload(&device, &[1.0f32, 2.0]).expect("fits");
        let x = crate::map::Expr::input(0);
        let result = crate::map::map(&Device::host(), &x, &[crate::map::Operand::Full(&there)], &[], 1, 2);
        assert!(matches!(result, Err(Error::Device(DeviceError::WrongDevice { .. }))), "{result:?}");
    }
}

/// What runtimes say in words or in types that no test here can provoke: a CUDA device that runs out of memory or that is
/// lost, a compiler of a vendor.
#[test]
fn the_words_of_runtimes_are_understood() {
    use cubecl::backtrace::BackTrace;
    let oom = |words: &str| assert!(matches!(fault_in(words.to_owned()), Fault::OutOfMemory(_)), "{words}");
    oom("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")");
    oom("hipErrorOutOfMemory");
    oom("Out of Memory");
    oom("can't allocate buffer of size: 1099511627776");
    let lost = |words: &str| assert!(matches!(fault_in(words.to_owned()), Fault::Lost(_)), "{words}");
    lost("Parent device is lost");
    lost("VK_ERROR_DEVICE_LOST");
    assert!(matches!(fault_in("[Compilation Error] nvrtc: error".to_owned()), Fault::Compile(_)));
    assert!(matches!(fault_in("CUDA_ERROR_ILLEGAL_ADDRESS".to_owned()), Fault::Failed(_)));

    let backtrace = BackTrace::capture;
    let units = ResourceLimitError::Units { requested: 4096, max: 1024, backtrace: backtrace() };
    let memory = LaunchError::OutOfMemory { reason: "no memory".to_owned(), backtrace: backtrace() };
    let big = IoError::BufferTooBig { size: 1, backtrace: backtrace() };
    for (e, want) in [
        (ServerError::Launch(units.into()), "compile"),
        (ServerError::Launch(memory.clone()), "memory"),
        (ServerError::Io(big.clone()), "memory"),
        (ServerError::Io(IoError::Execution(Box::new(ServerError::Launch(memory)))), "memory"),
        (ServerError::Generic { reason: "something".to_owned(), backtrace: backtrace() }, "failed"),
    ] {
        // The first cause counts, however deep it lies.
        let nested =
            ServerError::ServerUnhealthy { errors: vec![e, ServerError::Io(big.clone())], backtrace: backtrace() };
        let found = match fault_of(&nested) {
            Fault::OutOfMemory(_) => "memory",
            Fault::Compile(_) => "compile",
            Fault::Lost(_) => "lost",
            Fault::Failed(_) => "failed",
        };
        assert_eq!(found, want, "{nested}");
    }
}

/// Faults, each in a process of its own, which is this test program started anew: every thread of a process is told of
/// what happened to a device, and the tests beside these would be told too.
#[cfg(feature = "wgpu")]
mod alone {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::device::gpu::take_away;

    /// Set in the process that has a fault to itself.
    const ALONE: &str = "ISOBIT_TEST_ALONE";

    /// Runs the test `name` of this program alone; whether this is that run.
    fn alone(name: &str) -> bool {
        if std::env::var_os(ALONE).is_some() {
            return true;
        }
        let mut child = Command::new(std::env::current_exe().expect("the program is running"))
            .args([&format!("device::gpu_tests::alone::{name}"), "--exact", "--nocapture"])
            .env(ALONE, "1")
            .spawn()
            .expect("the program can be started again");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("the child is ours") {
                break status;
            }
            if start.elapsed() > Duration::from_secs(120) {
                child.kill().expect("the child is ours");
                panic!("{name} hangs");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{name}: {status}");
        false
    }

    fn software() -> Vec<Device> {
        let software = |d: &Device| ["llvmpipe", "SwiftShader"].iter().any(|name| d.info().adapter.contains(name));
        gpus().into_iter().filter(software).collect()
    }

    fn name_of(device: &Device) -> &'static str {
        if device.info().adapter.contains("llvmpipe") { "vulkan:llvmpipe" } else { "vulkan:swiftshader" }
    }

    #[test]
    fn a_workgroup_too_large_is_refused() {
        if !alone("a_workgroup_too_large_is_refused") {
            return;
        }
        for device in gpus() {
            lives(&device);
            // The memory holds what an earlier test left there: without a look at what failed, this would be handed out.
            assert_refused(&device, &run(&device, Kernel::Sevens, 1, 1 << 20));
            lives(&device);
        }
    }

    #[test]
    fn a_kernel_with_too_much_shared_memory_is_refused() {
        if !alone("a_kernel_with_too_much_shared_memory_is_refused") {
            return;
        }
        for device in gpus() {
            assert_refused(&device, &run(&device, Kernel::Greedy, 1, CUBE));
            lives(&device);
        }
    }

    /// SwiftShader has no double precision and others do: either the right result or a typed error, and where the compiler
    /// is known to refuse, that.
    #[test]
    fn a_kernel_that_does_not_compile_is_refused() {
        if !alone("a_kernel_that_does_not_compile_is_refused") {
            return;
        }
        for device in gpus() {
            let result = run(&device, Kernel::Wide, 1, CUBE);
            match &result {
                Ok(out) if !device.info().adapter.contains("SwiftShader") => assert_eq!(out, &[2; CUBE as usize]),
                _ => assert_refused(&device, &result),
            }
            lives(&device);
        }
    }

    /// The waist folds its grids; a runtime that is given one too wide says so, one way or the other.
    #[test]
    fn a_grid_too_wide_is_an_error() {
        if !alone("a_grid_too_wide_is_an_error") {
            return;
        }
        for device in gpus().into_iter().filter(|d| d.info().runtime == "vulkan") {
            let result = run(&device, Kernel::Sevens, 1 << 20, 1);
            let typed = match &result {
                Err(Error::Device(DeviceError::Failed { reason, .. })) => reason.contains("65535"),
                _ => false,
            };
            assert!(typed, "{}: {result:?}", device.name());
            lives(&device);
        }
    }

    /// One allocation of a tebibyte, past the waist's own cutting into pieces.
    #[test]
    fn an_allocation_beyond_the_device_is_out_of_memory_and_tells_its_size() {
        if !alone("an_allocation_beyond_the_device_is_out_of_memory_and_tells_its_size") {
            return;
        }
        const TIB: usize = 1 << 40;
        for device in gpus() {
            let result = on_device!(&device, host(_h) => Ok(()), gpu(g) => g.alloc_one::<u8>(TIB).map(drop));
            let typed =
                matches!(&result, Err(Error::Device(DeviceError::OutOfMemory { bytes, .. })) if *bytes == TIB as u64);
            assert!(typed, "{}: {result:?}", device.name());
            lives(&device);
        }
    }

    /// Memory that was not granted is noticed when something made of it is read, if not before.
    #[test]
    // pathway test: P90
    fn a_result_of_memory_that_was_not_granted_is_not_read() {
        if !alone("a_result_of_memory_that_was_not_granted_is_not_read") {
            return;
        }
        for device in gpus() {
            let result = on_device!(&device, host(_h) => Ok(Vec::new()), gpu(g) => {
                // Not through `alloc_one`, which would notice at once.
                let handle = g.client().empty(1 << 40);
                g.read_one::<u32>(&handle.clone().offset_end((1 << 40) - 16), 4)
            });
            let typed = matches!(&result, Err(Error::Device(DeviceError::OutOfMemory { .. })));
            assert!(typed, "{}: {result:?}", device.name());
            lives(&device);
        }
    }

    /// A buffer that was handed to another thread is no way around the error of the thread that made it.
    #[test]
    fn another_thread_does_not_read_what_was_never_computed() {
        if !alone("another_thread_does_not_read_what_was_never_computed") {
            return;
        }
        for device in gpus() {
            let made = on_device!(&device, host(_h) => None, gpu(g) => launch(g, Kernel::Sevens, 1, 1 << 20).ok());
            let made = made.expect("a launch says nothing yet");
            let there = device.clone();
            let read = std::thread::spawn(
                move || on_device!(&there, host(_h) => Ok(Vec::new()), gpu(g) => g.read_one::<u32>(&made, CUBE as usize)),
            );
            let result = read.join().expect("no panic");
            assert!(matches!(result, Err(Error::Device(DeviceError::Compile { .. }))), "{}: {result:?}", device.name());
            // The thread that made it is told as well, once.
            assert_refused(&device, &run(&device, Kernel::Sevens, 1, CUBE));
            lives(&device);
        }
    }

    /// A software device has the memory of its process, so one that may take no more than another gibibyte is small.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_that_runs_out_of_memory_says_so_and_lives_on() {
        if !alone("a_device_that_runs_out_of_memory_says_so_and_lives_on") {
            return;
        }
        let devices = software();
        for device in &devices {
            lives(device);
            let (bytes, limit) = address_space();
            limit_memory(&(bytes + (1 << 30)).to_string());
            let mut kept = Vec::new();
            let result = (0..64).try_for_each(|_| {
                on_device!(device, host(_h) => Ok(()), gpu(g) => {
                    kept.push(crate::buffer::Chunks::<f32>::alloc(g, 16 << 20)?);
                    Ok(())
                })
            });
            let typed =
                matches!(&result, Err(Error::Device(DeviceError::OutOfMemory { bytes, .. })) if *bytes == 64 << 20);
            assert!(typed, "{}: {result:?} after {} pieces", device.name(), kept.len());
            // The drivers themselves end a process in which they find no memory for a thread or a kernel: what is asked
            // is whether the device outlives the refusal, not the shortage.
            limit_memory(&limit);
            drop(kept);
            lives(device);
        }
    }

    /// Bytes of address space that this process has, and the limit that holds it, as `prlimit` writes one.
    #[cfg(target_os = "linux")]
    fn address_space() -> (u64, String) {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
        let pages: u64 = statm.split(' ').next().and_then(|n| n.parse().ok()).expect("its first number is the size");
        let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux has it");
        let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next());
        (pages * 4096, limit.expect("Linux lists it").to_owned())
    }

    #[cfg(target_os = "linux")]
    fn limit_memory(limit: &str) {
        let pid = std::process::id().to_string();
        let limit = Command::new("prlimit").args(["--pid", &pid, &format!("--as={limit}:")]).status();
        assert!(limit.expect("prlimit, of util-linux, is part of every Linux").success());
    }

    #[test]
    fn a_lost_device_is_an_error_for_good_and_can_be_opened_anew() {
        if !alone("a_lost_device_is_an_error_for_good_and_can_be_opened_anew") {
            return;
        }
        for device in software() {
            let data: Vec<u32> = (0..1000).collect();
            let before = Buffer::upload(&device, &data).expect("fits");
            lives(&device);
            take_away(&device);
            let lost = |result: Result<Vec<u32>>| match result {
                Err(Error::Device(DeviceError::Failed { reason, .. })) => assert!(reason.contains("lost"), "{reason}"),
                other => panic!("{}: {other:?}", device.name()),
            };
            lost(before.read());
            lost(before.read());
            lost(Buffer::upload(&device, &data).and_then(|b| b.read()));
            lost(run(&device, Kernel::Sevens, 1, CUBE));
            lost(device.sync().map(|()| Vec::new()));

            let again: Device = name_of(&device).parse().expect("the driver is still there");
            lives(&again);
            // What lived on the lost device does not live on this one, though their names are equal.
            let x = crate::map::Expr::input(0);
            let old = Buffer::<f32>::upload(&again, &[1.0]).expect("fits");
            assert!(crate::map::map(&again, &x, &[crate::map::Operand::Full(&old)], &[], 1, 1).is_ok());
            let moved = before.to(&again);
            assert!(matches!(moved, Err(Error::Device(DeviceError::Failed { .. }))), "{moved:?}");
        }
    }
}
