//! Devices that write kernels down instead of running them, so that the code which other machines would get can be read.
//!
//! One device a language. A launch is compiled by that language's own code generator, with the options and properties
//! that its runtime gives a modern device, and kept; no memory changes. Uploads can be read back, so host code that asks
//! a kernel whether all was well finds the answer that it uploaded beforehand, and goes on.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use cubecl::ir::{
    DeviceProperties, ElemType, HardwareProperties, MemoryDeviceProperties, StorageType, TargetProperties,
};
use cubecl::prelude::*;
use cubecl::server::{
    Binding, ComputeServer, CopyDescriptor, KernelArguments, ProfileError, ProfilingToken, ServerCommunication,
    ServerError, ServerUtilities,
};
use cubecl::stream_id::StreamId;
use cubecl::zspace::{Shape, Strides};
use cubecl::{CompilationError, Compiler, CubeTask, WgpuCompilationOptions};
use cubecl_common::bytes::Bytes;
use cubecl_common::device::{Device as RuntimeDevice, DeviceId, DeviceService};
use cubecl_common::future::DynFut;
use cubecl_common::profile::{ProfileDuration, TimingMethod};
use cubecl_cpp::cuda::CudaDialect;
use cubecl_cpp::cuda::mma::CudaWmmaCompiler;
use cubecl_cpp::hip::HipDialect;
use cubecl_cpp::hip::mma::WmmaIntrinsicCompiler;
use cubecl_cpp::shared::{CompilationOptions, CppCompiler, CppSupportedFeatures};
use cubecl_runtime::allocator::ContiguousMemoryLayoutPolicy;
use cubecl_runtime::logging::ServerLogger;
use cubecl_runtime::memory_management::{
    ManagedMemoryHandle, MemoryAllocationMode, MemoryConfiguration, MemoryManagement, MemoryManagementOptions,
    MemoryUsage,
};
use cubecl_runtime::storage::{BytesResource, BytesStorage, ManagedResource};
use cubecl_runtime::timestamp_profiler::TimestampProfiler;

use super::faults::Faults;
use super::{Backend, Device, DeviceInfo, gpu};

/// A language that kernels are written in for some device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Language {
    /// C++ for NVRTC.
    #[default]
    Cuda,
    /// C++ for hiprtc.
    Hip,
    /// Metal's C++.
    Msl,
    /// WebGPU's language, for Vulkan, Metal and DirectX 12 through wgpu, where a device has 64-bit integers.
    Wgsl,
    /// The same where it has none.
    WgslNarrow,
    /// Vulkan's binary language.
    Spirv,
}

impl Language {
    /// Every one.
    pub const ALL: [Language; 6] =
        [Language::Cuda, Language::Hip, Language::Msl, Language::Wgsl, Language::WgslNarrow, Language::Spirv];

    /// A short name: what [`DeviceInfo::language`] has for it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Cuda => "cuda",
            Language::Hip => "hip",
            Language::Msl => "msl",
            Language::Wgsl => "wgsl",
            Language::WgslNarrow => "wgsl-32",
            Language::Spirv => "spirv",
        }
    }
}

/// One kernel in one language.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// Path of the kernel's function, such as `ml_kernels::scan::kernel::scan_tiles`.
    pub kernel: String,
    /// What sets this form of the kernel apart from others of the same function: workgroup and build-time parameters.
    pub form: String,
    /// The source as the runtime would hand it to the driver's compiler; of SPIR-V, a listing.
    pub text: String,
    /// The words of a SPIR-V module; empty in other languages.
    pub words: Vec<u32>,
    /// What the code generator said if it gave up.
    pub refusal: Option<String>,
}

/// Kernels by what sets them apart.
type Kept = Arc<Mutex<BTreeMap<String, Rendered>>>;

impl Device {
    /// A device that writes kernels down in `language` and gives no results: what is read from it is what was uploaded, or
    /// nothing in particular.
    pub fn rendering(language: Language) -> Device {
        let client = ComputeClient::<RenderRuntime>::load(&RenderDevice(language));
        let info = DeviceInfo {
            runtime: "render",
            language: language.name(),
            adapter: "none: kernels are written down".to_owned(),
            driver: "none".to_owned(),
            max_binding_bytes: 0,
            max_grid: 0,
        };
        let name = format!("render:{}", language.name());
        gpu::finish(name, client, Arc::new(Faults::new()), info, Backend::Render)
    }

    /// What was written down on this device in this process, in a fixed order; empty for a device that runs kernels.
    ///
    /// # Errors
    /// As [`Device::sync`].
    pub fn rendered(&self) -> ml_core::Result<Vec<Rendered>> {
        self.sync()?;
        let Backend::Render(g) = self.backend() else { return Ok(Vec::new()) };
        Ok(g.client().info().lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct RenderRuntime;

#[derive(Debug, Clone, Default)]
pub(crate) struct RenderDevice(Language);

impl RuntimeDevice for RenderDevice {
    fn from_id(id: DeviceId) -> Self {
        RenderDevice(Language::ALL.get(usize::from(id.index_id)).copied().unwrap_or_default())
    }

    fn to_id(&self) -> DeviceId {
        DeviceId { type_id: 0, index_id: self.0 as u16 }
    }
}

impl Runtime for RenderRuntime {
    type Compiler = RenderCompiler;
    type Server = RenderServer;
    type Device = RenderDevice;

    fn client(device: &RenderDevice) -> ComputeClient<Self> {
        ComputeClient::load(device)
    }

    fn name(_client: &ComputeClient<Self>) -> &'static str {
        "render"
    }

    fn require_array_lengths() -> bool {
        true
    }

    fn max_cube_count() -> (u32, u32, u32) {
        (65_535, 65_535, 65_535)
    }

    fn can_read_tensor(_shape: &Shape, _strides: &Strides) -> bool {
        true
    }

    fn target_properties() -> TargetProperties {
        TargetProperties { mma: Default::default() }
    }

    fn enumerate_devices(_type_id: u16, _info: &Kept) -> Vec<DeviceId> {
        Language::ALL.iter().map(|l| RenderDevice(*l).to_id()).collect()
    }
}

/// All code generators behind one face.
#[derive(Debug, Clone)]
pub(crate) struct RenderCompiler(Language);

pub(crate) struct Source {
    text: String,
    words: Vec<u32>,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Compiler for RenderCompiler {
    type Representation = Source;
    type CompilationOptions = ();

    fn compile(
        &mut self,
        kernel: KernelDefinition,
        _options: &(),
        mode: ExecutionMode,
        address: StorageType,
    ) -> Result<Source, CompilationError> {
        /// Text of one generator.
        fn text<C: Compiler + Default>(
            kernel: KernelDefinition,
            options: &C::CompilationOptions,
            mode: ExecutionMode,
            address: StorageType,
        ) -> Result<Source, CompilationError> {
            let source = C::default().compile(kernel, options, mode, address)?;
            Ok(Source { text: source.to_string(), words: Vec::new() })
        }
        // As the runtimes set them for an H200, an RDNA 3 device, Metal and a driver of Vulkan 1.3 with all it may have.
        let on = |clusters: bool| CppSupportedFeatures {
            grid_constants: clusters,
            clusters,
            fast_math: true,
            fast_tanh: clusters,
            elect_sync: clusters,
        };
        let mut wgpu = WgpuCompilationOptions { supports_u64: true, ..Default::default() };
        match self.0 {
            Language::Cuda => text::<CppCompiler<CudaDialect<CudaWmmaCompiler>>>(
                kernel,
                &CompilationOptions { warp_size: 32, supports_features: on(true) },
                mode,
                address,
            ),
            Language::Hip => text::<CppCompiler<HipDialect<WmmaIntrinsicCompiler>>>(
                kernel,
                &CompilationOptions { warp_size: 32, supports_features: on(false) },
                mode,
                address,
            ),
            Language::Msl => text::<cubecl_cpp::MslCompiler>(kernel, &CompilationOptions::default(), mode, address),
            Language::Wgsl => text::<cubecl::wgpu::WgslCompiler>(kernel, &wgpu, mode, address),
            Language::WgslNarrow => {
                wgpu.supports_u64 = false;
                text::<cubecl::wgpu::WgslCompiler>(kernel, &wgpu, mode, address)
            }
            Language::Spirv => {
                wgpu.supports_vulkan = true;
                wgpu.vulkan.supports_fp_fast_math = true;
                wgpu.vulkan.max_spirv_version = (1, 6);
                let mut compiler = cubecl_spirv::SpirvCompiler::<cubecl_spirv::GLCompute>::default();
                let module = Compiler::compile(&mut compiler, kernel, &wgpu, mode, address)?;
                Ok(Source { text: module.to_string(), words: module.assembled_module })
            }
        }
    }

    fn elem_size(&self, elem: ElemType) -> usize {
        elem.size()
    }

    fn extension(&self) -> &'static str {
        self.0.name()
    }
}

/// Keeps uploads and the code of kernels; runs nothing.
#[derive(Debug)]
pub(crate) struct RenderServer {
    language: Language,
    memory: MemoryManagement<BytesStorage>,
    timestamps: TimestampProfiler,
    utilities: Arc<ServerUtilities<Self>>,
}

impl RenderServer {
    fn bytes_of(&mut self, binding: &Binding) -> Result<BytesResource, ServerError> {
        Ok(self.memory.get_resource(binding.memory.clone(), binding.offset_start, binding.offset_end)?)
    }
}

impl DeviceService for RenderServer {
    fn init(id: DeviceId) -> Self {
        let RenderDevice(language) = RenderDevice::from_id(id);
        let memory = MemoryDeviceProperties { max_page_size: 1 << 29, alignment: 256 };
        let hardware = HardwareProperties {
            load_width: 128,
            plane_size_min: 32,
            plane_size_max: 32,
            max_bindings: 31,
            max_shared_memory_size: 32 << 10,
            max_cube_count: RenderRuntime::max_cube_count(),
            max_units_per_cube: 1024,
            max_cube_dim: (1024, 1024, 64),
            num_streaming_multiprocessors: None,
            num_tensor_cores: None,
            min_tensor_cores_dim: None,
            num_cpu_cores: None,
            max_vector_size: 4,
        };
        let logger = Arc::new(ServerLogger::default());
        let mut properties = DeviceProperties::new(Default::default(), memory.clone(), hardware, TimingMethod::System);
        cubecl_cpp::shared::register_supported_types(&mut properties);
        RenderServer {
            language,
            memory: MemoryManagement::from_configuration(
                BytesStorage::default(),
                &memory,
                MemoryConfiguration::default(),
                logger.clone(),
                MemoryManagementOptions::new("uploads"),
            ),
            timestamps: TimestampProfiler::default(),
            utilities: Arc::new(ServerUtilities::new(
                properties,
                logger,
                Kept::default(),
                ContiguousMemoryLayoutPolicy::new(256),
            )),
        }
    }

    fn utilities(&self) -> Arc<dyn Any + Send + Sync> {
        self.utilities.clone()
    }
}

impl ServerCommunication for RenderServer {
    const SERVER_COMM_ENABLED: bool = false;
}

impl ComputeServer for RenderServer {
    type Kernel = Box<dyn CubeTask<RenderCompiler>>;
    type Info = Kept;
    type MemoryLayoutPolicy = ContiguousMemoryLayoutPolicy;
    type Storage = BytesStorage;

    fn initialize_memory(&mut self, memory: ManagedMemoryHandle, size: u64, _stream: StreamId) {
        let reserved = self.memory.reserve(size).expect("host memory suffices for the suite's inputs");
        self.memory.bind(reserved, memory, 0).expect("memory just reserved is free to bind");
    }

    fn logger(&self) -> Arc<ServerLogger> {
        self.utilities.logger.clone()
    }

    fn utilities(&self) -> Arc<ServerUtilities<Self>> {
        self.utilities.clone()
    }

    fn read(&mut self, descriptors: Vec<CopyDescriptor>, _stream: StreamId) -> DynFut<Result<Vec<Bytes>, ServerError>> {
        let read = |d: CopyDescriptor| {
            let len = d.handle.size_in_used() as usize;
            let bytes = self.bytes_of(&d.handle)?;
            Ok(Bytes::from_bytes_vec(bytes.read()[..len].to_vec()))
        };
        let all: Result<Vec<Bytes>, ServerError> = descriptors.into_iter().map(read).collect();
        Box::pin(async move { all })
    }

    fn write(&mut self, descriptors: Vec<(CopyDescriptor, Bytes)>, _stream: StreamId) {
        for (descriptor, data) in descriptors {
            if let Ok(mut bytes) = self.bytes_of(&descriptor.handle) {
                bytes.write()[..data.len()].copy_from_slice(&data);
            }
        }
    }

    fn sync(&mut self, _stream: StreamId) -> DynFut<Result<(), ServerError>> {
        Box::pin(async { Ok(()) })
    }

    fn get_resource(
        &mut self,
        binding: Binding,
        _stream: StreamId,
    ) -> Result<ManagedResource<BytesResource>, ServerError> {
        let bytes = self.bytes_of(&binding)?;
        Ok(ManagedResource::new(binding.memory, bytes))
    }

    unsafe fn launch(
        &mut self,
        kernel: Self::Kernel,
        _count: CubeCount,
        _bindings: KernelArguments,
        mode: ExecutionMode,
        _stream: StreamId,
    ) {
        let mut id = kernel.id();
        id.mode(mode);
        let key = id.stable_format();
        let mut kept = self.utilities.info.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.contains_key(&key) {
            return;
        }
        // A generator's panic is a finding like its errors.
        let done = catch_unwind(AssertUnwindSafe(|| {
            kernel.compile(&mut RenderCompiler(self.language), &(), mode, kernel.address_type())
        }));
        let done = match done {
            Ok(Ok(compiled)) => compiled.repr.ok_or_else(|| "no representation".to_owned()),
            Ok(Err(e)) => Err(e.to_string()),
            Err(panic) => Err(gpu::panic_text(panic.as_ref())),
        };
        let (source, refusal) = match done {
            Ok(source) => (source, None),
            Err(words) => (Source { text: String::new(), words: Vec::new() }, Some(words)),
        };
        // `path::of::function::Type<Runtime>` and, in the key, `-` and what sets forms apart.
        let ty = kernel.name();
        let path = ty.split('<').next().unwrap_or(ty);
        let function = path.rsplit_once("::").map_or(path, |(function, _)| function).to_owned();
        let form = key.strip_prefix(ty).unwrap_or(&key).trim_start_matches('-').to_owned();
        let rendered = Rendered { kernel: function, form, text: source.text, words: source.words, refusal };
        kept.insert(key, rendered);
    }

    fn flush(&mut self, _stream: StreamId) -> Result<(), ServerError> {
        Ok(())
    }

    fn memory_usage(&mut self, _stream: StreamId) -> Result<MemoryUsage, ServerError> {
        Ok(self.memory.memory_usage())
    }

    fn memory_cleanup(&mut self, _stream: StreamId) {
        self.memory.cleanup(true);
    }

    fn start_profile(&mut self, _stream: StreamId) -> Result<ProfilingToken, ServerError> {
        Ok(self.timestamps.start())
    }

    fn end_profile(&mut self, _stream: StreamId, token: ProfilingToken) -> Result<ProfileDuration, ProfileError> {
        self.timestamps.stop(token)
    }

    fn allocation_mode(&mut self, mode: MemoryAllocationMode, _stream: StreamId) {
        self.memory.mode(mode);
    }
}
