//! What the specifications of clauses `eigen` and `factorisations` share: plain loops, element by element, written from
//! the contract's text and not from the code that they judge.

#![expect(clippy::needless_range_loop, reason = "the contract speaks of indices, and so does its spelling here")]

/// Interleaved sums of a dot product.
const LANES: usize = 8;

/// Terms of a leaf.
const LEAF: usize = 128;

/// Columns of a panel, and reflections of a block.
const PANEL: usize = 64;

/// Eight interleaved sums, joined by adjacent pairs.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let lane = |l: usize| a.iter().zip(b).skip(l).step_by(LANES).fold(0.0, |sum, (x, y)| sum + x * y);
    ((lane(0) + lane(1)) + (lane(2) + lane(3))) + ((lane(4) + lane(5)) + (lane(6) + lane(7)))
}

/// The sums of the leaves, each from +0 over ascending terms.
fn leaf_sums(terms: usize, term: impl Fn(usize) -> f64) -> impl Iterator<Item = f64> {
    (0..terms).step_by(LEAF).map(move |first| (first..terms.min(first + LEAF)).fold(0.0, |sum, k| sum + term(k)))
}

/// +0 plus leaf after leaf.
pub(super) fn leaves(terms: usize, term: impl Fn(usize) -> f64) -> f64 {
    leaf_sums(terms, term).fold(0.0, |x, sum| x + sum)
}

/// `start` less leaf after leaf.
pub(super) fn less_leaves(start: f64, terms: usize, term: impl Fn(usize) -> f64) -> f64 {
    leaf_sums(terms, term).fold(start, |x, sum| x - sum)
}

/// `x` less `amount` times `y`.
pub(super) fn less(x: &mut [f64], amount: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x -= amount * y);
}

/// (I - tau v v') x = (beta, 0, ...).
pub(super) struct Reflection {
    pub(super) beta: f64,
    pub(super) tau: f64,
    pub(super) v: Vec<f64>,
}

impl Reflection {
    pub(super) fn of(x: &[f64]) -> Reflection {
        let Some((&h, others)) = x.split_first() else { return Reflection { beta: 0.0, tau: 0.0, v: Vec::new() } };
        let r = dot(others, others);
        let mut v = vec![0.0f64; x.len()];
        v[0] = 1.0;
        if r < power(-900) {
            return Reflection { beta: h, tau: 0.0, v };
        }
        let s = (h * h + r).sqrt();
        let beta = if h > 0.0 { -s } else { s };
        v[1..].iter_mut().zip(others).for_each(|(v, x)| *v = x / (h - beta));
        Reflection { beta, tau: (beta - h) / beta, v }
    }
}

/// A block of reflections that begins at coordinate `first`; vector j has j zeros before its 1.
pub(super) struct Block {
    first: usize,
    v: Vec<Vec<f64>>,
    t: Vec<Vec<f64>>,
}

impl Block {
    /// Of the reflections in order, each of which begins one coordinate after the one before.
    pub(super) fn new(first: usize, reflections: &[Reflection]) -> Block {
        let width = reflections.len();
        let v: Vec<Vec<f64>> =
            reflections.iter().enumerate().map(|(j, r)| [vec![0.0; j], r.v.clone()].concat()).collect();
        let mut t = vec![vec![0.0f64; width]; width];
        for j in 0..width {
            for i in 0..j {
                let sum = (i..j).fold(0.0, |sum, k| sum + t[i][k] * leaves(v[k].len(), |r| v[k][r] * v[j][r]));
                t[i][j] = -reflections[j].tau * sum;
            }
            t[j][j] = reflections[j].tau;
        }
        Block { first, v, t }
    }

    /// The blocks of all reflections, where reflection 0 begins at coordinate `first`.
    pub(super) fn all(first: usize, reflections: &[Reflection]) -> Vec<Block> {
        reflections.chunks(PANEL).enumerate().map(|(b, part)| Block::new(first + b * PANEL, part)).collect()
    }

    /// Turns a vector by the block.
    pub(super) fn turn(&self, x: &mut [f64]) {
        self.turn_by(x, |k, j| self.t[j][k]);
    }

    /// Turns a vector back.
    pub(super) fn turn_back(&self, x: &mut [f64]) {
        self.turn_by(x, |k, j| self.t[k][j]);
    }

    fn turn_by(&self, x: &mut [f64], t: impl Fn(usize, usize) -> f64) {
        let width = self.v.len();
        let c = &mut x[self.first..];
        let w: Vec<f64> = self.v.iter().map(|v| leaves(v.len(), |r| c[r] * v[r])).collect();
        let u: Vec<f64> = (0..width).map(|j| leaves(width, |k| w[k] * t(k, j))).collect();
        for (r, x) in c.iter_mut().enumerate() {
            *x = less_leaves(*x, width, |j| u[j] * self.v[j][r]);
        }
    }
}

/// Columns of a row-major (m, n) matrix.
pub(super) fn columns(a: &[f64], m: usize, n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|j| (0..m).map(|i| a[i * n + j]).collect()).collect()
}

/// The columns of R, zeros below the diagonal, and the blocks of Q, for a matrix whose columns are given.
pub(super) fn factor(mut columns: Vec<Vec<f64>>, m: usize) -> (Vec<Vec<f64>>, Vec<Block>) {
    let k = m.min(columns.len());
    let mut blocks = Vec::new();
    for first in (0..k).step_by(PANEL) {
        let end = k.min(first + PANEL);
        let mut reflections = Vec::new();
        for j in first..end {
            let found = Reflection::of(&columns[j][j..]);
            columns[j][j..].fill(0.0);
            columns[j][j] = found.beta;
            for later in columns[j + 1..end].iter_mut().filter(|_| found.tau != 0.0) {
                let amount = found.tau * dot(&later[j..], &found.v);
                less(&mut later[j..], amount, &found.v);
            }
            reflections.push(found);
        }
        let block = Block::new(first, &reflections);
        columns[end..].iter_mut().for_each(|c| block.turn_back(c));
        blocks.push(block);
    }
    (columns, blocks)
}

pub(super) fn power(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The floor of the binary logarithm of the largest magnitude, limited to ±1000.
pub(super) fn scale<'a>(a: impl IntoIterator<Item = &'a f64>) -> i64 {
    let largest = a.into_iter().fold(0.0f64, |m, x| m.max(x.abs()));
    (-1000..=1000).rev().find(|&e| power(e) <= largest).unwrap_or(-1000)
}

/// Positions in descending order of what is given; equals keep their order.
pub(super) fn descending(x: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    // Insertion, which is stable for all to see.
    for i in 1..order.len() {
        let mut at = i;
        while at > 0 && x[order[at - 1]] < x[order[at]] {
            order.swap(at - 1, at);
            at -= 1;
        }
    }
    order
}
