//! A reader of JSON that keeps numbers as they are written.
//!
//! **Invariant:** memory is bounded by the length of the file, and nesting by [`DEPTH`].

use std::borrow::Cow;

use ml_core::Result;

use super::malformed;
use super::value::Value;

/// Deepest nesting of lists and objects that is read.
pub(super) const DEPTH: usize = 400;

/// The value of a file, which holds nothing else.
pub(super) fn parse(bytes: &[u8]) -> Result<Value<'_>> {
    let text = std::str::from_utf8(bytes).map_err(|e| malformed(format!("no UTF-8: {e}")))?;
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.space();
    if parser.at < text.len() {
        return Err(parser.bad("more follows the value"));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn bad(&self, what: &str) -> ml_core::Error {
        malformed(format!("{what} at byte {}", self.at))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes `token` if it is next.
    fn takes(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>> {
        if depth > DEPTH {
            return Err(self.bad("nested too deeply"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b't') if self.takes("true") => Ok(Value::Bool(true)),
            Some(b'f') if self.takes("false") => Ok(Value::Bool(false)),
            Some(b'n') if self.takes("null") => Ok(Value::Null),
            _ => self.number(),
        }
    }

    /// A number; also `NaN` and `Infinity`, which JSON lacks and writers of models write.
    fn number(&mut self) -> Result<Value<'a>> {
        let rest = self.rest();
        let end = rest
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')))
            .unwrap_or(rest.len());
        let token = rest.get(..end).unwrap_or_default();
        if token.parse::<f64>().is_err() {
            return Err(self.bad("no value"));
        }
        self.at += end;
        Ok(Value::Number(token))
    }

    fn list(&mut self, depth: usize) -> Result<Value<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.takes("]") {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.takes("]") {
                return Ok(Value::List(items));
            }
            if !self.takes(",") {
                return Err(self.bad("no comma in a list"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>> {
        self.at += 1;
        let mut entries = Vec::new();
        self.space();
        if self.takes("}") {
            return Ok(Value::Object(entries));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.bad("no key"));
            }
            let key = self.string()?;
            self.space();
            if !self.takes(":") {
                return Err(self.bad("no colon after a key"));
            }
            entries.push((key, self.value(depth + 1)?));
            self.space();
            if self.takes("}") {
                return Ok(Value::Object(entries));
            }
            if !self.takes(",") {
                return Err(self.bad("no comma in an object"));
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>> {
        self.at += 1;
        let rest = self.rest();
        let end = rest.find(['"', '\\']).ok_or_else(|| self.bad("a text without an end"))?;
        let plain = rest.get(..end).unwrap_or_default();
        self.at += end;
        if self.takes("\"") {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            let rest = self.rest();
            let end = rest.find(['"', '\\']).ok_or_else(|| self.bad("a text without an end"))?;
            text.push_str(rest.get(..end).unwrap_or_default());
            self.at += end;
            if self.takes("\"") {
                return Ok(Cow::Owned(text));
            }
            self.at += 1;
            let escape = self.peek().ok_or_else(|| self.bad("a text without an end"))?;
            text.push(match escape {
                b'"' | b'\\' | b'/' => char::from(escape),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    self.at += 1;
                    text.push(self.unicode()?);
                    continue;
                }
                _ => return Err(self.bad("an unknown escape")),
            });
            self.at += 1;
        }
    }

    /// Four hexadecimal digits, or two such escapes that are one character.
    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.bad("half a character"));
        }
        if !self.takes("\\u") {
            return Err(self.bad("half a character"));
        }
        let second = self.hex()?;
        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400).ok_or_else(|| self.bad("half a character"))?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low).ok_or_else(|| self.bad("half a character"))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or_else(|| self.bad("no four digits"))?;
        self.at += 4;
        Ok(code)
    }
}
