//! The specification of `bin_rows`, clause `tree-bins`: plain loops.

use super::BinRule;
use crate::num::{canon, key};
use crate::trees::value::{MISSING, category_value};

/// The bin of each number of `x`, rows of one number a rule.
pub(super) fn bin_rows(x: &[f32], rules: &[BinRule]) -> Vec<u32> {
    let mut out = Vec::new();
    for row in x.chunks_exact(rules.len().max(1)) {
        for (value, rule) in row.iter().zip(rules) {
            out.push(bin(*value, rule));
        }
    }
    out
}

fn bin(x: f32, rule: &BinRule) -> u32 {
    match rule {
        BinRule::Number { .. } if x.is_nan() => 0,
        BinRule::Number { edges } => 1 + edges.iter().filter(|edge| key(**edge) < key(canon(x))).count() as u32,
        BinRule::Category { codes } => match category_value(canon(x).to_bits(), 0) {
            MISSING => 0,
            category => match codes.get(category as usize) {
                Some(code) => 1 + code,
                None => rule.n_bins() - 1,
            },
        },
    }
}
