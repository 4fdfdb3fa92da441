//! Raw scores of another library's tree model, for scripts that compare with the library (`fixtures/foreign-trees`).
//!
//! ```text
//! foreign_trees score  FORMAT MODEL ROWS OUT
//! foreign_trees export FORMAT MODEL OUT
//! foreign_trees time   FORMAT MODEL ROWS REPEAT
//! ```
//!
//! `score` takes rows of binary32 and writes raw scores, of binary32 for xgboost and onnx, else of binary64. `export` writes
//! the same model again, FORMAT being xgboost or lightgbm. `time` prints the seconds of a call: for one row, then for all.

use std::error::Error;
use std::time::Instant;

use ml_kernels::Device;
use ml_trees::Arithmetic;
use ml_trees::foreign::{Format, Imported, lightgbm, xgboost};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["score", format, model, rows, out] => score(&open(format, model)?, rows, out),
        ["export", format, model, out] => {
            let ensemble = open(format, model)?.ensemble;
            let text = match format {
                "xgboost" => xgboost::to_json(&ensemble)?,
                "lightgbm" => lightgbm::to_text(&ensemble)?,
                other => return Err(format!("nothing is written for {other}").into()),
            };
            Ok(std::fs::write(out, text)?)
        }
        ["time", format, model, rows, repeat] => time(&open(format, model)?, rows, repeat.parse()?),
        _ => Err("score FORMAT MODEL ROWS OUT | export FORMAT MODEL OUT | time FORMAT MODEL ROWS REPEAT".into()),
    }
}

fn open(format: &str, model: &str) -> Result<Imported, Box<dyn Error>> {
    let format = match format {
        "xgboost" => Format::XgBoost,
        "lightgbm" => Format::LightGbm,
        "catboost" => Format::CatBoost,
        "onnx" => Format::Onnx,
        other => return Err(format!("no format {other}").into()),
    };
    Ok(Imported::open(model, format)?)
}

fn read(model: &Imported, rows: &str) -> Result<(Vec<f32>, usize), Box<dyn Error>> {
    let bytes = std::fs::read(rows)?;
    let x: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let count = x.len() / model.ensemble.features().max(1);
    Ok((x, count))
}

fn score(model: &Imported, rows: &str, out: &str) -> Result<(), Box<dyn Error>> {
    let (x, count) = read(model, rows)?;
    let device = Device::host();
    let bytes: Vec<u8> = match model.ensemble.arithmetic() {
        Arithmetic::Single => model.ensemble.raw(&device, &x, count)?.iter().flat_map(|s| s.to_le_bytes()).collect(),
        Arithmetic::Double => {
            model.ensemble.raw_f64(&device, &x, count)?.iter().flat_map(|s| s.to_le_bytes()).collect()
        }
    };
    Ok(std::fs::write(out, bytes)?)
}

fn time(model: &Imported, rows: &str, repeat: usize) -> Result<(), Box<dyn Error>> {
    let (x, count) = read(model, rows)?;
    let device = Device::host();
    let scorer = model.ensemble.on(&device)?;
    let width = model.ensemble.features();
    let singles = 2_000.min(count);
    let (mut one, mut all) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeat {
        let start = Instant::now();
        for row in 0..singles {
            std::hint::black_box(scorer.raw(&x[row * width..][..width], 1)?);
        }
        one = one.min(start.elapsed().as_secs_f64() / singles as f64);
        let start = Instant::now();
        std::hint::black_box(scorer.raw(&x, count)?);
        all = all.min(start.elapsed().as_secs_f64());
    }
    println!("{{\"one_row_us\": {:.3}, \"rows\": {count}, \"all_s\": {all:.4}}}", one * 1e6);
    Ok(())
}
