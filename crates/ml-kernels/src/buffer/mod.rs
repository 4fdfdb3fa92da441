//! Buffers: typed arrays that live on a device and stay there between primitives.

#[cfg(feature = "gpu")]
mod chunks;
mod facts;

use std::sync::Arc;

use ml_core::{DataError, DeviceError, MatRef, Result};

use crate::device::{Device, on_device};
use crate::memory;

#[cfg(feature = "gpu")]
pub(crate) use chunks::{Chunks, In, Out};
pub(crate) use facts::Facts;

/// Element types of buffers: `f32`, `u32`, `i32`.
pub trait Element: bytemuck::Pod + Send + Sync + sealed::Sealed + 'static {
    /// The element's name in errors.
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
}

impl Element for f32 {
    const NAME: &'static str = "f32";
}
impl Element for u32 {
    const NAME: &'static str = "u32";
}
impl Element for i32 {
    const NAME: &'static str = "i32";
}

/// A typed array on a device. Matrices are row-major; their shape travels beside the buffer.
///
/// A buffer is immutable once a primitive has returned it; clones share the memory. A buffer longer than the device's
/// largest binding is held in pieces, which no caller sees.
#[derive(Clone)]
pub struct Buffer<T: Element> {
    device: Device,
    len: usize,
    storage: Storage<T>,
    facts: Arc<Facts>,
}

#[derive(Clone)]
enum Storage<T> {
    Host(Arc<Vec<T>>),
    #[cfg(feature = "gpu")]
    Gpu(Chunks<T>),
}

impl<T: Element> Buffer<T> {
    /// Copies `data` to `device` as it is.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Failed`].
    pub fn upload(device: &Device, data: &[T]) -> Result<Self> {
        let storage = on_device!(device,
            host(_h) => Storage::Host(Arc::new(memory::copied(data))),
            gpu(g) => Storage::Gpu(Chunks::upload(g, data)?));
        Ok(Self::holding(device, data.len(), storage))
    }

    /// Wraps a host vector as a buffer of the host device `device`, without a copy.
    pub(crate) fn from_host(device: &Device, data: Vec<T>) -> Self {
        debug_assert!(device.is_host());
        Self::holding(device, data.len(), Storage::Host(Arc::new(data)))
    }

    /// Wraps device memory that a kernel has filled.
    #[cfg(feature = "gpu")]
    pub(crate) fn from_chunks(device: &Device, chunks: Chunks<T>) -> Self {
        Self::holding(device, chunks.len(), Storage::Gpu(chunks))
    }

    /// Contents of which nothing is known yet.
    fn holding(device: &Device, len: usize, storage: Storage<T>) -> Self {
        Buffer { device: device.clone(), len, storage, facts: Arc::default() }
    }

    /// What is known of the contents.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Copies the contents to the host.
    ///
    /// # Errors
    /// [`DeviceError`] for whatever failed on the device since the last call that looked.
    pub fn read(&self) -> Result<Vec<T>> {
        match &self.storage {
            Storage::Host(v) => Ok(memory::copied(v)),
            #[cfg(feature = "gpu")]
            Storage::Gpu(chunks) => on_device!(&self.device,
                host(_h) => Err(self.wrong_device("buffer", &self.device).into()),
                gpu(g) => chunks.read(g)),
        }
    }

    /// Copies the contents to another device; the same device gives a clone that shares the memory.
    ///
    /// # Errors
    /// [`DeviceError`] of either device.
    pub fn to(&self, device: &Device) -> Result<Self> {
        if self.device.same_memory(device) {
            return Ok(self.clone());
        }
        Ok(Buffer { facts: self.facts.clone(), ..Self::upload(device, &self.read()?)? })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device it lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The host slice; `what` names the argument in the error.
    pub(crate) fn host(&self, what: &'static str) -> Result<&[T]> {
        match &self.storage {
            Storage::Host(v) => Ok(v),
            #[cfg(feature = "gpu")]
            Storage::Gpu(_) => Err(self.wrong_device(what, &Device::host()).into()),
            #[cfg(not(feature = "gpu"))]
            #[allow(unreachable_patterns, reason = "names `what` as used in host-only builds")]
            _ => Err(self.wrong_device(what, &Device::host()).into()),
        }
    }

    /// The host vector, copied only if others share it; `what` names the argument in the error.
    pub(crate) fn into_host(self, what: &'static str) -> Result<Vec<T>> {
        self.host(what)?;
        match self.storage {
            Storage::Host(v) => Ok(Arc::try_unwrap(v).unwrap_or_else(|shared| memory::copied(&shared))),
            #[cfg(feature = "gpu")]
            Storage::Gpu(_) => Err(DeviceError::WrongDevice {
                what,
                found: self.device.name().to_owned(),
                expected: Device::host().name().to_owned(),
            }
            .into()),
        }
    }

    /// The device memory; `what` names the argument in the error.
    #[cfg(feature = "gpu")]
    pub(crate) fn chunks(&self, what: &'static str, device: &Device) -> Result<&Chunks<T>> {
        match &self.storage {
            Storage::Gpu(chunks) if self.device.same_memory(device) => Ok(chunks),
            _ => Err(self.wrong_device(what, device).into()),
        }
    }

    /// `what` has exactly `expected` elements and lives on `device`.
    pub(crate) fn expect(&self, what: &'static str, expected: usize, device: &Device) -> Result<()> {
        if self.len != expected {
            return Err(DataError::shape(what, format!("{expected} elements"), self.len).into());
        }
        if !self.device.same_memory(device) {
            return Err(self.wrong_device(what, device).into());
        }
        Ok(())
    }

    fn wrong_device(&self, what: &'static str, expected: &Device) -> DeviceError {
        DeviceError::WrongDevice { what, found: self.device.name().to_owned(), expected: expected.name().to_owned() }
    }
}

impl Buffer<f32> {
    /// A matrix, finite and canonical by its type, on `device`; the host shares its memory.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Failed`].
    pub fn from_matrix<'a>(device: &Device, x: impl Into<MatRef<'a>>) -> Result<Self> {
        let x = x.into();
        if device.is_host() {
            return Ok(Self::holding(device, x.as_slice().len(), Storage::Host(x.share())));
        }
        Self::upload(device, x.as_slice())
    }
}

impl<T: Element> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer<{}>({} on {})", T::NAME, self.len, self.device.name())
    }
}

#[cfg(all(test, feature = "wgpu"))]
mod tests {
    use super::*;

    #[test]
    // pathway test: P85
    fn round_trip_in_pieces() {
        let device = crate::conformance::test_devices();
        for device in device.iter().filter(|d| !d.is_host()) {
            let small = device.with_limits(4096, 3);
            for n in [0usize, 1, 63, 1024, 1025, 5000] {
                let data: Vec<u32> = (0..n as u32).collect();
                assert_eq!(Buffer::upload(&small, &data).expect("fits").read().expect("reads"), data);
            }
        }
    }
}
