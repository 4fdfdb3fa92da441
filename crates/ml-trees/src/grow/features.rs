//! Which columns a node may ask: draws by tree, level and node, and columns that may meet on a path.

use ml_core::{ParamError, Result};
use ml_kernels::num::{Limbs, ROUNDS, draw};

use super::GrownNode;

/// Stream of the draws of columns: the tree's number is the block.
pub(crate) const STREAM_FEATURES: u32 = 0x7472_0001;

/// Parts of the columns that a split may ask: first drawn by tree, of those by level, of those by node.
///
/// Each draw keeps max(1, ⌊part · columns⌋) columns, those whose 64-bit keys are least, ties to the lower column. The keys of a
/// draw are words of [`draw()`] at index (draw, column).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureSampling {
    /// For each tree, within (0, 1].
    pub by_tree: f32,
    /// For each level of a tree, of the tree's.
    pub by_level: f32,
    /// For each node, of its level's.
    pub by_node: f32,
}

impl Default for FeatureSampling {
    fn default() -> Self {
        FeatureSampling { by_tree: 1.0, by_level: 1.0, by_node: 1.0 }
    }
}

impl FeatureSampling {
    pub(super) fn check(&self) -> Result<()> {
        let parts = [
            ("colsample_bytree", self.by_tree),
            ("colsample_bylevel", self.by_level),
            ("colsample_bynode", self.by_node),
        ];
        for (name, part) in parts {
            // The comparison refuses a NaN.
            if !(part > 0.0 && part <= 1.0) {
                return Err(ParamError::out_of_bound(name, "within (0, 1]", part).into());
            }
        }
        Ok(())
    }
}

/// The state of a tree's columns.
pub(crate) struct Features<'a> {
    sampling: &'a FeatureSampling,
    cols: usize,
    seed: u64,
    tree: u32,
    /// Columns of the tree.
    own: Vec<u32>,
    /// Columns of each level so far.
    levels: Vec<Vec<u32>>,
    /// Sets of columns that may meet, and for each node those that still may.
    groups: Vec<Vec<u32>>,
    open: Vec<Vec<u32>>,
}

impl<'a> Features<'a> {
    pub fn new(sampling: &'a FeatureSampling, interactions: &[Vec<u32>], cols: usize, seed: u64, tree: u32) -> Self {
        let mut groups = interactions.to_vec();
        let rest: Vec<u32> = (0..cols as u32).filter(|c| !groups.iter().flatten().any(|g| g == c)).collect();
        if !groups.is_empty() && !rest.is_empty() {
            groups.push(rest);
        }
        let open = vec![(0..groups.len() as u32).collect()];
        let all: Vec<u32> = (0..cols as u32).collect();
        let mut features = Features { sampling, cols, seed, tree, own: Vec::new(), levels: Vec::new(), groups, open };
        features.own = features.drawn(&all, sampling.by_tree, 0);
        features
    }

    /// The columns of `of` that draw `number` keeps.
    fn drawn(&self, of: &[u32], part: f32, number: u32) -> Vec<u32> {
        // Exact: a float times a count below 2^24 needs 48 bits.
        let keep = ((f64::from(part) * of.len() as f64) as usize).clamp(1, of.len().max(1));
        if keep >= of.len() {
            return of.to_vec();
        }
        let mut keys: Vec<(u32, u32, u32)> = of
            .iter()
            .map(|&column| {
                let index = Limbs { lo: column, hi: number };
                let words = draw(Limbs::from_u64(self.seed), STREAM_FEATURES, index, self.tree, ROUNDS);
                (words.w0, words.w1, column)
            })
            .collect();
        keys.sort_unstable();
        let mut kept: Vec<u32> = keys[..keep].iter().map(|k| k.2).collect();
        kept.sort_unstable();
        kept
    }

    /// Draws of a tree: 0 its own, then levels (odd) and nodes (even).
    fn level(&mut self, depth: usize) -> &[u32] {
        while self.levels.len() <= depth {
            let number = 2 * self.levels.len() as u32 + 1;
            self.levels.push(self.drawn(&self.own, self.sampling.by_level, number));
        }
        &self.levels[depth]
    }

    fn is_free(&self) -> bool {
        *self.sampling == FeatureSampling::default() && self.groups.is_empty()
    }

    fn columns(&mut self, node: u32, depth: usize) -> Vec<u32> {
        let level = self.level(depth).to_vec();
        let drawn = self.drawn(&level, self.sampling.by_node, 2 * node + 2);
        if self.groups.is_empty() {
            return drawn;
        }
        let open = &self.open[node as usize];
        drawn.into_iter().filter(|c| open.iter().any(|g| self.groups[*g as usize].contains(c))).collect()
    }

    /// Bit `i * columns + column` for the columns of entry i.
    fn bits(&self, columns: &[Vec<u32>]) -> Vec<u32> {
        let mut bits = vec![0u32; (columns.len() * self.cols).div_ceil(32)];
        for (i, columns) in columns.iter().enumerate() {
            for at in columns.iter().map(|c| i * self.cols + *c as usize) {
                bits[at / 32] |= 1 << (at % 32);
            }
        }
        bits
    }

    /// What each of `nodes` may be parted by, as the waist wants it; nothing where every column may be asked.
    pub fn allowed(&mut self, nodes: &[u32], all: &[GrownNode]) -> Option<Vec<u32>> {
        if self.is_free() {
            return None;
        }
        let columns: Vec<Vec<u32>> = nodes.iter().map(|n| self.columns(*n, all[*n as usize].depth as usize)).collect();
        Some(self.bits(&columns))
    }

    /// What the common split of `nodes`, all at `depth`, may ask: what the first of them may. (Nodes of a level have the same
    /// columns above them.)
    pub fn common(&mut self, depth: usize, nodes: &[u32]) -> Option<Vec<u32>> {
        if self.is_free() {
            return None;
        }
        let columns = self.columns(nodes.first().copied().unwrap_or(0), depth);
        Some(self.bits(&vec![columns; nodes.len()]))
    }

    /// `node` was parted into `children` by `column`.
    pub fn descend(&mut self, node: u32, children: [u32; 2], column: u32) {
        if self.groups.is_empty() {
            return;
        }
        let holds = |g: &u32| self.groups[*g as usize].contains(&column);
        let open: Vec<u32> = self.open[node as usize].iter().copied().filter(holds).collect();
        let size = children[1] as usize + 1;
        self.open.resize(self.open.len().max(size), Vec::new());
        for child in children {
            self.open[child as usize] = open.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(words: Option<Vec<u32>>, cols: usize, nodes: usize) -> Vec<Vec<u32>> {
        let words = words.expect("bounded");
        let has = |at: usize| words[at / 32] >> (at % 32) & 1 == 1;
        (0..nodes).map(|n| (0..cols as u32).filter(|c| has(n * cols + *c as usize)).collect()).collect()
    }

    fn node(depth: u32) -> GrownNode {
        GrownNode::leaf(depth, 0, Vec::new())
    }

    #[test]
    fn draws_are_nested_and_differ() {
        let sampling = FeatureSampling { by_tree: 0.5, by_level: 0.5, by_node: 0.5 };
        let nodes = [node(0), node(1), node(1), node(2)];
        let mut features = Features::new(&sampling, &[], 80, 7, 3);
        let found = bits(features.allowed(&[0, 1, 2, 3], &nodes), 80, 4);
        assert_eq!(features.own.len(), 40);
        assert!(found.iter().all(|f| f.len() == 10 && f.iter().all(|c| features.own.contains(c))));
        assert!(found[1].iter().chain(&found[2]).all(|c| features.levels[1].contains(c)));
        assert_eq!(features.levels[1].len(), 20);
        assert!(found[0] != found[1] && found[1] != found[2] && features.levels[0] != features.levels[1]);
        // The same draw whatever was asked before; another one for another tree or seed.
        let mut again = Features::new(&sampling, &[], 80, 7, 3);
        assert_eq!(bits(again.allowed(&[3], &nodes), 80, 1)[0], found[3]);
        assert_ne!(Features::new(&sampling, &[], 80, 7, 4).own, features.own);
        assert_ne!(Features::new(&sampling, &[], 80, 8, 3).own, features.own);
    }

    #[test]
    fn every_column_is_drawn_about_as_often() {
        let sampling = FeatureSampling { by_tree: 0.3, ..FeatureSampling::default() };
        let mut counts = [0u32; 10];
        for tree in 0..1000 {
            let features = Features::new(&sampling, &[], 10, 1, tree);
            assert_eq!(features.own.len(), 3);
            features.own.iter().for_each(|c| counts[*c as usize] += 1);
        }
        assert!(counts.iter().all(|c| (240..=360).contains(c)), "{counts:?}");
    }

    #[test]
    fn paths_stay_in_a_group() {
        let sampling = FeatureSampling::default();
        let nodes = [node(0), node(1), node(1), node(2), node(2)];
        let mut features = Features::new(&sampling, &[vec![0, 1], vec![1, 2]], 5, 0, 0);
        assert_eq!(bits(features.allowed(&[0], &nodes), 5, 1), [[0, 1, 2, 3, 4]]);
        features.descend(0, [1, 2], 1);
        assert_eq!(bits(features.allowed(&[1, 2], &nodes), 5, 2), [[0, 1, 2], [0, 1, 2]]);
        features.descend(1, [3, 4], 2);
        assert_eq!(bits(features.allowed(&[3, 2], &nodes), 5, 2), [vec![1, 2], vec![0, 1, 2]]);
        let mut free = Features::new(&sampling, &[], 5, 0, 0);
        assert_eq!(free.allowed(&[0], &nodes), None);
    }

    #[test]
    fn parts_are_checked() {
        for bad in [0.0, -1.0, 1.5, f32::NAN] {
            let refused = FeatureSampling { by_level: bad, ..FeatureSampling::default() }.check().unwrap_err();
            assert!(refused.to_string().contains("colsample_bylevel"), "{bad}");
        }
    }
}
