//! Boosting for classes.

use ml_core::model::{ANY, ModelReader, ModelWriter};
use ml_core::{DataError, Matrix, ModelError, ParamError, Result};
use ml_kernels::traits::{FitTarget, Persist, Predict};
use ml_kernels::{Context, Device};

use super::model::{Boosted, boosted_model};
use super::params::{BoostingType, Bootstrap, ClassWeights, LeafEstimation, Params, builders};
use super::regressor::same_width;
use super::train::{Table, Task, train};
use crate::dataset::{Dataset, finite};
use crate::ensemble::Ensemble;
use crate::explain::Importance;
use crate::grow::GrowPolicy;
use crate::loss::{Link, Loss};

const TAG: &str = "gradient_boosting_classifier";

/// Boosted trees for classes. Parameters are checked when a fit starts.
///
/// Two classes are fitted by Logloss, more by MultiClass, unless [`GradientBoostingClassifier::loss`] says otherwise. Other
/// defaults are those of [`super::GradientBoostingRegressor`].
///
/// # Bit identity
/// The model and every stage are the same bytes on every device; the module header of `boosting` states each rule.
///
/// # Example
/// ```
/// use ml_core::Matrix;
/// use ml_kernels::Device;
/// use ml_kernels::traits::{FitTarget, Predict};
/// use ml_trees::GradientBoostingClassifier;
/// let device = Device::host();
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [3.0]])?;
/// let boosting = GradientBoostingClassifier::new().n_estimators(20).min_child_weight(0.0);
/// let model = boosting.fit(&x, &[7, 7, 9, 9], &device)?;
/// assert_eq!(model.predict(&x, &device)?, [7, 7, 9, 9]);
/// # Ok::<(), ml_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GradientBoostingClassifier {
    pub(super) params: Params,
    loss: Option<Loss>,
}

builders!(GradientBoostingClassifier);

impl Default for GradientBoostingClassifier {
    fn default() -> Self {
        Self::new()
    }
}

impl GradientBoostingClassifier {
    /// Default parameters.
    pub fn new() -> Self {
        GradientBoostingClassifier { params: Params::new(Loss::Logloss), loss: None }
    }

    /// Logloss (two classes), MultiClass or MultiClassOneVsAll. Default by the number of classes.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = Some(loss);
        self
    }

    /// What the rows of a class weigh, beside their own weights. Default all the same.
    #[must_use]
    pub fn class_weights(mut self, class_weights: ClassWeights) -> Self {
        self.params.class_weights = class_weights;
        self
    }

    /// Fits to rows that may lack values, hold categories or have weights.
    ///
    /// Stages: as for [`super::GradientBoostingRegressor::fit_rows_in`], named `gradient_boosting_classifier`.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_rows_in(&self, x: &Dataset, y: &[u32], cx: &mut Context<'_>) -> Result<GradientBoostingClassifierModel> {
        self.run(x, y, None, None, cx)
    }

    /// [`GradientBoostingClassifier::fit_rows_in`] on `device`, unrecorded.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    pub fn fit_rows(&self, x: &Dataset, y: &[u32], device: &Device) -> Result<GradientBoostingClassifierModel> {
        self.fit_rows_in(x, y, &mut Context::new(device))
    }

    /// Fits while evaluating each iteration on other rows, whose classes must be among those of `y`.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`].
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_eval_in(
        &self,
        x: &Dataset,
        y: &[u32],
        eval: (&Dataset, &[u32]),
        cx: &mut Context<'_>,
    ) -> Result<GradientBoostingClassifierModel> {
        self.run(x, y, Some(eval), None, cx)
    }

    /// Goes on from `model`, as [`super::GradientBoostingRegressor::fit_more_in`] does. The classes must be the model's.
    ///
    /// # Errors
    /// Those of [`FitTarget::fit_in`], and [`DataError::Shape`] for a model of other columns, outputs or classes.
    ///
    /// # Bit identity
    /// As for [`FitTarget::fit_in`].
    pub fn fit_more_in(
        &self,
        model: &GradientBoostingClassifierModel,
        x: &Dataset,
        y: &[u32],
        eval: Option<(&Dataset, &[u32])>,
        cx: &mut Context<'_>,
    ) -> Result<GradientBoostingClassifierModel> {
        self.run(x, y, eval, Some(model), cx)
    }

    fn run(
        &self,
        x: &Dataset,
        y: &[u32],
        eval: Option<(&Dataset, &[u32])>,
        start: Option<&GradientBoostingClassifierModel>,
        cx: &mut Context<'_>,
    ) -> Result<GradientBoostingClassifierModel> {
        let mut classes = y.to_vec();
        classes.sort_unstable();
        classes.dedup();
        if let Some(start) = start {
            if let Some(class) = classes.iter().find(|c| start.classes.binary_search(c).is_err()) {
                return Err(DataError::shape("y", format!("classes of the model {:?}", start.classes), class).into());
            }
            classes.clone_from(&start.classes);
        }
        if classes.len() < 2 || classes.len() > MAX_CLASSES {
            let expected = format!("of 2 to {MAX_CLASSES} classes");
            return Err(DataError::shape("y", expected, format!("{} classes", classes.len())).into());
        }
        let loss = self.loss.unwrap_or(if classes.len() == 2 { Loss::Logloss } else { Loss::MultiClass });
        let outputs = match loss {
            Loss::Logloss if classes.len() == 2 => 1,
            Loss::Logloss => {
                let bound = format!("MultiClass or MultiClassOneVsAll for {} classes", classes.len());
                return Err(ParamError::out_of_bound("loss", bound, loss.name()).into());
            }
            Loss::MultiClass | Loss::MultiClassOneVsAll => classes.len(),
            other => {
                return Err(ParamError::NotOffered {
                    name: "loss",
                    value: other.name().to_owned(),
                    instead: "Logloss, MultiClass or MultiClassOneVsAll".to_owned(),
                }
                .into());
            }
        };
        if let Some(start) = start
            && (start.boosted.ensemble.features() != x.cols() || start.boosted.outputs() != outputs)
        {
            let expected = format!("of {} columns and {outputs} outputs", x.cols());
            return Err(DataError::shape("model", expected, "another").into());
        }
        let params = Params { loss, ..self.params.clone() };
        let weights = self.weights(&classes, x, y)?;
        let train_table = Table { data: x, targets: vec![numbers(&classes, x, y)?], weights };
        let eval = match eval {
            Some((data, y)) => {
                let weights = data.weights().map(<[f32]>::to_vec);
                Some(same_width(Table { data, targets: vec![numbers(&classes, data, y)?], weights }, x)?)
            }
            None => None,
        };
        let start = start.map(|s| &s.boosted.ensemble);
        let task = Task { params: &params, outputs, train: train_table, eval, start, objective: None, tag: TAG };
        let trained = train(&task, cx)?;
        let (ensemble, history, link) = (trained.ensemble, trained.history, loss.link());
        let boosted = Boosted { ensemble, link, history, params: params.to_json() };
        Ok(GradientBoostingClassifierModel { boosted, classes })
    }

    /// Weights of the rows, those of their classes multiplied in.
    fn weights(&self, classes: &[u32], x: &Dataset, y: &[u32]) -> Result<Option<Vec<f32>>> {
        let own = x.weights();
        if y.len() != x.rows() {
            return Err(DataError::shape("y", x.rows(), y.len()).into());
        }
        let number = |class: u32| classes.binary_search(&class).unwrap_or(0);
        let of_class: Vec<f32> = match &self.params.class_weights {
            ClassWeights::Equal => return Ok(own.map(<[f32]>::to_vec)),
            ClassWeights::Given(weights) => {
                if weights.len() != classes.len() {
                    return Err(DataError::shape("class_weights", classes.len(), weights.len()).into());
                }
                finite("class_weights", weights)?;
                if let Some(w) = weights.iter().find(|w| **w < 0.0) {
                    return Err(ParamError::out_of_bound("class_weights", "at least 0", w).into());
                }
                weights.clone()
            }
            ClassWeights::Balanced => {
                let mut sums = vec![0.0f64; classes.len()];
                y.iter().enumerate().for_each(|(i, c)| sums[number(*c)] += own.map_or(1.0, |w| f64::from(w[i])));
                let total: f64 = sums.iter().sum();
                let weight = |s: &f64| if *s > 0.0 { total / (classes.len() as f64 * s) } else { 0.0 };
                sums.iter().map(|s| weight(s) as f32).collect()
            }
        };
        let weight = |(i, class): (usize, &u32)| {
            let own = own.map_or(1.0, |w| w[i]);
            ml_kernels::num::mul(own, of_class[number(*class)], ml_kernels::num::Pins::HOST)
        };
        let weights: Vec<f32> = y.iter().enumerate().map(weight).collect();
        finite("class_weights", &weights)?;
        if weights.iter().all(|w| *w == 0.0) {
            return Err(ParamError::out_of_bound("class_weights", "above 0 for some row", "0 for all").into());
        }
        Ok(Some(weights))
    }
}

/// Most classes: scores, gradients and trees are kept for each.
const MAX_CLASSES: usize = 1 << 12;

/// The position of each row's class among `classes`.
fn numbers(classes: &[u32], x: &Dataset, y: &[u32]) -> Result<Vec<f32>> {
    if y.len() != x.rows() {
        return Err(DataError::shape("y", x.rows(), y.len()).into());
    }
    y.iter()
        .map(|class| match classes.binary_search(class) {
            Ok(at) => Ok(at as f32),
            Err(_) => Err(DataError::shape("y", format!("one of the classes {classes:?}"), class).into()),
        })
        .collect()
}

impl FitTarget for GradientBoostingClassifier {
    type Target = [u32];
    type Model = GradientBoostingClassifierModel;

    /// Fits to one class a row; the stages are those of [`GradientBoostingClassifier::fit_rows_in`].
    fn fit_in(&self, x: &Matrix, y: &[u32], cx: &mut Context<'_>) -> Result<GradientBoostingClassifierModel> {
        self.fit_rows_in(&Dataset::from_matrix(x)?, y, cx)
    }
}

/// Boosted trees for classes, fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct GradientBoostingClassifierModel {
    boosted: Boosted,
    classes: Vec<u32>,
}

boosted_model!(GradientBoostingClassifierModel);

impl GradientBoostingClassifierModel {
    /// The classes, ascending.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The probability of each class, shape (rows, classes). For MultiClassOneVsAll they are those of each class against the
    /// others and need not sum to 1.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    ///
    /// # Bit identity
    /// Clause `elementary`; for two classes p and 1 ⊖ p.
    pub fn predict_proba(&self, x: &Dataset, device: &Device) -> Result<Matrix> {
        let mut cx = Context::new(device);
        let out = self.probabilities(x.as_slice(), x.rows(), x.cols(), &mut cx)?;
        Matrix::from_vec(x.rows(), self.classes.len(), out)
    }

    /// The class of each row: the greatest probability, ties to the lowest class.
    ///
    /// # Errors
    /// Those of [`Predict::predict_in`].
    ///
    /// # Bit identity
    /// As for [`Self::predict_proba`].
    pub fn predict_rows(&self, x: &Dataset, device: &Device) -> Result<Vec<u32>> {
        let mut cx = Context::new(device);
        let out = self.probabilities(x.as_slice(), x.rows(), x.cols(), &mut cx)?;
        Ok(self.best(&out))
    }

    fn probabilities(&self, x: &[f32], rows: usize, cols: usize, cx: &mut Context<'_>) -> Result<Vec<f32>> {
        let raw = self.boosted.raw(x, rows, cols, cx)?;
        let out = self.boosted.linked(raw, rows, "gradient_boosting_classifier.probability", cx)?;
        if self.boosted.outputs() == 1 {
            let both = |p: &f32| [ml_kernels::num::sub(1.0, *p, ml_kernels::num::Pins::HOST), *p];
            return Ok(out.iter().flat_map(both).collect());
        }
        Ok(out)
    }

    fn best(&self, probabilities: &[f32]) -> Vec<u32> {
        let best = |row: &[f32]| {
            let mut best = 0;
            for (k, p) in row.iter().enumerate() {
                if *p > row[best] {
                    best = k;
                }
            }
            self.classes[best]
        };
        probabilities.chunks_exact(self.classes.len()).map(best).collect()
    }
}

impl Predict for GradientBoostingClassifierModel {
    type Output = u32;

    /// The class of each row: the greatest probability, ties to the lowest class. Stage:
    /// `gradient_boosting_classifier.probability`.
    fn predict_in(&self, x: &Matrix, cx: &mut Context<'_>) -> Result<Vec<u32>> {
        let out = self.probabilities(x.as_slice(), x.rows(), x.cols(), cx)?;
        Ok(self.best(&out))
    }
}

impl Persist for GradientBoostingClassifierModel {
    const KIND: &'static str = "GradientBoostingClassifier";

    fn to_writer(&self) -> Result<ModelWriter> {
        Ok(self.boosted.write(Self::KIND)?.u32("classes", &[self.classes.len()], &self.classes))
    }

    fn from_reader(file: &ModelReader) -> Result<Self> {
        let boosted = Boosted::read(file)?;
        let classes = file.u32("classes", &[ANY])?.data;
        let outputs = match boosted.link {
            Link::Sigmoid if classes.len() == 2 => boosted.outputs() == 1 || boosted.outputs() == 2,
            Link::Sigmoid | Link::Softmax => boosted.outputs() == classes.len(),
            _ => false,
        };
        if classes.len() < 2 || !outputs || classes.windows(2).any(|w| w[0] >= w[1]) {
            let reason = format!("{} classes for {} outputs", classes.len(), boosted.outputs());
            return Err(ModelError::Malformed { path: file.path().to_owned(), reason }.into());
        }
        Ok(GradientBoostingClassifierModel { boosted, classes })
    }
}
