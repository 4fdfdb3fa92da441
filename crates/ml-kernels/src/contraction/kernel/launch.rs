//! Launches: which kernel, in which pieces. Shapes and binding limits decide; no choice moves a rounding.

use std::ops::Range;

use cubecl::prelude::*;
use cubecl::server::Handle;
use ml_core::Result;

use super::blocks::{Block, cut, put};
use super::cells::{CellPlan, cells, join_pair, join_parts};
use super::guard::{self, least_exponents};
use super::tile::{self, tiles};
use super::{Contiguous, REGION, ShapeLaunch, TilePlan};
use crate::buffer::{Chunks, In};
use crate::contraction::{LEAF, Rule};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::Pins;

/// Squares that keep a large device busy; below it, smaller squares or split leaves are tried.
const BUSY: usize = 128;

/// Most elements of joined leaves that wait at once.
const WAITING: usize = 1 << 27;

/// One operand: `batch` items, one after the other, of `vectors` vectors of K elements each.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) data: &'a Chunks<f32>,
    /// Element of `data` where the first item starts.
    pub(crate) start: usize,
    pub(crate) contiguous: Contiguous,
    pub(crate) vectors: usize,
}

impl Operand<'_> {
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

    /// The items `items`, as one rectangle.
    fn items<R: Runtime>(&self, g: &Gpu<R>, items: Range<usize>, k: usize, align: usize) -> Result<Block> {
        let (rows, width) = self.matrix(k);
        cut(g, self.data, self.start, width, items.start * rows..items.end * rows, 0..width, align)
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
        let (rows, width) = self.matrix(k);
        let (r, c) = match self.contiguous {
            Contiguous::K => (vectors, range),
            Contiguous::Vectors => (range, vectors),
        };
        cut(g, self.data, self.start + item * rows * width, width, r, c, align)
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
    let tiled = suits_tiles(m, n, k);
    let align = if tiled { 4 } else { 1 };
    let waiting = levels(k) * if tiled { tile_elements(2) } else { m * n };
    let item = a.padded(k, align).max(b.padded(k, align)).max(m * n).max(1);
    if item.max(waiting) > limit {
        for at in 0..batch {
            panels(g, rule, a, b, at, k, out)?;
        }
        return Ok(());
    }
    let group = limit / item.max(if tiled { 1 } else { waiting });
    for start in (0..batch).step_by(group) {
        let items = start..(start + group).min(batch);
        let work = Dense {
            rule,
            a: a.items(g, items.clone(), k, align)?,
            b: b.items(g, items.clone(), k, align)?,
            a_contiguous: a.contiguous,
            b_contiguous: b.contiguous,
            batch: items.len(),
            m,
            n,
            k,
            tiled,
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
            tiled,
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
    tiled: bool,
}

impl Dense {
    fn run<R: Runtime>(&self, g: &Gpu<R>, target: In) -> Result<()> {
        let least = self.least(g)?;
        if self.tiled { self.tiles(g, &least, target) } else { self.cells(g, &least, target) }
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

    fn tiles<R: Runtime>(&self, g: &Gpu<R>, least: &In, target: In) -> Result<()> {
        let limit = g.max_elements::<f32>();
        let leaves = self.k.div_ceil(LEAF);
        let squares = |side: usize| self.batch * self.m.div_ceil(side) * self.n.div_ceil(side);
        let splits = leaves > 1 && self.batch * leaves * self.m * self.n <= limit;
        let large = self.m.min(self.n) > 64 && squares(128) * if splits { leaves } else { 1 } >= BUSY;
        let (quads, side) = if large { (2, 128) } else { (1, 64) };
        let split = splits && squares(side) < 2 * BUSY;
        let runtime = R::name(g.client());
        let registers = runtime == "cuda" || runtime == "hip";
        let plan = TilePlan {
            a: self.a_contiguous,
            b: self.b_contiguous,
            quads,
            ragged: !self.k.is_multiple_of(super::TILE_K),
            prefetch: registers,
            unroll: if registers { 16 } else { 8 },
            rule: self.rule,
        };
        if !split {
            return self.squares(g, plan, least, &target, squares(side), leaves);
        }
        let len = self.batch * leaves * self.m * self.n;
        let parts = In { handle: g.alloc_one::<f32>(len)?, len };
        self.squares(g, plan, least, &parts, squares(side) * leaves, 1)?;
        let cells = self.m * self.n;
        g.guard("matmul: join", 0, || {
            // SAFETY: the kernel's bound is the number of cells; `parts` holds each of them once a leaf.
            unsafe {
                join_parts::launch_unchecked::<R>(
                    g.client(),
                    g.grid(self.batch * cells, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    parts.arg(),
                    target.arg(),
                    self.batch as u32,
                    leaves as u32,
                    cells as u32,
                    Pins::HOST.nz,
                    Pins::HOST.one,
                    self.rule,
                );
            }
        })
    }

    /// Launches `cubes` squares, as many at once as have room for their joined leaves.
    fn squares<R: Runtime>(
        &self,
        g: &Gpu<R>,
        plan: TilePlan,
        least: &In,
        target: &In,
        cubes: usize,
        leaves_each: usize,
    ) -> Result<()> {
        let width = if self.n.is_multiple_of(4) { 4 } else { 1 };
        let each = levels(leaves_each * LEAF) * tile_elements(plan.quads);
        let room = WAITING.min(g.max_elements::<f32>());
        let at_once = room.checked_div(each).unwrap_or(cubes).clamp(1, cubes);
        // A binding of vectors holds one at least.
        let len = (at_once * each).max(4);
        let waiting = In { handle: g.alloc_one::<f32>(len)?, len };
        for first in (0..cubes).step_by(at_once) {
            let count = at_once.min(cubes - first);
            g.guard("matmul: tiles", 0, || {
                // SAFETY: workgroups beyond `count` do nothing; the others store cells inside m x n only, clamp their
                // reads to the operands, and `waiting` has room for each one's cells at every level.
                unsafe {
                    tiles::launch_unchecked::<R>(
                        g.client(),
                        g.grid(count, 1),
                        CubeDim::new_1d(tile::UNITS),
                        width,
                        self.a.data.arg_vec(4),
                        self.b.data.arg_vec(4),
                        least.arg(),
                        waiting.arg_vec(4),
                        target.arg_vec(width),
                        self.shape(4, leaves_each),
                        first as u32,
                        count as u32,
                        Pins::HOST.nz,
                        Pins::HOST.one,
                        width,
                        plan,
                    );
                }
            })?;
        }
        Ok(())
    }
}

fn join_two<R: Runtime>(g: &Gpu<R>, rule: Rule, before: &Handle, sum: &Handle, len: usize) -> Result<()> {
    g.guard("matmul: join", 0, || {
        // SAFETY: both handles hold `len` elements, the kernel's bound.
        unsafe {
            join_pair::launch_unchecked::<R>(
                g.client(),
                g.grid(len, CUBE as usize),
                CubeDim::new_1d(CUBE),
                ArrayArg::from_raw_parts(before.clone(), len),
                ArrayArg::from_raw_parts(sum.clone(), len),
                len as u32,
                Pins::HOST.nz,
                Pins::HOST.one,
                rule,
            );
        }
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;
    use crate::contraction::Term;
    use crate::contraction::guard::least_exponent;
    use crate::contraction::testing::Data;
    use crate::device::on_device;
    use crate::sabotage::Arm;

    /// The guard on the device finds what the host finds, region by region and leaf by leaf, whichever way operands lie.
    #[test]
    fn least_exponents_are_the_hosts() {
        let (batch, m, n, k) = (2, 70, 33, 1500);
        for device in crate::conformance::test_devices() {
            for contiguous in [Contiguous::K, Contiguous::Vectors] {
                let mut a = Data::Subnormal.values(batch * m * k, 1);
                a[m * k + 11] = 1e-35;
                let b = Data::Ordinary.values(batch * n * k, 2);
                let upload = |x: &[f32]| Buffer::upload(&device, x).expect("fits");
                let (a_there, b_there) = (upload(&a), upload(&b));
                let found: Vec<u32> = on_device!(&device,
                host(_h) => continue,
                gpu(g) => {
                    let operand = |x, vectors| Operand { data: x, start: 0, contiguous, vectors };
                    let (x, y) = (a_there.chunks("a", &device).expect("here"), b_there.chunks("b", &device).expect("here"));
                    let work = Dense {
                        rule: Rule::new(Term::Product, Arm::None),
                        a: operand(x, m).items(g, 0..batch, k, 1).expect("fits"),
                        b: operand(y, n).items(g, 0..batch, k, 1).expect("fits"),
                        a_contiguous: contiguous,
                        b_contiguous: contiguous,
                        batch,
                        m,
                        n,
                        k,
                        tiled: false,
                    };
                    let least = work.least(g).expect("runs");
                    g.read_one(&least.handle, least.len).expect("reads")
                });
                let mut wanted = Vec::new();
                for (x, vectors) in [(&a, m), (&b, n)] {
                    let at = |item: usize, v: usize, i: usize| match contiguous {
                        Contiguous::K => x[(item * vectors + v) * k + i],
                        Contiguous::Vectors => x[(item * k + i) * vectors + v],
                    };
                    for item in 0..batch {
                        for region in (0..vectors).step_by(REGION) {
                            for leaf in (0..k).step_by(LEAF) {
                                let own: Vec<f32> = (region..(region + REGION).min(vectors))
                                    .flat_map(|v| (leaf..(leaf + LEAF).min(k)).map(move |i| (v, i)))
                                    .map(|(v, i)| at(item, v, i))
                                    .collect();
                                wanted.push(least_exponent(&own));
                            }
                        }
                    }
                }
                assert_eq!(found, wanted, "{device:?} {contiguous:?}");
                assert!(wanted.iter().max() > wanted.iter().min(), "a fixture of one exponent shows nothing");
            }
        }
    }

    #[test]
    fn levels_count_the_sums_that_wait() {
        let leaves = [0, 1, 2, 3, 4, 5, 8, 9];
        assert_eq!(leaves.map(|n| levels(n * LEAF)), [0, 0, 1, 2, 2, 3, 3, 4]);
    }
}
