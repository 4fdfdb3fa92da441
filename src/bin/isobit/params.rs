//! Parameters given as NAME=VALUE.

use std::str::FromStr;

use isobit::core::ParamError;

use crate::error::{Error, Result};

/// A parameter of an estimator `E`.
pub struct Param<E> {
    /// Its name, as the library and scikit-learn spell it.
    pub name: &'static str,
    /// Values that it takes, for people.
    pub takes: &'static str,
    /// Sets it from a text. Bounds are the estimator's business, when the fit starts.
    pub set: fn(E, &str) -> Result<E>,
}

/// The table of an estimator's parameters: setter, how its value is read, what it takes.
macro_rules! params {
    ($($name:ident: $read:expr, $takes:literal;)*) => {
        &[$(Param {
            name: stringify!($name),
            takes: $takes,
            set: |estimator, text| Ok(estimator.$name($read(stringify!($name), text)?)),
        }),*]
    };
}
pub(crate) use params;

/// A whole number.
pub fn whole<T: FromStr>(name: &'static str, text: &str) -> Result<T> {
    text.parse().map_err(|_| ParamError::out_of_bound(name, "a whole number", text).into())
}

/// A number.
pub fn number(name: &'static str, text: &str) -> Result<f32> {
    text.parse().map_err(|_| ParamError::out_of_bound(name, "a number", text).into())
}

/// True or false.
pub fn truth(name: &'static str, text: &str) -> Result<bool> {
    text.parse().map_err(|_| ParamError::out_of_bound(name, "true or false", text).into())
}

/// One of the names that the parameter's own type knows.
pub fn named<T: FromStr<Err = isobit::Error>>(_: &'static str, text: &str) -> Result<T> {
    Ok(text.parse()?)
}

/// The pairs of `--param NAME=VALUE`, each name once.
///
/// # Errors
/// [`Error::Param`].
pub fn pairs(given: &[String]) -> Result<Vec<(&str, &str)>> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for text in given {
        let bad = |reason| Error::Param { text: text.clone(), reason };
        let (name, value) = text.split_once('=').ok_or_else(|| bad("must be NAME=VALUE"))?;
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(bad("the parameter is given twice"));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// `estimator` with the parameters given.
///
/// # Errors
/// [`Error::UnknownParam`], and [`ParamError`] for a value that cannot be read.
pub fn apply<E>(kind: &'static str, estimator: E, known: &[Param<E>], given: &[(&str, &str)]) -> Result<E> {
    given.iter().try_fold(estimator, |estimator, (name, value)| match known.iter().find(|p| p.name == *name) {
        Some(param) => (param.set)(estimator, value),
        None => {
            let known = known.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
            Err(Error::UnknownParam { estimator: kind, name: (*name).to_owned(), known })
        }
    })
}
