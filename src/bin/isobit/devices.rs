//! `devices`: what this build can use on this machine, and what is missing for more.

use isobit::kernels::DeviceInfo;
use isobit::prelude::Device;

use crate::error::Result;

/// List the devices that can be used here, and what is missing for others.
#[derive(clap::Args)]
pub struct Args {}

/// Runtimes by the Cargo feature that adds them, and what they are for.
const RUNTIMES: [(&str, bool, &str); 3] = [
    ("wgpu", cfg!(feature = "wgpu"), "any GPU through Vulkan, Metal or DX12"),
    ("cuda", cfg!(feature = "cuda"), "NVIDIA GPUs through CUDA"),
    ("hip", cfg!(feature = "hip"), "AMD GPUs through HIP"),
];

/// Runs the subcommand.
///
/// # Errors
/// None: a device that is not there is an answer.
pub fn run(_args: &Args) -> Result<()> {
    let mut absent = Vec::new();
    for entry in Device::all() {
        match entry.device {
            Ok(device) => {
                let DeviceInfo { runtime, language, adapter, driver, .. } = device.info();
                println!("{:<12} {adapter} ({runtime}, {language}, driver {driver})", device.name());
            }
            Err(e) => absent.push(format!("{}: {e}", entry.name)),
        }
    }
    for (feature, built, what) in RUNTIMES {
        if !built {
            absent.push(format!("{what}: not in this build; add the Cargo feature `{feature}`"));
        }
    }
    if !absent.is_empty() {
        println!("\nnot available");
        for line in absent {
            println!("  {line}");
        }
    }
    Ok(())
}
