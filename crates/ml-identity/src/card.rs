//! Identity cards: one run of one estimator on one fixture on one device.
//!
//! A card has one spelling. A reader refuses any other, so that a card is either the file that was written or an error.
//! The root stands for the stages and is what devices have in common; the seal stands for the whole card and shows
//! damage and careless edits. Neither is a signature: whoever changes a card on purpose can seal it anew.

use std::collections::BTreeMap;
use std::path::Path;

use ml_kernels::Device;
use serde::{Deserialize, Deserializer, Serialize};

use crate::digest::{Digest, Hasher};
use crate::error::{IdentityError, Result};
use crate::merkle::MerkleTree;
use crate::stage::{Recording, Stage};

/// Format name and version of a card.
pub const FORMAT: &str = "isobit-card/1";

/// Name given to bytes that come from no file.
pub(crate) const IN_MEMORY: &str = "<bytes>";

/// Under which circumstances a run took place. No text may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Numeric profile, [`ml_core::PROFILE`].
    pub profile: String,
    /// Version of isobit.
    pub crate_version: String,
    /// Commit that was built, with a mark if the tree was not clean.
    pub git_commit: String,
    /// The device by its own name.
    pub device: String,
    /// How it was reached: `host`, `cuda`, `vulkan`, ….
    pub runtime: String,
    /// Version of the driver or, for the host, of the operating system.
    pub driver: String,
    /// Cargo features of the build, sorted.
    pub features: Vec<String>,
    /// The contract clause that this run breaks on purpose; `None` for an honest run.
    #[serde(deserialize_with = "required")]
    pub sabotage: Option<String>,
    /// Day of the run, YYYY-MM-DD.
    pub date: String,
    /// Estimator that ran.
    pub estimator: String,
    /// Fixture that it ran on.
    pub fixture: String,
    /// Digest of each part of the fixture, by the part's name.
    pub fixture_digests: BTreeMap<String, Digest>,
    /// Command that made the card.
    pub command: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Outcome {
    /// It ran to its end.
    Ran,
    /// It was refused, as every device must refuse it.
    Refused {
        /// The error, in its own words.
        reason: String,
    },
}

/// The value of a stage that is a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Position of the stage.
    pub index: u64,
    /// Its tag.
    pub tag: String,
    /// What was decided.
    pub value: u64,
}

/// A verified card: its root, its decisions and its seal follow from its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    header: Header,
    outcome: Outcome,
    recording: Recording,
    root: Digest,
}

/// A card as it is stored, before it is believed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCard {
    format: String,
    header: Header,
    outcome: Outcome,
    decisions: Vec<Decision>,
    stages: Vec<Stage>,
    root: Digest,
    seal: Digest,
}

/// Today, YYYY-MM-DD, in UTC; `SOURCE_DATE_EPOCH` overrides the clock.
pub fn today() -> String {
    let seconds = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|s| s.parse::<u64>().ok()).unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs())
    });
    // Civil date from days (H. Hinnant, "chrono-compatible low-level date algorithms").
    let z = (seconds / 86_400) as i64 + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// An `Option` that must be written out; serde alone takes an absent field for `None`.
fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

impl Header {
    /// The header of a run of `estimator` on `fixture` that takes place on `device` today, without features, fixture digests
    /// and command; the commit is `unknown`.
    pub fn on(device: &Device, estimator: &str, fixture: &str) -> Self {
        let info = device.info();
        let language_is_its_own = info.runtime == info.language || info.runtime == "host";
        Header {
            profile: ml_core::PROFILE.to_owned(),
            crate_version: env!("CARGO_PKG_VERSION").to_owned(),
            git_commit: "unknown".to_owned(),
            device: info.adapter.clone(),
            runtime: match language_is_its_own {
                true => info.runtime.to_owned(),
                false => format!("{}-{}", info.runtime, info.language),
            },
            driver: if info.driver.is_empty() { "unknown".to_owned() } else { info.driver.clone() },
            features: Vec::new(),
            sabotage: None,
            date: today(),
            estimator: estimator.to_owned(),
            fixture: fixture.to_owned(),
            fixture_digests: BTreeMap::new(),
            command: String::new(),
        }
    }

    /// Name of the device column: device and runtime.
    pub fn column(&self) -> String {
        format!("{} ({})", self.device, self.runtime)
    }

    /// The first field that is empty or in the wrong form.
    fn fault(&self) -> Option<String> {
        let texts = [
            ("profile", &self.profile),
            ("crate_version", &self.crate_version),
            ("git_commit", &self.git_commit),
            ("device", &self.device),
            ("runtime", &self.runtime),
            ("driver", &self.driver),
            ("estimator", &self.estimator),
            ("fixture", &self.fixture),
            ("command", &self.command),
        ];
        let day = self.date.split('-').map(|part| (part.len(), part.bytes().all(|b| b.is_ascii_digit())));
        if let Some((name, _)) = texts.iter().find(|(_, text)| text.trim().is_empty()) {
            Some(format!("header field `{name}` is empty"))
        } else if self.sabotage.as_ref().is_some_and(|arm| arm.is_empty()) {
            Some("header field `sabotage` is empty; an honest run has null".to_owned())
        } else if !day.eq([(4, true), (2, true), (2, true)]) {
            Some(format!("header field `date` is {:?}, not a day as YYYY-MM-DD", self.date))
        } else if self.fixture_digests.is_empty() {
            Some("header field `fixture_digests` is empty".to_owned())
        } else if !self.features.is_sorted() {
            Some("header field `features` is not sorted".to_owned())
        } else {
            None
        }
    }
}

impl Card {
    /// A card of a run.
    ///
    /// # Errors
    /// [`IdentityError::Inconsistent`] if a field of the header is empty, if a run that was not refused has no stage, if a
    /// refusal has no reason, or if stages and decisions contradict each other.
    pub fn new(header: Header, outcome: Outcome, recording: Recording) -> Result<Self> {
        Self::check(header, outcome, recording, "new card")
    }

    fn check(header: Header, outcome: Outcome, recording: Recording, path: &str) -> Result<Self> {
        let fault = header.fault().or_else(|| match &outcome {
            Outcome::Ran if recording.stages.is_empty() => Some("a run without a stage proves nothing".to_owned()),
            Outcome::Refused { reason } if reason.trim().is_empty() => Some("a refusal without a reason".to_owned()),
            _ => recording_fault(&recording),
        });
        if let Some(reason) = fault {
            return Err(IdentityError::Inconsistent { path: path.to_owned(), reason });
        }
        let root = MerkleTree::of_stages(&recording.stages).root();
        Ok(Card { header, outcome, recording, root })
    }

    /// Reads and verifies a card.
    ///
    /// # Errors
    /// [`IdentityError::Io`], [`IdentityError::Truncated`], [`IdentityError::Malformed`] (also for a field that is absent
    /// or unknown), [`IdentityError::Version`], [`IdentityError::Inconsistent`], [`IdentityError::Root`],
    /// [`IdentityError::Seal`], [`IdentityError::Respelled`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let (name, bytes) = read(path.as_ref())?;
        Self::parse(&bytes, &name)
    }

    /// The same from bytes in memory.
    ///
    /// # Errors
    /// Those of [`Card::load`], but for the file system's.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes, IN_MEMORY)
    }

    fn parse(bytes: &[u8], path: &str) -> Result<Self> {
        let card = Self::believe(json(bytes, path, FORMAT)?, path)?;
        if card.to_bytes() != bytes {
            return Err(IdentityError::Respelled { path: path.to_owned() });
        }
        Ok(card)
    }

    /// Checks everything in a stored card but its spelling.
    pub(crate) fn believe(raw: RawCard, path: &str) -> Result<Self> {
        if raw.format != FORMAT {
            return Err(IdentityError::Version { path: path.to_owned(), found: raw.format, expected: FORMAT });
        }
        let recording = Recording { stages: raw.stages, decisions: raw.decisions };
        let card = Self::check(raw.header, raw.outcome, recording, path)?;
        let what = format!("the card of {} on {}", card.header.estimator, card.header.fixture);
        if raw.root != card.root {
            let (stored, computed) = (raw.root.to_string(), card.root.to_string());
            return Err(IdentityError::Root { path: path.to_owned(), what, stored, computed });
        }
        if raw.seal != seal("isobit card/1 seal", &card.body()) {
            return Err(IdentityError::Seal { path: path.to_owned(), what });
        }
        Ok(card)
    }

    /// Writes the card, in one step.
    ///
    /// # Errors
    /// [`IdentityError::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path.as_ref(), &self.to_bytes())
    }

    /// The bytes that [`Card::save`] writes; equal cards give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = self.to_text();
        text.push('\n');
        text.into_bytes()
    }

    /// The card as JSON: one line for the header and one for each stage, so that a line-wise diff is readable.
    pub(crate) fn to_text(&self) -> String {
        let body = self.body();
        let seal = seal("isobit card/1 seal", &body);
        format!("{body},\n\"seal\":{}}}", line(&seal))
    }

    /// Everything before the seal.
    fn body(&self) -> String {
        format!(
            "{{\"format\":{},\n\"header\":{},\n\"outcome\":{},\n\"decisions\":{},\n\"stages\":{},\n\"root\":{}",
            line(FORMAT),
            line(&self.header),
            line(&self.outcome),
            lines(&self.recording.decisions),
            lines(&self.recording.stages),
            line(&self.root),
        )
    }

    /// Under which circumstances the run took place.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How the run ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// What was recorded, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.recording.stages
    }

    /// The values of the stages that are decisions.
    pub fn decisions(&self) -> &[Decision] {
        &self.recording.decisions
    }

    /// Merkle root over the stages.
    pub fn root(&self) -> Digest {
        self.root
    }

    /// Digest of what a device has in common with others that agree: run, fixture, outcome and stages, not the device.
    pub fn result_digest(&self) -> Digest {
        let mut hasher = Hasher::new("isobit card/1 result")
            .text(&self.header.profile)
            .text(&self.header.estimator)
            .text(&self.header.fixture)
            .number(self.header.fixture_digests.len() as u64);
        for (part, digest) in &self.header.fixture_digests {
            hasher = hasher.text(part).digest(digest);
        }
        match &self.outcome {
            Outcome::Ran => hasher.number(0),
            Outcome::Refused { reason } => hasher.number(1).text(reason),
        }
        .digest(&self.root)
        .finish()
    }
}

/// The first contradiction within stages and decisions.
fn recording_fault(recording: &Recording) -> Option<String> {
    let mut decisions = recording.decisions.iter();
    for (position, stage) in recording.stages.iter().enumerate() {
        let elements = stage.shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent));
        if stage.index != position as u64 {
            return Some(format!("stage {position} has the index {}", stage.index));
        }
        if stage.tag.is_empty() {
            return Some(format!("stage {position} has no tag"));
        }
        if elements != Some(stage.count) {
            return Some(format!("stage `{}` has the shape {:?} and {} elements", stage.tag, stage.shape, stage.count));
        }
        if stage.is_decision() {
            let fits = |d: &&Decision| {
                d.index == stage.index && d.tag == stage.tag && Digest::of(&d.value.to_le_bytes()) == stage.blake3
            };
            if decisions.next().filter(fits).is_none() {
                return Some(format!("stage `{}` is a decision that the list of decisions does not give", stage.tag));
            }
        }
    }
    decisions.next().map(|d| format!("decision `{}` belongs to no stage", d.tag))
}

/// A value as JSON on one line.
pub(crate) fn line<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("our types have text keys and derived serialisers, which cannot fail")
}

/// A list as JSON, one item a line.
fn lines<T: Serialize>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(line).collect();
    if items.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", items.join(",\n")) }
}

/// The seal of a body.
pub(crate) fn seal(domain: &str, body: &str) -> Digest {
    Hasher::new(domain).text(body).finish()
}

/// The stored form of `format`, with errors by their kind.
pub(crate) fn json<T: for<'de> Deserialize<'de>>(bytes: &[u8], path: &str, format: &'static str) -> Result<T> {
    /// Looked at first: another format has other fields, and that is not what to complain about.
    #[derive(Deserialize)]
    struct Format {
        format: String,
    }
    let typed = |e: serde_json::Error| {
        if e.is_eof() {
            IdentityError::Truncated { path: path.to_owned(), line: e.line() }
        } else {
            IdentityError::Malformed { path: path.to_owned(), reason: e.to_string() }
        }
    };
    let found: Format = serde_json::from_slice(bytes).map_err(typed)?;
    if found.format != format {
        return Err(IdentityError::Version { path: path.to_owned(), found: found.format, expected: format });
    }
    serde_json::from_slice(bytes).map_err(typed)
}

/// Name and bytes of a file.
pub(crate) fn read(path: &Path) -> Result<(String, Vec<u8>)> {
    let name = path.display().to_string();
    match ml_core::files::read_regular(path) {
        Ok(bytes) => Ok((name, bytes)),
        Err(source) => Err(IdentityError::Io { path: name, source }),
    }
}

/// Writes a file in one step.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    ml_core::files::write_atomic(path, bytes)
        .map_err(|source| IdentityError::Io { path: path.display().to_string(), source })
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
