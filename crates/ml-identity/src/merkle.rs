//! A Merkle tree over stages: equal roots mean equal runs, and two trees find their first difference in log time.
//!
//! Leaves, inner nodes and the root are hashed under domains of their own, so that none can stand in for another. The
//! last node of an odd level is carried up unchanged. (After R. Merkle, "A Digital Signature Based on a Conventional
//! Encryption Function", CRYPTO '87; the carried node is ours.)

use crate::digest::{Digest, Hasher};
use crate::stage::Stage;

/// A Merkle tree, all of its nodes kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerkleTree {
    /// `levels[0]` holds the leaves, the last level one node; no level for a tree without leaves.
    levels: Vec<Vec<Digest>>,
}

/// Where two trees part, and what it cost to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The first leaf that differs or that only one tree has; `None` if the trees are equal.
    pub index: Option<usize>,
    /// Pairs of nodes that were compared.
    pub comparisons: usize,
}

impl MerkleTree {
    /// The tree over the stages of one run.
    pub fn of_stages(stages: &[Stage]) -> Self {
        Self::of_leaves(stages.iter().map(stage_leaf).collect())
    }

    /// The tree over leaves that were hashed already, each under a domain of its own kind.
    pub fn of_leaves(leaves: Vec<Digest>) -> Self {
        let mut levels = Vec::new();
        let mut level = leaves;
        while level.len() > 1 {
            let above = level.chunks(2).map(join).collect();
            levels.push(std::mem::replace(&mut level, above));
        }
        if !level.is_empty() {
            levels.push(level);
        }
        MerkleTree { levels }
    }

    /// Number of leaves.
    pub fn len(&self) -> usize {
        self.levels.first().map_or(0, Vec::len)
    }

    /// Whether there are no leaves.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Digest of the whole: number of leaves and topmost node.
    pub fn root(&self) -> Digest {
        let hasher = Hasher::new("isobit merkle/1 root").number(self.len() as u64);
        match self.levels.last().and_then(|top| top.first()) {
            Some(top) => hasher.digest(top).finish(),
            None => hasher.finish(),
        }
    }

    /// Node `i` of a level; above its own top a tree is carried up as an odd node would be.
    fn node(&self, level: usize, i: usize) -> Option<&Digest> {
        match self.levels.get(level) {
            Some(nodes) => nodes.get(i),
            None if i == 0 => self.levels.last().and_then(|top| top.first()),
            None => None,
        }
    }
}

/// The first leaf at which two trees differ, found by going down from the top: one comparison a level.
///
/// # Example
/// ```
/// use ml_identity::Digest;
/// use ml_identity::merkle::{MerkleTree, first_difference};
/// let leaves: Vec<Digest> = (0..1000u32).map(|i| Digest::of(&i.to_le_bytes())).collect();
/// let mut other = leaves.clone();
/// other[617] = Digest::of(b"moved");
/// let found = first_difference(&MerkleTree::of_leaves(leaves), &MerkleTree::of_leaves(other));
/// assert_eq!(found.index, Some(617));
/// assert!(found.comparisons <= 11);
/// ```
pub fn first_difference(a: &MerkleTree, b: &MerkleTree) -> Difference {
    let mut comparisons = 0;
    let mut differ = |level: usize, i: usize| {
        comparisons += 1;
        a.node(level, i) != b.node(level, i)
    };
    let mut level = a.levels.len().max(b.levels.len()).saturating_sub(1);
    let mut i = 0;
    if !differ(level, i) {
        return Difference { index: None, comparisons };
    }
    while level > 0 {
        level -= 1;
        i *= 2;
        if !differ(level, i) {
            // The parents differ and their left children do not, so the right ones must. Where only one tree has it, all
            // below it differ too, and the way down ends at the first leaf that the other tree lacks.
            i += 1;
        }
    }
    Difference { index: Some(i), comparisons }
}

fn stage_leaf(stage: &Stage) -> Digest {
    let mut hasher = Hasher::new("isobit merkle/1 stage")
        .number(stage.index)
        .text(&stage.tag)
        .text(&format!("{:?}", stage.dtype))
        .number(stage.shape.len() as u64);
    for &extent in &stage.shape {
        hasher = hasher.number(extent);
    }
    hasher.digest(&stage.blake3).finish()
}

fn join(pair: &[Digest]) -> Digest {
    match pair {
        [left, right] => Hasher::new("isobit merkle/1 node").digest(left).digest(right).finish(),
        carried => carried.first().copied().unwrap_or_else(|| Digest::of(&[])),
    }
}

#[cfg(test)]
mod tests {
    use ml_core::Dtype;
    use proptest::prelude::*;

    use super::*;

    fn stage(index: u64) -> Stage {
        let blake3 = Digest::of(&index.to_le_bytes());
        Stage { index, tag: format!("s.{index}"), dtype: Dtype::F32, shape: vec![2, 3], count: 6, blake3 }
    }

    fn stages(n: u64) -> Vec<Stage> {
        (0..n).map(stage).collect()
    }

    fn difference(a: &[Stage], b: &[Stage]) -> Difference {
        first_difference(&MerkleTree::of_stages(a), &MerkleTree::of_stages(b))
    }

    /// What `first_difference` may cost: one comparison at the top and one for each level below it.
    fn bound(n: usize) -> usize {
        1 + n.max(1).next_power_of_two().trailing_zeros() as usize
    }

    #[test]
    fn every_field_is_in_the_leaf() {
        let one = stage(4);
        let root = |s: &Stage| MerkleTree::of_stages(std::slice::from_ref(s)).root();
        for changed in [
            Stage { index: 5, ..one.clone() },
            Stage { tag: "s.5".into(), ..one.clone() },
            Stage { dtype: Dtype::U32, ..one.clone() },
            Stage { shape: vec![3, 2], ..one.clone() },
            Stage { shape: vec![6], ..one.clone() },
            Stage { blake3: Digest::of(b"x"), ..one.clone() },
        ] {
            assert_ne!(root(&changed), root(&one), "{changed:?}");
        }
    }

    #[test]
    fn leaves_nodes_and_roots_cannot_stand_in_for_each_other() {
        let leaves: Vec<Digest> = (0..4u8).map(|i| Digest::of(&[i])).collect();
        let four = MerkleTree::of_leaves(leaves.clone());
        // A tree of the two inner nodes has the same topmost node; its root must differ all the same.
        let two = MerkleTree::of_leaves(vec![join(&leaves[..2]), join(&leaves[2..])]);
        assert_eq!(four.levels.last(), two.levels.last());
        assert_ne!(four.root(), two.root());
        assert_ne!(MerkleTree::of_leaves(vec![four.root()]).root(), four.root());
        let doubled = MerkleTree::of_leaves(vec![leaves[0], leaves[1], leaves[2], leaves[2]]);
        assert_ne!(MerkleTree::of_leaves(leaves[..3].to_vec()).root(), doubled.root(), "an odd node is not doubled");
        assert_ne!(join(&leaves[..2]), join(&[leaves[1], leaves[0]]));
    }

    #[test]
    fn a_list_that_ends_early_differs_where_it_ends() {
        for long in 1..40 {
            for short in 0..long {
                let found = difference(&stages(long), &stages(short));
                assert_eq!(found.index, Some(short as usize), "{short} of {long}");
                assert_eq!(difference(&stages(short), &stages(long)), found);
                assert!(found.comparisons <= bound(long as usize));
            }
        }
    }

    #[test]
    fn empty_trees_are_equal_and_have_a_root() {
        let empty = MerkleTree::of_stages(&[]);
        assert!(empty.is_empty());
        assert_eq!(empty.len(), 0);
        assert_eq!(difference(&[], &[]).index, None);
        assert_ne!(empty.root(), MerkleTree::of_stages(&stages(1)).root());
    }

    proptest! {
        #[test]
        fn one_changed_stage_is_named_in_log_time(n in 1usize..1200, at in any::<prop::sample::Index>(), what in 0..4) {
            let a = stages(n as u64);
            let at = at.index(n);
            let mut b = a.clone();
            match what {
                0 => b[at].blake3 = Digest::of(b"moved"),
                1 => b[at].tag.push('x'),
                2 => b[at].dtype = Dtype::I32,
                _ => b[at].shape = vec![3, 2],
            }
            let found = difference(&a, &b);
            prop_assert_eq!(found.index, Some(at));
            prop_assert!(found.comparisons <= bound(n), "{} comparisons for {} stages", found.comparisons, n);
            prop_assert_eq!(difference(&a, &a), Difference { index: None, comparisons: 1 });
        }

        #[test]
        fn many_changed_stages_give_the_first(n in 1usize..300, m in 1usize..300, change in prop::collection::btree_set(0usize..300, 0..6)) {
            let a = stages(n as u64);
            let mut b = stages(m as u64);
            for &at in change.iter().filter(|&&at| at < m) {
                b[at].blake3 = Digest::of(b"moved");
            }
            let linear = (0..n.max(m)).find(|&i| a.get(i) != b.get(i));
            let found = difference(&a, &b);
            prop_assert_eq!(found.index, linear);
            prop_assert!(found.comparisons <= bound(n.max(m)));
        }
    }
}
