//! Products that exceed every range, and their logarithms.

use ml_core::canon::canon;

use super::SignLogDet;
use super::factor::Factors;

/// ln 2 in two parts; the upper one has 32 significant bits, so that its product with an exponent is exact.
const LN_2: (f64, f64) = (f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76));

/// `mantissa` times 2^`exponent`, where the mantissa is zero or of magnitude [1, 2).
pub(super) struct Product {
    mantissa: f64,
    exponent: i64,
}

impl Product {
    pub(super) fn of_pivots(f: &Factors) -> Product {
        let mut product = Product { mantissa: if f.odd { -1.0 } else { 1.0 }, exponent: 0 };
        for i in 0..f.n {
            // A pivot of a matrix of single-precision numbers, and so the product with one mantissa, is a normal number
            // or zero.
            let x = product.mantissa * f.packed[i * f.n + i];
            if x == 0.0 {
                return Product { mantissa: 0.0, exponent: 0 };
            }
            let bits = x.to_bits();
            product.exponent += ((bits >> 52) & 0x7ff) as i64 - 1023;
            product.mantissa = f64::from_bits(bits & !(0x7ff << 52) | (1023 << 52));
        }
        product
    }

    /// As a double; infinite or zero where that does not hold it.
    pub(super) fn value(&self) -> f64 {
        match self.exponent {
            // Far beyond single precision on either side.
            1000.. => self.mantissa * f64::INFINITY,
            ..=-1000 => 0.0,
            e => self.mantissa * f64::from_bits(((e + 1023) as u64) << 52),
        }
    }

    pub(super) fn sign_and_logarithm(&self) -> SignLogDet {
        if self.mantissa == 0.0 {
            return SignLogDet { sign: 0.0, log: f32::NEG_INFINITY };
        }
        let (mut m, mut e) = (self.mantissa.abs(), self.exponent as f64);
        if m > std::f64::consts::SQRT_2 {
            m *= 0.5;
            e += 1.0;
        }
        // ln m = 2 (t + t^3 / 3 + t^5 / 5 + ...) with |t| < 0.172: the terms left out are below 2^-56 of the first.
        let t = (m - 1.0) / (m + 1.0);
        let square = t * t;
        let mut tail = 0.0;
        for k in (1..=10).rev() {
            tail = square * (tail + 1.0 / f64::from(2 * k + 1));
        }
        let ln = 2.0 * (t + t * tail);
        let log = e * LN_2.0 + (e * LN_2.1 + ln);
        SignLogDet { sign: if self.mantissa < 0.0 { -1.0 } else { 1.0 }, log: canon(log as f32) }
    }
}
