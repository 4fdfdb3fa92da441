//! Devices: radix sort from the lowest digit up, 4 bits a pass, stable because every pass is.
//!
//! A pass is three launches for each piece of the input (a piece fits one binding; there is rarely more than one):
//! 1. `count_digits`: how often each digit occurs in each tile;
//! 2. `scan_rows`: for each digit the running count over tiles, and the piece's total;
//! 3. `scatter`: each tile sorts itself by the digit and writes every element to its place. In a tile each unit owns a
//!    run of neighbouring elements and counts its digits in a column of its own, so that a prefix over (digit, unit)
//!    numbers equal digits in their order: no ballot, no atomic decides a place.

use cubecl::prelude::*;
use ml_core::Result;

use crate::buffer::{Chunks, In};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::{from_bits, key};
use crate::sabotage::Arm;

const DIGIT: u32 = 4;
const BINS: u32 = 1 << DIGIT;

/// Neighbouring elements of one unit.
const RUN: u32 = 8;
const TILE: u32 = CUBE * RUN;

/// Words of the column counters: two digits a word, and one word of padding after each 32 against bank conflicts.
const COLUMNS: usize = (BINS / 2 * CUBE) as usize / 32 * 33;

/// Counters that share the traffic of one digit while a tile is counted.
const COPIES: u32 = 8;

/// Entries of one unit in one step of `scan_rows`.
const SCAN_RUN: u32 = 4;

/// Words that [`prefix`] works in.
const PREFIX_WORDS: usize = CUBE as usize + 16;

pub(crate) fn sort<R: Runtime>(
    g: &Gpu<R>,
    keys: &Chunks<u32>,
    values: &Chunks<u32>,
    arm: Arm,
) -> Result<(Chunks<u32>, Chunks<u32>)> {
    let n = keys.len();
    if n < 2 {
        return Ok((keys.clone(), values.clone()));
    }
    // Reversing the input and then sorting stably leaves equal keys in descending order of position.
    let reversed = arm == Arm::UnstableSort;
    let alloc = || Ok::<_, ml_core::Error>((Chunks::alloc(g, n)?, Chunks::alloc(g, n)?));
    let (mut to, mut spare) = (alloc()?, alloc()?);
    pass(g, (keys, values), (&to.0, &to.1), 0, reversed)?;
    for shift in (DIGIT..u32::BITS).step_by(DIGIT as usize) {
        std::mem::swap(&mut to, &mut spare);
        pass(g, (&spare.0, &spare.1), (&to.0, &to.1), shift, false)?;
    }
    Ok(to)
}

/// Working memory within one binding.
fn words<R: Runtime>(g: &Gpu<R>, len: usize) -> Result<In> {
    Ok(In { handle: g.alloc_one::<u32>(len)?, len })
}

/// Sorts stably by the digit at `shift`.
fn pass<R: Runtime>(
    g: &Gpu<R>,
    from: (&Chunks<u32>, &Chunks<u32>),
    to: (&Chunks<u32>, &Chunks<u32>),
    shift: u32,
    reversed: bool,
) -> Result<()> {
    let mut pieces = g.row_panels(from.0.len(), &[1]);
    if reversed {
        pieces.reverse();
    }
    let totals = words(g, pieces.len() * BINS as usize)?;
    let mut inputs = Vec::with_capacity(pieces.len());
    for (piece, range) in pieces.iter().enumerate() {
        let (n, tiles) = (range.len() as u32, (range.len() as u32).div_ceil(TILE));
        let (keys, values) = (from.0.view(g, range.clone())?, from.1.view(g, range.clone())?);
        let counts = words(g, (tiles * BINS) as usize)?;
        g.guard("sort_by_key", 0, || {
            // SAFETY: `count_digits` reads below `n` and writes one column of `counts` for each tile below `tiles`;
            // `scan_rows` touches the BINS rows of `counts` below `tiles` and BINS words of `totals` from `piece` on.
            unsafe {
                count_digits::launch_unchecked::<R>(
                    g.client(),
                    g.grid(tiles as usize, 1),
                    CubeDim::new_1d(CUBE),
                    keys.arg(),
                    counts.arg(),
                    n,
                    tiles,
                    shift,
                    reversed,
                );
                scan_rows::launch_unchecked::<R>(
                    g.client(),
                    g.grid(BINS as usize, 1),
                    CubeDim::new_1d(CUBE),
                    counts.arg(),
                    totals.arg(),
                    tiles,
                    tiles.div_ceil(CUBE * SCAN_RUN),
                    piece as u32,
                );
            }
        })?;
        inputs.push((keys, values, counts, n, tiles));
    }
    for range in g.row_panels(to.0.len(), &[1]) {
        let (out_keys, out_values) = (to.0.view_out(g, range.clone())?, to.1.view_out(g, range.clone())?);
        for (piece, (keys, values, counts, n, tiles)) in inputs.iter().enumerate() {
            g.guard("sort_by_key", 0, || {
                // SAFETY: the kernel reads inputs below `n`, one column of `counts` for a tile below `tiles` and
                // `totals` for all pieces; it writes only at places below the outputs' length.
                unsafe {
                    scatter::launch_unchecked::<R>(
                        g.client(),
                        g.grid(*tiles as usize, 1),
                        CubeDim::new_1d(CUBE),
                        keys.arg(),
                        values.arg(),
                        counts.arg(),
                        totals.arg(),
                        out_keys.arg(),
                        out_values.arg(),
                        *n,
                        *tiles,
                        inputs.len() as u32,
                        piece as u32,
                        shift,
                        range.start as u32,
                        range.len() as u32,
                        reversed,
                    );
                }
            })?;
        }
        to.0.commit(g, out_keys)?;
        to.1.commit(g, out_values)?;
    }
    Ok(())
}

/// Sort keys of floats, and their positions.
pub(super) fn keys<R: Runtime>(g: &Gpu<R>, x: &Chunks<f32>) -> Result<(Chunks<u32>, Chunks<u32>)> {
    let (keys, index) = (Chunks::alloc(g, x.len())?, Chunks::alloc(g, x.len())?);
    for part in g.row_panels(x.len(), &[1]) {
        let view = x.view(g, part.clone())?;
        let (k, i) = (keys.view_out(g, part.clone())?, index.view_out(g, part.clone())?);
        g.guard("argsort", 0, || {
            // SAFETY: the kernel checks its bound, the length of all three.
            unsafe {
                float_keys::launch_unchecked::<R>(
                    g.client(),
                    g.grid(part.len(), CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    view.arg(),
                    k.arg(),
                    i.arg(),
                    part.len() as u32,
                    part.start as u32,
                );
            }
        })?;
        keys.commit(g, k)?;
        index.commit(g, i)?;
    }
    Ok((keys, index))
}

/// `x` is bound by its bits: no load can flush a subnormal or quiet a NaN.
#[cube(launch_unchecked)]
fn float_keys(x: &Array<u32>, keys: &mut Array<u32>, index: &mut Array<u32>, n: u32, first: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        keys[i as usize] = key(from_bits(x[i as usize]));
        index[i as usize] = first + i;
    }
}

/// Where element `i` of `n` is read.
#[cube]
fn source(i: u32, n: u32, #[comptime] reversed: bool) -> usize {
    let mut at = i;
    if comptime!(reversed) {
        at = n - 1u32 - i;
    }
    at as usize
}

#[cube]
fn digit_of(key: u32, shift: u32) -> u32 {
    (key >> shift) & comptime!(BINS - 1)
}

/// `counts[digit * tiles + tile]`.
#[cube(launch_unchecked)]
fn count_digits(
    keys: &Array<u32>,
    counts: &mut Array<u32>,
    n: u32,
    tiles: u32,
    shift: u32,
    #[comptime] reversed: bool,
) {
    let table = SharedMemory::<Atomic<u32>>::new(comptime!((BINS * COPIES) as usize));
    let unit = UNIT_POS;
    let tile = CUBE_POS as u32;
    if unit < comptime!(BINS * COPIES) {
        table[unit as usize].store(0u32);
    }
    sync_cube();
    let first = tile * comptime!(TILE) + unit;
    let copy = (unit % comptime!(COPIES)) * comptime!(BINS);
    #[unroll]
    for e in 0..comptime!(RUN) {
        let i = first + comptime!(e * CUBE);
        if i < n {
            let digit = digit_of(keys[source(i, n, reversed)], shift);
            table[(copy + digit) as usize].fetch_add(1u32);
        }
    }
    sync_cube();
    if unit < comptime!(BINS) && tile < tiles {
        let mut sum = 0u32;
        #[unroll]
        for c in 0..comptime!(COPIES) {
            sum += table[(comptime!(c * BINS) + unit) as usize].load();
        }
        counts[(unit * tiles + tile) as usize] = sum;
    }
}

/// What lies before a unit's value, and what all units have together.
#[derive(CubeType)]
struct Prefix {
    before: u32,
    total: u32,
}

/// The sum of `value` over the units before this one, in 16 groups of 16.
#[cube]
fn prefix(value: u32, work: &mut SharedMemory<u32>) -> Prefix {
    let unit = UNIT_POS;
    work[unit as usize] = value;
    sync_cube();
    if unit < 16u32 {
        let mut sum = 0u32;
        for k in 0u32..16u32 {
            let at = (unit * 16u32 + k) as usize;
            let entry = work[at];
            work[at] = sum;
            sum += entry;
        }
        work[(comptime!(CUBE) + unit) as usize] = sum;
    }
    sync_cube();
    let mut before = work[unit as usize];
    let mut total = 0u32;
    for k in 0u32..16u32 {
        let sum = work[(comptime!(CUBE) + k) as usize];
        if k < unit / 16u32 {
            before += sum;
        }
        total += sum;
    }
    // The next caller overwrites the words.
    sync_cube();
    Prefix { before, total }
}

/// One workgroup a digit: its counts become the counts of the tiles before, `totals[piece * BINS + digit]` their sum.
#[cube(launch_unchecked)]
fn scan_rows(counts: &mut Array<u32>, totals: &mut Array<u32>, tiles: u32, steps: u32, piece: u32) {
    let mut work = SharedMemory::<u32>::new(comptime!(PREFIX_WORDS));
    let digit = CUBE_POS as u32;
    let unit = UNIT_POS;
    let mut carry = 0u32;
    let mut entries = Array::<u32>::new(comptime!(SCAN_RUN as usize));
    for s in 0u32..steps {
        let first = s * comptime!(CUBE * SCAN_RUN) + unit * comptime!(SCAN_RUN);
        let mut sum = 0u32;
        #[unroll]
        for e in 0..comptime!(SCAN_RUN) {
            let tile = first + comptime!(e);
            let mut entry = 0u32;
            if tile < tiles && digit < comptime!(BINS) {
                entry = counts[(digit * tiles + tile) as usize];
            }
            entries[comptime!(e as usize)] = entry;
            sum += entry;
        }
        let p = prefix(sum, &mut work);
        let mut run = carry + p.before;
        #[unroll]
        for e in 0..comptime!(SCAN_RUN) {
            let tile = first + comptime!(e);
            if tile < tiles && digit < comptime!(BINS) {
                counts[(digit * tiles + tile) as usize] = run;
            }
            run += entries[comptime!(e as usize)];
        }
        carry += p.total;
    }
    if unit == 0u32 && digit < comptime!(BINS) {
        totals[(piece * comptime!(BINS) + digit) as usize] = carry;
    }
}

/// The padded place of entry `at` of the column counters.
#[cube]
fn padded(at: u32) -> usize {
    (at + at / 32u32) as usize
}

/// The entry of a unit's counter for `digit`; the upper digits lie in the upper half words.
#[cube]
fn column(digit: u32, unit: u32) -> usize {
    padded((digit & comptime!(BINS / 2 - 1)) * comptime!(CUBE) + unit)
}

#[cube]
fn half_shift(digit: u32) -> u32 {
    (digit / comptime!(BINS / 2)) * 16u32
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
// pathway: P55
fn scatter(
    keys: &Array<u32>,
    values: &Array<u32>,
    counts: &Array<u32>,
    totals: &Array<u32>,
    out_keys: &mut Array<u32>,
    out_values: &mut Array<u32>,
    n: u32,
    tiles: u32,
    pieces: u32,
    piece: u32,
    shift: u32,
    low: u32,
    len: u32,
    #[comptime] reversed: bool,
) {
    // Counters first, then the tile in its new order.
    let mut tile_words = SharedMemory::<u32>::new(comptime!(COLUMNS));
    let mut work = SharedMemory::<u32>::new(comptime!(PREFIX_WORDS));
    let mut starts = SharedMemory::<u32>::new(comptime!(BINS as usize));
    let unit = UNIT_POS;
    let tile = CUBE_POS as u32;
    let tile_start = tile * comptime!(TILE);
    let first = tile_start + unit * comptime!(RUN);

    #[unroll]
    for d in 0..comptime!(BINS / 2) {
        tile_words[column(d, unit)] = 0u32;
    }
    let mut own_keys = Array::<u32>::new(comptime!(RUN as usize));
    let mut own_values = Array::<u32>::new(comptime!(RUN as usize));
    // The place in the tile, at first only among the unit's own equal digits.
    let mut places = Array::<u32>::new(comptime!(RUN as usize));
    #[unroll]
    for e in 0..comptime!(RUN) {
        let i = first + comptime!(e);
        if i < n {
            let at = source(i, n, reversed);
            let key = keys[at];
            own_keys[comptime!(e as usize)] = key;
            own_values[comptime!(e as usize)] = values[at];
            let digit = digit_of(key, shift);
            let word = tile_words[column(digit, unit)];
            places[comptime!(e as usize)] = (word >> half_shift(digit)) & 0xffffu32;
            tile_words[column(digit, unit)] = word + (1u32 << half_shift(digit));
        }
    }
    sync_cube();

    // Counters become the number of elements before (digit, unit), for both halves at once: sums stay below 2^16.
    let mut sum = 0u32;
    #[unroll]
    for k in 0..comptime!(BINS / 2) {
        sum += tile_words[padded(unit * comptime!(BINS / 2) + comptime!(k))];
    }
    let p = prefix(sum, &mut work);
    // The upper digits come after all of the lower ones.
    let mut run = p.before + (p.total << 16u32);
    #[unroll]
    for k in 0..comptime!(BINS / 2) {
        let at = padded(unit * comptime!(BINS / 2) + comptime!(k));
        let word = tile_words[at];
        tile_words[at] = run;
        run += word;
    }
    sync_cube();

    #[unroll]
    for e in 0..comptime!(RUN) {
        if first + comptime!(e) < n {
            let digit = digit_of(own_keys[comptime!(e as usize)], shift);
            places[comptime!(e as usize)] += (tile_words[column(digit, unit)] >> half_shift(digit)) & 0xffffu32;
        }
    }
    if unit < comptime!(BINS) && tile < tiles {
        // The place of the digit's first element of this tile, less its place in the tile.
        let mut start = counts[(unit * tiles + tile) as usize];
        for q in 0u32..pieces {
            for d in 0u32..comptime!(BINS) {
                if d < unit || (d == unit && q < piece) {
                    start += totals[(q * comptime!(BINS) + d) as usize];
                }
            }
        }
        starts[unit as usize] = start - ((tile_words[column(unit, 0u32)] >> half_shift(unit)) & 0xffffu32);
    }
    sync_cube();

    #[unroll]
    for e in 0..comptime!(RUN) {
        if first + comptime!(e) < n {
            tile_words[places[comptime!(e as usize)] as usize] = own_keys[comptime!(e as usize)];
        }
    }
    sync_cube();
    let mut targets = Array::<u32>::new(comptime!(RUN as usize));
    #[unroll]
    for e in 0..comptime!(RUN) {
        let slot = unit + comptime!(e * CUBE);
        if tile_start + slot < n {
            let key = tile_words[slot as usize];
            // Wraps for places before this part of the output, which then fails the test as those after it do.
            let target = starts[digit_of(key, shift) as usize] + slot - low;
            targets[comptime!(e as usize)] = target;
            if target < len {
                out_keys[target as usize] = key;
            }
        }
    }
    sync_cube();
    #[unroll]
    for e in 0..comptime!(RUN) {
        if first + comptime!(e) < n {
            tile_words[places[comptime!(e as usize)] as usize] = own_values[comptime!(e as usize)];
        }
    }
    sync_cube();
    #[unroll]
    for e in 0..comptime!(RUN) {
        let slot = unit + comptime!(e * CUBE);
        if tile_start + slot < n {
            let target = targets[comptime!(e as usize)];
            if target < len {
                out_values[target as usize] = tile_words[slot as usize];
            }
        }
    }
}
