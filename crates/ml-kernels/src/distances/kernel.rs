//! Distances on GPUs: panels of distances by the tiled kernel, and lists of the nearest that grow panel by panel.

use cubecl::prelude::*;
use ml_core::{DataError, Result};

use crate::buffer::{Buffer, Chunks, In};
use crate::contraction::kernel::Contiguous;
use crate::contraction::kernel::launch::{Operand, contract};
use crate::contraction::{Rule, Term};
use crate::device::Device;
use crate::device::gpu::{CUBE, Gpu};
use crate::num::order;
use crate::sabotage::Arm;

/// Most distances that are held at once.
const PANEL: usize = 1 << 24;

/// Rows of x that are searched for together, at most.
const X_ROWS: usize = 1 << 16;

/// Lists that keep a large device busy: fewer rows of x than this have several lists each, of parts of y.
const BUSY: usize = 1 << 17;

/// All squared distances, n x m, row-major.
pub(crate) fn squared_distances<R: Runtime>(
    g: &Gpu<R>,
    device: &Device,
    x: &Buffer<f32>,
    y: &Buffer<f32>,
    [n, m, d]: [usize; 3],
) -> Result<Buffer<f32>> {
    let x = rows(x.chunks("x", device)?, 0, n);
    let y = rows(y.chunks("y", device)?, 0, m);
    let out = Chunks::alloc(g, n * m)?;
    contract(g, Rule::new(Term::SquaredDifference, device.arm()), x, y, 1, d, &out)?;
    Ok(Buffer::from_chunks(device, out))
}

fn rows(data: &Chunks<f32>, start: usize, vectors: usize) -> Operand<'_> {
    Operand { data, start, strides: None, contiguous: Contiguous::K, vectors }
}

/// The `k` nearest rows of `y` for each row of `x`: indices and squared distances, n x k.
pub(crate) fn k_nearest<R: Runtime>(
    g: &Gpu<R>,
    device: &Device,
    x: &Buffer<f32>,
    y: &Buffer<f32>,
    [n, m, d]: [usize; 3],
    k: usize,
) -> Result<(Buffer<u32>, Buffer<f32>)> {
    let (x, y) = (x.chunks("x", device)?, y.chunks("y", device)?);
    let limit = g.max_elements::<f32>();
    if k > limit {
        return Err(DataError::TooLarge { what: "k", elements: k as u128, limit: limit as u128 }.into());
    }
    let rule = Rule::new(Term::SquaredDifference, device.arm());
    let flip = if device.arm() == Arm::TiesLast { u32::MAX } else { 0 };
    let (index, distance) = (Chunks::alloc(g, n * k)?, Chunks::alloc(g, n * k)?);
    let x_step = n.min(X_ROWS).min(limit / k).max(1);
    // Whole multiples of 64 rows start where a binding may start.
    let fitting = (PANEL.min(limit) / x_step).max(1);
    let y_step = m.min(if fitting >= 64 { fitting / 64 * 64 } else { fitting });
    for x_rows in (0..n).step_by(x_step).map(|at| at..(at + x_step).min(n)) {
        let parts = (BUSY / x_rows.len()).clamp(1, y_step.div_ceil(64)).min(limit / (k * x_rows.len())).max(1);
        let lists = Lists::new(g, x_rows.len(), k, parts, flip)?;
        for y_rows in (0..m).step_by(y_step).map(|at| at..(at + y_step).min(m)) {
            let panel = Chunks::alloc(g, y_rows.len() * x_rows.len())?;
            // Row-major by y, so that neighbouring lists read neighbouring distances: (y - x)^2 has the bits of (x - y)^2.
            contract(
                g,
                rule,
                rows(y, y_rows.start * d, y_rows.len()),
                rows(x, x_rows.start * d, x_rows.len()),
                1,
                d,
                &panel,
            )?;
            lists.offer(g, &panel.whole(), y_rows.start, y_rows.len())?;
        }
        let range = x_rows.start * k..x_rows.end * k;
        let (to_index, to_distance) = (index.view_out(g, range.clone())?, distance.view_out(g, range)?);
        lists.give(g, to_index.arg(), to_distance.arg())?;
        index.commit(g, to_index)?;
        distance.commit(g, to_distance)?;
    }
    Ok((Buffer::from_chunks(device, index), Buffer::from_chunks(device, distance)))
}

/// The `k` nearest so far, for each of `parts` parts of y and each of `rows` rows of x: rank `r` of list (`part`, `row`)
/// is at `(part * k + r) * rows + row`.
struct Lists {
    keys: In,
    ties: In,
    rows: usize,
    k: usize,
    parts: usize,
    /// Complements indices where a sabotaged device lets ties go to the highest.
    flip: u32,
}

impl Lists {
    fn new<R: Runtime>(g: &Gpu<R>, rows: usize, k: usize, parts: usize, flip: u32) -> Result<Self> {
        let len = rows * k * parts;
        let keys = In { handle: g.alloc_one::<u32>(len)?, len };
        let ties = In { handle: g.alloc_one::<u32>(len)?, len };
        g.guard("k_nearest: start", 0, || {
            // SAFETY: the kernel's bound is `len`, the length of both arrays.
            unsafe {
                start_lists::launch_unchecked::<R>(
                    g.client(),
                    g.grid(len, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    keys.arg(),
                    ties.arg(),
                    len as u32,
                );
            }
        })?;
        Ok(Lists { keys, ties, rows, k, parts, flip })
    }

    fn offer<R: Runtime>(&self, g: &Gpu<R>, panel: &In, first: usize, ys: usize) -> Result<()> {
        g.guard("k_nearest: panel", 0, || {
            // SAFETY: the kernel's bound is the number of lists; each touches its own ranks and reads the panel's
            // `ys` x `rows` distances.
            unsafe {
                offer_panel::launch_unchecked::<R>(
                    g.client(),
                    g.grid(self.rows * self.parts, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    panel.arg(),
                    self.keys.arg(),
                    self.ties.arg(),
                    self.rows as u32,
                    self.k as u32,
                    self.parts as u32,
                    first as u32,
                    ys as u32,
                    self.flip,
                );
            }
        })
    }

    fn give<R: Runtime>(&self, g: &Gpu<R>, index: ArrayArg<R>, distance: ArrayArg<R>) -> Result<()> {
        g.guard("k_nearest: join", 0, || {
            // SAFETY: the kernel's bound is `rows`; both results hold `rows` x `k` elements.
            unsafe {
                join_lists::launch_unchecked::<R>(
                    g.client(),
                    g.grid(self.rows, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    self.keys.arg(),
                    self.ties.arg(),
                    index,
                    distance,
                    self.rows as u32,
                    self.k as u32,
                    self.parts as u32,
                    self.flip,
                );
            }
        })
    }
}

#[cube(launch_unchecked)]
fn start_lists(keys: &mut Array<u32>, ties: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if i < n as usize {
        keys[i] = 0xffff_ffffu32;
        ties[i] = 0xffff_ffffu32;
    }
}

/// Puts (`key`, `tie`) into the sorted list of `k` whose rank r is at `base + r * stride`, if it comes before the last.
#[cube]
// pathway: P54
fn insert(keys: &mut Array<u32>, ties: &mut Array<u32>, base: usize, stride: usize, k: usize, key: u32, tie: u32) {
    let last = base + (k - 1usize) * stride;
    if order::less(key, tie, keys[last], ties[last]) {
        let mut at = last;
        let mut moving = true.runtime();
        while moving {
            moving = false.runtime();
            if at > base {
                let before = at - stride;
                if order::less(key, tie, keys[before], ties[before]) {
                    keys[at] = keys[before];
                    ties[at] = ties[before];
                    at = before;
                    moving = true.runtime();
                }
            }
        }
        keys[at] = key;
        ties[at] = tie;
    }
}

/// One unit a list: looks at its part of the panel's rows of y, which start at row `first` of all.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn offer_panel(
    panel: &Array<f32>,
    keys: &mut Array<u32>,
    ties: &mut Array<u32>,
    rows: u32,
    k: u32,
    parts: u32,
    first: u32,
    ys: u32,
    flip: u32,
) {
    let i = ABSOLUTE_POS;
    let (rows, k, ys) = (rows as usize, k as usize, ys as usize);
    if i < rows * parts as usize {
        let row = i % rows;
        let part = i / rows;
        let each = ys.div_ceil(parts as usize);
        let from = part * each;
        let to = select(from + each < ys, from + each, ys);
        let base = part * k * rows + row;
        let last = base + (k - 1usize) * rows;
        let mut worst = keys[last];
        for y in from..to {
            let key = order::key(panel[y * rows + row]);
            if key <= worst {
                insert(keys, ties, base, rows, k, key, (first + y as u32) ^ flip);
                worst = keys[last];
            }
        }
    }
}

/// One unit a row of x: merges its lists into the first and stores them, n x k.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn join_lists(
    keys: &mut Array<u32>,
    ties: &mut Array<u32>,
    index: &mut Array<u32>,
    distance: &mut Array<f32>,
    rows: u32,
    k: u32,
    parts: u32,
    flip: u32,
) {
    let row = ABSOLUTE_POS;
    let (rows, k) = (rows as usize, k as usize);
    if row < rows {
        for other in k..k * parts as usize {
            insert(keys, ties, row, rows, k, keys[other * rows + row], ties[other * rows + row]);
        }
        for rank in 0..k {
            index[row * k + rank] = ties[rank * rows + row] ^ flip;
            distance[row * k + rank] = order::unkey(keys[rank * rows + row]);
        }
    }
}
