//! What a driver's failures become.

use cubecl::prelude::*;
use ml_core::{DeviceError, Error};

use super::gpu::{CUBE, Gpu};
use crate::buffer::Buffer;
use crate::device::{Device, on_device};

/// Asks for 64 MiB of shared memory, which GPUs have not and some software drivers give all the same.
#[cube(launch_unchecked)]
fn greedy(out: &mut Array<f32>) {
    let mut shared = SharedMemory::<f32>::new(16_777_216usize);
    shared[UNIT_POS as usize] = out[UNIT_POS as usize];
    sync_cube();
    out[UNIT_POS as usize] = shared[(CUBE - 1u32 - UNIT_POS) as usize];
}

fn launch_greedy<R: Runtime>(g: &Gpu<R>) -> ml_core::Result<()> {
    let out = g.alloc_one::<f32>(CUBE as usize)?;
    g.guard("greedy", 0, || {
        // SAFETY: 256 units over 256 elements.
        unsafe {
            greedy::launch_unchecked::<R>(
                g.client(),
                CubeCount::Static(1, 1, 1),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(out.clone(), CUBE as usize),
            );
        }
    })?;
    g.read_one::<f32>(&out, CUBE as usize).map(drop)
}

fn gpus() -> Vec<Device> {
    crate::conformance::test_devices().into_iter().filter(|d| !d.is_host()).collect()
}

#[test]
fn a_kernel_that_asks_too_much_runs_or_is_a_typed_error_and_the_device_lives_on() {
    for device in gpus() {
        let result = on_device!(&device, host(_h) => Ok(()), gpu(g) => launch_greedy(g));
        let typed = matches!(result, Ok(()) | Err(Error::Device(DeviceError::Compile { .. })));
        assert!(typed, "{}: {result:?}", device.name());
        let data: Vec<u32> = (0..1000).collect();
        let back = Buffer::upload(&device, &data).expect("the device lives on").read().expect("the device lives on");
        assert_eq!(back, data, "{}", device.name());
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
