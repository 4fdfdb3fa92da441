//! Reads kernels in CUDA, HIP, Metal's language and WGSL: every expression gets a kind, so that every operation on floats
//! is seen. What the reader does not know is not let through.

mod declarations;
mod vocabulary;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::vocabulary::{BARRIERS, FLOAT_FUNCTIONS, INTEGER_FUNCTIONS, LEVELS, POSITIONS, type_kind};
use super::lexer::{Token, tokens};
use super::operation::{Operation, Pin, Pins, Tallies};

/// What a value is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Integer,
    Bool,
    /// A struct of arguments; its fields have kinds of their own.
    Arguments,
    Unknown,
}

/// What is known of a value.
#[derive(Debug, Clone, Copy)]
struct Value {
    kind: Kind,
    /// It is this run-time constant, or all of its components are.
    pin: Option<Pin>,
    /// It is this number.
    number: Option<u64>,
}

impl Value {
    fn of(kind: Kind) -> Value {
        Value { kind, pin: None, number: None }
    }
}

/// A name.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Symbol {
    kind: Kind,
    /// `None` until something is assigned.
    pin: Option<Option<Pin>>,
}

/// Everything that the kernel in `text` does with floats; `wgsl` for WGSL, else the text is C++.
pub fn read(wgsl: bool, text: &str, pins: &Pins) -> Tallies {
    let tokens = tokens(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut symbols = BTreeMap::new();
    // A name assigned in a loop can be used before; so until nothing changes.
    loop {
        let mut reader = Reader {
            wgsl,
            tokens: &tokens,
            lines: &lines,
            pins,
            at: 0,
            symbols: symbols.clone(),
            found: Tallies::default(),
        };
        reader.file();
        if reader.symbols == symbols {
            return reader.found;
        }
        symbols = reader.symbols;
    }
}

struct Reader<'a> {
    wgsl: bool,
    tokens: &'a [(Token, usize)],
    lines: &'a [&'a str],
    pins: &'a Pins,
    at: usize,
    symbols: BTreeMap<String, Symbol>,
    found: Tallies,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|(t, _)| t)
    }

    fn is(&self, sign: &str) -> bool {
        self.is_at(0, sign)
    }

    fn is_at(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.peek(ahead), Some(Token::Sign(s)) if *s == sign)
    }

    fn word(&self, ahead: usize) -> &str {
        match self.peek(ahead) {
            Some(Token::Word(w)) => w,
            _ => "",
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    fn need(&mut self, sign: &str) {
        if !self.take(sign) {
            self.unread(format!("`{sign}` expected"));
            self.at += 1;
        }
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |(_, line)| *line)
    }

    fn find(&mut self, operation: Operation, line: usize) {
        let lines = self.lines;
        self.found.add(operation, line, || lines.get(line.saturating_sub(1)).unwrap_or(&"").trim().to_owned());
    }

    fn unread(&mut self, what: String) {
        let line = self.line();
        self.find(Operation::Unread(what), line);
    }

    fn declare(&mut self, name: &str, kind: Kind) {
        let symbol = self.symbols.entry(name.to_owned()).or_insert(Symbol { kind, pin: None });
        if symbol.kind != kind {
            symbol.kind = Kind::Unknown;
        }
    }

    fn assign(&mut self, name: &str, pin: Option<Pin>) {
        // Memory that other units write as well holds no constant for sure.
        if name.starts_with("buffer_") || name.starts_with("shared_") {
            return;
        }
        if let Some(symbol) = self.symbols.get_mut(name) {
            symbol.pin = match symbol.pin {
                None => Some(pin),
                Some(before) if before == pin => Some(pin),
                Some(_) => Some(None),
            };
        }
    }

    /// Statements up to the `}` that ends them.
    fn block(&mut self) {
        while self.at < self.tokens.len() && !self.take("}") {
            let before = self.at;
            self.statement();
            if self.at == before {
                self.unread("an empty step".to_owned());
                self.at += 1;
            }
        }
    }

    fn statement(&mut self) {
        if self.take("{") {
            return self.block();
        }
        if self.take(";") {
            return;
        }
        match self.word(0) {
            "if" | "while" => {
                self.at += 1;
                self.expression();
            }
            "else" | "loop" => self.at += 1,
            "break" | "continue" => {
                self.at += 1;
                self.need(";");
            }
            "return" => {
                self.at += 1;
                if !self.is(";") {
                    self.expression();
                }
                self.need(";");
            }
            "for" => {
                self.at += 1;
                self.need("(");
                self.simple();
                self.need(";");
                self.expression();
                self.need(";");
                self.simple();
                self.need(")");
            }
            _ => {
                self.simple();
                self.need(";");
            }
        }
    }

    /// A declaration, an assignment or a call, without its `;`.
    fn simple(&mut self) {
        let start = self.at;
        if self.wgsl && ["let", "var", "const"].contains(&self.word(0)) {
            self.at += 1;
            let inferred = self.word(0).to_owned();
            match self.declaration() {
                Some(name) => {
                    if self.take("=") {
                        let value = self.expression();
                        self.assign(&name, value.pin);
                    }
                }
                None => {
                    self.at = start + 2;
                    self.need("=");
                    let value = self.expression();
                    self.declare(&inferred, value.kind);
                    self.assign(&inferred, value.pin);
                }
            }
            return;
        }
        let declared = if self.wgsl { None } else { self.declaration() };
        if let Some(name) = declared {
            while self.take("[") {
                if !self.is("]") {
                    self.expression();
                }
                self.need("]");
            }
            if self.take("=") {
                let value = self.expression();
                self.assign(&name, value.pin);
            }
            return;
        }
        self.at = start;
        let name = self.word(0).to_owned();
        let line = self.line();
        let left = self.expression();
        for compound in ["+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="] {
            if self.take(compound) {
                let right = self.expression();
                self.binary(&compound[..compound.len() - 1], left, right, line);
                self.assign(&name, None);
                return;
            }
        }
        if self.take("=") {
            let value = self.expression();
            self.assign(&name, value.pin);
        }
    }

    fn expression(&mut self) -> Value {
        let condition = self.level(0);
        if !self.take("?") {
            return condition;
        }
        let yes = self.expression();
        self.need(":");
        let no = self.expression();
        self.either(yes, no)
    }

    /// One of two values.
    fn either(&mut self, a: Value, b: Value) -> Value {
        let pin = if a.pin == b.pin { a.pin } else { None };
        let kind = if a.kind == b.kind { a.kind } else { Kind::Unknown };
        Value { kind, pin, number: None }
    }

    fn level(&mut self, level: usize) -> Value {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1);
        while let Some(sign) = signs.iter().find(|s| self.is(s)) {
            let line = self.line();
            self.at += 1;
            let right = self.level(level + 1);
            left = self.binary(sign, left, right, line);
        }
        left
    }

    fn binary(&mut self, sign: &str, a: Value, b: Value, line: usize) -> Value {
        let float = a.kind == Kind::Float || b.kind == Kind::Float;
        let known = |v: Value| matches!(v.kind, Kind::Float | Kind::Integer | Kind::Bool);
        if !known(a) || !known(b) {
            self.find(Operation::Unread(format!("the operands of `{sign}`")), line);
        }
        let comparison = ["==", "!=", "<", ">", "<=", ">=", "&&", "||"].contains(&sign);
        if float {
            let operation = match sign {
                "+" => Operation::Sum,
                "-" => Operation::Difference,
                "*" => Operation::Product,
                "/" => Operation::Quotient,
                "%" => Operation::Remainder,
                _ if comparison => Operation::Comparison,
                _ => Operation::Unread(format!("`{sign}` of floats")),
            };
            self.find(operation, line);
        }
        if comparison {
            return Value::of(Kind::Bool);
        }
        let sign_bit = |v: Value| v.number == Some(1 << 31);
        let pin = match sign {
            "^" if sign_bit(b) => a.pin.map(Pin::flip),
            "^" if sign_bit(a) => b.pin.map(Pin::flip),
            _ => None,
        };
        Value { kind: if float { Kind::Float } else { a.kind }, pin, number: None }
    }

    fn unary(&mut self) -> Value {
        let line = self.line();
        for sign in ["-", "!", "~", "&", "*", "++", "--"] {
            if self.take(sign) {
                let literal = matches!(self.peek(0), Some(Token::Decimal | Token::Integer(_)));
                let value = self.unary();
                return match sign {
                    "-" if value.kind == Kind::Float && !literal => {
                        self.find(Operation::Negation, line);
                        Value::of(Kind::Float)
                    }
                    "-" | "~" | "++" | "--" => Value::of(value.kind),
                    "!" => Value::of(Kind::Bool),
                    _ => value,
                };
            }
        }
        let mut value = self.primary();
        loop {
            if self.take("[") {
                self.expression();
                self.need("]");
                value.number = None;
            } else if self.is(".") && !self.word(1).is_empty() {
                let field = self.word(1).to_owned();
                self.at += 2;
                if value.kind == Kind::Arguments {
                    value = self.argument(&field);
                }
            } else if self.take("++") || self.take("--") {
                value = Value::of(value.kind);
            } else {
                return value;
            }
        }
    }

    /// A field of the arguments; a float among them is numbered.
    fn argument(&mut self, field: &str) -> Value {
        let kind = self.symbols.get(field).map_or(Kind::Unknown, |s| s.kind);
        let index = match (self.peek(0), self.peek(1), self.peek(2)) {
            (Some(Token::Sign("[")), Some(Token::Integer(i)), Some(Token::Sign("]"))) => usize::try_from(*i).ok(),
            _ => None,
        };
        let pin = match (kind, index) {
            (Kind::Float, Some(index)) => Some(Pin { index, flipped: false }),
            _ => None,
        };
        Value { kind, pin, number: None }
    }

    fn primary(&mut self) -> Value {
        let line = self.line();
        match self.peek(0).cloned() {
            Some(Token::Integer(n)) => {
                self.at += 1;
                Value { kind: Kind::Integer, pin: None, number: Some(n) }
            }
            Some(Token::Decimal) => {
                self.at += 1;
                Value::of(Kind::Float)
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let value = self.expression();
                self.need(")");
                value
            }
            Some(Token::Word(word)) => {
                self.at += 1;
                self.named(&word, line)
            }
            _ => {
                self.unread("an expression".to_owned());
                self.at += 1;
                Value::of(Kind::Unknown)
            }
        }
    }

    /// A name, a call or a construction.
    fn named(&mut self, word: &str, line: usize) -> Value {
        let vector = ["vec2", "vec3", "vec4", "array"].contains(&word);
        if ["reinterpret_cast", "static_cast", "bitcast"].contains(&word) || vector {
            let kind = self.angles().unwrap_or(Kind::Unknown);
            if kind == Kind::Unknown {
                self.find(Operation::Unread(format!("the type of a `{word}`")), line);
            }
            if vector || word == "static_cast" {
                return self.construct(kind, line);
            }
            // The same bits under another type; of a pointer, the same place.
            let arguments = self.arguments();
            return Value { kind, pin: arguments.first().and_then(|v| v.pin), number: None };
        }
        let calls = self.is("(") || (!self.wgsl && self.is("{"));
        if let Some(kind) = type_kind(word).filter(|_| calls) {
            return self.construct(kind, line);
        }
        if !self.is("(") {
            return match word {
                "true" | "false" => Value::of(Kind::Bool),
                _ if POSITIONS.contains(&word) => Value::of(Kind::Integer),
                _ => match self.symbols.get(word) {
                    Some(symbol) => Value { kind: symbol.kind, pin: symbol.pin.flatten(), number: None },
                    None => {
                        self.find(Operation::Unread(format!("the name `{word}`")), line);
                        Value::of(Kind::Unknown)
                    }
                },
            };
        }
        if word == "sizeof" {
            self.skip_past(")");
            return Value::of(Kind::Integer);
        }
        let arguments = self.arguments();
        let float = arguments.iter().any(|v| v.kind == Kind::Float);
        let unknown = arguments.iter().any(|v| matches!(v.kind, Kind::Unknown | Kind::Arguments));
        if unknown {
            self.find(Operation::Unread(format!("an argument of `{word}`")), line);
        }
        match (word, &arguments[..]) {
            ("fma", [a, b, c]) => {
                self.find(self.pins.fma(a.pin, b.pin, c.pin), line);
                Value::of(Kind::Float)
            }
            ("select", [no, yes, _]) => self.either(*no, *yes),
            _ if BARRIERS.contains(&word) => Value::of(Kind::Unknown),
            _ if INTEGER_FUNCTIONS.contains(&word) => {
                if float && word.starts_with("atomic") {
                    self.find(Operation::Atomic, line);
                } else if float {
                    self.find(Operation::Function(word.to_owned()), line);
                }
                Value::of(if float { Kind::Float } else { Kind::Integer })
            }
            _ if FLOAT_FUNCTIONS.contains(&word) => {
                self.find(Operation::Function(word.to_owned()), line);
                Value::of(Kind::Float)
            }
            _ if ["__shfl", "simd_", "subgroup", "__reduce", "quad_"].iter().any(|p| word.starts_with(p)) => {
                self.find(Operation::Plane, line);
                Value::of(Kind::Unknown)
            }
            _ => {
                self.find(Operation::Unread(format!("the function `{word}`")), line);
                Value::of(Kind::Unknown)
            }
        }
    }

    /// `(a, b)` or `{a, b, }`.
    fn arguments(&mut self) -> Vec<Value> {
        let close = if self.take("{") {
            "}"
        } else {
            self.need("(");
            ")"
        };
        let mut values = Vec::new();
        while self.at < self.tokens.len() && !self.take(close) {
            values.push(self.expression());
            if !self.is(close) {
                self.need(",");
            }
        }
        values
    }

    /// A value of a type out of others: a conversion, or a vector out of its components.
    fn construct(&mut self, kind: Kind, line: usize) -> Value {
        let literal = matches!(self.peek(1), Some(Token::Integer(_) | Token::Decimal | Token::Sign("-")))
            && (self.is_at(2, ")") || self.is_at(3, ")"));
        let values = self.arguments();
        for value in &values {
            match (kind, value.kind) {
                (Kind::Float, Kind::Float) | (Kind::Integer | Kind::Bool, Kind::Integer | Kind::Bool) => {}
                (Kind::Float, Kind::Integer | Kind::Bool) if literal => {}
                (Kind::Float, Kind::Integer | Kind::Bool) => self.find(Operation::FromInteger, line),
                (Kind::Integer | Kind::Bool, Kind::Float) => self.find(Operation::ToInteger, line),
                _ => self.find(Operation::Unread("what a value is made of".to_owned()), line),
            }
        }
        let first = values.first().copied().unwrap_or(Value::of(Kind::Unknown));
        let same = values.iter().all(|v| v.pin == first.pin) && first.kind == kind;
        Value { kind, pin: first.pin.filter(|_| same), number: first.number.filter(|_| values.len() == 1) }
    }
}
