//! The conformance suite: every primitive's kernel against its reference, by bytes, on whatever device is asked for.
//!
//! The suite is library code, so that it runs from one binary on a machine that has neither cargo nor source.

use ml_core::Result;

use crate::Device;

/// A primitive on a fixed input, run on a device.
type Run = Box<dyn Fn(&Device) -> Result<Vec<u8>> + Send + Sync>;

/// One comparison: a primitive on one input.
pub struct Case {
    /// The primitive, such as `matmul`.
    pub op: &'static str,
    /// What is particular about the input, such as `nt 37x13x1025 subnormal`.
    pub name: String,
    /// Runs the primitive on a device and gives the result's little-endian bytes.
    pub run: Run,
    /// The bytes that the reference (plain loops) gives.
    pub reference: Box<dyn Fn() -> Vec<u8> + Send + Sync>,
}

/// What became of one case on one device.
#[derive(Debug)]
pub enum Outcome {
    /// The bytes are equal.
    Equal,
    /// They are not: the first differing 4-byte word, and both values of it.
    Differs {
        /// Index of the first differing word.
        word: usize,
        /// On the device.
        got: Option<u32>,
        /// In the reference.
        want: Option<u32>,
        /// Words that differ.
        count: usize,
    },
    /// The primitive returned an error.
    Failed(ml_core::Error),
}

impl Case {
    /// Runs the case on `device` and compares.
    pub fn check(&self, device: &Device) -> Outcome {
        match (self.run)(device) {
            Ok(got) => compare(&got, &(self.reference)()),
            Err(e) => Outcome::Failed(e),
        }
    }
}

/// Compares a device's bytes with the reference's.
pub fn compare(got: &[u8], want: &[u8]) -> Outcome {
    let words = |b: &[u8]| -> Vec<u32> {
        b.chunks(4)
            .map(|c| {
                let mut w = [0; 4];
                w[..c.len()].copy_from_slice(c);
                u32::from_le_bytes(w)
            })
            .collect()
    };
    if got == want {
        return Outcome::Equal;
    }
    let (g, w) = (words(got), words(want));
    let differs = |i: usize| g.get(i) != w.get(i);
    let n = g.len().max(w.len());
    let word = (0..n).find(|i| differs(*i)).unwrap_or(0);
    let count = (0..n).filter(|i| differs(*i)).count();
    Outcome::Differs { word, got: g.get(word).copied(), want: w.get(word).copied(), count }
}

/// Little-endian bytes of plain values, as cases return them.
pub fn bytes<T: bytemuck::Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

/// Every case of every scalar function and every primitive.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(crate::num::conformance::cases());
    cases.extend(crate::map::conformance::cases());
    cases.extend(crate::matmul::conformance::cases());
    cases.extend(crate::distances::conformance::cases());
    cases.extend(crate::sort::conformance::cases());
    cases.extend(crate::histogram::conformance::cases());
    cases.extend(crate::scatter_add::conformance::cases());
    cases.extend(crate::random::conformance::cases());
    cases.extend(crate::moves::conformance::cases());
    cases.extend(crate::reduce::conformance::cases());
    cases.extend(crate::scan::conformance::cases());
    cases.extend(crate::linalg::conformance::cases());
    cases.extend(crate::trees::bins::conformance::cases());
    cases.extend(crate::trees::partition::conformance::cases());
    cases.extend(crate::trees::walk::conformance::cases());
    cases.extend(crate::trees::quantise::conformance::cases());
    cases.extend(crate::trees::histogram::conformance::cases());
    cases.extend(crate::trees::split::conformance::cases());
    cases
}

/// The device as it is, or with bindings and grids so small that every split inside the waist is taken.
pub(crate) fn limited(device: &Device, small: bool) -> Device {
    if small { device.with_limits(4096, 3) } else { device.clone() }
}

/// A fixed scrambling of integers (Wang's 32-bit mix), for inputs that look random and are the same everywhere.
pub(crate) fn scramble(mut x: u32) -> u32 {
    x = (x ^ 61) ^ (x >> 16);
    x = x.wrapping_mul(9);
    x ^= x >> 4;
    x = x.wrapping_mul(0x27d4_eb2d);
    x ^ (x >> 15)
}

/// Every case gives its reference's bytes on the devices of [`test_devices`] and on the host with 1, 2, 7 and 64 threads.
#[cfg(test)]
pub(crate) fn assert_reference(cases: &[Case]) {
    let mut devices = test_devices();
    devices.extend([1, 2, 7, 64].map(|threads| Device::host_with_threads(threads).expect("within bounds")));
    for device in devices {
        for case in cases {
            let outcome = case.check(&device);
            assert!(matches!(outcome, Outcome::Equal), "{device:?} {} {}: {outcome:?}", case.op, case.name);
        }
    }
}

/// The devices that tests run on: those that the environment variable `ISOBIT_DEVICES` lists (comma-separated names), or
/// the host alone.
///
/// # Panics
/// If a listed device cannot be opened: a column that was asked for and cannot run must not pass in silence.
pub fn test_devices() -> Vec<Device> {
    let list = std::env::var("ISOBIT_DEVICES").unwrap_or_else(|_| "host".to_owned());
    let open = |name: &str| match name.parse::<Device>() {
        Ok(device) => device,
        Err(e) => panic!("ISOBIT_DEVICES lists `{name}`: {e}"),
    };
    list.split(',').map(str::trim).filter(|s| !s.is_empty()).map(open).collect()
}
