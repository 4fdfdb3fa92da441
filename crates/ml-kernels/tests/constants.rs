//! Derives every constant of `exp_cr` and `ln_cr` with MPFR and compares them with `src/num/constants.rs`.
//!
//! `ISOBIT_BLESS=1 cargo test -p ml-kernels --test constants` writes the file anew (then run `cargo fmt`).
//!
//! Notation: "Q.64" is a fraction held as an integer times 2^-64, and so on; ulp errors are stated where they are used.

mod derivation;

use derivation::*;
use rug::Float;

/// Scaling of coefficient k of `exp`: Q.(64 + EXP_SCALE\[k\]) while k <= 6, Q.(32 + EXP_SCALE\[k\]) above.
const EXP_SCALE: [i32; 9] = [0, 0, 2, 4, 6, 9, 12, 15, 19];

fn exp_constants(out: &mut File) {
    let log2e = real(1.0).exp().log2();
    let q = fixed(&log2e, 95);
    for limb in (0..3).rev() {
        out.scalar(&format!("log2(e), Q.95, limb {limb}."), &format!("LOG2E_{limb}"), word(&q, limb));
    }
    let powers: Vec<Float> = (0..8).map(|i| fixed(&Float::with_val(BITS, real(i) / 8u32).exp2(), 63)).collect();
    let words = |limb| powers.iter().map(|p| word(p, limb)).collect::<Vec<u32>>();
    out.array("2^(i/8), Q.63, high words.", "EXP2_HI", &words(1));
    out.array("2^(i/8), Q.63, low words.", "EXP2_LO", &words(0));
    // (2^f - 1) / f on [0, 1/8], coefficient k-1 being that of f^k in 2^f.
    let f = |x: &Float| Float::with_val(BITS, x * Float::with_val(BITS, rug::float::Constant::Log2)).exp_m1() / x;
    let c = chebyshev(f, &real(0.0), &real(0.125), 7);
    for k in 1..=8 {
        let base = if k <= 6 { 64 } else { 32 };
        let doc = format!("Coefficient {k} of 2^f on [0, 1/8], Q.{}", base + EXP_SCALE[k]);
        out.coefficient(&doc, &format!("EXP_C{k}"), &c[k - 1], base + EXP_SCALE[k]);
    }
}

/// Added to every binary exponent so that the sum in `ln` starts from a non-negative multiple of ln 2.
const LN_BIAS: u32 = 152;

/// 256 c for interval i of `ln`, which is centred at 1 + i/16: near its reciprocal below 7, near twice that from 7 on, where
/// the exponent grows by one. c = 1 next to 1 from both sides.
fn multiplier(i: u32) -> u32 {
    let numerator = if i < 7 { 4096 } else { 8192 };
    (2 * numerator + 16 + i) / (2 * (16 + i))
}

fn ln_constants(out: &mut File) {
    let ln2 = fixed(&real(2.0).ln(), 96);
    for limb in (0..3).rev() {
        out.scalar(&format!("ln(2), Q.96, limb {limb}."), &format!("LN2_{limb}"), word(&ln2, limb));
    }
    let multipliers: Vec<u32> = (0..16).map(multiplier).collect();
    for i in 0..=16u32 {
        let c = real(multipliers[i as usize % 16]) / if i < 7 { 256u32 } else { 512 };
        for side in [-1.0, 1.0] {
            // The upper end is not in the interval.
            let m = (1.0 + (f64::from(i) + 0.5 * side) / 16.0).clamp(1.0, 2.0);
            let r = c.clone() * m - 1u32;
            assert!(r.clone().abs() < two_to(-5) || (side > 0.0 && r == two_to(-5)), "interval {i} is too wide: {r}");
        }
    }
    out.array("256 c, the multiplier of interval i.", "LN_C", &multipliers);
    let offsets: Vec<Float> = multipliers
        .iter()
        .map(|&c| fixed(&-(real(c) / 256u32).ln(), 96) - Float::with_val(BITS, &ln2 * LN_BIAS))
        .collect();
    // The integer part is the same for all, so a table of the fraction is enough.
    let floors: Vec<u32> = offsets.iter().map(|o| word(o, 3)).collect();
    assert!(floors.iter().all(|f| *f == floors[0]), "LN_BIAS does not suit: {floors:?}");
    out.scalar("Added to every binary exponent.", "LN_BIAS", LN_BIAS);
    out.scalar("Integer part of -ln(c) - LN_BIAS ln(2), two's complement.", "LN_OFFSET_3", floors[0]);
    for limb in (0..3).rev() {
        let words: Vec<u32> = offsets.iter().map(|o| word(o, limb)).collect();
        out.array(&format!("-ln(c) - LN_BIAS ln(2), Q.96, limb {limb}."), &format!("LN_OFFSET_{limb}"), &words);
    }
    // (1 - ln(1+r)/r) / r = 1/2 - r/3 + r^2/4 ..., magnitudes.
    let a = chebyshev(|r| (real(1.0) - Float::with_val(BITS, r).ln_1p() / r) / r, &-two_to(-5), &two_to(-5), 9);
    for k in 1..=10 {
        let base = if k <= 6 { 64 } else { 32 };
        let magnitude = if k % 2 == 1 { a[k - 1].clone() } else { -a[k - 1].clone() };
        out.coefficient(&format!("About 1/{}, Q.{base}", k + 1), &format!("LN_A{k}"), &magnitude, base);
    }
}

fn host_constants(out: &mut File) {
    let ln2 = real(2.0).ln();
    // 32 significant bits: k * HI is exact for |k| < 2^21.
    let head = Float::with_val(32, &ln2);
    let tail = Float::with_val(BITS, &ln2 - &head);
    out.item("log2(e).", "F64_LOG2E", "f64", &double(&real(1.0).exp().log2()));
    out.item("ln(2).", "F64_LN2", "f64", &double(&ln2));
    out.item("ln(2) to 32 bits.", "F64_LN2_HEAD", "f64", &double(&head));
    out.item("ln(2) less its head.", "F64_LN2_TAIL", "f64", &double(&tail));
    let list: Vec<String> = (0..16u32).map(|i| double(&-(real(multiplier(i)) / 256u32).ln())).collect();
    // -ln(1) is -0.0 in MPFR; +0.0 here.
    let list = list.join(", ").replace("0x8000_0000_0000_0000", "0x0000_0000_0000_0000");
    out.item("-ln(c) of interval i.", "F64_LN_OFFSET", "[f64; 16]", &format!("[{list}]"));
}

fn render() -> String {
    let mut out = File::new(
        "//! Constants of `exp` and `ln`, derived and checked by `tests/constants.rs`: generated, do not edit.\n\
         \n// pathway: P31\n",
    );
    exp_constants(&mut out);
    ln_constants(&mut out);
    host_constants(&mut out);
    out.text
}

#[test]
// pathway test: P31
fn constants_are_derived() {
    compare_or_bless("src/num/constants.rs", &render());
}
