//! Names of devices: `host`, `host:THREADS`, `cuda:I`, `hip:I`, `vulkan:I`, `vulkan:NAME`, `metal:I`, `dx12:I`.

use ml_core::DeviceError;

/// Which of a runtime's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// By position in the runtime's list.
    Index(usize),
    /// By a part of the adapter's name, ignoring case.
    NamePart(String),
}

/// A parsed device name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceName {
    /// The host, with the default number of threads or with the given one.
    Host(Option<usize>),
    /// An NVIDIA GPU through CUDA.
    Cuda(usize),
    /// An AMD GPU through HIP.
    Hip(usize),
    /// Any GPU, or a software driver, through Vulkan.
    Vulkan(Selector),
    /// An Apple GPU through Metal.
    Metal(Selector),
    /// Any GPU through DirectX 12.
    Dx12(Selector),
}

impl std::str::FromStr for DeviceName {
    type Err = ml_core::Error;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let unknown = || DeviceError::UnknownName { name: s.to_owned() };
        let (runtime, which) = match s.split_once(':') {
            Some((runtime, which)) => (runtime, Some(which)),
            None => (s, None),
        };
        let index = || -> Result<usize, DeviceError> {
            match which {
                None => Ok(0),
                Some(w) if !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit()) => w.parse().map_err(|_| unknown()),
                Some(_) => Err(unknown()),
            }
        };
        let selector = || match which {
            Some("") => Err(unknown()),
            Some(w) if !w.bytes().all(|b| b.is_ascii_digit()) => Ok(Selector::NamePart(w.to_owned())),
            _ => index().map(Selector::Index),
        };
        Ok(match runtime {
            "host" if which.is_none() => DeviceName::Host(None),
            "host" => DeviceName::Host(Some(index()?)),
            "cuda" => DeviceName::Cuda(index()?),
            "hip" => DeviceName::Hip(index()?),
            "vulkan" => DeviceName::Vulkan(selector()?),
            "metal" => DeviceName::Metal(selector()?),
            "dx12" => DeviceName::Dx12(selector()?),
            _ => return Err(unknown().into()),
        })
    }
}

impl std::fmt::Display for DeviceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (runtime, selector) = match self {
            DeviceName::Host(None) => return f.write_str("host"),
            DeviceName::Host(Some(n)) => return write!(f, "host:{n}"),
            DeviceName::Cuda(i) => return write!(f, "cuda:{i}"),
            DeviceName::Hip(i) => return write!(f, "hip:{i}"),
            DeviceName::Vulkan(s) => ("vulkan", s),
            DeviceName::Metal(s) => ("metal", s),
            DeviceName::Dx12(s) => ("dx12", s),
        };
        match selector {
            Selector::Index(i) => write!(f, "{runtime}:{i}"),
            Selector::NamePart(n) => write!(f, "{runtime}:{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["host", "host:7", "cuda:0", "hip:3", "vulkan:1", "vulkan:llvmpipe", "metal:0", "dx12:warp"] {
            assert_eq!(name.parse::<DeviceName>().expect(name).to_string(), name);
        }
        assert_eq!("cuda".parse::<DeviceName>().expect("index defaults to 0"), DeviceName::Cuda(0));
    }
}
