//! Conformance cases of `walk`, `walk_sum` and `walk_bins`.

use super::reference;
use super::{FlatNode, FlatTree, Forest, walk, walk_bins, walk_sum};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited, scramble};
use crate::trees::bins::conformance::{any_number, rules};
use crate::trees::{BinRule, bin_rows};

/// A source of numbers for one tree.
struct Draw(u32);

impl Draw {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9);
        scramble(self.0)
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }
}

/// The shape of a tree.
#[derive(Debug, Clone, Copy)]
enum Grown {
    /// Any leaf may be split next.
    Wild,
    /// The last leaf is split next: a chain as deep as it has splits.
    Chain,
    /// The first leaf is split next: as shallow as may be.
    Full,
}

/// A tree of `splits` splits; a third of its nodes ask for categories if it may. Leaf numbers are in no order.
fn tree<T>(
    seed: u32,
    grown: Grown,
    splits: usize,
    features: usize,
    outputs: usize,
    categories: bool,
    bound: impl Fn(u32) -> T,
) -> FlatTree<T> {
    let mut draw = Draw(seed.wrapping_mul(0x0101_6b55));
    let mut nodes: Vec<FlatNode<T>> = vec![FlatNode::Leaf { leaf: 0 }];
    let mut open = std::collections::VecDeque::from([0usize]);
    for _ in 0..splits {
        let place = match grown {
            Grown::Wild => draw.below(open.len()),
            Grown::Chain => open.len() - 1,
            Grown::Full => 0,
        };
        let at = open.remove(place).expect("an open leaf");
        // Children in either order, and not side by side with their like.
        let (a, b) = (nodes.len() as u32, nodes.len() as u32 + 1);
        let (left, right) = if draw.next().is_multiple_of(2) { (a, b) } else { (b, a) };
        let (feature, missing_left) = (draw.below(features) as u32, draw.next().is_multiple_of(2));
        nodes[at] = if categories && draw.next().is_multiple_of(3) {
            let set = (0..draw.below(4)).map(|_| draw.next()).collect();
            FlatNode::Category { feature, set, left, right, missing_left }
        } else {
            let bound = std::iter::repeat_with(|| draw.next()).map(&bound).next().expect("endless");
            FlatNode::Number { feature, bound, left, right, missing_left }
        };
        nodes.extend([FlatNode::Leaf { leaf: 0 }, FlatNode::Leaf { leaf: 0 }]);
        open.extend([a as usize, b as usize]);
    }
    let leaves = splits + 1;
    let mut number = draw.below(leaves);
    for node in &mut nodes {
        if let FlatNode::Leaf { leaf } = node {
            *leaf = number as u32;
            number = (number + 1) % leaves;
        }
    }
    // Ordinary values, and tiny ones whose sums are subnormal.
    let value = |i: usize| match scramble(seed ^ i as u32) {
        r if r % 4 == 0 => f32::from_bits(0x0080_0000 + (r & 0x8000_0fff)),
        r => (r % 2001) as f32 / 1000.0 - 1.0,
    };
    FlatTree { nodes, values: (0..leaves * outputs).map(value).collect(), outputs, first_output: 0 }
}

/// A bound among the numbers that rows hold; no NaN.
fn number(r: u32) -> f32 {
    Some(any_number(r)).filter(|bound| !bound.is_nan()).unwrap_or(0.25)
}

/// What a case is about.
#[derive(Debug, Clone, Copy)]
struct About {
    name: &'static str,
    rows: usize,
    features: usize,
    trees: usize,
    splits: usize,
    grown: Grown,
    /// Numbers of a score; trees have all of them, or one each in turn.
    outputs: usize,
    all_outputs: bool,
    categories: bool,
    small: bool,
}

const PLAIN: About = About {
    name: "",
    rows: 300,
    features: 7,
    trees: 20,
    splits: 30,
    grown: Grown::Wild,
    outputs: 1,
    all_outputs: false,
    categories: false,
    small: false,
};

impl About {
    fn title(&self) -> String {
        let About { name, rows, features, trees, splits, outputs, small, .. } = self;
        let limited = if *small { " limited" } else { "" };
        format!("{name} {rows}x{features} {trees} trees of {splits} splits, {outputs} outputs{limited}")
    }

    fn trees<T>(&self, bound: impl Fn(u32) -> T + Copy) -> Vec<FlatTree<T>> {
        let outputs = if self.all_outputs { self.outputs } else { 1 };
        let one = |t: usize| {
            // Some trees are a root alone.
            let splits = if t % 7 == 6 { 0 } else { self.splits };
            let categories = self.categories && t % 3 != 2;
            let tree = tree(t as u32 + 1, self.grown, splits, self.features, outputs, categories, bound);
            FlatTree { first_output: t * outputs % self.outputs, ..tree }
        };
        (0..self.trees).map(one).collect()
    }

    fn base(&self) -> Vec<f32> {
        (0..self.outputs).map(|o| if o % 2 == 0 { 0.0 } else { o as f32 / 7.0 }).collect()
    }

    fn x(&self) -> Vec<f32> {
        (0..(self.rows * self.features) as u32).map(any_number).collect()
    }

    fn rules(&self, most: usize) -> Vec<BinRule> {
        rules(self.features, most)
    }

    fn leaves(self) -> Case {
        Case {
            op: "walk",
            name: self.title(),
            run: Box::new(move |device| {
                let device = limited(device, self.small);
                let forest = Forest::new(&device, &self.trees(number), self.features, &self.base())?;
                Ok(bytes(&walk(&device, &Buffer::upload(&device, &self.x())?, self.rows, &forest)?.read()?))
            }),
            reference: Box::new(move || {
                bytes(&reference::walk(&self.x(), self.rows, self.features, &self.trees(number)))
            }),
        }
    }

    fn sum(self) -> Case {
        Case {
            op: "walk_sum",
            name: self.title(),
            run: Box::new(move |device| {
                let device = limited(device, self.small);
                let forest = Forest::new(&device, &self.trees(number), self.features, &self.base())?;
                Ok(bytes(&walk_sum(&device, &Buffer::upload(&device, &self.x())?, self.rows, &forest)?.read()?))
            }),
            reference: Box::new(move || {
                bytes(&reference::walk_sum(&self.x(), self.rows, self.features, &self.trees(number), &self.base()))
            }),
        }
    }

    fn bins(self, most: usize) -> Case {
        let trees = move || self.trees(move |r| r % (most as u32 + 2));
        Case {
            op: "walk_bins",
            name: format!("{} up to {most} edges", self.title()),
            run: Box::new(move |device| {
                let device = limited(device, self.small);
                let forest = Forest::in_bins(&device, &trees(), self.features, &self.base())?;
                let bins = bin_rows(&device, &Buffer::upload(&device, &self.x())?, self.rows, &self.rules(most))?;
                Ok(bytes(&walk_bins(&device, &bins, &forest)?.read()?))
            }),
            reference: Box::new(move || {
                let host = crate::Device::host();
                let x = Buffer::upload(&host, &self.x()).expect("memory");
                let bins = bin_rows(&host, &x, self.rows, &self.rules(most)).expect("held to its own reference");
                let bins = bins.read().expect("on the host");
                bytes(&reference::walk(&bins, self.rows, self.features, &trees()))
            }),
        }
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut abouts = vec![
        PLAIN,
        About { name: "categories", categories: true, ..PLAIN },
        About { name: "no rows", rows: 0, ..PLAIN },
        About { name: "one row", rows: 1, categories: true, ..PLAIN },
        About { name: "few rows", rows: 15, categories: true, trees: 33, ..PLAIN },
        About { name: "many rows", rows: 5003, trees: 8, splits: 60, categories: true, ..PLAIN },
        About { name: "no trees", trees: 0, outputs: 3, ..PLAIN },
        About { name: "full", grown: Grown::Full, splits: 255, ..PLAIN },
        About { name: "chain", grown: Grown::Chain, splits: 5000, trees: 3, rows: 40, ..PLAIN },
        About { name: "chain, one row", grown: Grown::Chain, splits: 5000, trees: 3, rows: 1, ..PLAIN },
        About { name: "outputs in turn", outputs: 5, ..PLAIN },
        About { name: "all outputs", outputs: 5, all_outputs: true, categories: true, ..PLAIN },
        About { name: "wide rows", features: 700, rows: 33, categories: true, ..PLAIN },
        About { name: "one column", features: 1, rows: 31, ..PLAIN },
    ];
    let small = About { small: true, ..PLAIN };
    abouts.extend([
        About { name: "categories", rows: 1100, categories: true, ..small },
        About { name: "chain", grown: Grown::Chain, splits: 1500, trees: 3, rows: 20, categories: true, ..small },
        About { name: "large trees", splits: 700, trees: 4, rows: 90, outputs: 3, all_outputs: true, ..small },
        About { name: "many outputs", outputs: 700, all_outputs: true, trees: 3, splits: 5, rows: 9, ..small },
        About { name: "many trees", trees: 1300, splits: 2, rows: 5, ..small },
        About { name: "one row", rows: 1, ..small },
        About { name: "no rows", rows: 0, ..small },
    ]);
    let mut cases = Vec::new();
    for about in abouts {
        cases.push(about.leaves());
        cases.push(about.sum());
        cases.push(about.bins(20));
    }
    cases.push(About { name: "halves", categories: true, ..PLAIN }.bins(500));
    cases.push(About { name: "halves", rows: 1100, categories: true, ..small }.bins(500));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::conformance::assert_reference;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    fn stump(bound: f32) -> FlatTree {
        let number = FlatNode::Number { feature: 0, bound, left: 1, right: 2, missing_left: false };
        let nodes = vec![number, FlatNode::Leaf { leaf: 0 }, FlatNode::Leaf { leaf: 1 }];
        FlatTree { nodes, values: vec![1.0, 2.0], outputs: 1, first_output: 0 }
    }

    /// Thresholds are any floats, rows are canonical.
    #[test]
    // pathway test: P231
    fn bounds_are_compared_by_their_keys() {
        let device = Device::host();
        let x = [f32::NEG_INFINITY, -1.0, -1e-40, 0.0, 1e-40, 1e-38, 2e-38, f32::MAX, f32::INFINITY, f32::NAN];
        let leaves = |bound: f32| {
            let forest = Forest::new(&device, &[stump(bound)], 1, &[0.0]).expect("a stump");
            let x = Buffer::upload(&device, &x).expect("fits");
            walk(&device, &x, 10, &forest).expect("walks").read().expect("reads")
        };
        assert_eq!(leaves(0.0), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(leaves(-0.0), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(leaves(1e-45), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(leaves(-1e-45), [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(leaves(f32::NEG_INFINITY), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(leaves(f32::MAX), [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(leaves(f32::INFINITY), [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }

    /// A row's score does not depend on the rows beside it.
    #[test]
    // pathway test: P233
    fn a_row_alone_is_the_row_in_a_batch() {
        let about = About { rows: 100, categories: true, outputs: 2, ..PLAIN };
        for device in crate::conformance::test_devices() {
            let forest = Forest::new(&device, &about.trees(number), about.features, &about.base()).expect("trees");
            let x = about.x();
            let sum = |x: &[f32], rows| {
                let x = Buffer::upload(&device, x).expect("fits");
                walk_sum(&device, &x, rows, &forest).expect("walks").read().expect("reads")
            };
            let all = sum(&x, about.rows);
            for row in [0, 1, 17, 99] {
                let one = sum(&x[row * about.features..][..about.features], 1);
                assert_eq!(bytes(&one), bytes(&all[row * 2..][..2]), "{device:?} row {row}");
            }
        }
    }

    #[test]
    // pathway test: P234
    fn trees_that_cannot_be_walked_are_refused() {
        let device = Device::host();
        let refused = |tree: FlatTree| Forest::new(&device, &[tree], 2, &[0.0]).expect_err("refused").to_string();
        let with = |change: fn(&mut FlatTree)| {
            let mut tree = stump(1.0);
            change(&mut tree);
            tree
        };
        let ask = |feature, left, right| FlatNode::Number { feature, bound: 0.0, left, right, missing_left: false };
        assert_eq!(refused(with(|t| t.nodes.clear())), "parameter `nodes` must be >= 1, got 0");
        for (left, right) in [(0, 2), (1, 0), (3, 1), (1, 3), (1, u32::MAX), (1, 1), (2, 2)] {
            let mut tree = stump(1.0);
            tree.nodes[0] = ask(0, left, right);
            assert!(refused(tree).starts_with("parameter `child` must be > 0, < 3, of one parent, got"));
        }
        // A way back up, and one node under two parents.
        for child in [0, 1, 2, 4] {
            let mut tree = stump(1.0);
            tree.nodes.extend([FlatNode::Leaf { leaf: 0 }, FlatNode::Leaf { leaf: 0 }]);
            tree.nodes[2] = ask(0, child, 4);
            assert!(refused(tree).starts_with("parameter `child` must be > 2, < 5, of one parent, got"));
        }
        let mut tree = stump(1.0);
        tree.nodes[0] = ask(2, 1, 2);
        assert_eq!(refused(tree), "parameter `feature` must be < 2, got 2");
        assert_eq!(refused(stump(f32::NAN)), "parameter `bound` must be a number, got NaN");
        assert_eq!(refused(with(|t| t.nodes[2] = FlatNode::Leaf { leaf: 2 })), "parameter `leaf` must be < 2, got 2");
        assert_eq!(refused(with(|t| t.first_output = 1)), "parameter `first_output` must be <= 0, got 1");
        assert!(refused(with(|t| t.first_output = usize::MAX)).starts_with("parameter `first_output` must be <= 0"));
        assert!(refused(with(|t| t.outputs = 2)).starts_with("parameter `first_output` must be <= 0"));
        assert_eq!(refused(with(|t| t.outputs = 0)), "`values` must be a multiple of 0 outputs, got 2");
        assert_eq!(
            refused(with(|t| t.values[1] = f32::INFINITY)),
            "`values` holds inf at row 1, column 0; only finite values are accepted"
        );
        let err = Forest::new(&device, &[stump(1.0)], 1, &[f32::NAN]).expect_err("refused").to_string();
        assert_eq!(err, "`base` holds NaN at row 0, column 0; only finite values are accepted");
        let far = FlatTree {
            nodes: vec![FlatNode::Number { feature: 0, bound: 65_536u32, left: 1, right: 2, missing_left: true }],
            ..FlatTree { nodes: Vec::new(), values: Vec::new(), outputs: 0, first_output: 0 }
        };
        let mut far = far;
        far.nodes.extend([FlatNode::Leaf { leaf: 7 }, FlatNode::Leaf { leaf: 9 }]);
        let err = Forest::in_bins(&device, &[far], 1, &[]).expect_err("refused").to_string();
        assert_eq!(err, "parameter `bound` must be < 65536, got 65536");
    }

    #[test]
    fn a_forest_of_bins_takes_no_raw_numbers() {
        let device = Device::host();
        let x = Buffer::upload(&device, &[1.0f32]).expect("fits");
        let raw = Forest::new(&device, &[], 1, &[]).expect("no trees");
        let binned = Forest::in_bins(&device, &[], 1, &[]).expect("no trees");
        let bins = bin_rows(&device, &x, 1, &[BinRule::Number { edges: [].into() }]).expect("bins");
        assert!(walk(&device, &x, 1, &raw).is_ok() && walk_bins(&device, &bins, &binned).is_ok());
        for err in [
            walk(&device, &x, 1, &binned).expect_err("refused"),
            walk_sum(&device, &x, 1, &binned).map(|_| ()).expect_err("refused"),
        ] {
            assert_eq!(err.to_string(), "parameter `forest` must be of raw numbers, got of bins");
        }
        let err = walk_bins(&device, &bins, &raw).expect_err("refused").to_string();
        assert_eq!(err, "parameter `forest` must be of bins, got of raw numbers");
    }

    #[cfg(feature = "sabotage")]
    #[test]
    fn kept_subnormals_show() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            let device = device.sabotaged(Arm::KeepSubnormals);
            for case in [PLAIN.leaves(), PLAIN.sum()] {
                assert!(matches!(case.check(&device), Outcome::Differs { .. }), "{device:?} {}", case.op);
            }
        }
    }
}
