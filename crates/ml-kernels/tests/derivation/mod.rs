//! What the derivations of constants share: MPFR at high precision, fixed point, and Rust source as text.
//!
//! Notation: "Q.64" is a fraction held as an integer times 2^-64, and so on.
#![allow(dead_code, reason = "each derivation uses its part")]
#![allow(clippy::disallowed_methods, reason = "scales of constants that are checked where they are used")]

use std::fmt::Write as _;

use rug::Float;
use rug::ops::Pow;

/// Working precision: far above the 96 bits that any constant keeps.
pub const BITS: u32 = 600;

pub fn real(x: impl Into<f64>) -> Float {
    Float::with_val(BITS, x.into())
}

pub fn two_to(power: i32) -> Float {
    Float::with_val(BITS, 2).pow(power)
}

/// `x * 2^fraction_bits` rounded to the nearest integer.
pub fn fixed(x: &Float, fraction_bits: i32) -> Float {
    (Float::with_val(BITS, x) * two_to(fraction_bits)).round()
}

/// The coefficients of the polynomial of degree `degree` that equals `f` in the Chebyshev nodes of `[low, high]`.
///
/// Interpolation there is within a small factor of the best approximation, and has a closed recipe.
pub fn chebyshev(f: impl Fn(&Float) -> Float, low: &Float, high: &Float, degree: usize) -> Vec<Float> {
    let pi = Float::with_val(BITS, rug::float::Constant::Pi);
    let n = degree + 1;
    let nodes: Vec<Float> = (0..n)
        .map(|j| {
            let angle = Float::with_val(BITS, &pi * (2 * j + 1) as u32) / (2 * n) as u32;
            let unit = angle.cos();
            let half = Float::with_val(BITS, high - low) / 2u32;
            let middle = Float::with_val(BITS, high + low) / 2u32;
            middle + half * unit
        })
        .collect();
    // Newton's divided differences in place, then Horner's scheme over the nodes expands into powers.
    let mut newton: Vec<Float> = nodes.iter().map(&f).collect();
    for level in 1..n {
        for j in (level..n).rev() {
            let rise = Float::with_val(BITS, &newton[j] - &newton[j - 1]);
            let run = Float::with_val(BITS, &nodes[j] - &nodes[j - level]);
            newton[j] = rise / run;
        }
    }
    let mut powers = vec![real(0.0); n];
    for j in (0..n).rev() {
        for k in (1..n).rev() {
            powers[k] = Float::with_val(BITS, &powers[k - 1] - Float::with_val(BITS, &powers[k] * &nodes[j]));
        }
        powers[0] = Float::with_val(BITS, &newton[j] - Float::with_val(BITS, &powers[0] * &nodes[j]));
    }
    powers
}

/// Word `index` (0 is the lowest) of an integer, two's complement.
pub fn word(x: &Float, index: i32) -> u32 {
    let shifted = (Float::with_val(BITS, x) * two_to(-32 * index)).floor();
    let above = (Float::with_val(BITS, &shifted) * two_to(-32)).floor() * two_to(32);
    (shifted - above).to_u32_saturating().expect("a word is a number")
}

pub fn hex(word: u32) -> String {
    format!("0x{:04x}_{:04x}", word >> 16, word & 0xffff)
}

pub struct File {
    pub text: String,
}

impl File {
    pub fn new(header: &str) -> Self {
        Self { text: header.into() }
    }

    pub fn item(&mut self, doc: &str, name: &str, ty: &str, value: &str) {
        writeln!(self.text, "\n/// {doc}\npub(super) const {name}: {ty} = {value};").expect("a string takes any text");
    }

    pub fn scalar(&mut self, doc: &str, name: &str, value: u32) {
        self.item(doc, name, "u32", &hex(value));
    }

    pub fn array(&mut self, doc: &str, name: &str, values: &[u32]) {
        let list: Vec<String> = values.iter().map(|&w| hex(w)).collect();
        self.item(doc, name, &format!("[u32; {}]", values.len()), &format!("[{}]", list.join(", ")));
    }

    /// A coefficient of 64 bits (two scalars) or 32 bits (one), which must fit.
    pub fn coefficient(&mut self, doc: &str, name: &str, x: &Float, fraction_bits: i32) {
        let bits = if fraction_bits >= 64 { 64 } else { 32 };
        let value = fixed(x, fraction_bits);
        assert!(value > 0u32 && value < two_to(bits), "{name} does not fit: {value}");
        if bits == 64 {
            self.scalar(&format!("{doc}, high word."), &format!("{name}_HI"), word(&value, 1));
            self.scalar(&format!("{doc}, low word."), &format!("{name}_LO"), word(&value, 0));
        } else {
            self.scalar(&format!("{doc}."), name, word(&value, 0));
        }
    }
}

/// `x` as the bits of the nearest f64, so that no decimal is parsed.
pub fn double(x: &Float) -> String {
    let bits = x.to_f64().to_bits();
    format!(
        "f64::from_bits(0x{:04x}_{:04x}_{:04x}_{:04x})",
        bits >> 48,
        bits >> 32 & 0xffff,
        bits >> 16 & 0xffff,
        bits & 0xffff
    )
}

/// The text without what `cargo fmt` may move.
pub fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace(",]", "]")
}

/// A constant with MPFR's precision.
pub fn constant(c: rug::float::Constant) -> Float {
    Float::with_val(BITS, c)
}

/// How the intermediate results of a polynomial are signed.
#[derive(Clone, Copy, PartialEq)]
pub enum Signs {
    /// Coefficients are all positive, or alternate while the argument is positive: magnitudes are kept.
    Regular,
    /// Any: two's complement.
    Mixed,
}

/// The words of a 128-bit integer, highest first, as an array's text.
fn four_words(x: &Float) -> String {
    let words: Vec<String> = (0..4).rev().map(|i| hex(word(x, i))).collect();
    format!("[{}]", words.join(", "))
}

impl File {
    /// A 128-bit constant as four scalars.
    pub fn wide(&mut self, doc: &str, name: &str, x: &Float, fraction_bits: i32) {
        let value = fixed(x, fraction_bits);
        assert!(value.clone().abs() < two_to(128), "{name} does not fit");
        for i in (0..4).rev() {
            self.scalar(&format!("{doc}, Q.{fraction_bits}, word {i}."), &format!("{name}_{i}"), word(&value, i));
        }
    }

    /// A table of 128-bit constants.
    pub fn wide_array(&mut self, doc: &str, name: &str, values: &[Float], fraction_bits: i32) {
        let list: Vec<String> = values.iter().map(|x| four_words(&fixed(x, fraction_bits))).collect();
        let doc = format!("{doc}, Q.{fraction_bits}.");
        self.item(&doc, name, &format!("[[u32; 4]; {}]", values.len()), &format!("[{}]", list.join(", ")));
    }

    /// The steps of a polynomial for arguments up to `reach`, with an error of a few 2^-`bits`.
    ///
    /// A coefficient is held as large as the results of its step allow, and in as few words as the error allows.
    pub fn polynomial(&mut self, doc: &str, name: &str, c: &[Float], reach: f64, bits: i32, signs: Signs) {
        let n = c.len();
        let room = if signs == Signs::Mixed { 0.499 } else { 0.999 };
        let mut size = vec![0.0f64; n + 1];
        let mut scale = vec![0i32; n];
        for k in (0..n).rev() {
            size[k] = c[k].to_f64().abs() + reach * size[k + 1];
            scale[k] = 0;
            while size[k] * 2f64.powi(scale[k] + 1) < room {
                scale[k] += 1;
            }
            assert!(size[k] < room, "{name}: coefficient {k} does not fit");
            if k + 1 < n {
                scale[k] = scale[k].min(scale[k + 1]);
            }
        }
        // The result is the value itself.
        scale[0] = 0;
        for k in 1..n {
            scale[k] = scale[k].min(scale[k - 1] + 31);
        }
        let signed = |alternating: bool| (0..n).all(|k| c[k].is_sign_negative() == (alternating && k % 2 == 1));
        assert!(signs == Signs::Mixed || signed(false) || signed(true), "{name}: the signs are not regular");
        let mut steps = Vec::new();
        for k in (0..n).rev() {
            let missing = f64::from(bits - scale[k]) + k as f64 * reach.log2();
            let words = ((missing / 32.0).ceil() as i32).clamp(1, 4);
            let shift = if k + 1 < n { scale[k + 1] - scale[k] } else { 0 };
            let held = match signs {
                Signs::Regular => Float::with_val(BITS, c[k].abs_ref()),
                Signs::Mixed => c[k].clone(),
            };
            // Rounded to the words that count.
            let value = fixed(&held, scale[k] + 32 * words) * two_to(32 * (4 - words));
            steps.push(format!("Step {{ words: {words}, shift: {shift}, c: {} }}", four_words(&value)));
        }
        self.item(doc, name, &format!("[Step; {n}]"), &format!("[{}]", steps.join(", ")));
    }

    /// An f64.
    pub fn number(&mut self, doc: &str, name: &str, x: &Float) {
        self.item(doc, name, "f64", &double(x));
    }

    /// A table of f64.
    pub fn doubles(&mut self, doc: &str, name: &str, values: &[Float]) {
        let list: Vec<String> = values.iter().map(double).collect();
        self.item(doc, name, &format!("[f64; {}]", values.len()), &format!("[{}]", list.join(", ")));
    }
}

/// Compares the text with a source file, or writes it there if `ISOBIT_BLESS` is set.
pub fn compare_or_bless(file: &str, fresh: &str) {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("ISOBIT_BLESS").is_some() {
        std::fs::write(&path, fresh).expect("the source file can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the source file can be read");
    assert!(squeeze(&kept) == squeeze(fresh), "{file} is not what MPFR says; bless it and look at the diff");
}

/// Asserts that the polynomial with coefficients `c` is within 2^-`bits` of `f` on `[low, high]`.
pub fn assert_close(name: &str, f: impl Fn(&Float) -> Float, c: &[Float], low: &Float, high: &Float, bits: i32) {
    for i in 0..=999u32 {
        let x = low + Float::with_val(BITS, high - low) * i / 999u32;
        let mut p = real(0.0);
        for k in c.iter().rev() {
            p = p * &x + k;
        }
        let error = (p - f(&x)).abs();
        assert!(error < two_to(-bits), "{name} is {error:.3e} off at {x:.6}");
    }
}
