//! Launches: which kernel, in which pieces. Shapes and binding limits decide; no choice moves a rounding.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::blocks::{Block, cut, put};
use super::cells::{CellPlan, cells};
use super::guard::{self, least_exponents};
use super::tall::FEW;
use super::tile::{self, tiles};
use super::{Contiguous, REGION, ShapeLaunch, TILE_K, TilePlan};
use crate::buffer::{Chunks, In};
use crate::contraction::{LEAF, Rule};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::Pins;

/// Squares that keep a large device busy; below it, smaller squares or split leaves are tried.
const BUSY: usize = 128;

/// Squares of an item up to which the guard looks at what is fetched: operands are then read so few times that reading them
/// once more, before, would show.
const FUSED: usize = 16;

/// Most elements of joined leaves that wait at once.
const WAITING: usize = 1 << 27;

/// Vectors from which on an operand is tall beside one with few.
const TALL: usize = 64;

/// One operand: `batch` items of `vectors` vectors of K elements each.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) data: &'a Chunks<f32>,
    /// Element of `data` where the first item starts.
    pub(crate) start: usize,
    /// Distances of rows in memory and of items, unless rows and items follow each other.
    pub(crate) strides: Option<(usize, usize)>,
    pub(crate) contiguous: Contiguous,
    pub(crate) vectors: usize,
}

impl Operand<'_> {
    /// Whether both are the same elements in the same memory: then a cell equals its mirror image, since the product of two
    /// numbers and the square of their difference do not depend on which comes first.
    // pathway: P112
    fn is(&self, other: &Operand<'_>) -> bool {
        let place = |o: &Operand<'_>| (o.start, o.strides, o.contiguous, o.vectors);
        std::ptr::eq(self.data, other.data) && place(self) == place(other)
    }

    /// Rows in memory of one item, and their width.
    fn matrix(&self, k: usize) -> (usize, usize) {
        match self.contiguous {
            Contiguous::K => (self.vectors, k),
            Contiguous::Vectors => (k, self.vectors),
        }
    }

    /// Elements of one item once rows are padded.
    fn padded(&self, k: usize, align: usize) -> usize {
        let (rows, width) = self.matrix(k);
        rows * width.next_multiple_of(align)
    }

    /// Where an item starts, and the distance of its rows.
    fn item(&self, item: usize, k: usize) -> (usize, usize) {
        let (rows, width) = self.matrix(k);
        let (row, stride) = self.strides.unwrap_or((width, rows * width));
        (self.start + item * stride, row)
    }

    /// The items `items`, as one rectangle; several of them follow each other.
    fn items<R: Runtime>(&self, g: &Gpu<R>, items: Range<usize>, k: usize, align: usize) -> Result<Block> {
        debug_assert!(items.len() == 1 || self.strides.is_none());
        let (rows, width) = self.matrix(k);
        let (start, row) = self.item(items.start, k);
        cut(g, self.data, start, row, 0..items.len() * rows, 0..width, align)
    }

    /// The vectors `vectors` of item `item` over the elements `range` of K.
    fn part<R: Runtime>(
        &self,
        g: &Gpu<R>,
        item: usize,
        vectors: Range<usize>,
        k: usize,
        range: Range<usize>,
        align: usize,
    ) -> Result<Block> {
        let (r, c) = match self.contiguous {
            Contiguous::K => (vectors, range),
            Contiguous::Vectors => (range, vectors),
        };
        let (start, row) = self.item(item, k);
        cut(g, self.data, start, row, r, c, align)
    }
}

/// `batch` contractions of `a` with `b` over `k` elements into `out`: (item, vector of a, vector of b).
pub(crate) fn contract<R: Runtime>(
    g: &Gpu<R>,
    rule: Rule,
    a: Operand<'_>,
    b: Operand<'_>,
    batch: usize,
    k: usize,
    out: &Chunks<f32>,
) -> Result<()> {
    let (m, n) = (a.vectors, b.vectors);
    if batch * m * n == 0 {
        return Ok(());
    }
    let limit = g.max_elements::<f32>();
    let kind = if suits_gram(&a, &b, k) { Kind::Gram } else { Kind::of(m, n, k) };
    let (a_align, b_align) = kind.aligns(&a, &b);
    let waiting = match kind {
        Kind::Tiles => levels(k) * tile_elements(2),
        Kind::Tall | Kind::Gram => k.div_ceil(LEAF) * m * n,
        Kind::Cells => levels(k) * m * n,
    };
    let item = a.padded(k, a_align).max(b.padded(k, b_align)).max(m * n).max(1);
    if item.max(waiting) > limit {
        for at in 0..batch {
            panels(g, rule, a, b, at, k, out)?;
        }
        return Ok(());
    }
    let together = a.strides.is_none() && b.strides.is_none();
    let group = if together { limit / item.max(if kind == Kind::Tiles { 1 } else { waiting }) } else { 1 };
    let symmetric = matches!(kind, Kind::Tiles | Kind::Gram) && a.is(&b);
    for start in (0..batch).step_by(group) {
        let items = start..(start + group).min(batch);
        let a_block = a.items(g, items.clone(), k, a_align)?;
        let b_block = if symmetric { a_block.clone() } else { b.items(g, items.clone(), k, b_align)? };
        let work = Dense {
            rule,
            a: a_block,
            b: b_block,
            a_contiguous: a.contiguous,
            b_contiguous: b.contiguous,
            batch: items.len(),
            m,
            n,
            k,
            kind,
            symmetric,
        };
        let target = out.view_out(g, items.start * m * n..items.end * m * n)?;
        work.run(g, In { handle: target.handle.clone(), len: target.len })?;
        out.commit(g, target)?;
    }
    Ok(())
}

/// One item that does not fit the bindings whole: rectangles of its result, leaf by leaf if not even one pair of vectors
/// fits.
fn panels<R: Runtime>(
    g: &Gpu<R>,
    rule: Rule,
    a: Operand<'_>,
    b: Operand<'_>,
    item: usize,
    k: usize,
    out: &Chunks<f32>,
) -> Result<()> {
    let (m, n) = (a.vectors, b.vectors);
    let limit = g.max_elements::<f32>();
    let whole_k = k.next_multiple_of(4) <= limit && levels(k) * tile_elements(2) <= limit;
    let k_step = if whole_k { k.max(1) } else { LEAF };
    // Rows of the result are contiguous, so they stay whole if they can.
    let most = (limit / k_step.next_multiple_of(4)).max(1);
    let squares = |x: usize| if x >= 128 { x / 128 * 128 } else { x };
    let cols = squares(n.min(most).min(limit / levels(k_step).max(1)).max(1));
    let cols = if n <= most { n.min(limit) } else { cols };
    let rows = squares(m.min(most).min(limit / (cols * levels(k_step).max(1))).max(1));
    let start = item * m * n;
    for r in (0..m).step_by(rows).map(|at| at..(at + rows).min(m)) {
        for c in (0..n).step_by(cols).map(|at| at..(at + cols).min(n)) {
            let in_place =
                (c.len() == n).then(|| out.view_out(g, start + r.start * n..start + r.end * n)).transpose()?;
            let len = r.len() * c.len();
            let target = match &in_place {
                Some(o) => o.handle.clone(),
                None => g.alloc_one::<f32>(len)?,
            };
            panel(g, rule, a, b, item, k, k_step, (r.clone(), c.clone()), In { handle: target.clone(), len })?;
            match in_place {
                Some(o) => out.commit(g, o)?,
                None => put(g, &target, (r.len(), c), out, start + r.start * n, n)?,
            }
        }
    }
    Ok(())
}

/// The cells `rows` x `cols` of one item, in steps of K: one step, or a leaf at a time, joined as a binary counter.
#[allow(clippy::too_many_arguments, reason = "a panel of a product has this many dimensions")]
fn panel<R: Runtime>(
    g: &Gpu<R>,
    rule: Rule,
    a: Operand<'_>,
    b: Operand<'_>,
    item: usize,
    k: usize,
    k_step: usize,
    (rows, cols): (Range<usize>, Range<usize>),
    target: In,
) -> Result<()> {
    let limit = g.max_elements::<f32>();
    let steps = k.div_ceil(k_step).max(1);
    let mut waiting: Vec<Option<Handle>> = Vec::new();
    for step in 0..steps {
        let range = step * k_step..((step + 1) * k_step).min(k);
        let (m, n) = (rows.len(), cols.len());
        let padded = range.len().next_multiple_of(4) * (m.max(n).next_multiple_of(4));
        let tiled =
            suits_tiles(m, n, range.len()) && padded <= limit && levels(range.len()) * tile_elements(2) <= limit;
        let align = if tiled { 4 } else { 1 };
        let last = step + 1 == steps;
        let sum = if last { target.handle.clone() } else { g.alloc_one::<f32>(target.len)? };
        let work = Dense {
            rule,
            a: a.part(g, item, rows.clone(), k, range.clone(), align)?,
            b: b.part(g, item, cols.clone(), k, range.clone(), align)?,
            a_contiguous: a.contiguous,
            b_contiguous: b.contiguous,
            batch: 1,
            m,
            n,
            k: range.len(),
            kind: if tiled { Kind::Tiles } else { Kind::Cells },
            symmetric: false,
        };
        work.run(g, In { handle: sum.clone(), len: target.len })?;
        let mut level = 0;
        while (step >> level) != 0 && (last || (step >> level) & 1 == 1) {
            if (step >> level) & 1 == 1
                && let Some(before) = waiting[level].take()
            {
                join_two(g, rule, &before, &sum, target.len)?;
            }
            level += 1;
        }
        if !last {
            if waiting.len() == level {
                waiting.push(None);
            }
            waiting[level] = Some(sum);
        }
    }
    Ok(())
}

/// `batch` contractions whose operands and result lie each in one binding.
struct Dense {
    rule: Rule,
    a: Block,
    b: Block,
    a_contiguous: Contiguous,
    b_contiguous: Contiguous,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    kind: Kind,
    /// Both operands are the same: of square tiles of the result only those up to the diagonal are computed.
    symmetric: bool,
}

/// Which kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tiles,
    Tall,
    Gram,
    Cells,
}

impl Kind {
    fn of(m: usize, n: usize, k: usize) -> Self {
        if suits_tiles(m, n, k) {
            Kind::Tiles
        } else if k > 0 && m.min(n) <= FEW && m.max(n) >= TALL {
            Kind::Tall
        } else {
            Kind::Cells
        }
    }

    /// To how many elements rows of `a` and of `b` are padded.
    fn aligns(self, a: &Operand<'_>, b: &Operand<'_>) -> (usize, usize) {
        match self {
            Kind::Tiles | Kind::Gram => (4, 4),
            Kind::Tall if a.vectors > b.vectors => (tall_align(a.contiguous), 1),
            Kind::Tall => (1, tall_align(b.contiguous)),
            Kind::Cells => (1, 1),
        }
    }
}

impl Dense {
    fn run<R: Runtime>(&self, g: &Gpu<R>, target: In) -> Result<()> {
        match self.kind {
            Kind::Tiles => self.tiles(g, target),
            Kind::Tall => self.tall(g, &target),
            Kind::Gram => self.gram(g, &target),
            Kind::Cells => self.cells(g, &self.least(g)?, target),
        }
    }

    /// Dimensions for a kernel that sees operands in vectors of `width`.
    fn shape<R: Runtime>(&self, width: usize, leaves_each: usize) -> ShapeLaunch<R> {
        let item = |contiguous, vectors: usize, stride: usize| match contiguous {
            Contiguous::K => vectors * stride,
            Contiguous::Vectors => self.k * stride,
        };
        ShapeLaunch::new(
            self.batch as u32,
            self.m as u32,
            self.n as u32,
            self.k as u32,
            (self.a.stride / width) as u32,
            (item(self.a_contiguous, self.m, self.a.stride) / width) as u32,
            (self.b.stride / width) as u32,
            (item(self.b_contiguous, self.n, self.b.stride) / width) as u32,
            leaves_each as u32,
        )
    }

    /// The guard's exponents; found on the device and never read back.
    fn least<R: Runtime>(&self, g: &Gpu<R>) -> Result<In> {
        let regions = self.m.div_ceil(REGION) + self.n.div_ceil(REGION);
        let len = self.batch * regions * self.k.div_ceil(LEAF);
        let handle = g.alloc_one::<u32>(len)?;
        let least = In { handle, len };
        if len == 0 || self.rule.unguarded() {
            return Ok(least);
        }
        g.guard("matmul: least exponents", 0, || {
            // SAFETY: the kernel's bound is `len`, the number of regions that `least` has room for; it reads elements
            // of both operands that the shape places inside them.
            unsafe {
                least_exponents::launch_unchecked::<R>(
                    g.client(),
                    g.grid(len, 1),
                    CubeDim::new_1d(guard::UNITS),
                    self.a.data.arg(),
                    self.b.data.arg(),
                    least.arg(),
                    self.shape(1, 1),
                    self.a_contiguous,
                    self.b_contiguous,
                );
            }
        })?;
        Ok(least)
    }

    fn cells<R: Runtime>(&self, g: &Gpu<R>, least: &In, target: In) -> Result<()> {
        let total = self.batch * self.m * self.n;
        let len = levels(self.k) * total;
        let waiting = In { handle: g.alloc_one::<f32>(len)?, len };
        let plan = CellPlan { a: self.a_contiguous, b: self.b_contiguous, rule: self.rule };
        g.guard("matmul: cells", 0, || {
            // SAFETY: the kernel's bound is `total`, the length of the result; `waiting` has room for every level of
            // every cell, and the shape places all reads inside the operands.
            unsafe {
                cells::launch_unchecked::<R>(
                    g.client(),
                    g.grid(total, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    self.a.data.arg(),
                    self.b.data.arg(),
                    least.arg(),
                    waiting.arg(),
                    target.arg(),
                    self.shape(1, 1),
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    plan,
                );
            }
        })
    }

    fn tiles<R: Runtime>(&self, g: &Gpu<R>, target: In) -> Result<()> {
        let choice = self.choose(g);
        // What a fused guard is given in its place is not read.
        let least = if choice.fused { In { handle: g.alloc_one::<u32>(0)?, len: 0 } } else { self.least(g)? };
        self.tiles_as(g, choice, &least, target)
    }

    /// How the tiled kernel runs here. Every choice gives the same bits.
    // pathway: P39
    fn choose<R: Runtime>(&self, g: &Gpu<R>) -> Choice {
        let limit = g.max_elements::<f32>();
        let leaves = self.k.div_ceil(LEAF);
        let splits = leaves > 1 && self.batch * leaves * self.m * self.n <= limit;
        let large = self.m.min(self.n) > 64 && self.count(2) * if splits { leaves } else { 1 } >= BUSY;
        let quads = if large { 2 } else { 1 };
        let runtime = R::name(g.client());
        let multiprocessors = g.client().properties().hardware.num_streaming_multiprocessors;
        Choice {
            quads,
            split: splits && self.count(quads) < 2 * BUSY,
            prefetch: runtime == "cuda" || runtime == "hip",
            fused: self.count(quads) <= FUSED * self.batch,
            waiting: WAITING.min(limit),
            workgroups: multiprocessors.map_or(usize::MAX, |n| 2 * n as usize),
        }
    }

    /// Squares of all items.
    fn count(&self, quads: usize) -> usize {
        self.batch * self.m.div_ceil(64 * quads) * self.n.div_ceil(64 * quads)
    }

    fn tiles_as<R: Runtime>(&self, g: &Gpu<R>, choice: Choice, least: &In, target: In) -> Result<()> {
        let leaves = self.k.div_ceil(LEAF);
        if choice.split {
            let len = self.batch * leaves * self.m * self.n;
            let parts = In { handle: g.alloc_one::<f32>(len)?, len };
            self.squares(g, choice, least, &parts, 1)?;
            self.join(g, parts, &target)?;
        } else {
            self.squares(g, choice, least, &target, leaves)?;
        }
        if self.symmetric { self.mirror(g, &target) } else { Ok(()) }
    }

    /// Launches all squares, `leaves_each` leaves a workgroup, by as many workgroups as have room for their joined leaves.
    fn squares<R: Runtime>(
        &self,
        g: &Gpu<R>,
        choice: Choice,
        least: &In,
        target: &In,
        leaves_each: usize,
    ) -> Result<()> {
        let plan = TilePlan {
            a: self.a_contiguous,
            b: self.b_contiguous,
            quads: choice.quads,
            ragged: !self.k.is_multiple_of(TILE_K),
            prefetch: choice.prefetch,
            fused: choice.fused,
            lower: self.symmetric,
            rule: self.rule,
        };
        let cubes = self.count(choice.quads) * self.k.div_ceil(LEAF) / leaves_each;
        let width = if self.n.is_multiple_of(4) { 4 } else { 1 };
        let each = levels(leaves_each * LEAF) * tile_elements(plan.quads);
        let slots = choice.waiting.checked_div(each).unwrap_or(cubes).min(choice.workgroups).clamp(1, cubes);
        // A binding of vectors holds one at least.
        let len = (slots * each).max(4);
        let waiting = In { handle: g.alloc_one::<f32>(len)?, len };
        g.guard("matmul: tiles", 0, || {
            // SAFETY: workgroups beyond `slots` do nothing; the others store cells inside m x n only, clamp their reads to
            // the operands, and `waiting` has room for each one's cells at every level.
            unsafe {
                tiles::launch_unchecked::<R>(
                    g.client(),
                    g.grid(slots, 1),
                    CubeDim::new_1d(tile::UNITS),
                    width,
                    self.a.data.arg_vec(4),
                    self.b.data.arg_vec(4),
                    least.arg(),
                    waiting.arg_vec(4),
                    target.arg_vec(width),
                    self.shape(4, leaves_each),
                    slots as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    width,
                    plan,
                );
            }
        })
    }
}

/// How the tiled kernel runs: who computes, never what is added to what.
#[derive(Debug, Clone, Copy)]
struct Choice {
    /// Quads of cells a unit computes along each side.
    quads: usize,
    /// Whether each workgroup sums one leaf and another kernel joins them.
    split: bool,
    /// Whether tiles are fetched one ahead.
    prefetch: bool,
    /// Whether the guard looks at what is fetched instead of at all of both operands before.
    fused: bool,
    /// Most elements of joined leaves that wait at once.
    waiting: usize,
    /// Most workgroups. Where the device says how many multiprocessors it has, two for each: what waits then stays in the
    /// cache, which one workgroup a square leaves (2% slower or more on an H200 at 4096 cubed).
    workgroups: usize,
}

/// Levels of joined leaves that can wait at once.
fn levels(k: usize) -> usize {
    let leaves = k.div_ceil(LEAF);
    (usize::BITS - leaves.saturating_sub(1).leading_zeros()) as usize
}

/// Cells of one workgroup of the tiled kernel.
fn tile_elements(quads: usize) -> usize {
    16 * quads * quads * tile::UNITS as usize
}

/// Whether squares pay: below this, most of a square would be outside the result.
fn suits_tiles(m: usize, n: usize, k: usize) -> bool {
    k > 0 && m.min(n) >= 8 && m * n >= 2048
}

mod gram;
mod join;
mod tall;
#[cfg(test)]
mod tests;

use gram::suits_gram;
use join::join_two;
use tall::tall_align;
