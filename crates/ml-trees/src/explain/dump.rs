//! Trees as text, and as graphs in the DOT language.

use std::fmt::Write;

use crate::ensemble::{Node, Tree};

/// A tree as indented text, one line a node: its number, what it asks, gain and cover; leaves with their values.
///
/// `names` are those of the columns; a column without one is `x` and its number. Numbers are written so that reading them
/// back gives the same bits.
pub fn text(tree: &Tree, names: &[&str]) -> String {
    let mut out = String::new();
    let mut open = vec![(0usize, 0usize, "")];
    while let Some((at, depth, side)) = open.pop() {
        let node = &tree.nodes()[at];
        let indent = "  ".repeat(depth);
        let line = match node {
            Node::Leaf { leaf, cover } => format!("leaf {} (cover {cover})", values(tree, *leaf)),
            Node::Number { gain, cover, .. } | Node::Category { gain, cover, .. } => {
                format!("{} (gain {gain}, cover {cover})", question(node, names))
            }
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{indent}{side}{at}: {line}");
        if let Node::Number { left, right, .. } | Node::Category { left, right, .. } = node {
            open.push((*right as usize, depth + 1, "no  "));
            open.push((*left as usize, depth + 1, "yes "));
        }
    }
    out
}

/// A tree as a graph in the DOT language, left branches marked `yes`.
///
/// `names` as for [`text`].
pub fn dot(tree: &Tree, names: &[&str]) -> String {
    let mut out = String::from("digraph tree {\n  node [shape=box];\n");
    for (at, node) in tree.nodes().iter().enumerate() {
        let label = match node {
            Node::Leaf { leaf, cover } => format!("{}\ncover {cover}", values(tree, *leaf)),
            Node::Number { gain, cover, .. } | Node::Category { gain, cover, .. } => {
                format!("{}\ngain {gain}\ncover {cover}", question(node, names))
            }
        };
        let label = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = writeln!(out, "  {at} [label=\"{label}\"];");
        if let Node::Number { left, right, .. } | Node::Category { left, right, .. } = node {
            let _ = writeln!(out, "  {at} -> {left} [label=\"yes\"];\n  {at} -> {right} [label=\"no\"];");
        }
    }
    out.push_str("}\n");
    out
}

fn values(tree: &Tree, leaf: u32) -> String {
    let k = tree.outputs();
    let values: Vec<String> = tree.values()[leaf as usize * k..][..k].iter().map(|v| format!("{v:?}")).collect();
    values.join(", ")
}

fn question(node: &Node, names: &[&str]) -> String {
    let name = |feature: u32| match names.get(feature as usize) {
        Some(name) => (*name).to_owned(),
        None => format!("x{feature}"),
    };
    let missing = |left: bool| if left { " or missing" } else { "" };
    match node {
        Node::Leaf { .. } => String::new(),
        Node::Number { feature, threshold, missing_left, .. } => {
            format!("{} <= {threshold:?}{}", name(*feature), missing(*missing_left))
        }
        Node::Category { feature, set, missing_left, .. } => {
            let members: Vec<String> =
                (0..set.len() * 32).filter(|c| set[c / 32] >> (c % 32) & 1 == 1).map(|c| c.to_string()).collect();
            format!("{} in {{{}}}{}", name(*feature), members.join(" "), missing(*missing_left))
        }
    }
}
