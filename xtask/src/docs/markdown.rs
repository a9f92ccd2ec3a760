//! The manual's option reference.

use std::fmt::Write as _;

use netperf_model::catalog::tests::TESTS;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::{Suite, TestId};

use super::{MADE_BY, about, sentence};
use netperf_cli::catalog::{self, Group, OptionEntry, ValueKind};

/// `options.md`.
pub(super) fn options() -> String {
    let mut text = format!("<!-- {MADE_BY} -->\n\n{INTRODUCTION}");
    text.push_str("\n## netperf\n\nLetters before `--`, names anywhere.\n");
    groups(&mut text, &catalog::global());
    for suite in super::suites() {
        _ = writeln!(text, "\n## {}\n", super::title(suite.tests));
        text.push_str(if suite.alike.is_empty() {
            "Letters after `--`, names anywhere.\n"
        } else {
            "These options replace the test options above.\n"
        });
        groups(&mut text, &suite.own);
        alike(&mut text, &suite.alike);
    }
    text.push_str("\n## netserver\n");
    groups(&mut text, &catalog::server());
    meanings(&mut text);
    text
}

/// `tests.md`.
pub(super) fn tests() -> String {
    let mut text = format!("<!-- {MADE_BY} -->\n\n{TESTS_INTRODUCTION}");
    text.push_str("\n## Tests\n\n| test | description | transport |\n|---|---|---|\n");
    for row in TESTS {
        let moves = row.suite != Suite::Control && row.id != TestId::Uuid;
        let transport = match row.transport.row().option {
            option if moves => format!("`{option}`"),
            _ => String::new(),
        };
        let what = sentence(&catalog::test_description(row));
        _ = writeln!(text, "| {} | {what} | {transport} |", row.name);
    }
    text.push_str(
        "\n## Transports\n\n| word | protocol | sockets | with a stock peer | needs |\n\
         |---|---|---|---|---|\n",
    );
    for row in TRANSPORTS {
        let stock = if row.stock { "OMNI" } else { "" };
        _ = writeln!(
            text,
            "| `{}` | {} | {} | {stock} | {} |",
            row.option,
            row.label,
            row.kind.label().to_lowercase(),
            row.needs,
        );
    }
    text
}

const TESTS_INTRODUCTION: &str = "# Tests and transports

Every test for `-t` (not case sensitive), and every transport for `-T` of OMNI.
`netperf --list` shows which of them can run on this host and, with `-H`, on another.

A stock netserver supports OMNI with the marked transports; the others need this
project's netserver. It supports the older tests that were included in its build.
";

const INTRODUCTION: &str = "# Options

Every option has a name, and nearly every one a letter.

Letters follow `getopt`: they can be combined (`-cC`), and a value can be attached
(`-tTCP_RR`) or be the next word. An invalid value counts as 0 and is no
error; a line on standard error names a value that is not used as it was typed. Letters after `--` belong to the test, and many of them have a different
meaning there; [a table](#letters-that-mean-two-things) lists both.

Names are unique and valid on either side of `--`, as `--name value` or
`--name=value`. They cannot be abbreviated. An unknown name or an invalid value is
an error: one line on standard error states the expected input and the nearest
valid one, and the exit status is 2.

Of two comma-separated values either can be omitted, and then keeps its value.
";

fn groups(text: &mut String, entries: &[OptionEntry]) {
    for (group, entries) in catalog::by_group(entries) {
        // The same `-h` everywhere would be the same text everywhere.
        let only_help = group == Group::About && entries.len() == 1;
        if only_help {
            continue;
        }
        _ = writeln!(text, "\n### {}", group.title());
        for entry in entries {
            option(text, &entry);
        }
    }
}

/// Forms of an option: the letter with its value, and the name with `value` behind it.
fn forms(entry: &OptionEntry, value: &str) -> String {
    let long = format!("`--{}{value}`", entry.long);
    match (entry.letter, entry.letter_value()) {
        (Some(letter), "") => format!("`-{letter}`, {long}"),
        (Some(letter), of_letter) => format!("`-{letter} {of_letter}`, {long}"),
        (None, _) => long,
    }
}

fn option(text: &mut String, entry: &OptionEntry) {
    let value = match entry.value {
        "" => String::new(),
        value => format!(" {value}"),
    };
    let forms = forms(entry, &value);
    _ = writeln!(text, "\n#### {forms}\n\n{}", about(entry));
    let obvious = matches!(
        entry.kind,
        ValueKind::Nothing | ValueKind::FreeText | ValueKind::Text | ValueKind::Selection
    );
    if !obvious && entry.needs_value() {
        _ = writeln!(text, "\n*By name:* {}", sentence(&entry.kind.expected()));
    }
}

/// Options that are word for word those of a suite above.
fn alike(text: &mut String, entries: &[OptionEntry]) {
    if entries.is_empty() {
        return;
    }
    text.push_str("\n### Described above\n\n");
    for entry in entries {
        _ = writeln!(text, "- {}: {}", forms(entry, ""), entry.help);
    }
}

fn meanings(text: &mut String) {
    text.push_str(
        "\n## Letters that mean two things\n\n| letter | before `--` | after it |\n|---|---|---|\n",
    );
    for twice in catalog::twice() {
        let (front, behind) = (twice.front.long, twice.behind.long);
        _ = writeln!(text, "| `-{}` | `--{front}` | `--{behind}` |", twice.letter);
    }
}
