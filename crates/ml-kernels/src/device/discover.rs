//! Finding and opening devices. A runtime's own panics (a driver that is not there) become typed errors here.

use ml_core::{DeviceError, Error, Result};

use super::{Device, DeviceName};

/// One device of [`Device::all`]: opened, or the reason why it could not be.
#[derive(Debug)]
pub struct DeviceEntry {
    /// The name that was tried.
    pub name: String,
    /// The device or its error.
    pub device: Result<Device>,
}

pub(super) fn open(name: &DeviceName) -> Result<Device> {
    match name {
        DeviceName::Host(None) => Ok(Device::host()),
        DeviceName::Host(Some(threads)) => Device::host_with_threads(*threads),
        DeviceName::Cuda(index) => cuda(*index),
        DeviceName::Hip(index) => hip(*index),
        DeviceName::Vulkan(_) | DeviceName::Metal(_) | DeviceName::Dx12(_) => through_wgpu(name),
    }
}

pub(super) fn all() -> Vec<DeviceEntry> {
    let mut entries = vec![DeviceEntry { name: "host".to_owned(), device: Ok(Device::host()) }];
    let mut runtime = |make: fn(usize) -> DeviceName, feature_on: bool| {
        if !feature_on {
            return;
        }
        for index in 0.. {
            let name = make(index);
            let device = open(&name);
            // The end of a runtime's list is no failure, unless the list is empty.
            let end = matches!(device, Err(Error::Device(DeviceError::NotFound { .. })));
            let broken = device.is_err();
            if !end || index == 0 {
                entries.push(DeviceEntry { name: name.to_string(), device });
            }
            if broken {
                break;
            }
        }
    };
    runtime(DeviceName::Cuda, cfg!(feature = "cuda"));
    runtime(DeviceName::Hip, cfg!(feature = "hip"));
    let by_index = super::Selector::Index;
    let _ = by_index;
    runtime(|i| DeviceName::Vulkan(super::Selector::Index(i)), cfg!(feature = "wgpu") && !cfg!(target_os = "macos"));
    runtime(|i| DeviceName::Metal(super::Selector::Index(i)), cfg!(feature = "wgpu") && cfg!(target_os = "macos"));
    entries
}

#[cfg(not(feature = "cuda"))]
fn cuda(index: usize) -> Result<Device> {
    Err(DeviceError::RuntimeNotBuilt { name: format!("cuda:{index}"), feature: "cuda" }.into())
}

#[cfg(feature = "cuda")]
fn cuda(index: usize) -> Result<Device> {
    super::gpu::open_cuda(index)
}

#[cfg(not(feature = "hip"))]
fn hip(index: usize) -> Result<Device> {
    Err(DeviceError::RuntimeNotBuilt { name: format!("hip:{index}"), feature: "hip" }.into())
}

#[cfg(feature = "hip")]
fn hip(index: usize) -> Result<Device> {
    super::gpu::open_hip(index)
}

#[cfg(not(feature = "wgpu"))]
fn through_wgpu(name: &DeviceName) -> Result<Device> {
    Err(DeviceError::RuntimeNotBuilt { name: name.to_string(), feature: "wgpu" }.into())
}

#[cfg(feature = "wgpu")]
fn through_wgpu(name: &DeviceName) -> Result<Device> {
    super::gpu::open_wgpu(name)
}
