//! What stands outside of bodies, and declarations of names anywhere.

use super::vocabulary::{OUTSIDE, POSITIONS, QUALIFIERS, type_kind};
use super::{Kind, Reader};
use crate::audit::lexer::Token;
use crate::audit::operation::Operation;

impl Reader<'_> {
    pub(super) fn file(&mut self) {
        while self.at < self.tokens.len() {
            match self.peek(0) {
                Some(Token::Directive(d)) => {
                    let known = ["include <cuda_runtime.h>", "include <hip/hip_runtime.h>", "include <metal_stdlib>"];
                    if !known.contains(&d.as_str()) {
                        let line = self.line();
                        self.find(Operation::Licence(format!("#{}", d.clone())), line);
                    }
                    self.at += 1;
                }
                Some(Token::Word(w)) if w == "typedef" => self.skip_past(";"),
                Some(Token::Word(w)) if w == "struct" => self.structure(),
                Some(Token::Word(_)) => self.outside(),
                Some(Token::Sign("{")) => {
                    self.at += 1;
                    self.block();
                }
                Some(Token::Strange(c)) => {
                    self.unread(format!("the character `{c}`"));
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }

    pub(super) fn skip_past(&mut self, sign: &str) {
        while self.at < self.tokens.len() && !self.take(sign) {
            self.at += 1;
        }
    }

    /// Fields: `float i_0;`, `array<f32, 2>,` and so on.
    fn structure(&mut self) {
        self.skip_past("{");
        while self.at < self.tokens.len() && !self.take("}") {
            self.declaration_or_skip();
        }
    }

    /// A word outside of bodies: a parameter's type, or one of those that say nothing.
    fn outside(&mut self) {
        let word = self.word(0).to_owned();
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map(|(t, _)| t);
        let named = match before {
            Some(Token::Word(w)) => w == "void" || w == "fn",
            Some(Token::Sign(")")) => self.is_at(1, "("),
            _ => false,
        };
        if type_kind(&word).is_some() || QUALIFIERS.contains(&word.as_str()) || (self.wgsl && self.is_at(1, ":")) {
            self.declaration_or_skip();
        } else if word == "const" || POSITIONS.contains(&word.as_str()) || OUTSIDE.contains(&word.as_str()) {
            self.at += 1;
        } else if named && !word.starts_with("__") {
            // The kernel's own name.
            self.at += 1;
        } else {
            self.find(Operation::Licence(format!("`{word}`")), self.line());
            self.at += 1;
        }
    }

    /// Declares a name if one is declared here; else goes past one token.
    fn declaration_or_skip(&mut self) {
        let start = self.at;
        if self.declaration().is_none() {
            self.at = start + 1;
        }
    }

    /// `const float_4* __restrict__ name [4]`, or `name: array<f32, 2>`: the name, the place being after it (C) or after the
    /// type (WGSL).
    pub(super) fn declaration(&mut self) -> Option<String> {
        if self.wgsl {
            let name = self.word(0).to_owned();
            if name.is_empty() || !self.is_at(1, ":") {
                return None;
            }
            self.at += 2;
            let kind = self.wgsl_type()?;
            self.declare(&name, kind);
            return Some(name);
        }
        let mut kind = None;
        loop {
            match self.peek(0) {
                Some(Token::Word(w)) if w == "__align__" => self.at += 4,
                Some(Token::Word(w)) if QUALIFIERS.contains(&w.as_str()) && type_kind(w).is_none() => self.at += 1,
                Some(Token::Word(w)) => match (type_kind(w), kind) {
                    (Some(k), _) => {
                        kind = Some(k);
                        self.at += 1;
                        if self.is("(") || self.is("{") {
                            return None;
                        }
                    }
                    (None, Some(k)) => {
                        let name = w.clone();
                        self.at += 1;
                        self.declare(&name, k);
                        return Some(name);
                    }
                    (None, None) => return None,
                },
                Some(Token::Sign("*" | "&")) if kind.is_some() => self.at += 1,
                _ => return None,
            }
        }
    }

    /// A type after `:` or between angles: `f32`, `vec4<f32>`, `array<atomic<u32>, 8>`.
    fn wgsl_type(&mut self) -> Option<Kind> {
        let word = self.word(0).to_owned();
        self.at += 1;
        if ["vec2", "vec3", "vec4", "array", "atomic", "ptr"].contains(&word.as_str()) {
            return self.angles();
        }
        type_kind(&word)
    }

    /// `<…>`: the kind of the first type inside.
    pub(super) fn angles(&mut self) -> Option<Kind> {
        if !self.take("<") {
            return None;
        }
        let (mut depth, mut kind) = (1i32, None);
        while depth > 0 && self.at < self.tokens.len() {
            match self.peek(0) {
                Some(Token::Sign("<")) => depth += 1,
                Some(Token::Sign(">")) => depth -= 1,
                Some(Token::Sign(">>")) => depth -= 2,
                Some(Token::Word(w)) => kind = kind.or(type_kind(w)),
                _ => {}
            }
            self.at += 1;
        }
        kind
    }
}
