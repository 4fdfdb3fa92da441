//! Path-dependent values: columns that are not known are averaged over by the covers of a split's sides.
//!
//! Along a path stand the columns asked, each once, with the share of unknown rows that take the path at their splits
//! (`zero`) and whether the row takes it there (`one`). With D columns on the path, the Shapley value of column j at the leaf
//! is the leaf's value times `one_j - zero_j` times the sum over all sets S of the other columns of |S|! (D - 1 - |S|)! / D!
//! times the product of `one` over S and of `zero` over the rest. Because k! (D - 1 - k)! / D! is the integral of
//! t^k (1 - t)^(D - 1 - k) over [0, 1], that sum is the integral of the product of `zero (1 - t) + one t` over the other
//! columns: a polynomial of degree D - 1, which a quadrature with half as many points has exactly. No term is negative,
//! so nothing cancels, however long the path; the original algorithm divides factors out again and loses digits.

use ml_core::{ParamError, Result};

use crate::ensemble::{Arithmetic, Node, Tree};
use crate::walk;

#[derive(Debug, Clone, Copy)]
struct Step {
    feature: u32,
    zero: f64,
    one: f64,
}

impl Step {
    fn at(&self, t: f64) -> f64 {
        self.zero * (1.0 - t) + self.one * t
    }
}

/// What a split asks, and its children.
fn children(node: &Node) -> Option<(u32, u32, u32)> {
    match *node {
        Node::Leaf { .. } => None,
        Node::Number { feature, left, right, .. } | Node::Category { feature, left, right, .. } => {
            Some((feature, left, right))
        }
    }
}

fn cover(node: &Node) -> f32 {
    match *node {
        Node::Leaf { cover, .. } | Node::Number { cover, .. } | Node::Category { cover, .. } => cover,
    }
}

/// The share of each node among its parent's rows: its cover over the sum of both siblings' covers; 1 for the root.
pub(super) fn shares(tree: &Tree) -> Result<Vec<f64>> {
    let mut shares = vec![1.0; tree.nodes().len()];
    for node in tree.nodes() {
        if let Some((_, left, right)) = children(node) {
            let [l, r] = [left, right].map(|child| f64::from(cover(&tree.nodes()[child as usize])));
            if !(l >= 0.0 && r >= 0.0 && l + r > 0.0 && (l + r).is_finite()) {
                let bound = "finite, at least 0, and above 0 on one side of each split; or give a background";
                return Err(ParamError::out_of_bound("cover", bound, format!("{l} and {r}")).into());
            }
            shares[left as usize] = l / (l + r);
            shares[right as usize] = r / (l + r);
        }
    }
    Ok(shares)
}

/// The mean of a tree's leaf values by shares, from the last node up.
pub(super) fn mean(tree: &Tree, shares: &[f64], arithmetic: Arithmetic) -> Vec<f64> {
    let k = tree.outputs();
    let mut means = vec![0.0; tree.nodes().len() * k];
    for (at, node) in tree.nodes().iter().enumerate().rev() {
        for o in 0..k {
            means[at * k + o] = match (node, children(node)) {
                (Node::Leaf { leaf, .. }, _) => walk::value(arithmetic, tree.values()[*leaf as usize * k + o]),
                (_, Some((_, left, right))) => {
                    let [left, right] = [left as usize, right as usize];
                    shares[left] * means[left * k + o] + shares[right] * means[right * k + o]
                }
                (_, None) => 0.0,
            };
        }
    }
    means.truncate(k);
    means
}

/// A tree, made ready to be explained.
#[derive(Clone, Copy)]
pub(super) struct Prepared<'a> {
    pub tree: &'a Tree,
    pub shares: &'a [f64],
    pub points: &'a [(f64, f64)],
    pub arithmetic: Arithmetic,
}

/// Adds what each column of `row` adds to the tree's outputs to `phi`, shape (outputs, features).
pub(super) fn explain(prepared: Prepared<'_>, row: &[f32], features: usize, phi: &mut [f64]) {
    let (steps, after, sums) = (Vec::new(), Vec::new(), Vec::new());
    Walk { prepared, row, features, phi, steps, after, sums }.node(0);
}

struct Walk<'a> {
    prepared: Prepared<'a>,
    row: &'a [f32],
    features: usize,
    phi: &'a mut [f64],
    /// The path to where the walk is.
    steps: Vec<Step>,
    /// Products of the factors from each step on, and the integrals, for a leaf.
    after: Vec<f64>,
    sums: Vec<f64>,
}

impl Walk<'_> {
    fn node(&mut self, at: usize) {
        let Prepared { tree, shares, .. } = self.prepared;
        let node = &tree.nodes()[at];
        let Some((feature, left, right)) = children(node) else {
            if let Node::Leaf { leaf, .. } = node {
                self.leaf(*leaf as usize);
            }
            return;
        };
        let (hot, cold) = if walk::goes_left(node, self.row) == Some(true) { (left, right) } else { (right, left) };
        let asked = self.steps.iter().position(|s| s.feature == feature);
        let before = asked.map_or(Step { feature, zero: 1.0, one: 1.0 }, |i| self.steps[i]);
        for (child, one) in [(hot as usize, before.one), (cold as usize, 0.0)] {
            let step = Step { feature, zero: before.zero * shares[child], one };
            // Nothing flows there, known or not.
            if step.zero == 0.0 && step.one == 0.0 {
                continue;
            }
            match asked {
                Some(i) => {
                    self.steps[i] = step;
                    self.node(child);
                    self.steps[i] = before;
                }
                None => {
                    self.steps.push(step);
                    self.node(child);
                    self.steps.pop();
                }
            }
        }
    }

    fn leaf(&mut self, leaf: usize) {
        let Prepared { tree, points, arithmetic, .. } = self.prepared;
        let n = self.steps.len();
        self.after.clear();
        self.after.resize(n + 1, 1.0);
        self.sums.clear();
        self.sums.resize(n, 0.0);
        for &(t, weight) in points {
            for i in (0..n).rev() {
                self.after[i] = self.after[i + 1] * self.steps[i].at(t);
            }
            let mut before = weight;
            for i in 0..n {
                self.sums[i] += before * self.after[i + 1];
                before *= self.steps[i].at(t);
            }
        }
        let k = tree.outputs();
        let values = &tree.values()[leaf * k..(leaf + 1) * k];
        for (step, sum) in self.steps.iter().zip(&self.sums) {
            let share = sum * (step.one - step.zero);
            for (o, v) in values.iter().enumerate() {
                self.phi[o * self.features + step.feature as usize] += share * walk::value(arithmetic, *v);
            }
        }
    }
}
