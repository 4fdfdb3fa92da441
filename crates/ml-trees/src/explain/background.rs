//! Interventional values: columns that are not known are those of a background row.
//!
//! For one row x and one background row z, a leaf is reached by those mixtures of both that take a column from x where a
//! split of the path sends x alone towards it, and from z where it sends z alone. With a such columns of x and b of z, the
//! leaf's value counts (a - 1)! b! / (a + b)! for each of the a columns, and -a! (b - 1)! / (a + b)! for each of the b.

use crate::ensemble::{Arithmetic, Node, Tree};
use crate::walk;

/// (a - 1)! b! / (a + b)! for a >= 1.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    most: usize,
    table: Vec<f64>,
}

impl Shares {
    /// Shares for up to `most` columns, a + b <= most.
    pub fn new(most: usize) -> Self {
        let side = most + 1;
        let mut table = vec![0.0; side * side];
        // Row n of Pascal's triangle holds the choices of a - 1 from n = a + b - 1.
        let mut row = vec![1.0f64];
        for n in 0..most {
            for (chosen, choices) in row.iter().enumerate() {
                let (a, b) = (chosen + 1, n - chosen);
                table[a * side + b] = 1.0 / (choices * (n + 1) as f64);
            }
            row = (0..=n + 1).map(|k| if k == 0 || k == n + 1 { 1.0 } else { row[k - 1] + row[k] }).collect();
        }
        Shares { most, table }
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        self.table[a * (self.most + 1) + b]
    }
}

/// Whom a column of the path is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    X,
    Z,
}

/// Adds the values of `row` against every row of the background, summed, to `phi`, shape (outputs, features).
pub(super) fn explain(
    tree: &Tree,
    shares: &Shares,
    arithmetic: Arithmetic,
    row: &[f32],
    background: &[f32],
    features: usize,
    phi: &mut [f64],
) {
    let mut pair = Pair { tree, shares, arithmetic, x: row, z: row, features, phi, path: Vec::new() };
    for z in background.chunks_exact(features) {
        pair.z = z;
        pair.node(0);
    }
}

struct Pair<'a> {
    tree: &'a Tree,
    shares: &'a Shares,
    arithmetic: Arithmetic,
    x: &'a [f32],
    z: &'a [f32],
    features: usize,
    phi: &'a mut [f64],
    /// Columns whose owner the path has settled.
    path: Vec<(u32, Owner)>,
}

impl Pair<'_> {
    fn node(&mut self, at: u32) {
        let tree = self.tree;
        let node = &tree.nodes()[at as usize];
        let (feature, left, right) = match node {
            Node::Leaf { leaf, .. } => return self.leaf(*leaf as usize),
            Node::Number { feature, left, right, .. } | Node::Category { feature, left, right, .. } => {
                (*feature, *left, *right)
            }
        };
        let [x, z] = [self.x, self.z].map(|row| if walk::goes_left(node, row) == Some(true) { left } else { right });
        if x == z {
            return self.node(x);
        }
        match self.path.iter().find(|(f, _)| *f == feature) {
            Some((_, Owner::X)) => self.node(x),
            Some((_, Owner::Z)) => self.node(z),
            None => {
                for (child, owner) in [(x, Owner::X), (z, Owner::Z)] {
                    self.path.push((feature, owner));
                    self.node(child);
                    self.path.pop();
                }
            }
        }
    }

    fn leaf(&mut self, leaf: usize) {
        let k = self.tree.outputs();
        let values = &self.tree.values()[leaf * k..(leaf + 1) * k];
        let a = self.path.iter().filter(|(_, owner)| *owner == Owner::X).count();
        let b = self.path.len() - a;
        for (feature, owner) in &self.path {
            let share = match owner {
                Owner::X => self.shares.of(a, b),
                Owner::Z => -self.shares.of(b, a),
            };
            for (o, v) in values.iter().enumerate() {
                self.phi[o * self.features + *feature as usize] += share * walk::value(self.arithmetic, *v);
            }
        }
    }
}
