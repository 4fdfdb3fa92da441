//! The run over all inputs of a function of one value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ml_kernels::num::sweep::BLOCK;
use rayon::prelude::*;
use rug::Float;

use super::logs::Table;
use super::oracle::{COARSE, NAN, decided, nearest, unsigned_zero};
use super::subjects::{Oracle, Subject, Symmetry};
use super::summary::Summary;

const SIGN: u32 = 0x8000_0000;

/// What one block of inputs showed.
#[derive(Clone, Copy)]
struct Block {
    inputs: u64,
    mismatches: u64,
    first: Option<[u32; 4]>,
    /// The input nearest to the middle between two floats: bits needed, input.
    near: (u32, u32),
    hash: [u8; 32],
}

/// How much of a run is done.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// One input in so many, of each block.
    pub(super) every: u32,
    /// Whether the spelling that devices run is compared too. It takes most of the time; a device whose digest over all
    /// inputs is the host's has compared it as well.
    pub(super) both: bool,
    /// Whether the platform's function in f64 is asked first, and MPFR only near the middle between two floats.
    pub(super) quick: bool,
}

/// Runs over all inputs, or a sample.
pub(super) fn run(subject: &Subject, extent: Extent, pool: &rayon::ThreadPool) -> Summary {
    let name = subject.function.name();
    let start = Instant::now();
    let logs = match subject.oracle {
        Oracle::Mpfr(value) if subject.logarithm && extent.every == 1 && !extent.quick => Some(Table::new(value, pool)),
        _ => None,
    };
    let half = u64::from(SIGN) / BLOCK;
    let done = AtomicU64::new(0);
    // A block and its mirror image, by the oracle's answers for the first where the function has a symmetry.
    let pairs: Vec<[Block; 2]> = pool.install(|| {
        (0..half)
            .into_par_iter()
            .map_init(
                || Float::new(COARSE),
                |y, block| {
                    let positive = block as u32 * BLOCK as u32;
                    let answers = answers(subject, extent, logs.as_ref(), positive, y);
                    let mirrored = match subject.symmetry {
                        Symmetry::None => self::answers(subject, extent, logs.as_ref(), positive | SIGN, y),
                        Symmetry::Even => answers.clone(),
                        Symmetry::Odd => answers.iter().map(|&(a, n)| (opposite(a), n)).collect(),
                    };
                    let both = [
                        compare(subject, extent, positive, &answers),
                        compare(subject, extent, positive | SIGN, &mirrored),
                    ];
                    let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if n * 20 / half != (n - 1) * 20 / half {
                        eprintln!("{name}: {}% after {:.0} s", n * 100 / half, start.elapsed().as_secs_f64());
                    }
                    both
                },
            )
            .collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let blocks: Vec<Block> = (0..2).flat_map(|side| pairs.iter().map(move |p| p[side])).collect();
    let mut hasher = blake3::Hasher::new();
    for block in &blocks {
        hasher.update(&block.hash);
    }
    let near = blocks.iter().map(|b| b.near).fold((0, 0), |a, b| if b.0 > a.0 { b } else { a });
    Summary {
        function: name.into(),
        inputs: blocks.iter().map(|b| b.inputs).sum(),
        mismatches: blocks.iter().map(|b| b.mismatches).sum(),
        first_mismatch: blocks.iter().find_map(|b| b.first),
        worst_case_bits: near.0,
        worst_case: near.1,
        digest: if extent.every == 1 { hasher.finalize().to_hex().to_string() } else { String::new() },
        seconds,
        threads: pool.current_num_threads(),
        host_ns: subject.slice.map(|f| nanoseconds(name, f)),
        spellings: if extent.both { 2 } else { 1 },
        oracle: match subject.oracle {
            Oracle::Exact(_) => "exact",
            Oracle::Mpfr(_) if extent.quick && subject.quick.is_some() => "libm, MPFR",
            Oracle::Mpfr(_) => "MPFR",
        },
        platform_ns: subject.platform.map(|f| {
            nanoseconds(name, move |x, out| {
                for (x, out) in x.iter().zip(out) {
                    *out = f(*x);
                }
            })
        }),
    }
}

/// -x, canonical.
fn opposite(x: u32) -> u32 {
    if x == 0 || x == NAN { x } else { x ^ SIGN }
}

/// The inputs of a block that are looked at.
fn inputs(first: u32, every: u32) -> impl Iterator<Item = u32> {
    // Another remainder in each block, so that no pattern of fractions is left out; mirror images have the same.
    let offset = ((first & !SIGN) / BLOCK as u32).wrapping_mul(0x9e37_79b1) % every;
    (offset..BLOCK as u32).step_by(every as usize).map(move |i| first + i)
}

/// The expected results of a block, each with the significant bits that it took to tell.
fn answers(subject: &Subject, extent: Extent, logs: Option<&Table>, first: u32, y: &mut Float) -> Vec<(u32, u32)> {
    let every = extent.every;
    let value = match subject.oracle {
        Oracle::Exact(f) => return inputs(first, every).map(|x| (f(x), 0)).collect(),
        Oracle::Mpfr(value) => value,
    };
    let mut ask = |x: u32| nearest(y, f32::from_bits(x), value);
    if let Some(quick) = subject.quick.filter(|_| extent.quick) {
        let decided = |x: u32| decided(quick(f64::from(unsigned_zero(f32::from_bits(x)))));
        return inputs(first, every).map(|x| decided(x).map_or_else(|| ask(x), |bits| (bits, 0))).collect();
    }
    if let Some(logs) = logs {
        return inputs(first, every).map(|x| logs.decided(x).map_or_else(|| ask(x), |bits| (bits, 0))).collect();
    }
    if subject.monotone {
        let (low, high) = (ask(first), ask(first + (BLOCK as u32 - 1)));
        if low.0 == high.0 {
            return inputs(first, every).map(|_| (low.0, 0)).collect();
        }
    }
    inputs(first, every).map(|x| (subject.known)(x).map_or_else(|| ask(x), |known| (known, 0))).collect()
}

fn compare(subject: &Subject, extent: Extent, first: u32, answers: &[(u32, u32)]) -> Block {
    let mut block = Block { inputs: 0, mismatches: 0, first: None, near: (0, 0), hash: [0; 32] };
    let mut hasher = blake3::Hasher::new();
    let inputs: Vec<u32> = inputs(first, extent.every).collect();
    let results: Vec<u32> = match subject.slice {
        Some(slice) => {
            let x: Vec<f32> = inputs.iter().map(|x| f32::from_bits(*x)).collect();
            let mut out = vec![0.0f32; x.len()];
            slice(&x, &mut out);
            out.iter().map(|y| y.to_bits()).collect()
        }
        None => inputs.iter().map(|x| subject.function.apply(*x, 0)).collect(),
    };
    for ((&x, &host), &(expected, needed)) in inputs.iter().zip(&results).zip(answers) {
        let device = if extent.both { (subject.device)(x) } else { expected };
        block.inputs += 1;
        if host != expected || device != expected {
            block.mismatches += 1;
            block.first = block.first.or(Some([x, host, device, expected]));
        }
        if needed > block.near.0 {
            block.near = (needed, x);
        }
        hasher.update(&host.to_le_bytes());
    }
    block.hash = hasher.finalize().into();
    block
}

/// Nanoseconds an element of ordinary arguments on one thread: the best of five.
fn nanoseconds(name: &str, f: impl Fn(&[f32], &mut [f32])) -> f64 {
    const N: u32 = 1 << 16;
    // Both signs, 2^-3 to 2^3; up to 1 for the functions that end there, and positive where others are.
    let x: Vec<f32> = (0..N)
        .map(|i| {
            let r = i.wrapping_mul(0x9e37_79b1);
            let x = f32::from_bits(0x3e00_0000 + (r >> 1) % 0x0300_0000);
            match name {
                "asin" | "acos" => (x * 0.125) * if r & 1 == 0 { 1.0 } else { -1.0 },
                "ln" | "log2" | "log10" | "log1p" | "rsqrt" | "sqrt" | "lgamma" | "digamma" => x,
                _ => x * if r & 1 == 0 { 1.0 } else { -1.0 },
            }
        })
        .collect();
    let mut out = vec![0.0f32; x.len()];
    let once = || {
        let start = Instant::now();
        f(std::hint::black_box(&x), &mut out);
        std::hint::black_box(&out);
        start.elapsed().as_secs_f64()
    };
    let best = std::iter::repeat_with(once).take(5).fold(f64::INFINITY, f64::min);
    best * 1e9 / f64::from(N)
}

#[cfg(test)]
mod tests {
    use ml_kernels::num::sweep::Function;

    use super::*;

    /// One in 65,536 of all inputs: the machinery, not the functions. The library's tests look closer.
    #[test]
    fn a_thin_sample_of_every_function_agrees() {
        let pool = rayon::ThreadPoolBuilder::new().build().expect("threads");
        for (i, function) in Function::ALL.iter().enumerate() {
            if let Some(subject) = super::super::subjects::univariate(function.name()) {
                let done = run(&subject, Extent { every: 65_536, both: true, quick: i % 2 == 0 }, &pool);
                assert_eq!((done.inputs, done.mismatches), (65_536, 0), "{:?}", done.first_mismatch);
            }
        }
    }

    #[test]
    fn a_wrong_spelling_is_found() {
        let first = 0xbf80_0000;
        let mut subject = super::super::subjects::univariate("tanh").expect("known");
        let extent = Extent { every: 1, both: false, quick: false };
        let answers = answers(&subject, extent, None, first, &mut Float::new(COARSE));
        assert_eq!(
            answers,
            self::answers(&subject, Extent { quick: true, ..extent }, None, first, &mut Float::new(COARSE))
        );
        subject.device = |x| if x == 0xbf80_0007 { 0 } else { Function::Tanh.apply(x, 0) };
        let both = compare(&subject, Extent { both: true, ..extent }, first, &answers);
        assert_eq!((both.inputs, both.mismatches, both.first.map(|f| f[0])), (BLOCK, 1, Some(0xbf80_0007)));
        let host = compare(&subject, extent, first, &answers);
        assert_eq!((host.mismatches, host.hash), (0, both.hash));
        subject.slice = Some(|x, out| out.copy_from_slice(x));
        assert!(compare(&subject, extent, first, &answers).mismatches > 60_000);
    }
}
