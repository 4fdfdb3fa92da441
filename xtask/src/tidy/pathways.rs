//! The ledger of pathways and the code keep together: every row has its place and its test, every mark has its row.

use std::collections::BTreeMap;

use super::{Finding, Source, contract};

const LEDGER: &str = "docs/pathways.md";
const CONTROLS: &str = "docs/sabotage.md";

/// This file speaks of marks and bears none.
const SELF: &str = "xtask/src/tidy/pathways.rs";

/// Fewer rows than this would leave out something that was known when the ledger was begun.
const FEWEST: usize = 60;

/// One row of the ledger.
struct Row<'a> {
    line: usize,
    id: &'a str,
    clause: &'a str,
    place: &'a str,
    /// File and function.
    test: Option<(&'a str, &'a str)>,
    arm: &'a str,
    devices: &'a str,
}

/// The cells of a table's row.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// `P` and a number without leading zeros.
fn is_id(text: &str) -> bool {
    text.strip_prefix('P').and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| format!("P{n}") == text)
}

fn quoted(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`').filter(|inner| !inner.contains('`'))
}

/// (line, id) of each mark `label: P1, P2` that a comment begins with.
fn marks<'a>(text: &'a str, label: &str) -> Vec<(usize, &'a str)> {
    let mut marks = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//").or_else(|| line.trim_start().strip_prefix('#'));
        let list = comment.and_then(|c| c.trim_start().strip_prefix(label)).and_then(|c| c.strip_prefix(':'));
        marks.extend(list.into_iter().flat_map(|l| l.split(',')).map(|id| (number + 1, id.trim())));
    }
    marks
}

/// Whether the function `name` of a text has the mark for `id` in the comments and attributes right above it.
fn test_is_marked(text: &str, name: &str, id: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let start = format!("fn {name}(");
    let Some(at) = lines.iter().position(|l| l.starts_with(&start)) else { return false };
    let above = lines[..at].iter().rev().take_while(|l| l.starts_with("//") || l.starts_with('#'));
    above.flat_map(|l| marks(l, "pathway test")).any(|(_, marked)| marked == id)
}

/// The devices on which each arm moved a stage, in the order of the table.
fn bites(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut bites: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in text.lines().filter_map(cells).filter(|row| row.len() == 6) {
        bites.entry(row[0]).or_default().push(row[2].split(' ').next().unwrap_or_default());
    }
    bites
}

/// Every row is whole and true to the code, and every mark in the code has a row.
pub(super) fn check(sources: &[Source], arms: &[(String, String)]) -> Vec<Finding> {
    let find = |path: &str| sources.iter().find(|s| s.path == path);
    let Some(ledger) = find(LEDGER) else { return vec![Finding::new(LEDGER, 1, "is missing")] };
    let clauses = contract::ids(sources);
    let bites = find(CONTROLS).map(|s| bites(&s.text)).unwrap_or_default();
    let mut findings = Vec::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (number, line) in ledger.text.lines().enumerate() {
        let Some(cells) = cells(line).filter(|c| c[0] != "id" && !c[0].starts_with('-')) else { continue };
        let [id, what, clause, place, test, arm, devices] = cells[..] else {
            findings.push(Finding::new(LEDGER, number + 1, format!("{} cells, not 7", cells.len())));
            continue;
        };
        let mut fault = |text: String| findings.push(Finding::new(LEDGER, number + 1, text));
        if !is_id(id) || rows.iter().any(|r| r.id == id) {
            fault(format!("`{id}` is no id of its own: P and a number"));
        }
        if what.split(' ').count() < 3 {
            fault(format!("{id} does not say what can move a bit"));
        }
        let test = quoted(test).and_then(|t| t.split_once("::"));
        rows.push(Row { line: number + 1, id, clause, place: quoted(place).unwrap_or_default(), test, arm, devices });
    }
    if rows.len() < FEWEST {
        findings.push(Finding::new(LEDGER, 1, format!("{} rows; there were {FEWEST} to begin with", rows.len())));
    }
    for row in &rows {
        let mut fault = |text: String| findings.push(Finding::new(LEDGER, row.line, format!("{}: {text}", row.id)));
        if !clauses.contains(&row.clause) {
            fault(format!("[{}] is no clause of the contract", row.clause));
        }
        let bears = |s: &Source| marks(&s.text, "pathway").iter().any(|(_, id)| *id == row.id);
        if !find(row.place).is_some_and(bears) {
            fault(format!("`{}` does not bear the mark `pathway: {}`", row.place, row.id));
        }
        match row.test {
            Some((path, name)) if find(path).is_some_and(|s| test_is_marked(&s.text, name, row.id)) => {}
            Some((path, name)) => {
                fault(format!("`{path}` has no `fn {name}` with the mark `pathway test: {}` above it", row.id));
            }
            None => fault("the test is not spelled `file::function`".to_owned()),
        }
        match quoted(row.arm) {
            Some(arm) if arms.iter().any(|(name, _)| name == arm) => {
                let listed = bites.get(arm).map(|d| d.join(", ")).unwrap_or_default();
                if row.devices != listed || listed.is_empty() {
                    fault(format!("`{arm}` bit on {listed:?} by {CONTROLS}, not on {:?}", row.devices));
                }
            }
            Some(arm) => fault(format!("there is no arm `{arm}`")),
            None if row.arm.strip_prefix("- ").is_none_or(|why| why.trim().is_empty()) => {
                fault("names neither an arm nor why there is none".to_owned());
            }
            None if row.devices != "-" => fault("no arm, so none bit anywhere".to_owned()),
            None => {}
        }
    }
    for source in sources.iter().filter(|s| s.path != SELF && !s.path.ends_with(".md")) {
        let strays = |label: &str, has_row: &dyn Fn(&str) -> bool| -> Vec<Finding> {
            let lonely = marks(&source.text, label).into_iter().filter(|(_, id)| !has_row(id));
            let text = |id: &str| format!("the mark `{label}: {id}` has no row in {LEDGER} that names this file");
            lonely.map(|(line, id)| Finding::new(&source.path, line, text(id))).collect()
        };
        let path = source.path.as_str();
        findings.extend(strays("pathway", &|id| rows.iter().any(|r| r.id == id && r.place == path)));
        let tests = |id: &str| rows.iter().any(|r| r.id == id && r.test.is_some_and(|(file, _)| file == path));
        findings.extend(strays("pathway test", &tests));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "| P1 | a sum in another order | sums | `a.rs` | `b.rs::t` | `Bent` | cuda:0, vulkan:0 |";

    /// Findings about a first row and marks, among enough other rows that are in order.
    fn findings(row: &str, place: &str, test: &str) -> Vec<String> {
        let mut ledger =
            format!("| id | what | clause | place | test | arm | bit on |\n|---|---|---|---|---|---|---|\n{row}\n");
        let (mut a, mut b) = (format!("{place}\nfn f() {{}}\n"), format!("{test}\nfn t() {{}}\n"));
        for id in 2..=FEWEST {
            ledger += &format!("| P{id} | one thing or another | sums | `a.rs` | `b.rs::t{id}` | - no need | - |\n");
            a += &format!("// pathway: P{id}\nfn f{id}() {{}}\n");
            b += &format!("// pathway test: P{id}\nfn t{id}() {{}}\n");
        }
        let controls = "| Bent | sums | cuda:0 (X) | `s` | f | 1 |\n| Bent | sums | vulkan:0 (X) | `s` | f | 1 |";
        let sources = [
            Source::new(LEDGER, &ledger),
            Source::new(CONTROLS, controls),
            Source::new("docs/contract.md", "## [sums] Sums\n\nArm: `Bent`.\n"),
            Source::new("a.rs", &a),
            Source::new("b.rs", &b),
        ];
        check(&sources, &[("Bent".to_owned(), "sums".to_owned())]).iter().map(Finding::to_string).collect()
    }

    const PLACE: &str = "// pathway: P1";
    const TEST: &str = "// pathway test: P1\n#[test]";

    #[test]
    fn a_true_row_passes() {
        assert_eq!(findings(ROW, PLACE, TEST), Vec::<String>::new());
        let bare = ROW.replace("| `Bent` | cuda:0, vulkan:0 |", "| - one code for all | - |");
        assert_eq!(findings(&bare, PLACE, TEST), Vec::<String>::new());
        assert_eq!(
            findings(ROW, "/// A sum.\n#[inline]\n    // pathway: P1", "#[test]\n// pathway test: P1"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_missing_half_is_found() {
        for (place, test, said) in [
            ("", TEST, "does not bear the mark"),
            (PLACE, "", "has no `fn t` with the mark"),
            // Of another function, or of another kind.
            (PLACE, "// pathway test: P1\nfn other() {}\n", "has no `fn t` with the mark"),
            (PLACE, "// pathway: P1", "has no `fn t` with the mark"),
            ("// pathway test: P1", TEST, "does not bear the mark"),
            ("// pathway: P1, P99", TEST, "`pathway: P99` has no row"),
            (PLACE, "// pathway test: P1, P99", "`pathway test: P99` has no row"),
        ] {
            let found = findings(ROW, place, test);
            assert!(found.iter().any(|f| f.contains(said)), "{place:?} {test:?}: {found:?}");
        }
    }

    #[test]
    fn each_false_cell_is_found() {
        for (from, to, said) in [
            ("| P1 |", "| P01 |", "no id of its own"),
            ("| P1 |", "| P2 |", "no id of its own"),
            ("a sum in another order", "sums", "does not say what"),
            ("| sums |", "| sum |", "is no clause"),
            ("`a.rs`", "`c.rs`", "does not bear the mark"),
            ("`b.rs::t`", "`b.rs::u`", "has no `fn u`"),
            ("`b.rs::t`", "`b.rs`", "not spelled"),
            ("`Bent`", "`Straight`", "there is no arm"),
            ("`Bent`", "-", "neither an arm nor why"),
            ("`Bent`", "- no need", "none bit anywhere"),
            (", vulkan:0", "", "by docs/sabotage.md"),
            ("cuda:0, vulkan:0", "-", "by docs/sabotage.md"),
            ("| `Bent` |", "|", "6 cells"),
        ] {
            let row = ROW.replacen(from, to, 1);
            assert_ne!(row, ROW);
            let found = findings(&row, PLACE, TEST);
            assert!(found.iter().any(|f| f.contains(said)), "{to}: {found:?}");
        }
    }

    #[test]
    fn a_short_ledger_is_found() {
        let sources = [Source::new(LEDGER, ROW)];
        assert!(check(&sources, &[]).iter().any(|f| f.text.contains("1 rows")));
        assert!(check(&[], &[]).iter().any(|f| f.text.contains("is missing")));
    }
}
