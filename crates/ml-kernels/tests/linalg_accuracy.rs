//! Decompositions against LAPACK's single precision on the same matrices: no error above twice LAPACK's.
//!
//! `fixtures/oracle/make_linalg.py` says how the matrices are made and wrote LAPACK's errors to `linalg.json`.

use ml_kernels::linalg::{
    Triangle, cholesky, cholesky_solve, lstsq, lu, qr, singular_values, solve, svd, symmetric_eigen, triangular_solve,
};
use ml_kernels::{Buffer, Device};
use serde_json::Value;

/// A matrix in double precision.
#[derive(Clone)]
struct Dense {
    m: usize,
    n: usize,
    a: Vec<f64>,
}

impl Dense {
    fn new(m: usize, n: usize, at: impl Fn(usize, usize) -> f64) -> Dense {
        Dense { m, n, a: (0..m * n).map(|k| at(k / n, k % n)).collect() }
    }

    fn read(m: usize, n: usize, x: &Buffer<f32>) -> Dense {
        Dense { m, n, a: x.read().expect("reads").into_iter().map(f64::from).collect() }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.a[i * self.n + j]
    }

    fn t(&self) -> Dense {
        Dense::new(self.n, self.m, |i, j| self.at(j, i))
    }

    fn times(&self, other: &Dense) -> Dense {
        let mut a = vec![0.0f64; self.m * other.n];
        for i in 0..self.m {
            for k in 0..self.n {
                let (x, row) = (self.at(i, k), &other.a[k * other.n..(k + 1) * other.n]);
                a[i * other.n..(i + 1) * other.n].iter_mut().zip(row).for_each(|(c, y)| *c += x * y);
            }
        }
        Dense { m: self.m, n: other.n, a }
    }

    fn minus(&self, other: &Dense) -> Dense {
        Dense { a: self.a.iter().zip(&other.a).map(|(x, y)| x - y).collect(), ..*self }
    }

    fn norm(&self) -> f64 {
        self.a.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// |Q'Q - I| of orthonormal columns.
    fn skew(&self) -> f64 {
        self.t().times(self).minus(&Dense::new(self.n, self.n, |i, j| f64::from(u8::from(i == j)))).norm()
    }

    /// The elements as they are in single precision.
    fn upload(&self) -> Buffer<f32> {
        let single: Vec<f32> = self.a.iter().map(|&x| x as f32).collect();
        Buffer::upload(&Device::host(), &single).expect("fits")
    }
}

fn mix(mut x: u32) -> u32 {
    x = (x ^ 61) ^ (x >> 16);
    x = x.wrapping_mul(9);
    x ^= x >> 4;
    x = x.wrapping_mul(0x27d4_eb2d);
    x ^ (x >> 15)
}

fn hash(seed: u32, i: usize) -> u32 {
    mix(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i as u32)) >> 8
}

fn unit(seed: u32, i: usize) -> f64 {
    f64::from(hash(seed, i)) / 8_388_608.0 - 1.0
}

fn half_to_the(k: usize) -> f64 {
    f64::from_bits(((1023 - k) as u64) << 52)
}

/// As `make_linalg.py` has it; every element is a single-precision number.
fn matrix(kind: &str, m: usize, n: usize, seed: u32) -> Dense {
    let single = |x: f64| f64::from(x as f32);
    Dense::new(m, n, |i, j| match kind {
        "random" => unit(seed, i * n + j),
        "graded" => unit(seed, i * n + j) * half_to_the((i + j) / 8),
        "hilbert" => f64::from(1.0f32 / (i + j + 1) as f32),
        "deficient" => {
            let r = (m.min(n) / 4).max(1);
            let small = |seed: u32, k: usize| f64::from(hash(seed, k) % 16) - 8.0;
            (0..r).map(|k| small(seed, i * r + k) * small(seed + 1, k * n + j)).sum()
        }
        "clustered" => {
            let diagonal = if i == j { 1.0 + (i % 2) as f64 } else { 0.0 };
            single(diagonal + unit(seed, i * n + j) * half_to_the(14))
        }
        other => panic!("the oracle names the kind {other}"),
    })
}

/// Asserts and prints each comparison.
struct Judge {
    case: String,
    worst: f64,
}

impl Judge {
    /// An error of ours against LAPACK's. Below half a unit in the last place of 1 nothing can be told apart: rounding the
    /// exact result would give as much.
    fn compare(&mut self, what: &str, ours: f64, of: &Value) {
        let lapack = of[what].as_f64().expect("the oracle has a number");
        let bound = 2.0 * lapack.max(half_to_the(24));
        println!("{} {what}: {ours:.2e}, LAPACK {lapack:.2e}", self.case);
        assert!(ours <= bound, "{} {what}: {ours:e} is above twice LAPACK's {lapack:e}", self.case);
        self.worst = self.worst.max(ours / lapack.max(half_to_the(24)));
    }

    /// Values against those of double precision, relative to the largest of them.
    fn values(&self, ours: &[f64], of: &Value) {
        let want: Vec<f64> =
            of["values"].as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect();
        let step = (ours.len() / 8).max(1);
        let largest = ours.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (got, want) in ours.iter().step_by(step).zip(&want) {
            assert!((got - want).abs() <= half_to_the(23) * largest, "{}: {got} for {want}", self.case);
        }
    }
}

fn oracle() -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/oracle/linalg.json");
    let bytes = std::fs::read(path).expect("the oracle is in the repository");
    serde_json::from_slice(&bytes).expect("the oracle is JSON")
}

fn whole(of: &Value) -> usize {
    of.as_u64().expect("a whole number") as usize
}

#[test]
fn rectangular_matrices() {
    let oracle = oracle();
    let (seed, nrhs) = (whole(&oracle["seed"]) as u32, whole(&oracle["right_sides"]));
    let device = Device::host();
    let cases = oracle["rectangular"].as_array().expect("a list");
    assert_eq!(cases.len(), 30);
    for of in cases {
        let (kind, m, n) = (of["kind"].as_str().expect("a name"), whole(&of["m"]), whole(&of["n"]));
        let k = m.min(n);
        let mut judge = Judge { case: format!("{kind} {m}x{n}"), worst: 0.0 };
        let a = matrix(kind, m, n, seed);
        let x = a.upload();

        let found = lu(&device, &x, m, n).expect("finite");
        let (packed, order) = (Dense::read(m, n, &found.factors), found.order.read().expect("reads"));
        let l = Dense::new(m, k, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => packed.at(i, j),
        });
        let u = Dense::new(k, n, |i, j| if i <= j { packed.at(i, j) } else { 0.0 });
        let exchanged = Dense::new(m, n, |i, j| a.at(order[i] as usize, j));
        judge.compare("lu", exchanged.minus(&l.times(&u)).norm() / a.norm(), of);

        let (q, r) = qr(&device, &x, m, n).expect("finite");
        let (q, r) = (Dense::read(m, k, &q), Dense::read(k, n, &r));
        judge.compare("qr", a.minus(&q.times(&r)).norm() / a.norm(), of);
        judge.compare("qr_skew", q.skew(), of);

        let found = svd(&device, &x, m, n).expect("converges");
        let (u, vt) = (Dense::read(m, k, &found.u), Dense::read(k, n, &found.vt));
        let values = Dense::read(1, k, &found.values).a;
        let scaled = Dense::new(m, k, |i, j| u.at(i, j) * values[j]);
        judge.compare("svd", a.minus(&scaled.times(&vt)).norm() / a.norm(), of);
        judge.compare("svd_u_skew", u.skew(), of);
        judge.compare("svd_v_skew", vt.t().skew(), of);
        judge.values(&values, of);
        assert_eq!(Dense::read(1, k, &singular_values(&device, &x, m, n).expect("converges")).a, values);

        let b = Dense::new(m, nrhs, |i, j| unit(seed + 7, i * nrhs + j));
        let found = lstsq(&device, &x, &b.upload(), m, n, nrhs, None).expect("converges");
        let x = Dense::read(n, nrhs, &found.solution);
        let rest = b.minus(&a.times(&x));
        let size = a.norm() * (a.norm() * x.norm() + b.norm());
        judge.compare("lstsq", a.t().times(&rest).norm() / size, of);
        assert_eq!(found.rank, whole(&of["lstsq_rank"]), "{}: rank", judge.case);
        // Of all solutions the shortest; how sharp that is depends on how far the last value is from the cut.
        let length = of["lstsq_length"].as_f64().expect("a number");
        assert!((x.norm() - length).abs() <= 1e-4 * length, "{}: {} for {length}", judge.case, x.norm());
        println!("{}: at worst {:.2} of LAPACK's error", judge.case, judge.worst);
    }
}

/// |b - A x| / (|A| |x| + |b|).
fn backward(a: &Dense, x: &Dense, b: &Dense) -> f64 {
    b.minus(&a.times(x)).norm() / (a.norm() * x.norm() + b.norm())
}

#[test]
fn square_matrices() {
    let oracle = oracle();
    let (seed, nrhs) = (whole(&oracle["seed"]) as u32, whole(&oracle["right_sides"]));
    let device = Device::host();
    let cases = oracle["square"].as_array().expect("a list");
    assert_eq!(cases.len(), 15);
    for of in cases {
        let (kind, n) = (of["kind"].as_str().expect("a name"), whole(&of["n"]));
        let mut judge = Judge { case: format!("{kind} {n}"), worst: 0.0 };
        let a = matrix(kind, n, n, seed);
        let s = Dense::new(n, n, |i, j| a.at(i.max(j), i.min(j)));
        let b = Dense::new(n, nrhs, |i, j| unit(seed + 7, i * nrhs + j));

        let (values, vectors) = symmetric_eigen(&device, &s.upload(), n).expect("converges");
        let (values, v) = (Dense::read(1, n, &values).a, Dense::read(n, n, &vectors).t());
        let scaled = Dense::new(n, n, |i, j| v.at(i, j) * values[j]);
        judge.compare("eigen", s.times(&v).minus(&scaled).norm() / s.norm(), of);
        judge.compare("eigen_skew", v.skew(), of);
        judge.values(&values, of);

        let bound = n as f64 * s.a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let shift = std::iter::successors(Some(half_to_the(60)), |x| Some(2.0 * x)).find(|x| *x >= bound);
        let shift = shift.expect("a power of two above");
        let single = |x: f64| f64::from(x as f32);
        let positive = Dense::new(n, n, |i, j| if i == j { single(s.at(i, j) + shift) } else { s.at(i, j) });
        let l = cholesky(&device, &positive.upload(), n).expect("positive definite");
        let x = Dense::read(n, nrhs, &cholesky_solve(&device, &l, &b.upload(), n, nrhs).expect("solves"));
        let l = Dense::read(n, n, &l);
        judge.compare("cholesky", positive.minus(&l.times(&l.t())).norm() / positive.norm(), of);
        judge.compare("cholesky_solve", backward(&positive, &x, &b), of);

        let part = |i: usize, j: usize| single(a.at(i, j) / (shift / 8.0));
        let t = Dense::new(n, n, |i, j| if i > j { part(i, j) } else { f64::from(u8::from(i == j)) });
        let x = triangular_solve(&device, &t.upload(), &b.upload(), n, nrhs, Triangle::default()).expect("regular");
        judge.compare("triangular", backward(&t, &Dense::read(n, nrhs, &x), &b), of);

        if !of["solve"].is_null() {
            let x = solve(&device, &a.upload(), &b.upload(), n, nrhs).expect("regular");
            judge.compare("solve", backward(&a, &Dense::read(n, nrhs, &x), &b), of);
        }
        println!("{}: at worst {:.2} of LAPACK's error", judge.case, judge.worst);
    }
}
