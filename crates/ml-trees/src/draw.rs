//! What is random in forests: a pure function of (seed, tree, purpose, place), so that trees can grow in any order.
//!
//! The words are those of clause `random`: the stream is the tree's number, the block the purpose, the index the place.

use std::collections::BTreeSet;

use ml_kernels::num::{Limbs, ROUNDS, bounded, draw};

/// What is drawn; the block of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Rows of a tree.
    Rows = 0,
    /// Columns of a tree.
    TreeColumns = 1,
    /// Columns of a node.
    NodeColumns = 2,
    /// Where a node cuts.
    Threshold = 3,
}

/// The draws of one tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draws {
    seed: Limbs,
    tree: u32,
}

impl Draws {
    pub fn new(seed: u64, tree: u32) -> Self {
        Draws { seed: Limbs::from_u64(seed), tree }
    }

    /// 64 bits, the first word high.
    fn bits(&self, purpose: Purpose, index: u64) -> Limbs {
        let words = draw(self.seed, self.tree, Limbs::from_u64(index), purpose as u32, ROUNDS);
        Limbs { hi: words.w0, lo: words.w1 }
    }

    /// A whole number below `n`.
    pub fn below(&self, purpose: Purpose, index: u64, n: u32) -> u32 {
        bounded(self.bits(purpose, index), n)
    }

    /// A number in [0, 1): the top 53 bits.
    pub fn unit(&self, purpose: Purpose, index: u64) -> f64 {
        (self.bits(purpose, index).to_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `k` distinct whole numbers below `n`, ascending; all of them if `k >= n`.
    ///
    /// R. Floyd's method, J. Bentley, "Programming pearls: a sample of brilliance", CACM 30 (1987): for j = n - k … n - 1 a
    /// number up to j is drawn at index j, and j itself taken where that one is taken already.
    pub fn sample(&self, purpose: Purpose, n: u32, k: u32) -> Vec<u32> {
        if k >= n {
            return (0..n).collect();
        }
        let mut taken = BTreeSet::new();
        for j in n - k..n {
            let drawn = self.below(purpose, u64::from(j), j + 1);
            if !taken.insert(drawn) {
                taken.insert(j);
            }
        }
        taken.into_iter().collect()
    }
}

/// The place of choice `choice` of node `node`.
pub(crate) fn place(node: usize, choice: usize) -> u64 {
    (node as u64) << 32 | choice as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_distinct_and_even() {
        let mut seen = [0u32; 10];
        for tree in 0..2000 {
            let sample = Draws::new(3, tree).sample(Purpose::Rows, 10, 4);
            assert!(sample.len() == 4 && sample.windows(2).all(|w| w[0] < w[1]) && sample[3] < 10);
            sample.iter().for_each(|s| seen[*s as usize] += 1);
        }
        // 800 expected, standard deviation 22.
        assert!(seen.iter().all(|n| (690..910).contains(n)), "{seen:?}");
        assert_eq!(Draws::new(3, 0).sample(Purpose::Rows, 3, 7), [0, 1, 2]);
    }

    #[test]
    fn every_argument_counts() {
        let one = Draws::new(1, 1);
        let all = [
            one.unit(Purpose::Rows, 1),
            one.unit(Purpose::Rows, 2),
            one.unit(Purpose::Threshold, 1),
            Draws::new(2, 1).unit(Purpose::Rows, 1),
            Draws::new(1, 2).unit(Purpose::Rows, 1),
            one.unit(Purpose::Rows, place(1, 0)),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b), "{all:?}");
        }
    }
}
