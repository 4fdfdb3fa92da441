//! Recording of values that lie on the host.

use ml_core::Result;
use ml_kernels::{Buffer, Context, Device};

/// Records host floats; copies nothing when nobody records.
pub(crate) fn record_f32(cx: &mut Context<'_>, tag: &str, shape: &[usize], data: &[f32]) -> Result<()> {
    if cx.records() {
        cx.record_f32(tag, shape, &Buffer::upload(&Device::host(), data)?)?;
    }
    Ok(())
}

/// Records host integers; copies nothing when nobody records.
pub(crate) fn record_u32(cx: &mut Context<'_>, tag: &str, data: &[u32]) -> Result<()> {
    if cx.records() {
        cx.record_u32(tag, &[data.len()], &Buffer::upload(&Device::host(), data)?)?;
    }
    Ok(())
}
