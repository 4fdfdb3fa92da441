//! Clause `elementary`: a sample of every function, with hard cases.

use ml_kernels::num::{Binary, Unary, exp_cr, ln_cr};
use serde_json::Value;

use super::{Vectors, data};
use crate::error::{Error, Result};
use crate::process;

/// Inputs next to the middle between two results, by function; `fixtures/independent/hard.py` found them.
const HARD: &str = "fixtures/independent/hard.json";

/// One vector a function.
pub fn run(vectors: &mut Vectors) -> Result<()> {
    let path = process::root().join(HARD);
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let hard: Value = serde_json::from_str(&text).map_err(Error::json(HARD))?;
    let common = one_value()?;
    let mut one = |name: &str, of: &dyn Fn(f32) -> f32| {
        let mut arguments = common.clone();
        for word in hard[name].as_array().into_iter().flatten() {
            let bits = word.as_str().and_then(|w| u32::from_str_radix(w, 16).ok());
            arguments.push(f32::from_bits(bits.ok_or_else(|| Error::Found(format!("{HARD}: {name}: {word}")))?));
        }
        let values: Vec<f32> = arguments.into_iter().map(of).collect();
        vectors.floats(format!("function.{name}"), &[values.len()], &values);
        Ok::<(), Error>(())
    };
    one("exp", &exp_cr)?;
    one("ln", &ln_cr)?;
    for &function in Unary::ALL {
        one(function.name(), &|x| function.apply(x))?;
    }
    let pairs = two_values()?;
    for &function in Binary::ALL {
        let values: Vec<f32> = pairs.iter().map(|&(x, y)| function.apply(x, y)).collect();
        vectors.floats(format!("function.{}", function.name()), &[values.len()], &values);
    }
    Ok(())
}

/// Arguments that every function of one value gets.
fn one_value() -> Result<Vec<f32>> {
    let mut x: Vec<f32> =
        [0u32, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xff80_0001].map(f32::from_bits).into();
    // The powers of two, subnormal ones too.
    for e in -149..128 {
        let bits = if e < -126 { 1 << (e + 149) } else { ((e + 127) as u32) << 23 };
        x.extend([f32::from_bits(bits), f32::from_bits(bits | 0x8000_0000)]);
    }
    x.extend((-70..=70).map(|k| k as f32 * 0.5));
    x.extend((0..=10).scan(1.0f32, |p, _| {
        let now = *p;
        *p *= 10.0;
        Some(now)
    }));
    for middle in [0x3f80_0000u32, 0xbf80_0000, 0x4000_0000, 0x0080_0000, 0x8080_0000] {
        x.extend((0..=16).map(|k| f32::from_bits(middle - 8 + k)));
    }
    x.extend([0x7f7f_ffff, 0xff7f_ffff].map(f32::from_bits));
    x.extend(data::mid(1, 1500)?);
    x.extend(data::any(2, 1500)?);
    Ok(x)
}

/// Pairs of arguments.
fn two_values() -> Result<Vec<(f32, f32)>> {
    let mut single: Vec<f32> = Vec::new();
    let magnitudes = [
        0,
        1,
        0x0080_0000,
        0x3f00_0000,
        0x3f80_0000,
        0x3fc0_0000,
        0x4000_0000,
        0x4040_0000,
        0x4b7f_ffff,
        0x4b80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
    ];
    for bits in magnitudes {
        single.extend([f32::from_bits(bits), f32::from_bits(bits | 0x8000_0000)]);
    }
    let mut pairs = Vec::new();
    for &x in &single {
        pairs.extend(single.iter().map(|&y| (x, y)));
    }
    for k in 0..=30 {
        pairs.extend((-8..=8).map(|j| (k as f32, j as f32 * 0.5)));
    }
    for m in 2..=12i32 {
        pairs.extend((1..m).map(|n| ((m * m - n * n) as f32, (2 * m * n) as f32)));
    }
    // Squares half way between two floats.
    pairs.extend((0..100).map(|i| ((4097 + 16 * i) as f32, 2.0)));
    pairs.extend(data::mid(3, 1500)?.into_iter().zip(data::mid(4, 1500)?));
    pairs.extend(data::any(5, 1000)?.into_iter().zip(data::any(6, 1000)?));
    let near_one = data::words(7, 1500)?.into_iter().map(|w| f32::from_bits(0x3f00_0000 + (w & 0x00ff_ffff)));
    pairs.extend(near_one.zip(data::mid(8, 1500)?));
    Ok(pairs)
}
