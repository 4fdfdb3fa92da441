//! The sums of both children of nodes that were parted.

use std::sync::Arc;

use ml_core::{DataError, Result};
use rayon::prelude::*;

use super::{Histograms, Store, expect_nodes, histograms};
use crate::device::{Backend, Device};
use crate::memory;
use crate::trees::bins::Bins;
use crate::trees::partition::RowSets;
use crate::trees::quantise::Quantised;

/// Cells of a task.
const TASK: usize = 1 << 13;

impl Histograms {
    /// The histograms of the children of `parents` (positions here), left and right in turn: `children` are their positions
    /// in `sets`, and together they have their parent's rows.
    ///
    /// The host sums the child with fewer rows, ties to the left one, and takes it off the parent; other devices sum both.
    ///
    /// # Errors
    /// Those of [`histograms`], [`DataError::Index`] for a position beyond the nodes, and [`DataError::Shape`] unless there
    /// is one pair of children a parent and the parents' sums are of the same columns, bins and channels.
    ///
    /// # Bit identity
    /// Clause `tree-sums`: integers, so that both ways give the same.
    pub fn children(
        &self,
        device: &Device,
        bins: &Bins,
        values: &Quantised,
        sets: &RowSets,
        parents: &[u32],
        children: &[[u32; 2]],
    ) -> Result<Histograms> {
        expect_nodes(parents, self.nodes)?;
        if children.len() != parents.len() {
            return Err(DataError::shape("children", format!("{} pairs", parents.len()), children.len()).into());
        }
        match (device.backend(), &self.store) {
            (Backend::Host(host), Store::Host(parent)) => {
                let is_left: Vec<bool> =
                    children.iter().map(|[l, r]| sets.len(*l as usize) <= sets.len(*r as usize)).collect();
                let fewer: Vec<u32> = children.iter().zip(&is_left).map(|(c, left)| c[usize::from(!left)]).collect();
                let summed = histograms(device, bins, values, sets, &fewer)?;
                if summed.channels != self.channels || summed.starts != self.starts {
                    let expected = format!("{} cells", self.cells());
                    return Err(DataError::shape("parents", expected, summed.cells()).into());
                }
                let cells = self.cells();
                let child = summed.host()?;
                let sums = host.install(|| both(parent, child, cells, parents, &is_left));
                Ok(Histograms { nodes: 2 * parents.len(), store: Store::Host(Arc::new(sums)), ..self.clone() })
            }
            #[cfg(feature = "gpu")]
            _ => histograms(device, bins, values, sets, &children.concat()),
        }
    }
}

/// The summed child and its sibling of each of `parents`.
fn both(parent: &[i64], child: &[i64], cells: usize, parents: &[u32], is_left: &[bool]) -> Vec<i64> {
    let mut out: Vec<i64> = memory::zeros(2 * parents.len() * cells);
    if cells == 0 {
        return out;
    }
    let pairs = out.par_chunks_exact_mut(2 * cells).zip(child.par_chunks_exact(cells)).zip(parents).zip(is_left);
    pairs.for_each(|(((pair, child), at), is_left)| {
        let parent = &parent[*at as usize * cells..][..cells];
        let (left, right) = pair.split_at_mut(cells);
        let (own, other) = if *is_left { (left, right) } else { (right, left) };
        let tasks = own.par_chunks_mut(TASK).zip(other.par_chunks_mut(TASK));
        tasks.zip(child.par_chunks(TASK)).zip(parent.par_chunks(TASK)).for_each(|(((own, other), child), parent)| {
            own.copy_from_slice(child);
            other.iter_mut().zip(child).zip(parent).for_each(|((o, c), p)| *o = p - c);
        });
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;
    use crate::trees::{BinRule, SplitAt, bin_rows, partition, quantise};

    #[test]
    fn both_ways_give_the_sums_of_the_rows() {
        let device = Device::host();
        let x: Vec<f32> = (0..600u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as f32).collect();
        let rule = || BinRule::Number { edges: (0..255).map(|e| e as f32 + 0.5).collect() };
        let bins = bin_rows(&device, &Buffer::upload(&device, &x).expect("rows"), 200, &[rule(), rule(), rule()]);
        let bins = bins.expect("bins");
        let g: Vec<f32> = (0..400).map(|i| x[i] - 100.0).collect();
        let values = quantise(&device, &Buffer::upload(&device, &g).expect("values"), 200, 2).expect("integers");
        let part = |sets, splits: &[Option<(u32, u32)>]| {
            let at = |(feature, bin)| SplitAt::Number { feature, bin, missing_left: false };
            let splits: Vec<_> = splits.iter().map(|s| s.map(at)).collect();
            partition(&device, &bins, sets, &splits).expect("parts")
        };
        let one = part(RowSets::all(&device, 200).expect("rows"), &[Some((0, 60))]);
        let parents = histograms(&device, &bins, &values, &one, &[0, 1]).expect("sums");
        // The left child has fewer rows in one pair, the right one in the other.
        let two = part(one, &[Some((1, 40)), Some((2, 200))]);
        assert!(two.len(0) < two.len(1) && two.len(2) > two.len(3));
        let wanted = histograms(&device, &bins, &values, &two, &[2, 3, 0, 1]).expect("sums");
        let found = parents.children(&device, &bins, &values, &two, &[1, 0], &[[2, 3], [0, 1]]).expect("sums");
        assert_eq!(found.read().expect("host"), wanted.read().expect("host"));
        assert!(parents.children(&device, &bins, &values, &two, &[2], &[[2, 3]]).is_err());
        assert!(parents.children(&device, &bins, &values, &two, &[1, 0], &[[2, 3]]).is_err());
    }
}
