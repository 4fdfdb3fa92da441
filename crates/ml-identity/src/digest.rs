//! A BLAKE3 digest with exactly one spelling.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A BLAKE3 digest, written as 64 lower-case hexadecimal digits. No other spelling is read back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digest of plain bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first eight hexadecimal digits, for people.
    pub fn short(&self) -> String {
        self.to_string().chars().take(8).collect()
    }

    /// The digest in 64 lower-case hexadecimal digits.
    fn parse(text: &str) -> Option<Self> {
        // `from_hex` alone would also take capitals, and then a changed letter could pass.
        let hash = blake3::Hash::from_hex(text).ok()?;
        (hash.to_hex().as_str() == text).then_some(Digest(*hash.as_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| serde::de::Error::custom("expected 64 lower-case hexadecimal digits"))
    }
}

/// Hashes a sequence of parts of which none can run into the next, under a domain of its own.
pub(crate) struct Hasher(blake3::Hasher);

impl Hasher {
    /// `domain` keeps digests of different things apart even when their parts are equal.
    pub(crate) fn new(domain: &str) -> Self {
        Hasher(blake3::Hasher::new_derive_key(domain))
    }

    pub(crate) fn number(mut self, value: u64) -> Self {
        self.0.update(&value.to_le_bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self = self.number(bytes.len() as u64);
        self.0.update(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn digest(mut self, digest: &Digest) -> Self {
        self.0.update(&digest.0);
        self
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_spelling_is_read() {
        let digest = Digest::of(b"x");
        let text = digest.to_string();
        assert_eq!(Digest::parse(&text), Some(digest));
        assert_eq!(Digest::parse(&text.to_uppercase()), None);
        assert_eq!(Digest::parse(&text[1..]), None);
        assert_eq!(Digest::parse(&format!("{text}0")), None);
        assert_eq!(Digest::parse(&text.replace(|c: char| c.is_ascii_digit(), "g")), None);
        assert_eq!(serde_json::to_string(&digest).unwrap(), format!("\"{text}\""));
        assert_eq!(digest.short(), &text[..8]);
    }

    #[test]
    fn parts_do_not_run_together() {
        let two = |a: &str, b: &str| Hasher::new("test").text(a).text(b).finish();
        assert_ne!(two("ab", "c"), two("a", "bc"));
        assert_ne!(Hasher::new("one").text("a").finish(), Hasher::new("two").text("a").finish());
    }
}
