//! Tokens of the C-like languages, each with its line.

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// A name or keyword, with `::` inside where it is qualified.
    Word(String),
    /// A number without a point or an exponent.
    Integer(u64),
    /// Any other number.
    Decimal,
    /// Everything else.
    Sign(&'static str),
    /// A preprocessor line, without its `#`.
    Directive(String),
    /// A character that no generator writes.
    Strange(char),
}

/// Longest first.
const SIGNS: [&str; 42] = [
    "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "->", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ";", ",", ".", "(", ")",
    "[",
];

const MORE_SIGNS: [&str; 5] = ["]", "{", "}", "@", "\""];

/// The tokens of `text` with their lines, counted from 1; comments left out.
pub fn tokens(text: &str) -> Vec<(Token, usize)> {
    let mut out = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default();
        if let Some(directive) = line.trim_start().strip_prefix('#') {
            out.push((Token::Directive(directive.trim().to_owned()), number + 1));
            continue;
        }
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let (token, len) = first(rest);
            out.push((token, number + 1));
            rest = rest[len..].trim_start();
        }
    }
    out
}

/// The first token of a text that does not start with a blank, and its length.
fn first(text: &str) -> (Token, usize) {
    let start = text.chars().next().unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if start.is_ascii_digit() {
        let mut len = 0;
        let mut before = ' ';
        for c in text.chars() {
            let exponent = (c == '+' || c == '-') && matches!(before, 'e' | 'E') && !text.starts_with("0x");
            if !(is_part(c) || c == '.' || exponent) {
                break;
            }
            (len, before) = (len + 1, c);
        }
        let word = text[..len].trim_end_matches(['u', 'U', 'l', 'L']);
        let integer = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => word.parse(),
        };
        return (integer.map_or(Token::Decimal, Token::Integer), len);
    }
    if is_part(start) {
        let mut len = 0;
        loop {
            len += text[len..].find(|c| !is_part(c)).unwrap_or(text.len() - len);
            match text[len..].strip_prefix("::") {
                Some(more) if more.starts_with(is_part) => len += 2,
                _ => break,
            }
        }
        return (Token::Word(text[..len].to_owned()), len);
    }
    match SIGNS.iter().chain(&MORE_SIGNS).find(|s| text.starts_with(**s)) {
        Some(sign) => (Token::Sign(sign), sign.len()),
        None => (Token::Strange(start), start.len_utf8()),
    }
}
