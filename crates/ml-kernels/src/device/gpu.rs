//! What every GPU runtime shares: allocation, transfer, launch geometry, and the turning of driver failures into errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cubecl::prelude::*;
use cubecl::server::{Handle, IoError, LaunchError, ServerError};
use cubecl::stream_id::StreamId;
use ml_core::{DeviceError, Error, Result};

use super::faults::{Fault, Faults, Since};
use super::{Backend, Device, DeviceInfo, Inner};
use crate::sabotage::Arm;

/// Units of a one-dimensional workgroup; part of no rounding.
pub(crate) const CUBE: u32 = 256;

/// Starts of sub-bindings must be multiples of this on every runtime (WebGPU's strictest).
pub(crate) const ALIGN_BYTES: u64 = 256;

/// Element offsets inside one binding are `u32`, so no binding exceeds this.
const MAX_BINDING: u64 = 1 << 32;

/// An allocation of this size or more is waited for, so that the error of one that fails carries its size. A smaller one is
/// found missing when a result is read.
const LARGE_BYTES: u64 = 64 << 20;

/// How often a thread that waits for a device looks whether the device is still there.
const LOOK: Duration = Duration::from_millis(50);

/// A client with its limits.
pub(crate) struct Gpu<R: Runtime> {
    client: ComputeClient<R>,
    name: String,
    /// What failed since somebody looked; shared by all clones.
    faults: Arc<Faults>,
    max_binding_bytes: u64,
    max_grid: u32,
}

impl<R: Runtime> Clone for Gpu<R> {
    fn clone(&self) -> Self {
        Gpu {
            client: self.client.clone(),
            name: self.name.clone(),
            faults: self.faults.clone(),
            max_binding_bytes: self.max_binding_bytes,
            max_grid: self.max_grid,
        }
    }
}

impl<R: Runtime> Gpu<R> {
    fn new(client: ComputeClient<R>, name: &str, faults: Arc<Faults>) -> Self {
        let props = client.properties();
        let page = props.memory.max_page_size.min(MAX_BINDING) / ALIGN_BYTES * ALIGN_BYTES;
        let grid = props.hardware.max_cube_count.0.min(65_535);
        Gpu { name: name.to_owned(), faults, max_binding_bytes: page, max_grid: grid, client }
    }

    pub(super) fn set_limits(&mut self, max_binding_bytes: u64, max_grid: u32) {
        self.max_binding_bytes = max_binding_bytes / ALIGN_BYTES * ALIGN_BYTES;
        self.max_grid = max_grid;
    }

    /// Stands for the memory: the same for every way to the same device.
    pub(super) fn faults(&self) -> &Arc<Faults> {
        &self.faults
    }

    pub(crate) fn client(&self) -> &ComputeClient<R> {
        &self.client
    }

    /// Most elements of `T` in one binding.
    pub(crate) fn max_elements<T>(&self) -> usize {
        (self.max_binding_bytes as usize / size_of::<T>()).max(1)
    }

    /// Workgroups for `units` work items of which each workgroup does `per_cube`; folded into two axes when one is too
    /// short. Kernels index by `CUBE_POS` or `ABSOLUTE_POS`, which run over all axes, and check their bound.
    // pathway: P86
    pub(crate) fn grid(&self, units: usize, per_cube: usize) -> CubeCount {
        let cubes = units.div_ceil(per_cube).max(1) as u64;
        let x = cubes.min(self.max_grid as u64);
        CubeCount::Static(x as u32, cubes.div_ceil(x) as u32, 1)
    }

    /// Row ranges so that each operand's part, `elements_per_row` elements a row, fits one binding.
    pub(crate) fn row_panels(&self, rows: usize, elements_per_row: &[usize]) -> Vec<std::ops::Range<usize>> {
        let widest = elements_per_row.iter().copied().max().unwrap_or(1).max(1);
        let step = (self.max_elements::<u32>() / widest).max(1);
        (0..rows).step_by(step).map(|r| r..(r + step).min(rows)).collect()
    }

    /// Uninitialised device memory for `len` elements within one binding.
    pub(crate) fn alloc_one<T>(&self, len: usize) -> Result<Handle> {
        let bytes = len.max(1) * size_of::<T>();
        let handle = self.guard("allocation", bytes as u64, || self.client.empty(bytes))?;
        if bytes as u64 >= LARGE_BYTES {
            self.guard("allocation", bytes as u64, || self.client.get_resource(handle.clone()).map(drop))?
                .map_err(|e| self.failed("allocation", fault_of(&e)))?;
        }
        Ok(handle)
    }

    pub(crate) fn upload_one<T: bytemuck::Pod>(&self, data: &[T]) -> Result<Handle> {
        if data.is_empty() {
            return self.alloc_one::<T>(1);
        }
        let bytes: &[u8] = bytemuck::cast_slice(data);
        self.guard("upload", bytes.len() as u64, || self.client.create_from_slice(bytes))
    }

    // pathway: P90
    pub(crate) fn read_one<T: bytemuck::Pod>(&self, handle: &Handle, len: usize) -> Result<Vec<T>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let read = self.guard("read", 0, || self.wait(self.client.read_async(vec![handle.clone()])))??;
        // What failed before the read is the cause of what fails in it.
        self.settle(handle)?;
        let bytes = read.map_err(|e| self.failed("read", fault_of(&e)))?;
        let mut out = vec![T::zeroed(); len];
        let view: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
        match bytes.first().and_then(|b| b.get(..view.len())) {
            Some(bytes) => view.copy_from_slice(bytes),
            None => return Err(self.failed("read", Fault::Failed("too few bytes came back".to_owned()))),
        }
        Ok(out)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.guard("sync", 0, || self.wait(self.client.sync()))??.map_err(|e| self.failed("sync", fault_of(&e)))?;
        self.look("sync")
    }

    /// Runs a launch or transfer; a panic inside the runtime becomes a typed error. That it returns says nothing about
    /// what the device makes of it: see [`Faults`]. `bytes` is what it allocates.
    pub(crate) fn guard<T>(&self, during: &'static str, bytes: u64, work: impl FnOnce() -> T) -> Result<T> {
        self.faults.begin(during, bytes);
        if self.faults.lost().is_some() {
            self.look(during)?;
        }
        catch_unwind(AssertUnwindSafe(work)).map_err(|panic| self.failed(during, fault_in(panic_text(panic.as_ref()))))
    }

    /// Looks for what failed of all that `handle` may depend on.
    ///
    /// Not every runtime does this when it reads: one hands out whatever the memory held before.
    fn settle(&self, handle: &Handle) -> Result<()> {
        let flush = || self.client.flush();
        self.guard("read", 0, flush)?.map_err(|e| self.failed("read", fault_of(&e)))?;
        if handle.stream != StreamId::current() {
            // Another thread's memory; its errors lie with that thread's stream.
            self.guard("read", 0, || handle.stream.executes(flush))?.map_err(|e| self.failed("read", fault_of(&e)))?;
        }
        self.look("read")
    }

    /// The first thing that failed and that this thread was not told of.
    fn look(&self, during: &'static str) -> Result<()> {
        match self.faults.next() {
            Some((fault, since)) => Err(self.error(during, fault, &since)),
            None => Ok(()),
        }
    }

    /// Writes `fault` down for all threads, and gives the error for this one: of what failed first.
    fn failed(&self, during: &'static str, fault: Fault) -> Error {
        self.faults.record(fault.clone());
        let (first, since) = self.faults.next().unwrap_or((fault, Since::default()));
        self.error(during, first, &since)
    }

    fn error(&self, during: &'static str, fault: Fault, since: &Since) -> Error {
        let (device, during) = (self.name.clone(), during.to_owned());
        match fault {
            Fault::OutOfMemory(reason) => DeviceError::OutOfMemory { device, bytes: since.asked, reason },
            Fault::Compile(reason) => DeviceError::Compile { device, kernel: since.names(), reason },
            Fault::Lost(reason) | Fault::Failed(reason) => DeviceError::Failed { device, during, reason },
        }
        .into()
    }

    /// Waits for the runtime, but not for a device that is gone.
    fn wait<F: Future>(&self, future: F) -> Result<F::Output> {
        struct Unpark(std::thread::Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Ok(output);
            }
            if self.faults.lost().is_some() {
                self.look("wait")?;
            }
            std::thread::park_timeout(LOOK);
        }
    }
}

/// What a runtime's error says: its first cause.
pub(super) fn fault_of(e: &ServerError) -> Fault {
    match e {
        ServerError::ServerUnhealthy { errors, .. } if !errors.is_empty() => fault_of(&errors[0]),
        ServerError::Launch(LaunchError::OutOfMemory { reason, .. }) => Fault::OutOfMemory(reason.clone()),
        ServerError::Launch(LaunchError::CompilationError(c)) => Fault::Compile(c.to_string()),
        ServerError::Launch(LaunchError::TooManyResources(r)) => Fault::Compile(r.to_string()),
        ServerError::Io(io) | ServerError::Launch(LaunchError::IoError(io)) => match io {
            IoError::Execution(e) => fault_of(e),
            IoError::BufferTooBig { .. } => Fault::OutOfMemory(io.to_string()),
            // A handle comes from an allocation and from nowhere else, so this one's was not granted.
            IoError::NotFound { .. } => Fault::OutOfMemory(format!("an earlier allocation was not granted: {io}")),
            _ => fault_in(io.to_string()),
        },
        other => fault_in(other.to_string()),
    }
}

/// What the words of a panic or an error say.
pub(super) fn fault_in(words: String) -> Fault {
    let lower = words.to_lowercase();
    let says = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
    if says(&["out of memory", "out-of-memory", "outofmemory", "out_of_memory", "can't allocate"]) {
        Fault::OutOfMemory(words)
    } else if says(&["device is lost", "device lost", "device_lost", "devicelost"]) {
        Fault::Lost(words)
    } else if says(&["compil"]) {
        Fault::Compile(words)
    } else {
        Fault::Failed(words)
    }
}

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    if let Some(s) = panic.downcast_ref::<String>() {
        s.clone()
    } else if let Some(s) = panic.downcast_ref::<&str>() {
        (*s).to_owned()
    } else {
        "the runtime panicked".to_owned()
    }
}

#[cfg(any(feature = "cuda", feature = "hip"))]
fn library_present(names: &[&str]) -> bool {
    // SAFETY: loading a driver library runs its initialisers, which is what opening the device does anyway.
    names.iter().any(|n| unsafe { libloading::Library::new(*n) }.is_ok())
}

/// The faults of a device whose runtime gives the same memory to everybody who opens it.
#[cfg(any(feature = "cuda", feature = "hip"))]
fn faults_of(name: &str) -> Arc<Faults> {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};
    static ALL: Mutex<BTreeMap<String, Arc<Faults>>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(name.to_owned()).or_insert_with(|| Arc::new(Faults::new())).clone()
}

#[cfg(any(feature = "cuda", feature = "hip", feature = "wgpu"))]
pub(super) fn finish<R: Runtime>(
    name: String,
    client: ComputeClient<R>,
    faults: Arc<Faults>,
    mut info: DeviceInfo,
    wrap: impl FnOnce(Gpu<R>) -> Backend,
) -> Device {
    let gpu = Gpu::new(client, &name, faults);
    info.max_binding_bytes = gpu.max_binding_bytes;
    info.max_grid = gpu.max_grid;
    Device(Arc::new(Inner { name, info, backend: wrap(gpu), arm: Arm::None }))
}

#[cfg(feature = "cuda")]
pub(super) fn open_cuda(index: usize) -> Result<Device> {
    use cubecl::cuda::{CudaDevice, CudaRuntime};
    let name = format!("cuda:{index}");
    let missing =
        |reason: &str, install| DeviceError::RuntimeMissing { name: name.clone(), reason: reason.into(), install };
    if !library_present(&["libcuda.so.1", "libcuda.so", "nvcuda.dll"]) {
        return Err(missing("libcuda was not found", "the NVIDIA driver").into());
    }
    let nvrtc = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll"];
    if !library_present(&nvrtc) {
        return Err(missing("libnvrtc was not found", "the CUDA toolkit (NVRTC and its headers)").into());
    }
    let device = CudaDevice::new(index);
    let count = catch_unwind(|| cubecl::cuda::CudaRuntime::enumerate_devices(0, &()).len())
        .map_err(|p| missing(&panic_text(p.as_ref()), "a working NVIDIA driver"))?;
    if index >= count {
        return Err(DeviceError::NotFound { name, present: format!("{count} CUDA devices") }.into());
    }
    let client = catch_unwind(AssertUnwindSafe(|| CudaRuntime::client(&device)))
        .map_err(|p| missing(&panic_text(p.as_ref()), "a working NVIDIA driver and the CUDA toolkit (NVRTC)"))?;
    let (adapter, driver) = cuda_identity(index);
    let info = DeviceInfo { runtime: "cuda", language: "cuda", adapter, driver, max_binding_bytes: 0, max_grid: 0 };
    Ok(finish(name.clone(), client, faults_of(&name), info, Backend::Cuda))
}

#[cfg(feature = "cuda")]
fn cuda_identity(index: usize) -> (String, String) {
    let query = std::process::Command::new("nvidia-smi")
        .args(["--query-gpu=name,driver_version", "--format=csv,noheader", "-i", &index.to_string()])
        .output();
    match query {
        Ok(out) if out.status.success() => {
            let line = String::from_utf8_lossy(&out.stdout).trim().to_owned();
            let (name, driver) = line.split_once(", ").unwrap_or((&line, "unknown"));
            (name.to_owned(), format!("NVIDIA {driver}"))
        }
        _ => (format!("CUDA device {index}"), "unknown".to_owned()),
    }
}

#[cfg(feature = "hip")]
pub(super) fn open_hip(index: usize) -> Result<Device> {
    use cubecl::hip::{AmdDevice, HipRuntime};
    let name = format!("hip:{index}");
    let missing = |reason: &str| DeviceError::RuntimeMissing {
        name: name.clone(),
        reason: reason.to_owned(),
        install: "ROCm (libamdhip64 and libhiprtc)",
    };
    if !library_present(&["libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"]) {
        return Err(missing("libamdhip64 was not found").into());
    }
    let count =
        catch_unwind(|| HipRuntime::enumerate_devices(0, &()).len()).map_err(|p| missing(&panic_text(p.as_ref())))?;
    if index >= count {
        return Err(DeviceError::NotFound { name, present: format!("{count} HIP devices") }.into());
    }
    let client = catch_unwind(AssertUnwindSafe(|| HipRuntime::client(&AmdDevice::new(index))))
        .map_err(|p| missing(&panic_text(p.as_ref())))?;
    let info = DeviceInfo {
        runtime: "hip",
        language: "hip",
        adapter: format!("HIP device {index}"),
        driver: "unknown".to_owned(),
        max_binding_bytes: 0,
        max_grid: 0,
    };
    Ok(finish(name.clone(), client, faults_of(&name), info, Backend::Hip))
}

#[cfg(feature = "wgpu")]
pub(super) use through_wgpu::open_wgpu;
#[cfg(all(test, feature = "wgpu"))]
pub(super) use through_wgpu::take_away;

#[cfg(feature = "wgpu")]
mod through_wgpu {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use cubecl::wgpu::{RuntimeOptions, WgpuRuntime, WgpuSetup};

    use super::*;
    use crate::device::{DeviceName, Selector};

    /// One device an adapter: a second `wgpu` device on the same adapter would hold memory apart from the first.
    static OPEN: Mutex<BTreeMap<String, (Device, wgpu::Device)>> = Mutex::new(BTreeMap::new());

    pub(in crate::device) fn open_wgpu(name: &DeviceName) -> Result<Device> {
        let (runtime, backend, selector, install) = match name {
            DeviceName::Vulkan(s) => ("vulkan", wgpu::Backend::Vulkan, s, "a Vulkan driver and loader (libvulkan1)"),
            DeviceName::Metal(s) => ("metal", wgpu::Backend::Metal, s, "macOS with Metal"),
            DeviceName::Dx12(s) => ("dx12", wgpu::Backend::Dx12, s, "Windows with DirectX 12"),
            other => return Err(DeviceError::UnknownName { name: other.to_string() }.into()),
        };
        let failed = |reason: String| DeviceError::RuntimeMissing { name: name.to_string(), reason, install };
        let mut open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: backend.into(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = cubecl::future::block_on(instance.enumerate_adapters(backend.into()));
        if adapters.is_empty() {
            return Err(failed("no adapter is present".to_owned()).into());
        }
        let names: Vec<String> = adapters.iter().map(|a| a.get_info().name).collect();
        let index = match selector {
            Selector::Index(i) => (*i < adapters.len()).then_some(*i),
            Selector::NamePart(part) => {
                let part = part.to_lowercase();
                names.iter().position(|n| n.to_lowercase().contains(&part))
            }
        };
        let Some(index) = index else {
            return Err(DeviceError::NotFound { name: name.to_string(), present: names.join(", ") }.into());
        };
        let key = format!("{runtime}:{index}");
        // A device that is gone is opened anew.
        if let Some((device, _)) = open.get(&key).filter(|(device, _)| !lost(device)) {
            return Ok(device.clone());
        }
        let adapter = adapters.into_iter().nth(index).expect("index was found in this list");
        let about = adapter.get_info();
        let faults = Arc::new(Faults::new());
        let (client, handle) = catch_unwind(AssertUnwindSafe(|| client_on(instance, adapter, backend, &faults)))
            .map_err(|p| failed(panic_text(p.as_ref())))?
            .map_err(failed)?;
        let language = match backend {
            wgpu::Backend::Vulkan if cfg!(feature = "wgpu-spirv") => "spirv",
            _ => "wgsl",
        };
        let driver = format!("{} {}", about.driver, about.driver_info).trim().to_owned();
        let info = DeviceInfo { runtime, language, adapter: about.name, driver, max_binding_bytes: 0, max_grid: 0 };
        let device = finish(key.clone(), client, faults, info, Backend::Wgpu);
        open.insert(key, (device.clone(), handle));
        Ok(device)
    }

    fn lost(device: &Device) -> bool {
        device.faults().is_some_and(|faults| faults.lost().is_some())
    }

    /// Takes a device away, as a driver that crashes does.
    #[cfg(test)]
    pub(in crate::device) fn take_away(device: &Device) {
        let open = OPEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (_, handle) = open.get(device.name()).expect("the device was opened here");
        handle.destroy();
        // A crash is noticed by the call that meets it; this way of losing a device, when somebody asks.
        handle.poll(wgpu::PollType::Poll).expect("nothing is waited for");
    }

    fn client_on(
        instance: wgpu::Instance,
        adapter: wgpu::Adapter,
        backend: wgpu::Backend,
        faults: &Arc<Faults>,
    ) -> Result<(ComputeClient<WgpuRuntime>, wgpu::Device), String> {
        let (device, queue) = request(&adapter, backend)?;
        watch(&device, faults);
        let setup = WgpuSetup { instance, adapter, device: device.clone(), queue, backend };
        let id = cubecl::wgpu::init_device(setup, RuntimeOptions::default());
        Ok((WgpuRuntime::client(&id), device))
    }

    /// Writes down what goes wrong on the runtime's own thread, where no caller is.
    fn watch(device: &wgpu::Device, faults: &Arc<Faults>) {
        let sink = faults.clone();
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
            let words = e.to_string();
            sink.record(match e {
                wgpu::Error::OutOfMemory { .. } => Fault::OutOfMemory(words),
                _ if words.contains("create_shader_module") || words.contains("create_compute_pipeline") => {
                    Fault::Compile(words)
                }
                _ => fault_in(words),
            });
            // The runtime must not go on as if it had what it asked for, or it would keep a buffer or a pipeline that is
            // none. It expects a panic here, as wgpu does unless told otherwise; this one does not speak.
            std::panic::resume_unwind(Box::new("the fault was written down"));
        }));
        let sink = faults.clone();
        device.set_device_lost_callback(move |reason, words| {
            sink.record(Fault::Lost(format!("the device is lost ({reason:?}): {words}")));
        });
    }

    fn request(adapter: &wgpu::Adapter, backend: wgpu::Backend) -> Result<(wgpu::Device, wgpu::Queue), String> {
        #[cfg(feature = "wgpu-spirv")]
        if backend == wgpu::Backend::Vulkan {
            return cubecl::future::block_on(cubecl::wgpu::vulkan::request_vulkan_device(adapter))
                .ok_or_else(|| "the driver lacks what SPIR-V kernels need (Vulkan memory model)".to_owned());
        }
        let _ = backend;
        let descriptor = wgpu::DeviceDescriptor {
            label: None,
            required_features: adapter.features().difference(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            trace: wgpu::Trace::Off,
            // SAFETY: the runtime below asks for every feature the adapter has, as its own device opening does.
            experimental_features: unsafe { wgpu::ExperimentalFeatures::enabled() },
        };
        cubecl::future::block_on(adapter.request_device(&descriptor)).map_err(|e| e.to_string())
    }
}
