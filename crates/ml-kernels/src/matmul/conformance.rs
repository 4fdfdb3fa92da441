//! Conformance cases of `matmul`.

use ml_core::Result;

use super::{Layout, matmul_batched, reference};
use crate::conformance::{Case, bytes, limited};
use crate::contraction::testing::Data;
use crate::{Buffer, Device};

/// One fixture: everything that a case is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixture {
    pub(crate) layout: Layout,
    pub(crate) data: Data,
    pub(crate) dims: [usize; 4],
}

impl Fixture {
    pub(crate) fn operands(self) -> (Vec<f32>, Vec<f32>) {
        let [batch, m, n, k] = self.dims;
        (self.data.values(batch * m * k, 1), self.data.values(batch * k * n, 2))
    }

    pub(crate) fn run(self, device: &Device) -> Result<Vec<f32>> {
        let [batch, m, n, k] = self.dims;
        let (a, b) = self.operands();
        let (a, b) = (Buffer::upload(device, &a)?, Buffer::upload(device, &b)?);
        matmul_batched(device, self.layout, &a, &b, batch, m, n, k)?.read()
    }

    pub(crate) fn reference(self) -> Vec<f32> {
        let (a, b) = self.operands();
        reference::matmul(self.layout, &a, &b, self.dims)
    }

    fn case(self, small: bool) -> Case {
        let [batch, m, n, k] = self.dims;
        let name =
            format!("{:?} {batch}x{m}x{n}x{k} {:?}{}", self.layout, self.data, if small { " limited" } else { "" });
        Case {
            op: "matmul",
            name,
            run: Box::new(move |device| Ok(bytes(&self.run(&limited(device, small))?))),
            reference: Box::new(move || bytes(&self.reference())),
        }
    }
}

/// Every layout with every kind of data, K around the leaf and its tree, sizes around every tile, batches, and devices
/// with tiny limits.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |layout, data, dims, small| cases.push(Fixture { layout, data, dims }.case(small));
    let layouts = [Layout::NN, Layout::NT, Layout::TN];
    for layout in layouts {
        for data in Data::ALL {
            for dims in [[1, 37, 13, 1025], [1, 3, 70, 130], [1, 129, 65, 33]] {
                add(layout, data, dims, false);
            }
        }
        for k in [0, 1, 5, 1023, 1024, 2048, 3000] {
            add(layout, Data::Ordinary, [1, 5, 67, k], false);
            add(layout, Data::Subnormal, [1, 66, 3, k], false);
        }
        add(layout, Data::Subnormal, [1, 65, 65, 5000], false);
        add(layout, Data::Ordinary, [1, 128, 256, 64], false);
        add(layout, Data::Ordinary, [3, 17, 34, 40], false);
        add(layout, Data::Subnormal, [2, 64, 128, 16], false);
        add(layout, Data::Ordinary, [5, 1, 9, 7], false);
        add(layout, Data::Subnormal, [1, 5, 7, 3000], true);
        add(layout, Data::Ordinary, [2, 21, 35, 50], true);
        add(layout, Data::Ordinary, [1, 2, 1100, 3], true);
    }
    for dims in
        [[1, 0, 3, 4], [1, 3, 0, 4], [0, 2, 2, 2], [1, 1, 1, 1], [1, 1, 300, 200], [1, 300, 1, 200], [1, 1, 1, 9000]]
    {
        for layout in layouts {
            add(layout, Data::Ordinary, dims, false);
        }
    }
    for data in Data::ALL {
        for (layout, dims) in [
            (Layout::TN, [1, 131, 1030]),
            (Layout::NT, [2, 40, 7]),
            (Layout::TN, [1, 530, 40]),
            (Layout::NN, [1, 30, 30]),
        ] {
            cases.push(with_itself(layout, data, dims, false));
        }
    }
    cases.push(with_itself(Layout::TN, Data::Subnormal, [1, 35, 60], true));
    cases
}

/// A product of a buffer with itself, `dims` being batch, m = n, and k: half of a symmetric result may be left to the
/// other half.
fn with_itself(layout: Layout, data: Data, [batch, m, k]: [usize; 3], small: bool) -> Case {
    let x = data.values(batch * m * k, 5);
    let y = x.clone();
    Case {
        op: "matmul",
        name: format!("{layout:?} {batch}x{m}x{m}x{k} {data:?} with itself{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let x = Buffer::upload(&device, &x)?;
            Ok(bytes(&matmul_batched(&device, layout, &x, &x, batch, m, m, k)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::matmul(layout, &y, &y, [batch, m, m, k]))),
    }
}
