//! Device memory in pieces no larger than the device's binding limit, and contiguous views into it for kernels.

use std::marker::PhantomData;
use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::Element;
use crate::device::gpu::{ALIGN_BYTES, CUBE, Gpu};

/// Device memory of `len` elements; every piece but the last has `chunk` elements.
#[derive(Clone)]
pub(crate) struct Chunks<T> {
    handles: Vec<Handle>,
    chunk: usize,
    len: usize,
    element: PhantomData<T>,
}

/// A contiguous input for a kernel: a part of one piece, or a copy that spans several.
#[derive(Clone)]
pub(crate) struct In {
    pub(crate) handle: Handle,
    pub(crate) len: usize,
}

/// A contiguous output for a kernel; [`Chunks::commit`] puts it where it belongs if it could not be written in place.
#[must_use = "an output that is not committed may be lost"]
pub(crate) struct Out {
    pub(crate) handle: Handle,
    pub(crate) len: usize,
    start: usize,
    in_place: bool,
}

impl In {
    /// The kernel argument.
    pub(crate) fn arg<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: `len` is the number of elements that the handle's range holds (at least one is always allocated).
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), self.len.max(1)) }
    }

    /// The kernel argument as vectors of `width` elements; `len` must be a multiple of `width`.
    pub(crate) fn arg_vec<R: Runtime>(&self, width: usize) -> ArrayArg<R> {
        // SAFETY: as in `arg`, counted in vectors.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), (self.len / width).max(1)) }
    }
}

impl Out {
    /// The kernel argument.
    pub(crate) fn arg<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: `len` is the number of elements that the handle's range holds (at least one is always allocated).
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), self.len.max(1)) }
    }

    /// The kernel argument as vectors of `width` elements; `len` must be a multiple of `width`.
    pub(crate) fn arg_vec<R: Runtime>(&self, width: usize) -> ArrayArg<R> {
        // SAFETY: as in `arg`, counted in vectors.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), (self.len / width).max(1)) }
    }
}

impl<T: Element> Chunks<T> {
    pub(crate) fn alloc<R: Runtime>(g: &Gpu<R>, len: usize) -> Result<Self> {
        let chunk = g.max_elements::<T>();
        let mut handles = Vec::with_capacity(len.div_ceil(chunk).max(1));
        let mut left = len;
        loop {
            let n = left.min(chunk);
            handles.push(g.alloc_one::<T>(n)?);
            left -= n;
            if left == 0 {
                break;
            }
        }
        Ok(Chunks { handles, chunk, len, element: PhantomData })
    }

    pub(crate) fn upload<R: Runtime>(g: &Gpu<R>, data: &[T]) -> Result<Self> {
        let chunk = g.max_elements::<T>();
        let handles = if data.is_empty() {
            vec![g.alloc_one::<T>(1)?]
        } else {
            data.chunks(chunk).map(|part| g.upload_one(part)).collect::<Result<_>>()?
        };
        Ok(Chunks { handles, chunk, len: data.len(), element: PhantomData })
    }

    pub(crate) fn read<R: Runtime>(&self, g: &Gpu<R>) -> Result<Vec<T>> {
        let mut out = Vec::with_capacity(self.len);
        for (i, handle) in self.handles.iter().enumerate() {
            let n = self.chunk.min(self.len - i * self.chunk);
            out.extend(g.read_one::<T>(handle, n)?);
        }
        Ok(out)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether all elements lie in one piece, as they do below the binding limit.
    pub(crate) fn is_whole(&self) -> bool {
        self.handles.len() == 1
    }

    /// The whole as one input; for callers that have checked [`Chunks::is_whole`].
    pub(crate) fn whole(&self) -> In {
        debug_assert!(self.is_whole());
        In { handle: self.handles[0].clone(), len: self.len }
    }

    /// The part of one piece that `range` is, if it is one and starts where a binding may start.
    fn part(&self, range: &Range<usize>) -> Option<Handle> {
        let index = range.start / self.chunk;
        let piece_start = index * self.chunk;
        let piece_len = self.chunk.min(self.len - piece_start);
        let start = range.start - piece_start;
        let end = range.end - piece_start;
        let start_bytes = (start * size_of::<T>()) as u64;
        if end > piece_len || !start_bytes.is_multiple_of(ALIGN_BYTES) {
            return None;
        }
        let handle = self.handles[index].clone();
        let tail_bytes = ((piece_len - end) * size_of::<T>()) as u64;
        Some(match (start_bytes, tail_bytes) {
            (0, 0) => handle,
            _ => handle.offset_start(start_bytes).offset_end(tail_bytes),
        })
    }

    /// A contiguous input holding `range`, at most one binding long.
    // pathway: P85
    pub(crate) fn view<R: Runtime>(&self, g: &Gpu<R>, range: Range<usize>) -> Result<In> {
        let len = range.len();
        if len == 0 {
            return Ok(In { handle: g.alloc_one::<T>(1)?, len: 0 });
        }
        if let Some(handle) = self.part(&range) {
            return Ok(In { handle, len });
        }
        let temp = g.alloc_one::<T>(len)?;
        for (piece, from, to, n) in self.pieces(&range) {
            let source = (self.handles[piece].clone(), self.piece_len(piece), from);
            copy::<R>(g, source, (temp.clone(), len, to), n)?;
        }
        Ok(In { handle: temp, len })
    }

    /// A contiguous output for `range`, at most one binding long; call [`Chunks::commit`] after the launch.
    pub(crate) fn view_out<R: Runtime>(&self, g: &Gpu<R>, range: Range<usize>) -> Result<Out> {
        let (start, len) = (range.start, range.len());
        match if len == 0 { None } else { self.part(&range) } {
            Some(handle) => Ok(Out { handle, len, start, in_place: true }),
            None => Ok(Out { handle: g.alloc_one::<T>(len)?, len, start, in_place: false }),
        }
    }

    /// Makes sure that `out` is part of these chunks.
    pub(crate) fn commit<R: Runtime>(&self, g: &Gpu<R>, out: Out) -> Result<()> {
        if out.in_place || out.len == 0 {
            return Ok(());
        }
        let range = out.start..out.start + out.len;
        for (piece, to, from, n) in self.pieces(&range) {
            let target = (self.handles[piece].clone(), self.piece_len(piece), to);
            copy::<R>(g, (out.handle.clone(), out.len, from), target, n)?;
        }
        Ok(())
    }

    fn piece_len(&self, piece: usize) -> usize {
        self.chunk.min(self.len - piece * self.chunk)
    }

    /// (piece, offset in it, offset in the range, elements) for every piece that `range` meets.
    fn pieces(&self, range: &Range<usize>) -> Vec<(usize, usize, usize, usize)> {
        let mut out = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let piece = at / self.chunk;
            let end = range.end.min((piece + 1) * self.chunk);
            out.push((piece, at - piece * self.chunk, at - range.start, end - at));
            at = end;
        }
        out
    }
}

/// Copies `n` words from (handle, length, offset) to (handle, length, offset).
fn copy<R: Runtime>(
    g: &Gpu<R>,
    (source, source_len, from): (Handle, usize, usize),
    (target, target_len, to): (Handle, usize, usize),
    n: usize,
) -> Result<()> {
    g.guard("copy", 0, || {
        // SAFETY: the kernel checks its bound `n`; both ranges lie inside their handles by construction of `pieces`.
        unsafe {
            copy_words::launch_unchecked::<R>(
                g.client(),
                g.grid(n, CUBE as usize),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(source, source_len),
                ArrayArg::from_raw_parts(target, target_len),
                from as u32,
                to as u32,
                n as u32,
            );
        }
    })
}

#[cube(launch_unchecked)]
fn copy_words(source: &Array<u32>, target: &mut Array<u32>, from: u32, to: u32, n: u32) {
    let i = ABSOLUTE_POS;
    if i < n as usize {
        target[to as usize + i] = source[from as usize + i];
    }
}
