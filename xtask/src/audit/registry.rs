//! The kernels that the source has: every function that the `#[cube]` macro makes launchable.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::operation::Pins;
use crate::tidy::Source;

/// Where the report lies.
pub const REPORT: &str = "docs/audit.md";

/// Launchable functions by their path, with their float arguments.
pub fn kernels(sources: &[Source]) -> BTreeMap<String, Pins> {
    let mut kernels = BTreeMap::new();
    for (module, file) in files(sources) {
        let mut reader = Reader { module, kernels: &mut kernels };
        reader.visit_file(&file);
    }
    kernels
}

/// The variants of `name`, an enum of the waist.
#[cfg(feature = "audit")]
pub fn variants(sources: &[Source], name: &str) -> Vec<String> {
    let enums = files(sources).into_iter().flat_map(|(_, file)| file.items).filter_map(|item| match item {
        syn::Item::Enum(e) if e.ident == name => Some(e),
        _ => None,
    });
    enums.flat_map(|e| e.variants).map(|v| v.ident.to_string()).collect()
}

/// The waist's files with their modules.
fn files(sources: &[Source]) -> Vec<(String, syn::File)> {
    let own = sources.iter().filter(|s| s.in_library());
    own.filter_map(|s| {
        let module = s.path.strip_prefix("crates/ml-kernels/src/")?.strip_suffix(".rs")?;
        let module = module.trim_end_matches("/mod").replace('/', "::");
        Some((format!("ml_kernels::{module}"), syn::parse_file(&s.text).ok()?))
    })
    .collect()
}

struct Reader<'a> {
    module: String,
    kernels: &'a mut BTreeMap<String, Pins>,
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let tests = item.attrs.iter().any(|a| {
            a.path().is_ident("cfg") && matches!(&a.meta, syn::Meta::List(l) if l.tokens.to_string().contains("test"))
        });
        if tests {
            return;
        }
        let outer = self.module.clone();
        self.module = format!("{outer}::{}", item.ident);
        visit::visit_item_mod(self, item);
        self.module = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let launchable = item.attrs.iter().any(|a| {
            a.path().is_ident("cube")
                && matches!(&a.meta, syn::Meta::List(l) if l.tokens.to_string().contains("launch"))
        });
        if launchable {
            let floats = item.sig.inputs.iter().filter_map(float_argument).collect();
            self.kernels.insert(format!("{}::{}", self.module, item.sig.ident), Pins(floats));
        }
    }
}

/// The name of an argument that is a float at run time.
fn float_argument(input: &syn::FnArg) -> Option<String> {
    let syn::FnArg::Typed(argument) = input else { return None };
    let (syn::Pat::Ident(name), syn::Type::Path(ty)) = (&*argument.pat, &*argument.ty) else { return None };
    let comptime = argument.attrs.iter().any(|a| a.path().is_ident("comptime"));
    (ty.path.is_ident("f32") && !comptime).then(|| name.ident.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchable_functions_are_found_with_their_float_arguments() {
        let text = "mod inner {\n #[cube(launch_unchecked)]\n fn k(x: &Array<f32>, nz: f32, n: u32, one: f32, #[comptime] c: f32) {}\n}\n\
                    #[cube]\nfn helper(x: f32) {}\n#[cfg(test)]\nmod tests { #[cube(launch)]\n fn t() {} }\n\
                    #[cube(launch)]\npub(super) fn outer() {}\n";
        let found = kernels(&[
            Source { path: "crates/ml-kernels/src/op/mod.rs".to_owned(), text: text.to_owned() },
            Source { path: "crates/ml-kernels/src/op/op_tests.rs".to_owned(), text: text.to_owned() },
        ]);
        let expected = [("ml_kernels::op::inner::k", &["nz", "one"][..]), ("ml_kernels::op::outer", &[])];
        let expected = expected.map(|(k, pins)| (k.to_owned(), Pins(pins.iter().map(|p| (*p).to_owned()).collect())));
        assert_eq!(found, expected.into());
    }
}
