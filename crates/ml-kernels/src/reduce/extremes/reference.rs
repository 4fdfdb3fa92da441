//! The specification of the least and the greatest value: a plain loop.

use super::Order;
use crate::num::{key, unkey};

/// The extreme of a list that is not empty.
pub(super) fn extreme(x: &[f32], order: Order) -> f32 {
    let mut best = key(x[0]);
    for &value in x {
        let better = match order {
            Order::Smallest => key(value) < best,
            Order::Largest => key(value) > best,
        };
        if better {
            best = key(value);
        }
    }
    unkey(best)
}
