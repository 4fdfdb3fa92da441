//! A reader of protobuf's wire format: fields by number, nothing copied.

use ml_core::Result;

use super::malformed;

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire<'a> {
    /// A whole number, of any type that is written with a variable length.
    Int(u64),
    /// Eight bytes, which no field that is read has.
    Eight,
    /// Four bytes.
    Four([u8; 4]),
    /// A text, bytes, a message, or numbers in a row.
    Bytes(&'a [u8]),
}

/// The fields of a message, in file order.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// The fields of the message that `bytes` are.
pub(super) fn fields(bytes: &[u8]) -> Fields<'_> {
    Fields { rest: bytes }
}

fn cut() -> ml_core::Error {
    malformed("a protobuf message is cut short or no such message")
}

/// The number of variable length that begins `rest`, and what follows.
fn varint(rest: &[u8]) -> Result<(u64, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok((value, rest.get(at + 1..).unwrap_or_default()));
        }
    }
    Err(cut())
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Wire<'a>)> {
        let (tag, rest) = varint(self.rest)?;
        let (wire, rest) = match tag & 7 {
            0 => {
                let (value, rest) = varint(rest)?;
                (Wire::Int(value), rest)
            }
            1 => {
                let (_, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
                (Wire::Eight, rest)
            }
            2 => {
                let (length, rest) = varint(rest)?;
                let length = usize::try_from(length).map_err(|_| cut())?;
                let (bytes, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
                (Wire::Bytes(bytes), rest)
            }
            5 => {
                let (bytes, rest) = rest.split_first_chunk().ok_or_else(cut)?;
                (Wire::Four(*bytes), rest)
            }
            _ => return Err(cut()),
        };
        self.rest = rest;
        Ok((tag >> 3, wire))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Wire<'a> {
    /// Bytes of a text or a message.
    pub(super) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Wire::Bytes(bytes) => Ok(bytes),
            _ => Err(cut()),
        }
    }

    /// A text.
    pub(super) fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| malformed("a text that is no UTF-8"))
    }

    /// A whole number with a sign.
    pub(super) fn int(self) -> Result<i64> {
        match self {
            Wire::Int(value) => Ok(value as i64),
            _ => Err(cut()),
        }
    }

    /// Appends one whole number, or a row of them.
    pub(super) fn ints(self, to: &mut Vec<i64>) -> Result<()> {
        let Wire::Bytes(mut rest) = self else {
            to.push(self.int()?);
            return Ok(());
        };
        while !rest.is_empty() {
            let (value, more) = varint(rest)?;
            to.push(value as i64);
            rest = more;
        }
        Ok(())
    }

    /// Appends one binary32 number, or a row of them.
    pub(super) fn singles(self, to: &mut Vec<f32>) -> Result<()> {
        match self {
            Wire::Four(bytes) => to.push(f32::from_le_bytes(bytes)),
            Wire::Bytes(bytes) => {
                let (numbers, []) = bytes.as_chunks::<4>() else { return Err(cut()) };
                to.extend(numbers.iter().map(|b| f32::from_le_bytes(*b)));
            }
            _ => return Err(cut()),
        }
        Ok(())
    }
}
