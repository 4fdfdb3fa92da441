//! Models of other libraries against what those libraries say of the same rows, bit for bit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ml_core::{Error, ParamError};
use ml_kernels::Device;
use ml_kernels::traits::Persist;
use ml_trees::Ensemble;
use ml_trees::foreign::{Format, Imported, lightgbm, xgboost};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign-trees")
}

fn bytes(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

struct Case {
    name: String,
    format: Format,
    file: PathBuf,
    entry: Value,
    answers: Arc<Vec<u8>>,
}

impl Case {
    /// The answers `key`, numbers of `width` bytes.
    fn part(&self, key: &str, width: usize) -> &[u8] {
        let number = |at: usize| self.entry[key][at].as_u64().unwrap() as usize;
        &self.answers[number(0)..number(0) + number(1) * width]
    }

    fn x(&self) -> Vec<f32> {
        f32s(self.part("x", 4))
    }

    fn rows(&self) -> usize {
        self.entry["rows"].as_u64().unwrap() as usize
    }
}

fn cases() -> Vec<Case> {
    let index: Value = serde_json::from_slice(&bytes("cases.json")).unwrap();
    let answers = Arc::new(bytes("answers.bin"));
    let cases = index["cases"].as_array().unwrap().iter().map(|entry| Case {
        name: entry["name"].as_str().unwrap().to_owned(),
        format: match entry["format"].as_str().unwrap() {
            "xgboost" => Format::XgBoost,
            "lightgbm" => Format::LightGbm,
            "catboost" => Format::CatBoost,
            "onnx" => Format::Onnx,
            other => panic!("{other}"),
        },
        file: folder().join(entry["file"].as_str().unwrap()),
        entry: entry.clone(),
        answers: answers.clone(),
    });
    let cases: Vec<Case> = cases.collect();
    assert!(cases.len() >= 100, "{} cases", cases.len());
    cases
}

fn load(case: &Case) -> Imported {
    Imported::open(&case.file, case.format).unwrap_or_else(|e| panic!("{}: {e}", case.name))
}

/// Positions where two lists of raw scores differ, by bits.
fn differ<T: Copy + std::fmt::Debug, B: PartialEq>(a: &[T], b: &[T], bits: impl Fn(T) -> B) -> usize {
    assert_eq!(a.len(), b.len());
    if let Some(at) = a.iter().zip(b).position(|(a, b)| bits(*a) != bits(*b)) {
        eprintln!("element {at}: {:?} is not {:?}", a[at], b[at]);
    }
    a.iter().zip(b).filter(|(a, b)| bits(**a) != bits(**b)).count()
}

/// What [`Imported`] gives as the scores that the library gives: an ONNX classifier of two classes shows one score
/// twice.
fn raw_f32(model: &Imported, x: &[f32], rows: usize, outputs: usize) -> Vec<f32> {
    let raw = model.ensemble.raw(&Device::host(), x, rows).unwrap();
    if model.ensemble.outputs() == outputs {
        return raw;
    }
    use ml_trees::foreign::Link;
    let link = if model.link == Link::Complement { Link::Complement } else { Link::Opposite };
    link.apply(&raw, 1)
}

#[test]
fn raw_scores_are_the_librarys_bits() {
    let mut failures = Vec::new();
    for case in cases().iter().filter(|c| c.entry.get("refused").is_none()) {
        let model = load(case);
        let x = case.x();
        let rows = case.rows();
        let outputs = case.entry["outputs"].as_u64().unwrap() as usize;
        assert_eq!(model.ensemble.features(), case.entry["columns"].as_u64().unwrap() as usize, "{}", case.name);
        let wrong = if case.entry["raw"] == "float32" {
            // A library may say -0 where every zero is +0 here.
            let want: Vec<f32> = f32s(case.part("scores", 4)).into_iter().map(|x| x + 0.0).collect();
            differ(&raw_f32(&model, &x, rows, outputs), &want, f32::to_bits)
        } else {
            let got = model.ensemble.raw_f64(&Device::host(), &x, rows).unwrap();
            assert_eq!(model.ensemble.outputs(), outputs, "{}", case.name);
            differ(&got, &f64s(case.part("scores", 8)), |x| (x + 0.0).to_bits())
        };
        if wrong > 0 {
            failures.push(format!("{}: {wrong} of {}", case.name, rows * outputs));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn leaves_are_the_librarys_leaves() {
    let mut told = 0;
    for case in cases().iter().filter(|c| c.entry.get("leaves").is_some()) {
        let model = load(case);
        let x = case.x();
        let rows = case.rows();
        let want: Vec<u32> = case.part("leaves", 4).as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let got = model.ensemble.leaves(&Device::host(), &x, rows).unwrap();
        // Trees with a value for each target number leaves apart from nodes.
        if !case.name.starts_with("xgb-vector") {
            assert_eq!(got, want, "{}", case.name);
            told += 1;
        }
    }
    assert!(told > 50, "{told}");
}

#[test]
fn predictions_are_close_to_the_librarys() {
    for case in cases().iter().filter(|c| c.entry.get("out").is_some()) {
        let model = load(case);
        let x = case.x();
        let rows = case.rows();
        let got = model.predict(&Device::host(), &x, rows).unwrap();
        let want = f64s(case.part("out", 8));
        assert_eq!(got.len(), want.len(), "{}", case.name);
        for (got, want) in got.iter().zip(&want) {
            let error = (f64::from(*got) - want).abs();
            assert!(error <= 2e-6 * want.abs().max(0.5), "{}: {got} is not {want}", case.name);
        }
    }
}

#[test]
fn what_is_not_offered_is_refused_by_name() {
    let mut refused = 0;
    for case in cases() {
        let Some(word) = case.entry.get("refused").and_then(Value::as_str) else { continue };
        match Imported::open(&case.file, case.format) {
            Err(Error::Param(ParamError::NotOffered { name, value, .. })) => {
                assert!(format!("{name} {value}").contains(word), "{}: {name} = {value}", case.name);
            }
            other => panic!("{}: {other:?}", case.name),
        }
        refused += 1;
    }
    assert!(refused >= 4);
}

#[test]
fn model_files_keep_every_model() {
    for case in cases().iter().filter(|c| c.entry.get("refused").is_none()) {
        let model = load(case).ensemble;
        let file = model.to_bytes().unwrap();
        let again = Ensemble::from_bytes(file.clone()).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(again, model, "{}", case.name);
        assert_eq!(again.to_bytes().unwrap(), file, "{}", case.name);
    }
}

#[test]
fn what_is_written_for_a_library_reads_back_with_the_same_scores() {
    let (mut xgb, mut lgb) = (0, 0);
    for case in cases().iter().filter(|c| c.entry.get("refused").is_none()) {
        let model = load(case).ensemble;
        let x = case.x();
        let rows = case.rows();
        let device = Device::host();
        if case.format == Format::XgBoost {
            let text = xgboost::to_json(&model).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let again = xgboost::from_bytes(text.as_bytes()).unwrap().ensemble;
            assert_eq!(again.raw(&device, &x, rows).unwrap(), model.raw(&device, &x, rows).unwrap(), "{}", case.name);
            xgb += 1;
        } else {
            assert!(xgboost::to_json(&model).is_err(), "{}", case.name);
        }
        if case.format == Format::LightGbm && !case.name.starts_with("lgb-forest") {
            let text = lightgbm::to_text(&model).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let again = lightgbm::from_bytes(text.as_bytes()).unwrap().ensemble;
            let (a, b) = (again.raw_f64(&device, &x, rows).unwrap(), model.raw_f64(&device, &x, rows).unwrap());
            assert_eq!(differ(&a, &b, f64::to_bits), 0, "{}", case.name);
            lgb += 1;
        } else {
            assert!(lightgbm::to_text(&model).is_err(), "{}", case.name);
        }
    }
    assert!(xgb > 30 && lgb > 15, "{xgb} {lgb}");
}
