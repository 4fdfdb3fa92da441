//! Random choices by weight; the rule stands in the header of [`super`].

use std::collections::BTreeMap;

use ml_core::{Error, Result};
use ml_kernels::{Buffer, Device, moves, random, reduce};

/// Elements of a chunk: as many as one chunk of the contract's sums.
const CHUNK: usize = 1_024;

/// The random words of `n` choices.
pub(super) struct Draws(Vec<u32>);

impl Draws {
    /// Draws four words a choice.
    pub fn new(device: &Device, n: usize, seed: u64, stream: u32) -> Result<Self> {
        Ok(Draws(random::random_u32(device, n.saturating_mul(4), seed, stream)?.read()?))
    }

    /// 64 bits of choice `i`: the first two words or, for `half` 1, the other two.
    fn bits(&self, i: usize, half: usize) -> u64 {
        let at = 4 * i + 2 * half;
        u64::from(self.0[at]) << 32 | u64::from(self.0[at + 1])
    }

    /// Choice `i` among `n` equally likely numbers.
    // pathway: P66
    pub fn below(&self, i: usize, n: u32) -> u32 {
        ((u128::from(self.bits(i, 0)) * u128::from(n)) >> 64) as u32
    }

    /// `u` and `v` of choice `i`, both in [0, 1).
    pub fn uniform(&self, i: usize) -> (f64, f64) {
        let unit = |bits: u64| (bits >> 11) as f64 / 9_007_199_254_740_992.0;
        (unit(self.bits(i, 0)), unit(self.bits(i, 1)))
    }
}

/// Non-negative weights of `n` elements, laid out for choices.
pub(super) struct Weights {
    /// Shape (chunks, 1,024), the end filled with zeros.
    chunked: Buffer<f32>,
    /// Sum of each chunk.
    sums: Vec<f32>,
}

impl Weights {
    /// `order` is 0..n on the device of `weights`; `stage` names the weights where they are not finite.
    pub fn new(device: &Device, weights: &Buffer<f32>, order: &Buffer<u32>, stage: &str) -> Result<Self> {
        let chunks = weights.len().div_ceil(CHUNK);
        let chunked = moves::scatter_rows(device, weights, order, chunks * CHUNK, 1)?;
        let sums = reduce::row_sums(device, &chunked, chunks, CHUNK)?.read()?;
        if let Some(chunk) = sums.iter().position(|s| !ml_core::canon::is_finite(*s)) {
            return Err(Error::NonFinite { stage: stage.to_owned(), index: chunk * CHUNK });
        }
        Ok(Weights { chunked, sums })
    }

    /// One element for each pair of draws, or none if every weight is 0. An element of weight 0 is never chosen.
    pub fn choose(&self, device: &Device, draws: &[(f64, f64)]) -> Result<Option<Vec<u32>>> {
        let mut chunks = Vec::with_capacity(draws.len());
        for &(u, _) in draws {
            match first_beyond(&self.sums, u) {
                Some(chunk) => chunks.push(chunk as u32),
                None => return Ok(None),
            }
        }
        let mut slots: BTreeMap<u32, usize> = chunks.iter().map(|c| (*c, 0)).collect();
        for (slot, value) in slots.values_mut().enumerate() {
            *value = slot;
        }
        let distinct: Vec<u32> = slots.keys().copied().collect();
        let distinct = Buffer::upload(device, &distinct)?;
        let table = moves::gather_rows(device, &self.chunked, &distinct, self.sums.len(), CHUNK)?.read()?;
        let elements = chunks.iter().zip(draws).map(|(chunk, &(_, v))| {
            let slot = slots[chunk];
            let inside = first_beyond(&table[slot * CHUNK..(slot + 1) * CHUNK], v)?;
            Some(chunk * CHUNK as u32 + inside as u32)
        });
        Ok(elements.collect())
    }
}

/// The first index at which the running total exceeds `u` times the total, both serial in double precision; none if the
/// total is 0. For `u` below 1 rounding cannot push the goal up to the total, but if it did, the last weight that is
/// not 0 would be taken.
// pathway: P67
fn first_beyond(weights: &[f32], u: f64) -> Option<usize> {
    let mut total = 0.0f64;
    for w in weights {
        total += f64::from(*w);
    }
    let goal = u * total;
    let mut running = 0.0f64;
    for (i, w) in weights.iter().enumerate() {
        running += f64::from(*w);
        if running > goal {
            return Some(i);
        }
    }
    weights.iter().rposition(|w| *w > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // pathway test: P67
    fn weightless_elements_are_never_chosen() {
        let weights = [0.0, 2.0, 0.0, 1.0, 1.0, 0.0];
        for (u, expected) in [(0.0, 1), (0.49, 1), (0.5, 3), (0.74, 3), (0.75, 4), (1.0 - 1.2e-16, 4), (1.0, 4)] {
            assert_eq!(first_beyond(&weights, u), Some(expected), "u = {u}");
        }
        assert_eq!(first_beyond(&[0.0, 0.0], 0.3), None);
        assert_eq!(first_beyond(&[], 0.3), None);
    }

    #[test]
    fn choices_follow_the_weights_across_chunks() {
        let device = Device::host();
        let n = 2_500;
        // Every third element of the middle chunk has weight 1, one element of the last chunk weight 100.
        let mut weights = vec![0.0f32; n];
        for w in weights[1_024..2_048].iter_mut().step_by(3) {
            *w = 1.0;
        }
        weights[2_400] = 100.0;
        let order: Vec<u32> = (0..n as u32).collect();
        let on_device = Buffer::upload(&device, &weights).expect("small");
        let order = Buffer::upload(&device, &order).expect("small");
        let chosen = Weights::new(&device, &on_device, &order, "test").expect("finite");
        let draws = Draws::new(&device, 4_000, 7, 1).expect("small");
        let pairs: Vec<(f64, f64)> = (0..4_000).map(|i| draws.uniform(i)).collect();
        let ids = chosen.choose(&device, &pairs).expect("chooses").expect("not all 0");
        assert!(ids.iter().all(|&i| weights[i as usize] > 0.0));
        // 100 of 442 in the mean, with a deviation of 0.66%.
        let share = ids.iter().filter(|&&i| i == 2_400).count() as f64 / 4_000.0;
        assert!((share - 100.0 / 442.0).abs() < 0.03, "{share}");
        // The place inside a chunk is drawn anew: the middle chunk is used from end to end.
        let inside: Vec<u32> = ids.iter().copied().filter(|i| *i < 2_048).collect();
        assert!(inside.iter().any(|i| *i < 1_040) && inside.iter().any(|i| *i > 2_030));
        let upper = inside.iter().filter(|i| **i >= 1_536).count() as f64 / inside.len() as f64;
        assert!((upper - 0.5).abs() < 0.05, "{upper}");
    }

    #[test]
    // pathway test: P66
    fn draws_stay_in_their_range() {
        let draws = Draws::new(&Device::host(), 1_000, 3, 2).expect("small");
        assert!((0..1_000).all(|i| draws.below(i, 7) < 7));
        assert_eq!((0..1_000).map(|i| draws.below(i, 7)).collect::<std::collections::BTreeSet<_>>().len(), 7);
        assert!((0..1_000).map(|i| draws.uniform(i)).all(|(u, v)| (0.0..1.0).contains(&u) && (0.0..1.0).contains(&v)));
    }
}
