//! All 2^32 inputs of a scalar function against an independent oracle: the proof behind the suffix `_cr`.
//!
//! `exp` and `ln` are compared with MPFR in both spellings (the host's and the one devices run); `sqrt` and the
//! conversions, in the spelling that devices run, with the processor's own correctly rounded operations. The oracle is
//! asked for every input whose result is a number: there is no list of easy cases.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ml_kernels::num::sweep::{BLOCK, Function, sweep};
use ml_kernels::num::{exp_integer, ln_integer, sqrt_integer, u32_to_f32_integer};
use rug::{Assign, Float};

/// Precision at which MPFR is asked first; a result nearer to the middle between two floats than 2^-20 of their distance
/// is computed again in [`FINE`].
const COARSE: u32 = 64;

/// Precision of the second question.
const FINE: u32 = 192;

/// What a run found.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Name of the function.
    pub function: String,
    /// Inputs compared.
    pub inputs: u64,
    /// Inputs whose host or device spelling differs from the oracle.
    pub mismatches: u64,
    /// The first of them: input, host result, device result, oracle, as bits.
    pub first_mismatch: Option<[u32; 4]>,
    /// Significant bits that the hardest input needs before it rounds safely; 0 where the oracle is exact.
    pub worst_case_bits: u32,
    /// That input, as bits.
    pub worst_case: u32,
    /// BLAKE3 of all results, little-endian, in the order of the inputs, by blocks of 65,536: hash of the block hashes.
    pub digest: String,
    /// Wall time.
    pub seconds: f64,
}

impl Summary {
    /// One line of JSON.
    pub fn to_json(&self) -> String {
        let first = match self.first_mismatch {
            Some([input, host, device, oracle]) => {
                format!(
                    r#"{{"input":"{input:08x}","host":"{host:08x}","device":"{device:08x}","oracle":"{oracle:08x}"}}"#
                )
            }
            None => "null".into(),
        };
        format!(
            concat!(
                r#"{{"function":"{}","inputs":{},"mismatches":{},"first_mismatch":{},"worst_case_bits":{},"#,
                r#""worst_case":"{:08x}","digest":"{}","seconds":{:.1}}}"#
            ),
            self.function,
            self.inputs,
            self.mismatches,
            first,
            self.worst_case_bits,
            self.worst_case,
            self.digest,
            self.seconds
        )
    }
}

/// The input nearest to the middle between two floats so far: bits needed, input.
type Near = (u32, u32);

/// What one block of inputs showed.
struct Block {
    mismatches: u64,
    first: Option<[u32; 4]>,
    near: Near,
    hash: [u8; 32],
}

/// An oracle: the correctly rounded, canonical result bits for the input bits, and the bits that needed.
type Oracle = fn(&mut Float, u32) -> (u32, u32);

/// Runs `function` ("exp", "ln", "sqrt", "u32_to_f32", "i32_to_f32", "f32_to_u32", "f32_to_i32") over all 2^32 inputs
/// on `threads` threads (0: one per core).
///
/// # Errors
/// An unknown name, or no threads.
pub fn run(function: &str, threads: usize) -> Result<Summary, String> {
    run_range(function, threads, 0..1 << 32)
}

/// [`run`] over a range of input bits.
///
/// # Errors
/// As [`run`].
pub fn run_range(function: &str, threads: usize, inputs: std::ops::Range<u64>) -> Result<Summary, String> {
    let (oracle, device): (Oracle, fn(u32) -> u32) = match function {
        "exp" => (exp_oracle, |x| exp_integer(f32::from_bits(x)).to_bits()),
        "ln" => (ln_oracle, |x| ln_integer(f32::from_bits(x)).to_bits()),
        "sqrt" => (sqrt_oracle, |x| sqrt_integer(f32::from_bits(x)).to_bits()),
        "u32_to_f32" => (|_, x| ((x as f32).to_bits(), 0), |x| u32_to_f32_integer(x).to_bits()),
        "i32_to_f32" => (|_, x| ((x as i32 as f32).to_bits(), 0), i32_to_f32_device),
        "f32_to_u32" => (|_, x| (f32::from_bits(x) as u32, 0), |x| Function::F32ToU32.apply(x, 0)),
        "f32_to_i32" => (|_, x| (f32::from_bits(x) as i32 as u32, 0), |x| Function::F32ToI32.apply(x, 0)),
        _ => return Err(format!("no oracle for {function}")),
    };
    let name = Function::from_name(function).ok_or_else(|| format!("no function {function}"))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| e.to_string())?;
    let start = Instant::now();
    let total = inputs.end.saturating_sub(inputs.start).div_ceil(BLOCK).max(1);
    let done = AtomicU64::new(0);
    let visit = |first: u32, results: &[u32]| {
        let block = compare(oracle, device, first, results);
        let n = done.fetch_add(1, Ordering::Relaxed) + 1;
        if n * 100 / total != (n - 1) * 100 / total {
            eprintln!("{function}: {}% after {:.0} s", n * 100 / total, start.elapsed().as_secs_f64());
        }
        block
    };
    let blocks = pool.install(|| sweep(name, 0, inputs.clone(), visit));

    let mut hasher = blake3::Hasher::new();
    for block in &blocks {
        hasher.update(&block.hash);
    }
    let near = blocks.iter().map(|b| b.near).fold((0, 0), |a, b| if b.0 > a.0 { b } else { a });
    Ok(Summary {
        function: function.into(),
        inputs: inputs.end - inputs.start,
        mismatches: blocks.iter().map(|b| b.mismatches).sum(),
        first_mismatch: blocks.iter().find_map(|b| b.first),
        worst_case_bits: near.0,
        worst_case: near.1,
        digest: hasher.finalize().to_hex().to_string(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn compare(oracle: Oracle, device: fn(u32) -> u32, first: u32, results: &[u32]) -> Block {
    let mut scratch = Float::new(COARSE);
    let mut block = Block { mismatches: 0, first: None, near: (0, 0), hash: [0; 32] };
    let mut hasher = blake3::Hasher::new();
    for (i, &host) in results.iter().enumerate() {
        let x = first + i as u32;
        let (expected, needed) = oracle(&mut scratch, x);
        let on_device = device(x);
        if host != expected || on_device != expected {
            block.mismatches += 1;
            block.first = block.first.or(Some([x, host, on_device, expected]));
        }
        if needed > block.near.0 {
            block.near = (needed, x);
        }
        hasher.update(&host.to_le_bytes());
    }
    block.hash = hasher.finalize().into();
    block
}

const NAN: (u32, u32) = (0x7fc0_0000, 0);

/// Contract clause `values`, spelled apart from the library that is under test.
fn canonical(x: f32) -> u32 {
    if x.is_nan() {
        NAN.0
    } else if x.abs() <= f32::MIN_POSITIVE {
        0
    } else {
        x.to_bits()
    }
}

/// The canonical float nearest to `f(x)`, where `f` replaces its argument by the function value, correctly rounded to
/// the argument's precision; and the bits that it took to tell, 0 if that was easy.
fn nearest(y: &mut Float, x: f32, f: impl Fn(&mut Float)) -> (u32, u32) {
    y.assign(x);
    f(y);
    let rounded = y.to_f32();
    let bits = canonical(rounded);
    // The bits of an f64 below those of an f32; 2^28 is the middle.
    let tail = y.to_f64().to_bits() & 0x1fff_ffff;
    if tail.abs_diff(1 << 28) > 1 << 8 || bits == 0 || (!rounded.is_finite() && !y.is_finite()) {
        return (bits, 0);
    }
    let middle = f64::from_bits(y.to_f64().to_bits() & !0x1fff_ffff | 1 << 28);
    let mut fine = Float::with_val(FINE, x);
    f(&mut fine);
    let distance = Float::with_val(FINE, &fine - middle);
    let (Some(e), Some(d)) = (fine.get_exp(), distance.get_exp()) else {
        // Exactly in the middle: rounding to even stands, and no precision less than all would do.
        return (canonical(fine.to_f32()), FINE);
    };
    let needed = e.abs_diff(d);
    assert!(needed < FINE - 8, "{x:e}: too near the middle between two floats for {FINE} bits");
    (canonical(fine.to_f32()), needed)
}

fn exp_oracle(y: &mut Float, x: u32) -> (u32, u32) {
    let x = f32::from_bits(x);
    if x.is_nan() { NAN } else { nearest(y, x, Float::exp_mut) }
}

fn ln_oracle(y: &mut Float, x: u32) -> (u32, u32) {
    let x = f32::from_bits(x);
    if x.is_nan() || x < 0.0 {
        NAN
    } else if x == 0.0 {
        (f32::NEG_INFINITY.to_bits(), 0)
    } else {
        nearest(y, x, Float::ln_mut)
    }
}

fn sqrt_oracle(_: &mut Float, x: u32) -> (u32, u32) {
    (canonical(f32::from_bits(x).sqrt()), 0)
}

/// `i32_to_f32` by way of the device spelling of `u32_to_f32`.
fn i32_to_f32_device(x: u32) -> u32 {
    let x = x as i32;
    let size = u32_to_f32_integer(x.unsigned_abs()).to_bits();
    size | u32::from(x < 0) << 31
}

/// Compare a scalar function with its oracle on all 2^32 inputs.
#[derive(clap::Args)]
pub struct Args {
    /// Functions, such as exp and ln
    #[arg(required = true)]
    functions: Vec<String>,
    /// Threads; one a core by default
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

/// Runs the task and prints one JSON line a function.
///
/// # Errors
/// A function that is unknown, or one that has a mismatch.
pub fn task(args: &Args) -> crate::error::Result<()> {
    for function in &args.functions {
        let summary = run(function, args.threads).map_err(crate::error::Error::Found)?;
        println!("{}", summary.to_json());
        if summary.mismatches > 0 {
            return Err(crate::error::Error::Found(format!("{function} is not correctly rounded")));
        }
    }
    Ok(())
}
