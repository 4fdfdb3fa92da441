//! The host: threads over rows of the result.

use ml_core::Result;
use rayon::prelude::*;

use super::bad_index;
use crate::buffer::Element;

/// Elements that one task moves.
const TASK: usize = 1 << 15;

/// The first index that is not below `bound` is an error.
pub(super) fn check(indices: &[u32], bound: usize) -> Result<()> {
    let greatest = indices.par_chunks(TASK).map(|part| part.iter().copied().fold(0, u32::max)).max();
    if greatest.is_none_or(|index| (index as usize) < bound) {
        return Ok(());
    }
    match indices.iter().position(|&index| index as usize >= bound) {
        Some(i) => Err(bad_index(i, indices[i], bound)),
        None => Ok(()),
    }
}

pub(super) fn gather_rows<T: Element>(table: &[T], indices: &[u32], cols: usize) -> Vec<T> {
    let mut out = vec![T::zeroed(); indices.len() * cols];
    if cols == 0 {
        return out;
    }
    let rows = (TASK / cols).max(1);
    out.par_chunks_mut(rows * cols).zip(indices.par_chunks(rows)).for_each(|(out, indices)| {
        if cols == 1 {
            for (to, &index) in out.iter_mut().zip(indices) {
                *to = table[index as usize];
            }
            return;
        }
        for (to, &index) in out.chunks_mut(cols).zip(indices) {
            to.copy_from_slice(&table[index as usize * cols..(index as usize + 1) * cols]);
        }
    });
    out
}

pub(super) fn scatter_rows<T: Element>(source: &[T], indices: &[u32], out_rows: usize, cols: usize) -> Vec<T> {
    let mut out = vec![T::zeroed(); out_rows * cols];
    if cols == 0 {
        return out;
    }
    // For each row of the result, the position that wins, counted from 1; 0 where none names the row.
    let mut winner = vec![0u32; out_rows];
    for (i, &index) in indices.iter().enumerate() {
        winner[index as usize] = i as u32 + 1;
    }
    let rows = (TASK / cols).max(1);
    out.par_chunks_mut(rows * cols).zip(winner.par_chunks(rows)).for_each(|(out, winner)| {
        for (to, &position) in out.chunks_mut(cols).zip(winner) {
            if let Some(i) = (position as usize).checked_sub(1) {
                to.copy_from_slice(&source[i * cols..(i + 1) * cols]);
            }
        }
    });
    out
}
