//! Singular values of a bidiagonal matrix by implicit QR sweeps, with a zero shift where a shift would cost accuracy
//! (Golub and Kahan, *SIAM J. Numer. Anal.* 2, 1965; Demmel and Kahan, *SIAM J. Sci. Stat. Comput.* 11, 1990).

use ml_core::{Error, Result};

use crate::linalg::rotations::{BATCH, Rotation};

/// Sweeps allowed for each singular value, on average.
const SWEEPS: usize = 40;

/// Half a unit in the last place of 1.
const UNIT: f64 = f64::EPSILON / 2.0;

/// Takes the rotations of one side, in batches.
pub(super) trait Sink {
    /// Whether the rotations are wanted at all.
    const WANTED: bool;

    fn apply(&mut self, batch: &[Rotation]);
}

/// For singular values alone.
pub(super) struct Nothing;

impl Sink for Nothing {
    const WANTED: bool = false;

    fn apply(&mut self, _batch: &[Rotation]) {}
}

impl Sink for crate::linalg::rotations::Panels {
    const WANTED: bool = true;

    fn apply(&mut self, batch: &[Rotation]) {
        self.rotate(batch);
    }
}

/// A plane rotation that turns (f, g) into (r, 0): (cos, sin, r).
fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    /// Squares of numbers below this lose bits.
    const SMALL: f64 = f64::from_bits((1023 - 480) << 52);
    const GROW: f64 = f64::from_bits((1023 + 600) << 52);
    if f.abs().max(g.abs()) < SMALL {
        let (f, g) = (f * GROW, g * GROW);
        let r = (f * f + g * g).sqrt();
        return (f / r, g / r, r / GROW);
    }
    let r = (f * f + g * g).sqrt();
    (f / r, g / r, r)
}

/// The smaller singular value of ((f, g), (0, h)), without overflow.
fn smaller_value(f: f64, g: f64, h: f64) -> f64 {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (low, high) = (f.min(h), f.max(h));
    if low == 0.0 {
        return 0.0;
    }
    let (sum, gap) = (1.0 + low / high, (high - low) / high);
    if g < high {
        let square = (g / high) * (g / high);
        return 2.0 * low / ((sum * sum + square).sqrt() + (gap * gap + square).sqrt());
    }
    let ratio = high / g;
    let (sum, gap) = (sum * ratio, gap * ratio);
    2.0 * (low / ((1.0 + sum * sum).sqrt() + (1.0 + gap * gap).sqrt())) * ratio
}

/// The bidiagonal matrix and the rotations that its rows and columns still owe to the vectors.
struct Work<'a, S: Sink> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    left: Batch<'a, S>,
    right: Batch<'a, S>,
}

struct Batch<'a, S: Sink> {
    sink: &'a mut S,
    pending: Vec<Rotation>,
}

impl<'a, S: Sink> Batch<'a, S> {
    fn new(sink: &'a mut S) -> Self {
        Batch { sink, pending: Vec::new() }
    }

    fn push(&mut self, row: usize, cos: f64, sin: f64) {
        if S::WANTED {
            self.pending.push(Rotation { row, cos, sin: -sin });
        }
    }

    fn flush(&mut self, at: usize) {
        if self.pending.len() >= at {
            self.sink.apply(&self.pending);
            self.pending.clear();
        }
    }
}

/// Brings `d`, with `e` to the right of it, to diagonal form; values may be negative and are in no order.
///
/// Rotations of rows go to `left`, those of columns to `right`.
pub(super) fn iterate<S: Sink>(d: &mut [f64], e: &mut [f64], left: &mut S, right: &mut S) -> Result<()> {
    let n = d.len();
    let largest = d.iter().zip(&*e).fold(0.0f64, |m, (x, y)| m.max(x.abs() + y.abs()));
    let floor = largest * UNIT;
    let mut work = Work { d, e, left: Batch::new(left), right: Batch::new(right) };
    let limit = SWEEPS * n;
    let mut sweeps = 0;
    let mut high = n.saturating_sub(1);
    // The block of the last sweep, and whether it was chased downwards.
    let mut last = (0, 0, true);
    while high > 0 {
        let decoupled = |k: usize| {
            let size = work.e[k].abs();
            size <= floor || size <= UNIT * (work.d[k].abs() + work.d[k + 1].abs())
        };
        if decoupled(high - 1) {
            work.e[high - 1] = 0.0;
            high -= 1;
            continue;
        }
        let low = (0..high - 1).rev().find(|&k| decoupled(k)).map_or(0, |k| k + 1);
        if low > 0 {
            work.e[low - 1] = 0.0;
        }
        if sweeps == limit {
            return Err(Error::NoConvergence { what: "svd", limit });
        }
        sweeps += 1;
        let inside = last.0 <= low && high <= last.1;
        let down = if inside { last.2 } else { work.d[low].abs() >= work.d[high].abs() };
        last = (low, high, down);
        work.sweep(low, high, down, floor);
        work.left.flush(BATCH);
        work.right.flush(BATCH);
    }
    work.left.flush(1);
    work.right.flush(1);
    Ok(())
}

impl<S: Sink> Work<'_, S> {
    /// One sweep over the block `low..=high`, from its top down or from its bottom up. Read from the bottom, the transposed
    /// block is an upper bidiagonal one: the same sweep with the sides exchanged.
    fn sweep(&mut self, low: usize, high: usize, down: bool, floor: f64) {
        let steps = high - low;
        let at = |t: usize| if down { low + t } else { high - t };
        let between = |t: usize| if down { low + t } else { high - 1 - t };
        let noise = self.d[low..=high].iter().any(|x| x.abs() <= floor);
        let (first, end) = (at(0), at(steps));
        let shift = match noise {
            true => 0.0,
            false => smaller_value(self.d[at(steps - 1)], self.e[between(steps - 1)], self.d[end]),
        };
        let ratio = shift / self.d[first].abs();
        if noise || ratio * ratio < UNIT {
            return self.sweep_unshifted(steps, low, high, down);
        }
        let head = self.d[first];
        let mut f = (head.abs() - shift) * (1.0f64.copysign(head) + shift / head);
        let mut g = self.e[between(0)];
        for t in 0..steps {
            let (i, j, k) = (at(t), at(t + 1), between(t));
            let (cos, sin, r) = rotation(f, g);
            self.emit(true, i.min(j), cos, sin, down);
            if t > 0 {
                self.e[between(t - 1)] = r;
            }
            f = cos * self.d[i] + sin * self.e[k];
            self.e[k] = cos * self.e[k] - sin * self.d[i];
            g = sin * self.d[j];
            self.d[j] *= cos;
            let (cos, sin, r) = rotation(f, g);
            self.emit(false, i.min(j), cos, sin, down);
            self.d[i] = r;
            f = cos * self.e[k] + sin * self.d[j];
            self.d[j] = cos * self.d[j] - sin * self.e[k];
            if t + 1 < steps {
                let next = between(t + 1);
                g = sin * self.e[next];
                self.e[next] *= cos;
            }
        }
        self.e[between(steps - 1)] = f;
    }

    fn sweep_unshifted(&mut self, steps: usize, low: usize, high: usize, down: bool) {
        let at = |t: usize| if down { low + t } else { high - t };
        let between = |t: usize| if down { low + t } else { high - 1 - t };
        let (mut cos, mut sin);
        let (mut old_cos, mut old_sin) = (1.0f64, 0.0f64);
        let mut carried = self.d[at(0)];
        for t in 0..steps {
            let (i, j, k) = (at(t), at(t + 1), between(t));
            let r;
            (cos, sin, r) = rotation(carried, self.e[k]);
            self.emit(true, i.min(j), cos, sin, down);
            if t > 0 {
                self.e[between(t - 1)] = old_sin * r;
            }
            (old_cos, old_sin, self.d[i]) = rotation(old_cos * r, self.d[j] * sin);
            self.emit(false, i.min(j), old_cos, old_sin, down);
            carried = self.d[j] * cos;
        }
        self.d[at(steps)] = carried * old_cos;
        self.e[between(steps - 1)] = carried * old_sin;
    }

    /// A rotation of columns (`inner`) or rows of the block as it is read.
    fn emit(&mut self, inner: bool, row: usize, cos: f64, sin: f64, down: bool) {
        let batch = if inner == down { &mut self.right } else { &mut self.left };
        batch.push(row, cos, if down { sin } else { -sin });
    }
}
