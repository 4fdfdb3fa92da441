//! What the search means: gains against binary64, ties, limits, and what is refused.

use std::sync::Arc;

use super::*;
use crate::trees::histogram::Histograms;

const SHIFT: i32 = 20;

/// Sums of one node, from (channel values) of every bin of every column, whole numbers and halves.
fn node(bins: &[&[&[f64]]]) -> Histograms {
    let n_bins: Vec<u32> = bins.iter().map(|column| column.len() as u32).collect();
    let channels = bins[0][0].len();
    let values = bins.iter().flat_map(|column| column.iter()).flat_map(|bin| bin.iter());
    let sums = values.map(|v| (v * f64::from(1 << SHIFT)) as i64).collect();
    Histograms::upload(&Device::host(), &n_bins, channels, sums).expect("the host uploads")
}

fn best(sums: &Histograms, rule: &SplitRule, limits: &Limits) -> Option<Split> {
    let shifts = vec![SHIFT; sums.channels()];
    best_splits(&Device::host(), sums, &shifts, rule, limits).expect("a sound rule").pop().flatten()
}

fn number(feature: u32, bin: u32, missing_left: bool) -> SplitAt {
    SplitAt::Number { feature, bin, missing_left }
}

/// Left sums (-6, 3), right sums (5, 4).
fn gradients() -> Histograms {
    node(&[&[&[0.0, 0.0], &[-6.0, 3.0], &[2.0, 1.0], &[3.0, 3.0]]])
}

#[test]
fn newton_gains_are_what_they_should_be() {
    let gain = |l1: f64, l2: f64, (gl, hl): (f64, f64)| {
        let score = |g: f64, h: f64| (g.abs() - l1).max(0.0) * (g.abs() - l1).max(0.0) / (h + l2);
        score(gl, hl) + score(-1.0 - gl, 7.0 - hl) - score(-1.0, 7.0)
    };
    for (l1, l2) in [(0.0, 0.0), (0.0, 1.0), (0.0, 10.0), (0.5, 0.0), (2.0, 1.5)] {
        let rule = SplitRule::new(Criterion::Newton { l1: l1 as f32, l2: l2 as f32 });
        let split = best(&gradients(), &rule, &Limits::default()).expect("a gain");
        assert_eq!(split.at, number(0, 1, false));
        let want = gain(l1, l2, (-6.0, 3.0));
        assert!((f64::from(split.gain) / want - 1.0).abs() < 1e-6, "{l1} {l2}: {} {want}", split.gain);
        assert_eq!(split.left, [-6 << SHIFT, 3 << SHIFT]);
    }
}

#[test]
fn deviances_are_what_they_should_be() {
    // Two classes: 3 and 1 on the left, 2 and 4 on the right.
    let classes = node(&[&[&[0.0, 0.0], &[3.0, 1.0], &[2.0, 4.0]]]);
    let entropy = |k: &[f64]| -> f64 {
        let w: f64 = k.iter().sum();
        // Natural logarithms by the host are good enough for six digits.
        k.iter().map(|s| -s * crate::num::ln_cr((s / w) as f32) as f64).sum()
    };
    let want = entropy(&[5.0, 5.0]) - entropy(&[3.0, 1.0]) - entropy(&[2.0, 4.0]);
    let split = best(&classes, &SplitRule::new(Criterion::Entropy), &Limits::default()).expect("a gain");
    assert!((f64::from(split.gain) - want).abs() < 1e-5, "{} {want}", split.gain);
    let gini = |a: f64, b: f64| (a + b) - (a * a + b * b) / (a + b);
    let want = gini(5.0, 5.0) - gini(3.0, 1.0) - gini(2.0, 4.0);
    let split = best(&classes, &SplitRule::new(Criterion::Gini), &Limits::default()).expect("a gain");
    assert!((f64::from(split.gain) - want).abs() < 1e-5, "{} {want}", split.gain);
    // Weights 2 and 3, targets 1 and 12.
    let targets = node(&[&[&[0.0, 0.0], &[2.0, 1.0], &[3.0, 12.0]]]);
    let term = |s: f64, w: f64| s * crate::num::ln_cr((s / w) as f32) as f64;
    let want = term(1.0, 2.0) + term(12.0, 3.0) - term(13.0, 5.0);
    let split = best(&targets, &SplitRule::new(Criterion::Poisson), &Limits::default()).expect("a gain");
    assert!((f64::from(split.gain) - want).abs() < 1e-5, "{} {want}", split.gain);
}

#[test]
// pathway test: P117
fn nothing_to_gain_is_exactly_nothing() {
    // The mean is 0.1 everywhere, which no float is; no rounding makes a gain of it.
    let bins: Vec<Vec<f64>> = (0..40).map(|b| vec![f64::from(b), f64::from(b) * 0.1]).collect();
    let rows: Vec<&[f64]> = bins.iter().map(|b| &b[..]).collect();
    let sums = |values: &[&[f64]]| {
        let units = values.iter().flat_map(|b| [b[0] as i64 * 10, (b[1] * 10.0 + 0.5) as i64 * 1_677_721]).collect();
        Histograms::upload(&Device::host(), &[40], 2, units).expect("the host uploads")
    };
    for criterion in [Criterion::SquaredError, Criterion::Poisson, Criterion::Newton { l1: 0.0, l2: 0.0 }] {
        let flat = match criterion {
            Criterion::Newton { .. } => {
                let units = rows.iter().flat_map(|b| [b[0] as i64 * 1_677_721, b[0] as i64 * 10]).collect();
                Histograms::upload(&Device::host(), &[40], 2, units).expect("the host uploads")
            }
            _ => sums(&rows),
        };
        assert_eq!(best(&flat, &SplitRule::new(criterion), &Limits::default()), None, "{criterion:?}");
        // Asked for, splits that gain nothing are made.
        let rule = SplitRule { min_gain: -1.0, ..SplitRule::new(criterion) };
        assert_eq!(best(&flat, &rule, &Limits::default()).expect("a split").gain, 0.0, "{criterion:?}");
    }
}

#[test]
fn ties_go_to_the_first() {
    let rule = SplitRule::new(Criterion::SquaredError);
    let one: &[&[f64]] = &[&[0.0, 0.0], &[1.0, 0.0], &[0.0, 0.0], &[1.0, 2.0]];
    let split = best(&node(&[one, one]), &rule, &Limits::default()).expect("a gain");
    assert_eq!(split.at, number(0, 1, false));
    // The missing row is as good on either side.
    let missing: &[&[f64]] = &[&[1.0, 1.0], &[1.0, 0.0], &[1.0, 2.0]];
    let split = best(&node(&[missing]), &rule, &Limits::default()).expect("a gain");
    assert_eq!(split.at, number(0, 1, false));
}

#[test]
fn missing_values_go_where_they_gain_most() {
    let rule = SplitRule::new(Criterion::SquaredError);
    let low: &[&[f64]] = &[&[1.0, 0.0], &[1.0, 0.0], &[1.0, 2.0]];
    let split = best(&node(&[low]), &rule, &Limits::default()).expect("a gain");
    assert_eq!((split.at, split.left), (number(0, 1, true), vec![2 << SHIFT, 0]));
    // Only whether it is missing matters.
    let apart: &[&[f64]] = &[&[1.0, 5.0], &[1.0, 0.0], &[1.0, 0.0]];
    let split = best(&node(&[apart]), &rule, &Limits::default()).expect("a gain");
    assert_eq!(split.at, number(0, 2, false));
}

#[test]
fn categories_are_parted_by_their_ratio() {
    // Means 3, 1, 3, 1, 2; the last bin is for unknown categories.
    let bins: &[&[f64]] = &[&[0.0, 0.0], &[1.0, 3.0], &[1.0, 1.0], &[2.0, 6.0], &[1.0, 1.0], &[1.0, 2.0], &[0.0, 0.0]];
    let set = |words: u32| SplitAt::Category { feature: 0, set: Arc::from([words]), missing_left: false };
    let mut rule = SplitRule { categorical: Some(Arc::from([true])), ..SplitRule::new(Criterion::SquaredError) };
    let split = best(&node(&[bins]), &rule, &Limits::default()).expect("a gain");
    assert_eq!(split.at, set(0b11_0100));
    rule.max_one_hot = 5;
    let split = best(&node(&[bins]), &rule, &Limits::default()).expect("a gain");
    assert_eq!(split.at, set(0b00_1000));
}

#[test]
fn limits_hold() {
    let rule = SplitRule::new(Criterion::Newton { l1: 0.0, l2: 0.0 });
    let sums = gradients();
    assert_eq!(best(&sums, &rule, &Limits { allowed: Some(&[0]), ..Limits::default() }), None);
    let at = |only: u32| best(&sums, &rule, &Limits { only: Some(&[only]), ..Limits::default() }).map(|s| s.at);
    assert_eq!(at(2), Some(number(0, 2, false)));
    assert_eq!((at(0), at(u32::MAX)), (None, Some(number(0, 1, false))));
    let heavy = SplitRule { min_child_weight: 3.5, ..rule.clone() };
    assert_eq!(best(&sums, &heavy, &Limits::default()), None);
    let heavy = SplitRule { min_child_weight: 3.0, ..rule.clone() };
    assert!(best(&sums, &heavy, &Limits::default()).is_some());
    let much = SplitRule { min_gain: 100.0, ..rule.clone() };
    assert_eq!(best(&sums, &much, &Limits::default()), None);
    // The left leaf is 2, the right one is below: only a falling column may be split there.
    let signed = |sign: i8| SplitRule { monotone: Some(Arc::from([sign])), ..rule.clone() };
    assert_eq!(best(&sums, &signed(1), &Limits::default()), None);
    assert_eq!(best(&sums, &signed(-1), &Limits::default()).expect("a gain").at, number(0, 1, false));
    let bounds = [[0.0f32, 0.5]];
    let bound = best(&sums, &signed(-1), &Limits { bounds: Some(&bounds), ..Limits::default() }).expect("a gain");
    // The left leaf is worth 2 * 6 * 0.5 - 3 * 0.25, the right one nothing, the parent 1 / 7.
    assert!((bound.gain - (5.25 - 1.0 / 7.0)).abs() < 1e-5, "{}", bound.gain);
}

#[test]
fn common_splits_add_the_gains_of_nodes() {
    let one: [i64; 8] = [0, 0, -6, 3, 2, 1, 3, 3].map(|v| v << SHIFT);
    let two: [i64; 8] = [0, 0, 0, 0, 1, 2, -8, 2].map(|v| v << SHIFT);
    let sums = Histograms::upload(&Device::host(), &[4], 2, [one, two].concat()).expect("the host uploads");
    let rule = SplitRule::new(Criterion::Newton { l1: 0.0, l2: 0.0 });
    let (shifts, device) = ([SHIFT; 2], Device::host());
    let split = best_common_split(&device, &sums, &shifts, &rule, &Limits::default()).expect("sound").expect("a gain");
    // At bin 1 node 1 has an empty side and adds nothing; at bin 2 both gain.
    let score = |g: f64, h: f64| g * g / h;
    let want =
        score(-4.0, 4.0) + score(3.0, 3.0) - score(-1.0, 7.0) + score(1.0, 2.0) + score(-8.0, 2.0) - score(-7.0, 4.0);
    assert_eq!(split.at, number(0, 2, false));
    assert!((f64::from(split.gain) - want).abs() < 1e-4, "{} {want}", split.gain);
    assert_eq!(split.left, [-4, 4, 1, 2].map(|v| v << SHIFT));
}

#[test]
fn rules_that_do_not_fit_are_refused() {
    let sums = gradients();
    let shifts = [SHIFT; 2];
    let refused =
        |rule: SplitRule, limits: &Limits| best_splits(&Device::host(), &sums, &shifts, &rule, limits).is_err();
    let newton = |l1, l2| SplitRule::new(Criterion::Newton { l1, l2 });
    let rule = newton(0.0, 1.0);
    let none = Limits::default();
    assert!(refused(newton(-1.0, 0.0), &none) && refused(newton(0.0, f32::NAN), &none));
    assert!(refused(SplitRule { min_gain: f32::NAN, ..rule.clone() }, &none));
    assert!(refused(SplitRule { min_child_weight: -1.0, ..rule.clone() }, &none));
    assert!(refused(SplitRule { min_samples_leaf: 2, ..rule.clone() }, &none));
    assert!(refused(SplitRule { counted: true, ..rule.clone() }, &none));
    assert!(refused(SplitRule { monotone: Some(Arc::from([2])), ..rule.clone() }, &none));
    assert!(refused(SplitRule { monotone: Some(Arc::from([1, 1])), ..rule.clone() }, &none));
    assert!(refused(SplitRule { categorical: Some(Arc::from([])), ..rule.clone() }, &none));
    let both = SplitRule { categorical: Some(Arc::from([true])), monotone: Some(Arc::from([1])), ..rule.clone() };
    assert!(refused(both, &none));
    assert!(refused(rule.clone(), &Limits { allowed: Some(&[1, 1]), ..none }));
    assert!(refused(rule.clone(), &Limits { only: Some(&[]), ..none }));
    assert!(refused(rule.clone(), &Limits { bounds: Some(&[]), ..none }));
    assert!(refused(rule.clone(), &Limits { bounds: Some(&[[f32::NAN, 0.0]]), ..none }));
    assert!(best_splits(&Device::host(), &sums, &[SHIFT], &rule, &none).is_err());
    assert!(best_splits(&Device::host(), &sums, &[1, 2], &SplitRule::new(Criterion::Gini), &none).is_err());
    assert!(!refused(rule, &none));
}
