//! The comparator: whether devices agree, and if not, which stage moved first.
//!
//! | exit code | verdict |
//! |---|---|
//! | 0 | [`Verdict::Equal`]: at least two certificates, and in each at least one run with at least one stage |
//! | 10 | [`Verdict::Diverged`]: a stage holds other bytes |
//! | 11 | [`Verdict::StageListDiffers`]: other stages, or stages of another shape |
//! | 12 | [`Verdict::OutcomeDiffers`]: refused on one device, not or otherwise on another |
//! | 20 | [`Verdict::DifferentProfile`]: other numeric contracts |
//! | 21 | [`Verdict::DifferentFixtures`]: other data |
//! | 30 | [`Verdict::MissingColumn`]: fewer than two certificates, or not one that was asked for |
//! | 31 | [`Verdict::MissingRun`]: a run that one device has and another lacks |
//! | 32 | [`Verdict::NothingCompared`]: a certificate of refusals only |
//! | 40 | [`Verdict::Invalid`]: a certificate that cannot be trusted |
//! | 41 | [`Verdict::Truncated`]: a certificate that was cut short |
//!
//! Codes 1, 2 and 101 are left to programs that fail for other reasons (errors, usage, panics). The verdict of a report
//! is its gravest finding, in the order in which a finding takes the ground from under the next: `Invalid`, `Truncated`,
//! `MissingColumn`, `DifferentProfile`, `DifferentFixtures`, `MissingRun`, `NothingCompared`, then the three of 10 to 12
//! by estimator and fixture.

mod decode;

pub use decode::{Element, Elements};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ml_core::Dtype;

use crate::card::{Card, Outcome};
use crate::certificate::Certificate;
use crate::digest::Digest;
use crate::error::IdentityError;
use crate::merkle::{MerkleTree, first_difference};
use crate::stage::Stage;

/// The certificate of one device, and where its dumps are if it kept any.
#[derive(Debug, Clone)]
pub struct Column {
    /// The certificate.
    pub certificate: Certificate,
    /// Folder of the dumps; see [`crate::stage::dump_folder`] for what is in it.
    pub dumps: Option<PathBuf>,
}

/// What a comparison is to insist on.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Columns that must be there, by [`Certificate::column`] or by device name.
    pub expect: Vec<String>,
    /// Whether certificates of sabotaged runs may be compared. They never support a claim; this is to show that an arm
    /// moves the stage it should.
    pub allow_sabotage: bool,
}

/// Two devices, by the names of their columns; the first is the one that all others are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The first column of the comparison.
    pub a: String,
    /// The column that was found to differ.
    pub b: String,
}

/// One run, by estimator and fixture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The estimator.
    pub estimator: String,
    /// The fixture.
    pub fixture: String,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// All columns agree on every run and every stage.
    Equal {
        /// Names of the columns, at least two.
        columns: Vec<String>,
        /// Runs compared, refusals included.
        runs: usize,
        /// Stages compared, at least one, over all runs.
        stages: usize,
    },
    /// A stage of the same name, type and shape holds other bytes.
    Diverged {
        /// Who differs.
        pair: Pair,
        /// Where.
        run: Run,
        /// Tag of the stage before, up to which all is equal; `None` if the first stage differs.
        last_equal: Option<String>,
        /// Tag of the first stage that differs.
        first_divergent: String,
        /// Its position.
        index: u64,
        /// Its first differing elements, if both sides kept dumps.
        elements: Elements,
    },
    /// The lists of stages part: another tag, type or shape, or one list ends.
    StageListDiffers {
        /// Who differs.
        pair: Pair,
        /// Where.
        run: Run,
        /// Tag of the stage before, up to which all is equal.
        last_equal: Option<String>,
        /// Position at which they part.
        index: u64,
        /// What the first column has there, in words.
        a: String,
        /// What the other has there.
        b: String,
    },
    /// One side refused the run, or both did for different reasons.
    OutcomeDiffers {
        /// Who differs.
        pair: Pair,
        /// Where.
        run: Run,
        /// What became of the run in the first column.
        a: String,
        /// What became of it in the other.
        b: String,
    },
    /// The columns follow different numeric contracts.
    DifferentProfile {
        /// Who differs.
        pair: Pair,
        /// Profile of the first column.
        a: String,
        /// Profile of the other.
        b: String,
    },
    /// The columns ran on different data under one name.
    DifferentFixtures {
        /// Who differs.
        pair: Pair,
        /// Where.
        run: Run,
        /// The first part of the fixture that differs.
        part: String,
    },
    /// There are not enough columns, or not those asked for.
    MissingColumn {
        /// What is missing.
        what: String,
    },
    /// A run that one column has and another lacks.
    MissingRun {
        /// The run.
        run: Run,
        /// A column that has it.
        has: String,
        /// A column that lacks it.
        lacks: String,
    },
    /// A column in which no run has a stage.
    NothingCompared {
        /// The column.
        column: String,
    },
    /// A certificate that cannot be trusted, or that may not be compared.
    Invalid {
        /// What is wrong with which.
        reason: String,
    },
    /// A certificate that ends before its JSON does: copied or written in part, so the rest may be sound.
    Truncated {
        /// Which, and where it ends.
        reason: String,
    },
}

impl Verdict {
    /// Exit code of a program that reports this verdict; the module documentation has the table.
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Equal { .. } => 0,
            Verdict::Diverged { .. } => 10,
            Verdict::StageListDiffers { .. } => 11,
            Verdict::OutcomeDiffers { .. } => 12,
            Verdict::DifferentProfile { .. } => 20,
            Verdict::DifferentFixtures { .. } => 21,
            Verdict::MissingColumn { .. } => 30,
            Verdict::MissingRun { .. } => 31,
            Verdict::NothingCompared { .. } => 32,
            Verdict::Invalid { .. } => 40,
            Verdict::Truncated { .. } => 41,
        }
    }

    /// The verdict in one sentence.
    pub fn sentence(&self) -> String {
        let at = |run: &Run, pair: &Pair| format!("{} on {}: {} and {}", run.estimator, run.fixture, pair.a, pair.b);
        let after = |last: &Option<String>| match last {
            Some(tag) => format!("after `{tag}`"),
            None => "from the start".to_owned(),
        };
        match self {
            Verdict::Equal { columns, runs, stages } => format!(
                "Equal: {} certificates ({}) agree on {runs} runs and {stages} stages.",
                columns.len(),
                columns.join(", ")
            ),
            Verdict::Diverged { pair, run, last_equal, first_divergent, index, elements } => format!(
                "Diverged: {} differ {}, first at stage {index} `{first_divergent}`; {elements}.",
                at(run, pair),
                after(last_equal)
            ),
            Verdict::StageListDiffers { pair, run, last_equal, index, a, b } => format!(
                "Stage lists differ: {} part {}, at stage {index}, where one has {a} and the other {b}.",
                at(run, pair),
                after(last_equal)
            ),
            Verdict::OutcomeDiffers { pair, run, a, b } => {
                format!("Outcomes differ: {}, where one {a} and the other {b}.", at(run, pair))
            }
            Verdict::DifferentProfile { pair, a, b } => {
                format!(
                    "Different profiles: {} follows `{a}`, {} follows `{b}`, so they need not agree.",
                    pair.a, pair.b
                )
            }
            Verdict::DifferentFixtures { pair, run, part } => {
                format!("Different fixtures: {} have other data under `{part}`.", at(run, pair))
            }
            Verdict::MissingColumn { what } => format!("Missing column: {what}."),
            Verdict::MissingRun { run, has, lacks } => {
                format!("Missing run: {} on {} is in {has} and not in {lacks}.", run.estimator, run.fixture)
            }
            Verdict::NothingCompared { column } => {
                format!("Nothing compared: every run of {column} was refused, so there is no stage to agree on.")
            }
            Verdict::Invalid { reason } => format!("Invalid: {reason}."),
            Verdict::Truncated { reason } => format!("Truncated: {reason}; copy it again."),
        }
    }

    /// Gravest first; see the module documentation.
    fn rank(&self) -> u8 {
        match self {
            Verdict::Invalid { .. } => 0,
            Verdict::Truncated { .. } => 1,
            Verdict::MissingColumn { .. } => 2,
            Verdict::DifferentProfile { .. } => 3,
            Verdict::DifferentFixtures { .. } => 4,
            Verdict::MissingRun { .. } => 5,
            Verdict::NothingCompared { .. } => 6,
            Verdict::OutcomeDiffers { .. } | Verdict::StageListDiffers { .. } | Verdict::Diverged { .. } => 7,
            Verdict::Equal { .. } => 8,
        }
    }
}

/// The verdict of a comparison and everything it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The gravest finding, or [`Verdict::Equal`] if there is none.
    pub verdict: Verdict,
    /// Everything found, gravest first; one entry at the most for each run and column. Empty if equal.
    pub findings: Vec<Verdict>,
}

/// Compares the certificates in these files; dumps of `x.json` are looked for in the folder `x.dumps` next to it.
///
/// A certificate that does not load makes the verdict [`Verdict::Invalid`], one that was cut short
/// [`Verdict::Truncated`]; the others are still compared.
pub fn compare_files(paths: &[PathBuf], options: &Options) -> Report {
    let mut columns = Vec::new();
    let mut findings = Vec::new();
    for path in paths {
        match Certificate::load(path) {
            Ok(certificate) => columns.push(Column { certificate, dumps: Some(dumps_of(path)).filter(|d| d.is_dir()) }),
            Err(error @ IdentityError::Truncated { .. }) => {
                findings.push(Verdict::Truncated { reason: error.to_string() });
            }
            Err(error) => findings.push(Verdict::Invalid { reason: error.to_string() }),
        }
    }
    conclude(columns, findings, options)
}

/// Folder of the dumps of a certificate file.
pub fn dumps_of(certificate: &Path) -> PathBuf {
    certificate.with_extension("dumps")
}

/// Compares certificates: all others with the first. One given twice counts once.
///
/// # Bit identity
/// Stages are compared by digest, without any tolerance, and by the tree that is built here from the stages, not by
/// stored roots.
pub fn compare(columns: &[Column], options: &Options) -> Report {
    conclude(columns.to_vec(), Vec::new(), options)
}

fn conclude(columns: Vec<Column>, mut findings: Vec<Verdict>, options: &Options) -> Report {
    let columns = distinct(columns);
    let names = names(&columns);
    for (column, name) in columns.iter().zip(&names) {
        let arm = &column.certificate.header().sabotage;
        if let (Some(arm), false) = (arm, options.allow_sabotage) {
            findings.push(Verdict::Invalid { reason: format!("{name} was sabotaged on purpose (`{arm}`)") });
        }
        if column.certificate.cards().iter().all(|card| stages_ran(card) == 0) {
            findings.push(Verdict::NothingCompared { column: name.clone() });
        }
    }
    for wanted in &options.expect {
        let fits = |c: &Column| c.certificate.column() == *wanted || c.certificate.header().device == *wanted;
        if !columns.iter().any(fits) {
            findings.push(Verdict::MissingColumn { what: format!("no certificate of {wanted}") });
        }
    }
    if columns.len() < 2 {
        let what = format!("{} of at least 2 different certificates", columns.len());
        findings.push(Verdict::MissingColumn { what });
    }
    let mut equal = Verdict::Equal { columns: names.clone(), runs: 0, stages: 0 };
    if let (Some((first, others)), Some((first_name, other_names))) = (columns.split_first(), names.split_first()) {
        for (other, other_name) in others.iter().zip(other_names) {
            let pair = Pair { a: first_name.clone(), b: other_name.clone() };
            compare_pair(first, other, &pair, &mut findings);
        }
        let cards = first.certificate.cards();
        let stages = cards.iter().map(stages_ran).sum();
        equal = Verdict::Equal { columns: names, runs: cards.len(), stages };
    }
    findings.sort_by_key(Verdict::rank);
    Report { verdict: findings.first().cloned().unwrap_or(equal), findings }
}

/// Stages that count as compared: those of a run that was not refused.
fn stages_ran(card: &Card) -> usize {
    if *card.outcome() == Outcome::Ran { card.stages().len() } else { 0 }
}

/// The columns without those that are the same certificate as an earlier one.
fn distinct(columns: Vec<Column>) -> Vec<Column> {
    let mut kept: Vec<Column> = Vec::new();
    for column in columns {
        if kept.iter().all(|earlier| earlier.certificate.seal() != column.certificate.seal()) {
            kept.push(column);
        }
    }
    kept
}

/// Names of the columns, numbered where one device has several.
fn names(columns: &[Column]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut number = |name: String| {
        let count = seen.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { name } else { format!("{name} #{count}") }
    };
    columns.iter().map(|column| number(column.certificate.column())).collect()
}

fn compare_pair(a: &Column, b: &Column, pair: &Pair, findings: &mut Vec<Verdict>) {
    let (a_header, b_header) = (a.certificate.header(), b.certificate.header());
    if a_header.profile != b_header.profile {
        let (a, b) = (a_header.profile.clone(), b_header.profile.clone());
        findings.push(Verdict::DifferentProfile { pair: pair.clone(), a, b });
        return;
    }
    let mut runs: BTreeMap<Run, (Option<&Card>, Option<&Card>)> = BTreeMap::new();
    for card in a.certificate.cards() {
        runs.entry(run_of(card)).or_default().0 = Some(card);
    }
    for card in b.certificate.cards() {
        runs.entry(run_of(card)).or_default().1 = Some(card);
    }
    for (run, cards) in runs {
        let (pair, (a_name, b_name)) = (pair.clone(), (pair.a.clone(), pair.b.clone()));
        findings.extend(match cards {
            (Some(a_card), Some(b_card)) => compare_cards((a, a_card), (b, b_card), pair, run),
            (Some(_), None) => Some(Verdict::MissingRun { run, has: a_name, lacks: b_name }),
            (None, _) => Some(Verdict::MissingRun { run, has: b_name, lacks: a_name }),
        });
    }
}

fn run_of(card: &Card) -> Run {
    Run { estimator: card.header().estimator.clone(), fixture: card.header().fixture.clone() }
}

/// The first difference between two cards of one run.
fn compare_cards(a: (&Column, &Card), b: (&Column, &Card), pair: Pair, run: Run) -> Option<Verdict> {
    let ((a_column, a), (b_column, b)) = (a, b);
    if let Some(part) = unlike_part(&a.header().fixture_digests, &b.header().fixture_digests) {
        return Some(Verdict::DifferentFixtures { pair, run, part });
    }
    let trees = (MerkleTree::of_stages(a.stages()), MerkleTree::of_stages(b.stages()));
    let at = first_difference(&trees.0, &trees.1).index;
    let pair_of_stages = at.map(|at| (a.stages().get(at), b.stages().get(at)));
    let last_equal = at.and_then(|at| a.stages().get(at.checked_sub(1)?)).map(|stage| stage.tag.clone());
    match (at, pair_of_stages) {
        // A stage with other bytes explains whatever follows, so it is named first.
        (Some(at), Some((Some(x), Some(y)))) if alike(x, y) => {
            let elements = match (decision(a, at), decision(b, at)) {
                (Some(x), Some(y)) => decode::decode(Dtype::U64, &x.to_le_bytes(), &y.to_le_bytes()),
                _ => decode::elements((a_column.dumps.as_deref(), x), (b_column.dumps.as_deref(), y), &run),
            };
            let (first_divergent, index) = (x.tag.clone(), at as u64);
            Some(Verdict::Diverged { pair, run, last_equal, first_divergent, index, elements })
        }
        _ if a.outcome() != b.outcome() => {
            let (a, b) = (outcome_in_words(a.outcome()), outcome_in_words(b.outcome()));
            Some(Verdict::OutcomeDiffers { pair, run, a, b })
        }
        (Some(at), Some((x, y))) => {
            let (index, a, b) = (at as u64, stage_in_words(x), stage_in_words(y));
            Some(Verdict::StageListDiffers { pair, run, last_equal, index, a, b })
        }
        _ => None,
    }
}

/// The value of the stage `at`, if it is a decision: cards hold those, dumps or not.
fn decision(card: &Card, at: usize) -> Option<u64> {
    card.decisions().iter().find(|decision| decision.index == at as u64).map(|decision| decision.value)
}

/// The first part that only one fixture has or that differs.
fn unlike_part(a: &BTreeMap<String, Digest>, b: &BTreeMap<String, Digest>) -> Option<String> {
    a.keys().chain(b.keys()).find(|part| a.get(*part) != b.get(*part)).cloned()
}

/// Whether two stages are the same but for their bytes.
fn alike(a: &Stage, b: &Stage) -> bool {
    a.tag == b.tag && a.dtype == b.dtype && a.shape == b.shape
}

fn stage_in_words(stage: Option<&Stage>) -> String {
    match stage {
        Some(stage) => format!("`{}` ({:?} {:?})", stage.tag, stage.dtype, stage.shape),
        None => "no further stage".to_owned(),
    }
}

fn outcome_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ran => "ran to its end".to_owned(),
        Outcome::Refused { reason } => format!("was refused ({reason})"),
    }
}

#[cfg(test)]
mod tests;
