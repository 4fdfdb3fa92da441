//! Conformance cases of `histograms`, what is made of them, and `node_sums`.

use super::*;
use crate::buffer::Buffer;
use crate::conformance::{Case, bytes, limited, scramble};
use crate::trees::{BinRule, SplitAt, bin_rows, partition, quantise};

/// The input of a case: rows of bins and of values, parted into nodes by the bins of column 0.
#[derive(Debug, Clone, Copy)]
struct Input {
    rows: usize,
    cols: usize,
    channels: usize,
    /// Most bins of a column.
    most: u32,
    /// Nodes that the rows are parted into, at most.
    nodes: u32,
    small: bool,
    value: fn(u32) -> f32,
}

const PLAIN: Input = Input { rows: 1500, cols: 5, channels: 2, most: 256, nodes: 3, small: false, value: ordinary };

impl Input {
    /// Bins of column `col`, two at least.
    fn bins_of(self, col: usize) -> u32 {
        2 + ((self.most - 2) >> (col % 4))
    }

    fn bin(self, row: usize, col: usize) -> u32 {
        scramble((row * 131 + col) as u32) % self.bins_of(col)
    }

    /// The node of a row, by its bin in column 0.
    fn node(self, row: usize) -> usize {
        (self.bin(row, 0) * self.nodes / self.bins_of(0)) as usize
    }

    /// The rows of each node, and those of the nodes asked for: in another order, one of them twice.
    fn asked(self) -> (Vec<Vec<u32>>, Vec<u32>) {
        let mut sets = vec![Vec::new(); self.nodes as usize];
        (0..self.rows).for_each(|row| sets[self.node(row)].push(row as u32));
        let mut asked: Vec<u32> = (0..self.nodes).rev().collect();
        asked.push(0);
        (sets, asked)
    }

    fn values(self) -> Vec<f32> {
        (0..(self.rows * self.channels) as u32).map(self.value).collect()
    }

    fn case(self, what: &'static str) -> Case {
        let Input { rows, cols, channels, most, nodes, small, .. } = self;
        Case {
            op: "histograms",
            name: format!(
                "{what} {rows}x{cols}, {channels} channels, {most} bins, {nodes} nodes{}",
                if small { " limited" } else { "" }
            ),
            run: Box::new(move |device| self.run(&limited(device, small))),
            reference: Box::new(move || self.reference()),
        }
    }

    fn run(self, device: &Device) -> Result<Vec<u8>> {
        let Input { rows, cols, channels, .. } = self;
        // Bin b >= 1 holds the number b, bin 0 no number.
        let number = |b: u32| if b == 0 { f32::NAN } else { b as f32 };
        let x: Vec<f32> = (0..rows * cols).map(|at| number(self.bin(at / cols, at % cols))).collect();
        let rule = |col: usize| BinRule::Number { edges: (1..self.bins_of(col) - 1).map(|b| b as f32).collect() };
        let rules: Vec<BinRule> = (0..cols).map(rule).collect();
        let bins = bin_rows(device, &Buffer::upload(device, &x)?, rows, &rules)?;
        let q = quantise(device, &Buffer::upload(device, &self.values())?, rows, channels)?;
        let mut sets = RowSets::all(device, rows)?;
        // The last node is cut off the rest, one after another, and lies behind it.
        for node in (1..self.nodes).rev() {
            let bin = (0..self.bins_of(0)).rev().find(|b| b * self.nodes / self.bins_of(0) < node).unwrap_or(0);
            let mut splits = vec![None; sets.nodes()];
            splits[0] = Some(SplitAt::Number { feature: 0, bin, missing_left: true });
            sets = partition(device, &bins, sets, &splits)?;
        }
        let (_, asked) = self.asked();
        let sums = histograms(device, &bins, &q, &sets, &asked)?;
        let all = histograms(device, &bins, &q, &RowSets::all(device, rows)?, &[0])?;
        let picked = sums.select(&[asked.len() as u32 - 1, 0])?;
        // What is left of all rows, twice, without node 0 and without the last.
        let rest = all.subtract(&[0, 0], &picked)?;
        let nodes = node_sums(device, &q, &sets)?;
        Ok([bytes(&sums.read()?), bytes(&picked.read()?), bytes(&rest.read()?), bytes(&nodes)].concat())
    }

    fn reference(self) -> Vec<u8> {
        let Input { cols, channels, .. } = self;
        let (_, q) = crate::trees::quantise::reference::quantise(&self.values(), channels, 1);
        let mut starts = vec![0];
        (0..cols).for_each(|col| starts.push(starts[col] + self.bins_of(col) as usize));
        let shape = Shape { cols, channels, starts: &starts };
        let (sets, asked) = self.asked();
        let sums = |nodes: &[Vec<u32>]| reference::histograms(|row, col| self.bin(row, col) as usize, &q, nodes, shape);
        let of = |node: u32| sets[node as usize].clone();
        let all_but = |node: u32| (0..self.rows as u32).filter(|r| self.node(*r as usize) != node as usize).collect();
        let last = self.nodes - 1;
        [
            bytes(&sums(&asked.iter().map(|node| of(*node)).collect::<Vec<_>>())),
            bytes(&sums(&[of(0), of(last)])),
            bytes(&sums(&[all_but(0), all_but(last)])),
            bytes(&reference::node_sums(&q, &sets, channels)),
        ]
        .concat()
    }
}

/// Either sign, about one.
fn ordinary(i: u32) -> f32 {
    let r = scramble(i);
    f32::from_bits((r & 0x807f_ffff) | ((122 + r % 7) << 23))
}

/// As large as can be, of one sign.
fn greatest(_: u32) -> f32 {
    -1.999_999_9
}

/// 1e-18 to 1e18.
fn wide(i: u32) -> f32 {
    let r = scramble(i);
    f32::from_bits((r & 0x807f_ffff) | ((67 + scramble(r) % 120) << 23))
}

pub(crate) fn cases() -> Vec<Case> {
    let small = Input { small: true, ..PLAIN };
    vec![
        PLAIN.case("ordinary"),
        Input { channels: 1, nodes: 1, ..PLAIN }.case("ordinary"),
        Input { channels: 3, cols: 33, ..PLAIN }.case("ordinary"),
        Input { channels: 4, most: 17, nodes: 9, ..PLAIN }.case("ordinary"),
        Input { channels: 7, most: 40, cols: 9, ..PLAIN }.case("ordinary"),
        Input { rows: 20_000, cols: 70, nodes: 2, ..PLAIN }.case("columns apart"),
        Input { rows: 40_000, cols: 3, nodes: 2, ..PLAIN }.case("rows apart"),
        Input { value: greatest, rows: 9000, nodes: 1, most: 2, ..PLAIN }.case("greatest"),
        Input { value: wide, channels: 3, ..PLAIN }.case("wide"),
        Input { value: |_| 0.0, ..PLAIN }.case("zeros"),
        Input { rows: 1, nodes: 1, ..PLAIN }.case("one row"),
        Input { rows: 0, nodes: 2, ..PLAIN }.case("no rows"),
        Input { cols: 1, most: 1000, channels: 3, ..PLAIN }.case("many bins"),
        Input { cols: 5, most: 3000, nodes: 4, ..PLAIN }.case("many bins"),
        Input { most: 60, ..small }.case("ordinary"),
        Input { channels: 3, cols: 9, most: 40, ..small }.case("ordinary"),
        Input { channels: 1, cols: 3, most: 700, rows: 1100, ..small }.case("many bins"),
        Input { value: greatest, rows: 1200, nodes: 1, most: 2, ..small }.case("greatest"),
        Input { rows: 0, nodes: 2, ..small }.case("no rows"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::assert_reference;

    #[test]
    fn every_device_gives_the_reference() {
        assert_reference(&cases());
    }

    #[cfg(feature = "sabotage")]
    #[test]
    // pathway test: P116
    fn the_arm_moves_every_device() {
        use crate::conformance::{Outcome, test_devices};
        use crate::sabotage::Arm;
        for device in test_devices() {
            for small in [false, true] {
                let case = Input { most: 20, small, ..PLAIN }.case("arm");
                let outcome = case.check(&device.sabotaged(Arm::FloatScatter));
                assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} inert");
                let outcome = case.check(&device.sabotaged(Arm::SerialLanes));
                assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
            }
        }
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let device = Device::host();
        let x = Buffer::upload(&device, &[1.0f32; 6]).expect("fits");
        let rules = vec![BinRule::Number { edges: [0.5].into() }; 2];
        let bins = bin_rows(&device, &x, 3, &rules).expect("fits");
        let (q, fewer) = (quantise(&device, &x, 3, 2).expect("fits"), quantise(&device, &x, 2, 3).expect("fits"));
        let sets = RowSets::all(&device, 3).expect("fits");
        let sums = histograms(&device, &bins, &q, &sets, &[0]).expect("fits");
        assert!(histograms(&device, &bins, &q, &sets, &[1]).is_err());
        assert!(histograms(&device, &bins, &fewer, &sets, &[0]).is_err());
        assert!(histograms(&device, &bins, &q, &RowSets::all(&device, 2).expect("fits"), &[0]).is_err());
        assert!(node_sums(&device, &fewer, &sets).is_err());
        assert!(sums.select(&[1]).is_err());
        assert!(sums.subtract(&[0, 0], &sums).is_err());
        assert_eq!(sums.subtract(&[0], &sums).expect("fits").read().expect("reads"), vec![0; 12]);
    }
}
