//! Our half of the quality comparison: fits the cases of `benches/quality/cases.json` to prepared tables and writes what is
//! predicted for the held-out rows. The other half, and how metrics are computed, is in `benches/quality/`.
//!
//!     cargo run --release -p ml-trees --example quality -- TABLES CASES.json OUT [PART OF A NAME]
//!
//! OUT gets `NAME.SEED.f32` (raw scores, for forests predictions or the probability of class 1; little-endian) and one line
//! a fit in `ours.jsonl`.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use ml_core::Matrix;
use ml_kernels::Device;
use ml_kernels::traits::{FitTarget, Predict};
use ml_trees::{
    Dataset, ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier, GradientBoostingRegressor,
    GrowPolicy, Loss, RandomForestClassifier, RandomForestRegressor,
};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What stands for a missing value where an estimator takes none.
const NO_VALUE: f32 = -1000.0;

/// The elements of an `.npy` file: its header is of the length that bytes 8 and 9 say.
fn npy<const N: usize, T>(path: &Path, from: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if bytes.get(..7) != Some(b"\x93NUMPY\x01") {
        return Err(format!("{}: no .npy file of version 1", path.display()).into());
    }
    let data = bytes.get(10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))..).ok_or("a short file")?;
    Ok(data.as_chunks::<N>().0.iter().map(|b| from(*b)).collect())
}

/// Rows of one part of a table.
struct Part {
    cols: usize,
    x: Vec<f32>,
    y: Vec<f32>,
    groups: Option<Vec<usize>>,
    categorical: Vec<usize>,
}

impl Part {
    fn read(folder: &Path, table: &str, part: &str) -> Result<Self> {
        let tables: Value = serde_json::from_slice(&std::fs::read(folder.join("tables.json"))?)?;
        let of = &tables[table];
        let path = |what: &str| folder.join(format!("{table}_{part}_{what}.npy"));
        let y = npy(&path("y"), f32::from_le_bytes)?;
        let x = npy(&path("x"), f32::from_le_bytes)?;
        let groups = match path("groups").exists() {
            true => Some(npy(&path("groups"), |b| u64::from_le_bytes(b) as usize)?),
            false => None,
        };
        let cols = of["columns"].as_array().ok_or("columns are listed")?.len();
        if x.len() != y.len() * cols {
            return Err(format!("{table}: {} values in {} rows of {cols}", x.len(), y.len()).into());
        }
        let categorical = of["categorical"].as_array().ok_or("categories are listed")?;
        let categorical = categorical.iter().filter_map(Value::as_u64).map(|c| c as usize).collect();
        Ok(Part { cols, x, y, groups, categorical })
    }

    /// The first `rows` rows.
    fn first(mut self, rows: Option<u64>) -> Self {
        if let Some(rows) = rows.map(|r| (r as usize).min(self.y.len())) {
            self.y.truncate(rows);
            self.x.truncate(rows * self.cols);
        }
        self
    }

    fn dataset(&self, native: bool) -> Result<Dataset> {
        let mut data = Dataset::new(self.y.len(), self.cols, self.x.clone())?;
        if native {
            data = data.with_categorical(&self.categorical)?;
        }
        Ok(match &self.groups {
            Some(sizes) => data.with_groups(sizes)?,
            None => data,
        })
    }

    fn matrix(&self) -> Result<Matrix> {
        let x = self.x.iter().map(|v| if v.is_nan() { NO_VALUE } else { *v }).collect();
        Ok(Matrix::from_vec(self.y.len(), self.cols, x)?)
    }

    fn classes(&self) -> Vec<u32> {
        self.y.iter().map(|v| *v as u32).collect()
    }
}

/// Raw scores of the test rows, and the seconds of the fit.
fn boost(case: &Value, with: &Value, train: &Part, test: &Part, device: &Device) -> Result<(Vec<f32>, f64)> {
    let whole = |of: &Value, name: &str| of[name].as_u64().map_or(0, |v| v as usize);
    let policy: GrowPolicy = case["policy"].as_str().ok_or("a policy")?.parse()?;
    let lossguide = policy == GrowPolicy::Lossguide;
    let native = case["native"] == true;
    let (data, more) = (train.dataset(native)?, test.dataset(native)?);
    macro_rules! set {
        ($boosting:expr) => {
            $boosting
                .n_estimators(whole(with, "trees"))
                .learning_rate(with["rate"].as_f64().ok_or("a rate")? as f32)
                .grow_policy(policy)
                .max_depth(if lossguide { 0 } else { whole(with, "depth") })
                .max_leaves(if lossguide { whole(with, "leaves") } else { 0 })
                // One more bin for missing values.
                .max_bins(whole(with, "bins") + 1)
                .l2(with["l2"].as_f64().ok_or("l2")? as f32)
                .min_child_samples(whole(case, "samples") as u32)
                .min_child_weight(case["weight"].as_f64().ok_or("a weight")? as f32)
        };
    }
    let start = Instant::now();
    if case["loss"] == "Logloss" {
        let model = set!(GradientBoostingClassifier::new()).fit_rows(&data, &train.classes(), device)?;
        let seconds = start.elapsed().as_secs_f64();
        return Ok((model.raw_scores(&more, device)?.as_slice().to_vec(), seconds));
    }
    let loss = match case["loss"].as_str() {
        Some("RMSE") => Loss::Rmse,
        Some("LambdaRank") => Loss::LambdaRank,
        Some("QueryRMSE") => Loss::QueryRmse,
        other => return Err(format!("no loss of boosting: {other:?}").into()),
    };
    let model = set!(GradientBoostingRegressor::new()).loss(loss).fit_rows(&data, &train.y, device)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((model.raw_scores(&more, device)?.as_slice().to_vec(), seconds))
}

/// Predictions, or probabilities of class 1, of the test rows, and the seconds of the fit.
fn grow(case: &Value, with: &Value, seed: u64, train: &Part, test: &Part, device: &Device) -> Result<(Vec<f32>, f64)> {
    let (x, more) = (train.matrix()?, test.matrix()?);
    let whole = |name: &str| with[name].as_u64().map_or(0, |v| v as usize);
    let start = Instant::now();
    macro_rules! fitted {
        ($forest:ident, $y:expr) => {
            $forest::new().n_estimators(whole("trees")).max_bins(whole("bins")).seed(seed).fit(&x, $y, device)?
        };
    }
    macro_rules! one_of {
        ($forest:ident, $y:expr, $model:ident => $predicted:expr) => {{
            let $model = fitted!($forest, $y);
            let seconds = start.elapsed().as_secs_f64();
            ($predicted, seconds)
        }};
    }
    let second = |p: Matrix| p.as_slice().iter().skip(1).step_by(2).copied().collect();
    let classes = train.classes();
    Ok(match (case["forest"].as_str(), case["loss"].as_str()) {
        (Some("random_forest"), Some("RMSE")) => {
            one_of!(RandomForestRegressor, &train.y, m => m.predict(&more, device)?)
        }
        (Some("extra_trees"), Some("RMSE")) => one_of!(ExtraTreesRegressor, &train.y, m => m.predict(&more, device)?),
        (Some("random_forest"), Some("Brier")) => {
            one_of!(RandomForestClassifier, &classes, m => second(m.predict_proba(&more, device)?))
        }
        (Some("extra_trees"), Some("Brier")) => {
            one_of!(ExtraTreesClassifier, &classes, m => second(m.predict_proba(&more, device)?))
        }
        other => return Err(format!("no forest and loss: {other:?}").into()),
    })
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [tables, cases, out, rest @ ..] = &args[..] else {
        return Err("usage: quality TABLES CASES.json OUT [PART OF A NAME]".into());
    };
    let (tables, out) = (Path::new(tables), Path::new(out));
    let all: Value = serde_json::from_slice(&std::fs::read(cases)?)?;
    std::fs::create_dir_all(out)?;
    let mut lines = std::fs::OpenOptions::new().create(true).append(true).open(out.join("ours.jsonl"))?;
    let device = Device::host();
    for case in all["cases"].as_array().ok_or("a list of cases")? {
        let name = case["name"].as_str().ok_or("a name")?;
        if rest.first().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        let table = case["table"].as_str().ok_or("a table")?;
        let train = Part::read(tables, table, "train")?.first(case["rows"].as_u64());
        let test = Part::read(tables, table, "test")?;
        for seed in 0..case["seeds"].as_u64().unwrap_or(1) {
            let (scores, seconds) = match case["forest"].is_null() {
                true => boost(case, &all["boosting"], &train, &test, &device)?,
                false => grow(case, &all["forest"], seed, &train, &test, &device)?,
            };
            let bytes: Vec<u8> = scores.iter().flat_map(|s| s.to_le_bytes()).collect();
            std::fs::write(out.join(format!("{name}.{seed}.f32")), bytes)?;
            let line = json!({"name": name, "seed": seed, "rows": train.y.len(), "seconds": seconds});
            writeln!(lines, "{line}")?;
            println!("{line}");
        }
    }
    Ok(())
}
