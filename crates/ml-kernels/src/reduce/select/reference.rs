//! The specification of minimum, maximum and top k: plain loops.

use super::Order;
use crate::num::{key, unkey};

pub(super) fn top_k_rows(x: &[f32], rows: usize, cols: usize, k: usize, order: Order) -> (Vec<u32>, Vec<f32>) {
    let (mut index, mut value) = (Vec::new(), Vec::new());
    for r in 0..rows {
        let row = &x[r * cols..(r + 1) * cols];
        let mut pairs: Vec<(u32, u32)> = row.iter().enumerate().map(|(i, &v)| (key(v), i as u32)).collect();
        match order {
            Order::Smallest => pairs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1))),
            Order::Largest => pairs.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1))),
        }
        for &(key, i) in &pairs[..k] {
            index.push(i);
            value.push(unkey(key));
        }
    }
    (index, value)
}

pub(super) fn arg_rows(x: &[f32], rows: usize, cols: usize, order: Order) -> (Vec<u32>, Vec<f32>) {
    let (mut index, mut value) = (Vec::new(), Vec::new());
    for r in 0..rows {
        let row = &x[r * cols..(r + 1) * cols];
        let mut best = 0;
        for i in 1..cols {
            let better = match order {
                Order::Smallest => key(row[i]) < key(row[best]),
                Order::Largest => key(row[i]) > key(row[best]),
            };
            if better {
                best = i;
            }
        }
        index.push(best as u32);
        value.push(unkey(key(row[best])));
    }
    (index, value)
}
