//! The support matrix: which estimator is certified on which device, generated from certificates, never written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::card::{Card, Outcome};
use crate::certificate::Certificate;
use crate::digest::Digest;
use crate::error::{IdentityError, Result};

/// Opens the generated part of a README.
pub const BEGIN: &str = "<!-- support:begin -->";
/// Closes it.
pub const END: &str = "<!-- support:end -->";

/// The support matrix: estimators down, devices across.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportMatrix {
    columns: Vec<String>,
    rows: BTreeMap<String, Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// One for each column; `None` where there is no card.
    cells: Vec<Option<Cell>>,
    /// Whether two columns disagree on a run that both have.
    diverged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    root: Digest,
    runs: usize,
    refused: usize,
}

impl SupportMatrix {
    /// The matrix of all certificates (`*.json`) in a folder; a folder without any gives a table that claims nothing.
    ///
    /// # Errors
    /// [`IdentityError::Io`], those of [`Certificate::load`] for any file, and those of [`SupportMatrix::new`].
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let io = |source| IdentityError::Io { path: folder.display().to_string(), source };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        Self::new(&paths.iter().map(Certificate::load).collect::<Result<Vec<_>>>()?)
    }

    /// The matrix of these certificates; columns are sorted by name.
    ///
    /// # Errors
    /// [`IdentityError::Support`] for a sabotaged run, for two certificates of one column, and for certificates that differ
    /// in numeric profile or in the data of a fixture: their roots could not be set side by side.
    pub fn new(certificates: &[Certificate]) -> Result<Self> {
        let support = |reason: String| IdentityError::Support { reason };
        let mut sorted: Vec<&Certificate> = certificates.iter().collect();
        sorted.sort_by_key(|certificate| certificate.column());
        let columns: Vec<String> = sorted.iter().map(|certificate| certificate.column()).collect();
        if let Some(pair) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(support(format!("two certificates of {}", pair[0])));
        }
        let mut profiles = BTreeSet::new();
        let mut fixtures: BTreeMap<&str, &BTreeMap<String, Digest>> = BTreeMap::new();
        let mut results: BTreeMap<(&str, &str), BTreeSet<Digest>> = BTreeMap::new();
        for (certificate, column) in sorted.iter().zip(&columns) {
            if let Some(arm) = &certificate.header().sabotage {
                return Err(support(format!("{column} was sabotaged on purpose (`{arm}`)")));
            }
            profiles.insert(certificate.header().profile.as_str());
            for card in certificate.cards() {
                let header = card.header();
                let digests = fixtures.entry(&header.fixture).or_insert(&header.fixture_digests);
                if **digests != header.fixture_digests {
                    return Err(support(format!("{column} has other data under the name {}", header.fixture)));
                }
                let run = (header.estimator.as_str(), header.fixture.as_str());
                results.entry(run).or_default().insert(card.result_digest());
            }
        }
        if profiles.len() > 1 {
            return Err(support(format!("certificates follow different profiles: {profiles:?}")));
        }
        let estimators: BTreeSet<&str> = results.keys().map(|(estimator, _)| *estimator).collect();
        let rows = estimators.into_iter().map(|estimator| {
            let of_it = |run: &(&str, &str)| run.0 == estimator;
            let diverged = results.iter().any(|(run, results)| of_it(run) && results.len() > 1);
            let cells = sorted.iter().map(|certificate| cell(certificate, estimator)).collect();
            (estimator.to_owned(), Row { cells, diverged })
        });
        let rows = rows.collect();
        Ok(SupportMatrix { columns, rows })
    }

    /// The table as Markdown, with a line that explains it.
    pub fn to_markdown(&self) -> String {
        if self.columns.is_empty() {
            return "No device is certified yet.\n".to_owned();
        }
        let escaped: Vec<String> = self.columns.iter().map(|column| escape(column)).collect();
        let mut text = format!("| estimator | {} |\n|---|{}\n", escaped.join(" | "), "---|".repeat(escaped.len()));
        for (estimator, row) in &self.rows {
            let cells: Vec<String> =
                row.cells.iter().map(|cell| cell.as_ref().map_or("–".into(), Cell::text)).collect();
            let mark = if row.diverged { " ≠" } else { "" };
            text += &format!("| {}{mark} | {} |\n", escape(estimator), cells.join(" | "));
        }
        text += "\nA cell holds the first eight digits of the root that `cargo xtask certify` prints for the estimator on the \
                 device, and the number of its runs; equal digits are equal bytes at every recorded stage. –: no \
                 certificate. ≠: devices disagree.\n";
        text
    }
}

impl Cell {
    fn text(&self) -> String {
        let refused = if self.refused > 0 { format!(", {} refused", self.refused) } else { String::new() };
        format!("`{}` ({}{refused})", self.root.short(), self.runs)
    }
}

fn cell(certificate: &Certificate, estimator: &str) -> Option<Cell> {
    let cards: Vec<&Card> = certificate.cards().iter().filter(|card| card.header().estimator == estimator).collect();
    let ran = cards.iter().filter(|card| *card.outcome() == Outcome::Ran).count();
    // An estimator that only ever refused is not certified.
    let root = certificate.root_of(estimator).filter(|_| ran > 0)?;
    Some(Cell { root, runs: cards.len(), refused: cards.len() - ran })
}

/// Text that cannot end a table cell or start markup.
fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        if matches!(c, '|' | '\\' | '`' | '*' | '_' | '<' | '[') {
            escaped.push('\\');
        }
        escaped.push(if c.is_control() { ' ' } else { c });
        escaped
    })
}

/// Whether the README shows exactly this matrix.
///
/// # Errors
/// [`IdentityError::Support`] if it does not, or if its markers are absent, repeated or in the wrong order.
pub fn check_readme(readme: &str, matrix: &SupportMatrix) -> Result<()> {
    if rewrite_readme(readme, matrix)? == readme {
        return Ok(());
    }
    let reason = "the table in the README is not what the certificates give; generate it anew".to_owned();
    Err(IdentityError::Support { reason })
}

/// The README with this matrix between its markers, and nothing else changed.
///
/// # Errors
/// [`IdentityError::Support`] if the markers are absent, repeated or in the wrong order.
pub fn rewrite_readme(readme: &str, matrix: &SupportMatrix) -> Result<String> {
    let markers = || {
        let (before, rest) = readme.split_once(BEGIN)?;
        let (old, after) = rest.split_once(END)?;
        let alone = [before, old, after].iter().all(|part| !part.contains(BEGIN) && !part.contains(END));
        alone.then_some((before, after))
    };
    let (before, after) = markers().ok_or_else(|| IdentityError::Support {
        reason: format!("the README needs `{BEGIN}` and, after it, `{END}`, each once"),
    })?;
    Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", matrix.to_markdown()))
}

#[cfg(test)]
#[path = "support_tests.rs"]
mod tests;
