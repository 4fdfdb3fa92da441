//! Primitives on random shapes and hostile data: every device of `ISOBIT_DEVICES`, and the host with other numbers of
//! threads, gives the bytes of the host, or refuses with the host's words.
//!
//! The conformance suite holds the host to the reference on chosen cases; this draws the cases. Sizes are 0 to 300 in each
//! dimension. `cargo xtask validate --long` runs it; `ISOBIT_STRESS_CASES` sets the draws an operation. What fails is made
//! as small as it gets and printed; `ISOBIT_STRESS="matmul nn,3,4,5,Ties,17"` runs that draw alone.

use ml_core::Result;
use ml_kernels::conformance::test_devices;
use ml_kernels::map::{Expr, Operand, map};
use ml_kernels::matmul::{Gram, Layout};
use ml_kernels::reduce::Order;
use ml_kernels::{Buffer, Device, Element};
use ml_kernels::{distances, histogram, linalg, matmul, moves, random, reduce, scan, scatter_add, sort};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// Largest size along one dimension.
const MOST: usize = 300;

/// What the numbers are like. All are canonical, and no sum of 300 products leaves the range: NaNs of the processor's own
/// making are outside the contract.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Between -1 and 1.
    Ordinary,
    /// Magnitudes from 2^-126 to 2^-60 and zeros: most products are below the bound of `canon`.
    Small,
    /// Magnitudes from 2^-126 to 2^50.
    Wide,
    /// Whole numbers from -3 to 3.
    Ties,
}

const KINDS: [Kind; 4] = [Kind::Ordinary, Kind::Small, Kind::Wide, Kind::Ties];

/// One case: sizes, the kind of data, and what it is drawn from.
#[derive(Debug, Clone, Copy)]
struct Draw {
    sizes: [usize; 3],
    kind: Kind,
    seed: u64,
}

impl Draw {
    /// The `which`-th sequence of random integers of this draw (SplitMix64).
    fn integers(&self, which: u64) -> impl Iterator<Item = u64> {
        let mut state = self.seed ^ (which + 1).wrapping_mul(0xd134_2543_de82_ef95);
        std::iter::repeat_with(move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
    }

    fn floats(&self, device: &Device, which: u64, count: usize) -> Result<Buffer<f32>> {
        let exponent = |r: u64, low: u64, high: u64| ((low + (r >> 40) % (high - low)) << 23) as u32;
        let value = |r: u64| {
            let sign_and_mantissa = (r as u32) & 0x807f_ffff;
            let x = match self.kind {
                Kind::Ordinary => (r >> 40) as f32 / (1u32 << 23) as f32 - 1.0,
                Kind::Small if r >> 62 == 0 => 0.0,
                Kind::Small => f32::from_bits(sign_and_mantissa | exponent(r, 1, 67)),
                Kind::Wide => f32::from_bits(sign_and_mantissa | exponent(r, 1, 177)),
                Kind::Ties => ((r >> 32) % 7) as f32 - 3.0,
            };
            ml_core::canon::canon(x)
        };
        let data: Vec<f32> = self.integers(which).take(count).map(value).collect();
        Buffer::upload(device, &data)
    }

    fn below(&self, device: &Device, which: u64, count: usize, limit: usize) -> Result<Buffer<u32>> {
        let data: Vec<u32> =
            self.integers(which).take(count).map(|r| ((r >> 20) % limit.max(1) as u64) as u32).collect();
        Buffer::upload(device, &data)
    }
}

/// The bits of results, one after the other.
trait Bits {
    fn bits(self) -> Result<Vec<u32>>;
}

impl<T: Element> Bits for Buffer<T> {
    fn bits(self) -> Result<Vec<u32>> {
        let bytes: Vec<u8> = self.read()?.iter().flat_map(|x| bytemuck::bytes_of(x).to_vec()).collect();
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }
}

impl<A: Bits, B: Bits> Bits for (A, B) {
    fn bits(self) -> Result<Vec<u32>> {
        let mut bits = self.0.bits()?;
        bits.extend(self.1.bits()?);
        Ok(bits)
    }
}

type Operation = fn(&Device, &Draw) -> Result<Vec<u32>>;

/// Whatever takes one matrix.
macro_rules! of_matrix {
    ($($path:ident)::+ $(, $more:expr)*) => {
        |device, draw| {
            let [rows, cols, _] = draw.sizes;
            $($path)::+(device, &draw.floats(device, 0, rows * cols)?, rows, cols $(, $more)*)?.bits()
        }
    };
}

/// Whatever takes one list.
macro_rules! of_list {
    ($($path:ident)::+ $(, $more:expr)*) => {
        |device, draw| {
            let [rows, cols, _] = draw.sizes;
            $($path)::+(device, &draw.floats(device, 0, rows * cols)? $(, $more)*)?.bits()
        }
    };
}

fn product(device: &Device, draw: &Draw, layout: Layout) -> Result<Vec<u32>> {
    let [m, n, k] = draw.sizes;
    let (a, b) = (draw.floats(device, 0, m * k)?, draw.floats(device, 1, k * n)?);
    matmul::matmul(device, layout, &a, &b, m, n, k)?.bits()
}

const OPERATIONS: &[(&str, Operation)] = &[
    ("matmul nn", |device, draw| product(device, draw, Layout::NN)),
    ("matmul nt", |device, draw| product(device, draw, Layout::NT)),
    ("matmul tn", |device, draw| product(device, draw, Layout::TN)),
    ("matmul batched", |device, draw| {
        let [m, n, k] = draw.sizes.map(|size| size / 3);
        let (a, b) = (draw.floats(device, 0, 3 * m * k)?, draw.floats(device, 1, 3 * k * n)?);
        matmul::matmul_batched(device, Layout::NN, &a, &b, 3, m, n, k)?.bits()
    }),
    ("matvec", |device, draw| {
        let [m, k, _] = draw.sizes;
        let (a, x) = (draw.floats(device, 0, m * k)?, draw.floats(device, 1, k)?);
        matmul::matvec(device, Layout::NN, &a, &x, m, k)?.bits()
    }),
    ("gram rows", |device, draw| {
        let [m, k, _] = draw.sizes;
        matmul::gram(device, Gram::Rows, &draw.floats(device, 0, m * k)?, m, k)?.bits()
    }),
    ("gram columns", |device, draw| {
        let [m, k, _] = draw.sizes;
        matmul::gram(device, Gram::Columns, &draw.floats(device, 0, m * k)?, m, k)?.bits()
    }),
    ("squared distances", |device, draw| {
        let [n, m, d] = draw.sizes;
        let (x, y) = (draw.floats(device, 0, n * d)?, draw.floats(device, 1, m * d)?);
        distances::squared_distances(device, &x, &y, n, m, d)?.bits()
    }),
    ("nearest", |device, draw| {
        let [n, m, d] = draw.sizes;
        let (x, y) = (draw.floats(device, 0, n * d)?, draw.floats(device, 1, m * d)?);
        distances::nearest(device, &x, &y, n, m, d)?.bits()
    }),
    ("k nearest", |device, draw| {
        let [n, m, d] = draw.sizes;
        let (x, y) = (draw.floats(device, 0, n * d)?, draw.floats(device, 1, m * d)?);
        distances::k_nearest(device, &x, &y, n, m, d, 1 + (draw.seed % 9) as usize)?.bits()
    }),
    ("sum", of_list!(reduce::sum)),
    ("row sums", of_matrix!(reduce::row_sums)),
    ("column sums", of_matrix!(reduce::col_sums)),
    ("variance", of_list!(reduce::variance, 1)),
    ("row variances", of_matrix!(reduce::row_variances, 0)),
    ("column variances", of_matrix!(reduce::col_variances, 0)),
    ("max", of_list!(reduce::max)),
    ("row min", of_matrix!(reduce::row_min)),
    ("column max", of_matrix!(reduce::col_max)),
    ("row log-sum-exp", of_matrix!(reduce::row_log_sum_exp)),
    ("argmin", of_matrix!(reduce::argmin_rows)),
    ("argmax", of_matrix!(reduce::argmax_rows)),
    ("top k", |device, draw| {
        let [rows, cols, k] = draw.sizes;
        let order = if draw.seed.is_multiple_of(2) { Order::Smallest } else { Order::Largest };
        reduce::top_k_rows(device, &draw.floats(device, 0, rows * cols)?, rows, cols, k % 20, order)?.bits()
    }),
    ("segment sums", |device, draw| {
        let [rows, cols, segments] = draw.sizes;
        let mut offsets = draw.below(device, 1, segments, rows * cols + 1)?.read()?;
        offsets.extend([0, (rows * cols) as u32]);
        offsets.sort_unstable();
        let offsets = Buffer::upload(device, &offsets)?;
        reduce::segment_sums(device, &draw.floats(device, 0, rows * cols)?, &offsets)?.bits()
    }),
    ("cumulative sum", of_list!(scan::cumulative_sum)),
    ("row cumulative sums", of_matrix!(scan::row_cumulative_sums)),
    ("exclusive scan", |device, draw| {
        let [rows, cols, _] = draw.sizes;
        let (scanned, total) = scan::exclusive_scan(device, &draw.below(device, 0, rows * cols, 1000)?)?;
        let mut bits = scanned.bits()?;
        bits.push(total);
        Ok(bits)
    }),
    ("sort by key", |device, draw| {
        let [rows, cols, kinds] = draw.sizes;
        let count = rows * cols;
        let (keys, values) = (draw.below(device, 0, count, kinds)?, draw.below(device, 1, count, 1 << 30)?);
        sort::sort_by_key(device, &keys, &values)?.bits()
    }),
    ("argsort", of_list!(sort::argsort)),
    ("histogram", |device, draw| {
        let [rows, cols, bins] = draw.sizes;
        histogram::histogram(device, &draw.below(device, 0, rows * cols, bins)?, bins)?.bits()
    }),
    ("scatter add", |device, draw| {
        let [rows, cols, groups] = draw.sizes;
        let (values, indices) = (draw.floats(device, 0, rows * cols)?, draw.below(device, 1, rows, groups)?);
        scatter_add::scatter_add(device, &values, &indices, rows, cols, groups)?.bits()
    }),
    ("gather rows", |device, draw| {
        let [rows, cols, wanted] = draw.sizes;
        let (table, indices) = (draw.floats(device, 0, rows * cols)?, draw.below(device, 1, wanted, rows)?);
        moves::gather_rows(device, &table, &indices, rows, cols)?.bits()
    }),
    ("random and permutation", |device, draw| {
        let [n, _, _] = draw.sizes;
        let uniform = random::random_uniform(device, n * n, draw.seed, 3)?;
        (uniform, random::permutation(device, n * n, draw.seed, 5)?).bits()
    }),
    ("map", |device, draw| {
        let [rows, cols, _] = draw.sizes;
        let (x, row, column) =
            (draw.floats(device, 0, rows * cols)?, draw.floats(device, 1, cols)?, draw.floats(device, 2, rows)?);
        let formula = (Expr::input(0) - Expr::input(1)) / Expr::input(2).abs().sqrt().exp() * Expr::scalar(0).tanh();
        let inputs = [Operand::Full(&x), Operand::Row(&row), Operand::Col(&column)];
        map(device, &formula, &inputs, &[0.75], rows, cols)?.bits()
    }),
    ("cholesky", |device, draw| {
        let [n, k, _] = draw.sizes;
        let x = draw.floats(device, 0, n * k)?;
        let gram = matmul::gram(device, Gram::Rows, &x, n, k)?;
        linalg::cholesky(device, &gram, n)?.bits()
    }),
    ("solve", |device, draw| {
        let [n, right_sides, _] = draw.sizes.map(|size| size / 3);
        let (a, b) = (draw.floats(device, 0, n * n)?, draw.floats(device, 1, n * right_sides)?);
        linalg::solve(device, &a, &b, n, right_sides)?.bits()
    }),
];

/// What became of a draw: bits, or the words of the refusal.
fn outcome(operation: Operation, device: &Device, draw: &Draw) -> std::result::Result<Vec<u32>, String> {
    operation(device, draw).map_err(|e| e.to_string())
}

/// Where the first device differs from the host.
fn difference(operation: Operation, devices: &[Device], draw: &Draw) -> Option<String> {
    let want = outcome(operation, &Device::host(), draw);
    devices.iter().find_map(|device| {
        let got = outcome(operation, device, draw);
        let first = |(got, want): (&Vec<u32>, &Vec<u32>)| {
            let at = got.iter().zip(want).position(|(g, w)| g != w)?;
            Some(format!("element {at} is {:08x}, not {:08x}", got[at], want[at]))
        };
        let what = match (&got, &want) {
            (Ok(g), Ok(w)) => first((g, w)).unwrap_or_else(|| format!("{} elements, not {}", g.len(), w.len())),
            (g, w) => format!("{:?}, not {:?}", g.as_ref().map(Vec::len), w.as_ref().map(Vec::len)),
        };
        (got != want).then(|| format!("{}: {what}", device.name()))
    })
}

fn devices() -> Vec<Device> {
    let mut devices = test_devices();
    devices.extend([1, 7].map(|threads| Device::host_with_threads(threads).expect("the system gives the threads")));
    devices
}

/// The draw that `ISOBIT_STRESS` names.
fn asked_for(text: &str) -> (&'static str, Operation, Draw) {
    let parts: Vec<&str> = text.split(',').collect();
    let [name, sizes @ .., kind, seed] = &parts[..] else { panic!("ISOBIT_STRESS: name,size,size,size,kind,seed") };
    let &(name, operation) = OPERATIONS.iter().find(|(n, _)| n == name).expect("a known operation");
    let sizes: Vec<usize> = sizes.iter().map(|s| s.parse().expect("a size")).collect();
    let kind = *KINDS.iter().find(|k| format!("{k:?}") == *kind).expect("a known kind");
    let draw = Draw { sizes: sizes.try_into().expect("three sizes"), kind, seed: seed.parse().expect("a seed") };
    (name, operation, draw)
}

/// As many draws of each operation as `ISOBIT_STRESS_CASES` says, or 24.
#[test]
#[ignore = "minutes; cargo xtask validate --long runs it"]
fn devices_agree_on_random_shapes_and_hostile_data() {
    let devices = devices();
    if let Ok(text) = std::env::var("ISOBIT_STRESS") {
        let (name, operation, draw) = asked_for(&text);
        assert_eq!(difference(operation, &devices, &draw), None, "{name} {draw:?}");
        return;
    }
    let cases = std::env::var("ISOBIT_STRESS_CASES").map_or(24, |n| n.parse().expect("a whole number"));
    let size = || 0..=MOST;
    let kind = (0..KINDS.len()).prop_map(|i| KINDS[i]);
    let draws = ([size(), size(), size()], kind, proptest::num::u64::ANY)
        .prop_map(|(sizes, kind, seed)| Draw { sizes, kind, seed })
        .boxed();
    let mut failures = Vec::new();
    for &(name, operation) in OPERATIONS {
        let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
        let done = runner.run(&draws, |draw| match difference(operation, &devices, &draw) {
            Some(difference) => Err(TestCaseError::fail(difference)),
            None => Ok(()),
        });
        match done {
            Ok(()) => println!("{name}: {cases} draws on {} devices", devices.len()),
            Err(TestError::Fail(reason, Draw { sizes: [a, b, c], kind, seed })) => {
                failures.push(format!("ISOBIT_STRESS=\"{name},{a},{b},{c},{kind:?},{seed}\": {reason}"));
            }
            Err(TestError::Abort(reason)) => failures.push(format!("{name}: {reason}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The comparison notices one broken rule, and the smallest sizes that show it are found.
#[cfg(feature = "sabotage")]
#[test]
fn a_broken_rule_is_found_and_made_small() {
    use ml_kernels::sabotage::Arm;
    let broken = [Device::host().sabotaged(Arm::TiesLast)];
    let (_, argmin) = OPERATIONS.iter().find(|(name, _)| *name == "argmin").expect("is listed");
    let draws = (0..=MOST).prop_map(|cols| Draw { sizes: [2, cols, 0], kind: Kind::Ties, seed: 7 });
    let found = TestRunner::deterministic().run(&draws, |draw| match difference(*argmin, &broken, &draw) {
        Some(difference) => Err(TestCaseError::fail(difference)),
        None => Ok(()),
    });
    let Err(TestError::Fail(_, small)) = found else { panic!("not found") };
    assert!(small.sizes[1] <= 8, "{small:?}");
    assert_eq!(difference(*argmin, &[Device::host()], &small), None);
}
