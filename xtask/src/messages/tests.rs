//! The page is that of the sources, the tables name everything that makes messages, and no message
//! is for terminals only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::Expr;
use syn::visit::{self, Visit};

use super::index::SourceIndex;
use super::source::SourceFiles;
use super::table::TERMINALS;
use super::{PATH, of_sources, program_files};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// One test, because the sources take seconds to parse.
#[test]
fn messages_page_is_up_to_date_and_messages_are_not_for_terminals_only() {
    let files = program_files(&root()).expect("sources");
    let sources = SourceFiles::read(&root(), &files).expect("sources");
    assert_deciding_is_listed(&SourceIndex::of(&sources));
    let kept = std::fs::read_to_string(root().join(PATH)).unwrap_or_default();
    let page = of_sources(&sources).unwrap_or_else(|problems| panic!("{problems:#?}"));
    assert!(kept == page, "{PATH} is stale: cargo run -p xtask -- gen");
}

/// The problems of sources that have nothing but this file.
fn problems(path: &str, text: &str) -> Vec<String> {
    let sources = SourceFiles::of_texts(&[(path, text)]).expect("sources");
    of_sources(&sources).expect_err("problems")
}

/// Asserts that sources with this file alone have a problem with these words.
fn assert_problem(path: &str, text: &str, expected: &str) {
    let found = problems(path, text);
    assert!(
        found.iter().any(|problem| problem.contains(expected)),
        "{expected}: {found:#?}"
    );
}

#[test]
fn messages_of_a_new_error_type_need_an_exit_status() {
    let text = "#[derive(thiserror::Error)] enum NewError { #[error(\"it broke\")] Broken }";
    assert_problem(
        "crates/client/src/new.rs",
        text,
        "error type NewError is not in",
    );
    assert_problem("crates/client/src/new.rs", text, "NewError: not in ERRORS");
}

#[test]
fn messages_of_a_new_constructor_need_an_entry() {
    let text = "impl Failure { fn ended(line: &str) -> Self { Self { stderr: line.to_owned(), exit: 9 } } }";
    assert_problem(
        "crates/program/src/output.rs",
        text,
        "function of Failure ended is not in",
    );
}

#[test]
fn messages_of_a_new_warning_need_an_entry() {
    let text = "enum Warning { EndedEarly, TooHot(String) }";
    assert_problem(
        "crates/model/src/outcome.rs",
        text,
        "Warning TooHot is not in",
    );
    assert_problem(
        "crates/model/src/outcome.rs",
        text,
        "Warning::Unheard: no text is found",
    );
}

#[test]
fn messages_of_a_new_function_that_prints_need_an_entry() {
    let text = "fn complain(why: &str) { err(&format!(\"netperf: too bad: {why}\\n\")); }";
    assert_problem(
        "crates/client/src/new.rs",
        text,
        "complain prints a line and is not in LINES",
    );
}

#[test]
fn messages_in_a_new_folder_need_a_section() {
    let text = "fn read() -> Result<(), String> { Err(\"the file is empty\".to_owned()) }";
    assert_problem(
        "crates/new/src/lib.rs",
        text,
        "crates/new/src/lib.rs: in no section",
    );
}

#[test]
fn messages_whose_table_entry_is_of_nothing_are_reported() {
    let found = problems("crates/client/src/lib.rs", "");
    let expected = "error type CliError of xtask/src/messages/table.rs does not exist";
    assert!(
        found.iter().any(|problem| problem == expected),
        "{found:#?}"
    );
}

/// Functions that ask whether a stream is a terminal, or make hints.
fn deciding(index: &SourceIndex<'_>) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for function in &index.functions {
        let mut finder = TerminalFinder(false);
        finder.visit_block(function.body);
        if finder.0 && function.name != "is_terminal" {
            all.insert((function.path.to_owned(), function.name.clone()));
        }
    }
    all
}

struct TerminalFinder(bool);

impl<'a> Visit<'a> for TerminalFinder {
    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        self.0 |= call.method == "is_terminal" || call.method == "is_term";
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let Expr::Path(path) = &*call.func {
            let names = path
                .path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string());
            let names: Vec<String> = names.collect();
            self.0 |= names.ends_with(&["is_terminal".to_owned()]);
            self.0 |= names.ends_with(&["Notice".to_owned(), "hint".to_owned()]);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
        let last = path.path.segments.last();
        self.0 |= last.is_some_and(|last| last.ident == "is_term");
    }

    fn visit_item(&mut self, _nested: &'a syn::Item) {}
}

/// Asserts that the list has what decides by terminals, and nothing else.
fn assert_deciding_is_listed(index: &SourceIndex<'_>) {
    let found = deciding(index);
    let listed = TERMINALS.iter().map(|(path, name, reason)| {
        assert!(!reason.is_empty(), "{path}: {name}");
        ((*path).to_owned(), (*name).to_owned())
    });
    let listed: BTreeSet<(String, String)> = listed.collect();
    assert_eq!(
        found, listed,
        "left: the sources; right: TERMINALS in table.rs, with the reason"
    );
}
