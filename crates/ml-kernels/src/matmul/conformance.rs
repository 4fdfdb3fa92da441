//! Conformance cases of `matmul`.

use ml_core::Result;

use super::strided::{Place, shapes};
use super::{Gram, Layout, Strided, gram, matmul_batched, matmul_map, matmul_strided, matvec, reference};
use crate::conformance::{Case, bytes, limited};
use crate::contraction::testing::Data;
use crate::map::{Expr, Operand};
use crate::num::elementary::Unary;
use crate::num::{Pins, add, max, mul};
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
    cases.extend(relatives());
    cases
}

/// Operands inside larger buffers, vectors, Gram matrices and formulas over products.
fn relatives() -> Vec<Case> {
    let mut cases = Vec::new();
    for layout in [Layout::NN, Layout::NT, Layout::TN] {
        for (data, dims) in [
            (Data::Ordinary, [1, 37, 70, 130]),
            (Data::Subnormal, [2, 65, 34, 40]),
            (Data::Ordinary, [3, 5, 7, 1030]),
            (Data::Huge, [1, 1, 64, 64]),
            (Data::Ordinary, [1, 48, 1, 64]),
            (Data::Ordinary, [2, 3, 4, 0]),
        ] {
            for lies in [Lies { row: 9, item: 5 }, Lies { row: 0, item: 3 }, Lies { row: 2, item: 0 }] {
                cases.push(lies.case(layout, data, dims, false));
            }
            cases.push(Lies::repeated(layout, data, dims));
        }
        cases.push(Lies { row: 7, item: 1 }.case(layout, Data::Subnormal, [2, 21, 35, 50], true));
        cases.push(Lies { row: 1100, item: 3 }.case(layout, Data::Ordinary, [2, 9, 4, 12], true));
        for data in Data::ALL {
            cases.push(vector(layout, data, 300, 1100, false));
            cases.push(vector(layout, data, 7, 3000, false));
        }
        cases.push(vector(layout, Data::Subnormal, 70, 1500, true));
    }
    for of in [Gram::Rows, Gram::Columns] {
        for data in Data::ALL {
            cases.push(pairs(of, data, [200, 131], false));
            cases.push(pairs(of, data, [3, 1], false));
        }
        let long = if of == Gram::Rows { [64, 3000] } else { [3000, 64] };
        cases.push(pairs(of, Data::Ordinary, long, false));
        cases.push(pairs(of, Data::Subnormal, long, false));
        cases.push(pairs(of, Data::Subnormal, [45, 30], true));
    }
    for (rows, cols, data) in [(3000, 20, Data::Ordinary), (1500, 7, Data::Subnormal), (2100, 46, Data::Huge)] {
        cases.push(pairs(Gram::Columns, data, [rows, cols], false));
    }
    for (dims, small) in [([65, 70, 40], false), ([1, 33, 1030], false), ([3, 5, 0], false), ([30, 40, 9], true)] {
        for data in [Data::Ordinary, Data::Subnormal] {
            cases.push(layer(data, dims, small));
        }
    }
    cases
}

/// How many elements lie between the rows and the items of an operand.
#[derive(Debug, Clone, Copy)]
struct Lies {
    row: usize,
    item: usize,
}

impl Lies {
    fn place(self, [rows, width]: [usize; 2]) -> Place {
        let row = width + self.row;
        Place { start: 3 + self.row, row, item: rows * row + self.item }
    }

    fn case(self, layout: Layout, data: Data, dims: [usize; 4], small: bool) -> Case {
        strided(format!("{self:?}"), layout, data, shapes(layout, dims).map(|s| self.place(s)), dims, small)
    }

    /// Rows that overlap, and one item of `b` for all of the batch.
    fn repeated(layout: Layout, data: Data, dims: [usize; 4]) -> Case {
        let [[a_rows, a_width], [_, b_width]] = shapes(layout, dims);
        let a = Place { start: 1, row: a_width.div_ceil(2), item: a_rows };
        let b = Place { start: 2, row: b_width, item: 0 };
        strided("repeated".to_owned(), layout, data, [a, b], dims, false)
    }
}

fn strided(what: String, layout: Layout, data: Data, places: [Place; 2], dims: [usize; 4], small: bool) -> Case {
    let [batch, m, n, k] = dims;
    let end =
        |p: Place, [rows, width]: [usize; 2]| p.start + (batch.max(1) - 1) * p.item + (rows.max(1) - 1) * p.row + width;
    let [a_shape, b_shape] = shapes(layout, dims);
    let a = data.values(end(places[0], a_shape), 6);
    let b = data.values(end(places[1], b_shape), 7);
    let (x, y) = (a.clone(), b.clone());
    Case {
        op: "matmul",
        name: format!("{layout:?} {batch}x{m}x{n}x{k} {data:?} {what}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (a, b) = (Buffer::upload(&device, &a)?, Buffer::upload(&device, &b)?);
            let operand = |buffer, p: Place| Strided { buffer, start: p.start, row_stride: p.row, item_stride: p.item };
            let (a, b) = (operand(&a, places[0]), operand(&b, places[1]));
            Ok(bytes(&matmul_strided(&device, layout, a, b, batch, m, n, k)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::strided(layout, [&x, &y], places, dims))),
    }
}

fn vector(layout: Layout, data: Data, m: usize, k: usize, small: bool) -> Case {
    let (a, x) = (data.values(m * k, 8), data.values(k, 9));
    let (a_copy, x_copy) = (a.clone(), x.clone());
    Case {
        op: "matmul",
        name: format!("{layout:?} {m}x{k} {data:?} with a vector{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let (a, x) = (Buffer::upload(&device, &a)?, Buffer::upload(&device, &x)?);
            Ok(bytes(&matvec(&device, layout, &a, &x, m, k)?.read()?))
        }),
        reference: Box::new(move || bytes(&reference::matmul(layout, &a_copy, &x_copy, [1, m, 1, k]))),
    }
}

fn pairs(of: Gram, data: Data, [rows, cols]: [usize; 2], small: bool) -> Case {
    let x = data.values(rows * cols, 10);
    let y = x.clone();
    Case {
        op: "matmul",
        name: format!("Gram of {of:?} {rows}x{cols} {data:?}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            Ok(bytes(&gram(&device, of, &Buffer::upload(&device, &x)?, rows, cols)?.read()?))
        }),
        reference: Box::new(move || {
            bytes(&match of {
                Gram::Rows => reference::matmul(Layout::NT, &y, &y, [1, rows, rows, cols]),
                Gram::Columns => reference::matmul(Layout::TN, &y, &y, [1, cols, cols, rows]),
            })
        }),
    }
}

/// A layer: bias, a gate of it, and the rectified sum with another matrix.
fn layer(data: Data, [m, n, k]: [usize; 3], small: bool) -> Case {
    let operands = [data.values(m * k, 11), data.values(n * k, 12), data.values(n, 13), data.values(m * n, 14)];
    let plain = operands.clone();
    Case {
        op: "matmul",
        name: format!("layer {m}x{n}x{k} {data:?}{}", if small { " limited" } else { "" }),
        run: Box::new(move |device| {
            let device = limited(device, small);
            let there = operands.iter().map(|v| Buffer::upload(&device, v)).collect::<Result<Vec<_>>>()?;
            let biased = Expr::input(0) + Expr::input(1);
            let epilogue = (biased.clone() * biased.sigmoid() + Expr::input(2)).relu();
            let inputs = [Operand::Row(&there[2]), Operand::Full(&there[3])];
            let y = matmul_map(&device, Layout::NT, &there[0], &there[1], [m, n, k], &epilogue, &inputs, &[])?;
            Ok(bytes(&y.read()?))
        }),
        reference: Box::new(move || {
            let [x, w, bias, other] = &plain;
            let p = Pins::HOST;
            let product = reference::matmul(Layout::NT, x, w, [1, m, n, k]);
            let cell = |(i, c): (usize, &f32)| {
                let biased = add(*c, bias[i % n], p);
                max(add(mul(biased, Unary::Sigmoid.apply(biased), p), other[i], p), 0.0)
            };
            bytes(&product.iter().enumerate().map(cell).collect::<Vec<f32>>())
        }),
    }
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
