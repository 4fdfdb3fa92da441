//! Packing on the host: vectors of K side by side, so that a microkernel reads one short row a step.

use std::ops::Range;

use rayon::prelude::*;

use super::guard::least_exponent;
use super::{LEAF, Side};

/// A run of an operand's vectors, in panels of `width` vectors (the last may be narrower, or padded with +0 to `width`).
/// Element `i` of a panel's vector `v` is at `start(panel) + i * panel_width + v`; leaves can be reversed.
#[derive(Debug, Default)]
pub(super) struct Packed {
    data: Vec<f32>,
    /// Least biased exponents, by panel, then by leaf of the packed range of K.
    least: Vec<u32>,
    width: usize,
    vectors: usize,
    k: Range<usize>,
    padded: bool,
}

/// How to pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// Vectors in a panel.
    pub(super) width: usize,
    /// Whether a narrow last panel is widened with +0.
    pub(super) padded: bool,
    /// Whether each leaf is stored last element first.
    pub(super) descending: bool,
    /// Whether rayon's threads share the work.
    pub(super) parallel: bool,
}

impl Packed {
    /// Packs elements `k` (whole leaves, the last may be short) of the vectors `vectors` of `side`.
    pub(super) fn fill(&mut self, side: &Side<'_>, vectors: Range<usize>, k: Range<usize>, form: Form) {
        debug_assert!(k.start.is_multiple_of(LEAF) && k.end <= side.k && vectors.end <= side.outer);
        self.width = form.width;
        self.vectors = vectors.len();
        self.padded = form.padded;
        self.k = k.clone();
        let columns = if form.padded { vectors.len().next_multiple_of(form.width) } else { vectors.len() };
        self.data.resize(columns * k.len(), 0.0);
        let leaves = self.leaves();
        self.least.resize(self.panels() * leaves, 0);
        if leaves == 0 || vectors.is_empty() {
            return;
        }
        let stored = form.width * k.len();
        let pack = |(panel, (out, least)): (usize, (&mut [f32], &mut [u32]))| {
            let first = vectors.start + panel * form.width;
            pack_panel(side, first..(first + form.width).min(vectors.end), &k, form, out, least);
        };
        if form.parallel {
            self.data.par_chunks_mut(stored).zip(self.least.par_chunks_mut(leaves)).enumerate().for_each(pack);
        } else {
            self.data.chunks_mut(stored).zip(self.least.chunks_mut(leaves)).enumerate().for_each(pack);
        }
    }

    pub(super) fn panels(&self) -> usize {
        self.vectors.div_ceil(self.width.max(1))
    }

    pub(super) fn leaves(&self) -> usize {
        self.k.len().div_ceil(LEAF)
    }

    /// Vectors that panel `panel` stores.
    pub(super) fn panel_width(&self, panel: usize) -> usize {
        if self.padded { self.width } else { self.width.min(self.vectors - panel * self.width) }
    }

    /// The packed elements of a panel's leaf.
    pub(super) fn leaf(&self, panel: usize, leaf: usize) -> &[f32] {
        let width = self.panel_width(panel);
        let start = panel * self.width * self.k.len();
        let k = leaf * LEAF..((leaf + 1) * LEAF).min(self.k.len());
        &self.data[start + k.start * width..start + k.end * width]
    }

    /// The least biased exponent of a panel's leaf.
    pub(super) fn least(&self, panel: usize, leaf: usize) -> u32 {
        self.least[panel * self.leaves() + leaf]
    }
}

/// Packs one panel, whole leaves of it, and notes their least exponents.
fn pack_panel(
    side: &Side<'_>,
    vectors: Range<usize>,
    k: &Range<usize>,
    form: Form,
    out: &mut [f32],
    least: &mut [u32],
) {
    let width = out.len() / k.len();
    if vectors.len() < width {
        out.fill(0.0);
    }
    if side.k_stride == 1 {
        transpose(side, vectors, k, width, out);
    } else {
        copy(side, vectors, k, width, out);
    }
    for (leaf, least) in out.chunks_mut(LEAF * width).zip(least) {
        *least = least_exponent(leaf);
        if form.descending {
            reverse(leaf, width);
        }
    }
}

/// Elements that are contiguous along K: read rows, write columns, in blocks that stay in the first-level cache.
fn transpose(side: &Side<'_>, vectors: Range<usize>, k: &Range<usize>, width: usize, out: &mut [f32]) {
    const BLOCK: usize = 32;
    for at in (0..k.len()).step_by(BLOCK) {
        let n = BLOCK.min(k.len() - at);
        let out = &mut out[at * width..(at + n) * width];
        for (v, vector) in vectors.clone().enumerate() {
            let from = vector * side.outer_stride + k.start + at;
            for (cells, x) in out.chunks_exact_mut(width).zip(&side.data[from..from + n]) {
                cells[v] = *x;
            }
        }
    }
}

/// Elements that are contiguous across vectors: copy short rows.
fn copy(side: &Side<'_>, vectors: Range<usize>, k: &Range<usize>, width: usize, out: &mut [f32]) {
    debug_assert_eq!(side.outer_stride, 1);
    for (cells, i) in out.chunks_exact_mut(width).zip(k.clone()) {
        let from = i * side.k_stride + vectors.start;
        cells[..vectors.len()].copy_from_slice(&side.data[from..from + vectors.len()]);
    }
}

fn reverse(leaf: &mut [f32], width: usize) {
    let steps = leaf.len() / width;
    for i in 0..steps / 2 {
        let (head, tail) = leaf.split_at_mut((steps - 1 - i) * width);
        head[i * width..(i + 1) * width].swap_with_slice(&mut tail[..width]);
    }
}
