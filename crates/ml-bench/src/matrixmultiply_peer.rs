//! The crate `matrixmultiply` on the shapes of the square products.
//!
//! It picks its kernel when it runs, and on most machines that kernel fuses products and sums. Its own tests compile it for
//! one instruction set alone: with `MMTEST_FEATURE=avx` in the environment of the build it has AVX, eight lanes, products
//! and sums apart. What was built is probed, not believed ([`Matrixmultiply::fuses`]), and stands in the record.

use ml_core::Result;

use crate::peers::Peer;
use crate::record::median_seconds;
use crate::workloads::{Unit, values};

/// Square products by `matrixmultiply`, by as many threads as it takes by itself: `MATMUL_NUM_THREADS` or one a core, four
/// at most.
#[derive(Debug, Clone)]
pub struct Matrixmultiply {
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Matrixmultiply {
    /// The operands of the workload `matmul` of `n` rows and columns.
    pub fn new(n: usize) -> Self {
        Matrixmultiply { n, a: values(n * n, 1), b: values(n * n, 2), c: vec![0.0; n * n] }
    }

    /// One product.
    pub fn run(&mut self) {
        multiply(self.n, &self.a, &self.b, &mut self.c);
    }

    /// Whether the kernel that this build runs on this machine fuses products and sums.
    pub fn fuses() -> bool {
        // -(1 + 2^-11) and the square of 1 + 2^-12, which rounds to 1 + 2^-11: what a fused operation does not round off is
        // left. The second product is tried in every place, since a kernel may keep several sums.
        let (n, x) = (16, 1.0 + f32::EPSILON * 2048.0);
        (1..n).any(|place| {
            let (mut a, mut b, mut c) = (vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]);
            for i in 0..n {
                (a[i * n], b[i]) = (-(x * x), 1.0);
                (a[i * n + place], b[place * n + i]) = (x, x);
            }
            multiply(n, &a, &b, &mut c);
            c.iter().any(|v| *v != 0.0)
        })
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
        let how = if Self::fuses() { "FMA" } else { "no FMA" };
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let threads =
            std::env::var("MATMUL_NUM_THREADS").ok().and_then(|v| v.parse().ok()).unwrap_or(cores).clamp(1, 4);
        Ok(Peer {
            name: "matmul".to_owned(),
            shape: format!("{0}x{0}x{0} f32 nn", self.n),
            value: 2.0 * n * n * n / seconds / 1e9,
            unit: Unit::Flops.name().to_owned(),
            peer: format!("matrixmultiply 0.3, {how}, {threads} threads"),
        })
    }
}

fn multiply(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    assert!(a.len() == n * n && b.len() == n * n && c.len() == n * n, "square operands");
    let stride = n as isize;
    // SAFETY: all three are row-major n x n, checked above, and `c` is borrowed alone.
    unsafe {
        matrixmultiply::sgemm(
            n,
            n,
            n,
            1.0,
            a.as_ptr(),
            stride,
            1,
            b.as_ptr(),
            stride,
            1,
            0.0,
            c.as_mut_ptr(),
            stride,
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_products() {
        let mut work = Matrixmultiply::new(33);
        work.run();
        let cell = |i: usize, j: usize| (0..33).map(|k| work.a[i * 33 + k] * work.b[k * 33 + j]).sum::<f32>();
        assert!((work.c[5 * 33 + 7] - cell(5, 7)).abs() < 1e-3);
        assert!((work.c[32 * 33 + 32] - cell(32, 32)).abs() < 1e-3);
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
