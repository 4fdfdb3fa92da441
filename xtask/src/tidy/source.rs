//! Rules that need one file: header, length, words that must not be there, and safety comments.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Finding, Source};

/// Most lines of a file that is not tests.
const MOST_LINES: usize = 600;

/// Every Rust file says first what it is for.
pub(super) fn header(source: &Source) -> Option<Finding> {
    let first = source.text.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
    let text = first.strip_prefix("//!").unwrap_or_default().trim();
    (text.len() < 8)
        .then(|| Finding::new(&source.path, 1, "the file must begin with a `//!` line that says what it is for"))
}

/// Files that are not tests stay short enough to be read.
pub(super) fn length(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let long = lines > MOST_LINES && !source.is_test();
    long.then(|| Finding::new(&source.path, lines, format!("{lines} lines; a file has at most {MOST_LINES}: split it")))
}

/// No place of somebody's machine: the project must work anywhere.
pub(super) fn machine_paths(source: &Source) -> Vec<Finding> {
    // Written in halves, or this file would break its own rule.
    let homes = [["/wo", "rk/"], ["/ro", "ot/"], ["/tm", "p/"], ["/ho", "me/"], ["/Use", "rs/"]].map(|h| h.concat());
    let mut findings = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        for home in &homes {
            let starts_a_path = |at: usize| {
                let before = line[..at].chars().next_back();
                before.is_none_or(|c| !(c.is_alphanumeric() || "_-./}>*".contains(c)))
            };
            if line.match_indices(home.as_str()).any(|(at, _)| starts_a_path(at)) {
                findings.push(Finding::new(&source.path, number + 1, format!("`{home}` is a path of one machine")));
            }
        }
    }
    findings
}

/// Words that must not be committed, found as tokens: texts and comments may speak of them.
pub(super) fn unfinished(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    match source.text.parse::<TokenStream>() {
        Ok(stream) => scan(stream, &source.path, &mut findings),
        Err(e) => findings.push(Finding::new(&source.path, e.span().start().line, format!("is no Rust: {e}"))),
    }
    findings
}

fn scan(stream: TokenStream, path: &str, findings: &mut Vec<Finding>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        let line = token.span().start().line;
        match token {
            TokenTree::Ident(word) => {
                let word = word.to_string();
                let called = matches!(tokens.get(i + 1), Some(TokenTree::Punct(p)) if p.as_char() == '!');
                if called && ["todo", "unimplemented", "dbg"].contains(&word.as_str()) {
                    findings.push(Finding::new(path, line, format!("`{word}!` is not for commits")));
                }
            }
            TokenTree::Group(group) => {
                let mut inner = group.stream().into_iter();
                let bare_ignore = group.delimiter() == Delimiter::Bracket
                    && matches!(inner.next(), Some(TokenTree::Ident(word)) if word == "ignore")
                    && inner.next().is_none()
                    && matches!(i.checked_sub(1).map(|h| &tokens[h]), Some(TokenTree::Punct(p)) if p.as_char() == '#');
                if bare_ignore {
                    findings.push(Finding::new(path, line, "`#[ignore]` needs a reason: `#[ignore = \"…\"]`"));
                }
                scan(group.stream(), path, findings);
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Each `unsafe` block follows a comment that says why it is sound.
pub(super) fn safety_comments(source: &Source) -> Vec<Finding> {
    let mut lines = Vec::new();
    if let Ok(stream) = source.text.parse::<TokenStream>() {
        find_unsafe(stream, &mut lines);
    }
    let text: Vec<&str> = source.text.lines().collect();
    lines
        .into_iter()
        .filter(|line| !explained(&text, *line))
        .map(|line| {
            Finding::new(&source.path, line, "`unsafe` block without a `// SAFETY:` comment before its statement")
        })
        .collect()
}

fn find_unsafe(stream: TokenStream, lines: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            let block = group.delimiter() == Delimiter::Brace;
            let before = i.checked_sub(1).map(|h| &tokens[h]);
            if block && matches!(before, Some(TokenTree::Ident(word)) if word == "unsafe") {
                lines.push(before.map_or(0, |b| b.span().start().line));
            }
            find_unsafe(group.stream(), lines);
        }
    }
}

/// Whether a `SAFETY:` comment stands above the statement that holds line `line` (counted from 1).
fn explained(text: &[&str], line: usize) -> bool {
    for above in text[..line - 1].iter().rev() {
        let above = above.trim();
        if above.starts_with("//") {
            if above.contains("SAFETY:") {
                return true;
            }
        } else if above.is_empty() || above.ends_with([';', '{', '}']) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> Source {
        Source::new("crates/a/src/b.rs", text)
    }

    #[test]
    fn headers_are_asked_for() {
        assert!(header(&rust("//! What it is for.\nfn f() {}")).is_none());
        for bad in ["", "fn f() {}", "// Not a doc comment.\n", "//!\n//! Too late.\n", "#![allow(x)]\n//! Too late.\n"]
        {
            assert!(header(&rust(bad)).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn long_files_are_found_unless_tests() {
        let long = "x\n".repeat(MOST_LINES + 1);
        assert!(length(&rust(&long)).is_some());
        assert!(length(&rust(&"x\n".repeat(MOST_LINES))).is_none());
        assert!(length(&Source::new("crates/a/tests/b.rs", &long)).is_none());
    }

    #[test]
    fn machine_paths_are_found() {
        let home = ["/ro", "ot/x"].concat();
        let scratch = ["/tm", "p/y"].concat();
        for bad in [format!("see {home}"), format!("\"{scratch}\""), scratch.clone()] {
            assert_eq!(machine_paths(&Source::new("docs/a.md", &bad)).len(), 1, "{bad}");
        }
        for good in [format!("target{scratch}"), format!("{{dir}}{scratch}"), format!("https://a.example{home}")] {
            assert!(machine_paths(&Source::new("docs/a.md", &good)).is_empty(), "{good}");
        }
    }

    #[test]
    fn unfinished_code_is_found_in_tokens_only() {
        for bad in ["fn f() { todo!() }", "fn f() { g(|| unimplemented!(\"later\")) }", "fn f() { dbg!(1); }"] {
            assert_eq!(unfinished(&rust(bad)).len(), 1, "{bad}");
        }
        assert_eq!(unfinished(&rust("#[test]\n#[ignore]\nfn f() {}")).len(), 1);
        assert_eq!(unfinished(&rust("fn f( {}")).len(), 1, "what is no Rust cannot be read");
        for good in [
            "// todo!()\nfn f() { g(\"unimplemented!()\") }",
            "#[test]\n#[ignore = \"takes an hour\"]\nfn f() {}",
            "fn todo() {}",
        ] {
            assert!(unfinished(&rust(good)).is_empty(), "{good}");
        }
    }

    #[test]
    fn unsafe_blocks_without_reason_are_found() {
        for bad in [
            "fn f() {\n    unsafe { g() }\n}",
            "fn f() {\n    // SAFETY: of the first only.\n    unsafe { g() };\n    unsafe { g() };\n}",
            "// SAFETY: of nothing here.\n\nfn f() {\n    h(unsafe { g() });\n}",
        ] {
            assert_eq!(safety_comments(&rust(bad)).len(), 1, "{bad}");
        }
        for good in [
            "fn f() {\n    // SAFETY: g asks for nothing.\n    // At all.\n    unsafe { g() }\n}",
            "fn f() {\n    // SAFETY: g asks for nothing.\n    let x = h(\n        1,\n        unsafe { g() },\n    );\n}",
            "unsafe fn f() {}\nunsafe impl A for B {}",
        ] {
            assert!(safety_comments(&rust(good)).is_empty(), "{good}");
        }
    }
}
