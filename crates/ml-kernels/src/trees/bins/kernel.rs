//! The kernel of `bin_rows`: one unit a word of bins.

use std::ops::Range;

use cubecl::prelude::*;
use ml_core::Result;

use super::BinRule;
use crate::buffer::{Chunks, In, Out};
use crate::device::gpu::{CUBE, Gpu};
use crate::num::key;
use crate::sabotage::Arm;
use crate::trees::value::{MISSING, category_value, number_value, zero_bound};

/// Words that describe a column: where its keys or codes begin, how many there are, what a category beyond them becomes
/// (0 for numbers), and halvings that find a number's place.
const ABOUT: u32 = 4;

/// The rules of consecutive columns on the device.
struct Tables {
    about: In,
    keys: In,
}

impl Tables {
    fn new<R: Runtime>(g: &Gpu<R>, rules: &[BinRule]) -> Result<Self> {
        let (mut about, mut keys) = (Vec::new(), Vec::new());
        for rule in rules {
            let first = keys.len() as u32;
            match rule {
                BinRule::Number { edges } => {
                    let steps = usize::BITS - edges.len().leading_zeros();
                    about.extend([first, edges.len() as u32, 0, steps]);
                    keys.extend(edges.iter().map(|edge| key(*edge)));
                }
                BinRule::Category { codes } => {
                    about.extend([first, codes.len() as u32, rule.n_bins() - 1, 0]);
                    keys.extend_from_slice(codes);
                }
            }
        }
        let upload = |words: &[u32]| -> Result<In> { Ok(In { handle: g.upload_one(words)?, len: words.len() }) };
        Ok(Tables { about: upload(&about)?, keys: upload(&keys)? })
    }
}

fn keys_of(rule: &BinRule) -> usize {
    match rule {
        BinRule::Number { edges } => edges.len(),
        BinRule::Category { codes } => codes.len(),
    }
}

/// As many words of columns as bindings have room for the rules of, one at least.
fn word_panels(rules: &[BinRule], per: usize, limit: usize) -> Vec<Range<usize>> {
    let words = rules.len().div_ceil(per);
    let (mut out, mut first, mut keys): (Vec<Range<usize>>, usize, usize) = (Vec::new(), 0, 0);
    for word in 0..words {
        let own: usize = rules[word * per..].iter().take(per).map(keys_of).sum();
        let columns = (word + 1 - first) * per;
        if word > first && (keys + own > limit || columns * ABOUT as usize > limit) {
            out.push(first..word);
            (first, keys) = (word, 0);
        }
        keys += own;
    }
    if words > first {
        out.push(first..words);
    }
    out
}

/// Words of `per` bins, word by word the rows of its columns.
pub(super) fn bin_rows<R: Runtime>(
    g: &Gpu<R>,
    x: &Chunks<f32>,
    rows: usize,
    rules: &[BinRule],
    per: usize,
    arm: Arm,
) -> Result<Chunks<u32>> {
    let (cols, limit) = (rules.len(), g.max_elements::<u32>());
    let out = Chunks::alloc(g, cols.div_ceil(per) * rows)?;
    let panels = g.row_panels(rows, &[cols]);
    for words in word_panels(rules, per, limit) {
        let columns = words.start * per..(words.end * per).min(cols);
        let tables = Tables::new(g, &rules[columns.clone()])?;
        let call = Call { cols, columns, per, arm };
        for panel in &panels {
            let view = x.view(g, panel.start * cols..panel.end * cols)?;
            if panel.len() == rows && words.len() * rows <= limit {
                let result = out.view_out(g, words.start * rows..words.end * rows)?;
                call.launch(g, &view, &tables, &result, panel.len(), 0, words.len())?;
                out.commit(g, result)?;
                continue;
            }
            // The rows of one word lie together, those of the next lie apart.
            for (at, word) in words.clone().enumerate() {
                let result = out.view_out(g, word * rows + panel.start..word * rows + panel.end)?;
                call.launch(g, &view, &tables, &result, panel.len(), at, 1)?;
                out.commit(g, result)?;
            }
        }
    }
    Ok(out)
}

/// What is the same for all launches with one set of rules.
struct Call {
    cols: usize,
    /// The columns that there are rules for.
    columns: Range<usize>,
    per: usize,
    arm: Arm,
}

impl Call {
    /// Fills `words` words a row from word `first` of the rules' on.
    #[expect(clippy::too_many_arguments, reason = "bindings and extents of one launch")]
    fn launch<R: Runtime>(
        &self,
        g: &Gpu<R>,
        x: &In,
        tables: &Tables,
        out: &Out,
        rows: usize,
        first: usize,
        words: usize,
    ) -> Result<()> {
        let units = rows * words;
        g.guard("bin_rows", 0, || {
            // SAFETY: unit `i` below `units`, the length of the output, writes word `i`. It reads `x`, which holds `rows`
            // whole rows, in columns below `end`, and the tables' words of these columns.
            unsafe {
                fill_words::launch_unchecked::<R>(
                    g.client(),
                    g.grid(units, CUBE as usize),
                    CubeDim::new_1d(CUBE),
                    x.arg(),
                    tables.about.arg(),
                    tables.keys.arg(),
                    out.arg(),
                    units as u32,
                    rows as u32,
                    self.cols as u32,
                    self.columns.start as u32,
                    self.columns.end as u32,
                    first as u32,
                    zero_bound(self.arm),
                    self.per as u32,
                );
            }
        })
    }
}

#[cube(launch_unchecked)]
#[expect(clippy::too_many_arguments, reason = "a kernel's arguments are its bindings")]
fn fill_words(
    x: &Array<u32>,
    about: &Array<u32>,
    keys: &Array<u32>,
    out: &mut Array<u32>,
    units: u32,
    rows: u32,
    cols: u32,
    start: u32,
    end: u32,
    first: u32,
    zero: u32,
    #[comptime] per: u32,
) {
    let i = ABSOLUTE_POS as u32;
    if i < units {
        let word = i / rows;
        let row = i - word * rows;
        let mut packed = 0u32;
        #[unroll]
        for part in 0..per {
            let column = start + (first + word) * per + part;
            if column < end {
                let bits = x[(row * cols + column) as usize];
                let bin = bin_of(bits, about, keys, column - start, zero);
                packed |= bin << comptime!(part * (32 / per));
            }
        }
        out[i as usize] = packed;
    }
}

/// The bin of the float with bits `bits` in a column.
#[cube]
fn bin_of(bits: u32, about: &Array<u32>, keys: &Array<u32>, column: u32, zero: u32) -> u32 {
    let at = (column * ABOUT) as usize;
    let first = about[at];
    let count = about[at + 1];
    let others = about[at + 2];
    let mut bin = 0u32;
    if others == 0u32 {
        let value = number_value(bits, zero);
        let mut below = 0u32;
        let mut step = (1u32 << about[at + 3]) >> 1u32;
        while step > 0u32 {
            let last = below + step - 1u32;
            if last < count {
                if keys[(first + last) as usize] < value {
                    below += step;
                }
            }
            step >>= 1u32;
        }
        if value != MISSING {
            bin = below + 1u32;
        }
    } else {
        let category = category_value(bits, zero);
        if category < count {
            bin = keys[(first + category) as usize] + 1u32;
        } else if category != MISSING {
            bin = others;
        }
    }
    bin
}

/// The words of the rows `panel` of a binned matrix of `rows` rows: the input, the words between a column and the next, and
/// the place of the first row.
pub(crate) fn rows_of<R: Runtime>(
    g: &Gpu<R>,
    bins: &Chunks<u32>,
    rows: usize,
    panel: &Range<usize>,
) -> Result<(In, usize, usize)> {
    if bins.is_whole() {
        return Ok((bins.whole(), rows, panel.start));
    }
    // The rows of each word lie apart: they are brought together.
    let words = bins.len() / rows.max(1);
    let near = Chunks::<u32>::alloc(g, words * panel.len())?;
    for word in 0..words {
        let from = bins.view(g, word * rows + panel.start..word * rows + panel.end)?;
        let to = near.view_out(g, word * panel.len()..(word + 1) * panel.len())?;
        copy(g, &from, &to)?;
        near.commit(g, to)?;
    }
    Ok((near.view(g, 0..near.len())?, panel.len(), 0))
}

/// Copies all words of `from`.
pub(crate) fn copy<R: Runtime>(g: &Gpu<R>, from: &In, to: &Out) -> Result<()> {
    g.guard("copy", 0, || {
        // SAFETY: the kernel checks its bound, the length of both.
        unsafe {
            copy_words::launch_unchecked::<R>(
                g.client(),
                g.grid(from.len, CUBE as usize),
                CubeDim::new_1d(CUBE),
                from.arg(),
                to.arg(),
                from.len as u32,
            );
        }
    })
}

#[cube(launch_unchecked)]
fn copy_words(from: &Array<u32>, to: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        to[i as usize] = from[i as usize];
    }
}
