//! Kernels hold no operation whose result a device may choose.
//!
//! In every `#[cube]` function: no `+ - * / %` but on integers, no comparison of floats, no native function of a float, no
//! native conversion to or from floats, no plane operation on floats, no float atomics, no binary64, no `fma` but in its
//! pinned spellings and, bare, where the arm `FuseProducts` asks for it. Whether an operand is an integer is read from the source ([`super::types`]); where it cannot be
//! told, that is a finding too.
//!
//! A comment on the line, or alone on the line above, lifts the rule for that line:
//! - `// tidy: integer arithmetic`, where operands are integers and the source does not show it;
//! - `// tidy: native: REASON`, where the native operation is meant (sabotage arms, first guesses that are repaired).

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, UnOp};

use super::names::{FLOATS, NATIVE};
use super::types::{Items, Kind, Scope};
use super::{Finding, Source};

/// Intrinsics spell native operations, so that nothing else has to.
const INTRINSICS: &str = "crates/ml-kernels/src/num/raw.rs";

/// Bare operations are what the probe asks about.
const PROBE: &str = "crates/ml-kernels/src/probe/kernel.rs";

const INTEGER_NOTE: &str = "// tidy: integer arithmetic";
const NATIVE_NOTE: &str = "// tidy: native: ";

/// Every finding in the kernels of the waist.
// pathway: P10
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let files: Vec<(&Source, syn::File)> = sources
        .iter()
        .filter(|s| s.in_library() && s.path.starts_with("crates/ml-kernels/"))
        .filter_map(|s| Some((s, syn::parse_file(&s.text).ok()?)))
        .collect();
    let mut items = Items::default();
    files.iter().for_each(|(_, file)| items.read_types(&file.items));
    files.iter().for_each(|(_, file)| items.read_values(&file.items));
    let mut findings = Vec::new();
    for (source, file) in &files {
        if source.path == PROBE {
            continue;
        }
        let mut reader = Reader { source, items: &items, findings: Vec::new() };
        reader.visit_file(file);
        findings.append(&mut reader.findings);
        if source.path != INTRINSICS
            && let Ok(stream) = source.text.parse()
        {
            expansions(stream, source, &mut findings);
        }
    }
    findings
}

/// Whether an attribute makes a kernel of what it stands on: `#[cube…]`, also inside `cfg_attr`.
fn is_cube(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    if path.segments.last().is_some_and(|s| s.ident == "cube") {
        return true;
    }
    let tokens = match &attribute.meta {
        syn::Meta::List(list) if path.is_ident("cfg_attr") => list.tokens.clone(),
        _ => return false,
    };
    tokens.into_iter().any(|t| matches!(t, TokenTree::Ident(word) if word == "cube"))
}

/// Whether a condition is `comptime!(… == Arm::FuseProducts …)`, and nothing that widens it.
fn asks_for_fusing(condition: &Expr) -> bool {
    let Expr::Macro(e) = condition else { return false };
    let tokens = e.mac.tokens.to_string();
    e.mac.path.is_ident("comptime")
        && tokens.contains("FuseProducts")
        && !tokens.contains("||")
        && !tokens.contains('!')
}

/// Finds the kernels of a file.
struct Reader<'a> {
    source: &'a Source,
    items: &'a Items,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn kernel(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let scope = Scope::of_function(self.items, signature);
        let mut kernel = Kernel { source: self.source, scope, fusing: false, findings: &mut self.findings };
        for input in &signature.inputs {
            kernel.visit_fn_arg(input);
        }
        kernel.visit_block(block);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.attrs.iter().any(is_cube) {
            self.kernel(&item.sig, &item.block);
        } else {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let all = item.attrs.iter().any(is_cube);
        for inner in &item.items {
            if let syn::ImplItem::Fn(f) = inner
                && (all || f.attrs.iter().any(is_cube))
            {
                self.kernel(&f.sig, &f.block);
            }
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let all = item.attrs.iter().any(is_cube);
        for inner in &item.items {
            if let syn::TraitItem::Fn(f) = inner
                && let Some(block) = &f.default
                && (all || f.attrs.iter().any(is_cube))
            {
                self.kernel(&f.sig, block);
            }
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        // The body of a `macro_rules!` is no syntax tree: a kernel in it would go unread.
        if item.ident.is_some() && holds_cube(item.mac.tokens.clone()) {
            let text = "a `#[cube]` function inside `macro_rules!` cannot be read: write it out";
            self.findings.push(Finding::new(&self.source.path, item.span().start().line, text));
        }
    }
}

fn holds_cube(stream: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    tokens.iter().enumerate().any(|(i, token)| match token {
        TokenTree::Group(group) => {
            let attribute =
                matches!(i.checked_sub(1).map(|h| &tokens[h]), Some(TokenTree::Punct(p)) if p.as_char() == '#');
            let named = || group.stream().into_iter().any(|t| matches!(t, TokenTree::Ident(word) if word == "cube"));
            (attribute && named()) || holds_cube(group.stream())
        }
        _ => false,
    })
}

/// Reads one kernel.
struct Kernel<'a, 'f> {
    source: &'a Source,
    scope: Scope<'a>,
    /// Inside a branch that only the arm `FuseProducts` takes.
    fusing: bool,
    findings: &'f mut Vec<Finding>,
}

impl Kernel<'_, '_> {
    fn noted(&self, line: usize, note: &str) -> bool {
        let has = |text: &str| match text.split_once(note) {
            // A note that asks for a reason has one.
            Some((_, reason)) => !note.ends_with(": ") || reason.trim().len() > 3,
            None => false,
        };
        let lines: Vec<&str> = self.source.text.lines().collect();
        let same = lines.get(line - 1).is_some_and(|l| has(l));
        let above = line.checked_sub(2).and_then(|i| lines.get(i));
        same || above.is_some_and(|l| l.trim().starts_with("//") && has(l))
    }

    fn note(&mut self, at: impl Spanned, text: String) {
        let line = at.span().start().line;
        if !self.noted(line, NATIVE_NOTE) {
            self.findings.push(Finding::new(&self.source.path, line, text));
        }
    }

    fn arithmetic(&mut self, e: &syn::ExprBinary, sign: &str) {
        let (left, right) = (self.scope.of(&e.left), self.scope.of(&e.right));
        if left.is_float() || right.is_float() {
            self.note(e.op, format!("bare float `{sign}` in a kernel: use the pinned operations of `num`"));
        } else if !(left.is_integer() || right.is_integer() || self.noted(e.op.span().start().line, INTEGER_NOTE)) {
            let text =
                format!("operands of `{sign}` are not evidently integers: give one a type, or note \"{INTEGER_NOTE}\"");
            self.note(e.op, text);
        }
    }

    /// `f32::name(…)` and the like.
    fn native_path(&mut self, e: &syn::ExprCall) {
        let Expr::Path(function) = &*e.func else { return };
        let segments: Vec<String> = function.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let Some(name) = segments.last() else { return };
        let owner = segments.len().checked_sub(2).map(|i| segments[i].as_str()).unwrap_or_default();
        let argument = |i: usize| e.args.iter().nth(i).map_or(Kind::Unknown, |a| self.scope.of(a));
        let float_owner = FLOATS.contains(&owner);
        if float_owner && NATIVE.contains(&name.as_str()) {
            self.note(e, format!("`{owner}::{name}` is each device's own: use `num`"));
        } else if name == "cast_from" && (float_owner || !argument(0).is_integer() && argument(0) != Kind::Bool) {
            let text = "a native conversion to or from floats is each device's own: use `num`'s conversions";
            self.note(e, text.to_owned());
        } else if name.starts_with("plane_") && e.args.iter().any(|a| !self.scope.of(a).is_integer()) {
            self.note(e, format!("`{name}` on what is not evidently integers: no plane operation on floats"));
        } else if name == "fma" {
            self.fma(e);
        } else if ["min", "max", "clamp"].contains(&name.as_str())
            && (owner == "prelude" || owner == "cubecl")
            && argument(0).is_float()
        {
            self.note(e, format!("native `{name}` of floats: use the total order of `num`"));
        }
    }

    /// `fma(a, b, nz)`, `fma(a, one, b)` and `fma(a, minus_one, b)` are exact whether the device fuses or not; nothing
    /// else is.
    fn fma(&mut self, e: &syn::ExprCall) {
        let named = |i: usize, words: &[&str]| {
            let last = match e.args.iter().nth(i) {
                Some(Expr::Path(p)) => p.path.segments.last().map(|s| s.ident.to_string()),
                Some(Expr::Field(f)) => match &f.member {
                    syn::Member::Named(name) => Some(name.to_string()),
                    syn::Member::Unnamed(_) => None,
                },
                _ => None,
            };
            last.is_some_and(|name| words.contains(&name.as_str()))
        };
        if !(self.fusing || named(2, &["nz", "nzv", "nz4"]) || named(1, &["one", "onev", "one4", "minus_one"])) {
            self.note(e, "`fma` neither as `fma(a, b, nz)` nor as `fma(a, one, b)`: devices fuse or do not".to_owned());
        }
    }
}

impl<'ast> Visit<'ast> for Kernel<'_, '_> {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.scope.enter();
        visit::visit_block(self, block);
        self.scope.leave();
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        self.scope.bind_local(local);
    }

    fn visit_expr_for_loop(&mut self, e: &'ast syn::ExprForLoop) {
        self.visit_expr(&e.expr);
        let kind = self.scope.of_iteration(&e.expr);
        self.scope.enter();
        self.scope.bind(&e.pat, kind);
        self.visit_block(&e.body);
        self.scope.leave();
    }

    fn visit_expr_binary(&mut self, e: &'ast syn::ExprBinary) {
        match e.op {
            BinOp::Add(_) | BinOp::AddAssign(_) => self.arithmetic(e, "+"),
            BinOp::Sub(_) | BinOp::SubAssign(_) => self.arithmetic(e, "-"),
            BinOp::Mul(_) | BinOp::MulAssign(_) => self.arithmetic(e, "*"),
            BinOp::Div(_) | BinOp::DivAssign(_) => self.arithmetic(e, "/"),
            BinOp::Rem(_) | BinOp::RemAssign(_) => self.arithmetic(e, "%"),
            BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) | BinOp::Eq(_) | BinOp::Ne(_)
                if self.scope.of(&e.left).is_float() || self.scope.of(&e.right).is_float() =>
            {
                self.note(e.op, "comparison of floats in a kernel: compare keys or bits (`num::key`)".to_owned());
            }
            _ => {}
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_if(&mut self, e: &'ast syn::ExprIf) {
        self.visit_expr(&e.cond);
        let outside = self.fusing;
        self.fusing = outside || asks_for_fusing(&e.cond);
        self.visit_block(&e.then_branch);
        self.fusing = outside;
        if let Some((_, other)) = &e.else_branch {
            self.visit_expr(other);
        }
    }

    fn visit_expr_unary(&mut self, e: &'ast syn::ExprUnary) {
        let literal = matches!(&*e.expr, Expr::Lit(_));
        if matches!(e.op, UnOp::Neg(_)) && !literal && !self.scope.of(&e.expr).is_integer() {
            self.note(e, "bare `-x` in a kernel: use `num::neg`, which flips the sign bit".to_owned());
        }
        visit::visit_expr_unary(self, e);
    }

    fn visit_expr_call(&mut self, e: &'ast syn::ExprCall) {
        self.native_path(e);
        visit::visit_expr_call(self, e);
    }

    fn visit_expr_method_call(&mut self, e: &'ast syn::ExprMethodCall) {
        let name = e.method.to_string();
        if NATIVE.contains(&name.as_str()) && !self.scope.of(&e.receiver).is_integer() {
            self.note(
                &e.method,
                format!("`.{name}()` on what is not evidently an integer is each device's own: use `num`"),
            );
        }
        visit::visit_expr_method_call(self, e);
    }

    fn visit_type_path(&mut self, ty: &'ast syn::TypePath) {
        let last = ty.path.segments.last();
        if last.is_some_and(|s| s.ident == "f64") {
            self.note(ty, "binary64 in a kernel: WGSL and Metal have none".to_owned());
        }
        if let Some(segment) = last.filter(|s| s.ident == "Atomic")
            && let syn::PathArguments::AngleBracketed(args) = &segment.arguments
            && args.args.iter().any(|a| matches!(a, syn::GenericArgument::Type(syn::Type::Path(p)) if p.path.segments.last().is_some_and(|s| FLOATS.contains(&s.ident.to_string().as_str()))))
        {
            self.note(ty, "float atomics add in any order".to_owned());
        }
        visit::visit_type_path(self, ty);
    }
}

/// Arithmetic spelled through CubeCL's expansion functions, past the rules above.
fn expansions(stream: TokenStream, source: &Source, findings: &mut Vec<Finding>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let word = |i: usize| match tokens.get(i) {
        Some(TokenTree::Ident(w)) => w.to_string(),
        _ => String::new(),
    };
    for (i, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            expansions(group.stream(), source, findings);
        }
        // `add :: expand`, the `::` being two tokens. Only `fma` has no namesake among our own.
        let operation = word(i);
        let native = operation == "fma" || i.checked_sub(3).is_some_and(|before| word(before) == "prelude");
        if native
            && word(i + 3) == "expand"
            && ["add", "sub", "mul", "div", "rem", "fma", "neg"].contains(&operation.as_str())
        {
            let text = format!("`{operation}::expand` outside {INTRINSICS}: intrinsics are spelled there");
            findings.push(Finding::new(&source.path, token.span().start().line, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/ml-kernels/src/op/kernel.rs";

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&[Source::new(path, text)]).into_iter().map(|f| format!("{}: {}", f.line, f.text)).collect()
    }

    /// Findings in a kernel with this body.
    fn body(body: &str) -> Vec<String> {
        let arguments =
            "a: &Array<f32>, out: &mut Array<f32>, x: f32, n: u32, nz: f32, one: f32, s: &SharedMemory<u32>";
        findings(PATH, &format!("#[cube(launch_unchecked)]\nfn k({arguments}) {{\n{body}\n}}\n"))
    }

    #[test]
    // pathway test: P10
    fn bare_float_operations_are_found() {
        for bad in [
            "out[0] = a[0] + a[1];",
            "out[0] = x * 2.0;",
            "out[0] += x;",
            "let y = a[0]; out[0] = y / y;",
            "if n > 2u32 { let y = x - 1.0; }",
            "for i in 0..n { out[i] = a[i] - x; }",
            "out[0] = -x;",
            "out[0] = fma(a[0], x, a[1]);",
            "if comptime!(arm == Arm::FuseProducts || wide) { out[0] = fma(x, x, x); }",
            "if comptime!(arm != Arm::FuseProducts) { out[0] = fma(x, x, x); }",
            "if comptime!(arm == Arm::FuseProducts) { out[0] = x; } else { out[0] = fma(x, x, x); }",
            "if x < 1.0 { out[0] = x; }",
            "if a[0] == x { out[0] = x; }",
            "out[0] = f32::exp(x);",
            "out[0] = x.sin();",
            "out[0] = f32::cast_from(n);",
            "let y = u32::cast_from(x);",
            "out[0] = plane_sum(x);",
            "out[0] = f32::max(x, 0.0);",
            "let y = 0.0f64;\nlet z: f64 = y;",
            "let t = SharedMemory::<Atomic<f32>>::new(1usize);",
            "out[0] = unheard_of(x) + unheard_of(x);",
        ] {
            assert_eq!(body(bad).len(), 1, "{bad}: {:?}", body(bad));
        }
    }

    #[test]
    fn integers_and_pinned_spellings_pass() {
        for good in [
            "let i = ABSOLUTE_POS as u32; let j = i * n + 1;",
            "let m = s[0] % n; let k = (m << 3u32) - 1;",
            "out[0] = fma(a[0], x, nz); out[1] = fma(a[0], one, x);",
            "if comptime!(arm == Arm::FuseProducts) { out[0] = fma(a[0], x, a[1]); } else { out[0] = x; }",
            "out[0] = fma(a[0], pins.minus_one, x);",
            "let (i, j) = (n as usize, 2); let k = i.div_ceil(j); let m = i * k + j;",
            "let p = Pins { nz, one }; out[0] = fma(x, x, p.nz); out[1] = fma(x, p.one, x);",
            "for i in 0..n { let at = i * 2; out[at as usize] = a[at as usize]; }",
            "let m = plane_min(s[0]); if m < n && n == 3 { out[0] = -1.0; }",
            "let b = u32::reinterpret(x) >> 2u32; let c = u32::cast_from(n == 1) + b;",
            "let w = comptime!(4usize); let t = w * 2;",
            "let z = n.leading_zeros(); let y = min(z, n) / 2;",
        ] {
            assert!(body(good).is_empty(), "{good}: {:?}", body(good));
        }
    }

    #[test]
    fn notes_lift_a_rule_for_their_line_only() {
        assert!(body("let y = unheard_of() + unheard_of(); // tidy: integer arithmetic").is_empty());
        assert!(body("// tidy: integer arithmetic\nlet y = unheard_of() + unheard_of();").is_empty());
        assert!(body("// tidy: native: the arm that fuses\nout[0] = fma(x, x, x);").is_empty());
        assert_eq!(
            body("// tidy: integer arithmetic\nlet y = x + x;").len(),
            1,
            "a float is no integer, whatever the note"
        );
        assert_eq!(body("// tidy: native: \nlet y = x + x;").len(), 1, "a reason is asked for");
        assert_eq!(
            body("let z = n + 1; // tidy: native: only here\nlet y = x + x;").len(),
            1,
            "a trailing note is for its own line"
        );
        assert_eq!(body("// tidy: native: only here\nlet z = x + x;\nlet y = x + x;").len(), 1);
    }

    #[test]
    fn every_form_of_kernel_is_read() {
        for text in [
            "#[cube]\nfn f(x: f32) -> f32 { x + x }",
            "#[cfg_attr(feature = \"gpu\", cube)]\npub fn f(x: f32) -> f32 { x + x }",
            "#[cube]\nimpl A { fn f(x: f32) -> f32 { x + x } }",
            "#[cube]\ntrait A { fn f(x: f32) -> f32 { x + x } }",
            "mod inner { #[cube] fn f(x: f32) -> f32 { x + x } }",
            "macro_rules! m { () => { #[cube] fn f(x: f32) -> f32 { x } } }",
            "fn f(s: &mut Scope) { cubecl::prelude::add::expand(s, 1, 2); }",
            "fn f(s: &mut Scope) { fma::expand::<f32>(s, 1, 2, 3); }",
        ] {
            assert_eq!(findings(PATH, text).len(), 1, "{text}");
        }
        for host in ["fn host(x: f32) -> f32 { x + x }", "fn f(s: &mut Scope) { num::add::expand(s, 1, 2); }"] {
            assert!(findings(PATH, host).is_empty(), "{host}");
        }
    }

    #[test]
    fn only_intrinsics_and_the_probe_are_spared() {
        let expansion = "fn f(s: &mut Scope) { cubecl::prelude::add::expand(s, 1, 2); }";
        assert!(findings(INTRINSICS, expansion).is_empty());
        let kernel = "#[cube]\nfn f(x: f32) -> f32 { x + x }";
        assert!(findings(PROBE, kernel).is_empty());
        assert_eq!(findings(INTRINSICS, kernel).len(), 1);
    }

    #[test]
    fn kinds_come_from_all_files_of_the_crate() {
        let types = Source::new(
            "crates/ml-kernels/src/num/limbs.rs",
            "pub struct Limbs { pub hi: u32 }\npub fn limbs() -> Limbs { x }",
        );
        let kernel = Source::new(PATH, "#[cube]\nfn f(l: Limbs) -> u32 { let m = limbs(); m.hi + l.hi }");
        assert!(check(&[types, kernel]).is_empty());
    }
}
