//! Documents and code keep together: clauses, their marks and arms; invariants and their guards.

use ml_kernels::sabotage::Arm;

use super::{Finding, Source};

const CONTRACT: &str = "docs/contract.md";
const ARCHITECTURE: &str = "docs/architecture.md";

/// Arms speak of all clauses and implement none.
const ARMS: &str = "crates/ml-kernels/src/sabotage.rs";

/// Name and clause of every arm.
pub(super) fn arms() -> Vec<(String, String)> {
    Arm::ALL.iter().map(|arm| (format!("{arm:?}"), arm.clause().to_owned())).collect()
}

/// A section `## [id] …` of the contract.
struct Clause<'a> {
    id: &'a str,
    line: usize,
    body: Vec<&'a str>,
}

fn sections(text: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let id = line.strip_prefix("## [").and_then(|rest| rest.split_once(']')).map(|(id, _)| id);
        match (id, clauses.last_mut()) {
            (Some(id), _) => clauses.push(Clause { id, line: number + 1, body: Vec::new() }),
            (None, Some(clause)) => clause.body.push(line),
            (None, None) => {}
        }
    }
    clauses
}

/// The ids of all clauses; none where there is no contract.
pub(super) fn ids(sources: &[Source]) -> Vec<&str> {
    let contract = sources.iter().find(|s| s.path == CONTRACT);
    contract.map(|c| sections(&c.text).iter().map(|clause| clause.id).collect()).unwrap_or_default()
}

/// Each clause is marked in the code that implements it, and has an arm that breaks it or a reason for having none; marks
/// and arms name clauses that exist.
pub(super) fn clauses(sources: &[Source], arms: &[(String, String)]) -> Vec<Finding> {
    let Some(contract) = sources.iter().find(|s| s.path == CONTRACT) else {
        return vec![Finding::new(CONTRACT, 1, "is missing")];
    };
    let clauses = sections(&contract.text);
    let known = |id: &str| clauses.iter().any(|c| c.id == id);
    let mut findings = Vec::new();
    if clauses.is_empty() {
        findings.push(Finding::new(CONTRACT, 1, "has no clause `## [id]`"));
    }
    let mut marked = Vec::new();
    // A clause that only forbids is marked where it is guarded: in a test, or in the linter's list.
    let code = |s: &&Source| s.is_rust() && !s.path.starts_with("xtask/") || s.path == "clippy.toml";
    for source in sources.iter().filter(code) {
        for (line, id) in marks(&source.text) {
            if !known(&id) {
                findings.push(Finding::new(&source.path, line, format!("clause `{id}` is not in {CONTRACT}")));
            } else if source.path != ARMS {
                marked.push(id);
            }
        }
    }
    for clause in &clauses {
        let Clause { id, line, .. } = clause;
        if !marked.iter().any(|m| m == id) {
            let text =
                format!("clause [{id}] is marked nowhere in the code: write \"clause `{id}`\" where it is implemented");
            findings.push(Finding::new(CONTRACT, *line, text));
        }
        let listed = listed_arms(clause);
        let reason =
            clause.body.iter().any(|l| l.split_once("No arm: ").is_some_and(|(_, why)| !why.trim().is_empty()));
        if listed.is_empty() && !reason {
            let text = format!("clause [{id}] names no arm (`Arm: …`) and no reason for having none (`No arm: …`)");
            findings.push(Finding::new(CONTRACT, *line, text));
        }
        for name in listed {
            if !arms.iter().any(|(arm, _)| *arm == name) {
                findings.push(Finding::new(
                    CONTRACT,
                    *line,
                    format!("clause [{id}] names the arm `{name}`, which is none"),
                ));
            }
        }
    }
    for (name, id) in arms {
        let home = clauses.iter().find(|c| c.id == id);
        if !home.is_some_and(|c| listed_arms(c).contains(name)) {
            findings.push(Finding::new(
                ARMS,
                1,
                format!("the arm `{name}` breaks clause `{id}`, which does not list it"),
            ));
        }
    }
    findings
}

/// (line, id) of every mark "clause `id`", or "clauses `a`, `b` and `c`", in a text.
fn marks(text: &str) -> Vec<(usize, String)> {
    let mut marks = Vec::new();
    // A list of clauses may go on in the next line of a comment.
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        // "clause" or "Clause".
        for (at, word) in line.match_indices("lause") {
            let rest = &line[at + word.len()..];
            let rest = rest.strip_prefix('s').unwrap_or(rest);
            let next =
                lines.get(number + 1).map(|l| l.trim_start().trim_start_matches(['/', '!', ' '])).unwrap_or_default();
            let joined = format!("{} {next}", rest.trim_start());
            let mut rest = joined.as_str();
            while let Some((id, after)) = rest.strip_prefix('`').and_then(|r| r.split_once('`')) {
                marks.push((number + 1, id.to_owned()));
                let separators = [", and ", " and ", ", "];
                rest = separators.iter().find_map(|s| after.strip_prefix(s)).unwrap_or_default();
            }
        }
    }
    marks
}

/// The names on the `Arm:` or `Arms:` line of a clause.
fn listed_arms(clause: &Clause<'_>) -> Vec<String> {
    let listing = |l: &&&str| l.starts_with("Arm: ") || l.starts_with("Arms: ");
    let lines = clause.body.iter().filter(listing);
    lines.flat_map(|l| l.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Each invariant of the architecture names what guards it, and the guards that it names are there: rules of `tidy`, and
/// files.
pub(super) fn invariants(sources: &[Source], rules: &[&str]) -> Vec<Finding> {
    let Some(architecture) = sources.iter().find(|s| s.path == ARCHITECTURE) else {
        return vec![Finding::new(ARCHITECTURE, 1, "is missing")];
    };
    let lines: Vec<&str> = architecture.text.lines().map(str::trim).collect();
    let mut findings = Vec::new();
    let mut note = |line: usize, text: String| findings.push(Finding::new(ARCHITECTURE, line, text));
    let starts: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains("**Invariant:**")).collect();
    if starts.is_empty() {
        note(1, "states no `**Invariant:**`".to_owned());
    }
    for start in starts {
        // Up to the end of its paragraph, or the next invariant.
        let rest = lines[start + 1..].iter().take_while(|l| !l.is_empty() && !l.contains("**Invariant:**"));
        let paragraph = std::iter::once(&lines[start]).chain(rest).copied().collect::<Vec<_>>().join(" ");
        let guard = paragraph.split_once("Guard:").map(|(_, guard)| guard.trim()).unwrap_or_default();
        if guard.len() < 4 {
            note(start + 1, "an invariant without `Guard: …`".to_owned());
        }
        for named in guard.split('`').skip(1).step_by(2) {
            let file = named.split("::").next().unwrap_or_default();
            let there = match named.strip_prefix("tidy::") {
                Some(rule) => rules.contains(&rule),
                None if file.contains('.') && !file.contains(' ') => {
                    sources.iter().any(|s| s.path == file || s.path.ends_with(&format!("/{file}")))
                }
                None => true,
            };
            if !there {
                note(start + 1, format!("names the guard `{named}`, which is not there"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "# Contract\n\n## [sums] Sums\nText.\n\nArm: `SerialLanes`.\n\n## [plans] Plans\nText. No arm: no bits.\n";

    fn check(contract: &str, code: &str, arms: &[(&str, &str)]) -> Vec<String> {
        let sources = [Source::new(CONTRACT, contract), Source::new("crates/a/src/b.rs", code)];
        let arms: Vec<(String, String)> = arms.iter().map(|(a, c)| ((*a).to_owned(), (*c).to_owned())).collect();
        clauses(&sources, &arms).into_iter().map(|f| f.text).collect()
    }

    #[test]
    fn paired_clauses_pass() {
        let code = "//! Contract clause `sums`.\n/// (Clauses `sums` and `plans`)";
        assert!(check(GOOD, code, &[("SerialLanes", "sums")]).is_empty());
    }

    #[test]
    fn each_broken_pair_is_found() {
        let code = "//! clause `sums`, clause `plans`";
        let arms = [("SerialLanes", "sums")];
        for (contract, code, arms, text) in [
            (GOOD, "//! clause `sums`", &arms[..], "clause [plans] is marked nowhere"),
            (GOOD, "//! clause `sums`, clause `plans`, clause `plains`", &arms, "clause `plains` is not in"),
            (GOOD, "//! clauses `sums`,\n//! `plans` and\n//! clause `x`", &arms, "clause `x` is not in"),
            (&GOOD.replace("No arm: no bits.", ""), code, &arms, "names no arm"),
            (&GOOD.replace("SerialLanes", "Serial"), code, &arms, "the arm `Serial`, which is none"),
            (GOOD, code, &[("SerialLanes", "sums"), ("New", "plans")], "the arm `New` breaks clause `plans`"),
            ("# Nothing\n", "", &[], "has no clause"),
        ] {
            let found = check(contract, code, arms);
            assert!(found.iter().any(|f| f.contains(text)), "{text}: {found:?}");
        }
    }

    #[test]
    fn the_arms_file_is_no_mark() {
        let sources = [Source::new(CONTRACT, GOOD), Source::new(ARMS, "/// Clause `sums`, clause `plans`")];
        let found = clauses(&sources, &[("SerialLanes".to_owned(), "sums".to_owned())]);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn invariants_without_guard_are_found() {
        let found = |text: &str| {
            let sources = [Source::new(ARCHITECTURE, text), Source::new("crates/a/tests/b.rs", "")];
            invariants(&sources, &["clauses"]).len()
        };
        for good in [
            "- **Invariant:** a is b.\n  Guard: `tidy::clauses`.\n\nText.\n",
            "- **Invariant:** a is b. Guard:\n  `crates/a/tests/b.rs` and `cargo xtask validate`.\n",
            "- **Invariant:** a is b. Guard: `tests/b.rs::test`, and review.\n",
        ] {
            assert_eq!(found(good), 0, "{good}");
        }
        for bad in [
            "Text.\n",
            "- **Invariant:** a is b.\n\nGuard: `tidy::clauses`.\n",
            "- **Invariant:** a is b.\n- **Invariant:** c is d. Guard: review.\n",
            "- **Invariant:** a is b. Guard: `tidy::no_such_rule`.\n",
            "- **Invariant:** a is b. Guard: `crates/a/tests/gone.rs`.\n",
        ] {
            assert_eq!(found(bad), 1, "{bad}");
        }
        assert_eq!(invariants(&[], &[]).len(), 1);
    }
}
