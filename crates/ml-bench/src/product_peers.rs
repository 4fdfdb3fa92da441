//! The crates `matrixmultiply` and `gemm` on the shapes of the square products.
//!
//! Both pick a kernel when they run, and on most machines that kernel fuses products and sums. The tests of
//! `matrixmultiply` compile it for one instruction set alone: with `MMTEST_FEATURE=avx` in the environment of the build it
//! has AVX, eight lanes, products and sums apart. `gemm` has no such switch: on x86-64 its kernels but the scalar one
//! fuse. What was built is probed, not believed ([`Library::fuses`]), and stands in the record.

use ml_core::Result;

use crate::peers::Peer;
use crate::record::median_seconds;
use crate::workloads::{Unit, values};

/// A library that multiplies matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// The crate `matrixmultiply`. It takes `MATMUL_NUM_THREADS` threads or one a core, four at most.
    Matrixmultiply,
    /// The crate `gemm`, with its kernels for AVX-512. It takes one thread a core.
    Gemm,
}

impl Library {
    /// All of them.
    pub const ALL: [Library; 2] = [Library::Matrixmultiply, Library::Gemm];

    fn name(self) -> &'static str {
        match self {
            Library::Matrixmultiply => "matrixmultiply 0.3",
            Library::Gemm => "gemm 0.19",
        }
    }

    fn threads(self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        match self {
            Library::Matrixmultiply => {
                let asked = std::env::var("MATMUL_NUM_THREADS").ok().and_then(|v| v.parse().ok());
                asked.unwrap_or(cores).clamp(1, 4)
            }
            Library::Gemm => cores,
        }
    }

    /// Whether the kernel that this build runs on this machine fuses products and sums.
    pub fn fuses(self) -> bool {
        // -(1 + 2^-11) and the square of 1 + 2^-12, which rounds to 1 + 2^-11: what a fused operation does not round off is
        // left. The second product is tried in every place, since a kernel may keep several sums. The matrices are large
        // enough to be no special case of a few rows.
        let (n, x) = (96, 1.0 + f32::EPSILON * 2048.0);
        [1, 2, 3, 4, 7, 8, 15, 16, n - 1].into_iter().any(|place| {
            let (mut a, mut b, mut c) = (vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]);
            for i in 0..n {
                (a[i * n], b[i]) = (-(x * x), 1.0);
                (a[i * n + place], b[place * n + i]) = (x, x);
            }
            self.multiply(n, &a, &b, &mut c);
            c.iter().any(|v| *v != 0.0)
        })
    }

    fn multiply(self, n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
        assert!(a.len() == n * n && b.len() == n * n && c.len() == n * n, "square operands");
        let stride = n as isize;
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        match self {
            // SAFETY: all three are row-major n x n, checked above, and `c` is borrowed alone.
            Library::Matrixmultiply => unsafe {
                matrixmultiply::sgemm(n, n, n, 1.0, a, stride, 1, b, stride, 1, 0.0, c, stride, 1);
            },
            // SAFETY: as above.
            Library::Gemm => unsafe {
                let parallelism = gemm::Parallelism::Rayon(self.threads());
                let [plain_c, plain_a, plain_b] = [false; 3];
                gemm::gemm(
                    n,
                    n,
                    n,
                    c,
                    1,
                    stride,
                    false,
                    a,
                    1,
                    stride,
                    b,
                    1,
                    stride,
                    0.0,
                    1.0,
                    plain_c,
                    plain_a,
                    plain_b,
                    parallelism,
                );
            },
        }
    }
}

/// Square products by another library.
#[derive(Debug, Clone)]
pub struct ProductPeer {
    library: Library,
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl ProductPeer {
    /// The operands of the workload `matmul` of `n` rows and columns.
    pub fn new(library: Library, n: usize) -> Self {
        ProductPeer { library, n, a: values(n * n, 1), b: values(n * n, 2), c: vec![0.0; n * n] }
    }

    /// One product.
    pub fn run(&mut self) {
        self.library.multiply(self.n, &self.a, &self.b, &mut self.c);
    }

    /// The measured peer of the workload `matmul` of this shape.
    ///
    /// # Errors
    /// A host that is never quiet.
    pub fn measure(&mut self, runs: usize) -> Result<Peer> {
        let n = self.n as f64;
        let product = || {
            self.run();
            Ok(())
        };
        let seconds = median_seconds(runs, product)?;
        let how = if self.library.fuses() { "FMA" } else { "no FMA" };
        Ok(Peer {
            name: "matmul".to_owned(),
            shape: format!("{0}x{0}x{0} f32 nn", self.n),
            value: 2.0 * n * n * n / seconds / 1e9,
            unit: Unit::Flops.name().to_owned(),
            peer: format!("{}, {how}, {} threads", self.library.name(), self.library.threads()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_products() {
        for library in Library::ALL {
            let mut work = ProductPeer::new(library, 33);
            work.run();
            let cell = |i: usize, j: usize| (0..33).map(|k| work.a[i * 33 + k] * work.b[k * 33 + j]).sum::<f32>();
            for (i, j) in [(5, 7), (7, 5), (32, 32), (0, 31)] {
                assert!((work.c[i * 33 + j] - cell(i, j)).abs() < 1e-3, "{library:?}");
            }
        }
    }

    #[test]
    fn the_probe_sees_a_fused_operation() {
        let x = 1.0 + f32::EPSILON * 2048.0;
        assert_eq!(x * x - (x * x), 0.0);
        #[allow(clippy::disallowed_methods, reason = "what the probe looks for")]
        let fused = x.mul_add(x, -(x * x));
        assert_ne!(fused, 0.0);
    }
}
