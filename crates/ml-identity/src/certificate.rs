//! Certificates: all cards of one device in one file.

use std::path::Path;

use serde::Deserialize;

use crate::card::{Card, Header, IN_MEMORY, RawCard, json, line, read, seal, write};
use crate::digest::Digest;
use crate::error::{IdentityError, Result};
use crate::merkle::MerkleTree;

/// Format name and version of a certificate.
pub const FORMAT: &str = "isobit-certificate/1";

/// A verified certificate: at least one card, all of one device and one build, sorted by estimator and fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    cards: Vec<Card>,
    root: Digest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(rename = "format")]
    _format: String,
    cards: Vec<RawCard>,
    root: Digest,
    seal: Digest,
}

impl Certificate {
    /// A certificate of these cards, in any order.
    ///
    /// # Errors
    /// [`IdentityError::Inconsistent`] if there is no card, if two cards are of one run, or if two cards differ in device,
    /// runtime, driver, build, profile or sabotage.
    pub fn new(cards: Vec<Card>) -> Result<Self> {
        Self::check(cards, "new certificate")
    }

    fn check(mut cards: Vec<Card>, path: &str) -> Result<Self> {
        let inconsistent = |reason: String| IdentityError::Inconsistent { path: path.to_owned(), reason };
        cards.sort_by(|a, b| run(a).cmp(&run(b)));
        let Some(first) = cards.first() else {
            return Err(inconsistent("a certificate without a card proves nothing".to_owned()));
        };
        for pair in cards.windows(2) {
            if run(&pair[0]) == run(&pair[1]) {
                let (estimator, fixture) = run(&pair[0]);
                return Err(inconsistent(format!("two cards of {estimator} on {fixture}")));
            }
        }
        for card in &cards {
            if let Some(field) = unlike(first.header(), card.header()) {
                let (estimator, fixture) = run(card);
                return Err(inconsistent(format!("the card of {estimator} on {fixture} has another {field}")));
            }
        }
        let root = MerkleTree::of_leaves(cards.iter().map(Card::result_digest).collect()).root();
        Ok(Certificate { cards, root })
    }

    /// Reads and verifies a certificate and every card in it.
    ///
    /// # Errors
    /// Those of [`Card::load`], for the certificate or the first bad card.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let (name, bytes) = read(path.as_ref())?;
        Self::parse(&bytes, &name)
    }

    /// The same from bytes in memory.
    ///
    /// # Errors
    /// Those of [`Certificate::load`], but for the file system's.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes, IN_MEMORY)
    }

    fn parse(bytes: &[u8], path: &str) -> Result<Self> {
        let raw: Raw = json(bytes, path, FORMAT)?;
        let cards = raw.cards.into_iter().map(|card| Card::believe(card, path)).collect::<Result<Vec<_>>>()?;
        let certificate = Self::check(cards, path)?;
        let what = "the certificate".to_owned();
        if raw.root != certificate.root {
            let (stored, computed) = (raw.root.to_string(), certificate.root.to_string());
            return Err(IdentityError::Root { path: path.to_owned(), what, stored, computed });
        }
        if raw.seal != certificate.seal() {
            return Err(IdentityError::Seal { path: path.to_owned(), what });
        }
        if certificate.to_bytes() != bytes {
            return Err(IdentityError::Respelled { path: path.to_owned() });
        }
        Ok(certificate)
    }

    /// Writes the certificate, in one step.
    ///
    /// # Errors
    /// [`IdentityError::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path.as_ref(), &self.to_bytes())
    }

    /// The bytes that [`Certificate::save`] writes; equal certificates give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{},\n\"seal\":{}}}\n", self.body(), line(&self.seal())).into_bytes()
    }

    fn body(&self) -> String {
        let cards: Vec<String> = self.cards.iter().map(Card::to_text).collect();
        let (format, root) = (line(FORMAT), line(&self.root));
        format!("{{\"format\":{format},\n\"cards\":[\n{}\n],\n\"root\":{root}", cards.join(",\n"))
    }

    /// Digest of the whole file but this digest: two certificates with one seal are one certificate.
    pub fn seal(&self) -> Digest {
        seal("isobit certificate/1 seal", &self.body())
    }

    /// All cards, sorted by estimator and fixture; at least one.
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// The card of a run.
    pub fn card(&self, estimator: &str, fixture: &str) -> Option<&Card> {
        let at = self.cards.binary_search_by(|card| run(card).cmp(&(estimator, fixture))).ok()?;
        self.cards.get(at)
    }

    /// Merkle root over the results of all cards: equal on two devices that agree on equal runs.
    pub fn root(&self) -> Digest {
        self.root
    }

    /// Merkle root over the results of one estimator's cards: what `certify` prints and the support matrix abbreviates.
    /// `None` if it has no card here.
    pub fn root_of(&self, estimator: &str) -> Option<Digest> {
        let cards = self.cards.iter().filter(|card| card.header().estimator == estimator);
        let leaves: Vec<Digest> = cards.map(Card::result_digest).collect();
        (!leaves.is_empty()).then(|| MerkleTree::of_leaves(leaves).root())
    }

    /// The header that all cards share in device and build; estimator and fixture are those of the first card.
    pub fn header(&self) -> &Header {
        self.cards.first().expect("a certificate has at least one card, checked when it is made").header()
    }

    /// Name of the device column: device and runtime.
    pub fn column(&self) -> String {
        self.header().column()
    }
}

fn run(card: &Card) -> (&str, &str) {
    (&card.header().estimator, &card.header().fixture)
}

/// The first field in which two cards of one certificate may not differ and do.
fn unlike(a: &Header, b: &Header) -> Option<&'static str> {
    let same = [
        ("profile", a.profile == b.profile),
        ("crate version", a.crate_version == b.crate_version),
        ("git commit", a.git_commit == b.git_commit),
        ("device", a.device == b.device),
        ("runtime", a.runtime == b.runtime),
        ("driver", a.driver == b.driver),
        ("feature set", a.features == b.features),
        ("sabotage", a.sabotage == b.sabotage),
    ];
    same.iter().find(|(_, same)| !same).map(|(field, _)| *field)
}

#[cfg(test)]
#[path = "certificate_tests.rs"]
mod tests;
