//! How the chunks of all rows are cut into runs, each of which one binding holds.

use std::ops::Range;

/// Consecutive chunks of a (rows, cols) matrix whose rows are cut into chunks each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The chunks, numbered over all rows.
    pub(crate) items: Range<usize>,
    /// The elements that they cover.
    pub(crate) elements: Range<usize>,
    /// The place of the first of them in its row.
    pub(crate) first_chunk: usize,
}

/// The runs of a (rows, cols) matrix, neither of them 0, with chunks of `chunk` elements; `limit >= chunk` elements fit a
/// binding.
// pathway: P45
pub(crate) fn runs(rows: usize, cols: usize, chunk: usize, limit: usize) -> Vec<Run> {
    let per_row = cols.div_ceil(chunk);
    let place = |item: usize| item / per_row * cols + item % per_row * chunk;
    let mut out = Vec::new();
    let mut first = 0;
    while first < rows * per_row {
        let start = place(first);
        // The last element that fits lies in this row, behind this many whole chunks of it.
        let end = (start + limit).min(rows * cols);
        let next = end / cols * per_row + end % cols / chunk;
        let stop = place(next);
        out.push(Run { items: first..next, elements: start..stop, first_chunk: first % per_row });
        first = next;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // pathway test: P45
    fn runs_cover_everything_once_and_fit() {
        for (rows, cols, chunk, limit) in [
            (1, 1, 4, 4),
            (3, 4, 4, 4),
            (3, 4, 4, 11),
            (5, 3, 4, 7),
            (2, 9, 4, 8),
            (4, 10, 4, 25),
            (7, 8, 4, 1000),
            (3, 9, 4, 4),
        ] {
            let (mut item, mut element) = (0, 0);
            for run in runs(rows, cols, chunk, limit) {
                assert_eq!((run.items.start, run.elements.start), (item, element), "{rows}x{cols} by {chunk}");
                assert!(run.elements.len() <= limit && !run.items.is_empty());
                assert_eq!(run.first_chunk, item % cols.div_ceil(chunk));
                (item, element) = (run.items.end, run.elements.end);
            }
            assert_eq!((item, element), (rows * cols.div_ceil(chunk), rows * cols));
        }
    }
}
