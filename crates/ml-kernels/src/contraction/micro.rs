//! Microkernels of the host: a few rows by one or two vectors of lanes, accumulators in registers.
//!
//! Vectors are the machine's own ([`vector`]), because the forms that LLVM vectorises by itself change with every loop
//! around them. Products and sums are separate instructions: none of these vectors has a fused operation. The tile's size
//! depends on the machine; which cell is computed by whom changes no bit.

use multiversion::multiversion;

use super::Term;
use super::vector::{Portable, Vector, flush};

/// The vectors that this machine has. Values are made by [`Isa::detect`] and [`Isa::all`] alone, so a variant proves that
/// the machine has its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isa {
    /// AVX-512.
    #[cfg(target_arch = "x86_64")]
    Wide,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Middle,
    /// Whatever the compilation target has.
    Base,
}

impl Isa {
    /// The fastest of this machine.
    // pathway: P37
    pub(crate) fn detect() -> Isa {
        Self::all()[0]
    }

    /// All that this machine has, the fastest first.
    pub(crate) fn all() -> &'static [Isa] {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx2") {
                return &[Isa::Wide, Isa::Middle, Isa::Base];
            }
            if std::is_x86_feature_detected!("avx2") {
                return &[Isa::Middle, Isa::Base];
            }
        }
        &[Isa::Base]
    }

    /// Rows and lanes of a full tile. Products want the broadcast value as an operand of the multiplication, one vector
    /// a row; differences use it twice and want two.
    pub(super) const fn tile(self, term: Term) -> (usize, usize) {
        match (self, term) {
            #[cfg(target_arch = "x86_64")]
            (Isa::Wide, Term::Product) => (12, 16),
            #[cfg(target_arch = "x86_64")]
            (Isa::Wide, Term::SquaredDifference) => (8, 32),
            #[cfg(target_arch = "x86_64")]
            (Isa::Middle, _) => (4, 16),
            (Isa::Base, _) => (4, 8),
        }
    }
}

/// The tallest microkernel for at most `rows` rows.
pub(super) const fn tallest(rows: usize) -> usize {
    match rows {
        12.. => 12,
        8..12 => 8,
        6..8 => 6,
        5 => 4,
        _ => rows,
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

trait Step {
    /// One term more. `ones`, if given, ask for the difference by another unit of the machine, to the same bits.
    // pathway: P12
    fn step<V: Vector>(acc: V, a: V, b: V, ones: Option<V>) -> V;
}

struct PlainProduct;
struct FlushedProduct;
struct PlainDifference;
struct FlushedDifference;

impl Step for PlainProduct {
    #[inline(always)]
    fn step<V: Vector>(acc: V, a: V, b: V, _: Option<V>) -> V {
        acc.add(a.mul(b))
    }
}

impl Step for FlushedProduct {
    #[inline(always)]
    fn step<V: Vector>(acc: V, a: V, b: V, _: Option<V>) -> V {
        acc.add_flushed(a.mul(b)).flush()
    }
}

impl Step for PlainDifference {
    #[inline(always)]
    fn step<V: Vector>(acc: V, a: V, b: V, ones: Option<V>) -> V {
        let t = match ones {
            Some(ones) => a.sub_elsewhere(b, ones),
            None => a.sub(b),
        };
        acc.add(t.mul(t))
    }
}

impl Step for FlushedDifference {
    #[inline(always)]
    fn step<V: Vector>(acc: V, a: V, b: V, _: Option<V>) -> V {
        let t = a.sub(b).flush();
        acc.add_flushed(t.mul(t)).flush()
    }
}

/// Two packed panels and their place in the tile: `a` holds `rows` values a step, `b` holds a vector or two.
pub(super) struct Panels<'a> {
    pub(super) rows: usize,
    pub(super) a: &'a [f32],
    pub(super) b: &'a [f32],
    /// Whether accumulators start at +0 rather than from `c`.
    pub(super) first: bool,
}

/// Adds the panels' terms to the `R` rows of `c`, `ld` apart, each of `C` vectors.
#[inline(always)]
fn microkernel<S: Step, V: Vector, const R: usize, const C: usize>(p: &Panels<'_>, c: &mut [f32], ld: usize) {
    let (a, _) = p.a.as_chunks::<R>();
    let ones = V::splat(std::hint::black_box(1.0));
    let mut acc = [[V::splat(0.0); C]; R];
    if !p.first {
        for i in 0..R {
            for j in 0..C {
                acc[i][j] = V::load(&c[i * ld + j * V::LANES..]);
            }
        }
    }
    for (a, b) in a.iter().zip(p.b.chunks_exact(C * V::LANES)) {
        let mut lanes = [V::splat(0.0); C];
        for j in 0..C {
            lanes[j] = V::load(&b[j * V::LANES..]);
        }
        for i in 0..R {
            let value = V::splat(a[i]);
            for j in 0..C {
                acc[i][j] = S::step(acc[i][j], value, lanes[j], (j % 2 == 1).then_some(ones));
            }
        }
    }
    for i in 0..R {
        for j in 0..C {
            acc[i][j].store(&mut c[i * ld + j * V::LANES..]);
        }
    }
}

macro_rules! by_rows {
    ($plain:ty, $flushed:ty, $vector:ty, $vectors:literal, $is_flushed:ident, $p:ident, $c:ident, $ld:ident, $($n:literal)*) => {
        match ($p.rows, $is_flushed) {
            $(($n, false) => microkernel::<$plain, $vector, $n, $vectors>($p, $c, $ld),)*
            $(($n, true) => microkernel::<$flushed, $vector, $n, $vectors>($p, $c, $ld),)*
            (rows, _) => unreachable!("panels are cut to the microkernels' heights, not {rows}"),
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn wide(term: Term, flushed: bool, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    use super::vector::Avx512;
    match term {
        Term::Product => by_rows!(PlainProduct, FlushedProduct, Avx512, 1, flushed, p, c, ld, 1 2 3 4 6 8 12),
        Term::SquaredDifference => {
            by_rows!(PlainDifference, FlushedDifference, Avx512, 2, flushed, p, c, ld, 1 2 3 4 6 8);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn middle(term: Term, flushed: bool, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    use super::vector::Avx2;
    match term {
        Term::Product => by_rows!(PlainProduct, FlushedProduct, Avx2, 2, flushed, p, c, ld, 1 2 3 4),
        Term::SquaredDifference => by_rows!(PlainDifference, FlushedDifference, Avx2, 2, flushed, p, c, ld, 1 2 3 4),
    }
}

fn base(term: Term, flushed: bool, p: &Panels<'_>, c: &mut [f32], ld: usize) {
    match term {
        Term::Product => by_rows!(PlainProduct, FlushedProduct, Portable, 2, flushed, p, c, ld, 1 2 3 4),
        Term::SquaredDifference => {
            by_rows!(PlainDifference, FlushedDifference, Portable, 2, flushed, p, c, ld, 1 2 3 4);
        }
    }
}

/// The negative control: not fast, and never run outside certification.
#[multiversion(targets("x86_64+fma"))]
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
        Loop::Fused { flush } => return fused(term, flush, isa.tile(term).1, p, c, ld),
    };
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this variant proves that the machine has AVX-512.
        Isa::Wide => unsafe { wide(term, flushed, p, c, ld) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this variant proves that the machine has AVX2.
        Isa::Middle => unsafe { middle(term, flushed, p, c, ld) },
        Isa::Base => base(term, flushed, p, c, ld),
    }
}
