//! Parameters that both estimators of neighbours share.

use std::str::FromStr;

use ml_core::check::usize_within;
use ml_core::{Error, ParamError, Result};
use serde_json::{Value, json};

/// How much a neighbour counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weights {
    /// `"uniform"`: all the same.
    #[default]
    Uniform,
    /// `"distance"`: 1 / distance.
    Distance,
}

impl Weights {
    /// The name that [`Weights::from_str`] takes.
    pub fn name(self) -> &'static str {
        match self {
            Weights::Uniform => "uniform",
            Weights::Distance => "distance",
        }
    }
}

impl FromStr for Weights {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "uniform" => Ok(Weights::Uniform),
            "distance" => Ok(Weights::Distance),
            _ => Err(ParamError::out_of_bound("weights", "uniform or distance", s).into()),
        }
    }
}

/// How neighbours are searched: always exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchAlgorithm {
    /// `"auto"`: the best exact search on offer, which is [`SearchAlgorithm::Brute`].
    #[default]
    Auto,
    /// `"brute"`: every row against every row of the fit.
    Brute,
}

impl FromStr for SearchAlgorithm {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "auto" => Ok(SearchAlgorithm::Auto),
            "brute" => Ok(SearchAlgorithm::Brute),
            "ball_tree" | "kd_tree" => Err(not_offered("algorithm", s, "auto or brute")),
            _ => Err(ParamError::out_of_bound("algorithm", "auto or brute", s).into()),
        }
    }
}

/// How far two rows are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// `"minkowski"`: the p-norm of the difference; p = 2 is offered.
    #[default]
    Minkowski,
    /// `"euclidean"`: the same as Minkowski with p = 2.
    Euclidean,
}

impl Metric {
    /// The name that [`Metric::from_str`] takes.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Minkowski => "minkowski",
            Metric::Euclidean => "euclidean",
        }
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "minkowski" => Ok(Metric::Minkowski),
            "euclidean" | "l2" => Ok(Metric::Euclidean),
            _ => Err(not_offered("metric", s, "euclidean, or minkowski with p = 2")),
        }
    }
}

fn not_offered(name: &'static str, value: &str, instead: &str) -> Error {
    ParamError::NotOffered { name, value: value.to_owned(), instead: instead.to_owned() }.into()
}

/// The parameters, unchecked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Params {
    pub n_neighbors: usize,
    pub weights: Weights,
    pub algorithm: SearchAlgorithm,
    pub metric: Metric,
    pub p: f32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            n_neighbors: 5,
            weights: Weights::default(),
            algorithm: SearchAlgorithm::default(),
            metric: Metric::default(),
            p: 2.0,
        }
    }
}

impl Params {
    /// Checks the parameters against a fit of `n` rows.
    pub fn check(&self, n: usize) -> Result<()> {
        usize_within("n_neighbors", self.n_neighbors, 1, usize::MAX)?;
        if self.p.is_nan() || self.p <= 0.0 {
            return Err(ParamError::out_of_bound("p", "above 0", self.p).into());
        }
        if self.p != 2.0 {
            return Err(not_offered("p", &self.p.to_string(), "2"));
        }
        if self.n_neighbors > n {
            let bound = format!("at most the number of rows, {n}");
            return Err(ParamError::out_of_bound("n_neighbors", bound, self.n_neighbors).into());
        }
        Ok(())
    }

    /// The parameters as a model file shows them. `auto` is written as what it stands for.
    pub fn to_json(&self) -> Value {
        json!({
            "n_neighbors": self.n_neighbors,
            "weights": self.weights.name(),
            "algorithm": "brute",
            "metric": self.metric.name(),
            "p": self.p,
        })
    }
}

/// The setters that classifier and regressor share.
macro_rules! setters {
    () => {
        /// How many neighbours count, from 1 to the number of rows of the fit. Default 5.
        #[must_use]
        pub fn n_neighbors(mut self, n_neighbors: usize) -> Self {
            self.0.n_neighbors = n_neighbors;
            self
        }

        /// How much each neighbour counts. Default [`Weights::Uniform`].
        #[must_use]
        pub fn weights(mut self, weights: Weights) -> Self {
            self.0.weights = weights;
            self
        }

        /// How neighbours are searched. Default [`SearchAlgorithm::Auto`].
        #[must_use]
        pub fn algorithm(mut self, algorithm: SearchAlgorithm) -> Self {
            self.0.algorithm = algorithm;
            self
        }

        /// How far two rows are apart. Default [`Metric::Minkowski`].
        #[must_use]
        pub fn metric(mut self, metric: Metric) -> Self {
            self.0.metric = metric;
            self
        }

        /// The exponent of [`Metric::Minkowski`]; 2 is offered. Default 2.
        #[must_use]
        pub fn p(mut self, p: f32) -> Self {
            self.0.p = p;
            self
        }
    };
}
pub(super) use setters;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_offered_is_refused_by_name() {
        for name in ["kd_tree", "ball_tree"] {
            let error = name.parse::<SearchAlgorithm>().unwrap_err().to_string();
            assert_eq!(error, format!("parameter `algorithm` = {name} is not offered; choose auto or brute"));
        }
        let error = "manhattan".parse::<Metric>().unwrap_err().to_string();
        assert!(error.starts_with("parameter `metric` = manhattan is not offered"), "{error}");
        let error = Params { p: 1.0, ..Params::default() }.check(9).unwrap_err().to_string();
        assert_eq!(error, "parameter `p` = 1 is not offered; choose 2");
        assert!(Params { p: f32::NAN, ..Params::default() }.check(9).is_err());
        assert!("callable".parse::<Weights>().unwrap_err().to_string().contains("`weights`"));
    }

    #[test]
    fn names_go_both_ways() {
        for w in [Weights::Uniform, Weights::Distance] {
            assert_eq!(w.name().parse::<Weights>().expect("offered"), w);
        }
        for m in [Metric::Minkowski, Metric::Euclidean] {
            assert_eq!(m.name().parse::<Metric>().expect("offered"), m);
        }
        assert_eq!("auto".parse::<SearchAlgorithm>().expect("offered"), SearchAlgorithm::Auto);
        assert_eq!("brute".parse::<SearchAlgorithm>().expect("offered"), SearchAlgorithm::Brute);
    }
}
