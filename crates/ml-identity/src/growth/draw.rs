//! What is drawn: an estimator, its parameters and the data it is given, all of it a few numbers that a file can hold.

use ml_core::Matrix;
use ml_core::canon::canon;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// One random trial. It is made again from these numbers alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The data.
    pub data: Data,
    /// The estimator and its parameters.
    pub fit: Fit,
}

/// The data of a draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Rows, 1 or more.
    pub rows: usize,
    /// Columns, 1 or more.
    pub cols: usize,
    /// What the numbers are like.
    pub kind: Kind,
    /// Which of the data of this kind.
    pub seed: u64,
}

/// What the numbers of a draw are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Full mantissas, magnitudes from 1/4 to 4.
    Ordinary,
    /// Zeros and ones: nearly everything is tied.
    Ties,
    /// Each row four times.
    Repeated,
    /// Some columns hold one value.
    Constant,
    /// Magnitudes about 2^-63, so that products lie on both sides of 2^-126.
    Subnormal,
    /// Magnitudes from 2^-60 to 2^60.
    Wide,
}

/// An estimator with its parameters; those that scikit-learn would refuse are drawn too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are the estimators' own parameters")]
pub enum Fit {
    KMeans { n_clusters: usize, parallel: bool, n_init: usize, max_iter: usize, tol: f32, seed: u64 },
    KNeighborsClassifier { n_neighbors: usize, distance: bool, classes: u32 },
    KNeighborsRegressor { n_neighbors: usize, distance: bool },
    Pca { n_components: usize, whiten: bool },
    LinearRegression { fit_intercept: bool },
    Ridge { alpha: f32, fit_intercept: bool },
}

impl Draw {
    /// All draws: up to 300 rows, and up to 40 columns. Simpler ones have fewer rows, columns and iterations.
    pub fn any() -> impl Strategy<Value = Draw> {
        (data(), fit()).prop_map(|(data, fit)| Draw { data, fit })
    }

    /// The estimator's name.
    pub fn estimator(&self) -> &'static str {
        match self.fit {
            Fit::KMeans { .. } => "KMeans",
            Fit::KNeighborsClassifier { .. } => "KNeighborsClassifier",
            Fit::KNeighborsRegressor { .. } => "KNeighborsRegressor",
            Fit::Pca { .. } => "PCA",
            Fit::LinearRegression { .. } => "LinearRegression",
            Fit::Ridge { .. } => "Ridge",
        }
    }
}

fn data() -> impl Strategy<Value = Data> {
    let kind = prop_oneof![
        Just(Kind::Ordinary),
        Just(Kind::Ties),
        Just(Kind::Repeated),
        Just(Kind::Constant),
        Just(Kind::Subnormal),
        Just(Kind::Wide),
    ];
    (1..=300usize, 1..=40usize, kind, any::<u64>()).prop_map(|(rows, cols, kind, seed)| Data { rows, cols, kind, seed })
}

fn fit() -> impl Strategy<Value = Fit> {
    let tol = prop_oneof![Just(0.0f32), Just(1e-4), Just(1e-2)];
    let alpha = prop_oneof![Just(0.0f32), Just(1e-6), Just(1.0), Just(1e3), 0.0f32..10.0];
    prop_oneof![
        3 => (1..=20usize, any::<bool>(), 1..=3usize, 1..=12usize, tol, any::<u64>()).prop_map(
            |(n_clusters, parallel, n_init, max_iter, tol, seed)| {
                Fit::KMeans { n_clusters, parallel, n_init, max_iter, tol, seed }
            }
        ),
        2 => (1..=12usize, any::<bool>(), 1..=6u32).prop_map(|(n_neighbors, distance, classes)| {
            Fit::KNeighborsClassifier { n_neighbors, distance, classes }
        }),
        2 => (1..=12usize, any::<bool>())
            .prop_map(|(n_neighbors, distance)| Fit::KNeighborsRegressor { n_neighbors, distance }),
        1 => (1..=12usize, any::<bool>()).prop_map(|(n_components, whiten)| Fit::Pca { n_components, whiten }),
        1 => any::<bool>().prop_map(|fit_intercept| Fit::LinearRegression { fit_intercept }),
        1 => (alpha, any::<bool>()).prop_map(|(alpha, fit_intercept)| Fit::Ridge { alpha, fit_intercept }),
    ]
}

impl Data {
    /// The matrix, canonical.
    ///
    /// # Errors
    /// No rows or no columns.
    ///
    /// # Bit identity
    /// Integers and bit patterns alone: the same bits on every platform.
    pub fn matrix(&self) -> Result<Matrix> {
        let value = |i: usize| {
            let (row, col) = (i / self.cols, i % self.cols);
            let at = match self.kind {
                Kind::Repeated => row / 4 * self.cols + col,
                Kind::Constant if col % 3 == 1 => col,
                _ => i,
            };
            self.value(at as u64)
        };
        let values = (0..self.rows * self.cols).map(value).collect();
        Ok(Matrix::from_vec(self.rows, self.cols, values)?)
    }

    /// Targets, one a row: the same kind of numbers from another stream.
    pub fn targets(&self) -> Vec<f32> {
        (0..self.rows).map(|row| self.value(1 << 40 | row as u64)).collect()
    }

    /// Labels below `classes`, one a row.
    pub fn labels(&self, classes: u32) -> Vec<u32> {
        (0..self.rows).map(|row| (mix(self.seed, 1 << 41 | row as u64) >> 33) as u32 % classes.max(1)).collect()
    }

    fn value(&self, at: u64) -> f32 {
        let word = mix(self.seed, at);
        let (sign, mantissa, spread) =
            (word as u32 & 0x8000_0000, (word >> 40) as u32 & 0x007f_ffff, (word >> 8) as u32);
        let scaled = |least: u32, exponents: u32| f32::from_bits(sign | (least + spread % exponents) << 23 | mantissa);
        canon(match self.kind {
            Kind::Ties => (word & 1) as f32,
            Kind::Subnormal => scaled(60, 8),
            Kind::Wide => scaled(67, 120),
            Kind::Ordinary | Kind::Repeated | Kind::Constant => scaled(125, 4),
        })
    }
}

/// SplitMix64's output function at `at` steps from `seed`.
fn mix(seed: u64, at: u64) -> u64 {
    let z = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
