//! Clause `contractions`: products of operands that lie anywhere, of a matrix with itself, with vectors, under formulas.

use ml_kernels::map::{Expr, Operand};
use ml_kernels::matmul::{Gram, Layout, Strided, gram, matmul, matmul_batched, matmul_map, matmul_strided, matvec};

use super::{Vectors, data};
use crate::error::Result;

/// Of `mid` and of tiny elements, K through one, two and five leaves.
pub fn run(vectors: &mut Vectors) -> Result<()> {
    let device = vectors.device.clone();
    for (sort, exponent) in [("mid", 0), ("tiny", -56)] {
        for k in [1, 1024, 1025, 4100] {
            let name = format!("{sort}.{k}");
            let x = vectors.upload(&data::scaled(30, 9 * k, exponent)?)?;
            let y = vectors.upload(&data::scaled(31, 13 * k, exponent)?)?;
            let v = vectors.upload(&data::scaled(32, k, exponent)?)?;
            for (layout, of) in [(Layout::NN, "nn"), (Layout::NT, "nt"), (Layout::TN, "tn")] {
                vectors.buffer(
                    format!("product.{of}.{name}"),
                    &[9, 13],
                    &matmul(&device, layout, &x, &y, 9, 13, k)?,
                )?;
            }
            vectors.buffer(format!("product.gram_rows.{name}"), &[9, 9], &gram(&device, Gram::Rows, &x, 9, k)?)?;
            vectors.buffer(format!("product.gram_cols.{name}"), &[9, 9], &gram(&device, Gram::Columns, &x, k, 9)?)?;
            vectors.buffer(format!("product.vector.{name}"), &[9], &matvec(&device, Layout::NN, &x, &v, 9, k)?)?;
            vectors.buffer(format!("product.vector_tn.{name}"), &[9], &matvec(&device, Layout::TN, &x, &v, 9, k)?)?;
        }
    }
    strided(vectors)?;

    let x = vectors.upload(&data::mid(33, 3 * 5 * 40)?)?;
    let y = vectors.upload(&data::mid(34, 3 * 40 * 6)?)?;
    vectors.buffer("product.batch", &[3, 5, 6], &matmul_batched(&device, Layout::NN, &x, &y, 3, 5, 6, 40)?)?;
    let bias = vectors.upload(&data::mid(35, 18)?)?;
    let layer = ((Expr::input(0) + Expr::input(1)) * Expr::scalar(0)).relu();
    let inputs = [Operand::Row(&bias)];
    let mapped = matmul_map(&device, Layout::NT, &x, &y, [15, 18, 40], &layer, &inputs, &[0.1])?;
    vectors.buffer("product.formula", &[15, 18], &mapped)?;
    let none = vectors.upload(&[])?;
    vectors.buffer("product.none", &[4, 3], &matmul(&device, Layout::NN, &none, &none, 4, 3, 0)?)
}

/// Rows that lie apart, overlap and repeat.
fn strided(vectors: &mut Vectors) -> Result<()> {
    let device = vectors.device.clone();
    let a = vectors.upload(&data::mid(36, 4000)?)?;
    let b = vectors.upload(&data::mid(37, 4000)?)?;
    for (layout, name) in [(Layout::NN, "nn"), (Layout::NT, "nt"), (Layout::TN, "tn")] {
        let apart = Strided { buffer: &a, start: 11, row_stride: 70, item_stride: 101 };
        let overlapping = Strided { buffer: &b, start: 5, row_stride: 3, item_stride: 7 };
        let c = matmul_strided(&device, layout, apart, overlapping, 3, 6, 8, 30)?;
        vectors.buffer(format!("product.strided.{name}"), &[3, 6, 8], &c)?;
        let repeated = Strided { buffer: &a, start: 2, row_stride: 0, item_stride: 0 };
        let c = matmul_strided(&device, layout, repeated, Strided::new(&b, 0, 31), 1, 6, 8, 30)?;
        vectors.buffer(format!("product.repeated.{name}"), &[6, 8], &c)?;
    }
    Ok(())
}
