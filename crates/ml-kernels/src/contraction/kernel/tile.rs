//! The tiled kernel: a workgroup computes a square of cells from tiles in shared memory.
//!
//! 256 units; each computes `4 * quads` x `4 * quads` cells, `quads` being 2 (a square of 128 cells a side) or 1 (64).
//! A tile is 16 elements of K of the square's vectors, stored K first, in quads of vectors. Half of the units fetch `a`,
//! half `b`. Which unit computes which cell changes no bit; every cell is summed K ascending, leaf by leaf.

use cubecl::prelude::*;

use super::{Contiguous, Pins4, REGION, Shape, TILE_K, TilePlan, V4, add4, at_most, guard, term4};
use crate::contraction::LEAF;
use crate::num::{bits, from_bits};
use crate::sabotage::Arm;

/// Units of the workgroup.
pub(super) const UNITS: u32 = 256;

/// Tiles of K in a leaf.
const LEAF_TILES: usize = LEAF / TILE_K;

/// Quads of vectors along one side of the square.
const fn side(quads: usize) -> usize {
    16 * quads
}

/// The bit that is flipped in a quad's place, so that units which store a transposed block meet different banks.
#[cube]
fn swizzle(k: usize) -> usize {
    ((k / 4usize) & 1usize) * 4usize
}

/// The dimensions of one operand, in quads of four elements.
#[derive(CubeType, Clone, Copy)]
struct Place {
    /// Where the batch item starts.
    base: usize,
    /// From one row in memory to the next.
    stride: usize,
    /// The square's first vector, and how many vectors the operand has.
    first: usize,
    vectors: usize,
    k: usize,
}

/// Fetches a unit's part of tile `tile` of an operand into registers; elements beyond K are +0, vectors beyond the last
/// repeat it (their cells are not stored).
#[cube]
fn fetch(
    from: &Array<V4>,
    hold: &mut Array<V4>,
    p: &Place,
    tile: usize,
    unit: usize,
    #[comptime] contiguous: Contiguous,
    #[comptime] quads: usize,
    #[comptime] ragged: bool,
) {
    if comptime!(contiguous == Contiguous::K) {
        if unit < comptime!(64 * quads) {
            let k_quad = tile * 4usize + ((unit & 1usize) | (unit / comptime!(32 * quads)) * 2usize);
            let vector = p.first + ((unit / 2usize) % comptime!(side(quads))) * 4usize;
            #[unroll]
            for i in 0..4usize {
                let row = at_most(vector + i, p.vectors - 1usize);
                if comptime!(ragged) {
                    let mut v = V4::new(0.0f32);
                    if k_quad * 4usize < p.k {
                        v = from[p.base + row * p.stride + k_quad];
                    }
                    hold[i] = v;
                } else {
                    hold[i] = from[p.base + row * p.stride + k_quad];
                }
            }
        }
    } else {
        #[unroll]
        for i in 0..comptime!(2 * quads) {
            let at = unit + i * 128usize;
            let k = tile * comptime!(TILE_K) + at / comptime!(side(quads));
            let quad = at_most(p.first / 4usize + at % comptime!(side(quads)), p.vectors / 4usize - 1usize);
            if comptime!(ragged) {
                let mut v = V4::new(0.0f32);
                if k < p.k {
                    v = from[p.base + k * p.stride + quad];
                }
                hold[i] = v;
            } else {
                hold[i] = from[p.base + k * p.stride + quad];
            }
        }
    }
}

/// Stores what `fetch` brought, K first.
#[cube]
fn stash(
    to: &mut SharedMemory<V4>,
    hold: &Array<V4>,
    unit: usize,
    #[comptime] contiguous: Contiguous,
    #[comptime] quads: usize,
) {
    if comptime!(contiguous == Contiguous::K) {
        if unit < comptime!(64 * quads) {
            let k = ((unit & 1usize) | (unit / comptime!(32 * quads)) * 2usize) * 4usize;
            let quad = ((unit / 2usize) % comptime!(side(quads))) ^ swizzle(k);
            #[unroll]
            for j in 0..4usize {
                let mut v = V4::new(0.0f32);
                #[unroll]
                for i in 0..4usize {
                    let row = hold[i];
                    v[i] = row[j];
                }
                to[(k + j) * comptime!(side(quads)) + quad] = v;
            }
        }
    } else {
        #[unroll]
        for i in 0..comptime!(2 * quads) {
            let at = unit + i * 128usize;
            let k = at / comptime!(side(quads));
            let quad = (at % comptime!(side(quads))) ^ swizzle(k);
            to[k * comptime!(side(quads)) + quad] = hold[i];
        }
    }
}

/// Adds element `k` of the tile to a unit's cells.
#[cube]
#[allow(clippy::too_many_arguments)]
fn step(
    sa: &SharedMemory<V4>,
    sb: &SharedMemory<V4>,
    acc: &mut Array<V4>,
    k: usize,
    ty: usize,
    tx: usize,
    pins: &Pins4,
    #[comptime] flushed: bool,
    #[comptime] plan: TilePlan,
) {
    let quads = comptime!(plan.quads);
    let a_at = k * comptime!(side(quads)) + (ty ^ swizzle(k));
    let b_at = k * comptime!(side(quads)) + (tx ^ swizzle(k));
    let mut b = Array::<V4>::new(quads);
    #[unroll]
    for j in 0..quads {
        b[j] = sb[b_at + j * 16usize];
    }
    #[unroll]
    for i in 0..quads {
        let a = sa[a_at + i * 16usize];
        #[unroll]
        for r in 0..4usize {
            let a4 = V4::new(a[r]);
            #[unroll]
            for j in 0..quads {
                let x = comptime!((i * 4 + r) * quads + j);
                acc[x] = term4(acc[x], a4, b[j], pins, flushed, comptime!(plan.rule));
            }
        }
    }
}

/// The turns of one leaf that a unit takes, and its place in them.
#[derive(CubeType, Clone, Copy)]
struct Turns {
    from: usize,
    end: usize,
    /// Past the last tile that this workgroup adds.
    last: usize,
    tiles: usize,
    /// Which cells the unit computes, and what it fetches.
    ty: usize,
    tx: usize,
    part_unit: usize,
    for_a: bool,
}

/// Adds a leaf's tiles, and gives the least magnitude among what the unit fetched where the plan asks for it. The two loops
/// of `flushed` are two pieces of code, so that the plain one is unrolled and its registers are its own.
#[cube]
#[allow(clippy::too_many_arguments)]
fn add_leaf(
    a: &Array<V4>,
    b: &Array<V4>,
    sa: &mut SharedMemory<V4>,
    sb: &mut SharedMemory<V4>,
    acc: &mut Array<V4>,
    hold: &mut Array<V4>,
    pa: &Place,
    pb: &Place,
    t: &Turns,
    pins: &Pins4,
    #[comptime] flushed: bool,
    #[comptime] plan: TilePlan,
) -> u32 {
    let mut least = comptime!(guard::NOTHING).runtime();
    if comptime!(plan.prefetch && plan.fused) {
        let tile = tile_at(t.from, t.tiles, comptime!(plan.rule.arm));
        fetch_both(a, b, hold, pa, pb, tile, t.part_unit, t.for_a, plan);
        least = stash_both(sa, sb, hold, least, t.part_unit, t.for_a, plan);
        sync_cube();
    }
    for turn in t.from..t.end {
        if comptime!(plan.prefetch) {
            if turn + 1usize < t.last {
                let tile = tile_at(turn + 1usize, t.tiles, comptime!(plan.rule.arm));
                fetch_both(a, b, hold, pa, pb, tile, t.part_unit, t.for_a, plan);
            }
        } else {
            let tile = tile_at(turn, t.tiles, comptime!(plan.rule.arm));
            fetch_both(a, b, hold, pa, pb, tile, t.part_unit, t.for_a, plan);
            least = stash_both(sa, sb, hold, least, t.part_unit, t.for_a, plan);
            sync_cube();
        }
        if comptime!(flushed) {
            for k in 0..TILE_K {
                step(sa, sb, acc, step_at(k, comptime!(plan.rule.arm)), t.ty, t.tx, pins, true, plan);
            }
        } else {
            #[unroll]
            for k in 0..TILE_K {
                step(sa, sb, acc, step_at(k, comptime!(plan.rule.arm)), t.ty, t.tx, pins, false, plan);
            }
        }
        sync_cube();
        if comptime!(plan.prefetch) {
            if turn + 1usize < t.last {
                least = stash_both(sa, sb, hold, least, t.part_unit, t.for_a, plan);
            }
            sync_cube();
        }
    }
    least
}

/// The element of a tile that is added in step `k`.
#[cube]
fn step_at(k: usize, #[comptime] arm: Arm) -> usize {
    if comptime!(arm == Arm::DescendingLeaf) { comptime!(TILE_K - 1) - k } else { k }
}

/// The tile of K that is added in turn `turn`.
#[cube]
fn tile_at(turn: usize, tiles: usize, #[comptime] arm: Arm) -> usize {
    let mut at = turn;
    if comptime!(arm == Arm::DescendingLeaf) {
        let start = turn / LEAF_TILES * LEAF_TILES;
        let end = at_most(start + LEAF_TILES, tiles);
        at = start + end - 1usize - turn;
    }
    at
}

/// Products or distances of `batch` items by `slots` workgroups, each of which takes every `slots`-th square. `least` holds
/// the guard's exponents, `waiting` each unit's joined leaves; `c` is (item, part of leaves, row, column).
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn tiles<N: Size>(
    a: &Array<V4>,
    b: &Array<V4>,
    least: &Array<u32>,
    waiting: &mut Array<V4>,
    c: &mut Array<Vector<f32, N>>,
    shape: Shape,
    slots: u32,
    nz: f32,
    one: f32,
    #[comptime] width: usize,
    #[comptime] plan: TilePlan,
) {
    let quads = comptime!(plan.quads);
    let cells = comptime!(4 * quads * quads);
    let (m, n, k) = (shape.m as usize, shape.n as usize, shape.k as usize);
    let square = comptime!(64 * quads);
    let rows = m.div_ceil(square);
    let cols = n.div_ceil(square);
    let leaves = k.div_ceil(LEAF);
    let leaves_each = shape.leaves_each as usize;
    let parts = leaves.div_ceil(leaves_each);
    let slot = CUBE_POS;
    let slots = slots as usize;
    let squares = rows * cols;
    let count = shape.batch as usize * parts * squares;
    let mut sa = SharedMemory::<V4>::new(comptime!(TILE_K * side(quads)));
    let mut sb = SharedMemory::<V4>::new(comptime!(TILE_K * side(quads)));
    let mut cube = if slot < slots { slot } else { count };
    while cube < count {
        let square_at = cube % squares;
        let part = cube / squares % parts;
        let item = cube / squares / parts;
        // Eight rows of squares at a time, column by column: what neighbours read stays in the cache.
        let band = square_at / (8usize * cols);
        let in_band = square_at % (8usize * cols);
        let band_rows = at_most(8usize, rows - band * 8usize);
        let row = (band * 8usize + in_band % band_rows) * square;
        let col = in_band / band_rows * square;
        let mut wanted = true.runtime();
        if comptime!(plan.lower) {
            wanted = col <= row;
        }
        if wanted {
            let unit = UNIT_POS as usize;
            let lane = unit % 32usize;
            let group = unit / 32usize;
            let tx = lane % 8usize + 8usize * (group % 2usize);
            let ty = lane / 8usize + 4usize * (group / 2usize);
            let for_a = unit < 128usize;
            let part_unit = unit % 128usize;
            let pa = Place {
                base: item * shape.a_item as usize,
                stride: shape.a_stride as usize,
                first: row,
                vectors: if comptime!(plan.a == Contiguous::K) { m } else { shape.a_stride as usize * 4usize },
                k,
            };
            let pb = Place {
                base: item * shape.b_item as usize,
                stride: shape.b_stride as usize,
                first: col,
                vectors: if comptime!(plan.b == Contiguous::K) { n } else { shape.b_stride as usize * 4usize },
                k,
            };
            let pins = Pins4 { nz: V4::new(nz), one: V4::new(one), minus_one: V4::new(crate::num::neg(one)) };
            let mut acc = Array::<V4>::new(cells);
            let mut hold = Array::<V4>::new(4usize);
            let tiles = k.div_ceil(comptime!(TILE_K));
            let first_leaf = part * leaves_each;
            let last_leaf = at_most(first_leaf + leaves_each, leaves);
            let last_tile = at_most(last_leaf * LEAF_TILES, tiles);
            if comptime!(plan.prefetch && !plan.fused) {
                let tile = tile_at(first_leaf * LEAF_TILES, tiles, comptime!(plan.rule.arm));
                fetch_both(a, b, &mut hold, &pa, &pb, tile, part_unit, for_a, plan);
                stash_both(&mut sa, &mut sb, &hold, 0u32, part_unit, for_a, plan);
                sync_cube();
            }
            for leaf in first_leaf..last_leaf {
                clear(&mut acc, plan);
                let end = at_most((leaf + 1usize) * LEAF_TILES, tiles);
                let turns = Turns {
                    from: leaf * LEAF_TILES,
                    end,
                    last: if comptime!(plan.fused) { end } else { last_tile },
                    tiles,
                    ty,
                    tx,
                    part_unit,
                    for_a,
                };
                if comptime!(plan.fused) {
                    let own =
                        add_leaf(a, b, &mut sa, &mut sb, &mut acc, &mut hold, &pa, &pb, &turns, &pins, false, plan);
                    if !fetched_proves(&mut sa, own, plan) {
                        clear(&mut acc, plan);
                        add_leaf(a, b, &mut sa, &mut sb, &mut acc, &mut hold, &pa, &pb, &turns, &pins, true, plan);
                    }
                } else if plain_here(least, &shape, item, row, col, leaf, plan) {
                    add_leaf(a, b, &mut sa, &mut sb, &mut acc, &mut hold, &pa, &pb, &turns, &pins, false, plan);
                } else {
                    add_leaf(a, b, &mut sa, &mut sb, &mut acc, &mut hold, &pa, &pb, &turns, &pins, true, plan);
                }
                // Joined leaves wait as a binary counter: level i holds 2^i of them.
                let done = leaf - first_leaf;
                let is_last = leaf + 1usize == last_leaf;
                let mut level = 0usize;
                let mut rest = done;
                while rest != 0usize && (is_last || rest % 2usize == 1usize) {
                    if rest % 2usize == 1usize {
                        #[unroll]
                        for x in 0..cells {
                            let at = ((level * slots + slot) * cells + x) * comptime!(UNITS as usize) + unit;
                            acc[x] = add4(waiting[at], acc[x], &pins, comptime!(plan.rule));
                        }
                    }
                    level += 1usize;
                    rest /= 2usize;
                }
                if !is_last {
                    #[unroll]
                    for x in 0..cells {
                        waiting[((level * slots + slot) * cells + x) * comptime!(UNITS as usize) + unit] = acc[x];
                    }
                }
            }
            let base = (item * parts + part) * m * n;
            #[unroll]
            for i in 0..comptime!(4 * quads) {
                let r = row + comptime!((i / 4) * 64 + i % 4) + ty * 4usize;
                if r < m {
                    #[unroll]
                    for j in 0..quads {
                        let v = acc[comptime!(i * quads + j)];
                        let at = col + (comptime!(j * 16) + tx) * 4usize;
                        #[unroll]
                        for q in 0..comptime!(4 / width) {
                            if at + comptime!(q * width) < n {
                                let mut out = Vector::<f32, N>::new(v[comptime!(q * width)]);
                                if comptime!(width == 4) {
                                    #[unroll]
                                    for e in 1..4usize {
                                        out[e] = v[e];
                                    }
                                }
                                c[(base + r * n + at + comptime!(q * width)) / comptime!(width)] = out;
                            }
                        }
                    }
                }
            }
        }
        cube += slots;
    }
}

#[cube]
#[allow(clippy::too_many_arguments)]
fn fetch_both(
    a: &Array<V4>,
    b: &Array<V4>,
    hold: &mut Array<V4>,
    pa: &Place,
    pb: &Place,
    tile: usize,
    unit: usize,
    for_a: bool,
    #[comptime] plan: TilePlan,
) {
    if for_a {
        fetch(a, hold, pa, tile, unit, comptime!(plan.a), comptime!(plan.quads), comptime!(plan.ragged));
    } else {
        fetch(b, hold, pb, tile, unit, comptime!(plan.b), comptime!(plan.quads), comptime!(plan.ragged));
    }
}

#[cube]
fn stash_both(
    sa: &mut SharedMemory<V4>,
    sb: &mut SharedMemory<V4>,
    hold: &Array<V4>,
    least: u32,
    unit: usize,
    for_a: bool,
    #[comptime] plan: TilePlan,
) -> u32 {
    let mut found = least;
    if for_a {
        stash(sa, hold, unit, comptime!(plan.a), comptime!(plan.quads));
        if comptime!(plan.fused) {
            found = seen(hold, found, unit, comptime!(plan.a), comptime!(plan.quads));
        }
    } else {
        stash(sb, hold, unit, comptime!(plan.b), comptime!(plan.quads));
        if comptime!(plan.fused) {
            found = seen(hold, found, unit, comptime!(plan.b), comptime!(plan.quads));
        }
    }
    found
}

/// The lesser of `least` and the magnitudes that `fetch` brought, as [`guard::least_of`] has them.
#[cube]
fn seen(
    hold: &Array<V4>,
    least: u32,
    unit: usize,
    #[comptime] contiguous: Contiguous,
    #[comptime] quads: usize,
) -> u32 {
    let mut found = least;
    if comptime!(contiguous == Contiguous::K) {
        if unit < comptime!(64 * quads) {
            #[unroll]
            for i in 0..4usize {
                found = guard::least_of(hold[i], found);
            }
        }
    } else {
        #[unroll]
        for i in 0..comptime!(2 * quads) {
            found = guard::least_of(hold[i], found);
        }
    }
    found
}

/// Whether what the units fetched of a leaf proves its plain loop. They meet in a tile that is done with: shared memory has
/// no room for more.
#[cube]
// pathway: P139
fn fetched_proves(meet: &mut SharedMemory<V4>, own: u32, #[comptime] plan: TilePlan) -> bool {
    if comptime!(plan.rule.unguarded()) {
        true.runtime()
    } else {
        let unit = UNIT_POS as usize;
        // As powers of two: a tile holds floats, and a device may take a small word for a subnormal.
        let e = select(own == comptime!(guard::NOTHING), 255u32, (own + 1u32) >> 24u32);
        meet[unit] = V4::new(from_bits(guard::lesser(e, 254u32) << 23u32));
        sync_cube();
        let mut half = 64usize;
        while half > 0usize {
            if unit % 128usize < half {
                let mine = meet[unit];
                let other = meet[unit + half];
                meet[unit] = V4::new(from_bits(guard::lesser(bits(mine[0]), bits(other[0]))));
            }
            sync_cube();
            half /= 2usize;
        }
        let of_a = meet[0];
        let of_b = meet[128];
        sync_cube();
        guard::proved(bits(of_a[0]) >> 23u32, bits(of_b[0]) >> 23u32, comptime!(plan.rule))
    }
}

#[cube]
fn clear(acc: &mut Array<V4>, #[comptime] plan: TilePlan) {
    #[unroll]
    for x in 0..comptime!(4 * plan.quads * plan.quads) {
        acc[x] = V4::new(0.0f32);
    }
}

/// Whether the guard has proved the plain loop for this square and leaf.
#[cube]
fn plain_here(
    least: &Array<u32>,
    shape: &Shape,
    item: usize,
    row: usize,
    col: usize,
    leaf: usize,
    #[comptime] plan: TilePlan,
) -> bool {
    if comptime!(plan.rule.unguarded()) {
        true.runtime()
    } else {
        let leaves = (shape.k as usize).div_ceil(LEAF);
        let a_regions = (shape.m as usize).div_ceil(REGION);
        let b_regions = (shape.n as usize).div_ceil(REGION);
        let b_start = shape.batch as usize * a_regions * leaves;
        let mut e = 255u32;
        let mut f = 255u32;
        #[unroll]
        for i in 0..comptime!(plan.quads * 64 / REGION) {
            let r = row / REGION + i;
            let s = col / REGION + i;
            if r < a_regions {
                e = guard::lesser(least[(item * a_regions + r) * leaves + leaf], e);
            }
            if s < b_regions {
                f = guard::lesser(least[b_start + (item * b_regions + s) * leaves + leaf], f);
            }
        }
        guard::proved(e, f, comptime!(plan.rule))
    }
}
