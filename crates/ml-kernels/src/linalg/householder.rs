//! Contract clause `factorisations`: Householder reflections, alone and in blocks I - V T V' (the compact WY form of
//! Schreiber and Van Loan, *SIAM J. Sci. Stat. Comput.* 10, 1989).

use multiversion::multiversion;
use rayon::prelude::*;

use super::dense::gemm::{Left, Part, Right, Sign, Threads, accumulate, accumulate_by};
use super::dense::{PANEL, SHARED_FROM, View, dot};

/// Columns of a panel that are finished before its later columns see them.
const GROUP: usize = 8;

/// Squares below 2^-900 are not told from zero: their sum may be too short of bits for a reflection.
const NOTHING: f64 = f64::from_bits((1023 - 900) << 52);

/// Turns `x` into v with v(0) = 1, so that (I - tau v v') x = (beta, 0, ...). Returns (beta, tau).
pub(super) fn reflector(x: &mut [f64]) -> (f64, f64) {
    let Some((&mut head, tail)) = x.split_first_mut() else { return (0.0, 0.0) };
    let rest = dot(tail, tail);
    if rest < NOTHING {
        // Nothing to remove; elements whose squares have lost bits, rounding of rounding, are dropped.
        tail.fill(0.0);
        x[0] = 1.0;
        return (head, 0.0);
    }
    let norm = (head * head + rest).sqrt();
    let beta = if head > 0.0 { -norm } else { norm };
    let pivot = head - beta;
    tail.iter_mut().for_each(|e| *e /= pivot);
    x[0] = 1.0;
    (beta, (beta - head) / beta)
}

/// `x` less `tau` (v'x) v.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn reflect(x: &mut [f64], v: &[f64], tau: f64) {
    let amount = tau * dot(x, v);
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= amount * v);
}

/// The product H(0) H(1) ... of up to [`PANEL`] reflections of vectors of one length: I - V T V'.
pub(super) struct Block {
    /// Length of the vectors.
    pub(super) length: usize,
    /// Reflections.
    pub(super) width: usize,
    /// Row j is v(j); its first j elements are zero, the next is 1.
    v: Vec<f64>,
    /// (width, width), upper triangular.
    t: Vec<f64>,
}

impl Block {
    /// The block of the vectors in the rows of `v`, (width, length).
    pub(super) fn new(v: Vec<f64>, length: usize, tau: &[f64]) -> Block {
        let width = tau.len();
        let mut block = Block { length, width, v, t: vec![0.0; width * width] };
        let mut gram = vec![0.0f64; width * width];
        let right = Right::new(block.vectors().transposed());
        accumulate(&mut gram, width, 0, (&Left::new(block.vectors()), &right), Sign::Plus, Part::Upper);
        for (j, tau) in tau.iter().enumerate() {
            // T(0..j, j) = -tau T(0..j, 0..j) V(0..j)' v(j).
            for i in 0..j {
                let sum = (i..j).fold(0.0, |sum, k| sum + block.t[i * width + k] * gram[k * width + j]);
                block.t[i * width + j] = -tau * sum;
            }
            block.t[j * width + j] = *tau;
        }
        block
    }

    /// (width, length).
    fn vectors(&self) -> View<'_> {
        View::new(&self.v, self.width, self.length, self.length)
    }

    /// `w` times T, or times T': `w` has rows of `width` elements.
    fn times_t(&self, w: &[f64], rows: usize, transposed: bool, threads: Threads) -> Vec<f64> {
        let t = View::new(&self.t, self.width, self.width, self.width);
        let t = if transposed { t.transposed() } else { t };
        let mut out = vec![0.0f64; w.len()];
        let left = Left::by(threads, View::new(w, rows, self.width, self.width));
        accumulate_by(threads, &mut out, (self.width, 0), (&left, &Right::new(t)), Sign::Plus, Part::Whole);
        out
    }

    /// Q' C, or Q C if not `transposed`, on the rows of `c`, which are `stride` apart, for `columns` columns from
    /// `first_column` on: C - V T' (V' C).
    pub(super) fn apply_left(
        &self,
        c: &mut [f64],
        stride: usize,
        first_column: usize,
        columns: usize,
        transposed: bool,
    ) {
        if columns == 0 {
            return;
        }
        let view = View::new(c, self.length, first_column + columns, stride).cols(first_column..first_column + columns);
        let mut w = vec![0.0f64; columns * self.width];
        let operands = (&Left::new(view.transposed()), &Right::new(self.vectors().transposed()));
        accumulate(&mut w, self.width, 0, operands, Sign::Plus, Part::Whole);
        let w = self.times_t(&w, columns, !transposed, Threads::All);
        let right = Right::new(View::new(&w, columns, self.width, self.width).transposed());
        let left = Left::new(self.vectors().transposed());
        accumulate(c, stride, first_column, (&left, &right), Sign::Minus, Part::Whole);
    }
}

/// A block as what follows a row on its way through the product.
struct Passage {
    block: Block,
    first_column: usize,
    /// V and V'.
    v: Right,
    vt: Right,
}

/// Rows that one thread takes through all blocks: they stay in its cache.
const PASSING: usize = 64;

/// X Q' for the rows of `x`, `stride` apart, where Q is the product of the blocks, each with the column where it begins:
/// from the last block to the first, X - (X V) T' V'.
fn apply_to_rows(blocks: impl Iterator<Item = (Block, usize)>, x: &mut [f64], stride: usize) {
    let passages: Vec<Passage> = blocks
        .map(|(block, first_column)| {
            let (v, vt) = (Right::new(block.vectors().transposed()), Right::new(block.vectors()));
            Passage { block, first_column, v, vt }
        })
        .collect();
    x.par_chunks_mut(PASSING * stride.max(1)).for_each(|x| {
        let rows = x.len() / stride;
        for Passage { block, first_column, v, vt } in passages.iter().rev() {
            let end = first_column + block.length;
            let mut w = vec![0.0f64; rows * block.width];
            let left = Left::by(Threads::One, View::new(x, rows, end, stride).cols(*first_column..end));
            accumulate_by(Threads::One, &mut w, (block.width, 0), (&left, v), Sign::Plus, Part::Whole);
            let w = block.times_t(&w, rows, true, Threads::One);
            let left = Left::by(Threads::One, View::new(&w, rows, block.width, block.width));
            accumulate_by(Threads::One, x, (stride, *first_column), (&left, vt), Sign::Minus, Part::Whole);
        }
    });
}

/// The orthogonal factor of a QR factorisation as its blocks; block b belongs to the rows from `PANEL` b on.
pub(super) struct Blocks(Vec<Block>);

impl Blocks {
    /// Q' C, or Q C if not `transposed`, for the (m, columns) matrix `c`.
    pub(super) fn apply(&self, c: &mut [f64], columns: usize, transposed: bool) {
        let mut work = |b: usize| self.0[b].apply_left(&mut c[b * PANEL * columns..], columns, 0, columns, transposed);
        if transposed {
            (0..self.0.len()).for_each(&mut work);
        } else {
            (0..self.0.len()).rev().for_each(&mut work);
        }
    }

    /// X Q' for the rows of `x`, m elements each.
    pub(super) fn apply_to_rows(self, x: &mut [f64], m: usize) {
        apply_to_rows(self.0.into_iter().enumerate().map(|(b, block)| (block, b * PANEL)), x, m);
    }
}

/// Reflections H(0) H(1) ... in n coordinates: vector k in row k, zeros before its own 1.
pub(super) struct Reflections {
    pub(super) vectors: Vec<f64>,
    pub(super) tau: Vec<f64>,
    /// Where vector k has its 1: at k plus this.
    pub(super) lag: usize,
}

impl Reflections {
    pub(super) fn new(n: usize, lag: usize) -> Self {
        Reflections { vectors: vec![0.0; n * n], tau: vec![0.0; n], lag }
    }

    /// X Q' for the (rows, n) matrix `x`, where Q is the product.
    pub(super) fn apply(&self, x: &mut [f64], n: usize) {
        let count = n.saturating_sub(self.lag);
        let blocks = (0..count).step_by(PANEL).map(|first| {
            let end = count.min(first + PANEL);
            let from = first + self.lag;
            let v: Vec<f64> =
                (first..end).flat_map(|k| self.vectors[k * n + from..(k + 1) * n].iter().copied()).collect();
            (Block::new(v, n - from, &self.tau[first..end]), from)
        });
        apply_to_rows(blocks, x, n);
    }
}

/// Q R = `a`, (m, n), in place: R stays on and above the diagonal, below it are zeros.
pub(super) fn factor(a: &mut [f64], m: usize, n: usize) -> Blocks {
    let depth = m.min(n);
    let mut blocks = Vec::with_capacity(depth.div_ceil(PANEL));
    for first in (0..depth).step_by(PANEL) {
        let width = PANEL.min(depth - first);
        let length = m - first;
        let rows = &mut a[first * n..];
        let mut v = vec![0.0f64; width * length];
        for (i, row) in rows.chunks_exact(n).enumerate() {
            row[first..first + width].iter().enumerate().for_each(|(c, x)| v[c * length + i] = *x);
        }
        let tau = factor_panel(&mut v, width, length);
        for (i, row) in rows.chunks_exact_mut(n).enumerate() {
            for (c, x) in row[first..first + width].iter_mut().enumerate() {
                *x = if i <= c { std::mem::take(&mut v[c * length + i]) } else { 0.0 };
            }
        }
        (0..width).for_each(|c| v[c * length + c] = 1.0);
        let block = Block::new(v, length, &tau);
        block.apply_left(rows, n, first + width, n - first - width, true);
        blocks.push(block);
    }
    Blocks(blocks)
}

/// Reduces the columns of a panel, rows of `p`, (width, length): row c ends as R above and at element c, v(c) below.
fn factor_panel(p: &mut [f64], width: usize, length: usize) -> Vec<f64> {
    let mut tau = vec![0.0f64; width];
    for group in (0..width).step_by(GROUP) {
        let end = width.min(group + GROUP);
        let mut beta = [0.0f64; GROUP];
        for j in group..end {
            let (done, rest) = p.split_at_mut((j + 1) * length);
            let v = &mut done[j * length + j..];
            (beta[j - group], tau[j]) = reflector(v);
            if tau[j] != 0.0 {
                rest.chunks_exact_mut(length).take(end - j - 1).for_each(|x| reflect(&mut x[j..], v, tau[j]));
            }
        }
        let (done, rest) = p.split_at_mut(end * length);
        let later = |x: &mut [f64]| {
            for j in (group..end).filter(|j| tau[*j] != 0.0) {
                reflect(&mut x[j..], &done[j * length + j..(j + 1) * length], tau[j]);
            }
        };
        if rest.len() < SHARED_FROM {
            rest.chunks_exact_mut(length).for_each(later);
        } else {
            rest.par_chunks_exact_mut(length).for_each(later);
        }
        (group..end).for_each(|j| p[j * length + j] = beta[j - group]);
    }
    tau
}
