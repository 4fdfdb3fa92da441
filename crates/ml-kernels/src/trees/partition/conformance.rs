//! Conformance cases of `partition` and `add_leaf_values`.

use super::{RowSets, SplitAt, add_leaf_values, partition, reference};
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited, scramble};
use crate::device::Device;
use crate::trees::bin_rows;
use crate::trees::bins::conformance::{any_number, rules};

/// What a case is about.
#[derive(Debug, Clone, Copy)]
struct About {
    rows: usize,
    cols: usize,
    /// Most edges of a column.
    most: usize,
    /// Rounds of splits after each other.
    levels: u32,
    /// Whether some rows are in no node.
    bagged: bool,
    small: bool,
}

impl About {
    fn name(&self) -> String {
        let About { rows, cols, most, levels, bagged, small } = self;
        let (bagged, limited) = (if *bagged { " bagged" } else { "" }, if *small { " limited" } else { "" });
        format!("{rows}x{cols} up to {most} edges, {levels} levels{bagged}{limited}")
    }

    fn x(&self) -> Vec<f32> {
        (0..(self.rows * self.cols) as u32).map(any_number).collect()
    }

    /// The rows that are in the first node.
    fn first(&self) -> Vec<u32> {
        (0..self.rows as u32).filter(|row| !self.bagged || !scramble(row ^ 0x77).is_multiple_of(3)).collect()
    }

    /// A split for most nodes, of every kind.
    fn splits(&self, level: u32, nodes: usize) -> Vec<Option<SplitAt>> {
        let split = |node: usize| {
            let r = scramble(level * 1000 + node as u32 + 1);
            let (feature, missing_left) = ((r >> 8) % self.cols as u32, r.is_multiple_of(2));
            let bin = scramble(r) % (self.most as u32 + 3);
            match r % 5 {
                0 => None,
                1 | 2 => {
                    let words = (scramble(r ^ 1) % 10) as usize;
                    let set = (0..words as u32).map(|word| scramble(r ^ word << 4)).collect();
                    Some(SplitAt::Category { feature, set, missing_left })
                }
                _ => Some(SplitAt::Number { feature, bin, missing_left }),
            }
        };
        (0..nodes).map(split).collect()
    }

    fn parted(&self, device: &Device) -> ml_core::Result<RowSets> {
        let x = Buffer::upload(device, &self.x())?;
        let bins = bin_rows(device, &x, self.rows, &rules(self.cols, self.most))?;
        let mut sets =
            if self.bagged { RowSets::of(device, &self.first(), self.rows)? } else { RowSets::all(device, self.rows)? };
        for level in 0..self.levels {
            let splits = self.splits(level, sets.nodes());
            sets = partition(device, &bins, sets, &splits)?;
        }
        Ok(sets)
    }

    fn reference(&self) -> Vec<Vec<u32>> {
        let host = Device::host();
        let x = Buffer::upload(&host, &self.x()).expect("memory");
        let bins = bin_rows(&host, &x, self.rows, &rules(self.cols, self.most)).expect("held to its own reference");
        let bins = bins.read().expect("on the host");
        let mut nodes = vec![self.first()];
        for level in 0..self.levels {
            let bin = |row: u32, col: u32| bins[row as usize * self.cols + col as usize];
            nodes = reference::partition(bin, &nodes, &self.splits(level, nodes.len()));
        }
        nodes
    }

    fn parts(self) -> Case {
        let told = |nodes: Vec<Vec<u32>>| {
            let lengths: Vec<u32> = nodes.iter().map(|rows| rows.len() as u32).collect();
            [bytes(&lengths), bytes(&nodes.concat())].concat()
        };
        Case {
            op: "partition",
            name: self.name(),
            run: Box::new(move |device| Ok(told(self.parted(&limited(device, self.small))?.read()?))),
            reference: Box::new(move || told(self.reference())),
        }
    }

    fn values(&self, nodes: usize) -> Vec<f32> {
        let value = |node: u32| match scramble(node) {
            r if r % 3 != 0 => f32::from_bits(0x0080_0000 + (r & 0x8000_0fff)),
            r => (r % 2001) as f32 / 1000.0 - 1.0,
        };
        (0..nodes as u32).map(value).collect()
    }

    fn scores(&self, outputs: usize) -> Vec<f32> {
        let score = |i: u32| match scramble(i ^ 0x1234) {
            r if r % 2 == 0 => f32::from_bits(0x0080_0000 + (r & 0x8000_1fff)),
            r => (r % 1009) as f32 / 100.0,
        };
        (0..(self.rows * outputs) as u32).map(score).map(ml_core::canon::canon).collect()
    }

    fn adds(self, outputs: usize) -> Case {
        let output = outputs / 2;
        Case {
            op: "add_leaf_values",
            name: format!("{}, {outputs} outputs", self.name()),
            run: Box::new(move |device| {
                let device = limited(device, self.small);
                let sets = self.parted(&device)?;
                let scores = Buffer::upload(&device, &self.scores(outputs))?;
                let values = self.values(sets.nodes());
                Ok(bytes(&add_leaf_values(&device, scores, outputs, output, &sets, &values)?.read()?))
            }),
            reference: Box::new(move || {
                let (nodes, scores) = (self.reference(), self.scores(outputs));
                bytes(&reference::add_leaf_values(&scores, outputs, output, &nodes, &self.values(nodes.len())))
            }),
        }
    }
}

const PLAIN: About = About { rows: 1500, cols: 8, most: 20, levels: 5, bagged: false, small: false };

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let small = About { small: true, ..PLAIN };
    for about in [
        PLAIN,
        About { bagged: true, levels: 7, ..PLAIN },
        About { rows: 0, ..PLAIN },
        About { rows: 1, ..PLAIN },
        About { rows: 2, levels: 3, ..PLAIN },
        About { levels: 0, ..PLAIN },
        About { rows: 40_000, cols: 3, levels: 6, ..PLAIN },
        About { most: 400, bagged: true, ..PLAIN },
        About { rows: 2600, bagged: true, ..small },
        // More nodes than one binding has room for.
        About { rows: 1000, levels: 11, ..small },
        About { rows: 700, most: 300, levels: 2, ..small },
        About { rows: 1, ..small },
        About { rows: 0, levels: 2, ..small },
    ] {
        cases.push(about.parts());
        cases.push(about.adds(1));
    }
    cases.push(About { bagged: true, ..PLAIN }.adds(5));
    cases.push(About { bagged: true, ..small }.adds(3));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::assert_reference;
    use crate::trees::BinRule;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    /// Scores that others hold are left as they are.
    #[test]
    fn shared_scores_stay() {
        for device in crate::conformance::test_devices() {
            let scores = Buffer::upload(&device, &[1.0f32, 2.0]).expect("fits");
            let sets = RowSets::all(&device, 2).expect("fits");
            let sum = add_leaf_values(&device, scores.clone(), 1, 0, &sets, &[1.0]).expect("adds");
            assert_eq!(sum.read().expect("reads"), [2.0, 3.0]);
            assert_eq!(scores.read().expect("reads"), [1.0, 2.0], "{device:?}");
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let device = Device::host();
        let err = |rows: &[u32]| RowSets::of(&device, rows, 5).expect_err("refused").to_string();
        assert_eq!(err(&[1, 1]), "`rows` must be strictly ascending, got 1 before 1");
        assert_eq!(err(&[1, 5]), "`rows` holds index 5 at position 1, the bound is 5");
        let x = Buffer::upload(&device, &[1.0f32, 2.0]).expect("fits");
        let bins = bin_rows(&device, &x, 2, &[BinRule::Number { edges: [1.5].into() }]).expect("bins");
        let sets = |rows| RowSets::all(&device, rows).expect("fits");
        let split = |feature| Some(SplitAt::Number { feature, bin: 1, missing_left: false });
        let err = partition(&device, &bins, sets(2), &[split(1)]).expect_err("refused").to_string();
        assert_eq!(err, "parameter `feature` must be < 1, got 1");
        let err = partition(&device, &bins, sets(2), &[]).expect_err("refused").to_string();
        assert_eq!(err, "`splits` must be 1 entries, got 0");
        let err = partition(&device, &bins, sets(3), &[None]).expect_err("refused").to_string();
        assert_eq!(err, "`sets` must be of 2 rows, got 3");
        let add = |outputs, output, values: &[f32]| {
            add_leaf_values(&device, x.clone(), outputs, output, &sets(2), values).expect_err("refused").to_string()
        };
        assert_eq!(add(1, 1, &[0.0]), "parameter `output` must be < 1, got 1");
        assert_eq!(add(2, 0, &[0.0]), "`scores` must be 4 elements, got 2");
        assert_eq!(add(1, 0, &[]), "`values` must be 1 values, got 0");
        assert!(add(1, 0, &[f32::NAN]).starts_with("`values` holds NaN at row 0"));
    }

    /// On the host alone: a device may flush of itself.
    #[cfg(feature = "sabotage")]
    #[test]
    fn kept_subnormals_show() {
        use crate::conformance::Outcome;
        let device = Device::host().sabotaged(crate::sabotage::Arm::KeepSubnormals);
        assert!(matches!(PLAIN.adds(1).check(&device), Outcome::Differs { .. }));
    }
}
