//! The scalar functions on every device that `ISOBIT_DEVICES` lists: the host's bits, over a million inputs each.

use ml_kernels::conformance::test_devices;
use ml_kernels::num::sweep::{BLOCK, Function, sweep, sweep_on};

/// First inputs of windows of 2^18: around 1, around -2, subnormals and the flush bound, the upper range of exp, and
/// infinity with the NaNs above it.
const FIRST: [u32; 5] = [0x3f7e_0000, 0xbffe_0000, 0x007e_0000, 0x429e_0000, 0x7f7e_0000];

/// Inputs of one window.
const COUNT: usize = 1 << 18;

#[test]
// pathway test: P16
fn devices_give_the_hosts_bits() {
    for device in test_devices() {
        for &function in Function::ALL {
            for first in FIRST {
                let operand = first ^ 0x1357_9bdf;
                let got = sweep_on(&device, function, operand, first, COUNT)
                    .and_then(|b| b.read())
                    .unwrap_or_else(|e| panic!("{} on {}: {e}", function.name(), device.name()));
                assert_eq!(got.len(), COUNT);
                let range = u64::from(first)..u64::from(first) + COUNT as u64;
                let differing: u64 = sweep(function, operand, range, |start, want| {
                    let offset = (start - first) as usize;
                    let got = &got[offset..offset + want.len()];
                    got.iter().zip(want).filter(|(g, w)| g != w).count() as u64
                })
                .iter()
                .sum();
                assert_eq!(differing, 0, "{} from {first:08x} on {}", function.name(), device.name());
            }
        }
    }
}

#[test]
fn a_wrapping_range_is_one_sequence() {
    for device in test_devices() {
        let count = 3 * BLOCK as usize + 7;
        let got = sweep_on(&device, Function::Key, 5, u32::MAX - 1000, count).and_then(|b| b.read());
        let got = got.unwrap_or_else(|e| panic!("{}: {e}", device.name()));
        for (i, g) in got.iter().enumerate() {
            assert_eq!(*g, Function::Key.apply((u32::MAX - 1000).wrapping_add(i as u32), 5));
        }
    }
}
