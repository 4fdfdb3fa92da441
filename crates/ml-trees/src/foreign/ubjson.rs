//! A reader of UBJSON (draft 12), as XGBoost writes it: big-endian numbers, lists of one type as plain bytes.
//!
//! **Invariant:** memory is bounded by the length of the file, never by a number in it, and nesting by the limit of
//! JSON.

use std::borrow::Cow;

use ml_core::Result;

use super::json::DEPTH;
use super::malformed;
use super::value::{Packed, Value};

/// The value of a file, which holds nothing else.
pub(super) fn parse(bytes: &[u8]) -> Result<Value<'_>> {
    let mut parser = Parser { bytes, at: 0 };
    let marker = parser.marker()?;
    let value = parser.value(marker, 0)?;
    if parser.at < bytes.len() {
        return Err(parser.bad("more follows the value"));
    }
    Ok(value)
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What stands between the mark of a list or object and its items.
struct Head {
    kind: Option<u8>,
    count: Option<usize>,
}

fn packed(marker: u8) -> Option<Packed> {
    Some(match marker {
        b'i' => Packed::I8,
        b'U' => Packed::U8,
        b'I' => Packed::I16,
        b'l' => Packed::I32,
        b'L' => Packed::I64,
        b'd' => Packed::F32,
        b'D' => Packed::F64,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    fn bad(&self, what: &str) -> ml_core::Error {
        malformed(format!("{what} at byte {}", self.at))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or_else(|| self.bad("the file ends early"))?;
        self.at += count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    /// The next mark; `N` stands for nothing.
    fn marker(&mut self) -> Result<u8> {
        loop {
            let marker = self.byte()?;
            if marker != b'N' {
                return Ok(marker);
            }
        }
    }

    fn number(&mut self, kind: Packed) -> Result<Value<'a>> {
        let bytes = self.take(kind.width())?;
        kind.read(bytes).ok_or_else(|| self.bad("no number"))
    }

    fn length(&mut self) -> Result<usize> {
        let marker = self.marker()?;
        self.length_of(marker)
    }

    fn length_of(&mut self, marker: u8) -> Result<usize> {
        let kind = packed(marker).ok_or_else(|| self.bad("no length"))?;
        let length = self.number(kind)?.int().and_then(|i| usize::try_from(i).ok());
        length.ok_or_else(|| self.bad("no length"))
    }

    fn text(&mut self, length: usize) -> Result<Cow<'a, str>> {
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| self.bad("a text that is no UTF-8"))
    }

    fn value(&mut self, marker: u8, depth: usize) -> Result<Value<'a>> {
        if depth > DEPTH {
            return Err(self.bad("nested too deeply"));
        }
        match marker {
            b'Z' => Ok(Value::Null),
            b'T' => Ok(Value::Bool(true)),
            b'F' => Ok(Value::Bool(false)),
            b'C' => Ok(Value::Text(self.text(1)?)),
            b'S' | b'H' => {
                let length = self.length()?;
                Ok(Value::Text(self.text(length)?))
            }
            b'[' => self.list(depth),
            b'{' => self.object(depth),
            _ => {
                let kind = packed(marker).ok_or_else(|| self.bad("an unknown mark"))?;
                self.number(kind)
            }
        }
    }

    fn head(&mut self) -> Result<Head> {
        let mut head = Head { kind: None, count: None };
        if self.bytes.get(self.at) == Some(&b'$') {
            self.at += 1;
            head.kind = Some(self.byte()?);
        }
        if self.bytes.get(self.at) == Some(&b'#') {
            self.at += 1;
            head.count = Some(self.length()?);
        } else if head.kind.is_some() {
            return Err(self.bad("a type without a count"));
        }
        Ok(head)
    }

    fn list(&mut self, depth: usize) -> Result<Value<'a>> {
        let head = self.head()?;
        if let (Some(kind), Some(count)) = (head.kind, head.count) {
            // Only numbers: of other types a short file could announce any number of items.
            let kind = packed(kind).ok_or_else(|| self.bad("a list of one type that is no number"))?;
            let length = count.checked_mul(kind.width()).ok_or_else(|| self.bad("a list too long"))?;
            return Ok(Value::Packed(kind, self.take(length)?));
        }
        let mut items = Vec::new();
        loop {
            if head.count.is_some_and(|count| items.len() >= count) {
                return Ok(Value::List(items));
            }
            let marker = self.marker()?;
            if marker == b']' && head.count.is_none() {
                return Ok(Value::List(items));
            }
            items.push(self.value(marker, depth + 1)?);
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>> {
        let head = self.head()?;
        if head.kind.is_some() {
            return Err(self.bad("an object of one type"));
        }
        let mut entries = Vec::new();
        loop {
            if head.count.is_some_and(|count| entries.len() >= count) {
                return Ok(Value::Object(entries));
            }
            let marker = self.marker()?;
            if marker == b'}' && head.count.is_none() {
                return Ok(Value::Object(entries));
            }
            let length = self.length_of(marker)?;
            let key = self.text(length)?;
            let marker = self.marker()?;
            entries.push((key, self.value(marker, depth + 1)?));
        }
    }
}
