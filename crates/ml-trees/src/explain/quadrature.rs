//! The quadrature of Gauss and Legendre on [0, 1].

use std::f64::consts::PI;

/// Steps of Newton's method: it doubles the digits of a first guess with two of them.
const STEPS: usize = 8;

/// `n` points and their weights, exact for polynomials up to degree 2 n - 1.
pub(super) fn points(n: usize) -> Vec<(f64, f64)> {
    let point = |i: usize| {
        let mut x = cosine(PI * (i as f64 + 0.75) / (n as f64 + 0.5));
        for _ in 0..STEPS {
            let (p, slope) = legendre(n, x);
            x -= p / slope;
        }
        let (_, slope) = legendre(n, x);
        // Halves of the weights and places on [-1, 1].
        ((1.0 - x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..n).map(point).collect()
}

/// Legendre's polynomial of degree n >= 1 and its slope at x within (-1, 1).
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut last, mut p) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (last, p) = (p, ((2.0 * k - 1.0) * x * p - (k - 1.0) * last) / k);
    }
    (p, n as f64 * (x * p - last) / (x * x - 1.0))
}

/// The cosine of a number within [0, π], as far as a first guess needs it: 1 - x²/2 (1 - x²/12 (1 - … x²/240)), from the
/// other side above π/2.
fn cosine(x: f64) -> f64 {
    if x > PI / 2.0 {
        return -cosine(PI - x);
    }
    (1..=8).rev().fold(1.0, |sum, k| 1.0 - x * x / f64::from((2 * k - 1) * 2 * k) * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for n in [1, 2, 3, 5, 8, 20, 100, 500] {
            let points = points(n);
            for degree in 0..(2 * n).min(60) {
                let sum: f64 = points.iter().map(|(t, w)| (0..degree).fold(*w, |p, _| p * t)).sum();
                let want = 1.0 / (degree + 1) as f64;
                assert!((sum / want - 1.0).abs() < 1e-12, "{n} points, degree {degree}: {sum} against {want}");
            }
            assert!(points.windows(2).all(|p| p[0].0 < p[1].0), "{n} points are not in order");
        }
        // One degree more is not exact.
        let sum: f64 = points(3).iter().map(|(t, w)| w * t * t * t * t * t * t).sum();
        assert!((sum - 1.0 / 7.0).abs() > 1e-5);
    }
}
