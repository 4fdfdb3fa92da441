//! Tests of model files: they come back whole, are the same bytes each time, and no damage passes.

use proptest::prelude::*;
use serde_json::json;

use safetensors::SafeTensors;

use super::*;
use crate::error::{Error, ModelError};
use crate::matrix::Matrix;

fn writer() -> ModelWriter {
    ModelWriter::new("KMeans", json!({"seed": 7, "n_clusters": 2, "tol": 0.1f32, "init": "random", "warm": false}))
        .f32("centroids", &[2, 2], &[1.0, -2.5, 0.0, 3.0e38])
        .u32("labels", &[3], &[0, 1, u32::MAX])
        .i32("children", &[2, 1], &[-1, i32::MAX])
        .u64("n_iter", &[], &[u64::MAX])
        .f32("empty", &[0, 4], &[])
}

fn bytes() -> Vec<u8> {
    writer().to_bytes().unwrap()
}

fn error(bytes: Vec<u8>) -> ModelError {
    match ModelReader::from_bytes(bytes, "KMeans") {
        Err(Error::Model(error)) => error,
        other => panic!("expected a model error, got {other:?}"),
    }
}

/// A file of these parts whose digests are right, however wrong the parts are.
fn forge(change: impl FnOnce(&mut BTreeMap<String, String>)) -> Vec<u8> {
    let info = Info { dtype: Dtype::U32, shape: vec![1] };
    let data = 5u32.to_le_bytes();
    let mut metadata = BTreeMap::from([
        ("format".to_owned(), FORMAT.to_owned()),
        ("kind".to_owned(), "KMeans".to_owned()),
        ("params".to_owned(), "{}".to_owned()),
        ("profile".to_owned(), crate::PROFILE.to_owned()),
        ("blake3.a".to_owned(), array_digest(&info, &data)),
    ]);
    change(&mut metadata);
    metadata.insert("blake3".to_owned(), metadata_digest(&metadata));
    let mut file = header(&metadata, &BTreeMap::from([("a".to_owned(), info)])).unwrap();
    file.extend(data);
    file
}

/// A file of this header text, which nothing need be right about.
fn with_header(text: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (text.len() as u64).to_le_bytes().to_vec();
    file.extend(text.bytes());
    file.extend(data);
    file
}

#[test]
fn everything_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    writer().save(&path).unwrap();
    let model = ModelReader::open(&path, "KMeans").unwrap();
    assert_eq!(model.params()["n_clusters"], 2);
    assert_eq!(model.param_u64("seed").unwrap(), 7);
    assert_eq!(model.param_f32("tol").unwrap().to_bits(), 0.1f32.to_bits());
    assert_eq!(model.param_str("init").unwrap(), "random");
    assert!(!model.param_bool("warm").unwrap());
    assert_eq!(model.names().collect::<Vec<_>>(), ["centroids", "children", "empty", "labels", "n_iter"]);
    let centroids = model.f32("centroids", &[ANY, 2]).unwrap();
    assert_eq!(centroids, Array { shape: vec![2, 2], data: vec![1.0, -2.5, 0.0, 3.0e38] });
    assert_eq!(model.matrix("centroids", 2, ANY).unwrap().row(1), [0.0, 3.0e38]);
    assert_eq!(model.u32("labels", &[3]).unwrap().data, [0, 1, u32::MAX]);
    assert_eq!(model.i32("children", &[2, 1]).unwrap().data, [-1, i32::MAX]);
    assert_eq!(model.u64("n_iter", &[]).unwrap().data, [u64::MAX]);
    assert_eq!(model.f32("empty", &[0, ANY]).unwrap().shape, [0, 4]);
}

#[test]
fn a_file_of_any_estimator_tells_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    writer().param("seed", json!(8)).param("feature_names_in", json!(["a", "b"])).save(&path).unwrap();
    let model = ModelReader::open_any(&path).unwrap();
    assert_eq!((model.kind(), model.path()), ("KMeans", path.to_str().unwrap()));
    assert_eq!((&model.params()["seed"], &model.params()["feature_names_in"][1]), (&json!(8), &json!("b")));
    assert_eq!(model.as_bytes(), std::fs::read(&path).unwrap());
    let arrays: Vec<ArrayInfo> = model.arrays().collect();
    let told: Vec<_> = arrays.iter().map(|a| (a.name.as_str(), a.dtype, &a.shape[..])).collect();
    assert_eq!(told[..2], [("centroids", "F32", &[2usize, 2][..]), ("children", "I32", &[2, 1])]);
    // The digest is the one that the file records.
    let text = String::from_utf8_lossy(model.as_bytes()).into_owned();
    assert!(arrays.iter().all(|a| text.contains(&format!("\"blake3.{}\":\"{}\"", a.name, a.digest))));
    let file = ModelWriter::new("KMeans", json!(7)).param("seed", json!(8)).to_bytes();
    assert!(file.unwrap_err().to_string().contains("no JSON object"));
}

#[test]
// pathway test: P94
fn equal_models_are_equal_files() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    writer().save(&a).unwrap();
    // The same parts in another order.
    ModelWriter::new("KMeans", json!({"warm": false, "init": "random", "tol": 0.1f32, "n_clusters": 2, "seed": 7}))
        .f32("empty", &[0, 4], &[])
        .u64("n_iter", &[], &[u64::MAX])
        .i32("children", &[2, 1], &[-1, i32::MAX])
        .matrix("centroids", &Matrix::from_vec(2, 2, vec![1.0, -2.5, -0.0, 3.0e38]).unwrap())
        .u32("labels", &[3], &[0, 1, u32::MAX])
        .save(&b)
        .unwrap();
    assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
    // Another process has other hash seeds, so the bytes are pinned as well.
    let digest = blake3::hash(&bytes()).to_hex().to_string();
    assert_eq!(digest, "f941ca9722d9a90f709d4552b641388a1324eae007dda031bbab59660ab841e0");
}

#[test]
fn a_plain_safetensors_reader_understands_the_file() {
    let file = bytes();
    let plain = SafeTensors::deserialize(&file).unwrap();
    let centroids = plain.tensor("centroids").unwrap();
    assert_eq!((centroids.dtype(), centroids.shape()), (Dtype::F32, &[2, 2][..]));
    assert_eq!(&centroids.data()[4..8], (-2.5f32).to_le_bytes());
    assert_eq!(plain.tensor("n_iter").unwrap().data(), u64::MAX.to_le_bytes());
    let (_, metadata) = SafeTensors::read_metadata(&file).unwrap();
    let metadata = metadata.metadata().clone().unwrap();
    assert_eq!(metadata["kind"], "KMeans");
    assert_eq!(metadata["params"].find("init"), Some(2), "parameters are sorted: {}", metadata["params"]);
}

#[test]
fn every_truncation_is_refused() {
    let file = bytes();
    for len in 0..file.len() {
        assert!(matches!(error(file[..len].to_vec()), ModelError::Malformed { .. }), "cut to {len} bytes");
    }
    for extra in [1, 7, 8, 100] {
        let mut long = file.clone();
        long.extend(vec![0; extra]);
        assert!(matches!(error(long), ModelError::Malformed { .. }), "{extra} bytes too many");
    }
}

#[test]
// pathway test: P95
fn every_flipped_bit_and_replaced_byte_is_refused() {
    let file = bytes();
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[at] ^= 1 << bit;
            error(changed);
        }
        for byte in [0, b' ', b'\t', b'\n', b'"', b'0', b'{', 0xff] {
            if file[at] != byte {
                let mut changed = file.clone();
                changed[at] = byte;
                error(changed);
            }
        }
    }
}

#[test]
fn other_kind_format_or_profile_is_refused_by_name() {
    let other = ModelReader::from_bytes(bytes(), "PCA").unwrap_err();
    assert_eq!(other.to_string(), "<bytes>: holds a KMeans, expected a PCA");
    assert!(ModelReader::from_bytes(forge(|_| ()), "KMeans").is_ok(), "the forger makes sound files");
    let format = error(forge(|m| drop(m.insert("format".into(), "isobit-model/9".into()))));
    assert!(matches!(&format, ModelError::Version { found, .. } if found == "isobit-model/9"), "{format}");
    let profile = error(forge(|m| drop(m.insert("profile".into(), "fp32/0".into()))));
    assert!(matches!(&profile, ModelError::Version { what: "numeric profile", .. }), "{profile}");
    for key in ["format", "kind", "params", "profile"] {
        let absent = error(forge(|m| drop(m.remove(key)))).to_string();
        assert!(absent.ends_with(&format!("no metadata entry `{key}`")), "{absent}");
    }
}

#[test]
fn forged_metadata_is_refused() {
    for (change, want) in [
        (("params", "[]"), "no JSON object"),
        (("params", "{"), "parameters: "),
        (("more", "x"), "do not match"),
        (("blake3.b", "00"), "do not match"),
    ] {
        let text = error(forge(|m| drop(m.insert(change.0.into(), change.1.into())))).to_string();
        assert!(text.contains(want), "{change:?}: {text}");
    }
    assert!(error(forge(|m| drop(m.remove("blake3.a")))).to_string().contains("do not match"));
    let deep = "{\"a\":".repeat(5000) + "1" + &"}".repeat(5000);
    assert!(error(forge(|m| drop(m.insert("params".into(), deep)))).to_string().contains("parameters: "));
    let digest = error(forge(|m| drop(m.insert("blake3.a".into(), "00".repeat(32)))));
    assert!(matches!(&digest, ModelError::Digest { array, .. } if array == "a"), "{digest}");
}

#[test]
fn another_spelling_of_the_header_is_refused() {
    let file = ModelWriter::new("KMeans", json!({})).u32("a", &[1], &[5]).u32("bb", &[1], &[5]).to_bytes().unwrap();
    let len = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let text = std::str::from_utf8(&file[8..8 + len]).unwrap();
    assert!(text.contains("} "), "the test needs padding: {text:?}");
    let entries = |text: &str| text.find(r#","a":"#).zip(text.find(r#","bb":"#)).zip(text.rfind('}')).unwrap();
    let ((a, b), end) = entries(text);
    let swapped = format!("{}{}{}{}", &text[..a], &text[b..end], &text[a..b], &text[end..]);
    let other: [String; 5] = [
        text.replacen("} ", "}\t", 1),
        text.replacen("} ", " }", 1),
        swapped,
        text.replacen(r#""kind":"KMeans","params":"{}""#, r#""params":"{}","kind":"KMeans""#, 1),
        // The last of two equal keys counts, so this one looks sound to a lenient reader.
        text.trim_end().replacen(r#""kind":"#, r#""kind":"PCA","kind":"#, 1) + "   ",
    ];
    for other in other {
        assert_ne!(other, text);
        assert!(SafeTensors::deserialize(&with_header(&other, &file[8 + len..])).is_ok(), "{other}");
        let error = error(with_header(&other, &file[8 + len..])).to_string();
        assert!(error.ends_with("the header is not written as this format writes it"), "{error}: {other}");
    }
}

#[test]
fn foreign_floats_are_refused_on_both_sides() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE, 1e-42] {
        let written = ModelWriter::new("KMeans", json!({})).f32("x", &[2], &[1.0, value]).to_bytes().unwrap_err();
        assert!(matches!(written, Error::Model(ModelError::Value { index: 1, .. })), "{value}: {written}");
        let info = Info { dtype: Dtype::F32, shape: vec![2] };
        let data = [1.0f32.to_le_bytes(), value.to_le_bytes()].concat();
        let mut metadata = BTreeMap::from([
            ("format".to_owned(), FORMAT.to_owned()),
            ("kind".to_owned(), "KMeans".to_owned()),
            ("params".to_owned(), "{}".to_owned()),
            ("profile".to_owned(), crate::PROFILE.to_owned()),
            ("blake3.x".to_owned(), array_digest(&info, &data)),
        ]);
        metadata.insert("blake3".to_owned(), metadata_digest(&metadata));
        let mut file = header(&metadata, &BTreeMap::from([("x".to_owned(), info)])).unwrap();
        file.extend(data);
        let read = error(file);
        assert!(matches!(read, ModelError::Value { index: 1, .. }), "{value}: {read}");
    }
}

#[test]
fn hostile_headers_are_refused_without_large_allocations() {
    let huge = u64::MAX.to_le_bytes().to_vec();
    assert!(matches!(error(huge), ModelError::Malformed { .. }));
    for text in [
        r#"{"a":{"dtype":"F32","shape":[18446744073709551615,2],"data_offsets":[0,8]}}"#,
        r#"{"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}}"#,
        r#"{"a":{"dtype":"U32","shape":[2],"data_offsets":[8,0]}}"#,
        r#"{"a":{"dtype":"U32","shape":[2],"data_offsets":[0,18446744073709551615]}}"#,
        r#"{"__metadata__":{},"a":{"dtype":"U32","shape":[2],"data_offsets":[0,8]}}"#,
        r#"{"__metadata__":{"format":3}}"#,
        "[]",
        "",
    ] {
        let text = error(with_header(text, &[0; 8]));
        assert!(matches!(text, ModelError::Malformed { .. }), "{text}");
    }
    // A shape of no elements may still name a huge extent.
    let wide = ModelWriter::new("KMeans", json!({})).u32("a", &[0, 1 << 40], &[]).to_bytes().unwrap_err();
    assert!(wide.to_string().contains("extent"), "{wide}");
}

#[test]
fn wrong_parts_are_refused_when_saving() {
    let new = || ModelWriter::new("KMeans", json!({}));
    for (writer, want) in [
        (new().u32("a", &[2], &[1]), "has shape [2] and 1 elements"),
        (new().u32("a", &[usize::MAX, 2], &[1]), "elements"),
        (new().u32("a", &[1], &[1]).f32("a", &[1], &[1.0]), "added twice"),
        (new().u32("", &[1], &[1]), "array name"),
        (new().u32("__metadata__", &[1], &[1]), "array name"),
        (new().u32("a b", &[1], &[1]), "array name"),
        (ModelWriter::new("", json!({})), "no name"),
        (ModelWriter::new("KMeans", json!([1])), "no JSON object"),
        (ModelWriter::new("KMeans", nested(200)), "do not survive"),
    ] {
        let text = writer.to_bytes().unwrap_err().to_string();
        assert!(text.contains(want), "{want}: {text}");
    }
}

fn nested(depth: usize) -> serde_json::Value {
    (0..depth).fold(json!(1), |inner, _| json!({ "a": inner }))
}

#[test]
fn wrong_questions_get_typed_answers() {
    let model = ModelReader::from_bytes(bytes(), "KMeans").unwrap();
    let text = |e: Error| e.to_string();
    assert_eq!(
        text(model.f32("centroids", &[3, ANY]).unwrap_err()),
        "<bytes>: array `centroids` is F32 [2, 2], expected F32 [3, any]"
    );
    assert_eq!(text(model.u32("x", &[1]).unwrap_err()), "<bytes>: array `x` is no such array, expected U32 [1]");
    assert!(model.u32("centroids", &[2, 2]).is_err());
    assert!(model.f32("centroids", &[ANY]).is_err());
    assert!(model.matrix("labels", ANY, ANY).is_err());
    assert_eq!(
        text(model.param_u64("init").unwrap_err()),
        "<bytes>: parameter `init` is \"random\", expected a whole number"
    );
    assert_eq!(text(model.param_str("x").unwrap_err()), "<bytes>: parameter `x` is absent, expected a text");
    assert!(model.param_bool("seed").is_err());
    let odd = ModelWriter::new("KMeans", json!({"wide": 0.1f64, "tiny": 1e-40f32, "zero": -0.0f32, "one": 1}));
    let odd = ModelReader::from_bytes(odd.to_bytes().unwrap(), "KMeans").unwrap();
    for name in ["wide", "tiny", "zero"] {
        assert!(odd.param_f32(name).is_err(), "{name}");
    }
    assert_eq!(odd.param_f32("one").unwrap(), 1.0);
}

#[test]
fn a_file_that_is_absent_or_a_folder_is_an_io_error() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("absent"), folder.path().to_path_buf()] {
        let error = ModelReader::open(&path, "KMeans").unwrap_err();
        assert!(matches!(error, Error::Model(ModelError::Io { .. })), "{error}");
    }
    let error = writer().save(folder.path().join("absent/model")).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::Io { .. })), "{error}");
}

proptest! {
    #[test]
    fn random_models_come_back(
        floats in prop::collection::vec(any::<f32>().prop_filter("finite", |x| x.is_finite()), 0..20),
        ints in prop::collection::vec(any::<u64>(), 0..20),
        tol in any::<f32>().prop_filter("normal", |x| x.is_normal() && x.abs() > f32::MIN_POSITIVE),
        text in any::<String>(),
    ) {
        let floats: Vec<f32> = floats.into_iter().map(crate::canon::canon).collect();
        let params = json!({"tol": tol, "text": text, "ints": ints});
        let file = ModelWriter::new("Any", params.clone())
            .f32("floats", &[floats.len()], &floats)
            .u64("ints", &[ints.len(), 1], &ints)
            .to_bytes()
            .unwrap();
        let model = ModelReader::from_bytes(file, "Any").unwrap();
        prop_assert_eq!(model.f32("floats", &[ANY]).unwrap().data, floats);
        prop_assert_eq!(model.u64("ints", &[ANY, 1]).unwrap().data, ints);
        prop_assert_eq!(model.param_f32("tol").unwrap().to_bits(), tol.to_bits());
        prop_assert_eq!(model.params(), &params);
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(ModelReader::from_bytes(bytes, "KMeans").is_err());
    }
}
