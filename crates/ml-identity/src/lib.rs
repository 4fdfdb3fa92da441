//! The judge: records the stages of a fit, writes them down as cards, and says whether two devices agree.
//!
//! A [`stage::StageRecorder`] watches a fit and becomes a [`card::Card`]; the cards of one device make a
//! [`certificate::Certificate`]; [`compare`] takes certificates of several devices and names the first stage that moved.
//! [`fixtures`] holds the data that all of them run on, [`support`] the table that the README shows.
//!
//! **Invariant:** nothing here computes a result, so nothing here can make two devices agree.

pub mod card;
pub mod certificate;
pub mod certify;
pub mod compare;
pub mod digest;
pub mod error;
pub mod fixtures;
#[cfg(feature = "growth")]
pub mod growth;
pub mod merkle;
pub mod stage;
pub mod support;

pub use card::{Card, Decision, Header, Outcome};
pub use certificate::Certificate;
pub use digest::Digest;
pub use error::{IdentityError, Result};
pub use fixtures::{Fixture, Fixtures};
pub use stage::{Recording, Stage, StageRecorder};

#[cfg(test)]
mod testing;
