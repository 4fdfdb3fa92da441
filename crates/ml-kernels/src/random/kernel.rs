//! Devices: one unit a block of four words.

use cubecl::prelude::*;
use ml_core::Result;

use super::Stream;
use crate::buffer::{Chunks, Element};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{Limbs, add64, bits, draw, select_u32, uniform_open};
use crate::sabotage::Arm;
use crate::sort::kernel::sort;

/// What becomes of a block's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Words,
    Uniform,
}

pub(super) fn words<R: Runtime>(g: &Gpu<R>, n: usize, stream: Stream) -> Result<Chunks<u32>> {
    fill(g, n, stream, Form::Words)
}

pub(super) fn uniform<R: Runtime>(g: &Gpu<R>, n: usize, stream: Stream) -> Result<Chunks<f32>> {
    fill(g, n, stream, Form::Uniform)
}

fn fill<R: Runtime, T: Element>(g: &Gpu<R>, n: usize, stream: Stream, form: Form) -> Result<Chunks<T>> {
    let out = Chunks::alloc(g, n)?;
    // Panels start at multiples of 64 elements, where a binding may start.
    for part in g.row_panels(n, &[1]) {
        let result = out.view_out(g, part.clone())?;
        let block = Limbs::from_u64(part.start as u64 / 4);
        g.guard("random", 0, || {
            // SAFETY: the kernel checks its bound, the length of the output.
            unsafe {
                fill_blocks::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len().div_ceil(4), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    result.arg(),
                    part.len() as u32,
                    block.hi,
                    block.lo,
                    stream.seed.hi,
                    stream.seed.lo,
                    stream.stream,
                    stream.rounds,
                    form,
                );
            }
        })?;
        out.commit(g, result)?;
    }
    Ok(out)
}

/// Stable sorts by the low key word and then by the high one sort by both.
pub(super) fn permutation<R: Runtime>(g: &Gpu<R>, n: usize, stream: Stream) -> Result<Chunks<u32>> {
    let (low, index) = low_keys(g, n, stream)?;
    let by_low = sort(g, &low, &index, Arm::None)?.1;
    let high = high_keys(g, &by_low, stream)?;
    Ok(sort(g, &high, &by_low, Arm::None)?.1)
}

/// The low key words of a permutation's indices, and the indices.
fn low_keys<R: Runtime>(g: &Gpu<R>, n: usize, stream: Stream) -> Result<(Chunks<u32>, Chunks<u32>)> {
    let (keys, index) = (Chunks::alloc(g, n)?, Chunks::alloc(g, n)?);
    for part in g.row_panels(n, &[1]) {
        let (k, i) = (keys.view_out(g, part.clone())?, index.view_out(g, part.clone())?);
        g.guard("permutation", 0, || {
            // SAFETY: the kernel checks its bound, the length of both outputs.
            unsafe {
                low_words::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len().div_ceil(2), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    k.arg(),
                    i.arg(),
                    part.len() as u32,
                    part.start as u32,
                    stream.seed.hi,
                    stream.seed.lo,
                    stream.stream,
                    stream.rounds,
                );
            }
        })?;
        keys.commit(g, k)?;
        index.commit(g, i)?;
    }
    Ok((keys, index))
}

/// The high key words of the indices in `order`.
fn high_keys<R: Runtime>(g: &Gpu<R>, order: &Chunks<u32>, stream: Stream) -> Result<Chunks<u32>> {
    let keys = Chunks::alloc(g, order.len())?;
    for part in g.row_panels(order.len(), &[1]) {
        let view = order.view(g, part.clone())?;
        let k = keys.view_out(g, part.clone())?;
        g.guard("permutation", 0, || {
            // SAFETY: the kernel checks its bound, the length of input and output.
            unsafe {
                high_words::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    k.arg(),
                    part.len() as u32,
                    stream.seed.hi,
                    stream.seed.lo,
                    stream.stream,
                    stream.rounds,
                );
            }
        })?;
        keys.commit(g, k)?;
    }
    Ok(keys)
}

#[cube]
fn shaped(word: u32, #[comptime] form: Form) -> u32 {
    let mut w = word;
    if comptime!(form == Form::Uniform) {
        w = bits(uniform_open(word));
    }
    w
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn fill_blocks(
    out: &mut Array<u32>,
    n: u32,
    block_hi: u32,
    block_lo: u32,
    seed_hi: u32,
    seed_lo: u32,
    stream: u32,
    #[comptime] rounds: u32,
    #[comptime] form: Form,
) {
    let unit = ABSOLUTE_POS as u32;
    let i = unit * 4u32;
    if i < n {
        let block = add64(Limbs { hi: block_hi, lo: block_lo }, Limbs { hi: 0u32, lo: unit });
        let w = draw(Limbs { hi: seed_hi, lo: seed_lo }, stream, block, 0u32, comptime!(rounds).runtime());
        out[i as usize] = shaped(w.w0, form);
        if i + 1u32 < n {
            out[(i + 1u32) as usize] = shaped(w.w1, form);
        }
        if i + 2u32 < n {
            out[(i + 2u32) as usize] = shaped(w.w2, form);
        }
        if i + 3u32 < n {
            out[(i + 3u32) as usize] = shaped(w.w3, form);
        }
    }
}

/// One unit a block, the keys of two indices.
#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn low_words(
    keys: &mut Array<u32>,
    index: &mut Array<u32>,
    n: u32,
    first: u32,
    seed_hi: u32,
    seed_lo: u32,
    stream: u32,
    #[comptime] rounds: u32,
) {
    let unit = ABSOLUTE_POS as u32;
    let i = unit * 2u32;
    if i < n {
        let block = Limbs { hi: 0u32, lo: first / 2u32 + unit };
        let w = draw(Limbs { hi: seed_hi, lo: seed_lo }, stream, block, 0u32, comptime!(rounds).runtime());
        keys[i as usize] = w.w1;
        index[i as usize] = first + i;
        if i + 1u32 < n {
            keys[(i + 1u32) as usize] = w.w3;
            index[(i + 1u32) as usize] = first + i + 1u32;
        }
    }
}

#[cube(launch_unchecked)]
fn high_words(
    order: &Array<u32>,
    keys: &mut Array<u32>,
    n: u32,
    seed_hi: u32,
    seed_lo: u32,
    stream: u32,
    #[comptime] rounds: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let index = order[i as usize];
        let block = Limbs { hi: 0u32, lo: index / 2u32 };
        let w = draw(Limbs { hi: seed_hi, lo: seed_lo }, stream, block, 0u32, comptime!(rounds).runtime());
        keys[i as usize] = select_u32((index & 1u32) == 0u32, w.w0, w.w2);
    }
}
