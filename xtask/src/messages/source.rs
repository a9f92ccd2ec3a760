//! The sources of the programs, parsed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::Visit;
use syn::{Attribute, Expr, Macro, Meta, Token};

/// A parsed file.
pub(super) struct SourceFile {
    /// Path from the root of the repository.
    pub(super) path: String,
    pub(super) syntax: syn::File,
}

/// Parsed files, and the arguments of the macros and attributes in them.
#[derive(Default)]
pub(super) struct SourceFiles {
    pub(super) files: Vec<SourceFile>,
    /// Arguments, by the address of their tokens.
    arguments: BTreeMap<usize, Vec<Expr>>,
}

impl SourceFiles {
    /// Reads files of Rust below a folder.
    pub(super) fn read(root: &Path, files: &[PathBuf]) -> Result<Self, String> {
        let mut sources = Self::default();
        for file in files {
            let path = file.strip_prefix(root).unwrap_or(file);
            let path = path.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(file).map_err(|error| format!("{path}: {error}"))?;
            sources.files.push(parsed(path, &text)?);
        }
        sources.read_arguments();
        Ok(sources)
    }

    /// The sources in some texts.
    #[cfg(test)]
    pub(super) fn of_texts(texts: &[(&str, &str)]) -> Result<Self, String> {
        let files = texts
            .iter()
            .map(|(path, text)| parsed((*path).to_owned(), text));
        let mut sources = Self {
            files: files.collect::<Result<_, _>>()?,
            ..Self::default()
        };
        sources.read_arguments();
        Ok(sources)
    }

    fn read_arguments(&mut self) {
        let mut reader = ArgumentReader::default();
        for file in &self.files {
            reader.visit_file(&file.syntax);
        }
        self.arguments = reader.0;
    }

    /// The arguments of a macro that formats, or of one in its place.
    pub(super) fn of_macro(&self, call: &Macro) -> Option<&[Expr]> {
        self.arguments.get(&address(call)).map(Vec::as_slice)
    }

    /// The arguments of `#[error(...)]`; none if it is transparent.
    pub(super) fn of_error(&self, attribute: &Attribute) -> Option<&[Expr]> {
        self.arguments.get(&address(attribute)).map(Vec::as_slice)
    }
}

fn parsed(path: String, text: &str) -> Result<SourceFile, String> {
    let syntax = syn::parse_file(text).map_err(|error| format!("{path}: {error}"))?;
    Ok(SourceFile { path, syntax })
}

fn address<T>(part: &T) -> usize {
    std::ptr::from_ref(part).addr()
}

type Arguments = Punctuated<Expr, Token![,]>;

/// Macros with texts.
const MACROS: [&str; 4] = ["concat", "format", "format_args", "vec"];

/// Parses the arguments of macros and of `#[error(...)]`.
#[derive(Default)]
struct ArgumentReader(BTreeMap<usize, Vec<Expr>>);

impl ArgumentReader {
    fn add(&mut self, address: usize, parsed: syn::Result<Arguments>) {
        let Ok(parsed) = parsed else {
            return;
        };
        let arguments: Vec<Expr> = parsed.into_iter().collect();
        // Their addresses stay when the list moves.
        arguments
            .iter()
            .for_each(|argument| self.visit_expr(argument));
        self.0.insert(address, arguments);
    }
}

impl<'a> Visit<'a> for ArgumentReader {
    fn visit_macro(&mut self, call: &'a Macro) {
        if MACROS.iter().any(|name| call.path.is_ident(name)) {
            self.add(
                address(call),
                call.parse_body_with(Arguments::parse_terminated),
            );
        }
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        let Meta::List(list) = &attribute.meta else {
            return;
        };
        if list.path.is_ident("error") {
            let tokens = list.tokens.to_string();
            let tokens = if tokens == "transparent" {
                ""
            } else {
                &with_self(&tokens)
            };
            self.add(
                address(attribute),
                Arguments::parse_terminated.parse_str(tokens),
            );
        }
    }
}

/// Puts `self` in front of the dot with which thiserror names a field, outside of literals.
fn with_self(tokens: &str) -> String {
    let mut text = String::new();
    let (mut quoted, mut escaped, mut before) = (false, false, ',');
    for letter in tokens.chars() {
        if !quoted && letter == '.' && "(,=&*".contains(before) {
            text.push_str("self");
        }
        quoted ^= letter == '"' && !escaped;
        escaped = quoted && letter == '\\' && !escaped;
        if !letter.is_whitespace() {
            before = letter;
        }
        text.push(letter);
    }
    text
}

/// Returns true if an item is only built for tests.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::Path(path) => path.is_ident("test"),
        Meta::NameValue(_) => false,
    })
}
