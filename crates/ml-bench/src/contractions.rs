//! Products of the shapes that models ask for: layers, Gram matrices, long axes and vectors.

use ml_core::Result;
use ml_kernels::map::{Expr, Operand};
use ml_kernels::matmul::{Gram, Layout, gram, matmul, matmul_map, matvec};
use ml_kernels::{Buffer, Device};

use crate::workloads::{Size, Unit, Workload, same, values};

/// What is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Two matrices in a layout.
    Product(Layout),
    /// The columns of one matrix, k x n, with each other.
    Gram,
    /// A matrix, m x k, and a vector.
    Vector,
    /// Rows and weights (`NT`), a bias and a rectifier.
    Layer,
}

/// One workload: its shape on the host and on large GPUs, as (m, n, k).
struct Shape {
    name: &'static str,
    form: Form,
    tiny: [usize; 3],
    host: [usize; 3],
    gpu: [usize; 3],
}

const SHAPES: [Shape; 7] = [
    Shape {
        name: "matmul wide",
        form: Form::Product(Layout::NN),
        tiny: [64, 128, 48],
        host: [512, 2048, 768],
        gpu: [4096, 2048, 768],
    },
    Shape {
        name: "matmul narrow",
        form: Form::Product(Layout::NN),
        tiny: [64, 48, 128],
        host: [512, 768, 2048],
        gpu: [4096, 768, 2048],
    },
    Shape {
        name: "matmul vocabulary",
        form: Form::Product(Layout::NT),
        tiny: [64, 501, 48],
        host: [64, 50_257, 768],
        gpu: [8192, 50_257, 768],
    },
    Shape {
        name: "matmul gram",
        form: Form::Gram,
        tiny: [64, 64, 3000],
        host: [64, 64, 1_000_000],
        gpu: [64, 64, 1_000_000],
    },
    Shape {
        name: "matmul long",
        form: Form::Product(Layout::NT),
        tiny: [32, 32, 5000],
        host: [128, 128, 262_144],
        gpu: [128, 128, 1_000_000],
    },
    Shape {
        name: "matmul vector",
        form: Form::Vector,
        tiny: [300, 1, 500],
        host: [8192, 1, 8192],
        gpu: [16_384, 1, 16_384],
    },
    Shape {
        name: "matmul layer",
        form: Form::Layer,
        tiny: [64, 128, 48],
        host: [512, 2048, 768],
        gpu: [4096, 2048, 768],
    },
];

impl Form {
    fn text(self) -> &'static str {
        match self {
            Form::Product(Layout::NN) => "f32 nn",
            Form::Product(Layout::NT) => "f32 nt",
            Form::Product(Layout::TN) => "f32 tn",
            Form::Gram => "f32 tn of itself",
            Form::Vector => "f32 nn",
            Form::Layer => "f32 nt, bias and relu",
        }
    }

    /// Elements of the operands.
    fn lengths(self, [m, n, k]: [usize; 3]) -> [usize; 3] {
        match self {
            Form::Product(_) | Form::Vector => [m * k, n * k, 0],
            Form::Gram => [n * k, 0, 0],
            Form::Layer => [m * k, n * k, n],
        }
    }

    /// Products and sums that the result needs: of a symmetric one, half and the diagonal.
    fn flops(self, [m, n, k]: [usize; 3]) -> f64 {
        let [m, n, k] = [m, n, k].map(|x| x as f64);
        match self {
            Form::Product(_) | Form::Vector => 2.0 * m * n * k,
            Form::Gram => n * (n + 1.0) * k,
            Form::Layer => 2.0 * m * n * k + 2.0 * m * n,
        }
    }

    fn upload(self, device: &Device, dims: [usize; 3]) -> Result<Vec<Buffer<f32>>> {
        let lengths = self.lengths(dims);
        (16..).zip(lengths).map(|(seed, n)| Buffer::upload(device, &values(n, seed))).collect()
    }

    fn run(self, device: &Device, x: &[Buffer<f32>], [m, n, k]: [usize; 3]) -> Result<Buffer<f32>> {
        match self {
            Form::Product(layout) => matmul(device, layout, &x[0], &x[1], m, n, k),
            Form::Gram => gram(device, Gram::Columns, &x[0], k, n),
            Form::Vector => matvec(device, Layout::NN, &x[0], &x[1], m, k),
            Form::Layer => {
                let layer = (Expr::input(0) + Expr::input(1)).relu();
                matmul_map(device, Layout::NT, &x[0], &x[1], [m, n, k], &layer, &[Operand::Row(&x[2])], &[])
            }
        }
    }
}

/// Products whose names contain `filter`. They are recorded as times: the floor is the longer of reading and writing
/// everything once and of making all products and sums.
///
/// # Errors
/// A device failure while the data is uploaded.
pub(crate) fn contractions(device: &Device, size: Size, filter: &str) -> Result<Vec<Workload>> {
    let chosen = SHAPES.iter().filter(|s| filter.is_empty() || s.name.contains(filter));
    chosen.map(|shape| workload(device, size, shape)).collect()
}

fn workload(device: &Device, size: Size, shape: &Shape) -> Result<Workload> {
    let dims = match size {
        Size::Tiny => shape.tiny,
        Size::Host => shape.host,
        Size::Gpu => shape.gpu,
    };
    let form = shape.form;
    let [m, n, k] = dims;
    let operands = form.upload(device, dims)?;
    let (d, e) = (device.clone(), device.clone());
    Ok(Workload {
        name: shape.name,
        shape: format!("{m}x{n}x{k} {}", form.text()),
        unit: Unit::Seconds,
        bytes: ((form.lengths(dims).iter().sum::<usize>() + m * n) * 4) as f64,
        flops: form.flops(dims),
        check: Box::new(move || {
            // The same kernels on a shape that one thread of the host does in a second, with an odd rest on each side.
            let few = |x: usize, most: usize| if x > most { most - 3 } else { x };
            let dims = [few(m, 300), few(n, 700), few(k, if form == Form::Vector { 9000 } else { 5000 })];
            same(&d, |d| form.run(d, &form.upload(d, dims)?, dims))
        }),
        run: Box::new(move || form.run(&e, &operands, dims).map(drop)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_runs_and_has_a_floor() {
        let device = Device::host();
        let mut all = contractions(&device, Size::Tiny, "").expect("fits");
        assert_eq!(all.len(), SHAPES.len());
        for workload in &mut all {
            (workload.check)().expect("the bits are the host's");
            (workload.run)().expect("runs");
            assert!(workload.bytes > 0.0 && workload.flops > 0.0);
        }
        assert_eq!(contractions(&device, Size::Tiny, "gram").expect("fits").len(), 1);
    }

    #[test]
    fn a_symmetric_result_needs_half() {
        assert_eq!(Form::Gram.flops([3, 3, 10]), 120.0);
        assert_eq!(Form::Product(Layout::NN).flops([3, 3, 10]), 180.0);
        assert_eq!(Form::Gram.lengths([3, 3, 10]), [30, 0, 0]);
    }
}
