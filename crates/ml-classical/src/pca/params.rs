//! Parameters of principal component analysis, and their check when a fit starts.

use std::str::FromStr;

use ml_core::check::{not_empty, usize_within};
use ml_core::{DataError, Error, Matrix, ParamError, Result};
use serde_json::{Value, json};

/// Principal component analysis. Parameters are checked when a fit starts.
///
/// Names and defaults are scikit-learn's (`PCA`). Of its parameters, the solvers `"full"`, `"arpack"` and `"randomized"`
/// and `n_components="mle"` are refused by name; `copy`, and `iterated_power`, `n_oversamples`,
/// `power_iteration_normalizer`, `random_state` and `tol`, which only those solvers use, do not exist here.
///
/// # Bit identity
/// Components, variances and every intermediate stage are the same bytes on every device; the module header of `pca`
/// states each rule.
///
/// # Example
/// ```
/// use ml_classical::{Fit, Pca, Transform};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])?;
/// let model = Pca::new().n_components(1).fit(&x, &device)?;
/// assert_eq!(model.components().as_slice(), [1.0, 0.0]);
/// assert_eq!((model.explained_variance(), model.explained_variance_ratio()), (&[4.0f32][..], &[1.0f32][..]));
/// assert_eq!(model.transform(&x, &device)?.as_slice(), [-2.0, 0.0, 2.0]);
/// # Ok::<(), ml_core::Error>(())
/// ```
///
/// # Example: more components than columns
/// ```
/// use ml_classical::{Fit, Pca};
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// let x = Matrix::from_rows(&[[0.0], [1.0]])?;
/// let error = Pca::new().n_components(3).fit(&x, &Device::host()).unwrap_err();
/// assert_eq!(error.to_string(), "parameter `n_components` must be within 1..=1, got 3");
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pca {
    n_components: NComponents,
    whiten: bool,
    svd_solver: SvdSolver,
}

/// How many components are kept.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum NComponents {
    /// As many as there are rows or columns, whichever are fewer.
    #[default]
    All,
    /// This many.
    Count(usize),
    /// The fewest whose variance is more than this part of the total: above 0 and below 1.
    Fraction(f32),
}

impl From<usize> for NComponents {
    fn from(count: usize) -> Self {
        NComponents::Count(count)
    }
}

impl From<f32> for NComponents {
    fn from(fraction: f32) -> Self {
        NComponents::Fraction(fraction)
    }
}

impl FromStr for NComponents {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        const OFFERED: &str = "a whole number, a part between 0 and 1, or none";
        if s == "mle" {
            let (value, instead) = (s.to_owned(), OFFERED.to_owned());
            return Err(ParamError::NotOffered { name: "n_components", value, instead }.into());
        }
        match (s, s.parse(), s.parse()) {
            ("none", _, _) => Ok(NComponents::All),
            (_, Ok(count), _) => Ok(NComponents::Count(count)),
            (_, _, Ok(fraction)) => Ok(NComponents::Fraction(fraction)),
            _ => Err(ParamError::out_of_bound("n_components", OFFERED, s).into()),
        }
    }
}

/// How components are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SvdSolver {
    /// `"auto"`: the same as [`SvdSolver::CovarianceEigh`].
    #[default]
    Auto,
    /// `"covariance_eigh"`: eigenvectors of the covariance matrix.
    CovarianceEigh,
}

impl SvdSolver {
    /// The name that [`SvdSolver::from_str`] takes.
    pub fn name(self) -> &'static str {
        match self {
            SvdSolver::Auto => "auto",
            SvdSolver::CovarianceEigh => "covariance_eigh",
        }
    }
}

impl FromStr for SvdSolver {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "auto" => Ok(SvdSolver::Auto),
            "covariance_eigh" => Ok(SvdSolver::CovarianceEigh),
            "full" | "arpack" | "randomized" => {
                let instead = "auto or covariance_eigh".to_owned();
                Err(ParamError::NotOffered { name: "svd_solver", value: s.to_owned(), instead }.into())
            }
            _ => Err(ParamError::out_of_bound("svd_solver", "auto or covariance_eigh", s).into()),
        }
    }
}

impl Pca {
    /// All components, not whitened.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many components are kept: a whole number from 1 to the number of rows or columns, whichever are fewer, or a
    /// part of the variance. Default [`NComponents::All`].
    #[must_use]
    pub fn n_components(mut self, n_components: impl Into<NComponents>) -> Self {
        self.n_components = n_components.into();
        self
    }

    /// Whether transformed columns are brought to variance 1. Default false.
    #[must_use]
    pub fn whiten(mut self, whiten: bool) -> Self {
        self.whiten = whiten;
        self
    }

    /// How components are computed. Default [`SvdSolver::Auto`].
    #[must_use]
    pub fn svd_solver(mut self, svd_solver: SvdSolver) -> Self {
        self.svd_solver = svd_solver;
        self
    }

    pub(super) fn check(&self, x: &Matrix) -> Result<Plan> {
        not_empty("x", x.view())?;
        if x.rows() < 2 {
            return Err(DataError::shape("x", "2 rows or more", x.rows()).into());
        }
        let most = x.rows().min(x.cols());
        match self.n_components {
            NComponents::All => {}
            NComponents::Count(count) => {
                usize_within("n_components", count, 1, most)?;
            }
            NComponents::Fraction(part) => {
                if !(part > 0.0 && part < 1.0) {
                    return Err(ParamError::out_of_bound("n_components", "above 0 and below 1", part).into());
                }
            }
        }
        Ok(Plan { n_components: self.n_components, whiten: self.whiten, most })
    }

    /// The parameters as a model file shows them.
    pub(super) fn to_json(&self) -> Value {
        let n_components = match self.n_components {
            NComponents::All => Value::Null,
            NComponents::Count(count) => json!(count),
            NComponents::Fraction(part) => json!(part),
        };
        json!({"n_components": n_components, "whiten": self.whiten, "svd_solver": self.svd_solver.name()})
    }
}

/// Checked parameters.
pub(super) struct Plan {
    n_components: NComponents,
    pub whiten: bool,
    /// As many components as there can be.
    pub most: usize,
}

impl Plan {
    /// How many components these eigenvalues, descending and not negative, of this `total` leave.
    pub fn count(&self, values: &[f64], total: f64) -> usize {
        match self.n_components {
            NComponents::All => self.most,
            NComponents::Count(count) => count,
            NComponents::Fraction(part) => {
                let mut sum = 0.0f64;
                let enough = values.iter().position(|v| {
                    sum += v;
                    sum > f64::from(part) * total
                });
                enough.map_or(self.most, |i| (i + 1).min(self.most))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for name in ["auto", "covariance_eigh"] {
            assert_eq!(name.parse::<SvdSolver>().expect("offered").name(), name);
        }
        assert_eq!("12".parse::<NComponents>().expect("whole"), NComponents::Count(12));
        assert_eq!("0.5".parse::<NComponents>().expect("a part"), NComponents::Fraction(0.5));
        assert_eq!("none".parse::<NComponents>().expect("all"), NComponents::All);
    }

    #[test]
    fn what_is_not_offered_is_refused_by_name() {
        for name in ["full", "arpack", "randomized"] {
            let error = name.parse::<SvdSolver>().unwrap_err();
            assert!(matches!(error, Error::Param(ParamError::NotOffered { name: "svd_solver", .. })), "{error}");
        }
        let error = "mle".parse::<NComponents>().unwrap_err();
        assert!(matches!(error, Error::Param(ParamError::NotOffered { name: "n_components", .. })), "{error}");
        assert!(matches!("many".parse::<NComponents>(), Err(Error::Param(ParamError::OutOfBound { .. }))));
    }

    #[test]
    fn a_part_takes_the_fewest_that_exceed_it() {
        let plan = |part| Plan { n_components: NComponents::Fraction(part), whiten: false, most: 4 };
        let values = [4.0, 2.0, 1.0, 1.0];
        assert_eq!(plan(0.49).count(&values, 8.0), 1);
        assert_eq!(plan(0.5).count(&values, 8.0), 2);
        assert_eq!(plan(0.99).count(&values, 8.0), 4);
        assert_eq!(plan(0.5).count(&[0.0; 4], 0.0), 4);
    }
}
