//! Products of packed matrices, added to or taken from a matrix in place.
//!
//! A cell's order depends on the depth alone (clause `factorisations`): each leaf of [`LEAF`] terms is summed ascending from
//! +0 and then added to, or taken from, the cell. Tiles, threads and vectors only say who computes which cell.

use rayon::prelude::*;

use super::vector::{Lanes, Portable};
use super::{SHARED_FROM, View};
use crate::contraction::Isa;

/// Terms that are summed before the cell sees them.
pub(in super::super) const LEAF: usize = 128;

/// Rows and columns of a thread's share; a thread's part of the left operand stays in its second cache level.
const SHARE: (usize, usize) = (64, 240);

/// Rows of an operand that are packed together, and terms: what is written meanwhile stays in the first cache level.
const GROUP: usize = 240;
const TERMS: usize = 64;

/// Whether products are added or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Sign {
    Plus,
    Minus,
}

/// Which cells are wanted; others may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Part {
    Whole,
    /// Cells (i, j) with i <= j.
    Upper,
}

/// Who does the work: inside a share of something larger, one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Threads {
    All,
    One,
}

/// Rows and columns of a register tile.
const fn tile(isa: Isa) -> (usize, usize) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Wide => (8, 24),
        #[cfg(target_arch = "x86_64")]
        Isa::Middle => (4, 8),
        Isa::Base => (4, 4),
    }
}

/// A matrix cut into strips of `strip` rows, element (i, k) of a strip at `k * strip + i`; missing rows are zero.
struct Packed {
    rows: usize,
    depth: usize,
    strip: usize,
    data: Vec<f64>,
}

impl Packed {
    fn new(x: View<'_>, strip: usize, threads: Threads) -> Packed {
        let (rows, depth) = (x.rows, x.cols);
        let mut data = vec![0.0f64; rows.div_ceil(strip) * strip * depth];
        if depth > 0 {
            // Strips are filled side by side, so that a row of memory is read once and in one run.
            let group = (GROUP / strip).max(1);
            let fill = |(g, out): (usize, &mut [f64])| {
                let first = g * group * strip;
                pack_strips(x.rows(first..(first + group * strip).min(rows)), strip, out);
            };
            if threads == Threads::One || rows * depth < SHARED_FROM {
                data.chunks_mut(group * strip * depth).enumerate().for_each(fill);
            } else {
                data.par_chunks_mut(group * strip * depth).enumerate().for_each(fill);
            }
        }
        Packed { rows, depth, strip, data }
    }

    /// Terms `from..to` of strip `s`.
    fn leaf(&self, s: usize, from: usize, to: usize) -> &[f64] {
        let base = s * self.strip * self.depth;
        &self.data[base + from * self.strip..base + to * self.strip]
    }
}

fn pack_strips(x: View<'_>, strip: usize, out: &mut [f64]) {
    let depth = x.cols;
    if x.row_step == 1 {
        for k in 0..depth {
            let row = &x.data[k * x.col_step..k * x.col_step + x.rows];
            for (s, from) in row.chunks(strip).enumerate() {
                let at = s * strip * depth + k * strip;
                out[at..at + from.len()].copy_from_slice(from);
            }
        }
        return;
    }
    for (s, out) in out.chunks_mut(strip * depth).enumerate() {
        let height = strip.min(x.rows - s * strip);
        for (block, out) in out.chunks_mut(strip * TERMS).enumerate() {
            for i in 0..height {
                let row = &x.data[(s * strip + i) * x.row_step + block * TERMS * x.col_step..];
                for (out, x) in out[i..].iter_mut().step_by(strip).zip(row.iter().step_by(x.col_step)) {
                    *out = *x;
                }
            }
        }
    }
}

/// The left operand of a product, (rows, depth).
pub(in super::super) struct Left {
    isa: Isa,
    packed: Packed,
}

impl Left {
    pub(in super::super) fn new(x: View<'_>) -> Left {
        Self::by(Threads::All, x)
    }

    pub(in super::super) fn by(threads: Threads, x: View<'_>) -> Left {
        let isa = Isa::detect();
        Left { isa, packed: Packed::new(x, tile(isa).0, threads) }
    }
}

/// The right operand of a product, (depth, columns).
pub(in super::super) struct Right {
    packed: Packed,
}

impl Right {
    pub(in super::super) fn new(x: View<'_>) -> Right {
        Right { packed: Packed::new(x.transposed(), tile(Isa::detect()).1, Threads::All) }
    }
}

/// Adds `left` times `right` to columns `first_column..` of `c`, whose rows are `stride` apart, or takes it away.
///
/// With [`Part::Upper`], cells are counted from the first row and from `first_column`.
// pathway: P132
pub(in super::super) fn accumulate(
    c: &mut [f64],
    stride: usize,
    first_column: usize,
    (left, right): (&Left, &Right),
    sign: Sign,
    part: Part,
) {
    accumulate_by(Threads::All, c, (stride, first_column), (left, right), sign, part);
}

/// [`accumulate`] by these threads.
pub(in super::super) fn accumulate_by(
    threads: Threads,
    c: &mut [f64],
    (stride, first_column): (usize, usize),
    (left, right): (&Left, &Right),
    sign: Sign,
    part: Part,
) {
    let (m, n, depth) = (left.packed.rows, right.packed.rows, left.packed.depth);
    if m == 0 || n == 0 || depth == 0 {
        return;
    }
    let product = Product { isa: left.isa, left: &left.packed, right: &right.packed, sign, part };
    let (high, wide) = SHARE;
    // A share holds whole tiles: both numbers are multiples of every tile's.
    let mut shares: Vec<Share<'_>> = Vec::with_capacity(m.div_ceil(high) * n.div_ceil(wide));
    for (block, rows) in c.chunks_mut(stride * high).take(m.div_ceil(high)).enumerate() {
        let first = shares.len();
        for column in (0..n).step_by(wide) {
            shares.push(Share { row: block * high, column, cells: Vec::with_capacity(high) });
        }
        for row in rows.chunks_mut(stride).take(m - block * high) {
            let cells = row[first_column..first_column + n].chunks_mut(wide);
            shares[first..].iter_mut().zip(cells).for_each(|(share, cells)| share.cells.push(cells));
        }
    }
    if threads == Threads::One || m * n * depth < 4 * SHARED_FROM {
        shares.into_iter().for_each(|share| product.compute(share));
    } else {
        shares.into_par_iter().for_each(|share| product.compute(share));
    }
}

/// A rectangle of cells, as slices of its rows.
struct Share<'a> {
    row: usize,
    column: usize,
    cells: Vec<&'a mut [f64]>,
}

struct Product<'a> {
    isa: Isa,
    left: &'a Packed,
    right: &'a Packed,
    sign: Sign,
    part: Part,
}

impl Product<'_> {
    fn compute(&self, mut share: Share<'_>) {
        let (mr, nr) = tile(self.isa);
        let width = share.cells.first().map_or(0, |row| row.len());
        let height = share.cells.len();
        for from in (0..self.left.depth).step_by(LEAF) {
            let to = (from + LEAF).min(self.left.depth);
            // Along the rows, so that the cells come from memory in long runs.
            for i in (0..height).step_by(mr) {
                let a = self.left.leaf((share.row + i) / mr, from, to);
                for j in (0..width).step_by(nr) {
                    let end = width.min(j + nr);
                    if self.part == Part::Whole || share.column + end > share.row + i {
                        let b = self.right.leaf((share.column + j) / nr, from, to);
                        self.tile(a, b, &mut share.cells[i..height.min(i + mr)], j, end);
                    }
                }
            }
        }
    }

    /// One tile: `rows` from column `start` to `end`.
    fn tile(&self, a: &[f64], b: &[f64], rows: &mut [&mut [f64]], start: usize, end: usize) {
        let (mr, nr) = tile(self.isa);
        if rows.len() == mr && end - start == nr {
            return run(self.isa, a, b, rows, start, self.sign);
        }
        let mut spare = [[0.0f64; MOST_COLUMNS]; MOST_ROWS];
        for (to, from) in spare.iter_mut().zip(&*rows) {
            to[..end - start].copy_from_slice(&from[start..end]);
        }
        let mut slices = spare.each_mut().map(|row| &mut row[..]);
        run(self.isa, a, b, &mut slices[..mr], 0, self.sign);
        for (to, from) in rows.iter_mut().zip(&spare) {
            to[start..end].copy_from_slice(&from[..end - start]);
        }
    }
}

/// The largest tile.
const MOST_ROWS: usize = 8;
const MOST_COLUMNS: usize = 24;

/// The sum of one leaf's products for a full tile, then one sum or difference a cell.
#[inline(always)]
fn microkernel<V: Lanes, const R: usize, const C: usize>(
    a: &[f64],
    b: &[f64],
    rows: &mut [&mut [f64]],
    start: usize,
    sign: Sign,
) {
    let (a, _) = a.as_chunks::<R>();
    let mut acc = [[V::splat(0.0); C]; R];
    for (a, b) in a.iter().zip(b.chunks_exact(C * V::COUNT)) {
        let mut lanes = [V::splat(0.0); C];
        for j in 0..C {
            lanes[j] = V::load(&b[j * V::COUNT..]);
        }
        for i in 0..R {
            let value = V::splat(a[i]);
            for j in 0..C {
                acc[i][j] = acc[i][j].add(value.mul(lanes[j]));
            }
        }
    }
    for i in 0..R {
        let row = &mut rows[i][start..start + C * V::COUNT];
        for j in 0..C {
            let cells = &mut row[j * V::COUNT..];
            let old = V::load(cells);
            let new = match sign {
                Sign::Plus => old.add(acc[i][j]),
                Sign::Minus => old.sub(acc[i][j]),
            };
            new.store(cells);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn wide(a: &[f64], b: &[f64], rows: &mut [&mut [f64]], start: usize, sign: Sign) {
    microkernel::<super::vector::Avx512, 8, 3>(a, b, rows, start, sign);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn middle(a: &[f64], b: &[f64], rows: &mut [&mut [f64]], start: usize, sign: Sign) {
    microkernel::<super::vector::Avx2, 4, 2>(a, b, rows, start, sign);
}

fn run(isa: Isa, a: &[f64], b: &[f64], rows: &mut [&mut [f64]], start: usize, sign: Sign) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this variant proves that the machine has AVX-512.
        Isa::Wide => unsafe { wide(a, b, rows, start, sign) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this variant proves that the machine has AVX2.
        Isa::Middle => unsafe { middle(a, b, rows, start, sign) },
        Isa::Base => microkernel::<Portable, 4, 2>(a, b, rows, start, sign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::conformance::unit;
    use crate::linalg::plain::{leaves, less_leaves};

    #[test]
    // pathway test: P133
    fn every_instruction_set_gives_the_sums_of_leaves() {
        for (m, n, depth) in [(1, 1, 1), (8, 24, 128), (9, 25, 129), (70, 250, 64), (65, 241, 300)] {
            let at = |seed: u32, len: usize| -> Vec<f64> {
                (0..len).map(|k| f64::from(unit(seed, k)) / f64::from(3 + (k % 5) as u32)).collect()
            };
            let (a, b, c) = (at(1, m * depth), at(2, depth * n), at(3, m * n));
            let term = |cell: usize| {
                let (a, b) = (&a, &b);
                move |k: usize| a[cell / n * depth + k] * b[k * n + cell % n]
            };
            for &isa in Isa::all() {
                let (mr, nr) = tile(isa);
                let left = Left { isa, packed: Packed::new(View::new(&a, m, depth, depth), mr, Threads::All) };
                let columns = View::new(&b, depth, n, n).transposed();
                let right = Right { packed: Packed::new(columns, nr, Threads::One) };
                let (mut more, mut rest) = (vec![0.0; m * n], c.clone());
                accumulate(&mut more, n, 0, (&left, &right), Sign::Plus, Part::Whole);
                accumulate(&mut rest, n, 0, (&left, &right), Sign::Minus, Part::Whole);
                for cell in 0..m * n {
                    assert_eq!(more[cell].to_bits(), leaves(depth, term(cell)).to_bits(), "{isa:?} {m}x{n}x{depth}");
                    let want = less_leaves(c[cell], depth, term(cell));
                    assert_eq!(rest[cell].to_bits(), want.to_bits(), "{isa:?} {m}x{n}x{depth}");
                }
            }
        }
    }
}
