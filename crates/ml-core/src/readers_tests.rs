//! Tests of the data readers: what is refused, with which words, and that no bytes make them panic.

use proptest::prelude::*;

use super::*;

fn csv_error(bytes: &[u8]) -> String {
    parse_csv(bytes).unwrap_err().to_string()
}

fn idx_error(bytes: &[u8]) -> String {
    parse_idx_u8(bytes).unwrap_err().to_string()
}

/// An idx file of `extents` and `data`.
fn idx(extents: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, extents.len() as u8];
    bytes.extend(extents.iter().flat_map(|e| e.to_be_bytes()));
    bytes.extend(data);
    bytes
}

#[test]
fn csv_reads_every_line_ending_spaces_quotes_and_a_mark() {
    for text in [
        "a,b\n1,-2.5\n3e2,4\n",
        "a,b\r\n1,-2.5\r\n3e2,4\r\n",
        "a,b\r1,-2.5\r3e2,4",
        " a , b \n 1,\t-2.5 \n\"3e2\",4",
        "\u{feff}a,b\n1,-2.5\n3e2,4\n",
    ] {
        let table = parse_csv(text.as_bytes()).unwrap();
        assert_eq!(table.columns, ["a", "b"], "{text:?}");
        assert_eq!((table.matrix.rows(), table.matrix.cols()), (2, 2), "{text:?}");
        assert_eq!(table.matrix.as_slice(), [1.0, -2.5, 300.0, 4.0], "{text:?}");
        assert_eq!(table.position("b"), Some(1));
    }
}

#[test]
// pathway test: P92
fn csv_numbers_are_correctly_rounded_then_canonical() {
    // 1 + 2^-24 exactly is a tie and goes to the even neighbour, a digit more goes up.
    let text = "x\n1.000000059604644775390625\n1.000000059604644775390626\n1e-50\n-0\n1.1754943508222875e-38\n";
    let bits: Vec<u32> = parse_csv(text.as_bytes()).unwrap().matrix.as_slice().iter().map(|x| x.to_bits()).collect();
    assert_eq!(bits, [0x3f80_0000, 0x3f80_0001, 0, 0, 0]);
}

#[test]
fn csv_names_line_and_column_of_what_it_refuses() {
    for (text, want) in [
        ("", "no header line"),
        ("a,b\n1,x\n", "line 2, column `b`: \"x\" is not a number"),
        ("a,b\r\n1,2\r\n3,x\r\n", "line 3, column `b`: \"x\" is not a number"),
        ("a,b\r1,2\r3,x\r", "line 3, column `b`: \"x\" is not a number"),
        ("a,b\n1,\n", "line 2, column `b`: the cell is empty"),
        ("a,b\n1,2\n  ,2\n", "line 3, column `a`: the cell is empty"),
        ("a,b\n1\n", "line 2, column `b`: no cell"),
        ("a,b\n1,2,3\n", "line 2 has 3 cells for 2 columns"),
        ("a\n1\n\n2\n", "line 3 is empty"),
        ("a\r\n1\r\n\r\n2\r\n", "line 3 is empty"),
        ("a\n1\n\n", "line 3 is empty"),
        ("\na\n1\n", "line 1 is empty"),
        ("a\nnan\n", "line 2, column `a`: \"nan\" is not a finite f32"),
        ("a\n-inf\n", "line 2, column `a`: \"-inf\" is not a finite f32"),
        ("a\n4e38\n", "line 2, column `a`: \"4e38\" is not a finite f32"),
        ("a,\n1,2\n", "line 1, column 2: no name"),
        ("a,b,a\n1,2,3\n", "line 1: column `a` is named twice"),
        ("1,2\n3,4\n", "line 1, column 1: \"1\" is a number; the first line must name the columns"),
    ] {
        assert_eq!(csv_error(text.as_bytes()), format!("<bytes>: {want}"), "{text:?}");
    }
    assert!(csv_error(b"a\n\xff\n").contains("line 2, column `a`"));
    assert!(csv_error(b"\xff\n1\n").contains("line 1, column 1: not UTF-8"));
    let long = csv_error(format!("a\n{}\n", "z".repeat(1000)).as_bytes());
    assert!(long.len() < 120, "{long}");
}

#[test]
fn csv_without_rows_is_a_table_of_none() {
    let table = parse_csv(b"a,b\n").unwrap();
    assert_eq!((table.matrix.rows(), table.matrix.cols()), (0, 2));
}

#[test]
fn csv_takes_the_columns_asked_for_in_that_order() {
    let text = b"id,b,note,a\nN1,1,,2\nN2,3,nan,4\n";
    let table = parse_csv_columns(text, &["a", "b"]).unwrap();
    assert_eq!(table.columns, ["a", "b"]);
    assert_eq!(table.left_out, ["id", "note"]);
    assert_eq!(table.matrix.as_slice(), [2.0, 1.0, 4.0, 3.0]);
    assert_eq!(parse_csv(b"a,b\n1,2\n").unwrap().left_out, [""; 0]);

    let error = |columns: &[&str]| parse_csv_columns(text, columns).unwrap_err().to_string();
    assert_eq!(error(&["a", "c"]), "<bytes>: column `c` is not there; the columns are id, b, note, a");
    assert_eq!(error(&["a", "b", "a"]), "<bytes>: column `a` is asked for twice");
    assert_eq!(error(&["note"]), "<bytes>: line 2, column `note`: the cell is empty");
    // A cell that is not looked at must still be there.
    assert_eq!(parse_csv_columns(b"a,b\n1\n", &["a"]).unwrap_err().to_string(), "<bytes>: line 2, column `b`: no cell");
}

#[test]
// pathway test: P93
fn idx_reads_images_and_labels() {
    let images = parse_idx_u8(&idx(&[2, 2, 3], &[0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255])).unwrap();
    assert_eq!(images.shape(), [2, 2, 3]);
    let x = images.to_matrix().unwrap();
    assert_eq!((x.rows(), x.cols()), (2, 6));
    assert_eq!(x.row(1), [250.0, 251.0, 252.0, 253.0, 254.0, 255.0]);
    assert!(images.to_labels().unwrap_err().to_string().contains("rank 3"));
    let labels = parse_idx_u8(&idx(&[3], &[9, 0, 255])).unwrap();
    assert_eq!(labels.to_labels().unwrap(), [9, 0, 255]);
    assert_eq!((labels.to_matrix().unwrap().rows(), labels.to_matrix().unwrap().cols()), (3, 1));
    let none = parse_idx_u8(&idx(&[0, 28, 28], &[])).unwrap().to_matrix().unwrap();
    assert_eq!((none.rows(), none.cols()), (0, 784));
}

#[test]
fn idx_extents_must_account_for_every_byte() {
    let describe = "do not describe the";
    assert!(idx_error(&idx(&[3], &[1, 2])).contains(describe));
    assert!(idx_error(&idx(&[3], &[1, 2, 3, 4])).contains(describe));
    // Products that pass 2^64 must not wrap into a length that happens to fit.
    assert!(idx_error(&idx(&[1 << 16, 1 << 16, 1 << 16, 1 << 16], &[])).contains(describe));
    assert!(idx_error(&idx(&[u32::MAX; 200], &[])).contains(describe));
    assert!(idx_error(&idx(&[0, u32::MAX, u32::MAX, u32::MAX], &[])).contains(describe));
    // A billion rows of nothing would keep a caller's loop busy.
    assert!(idx_error(&idx(&[u32::MAX, 0], &[])).contains("extent 1 is 0"));
    assert!(idx_error(&[0, 0, 8]).contains("too few"));
    assert!(idx_error(&[0, 0, 8, 0]).contains("rank is 0"));
    assert!(idx_error(&[0, 0, 8, 2, 0, 0, 0, 1]).contains("ends within"));
    assert!(idx_error(&[0, 0, 13, 1, 0, 0, 0, 0]).contains("unsigned-byte"));
    assert!(idx_error(&[0, 1, 8, 1, 0, 0, 0, 0]).contains("unsigned-byte"));
}

#[test]
fn files_are_named_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "a\nx\n").unwrap();
    assert!(read_csv(&path).unwrap_err().to_string().contains("t.csv: line 2, column `a`"));
    assert!(read_csv(folder.path().join("absent.csv")).unwrap_err().to_string().contains("absent.csv: "));
    std::fs::write(&path, idx(&[2], &[1, 2])).unwrap();
    assert_eq!(read_idx_u8(&path).unwrap().data(), [1, 2]);
    assert!(read_idx_u8(folder.path()).unwrap_err().to_string().contains("not a regular file"));
}

proptest! {
    #[test]
    fn csv_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(table) = parse_csv(&bytes) {
            prop_assert_eq!(table.columns.len(), table.matrix.cols());
        }
    }

    #[test]
    fn csv_like_text_never_panics(text in "[a1.,\"\r\n -]{0,60}") {
        if let Ok(table) = parse_csv(text.as_bytes()) {
            prop_assert_eq!(table.columns.len(), table.matrix.cols());
            prop_assert!(table.matrix.as_slice().len() <= text.len());
        }
    }

    #[test]
    fn csv_round_trips_every_finite_number(bits in prop::collection::vec(any::<u32>(), 1..20)) {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).filter(|x| x.is_finite()).collect();
        let text = values.iter().fold("x\n".to_owned(), |s, v| format!("{s}{v:e}\n"));
        let want: Vec<u32> = values.iter().map(|&v| crate::canon::canon(v).to_bits()).collect();
        let got: Vec<u32> = parse_csv(text.as_bytes()).unwrap().matrix.as_slice().iter().map(|v| v.to_bits()).collect();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn idx_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse_idx_u8(&bytes);
    }

    #[test]
    fn idx_with_a_good_start_never_panics(rank in 0u8..6, extents in prop::collection::vec(0u32..5, 6), extra in 0usize..80) {
        let mut bytes = vec![0, 0, 8, rank];
        bytes.extend(extents.iter().take(usize::from(rank)).flat_map(|e| e.to_be_bytes()));
        bytes.extend(std::iter::repeat_n(7u8, extra));
        if let Ok(file) = parse_idx_u8(&bytes) {
            prop_assert_eq!(file.shape().iter().product::<usize>(), file.data().len());
            prop_assert_eq!(file.to_matrix().unwrap().as_slice().len(), file.data().len());
        }
    }
}
