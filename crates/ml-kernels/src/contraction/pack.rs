//! Packing on the host: vectors of K side by side, so that a microkernel reads one short row a step.

use std::ops::Range;

use rayon::prelude::*;

use super::guard::least_exponent;
use super::micro::tallest;
use super::{LEAF, Side};

/// A run of an operand's vectors, in panels. Element `i` of vector `v` of a panel `width` wide is at `i * width + v` of
/// the panel's part.
#[derive(Debug, Default)]
pub(super) struct Packed {
    data: Vec<f32>,
    panels: Vec<Panel>,
    /// Least biased exponents, by panel, then by leaf of the packed range of K.
    least: Vec<u32>,
    /// Length of the packed range of K.
    k: usize,
}

/// One panel: its first vector, counted from the first that is packed, and how many it stores and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Panel {
    pub(super) start: usize,
    pub(super) width: usize,
    used: usize,
}

/// How to cut into panels.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// All panels this wide, the last one filled with +0.
    Lanes(usize),
    /// Panels this wide, then the microkernels that fit what is left.
    Rows(usize),
}

impl Cut {
    fn panels(self, vectors: usize, out: &mut Vec<Panel>) {
        out.clear();
        let mut start = 0;
        while start < vectors {
            let left = vectors - start;
            let (width, used) = match self {
                Cut::Lanes(width) => (width, width.min(left)),
                Cut::Rows(width) => (tallest(width.min(left)), tallest(width.min(left))),
            };
            out.push(Panel { start, width, used });
            start += width;
        }
    }
}

/// How to pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) cut: Cut,
    /// Whether each leaf is stored last element first: a negative control.
    pub(super) descending: bool,
    /// Whether rayon's threads share the work.
    pub(super) parallel: bool,
}

impl Packed {
    /// Packs elements `k` (whole leaves, the last may be short) of the vectors `vectors` of `side`.
    // pathway: P38
    pub(super) fn fill(&mut self, side: &Side<'_>, vectors: Range<usize>, k: Range<usize>, form: Form) {
        debug_assert!(k.start.is_multiple_of(LEAF) && k.end <= side.k && vectors.end <= side.outer);
        self.k = k.len();
        form.cut.panels(vectors.len(), &mut self.panels);
        let columns = self.panels.last().map_or(0, |p| p.start + p.width);
        self.data.resize(columns * k.len(), 0.0);
        let leaves = k.len().div_ceil(LEAF);
        self.least.resize(self.panels.len() * leaves, 0);
        let mut rest = self.data.as_mut_slice();
        // By leaf, then by panel: threads share the leaves where there are few panels.
        let mut parts: Vec<Vec<Part<'_>>> = (0..leaves).map(|_| Vec::with_capacity(self.panels.len())).collect();
        for (panel, least) in self.panels.iter().zip(self.least.chunks_mut(leaves.max(1))) {
            let (part, after) = rest.split_at_mut(panel.width * k.len());
            rest = after;
            for ((out, least), parts) in part.chunks_mut(LEAF * panel.width).zip(least).zip(&mut parts) {
                parts.push(Part { panel: *panel, out, least });
            }
        }
        let leaf_of = |leaf: usize| k.start + leaf * LEAF..(k.start + (leaf + 1) * LEAF).min(k.end);
        let pack = |(leaf, group): (usize, &mut [Part<'_>])| {
            pack_group(side, vectors.start, &leaf_of(leaf), form.descending, group);
        };
        let groups = |(leaf, parts)| <[Part<'_>]>::chunks_mut(parts, GROUP).map(move |group| (leaf, group));
        if form.parallel {
            let groups: Vec<_> = parts.iter_mut().map(|p| p.as_mut_slice()).enumerate().flat_map(groups).collect();
            groups.into_par_iter().for_each(pack);
        } else {
            parts.iter_mut().map(|p| p.as_mut_slice()).enumerate().flat_map(groups).for_each(pack);
        }
    }

    /// The panels of the `vectors` vectors from `first` on; `first` starts a panel.
    pub(super) fn panels(&self, first: usize, vectors: usize) -> Range<usize> {
        let place = |at: usize| self.panels.partition_point(|p| p.start < at);
        place(first)..place(first + vectors)
    }

    pub(super) fn panel(&self, index: usize) -> Panel {
        self.panels[index]
    }

    /// The packed elements `steps` of a panel's leaf.
    pub(super) fn steps(&self, index: usize, leaf: usize, steps: &Range<usize>) -> &[f32] {
        let panel = self.panels[index];
        let from = panel.start * self.k + (leaf * LEAF + steps.start) * panel.width;
        &self.data[from..from + steps.len() * panel.width]
    }

    /// The least biased exponent of a panel's leaf.
    pub(super) fn least(&self, index: usize, leaf: usize) -> u32 {
        self.least[index * self.k.div_ceil(LEAF) + leaf]
    }
}

/// Panels that are packed together, so that short rows of the operand are read whole.
const GROUP: usize = 16;

/// A panel's place, and where the elements and the least exponent of one of its leaves go.
struct Part<'a> {
    panel: Panel,
    out: &'a mut [f32],
    least: &'a mut u32,
}

/// Packs a leaf of neighbouring panels and notes their least exponents.
fn pack_group(side: &Side<'_>, first: usize, k: &Range<usize>, descending: bool, group: &mut [Part<'_>]) {
    for part in group.iter_mut().filter(|p| p.panel.used < p.panel.width) {
        part.out.fill(0.0);
    }
    if side.k_stride == 1 {
        for part in group.iter_mut() {
            let start = first + part.panel.start;
            transpose(side, start..start + part.panel.used, k, part.panel.width, part.out);
        }
    } else {
        copy(side, first, k, group);
    }
    for Part { panel, out, least } in group {
        **least = least_exponent(out);
        if descending {
            reverse(out, panel.width);
        }
    }
}

/// Elements that are contiguous along K: eight rows at a time become eight columns.
fn transpose(side: &Side<'_>, vectors: Range<usize>, k: &Range<usize>, width: usize, out: &mut [f32]) {
    let row = |v: usize| {
        let from = v * side.outer_stride + k.start;
        &side.data[from..from + k.len()]
    };
    let mut at = 0;
    while at + 8 <= vectors.len() {
        transpose8(std::array::from_fn(|i| row(vectors.start + at + i)), 8 * side.outer_stride, width, at, out);
        at += 8;
    }
    for v in at..vectors.len() {
        for (cells, x) in out.chunks_exact_mut(width).zip(row(vectors.start + v)) {
            cells[v] = *x;
        }
    }
}

/// Eight rows of equal length into the columns `column..column + 8` of `out`, whose rows have `width` elements. The rows
/// that come next are `ahead` elements further in memory.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn transpose8(rows: [&[f32]; 8], ahead: usize, width: usize, column: usize, out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2.
        let done = unsafe { avx2::transpose8(rows, ahead, width, column, out) };
        transpose8_plain(rows.map(|r| &r[done..]), width, column, &mut out[done * width..]);
        return;
    }
    transpose8_plain(rows, width, column, out);
}

fn transpose8_plain(rows: [&[f32]; 8], width: usize, column: usize, out: &mut [f32]) {
    for (i, cells) in out.chunks_exact_mut(width).take(rows[0].len()).enumerate() {
        for (cell, row) in cells[column..column + 8].iter_mut().zip(rows) {
            *cell = row[i];
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    /// As `transpose8_plain`, in blocks of 8 x 8; returns how many elements of each row it did. No closures here: they
    /// would not be compiled for AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) fn transpose8(rows: [&[f32]; 8], ahead: usize, width: usize, column: usize, out: &mut [f32]) -> usize {
        let mut done = 0;
        for (i, cells) in out.chunks_exact_mut(8 * width).enumerate() {
            let mut r = [_mm256_setzero_ps(); 8];
            for j in 0..8 {
                let Some(row) = rows[j][i * 8..].first_chunk::<8>() else { return done };
                // SAFETY: `row` has eight elements.
                r[j] = unsafe { _mm256_loadu_ps(row.as_ptr()) };
                if i % 2 == 0 {
                    // A hint may name any address; nothing is read.
                    _mm_prefetch::<_MM_HINT_T0>(row.as_ptr().wrapping_add(ahead).cast());
                }
            }
            let columns = block(r);
            for j in 0..8 {
                let cells = &mut cells[j * width + column..j * width + column + 8];
                // SAFETY: `cells` has eight elements.
                unsafe { _mm256_storeu_ps(cells.as_mut_ptr(), columns[j]) };
            }
            done += 8;
        }
        done
    }

    /// The columns of an 8 x 8 block: pairs, then quads, then halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn block(r: [__m256; 8]) -> [__m256; 8] {
        let mut p = r;
        for i in 0..4 {
            p[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            p[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        let mut q = p;
        for i in [0, 4] {
            q[i] = _mm256_shuffle_ps(p[i], p[i + 2], 0x44);
            q[i + 1] = _mm256_shuffle_ps(p[i], p[i + 2], 0xee);
            q[i + 2] = _mm256_shuffle_ps(p[i + 1], p[i + 3], 0x44);
            q[i + 3] = _mm256_shuffle_ps(p[i + 1], p[i + 3], 0xee);
        }
        let mut columns = q;
        for i in 0..4 {
            columns[i] = _mm256_permute2f128_ps(q[i], q[i + 4], 0x20);
            columns[i + 4] = _mm256_permute2f128_ps(q[i], q[i + 4], 0x31);
        }
        columns
    }
}

/// Elements that are contiguous across vectors: copies of short rows.
fn copy(side: &Side<'_>, first: usize, k: &Range<usize>, group: &mut [Part<'_>]) {
    debug_assert_eq!(side.outer_stride, 1);
    for (i, row) in k.clone().enumerate() {
        let row = &side.data[row * side.k_stride..][..side.outer];
        for Part { panel, out, .. } in group.iter_mut() {
            let from = first + panel.start;
            let cells = &mut out[i * panel.width..];
            cells[..panel.used].copy_from_slice(&row[from..from + panel.used]);
        }
    }
}

fn reverse(leaf: &mut [f32], width: usize) {
    let steps = leaf.len() / width;
    for i in 0..steps / 2 {
        let (head, tail) = leaf.split_at_mut((steps - 1 - i) * width);
        head[i * width..(i + 1) * width].swap_with_slice(&mut tail[..width]);
    }
}
