//! Parameters of k-means, and their check when a fit starts.

use std::str::FromStr;

use ml_core::check::{non_negative, not_empty, usize_within};
use ml_core::{DataError, Error, Matrix, ParamError, Result};
use serde_json::{Value, json};

/// Most starts of one fit: the start is half of a random stream's number.
const MAX_RUNS: usize = 65_535;

/// Starting centres that `oversampling_factor` may ask for, as a multiple of the clusters.
const MAX_OVERSAMPLING: f32 = 1_000.0;

/// k-means clustering. Parameters are checked when a fit starts.
///
/// Names and defaults are scikit-learn's; `seed` stands for `random_state` and is 0 unless set. Of its parameters,
/// `algorithm="elkan"` is refused by name, and `copy_x`, `verbose` and sample weights do not exist here.
///
/// # Bit identity
/// Centres, labels, inertia and every intermediate stage are the same bytes on every device. The module header of
/// `kmeans` and that of `kmeans::init` state each rule.
///
/// # Example
/// ```
/// use ml_classical::{Fit, KMeans, Predict, Stop};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[0.0], [1.0], [10.0], [11.0]])?;
/// let model = KMeans::new(2).seed(42).fit(&x, &device)?;
/// assert_eq!(model.inertia(), 1.0);
/// assert_eq!(model.predict(&x, &device)?, model.labels());
/// assert!(matches!(model.stop(), Stop::Converged { .. }));
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Example: more clusters than rows
/// ```
/// use ml_classical::{Fit, KMeans};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let x = Matrix::from_rows(&[[0.0], [1.0]])?;
/// let error = KMeans::new(3).fit(&x, &Device::host()).unwrap_err();
/// assert_eq!(error.to_string(), "parameter `n_clusters` must be at most the number of rows, 2, got 3");
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    n_clusters: usize,
    init: Init,
    n_init: NInit,
    max_iter: usize,
    tol: f32,
    seed: u64,
    algorithm: Algorithm,
    oversampling_factor: f32,
}

/// Where the centres start.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Init {
    /// `"k-means++"`: one centre after the other, each drawn in proportion to the squared distance from those before it,
    /// as the best of 2 + floor(ln k) draws.
    #[default]
    KMeansPlusPlus,
    /// `"k-means||"`: five rounds that draw many candidates at once, thinned by weighted k-means++.
    KMeansParallel,
    /// `"random"`: distinct rows drawn uniformly.
    Random,
    /// These centres, shape (n_clusters, features).
    Centers(Matrix),
}

impl Init {
    /// The name that [`Init::from_str`] takes; given centres have the name `"centers"`.
    pub fn name(&self) -> &'static str {
        match self {
            Init::KMeansPlusPlus => "k-means++",
            Init::KMeansParallel => "k-means||",
            Init::Random => "random",
            Init::Centers(_) => "centers",
        }
    }
}

impl From<Matrix> for Init {
    fn from(centers: Matrix) -> Self {
        Init::Centers(centers)
    }
}

impl FromStr for Init {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "k-means++" => Ok(Init::KMeansPlusPlus),
            "k-means||" => Ok(Init::KMeansParallel),
            "random" => Ok(Init::Random),
            _ => Err(ParamError::out_of_bound("init", "k-means++, k-means||, random or a matrix of centres", s).into()),
        }
    }
}

/// How many starts a fit tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NInit {
    /// 10 for [`Init::Random`], 1 for all others.
    #[default]
    Auto,
    /// This many.
    Times(usize),
}

impl From<usize> for NInit {
    fn from(times: usize) -> Self {
        NInit::Times(times)
    }
}

/// How an iteration is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// `"lloyd"`: every row against every centre.
    #[default]
    Lloyd,
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "lloyd" => Ok(Algorithm::Lloyd),
            "elkan" => {
                Err(ParamError::NotOffered { name: "algorithm", value: s.to_owned(), instead: "lloyd".to_owned() }
                    .into())
            }
            _ => Err(ParamError::out_of_bound("algorithm", "lloyd", s).into()),
        }
    }
}

impl KMeans {
    /// k-means with `n_clusters` clusters (scikit-learn's default is 8) and default parameters.
    pub fn new(n_clusters: usize) -> Self {
        KMeans {
            n_clusters,
            init: Init::default(),
            n_init: NInit::default(),
            max_iter: 300,
            tol: 1e-4,
            seed: 0,
            algorithm: Algorithm::default(),
            oversampling_factor: 2.0,
        }
    }

    /// Number of clusters, from 1 to the number of rows of the fit. The default is what [`KMeans::new`] was given.
    #[must_use]
    pub fn n_clusters(mut self, n_clusters: usize) -> Self {
        self.n_clusters = n_clusters;
        self
    }

    /// Where the centres start; a [`Matrix`] gives them. Default [`Init::KMeansPlusPlus`].
    #[must_use]
    pub fn init(mut self, init: impl Into<Init>) -> Self {
        self.init = init.into();
        self
    }

    /// How many starts are tried, 1 to 65,535; the one with the lowest inertia is kept. Given centres allow 1 only.
    /// Default [`NInit::Auto`].
    #[must_use]
    pub fn n_init(mut self, n_init: impl Into<NInit>) -> Self {
        self.n_init = n_init.into();
        self
    }

    /// Most iterations of one start, at least 1. Default 300.
    #[must_use]
    pub fn max_iter(mut self, max_iter: usize) -> Self {
        self.max_iter = max_iter;
        self
    }

    /// A start ends when its centres move by at most this, as a multiple of the mean variance of the columns; the
    /// movement is squared and summed over all centres. Finite, at least 0. Default 1e-4.
    #[must_use]
    pub fn tol(mut self, tol: f32) -> Self {
        self.tol = tol;
        self
    }

    /// Every random choice is a function of this and of the shape. Default 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How an iteration is computed. Default [`Algorithm::Lloyd`].
    #[must_use]
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Draws in each round of [`Init::KMeansParallel`], as a multiple of `n_clusters`: above 0, at most 1,000. Default 2.
    /// Other starts draw none, so any other value is refused with them.
    #[must_use]
    pub fn oversampling_factor(mut self, factor: f32) -> Self {
        self.oversampling_factor = factor;
        self
    }

    /// The parameters as far as they can be used with `x`.
    pub(super) fn check(&self, x: &Matrix) -> Result<Plan<'_>> {
        usize_within("n_clusters", self.n_clusters, 1, usize::MAX)?;
        let max_iter = usize_within("max_iter", self.max_iter, 1, u32::MAX as usize)? as u32;
        let tol = non_negative("tol", self.tol)?;
        let factor = self.oversampling_factor;
        if !(factor > 0.0 && factor <= MAX_OVERSAMPLING) {
            let bound = format!("above 0 and at most {MAX_OVERSAMPLING}");
            return Err(ParamError::out_of_bound("oversampling_factor", bound, factor).into());
        }
        if factor != 2.0 && self.init != Init::KMeansParallel {
            let bound = format!("2 (unused) with init {}", self.init.name());
            return Err(ParamError::out_of_bound("oversampling_factor", bound, factor).into());
        }
        let n_runs = match self.n_init {
            NInit::Auto if self.init == Init::Random => 10,
            NInit::Auto => 1,
            NInit::Times(times) => usize_within("n_init", times, 1, MAX_RUNS)? as u32,
        };

        not_empty("x", x.view())?;
        if self.n_clusters > x.rows() {
            let bound = format!("at most the number of rows, {}", x.rows());
            return Err(ParamError::out_of_bound("n_clusters", bound, self.n_clusters).into());
        }
        if let Init::Centers(centers) = &self.init {
            if n_runs != 1 {
                return Err(ParamError::out_of_bound("n_init", "1 with given centres", n_runs).into());
            }
            if (centers.rows(), centers.cols()) != (self.n_clusters, x.cols()) {
                let expected = format!("{} x {} (n_clusters x columns)", self.n_clusters, x.cols());
                return Err(
                    DataError::shape("init", expected, format!("{} x {}", centers.rows(), centers.cols())).into()
                );
            }
        }
        Ok(Plan {
            n_clusters: self.n_clusters,
            init: &self.init,
            n_runs,
            max_iter,
            tol,
            seed: self.seed,
            draws: draws_a_round(factor, self.n_clusters),
        })
    }

    /// The parameters as a model file shows them.
    pub(super) fn to_json(&self, plan: &Plan<'_>) -> Value {
        json!({
            "n_clusters": self.n_clusters,
            "init": self.init.name(),
            "n_init": plan.n_runs,
            "max_iter": self.max_iter,
            "tol": plan.tol,
            "seed": self.seed,
            "algorithm": "lloyd",
            "oversampling_factor": self.oversampling_factor,
        })
    }
}

/// `factor` times the clusters, rounded up and at least 1. Below 2^42, so exact in double precision but for the product.
fn draws_a_round(factor: f32, n_clusters: usize) -> usize {
    let draws = f64::from(factor) * n_clusters as f64;
    let whole = draws as usize;
    whole + usize::from(draws > whole as f64)
}

/// Parameters that were checked against the data.
pub(super) struct Plan<'a> {
    pub n_clusters: usize,
    pub init: &'a Init,
    pub n_runs: u32,
    pub max_iter: u32,
    pub tol: f32,
    pub seed: u64,
    /// Draws in each round of k-means||.
    pub draws: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for name in ["k-means++", "k-means||", "random"] {
            assert_eq!(name.parse::<Init>().expect("offered").name(), name);
        }
        assert_eq!("lloyd".parse::<Algorithm>().expect("offered"), Algorithm::Lloyd);
    }

    #[test]
    fn what_is_not_offered_is_refused_by_name() {
        let error = "elkan".parse::<Algorithm>().unwrap_err();
        assert_eq!(error.to_string(), "parameter `algorithm` = elkan is not offered; choose lloyd");
        assert!("k-means+".parse::<Init>().unwrap_err().to_string().contains("`init`"));
        assert!("".parse::<Algorithm>().is_err());
    }

    #[test]
    fn draws_are_rounded_up() {
        assert_eq!(draws_a_round(2.0, 7), 14);
        assert_eq!(draws_a_round(0.5, 7), 4);
        assert_eq!(draws_a_round(1e-30, 7), 1);
    }
}
