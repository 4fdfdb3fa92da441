//! Devices: where primitives run. Which one it is never changes a bit.

mod discover;
#[cfg(feature = "gpu")]
mod faults;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
#[cfg(all(test, feature = "gpu"))]
mod gpu_tests;
mod name;
#[cfg(feature = "render")]
mod render;

use std::sync::Arc;

use ml_core::{DeviceError, Result};

use crate::sabotage::Arm;

pub use discover::DeviceEntry;
pub use name::{DeviceName, Selector};
#[cfg(feature = "render")]
pub use render::{Language, Rendered};

/// A device that primitives run on: the host, or a GPU through CUDA, HIP, Vulkan or Metal. Clones are the same device.
///
/// # Bit identity
/// No result depends on which device this is, on its number of threads, or on its limits.
///
/// # Example
/// ```
/// use ml_kernels::Device;
/// let host: Device = "host".parse()?;
/// assert_eq!(host.name(), "host");
/// let err = "gpu9".parse::<Device>().unwrap_err();
/// assert!(err.to_string().starts_with("unknown device `gpu9`"));
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    name: String,
    info: DeviceInfo,
    backend: Backend,
    arm: Arm,
}

/// What a device says of itself; for people and cards, never for plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `host`, `cuda`, `hip`, `vulkan`, `metal` or `dx12`.
    pub runtime: &'static str,
    /// What kernels are written in: `rust`, `cuda`, `hip`, `wgsl`, `spirv` or `msl`.
    pub language: &'static str,
    /// The adapter's own name.
    pub adapter: String,
    /// Driver name and version, as the driver tells them.
    pub driver: String,
    /// Largest single binding in bytes; larger buffers are split inside the waist.
    pub max_binding_bytes: u64,
    /// Most workgroups along one axis of a launch; larger grids are folded inside the waist.
    pub max_grid: u32,
}

#[derive(Clone)]
pub(crate) enum Backend {
    Host(Host),
    #[cfg(feature = "wgpu")]
    Wgpu(gpu::Gpu<cubecl::wgpu::WgpuRuntime>),
    #[cfg(feature = "cuda")]
    Cuda(gpu::Gpu<cubecl::cuda::CudaRuntime>),
    #[cfg(feature = "hip")]
    Hip(gpu::Gpu<cubecl::hip::HipRuntime>),
    #[cfg(feature = "render")]
    Render(gpu::Gpu<render::RenderRuntime>),
}

/// Runs `$host` on the host and `$gpu` with `$g: &Gpu<R>` on any GPU runtime that is built in.
#[allow(unused_macros, reason = "host-only builds expand only the first arm")]
macro_rules! on_device {
    ($device:expr, host($h:ident) => $host:expr, gpu($g:ident) => $gpu:expr) => {
        match $device.backend() {
            $crate::device::Backend::Host($h) => $host,
            #[cfg(feature = "wgpu")]
            $crate::device::Backend::Wgpu($g) => $gpu,
            #[cfg(feature = "cuda")]
            $crate::device::Backend::Cuda($g) => $gpu,
            #[cfg(feature = "hip")]
            $crate::device::Backend::Hip($g) => $gpu,
            #[cfg(feature = "render")]
            $crate::device::Backend::Render($g) => $gpu,
        }
    };
}
pub(crate) use on_device;

/// The host's threads.
#[derive(Clone)]
pub(crate) struct Host {
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Host {
    /// Runs `work` with this device's threads; rayon's parallel iterators inside use them.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

impl Device {
    /// The host, with rayon's global threads (one a core unless `RAYON_NUM_THREADS` says otherwise).
    pub fn host() -> Device {
        Self::from_host("host".to_owned(), Host { pool: None })
    }

    /// The host with exactly `threads` threads.
    ///
    /// # Errors
    /// [`ml_core::ParamError::OutOfBound`] unless `1 <= threads <= 1024`; [`DeviceError::Failed`] if the system refuses
    /// the threads.
    // pathway: P69
    pub fn host_with_threads(threads: usize) -> Result<Device> {
        ml_core::check::usize_within("threads", threads, 1, 1024)?;
        let name = format!("host:{threads}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| DeviceError::Failed {
            device: name.clone(),
            during: "starting threads".to_owned(),
            reason: e.to_string(),
        })?;
        Ok(Self::from_host(name, Host { pool: Some(Arc::new(pool)) }))
    }

    fn from_host(name: String, host: Host) -> Device {
        let info = DeviceInfo {
            runtime: "host",
            language: "rust",
            adapter: format!("{} host", std::env::consts::ARCH),
            driver: String::from("none"),
            max_binding_bytes: u64::MAX,
            max_grid: u32::MAX,
        };
        Device(Arc::new(Inner { name, info, backend: Backend::Host(host), arm: Arm::None }))
    }

    /// CUDA device `index`.
    ///
    /// # Errors
    /// [`DeviceError`]: the feature `cuda` is off, the driver or NVRTC is missing, or there is no such device.
    pub fn cuda(index: usize) -> Result<Device> {
        Self::open(DeviceName::Cuda(index))
    }

    /// HIP device `index`.
    ///
    /// # Errors
    /// [`DeviceError`]: the feature `hip` is off, ROCm is missing, or there is no such device.
    pub fn hip(index: usize) -> Result<Device> {
        Self::open(DeviceName::Hip(index))
    }

    /// Vulkan device `index`, in the loader's order.
    ///
    /// # Errors
    /// [`DeviceError`]: the feature `wgpu` is off, no Vulkan driver is installed, or there is no such device.
    pub fn vulkan(index: usize) -> Result<Device> {
        Self::open(DeviceName::Vulkan(Selector::Index(index)))
    }

    /// Metal device `index`.
    ///
    /// # Errors
    /// [`DeviceError`]: the feature `wgpu` is off, this is not macOS, or there is no such device.
    pub fn metal(index: usize) -> Result<Device> {
        Self::open(DeviceName::Metal(Selector::Index(index)))
    }

    /// The device that `name` names.
    ///
    /// # Errors
    /// [`DeviceError`], naming what to install or enable.
    pub fn open(name: DeviceName) -> Result<Device> {
        discover::open(&name)
    }

    /// Every device that this build can use on this machine, the host first. What could not be opened is reported with
    /// its error, never left out in silence.
    pub fn all() -> Vec<DeviceEntry> {
        discover::all()
    }

    /// The name that opens this device again, such as `cuda:0`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What the device says of itself.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Whether this is the host.
    pub fn is_host(&self) -> bool {
        matches!(self.0.backend, Backend::Host(_))
    }

    /// Runs `work` on the host with the threads of this device if it is the host, else with rayon's global ones: for the
    /// parts of an estimator that are no primitive.
    ///
    /// # Bit identity
    /// Nothing that `work` adds up may depend on the number of threads.
    pub fn on_host<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0.backend {
            Backend::Host(h) => h.install(work),
            #[cfg(feature = "gpu")]
            _ => work(),
        }
    }

    /// Waits until all work given to the device is done.
    ///
    /// # Errors
    /// [`DeviceError`] for anything that failed since the last call that looked: a kernel that did not compile, memory
    /// that ran out, a device that was lost.
    pub fn sync(&self) -> Result<()> {
        on_device!(self, host(_h) => Ok(()), gpu(g) => g.sync())
    }

    /// The same device with a lower binding limit and grid limit, so that the splitting of large work can be tested on
    /// small data. The host has no limits and is returned as it is.
    pub fn with_limits(&self, max_binding_bytes: u64, max_grid: u32) -> Device {
        #[allow(unused_mut, reason = "host-only builds change nothing")]
        let mut inner = Inner {
            name: self.0.name.clone(),
            info: self.0.info.clone(),
            backend: self.0.backend.clone(),
            arm: self.0.arm,
        };
        #[cfg(feature = "gpu")]
        if !self.is_host() {
            inner.info.max_binding_bytes = max_binding_bytes.max(4096).min(inner.info.max_binding_bytes);
            inner.info.max_grid = max_grid.max(1).min(inner.info.max_grid);
            let (bytes, grid) = (inner.info.max_binding_bytes, inner.info.max_grid);
            match &mut inner.backend {
                Backend::Host(_) => {}
                #[cfg(feature = "wgpu")]
                Backend::Wgpu(g) => g.set_limits(bytes, grid),
                #[cfg(feature = "cuda")]
                Backend::Cuda(g) => g.set_limits(bytes, grid),
                #[cfg(feature = "hip")]
                Backend::Hip(g) => g.set_limits(bytes, grid),
                #[cfg(feature = "render")]
                Backend::Render(g) => g.set_limits(bytes, grid),
            }
        }
        let _ = (max_binding_bytes, max_grid);
        Device(Arc::new(inner))
    }

    /// The same device, breaking one contract clause on purpose. For negative controls only.
    #[cfg(feature = "sabotage")]
    pub fn sabotaged(&self, arm: Arm) -> Device {
        Device(Arc::new(Inner {
            name: self.0.name.clone(),
            info: self.0.info.clone(),
            backend: self.0.backend.clone(),
            arm,
        }))
    }

    /// The clause that this device breaks on purpose; [`Arm::None`] outside certification.
    pub(crate) fn arm(&self) -> Arm {
        self.0.arm
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }

    /// What failed on a GPU; stands for its memory.
    #[cfg(feature = "gpu")]
    fn faults(&self) -> Option<&Arc<faults::Faults>> {
        on_device!(self, host(_h) => None, gpu(g) => Some(g.faults()))
    }

    /// Whether `other` holds its memory where this device does. A device that was lost and opened again does not.
    pub(crate) fn same_memory(&self, other: &Device) -> bool {
        #[cfg(feature = "gpu")]
        if let (Some(ours), Some(theirs)) = (self.faults(), other.faults()) {
            return Arc::ptr_eq(ours, theirs);
        }
        self.is_host() && other.is_host()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.0.name)
    }
}

impl std::str::FromStr for Device {
    type Err = ml_core::Error;

    fn from_str(s: &str) -> Result<Self> {
        Self::open(s.parse::<DeviceName>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_malformed_names_are_refused() {
        for name in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "vulkan:", "host:0", "host:x", "HOST", "hip:1:2"] {
            assert!(name.parse::<Device>().is_err(), "{name:?} was accepted");
        }
    }

    #[test]
    fn a_runtime_that_is_not_built_in_names_its_feature() {
        #[cfg(not(feature = "cuda"))]
        assert!(Device::cuda(0).unwrap_err().to_string().contains("Cargo feature `cuda`"));
        #[cfg(not(feature = "hip"))]
        assert!(Device::hip(0).unwrap_err().to_string().contains("Cargo feature `hip`"));
        #[cfg(not(feature = "wgpu"))]
        assert!(Device::vulkan(0).unwrap_err().to_string().contains("Cargo feature `wgpu`"));
    }

    #[test]
    fn host_threads_are_bounded() {
        assert!(Device::host_with_threads(0).is_err());
        assert!(Device::host_with_threads(1025).is_err());
        assert_eq!(Device::host_with_threads(7).expect("7 is within bounds").name(), "host:7");
    }
}
