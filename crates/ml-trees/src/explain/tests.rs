//! Against the definition, by enumeration of all sets of columns; sums; identity; refusals; dumps.

use std::sync::Arc;

use super::*;
use crate::Arithmetic;

/// Numbers made by integer hashing.
struct Hash(u32);

impl Hash {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(0x85eb_ca6b).rotate_left(13) ^ 0x9e37_79b9;
        (self.0 >> 8) % n
    }

    /// From -8 to 8.
    fn number(&mut self) -> f32 {
        self.below(257) as f32 / 16.0 - 8.0
    }
}

/// A tree over `features` columns whose last one holds categories; a column may be asked more than once on a path.
fn tree(h: &mut Hash, features: u32, outputs: usize, depth: u32) -> Tree {
    fn grow(h: &mut Hash, features: u32, depth: u32, nodes: &mut Vec<Node>, leaves: &mut u32) -> (u32, f32) {
        let at = nodes.len();
        if depth == 0 || h.below(6) == 0 {
            let cover = h.below(50) as f32 + 0.5;
            nodes.push(Node::Leaf { leaf: *leaves, cover });
            *leaves += 1;
            return (at as u32, cover);
        }
        nodes.push(Node::Leaf { leaf: 0, cover: 0.0 });
        let (left, l) = grow(h, features, depth - 1, nodes, leaves);
        let (right, r) = grow(h, features, depth - 1, nodes, leaves);
        let (feature, missing_left, gain, cover) = (h.below(features), h.below(2) == 1, h.number().abs(), l + r);
        nodes[at] = if feature + 1 == features {
            let set = Arc::from([h.below(256)]);
            Node::Category { feature, set, left, right, missing_left, gain, cover }
        } else {
            Node::Number { feature, threshold: h.number(), left, right, missing_left, gain, cover }
        };
        (at as u32, cover)
    }
    let (mut nodes, mut leaves) = (Vec::new(), 0);
    grow(h, features, depth, &mut nodes, &mut leaves);
    let values = (0..leaves as usize * outputs).map(|_| f64::from(h.number()) / 3.0).collect();
    Tree::new(nodes, values, outputs).expect("a tree")
}

fn ensemble(seed: u32, features: u32, arithmetic: Arithmetic) -> Ensemble {
    let mut h = Hash(seed);
    // Trees of both outputs, and trees of one of them.
    let trees = vec![
        tree(&mut h, features, 2, 5),
        tree(&mut h, features, 1, 6),
        tree(&mut h, features, 1, 3),
        tree(&mut h, features, 2, 0),
    ];
    Ensemble::new(trees, vec![0, 0, 1, 0], vec![0.7, -1.3], features as usize, arithmetic).expect("an ensemble")
}

fn rows(seed: u32, n: usize, features: usize) -> Vec<f32> {
    let mut h = Hash(seed);
    (0..n * features)
        .map(|i| match h.below(9) {
            0 => f32::NAN,
            _ if i % features == features - 1 => h.below(9) as f32 - 1.0,
            _ => h.number(),
        })
        .collect()
}

/// Shapley values of the game `v` over `m` players, by enumeration.
fn shapley(m: usize, v: impl Fn(u32) -> f64) -> Vec<f64> {
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    let values: Vec<f64> = (0..1u32 << m).map(v).collect();
    (0..m)
        .map(|j| {
            (0..1usize << m)
                .filter(|s| s >> j & 1 == 0)
                .map(|s| {
                    let size = s.count_ones() as usize;
                    let share = factorial(size) * factorial(m - size - 1) / factorial(m);
                    share * (values[s | 1 << j] - values[s])
                })
                .sum()
        })
        .collect()
}

/// The mean of a tree's output, columns outside `known` averaged over by covers.
fn conditional(tree: &Tree, at: usize, known: u32, row: &[f32], output: usize, arithmetic: Arithmetic) -> f64 {
    let cover = |n: u32| match tree.nodes()[n as usize] {
        Node::Leaf { cover, .. } | Node::Number { cover, .. } | Node::Category { cover, .. } => f64::from(cover),
    };
    let node = &tree.nodes()[at];
    let next = |n: u32| conditional(tree, n as usize, known, row, output, arithmetic);
    match node {
        Node::Leaf { leaf, .. } => walk::value(arithmetic, tree.values()[*leaf as usize * tree.outputs() + output]),
        Node::Number { feature, left, right, .. } | Node::Category { feature, left, right, .. } => {
            if known >> feature & 1 == 1 {
                return next(if walk::goes_left(node, row) == Some(true) { *left } else { *right });
            }
            let (l, r) = (cover(*left), cover(*right));
            l / (l + r) * next(*left) + r / (l + r) * next(*right)
        }
    }
}

fn close(got: f64, want: f64) -> bool {
    (got - want).abs() <= 1e-12 * (1.0 + want.abs())
}

#[test]
fn path_dependent_values_are_those_of_the_definition() {
    for (seed, arithmetic) in [(1, Arithmetic::Double), (2, Arithmetic::Single), (3, Arithmetic::Double)] {
        let m = 6;
        let e = ensemble(seed, m as u32, arithmetic);
        let x = rows(seed + 90, 12, m);
        let explainer = TreeExplainer::new(&e).expect("covers");
        let shap = explainer.shap_values_of(&x, &Device::host()).expect("values");
        for (i, row) in x.chunks_exact(m).enumerate() {
            for o in 0..2 {
                let game = |known: u32| {
                    let part = |(tree, first): (&Tree, &u32)| {
                        let own = o as i64 - i64::from(*first);
                        let inside = own >= 0 && own < tree.outputs() as i64;
                        if inside { conditional(tree, 0, known, row, own as usize, arithmetic) } else { 0.0 }
                    };
                    e.trees().iter().zip(e.first_output()).map(part).sum::<f64>()
                };
                assert!(close(explainer.expected_value()[o] - base(&e)[o], game(0)));
                for (j, want) in shapley(m, game).into_iter().enumerate() {
                    let got = shap.of(i, o)[j];
                    assert!(close(got, want), "seed {seed}, row {i}, output {o}, column {j}: {got} against {want}");
                }
            }
        }
    }
}

#[test]
fn values_against_a_background_are_those_of_the_definition() {
    for (seed, arithmetic) in [(4, Arithmetic::Double), (5, Arithmetic::Single)] {
        let m = 6;
        let e = ensemble(seed, m as u32, arithmetic);
        let background = rows(seed + 40, 7, m);
        let x = rows(seed + 90, 8, m);
        let explainer = TreeExplainer::with_background_of(&e, &background).expect("rows");
        let shap = explainer.shap_values_of(&x, &Device::host()).expect("values");
        for (i, row) in x.chunks_exact(m).enumerate() {
            for o in 0..2 {
                let game = |known: u32| {
                    let mut sum = 0.0;
                    for z in background.chunks_exact(m) {
                        let mixed: Vec<f32> = (0..m).map(|j| if known >> j & 1 == 1 { row[j] } else { z[j] }).collect();
                        let mut score = [0.0; 2];
                        walk::score(&e, &mixed, &mut score);
                        sum += score[o];
                    }
                    sum / 7.0
                };
                assert!(close(explainer.expected_value()[o], game(0)));
                for (j, want) in shapley(m, game).into_iter().enumerate() {
                    let got = shap.of(i, o)[j];
                    assert!(close(got, want), "seed {seed}, row {i}, output {o}, column {j}: {got} against {want}");
                }
            }
        }
    }
}

#[test]
fn values_sum_to_the_score_within_the_stated_bound() {
    let m = 9;
    for seed in 10..20 {
        let e = ensemble(seed, m as u32, Arithmetic::Double);
        let x = rows(seed + 90, 40, m);
        let scores = walk::scores(&e, &x, &Device::host());
        let greatest = |t: &Tree| t.values().iter().fold(0.0f64, |g, v| g.max(v.abs()));
        let size: f64 = e.trees().iter().map(greatest).sum::<f64>() + 1.3;
        let bound = size / (1u64 << 40) as f64;
        for explainer in [
            TreeExplainer::new(&e).expect("covers"),
            TreeExplainer::with_background_of(&e, &rows(seed, 5, m)).expect("rows"),
        ] {
            let shap = explainer.shap_values_of(&x, &Device::host()).expect("values");
            for i in 0..40 {
                for o in 0..2 {
                    let sum = shap.of(i, o).iter().fold(explainer.expected_value()[o], |s, v| s + v);
                    let lost = (sum - scores[2 * i + o]).abs();
                    assert!(lost <= bound, "seed {seed}, row {i}, output {o}: {lost:e} above {bound:e}");
                }
            }
        }
    }
}

#[test]
fn threads_and_other_rows_change_nothing() {
    let m = 7;
    let e = ensemble(30, m as u32, Arithmetic::Double);
    let x = rows(31, 65, m);
    for explainer in
        [TreeExplainer::new(&e).expect("covers"), TreeExplainer::with_background_of(&e, &x[..70]).expect("rows")]
    {
        let bits = |s: &ShapValues| s.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let wanted = bits(&explainer.shap_values_of(&x, &Device::host()).expect("values"));
        for threads in [1, 2, 7, 64] {
            let device = Device::host_with_threads(threads).expect("threads");
            assert_eq!(bits(&explainer.shap_values_of(&x, &device).expect("values")), wanted);
        }
        let last = explainer.shap_values_of(&x[64 * m..], &Device::host()).expect("values");
        assert_eq!(bits(&last), wanted[64 * 2 * m..]);
    }
}

#[test]
fn deep_paths_keep_their_sum() {
    // A chain of 200 splits over 40 columns.
    let (n, m) = (200u32, 40usize);
    let mut nodes = Vec::new();
    for i in 0..n {
        let (left, right) = (2 * i + 1, 2 * i + 2);
        let (feature, threshold, cover) = (i * 7 % m as u32, (i % 13) as f32 - 6.0, (n - i + 1) as f32);
        nodes.push(Node::Number { feature, threshold, left, right, missing_left: true, gain: 0.0, cover });
        nodes.push(Node::Leaf { leaf: i, cover: 1.0 });
    }
    nodes.push(Node::Leaf { leaf: n, cover: 1.0 });
    let values = (0..=n).map(|v| f64::from(v % 17) - 8.0).collect();
    let tree = Tree::new(nodes, values, 1).expect("a tree");
    let e = Ensemble::new(vec![tree], vec![0], vec![0.0], m, Arithmetic::Double).expect("an ensemble");
    let x = rows(77, 20, m);
    let scores = walk::scores(&e, &x, &Device::host());
    for explainer in [TreeExplainer::new(&e).expect("covers"), TreeExplainer::with_background_of(&e, &x).expect("rows")]
    {
        let shap = explainer.shap_values_of(&x, &Device::host()).expect("values");
        for (i, score) in scores.iter().enumerate() {
            let sum = shap.of(i, 0).iter().fold(explainer.expected_value()[0], |s, v| s + v);
            assert!((sum - score).abs() <= 8.0 / (1u64 << 40) as f64, "row {i}: {sum} against {score}");
        }
    }
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let split =
        |cover| Node::Number { feature: 0, threshold: 0.0, left: 1, right: 2, missing_left: false, gain: 0.0, cover };
    let stump = |covers: [f32; 2]| {
        let leaves = [0, 1].map(|leaf| Node::Leaf { leaf, cover: covers[leaf as usize] });
        let tree = Tree::new([vec![split(0.0)], leaves.to_vec()].concat(), vec![1.0, 2.0], 1).expect("a tree");
        Ensemble::new(vec![tree], vec![0], vec![0.0], 1, Arithmetic::Double).expect("an ensemble")
    };
    for covers in [[0.0, 0.0], [-1.0, 2.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
        let error = TreeExplainer::new(&stump(covers)).unwrap_err().to_string();
        assert!(error.contains("`cover`") && error.contains("background"), "{error}");
        assert!(TreeExplainer::with_background_of(&stump(covers), &[1.0]).is_ok());
    }
    // A side without rows is explained; nobody unknown goes there.
    let explainer = TreeExplainer::new(&stump([0.0, 5.0])).expect("a cover");
    assert_eq!(explainer.shap_values_of(&[-1.0], &Device::host()).expect("values").of(0, 0), [-1.0]);
    assert_eq!(explainer.shap_values_of(&[1.0], &Device::host()).expect("values").of(0, 0), [0.0]);
    assert!(TreeExplainer::with_background_of(&stump([1.0, 1.0]), &[]).is_err());
    assert!(TreeExplainer::with_background(&stump([1.0, 1.0]), &Matrix::zeros(0, 1)).is_err());
    assert!(explainer.shap_values(&Matrix::zeros(2, 2), &Device::host()).is_err());

    let n = MAX_DEPTH as u32 + 1;
    let mut nodes = Vec::new();
    for i in 0..n {
        let (left, right) = (2 * i + 1, 2 * i + 2);
        let feature = 0;
        nodes.push(Node::Number { feature, threshold: 0.0, left, right, missing_left: true, gain: 0.0, cover: 1.0 });
        nodes.push(Node::Leaf { leaf: 0, cover: 1.0 });
    }
    nodes.push(Node::Leaf { leaf: 0, cover: 1.0 });
    let tree = Tree::new(nodes, vec![1.0], 1).expect("a tree");
    let e = Ensemble::new(vec![tree], vec![0], vec![0.0], 1, Arithmetic::Double).expect("an ensemble");
    assert!(TreeExplainer::new(&e).unwrap_err().to_string().contains("`depth`"));
}

#[test]
fn importances_add_up_splits() {
    let e = ensemble(8, 4, Arithmetic::Double);
    let mut want = [[0.0f64; 4]; 3];
    for node in e.trees().iter().flat_map(|t| t.nodes()) {
        if let Node::Number { feature, gain, cover, .. } | Node::Category { feature, gain, cover, .. } = node {
            for (row, v) in want.iter_mut().zip([1.0, *gain, *cover]) {
                row[*feature as usize] += f64::from(v);
            }
        }
    }
    assert_eq!(importances(&e, Importance::Splits), want[0]);
    assert_eq!(importances(&e, Importance::Gain), want[1]);
    assert_eq!(importances(&e, Importance::Cover), want[2]);
    let mean = importances(&e, Importance::MeanGain);
    assert!((0..4).all(|j| want[0][j] == 0.0 || mean[j] == want[1][j] / want[0][j]));
}

#[test]
fn a_column_that_counts_is_missed() {
    let x = Matrix::from_vec(50, 3, rows(3, 150, 1).iter().map(|v| if v.is_nan() { 0.5 } else { *v }).collect());
    let x = x.expect("finite");
    let score = |m: &Matrix| Ok(-(0..50).map(|i| f64::from((m.row(i)[1] - x.row(i)[1]).abs())).sum::<f64>());
    let found = permutation_importance(&x, 4, 9, score).expect("scores");
    assert_eq!(found.baseline, 0.0);
    assert!(found.means[1] > 10.0 && found.means[0] == 0.0 && found.means[2] == 0.0, "{:?}", found.means);
    assert!(found.deviations[1] > 0.0);
    assert_eq!(found, permutation_importance(&x, 4, 9, score).expect("scores"));
    assert_ne!(found, permutation_importance(&x, 4, 10, score).expect("scores"));
    assert!(permutation_importance(&x, 0, 9, score).is_err());
}

#[test]
fn trees_are_written_down() {
    let nodes = vec![
        Node::Number { feature: 0, threshold: 1.5, left: 1, right: 2, missing_left: true, gain: 3.0, cover: 4.0 },
        Node::Leaf { leaf: 0, cover: 1.0 },
        Node::Category {
            feature: 1,
            set: Arc::from([5u32, 1]),
            left: 3,
            right: 4,
            missing_left: false,
            gain: 0.5,
            cover: 3.0,
        },
        Node::Leaf { leaf: 1, cover: 2.0 },
        Node::Leaf { leaf: 2, cover: 1.0 },
    ];
    let tree = Tree::new(nodes, vec![1.0, -0.25, 2.0], 1).expect("a tree");
    let want = "0: age <= 1.5 or missing (gain 3, cover 4)\n  yes 1: leaf 1.0 (cover 1)\n  no  2: x1 in {0 2 32} (gain \
                0.5, cover 3)\n    yes 3: leaf -0.25 (cover 2)\n    no  4: leaf 2.0 (cover 1)\n";
    assert_eq!(text(&tree, &["age"]), want);
    let graph = dot(&tree, &["a \"quoted\" \\ name"]);
    assert!(
        graph.contains("0 [label=\"a \\\"quoted\\\" \\\\ name <= 1.5 or missing\\ngain 3\\ncover 4\"];"),
        "{graph}"
    );
    assert!(graph.contains("2 -> 4 [label=\"no\"];") && graph.ends_with("}\n"));
}
