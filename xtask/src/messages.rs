//! The page of the manual with all messages, from the sources that construct them.

mod found;
mod index;
mod page;
mod scope;
mod source;
mod status;
mod table;
mod template;
mod text;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use found::{FoundMessage, MessageKind, MessageStatus};
use index::{ErrorCase, SourceIndex};
use page::PlacedMessage;
use source::SourceFiles;
use syn::Expr;
use syn::visit::Visit;
use table::{CONSTRUCTORS, ERRORS, LINES, ROWS, SECTIONS, STATUSES, TEXTS, WARNINGS};
use text::TextReader;
use walk::SourceWalk;

use crate::code_lines::sources;

/// Path of the page.
pub(crate) const PATH: &str = "docs/manual/src/reference/messages.md";

/// The page.
///
/// # Errors
/// Sources that cannot be read, and what the tables lack.
pub(crate) fn page(root: &Path) -> Result<String, String> {
    let sources = SourceFiles::read(root, &program_files(root)?)?;
    of_sources(&sources).map_err(|problems| problems.join("\n"))
}

/// Sources of the programs.
pub(crate) fn program_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = root.join("crates");
    let entries =
        std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let crates = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let crates = crates.filter(|one| !one.ends_with("testkit"));
    let mut files: Vec<PathBuf> = crates.flat_map(|one| sources(&one.join("src"))).collect();
    files.sort();
    Ok(files)
}

fn of_sources(sources: &SourceFiles) -> Result<String, Vec<String>> {
    let index = SourceIndex::of(sources);
    let found = found::messages(&index);
    let mut messages = Vec::new();
    for (function, found) in index.functions.iter().zip(found) {
        messages.extend(found.into_iter().map(|message| PlacedMessage {
            path: function.path,
            function: &function.name,
            message,
        }));
    }
    messages.extend(errors(&index));
    messages.extend(rows(&index));
    messages.extend(texts(&index));
    let mut problems = missing(&index, &messages);
    match page::page(&index, &messages) {
        Ok(page) if problems.is_empty() => Ok(page),
        Ok(_) => Err(problems),
        Err(others) => {
            problems.extend(others);
            Err(problems)
        }
    }
}

/// The templates of a variant; a variable part for that of its source if it is transparent.
fn error_texts<'s>(reader: &TextReader<'_, 's>, case: &ErrorCase<'s>) -> Vec<String> {
    if case.arguments.is_empty() {
        return vec![template::variable("source")];
    }
    reader.formatted(case.arguments)
}

/// Messages of error types.
fn errors<'s>(index: &'s SourceIndex<'s>) -> Vec<PlacedMessage<'s>> {
    let of_case = |case: &'s ErrorCase<'s>| {
        let texts = error_texts(&TextReader::of_file(index, case.path), case);
        texts.into_iter().map(|text| PlacedMessage {
            path: case.path,
            function: "",
            message: FoundMessage {
                kind: MessageKind::Error,
                owner: case.owner.clone(),
                name: case.name.clone(),
                status: MessageStatus::Elsewhere,
                text,
            },
        })
    };
    index.errors.iter().flat_map(of_case).collect()
}

/// Reasons in tables and functions of files that have nothing else.
fn rows<'s>(index: &'s SourceIndex<'s>) -> Vec<PlacedMessage<'s>> {
    let mut texts = BTreeSet::new();
    for (path, value) in index
        .all_constants()
        .filter(|(path, _)| path.starts_with(ROWS))
    {
        let mut add = |reader: &TextReader<'_, 's>, expression: &'s Expr| {
            if matches!(expression, Expr::Lit(_)) {
                texts.extend(
                    reader
                        .texts(expression)
                        .into_iter()
                        .map(|text| (path, text)),
                );
            }
        };
        let mut walk = SourceWalk {
            reader: TextReader::of_file(index, path),
            on_expression: &mut add,
        };
        walk.visit_expr(value);
    }
    for function in index
        .functions
        .iter()
        .filter(|one| one.path.starts_with(ROWS))
    {
        let reader = TextReader::new(index, function);
        texts.extend(
            reader
                .result(function.body)
                .into_iter()
                .map(|text| (function.path, text)),
        );
    }
    texts.retain(|(_, text)| template::is_phrase(text) && !text.starts_with("--"));
    let place = |(path, text)| PlacedMessage {
        path,
        function: "",
        message: FoundMessage {
            kind: MessageKind::Row,
            owner: String::new(),
            name: String::new(),
            status: MessageStatus::Elsewhere,
            text,
        },
    };
    texts.into_iter().map(place).collect()
}

/// Messages that functions return.
fn texts<'s>(index: &'s SourceIndex<'s>) -> Vec<PlacedMessage<'s>> {
    let is_listed = |function: &&index::SourceFunction<'_>| {
        let mut listed = TEXTS.iter();
        listed.any(|(path, name, _)| (*path, *name) == (function.path, &*function.name))
    };
    let place = |function: &'s index::SourceFunction<'s>| {
        let texts = TextReader::new(index, function).result(function.body);
        texts.into_iter().map(|text| PlacedMessage {
            path: function.path,
            function: &function.name,
            message: FoundMessage {
                kind: MessageKind::Text,
                owner: String::new(),
                name: String::new(),
                status: MessageStatus::Elsewhere,
                text,
            },
        })
    };
    index
        .functions
        .iter()
        .filter(is_listed)
        .flat_map(place)
        .collect()
}

/// Entries that the tables lack, and entries of nothing.
fn missing(index: &SourceIndex<'_>, messages: &[PlacedMessage<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut compare = |what: &str, listed: BTreeSet<&str>, found: BTreeSet<&str>| {
        let unlisted = found.difference(&listed);
        problems.extend(
            unlisted.map(|name| format!("{what} {name} is not in xtask/src/messages/table.rs")),
        );
        let gone = listed.difference(&found);
        problems.extend(
            gone.map(|name| format!("{what} {name} of xtask/src/messages/table.rs does not exist")),
        );
    };
    let errors = index.errors.iter().map(|case| case.owner.as_str());
    compare(
        "error type",
        ERRORS.iter().map(|(name, _)| *name).collect(),
        errors.collect(),
    );
    for (owner, listed) in CONSTRUCTORS {
        let functions = index
            .functions
            .iter()
            .filter(|one| one.owner.as_deref() == Some(owner));
        let makes_one = |name: &String| name == "Self" || name == owner;
        let functions = functions.filter(|one| one.output.iter().any(makes_one));
        let found = functions.map(|one| one.name.as_str()).collect();
        compare(
            &format!("function of {owner}"),
            listed.iter().copied().collect(),
            found,
        );
    }
    let variants = index
        .variants
        .get("Warning")
        .into_iter()
        .flatten()
        .map(String::as_str);
    compare(
        "Warning",
        WARNINGS.iter().map(|(name, _)| *name).collect(),
        variants.collect(),
    );
    for (name, _) in WARNINGS.iter().filter(|(_, constructed)| *constructed) {
        let is_it = |placed: &PlacedMessage<'_>| {
            placed.message.kind == MessageKind::Warning && placed.message.name == *name
        };
        if !messages.iter().any(is_it) {
            problems.push(format!("Warning::{name}: no text is found in the sources"));
        }
    }
    problems.extend(unused(messages));
    problems
}

/// Entries of the tables that no message needs.
fn unused(messages: &[PlacedMessage<'_>]) -> Vec<String> {
    let has = |kind: MessageKind, file: &str, name: &str| {
        let mut all = messages.iter().filter(|placed| placed.message.kind == kind);
        all.any(|placed| (placed.path, placed.function) == (file, name))
    };
    let lines = LINES
        .iter()
        .filter(|(file, name, _)| !has(MessageKind::Line, file, name));
    let lines = lines.map(|(file, name, _)| format!("{file}: {name} of LINES prints nothing"));
    let texts = TEXTS
        .iter()
        .filter(|(file, name, _)| !has(MessageKind::Text, file, name));
    let texts = texts.map(|(file, name, _)| format!("{file}: {name} of TEXTS returns nothing"));
    let statuses = STATUSES
        .iter()
        .filter(|(file, name, _)| !has(MessageKind::Failure, file, name));
    let statuses =
        statuses.map(|(file, name, _)| format!("{file}: {name} of STATUSES has no failure"));
    let paths = SECTIONS.iter().flat_map(|section| section.paths);
    let paths = paths.filter(|begin| {
        !messages
            .iter()
            .any(|placed| placed.path.starts_with(**begin))
    });
    let paths = paths.map(|begin| format!("{begin}: no message is in it"));
    lines.chain(texts).chain(statuses).chain(paths).collect()
}

#[cfg(test)]
mod tests;
