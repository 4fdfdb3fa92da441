//! The table of estimators: what can be fitted, with which parameters, and what its models can do.

use isobit::classical::kmeans::{self, Init, NInit};
use isobit::classical::linear::RidgeSolver;
use isobit::classical::neighbors::{Metric, SearchAlgorithm};
use isobit::classical::pca::{NComponents, SvdSolver};
use isobit::core::ModelError;
use isobit::core::model::{ModelReader, ModelWriter};
use isobit::prelude::*;

use crate::error::{Error, Result};
use crate::params::{Param, apply, named, number, params, truth, whole};

/// The targets of a fit.
pub enum Target {
    /// None: learns from rows alone.
    None,
    /// One class a row.
    Classes(Vec<u32>),
    /// One number a row.
    Numbers(Vec<f32>),
}

/// What an estimator needs for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// One class a row.
    Classes,
    /// One number a row.
    Numbers,
}

/// One prediction a row.
pub enum Predicted {
    /// Classes or clusters.
    Classes(Vec<u32>),
    /// Numbers.
    Numbers(Vec<f32>),
}

/// What the command does with a fitted model. `None`: the model cannot.
pub trait Model {
    /// Predicts one value a row.
    fn predict(&self, _x: &Matrix, _cx: &mut Context<'_>) -> Option<isobit::Result<Predicted>> {
        None
    }

    /// Predicts the probability of each class.
    fn probabilities(&self, _x: &Matrix, _cx: &mut Context<'_>) -> Option<isobit::Result<(Vec<u32>, Matrix)>> {
        None
    }

    /// Maps each row to another space.
    fn transform(&self, _x: &Matrix, _cx: &mut Context<'_>) -> Option<isobit::Result<Matrix>> {
        None
    }
}

/// An estimator as the command sees it.
pub trait Estimator: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Its name in the library and in model files.
    fn kind(&self) -> &'static str;
    /// What it learns, in a few words.
    fn about(&self) -> &'static str;
    /// What it needs for a target.
    fn needs(&self) -> Needs;
    /// Names of its parameters and the values that they take.
    fn params(&self) -> Vec<(&'static str, &'static str)>;
    /// Checks that the parameters given are its own and can be read.
    ///
    /// # Errors
    /// [`Error::UnknownParam`]; [`isobit::core::ParamError`].
    fn check(&self, given: &[(&str, &str)]) -> Result<()>;
    /// Fits; the model as the parts of its file.
    ///
    /// # Errors
    /// Those of [`Estimator::check`] and of the fit.
    fn fit(&self, given: &[(&str, &str)], x: &Matrix, target: &Target, cx: &mut Context<'_>) -> Result<ModelWriter>;
    /// The model of a verified file.
    ///
    /// # Errors
    /// [`ModelError`], [`isobit::core::DataError`].
    fn load(&self, file: &ModelReader) -> Result<Box<dyn Model>>;
}

/// How an estimator fits, and what to.
enum Fits<E, M> {
    /// Rows alone.
    Rows(fn(&E, &Matrix, &mut Context<'_>) -> isobit::Result<M>),
    /// Rows and classes.
    Classes(fn(&E, &Matrix, &[u32], &mut Context<'_>) -> isobit::Result<M>),
    /// Rows and numbers.
    Numbers(fn(&E, &Matrix, &[f32], &mut Context<'_>) -> isobit::Result<M>),
}

/// A row of the table.
struct Row<E: 'static, M> {
    name: &'static str,
    about: &'static str,
    new: fn() -> E,
    params: &'static [Param<E>],
    fits: Fits<E, M>,
}

impl<E, M: Model + Persist + 'static> Estimator for Row<E, M> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> &'static str {
        M::KIND
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn needs(&self) -> Needs {
        match self.fits {
            Fits::Rows(_) => Needs::Nothing,
            Fits::Classes(_) => Needs::Classes,
            Fits::Numbers(_) => Needs::Numbers,
        }
    }

    fn params(&self) -> Vec<(&'static str, &'static str)> {
        self.params.iter().map(|p| (p.name, p.takes)).collect()
    }

    fn check(&self, given: &[(&str, &str)]) -> Result<()> {
        apply(M::KIND, (self.new)(), self.params, given).map(drop)
    }

    fn fit(&self, given: &[(&str, &str)], x: &Matrix, target: &Target, cx: &mut Context<'_>) -> Result<ModelWriter> {
        let estimator = apply(M::KIND, (self.new)(), self.params, given)?;
        let model = match (&self.fits, target) {
            (Fits::Rows(fit), Target::None) => fit(&estimator, x, cx)?,
            (Fits::Classes(fit), Target::Classes(y)) => fit(&estimator, x, y, cx)?,
            (Fits::Numbers(fit), Target::Numbers(y)) => fit(&estimator, x, y, cx)?,
            _ => return Err(Error::Choice(format!("{} needs {}", M::KIND, self.needs().in_words()))),
        };
        Ok(model.to_writer()?)
    }

    fn load(&self, file: &ModelReader) -> Result<Box<dyn Model>> {
        Ok(Box::new(M::from_reader(file)?))
    }
}

impl Needs {
    /// For messages.
    pub fn in_words(self) -> &'static str {
        match self {
            Needs::Nothing => "no target: leave --target out",
            Needs::Classes => "a column of classes: name it with --target",
            Needs::Numbers => "a column of numbers: name it with --target",
        }
    }
}

/// Both estimators of neighbours have the same parameters.
macro_rules! neighbors {
    () => {
        params! {
            n_neighbors: whole, "from 1 to the number of rows (5)";
            weights: named::<Weights>, "uniform or distance (uniform)";
            algorithm: named::<SearchAlgorithm>, "auto or brute (auto)";
            metric: named::<Metric>, "minkowski or euclidean (minkowski)";
            p: number, "2 (2)";
        }
    };
}

static KMEANS: Row<KMeans, KMeansModel> = Row {
    name: "kmeans",
    about: "clusters by k-means",
    new: || KMeans::new(8),
    params: params! {
        n_clusters: whole, "from 1 to the number of rows (8)";
        init: named::<Init>, "k-means++, k-means|| or random (k-means++)";
        n_init: n_init, "from 1 to 65535, or auto (auto)";
        max_iter: whole, "at least 1 (300)";
        tol: number, "at least 0 (1e-4)";
        seed: whole, "a whole number (0)";
        algorithm: named::<kmeans::Algorithm>, "lloyd (lloyd)";
        oversampling_factor: number, "above 0 and at most 1000, with init k-means|| (2)";
    },
    fits: Fits::Rows(|e, x, cx| e.fit_in(x, cx)),
};

static KNN_CLASSIFIER: Row<KNeighborsClassifier, KNeighborsClassifierModel> = Row {
    name: "knn-classifier",
    about: "classifies by the nearest neighbours",
    new: KNeighborsClassifier::new,
    params: neighbors!(),
    fits: Fits::Classes(|e, x, y, cx| e.fit_in(x, y, cx)),
};

static KNN_REGRESSOR: Row<KNeighborsRegressor, KNeighborsRegressorModel> = Row {
    name: "knn-regressor",
    about: "predicts the mean of the nearest neighbours",
    new: KNeighborsRegressor::new,
    params: neighbors!(),
    fits: Fits::Numbers(|e, x, y, cx| e.fit_in(x, y, cx)),
};

static PCA: Row<Pca, PcaModel> = Row {
    name: "pca",
    about: "finds principal components",
    new: Pca::new,
    params: params! {
        n_components: named::<NComponents>, "a whole number, a part of the variance between 0 and 1, or none (none)";
        whiten: truth, "true or false (false)";
        svd_solver: named::<SvdSolver>, "auto or covariance_eigh (auto)";
    },
    fits: Fits::Rows(|e, x, cx| e.fit_in(x, cx)),
};

static LINEAR: Row<LinearRegression, LinearRegressionModel> = Row {
    name: "linear",
    about: "least squares",
    new: LinearRegression::new,
    params: params! {
        fit_intercept: truth, "true or false (true)";
        positive: truth, "false (false)";
    },
    fits: Fits::Numbers(|e, x, y, cx| e.fit_in(x, y, cx)),
};

static RIDGE: Row<Ridge, RidgeModel> = Row {
    name: "ridge",
    about: "least squares with a penalty on the coefficients",
    new: Ridge::new,
    params: params! {
        alpha: number, "at least 0 (1)";
        fit_intercept: truth, "true or false (true)";
        solver: named::<RidgeSolver>, "auto or cholesky (auto)";
        positive: truth, "false (false)";
    },
    fits: Fits::Numbers(|e, x, y, cx| e.fit_in(x, y, cx)),
};

/// Every estimator of the command.
pub static ALL: [&dyn Estimator; 6] = [&KMEANS, &KNN_CLASSIFIER, &KNN_REGRESSOR, &PCA, &LINEAR, &RIDGE];

/// The estimator of this name: the command's or the library's.
///
/// # Errors
/// [`Error::UnknownEstimator`].
pub fn by_name(name: &str) -> Result<&'static dyn Estimator> {
    ALL.into_iter()
        .find(|e| e.name() == name || e.kind() == name)
        .ok_or_else(|| Error::UnknownEstimator { name: name.to_owned(), known: ALL.map(|e| e.name()).join(", ") })
}

/// The model of a verified file, whatever it is.
///
/// # Errors
/// [`ModelError::Kind`] for an estimator that the command does not know; what the model refuses.
pub fn load(file: &ModelReader) -> Result<Box<dyn Model>> {
    match ALL.into_iter().find(|e| e.kind() == file.kind()) {
        Some(estimator) => estimator.load(file),
        None => {
            let (path, found) = (file.path().to_owned(), file.kind().to_owned());
            Err(ModelError::Kind { path, found, expected: ALL.map(|e| e.kind()).join(" or ") }.into())
        }
    }
}

fn n_init(name: &'static str, text: &str) -> Result<NInit> {
    if text == "auto" { Ok(NInit::Auto) } else { whole(name, text).map(NInit::Times) }
}

impl Model for KMeansModel {
    fn predict(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<Predicted>> {
        Some(self.predict_in(x, cx).map(Predicted::Classes))
    }

    fn transform(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<Matrix>> {
        Some(self.transform_in(x, cx))
    }
}

impl Model for KNeighborsClassifierModel {
    fn predict(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<Predicted>> {
        Some(self.predict_in(x, cx).map(Predicted::Classes))
    }

    fn probabilities(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<(Vec<u32>, Matrix)>> {
        Some(self.predict_proba_in(x, cx).map(|p| (self.classes().to_vec(), p)))
    }
}

impl Model for KNeighborsRegressorModel {
    fn predict(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<Predicted>> {
        Some(self.predict_in(x, cx).map(Predicted::Numbers))
    }
}

impl Model for PcaModel {
    fn transform(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<Matrix>> {
        Some(self.transform_in(x, cx))
    }
}

impl Model for LinearRegressionModel {
    fn predict(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<Predicted>> {
        Some(self.predict_in(x, cx).map(Predicted::Numbers))
    }
}

impl Model for RidgeModel {
    fn predict(&self, x: &Matrix, cx: &mut Context<'_>) -> Option<isobit::Result<Predicted>> {
        Some(self.predict_in(x, cx).map(Predicted::Numbers))
    }
}
