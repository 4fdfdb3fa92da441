//! Element-wise formulas: one kernel for all of them, specialised when first used.

pub(crate) mod conformance;
mod expr;
pub(crate) mod host;
#[cfg(feature = "gpu")]
mod kernel;
mod reference;
mod scalar;
mod sums;

use ml_core::{DataError, Result};

use crate::buffer::Buffer;
#[cfg(feature = "gpu")]
use crate::buffer::Chunks;
use crate::device::{Backend, Device, on_device};

pub use expr::Expr;
pub use sums::{col_sums, row_sums};

use expr::Program;

/// Most inputs of one call: with the result and the scalars they stay within the bindings of every runtime.
pub const MAX_INPUTS: usize = 4;

/// How an input meets the elements of the result, whose shape is (rows, cols).
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// One value an element: shape (rows, cols).
    Full(&'a Buffer<f32>),
    /// One value a column, used in every row: shape (cols).
    Row(&'a Buffer<f32>),
    /// One value a row, used in every column: shape (rows).
    Col(&'a Buffer<f32>),
}

/// How an input is indexed; part of the kernel's identity, of no rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Full,
    Row,
    Col,
}

impl<'a> Operand<'a> {
    fn split(self) -> (Kind, &'a Buffer<f32>) {
        match self {
            Operand::Full(b) => (Kind::Full, b),
            Operand::Row(b) => (Kind::Row, b),
            Operand::Col(b) => (Kind::Col, b),
        }
    }
}

/// `expr` for every element of a (rows, cols) matrix.
///
/// # Errors
/// [`DataError::Shape`] if an input's length does not match its kind, or if `inputs` or `scalars` are not as many as the
/// expression names; [`DataError::NonFinite`] for a scalar that is not finite; a device failure.
///
/// # Bit identity
/// Each operation of the expression rounds once, in the order written (`docs/contract.md`, clauses `operations` and
/// `elementary`).
///
/// # Example
/// ```
/// use ml_kernels::map::{Expr, Operand, map};
/// use ml_kernels::{Buffer, Device};
/// let device = Device::host();
/// let x = Buffer::upload(&device, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let mean = Buffer::upload(&device, &[2.0f32, 3.0])?;
/// let centred = map(&device, &(Expr::input(0) - Expr::input(1)), &[Operand::Full(&x), Operand::Row(&mean)], &[], 2, 2)?;
/// assert_eq!(centred.read()?, [-1.0, -1.0, 1.0, 1.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
pub fn map(
    device: &Device,
    expr: &Expr,
    inputs: &[Operand<'_>],
    scalars: &[f32],
    rows: usize,
    cols: usize,
) -> Result<Buffer<f32>> {
    let program = expr.compile()?;
    let Checked { operands, scalars } = checked(device, &program, inputs, scalars, rows, cols)?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let inputs = operands.iter().map(|(k, b)| Ok((*k, b.host("operand")?))).collect::<Result<Vec<_>>>()?;
        let call = host::Call { program: &program, inputs: &inputs, scalars: &scalars, arm, over: None };
        Ok(Buffer::from_host(device, h.install(|| host::run(call, rows, cols))))
    },
    gpu(g) => {
        let inputs = operands
            .iter()
            .map(|(k, b)| Ok((*k, b.chunks("operand", device)?)))
            .collect::<Result<Vec<_>>>()?;
        let out = Chunks::alloc(g, rows * cols)?;
        kernel::run(g, &program, &inputs, &scalars, rows, cols, arm, &out)?;
        Ok(Buffer::from_chunks(device, out))
    })
}

/// As [`map()`], input 0 being `over`, full, and input i + 1 being `inputs[i]`. The host overwrites the elements of `over`,
/// which is why it is given away.
pub(crate) fn map_over(
    device: &Device,
    expr: &Expr,
    over: Buffer<f32>,
    inputs: &[Operand<'_>],
    scalars: &[f32],
    rows: usize,
    cols: usize,
) -> Result<Buffer<f32>> {
    let mut all = vec![Operand::Full(&over)];
    all.extend_from_slice(inputs);
    match device.backend() {
        Backend::Host(h) => {
            let program = expr.compile()?;
            let Checked { scalars, .. } = checked(device, &program, &all, scalars, rows, cols)?;
            let mut slices: Vec<(Kind, &[f32])> = vec![(Kind::Full, &[])];
            for input in inputs {
                let (kind, buffer) = input.split();
                slices.push((kind, buffer.host("operand")?));
            }
            let arm = device.arm();
            let call = host::Call { program: &program, inputs: &slices, scalars: &scalars, arm, over: Some(0) };
            let mut out = over.into_host("operand")?;
            h.install(|| host::run_over(call, &mut out, rows, cols));
            Ok(Buffer::from_host(device, out))
        }
        #[cfg(feature = "gpu")]
        _ => map(device, expr, &all, scalars, rows, cols),
    }
}

/// The arguments of a call, checked.
struct Checked<'a> {
    operands: Vec<(Kind, &'a Buffer<f32>)>,
    /// Canonical.
    scalars: Vec<f32>,
}

fn checked<'a>(
    device: &Device,
    program: &Program,
    inputs: &[Operand<'a>],
    scalars: &[f32],
    rows: usize,
    cols: usize,
) -> Result<Checked<'a>> {
    let total = rows.checked_mul(cols).ok_or_else(|| DataError::TooLarge {
        what: "result",
        elements: rows as u128 * cols as u128,
        limit: usize::MAX as u128,
    })?;
    if inputs.len() != program.n_inputs || inputs.len() > MAX_INPUTS {
        let expected = format!("{} operands, at most {MAX_INPUTS}", program.n_inputs);
        return Err(DataError::shape("inputs", expected, inputs.len()).into());
    }
    if scalars.len() != program.n_scalars {
        return Err(DataError::shape("scalars", format!("{} values", program.n_scalars), scalars.len()).into());
    }
    if let Some(i) = scalars.iter().position(|s| !ml_core::canon::is_finite(*s)) {
        return Err(DataError::NonFinite { what: "scalars", row: 0, col: i, value: scalars[i] }.into());
    }
    let scalars: Vec<f32> = scalars.iter().map(|s| ml_core::canon::canon(*s)).collect();
    let mut operands = Vec::with_capacity(inputs.len());
    for input in inputs {
        let (kind, buffer) = input.split();
        let (what, expected) = match kind {
            Kind::Full => ("full operand", total),
            Kind::Row => ("row operand", cols),
            Kind::Col => ("column operand", rows),
        };
        buffer.expect(what, expected, device)?;
        operands.push((kind, buffer));
    }
    Ok(Checked { operands, scalars })
}

/// Each integer as a float, rounded to nearest even.
///
/// # Errors
/// A device failure.
///
/// # Bit identity
/// Clause `operations`: in integers, because native conversions of some devices are wrong above 2^24.
pub fn to_f32(device: &Device, x: &Buffer<u32>) -> Result<Buffer<f32>> {
    x.expect("x", x.len(), device)?;
    let arm = device.arm();
    on_device!(device,
    host(h) => {
        let x = x.host("x")?;
        Ok(Buffer::from_host(device, h.install(|| host::to_f32(x, arm))))
    },
    gpu(g) => {
        let out = Chunks::alloc(g, x.len())?;
        kernel::to_f32(g, x.chunks("x", device)?, arm, &out)?;
        Ok(Buffer::from_chunks(device, out))
    })
}
