//! Deterministic inputs for the conformance cases of contractions.

use crate::conformance::scramble;

/// What numbers a fixture holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Within (-2, 2), some zeros: the guard lets the plain loop run.
    Ordinary,
    /// Products and squares near and below 2^-126, so that the guard must choose the flushed loop.
    Subnormal,
    /// Magnitudes from 1e-18 to 1e18.
    Huge,
    /// Small integers: many exact ties among distances.
    Ties,
}

impl Data {
    pub(crate) const ALL: [Data; 4] = [Data::Ordinary, Data::Subnormal, Data::Huge, Data::Ties];

    /// `n` canonical values that depend on `seed` and the index alone.
    pub(crate) fn values(self, n: usize, seed: u32) -> Vec<f32> {
        (0..n as u32).map(|i| self.value(scramble(i.wrapping_add(scramble(seed))))).collect()
    }

    fn value(self, h: u32) -> f32 {
        // 24 bits of fraction and sign; the low bits choose scale and zeros.
        let unit = (h >> 8) as f32 / 16_777_216.0 * 4.0 - 2.0;
        let pick = h & 0xff;
        match self {
            Data::Ordinary if pick < 8 => 0.0,
            Data::Ordinary => unit,
            Data::Subnormal => unit * power_of_two(-60 - (pick & 7) as i32),
            Data::Huge => unit * power_of_two((pick % 121) as i32 - 60),
            Data::Ties => (pick % 5) as f32 - 2.0,
        }
    }
}

fn power_of_two(e: i32) -> f32 {
    f32::from_bits(((e + 127) as u32) << 23)
}
