//! Tests of what launches decide: the guard's exponents, and that no choice of kernel shows.

use super::*;
use crate::contraction::guard::least_exponent;
use crate::contraction::testing::Data;
use crate::contraction::{Term, cell};
use crate::device::on_device;
use crate::num::add;
use crate::sabotage::Arm;
use crate::{Buffer, Device};

/// `batch` contractions of whole operands on `device`.
#[derive(Clone, Copy)]
struct Whole<'a> {
    term: Term,
    contiguous: Contiguous,
    a: &'a Buffer<f32>,
    b: &'a Buffer<f32>,
    dims: [usize; 4],
}

impl Whole<'_> {
    fn dense<R: Runtime>(&self, g: &Gpu<R>, device: &Device, align: usize) -> Dense {
        let [batch, m, n, k] = self.dims;
        let block = |x: &Buffer<f32>, vectors| {
            let data = x.chunks("x", device).expect("lives here");
            let operand = Operand { data, start: 0, strides: None, contiguous: self.contiguous, vectors };
            operand.items(g, 0..batch, k, align).expect("fits")
        };
        Dense {
            rule: Rule::new(self.term, Arm::None),
            a: block(self.a, m),
            b: block(self.b, n),
            a_contiguous: self.contiguous,
            b_contiguous: self.contiguous,
            batch,
            m,
            n,
            k,
            kind: if align > 1 { Kind::Tiles } else { Kind::Cells },
            symmetric: false,
        }
    }
}

/// The guard on the device finds what the host finds, region by region and leaf by leaf, whichever way operands lie.
#[test]
// pathway test: P28
fn least_exponents_are_the_hosts() {
    let (batch, m, n, k) = (2, 70, 33, 1500);
    for device in crate::conformance::test_devices() {
        for contiguous in [Contiguous::K, Contiguous::Vectors] {
            let mut a = Data::Subnormal.values(batch * m * k, 1);
            a[m * k + 11] = 1e-35;
            let b = Data::Ordinary.values(batch * n * k, 2);
            let upload = |x: &[f32]| Buffer::upload(&device, x).expect("fits");
            let (a_there, b_there) = (upload(&a), upload(&b));
            let whole = Whole { term: Term::Product, contiguous, a: &a_there, b: &b_there, dims: [batch, m, n, k] };
            let found: Vec<u32> = on_device!(&device,
            host(_h) => continue,
            gpu(g) => {
                let least = whole.dense(g, &device, 1).least(g).expect("runs");
                g.read_one(&least.handle, least.len).expect("reads")
            });
            let mut wanted = Vec::new();
            for (x, vectors) in [(&a, m), (&b, n)] {
                let at = |item: usize, v: usize, i: usize| match contiguous {
                    Contiguous::K => x[(item * vectors + v) * k + i],
                    Contiguous::Vectors => x[(item * k + i) * vectors + v],
                };
                for item in 0..batch {
                    for region in (0..vectors).step_by(REGION) {
                        for leaf in (0..k).step_by(LEAF) {
                            let own: Vec<f32> = (region..(region + REGION).min(vectors))
                                .flat_map(|v| (leaf..(leaf + LEAF).min(k)).map(move |i| (v, i)))
                                .map(|(v, i)| at(item, v, i))
                                .collect();
                            wanted.push(least_exponent(&own));
                        }
                    }
                }
            }
            assert_eq!(found, wanted, "{device:?} {contiguous:?}");
            assert!(wanted.iter().max() > wanted.iter().min(), "a fixture of one exponent shows nothing");
        }
    }
}

/// Squares of either size, leaves split or not, prefetched or not, guarded before or while fetched, all at once or one by one:
/// the reference's bytes. Five leaves, so that a serial join would show.
#[test]
// pathway test: P39, P139
fn every_choice_gives_the_same_bits() {
    let (m, n, k) = (20, 68, 4100);
    let (ordinary, subnormal) = ((Data::Ordinary, Term::Product), (Data::Subnormal, Term::SquaredDifference));
    let runs = [
        (ordinary, 1, false, false, false, WAITING),
        (ordinary, 1, false, true, false, 3 * tile_elements(1)),
        (ordinary, 1, true, true, false, WAITING),
        (ordinary, 2, false, true, false, WAITING),
        (ordinary, 2, true, false, false, WAITING),
        (subnormal, 1, false, true, false, WAITING),
        (subnormal, 1, true, false, false, 1),
        (ordinary, 1, false, true, true, WAITING),
        (ordinary, 2, true, false, true, WAITING),
        (subnormal, 1, true, true, true, WAITING),
        (subnormal, 1, false, false, true, 1),
        (subnormal, 2, false, true, true, WAITING),
    ];
    for (((data, term), quads, split, prefetch, fused, waiting), workgroups) in
        runs.into_iter().zip([1, usize::MAX, 7].into_iter().cycle())
    {
        let choice = Choice { quads, split, prefetch, fused, waiting, workgroups };
        let (a, b) = (data.values(m * k, 3), data.values(n * k, 4));
        let wanted: Vec<u32> =
            (0..m * n).map(|i| cell(term, k, |p| a[i / n * k + p], |p| b[i % n * k + p]).to_bits()).collect();
        for device in crate::conformance::test_devices() {
            let upload = |x: &[f32]| Buffer::upload(&device, x).expect("fits");
            let (a_there, b_there) = (upload(&a), upload(&b));
            let whole = Whole { term, contiguous: Contiguous::K, a: &a_there, b: &b_there, dims: [1, m, n, k] };
            let found: Vec<f32> = on_device!(&device,
            host(_h) => continue,
            gpu(g) => {
                let work = whole.dense(g, &device, 4);
                let least = work.least(g).expect("runs");
                let out = In { handle: g.alloc_one::<f32>(m * n).expect("fits"), len: m * n };
                let handle = out.handle.clone();
                work.tiles_as(g, choice, &least, out).expect("runs");
                g.read_one(&handle, m * n).expect("reads")
            });
            let found: Vec<u32> = found.iter().map(|v| v.to_bits()).collect();
            assert!(found == wanted, "{device:?} {choice:?} {term:?}");
        }
    }
}

#[test]
// pathway test: P40
fn levels_count_the_sums_that_wait() {
    let leaves = [0, 1, 2, 3, 4, 5, 8, 9];
    assert_eq!(leaves.map(|n| levels(n * LEAF)), [0, 0, 1, 2, 2, 3, 3, 4]);
}

/// However many leaves there are and in however many launches they are joined, it is the tree's sum.
#[test]
// pathway test: P137
fn leaves_are_joined_as_the_tree_says() {
    let (batch, m) = (2, 3);
    for leaves in [2, 3, 5, 31, 32, 33, 65, 1025] {
        let values = Data::Ordinary.values(batch * leaves * m, 5);
        let tree = |item: usize, cell: usize| {
            let mut level: Vec<f32> = (0..leaves).map(|leaf| values[(item * leaves + leaf) * m + cell]).collect();
            while level.len() > 1 {
                level = level.chunks(2).map(|x| if let [a, b] = x { add(*a, *b, Pins::HOST) } else { x[0] }).collect();
            }
            level[0].to_bits()
        };
        let wanted: Vec<u32> = (0..batch * m).map(|i| tree(i / m, i % m)).collect();
        for device in crate::conformance::test_devices() {
            let parts = Buffer::upload(&device, &values).expect("fits");
            let found: Vec<f32> = on_device!(&device,
            host(_h) => continue,
            gpu(g) => {
                let parts = parts.chunks("parts", &device).expect("lives here").view(g, 0..values.len()).expect("fits");
                let out = In { handle: g.alloc_one::<f32>(batch * m).expect("fits"), len: batch * m };
                let work = Dense {
                    rule: Rule::new(Term::Product, Arm::None),
                    a: Block { data: parts.clone(), stride: 1 },
                    b: Block { data: parts.clone(), stride: 1 },
                    a_contiguous: Contiguous::K,
                    b_contiguous: Contiguous::K,
                    batch,
                    m,
                    n: 1,
                    k: leaves * LEAF - 7,
                    kind: Kind::Tall,
                    symmetric: false,
                };
                work.join(g, parts, &out).expect("runs");
                g.read_one(&out.handle, batch * m).expect("reads")
            });
            let found: Vec<u32> = found.iter().map(|v| v.to_bits()).collect();
            assert_eq!(found, wanted, "{device:?} {leaves} leaves");
        }
    }
}

/// Tables of any number of columns that the kernel for Gram matrices takes, of leaves that fill its workgroups or do not,
/// proved plain, not proved, and both side by side.
#[test]
// pathway test: P138
fn gram_matrices_of_tall_tables_are_the_references() {
    let shapes = [[1, 1, 40_000], [1, 8, 17_000], [2, 13, 1100], [1, 21, 9000], [1, 32, 2048], [1, 38, 5000]];
    for (i, [batch, m, k]) in shapes.into_iter().chain([[2, 45, 1025], [1, 50, 4100], [1, 64, 3000]]).enumerate() {
        let mut x = if i % 3 == 2 { Data::Subnormal } else { Data::Ordinary }.values(batch * k * m, 6);
        if i % 3 == 1 {
            x[m * LEAF..m * k.min(2 * LEAF)].copy_from_slice(&Data::Subnormal.values(m * (k.min(2 * LEAF) - LEAF), 7));
        }
        let at = |item: usize, v: usize, p: usize| x[(item * k + p) * m + v];
        let cell_of =
            |item, r: usize, c: usize| cell(Term::Product, k, |p| at(item, r, p), |p| at(item, c, p)).to_bits();
        let wanted: Vec<u32> = (0..batch * m * m).map(|i| cell_of(i / m / m, i / m % m, i % m)).collect();
        for device in crate::conformance::test_devices() {
            let there = Buffer::upload(&device, &x).expect("fits");
            let contiguous = Contiguous::Vectors;
            let whole = Whole { term: Term::Product, contiguous, a: &there, b: &there, dims: [batch, m, m, k] };
            for prefetch in [false, true] {
                let found: Vec<f32> = on_device!(&device,
                host(_h) => continue,
                gpu(g) => {
                    let out = In { handle: g.alloc_one::<f32>(batch * m * m).expect("fits"), len: batch * m * m };
                    whole.dense(g, &device, 4).gram_as(g, prefetch, &out).expect("runs");
                    g.read_one(&out.handle, batch * m * m).expect("reads")
                });
                let found: Vec<u32> = found.iter().map(|v| v.to_bits()).collect();
                assert!(found == wanted, "{device:?} {batch}x{m}x{k} {prefetch}");
            }
        }
    }
}
