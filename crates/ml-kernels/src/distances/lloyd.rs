//! The nearest rows and the sums of those that share one, together: steps of Lloyd's iteration.

use ml_core::Result;

use super::{expect_rows, host, nearest};
use crate::buffer::Buffer;
use crate::device::{Backend, Device};
use crate::sabotage::Arm;
use crate::scatter_add::{host_shift, scatter_add};

/// Rows that are searched for among others again and again, and added up by what was found.
///
/// The host reads the rows once a step, and keeps few enough rows in the form in which it searches.
#[derive(Debug, Clone)]
pub struct Lloyd {
    x: Buffer<f32>,
    n: usize,
    d: usize,
    host: Option<host::Steps>,
}

/// What a step of [`Lloyd`] finds.
#[derive(Debug, Clone)]
pub struct Step {
    /// The nearest row of `y` for each row of `x`: shape (n).
    pub index: Buffer<u32>,
    /// Its squared distance: shape (n).
    pub distance: Buffer<f32>,
    /// For each row of `y`, the sum of the rows of `x` to which it is the nearest: shape (m, d).
    pub sums: Buffer<f32>,
}

impl Lloyd {
    /// For the rows of `x`, n x d.
    ///
    /// # Errors
    /// [`ml_core::DataError::Shape`] if `x` does not have `n * d` elements; [`ml_core::DataError::NonFinite`], on the host,
    /// for an element that is not finite (elsewhere a step finds it); [`ml_core::DeviceError`] if `x` lives elsewhere.
    pub fn new(device: &Device, x: &Buffer<f32>, n: usize, d: usize) -> Result<Self> {
        x.expect("x", crate::matmul::elements("x", [n, d, 1])?, device)?;
        let arm = device.arm();
        let steps = match device.backend() {
            Backend::Host(h) if n > 0 && d > 0 && arm != Arm::FloatScatter => {
                let shift = h.install(|| host_shift(x, n, d))?;
                let rows = x.host("x")?;
                Some(h.install(|| host::Steps::new(arm, rows, [n, d], shift)))
            }
            _ => None,
        };
        Ok(Lloyd { x: x.clone(), n, d, host: steps })
    }

    /// For each row of `x` the nearest row of `y`, m x d, and its squared distance, as [`nearest`] gives them, and the sums
    /// of the rows of `x` by that index, as [`scatter_add`] gives them.
    ///
    /// # Errors
    /// Those of [`nearest`] and of [`scatter_add`].
    ///
    /// # Bit identity
    /// That of [`nearest`] and of [`scatter_add`].
    ///
    /// # Example
    /// ```
    /// use ml_kernels::{Buffer, Device, distances::Lloyd};
    /// let host = Device::host();
    /// let x = Buffer::upload(&host, &[1.0, 9.0, 2.0, 8.0])?;
    /// let y = Buffer::upload(&host, &[0.0, 10.0])?;
    /// let found = Lloyd::new(&host, &x, 4, 1)?.step(&y, 2)?;
    /// assert_eq!(found.index.read()?, [0, 1, 0, 1]);
    /// assert_eq!(found.sums.read()?, [3.0, 17.0]);
    /// # Ok::<(), ml_core::Error>(())
    /// ```
    pub fn step(&self, y: &Buffer<f32>, m: usize) -> Result<Step> {
        let (device, n, d) = (self.x.device(), self.n, self.d);
        expect_rows(device, &self.x, y, [n, m, d])?;
        if let (Some(steps), Backend::Host(h)) = (&self.host, device.backend())
            && h.install(|| host::Steps::fit([n, m, d]))
        {
            let (x, y) = (self.x.host("x")?, y.host("y")?);
            let (index, distance, sums) = h.install(|| steps.run(x, y, [n, m, d]));
            let index = Buffer::from_host(device, index);
            index.facts().note_below(m);
            return Ok(Step {
                index,
                distance: Buffer::from_host(device, distance),
                sums: Buffer::from_host(device, sums),
            });
        }
        let (index, distance) = nearest(device, &self.x, y, n, m, d)?;
        let sums = scatter_add(device, &self.x, &index, n, d, m)?;
        Ok(Step { index, distance, sums })
    }
}
