//! What kind of value an expression of a kernel has, as far as a reader of one crate can tell without a compiler.
//!
//! The answer may be "unknown", never wrong in the direction that hides a float: an expression counts as an integer only
//! for a reason that stands in the source (a suffix, a type, a cast, a signature).

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::{BinOp, Expr, Lit, Member, Pat, Stmt, UnOp};

use super::names::*;

/// The kind of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Float,
    Bool,
    /// Elements behind an index.
    Many(Box<Kind>),
    /// Several elements computed with as one; an index gives one.
    Vector(Box<Kind>),
    /// A struct of this crate.
    Struct(String),
    Unknown,
}

impl Kind {
    /// Whether arithmetic on it is integer arithmetic.
    pub(super) fn is_integer(&self) -> bool {
        match self {
            Kind::Integer => true,
            Kind::Vector(inner) => inner.is_integer(),
            _ => false,
        }
    }

    /// Whether arithmetic on it is float arithmetic.
    pub(super) fn is_float(&self) -> bool {
        match self {
            Kind::Float => true,
            Kind::Vector(inner) => inner.is_float(),
            _ => false,
        }
    }

    fn element(self) -> Kind {
        match self {
            Kind::Many(inner) | Kind::Vector(inner) => *inner,
            _ => Kind::Unknown,
        }
    }
}

/// What a crate declares: the kinds of its functions' results, fields, constants and aliases.
#[derive(Default)]
pub(super) struct Items {
    functions: BTreeMap<String, Kind>,
    fields: BTreeMap<(String, String), Kind>,
    structs: Vec<String>,
    constants: BTreeMap<String, Kind>,
    aliases: BTreeMap<String, syn::Type>,
}

impl Items {
    /// Reads the declarations of one file. Types first: signatures name them.
    pub(super) fn read_types(&mut self, items: &[syn::Item]) {
        for item in items {
            match item {
                syn::Item::Struct(s) => self.structs.push(s.ident.to_string()),
                syn::Item::Type(t) => {
                    self.aliases.insert(t.ident.to_string(), (*t.ty).clone());
                }
                syn::Item::Mod(m) => self.read_types(m.content.as_ref().map_or(&[], |(_, items)| items)),
                _ => {}
            }
        }
    }

    /// Reads everything that has a type.
    // pathway: P11
    pub(super) fn read_values(&mut self, items: &[syn::Item]) {
        for item in items {
            match item {
                syn::Item::Struct(s) => {
                    for field in &s.fields {
                        let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                        let kind = self.of_type(&field.ty, &BTreeMap::new());
                        self.fields.insert((s.ident.to_string(), name), kind);
                    }
                }
                syn::Item::Const(c) => {
                    let kind = self.of_type(&c.ty, &BTreeMap::new());
                    self.declare_constant(c.ident.to_string(), kind);
                }
                syn::Item::Fn(f) => self.declare(&f.sig),
                syn::Item::Impl(i) => {
                    for item in &i.items {
                        match item {
                            syn::ImplItem::Fn(f) => self.declare(&f.sig),
                            syn::ImplItem::Const(c) => {
                                let kind = self.of_type(&c.ty, &BTreeMap::new());
                                self.declare_constant(c.ident.to_string(), kind);
                            }
                            _ => {}
                        }
                    }
                }
                // Intrinsics are declared by macros: `… fn name(…) -> type, …`.
                syn::Item::Macro(m) => self.read_macro(m.mac.tokens.clone()),
                syn::Item::Mod(m) => self.read_values(m.content.as_ref().map_or(&[], |(_, items)| items)),
                _ => {}
            }
        }
    }

    fn read_macro(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for window in tokens.windows(6) {
            if let [
                TokenTree::Ident(word),
                TokenTree::Ident(name),
                TokenTree::Group(_),
                TokenTree::Punct(dash),
                TokenTree::Punct(_),
                TokenTree::Ident(ty),
            ] = window
                && word == "fn"
                && dash.as_char() == '-'
            {
                let ty = syn::parse_str::<syn::Type>(&ty.to_string());
                let kind = ty.map_or(Kind::Unknown, |ty| self.of_type(&ty, &BTreeMap::new()));
                self.declare_function(name.to_string(), kind);
            }
        }
    }

    fn declare(&mut self, signature: &syn::Signature) {
        let generics = self.generics(&signature.generics);
        let kind = match &signature.output {
            syn::ReturnType::Default => Kind::Unknown,
            syn::ReturnType::Type(_, ty) => self.of_type(ty, &generics),
        };
        self.declare_function(signature.ident.to_string(), kind);
    }

    /// Two functions of one name and different kinds: no telling which is called.
    fn declare_function(&mut self, name: String, kind: Kind) {
        let known = self.functions.entry(name).or_insert_with(|| kind.clone());
        if *known != kind {
            *known = Kind::Unknown;
        }
    }

    fn declare_constant(&mut self, name: String, kind: Kind) {
        let known = self.constants.entry(name).or_insert_with(|| kind.clone());
        if *known != kind {
            *known = Kind::Unknown;
        }
    }

    /// Generic parameters whose bound tells their kind.
    pub(super) fn generics(&self, generics: &syn::Generics) -> BTreeMap<String, Kind> {
        let mut kinds = BTreeMap::new();
        for parameter in generics.type_params() {
            let bounds = parameter.bounds.iter().filter_map(|b| match b {
                syn::TypeParamBound::Trait(t) => t.path.segments.last().map(|s| s.ident.to_string()),
                _ => None,
            });
            for bound in bounds {
                if FLOATS.contains(&bound.as_str()) {
                    kinds.insert(parameter.ident.to_string(), Kind::Float);
                } else if INTEGER_TRAITS.contains(&bound.as_str()) {
                    kinds.insert(parameter.ident.to_string(), Kind::Integer);
                }
            }
        }
        kinds
    }

    /// The kind of values of a type.
    pub(super) fn of_type(&self, ty: &syn::Type, generics: &BTreeMap<String, Kind>) -> Kind {
        match ty {
            syn::Type::Reference(r) => self.of_type(&r.elem, generics),
            syn::Type::Paren(p) => self.of_type(&p.elem, generics),
            syn::Type::Group(g) => self.of_type(&g.elem, generics),
            syn::Type::Array(a) => Kind::Many(Box::new(self.of_type(&a.elem, generics))),
            syn::Type::Slice(s) => Kind::Many(Box::new(self.of_type(&s.elem, generics))),
            syn::Type::Path(p) => p.path.segments.last().map_or(Kind::Unknown, |s| self.of_segment(s, generics)),
            _ => Kind::Unknown,
        }
    }

    fn of_segment(&self, segment: &syn::PathSegment, generics: &BTreeMap<String, Kind>) -> Kind {
        let name = segment.ident.to_string();
        let inner = || match &segment.arguments {
            syn::PathArguments::AngleBracketed(args) => args.args.iter().find_map(|a| match a {
                syn::GenericArgument::Type(ty) => Some(self.of_type(ty, generics)),
                _ => None,
            }),
            _ => None,
        };
        let inner = || inner().unwrap_or(Kind::Unknown);
        match name.as_str() {
            n if INTEGERS.contains(&n) => Kind::Integer,
            n if FLOATS.contains(&n) => Kind::Float,
            "bool" => Kind::Bool,
            n if CONTAINERS.contains(&n) => Kind::Many(Box::new(inner())),
            n if VECTORS.contains(&n) => Kind::Vector(Box::new(inner())),
            "Atomic" | "Box" | "Option" => inner(),
            _ if generics.contains_key(&name) => generics[&name].clone(),
            _ if self.aliases.contains_key(&name) => self.of_type(&self.aliases[&name], generics),
            _ if self.structs.contains(&name) => Kind::Struct(name),
            _ => Kind::Unknown,
        }
    }
}

/// The variables of one function, innermost block last.
pub(super) struct Scope<'a> {
    items: &'a Items,
    generics: BTreeMap<String, Kind>,
    blocks: Vec<BTreeMap<String, Kind>>,
}

impl<'a> Scope<'a> {
    pub(super) fn of_function(items: &'a Items, signature: &syn::Signature) -> Self {
        let generics = items.generics(&signature.generics);
        let mut scope = Scope { items, generics, blocks: vec![BTreeMap::new()] };
        for input in &signature.inputs {
            if let syn::FnArg::Typed(argument) = input {
                let kind = items.of_type(&argument.ty, &scope.generics);
                scope.bind(&argument.pat, kind);
            }
        }
        scope
    }

    pub(super) fn enter(&mut self) {
        self.blocks.push(BTreeMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.blocks.pop();
    }

    /// Names what a pattern binds to a value of this kind.
    pub(super) fn bind(&mut self, pattern: &Pat, kind: Kind) {
        match pattern {
            Pat::Ident(p) => {
                if let Some(block) = self.blocks.last_mut() {
                    block.insert(p.ident.to_string(), kind);
                }
            }
            Pat::Type(p) => {
                let kind = self.items.of_type(&p.ty, &self.generics);
                self.bind(&p.pat, kind);
            }
            Pat::Reference(p) => self.bind(&p.pat, kind),
            Pat::Paren(p) => self.bind(&p.pat, kind),
            // The elements of other patterns stay unknown, and must not be taken for outer variables of their name.
            Pat::Tuple(p) => p.elems.iter().for_each(|e| self.bind(e, Kind::Unknown)),
            Pat::TupleStruct(p) => p.elems.iter().for_each(|e| self.bind(e, Kind::Unknown)),
            Pat::Struct(p) => p.fields.iter().for_each(|f| self.bind(&f.pat, Kind::Unknown)),
            _ => {}
        }
    }

    /// What a `let` binds.
    pub(super) fn bind_local(&mut self, local: &syn::Local) {
        if let (Pat::Tuple(names), Some(Expr::Tuple(values))) = (&local.pat, local.init.as_ref().map(|i| &*i.expr)) {
            let kinds: Vec<Kind> = values.elems.iter().map(|v| self.of(v)).collect();
            names.elems.iter().zip(kinds).for_each(|(name, kind)| self.bind(name, kind));
            return;
        }
        let kind = local.init.as_ref().map_or(Kind::Unknown, |init| self.of(&init.expr));
        self.bind(&local.pat, kind);
    }

    /// The kind of one element of what a `for` runs over.
    pub(super) fn of_iteration(&self, over: &Expr) -> Kind {
        match over {
            // Ranges run over integers only.
            Expr::Range(_) => Kind::Integer,
            Expr::Paren(p) => self.of_iteration(&p.expr),
            other => self.of(other).element(),
        }
    }

    /// The kind of an expression's value.
    pub(super) fn of(&self, expression: &Expr) -> Kind {
        match expression {
            Expr::Lit(l) => of_literal(&l.lit),
            Expr::Paren(e) => self.of(&e.expr),
            Expr::Group(e) => self.of(&e.expr),
            Expr::Reference(e) => self.of(&e.expr),
            Expr::Cast(e) => self.items.of_type(&e.ty, &self.generics),
            Expr::Unary(e) => match e.op {
                UnOp::Neg(_) | UnOp::Deref(_) | UnOp::Not(_) => self.of(&e.expr),
                _ => Kind::Unknown,
            },
            Expr::Binary(e) => self.of_binary(e),
            Expr::Path(e) => self.of_path(&e.path),
            Expr::Field(e) => match (self.of(&e.base), &e.member) {
                (Kind::Struct(name), Member::Named(field)) => {
                    self.items.fields.get(&(name, field.to_string())).cloned().unwrap_or(Kind::Unknown)
                }
                _ => Kind::Unknown,
            },
            Expr::Index(e) => self.of(&e.expr).element(),
            Expr::Call(e) => self.of_call(e),
            Expr::MethodCall(e) => self.of_method(e),
            Expr::Struct(e) => match e.path.segments.last() {
                Some(s) if self.items.structs.contains(&s.ident.to_string()) => Kind::Struct(s.ident.to_string()),
                _ => Kind::Unknown,
            },
            Expr::If(e) => {
                let then = self.of_block(&e.then_branch);
                match (&then, &e.else_branch) {
                    (Kind::Unknown, Some((_, other))) => self.of(other),
                    _ => then,
                }
            }
            Expr::Block(e) => self.of_block(&e.block),
            Expr::Unsafe(e) => self.of_block(&e.block),
            Expr::Macro(e) if e.mac.path.is_ident("comptime") => match syn::parse2::<Expr>(e.mac.tokens.clone()) {
                Ok(inner) => self.of(&inner),
                Err(_) => Kind::Unknown,
            },
            _ => Kind::Unknown,
        }
    }

    /// A block's value may name variables of the block, which are read here on the way.
    fn of_block(&self, block: &syn::Block) -> Kind {
        let mut inner = Scope { items: self.items, generics: self.generics.clone(), blocks: self.blocks.clone() };
        inner.enter();
        for statement in &block.stmts {
            match statement {
                Stmt::Local(local) => inner.bind_local(local),
                Stmt::Expr(value, None) => return inner.of(value),
                _ => {}
            }
        }
        Kind::Unknown
    }

    fn of_binary(&self, e: &syn::ExprBinary) -> Kind {
        match e.op {
            BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) | BinOp::Eq(_) | BinOp::Ne(_) => Kind::Bool,
            BinOp::And(_) | BinOp::Or(_) => Kind::Bool,
            // The right side of a shift says nothing about the left one; but floats have no shifts.
            BinOp::Shl(_) | BinOp::Shr(_) => match self.of(&e.left) {
                Kind::Unknown => Kind::Integer,
                known => known,
            },
            BinOp::BitAnd(_) | BinOp::BitOr(_) | BinOp::BitXor(_) => match self.of(&e.left) {
                Kind::Unknown => match self.of(&e.right) {
                    Kind::Unknown => Kind::Integer,
                    known => known,
                },
                known => known,
            },
            _ => match self.of(&e.left) {
                Kind::Unknown => self.of(&e.right),
                known => known,
            },
        }
    }

    fn of_path(&self, path: &syn::Path) -> Kind {
        let Some(last) = path.segments.last() else { return Kind::Unknown };
        let name = last.ident.to_string();
        if path.segments.len() > 1 {
            let owner = path.segments[path.segments.len() - 2].ident.to_string();
            return match owner.as_str() {
                o if INTEGERS.contains(&o) => Kind::Integer,
                o if FLOATS.contains(&o) => Kind::Float,
                _ => self.items.constants.get(&name).cloned().unwrap_or(Kind::Unknown),
            };
        }
        if let Some(kind) = self.blocks.iter().rev().find_map(|block| block.get(&name)) {
            return kind.clone();
        }
        if TOPOLOGY.iter().any(|t| name.starts_with(t)) && !self.items.constants.contains_key(&name) {
            return Kind::Integer;
        }
        self.items.constants.get(&name).cloned().unwrap_or(Kind::Unknown)
    }

    fn of_call(&self, e: &syn::ExprCall) -> Kind {
        let Expr::Path(function) = &*e.func else { return Kind::Unknown };
        let segments: Vec<&syn::PathSegment> = function.path.segments.iter().collect();
        let Some(last) = segments.last() else { return Kind::Unknown };
        let name = last.ident.to_string();
        let argument = |i: usize| e.args.iter().nth(i).map_or(Kind::Unknown, |a| self.of(a));
        if let Some(owner) = segments.len().checked_sub(2).map(|i| segments[i]) {
            match self.items.of_segment(owner, &self.generics) {
                Kind::Unknown => {}
                Kind::Struct(_) => return self.items.functions.get(&name).cloned().unwrap_or(Kind::Unknown),
                kind if owner.ident == "Atomic" => return kind,
                kind if GIVES_INTEGER.contains(&name.as_str()) => {
                    return if kind == Kind::Bool { Kind::Unknown } else { Kind::Integer };
                }
                // `u32::cast_from(x)`, `f32::new(x)`, `Array::<u32>::new(n)`: a value of the type.
                kind => return kind,
            }
            if owner.ident == "Atomic" {
                return argument(1);
            }
        }
        match name.as_str() {
            "fma" => match argument(0) {
                Kind::Unknown => Kind::Float,
                known => known,
            },
            "select" => match argument(1) {
                Kind::Unknown => argument(2),
                known => known,
            },
            n if SAME_AS_FIRST.contains(&n) && argument(0) != Kind::Unknown => argument(0),
            n => self.items.functions.get(n).cloned().unwrap_or(Kind::Unknown),
        }
    }

    fn of_method(&self, e: &syn::ExprMethodCall) -> Kind {
        let name = e.method.to_string();
        let receiver = self.of(&e.receiver);
        match name.as_str() {
            n if GIVES_INTEGER.contains(&n) => Kind::Integer,
            n if SAME_AS_FIRST.contains(&n) => receiver,
            "index" | "load" | "fetch_add" | "fetch_max" | "fetch_min" | "fetch_or" | "swap" => match receiver {
                Kind::Many(inner) => *inner,
                // An atomic is known by what it holds.
                other => other,
            },
            "slice" | "to_slice" | "slice_mut" | "to_slice_mut" | "iter" => receiver,
            n => self.items.functions.get(n).cloned().unwrap_or(Kind::Unknown),
        }
    }
}

fn of_literal(literal: &Lit) -> Kind {
    match literal {
        // A literal without point and suffix is an integer: Rust has no other reading of it.
        Lit::Int(i) if FLOATS.contains(&i.suffix()) => Kind::Float,
        Lit::Int(_) | Lit::Byte(_) => Kind::Integer,
        Lit::Float(_) => Kind::Float,
        Lit::Bool(_) => Kind::Bool,
        _ => Kind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &str = "
        type V4 = Vector<f32, Const<4>>;
        struct Pair { hi: u32, x: f32, rest: V4 }
        const WIDTH: u32 = 4;
        const TABLE: [u32; 4] = [0; 4];
        fn bits(x: f32) -> u32 { 0 }
        fn twice() -> u32 { 0 }
        mod inner { fn twice() -> f32 { 0.0 } }
        twin! { /// Documented.
            pub(super) fn clz(x: u32) -> u32, host: x.leading_zeros(), gpu(scope): y }
    ";

    fn kind(expression: &str) -> Kind {
        let file = syn::parse_file(DECLARED).expect("is Rust");
        let mut items = Items::default();
        items.read_types(&file.items);
        items.read_values(&file.items);
        let function: syn::ItemFn = syn::parse_str(
            "fn f<F: Float, I: Int>(n: u32, x: f32, v: V4, a: &Array<f32>, s: &mut SharedMemory<u32>, p: Pair, g: F, i: I, t: &Array<Atomic<u32>>) {}",
        )
        .expect("is Rust");
        let scope = Scope::of_function(&items, &function.sig);
        scope.of(&syn::parse_str(expression).expect(expression))
    }

    #[test]
    fn integers_are_known_for_a_reason() {
        for expression in [
            "1",
            "1u32",
            "n",
            "n + y",
            "y * 2",
            "x as u32",
            "s[0]",
            "p.hi",
            "WIDTH",
            "TABLE[i]",
            "bits(x)",
            "clz(y)",
            "ABSOLUTE_POS",
            "CUBE_POS_X",
            "a.len()",
            "u32::MAX",
            "u32::cast_from(y)",
            "y << 3",
            "y & z",
            "i",
            "select(c, 1u32, y)",
            "min(n, y)",
            "(n)",
            "-1i32",
            "if c { n } else { y }",
            "comptime!(a.len() / 2)",
            "{ let z = n; z }",
            "n.runtime()",
            "t[0].load()",
            "Atomic::add(&t[0], n)",
            "twice as usize",
            "s.slice(0, 2)[1]",
        ] {
            assert!(kind(expression).is_integer(), "{expression}: {:?}", kind(expression));
        }
    }

    #[test]
    // pathway test: P11
    fn floats_are_known() {
        for expression in [
            "1.0",
            "1f32",
            "x",
            "v",
            "v[0]",
            "a[n]",
            "p.x",
            "p.rest[1]",
            "g",
            "x + y",
            "fma(y, y, y)",
            "x as f32",
            "f32::MAX",
            "f32::cast_from(n)",
            "f32::exp(y)",
            "V4::new(x)",
            "-x",
            "select(c, y, x)",
            "max(x, y)",
            "Vector::<f32, N>::new(y)",
        ] {
            assert!(kind(expression).is_float(), "{expression}: {:?}", kind(expression));
        }
    }

    #[test]
    fn the_rest_is_unknown() {
        for expression in ["y", "unheard_of(n)", "y.z", "twice()", "Other::A", "(n, x)", "{ let n = unheard_of(); n }"]
        {
            let kind = kind(expression);
            assert!(!kind.is_integer() && !kind.is_float(), "{expression}: {kind:?}");
        }
    }
}
