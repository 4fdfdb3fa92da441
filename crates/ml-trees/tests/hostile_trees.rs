//! Files of strangers: whatever they hold, a reader answers with a model or a typed error, in bounded memory.

use std::path::Path;

use ml_core::model::{ModelReader, ModelWriter};
use ml_core::{Error, ModelError};
use ml_kernels::Device;
use ml_kernels::traits::Persist;
use ml_trees::Ensemble;
use ml_trees::foreign::{Format, Imported};
use proptest::prelude::*;
use serde_json::json;

const SEEDS: [(&str, Format); 15] = [
    ("xgb-logistic.ubj", Format::XgBoost),
    ("xgb-squarederror.json", Format::XgBoost),
    ("xgb-dart.json", Format::XgBoost),
    ("xgb-vector-ubj.ubj", Format::XgBoost),
    ("xgb-vector.json", Format::XgBoost),
    ("xgb-categories.json", Format::XgBoost),
    ("xgb-categories-ubj.ubj", Format::XgBoost),
    ("lgb-multiclass.txt", Format::LightGbm),
    ("lgb-categories.txt", Format::LightGbm),
    ("cat-multiclass.json", Format::CatBoost),
    ("cat-lossguide.json", Format::CatBoost),
    ("onnx-forest-classes.onnx", Format::Onnx),
    ("onnx-modes.onnx", Format::Onnx),
    ("onnx-sum-targets.onnx", Format::Onnx),
    ("onnx-one-of-two.onnx", Format::Onnx),
];

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign-trees").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Reads a file; a model that is read must also predict and be written.
fn read(bytes: &[u8], format: Format) -> Result<Imported, Error> {
    let model = Imported::from_bytes(bytes, format)?;
    let columns = model.ensemble.features();
    if columns < 10_000 {
        let row: Vec<f32> = (0..columns).map(|c| if c % 5 == 4 { f32::NAN } else { c as f32 - 1.0 }).collect();
        let told = model.predict(&Device::host(), &row, 1);
        assert!(matches!(told, Ok(_) | Err(Error::NonFinite { .. } | Error::Data(_) | Error::Param(_))), "{told:?}");
    }
    model.ensemble.to_bytes()?;
    Ok(model)
}

/// A change of a file.
#[derive(Debug, Clone)]
enum Change {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Digit(prop::sample::Index, u8),
    Insert(prop::sample::Index, &'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let words =
        ["-1", "999999999999", "1e400", "NaN", "null", "[", "]", "{", "\"", "-", "2147483647", "\u{7f}", "[[[["];
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, b)| Change::Byte(at, b)),
        any::<prop::sample::Index>().prop_map(Change::Cut),
        (any::<prop::sample::Index>(), 1..40usize).prop_map(|(at, n)| Change::Remove(at, n)),
        (any::<prop::sample::Index>(), 1..40usize).prop_map(|(at, n)| Change::Repeat(at, n)),
        (any::<prop::sample::Index>(), b'0'..=b'9').prop_map(|(at, b)| Change::Digit(at, b)),
        (any::<prop::sample::Index>(), prop::sample::select(words.to_vec())).prop_map(|(at, w)| Change::Insert(at, w)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    match change {
        Change::Byte(at, b) => bytes[at.index(len)] = *b,
        Change::Cut(at) => bytes.truncate(at.index(len)),
        Change::Remove(at, n) => {
            let at = at.index(len);
            bytes.drain(at..(at + n).min(len));
        }
        Change::Repeat(at, n) => {
            let at = at.index(len);
            let part = bytes[at..(at + n).min(len)].to_vec();
            bytes.splice(at..at, part);
        }
        Change::Digit(at, b) => {
            let digits: Vec<usize> = (0..len).filter(|i| bytes[*i].is_ascii_digit()).collect();
            if !digits.is_empty() {
                bytes[digits[at.index(digits.len())]] = *b;
            }
        }
        Change::Insert(at, word) => {
            let at = at.index(len);
            bytes.splice(at..at, word.bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn changed_files_are_read_or_refused(
        seed in 0..SEEDS.len(),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let (name, format) = SEEDS[seed];
        let mut bytes = file(name);
        for change in &changes {
            apply(&mut bytes, change);
        }
        // What is asserted is that it returns: errors are typed, and `read` looks at models.
        let _ = read(&bytes, format);
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::XgBoost, Format::LightGbm, Format::CatBoost, Format::Onnx] {
            prop_assert!(read(&bytes, format).is_err());
        }
    }
}

#[test]
fn seeds_are_read() {
    for (name, format) in SEEDS {
        read(&file(name), format).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

fn refusal(bytes: &[u8], format: Format) -> String {
    match Imported::from_bytes(bytes, format) {
        Err(e @ (Error::Model(ModelError::Malformed { .. }) | Error::Param(_) | Error::Data(_))) => e.to_string(),
        other => panic!("{other:?}"),
    }
}

/// A model of one tree whose lists are these texts.
fn xgb(left: &str, right: &str, indices: &str, conditions: &str, more: &str) -> String {
    let nodes = left.split(',').count();
    let default = vec!["0"; nodes].join(",");
    format!(
        r#"{{"learner":{{"objective":{{"name":"reg:squarederror"}},"learner_model_param":{{"base_score":"5E-1","num_class":"0","num_feature":"3"}},"gradient_booster":{{"name":"gbtree","model":{{"tree_info":[0],"trees":[{{"left_children":[{left}],"right_children":[{right}],"split_indices":[{indices}],"split_conditions":[{conditions}],"default_left":[{default}]{more}}}]}}}}}},"version":[3,2,0]}}"#
    )
}

#[test]
fn trees_that_go_round_or_out_are_refused() {
    let good = xgb("1,-1,-1", "2,-1,-1", "0,0,0", "1,2,3", "");
    let model = Imported::from_bytes(good.as_bytes(), Format::XgBoost).unwrap();
    assert_eq!(model.ensemble.raw(&Device::host(), &[0.5, 0.0, 0.0, 1.0, 0.0, 0.0], 2).unwrap(), [2.5, 3.5]);
    for (left, right, indices, conditions, word) in [
        ("0,-1,-1", "2,-1,-1", "0,0,0", "1,2,3", "two parents, or is under itself"),
        ("1,-1,-1", "1,-1,-1", "0,0,0", "1,2,3", "two parents"),
        ("1,0,-1", "2,2,-1", "0,0,0", "1,2,3", "two parents"),
        ("3,-1,-1", "2,-1,-1", "0,0,0", "1,2,3", "there are 3"),
        ("-2,-1,-1", "2,-1,-1", "0,0,0", "1,2,3", "there are 3"),
        ("9223372036854775807,-1,-1", "2,-1,-1", "0,0,0", "1,2,3", "there are 3"),
        ("1,-1,-1", "2,-1,-1", "3,0,0", "1,2,3", "column 3 is asked"),
        ("1,-1,-1", "2,-1,-1", "-1,0,0", "1,2,3", "column -1 is asked"),
        ("1,-1,-1", "2,-1", "0,0,0", "1,2,3", "differ in length"),
        ("1,-1,-1", "2,-1,-1", "0,0,0", "NaN,2,3", "asks for less than"),
        ("1,-1,-1", "2,-1,-1", "0,0,0", "-Infinity,2,3", "asks for less than"),
        ("1,-1,-1", "2,-1,-1", "0,0,0", "1,2,1e39", "finite"),
        ("1,-1,-1", "2,-1,-1", "0,0,0", "1,2,x", "no value"),
    ] {
        let text = refusal(xgb(left, right, indices, conditions, "").as_bytes(), Format::XgBoost);
        assert!(text.contains(word), "{left} {right} {indices} {conditions}: {text}");
    }
}

#[test]
fn categories_cannot_ask_for_unbounded_sets() {
    let sets = |nodes: usize, category: u32| {
        let list = |item: &dyn Fn(usize) -> String, n: usize| (0..n).map(item).collect::<Vec<_>>().join(",");
        let count = 2 * nodes + 1;
        let left = list(&|i| if i < nodes { (2 * i + 1).to_string() } else { "-1".to_owned() }, count);
        let right = list(&|i| if i < nodes { (2 * i + 2).to_string() } else { "-1".to_owned() }, count);
        let kinds = list(&|i| u32::from(i < nodes).to_string(), count);
        let more = format!(
            r#","split_type":[{kinds}],"categories":[{category}],"categories_nodes":[{}],"categories_segments":[{}],"categories_sizes":[{}]"#,
            list(&|i| i.to_string(), nodes),
            list(&|_| "0".to_owned(), nodes),
            list(&|_| "1".to_owned(), nodes),
        );
        let zeros = list(&|_| "0".to_owned(), count);
        xgb(&left, &right, &zeros, &zeros, &more)
    };
    assert!(Imported::from_bytes(sets(3, 7).as_bytes(), Format::XgBoost).is_ok());
    let text = refusal(sets(100, (1 << 24) - 1).as_bytes(), Format::XgBoost);
    assert!(text.contains("category sets"), "{text}");
    assert!(refusal(sets(1, 1 << 24).as_bytes(), Format::XgBoost).contains("out of range"));
}

#[test]
fn lengths_beyond_the_file_and_deep_nesting_are_refused() {
    let deep = |open: &str, n: usize| format!("{{\"learner\":{}", open.repeat(n));
    assert!(refusal(deep("[", 200_000).as_bytes(), Format::XgBoost).contains("too deeply"));
    assert!(refusal(deep("{\"a\":", 200_000).as_bytes(), Format::XgBoost).contains("too deeply"));
    let mut ubj = b"{L\0\0\0\0\0\0\0\x07learner".to_vec();
    ubj.extend(b"[".repeat(200_000));
    assert!(refusal(&ubj, Format::XgBoost).contains("too deeply"));
    for tail in [
        &b"[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff"[..],
        b"[$D#L\x20\0\0\0\0\0\0\0",
        b"[#L\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"SL\xff\xff\xff\xff\xff\xff\xff\xff",
        b"SL\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"{#L\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"NNNN",
        b"",
    ] {
        let mut ubj = b"{L\0\0\0\0\0\0\0\x07learner".to_vec();
        ubj.extend(tail);
        refusal(&ubj, Format::XgBoost);
    }
    for onnx in [
        &b"\x3a\xff\xff\xff\xff\x0f"[..],
        b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x3a\x02\x0a",
        b"\x3b",
    ] {
        refusal(onnx, Format::Onnx);
    }
    let outputs = xgb("-1", "-1", "0", "0", "").replace(r#""num_class":"0""#, r#""num_class":"999999999""#);
    assert!(refusal(outputs.as_bytes(), Format::XgBoost).contains("num_class"));
    let columns = xgb("-1", "-1", "0", "0", "").replace(r#""num_feature":"3""#, r#""num_feature":"99999999999""#);
    assert!(refusal(columns.as_bytes(), Format::XgBoost).contains("num_feature"));
    let bushy = String::from_utf8(file("cat-rmse.json")).unwrap();
    let many = vec![r#"{"border":1,"float_feature_index":0,"split_type":"FloatFeature"}"#; 70].join(",");
    let at = bushy.find("\"splits\":").unwrap();
    let open = at + bushy[at..].find('[').unwrap() + 1;
    let text = format!("{}{many},{}", &bushy[..open], &bushy[open..]);
    assert!(refusal(text.as_bytes(), Format::CatBoost).contains("splits and"));
}

#[test]
fn lightgbm_trees_that_go_round_or_out_are_refused() {
    let text = |left: &str, threshold: &str, decision: &str| {
        format!(
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\n\nTree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=0 1\nthreshold={threshold}\ndecision_type={decision}\nleft_child={left}\nright_child=-1 -3\nleaf_value=1 2 3\n\nend of trees\n"
        )
    };
    assert!(Imported::from_bytes(text("1 -2", "0.5 0.5", "2 2").as_bytes(), Format::LightGbm).is_ok());
    for (left, threshold, decision, word) in [
        ("0 -2", "0.5 0.5", "2 2", "under itself"),
        ("2 -2", "0.5 0.5", "2 2", "beyond the last"),
        ("1 -4", "0.5 0.5", "2 2", "there are"),
        ("1 -9223372036854775808", "0.5 0.5", "2 2", "is named"),
        ("1 -2", "0.5", "2 2", "do not fit"),
        ("1 -2", "nan 0.5", "2 2", "asks for a NaN"),
        ("1 -2", "0.5 0.5", "12 2", "decision type"),
        ("1 -2", "0 0.5", "1 2", "no bitset"),
        ("1 -2", "0.5 x", "2 2", "no number"),
    ] {
        let text = refusal(text(left, threshold, decision).as_bytes(), Format::LightGbm);
        assert!(text.contains(word), "{left} {threshold} {decision}: {text}");
    }
}

#[test]
fn changed_model_files_are_refused() {
    let model = Imported::from_bytes(&file("xgb-categories.json"), Format::XgBoost).unwrap().ensemble;
    let saved = model.to_bytes().unwrap();
    let reader = ModelReader::from_bytes(saved.clone(), Ensemble::KIND).unwrap();
    // Sealed anew with one array changed, as somebody would who means harm.
    let with = |name: &str, change: &dyn Fn(&mut Vec<u32>)| {
        let mut writer = ModelWriter::new(Ensemble::KIND, reader.params().clone());
        for info in reader.arrays() {
            writer = if info.dtype == "U64" {
                writer.u64(&info.name, &info.shape, &reader.u64(&info.name, &info.shape).unwrap().data)
            } else {
                let mut data = reader.u32(&info.name, &info.shape).unwrap().data;
                if info.name == name {
                    change(&mut data);
                }
                writer.u32(&info.name, &[data.len()], &data)
            };
        }
        Ensemble::from_bytes(writer.to_bytes().unwrap())
    };
    assert_eq!(with("", &|_| {}).unwrap(), model);
    for name in ["node.kind", "node.left", "node.right", "node.feature", "tree.nodes", "tree.leaves", "tree.outputs"] {
        for value in [7u32, 1 << 20, u32::MAX] {
            assert!(with(name, &|data| data[0] = value).is_err(), "{name} = {value}");
        }
        assert!(with(name, &|data| data.push(0)).is_err(), "{name}");
        assert!(with(name, &|data| data.clear()).is_err(), "{name}");
    }
    for (name, value) in [("input.column", 99u32), ("input.view", 9), ("input.length", 5), ("tree.first_output", 1)] {
        assert!(with(name, &|data| data[0] = value).is_err(), "{name} = {value}");
    }
    for name in ["node.sets", "input.tables", "node.gain", "node.cover"] {
        assert!(with(name, &|data| data.push(1)).is_err(), "{name}");
    }
    let other = ModelWriter::new(Ensemble::KIND, json!({"features": 4})).to_bytes().unwrap();
    assert!(matches!(Ensemble::from_bytes(other), Err(Error::Model(ModelError::Array { .. }))));
    let short = saved[..saved.len() - 1].to_vec();
    assert!(matches!(Ensemble::from_bytes(short), Err(Error::Model(ModelError::Malformed { .. }))));
}
