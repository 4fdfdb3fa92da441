//! What has been found out about a buffer's contents. They never change, so it need not be found out twice, and a call
//! that knows it need not wait for the device to tell.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most words of a list that are kept on the host once they have been there.
#[cfg(any(test, feature = "gpu"))]
const KEPT: usize = 1 << 16;

/// Facts about one buffer, shared by its clones. They are of the contents alone: no device, limit or arm changes them.
#[derive(Debug)]
pub(crate) struct Facts {
    greatest_magnitude: OnceLock<u32>,
    /// Every word is known to be below it.
    bound: AtomicU64,
    /// The words of a short list of integers.
    #[cfg(any(test, feature = "gpu"))]
    words: OnceLock<Box<[u32]>>,
}

impl Default for Facts {
    fn default() -> Self {
        Facts {
            greatest_magnitude: OnceLock::new(),
            bound: AtomicU64::new(u64::MAX),
            #[cfg(any(test, feature = "gpu"))]
            words: OnceLock::new(),
        }
    }
}

impl Facts {
    /// The bits of the greatest canonical magnitude, if it has been found.
    pub(crate) fn greatest_magnitude(&self) -> Option<u32> {
        self.greatest_magnitude.get().copied()
    }

    /// Remembers the greatest canonical magnitude.
    pub(crate) fn note_greatest_magnitude(&self, bits: u32) {
        let known = *self.greatest_magnitude.get_or_init(|| bits);
        debug_assert_eq!(known, bits, "contents do not change");
    }

    /// The words, if they have been kept. The host has them at hand.
    #[cfg(any(test, feature = "gpu"))]
    pub(crate) fn words(&self) -> Option<&[u32]> {
        self.words.get().map(AsRef::as_ref)
    }

    /// Keeps the words, if they are few.
    #[cfg(any(test, feature = "gpu"))]
    pub(crate) fn note_words(&self, words: &[u32]) {
        if words.len() <= KEPT {
            let known = self.words.get_or_init(|| words.into());
            debug_assert_eq!(known.as_ref(), words, "contents do not change");
        }
    }

    /// Whether every word is known to be below `bound`; if not, it may be all the same.
    pub(crate) fn are_below(&self, bound: usize) -> bool {
        self.bound.load(Ordering::Relaxed) <= bound as u64
    }

    /// Remembers that every word is below `bound`.
    pub(crate) fn note_below(&self, bound: usize) {
        self.bound.fetch_min(bound as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_bound_counts() {
        let facts = Facts::default();
        assert!(!facts.are_below(usize::MAX - 1) && facts.greatest_magnitude().is_none());
        facts.note_below(10);
        facts.note_below(12);
        assert!(facts.are_below(10) && facts.are_below(11) && !facts.are_below(9));
        facts.note_greatest_magnitude(7);
        assert_eq!(facts.greatest_magnitude(), Some(7));
        facts.note_words(&vec![0; KEPT + 1]);
        assert!(facts.words().is_none());
        facts.note_words(&[3, 4]);
        assert_eq!(facts.words(), Some(&[3, 4][..]));
    }

    #[test]
    fn what_is_known_changes_no_result() {
        use crate::conformance::test_devices;
        use crate::{Buffer, distances, histogram::histogram, moves, scatter_add::scatter_add};
        for device in test_devices() {
            let up = |v: &[f32]| Buffer::upload(&device, v).expect("uploads");
            let (x, y) = (up(&[0.0, 1.0, 5.0, 9.0, 1.5, 2.0]), up(&[0.0, 0.5, 8.0, 9.0, 1.0, 2.0]));
            let (labels, _) = distances::nearest(&device, &x, &y, 3, 3, 2).expect("nearest");
            assert!(labels.facts().are_below(3) && !labels.facts().are_below(2));
            for _ in 0..2 {
                // What is in bounds for three is not for two, whatever has been found out before.
                let sums = scatter_add(&device, &x, &labels, 3, 2, 3).expect("sums").read().expect("reads");
                assert_eq!(sums, [0.0, 1.0, 5.0, 9.0, 1.5, 2.0]);
                assert_eq!(histogram(&device, &labels, 3).expect("counts").read().expect("reads"), [1, 1, 1]);
                let refused = [
                    scatter_add(&device, &x, &labels, 3, 2, 2).map(drop),
                    histogram(&device, &labels, 2).map(drop),
                    moves::gather_rows(&device, &y, &labels, 2, 3).map(drop),
                    moves::scatter_rows(&device, &x, &labels, 2, 2).map(drop),
                ];
                for error in refused.map(|r| r.expect_err("index 2 is out of bounds").to_string()) {
                    assert!(error.contains("index 2 at position 2, the bound is 2"), "{error}");
                }
                let endless = up(&[f32::INFINITY; 6]);
                for _ in 0..2 {
                    assert!(scatter_add(&device, &endless, &labels, 3, 2, 3).is_err());
                }
            }
            let ends = Buffer::upload(&device, &[0u32, 2, 6]).expect("uploads");
            let short = up(&[1.0; 5]);
            for _ in 0..2 {
                let sums = crate::reduce::segment_sums(&device, &x, &ends).expect("sums").read().expect("reads");
                assert_eq!(sums, [1.0, 17.5]);
                // What is kept is checked against each list again.
                let error = crate::reduce::segment_sums(&device, &short, &ends).expect_err("6 is out of bounds");
                assert!(error.to_string().contains("index 6 at position 2, the bound is 6"), "{error}");
            }
            let elsewhere = labels.to(&crate::Device::host()).expect("copies");
            assert!(elsewhere.facts().are_below(3));
        }
    }
}
