//! Sizes of Rust files and functions, and the names that pure code uses.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::files::File;

/// Types that read a clock, or whose order differs between builds.
const IMPURE: [&str; 4] = ["Instant", "SystemTime", "HashMap", "HashSet"];

/// The file or functions that are too long.
pub(crate) fn sizes(file: &File, file_limit: usize, function_limit: usize) -> Vec<String> {
    let parsed = match syn::parse_file(&file.text) {
        Ok(parsed) => parsed,
        Err(error) => return vec![format!("{}: does not parse: {error}", file.path)],
    };
    let mut found = Found::default();
    found.visit_file(&parsed);
    let lines = file.text.lines().count().saturating_sub(found.test_lines);
    let too_long = (lines > file_limit).then(|| format!("{}: {lines} lines", file.path));
    let functions = found.functions.into_iter().filter(|(_, _, lines)| *lines > function_limit);
    let functions = functions
        .map(|(name, line, lines)| format!("{}:{line}: `{name}` has {lines} lines", file.path));
    too_long.into_iter().chain(functions).collect()
}

/// Uses of impure types, comments aside.
pub(crate) fn impure_names(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    match file.text.parse::<TokenStream>() {
        Ok(tokens) => find_impure(tokens, &file.path, &mut faults),
        Err(error) => faults.push(format!("{}: does not parse: {error}", file.path)),
    }
    faults
}

fn find_impure(tokens: TokenStream, path: &str, faults: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) if IMPURE.iter().any(|impure| name == impure) => {
                faults.push(format!("{path}:{}: uses `{name}`", name.span().start().line));
            }
            TokenTree::Group(group) => find_impure(group.stream(), path, faults),
            _ => {}
        }
    }
}

/// Functions as (name, first line, lines), and the lines of inline test modules.
#[derive(Default)]
struct Found {
    functions: Vec<(String, usize, usize)>,
    test_lines: usize,
}

impl Found {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let lines = lines_between(signature.fn_token.span, block.brace_token.span.close());
        self.functions.push((signature.ident.to_string(), first, lines));
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if let (Some(attribute), Some((brace, _))) =
            (item.attrs.iter().find(|attribute| is_test(attribute)), &item.content)
        {
            self.test_lines += lines_between(attribute.pound_token.span, brace.span.close());
        }
        visit::visit_item_mod(self, item);
    }
}

/// Whether it is `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
}

fn lines_between(first: Span, last: Span) -> usize {
    (last.end().line + 1).saturating_sub(first.start().line)
}

#[cfg(test)]
mod tests {
    use super::{File, impure_names, sizes};

    fn file(text: &str) -> File {
        File { path: "a.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_function_is_as_long_as_its_lines() {
        let file = file("struct A;\nimpl A {\n    fn b() {\n\n    }\n}\n");
        assert!(sizes(&file, 6, 3).is_empty());
        assert_eq!(sizes(&file, 6, 2), ["a.rs:3: `b` has 3 lines"]);
        assert_eq!(sizes(&file, 5, 3), ["a.rs: 6 lines"]);
    }

    #[test]
    fn inline_tests_do_not_count() {
        let file = file("fn a() {}\n#[cfg(test)]\nmod tests {\n\n\n}\n");
        assert!(sizes(&file, 1, 1).is_empty());
    }

    #[test]
    fn comments_may_name_what_code_may_not() {
        assert!(impure_names(&file("/// No HashMap here.\nfn a() {}")).is_empty());
        assert_eq!(impure_names(&file("fn a() {\n HashMap::new() }")), ["a.rs:2: uses `HashMap`"]);
    }
}
