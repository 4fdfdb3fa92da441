//! What JSON and UBJSON files hold, before anybody asks what it means.

use std::borrow::Cow;

use ml_core::Result;

use super::malformed;

/// A value of a file. Numbers stay as they are written, so that each is rounded once, to the type that is asked for.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// A number of a JSON file.
    Number(&'a str),
    Int(i64),
    Single(f32),
    Double(f64),
    Text(Cow<'a, str>),
    List(Vec<Value<'a>>),
    /// An UBJSON list of numbers of one type, as its bytes.
    Packed(Packed, &'a [u8]),
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

/// The type of the numbers of an UBJSON list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packed {
    I8,
    U8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl Packed {
    /// Bytes of a number.
    pub(super) fn width(self) -> usize {
        match self {
            Packed::I8 | Packed::U8 => 1,
            Packed::I16 => 2,
            Packed::I32 | Packed::F32 => 4,
            Packed::I64 | Packed::F64 => 8,
        }
    }

    /// The number that begins `bytes`, which are big-endian.
    pub(super) fn read(self, bytes: &[u8]) -> Option<Value<'static>> {
        Some(match self {
            Packed::I8 => Value::Int(i64::from(i8::from_be_bytes(*bytes.first_chunk()?))),
            Packed::U8 => Value::Int(i64::from(u8::from_be_bytes(*bytes.first_chunk()?))),
            Packed::I16 => Value::Int(i64::from(i16::from_be_bytes(*bytes.first_chunk()?))),
            Packed::I32 => Value::Int(i64::from(i32::from_be_bytes(*bytes.first_chunk()?))),
            Packed::I64 => Value::Int(i64::from_be_bytes(*bytes.first_chunk()?)),
            Packed::F32 => Value::Single(f32::from_be_bytes(*bytes.first_chunk()?)),
            Packed::F64 => Value::Double(f64::from_be_bytes(*bytes.first_chunk()?)),
        })
    }
}

impl<'a> Value<'a> {
    /// The entry `key` of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Value<'a>> {
        match self {
            Value::Object(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The entry `key`, which must be there.
    pub(super) fn need(&self, key: &str) -> Result<&Value<'a>> {
        self.get(key).ok_or_else(|| malformed(format!("`{key}` is absent")))
    }

    /// A text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number, also one in a text, and a truth value as 0 or 1.
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Value::Int(i) => Some(*i),
            Value::Bool(b) => Some(i64::from(*b)),
            Value::Number(text) => text.parse().ok(),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A number rounded to binary32 once.
    pub(super) fn single(&self) -> Option<f32> {
        match self {
            Value::Number(text) => text.parse().ok(),
            Value::Int(i) => Some(*i as f32),
            Value::Single(x) => Some(*x),
            Value::Double(x) => Some(*x as f32),
            _ => None,
        }
    }

    /// A number rounded to binary64 once.
    pub(super) fn double(&self) -> Option<f64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            Value::Int(i) => Some(*i as f64),
            Value::Single(x) => Some(f64::from(*x)),
            Value::Double(x) => Some(*x),
            _ => None,
        }
    }

    /// The list `key`, which must be there.
    pub(super) fn list(&self, key: &str) -> Result<&[Value<'a>]> {
        match self.need(key)? {
            Value::List(items) => Ok(items),
            Value::Packed(_, []) => Ok(&[]),
            _ => Err(malformed(format!("`{key}` is no list"))),
        }
    }

    /// The list `key` of whole numbers, which must be there.
    pub(super) fn ints(&self, key: &str) -> Result<Vec<i64>> {
        self.numbers(key, Value::int)
    }

    /// The list `key` of binary32 numbers, which must be there.
    pub(super) fn singles(&self, key: &str) -> Result<Vec<f32>> {
        self.numbers(key, Value::single)
    }

    /// The list `key` of binary64 numbers, which must be there.
    pub(super) fn doubles(&self, key: &str) -> Result<Vec<f64>> {
        self.numbers(key, Value::double)
    }

    /// The whole number `key`, which must be there.
    pub(super) fn int_at(&self, key: &str) -> Result<i64> {
        self.need(key)?.int().ok_or_else(|| malformed(format!("`{key}` is no whole number")))
    }

    fn numbers<T>(&self, key: &str, get: impl Fn(&Value<'a>) -> Option<T>) -> Result<Vec<T>> {
        let numbers: Option<Vec<T>> = match self.need(key)? {
            Value::List(items) => items.iter().map(get).collect(),
            Value::Packed(kind, bytes) => {
                bytes.chunks(kind.width()).map(|bytes| kind.read(bytes).and_then(|v| get(&v))).collect()
            }
            _ => None,
        };
        numbers.ok_or_else(|| malformed(format!("`{key}` is no list of numbers of the expected type")))
    }
}
