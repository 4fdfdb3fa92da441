//! Conformance cases of `best_splits` and `best_common_split`.

use std::sync::Arc;

use super::*;
use crate::conformance::{Case, bytes, limited, scramble};

/// The input of a case: sums of rows that are made up, each in a bin of every column.
#[derive(Debug, Clone)]
struct Input {
    what: &'static str,
    nodes: usize,
    /// Rows of a node.
    rows: u32,
    /// Bins of each column.
    bins: Vec<u32>,
    rule: SplitRule,
    /// Channels of the criterion.
    classes: usize,
    shifts: (i32, i32),
    /// Whether nodes are limited in what they may ask.
    limited: bool,
    /// Whether all nodes make one split together.
    common: bool,
    small: bool,
    /// Every so many rows have one target.
    alike: u32,
}

impl Input {
    fn new(what: &'static str, criterion: Criterion, classes: usize) -> Self {
        Input {
            what,
            nodes: 3,
            rows: 300,
            bins: vec![40, 5, 40, 2, 17],
            rule: SplitRule::new(criterion),
            classes,
            shifts: (29, 27),
            limited: false,
            common: false,
            small: false,
            alike: 1,
        }
    }

    fn categories(mut self, bins: Vec<u32>, categorical: &[bool]) -> Self {
        self.rule.categorical = Some(Arc::from(categorical));
        self.bins = bins;
        self
    }

    fn counted(mut self, least: u32) -> Self {
        (self.rule.counted, self.rule.min_samples_leaf) = (true, least);
        self
    }

    fn monotone(mut self, signs: &[i8]) -> Self {
        self.rule.monotone = Some(Arc::from(signs));
        self
    }

    fn channels(&self) -> usize {
        self.classes + usize::from(self.rule.counted)
    }

    fn shifts(&self) -> Vec<i32> {
        let by_class = matches!(self.rule.criterion, Criterion::Gini | Criterion::Entropy);
        let shift = |c: usize| if c == 0 || by_class { self.shifts.0 } else { self.shifts.1 };
        let mut shifts: Vec<i32> = (0..self.classes).map(shift).collect();
        shifts.extend(self.rule.counted.then_some(29));
        shifts
    }

    /// The integers of a row.
    fn row(&self, row: u32) -> Vec<i64> {
        let r = scramble(row / self.alike * self.alike);
        let (high, low) = (i64::from(r >> 3), i64::from(scramble(r) >> 3));
        let mut q = match self.rule.criterion {
            Criterion::Newton { .. } => vec![high - (1 << 28), low],
            Criterion::SquaredError => vec![1 << 29, (high - (1 << 27)) & !0xff],
            Criterion::Poisson => vec![1 << 29, if r.is_multiple_of(3) { 0 } else { high }],
            Criterion::Gini | Criterion::Entropy => {
                let mut q = vec![0; self.classes];
                q[r as usize % self.classes] = 1 << 29;
                q
            }
        };
        q.extend(self.rule.counted.then_some(1 << 29));
        q
    }

    /// The bin of a row in a column; column 2 is column 0 again. The target has a say in it.
    fn bin(&self, row: u32, col: usize) -> u32 {
        let n = self.bins[col];
        let r = scramble(row * 7 + if col == 2 { 0 } else { col as u32 });
        let target = (self.row(row)[self.classes - 1] >> 24) as u32;
        // A few bins stay empty, and the last one of categories.
        let bin = if r.is_multiple_of(3) { target % n } else { (r >> 4) % n };
        let is_category = self.rule.categorical.as_ref().is_some_and(|c| c[col]);
        let last = n - 1 - u32::from(is_category);
        if bin % 7 == 5 { bin - 1 } else { bin }.min(last)
    }

    fn sums(&self) -> Vec<i64> {
        let (channels, width) = (self.channels(), self.bins.iter().sum::<u32>() as usize);
        let mut sums = vec![0i64; self.nodes * width * channels];
        for node in 0..self.nodes {
            for row in (0..self.rows).map(|row| row + node as u32 * 10_007) {
                let mut start = 0;
                for (col, n) in self.bins.iter().enumerate() {
                    let cell = (node * width + start + self.bin(row, col) as usize) * channels;
                    sums[cell..][..channels].iter_mut().zip(self.row(row)).for_each(|(s, q)| *s += q);
                    start += *n as usize;
                }
            }
        }
        sums
    }

    fn allowed(&self) -> Vec<u32> {
        let pairs = self.nodes * self.bins.len();
        (0..pairs.div_ceil(32) as u32).map(|word| scramble(word) | (0x0102_0408 << (word % 3))).collect()
    }

    fn only(&self) -> Vec<u32> {
        let pair = |at: usize| match scramble(at as u32) % 4 {
            0 => 0,
            1 => u32::MAX,
            r => 1 + r % self.bins[at % self.bins.len()],
        };
        (0..self.nodes * self.bins.len()).map(pair).collect()
    }

    fn bounds(&self) -> Vec<[f32; 2]> {
        let bound = |node: usize| match node % 3 {
            0 => [f32::NEG_INFINITY, f32::INFINITY],
            1 => [-0.05, 0.3],
            _ => [0.0, f32::INFINITY],
        };
        (0..self.nodes).map(bound).collect()
    }

    fn with<T>(&self, work: impl FnOnce(&Limits) -> T) -> T {
        let (allowed, only, bounds) = (self.allowed(), self.only(), self.bounds());
        let bounds = self.rule.monotone.is_some().then_some(&bounds[..]);
        match self.limited {
            true => work(&Limits { allowed: Some(&allowed), only: Some(&only), bounds }),
            false => work(&Limits { bounds, ..Limits::default() }),
        }
    }

    fn run(&self, device: &Device) -> Result<Vec<u8>> {
        let sums = Histograms::upload(device, &self.bins, self.channels(), self.sums())?;
        let whole = |split: Option<CommonSplit>| write(split.map(|s| (s.at, s.gain, s.left)));
        self.with(|limits| {
            if self.common {
                return Ok(whole(best_common_split(device, &sums, &self.shifts(), &self.rule, limits)?));
            }
            let splits = best_splits(device, &sums, &self.shifts(), &self.rule, limits)?;
            Ok(splits.into_iter().flat_map(|s| write(s.map(|s| (s.at, s.gain, s.left)))).collect())
        })
    }

    fn reference(&self) -> Vec<u8> {
        let device = Device::host();
        let all = Histograms::upload(&device, &self.bins, self.channels(), self.sums()).expect("the host uploads");
        let sums = Sums { values: all.host().expect("on the host"), cells: all.cells(), channels: all.channels() };
        let weigher = self.rule.weigher(&self.shifts(), self.bins.len()).expect("a sound rule");
        let groups: Vec<Range<usize>> = match self.common {
            true => std::iter::once(0..self.nodes).collect(),
            false => (0..self.nodes).map(|node| node..node + 1).collect(),
        };
        self.with(|limits| {
            let columns = columns(&all, &self.rule);
            let search = Search { columns, weigher, rule: &self.rule, limits: *limits, arm: Arm::None };
            let found = reference::search(sums, &groups, &search).into_iter().zip(&groups);
            let answers = found.map(|(found, group)| found.and_then(|f| answer(sums, group.clone(), &search, &f)));
            answers.flat_map(|s| write(s.map(|s| (s.at, s.gain, s.left)))).collect()
        })
    }

    fn case(self) -> Case {
        let Input { what, nodes, common, small, .. } = self;
        let one = self.clone();
        Case {
            op: if common { "best_common_split" } else { "best_splits" },
            name: format!("{what}, {:?}, {nodes} nodes{}", self.rule.criterion, if small { " limited" } else { "" }),
            run: Box::new(move |device| self.run(&limited(device, small))),
            reference: Box::new(move || one.reference()),
        }
    }
}

fn write(split: Option<(SplitAt, f32, Vec<i64>)>) -> Vec<u8> {
    let Some((at, gain, left)) = split else { return bytes(&[u32::MAX]) };
    let mut out = bytes(&[at.feature(), u32::from(at.missing_left()), gain.to_bits()]);
    match at {
        SplitAt::Number { bin, .. } => out.extend(bytes(&[bin])),
        SplitAt::Category { set, .. } => out.extend(bytes(&set)),
    }
    out.extend(bytes(&left));
    out
}

pub(crate) fn cases() -> Vec<Case> {
    let newton = Criterion::Newton { l1: 0.0, l2: 1.0 };
    let (gini, entropy) = (Criterion::Gini, Criterion::Entropy);
    let (squares, poisson) = (Criterion::SquaredError, Criterion::Poisson);
    let mixed = || vec![70, 5, 150, 4, 12, 2];
    let kinds = [true, true, true, false, false, true];
    let signs = [1, -1, 0, 1, -1];
    let all = [
        Input::new("plain", newton, 2),
        Input::new("no penalty", Criterion::Newton { l1: 0.0, l2: 0.0 }, 2),
        Input::new("both penalties", Criterion::Newton { l1: 0.7, l2: 0.3 }, 2),
        Input::new("monotone", newton, 2).monotone(&signs),
        Input::new("counted", newton, 2).counted(40),
        Input::new("categories", newton, 2).categories(mixed(), &kinds),
        Input { shifts: (-60, 80), ..Input::new("far shifts", newton, 2) },
        Input { bins: vec![1000, 3], ..Input::new("many bins", newton, 2) },
        Input { rows: 1, ..Input::new("one row", newton, 2) },
        Input { rows: 0, ..Input::new("no rows", newton, 2) },
        Input { bins: vec![2], ..Input::new("missing or not", newton, 2) },
        Input { nodes: 0, ..Input::new("no nodes", newton, 2) },
        Input { limited: true, ..Input::new("limits", newton, 2) },
        Input { alike: 1 << 20, ..Input::new("nothing to gain", squares, 2) },
        Input { alike: 150, ..Input::new("ties", squares, 2) },
        Input::new("plain", squares, 2).counted(1),
        Input::new("monotone", squares, 2).monotone(&signs),
        Input::new("categories", squares, 2).categories(mixed(), &kinds),
        Input::new("plain", gini, 2),
        Input::new("counted", gini, 5).counted(30),
        Input::new("monotone", gini, 2).monotone(&signs),
        Input::new("categories", gini, 4).categories(mixed(), &kinds),
        Input { alike: 1 << 20, ..Input::new("pure", gini, 3) },
        Input::new("plain", entropy, 3),
        Input { alike: 1 << 20, ..Input::new("pure", entropy, 3) },
        Input::new("plain", poisson, 2),
        Input::new("categories", poisson, 2).categories(mixed(), &kinds),
    ];
    let mut cases = Vec::new();
    for (k, mut input) in all.into_iter().enumerate() {
        if k % 5 == 4 {
            input.rule.min_child_weight = 7.5;
        }
        cases.push(Input { small: true, ..input.clone() }.case());
        let common = Input { common: true, nodes: 4.min(input.nodes + 1), ..input.clone() };
        cases.push(Input { small: k % 2 == 0, ..common }.case());
        cases.push(input.case());
    }
    // Sums that fit a small binding, so that the kernels see its limits.
    let tiny = Input { nodes: 9, bins: vec![4, 3], small: true, ..Input::new("tiny", newton, 2) };
    cases.push(Input { common: true, ..tiny.clone() }.case());
    cases.push(tiny.case());
    cases
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
    // pathway test: P118
    fn ties_show() {
        use crate::conformance::{Outcome, test_devices};
        for device in test_devices() {
            // Column 2 is column 0 again: of equal gains the lowest column wins.
            let case = Input::new("arm", Criterion::SquaredError, 2).case();
            let outcome = case.check(&device.sabotaged(Arm::TiesLast));
            assert!(matches!(outcome, Outcome::Differs { .. }), "{device:?} inert");
            let outcome = case.check(&device.sabotaged(Arm::SerialLanes));
            assert!(matches!(outcome, Outcome::Equal), "{device:?} {outcome:?}");
        }
    }
}
