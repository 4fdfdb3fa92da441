//! Sums of the rows and columns of element-wise formulas; on the host, their elements are never stored.

use ml_core::Result;

use super::{Checked, Expr, Operand, checked, host, map};
use crate::buffer::Buffer;
use crate::device::{Backend, Device};
use crate::reduce;
use crate::sabotage::Arm;

/// For each of `exprs`, the sums of the rows of the (rows, cols) matrix that [`map()`] would give: shape (rows). The host
/// computes elements and sums together and reads its inputs once for all expressions.
///
/// # Errors
/// Those of [`map()`], `inputs` and `scalars` being as many as the expressions together name.
///
/// # Bit identity
/// That of [`map()`] and [`reduce::row_sums`].
///
/// # Example
/// ```
/// use ml_kernels::map::{Expr, Operand, row_sums};
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let sums = row_sums(&device, &[Expr::input(0).square()], &[Operand::Full(&x)], &[], 2, 2)?;
/// assert_eq!(sums[0].read()?, [5.0, 25.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn row_sums(
    device: &Device,
    exprs: &[Expr],
    inputs: &[Operand<'_>],
    scalars: &[f32],
    rows: usize,
    cols: usize,
) -> Result<Vec<Buffer<f32>>> {
    sums(device, exprs, inputs, scalars, rows, cols, Along::Rows)
}

/// For each of `exprs`, the sums of the columns of the (rows, cols) matrix that [`map()`] would give: shape (cols). The host
/// computes elements and sums together and reads its inputs once for all expressions.
///
/// # Errors
/// Those of [`map()`], `inputs` and `scalars` being as many as the expressions together name.
///
/// # Bit identity
/// That of [`map()`] and [`reduce::col_sums`].
///
/// # Example
/// ```
/// use ml_kernels::map::{Expr, Operand, col_sums};
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let sums = col_sums(&device, &[Expr::input(0), Expr::input(0).square()], &[Operand::Full(&x)], &[], 2, 2)?;
/// assert_eq!((sums[0].read()?, sums[1].read()?), (vec![4.0, 6.0], vec![10.0, 20.0]));
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn col_sums(
    device: &Device,
    exprs: &[Expr],
    inputs: &[Operand<'_>],
    scalars: &[f32],
    rows: usize,
    cols: usize,
) -> Result<Vec<Buffer<f32>>> {
    sums(device, exprs, inputs, scalars, rows, cols, Along::Columns)
}

/// Which way is summed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    Rows,
    Columns,
}

// pathway: P100
fn sums(
    device: &Device,
    exprs: &[Expr],
    inputs: &[Operand<'_>],
    scalars: &[f32],
    rows: usize,
    cols: usize,
    along: Along,
) -> Result<Vec<Buffer<f32>>> {
    let (program, outputs) = Expr::compile_all(exprs)?;
    let Checked { operands, scalars: canonical } = checked(device, &program, inputs, scalars, rows, cols)?;
    // A matrix of one column is summed down as a row is along.
    let fused = along == Along::Rows || cols > 1;
    if let Backend::Host(h) = device.backend()
        && device.arm() == Arm::None
        && rows > 0
        && cols > 0
        && fused
        && !exprs.is_empty()
    {
        let inputs = operands.iter().map(|(k, b)| Ok((*k, b.host("operand")?))).collect::<Result<Vec<_>>>()?;
        let call = host::Call { program: &program, inputs: &inputs, scalars: &canonical, arm: Arm::None, over: None };
        let sums = h.install(|| match along {
            Along::Rows => reduce::mapped_row_sums(call, outputs, rows, cols),
            Along::Columns => reduce::mapped_col_sums(call, outputs, rows, cols),
        });
        return Ok(sums.into_iter().map(|sums| Buffer::from_host(device, sums)).collect());
    }
    let alone = |expr: &Expr| -> Result<Buffer<f32>> {
        // An expression alone may name fewer inputs than all of them together.
        let program = expr.compile()?;
        let (inputs, scalars) = (&inputs[..program.n_inputs], &scalars[..program.n_scalars]);
        let elements = map(device, expr, inputs, scalars, rows, cols)?;
        match along {
            Along::Rows => reduce::row_sums(device, &elements, rows, cols),
            Along::Columns => reduce::col_sums(device, &elements, rows, cols),
        }
    };
    exprs.iter().map(alone).collect()
}
