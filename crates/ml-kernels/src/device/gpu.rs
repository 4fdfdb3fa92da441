//! What every GPU runtime shares: allocation, transfer, launch geometry, and the turning of driver failures into errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cubecl::prelude::*;
use cubecl::server::{Handle, LaunchError, ServerError};
use ml_core::{DeviceError, Error, Result};

use super::{Backend, Device, DeviceInfo, Inner};
use crate::sabotage::Arm;

/// Units of a one-dimensional workgroup; part of no rounding.
pub(crate) const CUBE: u32 = 256;

/// Starts of sub-bindings must be multiples of this on every runtime (WebGPU's strictest).
pub(crate) const ALIGN_BYTES: u64 = 256;

/// Element offsets inside one binding are `u32`, so no binding exceeds this.
const MAX_BINDING: u64 = 1 << 32;

/// A client with its limits.
pub(crate) struct Gpu<R: Runtime> {
    client: ComputeClient<R>,
    name: String,
    max_binding_bytes: u64,
    max_grid: u32,
}

impl<R: Runtime> Clone for Gpu<R> {
    fn clone(&self) -> Self {
        Gpu {
            client: self.client.clone(),
            name: self.name.clone(),
            max_binding_bytes: self.max_binding_bytes,
            max_grid: self.max_grid,
        }
    }
}

impl<R: Runtime> Gpu<R> {
    fn new(client: ComputeClient<R>, name: &str) -> Self {
        let props = client.properties();
        let page = props.memory.max_page_size.min(MAX_BINDING) / ALIGN_BYTES * ALIGN_BYTES;
        let grid = props.hardware.max_cube_count.0.min(65_535);
        Gpu { name: name.to_owned(), max_binding_bytes: page, max_grid: grid, client }
    }

    pub(super) fn set_limits(&mut self, max_binding_bytes: u64, max_grid: u32) {
        self.max_binding_bytes = max_binding_bytes / ALIGN_BYTES * ALIGN_BYTES;
        self.max_grid = max_grid;
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
        self.guard("allocation", bytes as u64, || self.client.empty(bytes))
    }

    pub(crate) fn upload_one<T: bytemuck::Pod>(&self, data: &[T]) -> Result<Handle> {
        if data.is_empty() {
            return self.alloc_one::<T>(1);
        }
        let bytes: &[u8] = bytemuck::cast_slice(data);
        self.guard("upload", bytes.len() as u64, || self.client.create_from_slice(bytes))
    }

    pub(crate) fn read_one<T: bytemuck::Pod>(&self, handle: &Handle, len: usize) -> Result<Vec<T>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let want = len * size_of::<T>();
        let bytes = self
            .guard("read", want as u64, || self.client.read_one(handle.clone()))?
            .map_err(|e| self.error("read", want as u64, &e))?;
        let mut out = vec![T::zeroed(); len];
        let view: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
        view.copy_from_slice(&bytes[..want]);
        Ok(out)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.guard("sync", 0, || cubecl::future::block_on(self.client.sync()))?.map_err(|e| self.error("sync", 0, &e))
    }

    /// Runs a launch or transfer; a panic inside the runtime becomes a typed error.
    pub(crate) fn guard<T>(&self, during: &str, bytes: u64, work: impl FnOnce() -> T) -> Result<T> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let reason = panic_text(panic.as_ref());
            self.classify(during, bytes, reason)
        })
    }

    fn classify(&self, during: &str, bytes: u64, reason: String) -> Error {
        let lower = reason.to_lowercase();
        let device = self.name.clone();
        if lower.contains("out of memory") || lower.contains("out-of-memory") || lower.contains("outofmemory") {
            DeviceError::OutOfMemory { device, bytes, reason }.into()
        } else if lower.contains("compil") {
            DeviceError::Compile { device, kernel: during.to_owned(), reason }.into()
        } else {
            DeviceError::Failed { device, during: during.to_owned(), reason }.into()
        }
    }

    fn error(&self, during: &str, bytes: u64, e: &ServerError) -> Error {
        let device = self.name.clone();
        match e {
            ServerError::Launch(LaunchError::OutOfMemory { reason, .. }) => {
                DeviceError::OutOfMemory { device, bytes, reason: reason.clone() }.into()
            }
            ServerError::Launch(LaunchError::CompilationError(c)) => {
                DeviceError::Compile { device, kernel: during.to_owned(), reason: c.to_string() }.into()
            }
            ServerError::Launch(LaunchError::TooManyResources(r)) => {
                DeviceError::Compile { device, kernel: during.to_owned(), reason: r.to_string() }.into()
            }
            ServerError::Io(io) | ServerError::Launch(LaunchError::IoError(io)) => {
                let reason = io.to_string();
                if reason.contains("allocate") {
                    DeviceError::OutOfMemory { device, bytes, reason }.into()
                } else {
                    DeviceError::Failed { device, during: during.to_owned(), reason }.into()
                }
            }
            other => self.classify(during, bytes, other.to_string()),
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
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

#[cfg(any(feature = "cuda", feature = "hip", feature = "wgpu"))]
fn finish<R: Runtime>(
    name: String,
    client: ComputeClient<R>,
    mut info: DeviceInfo,
    wrap: impl FnOnce(Gpu<R>) -> Backend,
) -> Device {
    let gpu = Gpu::new(client, &name);
    info.max_binding_bytes = gpu.max_binding_bytes;
    info.max_grid = gpu.max_grid;
    Device(std::sync::Arc::new(Inner { name, info, backend: wrap(gpu), arm: Arm::None }))
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
    Ok(finish(name, client, info, Backend::Cuda))
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
    Ok(finish(name, client, info, Backend::Hip))
}

#[cfg(feature = "wgpu")]
pub(super) use through_wgpu::open_wgpu;

#[cfg(feature = "wgpu")]
mod through_wgpu {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use cubecl::wgpu::{RuntimeOptions, WgpuRuntime, WgpuSetup};

    use super::*;
    use crate::device::{DeviceName, Selector};

    /// One device an adapter: a second `wgpu` device on the same adapter would hold memory apart from the first.
    static OPEN: Mutex<BTreeMap<String, Device>> = Mutex::new(BTreeMap::new());

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
        if let Some(device) = open.get(&key) {
            return Ok(device.clone());
        }
        let adapter = adapters.into_iter().nth(index).expect("index was found in this list");
        let about = adapter.get_info();
        let client = catch_unwind(AssertUnwindSafe(|| client_on(instance, adapter, backend)))
            .map_err(|p| failed(panic_text(p.as_ref())))?
            .map_err(failed)?;
        let language = match backend {
            wgpu::Backend::Vulkan if cfg!(feature = "wgpu-spirv") => "spirv",
            _ => "wgsl",
        };
        let driver = format!("{} {}", about.driver, about.driver_info).trim().to_owned();
        let info = DeviceInfo { runtime, language, adapter: about.name, driver, max_binding_bytes: 0, max_grid: 0 };
        let device = finish(key.clone(), client, info, Backend::Wgpu);
        open.insert(key, device.clone());
        Ok(device)
    }

    fn client_on(
        instance: wgpu::Instance,
        adapter: wgpu::Adapter,
        backend: wgpu::Backend,
    ) -> Result<ComputeClient<WgpuRuntime>, String> {
        let (device, queue) = request(&adapter, backend)?;
        let setup = WgpuSetup { instance, adapter, device, queue, backend };
        let device = cubecl::wgpu::init_device(setup, RuntimeOptions::default());
        Ok(WgpuRuntime::client(&device))
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
