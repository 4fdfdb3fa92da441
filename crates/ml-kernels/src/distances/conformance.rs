//! Conformance cases of `squared_distances`, `nearest`, `k_nearest` and `Lloyd`.

use ml_core::Result;

use super::{Lloyd, k_nearest, nearest, reference, squared_distances};
use crate::conformance::{Case, bytes, limited};
use crate::contraction::testing::Data;
use crate::scatter_add::{self, Shape};
use crate::{Buffer, Device};

/// What is asked of a fixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    All,
    Nearest,
    KNearest(usize),
    Sums,
    /// All distances of x to itself.
    Own,
}

/// One fixture: everything that a case is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixture {
    pub(crate) ask: Ask,
    pub(crate) data: Data,
    pub(crate) dims: [usize; 3],
}

impl Fixture {
    pub(crate) fn operands(self) -> (Vec<f32>, Vec<f32>) {
        let [n, m, d] = self.dims;
        (self.data.values(n * d, 3), self.data.values(m * d, 4))
    }

    pub(crate) fn run(self, device: &Device) -> Result<Vec<u8>> {
        let [n, m, d] = self.dims;
        let (x, y) = self.operands();
        let (x, y) = (Buffer::upload(device, &x)?, Buffer::upload(device, &y)?);
        let (index, distance) = match self.ask {
            Ask::All => return Ok(bytes(&squared_distances(device, &x, &y, n, m, d)?.read()?)),
            Ask::Own => return Ok(bytes(&squared_distances(device, &x, &x, n, n, d)?.read()?)),
            Ask::Nearest => nearest(device, &x, &y, n, m, d)?,
            Ask::KNearest(k) => k_nearest(device, &x, &y, n, m, d, k)?,
            Ask::Sums => {
                let steps = Lloyd::new(device, &x, n, d)?;
                // The second step begins with what the first has left behind.
                steps.step(&y, m)?;
                let found = steps.step(&y, m)?;
                let nearest = [bytes(&found.index.read()?), bytes(&found.distance.read()?)].concat();
                return Ok([nearest, bytes(&found.sums.read()?)].concat());
            }
        };
        Ok([bytes(&index.read()?), bytes(&distance.read()?)].concat())
    }

    pub(crate) fn reference(self) -> Vec<u8> {
        let (x, y) = self.operands();
        let (index, distance) = match self.ask {
            Ask::All => return bytes(&reference::squared_distances(&x, &y, self.dims)),
            Ask::Own => {
                return bytes(&reference::squared_distances(&x, &x, [self.dims[0], self.dims[0], self.dims[2]]));
            }
            Ask::Nearest => reference::k_nearest(&x, &y, self.dims, 1),
            Ask::KNearest(k) => reference::k_nearest(&x, &y, self.dims, k),
            Ask::Sums => reference::k_nearest(&x, &y, self.dims, 1),
        };
        if self.ask == Ask::Sums {
            let [rows, n_groups, cols] = self.dims;
            let shape = Shape { rows, cols, n_groups, cells: n_groups * cols };
            let sums = scatter_add::reference::sum(&x, &index, shape);
            return [bytes(&index), bytes(&distance), bytes(&sums)].concat();
        }
        [bytes(&index), bytes(&distance)].concat()
    }

    fn case(self, small: bool) -> Case {
        let [n, m, d] = self.dims;
        let op = match self.ask {
            Ask::All | Ask::Own => "squared_distances",
            Ask::Nearest => "nearest",
            Ask::KNearest(_) => "k_nearest",
            Ask::Sums => "lloyd",
        };
        Case {
            op,
            name: format!("{:?} {n}x{m}x{d} {:?}{}", self.ask, self.data, if small { " limited" } else { "" }),
            run: Box::new(move |device| self.run(&limited(device, small))),
            reference: Box::new(move || self.reference()),
        }
    }
}

/// Every kind of data, features around the leaf and its tree, few and many rows on either side, ties, and devices with
/// tiny limits.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |ask, data, dims, small| cases.push(Fixture { ask, data, dims }.case(small));
    for data in Data::ALL {
        for dims in [[37, 13, 1025], [3, 140, 30], [130, 66, 17]] {
            add(Ask::All, data, dims, false);
        }
        for dims in [[300, 10, 20], [2, 700, 9], [70, 130, 33]] {
            add(Ask::Sums, data, dims, false);
            add(Ask::Nearest, data, dims, false);
            add(Ask::KNearest(5), data, dims, false);
        }
    }
    for d in [0, 1, 1023, 1024, 2048, 3000] {
        add(Ask::All, Data::Ordinary, [5, 35, d], false);
        add(Ask::All, Data::Subnormal, [34, 3, d], false);
        add(Ask::Nearest, Data::Subnormal, [9, 6, d], false);
        add(Ask::Sums, Data::Subnormal, [70, 6, d], false);
    }
    for ask in [Ask::All, Ask::Nearest] {
        add(ask, Data::Ordinary, [0, 3, 2], false);
        add(ask, Data::Ordinary, [1, 1, 1], false);
    }
    add(Ask::All, Data::Ordinary, [3, 0, 2], false);
    add(Ask::Sums, Data::Ordinary, [1, 1, 1], false);
    add(Ask::Sums, Data::Huge, [4000, 300, 7], false);
    add(Ask::Own, Data::Subnormal, [70, 1, 1030], false);
    add(Ask::Own, Data::Ordinary, [260, 1, 3], false);
    add(Ask::KNearest(40), Data::Ties, [6, 40, 2], false);
    add(Ask::KNearest(7), Data::Ties, [200, 1100, 3], false);
    for data in [Data::Subnormal, Data::Ties] {
        add(Ask::All, data, [9, 11, 2100], true);
        add(Ask::All, data, [3, 1100, 3], true);
        add(Ask::Nearest, data, [40, 33, 60], true);
        add(Ask::Sums, data, [200, 6, 60], true);
        add(Ask::KNearest(3), data, [5, 1300, 4], true);
        add(Ask::KNearest(3), data, [1100, 6, 2], true);
    }
    cases
}
