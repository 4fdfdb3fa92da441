//! Microkernels of the host: a few rows by a vector of lanes, accumulators in registers.
//!
//! A row of the tile is an array of fixed length, and rows are spelled out by a macro: that is the form which LLVM keeps
//! in registers whole. Products and sums stay apart, since Rust never contracts them. The tile's size depends on the
//! machine; which cell is computed by whom changes no bit.

use multiversion::multiversion;

use super::Term;

/// Tile sizes: `rows` x `lanes`, by the width and the number of the machine's vector registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isa {
    /// 8 x 32: AVX-512.
    Wide,
    /// 6 x 16: AVX2, NEON.
    Middle,
    /// 4 x 8: whatever else.
    Narrow,
}

impl Isa {
    /// Of this machine.
    pub(super) fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512vl") {
                return Isa::Wide;
            }
            if std::is_x86_feature_detected!("avx2") {
                return Isa::Middle;
            }
        }
        if cfg!(target_arch = "aarch64") { Isa::Middle } else { Isa::Narrow }
    }

    pub(super) const fn rows(self) -> usize {
        match self {
            Isa::Wide => 8,
            Isa::Middle => 6,
            Isa::Narrow => 4,
        }
    }

    pub(super) const fn lanes(self) -> usize {
        match self {
            Isa::Wide => 32,
            Isa::Middle => 16,
            Isa::Narrow => 8,
        }
    }
}

/// Which loop to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loop {
    /// Without canon: the guard has proved it.
    Plain,
    /// Canon after every product and sum.
    Flushed,
    /// A negative control: product and sum fused, canon after the sum if `flush`.
    Fused { flush: bool },
}

/// |x| <= 2^-126 becomes +0: `num::canon`, inlined into the loops' instruction sets.
#[inline(always)]
fn flush(x: f32) -> f32 {
    if (x.to_bits() & 0x7fff_ffff) <= 0x0080_0000 { 0.0 } else { x }
}

trait Step {
    fn step(acc: f32, a: f32, b: f32) -> f32;
}

struct PlainProduct;
struct FlushedProduct;
struct PlainDifference;
struct FlushedDifference;

impl Step for PlainProduct {
    #[inline(always)]
    fn step(acc: f32, a: f32, b: f32) -> f32 {
        acc + a * b
    }
}

impl Step for FlushedProduct {
    #[inline(always)]
    fn step(acc: f32, a: f32, b: f32) -> f32 {
        flush(acc + flush(a * b))
    }
}

impl Step for PlainDifference {
    #[inline(always)]
    fn step(acc: f32, a: f32, b: f32) -> f32 {
        let t = a - b;
        acc + t * t
    }
}

impl Step for FlushedDifference {
    #[inline(always)]
    fn step(acc: f32, a: f32, b: f32) -> f32 {
        let t = flush(a - b);
        flush(acc + flush(t * t))
    }
}

#[inline(always)]
fn step_row<S: Step, const L: usize>(acc: &[f32; L], a: f32, b: &[f32; L]) -> [f32; L] {
    let mut out = [0.0; L];
    for j in 0..L {
        out[j] = S::step(acc[j], a, b[j]);
    }
    out
}

/// The tile's row in memory; callers give room for all of it.
#[inline(always)]
fn row_of<const L: usize>(c: &mut [f32], ld: usize, row: usize) -> &mut [f32; L] {
    c[row * ld..].first_chunk_mut().expect("a tile has room for every row of its panel")
}

macro_rules! microkernel {
    ($name:ident, $rows:literal: $($i:literal $c:ident),*) => {
        #[inline(always)]
        fn $name<S: Step, const L: usize>(a: &[f32], b: &[f32], c: &mut [f32], ld: usize, first: bool) {
            let (a, _) = a.as_chunks::<$rows>();
            let (b, _) = b.as_chunks::<L>();
            $(let mut $c = [0.0; L];)*
            if !first {
                $($c = *row_of::<L>(c, ld, $i);)*
            }
            for (a, b) in a.iter().zip(b) {
                $($c = step_row::<S, L>(&$c, a[$i], b);)*
            }
            $(*row_of::<L>(c, ld, $i) = $c;)*
        }
    };
}

microkernel!(rows1, 1: 0 c0);
microkernel!(rows2, 2: 0 c0, 1 c1);
microkernel!(rows3, 3: 0 c0, 1 c1, 2 c2);
microkernel!(rows4, 4: 0 c0, 1 c1, 2 c2, 3 c3);
microkernel!(rows5, 5: 0 c0, 1 c1, 2 c2, 3 c3, 4 c4);
microkernel!(rows6, 6: 0 c0, 1 c1, 2 c2, 3 c3, 4 c4, 5 c5);
microkernel!(rows7, 7: 0 c0, 1 c1, 2 c2, 3 c3, 4 c4, 5 c5, 6 c6);
microkernel!(rows8, 8: 0 c0, 1 c1, 2 c2, 3 c3, 4 c4, 5 c5, 6 c6, 7 c7);

/// Two packed panels and their place in the tile: `a` holds `rows` values a step, `b` holds `lanes`.
pub(super) struct Panels<'a> {
    pub(super) rows: usize,
    pub(super) a: &'a [f32],
    pub(super) b: &'a [f32],
    /// Whether accumulators start at +0 rather than from `c`.
    pub(super) first: bool,
}

macro_rules! by_rows {
    ($step:ty, $lanes:literal, $p:ident, $c:ident, $ld:ident, $($n:literal $f:ident),*) => {
        match $p.rows {
            $($n => $f::<$step, $lanes>($p.a, $p.b, $c, $ld, $p.first),)*
            _ => debug_assert!(false, "no panel has {} rows", $p.rows),
        }
    };
}

macro_rules! by_step {
    ($term:ident, $flushed:ident, $lanes:literal, $p:ident, $c:ident, $ld:ident, $($rest:tt)*) => {
        match ($term, $flushed) {
            (Term::Product, false) => by_rows!(PlainProduct, $lanes, $p, $c, $ld, $($rest)*),
            (Term::Product, true) => by_rows!(FlushedProduct, $lanes, $p, $c, $ld, $($rest)*),
            (Term::SquaredDifference, false) => by_rows!(PlainDifference, $lanes, $p, $c, $ld, $($rest)*),
            (Term::SquaredDifference, true) => by_rows!(FlushedDifference, $lanes, $p, $c, $ld, $($rest)*),
        }
    };
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq+avx2"))]
fn wide(term: Term, flushed: bool, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    by_step!(term, flushed, 32, p, c, ld,
        1 rows1, 2 rows2, 3 rows3, 4 rows4, 5 rows5, 6 rows6, 7 rows7, 8 rows8);
}

#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn middle(term: Term, flushed: bool, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    by_step!(term, flushed, 16, p, c, ld, 1 rows1, 2 rows2, 3 rows3, 4 rows4, 5 rows5, 6 rows6);
}

fn narrow(term: Term, flushed: bool, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    by_step!(term, flushed, 8, p, c, ld, 1 rows1, 2 rows2, 3 rows3, 4 rows4);
}

/// The negative control: not fast, and never run outside certification.
#[multiversion(targets("x86_64+fma", "aarch64+neon"))]
#[allow(clippy::disallowed_methods, reason = "the arm `FuseProducts` fuses on purpose")]
fn fused(term: Term, flushed: bool, lanes: usize, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    let keep = |x: f32| if flushed { flush(x) } else { x };
    for (i, row) in c.chunks_mut(ld).take(p.rows).enumerate() {
        let row = &mut row[..lanes];
        if p.first {
            row.fill(0.0);
        }
        for (a, b) in p.a.chunks_exact(p.rows).zip(p.b.chunks_exact(lanes)) {
            for (acc, &b) in row.iter_mut().zip(b) {
                *acc = match term {
                    Term::Product => keep(a[i].mul_add(b, *acc)),
                    Term::SquaredDifference => {
                        let t = keep(a[i] - b);
                        keep(t.mul_add(t, *acc))
                    }
                };
            }
        }
    }
}

/// Adds the panels' terms, in order, to the tile `c` of `p.rows` rows `ld` apart.
pub(super) fn run(isa: Isa, term: Term, kind: Loop, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    let flushed = match kind {
        Loop::Plain => false,
        Loop::Flushed => true,
        Loop::Fused { flush } => return fused(term, flush, isa.lanes(), p, c, ld),
    };
    match isa {
        Isa::Wide => wide(term, flushed, p, c, ld),
        Isa::Middle => middle(term, flushed, p, c, ld),
        Isa::Narrow => narrow(term, flushed, p, c, ld),
    }
}
